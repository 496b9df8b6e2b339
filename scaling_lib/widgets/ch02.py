"""Chapter 2's explorer: the links of a TPU slice, and how long an array takes between two of its chips."""

import math
from functools import cache, partial
from itertools import permutations

import numpy as np

from scaling_lib import hardware
from scaling_lib.hardware.shapes import shapes_of, text
from scaling_lib.widgets import charts
from scaling_lib.widgets.display import Display
from scaling_lib.widgets.explorer import Control, Explorer, Readout, Say, Table

CHIPS = ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-7x")
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 28)
KILOBYTES = (*(n * 10**k for k in range(6) for n in (1, 2, 3, 4, 5, 6, 8)), 10**6)
WHERE = ("neighbour", "farthest")
SHAPE = ("chip", "x", "y", "z")
DOMAIN = (1e-9, 10.0)


def slice_explorer():
    """Chip × lengths of three axes × array × target: links, rings, hosts, and the time to move the array.

    >>> slice_explorer().describe({"x": 3, "y": 5})[:33]
    'TPU v5p has no slice of 3 × 5 × 4'
    """
    return Display(_explorer())


@cache
def _explorer():
    titles = tuple(hardware.chip(name).title for name in CHIPS)
    return Explorer(
        name="ch02-slice",
        title="Inside a slice an array moves over several links at once; outside it, over a thin straw",
        controls=(
            Control("chip", "Chip", CHIPS, "tpu-v5p", titles),
            Control("to", "Send it to", WHERE, "farthest", ("a neighbour", "the farthest chip")),
            Control("size", "Array (kB)", KILOBYTES, 20000, wide=True),
            Control("x", "Axis X (chips)", LENGTHS, 4),
            Control("y", "Axis Y (chips)", LENGTHS, 4),
            Control("z", "Axis Z (chips; 1 on a 2D torus)", LENGTHS, 4),
        ),
        tables=TABLES,
        readouts=READOUTS,
        says=SAYS,
        rows=ROWS,
        chart=charts.bars(tuple(BARS.items()), DOMAIN, x_title="time for the array (s)"),
        drawn=DRAWN,
        still=partial(_still, rows=tuple(BARS.items()), x_domain=DOMAIN, x_title="time for the array (s)"),
    )


def _slice(chip, x, y, z):
    """The slice of these lengths, in whatever order its axes are named; None where there is none."""
    lengths = tuple(int(n) for n in ((x, y, z) if hardware.chip(chip).ici_axes == 3 else (x, y)))
    if hardware.chip(chip).ici_axes == 2 and z != 1:
        return None
    legal = set(shapes_of(chip, math.prod(lengths)))
    shape = next((s for s in sorted(set(permutations(lengths))) if s in legal), None)
    return shape and hardware.TpuSlice(chip, shape)


