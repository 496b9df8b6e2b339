"""Three bandwidths of a collective that are easily taken for one another: algorithm, bus and wire.

*Algorithm bandwidth*: the array over the time. *Bus bandwidth*: what nccl-tests prints, the algorithm bandwidth times
the factor of a flat ring, whatever really ran: a conversion, not traffic. *Wire*: what the busiest link really
carries in one direction, which no measurement can show above the link's rate.
"""

from dataclasses import dataclass

import numpy as np

from scaling_lib.units import ScalingError, at_least, broadcastable, plain, positive, sealed, si

OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute")
ALGORITHMS = ("ring", "tree", "nvls", "sharp")


@dataclass(frozen=True)
class Bandwidths:
    """Rates of one measured or predicted collective [bytes/s]."""

    algorithm_bytes_per_s: float
    bus_bytes_per_s: float
    wire_bytes_per_s: float

    def __str__(self):
        rates = zip(("algorithm", "bus", "wire"), vars(self).values(), strict=True)
        return ", ".join(f"{name} {si(rate, 'B/s')}" for name, rate in rates)


def bus_factor(operation, n):
    """Bus over algorithm bandwidth: (n-1)/n, and 2(n-1)/n for all-reduce. Broadcasts.

    It counts the bytes that one chip of a flat ring sends, per byte of the array (all-gather: as gathered;
    reduce-scatter: before scattering; all-to-all and permute: what one chip has to send).

    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 8), bus_factor("all_reduce", 2)
    (1.75, 0.875, 1.0)
    """
    if operation not in OPERATIONS:
        raise ScalingError(f"operation must be one of {', '.join(OPERATIONS)}, got {operation!r}")
    (n,), reason = plain(_ranks(n))
    others = (n - 1) / n
    return sealed(reason, {"all_reduce": 2 * others, "permute": others**0}.get(operation, others))


def wire_factor(operation, n, algorithm="ring"):
    """Bytes on the busiest link, one direction, per byte of the array. Broadcasts.

    With "nvls" the switch adds, and each chip also sends and receives its own share: (n+1)/n for all-reduce.
    "sharp" is the least that any switch needs: 1. "tree": 2 from four chips on.

    >>> wire_factor("all_reduce", 8, "nvls"), wire_factor("all_reduce", 8), wire_factor("all_reduce", 8, "sharp")
    (1.125, 1.75, 1.0)
    """
    if algorithm == "ring":
        return bus_factor(operation, n)
    if algorithm not in ALGORITHMS or operation != "all_reduce":
        known = ALGORITHMS if operation == "all_reduce" else ("ring",)
        raise ScalingError(f"algorithm must be one of {', '.join(known)} for {operation}, got {algorithm!r}")
    (n,), reason = plain(_ranks(n))
    factors = {"nvls": (n + 1) / n, "sharp": 1.0 + 0 * n, "tree": 2.0 - (n <= 3) * 0.5 - (n <= 2) * 0.5}
    return sealed(reason, factors[algorithm] * (n > 1))


def bandwidths(operation, n, *, nbytes=None, time_s=None, bus=None, algorithm="ring", link_bytes_per_s=None):
    """The three bandwidths of one collective, from its time or from the bus bandwidth that a tool printed.

    Args:
      operation: all_gather, reduce_scatter, all_reduce, all_to_all (nbytes: what one chip sends), permute.
      n: chips that take part.
      nbytes, time_s: the array [bytes] and the time [s]; or
      bus: bus bandwidth [bytes/s].
      algorithm: what really ran: ring, tree, nvls, sharp.
      link_bytes_per_s: rate of one chip's links, one direction: traffic above it is refused.

    Raises:
      ScalingError: the wire would carry more than its rate, so algorithm or figure is wrong.

    >>> print(bandwidths("all_reduce", 8, bus=480e9, algorithm="nvls", link_bytes_per_s=450e9))
    algorithm 274 GB/s, bus 480 GB/s, wire 309 GB/s
    """
    measured, link = {"nbytes": nbytes, "time_s": time_s}, {"link_bytes_per_s": link_bytes_per_s}
    if {nbytes is not None, time_s is not None} != {bus is None}:
        raise ScalingError("give nbytes and time_s, or bus, not both")
    given = measured if bus is None else {"bus": bus}
    checked = {name: positive(name, x) for name, x in (given | link).items() if x is not None}
    # One chip sends nothing over a bus: no rate follows from it.
    checked["n"] = _ranks(n) if bus is None else at_least("n", n, 2, "numbers of chips")
    broadcastable(**checked)
    values, reason = plain(*checked.values())
    a = dict(zip(checked, values, strict=True))
    a["n"] = a["n"] if bus is None else np.maximum(a["n"], 2)  # masked entries must not divide by nothing
    factor, wire = bus_factor(operation, a["n"]), wire_factor(operation, a["n"], algorithm)
    rate = a["nbytes"] / a["time_s"] if bus is None else a["bus"] / factor
    if link_bytes_per_s is not None:
        _fits(rate * wire, a["link_bytes_per_s"], reason, f"{operation} did not run as {algorithm}")
    return Bandwidths(*(sealed(reason, rate * x) for x in (1.0, factor, wire)))


def _fits(wire, link, reason, why):
    """Refuses traffic above its link's rate, entry by entry; the message names the worst."""
    wire, link, reason = np.broadcast_arrays(wire, link, 0 if reason is None else reason)
    over = np.where(reason == 0, wire / link, 0.0).ravel()
    if over.size and over.max() > 1:
        worst = over.argmax()
        most, rate = si(wire.ravel()[worst], "B/s"), si(link.ravel()[worst], "B/s")
        raise ScalingError(f"a link of {rate} cannot carry {most}: {why}, or the figure is not a bus bandwidth")


def ragged_share(n, k, exact=True):
    """Share of a dense all-to-all that k random destinations a token need, over n groups of chips. Broadcasts.

    A token whose k choices fall into few groups is sent to each group once, and to its own for nothing:
    (1 - ((n-1)/n)^k) · (n-1)/n on average. The usual estimate min(k/n, 1) · (n-1)/n is higher by up to half.

    >>> ragged_share(8, 4), ragged_share(8, 4, exact=False)
    (0.362091064453125, 0.4375)
    """
    n, k = _ranks(n), positive("k", k)
    broadcastable(n=n, k=k)
    (n, k), reason = plain(n, k)
    away = (n - 1) / n
    nearest = k / n - (k / n > 1) * (k / n - 1)
    return sealed(reason, (1 - away**k if exact else nearest) * away)


def _ranks(n):
    return at_least("n", n, 1, "numbers of chips")
