"""Algorithm, bus and wire bandwidth told apart, and what tools print read rightly."""

import numpy as np
import pytest
import switch_simulator as switched

import scaling_lib as sl

NODE = sl.GpuCluster("h100", 8)


@pytest.mark.parametrize("n", [*range(1, 20), 64])
def test_factors_count_what_one_chip_of_a_ring_sends(n):
    # Blocks of 1 byte, an array of n: what the busiest chip of the simulation sends, each algorithm with real sums.
    assert sl.bus_factor("all_gather", n) == pytest.approx(switched.play_ring_gather(n)[1] / n)
    assert sl.bus_factor("reduce_scatter", n) == pytest.approx(switched.play_ring_reduce(n, gather=False) / n)
    assert sl.bus_factor("all_reduce", n) == pytest.approx(switched.play_ring_reduce(n) / n)
    assert sl.bus_factor("all_to_all", n) == pytest.approx(switched.play_exchange(n) / n)
    assert sl.bus_factor("permute", n) == 1.0
    if n > 1:
        assert sl.wire_factor("all_reduce", n, "nvls") == pytest.approx(switched.play_nvls(n) / n)
        assert sl.wire_factor("all_reduce", n, "sharp") == pytest.approx(switched.play_sharp(n) / n)
        assert sl.wire_factor("all_reduce", n, "tree") == pytest.approx(switched.play_double_tree(n)[0] / n)


def test_two_chips_all_reduce_for_the_price_of_their_array():
    assert sl.bus_factor("all_reduce", 2) == 1.0  # not (2n-1)/n = 1.5
    t = sl.all_reduce_time(450e9, sl.GpuCluster("h100", 2))
    assert t.bandwidth_s == pytest.approx(1.0)


