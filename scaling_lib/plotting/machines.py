"""Drawings of chips and machines: a TPU's and a GPU's parts, slices of a torus, a cluster's switches.

Every figure in a drawing comes from the catalogue or from the machine itself; each returns a `Picture`.
"""

import itertools

from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from scaling_lib.hardware import chip as find_chip
from scaling_lib.plotting import style
from scaling_lib.plotting.style import COLORS, INK, Picture
from scaling_lib.units import si

# A link that leaves the drawing at one edge and comes back at the opposite one.
OPEN = {"color": COLORS["dcn"], "lw": 1.2, "ls": ":", "zorder": 1}


def chip_drawing(chip):
    """A chip's units and memories, with their sizes and the bandwidths between them.

    >>> chip_drawing("tpu-v5e").describe()[:66]
    'TPU v5e: 1 TensorCore with 4 MXUs of 128 × 128 cells, one vector u'
    """
    chip = find_chip(chip) if isinstance(chip, str) else chip
    return _tpu(chip) if chip.kind == "tpu" else _gpu(chip)


def slice_drawing(s):
    """The chips of a slice and their links; dotted ends are links that close rings; shaded by host on a 2D slice.

    Args:
      s: a `TpuSlice`; up to 16 × 16 chips in two dimensions, 4 × 4 × 8 in three.

    >>> from scaling_lib.hardware import TpuSlice
    >>> slice_drawing(TpuSlice("tpu-v5e", (4, 4))).describe()
    'TPU v5e 4x4: 16 chips on 2 hosts, 24 links, none of which closes a ring; the farthest chips are 6 links apart.'
    """
    shape = "x".join(map(str, s.shape))
    wrapped = (
        "none of which closes a ring"
        if not s.wrap_links
        else f"{s.wrap_links} of which close rings (dotted: out at one edge, in at the other)"
    )
    hosts = f"{s.n_hosts} host{'s' * (s.n_hosts > 1)}"
    says = (
        f"{s.chip.title} {shape}: {s.n_chips} chips on {hosts}, {s.n_links} links, {wrapped}; "
        f"the farthest chips are {s.diameter_hops} links apart."
    )
    with style.book_style():
        figure, axes = _canvas(_slice_title(s, shape), size=(4.8, 3.0 if len(s.shape) == 2 else 4.0))
        (_flat if len(s.shape) == 2 else _solid)(axes, s)
        axes.set_aspect("equal")
    columns = {
        "chips": [s.n_chips], "hosts": [s.n_hosts], "links": [s.n_links], "closing rings": [s.wrap_links],
        "hops across": [s.diameter_hops], "bisection [GB/s]": [s.bisection_bytes_per_s / 1e9],
    }  # fmt: skip
    return Picture(figure, says, columns)


def cluster_drawing(cluster, shown=3):
    """Nodes of a GPU cluster, their NVLink switches, and the fat tree above.

    Args:
      cluster: a `GpuCluster` of several nodes of 8.
      shown: nodes drawn; the others are a row of dots.

    >>> from scaling_lib.hardware import GpuCluster
    >>> cluster_drawing(GpuCluster("h100", 1024)).describe()[:70]
    'H100 SXM: 128 nodes of 8 GPUs; 450 GB/s per GPU and direction inside a'
    """
    tree, per = cluster.fat_tree, cluster.node
    inside, outside = si(cluster.gpu_bytes_per_s, "B/s"), si(cluster.scaleout_bytes_per_s, "B/s")
    says = (
        f"{cluster.chip.title}: {cluster.n_nodes} nodes of {per} GPUs; {inside} per GPU and direction inside a node, "
        f"{outside} between nodes, over {tree.leaf} leaf and {tree.spine} spine switches."
    )
    with style.book_style():
        figure, axes = _canvas(f"Inside a node {inside} per GPU; between nodes {outside}", size=(4.8, 4.0))
        width = per * 1.0
        leaves, spines = _row(axes, 8, 0, 3 * width + 4, 7.2, "dcn"), _row(axes, 5, 0, 3 * width + 4, 9.6, "dcn")
        for leaf, spine in itertools.product(leaves, spines):
            axes.plot([leaf, spine], [7.6, 9.2], color=COLORS["dcn"], lw=0.4, alpha=0.6)
        for node in range(shown):
            _node(axes, node * (width + 2), per, leaves)
        for y, words in ((10.3, f"{tree.spine} spine switches"), (6.55, ""), (4.9, "")):
            axes.text(1.5 * width + 2, y, words, ha="center", va="bottom")
        axes.text(3 * width + 4.6, 7.2, f"{tree.leaf} leaf\nswitches", va="center")
        axes.text(3 * width + 4.6, 1.2, f"… {cluster.n_nodes}\nnodes", va="center")
        axes.text(
            1.5 * width + 2, -1.2, f"{per} GPUs and {cluster.chip.nvswitches} NVLink switches a node", ha="center"
        )
        axes.set_xlim(-0.8, 3 * width + 9)
        axes.set_ylim(-1.8, 11.3)
    columns = {
        "nodes": [cluster.n_nodes], "leaf switches": [tree.leaf], "spine switches": [tree.spine],
        "per GPU inside [GB/s]": [cluster.gpu_bytes_per_s / 1e9],
        "per GPU between [GB/s]": [cluster.scaleout_bytes_per_s / 1e9],
        "per node between [GB/s]": [cluster.node_bytes_per_s / 1e9],
    }  # fmt: skip
    return Picture(figure, says, columns)


