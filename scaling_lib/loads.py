"""What each collective loads: the share of its array that the busiest link of a level carries, and the hops.

Every function takes levels, innermost first, and yields (level, share, hops) for each: shares count in one direction.
"""

import itertools
import math

from scaling_lib.hardware.links import Switch, Torus
from scaling_lib.traffic import wire_factor
from scaling_lib.units import ScalingError


def bytes_per_s(level):
    """Of the link that counts on a level: one link of a torus, or what one chip sends through a switch."""
    return level.link_bytes_per_s if isinstance(level, Torus) else level.chip_bytes_per_s


def gathered(levels):
    """All-gather: what an inner level has gathered from outside counts V there, and V/N_inner outside."""
    inner = 1
    for level in levels:
        yield level, _gathered_share(level) / inner, level.hops if isinstance(level, Torus) else level.n - 1
        inner *= level.n


def _gathered_share(level):
    """Share of the array on the busiest link of an all-gather."""
    if isinstance(level, Switch):
        return (level.n - 1) / level.n
    subsets = (s for k in range(1, len(level.axes) + 1) for s in itertools.combinations(level.axes, k))
    cuts = [(math.prod(a.length for a in some) - 1) / sum(a.ways for a in some) for some in subsets]
    return max(cuts, default=0.0) / level.n


def exchanged(levels):
    """All-to-all: pairs that differ on an outer level go over that level, the others stay inside."""
    for i, level in enumerate(levels):
        inner = math.prod(other.n for other in levels[:i])
        outer = math.prod(other.n for other in levels[i + 1 :])
        hops = level.hops if isinstance(level, Torus) else min(level.n - 1, 1)
        yield level, _exchanged_share(level) / inner / outer**2, hops


def _exchanged_share(level):
    """Share of the array on the busiest link of an all-to-all."""
    if isinstance(level, Switch):
        return (level.n - 1) / level.n**2
    shares = [(a.length**2 // 4) / (a.ways * a.length * level.n) for a in level.axes]
    return max(shares, default=0.0)


def shifted(levels, shift, cyclic):
    """Permute: the slowest level that a message crosses."""
    level = next((level for level in reversed(levels) if level.n > 1), levels[0])
    if isinstance(level, Switch) or level.n == 1:
        yield level, float(level.n > 1), min(level.n - 1, 1)
        return
    wraps, stride, n = _as_ring(level)
    near, far = min(shift, n - shift), max(shift, n - shift)
    load = n / 4 if wraps and 2 * shift == n else near  # half-way round: both ways
    yield level, stride * load, stride * (near if wraps else far if cyclic else shift)


def _as_ring(torus):
    """(closed, stride, chips) of the ring order of a torus: one axis as it is; several make a ring if one is even."""
    if len(torus.axes) == 1:
        (axis,) = torus.axes
        return axis.wraps, axis.stride, axis.length
    return torus.n % 2 == 0, max(axis.stride for axis in torus.axes), torus.n


def reduced_by(algorithm, levels):
    """The cost function of an all-reduce algorithm that these levels can run."""
    known = {}
    if all(isinstance(level, Switch) for level in levels) and levels[0].name != "dcn":
        known = {"ring": _flat_ring, "tree": _tree}
        if levels[0].reduces:
            known |= {"sharp": _sharp} | ({"nvls": _nvls} if levels[0].name == "nvlink" else {})
    elif isinstance(levels[0], Torus) and len(levels) == 1 and len(levels[0].axes) == 1:
        known = {"pipelined": _pipelined}
    if not isinstance(algorithm, str) or algorithm not in known:
        what = "; ".join(map(str, levels))
        raise ScalingError(f"algorithm must be {', '.join(['None', *known])} on {what}; got {algorithm!r}")
    return known[algorithm]


def _pipelined(levels):
    """Scattering and gathering at once: together they load every link of a line alike, with the whole array."""
    (level,) = levels
    (axis,) = level.axes
    n = axis.length
    yield level, axis.stride * ((n - 1) / n if axis.wraps else 1.0), 2 * level.hops


def _flat_ring(levels):
    """One ring through all chips and once through every node. All links work at once: the slowest counts."""
    n = math.prod(level.n for level in levels)
    share = 2 * (n - 1) / n
    if len(levels) == 1:
        yield levels[0], share, 2 * (n - 1)
        return
    node, network = levels
    # One ring a card: each crosses a node's bounds by another card, and uses that GPU's NVLinks in all rings but one.
    inside, between = share * (node.n - 1) / node.n, share / node.n
    slow = inside / bytes_per_s(node) < between / bytes_per_s(network)
    yield node, 0.0 if slow else inside, 2 * (n - 1 - network.n)
    yield network, between if slow else 0.0, 2 * network.n


def _tree(levels):
    """Reduce up and broadcast down two trees in which no chip is inside both, half of the array on each."""
    *insides, top = levels
    inner = 1
    for level in insides:
        yield level, 2 * _gathered_share(level) / inner, 2 * (level.n - 1)
        inner *= level.n
    yield top, wire_factor("all_reduce", top.n, "tree") / inner, 2 * math.ceil(math.log2(top.n))


def _nvls(levels):
    """The node's switch adds and spreads; between nodes a ring."""
    node, *others = levels
    yield node, wire_factor("all_reduce", node.n, "nvls"), 2 * min(node.n - 1, 1)
    for level in others:
        yield level, 2 * _gathered_share(level) / node.n, 2 * (level.n - 1)


def _sharp(levels):
    """Switches add on every level."""
    inner = 1
    for level in levels:
        yield level, wire_factor("all_reduce", level.n, "sharp") / inner, 2 * min(level.n - 1, 1)
        inner *= level.n
