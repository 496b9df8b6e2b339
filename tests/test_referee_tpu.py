"""The TPU compiler without a TPU, and the recorded report where it cannot run."""

import dataclasses
import functools
import json
import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from scaling_lib import hardware, referee
from scaling_lib.referee import __main__ as cli
from scaling_lib.referee import report, tpu_compiler
from scaling_lib.referee.programs import PROGRAMS
from scaling_lib.referee.tpu_compiler import parse_topology, program_hash, why_no_compiler
from scaling_lib.units import ScalingError

needs_compiler = pytest.mark.skipif(bool(why_no_compiler()), reason=why_no_compiler() or "-")
MESH = {"X": 4, "Y": 2}
X, W = jax.ShapeDtypeStruct((1024, 2048), jnp.bfloat16), jax.ShapeDtypeStruct((2048, 4096), jnp.bfloat16)


def matmul(x, w):
    return x @ w


def compile_(fn=matmul, *args, **kwargs):
    kwargs = {"mesh": MESH, "in_shardings": (P("X", "Y"), P("Y")), "out_shardings": P("X"), **kwargs}
    return referee.compile_for_tpu(fn, *(args or (X, W)), **kwargs)


# Topologies are asked for in chips.


@pytest.mark.parametrize(
    ("name", "chip", "n_chips", "n_devices"),
    [
        ("v5e:4x2", "tpu-v5e", 8, 8), ("v5p:2x2x2", "tpu-v5p", 8, 8), ("v4:2x2x1", "tpu-v4", 4, 8),
        ("tpu7x:2x2x1", "tpu-7x", 4, 8), ("7x:2x2x1", "tpu-7x", 4, 8), ("v5p:16x16x28", "tpu-v5p", 7168, 7168),
    ],
)  # fmt: skip
def test_a_topology_names_chips_and_the_catalogue_their_devices(name, chip, n_chips, n_devices):
    place = parse_topology(name)
    assert (place.chip, place.n_chips, place.n_devices) == (chip, n_chips, n_devices)


