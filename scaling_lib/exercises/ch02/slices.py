"""Slices: rings and lines, hosts, halves, and arrays that travel."""

from scaling_lib.exercises.spec import Exercise, Mistake

_RINGS = "v5e 8x16: the axis of 16 only"
_CHOICES = (
    "v5e 4x8: both axes, since both are even",
    _RINGS,
    "v5p 2x2x4: the axis of 4 only",
    "v5p 4x4x8: none, since it is not a cube",
)

Q10 = Exercise(
    key="ch02.q10",
    title="Which axes are rings",
    kind="choice",
    points=1,
    choices=_CHOICES,
    expected=_RINGS,
    mistakes=(
        Mistake(_CHOICES[0], "On a v5e only an axis of the full 16 is closed."),
        Mistake(_CHOICES[2], "Below whole cubes of 4x4x4 nothing wraps: the optical switches join cubes only."),
        Mistake(_CHOICES[3], "It is made of two whole cubes, so all three axes wrap."),
    ),
    hints=(
        "Two rules: one for 2D tori, one for 3D.",
        "v5e and v6e: an axis wraps at 16. v4, v5p, 7x: all axes wrap if all are multiples of 4.",
        "Try sl.TpuSlice(chip, shape).wraps",
    ),
    source="v5e wraps at 16; v5p in whole cubes",
    solution="8x16 wraps on its axis of 16. 4x8 and 2x2x4 do not wrap, and 4x4x8 wraps on all three axes.",
    teaches="ch02-torus",
    level=1,
    minutes=3,
)

Q11 = Exercise(
    key="ch02.q11",
    title="From one chip to another on a grid without wraparound",
    kind="number",
    unit="µs",
    points=3,
    inputs={"nbytes": 16777216, "dx": 3, "dy": 3, "link": 45e9, "hop_us": 1},
    draw=lambda rng: {
        "nbytes": 2**20 * rng.integers(4, 64),
        "dx": rng.integers(4, 8),
        "dy": rng.integers(2, 4),
        "link": 1e9 * rng.integers(40, 100),
        "hop_us": rng.integers(3, 6),
    },
    expected=lambda nbytes, dx, dy, link, hop_us: nbytes / (2 * link) * 1e6 + (dx + dy) * hop_us,
    rtol=0.005,
    source="two links lead that way; the first byte needs dx + dy hops",
    mistakes=(
        Mistake(
            lambda nbytes, dx, dy, link, hop_us: nbytes / link * 1e6 + (dx + dy) * hop_us,
            "Two links lead towards the target, one along each axis: split the array.",
        ),
        Mistake(
            lambda nbytes, link: nbytes / (2 * link) * 1e6, "The first byte needs dx + dy hops before any arrives."
        ),
        Mistake(
            lambda nbytes, dx, dy, link, hop_us: nbytes / (2 * link) * 1e6 + max(dx, dy) * hop_us,
            "The way goes along both axes: dx + dy hops.",
        ),
        Mistake(
            lambda nbytes, dx, dy, link, hop_us: nbytes / (4 * link) * 1e6 + (dx + dy) * hop_us,
            "The other two links lead away from it, and there is no wraparound.",
        ),
        Mistake(
            lambda nbytes, dx, dy, link, hop_us: (dx + dy) * (nbytes / (2 * link) * 1e6 + hop_us),
            "A chip passes bytes on as they come; it does not wait for the whole array at every hop.",
        ),
    ),
    hints=(
        "How many links lead the right way, and how long until the first byte is there?",
        "The bytes stream over two links; the hops come once on top.",
        "There are dx + dy hops. Mind the units: nbytes / link is in seconds, hop_us in µs.",
    ),
    solution=lambda nbytes, dx, dy, link, hop_us: (
        f"{nbytes / (2 * link) * 1e6:.1f} µs for the bytes, {(dx + dy) * hop_us} µs for the hops: "
        f"{nbytes / (2 * link) * 1e6 + (dx + dy) * hop_us:.1f} µs."
    ),
    teaches="ch02-torus",
    level=2,
    minutes=6,
)

