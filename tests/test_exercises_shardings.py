"""Answers that are a choice, or a sharding in the notation."""

import json
import re
from importlib.resources import files

import pytest
from exercise_specs import EVERY, a_number, started_with

from scaling_lib.exercises import Mistake, check, faults, page_spec
from scaling_lib.exercises.engine import check_exercise, letter, picked_choice
from scaling_lib.exercises.shardings import notation, plain_sharding
from scaling_lib.sharding.grammar import read_array, read_product
from scaling_lib.units import ScalingError


def test_a_choice_takes_its_text_or_its_letter():
    assert check("ch01.g1", "less than a hundredth").passed
    assert check("ch01.g1", " Less than  a hundredth").passed
    assert check("ch01.g1", "d").passed
    assert all(check("ch01.g1", text).passed for text in ("D", "d)", "(d)", "d.", "d: less than a hundredth"))
    whole = "all-gather B over X, multiply"
    for text in (f"c: {whole}.", f"c) {whole}", f"(c) {whole}", f"C. {whole}", f"`{whole}`", f"{whole}."):
        assert check("ch03.q8", text).passed, text
    assert check("ch03.q12", "b: `W[D, F_XY]` and `R[F_XY, D]`").passed
    for text in (f"a: {whole}", f"e) {whole}", "cc", "c all", f"c) {whole} C"):
        assert "none of the choices" in check("ch03.q8", text).message, text
    assert check("ch01.g1", "b").hint == check("ch01.g1", "half").hint != ""
    assert "a: most of it" in check("ch01.g1", "all of it").message


@pytest.mark.parametrize("e", [e for e in EVERY if e.kind == "choice"], ids=lambda e: e.key)
def test_every_choice_names_itself_and_no_other(e):
    for i, text in enumerate(e.choices):
        for answer in (text, f"{letter(i)}: {text}", f"{letter(i)}) {text}.", letter(i)):
            assert picked_choice(e, answer) == text


def test_a_sharding_is_read_by_meaning():
    e = a_number(
        kind="sharding",
        unit="",
        inputs={},
        draw=None,
        expected="C[I_XY, K]",
        accepts=("C[I_X, K_{}]",),
        mistakes=(Mistake("C[I, K_X]", "columns"), Mistake("C[I, K] {U_X}", "unreduced")),
    )
    assert faults(e) == []
    assert all(check_exercise(e, text).passed for text in ("C[I_XY,K]", "C[ I_{X,Y}, K ]"))
    assert check_exercise(e, "C[I,K_{X}]").hint == "columns"
    assert check_exercise(e, 3).status == "fail"


def test_equivalent_shardings_are_right_and_unreadable_ones_told_where():
    e = a_number(
        kind="sharding",
        unit="",
        inputs={},
        draw=None,
        expected="A[I, J_XY] * B[J_XY, K] -> C[I, K]{U_XY}",
        mistakes=(Mistake("A[I, J_XY] * B[J_XY, K] -> C[I, K]", "sums"), Mistake("C[I, K]{U_XY}", "operands")),
    )
    same = ("A[I,J_{XY}]*B[J_{XY},K]->C[I,K]{U_{YX}}", "A[I, J_{X,Y}] · B[J_XY, K] → C[I, K] {U_YX}")
    assert faults(e) == [] and all(check_exercise(e, text).passed for text in same)
    another_order_of_blocks = check_exercise(e, "A[I, J_YX] * B[J_XY, K] -> C[I, K]{U_XY}")
    assert another_order_of_blocks.status == "fail" and another_order_of_blocks.hint == ""
    assert check_exercise(e, "A[I, J_{XY}] @ B[J_XY, K] -> C[I, K]").hint == "sums"
    assert "here should be" in check_exercise(e, "split it over X").message


CASES = json.loads(files("scaling_lib.exercises").joinpath("sharding_cases.json").read_text(encoding="utf-8"))


def asked_for(expected):
    """A question whose planted mistakes are none of the shared cases."""
    wrong = (Mistake("Q[I]", "one"), Mistake("Q[J]", "two"))
    return a_number(kind="sharding", unit="", inputs={}, draw=None, expected=expected, mistakes=wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['text']!r} for {case['expected']}")
def test_a_shared_case_is_judged_as_it_says(case):
    verdict = check_exercise(asked_for(case["expected"]), case["text"])
    about = {told["about"]: told["says"] for told in notation(case["expected"])["told"]} | {"": ""}
    if case["outcome"] == "right":
        assert verdict.passed
    elif case["outcome"] == "unread":
        assert verdict.status == "todo" if not case["text"] else "cannot be read" in verdict.message
    else:
        assert verdict.status == "fail" and verdict.hint == about[case["about"]], verdict
        assert ('hint("ch99.q1") gives a hint' in verdict.message) == (not case["about"])


def reads(text):
    try:
        (read_product if "->" in text else read_array)(text)
    except ScalingError:
        return False
    return True


def test_what_the_library_reads_is_the_notation_unless_small_letters_stand_for_capitals():
    for case in CASES:
        tidy = plain_sharding(case["text"])
        if case["outcome"] == "unread":
            assert not reads(tidy) or re.search("[a-z]", tidy), case
        else:
            assert reads(tidy) or case["about"] == "twice", case


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("ch03.q2", "F_YX", "cannot be read"),
        ("ch03.q2", "A[D, F_YX]", "called W"),
        ("ch03.q4", "C[I, K]{U_X}", "both pass through"),
        ("ch03.q4", "C[I_Z, K_Y]{X}", "here should be 'U_'"),
        ("ch03.q4", "c[i_z, k_y]", "capitals matter"),
        ("ch03.q4", "C[I_Z, K_Y]{U_J}", "J is a dimension"),
        ("ch03.g7", "C[I_Y, K]{U_J}", "J is a dimension"),
        ("ch03.q9", "C[I, K_Y]", "passes through"),
        ("ch03.q9", "C[I_X, K_Z]", "K is cut, but not like that"),
        ("ch03.q2", "W[F, D_YX]", "first dimension is D"),
        ("ch03.q2", "W[D, F_XZ]", "F is cut, but not like that"),
        ("ch03.q2", "W[D, F]", "F is cut too"),
        ("ch03.g7", "C[I_Y, K]", "over which axis"),
        ("ch03.g7", "C[I_Y, K]{U_Y}", "only once"),
        ("ch03.g7", "C[I_Y, K]{U_Z}", "not over that axis"),
    ],
)
def test_a_wrong_sharding_is_told_what_is_wrong_or_where_help_is(key, text, says):
    assert says in str(check(key, text))


def test_a_marked_check_tells_nothing_of_a_sharding_but_planted_mistakes(monkeypatch):
    started_with(monkeypatch, NBGRADER_EXECUTION="autograde")
    assert str(check("ch03.q2", "A[D, F_YX]")) == "[fail] ch03.q2: not yet."
    assert "four parts" in check("ch03.q2", "W[D, F_X]").hint


@pytest.mark.parametrize("e", [e for e in EVERY if e.kind == "sharding"], ids=lambda e: e.key)
def test_every_answer_that_the_page_compares_can_be_read_there(e):
    spec = page_spec(e.key)
    for text in (*spec["accepts"], *(mistake["value"] for mistake in spec["mistakes"])):
        assert re.search(spec["notation"]["pattern"], text) and plain_sharding(text) == text