@cache
def _figures(chip, x, y, z):
    """{name: figure} of one slice; NaN where there is no such slice, or nothing of the kind."""
    s = _slice(chip, x, y, z)
    if s is None:
        return dict.fromkeys(("exists", "hosts", "links", "rings", "open", "cut", *WHERE, *map(_ways, WHERE)), math.nan)
    here = (0,) * len(s.shape)
    ends = [n // 2 if wraps else n - 1 for n, wraps in zip(s.shape, s.wraps, strict=True)]
    lone = s.n_chips == 1
    return {
        "exists": 1.0,
        "hosts": s.n_hosts,
        "links": s.n_links,
        "rings": s.wrap_links,
        "open": 0.0 if s.wrap_links else math.inf,
        "cut": s.bisection_links or math.nan,
        "neighbour": math.nan if lone else 1.0,
        "farthest": math.nan if lone else s.diameter_hops,
        _ways("neighbour"): math.nan if lone else 1.0,
        _ways("farthest"): math.nan if lone else s.ways(here, ends),
    }


def _ways(where):
    return f"ways_{where}"


def _over_slices(figure):
    """A table's function for one figure of a slice, over arrays of lengths."""
    return lambda chip, x, y, z: np.vectorize(lambda *at: _figures(chip, *at)[figure], otypes=[float])(x, y, z)


def _to(figure_of):
    return lambda chip, x, y, z, to: _over_slices(figure_of(to))(chip, x, y, z)


def _possible(chip):
    rules = hardware.TpuSlice(chip, _least(chip)).rules
    small = ", ".join(text(s) for s in rules.small_shapes)
    if rules.cube is None:
        return f"{small}, with Z at 1"
    return f"{small}, and larger ones whose axes are all multiples of {rules.cube}"


def _least(chip):
    return (2, 2, 1) if hardware.chip(chip).ici_axes == 3 else (1, 1)


def _rate(link):
    return lambda chip: hardware.chip(chip).link_bytes_per_s(link) if link in hardware.chip(chip).links else math.nan


TABLES = (
    Table("exists", SHAPE, _over_slices("exists"), log10=True),
    Table("hosts", SHAPE, _over_slices("hosts")),
    Table("links", SHAPE, _over_slices("links")),
    Table("rings", SHAPE, _over_slices("rings")),
    Table("open", SHAPE, _over_slices("open")),
    Table("cut", SHAPE, _over_slices("cut"), log10=True),
    Table("hops", (*SHAPE, "to"), _to(str), log10=True),
    Table("ways", (*SHAPE, "to"), _to(_ways), log10=True),
    Table("n_x", ("x",), lambda x: x, log10=True),
    Table("n_y", ("y",), lambda y: y, log10=True),
    Table("n_z", ("z",), lambda z: z, log10=True),
    Table("nbytes", ("size",), lambda size: 1e3 * np.asarray(size, float), log10=True),
    Table("link", ("chip",), _rate("ici"), log10=True),
    Table("hbm", ("chip",), _rate("hbm"), log10=True),
    Table("pcie", ("chip",), _rate("pcie"), log10=True),
    Table("dcn", ("chip",), _rate("dcn"), log10=True),
    Table("hop_s", ("chip",), lambda chip: hardware.TpuSlice(chip, _least(chip)).rules.ici_hop_s, log10=True),
    Table("possible", ("chip",), _possible),
    *(Table(f"row_{name}", (), lambda label=label: label) for name, label in (
        ("hbm", "read from HBM"), ("ici", "to that chip"), ("pcie", "to the host"), ("dcn", "to another slice"),
    )),
)  # fmt: skip
BARS = {"read from HBM": "hbm", "to that chip": "ici", "to the host": "waiting", "to another slice": "dcn"}

READOUTS = (
    Readout("chips", "add", ("exists", "n_x", "n_y", "n_z")),
    Readout("send_s", "add", ("nbytes", "-link", "-ways")),
    Readout("first_s", "add", ("hops", "hop_s")),
    Readout("time_s", "stack", ("send_s", "first_s")),
    Readout("halves", "add", ("cut", "link")),
    Readout("hbm_s", "add", ("nbytes", "-hbm")),
    Readout("pcie_s", "add", ("nbytes", "-pcie")),
    Readout("dcn_s", "add", ("nbytes", "-dcn")),
)

_SLICE = "{chip} {x} × {y} × {z}: chips {chips:,}, hosts {hosts:,}, links {links:,}, "
_MOVES = (
    "{nbytes:B} to {to}, links that lead there: {ways:,}; {send_s:s} for the bytes, {first_s:s} until the first "
    "arrives. Halves are joined by {cut:,} links, {halves:B/s} each way."
)
SAYS = (
    Say("{chip} has no slice of {x} × {y} × {z} chips. Possible are {possible}.", {"chips": "none"}),
    Say("{chip} {x} × {y} × {z}: one chip, which has nobody to send to.", {"hops": "none"}),
    Say(_SLICE + "none of which closes a ring. " + _MOVES, {"open": "never"}),
    Say(_SLICE + "{rings:,} of which close rings. " + _MOVES),
)
ROWS = (
    ("slice", "{chip} {x} × {y} × {z}"),
    ("chips", "{chips:,}"),
    ("hosts", "{hosts:,}"),
    ("links", "{links:,}"),
    ("links that close rings", "{rings:,}"),
    ("one link, one direction", "{link:B/s}"),
    ("links between two halves", "{cut:,}"),
    ("bandwidth between two halves, one direction", "{halves:B/s}"),
    ("array", "{nbytes:B}"),
    ("hops to the target", "{hops:,}"),
    ("links that lead there", "{ways:,}"),
    ("time for the bytes", "{send_s:s}"),
    ("time until the first arrives", "{first_s:s}"),
    ("time until the last arrives", "{time_s:s}"),
    ("to read it from HBM", "{hbm_s:s}"),
    ("to the host, over PCIe", "{pcie_s:s}"),
    ("to another slice, one chip's share of the network", "{dcn_s:s}"),
)
DRAWN = {
    "bars": (
        {"row": "row_hbm", "x": "hbm_s", "text": "{hbm_s:s}"},
        {"row": "row_ici", "x": "time_s", "text": "{time_s:s}"},
        {"row": "row_pcie", "x": "pcie_s", "text": "{pcie_s:s}"},
        {"row": "row_dcn", "x": "dcn_s", "text": "{dcn_s:s}"},
    ),
}


def _still(drawn, title, **frame):
    # Imported here: matplotlib is wanted only where a picture is made.
    from scaling_lib.widgets import fallback

    return fallback.bars(drawn, title, **frame)
