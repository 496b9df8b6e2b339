"""Twins of the worked examples: the same steps with other numbers, the last one left to the reader."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _twin(number, title, unit, expected, wrong, source, solution, teaches, minutes=2):
    """A number; `wrong` holds pairs of a wrong value and what to say about it."""
    return Exercise(
        key=f"ch02.g{number}",
        title=title,
        kind="number",
        unit=unit,
        points=0,
        expected=expected,
        mistakes=tuple(Mistake(value, says) for value, says in wrong),
        source=source,
        solution=solution,
        teaches=teaches,
        minutes=minutes,
    )


_MACS_V4 = 2 * 4 * 128**2 * 1.05

G5 = _twin(
    5,
    "The peak of a TPU v4 from its parts",
    "TFLOP/s",
    2 * _MACS_V4 / 1e3,
    (
        (_MACS_V4 / 1e3, "Half of it: a multiplication and an addition are two FLOPs, and a v4 has two cores."),
        (_MACS_V4 / 2e3, "A quarter: count both cores, and two FLOPs for each cell."),
    ),
    "v4: 2 cores × 4 MXUs × 128² cells × 2 FLOPs × 1.05 GHz",
    "2 × 4 × 16,384 × 2 × 1.05 GHz = 275 TFLOP/s.",
    "ch02-chip",
)

G7 = _twin(
    7,
    "64 rows through four tiles",
    "%",
    100 * 64 * 4 / (128 + 3 * 128 + 64 + 254),
    (
        (100 * 64 * 4 / (128 + 3 * 64 + 64 + 254), "A tile takes 128 cycles to load: 64 rows cannot go faster."),
        (50.0, "That leaves out the first load and the way through the array."),
        (
            100 * 64 / (128 + 64 + 254),
            "That is one tile. Four follow each other, and only the first is waited for in full.",
        ),
    ),
    "128 + 3 · max(64, 128) + 64 + 254 = 830 cycles; 64 · 4 of them",
    "128 + 3 × 128 + 64 + 254 = 830 cycles; each cell multiplies in 256 of them: 31%.",
    "ch02-systolic",
    3,
)

G9 = _twin(
    9,
    "The same matrix on a 256 × 256 array",
    "%",
    100 * 100 * 200 / 256**2,
    (
        (100 * 100 * 200 / (128 * 256), "That is the 128 × 128 array: 100 pads to 256 here."),
        (100 * 200 / 256, "Both sizes pad: 100 to 256 and 200 to 256."),
        (100 * 100 / 256, "Both sizes pad: 200 to 256 as well."),
    ),
    "100 · 200 / (256 · 256)",
    "100 × 200 ÷ (256 × 256) = 31%.",
    "ch02-padding",
)

G11 = _twin(
    11,
    "How long the contraction must be",
    "",
    10 / 6.144e12 * 197e12 / 2,
    (
        (10 / 6.144e12 * 197e12, "Each element of the contraction takes two FLOPs."),
        (10 / 6.144e12 * 197e12 / 4, "Twice as long: the matrix units do 2D FLOPs a result."),
    ),
    "2D / 197e12 = 10 / 6.144e12",
    "D = 10 ÷ 6.144 T × 197 T ÷ 2 = 160.",
    "ch02-vpu",
)

_ARRAY = 2 * 4096**2

G13 = _twin(
    13,
    "Tiles of 1024",
    "ms",
    9 * _ARRAY / 820e9 * 1e3,
    (
        (
            3 * _ARRAY / 820e9 * 1e3,
            "That reads each array once. With four tiles along an axis X and W are read four times.",
        ),
        (33 * _ARRAY / 820e9 * 1e3, "That is for tiles of 256: 16 along each axis."),
        (6 * _ARRAY / 820e9 * 1e3, "X and W are both read four times."),
        (8 * _ARRAY / 820e9 * 1e3, "The result is written too."),
    ),
    "(4 + 4 + 1) arrays of 4096² bf16 numbers over 820 GB/s",
    "(4 + 4 + 1) × 33.6 MB = 302 MB, ÷ 820 GB/s = 0.37 ms, now less than the arithmetic's 0.70 ms.",
    "ch02-tiling",
)

G15 = _twin(
    15,
    "1 GB to another slice of TPU v5p",
    "ms",
    1e9 / 6.25e9 * 1e3,
    (
        (1e9 / 25e9 * 1e3, "That is the whole host's network, which four chips share."),
        (1e9 / 16e9 * 1e3, "That is PCIe; the network behind it is slower."),
        (8e9 / 6.25e9 * 1e3, "Gigabytes, not gigabits."),
    ),
    "v5p: 6.25 GB/s of data-centre network a chip",
    "1 GB ÷ 6.25 GB/s = 160 ms.",
    "ch02-host",
)

_NBYTES = 2 * 8 * 128 * 8192

G17 = _twin(
    17,
    "Half-way round both rings",
    "µs",
    _NBYTES / (4 * 45e9) * 1e6 + 16,
    (
        (
            _NBYTES / (2 * 45e9) * 1e6 + 16,
            "Half-way round a ring both directions are equally short: four links lead there.",
        ),
        (_NBYTES / (4 * 45e9) * 1e6, "The first byte needs 16 hops on top."),
        (_NBYTES / 45e9 * 1e6 + 16, "The array can be split over all four links."),
    ),
    "16.8 MB over 4 links of 45 GB/s, and 16 hops of 1 µs",
    "93 µs + 16 µs = 109 µs.",
    "ch02-torus",
    3,
)

G19 = _twin(
    19,
    "The CUDA cores of a B200",
    "TFLOP/s",
    148 * 128 * 2 * 1.965e9 / 1e12,
    (
        (148 * 128 * 1.965e9 / 1e12, "A fused multiply-add counts two FLOPs."),
        (148 * 32 * 2 * 1.965e9 / 1e12, "An SM has four quarters of 32 lanes."),
        (132 * 128 * 2 * 1.965e9 / 1e12, "132 SMs are an H100's; a B200 has 148."),
    ),
    "B200: 148 SMs × 128 lanes × 2 FLOPs × 1.965 GHz",
    "148 × 128 × 2 × 1.965 GHz = 74 TFLOP/s.",
    "ch02-gpu",
)

G21 = _twin(
    21,
    "Inside against outside for a B200",
    "",
    900e9 / 50e9,
    (
        (450e9 / 50e9, "That is an H100; a B200's NVLink is twice as fast and its network card the same."),
        (900e9 / 400e9, "400 Gbit/s are 50 GB/s: eight bits a byte."),
    ),
    "900 GB/s NVLink over 50 GB/s",
    "900 ÷ 50 = 18.",
    "ch02-cluster",
    1,
)

EXERCISES = (G5, G7, G9, G11, G13, G15, G17, G19, G21)
