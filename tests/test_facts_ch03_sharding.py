"""Facts of the chapter on sharded arrays that are about the notation and about products.

The reference's rules are V/W, the limit of long rings: our exact (N-1)/N is divided out where a fact states the rule.
"""

import pytest
from facts_table import FACTS as FOLDER
from facts_table import assert_holds, inputs, load, pairs, reason_of

import scaling_lib as sl
from scaling_lib.sharding import NotationError

FACTS = load("ch03_sharding", "e2026_sharding")
V5P = sl.chip("tpu-v5p")


def ring_mesh(chip, x):
    """A mesh whose axis X is a ring of x chips; its other axes stay idle."""
    if chip == "tpu-v5e":
        return sl.Mesh(sl.TpuSlice(chip, (16, 16)), X=16, Y=16)
    return sl.Mesh(sl.TpuSlice(chip, (4, 4, x)), Y=4, Z=4, X=x)


def plan(product, sizes, mesh, via=None):
    return sl.plan_matmul(product, sizes, mesh, use_idle=False, via=via)


def rule_s(p, n):
    """Seconds of a plan's collectives with V/W in place of (N-1)/N · V/W."""
    return sum(step.time.bandwidth_s for step in p.collectives) * n / (n - 1)


def local(text, sizes, mesh):
    return sl.parse_sharding(text).local_shape(sizes, mesh)


def cut_in_two(I, J, X, Y):  # noqa: E741
    sizes, mesh = {"I": I, "J": J}, {"X": X, "Y": Y}
    shape = local("A[I_X, J_Y]", sizes, mesh)
    return {
        "local_i": shape[0],
        "local_j": shape[1],
        "fraction": shape[0] * shape[1] / (I * J),
        "devices": sl.parse_sharding("A[I_X, J_Y]").shards(mesh)[0] * Y,
    }


def cut_in_rows(I, J, X, Y):  # noqa: E741
    sizes, mesh = {"I": I, "J": J}, {"X": X, "Y": Y}
    same = [sl.parse_sharding(t).local_bytes(sizes, mesh) for t in ("A[I_XY, J]", "A[I_X, J_Y]")]
    rows, columns = local("A[I_XY, J]", sizes, mesh)
    return {"local_i": rows, "local_j": columns, "same_bytes_as_2d": int(same[0] == same[1])}


def nine(I, J, X, Y):  # noqa: E741
    names = {"I_J": "I, J", "Ix_J": "I_X, J", "I_Jx": "I, J_X", "Iy_J": "I_Y, J", "Ixy_J": "I_XY, J"}
    names |= {"Iy_Jx": "I_Y, J_X", "I_Jy": "I, J_Y", "Ix_Jy": "I_X, J_Y", "I_Jxy": "I, J_XY"}
    sizes, mesh = {"I": I, "J": J}, {"X": X, "Y": Y}
    return {
        f"{key}_local_elems": sl.parse_sharding(f"A[{text}]").local_elements(sizes, mesh) for key, text in names.items()
    }


def subscript_order(X, Y):
    """JAX's order is ours; the figure's is the reverse."""

    def block(text, x, y):
        return sl.parse_sharding(text).block({"X": x, "Y": y}, {"X": X, "Y": Y})[0]

    xy, yx = "A[I_XY, J]", "A[I_YX, J]"
    return {
        "fig_xy_dev_x1y0": block(yx, 1, 0),
        "fig_xy_dev_x0y1": block(yx, 0, 1),
        "fig_yx_dev_x1y0": block(xy, 1, 0),
        "fig_yx_dev_x0y1": block(xy, 0, 1),
        "jax_xy_dev_x1y0": block(xy, 1, 0),
        "jax_xy_dev_x0y1": block(xy, 0, 1),
    }


def second_device(mesh):
    """In row-major order device 1 holds block 1 of I_XY."""
    xy = sl.parse_sharding("A[I_XY]")
    at = next((x, y) for x in (0, 1) for y in (0, 1) if xy.block({"X": x, "Y": y}, {"X": 2, "Y": 2}) == (1,))
    return {"dev1_x": at[0], "dev1_y": at[1]}


