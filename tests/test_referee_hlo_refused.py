"""The HLO reader refuses text that is cut, odd or of several modules, instead of misreading it."""

import contextlib
from pathlib import Path

import pytest
from hlo_texts import X, loop, module
from hypothesis import given
from hypothesis import strategies as st

from scaling_lib.referee.hlo import HloError, collectives_in, flops_in
from scaling_lib.units import ScalingError

DATA = Path(__file__).parent / "data" / "hlo"
MESH = {"X": 4, "Y": 2}


def test_text_cut_off_anywhere_is_refused():
    whole = (DATA / "scatter_v5e_jax0.12.0.1_libtpu0.0.50.1.hlo").read_text()
    assert collectives_in(whole, MESH)
    for cut in range(0, len(whole.rstrip()) - 1, 97):
        with pytest.raises(HloError):
            collectives_in(whole[:cut], MESH)


@given(st.data())
def test_text_with_a_hole_gives_an_answer_or_a_refusal_and_nothing_else(data):
    whole = (DATA / "nested_v5e_jax0.10.2_libtpu0.0.42.1.hlo").read_text()
    start = data.draw(st.integers(0, len(whole)))
    holed = whole[:start] + whole[start + data.draw(st.integers(1, 200)) :]
    for read in (collectives_in, flops_in):
        with contextlib.suppress(HloError):
            read(holed)


def test_text_with_a_line_missing_is_refused():
    lines = loop().splitlines()
    for k, line in enumerate(lines):
        if line.strip() and not line.startswith("}"):
            with pytest.raises(HloError):
                collectives_in("\n".join(lines[:k] + lines[k + 1 :]))


@pytest.mark.parametrize("name", ["nested_v5e_jax0.12.0.1_libtpu0.0.50.1", "layers_v5e_jax0.7.2_libtpu0.0.23.1",
                                  "exchange_cpu_jax0.12.0.1", "nested_cpu_jax0.10.2"])  # fmt: skip
def test_real_text_with_a_line_missing_is_refused_or_read_all_the_same(name):
    text = (DATA / f"{name}.hlo").read_text()
    whole, lines = collectives_in(text, MESH), text.splitlines()
    refused = 0
    for k in range(len(lines)):
        try:
            assert collectives_in("\n".join(lines[:k] + lines[k + 1 :]), MESH) == whole, lines[k]
        except HloError:
            refused += 1
    assert refused > len(lines) / 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("hello", "starts with 'HloModule'"),
        ("module @jit_f { stablehlo.add }", "StableHLO"),
        (module("  ROOT %x = f32[8,4]{1,0} parameter(zero)"), "line 10: not an HLO"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} frobnicate"), "line 11"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} all-reduce(%z), replica_groups={}"), "line 11: %z is used in %main"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} fusion(%x), calls=%gone"), "line 11: .*%gone is called"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} all-reduce(%x), replica_groups={}, to_apply=%gone"), "%gone is called"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} call(%x), to_apply=%main"), "%main calls itself"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} call(%x)"), "call without to_apply="),
        (module(X + "  ROOT %y = f32[8,4]{1,0} all-redcue(%x), replica_groups={}"), "unknown operation 'all-redcue'"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} collective-reduce(%x)"), "unknown operation 'collective-reduce'"),
        (
            module(
                X.replace("f32", "f2") + "  ROOT %y = f2[8,4]{1,0} collective-permute(%x), source_target_pairs={{0,1}}"
            ),
            "unknown HLO element type 'f2'",
        ),
        (module(X + "  ROOT %y = f32[8,4]{1,0} all-reduce(%x), replica_groups={{0,9}}"), "outside the module's 8"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} all-reduce(%x), replica_groups={{0,1},{1,2}}"), "a device twice"),
        (module(X + "  ROOT %y = f32[8,4]{1,0} all-reduce(%x), replica_groups=<weird>"), "no form known"),
        (module("  ROOT %x = zz9[8,4]{1,0} parameter(0)") + "x", None),
    ],
)
def test_malformed_text_is_refused_with_the_reason(text, says):
    if says is None:
        assert collectives_in(text) == []
        return
    with pytest.raises(HloError, match=says):
        collectives_in(text)


