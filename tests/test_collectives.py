"""Collective times against the link-level simulation: bytes on the busiest link, hops, and totals between the bounds.

Links carry 1 byte a second, so that bytes are seconds. The simulator shares no code with the formulas.
"""

import math
import random
from itertools import product

import link_simulator as simulated
import numpy as np
import pytest
import switch_simulator as switched
from least_load import least_gather

import scaling_lib as sl
from scaling_lib.hardware import Switch, Torus
from scaling_lib.hardware.links import Axis

GATHERS = {"all-gather": sl.all_gather_time, "reduce-scatter": sl.reduce_scatter_time}
HOP = 0.3


def random_boxes(count, seed, largest=60):
    """Boxes of one to three axes, each a ring or a line, odd lengths and unequal ones included."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        axes = [(rng.randint(2, 24), rng.random() < 0.6) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        if math.prod(n for n, _ in axes) <= largest:
            found.append(tuple((n, wraps and n > 2) for n, wraps in axes))
    return found


def torus(axes, hop_s=0.0):
    return Torus(axes, 1.0, hop_s)


def chips(axes):
    return math.prod(n for n, _ in axes)


@pytest.mark.parametrize("part", range(5))
def test_on_200_random_tori_and_lines_busiest_link_and_hops_are_the_simulators(part):
    for axes in random_boxes(40, seed=part):
        box, n = simulated.Box(axes), chips(axes)
        gather = simulated.busiest(box, simulated.gather_along)
        for collective in GATHERS.values():
            t = collective(n, torus(axes, 1.0))
            assert t.bandwidth_s == pytest.approx(gather), axes
            assert t.latency_s == box.eccentricity(), axes
        exchange = sl.all_to_all_time(n * n, torus(axes, 1.0))
        assert exchange.bandwidth_s == pytest.approx(simulated.busiest(box, simulated.exchange_along)), axes
        assert exchange.latency_s == box.eccentricity(), axes
        both = sl.all_reduce_time(n, torus(axes, 1.0))
        assert (both.bandwidth_s, both.latency_s) == pytest.approx((2 * gather, 2 * box.eccentricity()))


@pytest.mark.parametrize("axes", [a for a in random_boxes(90, seed=7, largest=12) if chips(a) <= 9][:12])
def test_no_all_gather_at_all_loads_the_busiest_link_less(axes):
    # The optimum over every schedule, by linear programming over flows.
    least = least_gather(simulated.Box(axes))
    assert sl.all_gather_time(chips(axes), torus(axes)).bandwidth_s == pytest.approx(least, rel=1e-6)


def whole_shard_boxes():
    """Where whole shards, hop by hop, reach `upper_s`: one axis, and tori all of whose axes are rings."""
    one = [((n, wraps and n > 2),) for n in range(2, 20) for wraps in (False, True)]
    several = [a for a in random_boxes(400, seed=3, largest=48) if len(a) > 1 and all(w for _, w in a)]
    return one + several[:20]


@pytest.mark.parametrize("axes", whole_shard_boxes(), ids=str)
def test_whole_shards_hop_by_hop_take_upper_s(axes):
    box, n = simulated.Box(axes), chips(axes)
    rounds = simulated.rounds_of_gather(box)
    t = sl.all_gather_time(n, torus(axes, HOP))
    for play in (simulated.play_gather, simulated.play_scatter):
        seconds, load = play(box.chips, rounds, HOP)
        assert seconds == pytest.approx(t.upper_s)
        assert max(load.values()) == pytest.approx(t.bandwidth_s)


@pytest.mark.parametrize("axes", random_boxes(40, seed=11, largest=30), ids=str)
def test_chunks_forwarded_at_once_come_down_to_lower_s(axes):
    box, n = simulated.Box(axes), chips(axes)
    gather, exchange = simulated.gather_trees(box, 8), simulated.exchange_trees(box, 2)
    # With free hops the busiest link never rests.
    assert simulated.play_trees(gather, 0.0) == pytest.approx(sl.all_gather_time(n, torus(axes)).lower_s)
    for hop_s in (HOP, 5.0):
        slack = 1 + len(axes) * hop_s + 1e-9  # one shard, and one hop an axis
        for trees, t in (
            (gather, sl.all_gather_time(n, torus(axes, hop_s))),
            (exchange, sl.all_to_all_time(n * n, torus(axes, hop_s))),
        ):
            seconds = simulated.play_trees(trees, hop_s)
            assert t.lower_s - 1e-9 <= seconds <= t.upper_s + 1e-9, (seconds, t)
            if t.bound == "network" and trees is gather:
                assert seconds <= t.lower_s + slack


@pytest.mark.parametrize("n", range(2, 17))
def test_a_pipelined_all_reduce_on_a_line_moves_the_array_once(n):
    box = simulated.Box([(n, False)])
    _, out = simulated.play_gather(box.chips, simulated.rounds_of_gather(box))
    _, back = simulated.play_scatter(box.chips, simulated.rounds_of_gather(box))
    line = torus([(n, False)], 1.0)
    assert max((out + back).values()) == pytest.approx(sl.all_reduce_time(n, line, algorithm="pipelined").bandwidth_s)
    assert sl.all_reduce_time(n, line).bandwidth_s == pytest.approx(2 * (n - 1))
    ring = torus([(n, True)])
    pipelined = sl.all_reduce_time(n, ring, algorithm="pipelined").bandwidth_s
    assert pipelined == pytest.approx(sl.all_reduce_time(n, ring).bandwidth_s if n > 2 else n)


@pytest.mark.parametrize(("n", "wraps", "cyclic"), list(product((2, 3, 4, 7, 8, 12), (True, False), (True, False))))
def test_a_shift_loads_the_busiest_link_as_simulated(n, wraps, cyclic):
    box = simulated.Box([(n, wraps and n > 2)])
    for shift in range(1, n):
        load, far = simulated.shift_along(box, shift, cyclic)
        t = sl.permute_time(1.0, torus(box.axes, 1.0), shift=shift, cyclic=cyclic)
        assert (t.bandwidth_s, t.latency_s) == pytest.approx((load, far))


@pytest.mark.parametrize("cyclic", [True, False])
@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 3), (3, 3), (3, 5), (3, 3, 3)])
def test_several_axes_are_one_ring_if_a_length_is_even_and_else_one_line(shape, cyclic):
    chain = simulated.Box([(math.prod(shape), any(n % 2 == 0 for n in shape))])
    for shift in (1, 2, math.prod(shape) - 1):
        load, far = simulated.shift_along(chain, shift, cyclic)
        t = sl.permute_time(1.0, torus([(n, False) for n in shape], 1.0), shift=shift, cyclic=cyclic)
        assert (t.bandwidth_s, t.latency_s) == pytest.approx((load, far))


def test_steps_between_nodes_and_inside_are_counted_each():
    four_nodes = Levels((Switch(8, 9.0, 1.0, reduces=True), Switch(4, 1.0, 100.0, "scaleout", reduces=True)))
    steps = {  # of 1 s inside a node and 100 s between nodes
        None: 2 * 7 + 2 * 300,  # rings: seven neighbours, three nodes; scattered, and gathered back
        "tree": 2 * 7 + 2 * 200,  # a ring inside; a tree of four nodes is two steps deep
        "nvls": 2 * 1 + 2 * 300,  # to the switch that adds, and back from it; a ring between
        "sharp": 2 * 1 + 2 * 100,
    }
    assert {a: sl.all_reduce_time(1.0, four_nodes, algorithm=a).latency_s for a in steps} == steps


@pytest.mark.parametrize("n", range(1, 41))
def test_through_a_switch_ring_tree_exchange_and_reducing_switch_are_as_simulated(n):
    node = Switch(n, 1.0, HOP, reduces=True)
    seconds, busiest = switched.play_ring_gather(n, HOP)
    for collective in GATHERS.values():
        t = collective(n, node)
        assert (t.upper_s, t.bandwidth_s) == pytest.approx((seconds, busiest))
    tree, steps = switched.play_double_tree(n)
    t = sl.all_reduce_time(n, node, algorithm="tree")
    assert (t.bandwidth_s, t.latency_s) == pytest.approx((tree, steps * HOP))
    exchange = sl.all_to_all_time(n * n, node)
    assert exchange.bandwidth_s == pytest.approx(switched.play_exchange(n))
    if n > 1:
        nvls, sharp = (sl.all_reduce_time(n, node, algorithm=a).bandwidth_s for a in ("nvls", "sharp"))
        assert nvls == pytest.approx(switched.play_nvls(n))
        assert sharp == pytest.approx(switched.play_sharp(n))


@pytest.mark.parametrize(("nodes", "gpus"), list(product((2, 3, 4, 7), (1, 2, 3, 8))))
def test_nodes_and_network_take_their_stages_in_turn_or_the_slower_of_them(nodes, gpus):
    nvlink, card = 9.0, 1.0
    cluster = (Switch(gpus, nvlink, HOP), Switch(nodes, card, 2.0, "scaleout"))
    seconds, inside, between = switched.play_two_levels(nodes, gpus, nvlink, card, (HOP, 2.0))
    t = sl.all_gather_time(nodes * gpus, Levels(cluster))
    assert t.upper_s == pytest.approx(seconds)
    assert (t.stages.get("nvlink", 0.0), t.stages["scaleout"]) == pytest.approx((inside, between))
    assert t.bandwidth_s == pytest.approx(max(inside, between))


@pytest.mark.parametrize(("nodes", "gpus", "nvlink"), list(product((2, 3, 4), (2, 3, 8), (1.5, 9.0))))
def test_a_flat_ring_is_as_slow_as_its_slowest_link(nodes, gpus, nvlink):
    cluster = Levels((Switch(gpus, nvlink, 1.0), Switch(nodes, 1.0, 100.0, "scaleout")))
    inside, between, (links, crossings) = switched.play_flat_rings(nodes, gpus)
    t = sl.all_reduce_time(1.0, cluster, algorithm="ring")
    assert t.bandwidth_s == pytest.approx(max(inside / nvlink, between))
    assert t.latency_s == 2 * (links + 100 * crossings)


@pytest.mark.parametrize(("size", "stride", "wraps"), list(product((2, 3, 4, 6), (2, 3, 4), (True, False))))
def test_every_kth_chip_of_an_axis_shares_its_links_with_the_groups_between(size, stride, wraps):
    axis = Axis(size, wraps, stride)
    busiest = simulated.shared_axis(size * stride, wraps, stride)
    assert sl.all_gather_time(size, Torus((axis,), 1.0)).bandwidth_s == pytest.approx(busiest)
    box = simulated.Box([(size * stride, wraps)])
    load = simulated.exchange_along(box, [0], stride)
    exchange = sl.all_to_all_time(size * size, Torus((axis,), 1.0))
    assert exchange.bandwidth_s == pytest.approx(max(load.values()))


@pytest.mark.parametrize(("nodes", "gpus"), list(product((2, 3, 4), (1, 2, 8))))
def test_an_all_to_all_of_nodes_sends_each_pair_once_inside_or_between(nodes, gpus):
    inside, between = switched.play_exchange_of_nodes(nodes, gpus)
    t = sl.all_to_all_time((nodes * gpus) ** 2, Levels((Switch(gpus, 9.0), Switch(nodes, 2.0, 0.0, "scaleout"))))
    assert (9 * t.stages.get("nvlink", 0.0), 2 * t.stages["scaleout"]) == pytest.approx((inside, between))


@pytest.mark.parametrize(
    ("axes", "strides"),
    [
        (((4, False), (2, False)), (4, 1)),
        (((4, True), (2, False)), (4, 1)),
        (((2, False), (4, False)), (1, 4)),
        (((3, True), (3, True)), (1, 4)),
        (((2, False), (2, False), (2, False)), (4, 1, 2)),
    ],
)
def test_where_one_axis_shares_its_links_the_slowest_set_of_axes_binds(axes, strides):
    least = least_gather(simulated.Box(axes), [1 / stride for stride in strides])
    shared = Torus(tuple(Axis(n, wraps, k) for (n, wraps), k in zip(axes, strides, strict=True)), 1.0)
    assert sl.all_gather_time(chips(axes), shared).bandwidth_s == pytest.approx(least, rel=1e-6)


class Levels:
    """A machine made of given levels."""

    def __init__(self, levels):
        self.levels = tuple(level for level in levels if level.n > 1)

    def group(self, axes=None):
        return self.levels


# ---- truths that need no simulator ---------------------------------------------------------------------------------


MESH = sl.Mesh(sl.TpuSlice("tpu-v5p", (4, 8, 16)), X=4, Y=8, Z=16)
POD = sl.GpuCluster("h100", 1024)
EVERY = (sl.all_gather_time, sl.reduce_scatter_time, sl.all_reduce_time, sl.all_to_all_time, sl.permute_time)


@pytest.mark.parametrize("machine", [MESH, POD, sl.MultiSlice(sl.TpuSlice("tpu-v6e", (16, 16)), n=4)], ids=repr)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(machine):
    whole, scatter, gather = (f(1e9, machine) for f in (sl.all_reduce_time, sl.reduce_scatter_time, sl.all_gather_time))
    assert whole.latency_s == scatter.latency_s + gather.latency_s
    assert whole.upper_s == pytest.approx(scatter.upper_s + gather.upper_s)
    assert whole.bandwidth_s == pytest.approx(scatter.bandwidth_s + gather.bandwidth_s)


@pytest.mark.parametrize("collective", EVERY)
@pytest.mark.parametrize(("machine", "axes"), [(MESH, "X"), (MESH, "ZY"), (POD, None)])
def test_sizes_broadcast_and_agree_with_scalars(collective, machine, axes):
    sizes = np.array([[0.0, 1e3], [1e6, 1e9]])
    t = collective(sizes, machine, axes)
    for field in ("bandwidth_s", "lower_s", "upper_s", "bound", "busiest"):
        one = [[getattr(collective(v, machine, axes), field) for v in row] for row in sizes.tolist()]
        assert getattr(t, field).tolist() == one
    assert isinstance(collective(1e6, machine, axes).lower_s, float)
    assert set(t.bound.ravel()) <= {"network", "latency"}


@pytest.mark.parametrize("collective", EVERY)
def test_illegal_sizes_raise_or_are_masked_with_a_reason(collective):
    for bad in (-1, math.nan, math.inf, "1 GB", True):
        with pytest.raises(sl.ScalingError, match="nbytes"):
            collective(bad, MESH, "X")
    masked = collective([1e6, -1.0, math.nan], MESH, "X").lower_s
    assert masked.mask.tolist() == [False, True, True]
    assert [sl.Reason(code).says for code in masked.reason] == ["ok", "negative", "not a number"]


@pytest.mark.parametrize("collective", EVERY)
@pytest.mark.parametrize("shape", [(1, 1), (2, 4), (4, 4), (8, 16), (16, 16)])
def test_a_single_slice_of_several_is_that_slice(collective, shape):
    s = sl.TpuSlice("tpu-v5e", shape)
    one, alone = collective(1e9, sl.MultiSlice(s, 1)), collective(1e9, s)
    assert (one.stages, one.latency_s) == (alone.stages, alone.latency_s)
    assert (one.bandwidth_s > 0) == (s.n_chips > 1)


@pytest.mark.parametrize("collective", EVERY)
def test_one_chip_has_nothing_to_send(collective):
    for machine in (sl.TpuSlice("tpu-v5e", (1, 1)), sl.GpuCluster("h100", 1), Torus([1], 1.0)):
        assert collective(1e9, machine).upper_s == 0.0


def test_the_bound_changes_where_bandwidth_overtakes_latency():
    ring = torus([(16, True)], 1.0)
    below, above = sl.all_gather_time([17.0, 17.1], ring).bound  # (n-1)/2n · V against 8 hops: V = 256/15
    assert (below, above) == ("latency", "network")
    assert sl.all_gather_time(1e3, ring, hop_latency_s=0).bound == "network"
    assert sl.all_gather_time(1e3, ring, hop_latency_s=[0.0, 1e6]).bound.tolist() == ["network", "latency"]


def test_algorithms_that_a_machine_cannot_run_are_refused_with_those_it_can():
    with pytest.raises(sl.ScalingError, match=r"None, ring, tree on .*got 'nvls'"):
        sl.all_reduce_time(1.0, sl.GpuCluster("a100", 8), algorithm="nvls")
    between = sl.Mesh(POD, data=128, tensor=8)
    assert sl.all_reduce_time(1.0, between, "data", algorithm="sharp").bandwidth_s == pytest.approx(1 / 50e9)
    with pytest.raises(sl.ScalingError, match="None, ring, tree, sharp on 128 chips on scaleout"):
        sl.all_reduce_time(1.0, between, "data", algorithm="nvls")
    with pytest.raises(sl.ScalingError, match="None, pipelined"):
        sl.all_reduce_time(1.0, MESH, "X", algorithm="tree")
    with pytest.raises(sl.ScalingError, match=r"None, ring, tree, sharp, nvls on .*got \['ring'\]"):
        sl.all_reduce_time(1.0, sl.GpuCluster("h100", 8), algorithm=["ring"])
    with pytest.raises(sl.ScalingError, match="must be None on"):
        sl.all_reduce_time(1.0, MESH, "XY", algorithm="pipelined")


def test_shifts_that_do_not_exist_are_refused():
    for bad in (0, 4, -1, 1.0):
        with pytest.raises(sl.ScalingError, match="from 1 to 3"):
            sl.permute_time(1.0, MESH, "X", shift=bad)


def test_a_message_between_two_chips_uses_every_link_that_leads_there():
    s = sl.TpuSlice("tpu-v5e", (16, 16))
    across = sl.transfer_time(90e9, s, (0, 0), (8, 8))  # half-way round both rings: four links
    assert across.bandwidth_s == pytest.approx(0.5)
    assert across.latency_s == pytest.approx(16e-6)
    assert sl.transfer_time(1e9, s, (3, 3), (3, 3)).upper_s == 0.0
    with pytest.raises(sl.ScalingError, match="not on the slice"):
        sl.transfer_time(1.0, s, (0, 0), (16, 0))
