"""The matrix unit: its rate, its cycles, and what padding costs."""

import math

from scaling_lib.exercises.spec import Exercise, Mistake

Q1 = Exercise(
    key="ch02.q1",
    title="A chip's peak from its parts",
    kind="number",
    unit="TFLOP/s",
    points=2,
    inputs={"cores": 1, "mxus": 4, "side": 256, "clock_ghz": 1.75},
    draw=lambda rng: {
        "cores": 2,
        "mxus": rng.choice((3, 4, 5)),
        "side": rng.choice((96, 128, 256)),
        "clock_ghz": rng.integers(90, 200) / 100,
    },
    expected=lambda cores, mxus, side, clock_ghz: 2 * cores * mxus * side**2 * clock_ghz / 1e3,
    rtol=0.005,
    source="a multiply-add a cell and cycle, two FLOPs each",
    mistakes=(
        Mistake(
            lambda cores, mxus, side, clock_ghz: cores * mxus * side**2 * clock_ghz / 1e3,
            "A multiplication and an addition are two FLOPs; and a chip may have two cores.",
        ),
        Mistake(
            lambda cores, mxus, side, clock_ghz: 2 * cores * mxus * side * clock_ghz / 1e3,
            "An array has side × side cells, not side.",
        ),
        Mistake(
            lambda cores, side, clock_ghz: 2 * cores * side**2 * clock_ghz / 1e3, "Each core has several matrix units."
        ),
    ),
    hints=(
        "In each cycle every cell does one multiply-add.",
        "Cells of the chip: cores × MXUs of a core × side².",
        "Times two FLOPs and the clock, that is in GFLOP/s. How many of those are a TFLOP/s?",
    ),
    solution=lambda cores, mxus, side, clock_ghz: (
        f"2 × {cores} × {mxus} × {side}² × {clock_ghz} GHz = "
        f"{2 * cores * mxus * side**2 * clock_ghz / 1e3:.0f} TFLOP/s."
    ),
    teaches="ch02-chip",
    level=1,
    minutes=3,
)


def _cycles(m, k, n, side):
    """Counted tile by tile and row by row: when each sum of the last column leaves."""
    free, loaded, last = 0, side, 0
    for _ in range(0, n, side):
        for _ in range(0, k, side):
            begins = max(free, loaded)
            for row in range(m):
                last = max(last, begins + row + 2 * (side - 1))
            free, loaded = begins + m, begins + side
    return last + 1


def _formula(m, k, n, side, *, load=1, pace=max, drain=2, tiles=None):
    """The closed form, or a wrong one."""
    count = tiles(k, n, side) if tiles else math.ceil(k / side) * math.ceil(n / side)
    return load * side + (count - 1) * pace(m, side) + m + drain * side - 2


