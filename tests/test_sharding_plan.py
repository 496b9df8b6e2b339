"""The planner of sharded products: the four cases, what is cheapest, and what cannot be asked."""

import pickle
import random

import pytest
from all_plans import cheapest

import scaling_lib as sl
from scaling_lib.sharding import moves, parse_product, plan_matmul

SIZES = {"I": 4096, "J": 8192, "K": 4096}
LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
FLAT = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4)
CUBE = sl.Mesh(sl.TpuSlice("tpu-v5p", (2, 2, 2)), X=2, Y=2, Z=2)
NODE = sl.Mesh(sl.GpuCluster("h100", 8), X=4, Y=2)


def ops(p):
    return [(s.op, "".join(s.axes)) for s in p.steps if s.op != "multiply"]


# The four cases.


@pytest.mark.parametrize(
    ("product", "steps"),
    [
        ("A[I_X, J] * B[J, K] -> C[I_X, K]", []),
        ("A[I, J] * B[J, K_X] -> C[I, K_X]", []),
        ("A[I, J_X] * B[J_X, K] -> C[I, K]", [("all_reduce", "X")]),
        ("A[I, J_X] * B[J_X, K] -> C[I, K_X]", [("reduce_scatter", "X")]),
        ("A[I, J_X] * B[J_X, K] -> C[I, K]{U_X}", []),
        ("A[I, J_X] * B[J_X] -> C[I]", [("all_reduce", "X")]),
        ("A[B_X, I, J] * W[B_X, J, K] -> C[B_X, I, K]", []),
        ("A[I_X] * B[I_X] -> C[I_X]", []),
    ],
)
def test_the_plain_cases_need_what_the_chapter_says(product, steps):
    p = plan_matmul(product, {**SIZES, "B": 64}, LINE, use_idle=False)
    assert ops(p) == steps


def test_a_gather_comes_before_or_after_whichever_moves_less():
    text = "A[I_X, J] * B[J, K] -> C[I, K]"
    before, after = (plan_matmul(text, {"I": 4096, "J": j, "K": 4096}, LINE, use_idle=False) for j in (128, 65536))
    assert ops(before) == [("all_gather", "X")] and before.steps[0].output.name == "A"
    assert ops(after) == [("all_gather", "X")] and after.steps[-1].output.name == "C"


@pytest.mark.parametrize(("mesh", "axes"), [(FLAT, "XY"), (CUBE, "XYZ"), (NODE, "XY")])
def test_idle_axes_share_the_work_unless_they_must_not(mesh, axes):
    text = "A[I, J] * B[J, K] -> C[I, K]"
    used, left = plan_matmul(text, SIZES, mesh), plan_matmul(text, SIZES, mesh, use_idle=False)
    assert [s.op for s in left.steps] == ["multiply"] and used.time.in_turn_s < left.time.in_turn_s
    assert used.steps[-1].op == "all_gather" and set("".join(s.axes[0] for s in used.collectives)) <= set(axes)


def test_contracting_dimensions_on_two_axes_need_more_than_one_gather():
    p = plan_matmul("A[I, J_X] * B[J_Y, K] -> C[I, K]", SIZES, FLAT)
    assert len(p.collectives) >= 2
    assert "do not meet until" in p.explain()


def test_one_gather_over_two_axes_is_one_step():
    p = plan_matmul("A[I_X, J_Y] * B[J, K] -> C[I, K]", SIZES, FLAT, via="A[I, J] * B[J, K]")
    assert ops(p) == [("all_gather", "XY")]
    apart = sl.all_gather_time(2 * 4096 * 8192 / 2, FLAT, "Y") + sl.all_gather_time(2 * 4096 * 8192, FLAT, "X")
    assert p.steps[0].seconds < apart.bandwidth_s


def test_partial_sums_pass_through_a_product_when_that_is_cheaper():
    p = plan_matmul("A[I, J]{U_X} * B[J, K] -> C[I, K]", {"I": 64, "J": 8192, "K": 64}, LINE, use_idle=False)
    assert ops(p) == [("all_reduce", "X")] and p.steps[-1].output.name == "C"
    q = plan_matmul("A[I, J]{U_X} * B[J, K] -> C[I, K]", {"I": 64, "J": 64, "K": 8192}, LINE, use_idle=False)
    assert q.collectives[0].output.name == "A"