GATHER = "  ROOT %g = f32[16,4]{1,0} all-gather(%x), replica_groups=[4,2]<=[8], dimensions={0}"
SCATTER = "  ROOT %s = f32[2,4]{1,0} reduce-scatter(%x), replica_groups=[2,4]<=[8], dimensions={0}, to_apply=%add"
PERMUTE = "  ROOT %p = f32[8,4]{1,0} collective-permute(%x), source_target_pairs={{0,1}}"
REDUCE = "  ROOT %r = f32[8,4]{1,0} all-reduce(%x), replica_groups=[2,4]<=[8], to_apply=%add"
SEVERAL = REDUCE.replace("f32[8,4]{1,0}", "(f32[8,4]{1,0}, f32[8,4]{1,0})").replace("(%x)", "(%x, f32[8,4]{1,0} %x)")
CAST = "  ROOT %c = f32[8,4]{1,0} collective-broadcast(%x), replica_groups=[4,2]<=[8]"
EXCHANGE = "  ROOT %e = f32[8,4]{1,0} all-to-all(%x), replica_groups=[2,4]<=[8], dimensions={0}"
PIECES = (
    "  ROOT %e = (f32[8,4]{1,0}, f32[8,4]{1,0}) all-to-all(f32[8,4]{1,0} %x, f32[8,4]{1,0} %x), "
    "replica_groups=[4,2]<=[8]"
)
COPY = "  ROOT %p = (f32[8,4], f32[8,4], u32[], u32[]) collective-permute-start(%x), source_target_pairs={{0,1}}"
SEND = (
    "  %tok = token[] after-all()\n  ROOT %s = (f32[8,4]{1,0}, u32[], token[]) send(%x, %tok), channel_id=1, "
    'frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1}}"}'
)
START = GATHER.replace("f32[16", "(f32[8,4]{1,0}, f32[16").replace("} all-gather", "}) all-gather-start")


