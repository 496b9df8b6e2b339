"""What holds on every page of the book, each opened once: quiet, alone, light, fit for phone, print, eye and ear."""

import re

import pytest
from boxes import GIVE_ALL
from playwright.sync_api import expect

from scaling_lib.exercises import exercises, page_spec

HEAVIEST = 1_500_000  # bytes of one page with all it loads, compressed
OURS = """.sl-answer :is(button, input[type=text], summary, .sl-choice), .sl-tools :is(a, button), .sl-foot a,
.sl-explorer :is(select, input, summary), .sl-figure summary"""
WIDER_THAN_THE_PAGE = """() => [...document.querySelectorAll('body *')].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.right > innerWidth + 1 && box.width && getComputedStyle(e).position !== 'fixed';
}).slice(0, 5).map((e) => e.outerHTML.slice(0, 120))"""
SEVERE = ("serious", "critical")


def test_a_page_asks_no_other_host_and_leaves_the_console_silent(dark):
    assert dark.foreign == []
    assert dark.errors == []


def test_dark_is_dark_and_light_is_light(opened):
    page, ground = opened.page, "getComputedStyle(document.body).backgroundColor"
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
        brightness = sum(map(int, re.findall(r"\d+", page.evaluate(ground))[:3]))
        assert brightness < 150 if scheme == "dark" else brightness > 700


def test_print_is_light_and_unfolds_answers(dark):
    page, ground = dark.page, "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(media="print")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")
    assert page.evaluate(ground) in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert not page.locator("article details:not([class]):not([open])").locator("visible=true").count()
    page.emulate_media(media="screen")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")


def test_a_page_fits_a_phone(phone):
    page = phone.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.evaluate(WIDER_THAN_THE_PAGE)


def test_what_is_cut_at_a_side_fades_there(phone):
    wrong = phone.page.eval_on_selector_all(
        ".bd-article :is(div.math, .pst-scrollable-table-container)",
        """all => all.filter((e) => {
          const wide = e.firstElementChild.getBoundingClientRect().width > e.clientWidth + 1;
          return e.clientWidth && wide !== e.classList.contains('sl-more-right');
        }).map((e) => e.innerText)""",
    )
    assert wrong == []
    starts = phone.page.eval_on_selector_all(
        "div.math mjx-math", "all => all.filter((e) => e.offsetParent).map((e) => e.getBoundingClientRect().left)"
    )
    assert min(starts, default=0) >= 0  # the beginning of a long formula can be reached


def test_our_controls_are_large_enough_for_a_finger(phone):
    small = phone.page.eval_on_selector_all(
        OURS, "all => all.filter((e) => e.offsetParent && e.offsetHeight < 44).map((e) => e.outerHTML.slice(0, 120))"
    )
    assert small == []


def test_a_page_is_light(opened):
    assert sum(opened.bytes_of.values()) <= HEAVIEST, sorted(opened.bytes_of.items(), key=lambda item: -item[1])[:5]


def test_formulas_can_be_heard(opened):
    page = opened.page
    formulas = page.locator("mjx-container").count()
    assert page.locator("mjx-container mjx-assistive-mml math").count() == formulas
    assert formulas or not page.locator("article .math").count()


def severe_findings(page, **options) -> list[tuple[str, list[str]]]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=options).response["violations"]
    return [(v["id"], [n["html"][:140] for n in v["nodes"][:3]]) for v in found if v["impact"] in SEVERE]


def test_axe_finds_nothing_serious(opened):
    assert severe_findings(opened.page) == []


def test_axe_finds_enough_contrast_in_the_dark(dark):
    """Colours are all that the dark changes."""
    assert severe_findings(dark.page, runOnly=["color-contrast"]) == []


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
            page.keyboard.press("ArrowRight" if value != slider.get_attribute("max") else "ArrowLeft")
            assert slider.input_value() != value
            expect(sentence).not_to_have_text(before)


def test_every_box_has_a_name_and_a_live_region(opened):
    page = opened.page
    for box in page.locator(".sl-answer").all():
        assert box.get_attribute("aria-label")
        assert box.get_by_role("status").count() == 1
        for field in box.locator("input[type=text]").all():
            for part in field.get_attribute("aria-labelledby").split():
                assert page.locator(f"#{part}").inner_text().strip()


def test_a_box_knows_the_right_answer_and_each_mistake(opened):
    specs = {e.key: page_spec(e.key) for e in exercises()}
    answers = {key: [m["value"] for m in spec["mistakes"]] + [spec["value"]] for key, spec in specs.items()}
    for key, replies in opened.page.evaluate(GIVE_ALL, answers).items():
        *wrong, right = replies
        for mistake, reply in zip(specs[key]["mistakes"], wrong, strict=True):
            assert mistake["says"] in reply["said"]
            assert reply["status"] == "wrong"
        assert right["status"] == "right", key


def test_print_lists_answers_at_the_end(printed):
    listed = printed.page.locator(".sl-printed-answers dt").all_inner_texts()
    assert len(listed) == printed.page.locator(".sl-answer").count()
    for box, name in zip(printed.page.locator(".sl-answer").all(), listed, strict=True):
        assert f"under “{name}”" in box.locator(".sl-in-print").inner_text()
        assert box.locator("form").is_hidden() and not box.locator("details:visible").count()
