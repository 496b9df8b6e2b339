"""Wrong answers that people really gave, worked out by hand, and what each is told."""

import math

import pytest

from scaling_lib.exercises import check, exercise
from scaling_lib.exercises.engine import check_exercise


@pytest.mark.parametrize(
    ("key", "answer", "says"),
    [
        # Bytes with copies: 8192 x 32768 numbers of 2 bytes are 536.9 MB; y = 8 and z = 3 copies.
        ("ch03.q1", 4295, "copies along Y"),
        ("ch03.q1", 1611, "copies along Z"),
        ("ch03.q1", 3221, "chips of one part"),
        ("ch03.q1", 6442, "two bytes a number"),
        # The number of a block: 14.
        ("ch03.q3", 15, "The first block has the number 0"),
        ("ch03.q3", 13, "One too few"),
        ("ch03.q3", 7, "is something left out?"),
        # 90 kB over a ring of nine: 4 hops of 1 µs, against 80 kB over one link or two of 45 GB/s.
        ("ch03.q6", 1.78, "over one link; a ring has two"),
        ("ch03.q6", 1.0, "of which 8/9 come in"),
        ("ch03.q6", 4.5, "no half hop"),
        # Blocks over the busiest link: 6 · 6 over two links.
        ("ch03.q7", 9, "36 others come back"),
        ("ch03.q7", 144, "all blocks"),
        ("ch03.q7", 132, "that are sent"),
        ("ch03.q7", 19, "One too many"),
        # 197 TFLOP/s over 45 GB/s.
        ("ch03.q10", 4378, "leaves out n. The chips"),
        ("ch03.q10", 2189, "leaves out n: each chip"),
        ("ch03.q13", 10, "piece once"),  # 2 GB over 64 chips and 3.125 GB/s
        ("ch03.q14", 177.8, "all of it over one link"),  # 2 · 4 GB over 45 GB/s
        ("ch03.q5", 87.4, "Either one byte a number, where bf16 takes two; or four links"),
        ("ch03.q15", 46.1, "Either one byte a number, where bf16 takes two; or the links of both rings"),
        ("ch03.q16", 2, "the question asks for the all-to-all over the all-gather"),
        ("ch03.q17", 0.2857, "the question asks for the first over the second"),
        # The twins.
        ("ch03.g9", 46.6, "15/16 of V comes in"),  # 8.39 MB over 180 GB/s
        ("ch03.g11", 11.65, "¾ of V moves, twice"),  # 2 · 0.524 MB over 90 GB/s
        ("ch03.g13", 22.2, "over one link"),  # 1 GB over 45 GB/s
        ("ch03.g13", 2.78, "adds the times of both axes"),
        ("ch03.g16", 248.6, "63/64 of V moves, twice"),  # 2 · 33.55 MB over 270 GB/s
        ("ch03.g18", 0.25, "the question asks for the all-gather over the all-to-all"),
        ("ch03.g19", 6284, "One too many"),
        ("ch03.g20", 2.5, "its own quarter already"),  # 2 · 3.906 MB over 3.125 GB/s
        ("ch03.g20", 1.25, "two slices"),
        ("ch03.g2", 9, "One too many"),
        ("ch01.g6", 0.001711, "That is bytes/s over FLOP/s"),  # 7.7 T over 4500 T
        ("ch02.q12", 191, "One too few"),  # 8 · 8 · 12 chips, four a host: 192
    ],
)
def test_a_number_is_told_its_own_mistake(key, answer, says):
    asked = exercise(key).page or exercise(key)
    verdict = check_exercise(asked, answer)
    assert verdict.status == "fail" and says in verdict.hint, verdict


def gather(nbytes, n, wraps, link, hop, hops=None, scale=1.0):
    ways, farthest = (2, n // 2) if wraps else (1, n - 1)
    return scale * max(nbytes * (n - 1) / n / (ways * link), (farthest if hops is None else hops(n, wraps)) * hop)


@pytest.mark.parametrize(
    ("key", "function", "says"),
    [
        ("ch03.q6", lambda *a: gather(*a, scale=1e6), "Right digits, other unit: a million times too large for s."),
        ("ch03.q6", lambda *a: gather(*a, scale=1e3), "Right digits, other unit: 1000 times too large for s."),
        ("ch03.q6", lambda *a: gather(*a, hops=lambda n, wraps: n / 2 if wraps else n - 1), "no half hop"),
        ("ch03.q6", lambda v, n, wraps, link, hop: gather(v, n, False, link, hop), "whatever wraps says"),
        ("ch03.q7", lambda n, wraps: n * n // 4, "whatever wraps says"),
        ("ch03.q3", lambda place, sizes, axes: 1 + digits(place, sizes, axes), "The first block has the number 0"),
    ],
)
def test_a_function_is_told_its_own_mistake(key, function, says):
    verdict = check(key, function)
    assert verdict.status == "fail" and says in verdict.hint, verdict


def digits(place, sizes, axes):
    below = [math.prod(sizes[axis] for axis in axes[i + 1 :]) for i in range(len(axes))]
    return sum(place[axis] * step for axis, step in zip(axes, below, strict=True))


@pytest.mark.parametrize("spoilt", [lambda t: t * 1.5, lambda t: t * 1e6 if t < 1e-4 else t, lambda t: None, str])
def test_a_function_in_no_one_other_unit_is_not_told_of_units(spoilt):
    assert "unit" not in check("ch03.q6", lambda *a: spoilt(gather(*a))).hint
