"""Switches, and nodes of GPUs on a network, simulated step by step. Nothing here knows a formula.

Through a switch every chip has one link in and one out; a network card likewise. Blocks are 1 byte.
"""

import collections
import itertools


def play_ring_gather(n, hop_s=0.0):
    """All-gather through a switch: in each of n - 1 steps every chip passes on the block it got last."""
    holds = {chip: [chip] for chip in range(n)}
    out, into, seconds = collections.Counter(), collections.Counter(), 0.0
    for _ in range(n - 1):
        sends = [(chip, (chip + 1) % n, holds[chip][-1]) for chip in range(n)]
        for sender, receiver, block in sends:
            out[sender] += 1
            into[receiver] += 1
            holds[receiver].append(block)
        seconds += hop_s + 1
    assert all(sorted(blocks) == list(range(n)) for blocks in holds.values())
    return seconds, max([*out.values(), *into.values()], default=0)


def in_order_tree(chips):
    """{chip: (parent, depth)} of a balanced search tree over chips 1.. with the first chip above it.

    Chips at even places are inside, those at odd places leaves, so that a second tree shifted by one place, or
    turned round, has the first one's inside chips at its leaves.
    """
    found = {}

    def build(places, parent, depth):
        if not places:
            return
        top = max(places, key=lambda p: (p & -p, -p))  # the place with most trailing zeros
        found[chips[top]] = parent, depth
        build([p for p in places if p < top], chips[top], depth + 1)
        build([p for p in places if p > top], chips[top], depth + 1)

    found[chips[0]] = None, 0
    build(list(range(1, len(chips))), chips[0], 1)
    return found


def play_double_tree(n):
    """(bytes the busiest chip sends, steps) of an all-reduce of n bytes over two trees, half of the array on each."""
    trees = [in_order_tree(list(range(n)))]
    second = list(range(n))[::-1] if n % 2 == 0 else [(i + 1) % n for i in range(n)]
    trees.append(in_order_tree(second))
    sent = collections.Counter()
    for tree in trees:
        for chip, (parent, _) in tree.items():
            if parent is not None:
                sent[chip] += n / 2  # the partial sum, up
                sent[parent] += n / 2  # the result, down
    depth = max(depth for tree in trees for _, depth in tree.values())
    return max(sent.values(), default=0), 2 * depth


def play_nvls(n):
    """Bytes on the busiest link of an all-reduce of n blocks: each chip reads one sum through the switch and stores it.

    The switch loads the owner's block from every chip, the owner's too, and copies what it stores to every chip.
    """
    out, into, result = collections.Counter(), collections.Counter(), {}
    for owner in range(n):
        total = 0
        for chip in range(n):
            out[chip] += 1
            total += _value(chip, owner)
        into[owner] += 1  # the sum
        out[owner] += 1  # stored to all, once
        for chip in range(n):
            into[chip] += 1
            result[chip, owner] = total
    return _checked_sums(n, result, out, into)


def play_sharp(n):
    """Bytes on the busiest link of an all-reduce of n blocks that the switch adds as they stream through it."""
    out, into, result = collections.Counter(), collections.Counter(), {}
    for block in range(n):
        total = 0
        for chip in range(n):
            out[chip] += 1
            total += _value(chip, block)
        for chip in range(n):
            into[chip] += 1
            result[chip, block] = total
    return _checked_sums(n, result, out, into)


def play_ring_reduce(n, gather=True):
    """Bytes on the busiest link when n blocks are added up round a ring, and then gathered."""
    held = {(chip, block): _value(chip, block) for chip in range(n) for block in range(n)}
    out, into = collections.Counter(), collections.Counter()

    def step(first, add):
        sends = [((chip + 1) % n, (chip + first) % n, held[chip, (chip + first) % n]) for chip in range(n)]
        for receiver, block, value in sends:
            out[(receiver - 1) % n] += 1
            into[receiver] += 1
            held[receiver, block] = value + (held[receiver, block] if add else 0)

    for k in range(n - 1):
        step(-k, add=True)
    if not gather:
        assert all(held[chip, (chip + 1) % n] == _sum(n, (chip + 1) % n) for chip in range(n))
        return max([*out.values(), *into.values()], default=0)
    for k in range(n - 1):
        step(1 - k, add=False)
    return _checked_sums(n, held, out, into)


