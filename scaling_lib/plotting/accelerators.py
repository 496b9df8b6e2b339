"""Charts of what chips do with shapes: rows on an array, tiles and bytes, the vector unit, a ladder of bandwidths."""

import numpy as np

from scaling_lib.hardware import chip as find_chip
from scaling_lib.plotting import style
from scaling_lib.plotting.style import COLORS, DASHES, INK, Picture
from scaling_lib.roofline import attainable_flops_per_s, ridge_point
from scaling_lib.systolic import systolic_utilisation
from scaling_lib.tiling import tile_bytes, tiled_matmul_bytes
from scaling_lib.units import si
from scaling_lib.work import dot_work, elementwise_work, layer_norm_work

LADDER = {
    "VMEM / shared memory": ("vmem", "smem"),
    "L2": ("l2",),
    "HBM": ("hbm",),
    "network, all links": ("ici", "nvlink"),
    "PCIe": ("pcie",),
    "data centre": ("dcn", "scaleout"),
}


def array_utilisation(sides=(128, 256), size=4096):
    """Share of a systolic array's multiplications that are needed, against the rows M of x [M, size] · w [size, size].

    >>> array_utilisation().describe()[:67]
    'Share of its cells that an array keeps busy on [M, 4096] · [4096, 4'
    """
    rows = np.geomspace(1, 8192, 150).round()
    columns, parts = {"M": rows}, []
    with style.book_style():
        figure, axes = style.new_axes(f"With fewer rows than {sides[0]} an array waits for its weights")
        for side, dash in zip(sides, DASHES, strict=False):
            share = systolic_utilisation(rows, size, size, side)
            columns[f"share, {side} × {side}"] = share
            axes.plot(rows, 100 * share, color=COLORS["compute"], ls=dash)
            at = systolic_utilisation(side, size, size, side)
            axes.plot([side], [100 * at], "o", color=INK, ms=5)
            where = {"xytext": (-6, 8), "ha": "right"} if side == sides[0] else {"xytext": (8, -10)}
            style.direct_label(axes, side, 100 * at, f"{side} × {side}", COLORS["compute"], **where)
            few = systolic_utilisation(8, size, size, side)
            parts.append(f"{side} × {side}: {100 * few:.2g}% with 8 rows, {100 * at:.0f}% with {side}")
        style.log_axis(axes.xaxis)
        axes.set_ylim(0, 108)
        axes.set_xlabel("rows M (tokens)")
        axes.set_ylabel("cells that multiply (%)")
    says = f"Share of its cells that an array keeps busy on [M, {size}] · [{size}, {size}]: {'; '.join(parts)}."
    return Picture(figure, says, {name: values[::12] for name, values in columns.items()})


def tiles_and_bytes(chip="tpu-v5e", size=8192):
    """Memory time of a square bf16 product against the side of its tiles, with the arithmetic's time beside it."""
    chip = find_chip(chip) if isinstance(chip, str) else chip
    fast = chip.vmem_bytes if chip.kind == "tpu" else chip.l2_bytes
    name = "VMEM" if chip.kind == "tpu" else "L2"
    tiles = 2.0 ** np.arange(5, np.log2(size) + 0.01)
    memory_s = tiled_matmul_bytes(size, size, size, tiles, tiles) / chip.hbm_bytes_per_s
    math_s = 2 * size**3 / chip.peak_flops_per_s()
    fits = tile_bytes(tiles, tiles, 512) <= fast
    enough = tiles[memory_s <= math_s][0]
    with style.book_style():
        figure, axes = style.new_axes(f"Tiles of {enough:.0f} keep a {chip.title} fed; smaller ones starve it")
        axes.plot(tiles[fits], 1e3 * memory_s[fits], "o-", color=COLORS["hbm"], ms=5)
        axes.plot(tiles[~fits], 1e3 * memory_s[~fits], "o", mfc="none", mec=COLORS["hbm"], ms=5)
        axes.axhline(1e3 * math_s, color=COLORS["compute"])
        style.direct_label(axes, tiles[0], 1e3 * math_s, "arithmetic", COLORS["compute"], xytext=(0, -9))
        style.direct_label(axes, tiles[1], 1e3 * memory_s[1], "memory", COLORS["hbm"], xytext=(10, 6))
        if not fits.all():
            where = {"xytext": (4, -12), "ha": "right"}
            style.direct_label(axes, tiles[-1], 1e3 * memory_s[-1], f"too large for {name}", INK, **where)
        axes.set_ylim(0.5e3 * memory_s[-1], 1.5e3 * memory_s[0])
        style.log_axis(axes.xaxis)
        style.log_axis(axes.yaxis, subs=(1, 3))
        axes.set_xlabel("side of a tile of the result")
        axes.set_ylabel("time (ms)")
    says = (
        f"A bf16 product of side {size} on {chip.title}: arithmetic {si(math_s, 's')}; memory "
        f"{si(memory_s[0], 's')} with tiles of {tiles[0]:.0f}, {si(memory_s[tiles == enough][0], 's')} with tiles "
        f"of {enough:.0f}."
    )
    columns = {
        "side of a tile": tiles,
        "memory [ms]": 1e3 * memory_s,
        "arithmetic [ms]": np.full(len(tiles), 1e3 * math_s),
    }
    return Picture(figure, says, columns)


