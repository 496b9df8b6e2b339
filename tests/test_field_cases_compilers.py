"""Questions from the field about what compilers print, retold: loops, library calls, malformed text, axis types."""

import ast
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from scaling_lib import referee
from scaling_lib.referee.hlo_groups import parse_groups

ROOT = Path(__file__).parent.parent

# A stack of layers in a loop does the work of all of them, not of one.


def layer(x, weights):
    w_in, b_in, w_out, b_out = weights
    return jax.nn.silu(x @ w_in + b_in) @ w_out + b_out, None


def stack(layers, d, ff):
    return tuple(jnp.ones((layers, *shape)) for shape in ((d, ff), (ff,), (ff, d), (d,)))


def scanned(x, weights):
    return jax.lax.scan(layer, x, weights)[0]


def rematerialised(x, weights):
    return jax.lax.scan(jax.checkpoint(layer), x, weights)[0]


def unrolled(x, weights):
    for i in range(weights[0].shape[0]):
        x, _ = layer(x, jax.tree.map(lambda w, i=i: w[i], weights))
    return x


def counted(fn, *args):
    return referee.flops_in(jax.jit(fn).lower(*args).compile()).flops


@pytest.mark.parametrize(
    ("layers", "d", "ff", "batch"), [(24, 10, 40, 8), (1, 10, 40, 8), (7, 16, 24, 3), (2, 8, 8, 1)]
)
@pytest.mark.parametrize("program", [scanned, rematerialised, unrolled])
def test_the_layers_of_a_loop_all_count(program, layers, d, ff, batch):
    found = counted(program, jnp.ones((batch, d)), stack(layers, d, ff))
    assert found == layers * 2 * batch * (d * ff + ff * d)
    assert found >= batch * layers * 2 * d * ff  # never below batch times parameters


def test_the_training_step_of_a_loop_counts_three_times_its_forward_pass():
    x, weights = jnp.ones((8, 10)), stack(24, 10, 40)
    forward = counted(scanned, x, weights)
    step = counted(jax.grad(lambda w, x: scanned(x, w).sum()), weights, x)
    # The first layer's gradient for the input x is not asked for, but the loop computes it for every layer alike.
    assert forward == 307_200 and step == 3 * forward


def test_loops_in_loops_multiply():
    def blocks(x, weights):
        return jax.lax.scan(lambda y, _: (scanned(y, weights), None), x, None, length=5)[0]

    assert counted(blocks, jnp.ones((8, 10)), stack(3, 10, 40)) == 5 * 3 * 2 * 8 * 800


# A product that became a library call is counted, or named: never a small number.


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_dense_layer_counts_its_product_for_any_number_of_rows(rows):
    found = referee.flops_in(jax.jit(lambda x, w, b: x @ w + b).lower(
        jnp.ones((rows, 73)), jnp.ones((73, 256)), jnp.ones(256)).compile())  # fmt: skip
    assert found.flops == 2 * rows * 73 * 256 or found.flops is None


def library_call(target, rows, config=""):
    return (
        f"HloModule m\n\nENTRY %main (x: f32[{rows},73], w: f32[73,256]) -> f32[{rows},256] {{\n"
        f"  %x = f32[{rows},73]{{1,0}} parameter(0)\n  %w = f32[73,256]{{1,0}} parameter(1)\n"
        f'  ROOT %y = f32[{rows},256]{{1,0}} custom-call(%x, %w), custom_call_target="{target}"{config}\n}}\n'
    )


@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("target", ["__cublas$gemm", "__cublas$lt$matmul", "__onednn$matmul"])
def test_a_product_handed_to_a_library_is_counted(target, rows):
    config = ', backend_config={"gemm_backend_config":{"lhs_contracting_dimensions":["1"]}}'
    found = [referee.flops_in(library_call(target, rows, given)).flops for given in ("", config)]
    assert found == [2 * rows * 73 * 256] * 2


def test_a_call_that_hides_its_work_is_named():
    found = referee.flops_in(library_call("some_vendor$fused_mlp", 2))
    assert found.flops is None and found.not_counted == ("custom call some_vendor$fused_mlp",)
    assert "not counted: custom call some_vendor$fused_mlp" in str(found)


# Malformed shardings and groups are refused where they stand.


def gather(groups="[4,2]<=[8]", sharding="{devices=[8,1]<=[8]}"):
    return (
        "HloModule m, num_partitions=8\n\nENTRY %main (x: f32[4,4]) -> f32[8,4] {\n"
        f"  %x = f32[4,4]{{1,0}} parameter(0), sharding={sharding}\n"
        f"  ROOT %g = f32[8,4]{{1,0}} all-gather(%x), replica_groups={groups}, dimensions={{0}}\n}}\n"
    )


@pytest.mark.parametrize(
    ("sharding", "says"),
    [
        ("{devices=[2,2]<=[16]}", r"line 4: .*\[2,2\]<=\[16\]: 4 tiles for 16 devices"),
        ("{devices=[4,2]<=[4]}", "8 tiles for 4 devices"),
        ("{devices=[2,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", "8 tiles for 4 devices"),
        ("{devices=[2,2]0,1,2}", "4 tiles for 3 devices"),
        ("{{replicated}, {devices=[3,1]<=[8]}}", "3 tiles for 8 devices"),
    ],
)
def test_a_sharding_whose_tiles_are_not_its_devices_is_refused(sharding, says):
    with pytest.raises(referee.HloError, match=says):
        referee.collectives_in(gather(sharding=sharding))


