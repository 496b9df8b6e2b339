"""Answer and guess boxes: they read, judge and help as `check` does, and work by keyboard, in print, without memory."""

import json
import math
from pathlib import Path

import pytest
from boxes import box_of, give, page_of, said

from scaling_lib.exercises import check, exercises, page_spec

SPECS = Path(__file__).parents[2] / "scaling_lib" / "exercises"
CASES = json.loads((SPECS / "answer_cases.json").read_text(encoding="utf-8"))
SHARDINGS = json.loads((SPECS / "sharding_cases.json").read_text(encoding="utf-8"))
PAGE = "exercises/ch01_rooflines.html"
KEY = "ch01.q1"
NUMBERS = [e.key for e in exercises() if e.kind == "number"]


def test_the_page_reads_numbers_as_python_does(open_page):
    from scaling_lib.exercises.factors import unit_factors

    page = open_page(PAGE).page
    cases = [{**case, "units": unit_factors(case["unit"])} for case in CASES]
    read = page.evaluate("cases => cases.map((c) => window.slParseAnswer(c.text, c.units, c.expected))", cases)
    for case, reading in zip(CASES, read, strict=True):
        wanted = {k: case[k] for k in ("value", "ask", "error") if k in case}
        if "value" in wanted:
            assert math.isclose(reading.pop("value", math.nan), wanted.pop("value"), rel_tol=1e-12), case
        assert reading == wanted, case


def test_the_page_reads_shardings_as_python_does(open_page):
    from scaling_lib.exercises.shardings import notation

    asked = [({"kind": "sharding", "notation": notation(case["expected"])}, case["text"]) for case in SHARDINGS]
    read = open_page(PAGE).page.evaluate("asked => asked.map(([spec, text]) => window.slRead(spec, text))", asked)
    for case, reading in zip(SHARDINGS, read, strict=True):
        assert ("error" in reading) == (case["outcome"] == "unread"), case


def test_what_is_not_the_notation_is_told_apart_from_what_is_wrong_and_not_counted(open_page):
    page = open_page("exercises/ch03_sharding.html").page
    box = box_of(page, "ch03.q4")
    for text in ("C[I_Y, K]{U_X", "c[i_y,k]{u_x}", "hello", "F_YX", "C[I_Z, K_Y]{X}", "C[I_Z, K_Y]{UX}"):
        give(box, {"kind": "sharding"}, text)
        assert said(box).startswith("This is not the notation. Write it like C[I_X, K]{U_Y}"), text
        assert box.get_attribute("data-status") == "unread"
        assert box.get_by_text("Show solution").is_hidden()
    for text, says in {"A[I_Z, K_Y]{U_X}": "The array is called C", "C[K_Y, I_Z]{U_X}": "in this order"}.items():
        give(box, {"kind": "sharding"}, text)
        assert says in said(box) and box.get_attribute("data-status") == "wrong"
    give(box, {"kind": "sharding"}, '"C[ I_{Z}, K_Y ]{U_X}"')
    assert said(box).startswith("Right")


def test_a_code_question_shows_the_whole_call_that_the_page_asks_for(open_page):
    page = open_page("exercises/ch03_sharding.html").page
    for e in exercises("ch03"):
        if e.kind == "code":
            assert box_of(page, e.key).locator(".sl-code-note code").inner_text() == page_spec(e.key)["call"]


def test_every_exercise_has_one_box(site):
    texts = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    for e in exercises():
        assert sum(f'id="box-{e.key.replace(".", "-")}"' in text for text in texts) == 1, e.key


def test_page_and_python_diagnose_alike(open_page):
    specs = {key: page_spec(key) for key in NUMBERS}
    factors = {key: (1.0001, 1.02, 1.3, 17.0, *(r["ratio"] for r in spec["ratios"])) for key, spec in specs.items()}
    asked = [(specs[key], specs[key]["value"] * factor) for key in NUMBERS for factor in factors[key]]
    judged = iter(open_page(PAGE).page.evaluate("asked => asked.map(([spec, answer]) => slJudge(spec, answer))", asked))
    for key in NUMBERS:
        for factor in factors[key]:
            verdict, reply = check(key, specs[key]["value"] * factor), next(judged)
            assert reply["status"] == {"pass": "right", "fail": "wrong"}[verdict.status], (key, factor)
            assert reply["says"] == verdict.hint, (key, factor)


