"""Chapter 1's explorer: where a matrix product stands under a chip's roofline."""

import math
from functools import cache, partial

import numpy as np

from scaling_lib import hardware, roofline
from scaling_lib.units import DTYPES, bytes_per_element
from scaling_lib.widgets import charts
from scaling_lib.widgets.display import Display
from scaling_lib.widgets.explorer import Control, Explorer, Readout, Say, Table

_QUARTERS = tuple(2**k * n // 4 for k in range(6, 14) for n in (4, 5, 6, 7))
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, *_QUARTERS, 16384)
SIZES = (256, 512, 1024, 1536, 2048, 3072, 4096, 5120, 6144, 8192, 12288, 14336, 16384, 20480, 28672, 53248)


def roofline_explorer():
    """Chip × dtype × batch × D × F: the roofline of X[B, D] · W[D, F], and the point that moves on it.

    >>> roofline_explorer().describe({"chip": "h100", "batch": 1})[:13]
    'H100 SXM, bf1'
    """
    return Display(_explorer())


@cache
def _explorer():
    chips = hardware.chips()
    dtypes = tuple(dtype for dtype in DTYPES if any(dtype in chip.dtypes for chip in chips))
    frame = _frame(chips, dtypes)
    return Explorer(
        name="ch01-roofline",
        title="A larger batch raises the intensity, until arithmetic instead of memory sets the pace",
        controls=(
            Control("chip", "Chip", tuple(c.name for c in chips), "tpu-v5e", tuple(c.title for c in chips)),
            Control("dtype", "Number format", dtypes, "bf16", dtypes),
            Control("batch", "Batch B", BATCHES, 64, wide=True),
            Control("d", "Width D", SIZES, 8192),
            Control("f", "Width F", SIZES, 28672),
        ),
        tables=_tables(frame["x_domain"]),
        readouts=READOUTS,
        says=SAYS,
        rows=ROWS,
        chart=charts.roofline(**frame),
        drawn=DRAWN,
        still=partial(_still, frame=frame),
    )


def _tables(x_domain):
    """Everything the page looks up, from the library; log10 where the page needs products and quotients."""
    return (
        Table("peak", ("chip", "dtype"), _peak, log10=True),
        Table("hbm", ("chip",), lambda chip: hardware.chip(chip).hbm_bytes_per_s, log10=True),
        Table("ridge", ("chip", "dtype"), _ridge, log10=True),
        Table("flops_bd", ("batch", "d"), lambda batch, d: roofline.matmul_work(batch, d, 1).flops, log10=True),
        Table("f_size", ("f",), lambda f: f, log10=True),
        Table("per_element", ("batch", "d", "f"), _flops_per_element, log10=True),
        Table("element_bytes", ("dtype",), bytes_per_element, log10=True),
        Table("turns", ("chip", "dtype", "d", "f"), _turns),
        Table("left", (), lambda: x_domain[0], log10=True),
        Table("right", (), lambda: x_domain[1], log10=True),
        Table("has", ("chip",), lambda chip: _and(hardware.chip(chip).dtypes)),
        Table("lacks", ("chip", "dtype"), _lacks),
    )


READOUTS = (
    Readout("intensity", "add", ("per_element", "-element_bytes")),
    Readout("flops", "add", ("flops_bd", "f_size")),
    Readout("bytes", "add", ("flops", "-intensity")),
    Readout("fed", "add", ("hbm", "intensity")),
    Readout("attained", "least", ("peak", "fed")),
    Readout("share", "add", ("attained", "-peak")),
    Readout("math_s", "add", ("flops", "-peak")),
    Readout("memory_s", "add", ("bytes", "-hbm")),
    Readout("time_s", "greatest", ("math_s", "memory_s")),
    Readout("binds", "which", ("math_s", "memory_s")),
    Readout("fed_left", "add", ("hbm", "left")),
    Readout("roof_left", "least", ("peak", "fed_left")),  # nothing where the chip has no such peak
)

