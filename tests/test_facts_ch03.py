"""Facts of the chapter on sharded arrays that are about collectives alone.

Its rules are V/W, the limit of long rings: our exact (N-1)/N is divided out where a fact states the rule.
"""

import pytest
from facts_table import assert_holds, inputs, load, pairs, reason_of

import scaling_lib as sl
from scaling_lib.hardware import Torus

FACTS = load("ch03_collectives") | {n: f for n, f in load("e2026_networks").items() if n.startswith("e2026.sharding")}
LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
V4 = sl.Mesh(sl.TpuSlice("tpu-v4", (4, 4, 4)), X=4, Y=4, Z=4)


def held(mesh, sharding, **sizes):
    """Bytes of a bf16 array on one chip."""
    return sl.parse_sharding(sharding).local_bytes(sizes, mesh)


def rule(time, n):
    """V/W in place of (N-1)/N · V/W."""
    return time.bandwidth_s * n / (n - 1)


def ring(n, two_way=2.0, hop_s=0.0):
    """A ring whose links carry `two_way` bytes a second, both directions counted."""
    return Torus([(n, True)], two_way / 2, hop_s)


def cube(*shape, W):
    return Torus([(n, True) for n in shape], W / 2)


def hops(N=None, n=None):
    n = N or n
    ring_hops = Torus([(n, True)], 1.0).hops
    return {
        "uni_hops": Torus([n], 1.0).hops,
        "one_way": Torus([n], 1.0).hops,
        "bidi_hops": ring_hops,
        "hops": ring_hops,
    }


def gathered(V, X, W):
    total = rule(sl.all_gather_time(V, ring(X, W)), X)
    return {"t_total": total, "simple": total, "t_hop": total / ring(X, W).hops}


def latency_threshold(w, tmin):
    n = 10**6
    t = sl.all_gather_time(float(n), ring(n, 2 * w, tmin))  # shards of one byte
    return {"nbytes": t.latency_s / t.bandwidth_s}


def several_axes(V, W, tmin, **_):
    t = sl.all_gather_time(V, cube(4, 4, W=W), hop_latency_s=tmin)
    return {"t_total": max(rule(t, 16), t.latency_s), "latency_floor": t.latency_s}


def reduced(V, W, n=1):
    return {"t": rule(sl.all_reduce_time(V, ring(16, W)), 16), "ratio_to_allgather": 2.0, "relative": 2}


def exchanged(V, W):
    t = sl.all_to_all_time(V, ring(16, W)).bandwidth_s
    return {"t": t, "ratio_to_allgather": t / rule(sl.all_gather_time(V, ring(16, W)), 16)}


def chunk_hops(N):
    each_way = sl.all_to_all_time(float(N * N), ring(N)).bandwidth_s
    return {"total": 2 * each_way, "fraction_of_bytes": 2 * each_way / N**2, "max_dir_balanced": each_way}


def without_wraparound(N, V, wone):
    line, closed = Torus([N], wone), ring(N, 2 * wone)
    gather, exchange = sl.all_gather_time(V, line).bandwidth_s, sl.all_to_all_time(V, line).bandwidth_s
    return {
        "allgather": gather,
        "alltoall": exchange,
        "ag_over_ring": gather / rule(sl.all_gather_time(V, closed), N),
        "ag_over_optimal_ring": gather / sl.all_gather_time(V, closed).bandwidth_s,
        "a2a_over_ring": exchange / sl.all_to_all_time(V, closed).bandwidth_s,
    }


def large_quiz(E_, F, Y, wbi, **_):
    total = held(LINE, "A[E, F]", E=E_, F=F)
    shard = held(LINE, "A[E_X, F]", E=E_, F=F)
    return {"shard": shard, "total": total, "t": rule(sl.all_gather_time(total, ring(Y, wbi)), Y)}


def small_quiz(E_, F, Y, wone, tmin):
    t = sl.all_gather_time(2 * E_ * F, Torus([Y], wone, tmin))
    shard = held(LINE, "A[E_X, F]", E=E_, F=F)
    return {
        "shard": shard,
        "t_hop_bw": t.bandwidth_s / (Y - 1),
        "latency_bound": int(t.bound == "latency"),
        "t": t.lower_s,
    }