def test_a_doubtful_number_is_asked_about_and_not_counted(open_page):
    page = open_page(PAGE).page
    box, right = box_of(page, KEY), page_spec(KEY)["value"]
    give(box, {"kind": "number"}, f"{right:.1f}".replace(".", ","))
    assert "Did you mean" in said(box)
    assert box.get_attribute("data-status") == "unread"
    assert box.get_by_text("Show solution").is_hidden()
    page.keyboard.press("Enter")  # the focus is on "Yes, …"
    assert said(box).startswith("Right")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Type an answer"),
        ("many", "not a number"),
        ("2*(1+2)", "type the result"),
        ("3 kg", "unit"),
        ("1/0", "zero"),
    ],
)
def test_what_cannot_be_read_is_explained(open_page, text, says):
    box = box_of(open_page(PAGE).page, KEY)
    give(box, {"kind": "number"}, text)
    assert says in said(box)
    assert box.get_attribute("data-status") == "unread"


def test_hints_come_one_by_one_and_the_solution_after_a_try(open_page):
    page = open_page(PAGE).page
    box = box_of(page, KEY)
    assert [h.is_visible() for h in box.locator(".sl-hint").all()] == [True, False, False]
    box.get_by_text("Hint 1").click()
    assert box.get_by_text(page_spec(KEY)["hints"][0]).is_visible()
    assert [h.is_visible() for h in box.locator(".sl-hint").all()] == [True, True, False]
    assert box.get_by_text("Show solution").is_hidden()
    give(box, {"kind": "number"}, "17")
    box.get_by_text("Show solution").click()
    assert box.get_by_role("link", name="Worked solution").is_visible()
    box.get_by_role("link", name="Worked solution").click()
    page.wait_for_url("**/solutions/ch01_rooflines.html#ch01-q1*")


def test_code_in_a_hint_is_set_as_code(open_page):
    box = box_of(open_page(PAGE).page, KEY)
    assert [box.locator(".sl-hint").nth(i).locator("code").count() for i in (0, 2)] == [0, 1]
    assert "`" not in box.locator(".sl-hint").nth(2).text_content()


def test_an_unknown_mistake_points_to_help_that_exists(open_page, site):
    for key, says in {KEY: "a hint may help", "ch01.g4": "read the worked example above once more"}.items():
        box = box_of(open_page(page_of(key, site)).page, key)
        give(box, {"kind": "number"}, "17")
        assert said(box).endswith(f"{says}.")


def test_an_answer_is_remembered_until_one_starts_again(open_page):
    page = open_page(PAGE).page
    give(box_of(page, KEY), {"kind": "number"}, "17")
    page.reload()
    box = box_of(page, KEY)
    assert box.get_by_role("textbox").input_value() == "17"
    assert said(box).startswith("Not yet")
    box.get_by_role("button", name="Start again").click()
    page.reload()
    assert box.get_by_role("textbox").input_value() == "" and said(box) == ""


def test_a_box_works_where_nothing_may_be_stored(open_page):
    visit = open_page()
    visit.page.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('denied', 'SecurityError'); }"
    )
    visit.goto(PAGE)
    at_start = len(visit.errors)
    box = box_of(visit.page, KEY)
    give(box, {"kind": "number"}, repr(page_spec(KEY)["value"]))
    assert said(box).startswith("Right")
    assert set(visit.errors) <= {"denied"}  # the theme stores its mode at the start, unguarded; ours raise nothing more
    assert len(visit.errors) == at_start


def test_a_box_is_worked_by_keyboard_alone(open_page):
    page = open_page(PAGE).page
    box = box_of(page, KEY)
    box.get_by_role("textbox").focus()
    page.keyboard.type("17")
    page.keyboard.press("Enter")
    assert said(box).startswith("Not yet")
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("Show solution"):
            break
    page.keyboard.press("Enter")
    assert box.locator(".sl-solution p").is_visible()


def test_a_guess_hides_its_answer_until_one_commits(open_page, site):
    key = next(e.key for e in exercises("ch01") if e.is_guess)
    page, spec = open_page(page_of(key, site)).page, page_spec(key)
    box = box_of(page, key)
    assert box.locator(".sl-solution").is_hidden()
    give(box, spec, spec["mistakes"][0]["value"])
    assert box.locator(".sl-solution p").is_visible()
    assert box.locator(".sl-solution summary").inner_text() == "The answer"  # true of it shown and hidden
    assert page.locator("article").inner_text().count("\n") > 20  # and the text below was there all along
