"""The referee of plans: it believes nothing, names what differs, and knows XLA's rewrites."""

import collections
import dataclasses
import math
import random

import pytest

import scaling_lib as sl
from scaling_lib import referee
from scaling_lib.referee import hlo, report, rewrites, sharded, verification
from scaling_lib.referee.cases import CASES, TOPOLOGIES, case_plan
from scaling_lib.referee.programs import PROGRAMS
from scaling_lib.referee.tpu_compiler import why_no_compiler

needs_compiler = pytest.mark.skipif(bool(why_no_compiler()), reason=why_no_compiler() or "-")
LINE = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
FLAT = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
SIZES = {"I": 64, "J": 128, "K": 32}


def plan(text="A[I, J_X] * B[J_X, K] -> C[I, K]", mesh=LINE, sizes=None, **options):
    return sl.plan_matmul(text, sizes or SIZES, mesh, **options)


@pytest.mark.parametrize("name", CASES)
def test_the_cases_of_the_chapter_are_verified_on_eight_devices(name):
    found = referee.verify(case_plan(name))
    assert found.ok and found.report.startswith("verified: ")
    assert [str(w) for w in found.predicted] == [str(w) for w in rewrites.seen(found.compiled)]


def test_a_large_product_is_run_small_and_compiled_as_it_is():
    found = referee.verify(plan(sizes={"I": 8192, "J": 8192, "K": 8192}), choice=False)
    assert found.ok and max(found.ran.values()) < 100 and found.predicted[0].elements == 8192 * 8192
    assert "numbers: equal to the dense product (tried small, at I=" in found.report
    assert "numbers: equal to the dense product at I=64, J=128, K=32" in referee.verify(plan(), choice=False).report


def test_a_padded_product_is_verified_at_its_padded_sizes():
    found = referee.verify(plan("A[I_X, J] * B[J, K] -> C[I, K]", sizes={"I": 9, "J": 7, "K": 5}, pad=True))
    assert found.ok and found.ran["I"] == 16


def test_partial_sums_go_in_and_come_out():
    for text in ("A[I, J]{U_X} * B[J, K] -> C[I, K]", "A[I_X, J] * B[J, K]{U_Y} -> C[I, K]{U_XY}"):
        found = referee.verify(plan(text, FLAT))
        assert found.ok and found.choice.kind == "not asked"
        assert "jit by itself: not asked" in found.report


# It catches what is wrong.


def tampered(p, **changes):
    """A plan one step of which is something else."""
    steps = [dataclasses.replace(step, **changes.get(step.op, {})) for step in p.steps if changes.get(step.op, 1)]
    return dataclasses.replace(p, steps=tuple(steps))


def test_a_plan_that_forgets_to_add_is_caught():
    found = referee.verify(tampered(plan(), all_reduce=None), choice=False)
    assert not found.ok and not found.right and "NOT verified" in found.report and "WRONG" in found.report


def test_a_plan_that_adds_over_the_wrong_axis_is_caught():
    p = plan("A[I, J_X] * B[J_X, K] -> C[I, K]", FLAT, use_idle=False)
    assert not referee.verify(tampered(p, all_reduce={"axes": ("Y",)}), choice=False).right


@pytest.mark.parametrize("change", [{"elements": 7}, {"elements": 0}])
def test_a_plan_that_counts_wrong_is_caught(change):
    found = referee.verify(tampered(plan(), all_reduce=change), choice=False)
    assert found.right and not found.ok
    assert "predicted, not compiled: all-reduce over X" in found.report
    assert "compiled, not predicted: all-reduce over X: 2,048 elements" in found.report


def test_a_plan_that_does_more_than_it_says_is_caught():
    p = plan("A[I_X, J] * B[J, K] -> C[I_X, K]", use_idle=False)
    gather = plan("A[I_X, J] * B[J, K] -> C[I, K]", use_idle=False, via="A[I_X, J] * B[J, K]").steps[-1]
    back = sl.Step("slice", (gather.output,), gather.inputs[0], ("X",))
    longer = dataclasses.replace(p, steps=(*p.steps, dataclasses.replace(gather, elements=1), back))
    found = referee.verify(longer, choice=False)
    assert found.right and [w.op for w in found.surplus] == ["all-gather"]


@pytest.mark.parametrize("wrong", [None, "A[I] * B[I] -> C[]", 3])
def test_what_is_no_plan_is_refused(wrong):
    for asked in (referee.verify, referee.wanted, referee.partitioner_choice, lambda p: referee.on_tpu(p, "v5e:4x2")):
        with pytest.raises(sl.ScalingError, match=f"plan: got {type(wrong).__name__}; give what plan_matmul returns"):
            asked(wrong)


