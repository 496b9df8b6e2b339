r"""How long collectives take on tori, switches and hierarchies of both: exact bytes on the busiest link, exact hops.

*Bandwidth* part: the bytes that the busiest link must carry in one direction, over its rate. *Latency* part: the fixed
cost of the hops on the longest way. `lower_s` lets everything overlap (hops are pipelined, and so are levels);
`upper_s` nothing (each hop waits for its whole shard, each level for the one before).
"""

import math
from dataclasses import dataclass

from scaling_lib import loads
from scaling_lib.estimate import binding, lower_s, upper_s
from scaling_lib.hardware.interconnect import TpuSlice
from scaling_lib.hardware.mesh import levels_of
from scaling_lib.units import ScalingError, broadcastable, non_negative, plain, sealed, wholes


@dataclass(frozen=True, eq=False)
class CollectiveTime:
    """How long one collective takes. Fields may be arrays.

    Attributes:
      stages: {link: seconds it is busy}: ici, nvlink, scaleout, dcn.
      latency_s: fixed cost of the hops on the longest way [s].

    >>> t = CollectiveTime({"nvlink": 2.0, "scaleout": 5.0}, 1.0)
    >>> t.bandwidth_s, t.lower_s, t.upper_s, t.bound, t.busiest
    (5.0, 5.0, 8.0, 'network', 'scaleout')
    """

    stages: dict
    latency_s: float

    @property
    def bandwidth_s(self):
        """Time the busiest link is busy [s]."""
        return lower_s(*self.stages.values())

    @property
    def lower_s(self):
        """Everything overlaps: the larger of bandwidth and latency [s]."""
        return lower_s(self.bandwidth_s, self.latency_s)

    @property
    def upper_s(self):
        """Nothing overlaps: every stage in turn, and the latency [s]."""
        return upper_s(*self.stages.values(), self.latency_s)

    @property
    def bound(self):
        """What takes longer: network or latency."""
        return binding(network=self.bandwidth_s, latency=self.latency_s)

    @property
    def busiest(self):
        """The link that is busy longest."""
        return binding(**self.stages)

    def __add__(self, other):
        """One after the other: a collective that needs the result of the first."""
        if not isinstance(other, CollectiveTime):
            return NotImplemented
        links = dict.fromkeys([*self.stages, *other.stages])
        return CollectiveTime(
            {link: upper_s(self.stages.get(link, 0.0), other.stages.get(link, 0.0)) for link in links},
            upper_s(self.latency_s, other.latency_s),
        )


def all_gather_time(nbytes, mesh, axes=None, *, hop_latency_s=None):
    r"""Time to all-gather an array A[I_X, ...] -> A[I, ...] over mesh axes.

    Every chip of N starts with nbytes/N and ends with nbytes. On a torus the chip with the fewest links is the
    limit: it takes in all but its own shard, and the array can be split so that all its links finish together.

    .. math:: T = \frac{N-1}{N}\,\frac{V}{\sum_i d_i W}, \quad d_i = 2 \text{ on a ring}, 1 \text{ on a line}

    A mesh axis that shares the links of a hardware axis with k groups has d_i/k; then the slowest subset of axes
    binds. Through a switch T = (N-1)/N · V/W. In a hierarchy the outer level moves V/N_inner a chip.

    Args:
      nbytes: V, the whole array of one group, as it is after gathering [bytes]. An array that other mesh axes
        shard as well counts divided by them. Broadcasts.
      mesh: a `Mesh`, or a machine (`TpuSlice`, `MultiSlice`, `GpuCluster`) all of which takes part.
      axes: mesh axis or axes: "X", "XY", ("X", "Y"); None for all.
      hop_latency_s: fixed cost of one hop on every level [s]; the catalogue's unless given. Broadcasts.

    Returns:
      CollectiveTime: `.bandwidth_s`, `.latency_s`, `.lower_s`, `.upper_s`, `.bound`; all times [s].

    Raises:
      UnknownAxis: `mesh` has no such axis (names those it has).
      ScalingError: nbytes is negative or not finite.

    Assumes: links idle otherwise; equal shards; a balanced split over several axes. Whole shards hop by hop take
      `upper_s` on tori of rings, on one line and through switches; small chunks come down to `lower_s` everywhere.
    Source: smallest cuts, and link-level simulation (tests/link_simulator.py, which shares no code with this file).

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> all_gather_time(34e6, Mesh(TpuSlice("tpu-v5e", (16, 16)), X=16, Y=16), "X").bandwidth_s
    0.000354166...
    """
    return _timed(loads.gathered, nbytes, mesh, axes, hop_latency_s)