# ---- chips ----


def _tpu(c):
    cores, side = c.tensorcores, c.mxu_dim
    vmem = _mib(c.vmem_bytes / cores)
    says = (
        f"{c.title}: {cores} TensorCore{'s' * (cores > 1)} with {c.mxus_per_tensorcore} MXUs of {side} × {side} cells, "
        f"one vector unit and {vmem} of VMEM each, beside {c.hbm_bytes / 2**30:.0f} GiB of HBM "
        f"at {si(c.hbm_bytes_per_s, 'B/s')}; {c.ici_links} ICI links of {si(c.ici_bytes_per_s, 'B/s')} each way."
    )
    with style.book_style():
        figure, axes = _canvas(
            f"A {c.title}: matrix units fed from a scratchpad, which is fed from HBM", size=(4.8, 3.9)
        )
        _box(axes, 0, 1.4, 2.2, 6.6, f"HBM\n\n{c.hbm_bytes / 2**30:.0f} GiB", "hbm")
        tall = 6.6 / cores - 0.3 * (cores - 1)
        for core in range(cores):
            y = 1.4 + core * (tall + 0.6)
            _tensorcore(axes, y, tall, vmem, c)
            _arrow(axes, (2.25, y + tall / 2), (3.75, y + tall / 2))
        axes.text(
            3.0, 8.25, si(c.hbm_bytes_per_s, "B/s"), ha="center", va="bottom", color=COLORS["hbm"], fontweight="bold"
        )
        _ports(axes, f"ICI: {c.ici_links} links of {si(c.ici_bytes_per_s, 'B/s')}", _host_link(c))
        axes.set_xlim(-0.2, 12.2)
        axes.set_ylim(-0.6, 9.2)
    columns = {
        "TensorCores": [cores], "MXUs": [cores * c.mxus_per_tensorcore], "MXU side": [side],
        "VMEM [MiB]": [c.vmem_bytes / 2**20], "HBM [GiB]": [c.hbm_bytes / 2**30],
        "HBM [GB/s]": [c.hbm_bytes_per_s / 1e9], "ICI link [GB/s]": [c.ici_bytes_per_s / 1e9],
    }  # fmt: skip
    return Picture(figure, says, columns)


def _tensorcore(axes, y, tall, vmem, c):
    """One core: VMEM beside its units."""
    _box(axes, 3.8, y, 8.2, tall, "", "waiting", alpha=0.12)
    axes.text(11.85, y + tall - 0.12, "TensorCore", ha="right", va="top", fontsize=8.5)
    inner, top = tall - 0.9, y + 0.2
    _box(axes, 4.0, top, 1.9, tall - 0.4, f"VMEM\n{vmem}", "ici")
    mxus = c.mxus_per_tensorcore
    for i in range(mxus):
        _box(
            axes,
            6.3 + i * 5.5 / mxus,
            top + 0.45 * inner,
            5.5 / mxus - 0.12,
            0.55 * inner,
            "MXU",
            "compute",
            fontsize=8,
        )
    _box(axes, 6.3, top, 3.0, 0.4 * inner, "VPU, registers", "compute", alpha=0.5, fontsize=8)
    _box(axes, 9.45, top, 2.23, 0.4 * inner, "scalar unit", "waiting", fontsize=8)
    _arrow(axes, (5.9, top + 0.7 * inner), (6.3, top + 0.7 * inner))
    _arrow(axes, (5.9, top + 0.2 * inner), (6.3, top + 0.2 * inner))


