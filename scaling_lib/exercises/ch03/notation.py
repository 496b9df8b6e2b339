"""The notation: local bytes, order of subscripts, what is left after a product."""

from scaling_lib.exercises.spec import Exercise, Mistake

Q1 = Exercise(
    key="ch03.q1",
    title="Bytes with copies",
    kind="number",
    unit="MB",
    points=2,
    inputs={"d": 8192, "f": 32768, "x": 4, "y": 8, "z": 3},
    draw=lambda rng: {
        "d": 2048 * rng.integers(1, 8),
        "f": 4096 * rng.integers(3, 11),
        "x": rng.choice((4, 8)),
        "y": rng.choice((16, 32)),
        "z": rng.choice((3, 5, 6)),  # not 2: copies along one axis would look like one byte a number
    },
    expected=lambda d, f, y, z: 2 * d * f * y * z / 1e6,
    rtol=0.005,
    source="bf16: 2 bytes; X cuts D, Y and Z hold copies: x·y·z chips with 2·d·f/x bytes each",
    mistakes=(
        Mistake(lambda d, f, x: 2 * d * f / x / 1e6, "That is one chip. How many are there?"),
        Mistake(lambda d, f: 2 * d * f / 1e6, "That is one copy of the array. Axes that it does not name hold more."),
        Mistake(
            lambda d, f, x, y, z: 2 * d * f * x * y * z / 1e6, "X cuts the array: each chip holds 1/X of it, not all."
        ),
        Mistake(lambda d, f, y, z: d * f * y * z / 1e6, "bf16 takes two bytes a number."),
        Mistake(lambda d, f, y: 2 * d * f * y / 1e6, "Those are the copies along Y. Z holds copies of each as well."),
        Mistake(lambda d, f, z: 2 * d * f * z / 1e6, "Those are the copies along Z. Y holds copies of each as well."),
        Mistake(
            lambda d, f, x, y, z: 2 * d * f * y * z / x / 1e6,
            "Those are the chips of one part. X cuts the array into several, each on as many chips.",
        ),
    ),
    hints=(
        "What one chip holds, times the number of chips.",
        "A chip holds d/x rows of f numbers, two bytes each; there are x·y·z chips.",
        "`chip_bytes = 2 * d / x * f`; then all chips, in MB.",
    ),
    solution=lambda d, f, x, y, z: (
        f"{2 * d * f / x / 1e6:.4g} MB on each of {x * y * z} chips: {2 * d * f * y * z / 1e6:.5g} MB, {y * z} copies."
    ),
    teaches="ch03-notation",
    level=1,
    minutes=4,
)

Q2 = Exercise(
    key="ch03.q2",
    title="A sharding from what the chips hold",
    kind="sharding",
    points=2,
    expected="W[D, F_YX]",
    mistakes=(
        Mistake("W[D, F_XY]", "In this order the second chip along Y would hold the second block: the first-named "
                "axis is the slowest."),
        Mistake("W[D_YX, F]", "All 4096 rows are there: D is not cut."),
        Mistake("W[D_XY, F]", "Each chip has all rows of D; the columns are what is cut."),
        Mistake("W[D, F_X]", "That gives blocks of 2048 columns: four parts, not eight."),
        Mistake("W[D, F_Y]", "That gives blocks of 4096 columns: two parts, not eight."),
        Mistake("W[D_Y, F_X]", "That cuts both dimensions; D is whole."),
        Mistake("W[F, D_YX]", "Its first dimension is D, all rows of which are there; the columns, F, are cut."),
        Mistake("W[D_X, F_Y]", "With X below it D would be cut too; each chip has all its rows."),
    ),
    hints=(
        "Which dimension is cut, and into how many parts?",
        "F is cut into eight, so both axes stand below it; the order says who holds which block.",
        "Chip (x, y) holds block y · 4 + x: y is the slow one, and the slowest axis is named first.",
    ),
    source="chip (0, 1) holds block 4 = y · |X| + x",
    solution="F is cut into 8192/1024 = 8 parts over both axes. Chip (0, 1) holds block 4, so Y is the slowest: F_YX.",
    teaches="ch03-notation",
    level=2,
    minutes=5,
)  # fmt: skip