@pytest.mark.parametrize(
    ("whole", "part", "instead", "says"),
    [
        (GATHER, "replica_groups=[4,2]<=[8], dimensions={0}", "repl", "no attribute.*'repl'"),
        (GATHER, "replica_groups=[4,2]<=[8], ", "", "all-gather without replica_groups="),
        (GATHER, "[4,2]<=[8]", "", "replica groups '' are in no form"),
        (GATHER, "[4,2]<=[8]", "[2,4]<=[8]", "does not fit groups"),
        (GATHER, "[4,2]<=[8]", "{{0,1},{2,3,4},{5,6,7}}", "does not fit groups"),
        (GATHER, "f32[16,4]", "f32[8,8]", "does not fit groups"),
        (GATHER, "f32[16,4]", "bf16[16,4]", "does not fit groups"),
        (GATHER, ", dimensions={0}", "", "without dimensions="),
        (GATHER, "={0}", "={0", "brackets do not match"),
        (GATHER, "={0}", '={0}, metadata={op_name="a', "inside quotes"),
        (GATHER, "={0}", "={0}, dimensions={1}", "second of its name"),
        (GATHER, "(%x)", "(%x, , %x)", "nothing stands between"),
        (GATHER, "(%x)", "()", "all-gather of nothing"),
        (START, "f32[16,4]", "f32[32,4]", "does not fit groups"),
        (SCATTER, "f32[2,4]", "f32[4,4]", "does not fit groups"),
        (SCATTER, "[2,4]<=[8]", "{{0,1,2},{3,4,5},{6,7}}", "does not fit groups"),  # 8 rows in 3 parts
        (SCATTER, "(%x)", "()", "reduce-scatter of nothing"),
        (REDUCE, "f32[8,4]", "f32[8,400]", "does not fit groups"),
        (REDUCE, "[2,4]<=[8]", "{{0,1},{2,3}}", "name 4 of 8 devices"),
        (REDUCE, "[2,4]<=[8]", "{{0}}", "name 1 of 8 devices"),  # a number of a replica, not of a device
        (REDUCE, "f32[8,4]", "bf16[8,4]", "does not fit groups"),
        (SEVERAL, "(f32[8,4]{1,0}, f32", "(f32[8,4]{1,0}, s32", "does not fit groups"),
        (SEVERAL, "(f32[8,4]{1,0}, f32[8,4]{1,0}) ", "f32[8,4]{1,0} ", "does not fit groups"),
        (SEVERAL, "(%x, f32[8,4]{1,0} %x)", "(%x f32[8,4]{1,0} %x)", "an operand is one name"),
        (CAST, "f32[8,4]", "f32[4,4]", "does not fit groups"),
        (EXCHANGE, "f32[8,4]", "f32[4,8]", "does not fit groups"),
        (EXCHANGE, "[2,4]<=[8]", "{{0,1,2},{3,4,5},{6,7}}", "does not fit groups"),  # 8 rows in 3 pieces
        (EXCHANGE, "[2,4]<=[8]", "{{0,1},{2,3,4,5},{6,7}}", "does not fit groups"),
        (PIECES, "[4,2]<=[8]", "[2,4]<=[8]", "does not fit groups"),
        (PIECES, "[4,2]<=[8]", "[4,2]<=[8], dimensions={0}", "does not fit groups"),
        (PIECES, "(f32[8,4]{1,0}, f32", "(f32[8,4]{1,0}, s32", "does not fit groups"),
        (PIECES, "%x, f32[8,4]{1,0} %x", "%x f32[8,4]{1,0} %x", "an operand is one name"),
        (PIECES, "f32[8,4]{1,0} %x, f32[8,4]{1,0} %x", "%x %x", "an operand is one name"),
        (PERMUTE, "f32[8,4]", "f32[8,400]", "what is received is not what is sent"),
        (PERMUTE, "f32[8,4]", "s32[8,4]", "what is received is not what is sent"),
        (COPY, "(f32[8,4], f32", "(f32[8,4], bf16", "what is received is not what is sent"),
        (SEND, "(f32[8,4]{1,0}", "(f32[8,8]{1,0}", "what is received is not what is sent"),
        (PERMUTE, ", source_target_pairs={{0,1}}", "", "without source_target_pairs="),
        (PERMUTE, "{{0,1}}", "{{}}", "no pairs of devices"),
        (PERMUTE, "{{0,1}}", "{{0,1},{2}}", "no pairs of devices"),
        (PERMUTE, "{{0,1}}", "{{0,1},{2,1}}", "line 11: %p: a device receives twice"),
        (PERMUTE, "{{0,1}}", "{{0,1},{0,2}}", "line 11: %p: a device sends twice"),
        (PERMUTE, "{{0,1}}", "{{0,8}}", r"\[8\] name a device outside"),
        (PERMUTE, "ROOT %p", "ROOT %x", "%x is defined twice in %main"),
        (PERMUTE, "  ROOT", "  ROOT %q = f32[8,4]{1,0} negate(%x)\n  ROOT", "a second ROOT in %main"),
    ],
)
def test_a_collective_that_is_cut_or_odd_is_refused(whole, part, instead, says):
    assert len(collectives_in(module(X + whole), MESH)) == 1 and whole.count(part) == 1
    with pytest.raises(HloError, match=says):
        collectives_in(module(X + whole.replace(part, instead)), MESH)


def test_an_exchange_of_unequal_pieces_is_refused():
    unequal = "  %h = f32[4,4]{1,0} slice(%x), slice={[0:4], [0:4]}\n"
    unequal += PIECES.replace("f32[8,4]{1,0})", "f32[4,4]{1,0})").replace("f32[8,4]{1,0} %x, ", "%h, ").replace(
        "(f32[8,4]{1,0}, f32[4,4]{1,0})", "(f32[4,4]{1,0}, f32[8,4]{1,0})")  # fmt: skip
    with pytest.raises(HloError, match=r"%e: all-to-all of f32\[4,4\], f32\[8,4\] .*does not fit groups"):
        collectives_in(module(X + unequal), MESH)


