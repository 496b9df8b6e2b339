"""What the TPU compiler makes of a plan's collectives: bytes are compared, and XLA's rewrites known by name."""

import dataclasses

import pytest
from hlo_texts import module

import scaling_lib as sl
from scaling_lib import referee
from scaling_lib.referee import report, rewrites
from scaling_lib.referee.hlo import Collective, collectives_in
from scaling_lib.referee.rewrites import explained
from scaling_lib.referee.tpu_compiler import why_no_compiler

needs_compiler = pytest.mark.skipif(bool(why_no_compiler()), reason=why_no_compiler() or "-")
LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
SIZES = {"I": 64, "J": 64, "K": 64}
MIXED = {"A": "bf16", "B": "bf16", "C": "f32"}


def plan(dtype, result="C[I, K]"):
    return sl.plan_matmul(f"A[I, J_X] * B[J_X, K] -> {result}", SIZES, LINE, dtype=dtype, compute="bf16",
                          via="A[I, J_X] * B[J_X, K]")  # fmt: skip


def test_dtypes_that_jax_lacks_are_refused():
    for dtype in ("int4", {"A": "bf16", "B": "bf16", "C": "int4"}):
        with pytest.raises(sl.ScalingError, match="the plan has int4"):
            referee.on_tpu(plan(dtype), "v5e:4x2")


def compiled(op, axes, elements, arrays=1, note=""):
    return Collective(op, elements, 2 * elements, axes, 1, "bf16", 4, arrays, note)


def Wanted(op, axes, elements):
    return rewrites.Wanted(op, axes, elements, 2 * elements)


GATHER, SCATTER, ADD = (Wanted(op, ("X",), 64) for op in ("all-gather", "reduce-scatter", "all-reduce"))
PADDING = compiled("collective-permute", ("X",), 8, note="rows that padding left on the neighbour")
REWRITES = [  # predicted, compiled, words
    ([GATHER], [compiled("all-reduce", ("X",), 64)], "stand among zeros"),
    ([SCATTER], [compiled("all-reduce", ("X",), 64)], "keeps its part"),
    ([SCATTER], [compiled("reduce-scatter", ("X",), 64), PADDING], "whole tiles"),
    ([GATHER, GATHER], [compiled("all-gather", ("X",), 128, arrays=2)], "2 times all-gather over X merged into one"),
    ([GATHER, SCATTER], [compiled("all-reduce", ("X",), 128, arrays=2)],
     "all-gather and reduce-scatter over X merged into one all-reduce of 128"),
    ([Wanted("all-reduce", ("X", "Y"), 64)], [compiled("all-reduce", ("X",), 64), compiled("all-reduce", ("Y",), 64)],
     "one over each axis in turn"),
    ([GATHER], [compiled("collective-permute", ("X",), 16)] * 3, "3 permutes round the ring"),
    ([SCATTER], [compiled("collective-permute", ("X",), 8)] * 6, "6 permutes round the ring"),
    ([ADD], [compiled("all-reduce", ("X",), 32)], "what is sliced later is sliced first"),
]  # fmt: skip


@pytest.mark.parametrize(("predicted", "found", "words"), REWRITES)
def test_a_rewrite_of_xla_is_recognised_and_said(predicted, found, words):
    missing, surplus = rewrites.difference(predicted, rewrites.seen(found))
    missing, surplus, says = explained(list(missing), list(surplus), tuple(found), {"X": 4, "Y": 2}, {"Y"})
    assert not missing and not surplus and len(says) == 1 and words in says[0]


def test_nothing_is_sliced_first_that_the_plan_does_not_slice():
    assert not explained([ADD], [Wanted("all-reduce", ("X",), 32)], (), {"X": 4, "Y": 2})[2]


@pytest.mark.parametrize(
    ("predicted", "found"),
    [
        ([ADD], [compiled("all-gather", ("X",), 64)]),
        ([GATHER], [compiled("all-reduce", ("Y",), 64)]),
        ([GATHER], [compiled("collective-permute", ("X",), 16)]),
        ([GATHER], [compiled("collective-permute", ("X",), 16)] * 9),
        ([GATHER, GATHER], [compiled("all-gather", ("X",), 96, arrays=2)]),
        ([], [compiled("collective-permute", ("X",), 8)]),
        ([SCATTER], []),
        ([Wanted("reduce-scatter", ("X",), 2**20)], [compiled("all-reduce", ("X",), 4)]),
        ([GATHER], [compiled("all-reduce", ("X",), 1)]),
        ([Wanted("all-reduce", ("X",), 6)], [compiled("all-reduce", ("X",), 2)]),
        ([ADD], [compiled("all-reduce", ("X",), 16)]),  # X itself is no axis by which it could be cut first
        ([Wanted("all-reduce", ("X", "Y"), 64)], [compiled("all-reduce", ("X",), 64)]),
    ],
)
def test_what_no_rewrite_explains_is_left_standing(predicted, found):
    missing, surplus = rewrites.difference(predicted, rewrites.seen(found))
    missing, surplus, says = explained(list(missing), list(surplus), tuple(found), {"X": 4, "Y": 2}, {"X", "Y"})
    assert (missing or surplus) and not says


@pytest.mark.parametrize(("predicted", "found", "words"), [r for r in REWRITES if "tiles" not in r[2]])
def test_a_rewrite_that_sends_other_bytes_is_none(predicted, found, words):
    wider = tuple(dataclasses.replace(c, bytes=2 * c.bytes) for c in found)
    missing, surplus = rewrites.difference(predicted, rewrites.seen(wider))
    assert not explained(list(missing), list(surplus), wider, {"X": 4, "Y": 2}, {"Y"})[2]