_WHERE = (
    "{chip}, {dtype}, batch {batch:,}, D = {d:,}, F = {f:,}: {intensity:3} FLOPs per byte give at most "
    "{attained:FLOP/s}, {share:%} of the peak; the product takes at least {time_s:s}. "
)
SAYS = (
    Say("{chip} has {lacks}. It has {has}.", {"peak": "none"}),
    Say(_WHERE + "Arithmetic binds, as it does from batch {turns:,} on.", {"binds": "math_s"}),
    Say(_WHERE + "Memory binds, and no batch changes that: D and F are too small.", {"turns": "never"}),
    Say(_WHERE + "Memory binds; from batch {turns:,} on, arithmetic does."),
)
ROWS = (
    ("chip", "{chip}"),
    ("number format", "{dtype}"),
    ("batch B, width D, width F", "{batch:,} · {d:,} · {f:,}"),
    ("arithmetic", "{flops:FLOP}"),
    ("memory traffic", "{bytes:B}"),
    ("intensity", "{intensity:3} FLOP/byte"),
    ("ridge of the chip", "{ridge:3} FLOP/byte"),
    ("peak", "{peak:FLOP/s}"),
    ("HBM bandwidth", "{hbm:B/s}"),
    ("attainable", "{attained:FLOP/s}"),
    ("share of the peak", "{share:%}"),
    ("time for the arithmetic", "{math_s:s}"),
    ("time for the memory", "{memory_s:s}"),
    ("batch where arithmetic takes over", "{turns:,}"),
)
DRAWN = {
    "slope": ({"x": "left", "y": "roof_left"}, {"x": "ridge", "y": "peak"}),
    "flat": ({"x": "ridge", "y": "peak"}, {"x": "right", "y": "peak"}),
    "slope_name": ({"x": "left", "y": "roof_left", "x2": "ridge", "y2": "peak", "text": "HBM {hbm:B/s}"},),
    "flat_name": ({"y": "peak", "text": "{dtype} peak {peak:FLOP/s}"},),
    "ridge_name": ({"x": "ridge", "text": "ridge {ridge:3}"},),
    "point": ({"x": "intensity", "y": "attained", "ridge": "ridge", "text": "batch {batch:,}: {share:%}"},),
    "note": ({"text": "{chip} has {lacks}"},),
}


def _can(chip, dtype):
    return dtype in hardware.chip(chip).dtypes


def _lacks(chip, dtype):
    """What to say where there is no rate: not stated is not the same as not there."""
    if _can(chip, dtype):
        return None
    unknown = hardware.chip(chip).origins[f"{dtype}_flops_per_s"].kind == "unknown"
    return f"no published {dtype} rate" if unknown else f"no {dtype} arithmetic"


def _peak(chip, dtype):
    return hardware.chip(chip).peak_flops_per_s(dtype) if _can(chip, dtype) else math.nan


def _ridge(chip, dtype):
    return roofline.ridge_point(hardware.chip(chip), dtype=dtype) if _can(chip, dtype) else math.nan


def _flops_per_element(batch, d, f):
    """FLOPs per element read or written: the intensity of a one-byte format."""
    return roofline.matmul_work(batch, d, f, x="int8", w="int8", out="int8").intensity


def _turns(chip, dtype, d, f):
    """The first whole batch whose arithmetic takes at least as long as its memory traffic."""
    if not _can(chip, dtype):
        return math.nan
    batch = roofline.critical_batch(hardware.chip(chip), d=d, f=f, x=dtype, w=dtype, out=dtype)
    return np.ceil(np.asarray(batch) * (1 - 1e-9))  # an exact 240 may come out a hair above


def _and(names):
    """Names as a sentence lists them.

    >>> _and(("bf16", "int8", "fp8"))
    'bf16, int8 and fp8'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _frame(chips, dtypes):
    """Axes wide enough for every chip and state: a fixed frame, in which chips can be compared."""
    widest = max(bytes_per_element(dtype) for dtype in dtypes)
    narrowest = min(bytes_per_element(dtype) for dtype in dtypes)
    least = _flops_per_element(BATCHES[0], SIZES[0], SIZES[0]) / widest
    most = _flops_per_element(BATCHES[-1], SIZES[-1], SIZES[-1]) / narrowest
    slowest = min(chip.hbm_bytes_per_s for chip in chips) * least
    fastest = max(chip.peak_flops_per_s(dtype) for chip in chips for dtype in chip.dtypes)
    return {
        "x_domain": (least / 2, most * 2),
        "y_domain": (slowest / 8, fastest * 4),  # room for the labels
        "x_title": "intensity (FLOPs per byte)",
        "y_title": "attainable FLOP/s",
    }


def _still(drawn, title, frame):
    # Imported here: matplotlib is wanted only where a picture is made.
    from scaling_lib.widgets import fallback

    return fallback.roofline(drawn, title, **frame)