@pytest.mark.parametrize(
    ("op", "operand", "was"),
    [("all-reduce-done", "x", "parameter"), ("async-done", "x", "parameter"), ("all-gather-done", "c", "copy-start"),
     ("all-to-all-update", "c", "copy-start"), ("copy-done", "", "nothing")],
)  # fmt: skip
def test_the_end_of_what_was_not_started_is_refused(op, operand, was):
    copy = "  %c = (f32[8,4]{1,0}, f32[8,4]{1,0}, u32[]) copy-start(%x)\n"
    assert collectives_in(module(X + copy + "  ROOT %d = f32[8,4]{1,0} copy-done(%c)")) == []
    line = f"  ROOT %d = f32[8,4]{{1,0}} {op}({operand and '%' + operand})"
    with pytest.raises(HloError, match=f"line 12: .*%d: {op} of {was}, not of"):
        collectives_in(module(X + copy + line))


def test_a_dot_without_its_dimensions_is_refused():
    with pytest.raises(HloError, match="dot without lhs_contracting_dims="):
        flops_in(module(X + "  ROOT %y = f32[4,4]{1,0} dot(%x, %x), rhs_contracting_dims={0}"))


def test_a_conditional_without_branches_is_refused():
    with pytest.raises(HloError, match="conditional without branch_computations="):
        collectives_in(module(X + "  ROOT %y = f32[8,4]{1,0} conditional(%x, %x), true_computation=%add"))


def test_several_modules_or_entries_in_one_text_are_refused():
    one, helper = module(X + GATHER), "%f (x: f32[8,4]) -> f32[8,4] {\n  ROOT %x = f32[8,4]{1,0} parameter(0)\n}\n"
    with pytest.raises(HloError, match="another HloModule begins"):
        collectives_in(one + "\n" + one)
    with pytest.raises(HloError, match="a second ENTRY"):
        collectives_in(one + one[one.index("ENTRY") :].replace("%main", "%other"))
    with pytest.raises(HloError, match="%f is defined twice"):
        collectives_in(module(X + GATHER, before=helper + helper))


def test_groups_that_number_replicas_or_partitions_are_refused():
    reduce = "  ROOT %r = f32[8,4]{1,0} all-reduce(%x), channel_id=1, replica_groups={{0,1},{2,3},{4,5},{6,7}}"
    for line in (reduce, PERMUTE, GATHER):
        with pytest.raises(HloError, match=r"line 11: .*of 2 replicas × 4 partitions"):
            collectives_in(module(X + line).replace("num_partitions=8", "replica_count=2, num_partitions=4"))
        assert len(collectives_in(module(X + line).replace("num_partitions", "replica_count"))) == 1
    both = module(X + reduce + ", use_global_device_ids=true")
    (found,) = collectives_in(both.replace("num_partitions=8", "replica_count=2, num_partitions=4"), MESH)
    assert found.axes == ("Y",)


def test_a_mesh_of_another_size_is_refused():
    with pytest.raises(HloError, match="X=3 has 3 devices, the program was compiled for 8"):
        collectives_in(module(X + "  ROOT %y = f32[8,4]{1,0} negate(%x)"), mesh={"X": 3})
    with pytest.raises(ScalingError, match=r"X must be a whole number of devices, 1 or more, got 8\.0"):
        collectives_in(module(X + "  ROOT %y = f32[8,4]{1,0} negate(%x)"), mesh={"X": 8.0})
    with pytest.raises(ScalingError, match=r"mesh: got \[4, 2\]; give a jax mesh, or axis sizes"):
        collectives_in(module(X + "  ROOT %y = f32[8,4]{1,0} negate(%x)"), mesh=[4, 2])


def test_lowered_programs_and_other_objects_are_refused():
    import jax

    with pytest.raises(HloError, match="lowered, not compiled"):
        collectives_in(jax.jit(lambda x: x).lower(1.0))
    with pytest.raises(HloError, match="got int"):
        flops_in(3)