def _value(chip, block):
    return (chip + 1) ** 2 * (block + 3) + chip


def _sum(n, block):
    return sum(_value(chip, block) for chip in range(n))


def _checked_sums(n, result, out, into):
    sums = [_sum(n, block) for block in range(n)]
    assert all(result[chip, block] == sums[block] for chip in range(n) for block in range(n))
    return max([*out.values(), *into.values()], default=0)


def play_exchange(n):
    """Bytes in or out of the busiest chip when each sends each of the others 1 byte."""
    sent = collections.Counter(s for s, t in itertools.permutations(range(n), 2))
    return max(sent.values(), default=0)


def play_exchange_of_nodes(nodes, gpus):
    """(bytes on the busiest NVLink, on the busiest card) when each GPU sends each of the others 1 byte."""
    chips = list(itertools.product(range(nodes), range(gpus)))
    out, into = collections.Counter(), collections.Counter()
    for a, b in itertools.permutations(chips, 2):
        kind = "nvlink" if a[0] == b[0] else "card"
        out[kind, a] += 1
        into[kind, b] += 1
    loads = [*out.items(), *into.items()]
    return tuple(max((n for (k, _), n in loads if k == kind), default=0) for kind in ("nvlink", "card"))


# ---- nodes of GPUs on a network --------------------------------------------------------------------------------------


def play_two_levels(nodes, gpus, nvlink, card, hops=(0.0, 0.0)):
    """(seconds, NVLink seconds, card seconds) of an all-gather of 1 byte a GPU: along each rail, then in each node."""
    blocks = {(m, g): {(m, g)} for m in range(nodes) for g in range(gpus)}
    seconds, busy = 0.0, collections.Counter()
    last = {chip: [chip] for chip in blocks}
    for _ in range(nodes - 1):  # every card passes on what it got last
        passed = {(m, g): last[m, g] for m, g in blocks}
        for (m, g), what in passed.items():
            busy["card", m, g] += len(what) / card
            last[(m + 1) % nodes, g] = what
            blocks[(m + 1) % nodes, g] |= set(what)
        seconds += hops[1] + max(map(len, passed.values())) / card
    last = {chip: sorted(what) for chip, what in blocks.items()}
    for _ in range(gpus - 1):
        passed = {(m, g): last[m, g] for m, g in blocks}
        for (m, g), what in passed.items():
            busy["nvlink", m, g] += len(what) / nvlink
            last[m, (g + 1) % gpus] = what
            blocks[m, (g + 1) % gpus] |= set(what)
        seconds += hops[0] + max(map(len, passed.values())) / nvlink
    assert all(len(what) == nodes * gpus for what in blocks.values())
    worst = {kind: max((t for (k, *_), t in busy.items() if k == kind), default=0.0) for kind in ("nvlink", "card")}
    return seconds, worst["nvlink"], worst["card"]


def play_flat_rings(nodes, gpus):
    """(bytes on the busiest NVLink, on the busiest card, longest way) of ring all-reduces, one ring a card.

    Ring r leaves each node by GPU r and enters the next by GPU r + 1; every ring carries its share of 1 byte.
    """
    n = nodes * gpus
    nvlink, card = collections.Counter(), collections.Counter()
    for ring in range(gpus):
        inside = [(ring + 1 + i) % gpus for i in range(gpus)]
        order = [(m, g) for m in range(nodes) for g in inside]
        for i, chip in enumerate(order):
            other = order[(i + 1) % n]
            kind = nvlink if chip[0] == other[0] and gpus > 1 else card
            kind[chip] += 2 * (n - 1) / n / gpus
    crossings = [sum(order[(i + j) % n][0] != order[(i + j + 1) % n][0] for j in range(n - 1)) for i in range(n)]
    return max(nvlink.values(), default=0.0), max(card.values(), default=0.0), (n - 1 - max(crossings), max(crossings))
