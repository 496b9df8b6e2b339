"""Accessibility: nothing serious or critical of ours by axe-core, in light and dark; sliders and verdicts are heard."""

import pytest

SEVERE = ("serious", "critical")


def severe_findings(page) -> list[tuple[str, list[str]]]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(v["id"], [n["html"][:140] for n in v["nodes"][:3]]) for v in found if v["impact"] in SEVERE]


def test_axe_finds_nothing_serious_in_light(opened):
    assert severe_findings(opened.page) == []


def test_axe_finds_nothing_serious_in_the_dark(dark):
    assert severe_findings(dark.page) == []


def test_an_arrow_key_on_a_slider_changes_the_announced_sentence(opened):
    page = opened.page
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


def test_every_box_has_a_name_and_a_live_region(opened):
    page = opened.page
    for box in page.locator(".sl-answer").all():
        assert box.get_attribute("aria-label")
        assert box.get_by_role("status").count() == 1
        for field in box.locator("input[type=text]").all():
            for part in field.get_attribute("aria-labelledby").split():
                assert page.locator(f"#{part}").inner_text().strip()
