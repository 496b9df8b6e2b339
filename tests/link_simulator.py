"""Tori and lines simulated link by link: what each link carries in each direction, and when the last byte arrives.

Nothing here knows a formula. A network is a set of directed links; a schedule is a list of sends; bytes are counted
as they are sent, a chip may only send what it holds, and every chip must end with what the collective promises.
Bandwidth is 1 byte a second, so that bytes on the busiest link are its seconds.
"""

import collections
import heapq
import itertools

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


def exchange_along(box, order, stride=1):
    """Bytes on every link when each chip sends every chip (`stride` apart) 1 byte, along the axes in this order."""
    load = collections.Counter()
    for source, target in itertools.product(box.chips, repeat=2):
        if (target[0] - source[0]) % stride:
            continue
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


def shift_along(box, shift, cyclic):
    """(bytes on the busiest link, longest way) when every chip of one axis sends 1 byte `shift` places on."""
    n, wraps = box.axes[0]
    load, far = collections.Counter(), 0
    for x in range(n if cyclic else n - shift):
        target = (x + shift) % n
        if wraps and n > 2:
            ways = [step for step in (1, -1) if (target - x) * step % n == min(shift, n - shift)]
        else:
            ways = [1 if target > x else -1]
        for step in ways:
            at, hops = (x,), 0
            while at != (target,):
                other = box.neighbour(at, 0, step)
                load[at, other] += 1 / len(ways)
                at, hops = other, hops + 1
            far = max(far, hops)
    return max(load.values()), far


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
    if len(ways) == len(blocks):  # no choice
        yield from ((block, sender, 1.0) for block, sender in ways)
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


def shared_axis(length, wraps, stride):
    """Bytes on the busiest link of an axis when every group of chips `stride` apart gathers 1 byte a chip.

    A block goes from chip to chip of its group, through the chips between; all groups do so at once.
    """
    box, load = Box([(length, wraps)]), collections.Counter()
    size = length // stride
    for first, place in itertools.product(range(stride), range(size)):
        for step in (1, -1):
            reach = (size - 1) / 2 if wraps else (size - 1 - place if step == 1 else place)
            at = (first + stride * place,)
            for hop in range(stride * -int(-reach // 1)):  # to the last chip of the group that side, or half of it
                other = box.neighbour(at, 0, step)
                load[at, other] += min(1.0, reach - hop // stride)
                at = other
    return max(load.values(), default=0.0)
