"""Rooflines, ridge points, rates against batch size, and scaling curves.

Every function returns a `Picture`: the figure, one sentence that says what it shows, and the numbers drawn.
"""

import itertools

import numpy as np

from scaling_lib.hardware import Chip
from scaling_lib.hardware import chip as find_chip
from scaling_lib.hardware import chips as all_chips
from scaling_lib.plotting import style, words
from scaling_lib.plotting.style import COLORS, DASHES, INK, Picture
from scaling_lib.roofline import attainable_flops_per_s, critical_batch, matmul_work, ridge_point, time_bounds
from scaling_lib.units import ScalingError, legal_dtype, positive, si

LINK_COLORS = {"hbm": COLORS["hbm"], "ici": COLORS["ici"], "ici_axis": COLORS["ici"], "nvlink": COLORS["ici"]}


def roofline(chips, points=None, *, dtype="bf16", link="hbm", title=None):
    """Attainable FLOP/s against intensity for one chip or several, with named operations on the roof.

    Args:
      chips: a chip, a chip's name, or a list of either.
      points: {name: intensity [FLOP/byte] or anything with `.intensity`}; each is drawn on every roof.
      dtype: of the arithmetic.
      link: where the bytes come from ("hbm", "ici", ...).
      title: a sentence; by default it states where the ridge is.

    Raises:
      ScalingError: no chip; an intensity is no positive number; and the errors of `ridge_point`.

    >>> roofline("tpu-v5e", {"dot product": 0.5}).describe()
    'On TPU v5e (bf16, HBM) the ridge is at 240 FLOP/byte: dot product (0.5 FLOP/byte) can reach 0.21% of the peak.'
    """
    chips, points = _chips(chips), _intensities(points)
    ridges = [ridge_point(c, dtype=dtype, link=link) for c in chips]
    title = title or words.roofline_title(chips, ridges)
    low = 10 ** np.floor(np.log10(min([*points.values(), 1.0])) - 0.3)
    high = 10 ** np.ceil(np.log10(max([*points.values(), 4 * max(ridges)])))
    with style.book_style():
        figure, axes = style.new_axes(title)
        for c, ridge, dash in zip(chips, ridges, itertools.cycle(DASHES), strict=False):
            _draw_roof(axes, c, ridge, (low, high), dtype, link, dash)
        for i, (name, at) in enumerate(points.items()):
            _draw_point(axes, name, at, [_attainable(c, at, dtype, link) for c in chips], above=i % 2)
        _name_axes(axes, "intensity (FLOPs per byte)", "attainable TFLOP/s")
    return Picture(
        figure, words.roofline_says(chips, ridges, points, dtype, link), _roofline_table(chips, points, dtype, link)
    )


def ridge_chart(chips=None, *, dtype="bf16", link="hbm"):
    """The ridge point of every chip in the catalogue, one bar a chip; a new chip appears by itself.

    Raises:
      UnknownDtype: no such dtype.
      ScalingError: no chip has a rate for dtype and a bandwidth for link.
    """
    legal_dtype(dtype)
    chips = [c for c in (all_chips() if chips is None else _chips(chips)) if dtype in c.dtypes and link in c.links]
    if not chips:
        raise ScalingError(f"chips must hold one with a {dtype} rate and a {link} bandwidth, got none")
    ridges = np.array([ridge_point(c, dtype=dtype, link=link) for c in chips])
    least, most = int(ridges.argmin()), int(ridges.argmax())
    with style.book_style():
        figure, axes = style.new_axes(words.ridge_title(chips, ridges))
        at = np.arange(len(chips))[::-1]
        bars = axes.barh(at, ridges, height=0.55, color=COLORS["compute"])
        for bar, c in zip(bars, chips, strict=True):
            bar.set_alpha(1.0 if c.kind == "tpu" else 0.6)
        for y, ridge in zip(at, ridges, strict=True):
            axes.text(ridge + ridges.max() / 60, y, f"{ridge:.0f}", va="center")
        axes.set_yticks(at, [c.title for c in chips])
        axes.grid(visible=False, axis="y")
        axes.set_xlim(0, ridges.max() * 1.12)
        axes.set_xlabel(f"ridge point, {dtype} from {link.upper()} (FLOP/byte)")
    says = (
        f"Ridge points for {dtype} out of {link.upper()}: from {ridges[least]:.0f} FLOP/byte on {chips[least].title} "
        f"to {ridges[most]:.0f} on {chips[most].title}."
    )
    return Picture(figure, says, {"chip": [c.title for c in chips], "ridge point [FLOP/byte]": ridges})