def test_two_arrays_of_partial_sums_cannot_both_stay_so():
    p = plan_matmul("A[I, J]{U_X} * B[J, K]{U_X} -> C[I, K]{U_X}", SIZES, LINE)
    assert len(p.collectives) >= 1


def test_a_result_that_is_wanted_unreduced_is_made_so_for_free():
    p = plan_matmul("A[I, J] * B[J, K_X] -> C[I, K]{U_X}", SIZES, LINE)
    assert ops(p) == [("place", "X")] and "zeros on the other chips" in p.explain()


def test_the_same_blocks_on_other_chips_are_one_permutation():
    p = plan_matmul("A[I_XY, J] * B[J, K] -> C[I_YX, K]", SIZES, FLAT)
    assert ops(p) == [("permute", "XY")]


# Cheapest.


KINDS = [  # dimensions of the operands and the result, how many cells a dimension has at most
    *[("IJ", "JK", "IK", 3), ("IJ", "JK", "KI", 3), ("IJ", "J", "I", 3), ("I", "K", "IK", 3)] * 2,
    ("BI", "BI", "B", 2), ("BIJ", "BJ", "BI", 1), ("IJ", "K", "IK", 1), ("IJ", "JK", "K", 1), ("IL", "IM", "I", 1),
]  # fmt: skip


def random_case(seed):
    """(text, arrays as the independent search takes them, cells, grain, mesh)."""
    rng = random.Random(seed)
    mesh = rng.choice([FLAT, sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2), LINE_OF_FOUR, NODES])
    *dims, most = rng.choice(KINDS)
    arrays, texts = [], []
    for name, d in zip("ABC", dims, strict=True):
        cut, over = {dim: [] for dim in d}, []
        for axis in rng.sample(mesh.names, len(mesh.names)):
            where = rng.choice([*d, *d, None, None, "U" if name != "C" else None])
            (over if where == "U" else cut.get(where, [])).append(axis)
        arrays.append((tuple(d), {dim: tuple(axes) for dim, axes in cut.items()}, tuple(over)))
        text = ", ".join(dim + ("_" + "".join(a) if a else "") for dim, a in cut.items())
        texts.append(f"{name}[{text}]" + (f"{{U_{''.join(over)}}}" if over else ""))
    text = f"{texts[0]} * {texts[1]} -> {texts[2]}"
    cells = {dim: rng.choice((8, 16, 24)[:most]) for dim in parse_product(text).dims}
    return text, arrays, cells, rng.choice((1, 16, 256)), mesh


LINE_OF_FOUR = sl.Mesh(sl.TpuSlice("tpu-v4", (2, 2, 1)), X=2, Y=2)
TWO_SLICES = sl.Mesh(sl.MultiSlice(sl.TpuSlice("tpu-v5e", (2, 2)), n=2), X=2, Y=4)
NODES = sl.Mesh(sl.GpuCluster("h100", n_gpus=4, node=2), X=2, Y=2)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_no_plan_is_cheaper_than_the_one_chosen(start):
    for seed in range(start, start + 20):
        text, arrays, cells, grain, mesh = random_case(seed)
        p = plan_matmul(text, {dim: n * grain for dim, n in cells.items()}, mesh)
        assert p.time.in_turn_s == pytest.approx(cheapest(mesh, arrays, cells, grain), rel=1e-9), (seed, text, str(p))


@pytest.mark.parametrize(
    "mesh", [FLAT, CUBE, NODE, sl.Mesh(sl.MultiSlice(sl.TpuSlice("tpu-v5e", (2, 2)), 2), X=2, Y=4)]
)
def test_plans_are_ranked_and_their_bounds_ordered(mesh):
    p = plan_matmul("A[I_X, J_Y] * B[J, K_X] -> C[I, K_Y]", SIZES, mesh)
    seconds = [q.time.in_turn_s for q in (p, *p.alternatives)]
    assert seconds == sorted(seconds) and len(seconds) > 3
    for q in (p, *p.alternatives):
        assert q.time.lower_s <= q.time.in_turn_s * (1 + 1e-12) and q.time.in_turn_s <= q.time.upper_s * (1 + 1e-12)
        assert q.time.bound in ("math", "memory", "network", "latency")
        assert q.time.in_turn_s == pytest.approx(sum(step.seconds for step in q.steps))
        assert q.steps[0].inputs[0].same_as(q.product.a if q.steps[0].inputs[0].name == "A" else q.product.b)
        assert q.steps[-1].output.same_as(q.product.c)