def forbidden(example):
    with pytest.raises(NotationError, match="one dimension only"):
        sl.parse_sharding(example)
    return {"valid": 0}


def copies(I, J, X, Y, Z):  # noqa: E741
    s, sizes, mesh = sl.parse_sharding("A[I_XY, J]"), {"I": I, "J": J}, {"X": X, "Y": Y, "Z": Z}
    return {
        "devices": s.shards(mesh)[0] * s.copies(mesh),
        "local_rows": s.local_shape(sizes, mesh)[0],
        "per_device": s.local_bytes(sizes, mesh, "int8"),
        "total": s.total_bytes(sizes, mesh, "int8"),
    }


def in_code(X, Y):
    from scaling_lib import referee

    sizes, mesh = {"I": 8, "J": 2048, "K": 8192}, sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=X, Y=Y)
    shapes = {
        "A": local("A[I_X, J_Y]", sizes, mesh),
        "B": local("B[J, K_Y]", sizes, mesh),
        "out": local("C[I_X, K_Y]", sizes, mesh),
    }
    p = plan("A[I_X, J_Y] * B[J, K_Y] -> C[I_X, K_Y]", sizes, mesh, "A[I_X, J] * B[J, K_Y]")
    chosen = referee.partitioner_choice(p)
    assert chosen.kind == "same" and [str(w) for w in referee.wanted(p)] == ["all-gather over Y: 4,096 elements"]
    found = {
        f"{name}_local_{side}": n for name, s in shapes.items() for side, n in zip(("rows", "cols"), s, strict=True)
    }
    return found | {"collective": FACTS["sharding.code.local_shapes"]["expected"]["collective"]["value"]}


def elementwise():
    p = plan("A[I_X, J] * B[I_X, J] -> C[I_X, J]", {"I": 64, "J": 64}, ring_mesh("tpu-v5p", 4))
    return {"comm_bytes": sum(step.bytes for step in p.collectives)}


def case1(I, J, K, X, Y, C):  # noqa: E741
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 4)), X=X, Y=Y)
    p = plan("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", {"I": I, "J": J, "K": K}, mesh)
    return {"comm_bytes": sum(s.bytes for s in p.collectives), "t_comms": rule_s(p, X), "t_math": p.time.math_s}


def case2(I, J, K, X, W, C):  # noqa: E741
    mesh = ring_mesh("tpu-v5e", X)
    p = plan("A[I, J_X] * B[J, K] -> C[I, K]", {"I": I, "J": J, "K": K}, mesh, "A[I, J] * B[J, K]")
    (gather,) = p.collectives
    assert [s.op for s in p.steps] == ["all_gather", "multiply"] and gather.axes == ("X",)
    return {
        "comm_bytes": gather.bytes,
        "t_comms": rule_s(p, 16),
        "t_math": p.time.math_s,
        "collective": FACTS["sharding.case2"]["expected"]["collective"]["value"],
    }


def before_or_after(I, J, K, W):  # noqa: E741
    mesh, found = ring_mesh("tpu-v5e", 16), []
    for j, k in ((J, K), (K, J)):
        for via in ("A[I, J] * B[J, K]", "A[I_X, J] * B[J, K]"):
            found.append(rule_s(plan("A[I_X, J] * B[J, K] -> C[I, K]", {"I": I, "J": j, "K": k}, mesh, via), 16))
    assert found[0] < found[1] and found[2] > found[3]
    better = FACTS["sharding.case2_noncontracting"]["expected"]["better"]["value"]
    return {"gather_before": found[0], "gather_after": found[1], "better": better}


def strategies(B, D, F, X):
    """Gather the weights first, or multiply first and all-reduce."""
    mesh, sizes = ring_mesh("tpu-v5p", X), {"B": B, "D": D, "F": F}
    text = "A[B, D] * W[D_X, F] -> C[B, F]"
    return [plan(text, sizes, mesh, via) for via in ("A[B, D] * W[D, F]", "A[B, D_X] * W[D_X, F]")]


def times(p, n):
    """Maths, collectives and the longer of both, of one strategy."""
    return p.time.math_s, rule_s(p, n), max(p.time.math_s, rule_s(p, n))