def _gpu(c):
    smem = f"{c.smem_bytes_per_sm / 2**10:.0f} KiB"
    says = (
        f"{c.title}: {c.sms} SMs, each with four Tensor Cores, 128 CUDA cores and {smem} of L1 and shared memory, "
        f"around {_mib(c.l2_bytes)} of L2 and {c.hbm_bytes / 1e9:.0f} GB of HBM at {si(c.hbm_bytes_per_s, 'B/s')}; "
        f"{c.nvlink_links} NVLinks, together {si(c.nvlink_bytes_per_s, 'B/s')} each way."
    )
    with style.book_style():
        figure, axes = _canvas(f"An {c.title}: {c.sms} small cores around one cache", size=(4.8, 3.9))
        _box(axes, 0, 1.4, 2.0, 6.6, f"HBM\n\n{c.hbm_bytes / 1e9:.0f} GB", "hbm")
        _box(axes, 3.0, 1.4, 1.6, 6.6, f"L2\n\n{_mib(c.l2_bytes)}", "ici")
        _arrow(axes, (2.05, 4.7), (2.95, 4.7))
        axes.text(
            2.5, 8.25, si(c.hbm_bytes_per_s, "B/s"), ha="center", va="bottom", color=COLORS["hbm"], fontweight="bold"
        )
        for i in range(4):
            _box(axes, 11.55 - 0.12 * i, 1.4 + 0.12 * i, 0.5, 6.3, "", "waiting", alpha=0.15)
        _streaming_multiprocessor(axes, smem)
        _arrow(axes, (4.65, 4.7), (5.35, 4.7))
        axes.text(8.5, 8.25, f"one SM of {c.sms}", ha="center", va="bottom", fontweight="bold")
        links = f"NVLink: {c.nvlink_links} links, {si(c.nvlink_bytes_per_s, 'B/s')}"
        _ports(axes, links, _host_link(c))
        axes.set_xlim(-0.2, 12.4)
        axes.set_ylim(-0.6, 9.2)
    columns = {
        "SMs": [c.sms], "L1 and SMEM of an SM [KiB]": [c.smem_bytes_per_sm / 2**10], "L2 [MiB]": [c.l2_bytes / 2**20],
        "HBM [GB]": [c.hbm_bytes / 1e9], "HBM [GB/s]": [c.hbm_bytes_per_s / 1e9],
        "NVLink [GB/s]": [c.nvlink_bytes_per_s / 1e9],
    }  # fmt: skip
    return Picture(figure, says, columns)


def _streaming_multiprocessor(axes, smem):
    _box(axes, 5.4, 1.4, 6.0, 6.6, "", "waiting", alpha=0.12)
    _box(axes, 5.6, 1.55, 5.6, 1.0, f"L1 and shared memory, {smem}", "ici", fontsize=8)
    for i, j in itertools.product(range(2), range(2)):
        x, y = 5.6 + 2.85 * i, 2.7 + 2.65 * j
        _box(axes, x, y, 2.75, 2.5, "", "waiting", alpha=0.2)
        _box(axes, x + 0.15, y + 1.3, 2.45, 1.05, "Tensor Core", "compute", fontsize=8)
        _box(axes, x + 0.15, y + 0.15, 2.45, 1.0, "32 lanes,\nregisters", "compute", alpha=0.5, fontsize=8)


def _ports(axes, network, host):
    _box(axes, 0, -0.4, 7.4, 1.1, network, "ici", alpha=0.3, fontsize=8.5)
    _box(axes, 7.6, -0.4, 4.4, 1.1, host, "dcn", alpha=0.3, fontsize=8.5)


def _host_link(c):
    return f"PCIe: {si(c.pcie_bytes_per_s, 'B/s')}" if c.pcie_bytes_per_s else "host"


def _mib(nbytes):
    return f"{nbytes / 2**20:.0f} MiB"


