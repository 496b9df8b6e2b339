"""The HLO reader against small texts with answers known by hand, real recorded HLO, and fresh compiles."""

import itertools
import math
from collections import Counter
from pathlib import Path

import pytest
from hlo_texts import X, module
from hypothesis import given
from hypothesis import strategies as st

from scaling_lib import referee
from scaling_lib.referee import hlo_groups
from scaling_lib.referee.hlo import collectives_in, flops_in
from scaling_lib.referee.hlo_groups import axes_of_groups, parse_groups
from scaling_lib.referee.hlo_module import bits_per_element

DATA = Path(__file__).parent / "data" / "hlo"
MESH = {"X": 4, "Y": 2}


def one(line, **kw):
    (found,) = collectives_in(module(X + line, **kw), mesh=kw.get("mesh", MESH))
    return found


# One collective: op, elements, bytes, axes.


@pytest.mark.parametrize(
    ("op", "groups", "elements", "axes"),
    [
        ("all-gather", "[2,4]<=[4,2]T(1,0)", 128, "X"),
        ("all-gather", "[4,2]<=[8]", 64, "Y"),
        ("all-gather", "{}", 256, "XY"),
        ("reduce-scatter", "{{0,2,4,6},{1,3,5,7}}", 32, "X"),
        ("all-reduce", "mesh['a'=4,'b'=2] {'b'}", 32, "Y"),
        ("all-to-all", "[4,2]<=[8]", 64, "Y"),
        ("collective-broadcast", "[4,2]<=[8]", 32, "Y"),
    ],
)
def test_a_collective_is_read_with_the_whole_array_of_a_group(op, groups, elements, axes):
    rows = {"all-gather": elements // 4, "reduce-scatter": 2}.get(op, 8)
    found = one(f"  ROOT %r = f32[{rows},4]{{1,0}} {op}(%x), channel_id=1, replica_groups={groups}, dimensions={{0}}")
    assert tuple(found) == (op, elements, 4 * elements, found.axes, 1)
    assert (found.op, found.elements, found.bytes, found.times) == (op, elements, 4 * elements, 1)
    assert "".join(found.axes) == axes


def test_merged_all_reduce_counts_all_its_arrays():
    line = (
        "  ROOT %r = (f32[8,4]{1,0}, f32[8,4]{1,0}) all-reduce(%x, %x), channel_id=1, replica_groups={}, to_apply=%add"
    )
    found = one(line)
    assert (found.elements, found.arrays, found.axes) == (64, 2, ("X", "Y"))


def test_no_groups_are_all_devices_over_a_channel_and_else_all_replicas():
    line = "  ROOT %r = f32[8,4]{1,0} all-reduce(%x), replica_groups={}, to_apply=%add"
    assert (one(line).group_size, one(line).axes) == (1, ())
    assert one(line.replace("replica_groups", "channel_id=1, replica_groups")).axes == ("X", "Y")
    (found,) = collectives_in(module(X + line).replace("num_partitions", "replica_count"), MESH)
    assert found.axes == ("X", "Y")


def test_all_to_all_in_pieces_is_one_array():
    found = one("  ROOT %a = (f32[8,4]{1,0}, f32[8,4]{1,0}) all-to-all(%x, %x), replica_groups=[4,2]<=[8]")
    assert (found.elements, found.arrays) == (2 * 2 * 32, 1)


def test_operands_written_with_their_shape_are_read_too():
    line = "  ROOT %g = f32[16,4]{1,0} all-gather(f32[8,4]{1,0} %x), replica_groups=[4,2]<=[8], dimensions={0}"
    assert one(line).elements == 64


def test_asynchronous_pairs_count_once():
    pair = (
        "  %s = (f32[8,4]{1,0}, f32[16,4]{1,0}) all-gather-start(%x), replica_groups=[4,2]<=[8], dimensions={0}\n"
        "  ROOT %d = f32[16,4]{1,0} all-gather-done(%s)"
    )
    assert one(pair).elements == 64
    wrapped = """
%inner (p: f32[8,4]) -> f32[2,4] {
  %p = f32[8,4]{1,0} parameter(0)
  ROOT %s = f32[2,4]{1,0} reduce-scatter(%p), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}, to_apply=%add
}
"""
    calls = (
        "  %a = ((f32[8,4]{1,0}), f32[2,4]{1,0}) async-start(%x), calls=%inner\n"
        "  %u = ((f32[8,4]{1,0}), f32[2,4]{1,0}) async-update(%a), calls=%inner\n"
        "  ROOT %d = f32[2,4]{1,0} async-done(%u), calls=%inner"
    )
    (found,) = collectives_in(module(X + calls, before=wrapped), MESH)
    assert (found.op, found.axes, found.elements) == ("reduce-scatter", ("X",), 32)


def test_a_ragged_all_to_all_moves_at_most_its_input_from_each_device_of_a_group():
    found = one(
        "  %o = f32[16,4]{1,0} parameter(1)\n  %n = s32[4]{0} parameter(2)\n"
        "  ROOT %a = f32[16,4]{1,0} ragged-all-to-all(%x, %o, %n, %n, %n, %n), replica_groups=[2,4]<=[4,2]T(1,0)"
    )
    assert (found.elements, found.bytes, found.axes) == (4 * 32, 4 * 4 * 32, ("X",)) and "at most" in found.note


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("s2", 2), ("u2", 2), ("s4", 4), ("u4", 4), ("f4e2m1fn", 4), ("pred", 8), ("u8", 8), ("f8e4m3fn", 8),
     ("f8e8m0fnu", 8), ("bf16", 16), ("f16", 16), ("s32", 32), ("f64", 64), ("c64", 64), ("c128", 128), ("token", 0)],
)  # fmt: skip
def test_an_element_has_the_bits_its_name_says(dtype, bits):
    assert bits_per_element(dtype) == bits


