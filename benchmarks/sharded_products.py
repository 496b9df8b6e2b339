"""Random sharded products: does every plan do what it says, and what does jit choose by itself?

Prints what it finds (``python -m scaling_lib.referee products`` records it). Goals: at least 300 products, at most 2 %
exceptions. With --tpu also the TPU compiler, for 120 products that fill eight chips (some minutes).
"""

import collections
import sys

from scaling_lib import referee
from scaling_lib.referee import record

GOAL = 0.02


def main(argv=None):
    """Prints the shares; 1 if too many products are exceptions."""
    tpu = "--tpu" in (sys.argv[1:] if argv is None else argv)
    rows = record.made(tpu)["products"]
    bad = [row for row in rows if not row["ok"]]
    for row in bad:
        print("exception:", row)
    for on in ("cpu", "tpu") if tpu else ("cpu",):
        print(f"jit on {on}:", referee.tally(rows, on))
    kinds = collections.Counter(row["kind"] for row in rows)
    for kind, n in kinds.most_common():
        print(f"{n:4} {kind}: {referee.CLASSES[kind]}")
    by_axes = {}
    for row in rows:
        by_axes.setdefault(len(row["mesh"]), collections.Counter())[row["kind"].split(":")[0]] += 1
    for n_axes, verdicts in sorted(by_axes.items()):
        print(f"{n_axes} mesh axes: {dict(verdicts)}")
    print(f"{len(rows)} products, {len(bad)} exceptions, goal at most {GOAL:.0%}")
    return int(len(bad) > GOAL * len(rows))


if __name__ == "__main__":
    sys.exit(main())