@pytest.mark.parametrize(
    "sharding",
    ["{replicated}", "{devices=[4,2]<=[8]}", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "{devices=[2,2]3,1,2,0}",
     "{devices=[4,2]<=[2,4]T(1,0)}", "{{devices=[8,1]<=[8]}, {replicated}}", "{maximal device=3}"],
)  # fmt: skip
def test_sound_shardings_are_read(sharding):
    assert len(referee.collectives_in(gather(sharding=sharding), {"X": 4, "Y": 2})) == 1


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ("[2,4]<=[4]", "line 5: %g: .*2 groups of 4 for 4 devices"),
        ("[4,2]<=[16]", "4 groups of 2 for 16 devices"),
        ("[4,2]<=[2,4]T(1,1)", r"T\(1,1\) is no order of 2 dimensions"),
        ("[4,2]<=[2,4]T(0)", r"T\(0\) is no order of 2 dimensions"),
        ("mesh['X'=2,'Y'=2], device_ids=(0,1,2) {'X'}", "3 device ids for a mesh of 4"),
        ("mesh['X'=2,'Y'=4] {'Z'}", "no axis 'Z' in the mesh X, Y"),
        ("mesh['X'=8] {'X':(3)2}", r"axis 'X' of 8 has no sub-axis 'X':\(3\)2"),
        ("mesh['X'=8] {'X':(4)4}", r"axis 'X' of 8 has no sub-axis 'X':\(4\)4"),
        ("mesh['X'=8] {'X':(0)2}", r"axis 'X' of 8 has no sub-axis 'X':\(0\)2"),
        ("[4,2]<=", "in no form known here"),
        ("[8,2]<=[16]", "name a device outside the module's 8"),
    ],
)
def test_groups_that_do_not_fit_are_refused_with_their_line(groups, says):
    with pytest.raises(referee.HloError, match=says):
        referee.collectives_in(gather(groups=groups))


def test_iota_groups_are_read_as_they_are_written():
    assert parse_groups("[4,2]<=[8]", 8) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert parse_groups("[4,2]<=[2,4]T(1,0)", 8) == [[0, 4], [1, 5], [2, 6], [3, 7]]


# Axis types: jax's default has changed, so every mesh of ours says which it means.


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines()]


def code_of(path):
    """Python of a file; of MyST text the code cells."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return text
    cells, inside, options = [], False, False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line.startswith("```{code-cell}")
        elif inside and line == "---":
            options = not options
        elif inside and not options and not line.startswith((":", "%", "!")):
            cells.append(line)
    return "\n".join(cells)


def meshes_without_types(code):
    """Lines that make a jax mesh and do not say its axis types."""
    tree = ast.parse(code)
    ours = {"referee", "devices"}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports = [node for node in imports if (node.module or "").startswith("jax")]
    jax_mesh = {a.asname or a.name for node in imports for a in node.names if a.name in ("Mesh", "make_mesh")}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(k.arg in ("axis_types", None) for k in node.keywords):
            continue
        f = node.func
        named = isinstance(f, ast.Name) and f.id in jax_mesh
        dotted = isinstance(f, ast.Attribute) and f.attr == "make_mesh" and getattr(f.value, "id", "") not in ours
        dotted |= isinstance(f, ast.Attribute) and f.attr == "Mesh" and getattr(f.value, "attr", "") == "sharding"
        if named or dotted:
            yield node.lineno


def test_every_jax_mesh_says_its_axis_types():
    found = [(str(path.relative_to(ROOT)), line) for path in tracked("*.py", "text/**/*.md")
             for line in meshes_without_types(code_of(path))]  # fmt: skip
    assert not found


@pytest.mark.parametrize(
    ("code", "n"),
    [("jax.make_mesh((2,), ('x',))", 1), ("from jax.sharding import Mesh\nMesh(d, ('x',))", 1),
     ("jax.sharding.Mesh(d, ('x',))", 1), ("jax.make_mesh((2,), ('x',), axis_types=t)", 0),
     ("referee.make_mesh(X=2)", 0), ("sl.Mesh(s, X=4)", 0)],
)  # fmt: skip
def test_a_mesh_without_axis_types_is_found(code, n):
    assert len(list(meshes_without_types(code))) == n


def test_constraints_name_auto_axes_and_explicit_ones_refuse_them():
    def constrained(x):
        return jax.lax.with_sharding_constraint(x, P("X"))

    auto, explicit = referee.make_mesh(X=2), referee.make_mesh(X=2, axis_type="explicit")
    assert set(auto.axis_types) == {AxisType.Auto} and set(explicit.axis_types) == {AxisType.Explicit}
    with jax.set_mesh(auto):
        assert len(jax.jit(constrained)(jnp.ones(8)).sharding.device_set) == 2
    # Before jax 0.9.1 a ValueError (only Auto axes may be named), since then an assertion about the sharding.
    with jax.set_mesh(explicit), pytest.raises((ValueError, AssertionError), match="with_sharding_constraint"):
        jax.jit(constrained)(jnp.ones(8))
