"""The book's animations; each is made from a simulation, shot by shot."""

import numpy as np

from scaling_lib.hardware import chip as find_chip
from scaling_lib.plotting.film import Animation, Shot, box, line, text
from scaling_lib.plotting.style import COLORS
from scaling_lib.roofline import ridge_point
from scaling_lib.systolic import NONE, systolic_matmul
from scaling_lib.units import ScalingError, positive, si, whole

ANIMATIONS = ("elementwise_stream", "systolic_array")
TILE = ("hbm", "dcn", "ici")  # colours of the first, second and third tile of weights

LOOK = (
    "<style>.sl-a text{font-family:system-ui,sans-serif;font-size:13px;fill:currentColor;text-anchor:middle}"
    ".sl-a .l{text-anchor:start}.sl-a .r{text-anchor:end}.sl-a .s{font-size:12px}.sl-a .b{font-weight:700}"
    ".sl-a rect.e{fill:none;stroke:currentColor;stroke-opacity:.35}.sl-a line{stroke:currentColor;stroke-opacity:.5}"
    ".sl-a rect.on{fill:currentColor;fill-opacity:.13}"
    + "".join(f".sl-a .{role}{{fill:{color}}}" for role, color in COLORS.items())
    + "</style>"
)

# Geometry of the systolic array's picture.
CELL, LEFT, TOP = 60, 104, 62


