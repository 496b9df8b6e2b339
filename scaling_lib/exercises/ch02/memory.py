"""Tiles and bytes; hosts and PCIe."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _tiled(m, k, n, tile_m, tile_n):
    """Bytes of bf16, counted tile by tile."""
    moved = 0
    for top in range(0, m, tile_m):
        for left in range(0, n, tile_n):
            tall, wide = min(tile_m, m - top), min(tile_n, n - left)
            moved += 2 * (tall * k + k * wide + tall * wide)
    return moved


def _ceil(a, b):
    return -(-a // b)


Q6 = Exercise(
    key="ch02.q6",
    title="Bytes of a tiled product",
    kind="code",
    unit="B",
    points=4,
    function="tiled_bytes",
    stub="def tiled_bytes(m, k, n, tile_m, tile_n):\n    return ...",
    cases=(
        {"m": 4096, "k": 1024, "n": 8192, "tile_m": 256, "tile_n": 512},
        {"m": 1000, "k": 700, "n": 300, "tile_m": 128, "tile_n": 64},
        {"m": 100, "k": 64, "n": 900, "tile_m": 128, "tile_n": 128},
    ),
    draw=lambda rng: {
        "m": rng.integers(50, 900),
        "k": rng.integers(50, 900),
        "n": rng.integers(50, 900),
        "tile_m": 16 * rng.integers(1, 12),
        "tile_n": 16 * rng.integers(1, 12),
    },
    expected=_tiled,
    rtol=1e-9,
    source="counted tile by tile: its rows of X, its columns of W, and its results, two bytes each",
    mistakes=(
        Mistake(
            lambda m, k, n, tile_m, tile_n: 2 * (m * k + k * n + m * n),
            "That reads each array once. Every column of tiles reads X again, every row of tiles W.",
        ),
        Mistake(
            lambda m, k, n, tile_m, tile_n: 2 * (m * k * _ceil(m, tile_m) + k * n * _ceil(n, tile_n) + m * n),
            "That takes rows of tiles for columns: X is read once for each column, of which there are n / tile_n.",
        ),
        Mistake(
            lambda m, k, n, tile_m, tile_n: 2 * (m * k * n / tile_n + k * n * m / tile_m + m * n),
            "Round up: a tile that is not full reads its rows and columns as well.",
        ),
        Mistake(
            lambda m, k, n, tile_m, tile_n: 2 * (m * k * _ceil(n, tile_n) + k * n * _ceil(m, tile_m)),
            "The result has to be written: m × n more numbers.",
        ),
        Mistake(
            lambda m, k, n, tile_m, tile_n: m * k * _ceil(n, tile_n) + k * n * _ceil(m, tile_m) + m * n,
            "Those are numbers; a bf16 number takes two bytes.",
        ),
    ),
    hints=(
        "How often is each number of X read, how often each of W?",
        "X once for each column of tiles, W once for each row of tiles; the result is written once.",
        "`columns, rows = -(-n // tile_n), -(-m // tile_m)`",
    ),
    solution="2 · (MK · ceil(N / tile_n) + KN · ceil(M / tile_m) + MN) bytes.",
    teaches="ch02-tiling",
    level=2,
    minutes=10,
    page=Exercise(
        key="ch02.q6",
        title="Bytes of a tiled product",
        kind="number",
        unit="MB",
        points=4,
        inputs={"m": 4096, "k": 1024, "n": 8192, "tile_m": 256, "tile_n": 512},
        expected=lambda m, k, n, tile_m, tile_n: _tiled(m, k, n, tile_m, tile_n) / 1e6,
        rtol=0.005,
        source="as above",
        mistakes=(
            Mistake(
                lambda m, k, n: 2 * (m * k + k * n + m * n) / 1e6,
                "That reads each array once. Every column of tiles reads X again, every row of tiles W.",
            ),
            Mistake(
                lambda m, k, n, tile_m, tile_n: 2 * (m * k * (n // tile_n) + k * n * (m // tile_m)) / 1e6,
                "The result has to be written: m × n more numbers.",
            ),
        ),
        hints=(
            "How often is each number of X read, how often each of W?",
            "X once for each of 16 columns of tiles, W once for each of 16 rows; the result is written once.",
            "`of_x = 16 * 4096 * 1024` numbers; W and the result likewise.",
        ),
        solution="2 · (16 · 4.19 M + 16 · 8.39 M + 33.6 M) = 470 MB.",
        teaches="ch02-tiling",
    ),
)

Q7 = Exercise(
    key="ch02.q7",
    title="The smallest tile that keeps the arithmetic busy",
    kind="number",
    unit="",
    points=2,
    inputs={"peak": 459e12, "bandwidth": 2.765e12},
    draw=lambda rng: {"peak": 1e12 * rng.integers(200, 2000), "bandwidth": 1e11 * rng.integers(8, 80)},
    expected=lambda peak, bandwidth: 2 * peak / bandwidth,
    rtol=0.01,
    source="t · t / (t + t) = t / 2 FLOPs per byte",
    mistakes=(
        Mistake(
            lambda peak, bandwidth: peak / bandwidth,
            "That is the ridge. A square tile of side t reaches t / 2 FLOPs per byte, not t.",
        ),
        Mistake(
            lambda peak, bandwidth: 4 * peak / bandwidth, "Bf16: two FLOPs and two bytes cancel; t / 2 is the ridge."
        ),
        Mistake(
            lambda peak, bandwidth: (peak / bandwidth) ** 0.5, "A tile's intensity grows with its side, not its area."
        ),
    ),
    hints=(
        "What is the intensity of a tile, when the contraction is long?",
        "t · t / (t + t) = t / 2 FLOPs per byte in bf16.",
        "It has to reach the ridge, peak / bandwidth.",
    ),
    solution=lambda peak, bandwidth: f"t / 2 = {peak / bandwidth:.0f}, so t = {2 * peak / bandwidth:.0f}.",
    teaches="ch02-tiling",
    level=2,
    minutes=4,
)

Q8 = Exercise(
    key="ch02.q8",
    title="The least time of one token",
    kind="number",
    unit="ms",
    points=2,
    inputs={"params": 200e9, "chips": 32, "hbm": 1.2e12},
    draw=lambda rng: {
        "params": 1e9 * rng.integers(50, 500),
        "chips": rng.choice((24, 40, 64)),
        "hbm": 1e11 * rng.integers(9, 30),
    },
    expected=lambda params, chips, hbm: 2 * params / chips / hbm * 1e3,
    source="every bf16 weight is read once a token, each chip its share",
    mistakes=(
        Mistake(lambda params, chips, hbm: params / chips / hbm * 1e3, "A bf16 weight takes two bytes."),
        Mistake(lambda params, hbm: 2 * params / hbm * 1e3, "Each chip reads only its share of the weights."),
        Mistake(
            lambda params, chips, hbm: 16 * params / chips / hbm * 1e3, "Bandwidth is in bytes a second, not bits."
        ),
    ),
    hints=(
        "For one token every weight is used once, so every weight is read once.",
        "Bytes of one chip: 2 · params / chips.",
        "Divide them by hbm, the bytes a second of one chip: that is in seconds.",
    ),
    solution=lambda params, chips, hbm: (
        f"{2 * params / chips / 1e9:.3g} GB a chip ÷ {hbm / 1e12:.2g} TB/s = {2 * params / chips / hbm * 1e3:.3g} ms."
    ),
    teaches="ch02-host",
    level=1,
    minutes=4,
)

Q9 = Exercise(
    key="ch02.q9",
    title="Weights that stay on the host",
    kind="number",
    unit="",
    points=3,
    inputs={"peak": 918e12, "pcie": 32e9},
    draw=lambda rng: {"peak": 1e12 * rng.integers(150, 1000), "pcie": 1e9 * rng.integers(12, 64)},
    expected=lambda peak, pcie: peak / pcie,
    source="with an endless batch the result binds: 8 · B · D bytes out, for 8 · B · D² FLOPs",
    mistakes=(
        Mistake(
            lambda peak, pcie: 5 * peak / pcie / 4,
            "That adds what comes in to what goes out. PCIe carries both at once, so the larger alone counts.",
        ),
        Mistake(
            lambda peak, pcie: peak / pcie / 4,
            "You compared with what comes in. The result goes out meanwhile, and has four times the numbers of X.",
        ),
        Mistake(
            lambda peak, pcie: 2 * peak / pcie,
            "A multiplication and an addition are two FLOPs, and a number two bytes.",
        ),
    ),
    hints=(
        "With a large batch W hardly counts: what comes in then, and what goes out?",
        "In: 2 · B · D bytes, out: 2 · B · 4D, at the same time. FLOPs: 2 · B · D · 4D.",
        "8 * b * d**2 / peak = 8 * b * d / pcie, solved for d",
    ),
    solution=lambda peak, pcie: (
        f"8BD² ÷ peak ≥ 8BD ÷ pcie, so D = {peak / pcie:.0f}: no model is so wide. Weights must not stay there."
    ),
    teaches="ch02-host",
    level=3,
    minutes=8,
)

EXERCISES = (Q6, Q7, Q8, Q9)