@pytest.mark.parametrize("times", [None, 0, 2])
def test_a_collective_that_runs_another_number_of_times_is_caught(monkeypatch, times):
    def counted(compiled, mesh):
        return [dataclasses.replace(c, times=times) for c in hlo.collectives_in(compiled, mesh)]

    monkeypatch.setattr(verification, "collectives_in", counted)
    found = referee.verify(plan(), choice=False)
    assert not found.ok and len(found.missing) == (times != 2) and len(found.surplus) == (times != 0)
    assert ("compiled, not predicted: all-reduce (× ?) over X" in found.report) == (times is None)


def test_a_mesh_of_more_chips_than_devices_is_refused():
    mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (4, 4)), X=4, Y=4)
    with pytest.raises(sl.ScalingError, match="its mesh has 16 chips, and 8 devices stand in"):
        referee.verify(plan(mesh=mesh))


# The TPU compiler.


def case_from_record(name, topology):
    """(predicted, what the recorded report has), read as `on_tpu` does where the compiler is absent."""
    path = report.RECORDED / f"ch03_{name}_{topology.split(':')[0]}.json"
    return rewrites.wanted(case_plan(name)), report.from_json(path.read_text("utf-8"), "test")


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("name", CASES)
def test_the_cases_on_four_tpus_match_or_are_explained(name, topology):
    predicted, kept = case_from_record(name, topology)
    missing, surplus = rewrites.difference(predicted, rewrites.seen(kept.collectives))
    missing, surplus, says = rewrites.explained(list(missing), list(surplus), kept.collectives, kept.mesh)
    assert not missing and not surplus, (missing, surplus)
    assert all(c.bytes == 2 * c.elements and c.dtype == "bf16" for c in kept.collectives)
    assert bool(says) == (name == "case3_scatter_rows" and topology[:3] in ("v5e", "v5p"))
    assert kept.program_hash and PROGRAMS[f"ch03_{name}_{topology.split(':')[0]}"].topology == topology


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("name", CASES)
def test_what_is_recorded_of_a_case_is_its_work_and_its_arrays(name, topology):
    p, (_, kept) = case_plan(name), case_from_record(name, topology)
    (product,) = [step for step in p.steps if step.op == "multiply"]
    dims = {
        dim: n
        for array in product.inputs
        for dim, n in zip(array.dims, array.local_shape(p.sizes, p.mesh), strict=True)
    }
    assert kept.flops.flops == 2 * math.prod(dims.values())
    held = [array.local_bytes(p.sizes, p.mesh) for array in p.product.arrays]
    assert (kept.memory.arguments_bytes, kept.memory.outputs_bytes) == (held[0] + held[1], held[2])


@needs_compiler
@pytest.mark.parametrize("name", random.Random(5).sample(sorted(PROGRAMS), 4))
def test_a_recorded_report_is_what_the_compiler_makes_now(name):
    made = PROGRAMS[name].compile()
    kept = report.from_json((report.RECORDED / f"{name}.json").read_text("utf-8"), "")
    if made.versions != kept.versions:
        pytest.skip(f"recorded with {kept.versions}")
    assert report.to_json(made) == report.to_json(kept)


@needs_compiler
@pytest.mark.parametrize(
    ("name", "topology"), [("case2_gather", "v5e:4x2"), ("case3_scatter_rows", "v5e:4x2"), ("both_axes", "v5p:2x2x2")]
)
def test_a_plan_is_compared_with_what_the_tpu_compiler_makes_now(name, topology):
    found = referee.verify(case_plan(name), choice=False, topology=topology)
    assert found.ok and found.tpu.ok and not found.tpu.report.recorded
    assert f"on {topology}: as predicted" in found.report
    assert ("padding to whole tiles" in found.report) == (name == "case3_scatter_rows")
    assert rewrites.seen(found.tpu.report.collectives) == rewrites.seen(case_from_record(name, topology)[1].collectives)


def test_without_the_compiler_the_recorded_report_is_compared(monkeypatch):
    monkeypatch.setattr(referee.tpu_compiler, "why_no_compiler", lambda: "libtpu is not installed")
    found = referee.verify(case_plan("both_axes"), choice=False, topology="v6e:2x4")
    assert found.ok and "on v6e:2x4, recorded: as predicted" in found.report
    with pytest.raises(referee.CannotCompile, match=r"and \d+ more"):
        referee.verify(plan(mesh=FLAT), choice=False, topology="v6e:2x4")


def test_a_recipe_is_plain_data():
    recipes = [sharded.recipe(case_plan(name)) for name in CASES]
    assert all(eval(repr(r)) == r for r in recipes)
    ops = collections.Counter(op for r in recipes for op, *_ in r)
    assert {"multiply", "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute", "slice"} <= set(ops)