@pytest.mark.parametrize("name", ["", "v5e", "v5e:4y2", "v9:2x2", "h100:8x1", "v5e:0x2", "v5e:2x2x2x2", None, 8])
def test_a_misspelt_topology_says_what_is_possible(name):
    with pytest.raises(referee.TopologyError, match="generations: v3, v4, v5e, v5p, v6e, tpu7x"):
        compile_(topology=name)


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"mesh": {"X": 4}}, "X=4 asks for 4 devices; v5e:4x2 has 8"),
        ({"topology": "tpu7x:2x2x2"}, r"has 16 \(8 chips with 2 each\)"),
        ({"mesh": None}, "the arguments carry no mesh"),
        ({"in_shardings": (P("X"),)}, "for each of 2 arguments"),
        ({"axis_type": "Auto"}, "axis_type: got 'Auto'"),
        ({"mesh": "X"}, "mesh: got 'X'; give a jax mesh, or axis sizes"),
        ({"mesh": {"X": 4.9, "Y": 2}}, "X must be a whole number of devices, 1 or more, got 4.9"),
        ({"in_shardings": P("Z")}, "axis 'Z' is unknown for in_shardings: known: X, Y"),
        ({"out_shardings": {"a": P(("X", "Z"))}}, "axis 'Z' is unknown for out_shardings"),
        ({"in_shardings": (P(), P(None, None, "X"))}, r"in_shardings: .* args\[1\].*: it has 2 dimensions, not 3"),
        ({"mesh": {"X": 8}, "in_shardings": ("X", P())}, "in_shardings: got 'X'; give a PartitionSpec"),
        ({"in_shardings": ({"a": P()}, P())}, "not the arguments' structure"),
        ({"static_argnums": 1}, "static_argnums: no option here; possible: donate_argnums.*functools.partial"),
        ({"donate_argnum": 1}, "donate_argnum: no option here; possible: donate_argnums"),
        ({"out_shardings": "X"}, "out_shardings: got 'X'; give a PartitionSpec"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(kwargs, says):
    with pytest.raises((ScalingError, referee.CannotCompile), match=says):
        compile_(**kwargs)


def test_a_size_that_its_axis_does_not_divide_is_named():
    odd = {"weights": jax.ShapeDtypeStruct((1023, 8), jnp.float32)}
    with pytest.raises(ScalingError, match=r"args\[0\]\['weights'\] of shape \(1023, 8\): dimension 0 .* 4 devices"):
        compile_(matmul, odd, W, in_shardings=(P("X"), P()))


# Compiled here.


@needs_compiler
def test_a_split_matmul_needs_one_all_reduce_beside_eight_cpu_devices():
    mesh = referee.make_mesh(MESH)
    x = jax.device_put(jnp.ones((64, 256), jnp.bfloat16), NamedSharding(mesh, P("X", "Y")))
    w = jax.device_put(jnp.ones((256, 256), jnp.bfloat16), NamedSharding(mesh, P("Y")))
    out = NamedSharding(mesh, P("X"))
    here = jax.jit(matmul, out_shardings=out)
    assert float(here(x, w)[0, 0]) == 256
    there = referee.compile_for_tpu(matmul, x, w, topology="v5e:4x2", out_shardings=P("X"))
    assert not there.recorded and there.n_devices == 8
    (tpu,), (cpu,) = there.collectives, referee.collectives_in(here.lower(x, w).compile(), mesh)
    assert (tpu.op, tpu.axes, tpu.elements, tpu.bytes) == ("all-reduce", ("Y",), 16 * 256, 2 * 16 * 256)
    assert (cpu.op, cpu.axes, cpu.elements) == (tpu.op, tpu.axes, tpu.elements)
    assert there.flops.flops == 2 * 64 * 256 * 256 / 8 == referee.flops_in(here.lower(x, w).compile()).flops
    assert there.memory.arguments_bytes == 2 * (64 * 256 / 8 + 256 * 256 / 2)
    assert there.memory.outputs_bytes == 2 * 64 * 256 / 4
    assert there.hlo.startswith("HloModule") and referee.collectives_in(there, MESH) == list(there.collectives)
    assert float(here(x, w)[0, 0]) == 256


@needs_compiler
def test_shardings_and_shard_map_inside_the_function_find_the_mesh():
    def gathered(y):
        return jax.lax.all_gather(y, "Y", axis=1, tiled=True)

    def inner(x, w):
        y = jax.lax.with_sharding_constraint(x @ w, P("X", "Y"))
        return jax.shard_map(gathered, in_specs=P("X", "Y"), out_specs=P("X"), check_vma=False)(y)

    report_ = compile_(inner, in_shardings=(P("X"), P(None, "Y")))
    assert [(c.op, c.axes, c.elements) for c in report_.collectives] == [("all-gather", ("Y",), 256 * 4096)]


@needs_compiler
def test_trees_of_arguments_and_donation_are_taken():
    def step(weights, x):
        return {k: v + x.sum().astype(v.dtype) for k, v in weights.items()}

    weights = {"a": X, "b": W}
    found = compile_(step, weights, X, in_shardings=(P("X"), P("X")), out_shardings=P("X"), donate_argnums=0)
    assert found.memory.aliased_bytes == 2 * (1024 * 2048 + 2048 * 4096) / 4
    assert found.memory.total_bytes < found.memory.arguments_bytes + found.memory.outputs_bytes


@needs_compiler
@pytest.mark.parametrize("generation", [c for c in hardware.chips() if c.kind == "tpu" and c.name != "tpu-v3"], ids=str)
def test_the_catalogue_counts_devices_as_libtpu_does(generation):
    name = generation.name.removeprefix("tpu-")
    name = f"{name if name[0] == 'v' else 'tpu' + name}:2x2" + ("" if name in ("v5e", "v6e") else "x1")
    try:
        devices = tpu_compiler._topology_devices(parse_topology(name))
    except referee.TopologyError:
        raise
    except Exception as error:
        pytest.skip(f"this libtpu has no {name}: {error}")
    assert len(devices) == 4 * generation.devices_per_chip


@needs_compiler
def test_a_single_chip_can_be_compiled_for():
    found = compile_(topology="v5e:1x1", mesh={"X": 1}, in_shardings=P(), out_shardings=P())
    assert found.collectives == () and found.flops.flops == 2 * 1024 * 2048 * 4096
    assert "collectives  none" in repr(found) and ">none<" in found._repr_html_()


@needs_compiler
def test_two_devices_a_chip_make_a_mesh_on_v4_too():
    found = compile_(topology="v4:2x2x1")
    assert [(c.op, c.axes, c.elements) for c in found.collectives] == [("all-reduce", ("Y",), 256 * 4096)]


@needs_compiler
def test_a_topology_libtpu_refuses_ends_in_words_not_in_a_guess():
    with pytest.raises(referee.CannotCompile, match=r"does not compile for v5e:3x3.*No report of exactly this program"):
        compile_(topology="v5e:3x3", mesh={"X": 3, "Y": 3}, in_shardings=P(), out_shardings=P())


# Where it cannot run.


@pytest.mark.parametrize(
    ("libtpu", "jax_", "asks", "says"),
    [
        ("absent", "0.10.2", ["libtpu==0.0.42.*; extra == 'tpu'"], "not installed"),
        ("0.0.21.1", "0.7.2", ["numpy>=2", 'libtpu==0.0.23; extra == "tpu"'], "0.0.21.1 is .*jax 0.7.2 .*0.0.23"),
        ("0.0.23.1", "0.7.2", ['libtpu==0.0.23; extra == "tpu"'], ""),
        ("0.0.42.1", "0.10.2", ['libtpu==0.0.42.*; extra == "tpu"'], ""),
        ("0.0.4", "0.10.2", ['libtpu==0.0.42.*; extra == "tpu"'], "released with 0.0.42"),
        ("0.0.420", "0.10.2", ['libtpu==0.0.42.*; extra == "tpu"'], "released with 0.0.42"),
        ("0.0.42", "0.99", [], "does not say which libtpu"),
    ],
)  # fmt: skip
def test_libtpu_is_compared_before_it_is_loaded(monkeypatch, libtpu, jax_, asks, says):
    monkeypatch.setattr(tpu_compiler, "_version", {"libtpu": libtpu, "jax": jax_}.get)
    monkeypatch.setattr(tpu_compiler.importlib.metadata, "requires", lambda name: asks)
    why = why_no_compiler()
    assert re.search(says, why) and bool(says) == bool(why)


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setattr(tpu_compiler, "why_no_compiler", lambda: "libtpu is not installed")
    monkeypatch.setattr(tpu_compiler, "_compile", lambda *a: pytest.fail("the compiler was started"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_of_the_book_has_its_recorded_report(no_compiler, name):
    found = PROGRAMS[name].compile()
    assert found.recorded and found.versions["libtpu"] != "absent"
    for shown in (repr(found), found._repr_html_()):
        assert "RECORDED with python" in shown and "libtpu is not installed" in shown
    with pytest.raises(ScalingError, match="keeps figures only"):
        found.hlo  # noqa: B018
    with pytest.raises(ScalingError, match="keeps figures only"):
        referee.collectives_in(found)


def test_rows_that_are_alike_are_shown_as_one_that_runs_as_often(no_compiler):
    permute = {"op": "collective-permute", "elements": 8, "bytes": 16, "axes": ("X",), "dtype": "bf16"}
    runs = [referee.Collective(**permute, times=n) for n in (2, 2, 1)]
    other = [referee.Collective(**permute | {"axes": ("Y",)}, times=n) for n in (1, None)]
    found = dataclasses.replace(PROGRAMS["ch01_split_matmul"].compile(), collectives=(*runs, *other))
    shown = repr(found)
    assert shown.count("over X: bf16, 8 elements, 16 bytes × 5\n") == shown.count("collective-permute over X") == 1
    assert shown.count("over Y: bf16, 8 elements, 16 bytes × ?\n") == shown.count("collective-permute over Y") == 1
    assert found._repr_html_().count(">collective-permute<") == 2 and len(found.collectives) == 5


@needs_compiler
def test_a_recorded_report_says_what_the_compiler_says():
    for name in ("ch01_split_matmul", "ch03_case3_scatter_rows_v5e", "ch03_permute_tpu7x"):
        fresh, kept = PROGRAMS[name].compile(), report.from_json((report.RECORDED / f"{name}.json").read_text(), "test")
        assert (fresh.collectives, fresh.flops, fresh.mesh) == (kept.collectives, kept.flops, kept.mesh)
        assert fresh.memory.arguments_bytes == kept.memory.arguments_bytes
        assert fresh.program_hash == kept.program_hash


def test_a_changed_program_gets_no_recorded_report(no_compiler):
    with pytest.raises(
        referee.CannotCompile, match=r"matmul for v5e:4x2: libtpu is not installed.*recorded: ch01_split"
    ):
        compile_()


def test_a_report_survives_its_file():
    found = PROGRAMS["ch01_split_matmul"]
    text = (report.RECORDED / "ch01_split_matmul.json").read_text()
    kept = report.from_json(text, "test")
    assert report.to_json(kept) == text and kept.mesh == found.mesh
    assert kept.collectives[0].axes == ("Y",)


# The hash.


SPECS, OUT = (P("X", "Y"), P("Y")), P("X")


def digest(fn=matmul, args=(X, W), specs=SPECS, out=OUT, mesh=None, topology="v5e:4x2", **options):
    return program_hash(fn, args, specs, out, mesh or MESH, topology, options)


def test_the_hash_changes_with_everything_that_the_program_is():
    scale = 2.0

    def scaled(x, w):
        return scale * x @ w

    first = digest(scaled)
    scale = 3.0
    changed = {
        digest(), first, digest(scaled), digest(args=(X, X)), digest(specs=(P("X"), P("Y"))), digest(out=None),
        digest(mesh={"Y": 2, "X": 4}), digest(topology="v6e:4x2"), digest(donate_argnums=0),
        digest(functools.partial(matmul, w=W)), digest(functools.partial(matmul, w=1)),
        digest(args=(X, jax.ShapeDtypeStruct(W.shape, jnp.float32))),
    }  # fmt: skip
    assert len(changed) == 12


def test_the_hash_does_not_change_with_how_a_sharding_is_written():
    same = {digest(), digest(specs=(P(("X",), "Y"), P("Y", None))), digest(jax.jit(matmul)), digest(out=P("X", None))}
    assert len(same) == 1


@needs_compiler
def test_a_named_sharding_stands_for_its_spec():
    mesh, plain = referee.make_mesh(MESH), compile_()
    named = tuple(NamedSharding(mesh, spec) for spec in SPECS)
    found = compile_(in_shardings=named, out_shardings=NamedSharding(mesh, OUT))
    assert (found.program_hash, found.collectives) == (plain.program_hash, plain.collectives)


def _helper(x):
    return x + 1


def _uses_helper(x, w):
    return _helper(x) @ w


def test_the_hash_changes_with_the_functions_it_uses(monkeypatch):
    before = digest(_uses_helper)

    def _helper(x):
        return x + 2

    monkeypatch.setitem(globals(), "_helper", _helper)
    assert digest(_uses_helper) != before


# Whole processes.

COMPILE = """
from scaling_lib import referee
import jax
report = referee.programs.PROGRAMS["ch01_split_matmul"].compile()
print(report.program_hash, len(jax.devices()), report.collectives[0].elements)
"""


def test_two_processes_compile_at_once_and_agree():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "TPU_", "ALLOW_"))}
    both = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", COMPILE], env={**env, "PYTHONHASHSEED": seed},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in "12"
    ]  # fmt: skip
    done = [(*p.communicate(timeout=300), p.returncode) for p in both]
    assert [code for *_, code in done] == [0, 0], done
    kept = json.loads((report.RECORDED / "ch01_split_matmul.json").read_text())
    assert [out.split() for out, *_ in done] == [[kept["program_hash"], "8", "1048576"]] * 2


@needs_compiler
def test_the_recorder_checks_and_writes(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cli, "RECORDED", tmp_path)
    assert cli.main(["--check", "ch01_split_matmul"]) == 1 and "differs" in capsys.readouterr().out
    assert cli.main(["ch01_split_matmul"]) == 0 and "recorded" in capsys.readouterr().out
    assert cli.main(["--check", "ch01_split_matmul"]) == 0 and "unchanged" in capsys.readouterr().out


def test_the_recorder_refuses_unknown_programs_and_a_missing_compiler(no_compiler, capsys):
    with pytest.raises(SystemExit):
        cli.main(["ch99"])
    assert "unknown program 'ch99'; known: ch01_split_matmul" in capsys.readouterr().err
    assert cli.main([]) == 2 and "cannot be compiled here" in capsys.readouterr().err