def vector_roofline(chip="tpu-v5e"):
    """The rooflines of a chip's two units, matrix and vector, out of HBM and out of the fast memory."""
    chip = find_chip(chip) if isinstance(chip, str) else chip
    fast = "vmem" if chip.kind == "tpu" else "smem"
    points = {
        "dot product": dot_work(10**6).intensity,
        "layer norm": layer_norm_work(1024, 8192).intensity,
        "polynomial GELU": elementwise_work(1, flops_per_element=10).intensity,
    }
    ridge, near = (ridge_point(chip, unit="vector", link=link) for link in ("hbm", fast))
    with style.book_style():
        figure, axes = style.new_axes(f"The vector unit's ridge is at {ridge:.2g} FLOPs per byte")
        _two_roofs(axes, chip, fast, (ridge, near))
        for k, (name, at) in enumerate(points.items()):
            rate = attainable_flops_per_s(chip, at, unit="vector") / 1e12
            axes.plot([at], [rate], "o", color=INK, ms=6, zorder=5)
            style.direct_label(axes, at, rate, name, INK, xytext=(9, (-9, -13, 1)[k]))
        style.log_axis(axes.xaxis)
        style.log_axis(axes.yaxis)
        axes.set_xlabel("intensity (FLOPs per byte)")
        axes.set_ylabel("attainable TFLOP/s")
    vector = chip.peak_flops_per_s(unit="vector")
    says = (
        f"On {chip.title} the vector unit does {si(vector, 'FLOP/s')}, {chip.peak_flops_per_s() / vector:.0f} times "
        f"less than the matrix units; its ridge is at {ridge:.2g} FLOP/byte out of HBM and {near:.2g} out of "
        f"{fast.upper()}."
    )
    rates = [attainable_flops_per_s(chip, at, unit="vector") / 1e12 for at in points.values()]
    return Picture(figure, says, {"operation": list(points), "FLOP/byte": list(points.values()), "TFLOP/s": rates})


def _two_roofs(axes, chip, fast, ridges):
    """The matrix units' roofline dashed; the vector unit's out of HBM and out of the fast memory."""
    ridge, near = ridges
    x = np.geomspace(0.02, 2000, 200)
    axes.plot(x, attainable_flops_per_s(chip, x) / 1e12, color=COLORS["compute"], ls="--")
    vector = chip.peak_flops_per_s(unit="vector") / 1e12
    axes.plot([near, x[-1]], [vector] * 2, color=COLORS["compute"])
    for words, roof in (("matrix unit", chip.peak_flops_per_s() / 1e12), ("vector unit", vector)):
        style.direct_label(axes, x[-1], roof, words, COLORS["compute"], xytext=(-2, 8), ha="right")
    for link, knee, color in (("hbm", ridge, COLORS["hbm"]), (fast, near, COLORS["ici"])):
        slope = np.array([x[0], knee])
        axes.plot(slope, slope * chip.link_bytes_per_s(link) / 1e12, color=color)
        where = {"xytext": (8, -8)} if link == "hbm" else {"xytext": (-6, 8), "ha": "right"}
        at = x[22]
        style.direct_label(axes, at, at * chip.link_bytes_per_s(link) / 1e12, link.upper(), color, **where)


def bandwidth_ladder(chips=("tpu-v5e", "tpu-v5p", "h100")):
    """Bandwidths of a chip's memories and links beside each other, one direction, on a log axis."""
    chips = [find_chip(c) if isinstance(c, str) else c for c in chips]
    rates = {c.title: [_rate(c, links) for links in LADDER.values()] for c in chips}
    at, thick = np.arange(len(LADDER))[::-1], 0.8 / len(chips)
    with style.book_style():
        figure, axes = style.new_axes("Each step away from the arithmetic has less bandwidth", size=(4.8, 4.2))
        for k, (c, color) in enumerate(zip(chips, style.SERIES, strict=False)):
            values = np.array([rate or np.nan for rate in rates[c.title]]) / 1e9
            bars = axes.barh(at + 0.4 - thick * (k + 0.5), values, height=thick * 0.9, color=color)
            for bar, value in zip(bars, values, strict=True):
                if np.isfinite(value):
                    axes.text(
                        value * 1.15,
                        bar.get_y() + bar.get_height() / 2,
                        si(1e9 * value, "B/s"),
                        va="center",
                        fontsize=8,
                    )
            first = np.flatnonzero(np.isfinite(values))[0]
            y = bars[first].get_y() + bars[first].get_height() / 2
            axes.text(1.4, y, c.title, color="white", va="center", fontsize=8, fontweight="bold")
        axes.set_yticks(at, list(LADDER))
        axes.grid(visible=False, axis="y")
        style.log_axis(axes.xaxis)
        axes.set_xlim(1, 1e6)
        axes.set_xlabel("GB/s per chip (links: one direction)")
    ends = {c.title: [rate for rate in rates[c.title] if rate] for c in chips}
    says = (
        "Bandwidth per chip (links: one direction), from the memory beside the arithmetic to the data centre: "
        + "; ".join(
            f"{title} from {si(most, 'B/s')} to {si(least, 'B/s')}" for title, (most, *_, least) in ends.items()
        )
    )
    columns = {f"{title} [GB/s]": [(rate or np.nan) / 1e9 for rate in found] for title, found in rates.items()}
    return Picture(figure, f"{says}.", {"level": list(LADDER), **columns})


def _rate(c, links):
    """Bandwidth of the first of these links that the chip has; of all ICI links together."""
    for link in links:
        if link in c.links:
            return c.link_bytes_per_s(link) * (c.ici_links if link == "ici" else 1)
    return None