def reduce_scatter_time(nbytes, mesh, axes=None, *, hop_latency_s=None):
    """Time to reduce-scatter an array A[I]{U_X} -> A[I_X]: an all-gather run backwards, and as long.

    Args:
      nbytes: the array of one group before it is scattered: what every chip holds [bytes]. Broadcasts.
      mesh, axes, hop_latency_s: as for `all_gather_time`.

    Returns:
      CollectiveTime, as `all_gather_time`.

    Raises:
      UnknownAxis, ScalingError: as `all_gather_time`.

    Assumes: as `all_gather_time`; adding costs nothing beside sending.
    Source: as `all_gather_time`, with every message the other way round.

    >>> from scaling_lib.hardware import GpuCluster
    >>> reduce_scatter_time(1e9, GpuCluster("b200", 8)).bandwidth_s
    0.00097222...
    """
    return _timed(loads.gathered, nbytes, mesh, axes, hop_latency_s)


def all_reduce_time(nbytes, mesh, axes=None, *, algorithm=None, hop_latency_s=None):
    """Time to all-reduce an array A[I]{U_X} -> A[I].

    Args:
      nbytes: the array of one group: what every chip holds before and after [bytes]. Broadcasts.
      mesh, axes, hop_latency_s: as for `all_gather_time`.
      algorithm: None: reduce-scatter level by level, then all-gather back: twice an all-gather.
        On one torus axis "pipelined": both halves at once; no gain on a ring, but a line moves only V instead of
        2(n-1)/n · V over its busiest link. On switches "ring": one ring through all chips and nodes; "tree": double
        binary trees, 2V on a busy link but 2·log2(n) steps; "nvls": the node's switch adds, and each chip also
        sends and receives its own share, (n+1)/n · V; "sharp": in-network reduction at its best, V, on every level.

    Returns:
      CollectiveTime, as `all_gather_time`.

    Raises:
      UnknownAxis, ScalingError: as `all_gather_time`; or the machine cannot do that algorithm: the message says which
        it can.

    Assumes: as `reduce_scatter_time`. The bounds are those of the algorithm: where there are lines "pipelined" goes
      below the first. Switches that add reach about 1.3 times a ring's rate in practice, not 1.75.
    Source: simulations of each algorithm, link by link (tests/link_simulator.py, tests/switch_simulator.py).

    >>> from scaling_lib.hardware import GpuCluster
    >>> node = GpuCluster("h100", 8)
    >>> [round(1e6 * all_reduce_time(1e9, node, algorithm=a).bandwidth_s) for a in (None, "tree", "nvls", "sharp")]
    [3889, 4444, 2500, 2222]
    """
    if algorithm is None:
        once = _timed(loads.gathered, nbytes, mesh, axes, hop_latency_s)
        return once + once
    return _timed(loads.reduced_by(algorithm, levels_of(mesh, axes)), nbytes, mesh, axes, hop_latency_s)


def all_to_all_time(nbytes, mesh, axes=None, *, hop_latency_s=None):
    r"""Time of an all-to-all A[I_X, J] -> A[I, J_X]: every chip sends 1/N of what it has to every chip.

    On a torus with shortest ways the busiest link lies in the middle of the slowest axis:

    .. math:: T = \max_i \frac{\lfloor n_i^2/4 \rfloor}{d_i\, n_i\, N}\,\frac{V}{W}

    which is V/(8W) on a long ring, V/(4W) on a line. Through a switch T = (N-1)/N² · V/W.

    Args:
      nbytes: V, the whole array of one group, all chips together [bytes]. Broadcasts.
      mesh, axes, hop_latency_s: as for `all_gather_time`.

    Returns:
      CollectiveTime, as `all_gather_time`.

    Raises:
      UnknownAxis, ScalingError: as `all_gather_time`.

    Assumes: equal blocks; the half-way block of an even ring is split over both ways round.
    Source: the cut across the slowest axis, which ways along one axis after another meet.

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> all_to_all_time(1e9, TpuSlice("tpu-v5e", (16, 16))).bandwidth_s
    0.00017361...
    """
    return _timed(loads.exchanged, nbytes, mesh, axes, hop_latency_s)