Q2 = Exercise(
    key="ch02.q2",
    title="Cycles of a systolic array",
    kind="code",
    points=4,
    function="array_cycles",
    stub="def array_cycles(m, k, n, side):\n    return ...",
    cases=(
        {"m": 1024, "k": 128, "n": 128, "side": 128},
        {"m": 64, "k": 256, "n": 384, "side": 128},
        {"m": 300, "k": 130, "n": 100, "side": 64},
        {"m": 20, "k": 100, "n": 70, "side": 32},
    ),
    draw=lambda rng: {
        "m": rng.integers(1, 300),
        "k": rng.integers(1, 300),
        "n": rng.integers(1, 300),
        "side": rng.choice((8, 32, 64)),
    },
    expected=_cycles,
    rtol=1e-9,
    source="counted row by row; weights load while the tile before is multiplied",
    mistakes=(
        Mistake(
            lambda m, k, n, side: _formula(m, k, n, side, load=0), "The first tile of weights has to load: side cycles."
        ),
        Mistake(
            lambda m, k, n, side: _formula(m, k, n, side, pace=lambda m, side: m),
            "Tiles with fewer rows than the array wait for the next weights: max(m, side) cycles each.",
        ),
        Mistake(
            lambda m, k, n, side: _formula(m, k, n, side, drain=0) + 2,
            "The last row needs 2 · side - 2 more cycles to the far corner.",
        ),
        Mistake(
            lambda m, k, n, side: _formula(m, k, n, side, tiles=lambda k, n, s: max(k // s, 1) * max(n // s, 1)),
            "A tile that is not full takes as long: round the number of tiles up.",
        ),
        Mistake(
            lambda m, k, n, side: _formula(m, k, n, side, pace=lambda m, side: m + side),
            "The next weights load while this tile is multiplied: the larger of the two, not their sum.",
        ),
    ),
    hints=(
        "One load at the start, a pace for the tiles, and the way through the array at the end.",
        "Tiles: ceil(k / side) · ceil(n / side). Each but the last takes max(m, side) cycles.",
        "Before all tiles: one load, side cycles. After the last: its m rows, and 2 · side - 2 to the far corner.",
    ),
    solution="side + (tiles - 1) · max(m, side) + m + 2 · side - 2, with tiles rounded up along k and n.",
    teaches="ch02-systolic",
    level=2,
    minutes=10,
    page=Exercise(
        key="ch02.q2",
        title="Cycles of a systolic array",
        kind="number",
        unit="",
        points=4,
        inputs={"m": 64, "k": 256, "n": 384, "side": 128},
        expected=_cycles,
        rtol=1e-9,
        source="as above",
        mistakes=(
            Mistake(lambda m, k, n, side: _formula(m, k, n, side, load=0), "The first tile of weights has to load."),
            Mistake(
                lambda m, k, n, side: _formula(m, k, n, side, pace=lambda m, side: m),
                "Tiles with fewer rows than the array wait for the next weights: max(m, side) cycles each.",
            ),
            Mistake(
                lambda m, k, n, side: _formula(m, k, n, side, drain=0) + 2,
                "The last row needs 2 · side - 2 more cycles to the far corner.",
            ),
        ),
        hints=(
            "One load at the start, a pace for the tiles, and the way through the array at the end.",
            "Tiles: 2 · 3. Each but the last takes max(m, side) cycles.",
            "Before all tiles: one load, side cycles. After the last: its m rows, and 2 · side - 2 to the far corner.",
        ),
        solution=lambda m, k, n, side: f"128 + 5 · 128 + 64 + 254 = {_cycles(m, k, n, side)} cycles.",
        teaches="ch02-systolic",
    ),
)


def _full(size, side):
    return size / (math.ceil(size / side) * side)


# Shapes for which every mistake gives a number of its own.
_SHAPES = (
    (300, 1240),
    (320, 1200),
    (340, 1320),
    (360, 920),
    (360, 1460),
    (520, 1200),
    (540, 1440),
    (640, 820),
    (780, 1460),
    (820, 860),
    (840, 720),
    (840, 1140),
)

Q3 = Exercise(
    key="ch02.q3",
    title="What padding leaves",
    kind="number",
    unit="%",
    points=2,
    inputs={"k": 320, "n": 1000, "side": 256},
    draw=lambda rng: dict(zip(("k", "n"), rng.choice(_SHAPES), strict=True)) | {"side": 256},
    expected=lambda k, n, side: 100 * _full(k, side) * _full(n, side),
    rtol=0.003,
    source="k · n over both rounded up to whole tiles",
    mistakes=(
        Mistake(lambda k, side: 100 * _full(k, side), "N pads as well."),
        Mistake(lambda n, side: 100 * _full(n, side), "K pads as well."),
        Mistake(lambda k, n: 100 * _full(k, 128) * _full(n, 128), "This array has 256 × 256 cells."),
    ),
    hints=(
        "The array multiplies whole tiles, full or not.",
        "Round K and N up to multiples of the side; compare the areas.",
        "padded_k = sl.padded_size(k, side), and padded_n likewise; the wanted area is k · n.",
    ),
    solution=lambda k, n, side: (
        f"{k} × {n} of {math.ceil(k / side) * side} × {math.ceil(n / side) * side}: "
        f"{100 * _full(k, side) * _full(n, side):.1f}%."
    ),
    teaches="ch02-padding",
    level=1,
    minutes=3,
)

_WIDER = "make the vocabulary matrix [4096, 50257] wider, to 50,304 columns"
_CHOICES = (
    "cut the hidden size from 4096 to 4000",
    _WIDER,
    "make the hidden size 4097, to have one more number",
    "use batches of 8 rows, so that results come sooner",
)

Q4 = Exercise(
    key="ch02.q4",
    title="A shape that costs nothing",
    kind="choice",
    points=1,
    choices=_CHOICES,
    expected=_WIDER,
    mistakes=(
        Mistake(_CHOICES[0], "4000 pads to 4096: fewer numbers, the same cycles."),
        Mistake(_CHOICES[2], "4097 starts a new tile along each axis that it touches: 3% more cycles for one number."),
        Mistake(_CHOICES[3], "With 8 rows the array waits for weights 120 of 128 cycles."),
    ),
    hints=(
        "Which of them changes the number of tiles?",
        "Divide each size by 128 and round up, before and after.",
        "50257 / 128 = 392.6, and 50304 / 128 = 393",
    ),
    source="ceil(50257 / 128) = ceil(50304 / 128) = 393",
    solution="50,257 takes 393 tiles already, and 50,304 is just 393 × 128: 47 more columns for no more cycles.",
    teaches="ch02-padding",
    level=1,
    minutes=3,
)


Q5 = Exercise(
    key="ch02.q5",
    title="When the vector unit holds up the matrix units",
    kind="number",
    unit="",
    points=3,
    inputs={"flops_each": 14, "vector": 14.336e12, "matrix": 459e12},
    draw=lambda rng: {
        "flops_each": rng.integers(5, 40),
        "vector": 1e11 * rng.integers(40, 160),
        "matrix": 1e12 * rng.integers(150, 700),
    },
    expected=lambda flops_each, vector, matrix: flops_each / vector * matrix / 2,
    rtol=0.005,
    source="2K / matrix = flops_each / vector",
    mistakes=(
        Mistake(
            lambda flops_each, vector, matrix: flops_each / vector * matrix,
            "Each element of the contraction takes two FLOPs of the matrix units.",
        ),
        Mistake(lambda vector, matrix: matrix / vector / 2, "That is for one FLOP a result on the vector unit."),
        Mistake(
            lambda flops_each, vector, matrix: flops_each / vector * matrix / 4,
            "A result takes 2K FLOPs of the matrix units, not 4K.",
        ),
    ),
    hints=(
        "Compare the time of one result on each of the two units; they run side by side.",
        "Matrix units: 2K FLOPs a result. Vector unit: flops_each.",
        "At the crossing 2K / matrix = flops_each / vector.",
    ),
    solution=lambda flops_each, vector, matrix: (
        f"2K ÷ {matrix / 1e12:.0f} T = {flops_each} ÷ {vector / 1e12:.3g} T, "
        f"so K = {flops_each / vector * matrix / 2:.0f}."
    ),
    teaches="ch02-vpu",
    level=2,
    minutes=5,
)

EXERCISES = (Q1, Q2, Q3, Q4, Q5)
