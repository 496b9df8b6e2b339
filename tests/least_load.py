"""The least that any all-gather puts on its busiest link, by linear programming: no schedule, no formula."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix


def least_gather(box, rates=None):
    """Seconds on the busiest link of the best all-gather there can be, by linear programming.

    Args:
      box: chips and links.
      rates: bytes a second of a link of each axis; 1 unless given.

    Each block spreads over what it buys of every link; it can reach a chip in full only if a flow of 1 from its
    source to that chip fits into what it bought (and then trees that do so exist: Edmonds 1973).
    """
    links, chips = box.links(), box.chips
    pairs = [(s, t) for s in chips for t in chips if s != t]
    e, n = len(links), len(chips)
    flows, bought = len(pairs) * e, n * e
    size = flows + bought + 1
    equal, right = [], []
    for p, (source, target) in enumerate(pairs):
        for chip in chips:
            if chip == target:
                continue
            row = {}
            for i, (a, b) in enumerate(links):
                row[p * e + i] = row.get(p * e + i, 0) + (a == chip) - (b == chip)
            equal.append(row)
            right.append(1.0 if chip == source else 0.0)
    under = []
    for p, (source, _) in enumerate(pairs):
        for i in range(e):
            under.append({p * e + i: 1.0, flows + chips.index(source) * e + i: -1.0})
    for i in range(e):
        axis = next(k for k in range(len(box.axes)) if links[i][0][k] != links[i][1][k])
        under.append({flows + s * e + i: 1.0 for s in range(n)} | {size - 1: -(rates[axis] if rates else 1.0)})
    cost = np.zeros(size)
    cost[-1] = 1.0
    found = linprog(cost, A_ub=_sparse(under, size), b_ub=np.zeros(len(under)), A_eq=_sparse(equal, size), b_eq=right)
    assert found.success, found.message
    return found.fun


def _sparse(rows, size):
    at = [(r, c, v) for r, row in enumerate(rows) for c, v in row.items() if v]
    r, c, v = zip(*at, strict=True)
    return csr_matrix((v, (r, c)), shape=(len(rows), size))
