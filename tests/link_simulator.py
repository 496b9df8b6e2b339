"""Networks simulated link by link: what each link carries in each direction, and when the last byte arrives.

Nothing here knows a formula. A network is a set of directed links; a schedule is a list of sends; bytes are counted
as they are sent, a chip may only send what it holds, and every chip must end with what the collective promises.
Bandwidth is 1 byte a second, so that bytes on the busiest link are its seconds.
"""

import collections
import heapq
import itertools
import math

import numpy as np
from scipy.optimize import linprog


class Box:
    """Chips on a box of axes [(length, wraps), ...], linked to their neighbours."""

    def __init__(self, axes):
        self.axes = tuple(axes)
        self.chips = list(itertools.product(*(range(n) for n, _ in axes)))

    def neighbour(self, chip, axis, step):
        """The chip one link on, or None at the end of a line."""
        n, wraps = self.axes[axis]
        x = chip[axis] + step
        if not 0 <= x < n:
            if not wraps or n < 3:
                return None
            x %= n
        return (*chip[:axis], x, *chip[axis + 1 :])

    def links(self):
        """Every directed link."""
        ways = itertools.product(self.chips, range(len(self.axes)), (1, -1))
        return [(c, other) for c, axis, step in ways if (other := self.neighbour(c, axis, step))]

    def distances(self, start):
        """{chip: links from start}, by breadth-first search."""
        found, front = {start: 0}, [start]
        for chip in front:
            for axis, step in itertools.product(range(len(self.axes)), (1, -1)):
                other = self.neighbour(chip, axis, step)
                if other and other not in found:
                    found[other] = found[chip] + 1
                    front.append(other)
        return found

    def eccentricity(self):
        """Links between the two chips that lie farthest apart."""
        return max(max(self.distances(chip).values()) for chip in self.chips)


def steps_along(box, axis, source):
    """How a block spreads from `source` along one axis: [(round, sender, receiver, share, step)], shortest ways.

    A receiver half-way round an even ring gets one half from either side.
    """
    spread, reached = [], {}
    for step in (1, -1):
        chip, number = source, 0
        while (other := box.neighbour(chip, axis, step)) and other != source:
            number += 1
            reached.setdefault(other, []).append((number, chip, step))
            chip = other
    for receiver, ways in reached.items():
        nearest = min(number for number, _, _ in ways)
        ways = [way for way in ways if way[0] == nearest]
        spread += [(nearest, sender, receiver, 1 / len(ways), step) for _, sender, step in ways]
    return sorted(spread)


def gather_along(box, order):
    """Bytes on every link when each chip's block of 1 byte is gathered along the axes in this order."""
    load = collections.Counter()
    holds = {chip: {chip} for chip in box.chips}
    for axis in order:
        before = {chip: set(blocks) for chip, blocks in holds.items()}
        for source in box.chips:
            for _, sender, receiver, share, _ in steps_along(box, axis, source):
                load[sender, receiver] += share * len(before[source])
                holds[receiver] |= before[source]
    assert all(len(blocks) == len(box.chips) for blocks in holds.values())
    return load


def exchange_along(box, order):
    """Bytes on every link when each chip sends every chip 1 byte, along the axes in this order."""
    load = collections.Counter()
    for source, target in itertools.product(box.chips, repeat=2):
        chip = source
        for axis in order:
            n, wraps = box.axes[axis]
            ahead, back = (target[axis] - chip[axis]) % n, (chip[axis] - target[axis]) % n
            if not (wraps and n > 2):
                ways = [1 if target[axis] > chip[axis] else -1]
            else:
                ways = [1, -1] if ahead == back else [1 if ahead < back else -1]
            for step in ways:
                at = chip
                while at[axis] != target[axis]:
                    other = box.neighbour(at, axis, step)
                    load[at, other] += 1 / len(ways)
                    at = other
            chip = (*chip[:axis], target[axis], *chip[axis + 1 :])
    return load


def busiest(box, loads_of):
    """Bytes on the busiest link when the array is split in the best way over all orders of the axes."""
    orders = [loads_of(box, order) for order in itertools.permutations(range(len(box.axes)))]
    links = sorted(set().union(*orders))
    table = np.array([[load[link] for load in orders] for link in links])
    return least_maximum(table)


def least_maximum(table):
    """The largest entry of table @ w for the weights w that make it least."""
    return (table @ best_weights(table)).max()


def best_weights(table):
    """Weights w >= 0 with sum 1 that make the largest entry of table @ w least."""
    rows, columns = table.shape
    found = linprog(
        np.r_[np.zeros(columns), 1.0],
        A_ub=np.c_[table, -np.ones(rows)],
        b_ub=np.zeros(rows),
        A_eq=np.r_[np.ones(columns), 0.0][None],
        b_eq=[1.0],
    )
    assert found.success, found.message
    return found.x[:-1]


