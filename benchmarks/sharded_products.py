"""Random sharded products: does every plan do what it says, and what does jit choose by itself?

Writes scaling_lib/referee/products.json, which chapter 3 reads. Goals: at least 300 products, at most 2 % exceptions.
"""

import collections
import json
import sys

from scaling_lib import referee
from scaling_lib.referee.random_products import N_PRODUCTS, RECORD, planned

GOAL = 0.02


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


def main():
    """Prints the shares; 1 if too many products are exceptions."""
    rows = [one(seed) for seed in range(N_PRODUCTS)]
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
