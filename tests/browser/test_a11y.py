"""Accessibility: nothing serious or critical of ours by axe-core, in light and dark; sliders and verdicts are heard."""

import pytest

# Parts of the theme and of Sphinx that we neither write nor can mend from here.
THEIRS = (".headerlink",)
SEVERE = ("serious", "critical")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, path, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(path, color_scheme=scheme).page
    found = Axe().run(page, context={"exclude": [[selector] for selector in THEIRS]}).response["violations"]
    severe = [(v["id"], [n["html"][:140] for n in v["nodes"][:3]]) for v in found if v["impact"] in SEVERE]
    assert severe == []


def test_an_arrow_key_on_a_slider_changes_the_announced_sentence(open_page, path):
    page = open_page(path).page
    explorers = page.locator(".sl-explorer")
    if not explorers.count():
        pytest.skip("no explorer on this page")
    for explorer in explorers.all():
        sentence = explorer.locator("[aria-live=polite]")
        for slider in explorer.locator("input[type=range]").all():
            before, value = sentence.inner_text(), slider.input_value()
            slider.focus()
            for key in ["ArrowRight"] * 3 + ["ArrowLeft"] * 6:
                page.keyboard.press(key)
                page.wait_for_timeout(60)
                if slider.input_value() != value and sentence.inner_text() != before:
                    break
            else:
                page.wait_for_timeout(800)  # the sentence waits until the slider rests
            assert slider.input_value() != value
            assert sentence.inner_text() != before, slider.get_attribute("id")


def test_every_box_has_a_name_and_a_live_region(open_page, path):
    page = open_page(path).page
    for box in page.locator(".sl-answer").all():
        assert box.get_attribute("aria-label")
        assert box.get_by_role("status").count() == 1
        for field in box.locator("input[type=text]").all():
            name = field.evaluate(
                "e => e.getAttribute('aria-labelledby').split(' ').map((i) => document.getElementById(i).textContent).join(' ')"
            )
            assert name.strip()
