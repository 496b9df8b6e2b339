"""Which slices of a TPU pod exist: legal shapes, wraparound, and Google's names for them."""

import math
import re

from scaling_lib.hardware.catalog import chip
from scaling_lib.hardware.rules import slice_rules, slices
from scaling_lib.units import ScalingError, UnknownName, wholes


class UnknownSlice(UnknownName):
    """No slice has this name; the message shows the forms that exist."""

    kind = "slice"


def text(shape):
    """A shape as Google writes it.

    >>> text((2, 2, 4))
    '2x2x4'
    """
    return "x".join(map(str, shape))


def shapes_of(chip_name, n_chips):
    """Every legal shape of a slice of so many chips, the most cubic first.

    >>> shapes_of("tpu-v5p", 2176), shapes_of("tpu-v5e", 15)
    (((4, 8, 68), (4, 4, 136)), ())
    """
    c = chip(chip_name)
    rules = slice_rules(c)
    found = [s for s in rules.small_shapes if math.prod(s) == n_chips]
    if rules.cube and n_chips % rules.cube**3 == 0 and n_chips <= c.pod_chips:
        found += [tuple(rules.cube * x for x in cubes) for cubes in _boxes(n_chips // rules.cube**3)]
    return tuple(sorted(found, key=lambda shape: (sum(shape), shape)))


def legal_shape(c, shape):
    """`shape` as a tuple if a slice of chip `c` can have it; the error says what is possible instead.

    A 2D slice may be given either way round: 8x4 is 4x8 with its axes renamed.
    """
    rules = slice_rules(c)
    asked = wholes(shape)
    if not asked:
        raise ScalingError(f"shape must be whole numbers of chips along each axis, such as (4, 8), got {shape!r}")
    n = math.prod(asked)
    possible = shapes_of(c.name, n)
    if asked in possible or (len(asked) == 2 and asked[::-1] in possible):
        return asked
    same = f"of {n} chips {', '.join(map(text, possible))}" if possible else f"{n} chips make no slice; {_near(c, n)}"
    raise ScalingError(f"{text(asked)} is no slice of {c.title}: {same}. {_rule(c, rules)}")


def wraps_of(c, shape):
    """For each axis whether its two ends are linked.

    >>> wraps_of(chip("tpu-v5e"), (8, 16)), wraps_of(chip("tpu-v4"), (2, 2, 4))
    ((False, True), (False, False, False))
    """
    rules = slice_rules(c)
    if rules.cube:
        return (all(x % rules.cube == 0 for x in shape),) * len(shape)
    return tuple(x == rules.wrap_length for x in shape)


def parse_name(name, topology=None):
    """(chip, shape, chips per host) that one of Google's slice names stands for.

    Raises:
      UnknownSlice: no such form of name.
      ScalingError: no slice has that size, or several have it and Google states no default.

    >>> parse_name("v4-32")[1:]
    ((2, 2, 4), 4)
    """
    prefixes = {prefix: chip(c) for c, rules in slices().items() for prefix in rules.name_prefixes}
    found = re.fullmatch(r"(?:tpu-)?([a-z0-9]+)-(\d+)", name) if isinstance(name, str) else None
    if not found or found[1] not in prefixes:
        raise UnknownSlice(name, [f"{prefix}-N" for prefix in prefixes])
    c, number = prefixes[found[1]], int(found[2])
    rules = slice_rules(c)
    per_chip = c.tensorcores if rules.name_counts == "cores" else 1
    unit = f"{per_chip} TensorCores a chip" if per_chip > 1 else "the number counts chips"
    n = number // per_chip
    possible = shapes_of(c.name, n) if number % per_chip == 0 else ()
    if not possible:
        near = [per_chip * m for m in _sizes(c, number / per_chip)]
        raise ScalingError(
            f"{name!r} is no slice of {c.title} ({unit}): near sizes are "
            + ", ".join(f"{found[1]}-{size}" for size in near)
        )
    shape = _chosen(name, c, rules, possible, topology)
    several = n > math.prod(rules.host_shape)
    return c, shape, rules.vm_chips if several else min(n, math.prod(rules.host_shape))


def _chosen(name, c, rules, possible, topology):
    if topology is not None:
        words = topology.split("x") if isinstance(topology, str) else ()
        asked = tuple(map(int, words)) if words and all(map(str.isdecimal, words)) else wholes(topology)
        if asked not in possible:
            got = text(asked) if asked else repr(topology)
            raise ScalingError(f"topology {got} is not a {name}: possible are {', '.join(map(text, possible))}")
        return asked
    if len(possible) > 1 and rules.name_shape == "refuse":
        raise ScalingError(
            f"{name!r} is ambiguous: give the topology, one of {', '.join(map(text, sorted(possible)))} ({c.title})"
        )
    return possible[0]


def _boxes(volume):
    """All a <= b <= c with a·b·c = volume."""
    for a in range(1, round(volume ** (1 / 3)) + 1):
        if volume % a == 0:
            for b in range(a, math.isqrt(volume // a) + 1):
                if volume // a % b == 0:
                    yield a, b, volume // a // b


def _sizes(c, n):
    """Chip counts of legal slices next to n: the largest below and the smallest above."""
    rules = slice_rules(c)
    sizes = {math.prod(s) for s in rules.small_shapes}
    if rules.cube:
        sizes |= set(range(rules.cube**3, c.pod_chips + 1, rules.cube**3))
    below, above = [m for m in sizes if m < n], [m for m in sizes if m > n]
    return sorted(([max(below)] if below else []) + ([min(above)] if above else []))


def _near(c, n):
    return "near are " + " and ".join(f"{m} ({', '.join(map(text, shapes_of(c.name, m)[:3]))})" for m in _sizes(c, n))


def _rule(c, rules):
    small = ", ".join(map(text, rules.small_shapes))
    if not rules.cube:
        return f"Possible are {small}"
    k = rules.cube
    return f"Possible are {small}, and AxBxC with A <= B <= C multiples of {k}, up to {c.pod_chips:,} chips"