def test_a_step_starts_where_the_one_before_ended():
    for seed in range(40):
        text, _, cells, grain, mesh = random_case(seed)
        p = plan_matmul(text, {dim: n * grain for dim, n in cells.items()}, mesh)
        held = {array.name: array for array in p.product.arrays[:2]}
        for step in p.steps:
            assert all(held[array.name] == array for array in step.inputs), str(p)
            held[step.output.name] = step.output
        assert held["C"] == p.product.c


def test_a_way_to_multiply_can_be_asked_for():
    text = "A[I, J_X] * B[J, K] -> C[I, K]"
    whole, parts = (plan_matmul(text, SIZES, LINE, via=via) for via in ("A[I, J] * B[J, K]", "A[I, J_X] * B[J_X, K]"))
    assert ops(whole) == [("all_gather", "X")] and ops(parts) == [("slice", "X"), ("all_reduce", "X")]
    best = plan_matmul(text, SIZES, LINE)
    assert best.time.in_turn_s <= min(whole.time.in_turn_s, parts.time.in_turn_s)


# Amounts.


def test_memory_counts_what_is_gathered():
    text, n = "A[I_X, J] * B[J, K] -> C[I, K]", 2 * 4096 * 4096
    gathered = plan_matmul(text, {"I": 4096, "J": 4096, "K": 4096}, LINE, use_idle=False, via="A[I, J] * B[J, K]")
    kept = plan_matmul(text, {"I": 4096, "J": 4096, "K": 4096}, LINE, use_idle=False, via="A[I_X, J] * B[J, K]")
    assert gathered.memory_bytes == 3 * n and kept.memory_bytes == n / 8 + n + n / 8


def test_dtypes_set_bytes_and_rate():
    text = "A[I, J_X] * B[J_X, K] -> C[I, K]"
    with pytest.raises(sl.UnsupportedDtype, match="no known f32 rate"):
        plan_matmul(text, SIZES, LINE, dtype="f32")
    wide, narrow = (
        plan_matmul(text, SIZES, LINE, dtype="f32", compute="bf16"),
        plan_matmul(text, SIZES, LINE, dtype="int8"),
    )
    assert wide.collectives[0].bytes == 4 * narrow.collectives[0].bytes and wide.time.math_s == 2 * narrow.time.math_s
    assert wide.at({"I": 8, "J": 8, "K": 8}).collectives[0].bytes == 4 * 64
    mixed = plan_matmul(text, SIZES, LINE, dtype={"A": "bf16", "B": "int8", "C": "bf16"})
    assert mixed.dtypes == ("bf16", "int8", "bf16") and mixed.collectives[0].bytes == 2 * mixed.collectives[0].elements


def test_the_same_steps_can_be_had_for_other_sizes():
    p = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", SIZES, LINE)
    q = p.at({"I": 8, "J": 16, "K": 8})
    assert [s.op for s in q.steps] == [s.op for s in p.steps] and q.collectives[0].elements == 64
    with pytest.raises(sl.ScalingError, match="do not divide"):
        p.at({"I": 8, "J": 12, "K": 8})


def test_padding_is_stated_or_refused():
    text, sizes = "A[I_X, J] * B[J, K] -> C[I_X, K]", {"I": 1001, "J": 7, "K": 5}
    with pytest.raises(sl.NotationError, match="1,001 elements of I do not divide by 8 chips"):
        plan_matmul(text, sizes, LINE)
    p = plan_matmul(text, sizes, LINE, pad=True)
    assert p.padding == {"I": 7} and p.sizes["I"] == 1008 and "padded: I by 7 to 1,008" in p.explain()
    assert plan_matmul(text, {**sizes, "I": 16}, LINE, pad=True).padding == {}


def test_operands_that_are_asked_for_are_padded_too():
    sizes = {"I": 6, "J": 16, "K": 16}
    p = sl.plan_matmul("A[I, J] * B[J, K] -> C[I, K]", sizes, LINE, pad=True, via="A[I_X, J] * B[J, K]")
    assert p.padding == {"I": 2} and str(p.steps[0].output) == "A[I_X, J]"
    with pytest.raises(sl.ScalingError, match=r"6 elements of I do not divide by 8 chips.*or pad=True"):
        sl.plan_matmul("A[I, J] * B[J, K] -> C[I, K]", sizes, LINE, via="A[I_X, J] * B[J, K]")


