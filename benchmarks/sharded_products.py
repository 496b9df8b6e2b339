"""Random sharded products: does every plan do what it says, and what does jit choose by itself?

Writes scaling_lib/referee/products.json, which chapter 3 reads. Goals: at least 300 products, at most 2 % exceptions.
With --tpu also the TPU compiler, for the first hundred products that fill eight chips (some minutes).
"""

import collections
import json
import math
import sys

from scaling_lib import referee
from scaling_lib.referee.random_products import N_PRODUCTS, RECORD, planned

GOAL = 0.02
N_TPU, TOPOLOGY = 100, "v5e:4x2"


def one(seed):
    """What is found out about one product."""
    plan, small = planned(seed)
    found = referee.verify(small, choice=False)
    choice = referee.partitioner_choice(plan)
    return {
        "seed": seed,
        "product": str(plan.product),
        "sizes": plan.sizes,
        "mesh": plan.mesh.sizes,
        "machine": repr(plan.mesh.hardware),
        "ok": found.ok,
        "kind": choice.kind,
        "plan": [str(w) for w in referee.wanted(plan)],
        "jit": [f"{c.op} over {', '.join(c.axes or '?')}: {c.elements:,} elements" for c in choice.collectives],
        "ratio": round(choice.seconds / choice.ours_s, 3) if choice.seconds == choice.seconds else None,
    }


def on_tpu(seed):
    """The same of the TPU compiler."""
    plan, _ = planned(seed)
    found = referee.on_tpu(plan, TOPOLOGY)
    how = "not as predicted" if not found.ok else "; ".join(found.rewrites) or "as predicted"
    return {"tpu": how, "tpu_kind": referee.partitioner_choice(plan, TOPOLOGY).kind}


def show_tpu(rows):
    """Prints what the TPU compiler made of plans and products."""
    found = [row for row in rows if "tpu" in row]
    plans = collections.Counter(row["tpu"] if "as predicted" in row["tpu"] else "rewritten" for row in found)
    kinds = collections.Counter(row["tpu_kind"] for row in found)
    print(f"{len(found)} products on {TOPOLOGY}: plans {dict(plans)}; jit {dict(kinds)}")


def main(argv=None):
    """Prints the shares; 1 if too many products are exceptions."""
    rows = [one(seed) for seed in range(N_PRODUCTS)]
    if "--tpu" in (sys.argv[1:] if argv is None else argv):
        for row in [row for row in rows if math.prod(row["mesh"].values()) == 8][:N_TPU]:
            row |= on_tpu(row["seed"])
        show_tpu(rows)
    bad = [row for row in rows if not row["ok"]]
    for row in bad:
        print("exception:", row)
    kinds = collections.Counter(row["kind"] for row in rows)
    asked = len(rows) - kinds.pop("not asked")
    print(f"{len(rows)} products, jit asked for {asked}:")
    for kind, n in kinds.most_common():
        print(f"{n:4} {n / asked:6.1%} {kind}: {referee.CLASSES[kind]}")
    by_axes = {}
    for row in rows:
        by_axes.setdefault(len(row["mesh"]), collections.Counter())[row["kind"].split(":")[0]] += 1
    for n_axes, verdicts in sorted(by_axes.items()):
        print(f"{n_axes} mesh axes: {dict(verdicts)}")
    RECORD.write_text(json.dumps({"versions": referee.versions(), "products": rows}, indent=0) + "\n", "utf-8")
    print(f"{len(rows)} products, {len(bad)} exceptions, goal at most {GOAL:.0%}")
    return int(len(bad) > GOAL * len(rows))


if __name__ == "__main__":
    sys.exit(main())