def permute_time(nbytes, mesh, axes=None, *, shift=1, cyclic=True, hop_latency_s=None):
    """Time to send from every chip to the one `shift` places on, along a mesh axis.

    On one torus axis of n the busiest link carries min(shift, n - shift) messages. On several axes places are those
    of the ring order (`Mesh.links(axes).order`), along which messages go. Through a switch one leaves each chip.

    Args:
      nbytes: what one chip sends [bytes]. Broadcasts.
      mesh, axes, hop_latency_s: as for `all_gather_time`.
      shift: places, 1 to n - 1.
      cyclic: the last chips send to the first; on a line that is the long way back.

    Returns:
      CollectiveTime, as `all_gather_time`.

    Raises:
      UnknownAxis, ScalingError: as `all_gather_time`; or there is no such shift: the message says which there are.

    Assumes: links idle otherwise; messages take the short way round, and of a half-way shift half each way.
    Source: messages counted link by link (tests/link_simulator.py).

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> t = permute_time(45e6, Mesh(TpuSlice("tpu-v5e", (4, 8)), X=4, Y=8), "X")
    >>> t.bandwidth_s, t.latency_s
    (0.001, 3e-06)
    """
    n = math.prod(level.n for level in levels_of(mesh, axes))
    if wholes([shift]) is None or shift >= max(n, 2):
        raise ScalingError(f"shift must be a whole number of places from 1 to {max(n - 1, 1)}, got {shift!r}")
    return _timed(lambda levels: loads.shifted(levels, shift, cyclic), nbytes, mesh, axes, hop_latency_s)


def transfer_time(nbytes, torus, source, target, *, hop_latency_s=None):
    """Time to send an array from one chip of a slice to another.

    It is split over all links that lead there: one for each axis along which the chips differ, both half-way round.

    Args:
      nbytes: the array [bytes]. Broadcasts.
      torus: a `TpuSlice`; source, target: coordinates of the two chips.
      hop_latency_s: fixed cost of one hop [s]; the catalogue's unless given. Broadcasts.

    Returns:
      CollectiveTime, as `all_gather_time`.

    Raises:
      ScalingError: nbytes is negative or not finite; torus is no `TpuSlice`, or a chip is not on it.

    Assumes: links idle otherwise; all ways carry the same share at the same time, and each is as long as the shortest.
    Source: chapter 2; the links counted that a message can leave by (`TpuSlice.ways`).

    >>> from scaling_lib.hardware import TpuSlice
    >>> t = transfer_time(2 * 8 * 128 * 8192, TpuSlice("tpu-v5e", (4, 4)), (0, 0), (3, 3))
    >>> t.latency_s, t.upper_s
    (6e-06, 0.000192413...)
    """
    if not isinstance(torus, TpuSlice):
        raise ScalingError(f"torus must be a TpuSlice, got {torus!r}")
    hops, ports = torus.distance(source, target), torus.ways(source, target)
    (volume,), reason = plain(non_negative("nbytes", nbytes))
    time_s = volume / (max(ports, 1) * torus.link_bytes_per_s) if ports else 0 * volume
    hop_s = torus.rules.ici_hop_s if hop_latency_s is None else non_negative("hop_latency_s", hop_latency_s)
    broadcastable(nbytes=volume, hop_latency_s=hop_s)
    return CollectiveTime({"ici": sealed(reason, time_s)}, hops * hop_s)


def _timed(cost, nbytes, mesh, axes, hop_latency_s):
    """`cost(levels)` gives [(level, share of nbytes on its busiest link, hops)]; this turns it into seconds."""
    levels = levels_of(mesh, axes)
    hop = None if hop_latency_s is None else non_negative("hop_latency_s", hop_latency_s)
    (volume,), reason = plain(non_negative("nbytes", nbytes))
    broadcastable(nbytes=volume, hop_latency_s=0.0 if hop is None else hop)
    stages, latency = {}, 0.0
    for level, share, hops in cost(levels):
        stages[level.name] = sealed(reason, volume * (share / loads.bytes_per_s(level)))
        latency = latency + hops * (level.hop_s if hop is None else hop)
    return CollectiveTime(stages, latency)
