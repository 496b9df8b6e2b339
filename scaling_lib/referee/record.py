"""The record of random products: whether every plan does what it says, and what `jit` chooses by itself."""

import collections
import json
import math

from scaling_lib.hardware import TpuSlice
from scaling_lib.referee.choice import partitioner_choice
from scaling_lib.referee.random_products import N_PLAIN, N_PRODUCTS, RECORD, planned
from scaling_lib.referee.rewrites import on_tpu, wanted
from scaling_lib.referee.tpu_compiler import versions, why_no_compiler
from scaling_lib.referee.verification import verify
from scaling_lib.units import ScalingError

TOPOLOGY, SLICE = "v5e:4x2", TpuSlice("tpu-v5e", (2, 4))
N_TPU = {0: 100, N_PLAIN: 20}  # {first seed: how many of the products from there that fill eight chips}


def row(seed):
    """What is found out about one product on CPU devices."""
    plan, small = planned(seed)
    choice = partitioner_choice(plan)
    return {
        "seed": seed,
        "product": str(plan.product),
        "sizes": plan.sizes,
        "mesh": plan.mesh.sizes,
        "machine": repr(plan.mesh.hardware),
        "ok": verify(small, choice=False).ok,
        "kind": choice.kind,
        "plan": [str(w) for w in wanted(plan)],
        "jit": list(choice.steps),
        "ratio": _ratio(choice),
    }


def tpu_row(seed):
    """The same of the TPU compiler: what it makes of the plan, and of the product alone."""
    plan, _ = planned(seed)
    found, choice = on_tpu(plan, TOPOLOGY), partitioner_choice(plan, TOPOLOGY)
    how = "not as predicted" if not found.ok else "; ".join(found.rewrites) or "as predicted"
    return {"tpu": how, "tpu_kind": choice.kind, "tpu_jit": list(choice.steps), "tpu_ratio": _ratio(choice)}


def _ratio(choice):
    return None if math.isnan(choice.seconds) else round(choice.seconds / choice.ours_s, 3)


def for_tpu():
    """Seeds of the products that are compiled for a TPU slice too.

    >>> len(for_tpu())
    120
    """
    found = []
    for first, n in N_TPU.items():
        eight = (seed for seed in range(first, N_PRODUCTS) if planned(seed)[0].mesh.n_chips == 8)
        found += [seed for seed, _ in zip(eight, range(n), strict=False)]
    return found


def made(tpu=True):
    """The whole record, some minutes of compiling: {"versions", "products"}."""
    rows = [row(seed) for seed in range(N_PRODUCTS)]
    for seed in for_tpu() if tpu else ():
        rows[seed] |= tpu_row(seed)
    return {"versions": versions(), "products": rows}


def text_of(record):
    """A record as the text of its file."""
    return json.dumps(record, indent=0) + "\n"


def why_not_made():
    """Why the record cannot be made here as it is: another jaxlib or libtpu than recorded; empty if it can."""
    recorded, here = json.loads(RECORD.read_text("utf-8"))["versions"], versions()
    other = [
        f"{name} {recorded[name]}, here {here[name]}" for name in ("jaxlib", "libtpu") if recorded[name] != here[name]
    ]
    return f"recorded with {'; '.join(other)}" if other else why_no_compiler()


def tally(rows, on="cpu"):
    """How many products `jit` was asked for, and how its choice compares: {"asked", "alike", "same", ...}.

    Args:
      rows: of the record.
      on: "cpu": what XLA compiles for CPU devices; "tpu": for eight TPU v5e, of products `on_this_tpu` alone.

    Returns:
      {"asked": n, "alike": same or equal, and one entry for each verdict}.

    Raises:
      ScalingError: `on` is neither.

    >>> tally([{"kind": "same"}, {"kind": "dearer: gathers"}, {"kind": "not asked"}])["asked"]
    2
    """
    if on not in ("cpu", "tpu"):
        raise ScalingError(f"on: got {on!r}; possible: cpu, tpu")
    key = "kind" if on == "cpu" else "tpu_kind"
    rows = rows if on == "cpu" else on_this_tpu(rows)
    verdicts = collections.Counter(r[key].split(":")[0] for r in rows if r.get(key, "not asked") != "not asked")
    each = {verdict: verdicts[verdict] for verdict in ("same", "equal", "cheaper", "dearer", "unpriced")}
    return {"asked": sum(each.values()), "alike": each["same"] + each["equal"], **each}


def on_this_tpu(rows):
    """Rows of the record that are compiled for the TPU slice they are planned and priced for.

    The compiler does not know the machine of the others: its choice may be dear there and yet right for its own.

    >>> v5e = {"machine": repr(SLICE), "tpu_kind": "same"}
    >>> on_this_tpu([v5e, {"machine": "H100", "tpu_kind": "same"}, {"machine": repr(SLICE)}]) == [v5e]
    True
    """
    return [r for r in rows if "tpu_kind" in r and r["machine"] == repr(SLICE)]


def scatters_on_tpu(rows):
    """(reduce-scatters that plans name and the TPU compiler was given, those it made an all-reduce and a slice of).

    >>> scatters_on_tpu([{"plan": ["reduce-scatter over X: 8 elements"], "tpu": "as predicted"}])
    (1, 0)
    """
    given = [r for r in rows if "tpu" in r]
    named = sum(step.startswith("reduce-scatter") for r in given for step in r["plan"])
    return named, sum(r["tpu"].count("keeps its part") for r in given)
