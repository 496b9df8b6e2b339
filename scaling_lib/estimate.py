"""Between perfect overlap and none: the two bounds of every estimate, and what binds.

A step that keeps several resources busy takes at least as long as the busiest (all overlap: max) and at
most as long as all of them in turn (nothing overlaps: sum). With n resources the two differ by at most n.
"""

import functools
from dataclasses import dataclass

import numpy as np

from scaling_lib.units import ScalingError, non_negative, plain, sealed, si

BOUNDS = ("math", "memory", "network", "host", "latency")


def lower_s(*times_s):
    """Shortest time [s] of parts that overlap perfectly: their maximum. Broadcasts.

    Raises:
      ScalingError: no time is given, or one is negative or no number.

    >>> lower_s(1.0, 3.0), lower_s(0.0, 0.0)
    (3.0, 0.0)
    """
    return _combined(np.maximum, [non_negative("times_s", t) for t in times_s])


def upper_s(*times_s):
    """Longest time [s] of parts of which none overlap: their sum. Broadcasts.

    Raises:
      ScalingError: no time is given, or one is negative or no number.

    >>> upper_s(1.0, 3.0)
    4.0
    """
    return _combined(np.add, [non_negative("times_s", t) for t in times_s])


def binding(**times_s):
    """Name of the part that takes longest; of equal parts, the first. Broadcasts to an array of names.

    Raises:
      ScalingError: no time is given, or one is negative or no number.

    >>> binding(math=2e-6, memory=5e-6)
    'memory'
    """
    return _binding({name: non_negative(name, t) for name, t in times_s.items()})


@dataclass(frozen=True)
class TimeBounds:
    """Seconds each resource is busy, and the two bounds on the whole. Fields may be arrays.

    Attributes:
      math_s, memory_s, network_s, host_s: time the arithmetic units, the memory, the links between chips
        and the link to the host are busy [s].
      latency_s: fixed cost, paid however small the work: a kernel launch, a hop [s].

    Raises:
      ScalingError: a time is negative or no number.

    >>> t = TimeBounds(math_s=2e-6, memory_s=5e-6)
    >>> t.lower_s, t.bound
    (5e-06, 'memory')
    >>> print(t)
    math 2 µs, memory 5 µs: at least 5 µs, at most 7 µs, bound by memory
    """

    math_s: float = 0.0
    memory_s: float = 0.0
    network_s: float = 0.0
    host_s: float = 0.0
    latency_s: float = 0.0

    def __post_init__(self):
        for name in BOUNDS:
            field = f"{name}_s"
            object.__setattr__(self, field, non_negative(field, getattr(self, field)))

    def __str__(self):
        if np.ndim(self.lower_s):
            return repr(self)
        parts = ", ".join(f"{name} {si(seconds, 's')}" for name, seconds in self.parts.items() if seconds)
        bounds = f"at least {si(self.lower_s, 's')}, at most {si(self.upper_s, 's')}, bound by {self.bound}"
        return f"{parts}: {bounds}" if parts else bounds

    @property
    def parts(self):
        """{bound name: seconds}, in the order of `BOUNDS`."""
        return {name: getattr(self, f"{name}_s") for name in BOUNDS}

    @property
    def lower_s(self):
        """Everything overlaps: the longest part [s]."""
        return _combined(np.maximum, self.parts.values())

    @property
    def upper_s(self):
        """Nothing overlaps: the sum of the parts [s]."""
        return _combined(np.add, self.parts.values())

    @property
    def bound(self):
        """What takes longest: one of math, memory, network, host, latency."""
        return _binding(self.parts)


def _some(times):
    if not times:
        raise ScalingError("times_s must hold at least one time, got none")
    return times


def _combined(ufunc, times):
    times, reason = plain(*_some(times))
    return sealed(reason, functools.reduce(ufunc, times))


def _binding(parts):
    (longest, *others), reason = plain(*_some(parts.values()))
    index = np.zeros(np.shape(longest), np.int8)
    for i, other in enumerate(others, 1):
        index = np.where(other > longest, np.int8(i), index)
        longest = np.maximum(longest, other)
    return sealed(reason, np.array(list(parts))[index])
