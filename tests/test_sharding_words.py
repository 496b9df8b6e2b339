"""What a plan says of itself, and what is said of a plan that cannot be made."""

import numpy as np
import pytest

import scaling_lib as sl
from scaling_lib.sharding import plan_matmul

SIZES = {"I": 4096, "J": 8192, "K": 4096}
LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
FLAT = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4)


def test_the_explanation_says_why_what_and_what_else():
    text = plan_matmul("A[I_X, J] * B[J, K_X] -> C[I, K]", SIZES, FLAT).explain()
    assert "one of them must give up X" in text and "next best" in text and "in turn" in text
    for part in ("1. ", "multiply", "µs", "bound by"):
        assert part in text
    assert "chips can multiply what they hold" in plan_matmul("A[I_X] * B[K] -> C[I_X, K]", SIZES, LINE).explain()


EXPLAINED = {
    "A[I, J_X] * B[J_X, K] -> C[I, K]": "leaves partial sums over X",
    "A[I, J_X] * B[J, K] -> C[I, K]": "in A only: A is gathered, or B gives up the rest",
    "A[I, J] * B[J_X, K] -> C[I, K]": "in B only: B is gathered, or A gives up the rest",
    "A[I, J_X] * B[J_Y, K] -> C[I, K]": "over X in A but over Y in B",
    "A[I, J_X] * B[J, K_X] -> C[I, K]": "X cuts J of A but K of B, and one of these is summed over: one of "
    "the arrays must give up X.",
    "A[I_X, J] * B[J_X, K_Y] -> C[I, K_XY]": "in B only, and A cannot be cut to match while X cuts it elsewhere.",
    "A[I, J_XY] * B[J, K_YX] -> C[I, K]": "in A only, and B cannot be cut to match while X and Y cut it elsewhere.",
    "A[I, J_XY] * B[J, K_Y] -> C[I, K]": "in A only, and B cannot be cut to match while Y cuts it elsewhere.",
    "A[B_X, I] * W[B_Y, I] -> C[B]": "B stands in both operands and in the result: a batch dimension, cut differently",
    "A[I, J]{U_X} * B[J, K] -> C[I, K]": "A is unreduced over X",
    "A[I, J] * B[J, K] -> C[I, J]": "K is in B alone and not in the result: it is summed before the product.",
    "A[I, J_X] * B[K] -> C[I, K]": "cut over X, that leaves partial sums over X, unless it is gathered first",
    "A[I, J] * B[I, K] -> C[I, K]": "I stands in both operands and in the result: a batch dimension.",
    "A[I] * B[K] -> C[I, K]": "No dimension is summed over in both: an outer product.",
    "A[I, J] * B[I, J] -> C[I, J]": "No dimension is summed over in both: an element-wise product.",
}


@pytest.mark.parametrize("text", EXPLAINED)
def test_each_reason_has_its_sentence(text):
    assert EXPLAINED[text] in plan_matmul(text, {**SIZES, "B": 64}, FLAT).explain()


def test_what_is_not_summed_alone_is_not_called_so():
    text = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", SIZES, LINE).explain()
    assert "unreduced over" not in plan_matmul("A[I, L_X] * B[K] -> C[I, K]", {**SIZES, "L": 8}, LINE).explain()
    assert "alone" not in text and "outer" not in text and "batch" not in text


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("A[I, J, L_Y] * B[J, K] -> C[I, K]", True),
        ("A[I, L_Y] * B[I] -> C[I]", True),
        ("A[L_X] * B[K] -> C[K]", True),
        ("A[I, L] * B[I] -> C[I]", False),
    ],
)
def test_chips_can_multiply_what_they_hold_only_if_nothing_is_cut_that_is_summed_before(text, cut):
    said = plan_matmul(text, {**SIZES, "L": 64}, FLAT).explain()
    assert ("leaves partial sums" in said) == cut and ("chips can multiply what they hold" in said) == (not cut)


def test_a_slice_that_the_next_gather_undoes_has_its_reason():
    eight = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
    p = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K_X]", {"I": 4096, "J": 512, "K": 512}, eight)
    sliced = next(i for i, s in enumerate(p.steps) if s.op == "slice" and p.steps[i + 1].op == "all_gather")
    says = f"{sliced + 1}. {p.steps[sliced]}, so that the gather has the links of X and Y"
    assert says in p.explain() and p.explain().count("so that the gather") == 1
    plain = plan_matmul("A[I_X, J] * B[J, K] -> C[I, K]", SIZES, FLAT, use_idle=False, via="A[I, J] * B[J, K]")
    assert "so that the gather" not in plain.explain()


