"""Answers that are a choice, or a sharding in the notation."""

from exercise_specs import a_number

from scaling_lib.exercises import Mistake, check, faults
from scaling_lib.exercises.engine import check_exercise


def test_a_choice_takes_its_text_or_its_letter():
    assert check("ch01.g1", "less than a hundredth").passed
    assert check("ch01.g1", " Less than  a hundredth").passed
    assert check("ch01.g1", "d").passed
    assert all(check("ch01.g1", text).passed for text in ("D", "d)", "(d)", "d.", "d: less than a hundredth"))
    assert check("ch01.g1", "b").hint == check("ch01.g1", "half").hint != ""
    assert "a: most of it" in check("ch01.g1", "all of it").message


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
    assert (
        check_exercise(e, "A[I, J_YX] * B[J_XY, K] -> C[I, K]{U_XY}").message == "not yet."
    )  # another order of blocks
    assert check_exercise(e, "A[I, J_{XY}] @ B[J_XY, K] -> C[I, K]").hint == "sums"
    twice = check_exercise(e, "C[I_X, K_X]")
    assert (
        twice.status == "fail"
        and "axis X shards both I and K of C" in twice.message
        and "character 10" in twice.message
    )
    assert "here should be" in check_exercise(e, "split it over X").message