def on_v4(B, D, **_):
    """Collectives on a 4x4x4 v4: what they move, and the mesh axes they own."""
    V = 2 * B * D
    gather_xy, reduce_z = sl.all_gather_time(V, V4, "XY"), sl.all_reduce_time(V / 16, V4, "Z")
    return {
        "gathered_x": held(V4, "A[B, D_Y]", B=B, D=D),
        "reduced_z": held(V4, "A[B_X, D_Y]", B=B, D=D),
        "ag_x": rule(sl.all_gather_time(V / 4, V4, "X"), 4),
        "ag_xy": rule(gather_xy, 16),
        "ar_z": rule(reduce_z, 4),
        "ag_xz": rule(sl.all_gather_time(V / 4, V4, "XZ"), 16),
        "ag_xyz": rule(sl.all_gather_time(V, V4, "XYZ"), 64),
        "floor_xy": gather_xy.latency_s,
        "floor_z": reduce_z.latency_s,
        "ar_whole": rule(sl.all_reduce_time(V, V4, "Z"), 4),
    }


def tiny(B=128, **_):
    t = sl.all_gather_time(2 * B, V4, "X")
    return {
        "total": held(V4, "A[B]", B=B),
        "shard": held(V4, "A[B_X]", B=B),
        "per_device": held(V4, "A[B_X]", B=B),
        "hops": V4.links("X").levels[0].hops,
        "t": t.lower_s,
        "hop_bw": t.bandwidth_s / 1.5,
        "hop": t.bandwidth_s / 1.5,
    }


def case_3_times(I, K, X, Y, wone, **_):  # noqa: E741  (the fact's name)
    V = 2 * I * K / X
    return {
        "t_ring": rule(sl.all_reduce_time(V, ring(Y, 2 * wone)), Y),
        "t_line": sl.all_reduce_time(V, Torus([Y], wone)).bandwidth_s,
    }


def case_3(I, J, K, X, Y, C, wone):  # noqa: E741
    """A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K] on a v5e slice of four by four, by the planner."""
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 4)), X=X, Y=Y)
    p = planned("A[I_X, J_Y] * B[J_Y, K] -> C[I_X, K]", {"I": I, "J": J, "K": K}, mesh, "A[I_X, J_Y] * B[J_Y, K]")
    product, reduce = p.steps
    assert (product.op, reduce.op) == ("multiply", "all_reduce")
    times = case_3_times(I=I, J=J, K=K, X=X, Y=Y, C=C, wone=wone)
    return times | {
        "t_math": p.time.math_s,
        "collective": f"local product, then AllReduce over {reduce.axes[0]} of {tight(reduce.inputs[0])}",
        "ring_bytes": reduce.bytes,
        "J_crit_ring": J * times["t_ring"] / p.time.math_s,
        "J_crit_line": J * p.time.network_s / p.time.math_s,
    }


def planned(product, sizes, mesh, via):
    return sl.plan_matmul(product, sizes, mesh, use_idle=False, via=via)


def tight(text):
    return str(text).replace(", ", ",")


def two_layers(B, D, F, chips, C, wone, hbm, limit):
    """H = A · W, then C = H · V on a v5e slice of two by two, F cut over both axes."""
    mesh, sizes = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2), {"B": B, "D": D, "F": F}
    first = planned("A[B, D] * W[D, F_XY] -> H[B, F_XY]", sizes, mesh, "A[B, D] * W[D, F_XY]")
    second = planned("H[B, F_XY] * V[F_XY, D] -> C[B, D]", sizes, mesh, "H[B, F_XY] * V[F_XY, D]")
    (reduce,) = second.collectives
    assert not first.collectives and reduce.op == "all_reduce"

    def all_held(*shardings):
        return sum(held(mesh, sharding, **sizes) for sharding in shardings)

    four, two = all_held("W[D, F_XY]", "V[F_XY, D]"), all_held("W[D, F_X]", "V[F_X, D]")
    return {
        "weight_bytes": all_held("W[D, F]", "V[F, D]"),
        "per_chip_4way": four,
        "per_chip_2way": two,
        "fits_4way": int(four + all_held("A[B, D]", "H[B, F_XY]", "C[B, D]") < limit),
        "fits_2way": int(two < limit),
        "flops": sl.matmul_work(B, D, F).flops + sl.matmul_work(B, F, D).flops,
        "t_math": first.time.math_s + second.time.math_s,
        "out_bytes": reduce.bytes,
        "t_allreduce_lower": reduce.time.bandwidth_s,
        "t_allreduce_book_formula": rule(sl.all_reduce_time(reduce.bytes, cube(16, 16, W=2 * wone)), 256),  # long rings
        "t_hbm_weights": four / mesh.chip.hbm_bytes_per_s,
    }