def test_operands_that_were_asked_for_are_padded_at_other_sizes_too():
    text, sizes = "A[I, J] * B[J, K] -> C[I, K]", {"I": 16, "J": 16, "K": 16}
    p = sl.plan_matmul(text, sizes, LINE, pad=True, via="A[I_X, J] * B[J, K]")
    assert p.padding == {} and p.at({**sizes, "I": 6}).padding == {"I": 2} and p.at({**sizes, "I": 6}).sizes["I"] == 8


def test_a_plan_at_other_sizes_knows_no_other_plans():
    p = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", SIZES, LINE)
    assert p.alternatives and p.at(SIZES).alternatives == ()


@pytest.mark.parametrize(
    ("text", "sizes", "says"),
    [
        ("A[I, J_X] * B[J_X, K] -> C[I, K]", dict.fromkeys("IJK", 2**40), "sizes: got I=1,099,511,627,776, J="),
        ("A[I, L, M] * B[I] -> C[I]", {"I": 8, "L": 1e15, "M": 1e15}, "together more than 1e[+]28"),
        ("A[I, J_X] * B[J_X, K] -> C[I, K]", [8, 8, 8], r"sizes: got \[8, 8, 8\]; give the elements"),
        ("A[I, J_X] * B[J_X, K] -> C[I, K]", None, "sizes: got None; give the elements"),
    ],
)
def test_sizes_that_no_array_can_have_are_refused(text, sizes, says):
    with pytest.raises(sl.ScalingError, match=says):
        plan_matmul(text, sizes, LINE)


def test_a_product_made_by_hand_is_planned_as_one_in_writing():
    text = "A[I, J_X] * B[J_X, K] -> C[I, K]"
    by_hand = sl.Product(*map(sl.parse_sharding, ("A[I, J_X]", "B[J_X, K]", "C[I, K]")))
    assert plan_matmul(by_hand, SIZES, LINE).explain() == plan_matmul(text, SIZES, LINE).explain()


def test_axes_with_long_names_are_printed_as_they_are_read():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), tensor_parallel=8)
    p = plan_matmul("A[I_{tensor_parallel}, J] * B[J, K] -> C[I, K]", SIZES, mesh)
    assert all(sl.parse_sharding(str(step.output), mesh) == step.output for step in p.steps)


def test_a_mesh_axis_of_one_chip_changes_nothing():
    one = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8, Y=1)
    p = plan_matmul("A[I_Y, J_X] * B[J_XY, K] -> C[I, K]", SIZES, one)
    assert ops(p) == [("all_reduce", "X")]


def test_axes_that_make_no_torus_together_are_used_apart():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (8, 16)), X=2, Y=4, Z=16)
    p = plan_matmul("A[I_XZ, J] * B[J, K] -> C[I, K]", SIZES, mesh, use_idle=False)
    assert p.collectives and p.time.in_turn_s > 0


def test_scalars_and_single_dimensions_have_plans():
    assert ops(plan_matmul("A[J_X] * B[J_X] -> C[]", SIZES, LINE)) == [("all_reduce", "X")]
    assert ops(plan_matmul("A[] * B[J_X] -> C[J_X]", SIZES, LINE)) == []
    single = plan_matmul("A[] * B[] -> C[]", {}, LINE, use_idle=False).explain()
    assert single.startswith("A[] * B[] -> C[], bf16 on Mesh(X=8)")
    assert plan_matmul("A[I, J_X] * B[K] -> C[I, K]", SIZES, LINE).collectives  # J is summed alone


def test_graphs_hold_every_way_to_cut():
    g = moves.graph((2, 4), 2)
    assert len(g.states) == 11 and len(set(g.states)) == 11
    assert len(moves.graph((2, 4), 2, frozenset({0, 1})).states) == 18


def test_a_plan_can_be_sent_to_another_process():
    plan = sl.plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", {"I": 64, "J": 128, "K": 32}, LINE)
    again = pickle.loads(pickle.dumps(plan))
    assert again.explain() == plan.explain() and again.time == plan.time
    assert [p.explain() for p in again.alternatives] == [p.explain() for p in plan.alternatives] != []


def test_a_size_beyond_the_whole_numbers_of_floats_is_refused():
    assert sl.parse_sharding("A[I_X]").local_shape({"I": 2**53}, {"X": 2}) == (2**52,)
    with pytest.raises(sl.ScalingError, match="I must be a whole number of elements up to 2"):
        sl.parse_sharding("A[I_X]").local_shape({"I": 2**53 + 1}, {"X": 2})
