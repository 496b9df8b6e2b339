"""Curves of communication: the knee of a collective, two ways to one product, what the partitioner chooses."""

import collections

import numpy as np

from scaling_lib.plotting import style
from scaling_lib.plotting.style import COLORS, DASHES, Picture
from scaling_lib.sharding import plan_matmul
from scaling_lib.sharding.costs import COLLECTIVES
from scaling_lib.sharding.words import named
from scaling_lib.units import ScalingError, si

TIMES = {op.replace("_", "-"): time for op, time in COLLECTIVES.items()}
LOOKS = {
    "all-gather": ("-", COLORS["ici"]),
    "reduce-scatter": (":", COLORS["dcn"]),
    "all-reduce": ("--", COLORS["compute"]),
    "all-to-all": ("-.", COLORS["hbm"]),
}
VERDICTS = ("same", "equal", "cheaper", "dearer", "unpriced")
COLORS_OF_WAYS = tuple(COLORS[role] for role in ("hbm", "compute", "ici", "dcn"))
VERDICT_COLORS = {
    "same": COLORS["ici"], "equal": COLORS["ici"], "cheaper": COLORS["hbm"], "dearer": COLORS["compute"],
    "unpriced": COLORS["waiting"],
}  # fmt: skip


def collective_knee(mesh, axes, ops=("all-gather", "all-reduce", "all-to-all")):
    """Time of collectives against the size of the array: flat while hops set it, then proportional to the bytes.

    Args:
      mesh, axes: as of `all_gather_time`.
      ops: some of all-gather, reduce-scatter, all-reduce, all-to-all; the title is about the first.

    Returns:
      Picture.

    Raises:
      ScalingError: an unknown collective, or axes of one chip; UnknownAxis: the mesh lacks one.

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> collective_knee(Mesh(TpuSlice("tpu-v5e", (16, 16)), X=16, Y=16), "X").describe()[:64]
    'Over X of 16 chips hops take at least 8 µs for an all-gather, 16'
    """
    unknown = [op for op in ops if op not in TIMES]
    if unknown or not ops:
        raise ScalingError(f"ops: got {unknown[0] if unknown else ops!r}; possible are {', '.join(TIMES)}")
    n = mesh.size(axes)
    if n == 1:
        raise ScalingError(f"axes: {axes!r} has one chip, so nothing is sent; the mesh is {mesh!r}")
    nbytes = np.geomspace(1e3, 1e9, 61)
    times = {op: TIMES[op](nbytes, mesh, axes) for op in ops}
    knees = {op: TIMES[op](1.0, mesh, axes).latency_s / TIMES[op](1.0, mesh, axes).bandwidth_s for op in ops}
    first = ops[0]
    with style.book_style():
        title = f"{_a(first)} of less than {si(knees[first], 'B')} waits for its hops"
        figure, axes_ = style.new_axes(title[0].upper() + title[1:])
        for op in ops:
            dash, color = LOOKS[op]
            axes_.plot(nbytes, times[op].lower_s, dash, color=color)
            axes_.fill_between(nbytes, times[op].lower_s, times[op].upper_s, color=color, alpha=0.25, linewidth=0)
            end = np.asarray(times[op].lower_s)[-1]
            style.direct_label(axes_, nbytes[-1], end, op, color, fontsize=8.5)
        style.log_axis(axes_.xaxis)
        style.log_axis(axes_.yaxis)
        axes_.set(xlabel="array of one group (bytes)", ylabel="time", xlim=(1e3, 1e9))
        axes_.yaxis.set_major_formatter(lambda value, _: si(value, "s"))
    says = ", ".join(f"{si(TIMES[op](1.0, mesh, axes).latency_s, 's')} for {_a(op)}" for op in ops)
    bends = ", ".join(si(knees[op], "B") for op in ops)
    over = named(mesh.parse(axes))
    sentence = f"Over {over} of {n} chips hops take at least {says}; bytes take over at {bends}."
    data = {"bytes": nbytes[::5]}
    data |= {f"{op}, at least (s)": np.asarray(times[op].lower_s)[::5] for op in ops}
    return Picture(figure, sentence, data)


def _a(op):
    return f"{'a' if op.startswith('r') else 'an'} {op}"