Q3 = Exercise(
    key="ch03.q3",
    title="Which block a chip holds",
    kind="code",
    points=3,
    function="block",
    stub="def block(place, sizes, axes):\n    return ...",
    cases=(
        {"place": {"X": 1, "Y": 0}, "sizes": {"X": 2, "Y": 2}, "axes": "XY"},
        {"place": {"X": 1, "Y": 0}, "sizes": {"X": 2, "Y": 2}, "axes": "YX"},
        {"place": {"X": 1, "Y": 2, "Z": 1}, "sizes": {"X": 2, "Y": 4, "Z": 3}, "axes": "ZXY"},
        {"place": {"X": 1, "Y": 2, "Z": 1}, "sizes": {"X": 2, "Y": 4, "Z": 3}, "axes": ""},
    ),
    draw=lambda rng: {
        "place": {"X": rng.integers(0, 3), "Y": rng.integers(1, 4), "Z": rng.integers(0, 2)},
        "sizes": {"X": 3, "Y": 5, "Z": 2},
        "axes": rng.choice(("XYZ", "YXZ", "ZY", "XY", "X", "YZX")),
    },
    expected=lambda place, sizes, axes: _numbered(place, sizes, axes),
    rtol=1e-9,
    source="blocks counted with the first-named axis slowest",
    mistakes=(
        Mistake(
            lambda place, sizes, axes: _numbered(place, sizes, axes[::-1]),
            "That is the order with the first-named axis fastest; ours, as JAX's, has it slowest.",
        ),
        Mistake(
            lambda place, sizes, axes: sum(place[axis] for axis in axes),
            "A step along a slow axis skips as many blocks as the faster axes have chips.",
        ),
        Mistake(
            lambda place, sizes, axes: _numbered(place, sizes, "".join(a for a in "XYZ" if a in axes)),
            "The order of the subscripts counts, not that of the alphabet.",
        ),
        Mistake(lambda place, sizes, axes: _numbered(place, sizes, axes) + 1, "The first block has the number 0."),
    ),
    hints=(
        "Read the places like digits of a number, the first-named axis being the leading digit.",
        "Start with 0; for each axis multiply by its size and add the place.",
        "`number = 0`, then `for axis in axes:`; what becomes of `number` with each new digit?",
    ),
    solution="number = 0, then number = number · size + place for each axis in the order of the subscripts.",
    teaches="ch03-notation",
    level=2,
    minutes=8,
    page=Exercise(
        key="ch03.q3",
        title="Which block a chip holds",
        kind="number",
        unit="",
        points=3,
        inputs={"place": {"X": 1, "Y": 2, "Z": 1}, "sizes": {"X": 2, "Y": 4, "Z": 3}, "axes": "ZXY"},
        expected=(1 * 2 + 1) * 4 + 2,
        rtol=1e-9,
        source="I_ZXY on X=2, Y=4, Z=3, chip (1, 2, 1)",
        mistakes=(
            Mistake((2 * 2 + 1) * 3 + 1, "That has the first-named axis fastest; it is the slowest."),
            Mistake((1 * 4 + 2) * 3 + 1, "The order of the subscripts counts: Z, then X, then Y."),
            Mistake((1 * 2 + 1) * 4 + 2 + 1, "The first block has the number 0, as the first chip of an axis has."),
            Mistake(1 + 2 + 1, "A step along a slow axis skips as many blocks as the faster ones."),
        ),
        hints=(
            "Read the places like digits of a number, the first-named axis being the leading digit.",
            "Z is the slowest: a step along it skips |X| · |Y| = 8 blocks.",
            "`z * 2 + x` is the block after the first two subscripts; Y is the last digit.",
        ),
        solution="(1 · 2 + 1) · 4 + 2 = 14.",
        teaches="ch03-notation",
    ),
)


def _numbered(place, sizes, axes):
    """Counts chips in order of their blocks until the one asked for comes."""
    import itertools

    every = itertools.product(*(range(sizes[axis]) for axis in axes))
    return list(every).index(tuple(place[axis] for axis in axes))


Q4 = Exercise(
    key="ch03.q4",
    title="After the local product",
    kind="sharding",
    points=2,
    expected="C[I_Z, K_Y]{U_X}",
    mistakes=(
        Mistake("C[I_Z, K_Y]", "J is summed over and cut: each chip has only its share of every sum."),
        Mistake("C[I_Z, K]{U_X}", "Y cuts K of B, and passes through to C."),
        Mistake("C[I, K_Y]{U_X}", "Z cuts I of A, and passes through to C."),
        Mistake("C[I, K]{U_X}", "Z cuts I of A and Y cuts K of B: both pass through to C."),
        Mistake("C[I, K]", "What cuts I and K passes through to C; and J is cut, so sums remain to be added."),
        Mistake("C[I_Z, K_Y]{U_J}", "J is a dimension. In the braces stands the mesh axis that cuts it."),
        Mistake("C[I_ZX, K_Y]", "X does not cut the result: it is the axis over which sums remain."),
        Mistake("C[I_Z, K_YX]", "X cuts only J, which is summed over; it cannot cut K of the result by itself."),
    ),
    hints=(
        "Subscripts of I and K pass through.",
        "J is cut over X in both: that leaves the result unreduced over X.",
        "`C[I_?, K_?]{U_?}`",
    ),
    source="case 3 over X; Y and Z pass through",
    solution="I keeps Z, K keeps Y, and the sums over J remain to be added over X: C[I_Z, K_Y]{U_X}.",
    teaches="ch03-cases",
    level=1,
    minutes=3,
)

EXERCISES = (Q1, Q2, Q3, Q4)