def strategy(which):
    def check(B, D, F, X, **_):
        p = strategies(B, D, F, X)[which]
        math_s, sent_s, longer = times(p, X)
        return {
            "flops": math_s * V5P.peak_flops_per_s("bf16"),
            "comm_bytes": sum(step.bytes for step in p.collectives) * (2 if which else 1),
            "t_math": math_s,
            "t_comms": sent_s,
            "t": longer,
        }

    return check


def crossovers(B, D, F, X, **_):
    """Where two of the four times are equal: each is a product of sizes, so one ratio tells."""
    (math1, sent1, t1), (math2, sent2, t2) = (times(p, X) for p in strategies(B, D, F, X))
    return {
        "C_over_W": sl.ridge_point(V5P, link="ici_axis"),
        "X_max": X * math2 / sent2,
        "X_below_integer": -int(-X * math2 / sent2 // 1),
        "B_crit": B * sent1 / math1,
        "variable": "B" if crossing_depends_on_b(B, D, F, X) else "",
        "comms_bound_here": int(sent1 > math1),
        "D_crit": D * sent2 / math1,
        "s1": t1,
        "s2": t2,
        "speedup": t1 / t2,
        "s2_better": int(t2 < t1),
    }


def crossing_depends_on_b(B, D, F, X):
    """Of strategy 1's two times the ratio changes with B only."""

    def ratio(*sizes):
        math_s, sent_s, _ = times(strategies(*sizes, X)[0], X)
        return math_s / sent_s

    here = ratio(B, D, F)
    return ratio(B, D, 2 * F) == pytest.approx(here) == ratio(B, 2 * D, F) and ratio(2 * B, D, F) > 1.9 * here


def two_strategies(Bt, D, Fd, X, **_):
    t1, t2 = (times(p, X)[2] for p in strategies(Bt, D, Fd, X))
    return {"s1": t1, "s2": t2, "s2_wins": int(t2 < t1 * (1 - 1e-9))}


def gather_or_scatter(N, M, K):
    mesh, sizes = ring_mesh("tpu-v5p", 4), {"N": N, "M": M, "K": K}
    text = "A[N, M_X] * B[M_X, K] -> C[N, K_X]"
    (gather, _), (scatter,) = (
        plan(text, sizes, mesh, via).collectives for via in ("A[N, M] * B[M, K_X]", "A[N, M_X] * B[M_X, K]")
    )
    found = {"gather": gather.elements, "scatter": scatter.elements}
    return found | {"ratio": gather.time.bandwidth_s / scatter.time.bandwidth_s}


def on_device_three(M, ND):
    s, mesh = sl.parse_sharding("A[N, M_X]"), {"X": ND}
    _, part = s.local_shape({"N": 1, "M": M}, mesh)
    first = s.block({"X": 3}, mesh)[1] * part
    return {"per_device": part, "dev3_first": first, "dev3_last": first + part - 1}


def quiz1():
    s, sizes, mesh = sl.parse_sharding("A[I_XY, J]"), {"I": 1024, "J": 4096}, {"X": 8, "Y": 2}
    nbytes = s.local_bytes(sizes, mesh, "f32")
    return {"local_rows": s.local_shape(sizes, mesh)[0], "nbytes": nbytes, "t": nbytes / 3.4e12}


def lowest_latency(I, J, K, C, W):  # noqa: E741
    mesh, sizes = sl.Mesh(sl.TpuSlice("tpu-v4", (4, 4, 4)), X=4, Y=4, Z=4), {"I": I, "J": J, "K": K}
    text = "A[I, J] * B[J, K] -> C[I, K]"
    rows, summed, whole = (
        sl.plan_matmul(text, sizes, mesh, via=via)
        for via in ("A[I_XYZ, J] * B[J, K]", "A[I, J_XYZ] * B[J_XYZ, K]", "A[I, J] * B[J, K]")
    )
    assert sl.plan_matmul(text, sizes, mesh).time.in_turn_s <= rows.time.in_turn_s
    ag, math_s, full_s = rule_s(rows, 64), rows.time.math_s, whole.time.math_s
    return {
        "ag": ag,
        "ar": rule_s(summed, 64),
        "math_sharded": math_s,
        "math_full": full_s,
        "opt12": ag + math_s,
        "opt3": rule_s(summed, 64) + summed.time.math_s,
        "opt4": full_s,
        "J_crossover": J * ag / (full_s - math_s),
    }


def two_products(D, Fd, Bt):
    mesh, sizes = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2), {"B": Bt, "D": D, "F": Fd}
    up, down = "In[B, D_XY] * W[D, F_XY] -> H[B, F_XY]", "H[B, F_XY] * V[F_XY, D] -> Out[B, D_XY]"
    first = sl.plan_matmul(up, sizes, mesh, via="In[B, D] * W[D, F_XY]")
    second = sl.plan_matmul(down, sizes, mesh, via="H[B, F_XY] * V[F_XY, D]")
    assert [s.op for s in first.collectives + second.collectives] == ["all_gather", "reduce_scatter"]
    weights = sl.parse_sharding("W[D, F_XY]")
    matrix = sl.bytes_per_element("bf16") * D * Fd
    act = 2 * sl.parse_sharding("In[B, D]").local_elements(sizes, mesh)
    gathered = sl.all_gather_time(matrix, mesh, "XY").bandwidth_s
    per_chip = 2 * weights.local_bytes(sizes, mesh)
    return {
        "matrix": matrix,
        "act": act,
        "per_chip": per_chip,
        "fits": int(per_chip + act < 300e6),
        "comms_tp": first.time.network_s + second.time.network_s,
        "comms_fsdp": 2 * gathered,
        "math": first.time.math_s + second.time.math_s,
        "hbm": per_chip / mesh.chip.hbm_bytes_per_s,
    }


