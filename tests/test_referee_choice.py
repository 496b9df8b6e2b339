"""What `jit` chooses by itself for a product: its class, its price, and how its text is read."""

import math

import jax
import jax.numpy as jnp
import pytest

import scaling_lib as sl
from scaling_lib import referee
from scaling_lib.referee import choice, hlo
from scaling_lib.referee.cases import case_plan
from scaling_lib.referee.hlo_products import products_in
from scaling_lib.referee.refine import prime_mesh

LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
FLAT = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)


def plan(text="A[I, J_X] * B[J_X, K] -> C[I, K]", mesh=LINE, sizes=None):
    return sl.plan_matmul(text, sizes or {"I": 64, "J": 128, "K": 32}, mesh)


@pytest.mark.parametrize(
    ("text", "mesh", "kind"),
    [
        ("A[I, J_X] * B[J_X, K] -> C[I, K]", LINE, "same"),
        ("A[I, J_X] * B[J_X, K] -> C[I, K_X]", LINE, "same: all-reduce, then a slice"),
        ("A[I, J] * B[J, K] -> C[I, K]", LINE, "dearer: repeats work"),
        ("A[I, J]{U_X} * B[J, K] -> C[I, K]", LINE, "not asked"),
    ],
)
def test_a_choice_has_its_class(text, mesh, kind):
    p = plan(text, mesh, sizes={"I": 4096, "J": 8192, "K": 4096})
    found = referee.partitioner_choice(p)
    assert found.kind == kind and kind in referee.CLASSES
    assert ("dearer" in kind) == (found.seconds > 1.02 * found.ours_s)
    assert str(found).startswith("jit by itself: ")


WOVEN = """HloModule m, num_partitions=8

%body (s: (s32[], bf16[64,16])) -> (s32[], bf16[64,16]) {
  %s = (s32[], bf16[64,16]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %b = bf16[64,16] get-tuple-element(%s), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %p = bf16[64,16] collective-permute(%b), channel_id=1, source_target_pairs={{0,1},{1,0}}
  %y = bf16[64,64] dot(%b, %b), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT %t = (s32[], bf16[64,16]) tuple(%next, %p)
}

%again (s: (s32[], bf16[64,16])) -> pred[] {
  %s = (s32[], bf16[64,16]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %seven = s32[] constant(7)
  ROOT %less = pred[] compare(%i, %seven), direction=LT
}

ENTRY %main (b: bf16[64,16]) -> (s32[], bf16[64,16]) {
  %b = bf16[64,16] parameter(0)
  %zero = s32[] constant(0)
  %s = (s32[], bf16[64,16]) tuple(%zero, %b)
  ROOT %w = (s32[], bf16[64,16]) while(%s), condition=%again, body=%body
}"""


def test_permutes_between_pieces_of_a_product_are_a_class_of_their_own(monkeypatch):
    monkeypatch.setattr(choice, "_compiled", lambda plan: WOVEN)
    found = referee.partitioner_choice(plan())
    assert found.kind == "unpriced: woven" and math.isnan(found.seconds)
    assert found.steps == ("collective-permute over X: 1,024 elements × 7",) and "nan" not in str(found)
    apart = WOVEN.replace("dot(%b, %b), lhs_contracting_dims={1}, rhs_contracting_dims={1}", "negate(%b)")
    monkeypatch.setattr(choice, "_compiled", lambda plan: apart)
    assert referee.partitioner_choice(plan()).kind == "unpriced"


