"""GPU clusters: nodes whose GPUs share an NVLink switch, joined by a fat tree of network switches.

Bandwidths are of ONE direction. GPU: what one GPU's NVLinks carry. Scale-out: what its network card carries.
"""

from dataclasses import dataclass

from scaling_lib.hardware.catalog import chip as chip_named
from scaling_lib.hardware.links import Switch
from scaling_lib.hardware.rules import ClusterRules, cluster_rules
from scaling_lib.hardware.specs import GpuChip
from scaling_lib.units import ScalingError, UnknownLink, positive, si, whole


@dataclass(frozen=True)
class FatTree:
    """Switches of a full-bandwidth tree of equal switches; `core` is 0 where two levels suffice."""

    leaf: int
    spine: int
    core: int
    leaf_ports: int
    spine_ports: int


@dataclass(frozen=True)
class GpuCluster:
    """GPUs in nodes (NVLink domains), with one network card a GPU and a non-blocking fat tree above.

    Args:
      chip: a GPU's name, or a `GpuChip`.
      n_gpus: GPUs in all: up to one node, or whole nodes.
      node: GPUs of one node; the catalogue's NVLink domain unless given.
      scaleout_bytes_per_s: network card of one GPU, one direction; the catalogue's unless given.

    Raises:
      ScalingError: not whole nodes; the message says what is possible.
      UnknownLink: several nodes, and no scale-out bandwidth is known.

    >>> g = GpuCluster("h100", n_gpus=1024)
    >>> g.n_nodes, g.gpu_bytes_per_s, g.node_bytes_per_s
    (128, 450000000000.0, 400000000000.0)
    """

    chip: GpuChip
    n_gpus: int
    node: int = None
    scaleout_bytes_per_s: float = None

    def __post_init__(self):
        c = chip_named(self.chip) if isinstance(self.chip, str) else self.chip
        if c.kind != "gpu":
            raise ScalingError(f"chip must be a GPU, got {c.title}; a TPU's machine is a TpuSlice")
        node = c.nvlink_domain_chips if self.node is None else whole("node", self.node, of="GPUs")
        n = whole("n_gpus", self.n_gpus, of="GPUs")
        if n > node and n % node:
            raise ScalingError(
                f"n_gpus must be whole nodes of {node}, or fewer than one: possible near {n} are "
                f"{n // node * node} and {-(-n // node) * node}"
            )
        network = c.scaleout_bytes_per_s if self.scaleout_bytes_per_s is None else self.scaleout_bytes_per_s
        if n > node and network is None:
            raise UnknownLink("scaleout", c.links, of=f"{c.title}: give scaleout_bytes_per_s")
        if network is not None:
            network = positive("scaleout_bytes_per_s", network)
            if not isinstance(network, float):
                raise ScalingError(f"scaleout_bytes_per_s must be one number, got {self.scaleout_bytes_per_s!r}")
        for name, value in {"chip": c, "n_gpus": n, "node": min(node, n), "scaleout_bytes_per_s": network}.items():
            object.__setattr__(self, name, value)

    @property
    def rules(self) -> ClusterRules:
        """Switches and latencies, with sources."""
        return cluster_rules(self.chip)

    @property
    def n_chips(self):
        """GPUs in all."""
        return self.n_gpus

    @property
    def n_devices(self):
        """JAX devices in all."""
        return self.n_gpus * self.chip.devices_per_chip

    @property
    def n_nodes(self):
        """NVLink domains."""
        return self.n_gpus // self.node

    @property
    def n_hosts(self):
        """Machines with a processor of their own: a node of 8, or a tray of an NVL72 rack."""
        return -(-self.n_gpus // self.chip.chips_per_host)

    @property
    def gpu_bytes_per_s(self):
        """NVLink of one GPU, one direction [bytes/s]."""
        return self.chip.link_bytes_per_s("nvlink")

    @property
    def node_bytes_per_s(self):
        """Network cards of one node together, one direction [bytes/s]; None if unknown."""
        return None if self.scaleout_bytes_per_s is None else self.node * self.scaleout_bytes_per_s

    @property
    def bisection_bytes_per_s(self):
        """Bandwidth between two halves, one direction [bytes/s]: of one node over NVLink, of several over the network.

        Of an odd number of nodes (or GPUs) the smaller half counts.

        >>> GpuCluster("h100", 8).bisection_bytes_per_s  # 3.6 TB/s counted both ways
        1800000000000.0
        """
        if self.n_nodes == 1:
            return self.n_gpus // 2 * self.gpu_bytes_per_s
        return self.n_nodes // 2 * self.node_bytes_per_s

    @property
    def node_switch_bytes_per_s(self):
        """What the switches of one full node can carry, one direction [bytes/s]; None if unknown."""
        link = self.gpu_bytes_per_s / self.chip.nvlink_links
        ports = self.rules.nvswitch_ports
        return ports and self.chip.nvswitches * ports * link

    @property
    def fat_tree(self):
        """Leaf, spine and core switches of a tree that nowhere narrows.

        Switches of p ports carry p²/2 GPUs in two levels, p³/4 in three (65,536 with 64 ports); more are refused.

        >>> GpuCluster("h100", 1024).fat_tree
        FatTree(leaf=32, spine=16, core=0, leaf_ports=64, spine_ports=64)
        """
        ports, down = self.rules.switch_ports, self.rules.leaf_ports_down
        if ports is None or self.n_nodes == 1:
            raise ScalingError(f"{self!r} has no fat tree: it takes several nodes, and switches that a source states")
        if self.n_gpus > ports**3 // 4:
            raise ScalingError(
                f"n_gpus: three levels of {ports}-port switches carry {ports**3 // 4:,} GPUs, got {self.n_gpus:,}"
            )
        leaf = -(-self.n_gpus // down)
        if self.n_gpus <= ports * ports // 2:
            spine = -(-self.n_gpus // ports)
            return FatTree(leaf, spine, 0, 2 * down, -(-self.n_gpus // spine))
        return FatTree(leaf, -(-self.n_gpus // (ports // 2)), -(-self.n_gpus // ports), 2 * down, ports)

    @property
    def hw_axes(self):
        """{key: (length, wraps)} of the levels a mesh can be laid on: "outer" (between nodes), then "node"."""
        return {"outer": (self.n_nodes, False), "node": (self.node, False)}

    def levels(self, per_node, nodes):
        """A group of so many GPUs in each of so many nodes, inner level first."""
        levels = []
        if per_node > 1 or nodes == 1:
            reduces = bool(self.rules.in_network_reduction)
            levels.append(Switch(per_node, self.gpu_bytes_per_s, self.rules.nvlink_hop_s, "nvlink", reduces))
        if nodes > 1:
            hop = self.rules.scaleout_hop_s
            levels.append(
                Switch(nodes, self.scaleout_bytes_per_s, hop, "scaleout", bool(self.rules.in_network_reduction))
            )
        return tuple(levels)

    def group(self, axes=None):
        """The levels a collective over all GPUs uses: NVLink, then the network."""
        if axes is not None:
            raise ScalingError(f"axes: a cluster has no named axes, got {axes!r}; lay a Mesh on it")
        return self.levels(self.node, self.n_nodes)

    def __repr__(self):
        node = f"{self.node} on NVLink at {si(self.gpu_bytes_per_s, 'B/s')}"
        if self.n_nodes == 1:
            return f"{self.chip.title}: {node} per GPU and direction"
        network = f"{si(self.node_bytes_per_s, 'B/s')} per node and direction between nodes"
        return f"{self.chip.title}: {self.n_gpus:,} GPUs in {self.n_nodes:,} nodes of {node} per GPU, {network}"