def attained_rate(chip, sizes, *, x="bf16", w="bf16", out="bf16", batches=None):
    """Attainable FLOP/s of `X[B, D] · W[D, F]` against the batch B, one line for each D = F.

    Args:
      chip: a chip or its name.
      sizes: values of D = F, largest first reads best.
      x, w, out: dtypes of the activations, the weights and the result.
      batches: where to draw; default 1 to 16k.

    Raises:
      ScalingError: no size; a size or a batch is no positive number; and the errors of `time_bounds`.
    """
    chip = _one(chip)
    sizes = [positive("sizes", size) for size in _some("sizes", sizes)]
    batches = np.geomspace(1, 16384, 200) if batches is None else _plain("batches", batches)
    every = {s: critical_batch(chip, d=s, f=s, x=x, w=w, out=out) for s in sizes}
    columns, knees = {"B": batches}, {}
    with style.book_style():
        figure, axes = style.new_axes(words.attained_title(chip, every))
        for size, dash in zip(sizes, itertools.cycle(DASHES), strict=False):
            times = time_bounds(matmul_work(batches, size, size, x=x, w=w, out=out), chip)
            rate = 2 * batches * size * size / times.lower_s
            knees[size] = every[size]
            _two_colours(axes, batches, rate / 1e12, batches < knees[size], dash, COLORS["hbm"])
            _label_knee(axes, size, knees[size], batches, rate / 1e12, row=len(knees))
            columns[f"TFLOP/s at D = F = {size:.0f}"] = rate / 1e12
        axes.margins(y=0.16)
        _name_axes(axes, "batch B (tokens)", "attainable TFLOP/s")
    return Picture(figure, words.attained_says(chip, knees, w), {k: v[::10] for k, v in columns.items()})


def against_measurement(chip, batches, measured_s, *, d, f, dtype="bf16", source):
    """Predicted bounds of a matmul's time against its batch, with published measurements as points.

    Args:
      chip: a chip or its name.
      batches, measured_s: the measured rows B and their times [s].
      d, f: the matmul is `[B, d] · [d, f]`.
      source: who measured; shown in the sentence.

    Raises:
      ScalingError: a batch, a time or a size is no positive number, fewer than two of them; and the errors of
        `time_bounds`.
    """
    chip = _one(chip)
    batches, measured = _plain("batches", batches), _plain("measured_s", measured_s)
    if batches.shape != measured.shape or len(batches) < 2:
        raise ScalingError(f"measured_s must hold a time for each of batches, got {measured.size} for {batches.size}")
    dense = np.geomspace(batches.min(), batches.max(), 200)
    bounds = time_bounds(matmul_work(dense, d, f, x=dtype, w=dtype, out=dtype), chip)
    at = time_bounds(matmul_work(batches, d, f, x=dtype, w=dtype, out=dtype), chip)
    ratio = measured / at.lower_s
    with style.book_style():
        figure, axes = style.new_axes(
            f"Measured: {ratio.min():.2f} to {ratio.max():.2f} times the predicted lower bound"
        )
        axes.fill_between(dense, bounds.lower_s * 1e6, bounds.upper_s * 1e6, color=COLORS["waiting"], alpha=0.2, lw=0)
        _two_colours(axes, dense, bounds.lower_s * 1e6, bounds.memory_s > bounds.math_s, "-", COLORS["hbm"])
        axes.plot(batches, measured * 1e6, "o", color=INK, ms=5)
        _label_bounds(axes, batches, measured, dense, bounds)
        _name_axes(axes, "batch B (tokens)", "time (µs)", subs=(1, 2, 5))
    says = (
        f"[B, {d}] times [{d}, {f}] on {chip.title}: from B = {batches[0]:.0f} to {batches[-1]:.0f} "
        f"the measured times ({source}) are {ratio.min():.2f} to {ratio.max():.2f} times the roofline's lower bound."
    )
    columns = {"B": batches, "lower bound [µs]": at.lower_s * 1e6, "upper bound [µs]": at.upper_s * 1e6}
    return Picture(figure, says, {**columns, "measured [µs]": measured * 1e6, "measured / lower": ratio})