def test_collectives_merged_into_one_of_an_unknown_count_are_left_standing():
    merged = dataclasses.replace(compiled("all-gather", ("X",), 128, arrays=2), times=None)
    missing, surplus = rewrites.difference([GATHER, GATHER], rewrites.seen([merged]))
    missing, surplus, says = explained(list(missing), list(surplus), (merged,), {"X": 4})
    assert len(missing) == 2 and len(surplus) == 1 and not says


def on_fake_tpu(monkeypatch, plan_, *sent):
    """`on_tpu` where the compiler makes these collectives."""
    kept = report.from_json((report.RECORDED / "ch03_case3_all_reduce_v5e.json").read_text("utf-8"), "test")
    monkeypatch.setattr(rewrites, "compile_for_tpu", lambda *_, **__: dataclasses.replace(kept, collectives=sent))
    return referee.on_tpu(plan_, "v5e:4x2")


@pytest.mark.parametrize(("dtype", "width"), [(MIXED, 4), ("bf16", 2), ("f32", 4), ("int8", 1)])
@pytest.mark.parametrize("compiled_width", [1, 2, 4])
def test_bytes_of_another_width_on_the_wire_are_caught(monkeypatch, dtype, width, compiled_width):
    sent = Collective("all-reduce", 4096, compiled_width * 4096, ("X",), 1)
    found = on_fake_tpu(monkeypatch, plan(dtype), sent)
    assert found.ok == (width == compiled_width)
    for what, n in (("predicted, not compiled", width), ("compiled, not predicted", compiled_width)):
        line = f"{what}: all-reduce over X: 4,096 elements, {n * 4096:,} bytes"
        assert (line in str(found)) == (width != compiled_width)


@needs_compiler
@pytest.mark.parametrize(("dtype", "nbytes"), [(MIXED, 4 * 64 * 64), ("bf16", 2 * 64 * 64),
                                               ({"A": "f32", "B": "f32", "C": "bf16"}, 2 * 64 * 64)])  # fmt: skip
def test_partial_sums_are_sent_as_wide_as_the_result(dtype, nbytes):
    found = referee.on_tpu(plan(dtype), "v5e:4x2")
    assert found.ok and [c.bytes for c in found.report.collectives] == [nbytes]


# Integers of a byte are added up in words.

PACKED = """  %x = s8[64,64]{1,0:T(8,128)(4,1)} parameter(0)
  %b = u32[2,1024]{1,0:T(2,128)} bitcast(%x)
  %r = u32[2,1024]{1,0:T(2,128)} all-reduce(%b), channel_id=1, replica_groups={}, to_apply=%words
  ROOT %y = s8[64,64]{1,0:T(8,128)(4,1)} bitcast(%r)"""
WORDS = """
%words (p: u32[], q: u32[]) -> u32[] {
  %p = u32[] parameter(0)
  %q = u32[] parameter(1)
  %p8 = u8[] convert(%p)
  %q8 = u8[] convert(%q)
  %p.part = s8[] bitcast-convert(%p8)
  %q.part = s8[] bitcast-convert(%q8)
  %sum = s8[] add(%p.part, %q.part)
  ROOT %back = u32[] convert(%sum)
}
"""
PLAIN = "\n%words (p: u32[], q: u32[]) -> u32[] {\n  %p = u32[] parameter(0)\n  %q = u32[] parameter(1)\n"
PLAIN += "  ROOT %sum = u32[] add(%p, %q)\n}\n"


def test_integers_added_up_in_words_are_listed_as_what_they_are(monkeypatch):
    (found,) = collectives_in(module(PACKED, before=WORDS), {"X": 8})
    assert (found.dtype, found.elements, found.bytes) == ("s8", 64 * 64, 64 * 64)
    assert found.note == "added up in words: u32[2,1024], 8,192 bytes as whole tiles"  # rows of 64 fill half of 128
    says = on_fake_tpu(monkeypatch, plan("int8"), found).rewrites
    assert says == (f"all-reduce over X: the 4,096 elements of s8 are {found.note}",)
    crop = '  %z = s8[64,128] custom-call(%x), custom_call_target="ZeroCrop"\n  %b ='
    filled = PACKED.replace("  %b =", crop).replace("bitcast(%x)", "bitcast(%z)")
    assert collectives_in(module(filled, before=WORDS), {"X": 8}) == [found]
    (whole,) = collectives_in(module(PACKED.replace("64,64", "64,128"), before=WORDS), {"X": 8})
    assert (whole.bytes, whole.note) == (64 * 128, "added up in words: u32[2,1024]")


def test_words_that_are_added_up_whole_are_words():
    (found,) = collectives_in(module(PACKED, before=PLAIN), {"X": 8})
    assert (found.dtype, found.elements, found.bytes, found.note) == ("u32", 2048, 8192, "")


@needs_compiler
@pytest.mark.parametrize("result", ["C[I, K]", "C[I, K_X]"])
def test_a_plan_of_bytes_is_as_the_tpu_compiler_makes_it(result):
    found = referee.verify(plan("int8", result), choice=False, topology="v5e:4x2")
    assert found.ok and "the 4,096 elements of s8 are added up in words: u32[" in found.report


@needs_compiler
@pytest.mark.parametrize("rows", [64, 1024])
def test_partial_sums_of_bytes_are_sent_as_bytes(rows):
    sizes = {"I": rows, "L": 2**16, "K": 64}
    found = referee.on_tpu(sl.plan_matmul("A[I, L_X] * B[I, K] -> C[I, K]", sizes, LINE, dtype="int8"), "v5e:4x2")
    assert found.ok and {c.dtype for c in found.report.collectives} == {"s8"}
    assert found.report.flops.flops is not None
