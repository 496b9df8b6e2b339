"""Every plan for a sharded product on a few chips, found by what each chip holds. Shares no code with the planner.

An array is, for each chip, a box of elements and the parts of the sum that are in it. A step is allowed if the boxes
say so: to gather they must tile a larger box, to reduce they must be equal and their parts apart, and so on. What one
operand has alone may be summed by each chip after any steps whatever, at the price of reading and writing. Times are
the library's own collectives, their levels one after the other; permutations are routed here.
"""

import collections
import heapq
import itertools
import math

import scaling_lib as sl

WIDTH = 2  # bytes


class Chips:
    """The chips of a mesh whose axes are those of its slice, or nodes and the GPUs in each.

    Boxes count cells of `grain` elements a side.
    """

    def __init__(self, mesh, grain):
        self.mesh, self.names, self.grain = mesh, mesh.names, grain
        self.places = list(itertools.product(*(range(n) for n in mesh.shape)))
        self.wraps = [wraps for _, wraps in mesh.hardware.hw_axes.values()]
        self.torus, *self.network = mesh.group()

    def nbytes(self, box):
        return WIDTH * volume(box) * self.grain ** len(box)

    def subsets(self):
        """Every set of mesh axes."""
        for k in range(1, len(self.names) + 1):
            yield from itertools.combinations(range(len(self.names)), k)

    def groups(self, axes):
        """Chips that differ along these axes only, as lists of numbers."""
        found = collections.defaultdict(list)
        for i, place in enumerate(self.places):
            found[tuple(x for k, x in enumerate(place) if k not in axes)].append(i)
        return list(found.values())

    def seconds(self, op, axes, nbytes):
        time = getattr(sl, f"{op}_time")(nbytes, self.mesh, [self.names[k] for k in axes])
        return max(sum(time.stages.values()), time.latency_s)

    def permutation_s(self, sources, nbytes):
        """Messages along one axis after the other, shortest ways, half-way round half each way."""
        if self.network:
            return self._switched_s(sources, nbytes)
        load, far = collections.Counter(), 0
        for target, source in enumerate(sources):
            at, hops = list(self.places[source]), 0
            for k, n in enumerate(self.mesh.shape):
                goal = self.places[target][k]
                ways = self._ways(k, at[k], goal, n)
                hops += self._steps(load, at, k, goal, n, ways)
                at[k] = goal
            far = max(far, hops)
        slowest = max(load.values(), default=0) * nbytes / self.torus.link_bytes_per_s
        return max(slowest, far * self.torus.hop_s)

    def _switched_s(self, sources, nbytes):
        """Between nodes by the network, else by NVLink: both at once, one message a chip."""
        (network,) = self.network
        pairs = [(self.places[i], self.places[j]) for i, j in enumerate(sources) if i != j]
        used = {network if here[0] != there[0] else self.torus for here, there in pairs}
        slowest = max((nbytes / level.chip_bytes_per_s for level in used), default=0.0)
        return max(slowest, sum(level.hop_s for level in used))

    def _ways(self, k, start, goal, n):
        if start == goal:
            return []
        if not self.wraps[k] or n < 3:
            return [1 if goal > start else -1]
        ahead = (goal - start) % n
        return [1, -1] if 2 * ahead == n else [1 if 2 * ahead < n else -1]

    def _steps(self, load, at, k, goal, n, ways):
        hops = 0
        for step in ways:
            x, hops = at[k], 0
            while x != goal:
                load[(*at[:k], x, *at[k + 1 :]), k, step] += 1 / len(ways)
                x, hops = (x + step) % n, hops + 1
        return hops


def volume(box):
    return math.prod(hi - lo for lo, hi in box)


def hull(boxes):
    return tuple((min(lo for lo, _ in side), max(hi for _, hi in side)) for side in zip(*boxes, strict=True))


def overlap(a, b):
    return math.prod(max(0, min(h, k) - max(lo, m)) for (lo, h), (m, k) in zip(a, b, strict=True))