def test_elements_below_a_byte_are_packed():
    text = module(
        "  %x = s4[3,5]{1,0} parameter(0)\n  ROOT %p = s4[3,5]{1,0} collective-permute(%x), source_target_pairs={{0,1}}"
    )
    (found,) = collectives_in(text, MESH)
    assert (found.elements, found.bytes) == (15, 8)


# Groups in every notation.


@given(st.permutations([0, 1, 2]), st.tuples(*[st.integers(1, 3)] * 3), st.integers(0, 2))
def test_iota_groups_are_reshape_transpose_reshape(perm, dims, k):
    size = math.prod(dims[p] for p in perm[k:])
    n = math.prod(dims)
    groups = parse_groups(f"[{n // size},{size}]<=[{','.join(map(str, dims))}]T({','.join(map(str, perm))})", n)
    inner, outer = perm[k:], perm[:k]
    strides = [math.prod(dims[i + 1 :]) for i in range(3)]

    def number(place):
        return sum(place[i] * strides[i] for i in range(3))

    wanted = []
    for out in itertools.product(*(range(dims[i]) for i in outer)):
        row = []
        for ins in itertools.product(*(range(dims[i]) for i in inner)):
            row.append(number(dict(zip((*outer, *inner), (*out, *ins), strict=True))))
        wanted.append(row)
    assert groups == wanted


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{{0,2},{1,3}}", [[0, 2], [1, 3]]),
        ("{}", [[0, 1, 2, 3]]),
        ("[2,2]<=[4]", [[0, 1], [2, 3]]),
        ("mesh['X'=2,'Y'=2] {'X'}", [[0, 2], [1, 3]]),
        ("mesh[a=2,b=2] {a,b}", [[0, 1, 2, 3]]),
        ("mesh['a'=2,'b'=2] {'b','a'}", [[0, 2, 1, 3]]),
        ("mesh['x'=2,'y'=2], device_ids=(0,2,1,3) {'y'}", [[0, 2], [1, 3]]),
        ("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}", [[0, 2], [1, 3]]),
        ("mesh['a'=4] {'a':(2)2}", [[0, 1], [2, 3]]),
        ("mesh['a'=4] {'a':(1)2}", [[0, 2], [1, 3]]),
    ],
)
def test_groups_in_every_notation(text, groups):
    assert parse_groups(text, 4) == groups


def test_groups_that_lie_along_no_axis_are_named_by_none():
    assert axes_of_groups([[0, 3], [1, 2]], {"X": 2, "Y": 2}) is None
    assert axes_of_groups([[0, 3], [1, 2]], None) is None
    assert axes_of_groups([[1, 0], [3, 2]], {"X": 2, "Y": 2, "Z": 1}) == ("Y",)
    found = one("  ROOT %r = f32[8,4]{1,0} all-reduce(%x), replica_groups={{0,3},{1,2},{4,7},{5,6}}, to_apply=%add")
    assert found.axes is None and "no mesh axis" in found.note


