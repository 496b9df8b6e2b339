"""Four hundred random products: every plan gives the right numbers by exactly the collectives it predicts."""

import collections
import random

import pytest

from scaling_lib import referee
from scaling_lib.referee import __main__ as cli
from scaling_lib.referee import record
from scaling_lib.referee.random_products import N_PLAIN, N_PRODUCTS, planned, random_product, recorded_products

CHUNK = 20
SAMPLE = random.Random(3).sample(range(N_PRODUCTS), 60)
TPU_SAMPLE = random.Random(3).sample(record.for_tpu(), 6)


@pytest.mark.parametrize("start", range(0, N_PRODUCTS, CHUNK))
def test_plans_of_random_products_do_what_they_say(start):
    for seed in range(start, start + CHUNK):
        plan, small = planned(seed)
        found = referee.verify(small, choice=False)
        assert found.ok, f"{seed}: {found}\n{plan.explain()}"


def test_the_products_are_of_every_kind():
    made = [random_product(seed) for seed in range(N_PRODUCTS)]
    assert {len(mesh.names) for *_, mesh, _ in made} == {1, 2, 3}
    assert {mesh.n_chips for *_, mesh, _ in made} == {3, 4, 6, 8}
    assert any(n % 2 for _, small, *_ in made for n in small.values()) and any(pad for *_, pad in made)
    assert sum("{U" in text for text, *_ in made) > 50
    plans = [planned(seed)[0] for seed in range(0, N_PRODUCTS, 3)]
    assert {step.op for plan in plans for step in plan.steps} == {
        "multiply", "sum", "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute", "slice", "place",
    }  # fmt: skip
    assert all(any(planned(seed)[0].product.alone) == (seed >= N_PLAIN) for seed in range(N_PLAIN - 30, N_PRODUCTS, 5))


def test_the_record_is_of_these_products():
    rows = recorded_products()["products"]
    assert [row["seed"] for row in rows] == list(range(N_PRODUCTS)) and all(row["ok"] for row in rows)
    assert [row["seed"] for row in rows if "tpu" in row] == record.for_tpu()
    for row in rows:
        plan, _ = planned(row["seed"])
        assert (row["product"], row["sizes"]) == (str(plan.product), plan.sizes)
        assert row["plan"] == [str(w) for w in referee.wanted(plan)]
        assert row["kind"] in referee.CLASSES and row.get("tpu_kind", "same") in referee.CLASSES


def is_as_recorded(made, row):
    assert {key: row[key] for key in made} == made, row["seed"]


@pytest.mark.parametrize("start", range(0, len(SAMPLE), 10))
def test_jit_still_chooses_what_is_recorded(start):
    kept = recorded_products()
    if kept["versions"]["jaxlib"] != referee.versions()["jaxlib"]:
        pytest.skip(f"recorded with jaxlib {kept['versions']['jaxlib']}")
    for seed in SAMPLE[start : start + 10]:
        is_as_recorded(record.row(seed), kept["products"][seed])


@pytest.mark.skipif(bool(record.why_not_made()), reason=record.why_not_made() or "-")
@pytest.mark.parametrize("seed", TPU_SAMPLE)
def test_the_tpu_compiler_still_makes_what_is_recorded(seed):
    is_as_recorded(record.tpu_row(seed), recorded_products()["products"][seed])


def test_a_tally_counts_verdicts_and_who_was_asked():
    rows = [{"kind": k} for k in ("same", "same: all-reduce, then a slice", "equal", "dearer: gathers", "not asked")]
    here = "TPU v5e 2x4: 8 chips, 1 host, no wraparound"
    rows[0] |= {"machine": here, "tpu_kind": "cheaper: other"}
    rows[1] |= {"machine": "H100 SXM: 8 on NVLink", "tpu_kind": "same"}
    assert referee.tally(rows) == {
        "asked": 4, "alike": 3, "same": 2, "equal": 1, "cheaper": 0, "dearer": 1, "unpriced": 0,
    }  # fmt: skip
    assert referee.tally(rows, "tpu")["asked"] == referee.tally(rows, "tpu")["cheaper"] == 1


def test_the_tpu_compiler_is_judged_on_the_machine_it_compiled_for():
    kept = recorded_products()["products"]
    here = [row for row in kept if "tpu_kind" in row and row["machine"].startswith("TPU v5e 2x4:")]
    assert referee.on_this_tpu(kept) == here
    cpu, tpu, cpu_here = referee.tally(kept), referee.tally(kept, "tpu"), referee.tally(here)
    for found, rows, key in ((cpu, kept, "kind"), (tpu, here, "tpu_kind"), (cpu_here, here, "kind")):
        kinds = collections.Counter(row[key].split(":")[0] for row in rows)
        assert found["asked"] == kinds.total() - kinds["not asked"]
    assert tpu["asked"] == cpu_here["asked"]


def test_reduce_scatters_that_became_an_all_reduce_are_counted():
    named, kept = referee.scatters_on_tpu(recorded_products()["products"])
    assert 0 < kept < named


def test_the_record_can_be_checked_and_says_why_not(monkeypatch, tmp_path, capsys):
    file = tmp_path / "products.json"
    file.write_text("{}", "utf-8")
    monkeypatch.setattr(cli, "RECORD", file)
    monkeypatch.setattr(record, "made", lambda: {"versions": {}, "products": []})
    monkeypatch.setattr(record, "why_not_made", lambda: "")
    monkeypatch.setattr(record, "why_no_compiler", lambda: "")
    assert cli.main(["--check", "products"]) == 1 and "products: differs" in capsys.readouterr().out
    assert cli.main(["products"]) == 0 and cli.main(["--check", "products"]) == 0
    monkeypatch.setattr(record, "why_not_made", lambda: "recorded with jaxlib 0.1, here 0.2")
    assert cli.main(["--check", "products"]) == 2 and "recorded with jaxlib 0.1" in capsys.readouterr().err


def test_another_compiler_is_named(monkeypatch):
    there = recorded_products()["versions"]
    monkeypatch.setattr(record, "versions", lambda: {**there, "jaxlib": "9.9"})
    assert record.why_not_made() == f"recorded with jaxlib {there['jaxlib']}, here 9.9"