def systolic_array(m=6, k=4, n=8, side=4):
    """A product x [M, K] · w [K, N] on a small systolic array, cycle by cycle, from `systolic_matmul`'s own frames.

    Args:
      m, k, n: sizes, up to 9 so that an index is one digit; up to three tiles of weights.
      side: cells of the array along each edge.

    >>> systolic_array().describe()[:60]
    'A 4 × 4 array multiplies x [6, 4] by w [4, 8] in 22 cycles: '
    """
    sizes = [
        whole(name, x, of="cells or numbers") for name, x in zip(("m", "k", "n", "side"), (m, k, n, side), strict=True)
    ]
    if max(sizes) > 9 or -(-k // side) * -(-n // side) > len(TILE):
        raise ScalingError(
            f"m, k, n, side must be at most 9, and w at most {len(TILE)} tiles, got {m}, {k}, {n} on a side of {side}"
        )
    run = systolic_matmul(np.ones((m, k)), np.ones((k, n)), side, trace=True)
    size = CELL * side
    width, height = LEFT + size + 24, TOP + size + 130
    shots = tuple(_systolic_shot(run, cycle, (m, side)) for cycle in range(run.cycles))
    full = np.flatnonzero(run.busy == run.busy.max())
    title = "Weights wait in the cells, activations move right, sums move down"
    sentence = (
        f"A {side} × {side} array multiplies x [{m}, {k}] by w [{k}, {n}] in {run.cycles} cycles: {side} to load the "
        f"first weights, then the {side * side} cells fill step by step, and the second tile of weights loads while "
        f"the first multiplies; {100 * run.utilisation:.0f}% of what the cells could multiply was needed."
    )
    columns = {"cycle": np.arange(1, run.cycles + 1), "cells that multiply": run.busy}
    made_by = "scaling_lib.plotting.animations.systolic_array"
    scene = f"{LOOK}{_opened()}{_systolic_scene(run, side)}</g>"
    return Animation(made_by, title, sentence, width, height, scene, shots, int(full[0]), columns)


def elementwise_stream(chip="tpu-v5e", blocks=5, block_bytes=2**17):
    """z = x + y in f32, block by block: HBM to VMEM, through the VPU, and back; one shot for each block on the bus.

    Args:
      chip: a chip with a known vector rate, or its name.
      blocks: how many blocks each array has, 1 to 5.
      block_bytes: of one block [bytes].

    >>> elementwise_stream().describe()[-60:]
    'the memory is busy all the time, the vector unit 1.1% of it.'
    """
    chip = find_chip(chip) if isinstance(chip, str) else chip
    if whole("blocks", blocks) > 5:
        raise ScalingError(f"blocks must be a whole number from 1 to 5, got {blocks!r}")
    block_bytes = positive("block_bytes", block_bytes)
    step_s = block_bytes / chip.hbm_bytes_per_s
    add_s = block_bytes / 4 / chip.peak_flops_per_s(unit="vector")
    plan = _stream_plan(blocks)
    shots = tuple(_stream_shot(plan, step, blocks) for step in range(len(plan)))
    share = add_s / (3 * step_s)
    sentence = (
        f"On a {chip.title} one block of {si(block_bytes, 'B')} crosses the memory bus in {si(step_s, 's')} and "
        f"is added in {si(add_s, 's')}; each sum needs three crossings, so the memory is busy all the time, "
        f"the vector unit {100 * share:.2g}% of it."
    )
    names = [moved for moved, _ in plan]
    columns = {
        "step": np.arange(1, len(plan) + 1),
        "on the bus": names,
        "in the VPU": [adds or "–" for _, adds in plan],
    }
    scene = f"{LOOK}{_opened()}{_stream_scene(blocks)}</g>"
    made_by = "scaling_lib.plotting.animations.elementwise_stream"
    title = f"An addition waits for the memory: the VPU works {100 * share:.2g}% of the time"
    still = next(i for i, (_, adds) in enumerate(plan) if i > len(plan) // 3 and adds)
    assert abs(share * ridge_point(chip, unit="vector") - 1 / 12) < 1e-9  # 1 FLOP for 12 bytes
    return Animation(made_by, title, sentence, 400, 284, scene, shots, still, columns, seconds=1.0)


def _opened():
    return '<g class="sl-a">'


# ---- systolic array ----


def _systolic_scene(run, side):
    size = CELL * side
    cells = [box(LEFT + CELL * j, TOP + CELL * i, CELL, CELL, "e") for i in range(side) for j in range(side)]
    words = [
        text(LEFT + size / 2, 16, "weights fall in", "b"),
        text(8, TOP - 12, "activations", "l b"),
        text(LEFT + size / 2, TOP + size + 50, "sums leave", "b"),
        text(LEFT - 8, TOP + size + 96, "cells busy", "r s"),
    ]
    most = run.busy.max()
    pitch = size / run.cycles
    bars = [
        box(LEFT + pitch * c + 1, TOP + size + 116 - 44 * b / most, pitch - 2, 44 * b / most, "waiting")
        for c, b in enumerate(run.busy)
        if b
    ]
    base = line(LEFT, TOP + size + 116, LEFT + size, TOP + size + 116)
    return "".join([*cells, *words, *bars, base])


def _systolic_shot(run, cycle, sizes):
    m, side = sizes
    frame, size = run.frames[cycle], CELL * side
    parts = [_cell(frame, i, j, side) for i in range(side) for j in range(side)]
    parts += _arriving(run, cycle, m, side)
    if cycle + 1 < run.cycles:
        parts += _falling_next(run.frames[cycle + 1], side)
    parts += _leaving(run, cycle, side)
    pitch, most = size / run.cycles, run.busy.max()
    tall = 44 * run.busy[cycle] / most
    parts.append(box(LEFT + pitch * cycle + 1, TOP + size + 116 - tall, pitch - 2, tall, "compute"))
    parts.append(line(LEFT + pitch * (cycle + 0.5), TOP + size + 117, LEFT + pitch * (cycle + 0.5), TOP + size + 124))
    busy = f"{run.busy[cycle]} of {side * side} cells multiply"
    loading = sorted({int(t) for t in np.unique(frame.falling_tile) if t != NONE})
    names = " and ".join(str(tile + 1) for tile in loading)
    more = f"; weights of tile {names} fall in" if loading else ""
    return Shot(f"{_opened()}{''.join(parts)}</g>", f"Cycle {cycle + 1} of {run.cycles}: {busy}{more}.")


def _cell(frame, i, j, side):
    x, y = LEFT + CELL * j, TOP + CELL * i
    parts = []
    if frame.x_row[i, j] != NONE:
        parts.append(box(x + 1, y + 1, CELL - 2, CELL - 2, "compute", fill_opacity=0.2))
        parts.append(text(x + CELL / 2, y + 50, f"x{frame.x_row[i, j] + 1}{i + 1}", "compute b"))
    if frame.weight_tile[i, j] != NONE:
        tile = frame.weight_tile[i, j]
        parts.append(text(x + CELL / 2, y + 31, _weight(i, j, tile, side), f"{TILE[tile]} b"))
    above = ""
    if frame.falling_tile[i, j] != NONE:
        tile = frame.falling_tile[i, j]
        above = "↓" + _weight(frame.falling_row[i, j], j, tile, side)
    elif frame.spare_tile[i, j] != frame.weight_tile[i, j]:
        tile = frame.spare_tile[i, j]
        above = _weight(i, j, tile, side)
    if above:
        parts.append(text(x + CELL - 4, y + 13, above, f"{TILE[tile]} r s"))
    return "".join(parts)


def _weight(row, column, tile, side):
    return f"w{row + 1}{column + 1 + tile * side}"


def _arriving(run, cycle, m, side):
    """Activations left of the array: those of the next two cycles, in the row they will enter."""
    for ahead in (1, 2):
        if cycle + ahead < run.cycles:
            rows = run.frames[cycle + ahead].x_row[:, 0]
            for i in range(side):
                if rows[i] != NONE:
                    yield text(LEFT - 26 - 34 * (ahead - 1), TOP + CELL * i + 36, f"x{rows[i] + 1}{i + 1}", "compute b")


def _falling_next(frame, side):
    for j in range(side):
        tile = frame.falling_tile[0, j]
        if tile != NONE:
            yield text(
                LEFT + CELL * (j + 0.5), TOP - 12, _weight(frame.falling_row[0, j], j, tile, side), f"{TILE[tile]} b"
            )


def _leaving(run, cycle, side):
    """Sums below the array: those finished in the cycle before."""
    if not cycle:
        return
    frame = run.frames[cycle - 1]
    for j in range(side):
        if frame.x_row[-1, j] != NONE:
            column = j + 1 + frame.x_tile[-1, j] * side
            yield text(LEFT + CELL * (j + 0.5), TOP + CELL * side + 24, f"y{frame.x_row[-1, j] + 1}{column}", "b")


# ---- element-wise stream ----


def _stream_plan(blocks):
    """[(what is on the bus, what the VPU adds)]: x and y of a block come in, the block before goes back."""
    moves = []
    for i in range(blocks):
        moves += [f"x{i + 1}", f"y{i + 1}"] + ([f"z{i}"] if i else [])
    moves.append(f"z{blocks}")
    adds = {moves.index(f"y{i + 1}") + 1: f"z{i + 1}" for i in range(blocks)}
    return [(move, adds.get(step, "")) for step, move in enumerate(moves)]


def _stream_scene(blocks):
    parts = [text(75, 22, "HBM", "b"), text(228, 22, "VMEM", "b"), text(346, 22, "VPU", "b")]
    parts += [box(10, 32, 130, 150, "e"), box(190, 32, 76, 150, "e"), box(306, 32, 80, 150, "e")]
    parts += [line(140, 107, 190, 107), line(266, 107, 306, 107)]
    parts += [text(8, 214, "bus", "l s"), text(8, 250, "VPU", "l s"), text(214, 278, "time →", "s")]
    return "".join(parts)


def _stream_shot(plan, step, blocks):
    moved, adds = plan[step]
    seen = [name for name, _ in plan[:step]]
    parts = []
    for row, letter in enumerate("xyz"):
        for i in range(blocks):
            name = f"{letter}{i + 1}"
            there = name in seen if letter == "z" else True
            spent = letter != "z" and name in seen
            x, y = 16 + 24 * i, 44 + 46 * row
            parts.append(
                box(
                    x, y, 22, 34, "hbm" if there else "e", **({"fill_opacity": 0.15 if spent else 0.5} if there else {})
                )
            )
            if there:
                parts.append(text(x + 11, y + 22, name, "s"))
    parts += _on_chip(plan, step)
    arrow = "←" if moved[0] == "z" else "→"
    parts.append(text(165, 98, moved, "hbm b"))
    parts.append(text(165, 126, arrow, "hbm b"))
    if adds:
        i = adds[1:]
        parts.append(box(312, 84, 68, 46, "compute", fill_opacity=0.25))
        parts.append(text(346, 104, f"x{i} + y{i}", "compute b"))
        parts.append(text(346, 122, f"= z{i}", "compute b"))
    pitch = 340 / len(plan)
    for at, (name, added) in enumerate(plan[: step + 1]):
        parts.append(box(44 + pitch * at, 200, pitch - 2, 20, "hbm"))
        parts.append(text(44 + pitch * (at + 0.5) - 1, 214, name, "s") if pitch > 20 else "")
        if added:
            parts.append(box(44 + pitch * at, 236, 2, 20, "compute"))
    does = f"the VPU adds {adds}, and is done almost at once" if adds else "the VPU waits"
    way = "back to HBM" if moved[0] == "z" else "into VMEM"
    return Shot(f"{_opened()}{''.join(parts)}</g>", f"Step {step + 1} of {len(plan)}: {moved} goes {way}; {does}.")


def _on_chip(plan, step):
    """Blocks in VMEM: inputs that arrived and are not yet added, sums that have not left."""
    seen = [name for name, _ in plan[:step]]
    added = [adds for _, adds in plan[: step + 1] if adds]
    held = [
        n for n in seen if n[0] in "xy" and f"z{n[1:]}" not in added[:-1] + (added[-1:] if not plan[step][1] else [])
    ]
    held += [z for z in added if z not in seen]
    for slot, name in enumerate(held):
        x, y = 196 + 34 * (slot % 2), 40 + 46 * (slot // 2)
        yield box(x, y, 30, 38, "ici", fill_opacity=0.3)
        yield text(x + 15, y + 24, name, "s")