def test_groups_written_alike_are_read_once(monkeypatch):
    read = []

    def counting(text, n_devices):
        read.append(text)
        return parse_groups(text, n_devices)

    monkeypatch.setattr(hlo_groups, "parse_groups", counting)
    groups = "[8,512]<=[512,8]T(1,0)"
    lines = "".join(f"  %r{k} = f32[8,4]{{1,0}} all-reduce(%x), replica_groups={groups}\n" for k in range(500))
    found = collectives_in(module(X + lines + "  ROOT %y = f32[8,4]{1,0} negate(%x)", n=4096), {"X": 512, "Y": 8})
    assert [c.axes for c in found] == [("X",)] * 500 and len(read) <= 1


# FLOPs.


def test_a_batched_dot_counts_two_flops_a_multiply_add():
    text = """HloModule m

ENTRY %main (a: f32[3,4,5], b: f32[3,5,7]) -> f32[3,4,7] {
  %a = f32[3,4,5]{2,1,0} parameter(0)
  %b = f32[3,5,7]{2,1,0} parameter(1)
  ROOT %c = f32[3,4,7]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}"""
    assert flops_in(text).flops == 2 * 3 * 4 * 5 * 7


def test_the_tpus_batched_dot_counts_real_products_only():
    text = """HloModule m

ENTRY %main (a: bf16[4,512,1024], b: bf16[4,1024,256]) -> bf16[4,512,256] {
  %a = bf16[4,512,1024]{2,1,0} parameter(0)
  %b = bf16[4,1024,256]{2,1,0} parameter(1)
  ROOT %c = bf16[4,512,256]{2,1,0} convolution(%a, %b), window={size=4 stride=3 lhs_dilate=4}, dim_labels=0bf_0io->0bf
}"""
    assert flops_in(text).flops == 2 * 4 * 512 * 1024 * 256


def test_groups_of_a_batch_are_each_convolved_with_their_own_features():
    text = """HloModule m

ENTRY %main (a: f32[4,5,3], k: f32[3,3,6]) -> f32[2,3,6] {
  %a = f32[4,5,3]{2,1,0} parameter(0)
  %k = f32[3,3,6]{2,1,0} parameter(1)
  ROOT %c = f32[2,3,6] convolution(%a, %k), window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=2
}"""
    made, added = 2 * 3 * 6, 3 * 3  # elements of the result; for each, kernel positions times input features
    assert flops_in(text).flops == 2 * made * added


def custom(target, config=""):
    return f"""HloModule m

ENTRY %main (a: f32[4,8], b: f32[8,2]) -> f32[4,2] {{
  %a = f32[4,8]{{1,0}} parameter(0)
  %b = f32[8,2]{{1,0}} parameter(1)
  ROOT %c = f32[4,2]{{1,0}} custom-call(%a, %b), custom_call_target="{target}"{config}
}}"""


def test_library_matmuls_are_counted():
    config = ', backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}'
    assert flops_in(custom("__cublas$gemm", config)).flops == 128
    assert flops_in(custom("__onednn$matmul")).flops == 128


def test_an_unknown_custom_call_is_named_instead_of_a_small_number():
    found = flops_in(custom("tpu_custom_call"))
    assert found.flops is None and found.not_counted == ("custom call tpu_custom_call",)
    assert "not counted: custom call tpu_custom_call" in str(found)
    assert flops_in(custom("Sharding")).flops == 0


@pytest.mark.parametrize("op", ["cholesky", "fft", "ragged-dot", "scaled-dot", "triangular-solve"])
def test_work_that_no_rule_counts_is_named(op):
    found = flops_in(module(X + f"  ROOT %y = f32[8,4]{{1,0}} {op}(%x, %x)"))
    assert (found.flops, found.not_counted) == (None, (op,))


def test_the_compilers_own_fourier_transform_is_not_counted_as_nothing():
    import jax
    import jax.numpy as jnp

    transform = jax.jit(jnp.fft.fft).lower(jax.ShapeDtypeStruct((8, 8), jnp.complex64))
    assert flops_in(transform.compile()).flops is None


# Real HLO of several versions (tests/data/hlo/record.py).