# ---- slices ----


def _slice_title(s, shape):
    if not s.wrap_links:
        return f"A {s.chip.title} {shape} has no wraparound: its edges end"
    rings = "every axis" if all(s.wraps) else "the axis of 16 only"
    return f"A {s.chip.title} {shape} wraps on {rings}"


def _flat(axes, s):
    rows, columns = s.shape
    tall, wide = s.host_shape
    for i, j in itertools.product(range(0, rows, tall), range(0, columns, wide)):
        _box(axes, j - 0.42, -i - tall + 0.58, wide - 0.16, tall - 0.16, "", "waiting", alpha=0.15)
    for i, j in itertools.product(range(rows), range(columns)):
        if i + 1 < rows:
            axes.plot([j, j], [-i, -i - 1], color=COLORS["ici"], lw=1.6, zorder=1)
        if j + 1 < columns:
            axes.plot([j, j + 1], [-i, -i], color=COLORS["ici"], lw=1.6, zorder=1)
        axes.add_patch(Circle((j, -i), 0.2, color=INK, zorder=2))
    for j in range(columns) if s.wraps[0] else ():
        for a, b in ((0, 0.7), (1 - rows, 0.3 - rows)):
            axes.plot([j, j], [a, b], **OPEN)
    for i in range(rows) if s.wraps[1] else ():
        for a, b in ((0, -0.7), (columns - 1, columns - 0.3)):
            axes.plot([a, b], [-i, -i], **OPEN)
    axes.set_xlim(-0.9, columns - 0.1)
    axes.set_ylim(-rows + 0.1, 0.9)


def _solid(axes, s):
    """A 3D slice, seen from the front left; rings are drawn as dotted ends."""
    step = ((1.0, 0.0), (0.42, 0.3), (0.0, 1.0))

    def at(place):
        return tuple(sum(p * d[k] for p, d in zip(place, step, strict=True)) for k in range(2))

    for place in s.coordinates():
        for axis, n in enumerate(s.shape):
            x, y = at(place)
            if place[axis] + 1 < n:
                to = at([p + (k == axis) for k, p in enumerate(place)])
                axes.plot([x, to[0]], [y, to[1]], color=COLORS["ici"], lw=1.0, zorder=1)
            for end, sign in ((0, -1), (n - 1, 1)):
                if s.wraps[axis] and place[axis] == end:
                    dx, dy = (0.45 * sign * d for d in step[axis])
                    axes.plot([x, x + dx], [y, y + dy], **OPEN)
        axes.add_patch(Circle(at(place), 0.085, color=INK, zorder=2))


# ---- clusters ----


def _node(axes, x, per, leaves):
    """GPUs of a node over its NVLink switch; a cable from each GPU's network card to a leaf switch of its own."""
    _box(axes, x - 0.5, -0.4, per, 4.4, "", "waiting", alpha=0.12)
    _box(axes, x - 0.2, 0, per - 0.6, 1.0, "NVLink switches", "ici", fontsize=8)
    for i in range(per):
        axes.plot([x + i, x + i], [1.0, 2.4], color=COLORS["ici"], lw=1.6)
        _box(axes, x + i - 0.38, 2.4, 0.76, 1.2, "", "compute")
        axes.plot([x + i, leaves[i]], [3.6, 6.8], color=COLORS["dcn"], lw=0.5, alpha=0.7)


def _row(axes, count, left, right, y, role):
    gap = (right - left) / count
    centres = [left + gap * (i + 0.5) - 0.5 for i in range(count)]
    for x in centres:
        _box(axes, x - 0.8, y - 0.4, 1.6, 0.8, "", role)
    return centres


# ---- pieces ----


def _canvas(title, size):
    figure, axes = style.new_axes(title, size=size)
    axes.set_axis_off()
    return figure, axes


def _box(axes, x, y, width, height, words, role, alpha=0.3, fontsize=9):
    shape = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.12", fc=(COLORS[role], alpha),
                           ec=COLORS[role], lw=1.0)  # fmt: skip
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height / 2, words, ha="center", va="center", fontsize=fontsize)


def _arrow(axes, a, b):
    axes.add_patch(FancyArrowPatch(a, b, arrowstyle="<->", mutation_scale=10, lw=1.4, color=INK))