def measured_roofline(measured):
    """A roofline measured on a machine (`referee.measure_roofline`): circles predicted, crosses measured."""
    peak, stream = measured.peak_flops_per_s.median, measured.stream_bytes_per_s.median
    intensity = np.array([p.intensity for p in measured.points])
    predicted = np.array([p.predicted_flops_per_s for p in measured.points])
    attained = np.array([p.flops_per_s.median for p in measured.points])
    ridge, ratio = measured.ridge_point, attained / predicted
    x = np.geomspace(min(intensity.min(), ridge) / 3, max(intensity.max(), ridge) * 3, 200)
    with style.book_style():
        figure, axes = style.new_axes(f"This machine's ridge: {ridge:.3g} FLOPs per byte")
        _two_colours(axes, x, np.minimum(peak, stream * x) / 1e9, x < ridge, "-", COLORS["hbm"])
        axes.plot(intensity, predicted / 1e9, "o", mfc="none", mec=INK, ms=8)
        axes.plot(intensity, attained / 1e9, "x", color=INK, ms=6, mew=2)
        for p in measured.points:
            where = {"xytext": (0, -13), "ha": "center"}
            style.direct_label(axes, p.intensity, p.flops_per_s.median / 1e9, f"B = {p.batch}", INK, **where)
        axes.margins(y=0.12)
        _name_axes(axes, "intensity (FLOPs per byte); ○ predicted, × measured", "GFLOP/s", subs=(1, 3))
    says = (
        f"On {measured.device} the measured peak is {si(peak, 'FLOP/s')} and the measured bandwidth "
        f"{si(stream, 'B/s')}, a ridge of {ridge:.3g} FLOP/byte; the matmuls reached "
        f"{ratio.min():.0%} to {ratio.max():.0%} of their prediction."
    )
    columns = {"B": [p.batch for p in measured.points], "intensity [FLOP/byte]": intensity}
    columns |= {"predicted [GFLOP/s]": predicted / 1e9, "measured [GFLOP/s]": attained / 1e9}
    return Picture(figure, says, {**columns, "measured / predicted": ratio})


def strong_and_weak_scaling(compute_s=0.64, exchange_s=0.01, max_chips=1024):
    """Speed-up against chips: the same problem on more chips, and a problem that grows with them.

    A step needs `compute_s` on one chip, and an exchange of `exchange_s` however many chips there are,
    fully overlapped. Strong scaling divides the arithmetic; weak scaling gives every chip that much.

    Raises:
      ScalingError: an argument is no positive number, or max_chips is below 1.

    >>> strong_and_weak_scaling(0.64, 0.01, 1024).describe()
    'Fixed problem: the speed-up follows the ideal line up to 64 chips and stays at 64; growing problem: ...'
    """
    compute_s, exchange_s = positive("compute_s", compute_s), positive("exchange_s", exchange_s)
    if positive("max_chips", max_chips) < 1:
        raise ScalingError(f"max_chips must be at least 1, got {max_chips!r}")
    chips = 2.0 ** np.arange(0, np.log2(max_chips) + 1e-9, 0.25)
    strong = compute_s / np.maximum(compute_s / chips, exchange_s)
    weak = chips * compute_s / max(compute_s, exchange_s)
    knee = compute_s / exchange_s
    with style.book_style():
        figure, axes = style.new_axes(words.scaling_title(knee, chips[-1]))
        _two_colours(axes, chips, strong, chips > knee, "-", COLORS["ici"])
        # Circles, since the two lines are one until the knee.
        axes.plot(chips, weak, "o", color=COLORS["compute"], ls="--", ms=8, mfc="none", markevery=4)
        style.direct_label(
            axes,
            chips[-1],
            weak[-1],
            "○ weak scaling:\nthe problem grows",
            COLORS["compute"],
            xytext=(-36, -4),
            ha="right",
        )
        style.direct_label(
            axes,
            chips[-1],
            strong[-1],
            "strong scaling:\nthe exchange\ntakes over" if knee < chips[-1] else "strong scaling",
            COLORS["ici" if knee < chips[-1] else "compute"],
            xytext=(0, -25 if knee < chips[-1] else -90),
            ha="right",
        )
        _name_axes(axes, "chips", "speed-up over one chip")
    says = words.scaling_says(knee, chips, strong, weak)
    return Picture(figure, says, {"chips": chips[::4], "strong": strong[::4], "weak": weak[::4]})