def syntax(product, via):
    """What the one collective of a plan does, as the reference's table writes it."""
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
    (step,) = planned(product, {"A": 64, "B": 64, "J": 64}, mesh, via).collectives
    return " -> ".join(tight(s).removeprefix("C") for s in (*step.inputs, step.output))


def benchmark(V, W):
    t = 16 / 15
    return {
        "all_gather": sl.all_gather_time(V, ring(16, W)).bandwidth_s * t,
        "psum_scatter": sl.reduce_scatter_time(V, ring(16, W)).bandwidth_s * t,
        "psum": sl.all_reduce_time(V, ring(16, W)).bandwidth_s * t,
        "all_to_all": sl.all_to_all_time(V, ring(16, W)).bandwidth_s,
    }


def scattered(N, K, W):
    V = 2 * N * K
    scatter, reduce = (rule(f(V, ring(16, W)), 16) for f in (sl.reduce_scatter_time, sl.all_reduce_time))
    return {"reducescatter": scatter, "allreduce": reduce, "ratio": reduce / scatter}


def both_ways(N, D):
    gather = sl.all_gather_time(float(N * N), ring(D)).bandwidth_s
    exchange = sl.all_to_all_time(float(N * N), ring(D)).bandwidth_s
    long = 10**6
    limit = sl.all_gather_time(1.0, ring(long)).bandwidth_s / sl.all_to_all_time(1.0, ring(long)).bandwidth_s
    return {"scalars_per_dir": gather, "finite": gather / exchange, "limit": limit, "gain": 2.0}


def on_torus(name):
    shape = tuple(map(int, name.rsplit("_", 1)[1].split("x")))

    def check(V, W, n, **_):
        t = sl.all_to_all_time(V, cube(*shape, W=W)).bandwidth_s
        return {"t": t, "per_device": t, "from_cut": t, "vs_allgather_1axis": t / (V / W)} | cut(shape, n, W)

    return check


def cut(shape, n, W):
    links = 2 * n / max(shape)
    if shape == (16, 20, 28):
        links = sl.TpuSlice("tpu-v5p", shape).bisection_links
    return {"cut_links": links, "cut_rate": links * W / 2}