KINDS = {
    ("gather", "cpu"): {("all-gather", "Y", 2**19, 1): 1, ("all-gather", "X", 2**22, 1): 1},
    ("gather", "v5e"): {("all-gather", "Y", 2**19, 1): 1, ("all-gather", "X", 2**22, 1): 1},
    ("scatter", "cpu"): {("all-reduce", "X", 2**22, 1): 1},
    ("scatter", "v5e"): {("reduce-scatter", "X", 2**22, 1): 1, ("collective-permute", "X", 24 * 4096, 1): 1},
    ("layers", "v5e"): {("all-gather", "Y", 2**19, 6): 1, ("all-gather", "X", 2**21, 6): 1},
    ("layers", "tpu7x"): {("all-gather", "Y", 2**19, 6): 1, ("all-gather", "X", 2**21, 6): 1},
    ("nested", "cpu"): {("all-gather", "Y", 2**11, 18): 1, ("all-gather", "X", 2**13, 6): 1},
    ("nested", "v5e"): {("all-gather", "Y", 2**11, 18): 1, ("all-gather", "X", 2**13, 18): 1},
    ("either", "cpu"): {("all-gather", "Y", 2**11, 1): 1, ("all-gather", "X", 2**13, 1): 1},
    ("either", "v5e"): {("all-gather", "Y", 2**11, 1): 1, ("all-gather", "X", 2**13, 1): 1},
    ("exchange", "cpu"): {("all-to-all", "X", 2**13, 1): 1},
    ("exchange", "v5e"): {("all-to-all", "X", 2**13, 1): 1},
    ("shift", "cpu"): {("collective-permute", "Y", 2**10, 1): 1},
    ("shift", "v5e"): {("collective-permute", "Y", 2**10, 1): 1},
    ("train", "v5p"): {
        ("all-gather", "X", 2**25, 4): 4, ("all-reduce", "Y", 2**23, 4): 2, ("reduce-scatter", "X", 2**25, 4): 2,
        ("collective-permute", "X", 96 * 8192, 4): 1,
    },
    ("train", "v5e"): {
        ("all-gather", "X", 2**25, 4): 2, ("all-reduce", "Y", 2**23, 4): 2, ("collective-permute", "X", 2**23, 4): 16,
    },
}  # fmt: skip
# Whole products over 8 devices: forward, and for train the recomputed first product and two backward for each of two.
FLOPS = {
    "gather": 2 * 1024 * 2048 * 4096 / 8, "layers": 6 * 2 * 1024 * 2048 * 2048 / 8,
    "nested": 18 * 2 * 64 * 128 * 128 / 8, "train": 4 * 7 * 2 * 8192 * 4096 * 16384 / 8,
}  # fmt: skip
FILES = sorted(DATA.glob("*.hlo"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_real_hlo_of_every_version_is_read_alike(path):
    program, where = path.stem.split("_")[:2]
    text = path.read_text()
    found = collectives_in(text, MESH)
    if (program, where) in KINDS:
        got = Counter((c.op, "".join(c.axes), c.elements, c.times) for c in found)
        assert got == KINDS[program, where]
    width = 4 if where == "cpu" else 2  # XLA's CPU backend widens bf16 on the wire
    assert all(c.bytes == width * c.elements for c in found)
    if program in FLOPS:
        assert flops_in(text).flops == FLOPS[program]
    if program == "until":
        assert flops_in(text).flops is None and any(c.times is None for c in found)
    assert all(("one branch" in c.note) == (program == "either") for c in found)


def test_padding_of_the_tpus_reduce_scatter_is_explained():
    scatter, permute = collectives_in((DATA / "scatter_v5e_jax0.7.2_libtpu0.0.23.1.hlo").read_text(), MESH)
    assert "padded to bf16[1056,4096]" in scatter.note and "padding" in permute.note


# Fresh compiles, on this machine's jax.


def test_the_cpu_compilers_collectives_are_the_ones_asked_for():
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = referee.make_mesh(X=4, Y=2)

    def compiled(fn, x, spec, out):
        shape = jax.ShapeDtypeStruct(x, jnp.float32, sharding=NamedSharding(mesh, spec))
        mapped = jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=out, check_vma=False)
        return collectives_in(jax.jit(mapped).lower(shape).compile(), mesh)

    cases = [
        (lambda x: jax.lax.all_gather(x, "X", tiled=True), P("X"), P(), "all-gather", ("X",), 64 * 4),
        (lambda x: jax.lax.psum(x, ("X", "Y")), P(("X", "Y")), P(), "all-reduce", ("X", "Y"), 8 * 4),
        (lambda x: jax.lax.psum_scatter(x, "Y", tiled=True), P(), P("Y"), "reduce-scatter", ("Y",), 64 * 4),
        (lambda x: jax.lax.all_to_all(x, "X", 1, 0, tiled=True), P("X"), P(None, "X"), "all-to-all", ("X",), 64 * 4),
    ]
    for fn, spec, out, op, axes, elements in cases:
        (found,) = compiled(fn, (64, 4), spec, out)
        assert (found.op, found.axes, found.elements, found.bytes) == (op, axes, elements, 4 * elements)