def _chips(chips):
    chips = chips if isinstance(chips, list | tuple) else [chips]
    return [c if isinstance(c, Chip) else find_chip(c) for c in _some("chips", chips)]


def _one(chip):
    if isinstance(chip, list | tuple):
        raise ScalingError(f"chip must be one chip, got {len(chip)}")
    return _chips(chip)[0]


def _some(name, values):
    if not len(values):
        raise ScalingError(f"{name} must hold at least one, got none")
    return values


def _plain(name, values):
    """An array of legal positive numbers; one that is not is refused, for a figure can show no gap."""
    return np.array([positive(name, value) for value in _some(name, values)])


def _intensities(points):
    return {
        name: positive(f"the intensity of {name}", getattr(p, "intensity", p)) for name, p in (points or {}).items()
    }


def _attainable(chip, intensity, dtype, link):
    return attainable_flops_per_s(chip, intensity, dtype=dtype, link=link)


def _two_colours(axes, x, y, waits, dash, wait_color):
    """One line: in the colour of what it waits for, and in the colour of compute where it computes."""
    waits = np.asarray(waits)
    for part, color in ((waits, wait_color), (~waits, COLORS["compute"])):
        if part.any():
            joined = part | np.roll(part, 1) & np.r_[False, np.ones(len(x) - 1, bool)]
            axes.plot(x[joined], y[joined], color=color, ls=dash, solid_capstyle="butt")


def _draw_roof(axes, chip, ridge, span, dtype, link, dash):
    x = np.array([span[0], ridge, span[1]])
    y = _attainable(chip, x, dtype, link) / 1e12
    axes.plot(x[:2], y[:2], color=LINK_COLORS.get(link, COLORS["dcn"]), ls=dash)
    axes.plot(x[1:], y[1:], color=COLORS["compute"], ls=dash)
    style.direct_label(axes, x[2], y[2], chip.title, COLORS["compute"], xytext=(-2, 8), ha="right")


def _draw_point(axes, name, at, rates, *, above):
    axes.plot([at] * len(rates), np.array(rates) / 1e12, "o", color=INK, ms=6, zorder=5)
    where = {"xytext": (-8, 8), "ha": "right"} if above else {"xytext": (8, -9), "ha": "left"}
    style.direct_label(axes, at, (max if above else min)(rates) / 1e12, name, INK, **where)


def _label_knee(axes, size, knee, batches, rate, row):
    """Name a line at its knee, above the roof; a line that has none, at its end."""
    name = f"D = F = {size:.0f}"
    if np.isfinite(knee) and knee <= batches[-1]:
        axes.plot([knee], [rate[-1]], "o", color=INK, ms=5, zorder=5)
        where = {"xytext": (0, 12 * row), "ha": "left" if row % 2 == 0 else "right"}
        style.direct_label(axes, knee, rate[-1], f"{name}: B = {knee:.0f}", INK, **where)
    else:
        style.direct_label(axes, batches[-1], rate[-1], name, COLORS["hbm"], xytext=(0, -10), ha="right")


def _label_bounds(axes, batches, measured, dense, bounds):
    axes.set_ylim(bounds.lower_s.min() * 1e6 / 1.7, max(measured.max(), bounds.upper_s.max()) * 1e6 * 1.3)
    style.direct_label(axes, batches[1], measured[1] * 1e6, "measured", INK, xytext=(0, 12))
    style.direct_label(axes, dense[0], bounds.lower_s[0] * 1e6, "memory time", COLORS["hbm"], xytext=(2, -10))
    late = int(0.85 * len(dense))
    style.direct_label(
        axes, dense[late], bounds.lower_s[late] * 1e6, "compute\ntime", COLORS["compute"], xytext=(8, -16)
    )


def _name_axes(axes, x, y, subs=(1,)):
    style.log_axis(axes.xaxis)
    style.log_axis(axes.yaxis, subs=subs)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _roofline_table(chips, points, dtype, link):
    rows = [(c.title, name, at, _attainable(c, at, dtype, link) / 1e12) for c in chips for name, at in points.items()]
    rows += [
        (c.title, "ridge", ridge_point(c, dtype=dtype, link=link), c.peak_flops_per_s(dtype) / 1e12) for c in chips
    ]
    return dict(
        zip(
            ("chip", "operation", "intensity [FLOP/byte]", "attainable TFLOP/s"),
            map(list, zip(*rows, strict=True)),
            strict=True,
        )
    )