CHECKS = {name: hops for name in FACTS if ".ag_hops_" in name or ".sharding.hops_" in name}
CHECKS |= {name: chunk_hops for name in FACTS if ".alltoall_count_" in name}
CHECKS |= {name: on_torus(name) for name in FACTS if ".sharding.a2a_" in name and "mean" not in name}
CHECKS |= {
    "sharding.coll.ag_animation": lambda N: {"hops": ring(N).hops},
    "sharding.coll.ag_time": gathered,
    "sharding.coll.latency_threshold_v5e": latency_threshold,
    "sharding.coll.latency_threshold_v5p": latency_threshold,
    "sharding.coll.ag_multi_axis": several_axes,
    "sharding.coll.allreduce_time": reduced,
    "sharding.coll.alltoall_time": exchanged,
    "sharding.coll.no_wrap_costs": without_wraparound,
    "sharding.coll.allreduce_latency": lambda V, X, W, tmin: {"t": sl.all_reduce_time(V, ring(X, W, tmin)).lower_s},
    "sharding.quiz2.large_ring": large_quiz,
    "sharding.quiz2.small": small_quiz,
    "sharding.learned.mesh_4x8": lambda X, Y: {"ways": sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 8)), X=X, Y=Y).size("XY")},
    "sharding.table.reducescatter": lambda V, W, n: {
        "t": rule(sl.reduce_scatter_time(V, ring(16, W)), 16),
        "relative": sl.reduce_scatter_time(V, ring(16)).bandwidth_s / sl.all_gather_time(V, ring(16)).bandwidth_s,
        "syntax": syntax("L[A, J_X] * R[J_X, B] -> C[A_X, B]", "L[A, J_X] * R[J_X, B]"),
    },
    "sharding.table.allreduce": lambda V, W, n: {
        **reduced(V=V, W=W, n=n),
        "syntax": syntax("L[A_X, J_Y] * R[J_Y, B] -> C[A_X, B]", "L[A_X, J_Y] * R[J_Y, B]"),
    },
    "sharding.table.alltoall": lambda V, W, **_: {
        "t": exchanged(V, W)["t"],
        "t_4x4": sl.all_to_all_time(V, cube(4, 4, W=W)).bandwidth_s,
        "t_8x8": sl.all_to_all_time(V, cube(8, 8, W=W)).bandwidth_s,
        "relative": exchanged(V, W)["ratio_to_allgather"],
        "syntax": syntax("L[A, J] * R[J, B_X] -> C[A_X, B]", "L[A, J] * R[J, B_X]"),
    },
    "sharding.quiz2.large_measured": lambda predicted: {
        "efficiency": sl.all_gather_time(2 * 2048 * 8192, LINE, "X").bandwidth_s / 680e-6
    },
    "sharding.quiz2.small_measured": lambda predicted: {
        "ratio": 8e-6 / sl.all_gather_time(2 * 256 * 256, LINE, "X").latency_s
    },
    "sharding.coll.v_is_per_ring": lambda total, other_axes: {"V": held(V4, "A[B_X, D_Y]", B=1024, D=total // 2048)},
    "sharding.ex.q2_1_ag_x": lambda **i: {"t": on_v4(**i)["ag_x"], "nbytes": on_v4(**i)["gathered_x"]},
    "sharding.ex.q2_2_ag_xy": lambda **i: {"t": on_v4(**i)["ag_xy"], "latency_floor": on_v4(**i)["floor_xy"]},
    "sharding.ex.q2_3_ar_z": lambda **i: {
        "t": on_v4(**i)["ar_z"],
        "local_bytes": on_v4(**i)["reduced_z"],
        "latency_floor": on_v4(**i)["floor_z"],
        "t_if_unsharded": on_v4(**i)["ar_whole"],
    },
    "sharding.ex.q3_latency": tiny,
    "sharding.ex.q6_1": case_3,
    "sharding.ex.q7_two_matrix_block": two_layers,
    "sharding.ex.q8_benchmark": benchmark,
    "sharding.ex.q9_2_scatter": scattered,
    "sharding.ex.q10_4_ag_bidi": both_ways,
    "sharding.ex.q10_6_ratio_bidi": both_ways,
    "e2026.sharding.a2a_mean_hops": lambda n: {"exact": 2 * sl.all_to_all_time(float(n * n), ring(n)).bandwidth_s / n},
    "e2026.sharding.logical_axes": lambda: {
        "x": sl.Mesh(sl.TpuSlice("tpu-v4", (4, 4, 4)), X=16, Y=4).size("X"),
        "y": V4.size("Y"),
    },
    "e2026.sharding.rs_hop": lambda V, Y, W: {"total": rule(sl.reduce_scatter_time(V, ring(Y, W)), Y)},
    "e2026.sharding.q2": lambda D, Bt, W: on_v4(Bt, D),
    "e2026.sharding.q3": tiny,
}


def ours(name):
    """What the library says of a fact, or None where no check is written."""
    return CHECKS[name](**inputs(FACTS[name])) if name in CHECKS else None


@pytest.mark.parametrize(("name", "key"), pairs(FACTS))
def test_a_fact_of_collectives_holds_or_says_why_not(name, key):
    found = ours(name)
    if reason_of(name, key):
        assert found is None or key not in found, "a fact is both checked and listed as without counterpart"
    else:
        assert_holds(FACTS[name], key, found[key], rel=1e-5 if key == "limit" else None)


def test_facts_of_collectives_without_a_counterpart_are_said_aloud(capsys):
    left = [(name, key, reason_of(name, key)) for name, key in pairs(FACTS) if reason_of(name, key)]
    with capsys.disabled():
        print(f"\nchapter 3, collectives: {len(pairs(FACTS)) - len(left)} facts hold, {len(left)} have no counterpart:")
        for name, key, reason in left:
            print(f"  {name}/{key}: {reason}")
    assert len(left) <= 33


def test_on_a_small_slice_a_line_gathers_in_560_microseconds_where_the_rule_says_373():
    # The pop quiz: 32 MiB over an axis of 4 that does not wrap, against V/W of a ring.
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 8)), Y=4, X=8)
    assert sl.all_gather_time(2 * 2048 * 8192, mesh, "Y").bandwidth_s == pytest.approx(0.75 * 2**25 / 45e9)
