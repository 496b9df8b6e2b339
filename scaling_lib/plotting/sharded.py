"""Drawings of sharded arrays and of products of them: which chip holds which block, what it lacks, what it computes."""

import itertools
import math

from scaling_lib.plotting import style
from scaling_lib.plotting.style import COLORS, INK, Picture
from scaling_lib.sharding import Sharding, parse_sharding
from scaling_lib.sharding.words import named
from scaling_lib.units import ScalingError, si

MOST_CHIPS, MOST_ARRAYS = 16, 6  # more do not fit into a drawing


def sharded_arrays(shardings, mesh, chip=None):
    """Arrays of two dimensions over one mesh: every block with the chips that hold it, one chip's blocks filled.

    Args:
      shardings: text or `Sharding`, one to six.
      mesh: {axis: chips}, or a `Mesh`; up to 16 chips.
      chip: whose blocks are filled, {axis: place}; the chip one step along the first axis by default.

    Returns:
      Picture.

    Raises:
      ScalingError: none or too many arrays, or one that cannot be drawn; NotationError: as of `parse_sharding`.

    >>> sharded_arrays(["A[I_XY, J]", "A[I_YX, J]"], {"X": 2, "Y": 2}).describe()[-76:]
    'chip (1, 0) holds block (2, 0) of A[I_XY, J] and block (1, 0) of A[I_YX, J].'
    """
    if not 1 <= len(shardings) <= MOST_ARRAYS:
        raise ScalingError(f"shardings: 1 to {MOST_ARRAYS} can be drawn, got {len(shardings)}")
    mesh = dict(getattr(mesh, "sizes", mesh))
    parsed = [parse_sharding(s, mesh) if isinstance(s, str) else s for s in shardings]
    _drawable(parsed, mesh)
    chip = chip or {axis: int(i == 0) for i, axis in enumerate(mesh)}
    columns = min(len(parsed), 2)
    rows = math.ceil(len(parsed) / columns)
    place = _place(chip, mesh)
    with style.book_style():
        figure, axes = style.new_axes(f"Subscripts say which block chip {place} holds", size=(4.8, 0.6 + 2.0 * rows))
        _bare(axes, (0, 2.5 * columns), (-2.35 * rows, 0.25))
        for i, sharding in enumerate(parsed):
            at = 2.5 * (i % columns) + 0.3, -2.35 * (i // columns) - 0.35
            _array(axes, sharding, mesh, at, 1.7, held={sharding.block(chip, mesh): "hbm"}, owners=True)
    held = [f"block {_place_of(s.block(chip, mesh))} of {s}" for s in parsed]
    sizes = ", ".join(f"{axis}={n}" for axis, n in mesh.items())
    sentence = f"On a mesh of {math.prod(mesh.values())} chips ({sizes}) chip {place} holds {named(held)}."
    data = {
        "array": [str(s) for s in parsed],
        "blocks": [math.prod(s.shards(mesh)) for s in parsed],
        "copies of each": [s.copies(mesh) for s in parsed],
        f"block of chip {place}": [_place_of(s.block(chip, mesh)) for s in parsed],
    }
    return Picture(figure, sentence, data)


def product_drawing(plan, chip=None):
    """One chip's view of a sharded product of two matrices: what it holds, what comes in, what it computes, what stays.

    Args:
      plan: a `Plan` of arrays with two dimensions each.
      chip: {axis: place}; the chip one step along the first axis by default.

    Returns:
      Picture.

    Raises:
      ScalingError: an array of other than two dimensions, or more than 16 chips.

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> from scaling_lib.sharding import plan_matmul
    >>> mesh = Mesh(TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
    >>> plan = plan_matmul("A[I_X, J] * B[J, K_X] -> C[I_X, K]", dict.fromkeys("IJK", 4096), mesh, use_idle=False)
    >>> product_drawing(plan).describe()[:64]
    'Chip (1, 0) holds 1/4 of A and 1/4 of B; 3/4 of B come in over X'
    """
    mesh = plan.mesh.sizes
    _drawable((*plan.product.arrays, *plan.product.multiplied.arrays), mesh)
    chip = chip or {axis: int(i == 0) for i, axis in enumerate(mesh)}
    step = next(s for s in plan.steps if s.op == "multiply")
    (a, b), partial, c = step.inputs, step.output, plan.product.c
    panels = [
        (*_operand(plan.product.a, a, chip, mesh), "·"),
        (*_operand(plan.product.b, b, chip, mesh), "="),
        (partial, {partial.block(chip, mesh): "partial" if partial.unreduced else "compute"}, ""),
    ]
    if not partial.same_as(c, mesh):
        panels[2] = (*panels[2][:2], "→")
        panels.append((c, {c.block(chip, mesh): "compute"}, ""))
    with style.book_style():
        figure, axes = style.new_axes(_title(plan), size=(4.8, 1.95))
        side, pitch = (1.0, 1.5) if len(panels) == 4 else (1.3, 2.0)
        _bare(axes, (0, 6.0), (-side - 0.1, 0.62))
        for i, (sharding, held, sign) in enumerate(panels):
            _array(axes, sharding, mesh, (0.12 + pitch * i, -0.0), side, held=held, owners=False)
            axes.text(
                0.12 + pitch * i + side + (pitch - side) / 2, -side / 2, sign, ha="center", va="center", fontsize=13
            )
    data = {
        "array": [str(s) for s, _, _ in panels],
        "held by each chip, of the whole": [f"1/{math.prod(s.shards(mesh))}" for s, _, _ in panels],
    }
    return Picture(figure, _says(plan, a, b, partial, chip), data)


def _title(plan):
    steps = [s for s in plan.steps if s.hlo]
    if not steps:
        return "Every chip has what it needs: nothing is sent"
    return f"{str(plan.product.c).split('[')[0]} needs: " + ", ".join(
        f"{s.hlo} of {s.output.name} over {named(s.axes)}" for s in steps
    )


def _says(plan, a, b, partial, chip):
    mesh = plan.mesh.sizes
    text = f"Chip {_place(chip, mesh)} holds {_part(plan.product.a, mesh)} and {_part(plan.product.b, mesh)}"
    for before, after in ((plan.product.a, a), (plan.product.b, b)):
        share = 1 / math.prod(after.shards(mesh)) - 1 / math.prod(before.shards(mesh))
        if share > 0:
            over = named([axis for axis in before.used if axis not in after.used])
            text += f"; {_fraction(share)} of {before.name} come in over {over}"
    text += f"; it multiplies to {partial}"
    sent = [s for s in plan.steps if s.hlo and s.inputs[0].name == plan.product.c.name]
    text += "".join(f", then {s.hlo} over {named(s.axes)} gives {s.output}" for s in sent)
    return f"{text}; {si(plan.time.in_turn_s, 's')} in all."


def _part(array, mesh):
    return f"{_fraction(1 / math.prod(array.shards(mesh)))} of {array.name}"


def _fraction(share):
    from fractions import Fraction

    part = Fraction(share).limit_denominator(4096)
    return "all" if part == 1 else str(part)


def _operand(own, used, chip, mesh):
    """(sharding, {block: role}): what the chip holds of an operand, and what comes in before it multiplies."""
    mine, there = own.block(chip, mesh), used.block(chip, mesh)
    if own.same_as(used, mesh):
        return own, {mine: "hbm"}
    shards, wide = own.shards(mesh), used.shards(mesh)
    spans = [range(t * n // w, -(-(t + 1) * n // w)) for n, w, t in zip(shards, wide, there, strict=True)]
    wanted = set(itertools.product(*spans))
    if any(n % w for n, w in zip(shards, wide, strict=True)) or mine not in wanted:
        return used, {there: "ici"}  # cut another way: drawn as it is when it is multiplied
    return own, dict.fromkeys(wanted, "ici") | {mine: "hbm"}


def _array(axes, sharding: Sharding, mesh, corner, side, *, held, owners):
    """One array as a square of blocks; `held` blocks are filled, `owners` are written into every block."""
    x0, y0 = corner
    rows, columns = sharding.shards(mesh)
    high, wide = side / rows, side / columns
    from matplotlib.patches import Rectangle

    for i, j in itertools.product(range(rows), range(columns)):
        place = (x0 + j * wide, y0 - (i + 1) * high)
        axes.add_patch(Rectangle(place, wide, high, fill=False, edgecolor=INK, linewidth=0.8, alpha=0.5))
        role = held.get((i, j))
        if role:
            color = COLORS["compute" if role == "partial" else role]
            look = {"hatch": "////", "alpha": 0.45} if role == "partial" else {"alpha": 0.55}
            axes.add_patch(Rectangle(place, wide, high, facecolor=color, edgecolor=INK, linewidth=0.8, **look))
        if owners:
            middle = place[0] + wide / 2, place[1] + high / 2
            size = 9 if rows * columns > 4 else 10
            axes.text(
                *middle, _owners(sharding, (i, j), mesh), ha="center", va="center", fontsize=size, linespacing=1.25
            )
    size = 10 if owners else 9 if len(str(sharding)) < 13 else 7.5
    axes.text(x0, y0 + 0.09, str(sharding), ha="left", va="bottom", fontsize=size, fontweight="bold")


def _owners(sharding, block, mesh):
    chips = [dict(zip(mesh, at, strict=True)) for at in itertools.product(*map(range, mesh.values()))]
    mine = [_place(chip, mesh) for chip in chips if sharding.block(chip, mesh) == block]
    per_line = max(1, 6 // (2 * sharding.shards(mesh)[1]) + 1) if sharding.shards(mesh)[1] > 1 else 2
    lines = [" ".join(mine[i : i + per_line]) for i in range(0, len(mine), per_line)]
    return "\n".join(line.replace(", ", ",") for line in lines)


def _place(chip, mesh):
    return _place_of([chip[axis] for axis in mesh])


def _place_of(numbers):
    return f"({', '.join(map(str, numbers))})"


def _bare(axes, across, down):
    axes.set(xlim=across, ylim=down, xticks=[], yticks=[])
    axes.grid(False)
    axes.set_aspect("equal")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _drawable(shardings, mesh):
    if math.prod(mesh.values()) > MOST_CHIPS:
        raise ScalingError(f"mesh: {math.prod(mesh.values())} chips; up to {MOST_CHIPS} can be drawn")
    for sharding in shardings:
        if len(sharding.dims) != 2:
            raise ScalingError(f"shardings: {sharding} has {len(sharding.dims)} dimensions; two can be drawn")