def tile(boxes):
    """The box that these boxes tile without overlap, or None."""
    whole = hull(boxes)
    apart = all(not overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    return whole if apart and sum(map(volume, boxes)) == volume(whole) else None


def layouts(n_dims, axes):
    """Every way to spread some axes over dimensions, in every order: {axis: ...} as ordered lists a dimension."""
    for order in itertools.permutations(axes):
        for where in itertools.product(range(n_dims), repeat=len(order)):
            dims = tuple(tuple(a for a, d in zip(order, where, strict=True) if d == k) for k in range(n_dims))
            yield dims


def piece(box, dims, place, shape):
    """The part of a box that the chip at a place gets when dimensions are cut over axes; None if it does not divide."""
    cut = []
    for (lo, hi), axes in zip(box, dims, strict=True):
        n, number = math.prod(shape[k] for k in axes), 0
        for k in axes:
            number = number * shape[k] + place[k]
        if (hi - lo) % n:
            return None
        step = (hi - lo) // n
        cut.append((lo + number * step, lo + (number + 1) * step))
    return tuple(cut)


def spread(chips, box, dims, parts):
    """An array cut so over all chips, as a state; None if it does not divide."""
    boxes = [piece(box, dims, place, chips.mesh.shape) for place in chips.places]
    return None if None in boxes else tuple((b, parts) for b in boxes)


def steps(chips, state, whole):
    """(seconds, next state) of every step."""
    n_dims = len(whole)
    for axes in chips.subsets():
        groups = chips.groups(axes)
        held = [[state[i] for i in group] for group in groups]
        same_parts = all(len({parts for _, parts in group}) == 1 for group in held)
        same_box = all(len({box for box, _ in group}) == 1 for group in held)
        ways = sorted(set(layouts(n_dims, axes)))
        if same_parts and same_box:
            yield from ((0.0, after) for after in _handed(chips, state, groups, held, ways))
        elif same_parts:
            tiles = [tile([box for box, _ in group]) for group in held]
            if None not in tiles:
                yield from _moved(chips, state, axes, groups, tiles, ways)
        elif same_box and all(_apart(group) for group in held):
            nbytes = chips.nbytes(held[0][0][0])
            summed = [[(group[0][0], frozenset().union(*(p for _, p in group)))] * len(group) for group in held]
            yield chips.seconds("all_reduce", axes, nbytes), _put(state, groups, summed)
            for after in _handed(chips, state, groups, summed, ways):
                yield chips.seconds("reduce_scatter", axes, nbytes), after
    yield from _permuted(chips, state, whole)


def _apart(group):
    return all(not a & b for (_, a), (_, b) in itertools.combinations(group, 2))


def _put(state, groups, contents):
    after = list(state)
    for group, new in zip(groups, contents, strict=True):
        for i, content in zip(group, new, strict=True):
            after[i] = content
    return tuple(after)


def _handed(chips, state, groups, held, ways):
    """Each chip keeps a piece of what its group has in common."""
    for dims in ways:
        new = [
            [(piece(has[k][0], dims, chips.places[i], chips.mesh.shape), has[k][1]) for k, i in enumerate(group)]
            for group, has in zip(groups, held, strict=True)
        ]
        if all(box is not None for group in new for box, _ in group):
            yield _put(state, groups, new)


def _moved(chips, state, axes, groups, tiles, ways):
    """All-gathers and all-to-alls of boxes that tile larger ones."""
    nbytes = chips.nbytes(tiles[0])
    full = [[(whole, state[i][1]) for i in group] for group, whole in zip(groups, tiles, strict=True)]
    yield chips.seconds("all_gather", axes, nbytes), _put(state, groups, full)
    for after in _handed(chips, state, groups, full, ways):
        share = {overlap(after[i][0], state[j][0]) * len(group) ** 2 for group in groups for i in group for j in group}
        if share == {volume(tiles[0])}:  # every chip sends every chip the same amount
            yield chips.seconds("all_to_all", axes, nbytes), after


def _permuted(chips, state, whole):
    """Every sharding with the same contents on other chips, over the cheapest pairing."""
    parts = {p for _, p in state}
    if len(parts) > 1:
        return
    n_axes = len(chips.names)
    for axes in itertools.chain.from_iterable(itertools.combinations(range(n_axes), k) for k in range(1, n_axes + 1)):
        for dims in set(layouts(len(whole), axes)):
            after = spread(chips, whole, dims, next(iter(parts)))
            if after and after != state and collections.Counter(after) == collections.Counter(state):
                yield _cheapest_pairing(chips, state, after), after


def _cheapest_pairing(chips, state, after):
    """Least seconds over all ways to pair chips that have a block with those that need it."""
    nbytes = chips.nbytes(state[0][0])
    blocks = sorted(set(state), key=repr)
    has = [[i for i, content in enumerate(state) if content == block] for block in blocks]
    needs = [[i for i, content in enumerate(after) if content == block] for block in blocks]
    best = math.inf
    for orders in itertools.product(*(itertools.permutations(h) for h in has)):
        sources = [0] * len(state)
        for order, targets in zip(orders, needs, strict=True):
            for source, target in zip(order, targets, strict=True):
                sources[target] = source
        best = min(best, chips.permutation_s(sources, nbytes))
    return best


def shortest(chips, starts, whole, goal=None):
    """{state: seconds} of all that can be reached from {state: seconds}; the seconds of one if a goal is given."""
    count = itertools.count()
    found, queue = {}, [(seconds, next(count), start) for start, seconds in starts.items()]
    heapq.heapify(queue)
    while queue:
        seconds, _, state = heapq.heappop(queue)
        if state in found:
            continue
        found[state] = seconds
        if state == goal:
            return seconds
        for more, after in steps(chips, state, whole):
            if after not in found:
                heapq.heappush(queue, (seconds + more, next(count), after))
    return found if goal is None else math.inf


def cheapest(mesh, arrays, cells, grain):
    """Seconds of the cheapest plan.

    Args:
      mesh: a `Mesh` whose axes are those of its slice.
      arrays: for a, b, c: (names of the dimensions, {dimension: axes}, axes it is unreduced over).
      cells: {dimension: cells}, of `grain` elements each.
    """
    chips = Chips(mesh, grain)
    starts = [_given(chips, array, cells) for array in arrays]
    dims = [array[0] for array in arrays]
    alone = [[dim for dim in dims[i] if dim not in dims[1 - i] + dims[2]] for i in (0, 1)]
    left = [tuple(dim for dim in dims[i] if dim not in alone[i]) for i in (0, 1)]
    both = [dim for dim in left[0] if dim not in dims[2]]
    reach = [_reach(chips, starts[i], dims[i], alone[i], cells) for i in (0, 1)]
    ends = collections.defaultdict(lambda: math.inf)
    for (x, sx), (y, sy) in itertools.product(*(found.items() for found in reach)):
        z = _multiplied(x, y, [*left, dims[2]], both)
        if z is not None:
            seconds = sx + sy + _local_s(chips, x[0][0], y[0][0], z[0][0], left)
            ends[z] = min(ends[z], seconds)
    every = frozenset(
        itertools.product(
            itertools.product(*(range(cells[dim]) for dim in both)),
            *(_parts(start, gone, cells) for start, gone in zip(starts[:2], alone, strict=True)),
        )
    )
    goal = tuple((box, every) for box, _ in starts[2])
    return shortest(chips, ends, _whole(dims[2], cells), goal)


def _whole(dims, cells):
    return tuple((0, cells[dim]) for dim in dims)


def _given(chips, array, cells):
    """An array as it is given: along axes that it is unreduced over, every chip has a part of its own."""
    dims, cut, over = array
    number = {name: k for k, name in enumerate(chips.names)}
    axes = tuple(tuple(number[x] for x in cut.get(dim, ())) for dim in dims)
    parts = [frozenset([tuple(place[number[x]] for x in over)]) for place in chips.places]
    boxes = spread(chips, _whole(dims, cells), axes, None)
    return tuple((box, own) for (box, _), own in zip(boxes, parts, strict=True))


def _parts(state, gone, cells):
    """All parts of an operand's sums: those that chips were given, times what is summed of it alone."""
    given = frozenset().union(*(parts for _, parts in state))
    return set(itertools.product(given, itertools.product(*(range(cells[dim]) for dim in gone))))


def _reach(chips, start, dims, gone, cells):
    """{state: seconds} of all that one operand can become, summed over the dimensions that it has alone."""
    summed = {}
    for state, seconds in (shortest(chips, {start: 0.0}, _whole(dims, cells)) if gone else {start: 0.0}).items():
        after = tuple(_summed(box, parts, dims, gone) for box, parts in state)
        moved = chips.nbytes(state[0][0]) + chips.nbytes(after[0][0]) if gone else 0.0
        seconds += moved / chips.mesh.chip.hbm_bytes_per_s
        summed[after] = min(seconds, summed.get(after, math.inf))
    return shortest(chips, summed, _whole([dim for dim in dims if dim not in gone], cells))


def _summed(box, parts, dims, gone):
    """What one chip has left of its box, and the parts that it then has of each sum."""
    kept = tuple(side for dim, side in zip(dims, box, strict=True) if dim not in gone)
    over = itertools.product(*(range(*side) for dim, side in zip(dims, box, strict=True) if dim in gone))
    return kept, frozenset(itertools.product(parts, over))


def _multiplied(x, y, dims, summed):
    """What chips have after multiplying what they hold; None where what one holds does not fit."""
    z = []
    for (box_x, px), (box_y, py) in zip(x, y, strict=True):
        at = dict(zip(dims[0], box_x, strict=True))
        for dim, side in zip(dims[1], box_y, strict=True):
            if at.setdefault(dim, side) != side:
                return None
        over = itertools.product(*(range(*at[dim]) for dim in summed))
        z.append((tuple(at[dim] for dim in dims[2]), frozenset(itertools.product(over, px, py))))
    return tuple(z)


def _local_s(chips, x, y, z, dims):
    at = dict(zip(dims[0], x, strict=True)) | dict(zip(dims[1], y, strict=True))
    flops = 2 * math.prod((hi - lo) * chips.grain for lo, hi in at.values())
    nbytes = sum(map(chips.nbytes, (x, y, z)))
    return max(flops / chips.mesh.chip.peak_flops_per_s("bf16"), nbytes / chips.mesh.chip.hbm_bytes_per_s)