@pytest.mark.parametrize("operation", ["all_gather", "reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_a_predicted_ring_has_the_links_rate_as_bus_bandwidth(operation, n):
    cluster = sl.GpuCluster("h100", n)
    t = getattr(sl, f"{operation}_time")(1e9, cluster).bandwidth_s
    found = sl.bandwidths(operation, n, nbytes=1e9, time_s=t, link_bytes_per_s=450e9 * (1 + 1e-12))
    assert found.bus_bytes_per_s == pytest.approx(450e9)
    assert found.wire_bytes_per_s == found.bus_bytes_per_s


@pytest.mark.parametrize(("algorithm", "n"), [("ring", 8), ("tree", 8), ("nvls", 8), ("sharp", 8), ("nvls", 2)])
def test_the_wire_factor_is_what_the_predicted_time_keeps_the_links_busy_with(algorithm, n):
    given = None if algorithm == "ring" else algorithm
    t = sl.all_reduce_time(1e9, sl.GpuCluster("h100", n), algorithm=given)
    assert t.bandwidth_s * 450e9 / 1e9 == pytest.approx(sl.wire_factor("all_reduce", n, algorithm))


def test_bus_bandwidth_above_the_wire_is_no_wonder_with_a_switch_that_adds():
    found = sl.bandwidths("all_reduce", 8, bus=480e9, algorithm="nvls", link_bytes_per_s=450e9)
    assert found.algorithm_bytes_per_s == pytest.approx(480e9 / 1.75)
    assert found.wire_bytes_per_s == pytest.approx(480e9 / 1.75 * 9 / 8)
    with pytest.raises(sl.ScalingError, match=r"450 GB/s cannot carry 480 GB/s: all_reduce did not run as ring"):
        sl.bandwidths("all_reduce", 8, bus=480e9, link_bytes_per_s=450e9)


def test_two_nodes_behind_one_card_show_more_bus_bandwidth_than_the_card_has():
    card = 12.5e9  # 100 Gbit/s for a node of eight
    two = sl.GpuCluster("h100", 16, scaleout_bytes_per_s=card / 8)
    levels = 1e9 / sl.all_reduce_time(1e9, two).bandwidth_s
    ring = 1e9 / sl.all_reduce_time(1e9, two, algorithm="ring").bandwidth_s
    assert (levels, ring) == (pytest.approx(12.5e9), pytest.approx(12.5e9 / (2 * 15 / 16)))
    assert levels * sl.bus_factor("all_reduce", 16) == pytest.approx(23.4375e9)
    assert ring * sl.bus_factor("all_reduce", 16) == pytest.approx(card)


def test_nothing_that_is_predicted_puts_more_on_a_wire_than_it_carries():
    for n in (2, 4, 8):
        cluster = sl.GpuCluster("h100", n)
        for algorithm in (None, "ring", "tree", "nvls", "sharp"):
            t = sl.all_reduce_time(1e9, cluster, algorithm=algorithm)
            sl.bandwidths(
                "all_reduce",
                n,
                nbytes=1e9,
                time_s=t.bandwidth_s,
                algorithm=algorithm or "ring",
                link_bytes_per_s=450e9 * (1 + 1e-12),
            )


def test_measured_all_gathers_are_read_by_the_gathered_array():
    two = sl.bandwidths("all_gather", 2, nbytes=64 * 2**20, time_s=292.3e-6)
    assert two.algorithm_bytes_per_s == pytest.approx(229.589e9, rel=2e-4)
    assert two.bus_bytes_per_s == pytest.approx(114.794e9, rel=2e-4)
    ring = sl.bandwidths("all_gather", 16, nbytes=1e7, time_s=109.649e-6)
    assert ring.bus_bytes_per_s == pytest.approx(85.5e9, rel=1e-3)  # not 15 arrays: 1,368 GB/s


def test_arguments_that_cannot_be_are_refused():
    with pytest.raises(sl.ScalingError, match="operation must be one of all_gather"):
        sl.bus_factor("broadcast", 8)
    with pytest.raises(sl.ScalingError, match="algorithm must be one of ring for all_gather"):
        sl.wire_factor("all_gather", 8, "nvls")
    with pytest.raises(sl.ScalingError, match="algorithm must be one of ring, tree"):
        sl.wire_factor("all_reduce", 8, "magic")
    with pytest.raises(sl.ScalingError, match="not both"):
        sl.bandwidths("all_reduce", 8)
    with pytest.raises(sl.ScalingError, match="not both"):
        sl.bandwidths("all_reduce", 8, nbytes=1.0, time_s=1.0, bus=1.0)
    for bad in (0, 0.5, -1, "8"):
        with pytest.raises(sl.ScalingError, match="n "):
            sl.bus_factor("all_reduce", bad)


def test_entries_below_one_chip_are_masked_and_one_chip_has_no_bus():
    factors = sl.bus_factor("all_reduce", [0.5, 8])
    assert factors.mask.tolist() == [True, False] and factors[1] == 1.75
    assert [sl.Reason(code).says for code in factors.reason] == ["too small", "ok"]
    with pytest.raises(sl.ScalingError, match="n is too small, got 1: possible are numbers of chips from 2"):
        sl.bandwidths("all_reduce", 1, bus=1e9)
    found = sl.bandwidths("all_reduce", [1, 8], bus=1.75e9)
    assert found.algorithm_bytes_per_s.mask.tolist() == [True, False] and found.algorithm_bytes_per_s[1] == 1e9
    assert found.algorithm_bytes_per_s.reason.tolist() == [sl.Reason.TOO_SMALL, sl.Reason.OK]
    assert sl.bandwidths("all_reduce", 1, nbytes=1.0, time_s=1.0).bus_bytes_per_s == 0.0


def test_links_are_checked_entry_by_entry():
    assert sl.bandwidths("all_reduce", 8, bus=[1e9, 9e9], link_bytes_per_s=[2e9, 10e9]).bus_bytes_per_s.size == 2
    with pytest.raises(sl.ScalingError, match="a link of 2 GB/s cannot carry 9 GB/s"):
        sl.bandwidths("all_reduce", 8, bus=[1e9, 9e9], link_bytes_per_s=[10e9, 2e9])
    with pytest.raises(sl.ScalingError, match="do not broadcast"):
        sl.bandwidths("all_reduce", 8, bus=[1e9, 9e9], link_bytes_per_s=[1e9, 2e9, 3e9])
    assert sl.bandwidths("all_reduce", 8, bus=[], link_bytes_per_s=1e9).wire_bytes_per_s.size == 0


def test_factors_broadcast():
    n = np.arange(2, 9)
    assert sl.bus_factor("all_reduce", n).tolist() == [sl.bus_factor("all_reduce", k) for k in n.tolist()]
    for algorithm in ("ring", "tree", "nvls", "sharp"):
        assert sl.wire_factor("all_reduce", n, algorithm).tolist() == [
            sl.wire_factor("all_reduce", k, algorithm) for k in n.tolist()
        ]
    shares = sl.ragged_share(np.array([2, 8, 64]), 4, exact=False)
    assert shares.tolist() == [0.5, 0.4375, 4 / 64 * 63 / 64]


def test_the_share_of_tokens_that_leave_is_what_drawing_them_gives():
    rng = np.random.default_rng(0)
    groups, k = 8, 4
    drawn = rng.integers(0, groups, (200_000, k))
    away = np.mean([(drawn == g).any(axis=1) for g in range(1, groups)]) * (groups - 1) / groups  # our group is 0
    assert away == pytest.approx(sl.ragged_share(groups, k), rel=0.01)
