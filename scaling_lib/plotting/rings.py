"""Films of the collectives on a ring of chips, hop by hop: each shot is a state of the simulation below it."""

from dataclasses import dataclass

import numpy as np

from scaling_lib.plotting.animations import LOOK
from scaling_lib.plotting.film import Animation, Shot, box, line, text
from scaling_lib.units import ScalingError

WIDTH, LEFT, TOP, SLOT = 400, 40, 54, 27
BLOCKS = "ABCDEFGHIJ"
LINKS = "The loop above joins each chip to its neighbours, and the last to the first."
KEYS = {
    "ring_all_gather": "Blue: what a chip had at the start (dark) or before (light); green: what has just come "
    f"in. {LINKS}",
    "ring_reduce_scatter": "Numbers: how many chips' parts a sum holds, a half where half of the block goes either "
    f"way; orange: sums that have just grown; grey: the others. {LINKS}",
    "ring_all_to_all": "A letter is the sender, A for chip 0, B for chip 1 and so on; a digit is the chip it is for; "
    f"blue: not yet sent, or the chip’s own; green: come from others; “pass”: on their way through. {LINKS}",
}


@dataclass(frozen=True)
class Hop:
    """What every chip holds after a hop.

    Attributes:
      held: [chips, blocks] how many chips' parts each block holds (0: nothing there; halves where a block is split).
      came: [chips, blocks] whether it came in with this hop.
      links: blocks that the busiest link direction carried.
      moving: {chip: blocks on their way through it}.
    """

    held: np.ndarray
    came: np.ndarray
    links: float
    moving: dict


