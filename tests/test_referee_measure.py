"""The measured roofline: sane numbers with their spread, whatever machine this is."""

import dataclasses

import jax
import pytest

from scaling_lib import referee
from scaling_lib.referee import measure
from scaling_lib.referee.measure import Spread
from scaling_lib.units import ScalingError


@pytest.fixture(scope="module")
def measured():
    return referee.measure_roofline(seconds=0.5)


def test_rates_are_of_this_world(measured):
    assert 1e8 < measured.peak_flops_per_s.median < 1e16
    assert 1e8 < measured.stream_bytes_per_s.median < 1e14
    for spread in (measured.peak_flops_per_s, measured.stream_bytes_per_s, *(p.flops_per_s for p in measured.points)):
        assert 0 < spread.low <= spread.median <= spread.high and spread.n >= 5


def test_points_climb_the_roof_in_prediction(measured):
    batches = [p.batch for p in measured.points]
    assert batches == sorted(batches) and batches[0] == 1
    for p in measured.points:
        roof = min(measured.peak_flops_per_s.median, p.intensity * measured.stream_bytes_per_s.median)
        assert p.predicted_flops_per_s == pytest.approx(roof)
        assert p.flops_per_s.median < 2 * measured.peak_flops_per_s.median
    one, large = measured.points[0], measured.points[-1]
    assert one.intensity == pytest.approx(0.5, rel=0.01) and large.intensity > 50
    assert large.flops_per_s.median > one.flops_per_s.median


def test_no_point_is_its_own_prediction(measured):
    assert all(p.flops_per_s.median != p.predicted_flops_per_s for p in measured.points)


def test_the_peak_is_the_square_matmuls_even_where_a_point_is_faster(monkeypatch):
    seen = []

    def rates(tasks, seconds):
        seen.extend(amount for amount, _ in tasks)
        return [Spread(v, v, v, 5) for v in (100.0, 7.0, 9.0, *[120.0] * (len(tasks) - 3))]

    monkeypatch.setattr(measure, "measured_rates", rates)
    found = referee.measure_roofline(jax.devices("cpu")[0])
    assert (found.peak_flops_per_s.median, found.stream_bytes_per_s.median) == (100, 9)
    assert seen[0] == 2 * round((seen[0] / 2) ** (1 / 3)) ** 3 and len(seen) == 3 + len(found.points)
    assert [p.predicted_flops_per_s for p in found.points][-1] == 100 < found.points[-1].flops_per_s.median


def test_the_result_is_frozen_and_shows_itself(measured):
    with pytest.raises(dataclasses.FrozenInstanceError):
        measured.d = 1
    assert "quartiles" in repr(measured) and measured._repr_html_().startswith('<div class="sl-report">')
    assert Spread(2e9, 1e9, 3e9, 5).text("B/s") == "2 GB/s (1 GB/s to 3 GB/s, 5 runs)"


@pytest.mark.parametrize(
    "kwargs",
    [{"dtype": "int3"}, {"dtype": ["f32"]}, {"dtype": ""}, {"seconds": 0}, {"seconds": "long"}, {"seconds": [1, 2]}],
)
def test_bad_arguments_are_named(kwargs):
    with pytest.raises(ScalingError, match=next(iter(kwargs))):
        referee.measure_roofline(**kwargs)
