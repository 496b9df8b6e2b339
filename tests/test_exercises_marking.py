"""Whose numbers count and what a marked check says: at home, and in an instructor's grader."""

import subprocess
import sys

import numpy as np
import pytest
from exercise_specs import a_number, started_with

from scaling_lib.exercises import Draws, check, exercise, inputs, marks, ticket
from scaling_lib.exercises.coded import cases_of
from scaling_lib.exercises.draws import seed_of
from scaling_lib.exercises.engine import check_exercise
from scaling_lib.exercises.marking import earlier
from scaling_lib.units import ScalingError


def test_a_students_numbers_are_the_same_at_home_and_in_the_grader(monkeypatch):
    own = ticket("a secret", "alice")
    assert inputs("ch01.q1", own) == inputs("ch01.q1", own) != inputs("ch01.q1", ticket("a secret", "bob"))
    assert inputs("ch01.q1", own) != inputs("ch01.q1", ticket("another", "alice"))
    monkeypatch.setenv("SCALING_STUDENT", own)
    assert inputs("ch01.q1") == inputs("ch01.q1", own)
    right = exercise("ch01.q1").expected_for(inputs("ch01.q1"))
    assert check("ch01.q1", right).passed and not check("ch01.q1", 234.06).passed


@pytest.mark.parametrize("student", [7, 1.5, ["again"]])
def test_a_student_who_is_no_text_is_refused_in_words(student):
    for call in (lambda: inputs("ch01.q1", student), lambda: check("ch01.q1", 1, student)):
        with pytest.raises(ScalingError, match=r'student is .*any word of your own such as "again"'):
            call()


@pytest.mark.parametrize(
    "spoil", [lambda t: t[:-1], lambda t: t[5:], lambda t: t + " ", str.upper, lambda t: t[:9] + t[10:]]
)
def test_a_ticket_that_was_not_copied_whole_is_refused(monkeypatch, spoil):
    spoilt = spoil(ticket("a secret", "alice"))
    monkeypatch.setenv("SCALING_STUDENT", spoilt)
    for call in (lambda: inputs("ch01.q1"), lambda: check("ch01.q2", 1), lambda: inputs("ch01.q1", spoilt)):
        with pytest.raises(ScalingError, match=r"(student|SCALING_STUDENT) is .*copy the whole of it"):
            call()


@pytest.mark.parametrize("word", ["alice", "again", "practice 2", "20261130", "deadbeef", "seed", f"number {10**30}"])
def test_any_other_word_draws_numbers_for_practice(word):
    assert inputs("ch01.q1", word) != inputs("ch01.q1")


def test_a_tickets_check_digits_are_no_part_of_its_seed():
    # HMAC-SHA-256 and SHA-256 by `openssl`: the numbers that follow are those of the first 32 digits
    assert ticket("our secret", "alice") == "seed:298db6921c5f5ed757c6745fbadf16d4" + "935b"
    assert seed_of(ticket("our secret", "alice")) == "298db6921c5f5ed757c6745fbadf16d4"


@pytest.mark.parametrize("marked", [{}, {"NBGRADER_EXECUTION": "autograde"}])
def test_an_answer_right_for_the_books_numbers_is_told_so(monkeypatch, marked):
    own = ticket("a secret", "alice")
    started_with(monkeypatch, **marked, **({"SCALING_MARKED": own} if marked else {}))
    verdict = check_exercise(a_number(), 6.0, own)
    assert not verdict.passed and verdict.hint.startswith("That is right for the book's numbers")


@pytest.mark.parametrize("value", [3.5, 12, "b", "C[I_X, K]", True, np.int64(5), np.float32(2.5)])
def test_an_earlier_questions_answer_can_be_used_but_answers_nothing(value):
    left = earlier(value)
    assert left == value and left * 2 == value * 2
    assert check_exercise(a_number(), left).status == "todo" and check("ch01.q4", left).status == "todo"


def test_before_an_answer_cell_nothing_else_is_left():
    assert [earlier(value) for value in (None, ..., [1], 1j)] == [...] * 4
    assert earlier(len) is len


@pytest.mark.parametrize("fixed", [ticket("a secret", "alice"), "the book"])
def test_while_marking_nothing_in_the_notebook_says_whose_numbers_count(monkeypatch, fixed):
    own, friends = (None if fixed == "the book" else fixed), ticket("a secret", "bob")
    drawn, cases = inputs("ch01.q1", own), cases_of(exercise("ch01.q2"), own)
    right, copied = (exercise("ch01.q1").expected_for(inputs("ch01.q1", who)) for who in (own, friends))
    started_with(monkeypatch, NBGRADER_EXECUTION="autograde", SCALING_MARKED=fixed)
    monkeypatch.setenv("SCALING_STUDENT", friends)
    monkeypatch.setenv("SCALING_MARKED", friends)
    for student in (None, friends, "again"):
        assert inputs("ch01.q1", student) == drawn
        assert check("ch01.q1", right, student).passed and not check("ch01.q1", copied, student).passed
    asked = []
    check("ch01.q2", lambda *args: asked.append(args))
    assert asked == [tuple(case.values()) for case in cases]


def test_the_graders_kernel_refuses_assignments_to_the_checks():
    code = (
        "import scaling_lib.exercises as x\n"
        "from scaling_lib.exercises import engine, marking, registry\n"
        "marking.load_ipython_extension(None)\n"
        "for place in (x, engine, registry, marking, x.Verdict, x.Exercise, x.Mistake):\n"
        "    for name in ('check', 'passed', '_AT_START', '__repr__'):\n"
        "        try: setattr(place, name, True)\n"
        "        except AttributeError as error: assert 'cannot be changed' in str(error)\n"
        "        else: raise SystemExit(f'{place}.{name}')\n"
        "assert x.check('ch01.q1', 234.06).passed and not x.check('ch01.q1', 1).passed\n"
        "assert x.check('ch01.q2', lambda *a: 1.0).status == 'fail' and x.page_spec('ch01.q1')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_draws_are_fixed_for_ever():
    rng = Draws("a seed")
    drawn = [rng.integers(0, 1000), rng.choice("abcdef"), round(rng.uniform(2, 3), 6)]
    assert drawn == [489, "f", 2.231599]


@pytest.mark.parametrize("marked", [{"NBGRADER_EXECUTION": "autograde"}, {"SCALING_MARKED": "1"}])
def test_a_marked_check_names_planted_mistakes_but_never_the_ratio(monkeypatch, marked):
    started_with(monkeypatch, **marked)
    assert all(check_exercise(a_number(), x).message == "not yet." for x in (12, 6.2, 6000, 17.3))
    assert all(check_exercise(a_number(), x).hint == "" for x in (12, 6.2, 6000, 17.3))
    assert check_exercise(a_number(), 15).hint == "five"
    doubtful = check_exercise(a_number(), "6,0")
    assert doubtful.status == "todo" and "did you mean 6.0? Read as doubtful: no marks." in doubtful.message
    in_microseconds = check("ch03.q6", lambda *args: 1e6 * exercise("ch03.q6").expected(*args))
    assert in_microseconds.status == "fail" and in_microseconds.hint == ""


@pytest.mark.parametrize(
    ("score", "paid"),
    [(0, 0), (0.0, 0), (3, 3), (7, 5), (-1, 0), (float("nan"), 0), (float("inf"), 0), (True, 0), (None, 0), ("5", 0)],
)
def test_a_score_that_is_none_is_not_paid(score, paid):
    assert marks(score, 5) == paid
