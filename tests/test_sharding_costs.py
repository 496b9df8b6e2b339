"""What steps cost: permutations on links, levels of one collective, links that two mesh axes share."""

import collections
import itertools

import numpy as np
import pytest
from all_plans import Chips

import scaling_lib as sl
from scaling_lib.sharding import costs, moves, plan_matmul
from scaling_lib.sharding.shuffle import shuffle_time, sources
from scaling_lib.sharding.steps import plan_time

FLAT = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4)
CUBE = sl.Mesh(sl.TpuSlice("tpu-v5p", (2, 2, 2)), X=2, Y=2, Z=2)
TWO_SLICES = sl.Mesh(sl.MultiSlice(sl.TpuSlice("tpu-v5e", (2, 2)), n=2), X=2, Y=4)
NODES = sl.Mesh(sl.GpuCluster("h100", n_gpus=4, node=2), X=2, Y=2)


@pytest.mark.parametrize(("mesh", "inner"), [(NODES, 450e9), (TWO_SLICES, 2 * 45e9)])
def test_the_levels_of_one_collective_are_charged_one_after_the_other(mesh, inner):
    n, outer = mesh.shape[1], mesh.chip.link_bytes_per_s("scaleout" if mesh is NODES else "dcn")
    C, V = sl.parse_sharding("C[I, K]"), 2 * 4096**2
    step = sl.Step("all_reduce", (C,), C, ("X", "Y"), time=sl.all_reduce_time(V, mesh, "XY"))
    assert step.seconds == pytest.approx(2 * (n - 1) / n * V / inner + 2 * (1 / 2) * V / n / outer)
    assert step.time.lower_s < step.seconds <= step.time.upper_s
    crossing = sl.Step("permute", (C,), C, ("X", "Y"), time=shuffle_time(V, mesh, np.arange(2 * n)[::-1]))
    assert crossing.seconds == pytest.approx(V / outer)


def test_permutations_take_what_their_messages_take():
    for mesh, grain in ((FLAT, 1), (CUBE, 1), (sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 4)), X=4, Y=4), 1)):
        chips = Chips(mesh, grain)
        for before, after in itertools.permutations(itertools.permutations(mesh.names), 2):
            needs = sources(mesh.sizes, [(before, after)])
            assert sorted(needs) == list(range(mesh.n_chips))
            for nbytes in (8, 1e9):
                assert shuffle_time(nbytes, mesh, needs).lower_s == pytest.approx(chips.permutation_s(needs, nbytes))


@pytest.mark.parametrize("after", list(itertools.permutations("XYZ")))
def test_permutations_on_a_torus_of_rings_go_the_short_way(after):
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5p", (4, 4, 4)), X=4, Y=4, Z=4)
    needs = sources(mesh.sizes, [(("X", "Y", "Z"), after)])
    assert shuffle_time(1e9, mesh, needs).lower_s == pytest.approx(Chips(mesh, 1).permutation_s(needs, 1e9))


def between_slices(needs, nbytes, chip):
    """Two slices of 2 x 2, chips (slice, y, z): a message first crosses over, then goes along y, then z."""
    load, hops, crosses = collections.Counter(), 0, False
    at = list(itertools.product(range(2), repeat=3))
    for target, source in enumerate(needs):
        (s, y, z), (s_to, y_to, z_to) = at[source], at[target]
        crosses |= s != s_to
        load[s_to, "y", y, z] += y != y_to
        load[s_to, "z", y_to, z] += z != z_to
        hops = max(hops, (y != y_to) + (z != z_to))
    dcn = nbytes / chip.link_bytes_per_s("dcn") if crosses else 0.0
    return dcn, max(load.values()) * nbytes / 45e9, hops * 1e-6 + crosses * 20e-6


@pytest.mark.parametrize("seed", range(20))
def test_permutations_between_slices_cross_first_and_then_go_on_inside(seed):
    mesh = sl.Mesh(sl.MultiSlice(sl.TpuSlice("tpu-v5e", (2, 2)), n=2), X=2, Y=2, Z=2)
    needs = np.random.default_rng(seed).permutation(8)
    time, (dcn, ici, latency) = shuffle_time(1e9, mesh, needs), between_slices(needs, 1e9, mesh.chip)
    assert (time.stages.get("dcn", 0.0), time.stages.get("ici", 0.0)) == pytest.approx((dcn, ici))
    assert time.latency_s == pytest.approx(latency)


def test_a_permutation_between_nodes_uses_the_outer_network():
    mesh = sl.Mesh(sl.GpuCluster("h100", n_gpus=16), X=2, Y=8)
    needs = sources(mesh.sizes, [(("X", "Y"), ("Y", "X"))])
    time = shuffle_time(1e9, mesh, needs)
    assert set(time.stages) == {"nvlink", "scaleout"} and time.busiest == "scaleout"
    assert shuffle_time(1e9, mesh, np.arange(16)).bandwidth_s == 0


def test_a_message_that_leaves_its_node_loads_the_network_card_alone():
    mesh = sl.Mesh(sl.GpuCluster("h100", n_gpus=16), X=2, Y=8)
    time = shuffle_time(1e9, mesh, np.arange(16)[::-1])  # to the other node, and another place there
    assert time.stages == {"scaleout": pytest.approx(1e9 / 50e9)}