def least_gather(box):
    """Bytes on the busiest link of the best all-gather there can be, by linear programming.

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
        under.append({flows + s * e + i: 1.0 for s in range(n)} | {size - 1: -1.0})
    cost = np.zeros(size)
    cost[-1] = 1.0
    found = linprog(cost, A_ub=_sparse(under, size), b_ub=np.zeros(len(under)), A_eq=_sparse(equal, size), b_eq=right)
    assert found.success, found.message
    return found.fun


def _sparse(rows, size):
    from scipy.sparse import csr_matrix

    at = [(r, c, v) for r, row in enumerate(rows) for c, v in row.items() if v]
    r, c, v = zip(*at, strict=True)
    return csr_matrix((v, (r, c)), shape=(len(rows), size))


# ---- whole shards, hop by hop ----------------------------------------------------------------------------------


def rounds_of_gather(box):
    """An all-gather in rounds: in round r every chip gets all blocks from r links away, evenly over its links.

    Returns:
      [[(sender, receiver, block, share), ...] for each round].
    """
    far = {chip: box.distances(chip) for chip in box.chips}
    rounds = [[] for _ in range(box.eccentricity())]
    for receiver in box.chips:
        ways = itertools.product(range(len(box.axes)), (1, -1))
        senders = [c for axis, step in ways if (c := box.neighbour(receiver, axis, step))]
        for r, sends in enumerate(rounds, 1):
            blocks = [b for b in box.chips if far[receiver][b] == r]
            for block, sender, share in _evenly(blocks, senders, lambda b, s, r=r: far[s][b] == r - 1):
                sends.append((sender, receiver, block, share))
    return rounds


def _evenly(blocks, senders, possible):
    """Shares of blocks over senders, so that the busiest sender has least to send."""
    ways = [(b, s) for b in blocks for s in senders if possible(b, s)]
    if not ways:
        return
    cost = np.r_[np.zeros(len(ways)), 1.0]
    whole = [[float(b == block) for b, _ in ways] + [0.0] for block in blocks]
    load = [[float(s == sender) for _, s in ways] + [-1.0] for sender in senders]
    found = linprog(cost, A_ub=load, b_ub=np.zeros(len(senders)), A_eq=whole, b_eq=np.ones(len(blocks)))
    assert found.success, found.message
    for (block, sender), share in zip(ways, found.x, strict=False):
        if share > 1e-12:
            yield block, sender, share


def play_gather(chips, rounds, hop_s=0.0):
    """(seconds, bytes a link) of rounds of whole sends; every chip must hold what it sends and end with everything."""
    holds = {chip: collections.Counter({chip: 1.0}) for chip in chips}
    total, seconds = collections.Counter(), 0.0
    for sends in rounds:
        load = collections.Counter()
        for sender, receiver, block, share in sends:
            assert holds[sender][block] > 1 - 1e-9, "sends what it does not hold"
            load[sender, receiver] += share
        for _, receiver, block, share in sends:
            holds[receiver][block] += share
        total += load
        seconds += hop_s + max(load.values())
    assert all(abs(holds[chip][block] - 1) < 1e-9 for chip in chips for block in chips)
    return seconds, total


def play_scatter(chips, rounds, hop_s=0.0):
    """The same rounds backwards as a reduce-scatter: partial sums go back the way the blocks came.

    Each chip starts with a contribution to every block; a send takes along all that its sender has added up.
    """
    has = {chip: {block: collections.Counter({chip: 1.0}) for block in chips} for chip in chips}
    total, seconds = collections.Counter(), 0.0
    for sends in reversed(rounds):
        load = collections.Counter()
        moved = []
        for receiver, sender, block, share in sends:  # backwards: the receiver of the gather sends
            load[sender, receiver] += share
            moved.append((receiver, block, {who: share * part for who, part in has[sender][block].items()}))
        for receiver, block, parts in moved:
            has[receiver][block].update(parts)
        total += load
        seconds += hop_s + max(load.values())
    for block in chips:
        assert all(abs(has[block][block][chip] - 1) < 1e-9 for chip in chips), "a contribution is missing or twice in"
    return seconds, total


# ---- chunks, each forwarded as soon as it is there ----------------------------------------------------------------


def play_trees(trees, hop_s):
    """Seconds until the last chunk is everywhere; a link sends one chunk at a time, that with farthest to go first.

    Args:
      trees: for each chunk (bytes, where it starts, {chip: chips it is passed on to}).
      hop_s: fixed cost of a hop, paid after the chunk has left.
    """
    height = [_heights(root, children) for _, root, children in trees]
    waiting, busy, last = collections.defaultdict(list), set(), 0.0
    events = [(0.0, 0, number, root) for number, (_, root, _) in enumerate(trees)]
    while events:
        now, free = events[0][0], set()
        while events and events[0][0] == now:
            _, is_link, number, place = heapq.heappop(events)
            if is_link:
                busy.discard(place)
                free.add(place)
                continue
            last = now
            for other in trees[number][2].get(place, ()):
                heapq.heappush(waiting[place, other], (-height[number][other], number))
                free.add((place, other))
        for link in sorted(free - busy):
            if waiting[link]:
                _, number = heapq.heappop(waiting[link])
                busy.add(link)
                sent = now + trees[number][0]
                heapq.heappush(events, (sent, 1, number, link))
                heapq.heappush(events, (sent + hop_s, 0, number, link[1]))
    return last


def _heights(root, children):
    """{chip: links to the last one below it}."""
    order, found = [root], {}
    for chip in order:
        order += children.get(chip, ())
    for chip in reversed(order):
        found[chip] = 1 + max((found[other] for other in children.get(chip, ())), default=-1)
    return found


def gather_trees(box, chunks):
    """An all-gather: the array is split over the orders of the axes in the best way, each part into chunks."""
    orders = list(itertools.permutations(range(len(box.axes))))
    loads = [gather_along(box, order) for order in orders]
    links = sorted(set().union(*loads))
    parts = best_weights(np.array([[load[link] for load in loads] for link in links]))
    trees = []
    for order, part in zip(orders, parts, strict=True):
        if part > 1e-9:
            for chunk, source in itertools.product(range(chunks), box.chips):
                trees.append((part / chunks, source, _spread(box, order, source, chunk)))
    return trees


def _spread(box, order, source, chunk):
    """A tree from `source` to all chips, along one axis after another, shortest ways; half-way chips in turn."""
    children, reached = collections.defaultdict(list), [source]
    for i, axis in enumerate(order):
        for start in list(reached):
            for _, sender, receiver, share, step in steps_along(box, axis, start):
                if share == 1 or (step == 1) == (chunk >> i & 1 == 0):
                    children[sender].append(receiver)
                    reached.append(receiver)
    return children


def exchange_trees(box, chunks):
    """An all-to-all: a chunk of every pair's 1 byte goes along the axes in one of their orders, in turn."""
    orders = list(itertools.permutations(range(len(box.axes))))
    loads = [exchange_along(box, order) for order in orders]
    links = sorted(set().union(*loads))
    parts = best_weights(np.array([[load[link] for load in loads] for link in links]))
    trees = []
    for order, part in zip(orders, parts, strict=True):
        if part > 1e-9:
            for source, target, chunk in itertools.product(box.chips, box.chips, range(chunks)):
                if source != target:
                    trees.append((part / chunks, source, _way(box, order, source, target, chunk)))
    return trees