def gather_hops(n):
    """An all-gather on a ring: every chip passes on, both ways round, what came in last.

    >>> [hop.links for hop in gather_hops(8)], bool(gather_hops(8)[-1].held.all())
    ([0, 1.0, 1.0, 1.0, 0.5], True)
    """
    held = np.eye(n, dtype=int)
    hops = [Hop(held, np.zeros((n, n), bool), 0, {})]
    for d in range(1, n // 2 + 1):
        came = np.zeros((n, n), bool)
        for chip in range(n):
            came[chip, [(chip - d) % n, (chip + d) % n]] = True
        held = held + came
        hops.append(Hop(held, came, 0.5 if 2 * d == n else 1.0, {}))
    return hops


def scatter_hops(n):
    """A reduce-scatter on a ring: sums travel towards the chip that keeps them, growing at every chip.

    >>> hops = scatter_hops(8)
    >>> [hop.links for hop in hops], bool((hops[-1].held == 8 * np.eye(8)).all())
    ([0, 0.5, 1.0, 1.0, 1.0], True)
    """
    held = np.ones((n, n))
    hops = [Hop(held, np.zeros((n, n), bool), 0, {})]
    for d in range(n // 2, 0, -1):
        before, held, came = held, held.copy(), np.zeros((n, n), bool)
        for block in range(n):
            far = {(block + d) % n, (block - d) % n}
            for chip in far:
                held[chip, block] = 0
            if len(far) == 1:  # half-way round: half of the block each way
                for step in (d - 1, 1 - d):
                    held[(block + step) % n, block] += 0.5
                    came[(block + step) % n, block] = True
                continue
            for step in (d, -d):
                near = (block + (step - 1 if step > 0 else step + 1)) % n
                held[near, block] += before[(block + step) % n, block]
                came[near, block] = True
        hops.append(Hop(held, came, 0.5 if 2 * d == n else 1.0, {}))
    return hops


def exchange_hops(n):
    """An all-to-all on a ring: a block for the chip d places on goes d hops, the shorter way.

    >>> hops = exchange_hops(8)
    >>> sum(hop.links for hop in hops), len(hops)  # n²/8 blocks over every link direction
    (8.0, 11)
    """
    held = np.eye(n, dtype=int)  # (chip, source) of what has arrived; a chip's block for itself is there
    hops = [Hop(held, np.zeros((n, n), bool), 0, {})]
    for d in range(1, n // 2 + 1):
        for step in range(1, d + 1):
            moving, came = {}, np.zeros((n, n), bool)
            for source in range(n):
                for way in (1, -1):
                    at = (source + way * step) % n
                    if step < d:
                        moving.setdefault(at, []).append((source, (source + way * d) % n))
                    else:
                        came[at, source] = True
            held = held + came * (step == d)
            hops.append(Hop((held > 0).astype(int), came, 0.5 if 2 * d == n else 1.0, moving))
    return hops


def ring_all_gather(n=8):
    """All-gather A[I_X] -> A[I] on a ring of n chips.

    >>> ring_all_gather(8).describe()[:73]
    'Each of 8 chips on a ring starts with 1/8 of the array and after 4 hops h'
    """
    hops = gather_hops(_even(n))
    shots = tuple(_shot(hop, i, hops, _gathers) for i, hop in enumerate(hops))
    sent = sum(hop.links for hop in hops)
    sentence = (
        f"Each of {n} chips on a ring starts with 1/{n} of the array and after {n // 2} hops has all of it; every link "
        f"carries {sent:g} blocks in each direction, (n − 1)/2."
    )
    return _film("ring_all_gather", "An all-gather passes on, both ways, what came in last", sentence, hops, shots, 2)


def ring_reduce_scatter(n=8):
    """Reduce-scatter A[I]{U_X} -> A[I_X] on a ring of n chips: the all-gather run backwards.

    >>> ring_reduce_scatter(8).describe()[-69:]
    'every link carries 3.5 blocks in each direction, as in an all-gather.'
    """
    hops = scatter_hops(_even(n))
    shots = tuple(_shot(hop, i, hops, _adds) for i, hop in enumerate(hops))
    sent = sum(hop.links for hop in hops)
    sentence = (
        f"Each of {n} chips on a ring starts with a partial sum of every block and after {n // 2} hops keeps one "
        f"block, added up over all {n}; every link carries {sent:g} blocks in each direction, as in an all-gather."
    )
    title = "A reduce-scatter is an all-gather run backwards, adding where that one copies"
    return _film("ring_reduce_scatter", title, sentence, hops, shots, 2)


def ring_all_to_all(n=8):
    """All-to-all A[I_X, J] -> A[I, J_X] on a ring of n chips.

    >>> ring_all_to_all(8).describe()[-79:]
    'every link carries 8 small blocks in each direction, n²/8, 1/n of a shard each.'
    """
    hops = exchange_hops(_even(n))
    shots = tuple(_shot(hop, i, hops, _exchanges) for i, hop in enumerate(hops))
    sent = sum(hop.links for hop in hops)
    sentence = (
        f"Each of {n} chips on a ring starts with {n} small blocks, one for every chip, and ends with one from every "
        f"chip; a block goes only to its own target, so every link carries {sent:g} small blocks in each direction, "
        "n²/8, 1/n of a shard each."
    )
    title = "An all-to-all sends each block to one chip only, so it sends less"
    return _film("ring_all_to_all", title, sentence, hops, shots, 5)


FILMS = ("ring_all_gather", "ring_reduce_scatter", "ring_all_to_all")


def _even(n):
    if n not in (4, 6, 8):
        raise ScalingError(f"n must be 4, 6 or 8 chips, got {n!r}")
    return n


def _film(name, title, sentence, hops, shots, still):
    n = len(hops[0].held)
    columns = {
        "hop": np.arange(len(hops)),
        "blocks on a link, each way": np.array([hop.links for hop in hops]),
        "blocks in place on chip 0": np.array([int((hop.held[0] > 0).sum()) for hop in hops]),
    }
    exchange = any(hop.moving for hop in hops)
    scene = f'{LOOK}<g class="sl-a">{_scene(n, "" if exchange else BLOCKS)}</g>'
    made_by = f"scaling_lib.plotting.rings.{name}"
    height = TOP + n * SLOT + (46 if exchange else 8)
    return Animation(made_by, title, sentence, WIDTH, height, scene, shots, still, columns, 1.2, KEYS[name])


def _scene(n, rows):
    pitch = (WIDTH - LEFT - 8) / n
    parts = [text(LEFT - 4, 20, "chip", "r s")]
    for chip in range(n):
        parts.append(text(_x(chip, n) + (pitch - 8) / 2, 20, chip, "b"))
        parts.append(box(_x(chip, n), TOP, pitch - 8, n * SLOT, "e"))
        middle = _x(chip, n) + (pitch - 8) / 2
        parts.append(line(middle, 38, middle, TOP))
    first, last = _x(0, n) + (pitch - 8) / 2, _x(n - 1, n) + (pitch - 8) / 2
    parts += [line(first, y, last, y) for y in (28, 38)] + [line(x, 28, x, 38) for x in (first, last)]
    parts += [text(LEFT - 8, TOP + SLOT * (b + 0.65), name, "r b") for b, name in enumerate(rows[:n])]
    return "".join(parts)


def _x(chip, n):
    return LEFT + chip * (WIDTH - LEFT - 8) / n


def _shot(hop, i, hops, painter):
    n, last = len(hop.held), len(hops) - 1
    parts, says = painter(hop, i, last, n)
    return Shot(f'<g class="sl-a">{"".join(parts)}</g>', says)


def _cell(chip, row, n, role, words, strength):
    pitch = (WIDTH - LEFT - 8) / n
    x, y = _x(chip, n) + 2, TOP + SLOT * row + 2
    return [
        box(x, y, pitch - 12, SLOT - 4, role, fill_opacity=strength),
        text(x + (pitch - 12) / 2, y + 16, words, "s"),
    ]


def _gathers(hop, i, last, n):
    parts = []
    for chip, block in zip(*np.nonzero(hop.held), strict=True):
        new = hop.came[chip, block]
        own = chip == block
        parts += _cell(chip, block, n, "ici" if new else "hbm", BLOCKS[block], 0.65 if new or own else 0.28)
    have = int((hop.held[0] > 0).sum())
    half = " (half of the last one from each side)" if i == last else ""
    what = "each chip holds its own block" if i == 0 else f"each chip has {have} of {n} blocks{half}"
    return parts, f"Hop {i} of {last}: {what}."


def _adds(hop, i, last, n):
    parts = []
    for chip, block in zip(*np.nonzero(hop.held), strict=True):
        new = hop.came[chip, block]
        whole, half = divmod(hop.held[chip, block], 1)
        words = f"{whole:.0f}{'½' if half else ''}"
        parts += _cell(chip, block, n, "compute" if new else "waiting", words, 0.6 if new else 0.3)
    if i == 0:
        return parts, f"Hop 0 of {last}: each chip holds its own part (1) of all {n} sums."
    if i == last:
        return parts, f"Hop {i} of {last}: each chip keeps one block, the sum of all {n} parts."
    left = int((hop.held[0] > 0).sum())
    return (
        parts,
        f"Hop {i} of {last}: sums move on and grow; each chip still holds {left} blocks (numbers: parts added).",
    )


def _exchanges(hop, i, last, n):
    parts = []
    for chip in range(n):
        for slot in range(n):
            arrived = bool(hop.held[chip, slot])
            source, target = (slot, chip) if arrived else (chip, slot)
            # What has not arrived from chip `slot` waits here for it, until its own turn comes.
            if not arrived and _left(chip, slot, i, n):
                continue
            new = hop.came[chip, slot] and arrived
            role = "ici" if arrived and source != target else "hbm"
            parts += _cell(chip, slot, n, role, f"{BLOCKS[source]}{target}", 0.7 if new else 0.3)
    y = TOP + n * SLOT + 4
    pitch = (WIDTH - LEFT - 8) / n
    for chip, blocks in hop.moving.items():
        for k, (source, target) in enumerate(blocks[:2]):
            parts.append(text(_x(chip, n) + (pitch - 8) / 2, y + 14 + 17 * k, f"{BLOCKS[source]}{target}", "ici s b"))
    if hop.moving:
        parts.append(text(LEFT - 8, y + 14, "pass", "r s"))
    d, step = _phase(i, n)
    if i == 0:
        return parts, f"Hop 0 of {last}: chip 0 holds A0, A1, …, a small block for every chip."
    half = ", half of each block either way round" if 2 * d == n else ""
    done = "all have arrived" if i == last else f"hop {step} of {d}"
    return parts, f"Hop {i} of {last}: blocks for the chips {d} place{'s' * (d > 1)} away{half}: {done}."


def _phase(i, n):
    """(distance, its hop) of the i-th hop of an all-to-all."""
    for d in range(1, n // 2 + 1):
        if i <= d:
            return d, i
        i -= d
    return n // 2, n // 2


def _left(chip, slot, i, n):
    """Whether chip's block for `slot` has started by hop i."""
    away = min((slot - chip) % n, (chip - slot) % n)
    return i > away * (away - 1) // 2
