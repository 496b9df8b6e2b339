"""Padding on the reader's chip: predicted from the tile, then measured."""

import pytest

pytest.importorskip("jax", reason="the referee needs jax")

from types import SimpleNamespace as Like

from scaling_lib import referee
from scaling_lib.referee import tiles
from scaling_lib.referee.measure import Spread
from scaling_lib.units import ScalingError


def test_the_tile_is_the_chips_own():
    assert tiles.tile_of(Like(platform="cpu", device_kind="cpu")) == 1
    assert tiles.tile_of(Like(platform="tpu", device_kind="TPU v5 lite")) == 128
    assert tiles.tile_of(Like(platform="tpu", device_kind="TPU v6 lite")) == 256
    assert tiles.tile_of(Like(platform="gpu", device_kind="NVIDIA H100 80GB HBM3")) == 128
    assert tiles.tile_of(Like(platform="gpu", device_kind="something else")) == 128


def test_the_prediction_falls_just_above_a_multiple(monkeypatch):
    alike = Spread(1e12, 9e11, 1.1e12, 5)
    monkeypatch.setattr(tiles, "_square_rates", lambda device, sides, *more: dict.fromkeys(sides, alike))
    found = referee.measure_tiles(Like(platform="tpu", device_kind="TPU v5 lite"))
    assert found.tile == 128 and found.dtype == "bf16"
    predicted = {size.n: size.predicted_flops_per_s for size in found.sizes}
    assert predicted[4096] == 1e12
    assert predicted[4097] == pytest.approx(1e12 * (4097 / 4224) ** 2)
    assert predicted[4032] == pytest.approx(1e12 * (4032 / 4096) ** 2)


def test_a_cpu_is_measured_and_its_prediction_is_flat():
    found = referee.measure_tiles(seconds=0.1)
    assert len({size.predicted_flops_per_s for size in found.sizes}) == 1
    assert all(size.flops_per_s.low <= size.flops_per_s.median <= size.flops_per_s.high for size in found.sizes)
    assert "no tile known" in repr(found) and "<table>" in found._repr_html_() and "GFLOP/s" in repr(found)


@pytest.mark.parametrize(
    ("seconds", "says"), [(-1, "seconds is negative"), ([1, 2], r"seconds: got \[1, 2\]; give one")]
)
def test_seconds_are_one_positive_number(seconds, says):
    with pytest.raises(ScalingError, match=says):
        referee.measure_tiles(seconds=seconds)