def ways_to_multiply(product, sizes, mesh, ways, *, over, values, title=None):
    """Time of several ways to compute one product, against one of its sizes.

    Args:
      product, sizes, mesh: as of `plan_matmul`; axes that no array names stay idle.
      ways: {label: `via` of `plan_matmul`}.
      over: the dimension that varies; values: its sizes.
      title: a sentence; by default the first way's name and where it stops being the cheapest.

    Returns:
      Picture.

    Raises:
      ScalingError: no way or more than four; NotationError: as of `plan_matmul`.

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> mesh = Mesh(TpuSlice("tpu-v5p", (4, 4, 8)), Y=4, Z=4, X=8)
    >>> ways = {"gather": "A[B, D] * W[D, F]", "reduce": "A[B, D_X] * W[D_X, F]"}
    >>> sizes = {"B": 8, "D": 8192, "F": 32768}
    >>> drawn = ways_to_multiply("A[B, D] * W[D_X, F] -> C[B, F]", sizes, mesh, ways, over="B", values=[512, 8192])
    >>> drawn.describe()
    'At B = 512 the cheapest is reduce (401 µs), at B = 8,192 reduce (6.42 ms).'
    """
    if not 1 <= len(ways) <= len(COLORS_OF_WAYS):
        raise ScalingError(f"ways: 1 to {len(COLORS_OF_WAYS)} can be drawn, got {len(ways)}")
    values = [int(v) for v in values]
    plans = {label: plan_matmul(product, sizes, mesh, use_idle=False, via=via) for label, via in ways.items()}
    times = {label: [plan.at({**sizes, over: v}).time.in_turn_s for v in values] for label, plan in plans.items()}
    best = [min(ways, key=lambda label: times[label][i]) for i in range(len(values))]
    turns = [values[i] for i in range(1, len(values)) if best[i] != best[i - 1]]
    with style.book_style():
        default = f"“{best[0]}” wins below {over} = {turns[0]:,}" if turns else f"“{best[0]}” always wins"
        figure, axes = style.new_axes(title or default)
        for (label, seconds), dash, color in zip(times.items(), DASHES, COLORS_OF_WAYS, strict=False):
            axes.plot(values, seconds, dash, color=color)
            style.direct_label(axes, values[-1], seconds[-1], label, color, fontsize=8.5)
        style.log_axis(axes.xaxis)
        style.log_axis(axes.yaxis, subs=(1, 2, 5))
        axes.set(xlabel=f"{over}, elements", ylabel="time, steps in turn", xlim=(values[0], values[-1]))
        axes.yaxis.set_major_formatter(lambda value, _: si(value, "s"))
    first, last = best[0], best[-1]
    sentence = (
        f"At {over} = {values[0]:,} the cheapest is {first} ({si(times[first][0], 's')}), "
        f"at {over} = {values[-1]:,} {last} ({si(times[last][-1], 's')})."
    )
    keep = slice(None, None, max(1, len(values) // 12))
    data = {over: np.array(values)[keep]} | {f"{label} (s)": np.array(s)[keep] for label, s in times.items()}
    return Picture(figure, sentence, data)


def partitioner_choices(kinds):
    """How often the partitioner's own choice is the plan's, costs as much, less or more, and why, one bar a class.

    Args:
      kinds: the class of every product, keys of `referee.CLASSES`; those it was not asked for are left out.

    >>> partitioner_choices(["same"] * 6 + ["dearer: gathers"] * 3 + ["not asked"]).describe()
    'Of 9 products 6 are the same (67%) and 3 dearer (33%); the largest class of the dearer is gathers (3).'
    """
    counts = collections.Counter(kind for kind in kinds if kind != "not asked")
    total = sum(counts.values())
    if not total:
        raise ScalingError("kinds: no product was asked for, so there is nothing to draw")
    order = sorted(counts, key=lambda kind: (VERDICTS.index(kind.split(":")[0]), -counts[kind]))
    verdicts = collections.Counter()
    for kind, n in counts.items():
        verdicts[kind.split(":")[0]] += n
    alike = verdicts["same"] + verdicts["equal"]
    with style.book_style():
        title = f"Left alone, jit costs as little as the plan in {100 * alike / total:.0f}% of products"
        figure, axes = style.new_axes(title, size=(4.8, 1.1 + 0.27 * len(order)))
        at = np.arange(len(order))[::-1]
        colors = [VERDICT_COLORS[kind.split(":")[0]] for kind in order]
        axes.barh(at, [counts[kind] for kind in order], height=0.6, color=colors)
        for y, kind in zip(at, order, strict=True):
            axes.text(counts[kind] + max(counts.values()) / 60, y, str(counts[kind]), va="center", fontsize=9)
        axes.set(yticks=at, yticklabels=order, xlabel="products")
        axes.tick_params(axis="y", labelsize=8.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlim(0, 1.12 * max(counts.values()))
    parts = [
        f"{n} {'are the same' if v == 'same' else v} ({100 * n / total:.0f}%)" for v in VERDICTS if (n := verdicts[v])
    ]
    dearer = [kind for kind in order if kind.startswith("dearer")]
    worst = f"; the largest class of the dearer is {dearer[0].split(': ')[1]} ({counts[dearer[0]]})" if dearer else ""
    sentence = f"Of {total} products {named(parts)}{worst}."
    return Picture(figure, sentence, {"class": order, "products": [float(counts[kind]) for kind in order]})
