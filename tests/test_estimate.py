"""Bounds: no faster than the busiest part, no slower than all parts in turn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling_lib as sl
from scaling_lib.estimate import BOUNDS, binding, lower_s, upper_s

SECONDS = st.floats(0, 1e6)
FIVE = st.tuples(*[SECONDS] * 5)


@given(FIVE)
def test_the_bounds_are_the_largest_part_and_the_sum(parts):
    t = sl.TimeBounds(*parts)
    assert t.lower_s == max(parts) and t.upper_s == pytest.approx(sum(parts))
    assert t.lower_s <= t.upper_s * (1 + 1e-12) <= 5 * t.lower_s * (1 + 1e-9)
    assert t.bound == BOUNDS[parts.index(max(parts))]


@given(st.lists(FIVE, min_size=1, max_size=5))
def test_arrays_give_what_each_entry_gives(rows):
    t = sl.TimeBounds(*np.array(rows).T)
    each = [sl.TimeBounds(*row) for row in rows]
    assert t.lower_s.tolist() == [one.lower_s for one in each]
    assert t.upper_s.tolist() == pytest.approx([one.upper_s for one in each])
    assert t.bound.tolist() == [one.bound for one in each]


def test_scalars_in_give_python_values_out():
    t = sl.TimeBounds(math_s=1, memory_s=2.5)
    assert (type(t.lower_s), type(t.upper_s), type(t.bound)) == (float, float, str)


def test_what_is_masked_in_one_part_is_masked_in_the_whole():
    work = sl.matmul_work([128, 0], 4096, 4096)
    t = sl.time_bounds(work, "tpu-v5e")
    for result in (t.lower_s, t.upper_s, t.bound):
        assert result.mask.tolist() == [False, True] and result.reason.tolist() == [0, sl.Reason.ZERO]


def test_times_must_be_times():
    for bad in (-1, float("nan"), "1 s", True):
        with pytest.raises(sl.ScalingError, match="times_s"):
            lower_s(1.0, bad)
        with pytest.raises(sl.ScalingError, match="times_s"):
            upper_s(1.0, bad)
    with pytest.raises(sl.ScalingError, match="memory"):
        binding(math=1.0, memory=-1.0)


@pytest.mark.parametrize("field", [f"{name}_s" for name in BOUNDS])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1e-9, "1 s", None, True])
def test_bounds_are_made_of_times_only(field, bad):
    with pytest.raises(sl.ScalingError, match=f"^{field} (is|must be)"):
        sl.TimeBounds(**{field: bad})


def test_an_illegal_entry_among_the_times_is_masked():
    t = sl.TimeBounds(math_s=[1.0, -1.0], memory_s=2.0)
    assert t.lower_s.mask.tolist() == [False, True] and t.lower_s[0] == 2.0


def test_no_time_at_all_has_no_bound():
    for call in (lower_s, upper_s, binding):
        with pytest.raises(sl.ScalingError, match="times_s must hold at least one time, got none"):
            call()