Q12 = Exercise(
    key="ch02.q12",
    title="Hosts of a slice",
    kind="number",
    unit="",
    points=1,
    inputs={"a": 8, "b": 8, "c": 12, "per_host": 4},
    draw=lambda rng: {
        "a": 4 * rng.integers(1, 4),
        "b": 4 * rng.integers(1, 5),
        "c": 4 * rng.integers(3, 8),
        "per_host": 4,
    },
    expected=lambda a, b, c, per_host: a * b * c / per_host,
    rtol=1e-9,
    source="v5p: 4 chips a host",
    mistakes=(
        Mistake(lambda a, b, c: a * b * c, "Those are the chips; a host drives four of them."),
        Mistake(lambda a, b, c, per_host: a * b * c / per_host / 2, "A v5p host has four chips (eight cores)."),
        Mistake(lambda a, b, c: a * b * c / 64, "Those are the cubes."),
    ),
    hints=(
        "Chips first.",
        "A slice of a × b × c chips is a full box.",
        "Chips: a · b · c; each host drives per_host.",
    ),
    solution=lambda a, b, c, per_host: f"{a * b * c} chips ÷ {per_host} = {a * b * c // per_host} hosts.",
    teaches="ch02-host",
    level=1,
    minutes=2,
)

Q13 = Exercise(
    key="ch02.q13",
    title="Between two halves of a torus",
    kind="number",
    unit="TB/s",
    points=3,
    inputs={"a": 8, "b": 8, "c": 12, "link": 90e9},
    draw=lambda rng: {
        "a": 4 * rng.integers(1, 3),
        "b": 16,
        "c": 4 * rng.integers(5, 8),
        "link": 1e9 * rng.integers(40, 110),
    },
    expected=lambda a, b, c, link: 2 * a * b * link / 1e12,
    rtol=0.005,
    source="cut across the longest axis; every ring is cut twice",
    mistakes=(
        Mistake(lambda a, b, link: a * b * link / 1e12, "Every ring is cut twice when a torus is halved."),
        Mistake(lambda a, c, link: 2 * a * c * link / 1e12, "Cut across the longest axis, where fewest links cross."),
        Mistake(
            lambda a, b, link: 4 * a * b * link / 1e12, "That counts both directions of each link; one was asked for."
        ),
    ),
    hints=(
        "Halve the slice where fewest links cross.",
        "Across the longest axis there are a · b rings, each cut twice.",
        "So 2 · a · b links are cut. What does each carry in one direction, and how much is that in TB/s?",
    ),
    solution=lambda a, b, c, link: (
        f"{a} × {b} rings, cut twice: {2 * a * b} links × {link / 1e9:.0f} GB/s = {2 * a * b * link / 1e12:.3g} TB/s."
    ),
    teaches="ch02-torus",
    level=2,
    minutes=5,
)

Q14 = Exercise(
    key="ch02.q14",
    title="A matrix that lies on two hosts",
    kind="number",
    unit="ms",
    points=4,
    inputs={"n": 131072, "chips": 16, "link": 45e9, "pcie": 16e9},
    draw=lambda rng: {
        "n": 1024 * rng.integers(80, 140),
        "chips": 16,
        "link": 1e9 * rng.integers(40, 60),
        "pcie": 1e9 * rng.integers(14, 18),
    },
    expected=lambda n, chips, link: n * n * (chips - 1) / chips / (2 * link) * 1e3,
    rtol=0.005,
    source="15/16 of n² bytes enter the corner chip over its two links; that is the slowest stage",
    mistakes=(
        Mistake(
            lambda n, chips, pcie: n * n / (chips * pcie) * 1e3,
            "That is PCIe, which all 16 chips use at once. Another stage is slower.",
        ),
        Mistake(
            lambda n, link: n * n / (2 * link) * 1e3, "One sixteenth comes to the corner chip over its own PCIe link."
        ),
        Mistake(
            lambda n, chips, link: n * n * (chips - 1) / chips / link * 1e3, "A corner chip of a grid has two links."
        ),
        Mistake(lambda n: n * n / 820e9 * 1e3, "That is reading it from HBM; it first has to get there."),
        Mistake(
            lambda n, pcie: n * n / pcie * 1e3, "Over the corner chip's own PCIe link alone. Use all 16, then ICI."
        ),
    ),
    hints=(
        "All 16 chips can fetch a part over PCIe at once, and pass it on over ICI.",
        "Two stages: PCIe with 16 links for all n² bytes; two ICI links into the corner for 15/16 of them.",
        "Stages overlap: work out the time of each, and take the longer.",
    ),
    solution=lambda n, chips, link, pcie: (
        f"PCIe {n * n / (chips * pcie) * 1e3:.0f} ms, ICI into the corner "
        f"{n * n * (chips - 1) / chips / (2 * link) * 1e3:.0f} ms: the latter sets the time, if all stages overlap."
    ),
    teaches="ch02-torus",
    level=3,
    minutes=12,
)

EXERCISES = (Q10, Q11, Q12, Q13, Q14)