def test_a_permute_beside_the_product_is_not_woven(monkeypatch):
    flat = """HloModule m, num_partitions=8

ENTRY %main (a: f32[64,16], b: f32[16,32]) -> f32[64,32] {
  %a = f32[64,16] parameter(0)
  %b = f32[16,32] parameter(1)
  %p = f32[64,16] collective-permute(%a), channel_id=1, source_target_pairs={{0,1},{1,0}}
  ROOT %y = f32[64,32] dot(%p, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    monkeypatch.setattr(choice, "_compiled", lambda plan: flat)
    found = referee.partitioner_choice(plan())
    assert [c.op for c in found.collectives] == ["collective-permute"] and 0 < found.seconds < math.inf


LOOPED = """HloModule m, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%body (s: (s32[], f32[64,32])) -> (s32[], f32[64,32]) {
  %s = (s32[], f32[64,32]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %v = f32[64,32] get-tuple-element(%s), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %r = f32[64,32] all-reduce(%v), channel_id=1, replica_groups={}, to_apply=%add
  ROOT %t = (s32[], f32[64,32]) tuple(%next, %r)
}

%again (s: (s32[], f32[64,32])) -> pred[] {
  %s = (s32[], f32[64,32]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %limit = s32[] constant(1)
  ROOT %less = pred[] compare(%i, %limit), direction=LT
}

ENTRY %main (a: f32[64,16], b: f32[16,32], n: s32[]) -> (s32[], f32[64,32]) {
  %a = f32[64,16] parameter(0)
  %b = f32[16,32] parameter(1)
  %y = f32[64,32] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %from = s32[] constant(0)
  %s = (s32[], f32[64,32]) tuple(%from, %y)
  ROOT %w = (s32[], f32[64,32]) while(%s), condition=%again, body=%body
}"""


@pytest.mark.parametrize(
    ("start", "kind", "steps"),
    [
        ("constant(0)", "same", ["all-reduce over X: 2,048 elements"]),
        ("constant(1)", "cheaper: other", []),  # the loop runs not once
        ("parameter(2)", "unpriced", ["all-reduce over X: 2,048 elements × ?"]),
    ],
)
def test_a_choice_counts_a_loop_as_often_as_it_runs(monkeypatch, start, kind, steps):
    monkeypatch.setattr(choice, "_compiled", lambda plan: LOOPED.replace("constant(0)", start))
    found = referee.partitioner_choice(plan())
    assert (found.kind, list(found.steps)) == (kind, steps)


def test_the_text_of_a_choice_is_read_once(monkeypatch):
    read = []
    monkeypatch.setattr(hlo, "parse_module", lambda text, parse=hlo.parse_module: read.append(text) or parse(text))
    plan_ = plan("A[I, L, J_X] * B[J, K_X] -> C[I, K_X]", FLAT, {"I": 512, "J": 512, "L": 64, "K": 65536})
    assert referee.partitioner_choice(plan_).kind == "dearer: repeats work" and len(read) == 1


def test_a_part_of_an_axis_has_a_price():
    fine = prime_mesh(FLAT)
    assert fine.sizes == {"X.0": 2, "X.1": 2, "Y.0": 2} and fine.n_chips == 8
    whole, part = (sl.all_gather_time(1e9, m, a).bandwidth_s for m, a in ((FLAT, "X"), (fine, ("X.0", "X.1"))))
    assert whole == part > sl.all_gather_time(1e9, fine, ("X.1",)).bandwidth_s > 0


def test_products_are_found_whether_or_not_they_are_still_matrix_products():
    def text(fn, *shapes):
        return jax.jit(fn).lower(*(jnp.ones(s) for s in shapes)).compile().as_text()

    assert products_in(text(jnp.dot, (16, 32), (32, 8))) == [(2 * 16 * 32 * 8, 16 * 32 + 32 * 8 + 16 * 8)]
    assert products_in(text(jnp.outer, (64,), (32,))) == [(2 * 64 * 32, 64 + 32 + 64 * 32)]
    assert products_in(text(lambda x: x + 1, (4,))) == []


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.019, "equal"), (1.021, "dearer"), (0.981, "equal"), (0.979, "cheaper")]
)
def test_times_that_differ_by_less_than_two_percent_are_equal(ratio, verdict):
    assert choice._kind(case_plan("case1"), (), ratio * 1e-3, 1e-3, False).split(":")[0] == verdict


def test_jit_makes_a_collective_matmul_of_a_large_product(monkeypatch):
    monkeypatch.setattr(referee.tpu_compiler, "why_no_compiler", lambda: "libtpu is not installed")
    spec, shapes = (
        jax.sharding.PartitionSpec,
        [jax.ShapeDtypeStruct(s, "bfloat16") for s in ((4096, 8192), (8192, 4096))],
    )
    found = referee.compile_for_tpu(
        referee.programs.partitioned_matmul, *shapes, topology="v5e:4x2", mesh={"X": 8},
        in_shardings=(spec(None, "X"), spec("X")), out_shardings=spec(None, "X"),
    )  # fmt: skip
    assert found.recorded and {c.op for c in found.collectives} == {"collective-permute"}
    assert {c.elements for c in found.collectives} == {
        4096 * 4096 // 8
    } and found.flops.flops == 2 * 4096 * 8192 * 4096 // 8
    sent = sum(c.times for c in found.collectives)
    assert 7 <= sent <= 9, "each of seven other blocks comes by once, a few twice"


def test_choices_are_told_of_cpu_or_tpu_alone():
    with pytest.raises(sl.ScalingError, match="on: got 'gpu'; possible: cpu, tpu"):
        referee.tally([{"kind": "same"}], on="gpu")