def test_axes_of_one_chip_are_not_spoken_of():
    one = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8, Y=1)
    text = plan_matmul("A[I_Y, J_X] * B[J_XY, K] -> C[I, K]", SIZES, one).explain()
    assert "cut over X in both" in text and "Y cuts" not in text and "over X and Y" not in text


def test_the_next_best_plan_is_as_long_or_so_many_times():
    same = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", dict.fromkeys("IJK", 64), LINE).explain()
    assert "next best, as long (" in same and "1 times" not in same
    other = plan_matmul("A[I_X, J] * B[J, K_X] -> C[I_X, K]", {"I": 4096, "J": 8192, "K": 512}, LINE)
    assert (
        f"next best, {other.alternatives[0].time.in_turn_s / other.time.in_turn_s:.3g} times as long" in other.explain()
    )


def test_the_next_best_plan_is_told_with_its_slices():
    last = plan_matmul("A[I_X, J] * B[J_X, K] -> C[I_X, K]", SIZES, FLAT).explain().splitlines()[-1]
    assert "): slice A by Y: A[I_X, J] -> A[I_XY, J]; " in last and last.endswith(
        "; slice C by X: C[I, K] -> C[I_X, K]"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"product": "A[I, J_X] * B[J_X, K]"}, "'->' and the product"),
        ({"product": "A[I, J_X] * B[J_X, K] -> C[I_X, K_X]"}, "axis X shards both I and K of C"),
        ({"product": "A[I, J_Q] * B[J, K] -> C[I, K]"}, "axis 'Q' is unknown"),
        ({"product": 7}, "a product looks like A"),
        ({"sizes": {"I": 4096, "J": 8192}}, "the size of K is missing"),
        ({"sizes": {"I": 4096, "J": 8191, "K": 4096}}, "8,191 elements of J do not divide"),
        ({"sizes": {"I": 4096, "J": 8192.5, "K": 4096}}, "whole number"),
        ({"sizes": {"I": 4096, "J": np.array([8, 16]), "K": 4096}}, "J is an array; a plan is of one product"),
        ({"sizes": [4096, 8192, 4096]}, "give the elements of each dimension"),
        ({"mesh": {"X": 8}}, "mesh must be a Mesh"),
        ({"dtype": "bf17"}, "bf17"),
        ({"dtype": {"A": "bf16", "B": "bf16"}}, "none is given for C"),
        ({"via": "A[I, J] * B[J, K_X] -> "}, "^$"),
        ({"via": "A[I_X, J] * B[J, K_X]"}, r"X cuts I of A but K of B; possible: with A\[I_X, J\] goes B\[J, K\]"),
        ({"via": "A[I, J_X] * B[J, K]"}, r"J is cut over X in A but whole in B; .* with B\[J, K\] goes A\[I"),
        ({"via": "A[I, J]{U_X} * B[J, K]"}, "A is asked to be unreduced over X"),
        (
            {"via": "A[I_Y, J_X] * B[J_X, K]", "mesh": FLAT, "use_idle": False},
            "is cut over Y, which use_idle=False leaves",
        ),
        ({"via": "A[I, J] * B[J, K] rubbish"}, "nothing should follow here"),
        ({"via": "A[I_X, J] * B[J, K]", "sizes": {**SIZES, "I": 12}}, "12 elements of I do not divide"),
        ({"product": "A[I, J] * B[L, K] -> C[I, K]"}, "the size of L is missing.*A's J and B's L do not meet"),
        ({"product": "A[IX, J] * B[J, K] -> C[IX, K]"}, r"the size of IX is missing.*is I_X meant\?"),
        ({"via": "A[I, K] * B[J, K]"}, r"here should be A\[I, J\]"),
        ({"via": "A[I, J_Q] * B[J_Q, K]"}, "axis 'Q' is unknown"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(change, says):
    given = {"product": "A[I, J_X] * B[J_X, K] -> C[I, K]", "sizes": SIZES, "mesh": LINE} | change
    if says == "^$":
        assert plan_matmul(**given).collectives  # what follows the operands is not looked at
        return
    with pytest.raises(sl.ScalingError, match=says):
        plan_matmul(**given)