def _way(box, order, source, target, chunk):
    """{chip: [next chip]} from source to target, one axis after another; half-way round both ways in turn."""
    way, chip = {}, source
    for axis in order:
        n, wraps = box.axes[axis]
        ahead = (target[axis] - chip[axis]) % n
        if wraps and n > 2:
            step = 1 if 2 * ahead < n or (2 * ahead == n and (chunk + source[axis]) % 2 == 0) else -1
        else:
            step = 1 if target[axis] > chip[axis] else -1
        while chip[axis] != target[axis]:
            way[chip] = [box.neighbour(chip, axis, step)]
            (chip,) = way[chip]
    return way


# ---- switches ------------------------------------------------------------------------------------------------------


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

    The inside chips are those at even places, as NCCL builds it, so that a second tree shifted by one has them at
    the leaves.
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


def play_switch_reduce(n, own):
    """Bytes on one chip's link, out and in, when the switch adds: its own share too, or only others'."""
    out, into = 0.0, 0.0
    for owner in range(n):  # one of n blocks of 1 byte is added up for each owner, then sent to all; we are chip 0
        if owner != 0 or own:
            out += 1  # our part of the sum
        if owner == 0:
            into += 1  # the sum
            out += 1  # to all
        if owner != 0 or own:
            into += 1  # the owner's result, multicast
    return max(out, into)


def play_exchange(n):
    """Bytes in or out of the busiest chip when each sends each of the others 1 byte."""
    sent = collections.Counter(s for s, t in itertools.permutations(range(n), 2))
    return max(sent.values(), default=0)


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


def shared_axis(length, wraps, stride, size):
    """Bytes on the busiest link of an axis when every group of chips `stride` apart gathers 1 byte a chip."""
    box, load = Box([(length, wraps)]), collections.Counter()
    for first in range(stride):
        chips = [first + stride * i for i in range(size)]
        small = Box([(size, wraps and size * stride == length)])
        for (sender, receiver), share in gather_along(small, (0,)).items():
            a, b = chips[sender[0]], chips[receiver[0]]
            step = 1 if (b - a) % length == stride else -1
            while a != b:
                c = box.neighbour((a,), 0, step)[0]
                load[a, c] += share
                a = c
    return max(load.values(), default=0.0)


def ceil_log2(n):
    """Rounds in which a number of chips that doubles reaches n."""
    return math.ceil(math.log2(n)) if n > 1 else 0