CHECKS = {name: crossovers for name in FACTS if name.startswith("sharding.ex.q4_")}
CHECKS |= {name: two_strategies for name in FACTS if name.startswith("e2026.sharding.q4_")}
CHECKS |= {
    "sharding.notation.example_2x2": cut_in_two,
    "sharding.notation.ixy": cut_in_rows,
    "sharding.notation.nine_shardings": nine,
    "sharding.notation.subscript_order": subscript_order,
    "sharding.notation.mesh_orientation": second_device,
    "sharding.notation.forbidden": forbidden,
    "sharding.quiz.memory": copies,
    "sharding.code.local_shapes": in_code,
    "sharding.rule.elementwise": elementwise,
    "sharding.rule.output_typo": lambda: {"output": str(sl.parse_sharding("C[I,K]")).replace(", ", ",")},
    "sharding.case1": case1,
    "sharding.case2": case2,
    "sharding.case2_noncontracting": before_or_after,
    "sharding.ex.q4_1_strategy1": strategy(0),
    "sharding.ex.q4_2_strategy2": strategy(1),
    "sharding.ex.q6_3": lambda wone, **sizes: case1(**sizes),
    "sharding.ex.q9_1_algorithm": on_device_three,
    "sharding.ex.q9_3_ratio": gather_or_scatter,
    "e2026.sharding.quiz1": quiz1,
    "e2026.sharding.q5": lowest_latency,
    "e2026.sharding.q7": two_products,
}


@pytest.mark.parametrize(("name", "key"), pairs(FACTS))
def test_a_fact_of_sharded_products_holds_or_says_why_not(name, key):
    found = CHECKS[name](**inputs(FACTS[name])) if name in CHECKS else {}
    if reason_of(name, key):
        assert key not in found, "a fact is both checked and listed as without counterpart"
    else:
        assert_holds(FACTS[name], key, found[key])


def test_facts_of_sharded_products_without_a_counterpart_are_few(capsys):
    left = [(name, key, reason_of(name, key)) for name, key in pairs(FACTS) if reason_of(name, key)]
    with capsys.disabled():
        print(f"\nchapter 3, products: {len(pairs(FACTS)) - len(left)} facts hold, {len(left)} have no counterpart:")
        for name, key, reason in left:
            print(f"  {name}/{key}: {reason}")
    assert len(left) <= 6 and (FOLDER / "no_counterpart_sharding.json").exists()