def test_the_search_lets_the_levels_of_a_permutation_work_at_once():
    mesh = sl.Mesh(sl.GpuCluster("h100", n_gpus=16), X=2, Y=8)
    graph = moves.graph((2, 8), 1)
    start, end = (graph.number[((order,), ())] for order in ((0, 1), (1, 0)))
    (edge,) = (i for i, e in enumerate(graph.edges) if (e.op, e.source, e.target) == ("permute", start, end))
    per_byte, latency = costs.mesh_costs(mesh, ("X", "Y")).of_edges(graph)
    # Some chips send their sixteenth to the other node, some inside their own.
    assert 16e9 * per_byte[edge] == pytest.approx(max(1e9 / 50e9, 1e9 / 450e9))
    rules = mesh.hardware.rules
    assert latency[edge] == pytest.approx(rules.nvlink_hop_s + rules.scaleout_hop_s)


def test_what_was_found_out_about_a_mesh_is_kept_for_equal_meshes():
    one, same = (sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4) for _ in range(2))
    assert costs.mesh_costs(one, one.names) is costs.mesh_costs(same, same.names)
    other = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), Y=2, X=4)
    assert costs.mesh_costs(other, other.names) is not costs.mesh_costs(one, one.names)


def test_the_times_of_a_plan_are_sums_and_maxima_of_those_of_its_steps():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5p", (2, 2, 2)), X=2, Y=2, Z=2)
    a, b, c = map(sl.parse_sharding, ("A[I, J]", "B[J, K]", "C[I, K]"))
    time = plan_time(
        (
            sl.Step("slice", (a,), a),
            sl.Step("all_gather", (a,), a, ("X",), time=sl.CollectiveTime({"ici": 2.0}, 0.5)),
            sl.Step("sum", (a,), a, time=sl.TimeBounds(memory_s=0.125)),
            sl.Step("all_gather", (b,), b, ("Y",), time=sl.CollectiveTime({"ici": 7.0}, 16.0)),
            sl.Step("multiply", (a, b), c, time=sl.TimeBounds(math_s=32.0, memory_s=1.0)),
            sl.Step("all_reduce", (c,), c, ("X",), time=sl.CollectiveTime({"ici": 4.0}, 0.25)),
        ),
        mesh,
    )
    assert time.parts == {
        "math": 32.0, "memory": 1.0 + 0.125, "network": 7.0, "host": 0.0, "latency": 0.5 + 16.0 + 0.25,
    }  # fmt: skip
    assert time.lower_s == 32.0  # X is busy 2 + 4, Y 7
    assert time.in_turn_s == 2.0 + 0.125 + 16.0 + 32.0 + 4.0
    assert time.upper_s == 2.5 + 0.125 + 23.0 + 33.0 + 4.25


def test_a_plan_without_overlap_takes_what_can_be_reckoned_by_hand():
    line = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
    p = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", {"I": 4096, "J": 8192, "K": 4096}, line)
    multiply = 2 * 4096 * 1024 * 4096 / 197e12 + 2 * (4096 * 1024 + 1024 * 4096 + 4096 * 4096) / 8.2e11
    reduce = 2 * (7 / 8 * 2 * 4096 * 4096 / (2 * 45e9)) + 2 * 4 * 1e-6  # a corner has two links; one hop and three
    assert p.time.upper_s == pytest.approx(multiply + reduce)


@pytest.mark.parametrize("field", ["math_s", "in_turn_s", "upper_s"])
def test_no_time_of_a_plan_is_negative(field):
    for bad in (-1.0, float("nan"), "1"):
        with pytest.raises(sl.ScalingError, match=field):
            sl.PlanTime(**{field: bad})


def test_steps_that_share_links_keep_them_busy_one_after_the_other():
    node = sl.Mesh(sl.GpuCluster("h100", 8), X=4, Y=2)
    p = plan_matmul("A[I_X, J_Y] * B[J_Y, K] -> C[I, K]", dict.fromkeys("IJK", 4096), node, use_idle=False)
    assert {s.axes for s in p.collectives} >= {("X",)} and len(p.collectives) > 1
    assert p.time.network_s == pytest.approx(sum(s.time.bandwidth_s for s in p.collectives))
    q = plan_matmul("A[I_X, J_Y] * B[J_Y, K] -> C[I, K_Y]", dict.fromkeys("IJK", 4096), CUBE, use_idle=False)
    by_axis = {axis: sum(s.time.bandwidth_s for s in q.collectives if axis in s.axes) for axis in "XY"}
    assert len(q.collectives) > 1 and q.time.network_s == pytest.approx(max(by_axis.values()))


@pytest.mark.parametrize("nbytes", [-5, float("nan"), "8"])
def test_what_a_chip_sends_is_a_number_of_bytes(nbytes):
    with pytest.raises(sl.ScalingError, match="nbytes"):
        shuffle_time(nbytes, FLAT, np.arange(8))


def test_axes_that_form_no_torus_have_no_collective_together():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (8, 16)), X=2, Y=2, W=2, Z=16)
    with pytest.raises(sl.ScalingError):
        sl.all_gather_time(1e6, mesh, ("X", "W"))
    p = plan_matmul("A[I_XW, J] * B[J, K] -> C[I, K]", dict.fromkeys("IJK", 4096), mesh, use_idle=False)
    assert p.collectives and all({"X", "W"} != set(s.axes) for s in p.collectives if s.op != "permute")


def test_memory_is_what_is_still_needed_and_what_is_made():
    line = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
    sizes = {"I": 4096, "J": 512, "K": 4096}
    p = plan_matmul("A[I_X, J] * B[J, K] -> C[I, K]", sizes, line, via="A[I_X, J] * B[J, K]")
    assert p.steps[-1].op == "all_gather" and p.memory_bytes == 2 * 4096 * 4096 * (1 + 1 / 8)
    q = plan_matmul("A[I_X, J] * B[J, K] -> C[I, K]", {"I": 8, "J": 4096, "K": 8}, line, via="A[I, J] * B[J, K]")
    assert q.memory_bytes == 2 * (4096 + 2 * 8 * 4096)  # at the gather: the block, the whole of A, and B
