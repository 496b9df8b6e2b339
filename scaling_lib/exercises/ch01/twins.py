"""Twins of the worked examples: the same steps with other numbers, the last one left to the reader."""

from scaling_lib.exercises.spec import Exercise, Mistake

G2 = Exercise(
    key="ch01.g2",
    title="One token, one weight matrix",
    kind="number",
    unit="TFLOP/s",
    points=0,
    expected=1 * 820e9 / 1e12,
    mistakes=(
        Mistake(197.0, "That is the peak; at 1 FLOP per byte the memory cannot feed it."),
        Mistake(
            0.41, "That is the dot product's rate. Here each weight takes 2 FLOPs and 2 bytes: twice the intensity."
        ),
        Mistake(820.0, "Right digits, other unit: 820 GFLOP/s."),
    ),
    source="v5e: 820 GB/s HBM; 2DF FLOPs and 2DF bytes",
    solution="1 FLOP/byte × 820 GB/s = 0.82 TFLOP/s, 0.4% of the peak.",
    teaches="ch01-dot-product",
    minutes=2,
)

G4 = Exercise(
    key="ch01.g4",
    title="The exact crossover of a narrow matmul",
    kind="number",
    unit="tokens",
    points=0,
    whole=True,
    expected=1 / (820e9 / 197e12 - 2 / 2048),
    mistakes=(
        Mistake(197e12 / 820e9, "That is the limit for very wide matrices; here 1/D + 1/F counts."),
        Mistake(1 / (820e9 / 197e12 + 2 / 2048), "A sign: subtract 1/D + 1/F, which makes the batch larger."),
        Mistake(1 / (820e9 / 197e12 - 1 / 2048), "Both widths count: 1/D and 1/F."),
    ),
    source="1/B = 1/I* - 1/D - 1/F with I* = 197e12 / 820e9",
    solution="1/B = 0.0041624 - 0.0009766 = 0.0031858, so B = 314 tokens.",
    teaches="ch01-matmul",
    minutes=3,
)

G5 = Exercise(
    key="ch01.g5",
    title="The upper bound on an H100",
    kind="number",
    unit="µs",
    points=0,
    expected=(10e9 / 989e12 + 100e6 / 3.35e12) * 1e6,
    mistakes=(
        Mistake(
            100e6 / 3.35e12 * 1e6, "That is the lower bound: everything overlaps. Without overlap the times add up."
        ),
        Mistake(10e9 / 989e12 * 1e6, "That is the arithmetic alone."),
    ),
    source="H100 SXM: 989 TFLOP/s bf16 dense, 3.35 TB/s HBM",
    solution="10.1 µs + 29.9 µs = 40.0 µs.",
    teaches="ch01-clocks",
    minutes=2,
)

G6 = Exercise(
    key="ch01.g6",
    title="The ridge of a B200 in fp8",
    kind="number",
    unit="FLOP/byte",
    points=0,
    expected=4500e12 / 7.7e12,
    mistakes=(
        Mistake(4500e12 / 7.7e12 / 2, "That is the bf16 ridge: fp8 runs twice as fast."),
        Mistake(2 * 4500e12 / 7.7e12, "That is the rate with sparsity, or fp4; the dense fp8 peak is 4500 TFLOP/s."),
        Mistake(7.7e12 / 4500e12, "That is bytes/s over FLOP/s; the ridge is FLOP/s over bytes/s."),
    ),
    source="B200 SXM: 4500 TFLOP/s fp8 dense, 7.7 TB/s HBM",
    solution="4500 T ÷ 7.7 T = 584 FLOPs per byte.",
    teaches="ch01-ridges",
    minutes=1,
)

_X, _W, _OUT = 256 * 4096, 4096 * 16384, 256 * 16384

G7 = Exercise(
    key="ch01.g7",
    title="Memory time with int8 weights only",
    kind="number",
    unit="µs",
    points=0,
    expected=(2 * _X + _W + 2 * _OUT) / 820e9 * 1e6,
    mistakes=(
        Mistake(
            (_X + _W + _OUT) / 820e9 * 1e6, "That is all three arrays in int8; activations and results take two bytes."
        ),
        Mistake(2 * (_X + _W + _OUT) / 820e9 * 1e6, "That is everything in bf16; the weights take one byte."),
        Mistake(_W / 820e9 * 1e6, "The weights alone; X and the result move as well."),
    ),
    source="v5e: 820 GB/s HBM; 2BD + DF + 2BF bytes",
    solution="2.1 + 67.1 + 8.4 = 77.6 MB, ÷ 820 GB/s = 94.6 µs. The arithmetic, 174 µs, is the limit now.",
    teaches="ch01-formats",
    minutes=3,
)

G8 = Exercise(
    key="ch01.g8",
    title="What a fused epilogue moves",
    kind="choice",
    points=0,
    choices=("none", "4 bytes a number", "12 bytes a number", "6 bytes a number"),
    expected="none",
    mistakes=(
        Mistake("4 bytes a number", "That is one pass over memory by itself. Here the results are still on the chip."),
        Mistake("12 bytes a number", "That is three passes. Fused into the matmul they need no pass of their own."),
        Mistake("6 bytes a number", "Nothing is read again: the results are on the chip, and are written once anyway."),
    ),
    source="counted: the matmul writes its results once, whether they are scaled before or not",
    solution="None: the matmul writes each result once anyway.",
    teaches="ch01-slope",
    minutes=1,
)

G9 = Exercise(
    key="ch01.g9",
    title="Partial sums in f32",
    kind="number",
    unit="",
    points=0,
    expected=4 * 197e12 / 45e9,
    mistakes=(
        Mistake(
            2 * 197e12 / 45e9, "Half of it: f32 takes four bytes, and each chip sends over one link, one way: 45 GB/s."
        ),
        Mistake(4 * 197e12 / 820e9, "The partial sums go over the link, at 45 GB/s, not through the memory."),
        Mistake(8 * 197e12 / 45e9, "Each chip does BDF FLOPs, half of the matmul's 2BDF."),
    ),
    source="BDF / 197e12 = 4BF / 45e9",
    solution="D > 4 × 4378 = 17,511: twice the bytes need twice the contraction.",
    teaches="ch01-network",
    minutes=3,
)

G10 = Exercise(
    key="ch01.g10",
    title="Fixed costs after fusion",
    kind="number",
    unit="ms",
    points=0,
    expected=40 * 5e-3,
    mistakes=(
        Mistake(1.0, "That is before fusion, for 200 operations."),
        Mistake(0.8, "That is what fusion saves; what remains is 40 × 5 µs."),
    ),
    source="40 operations of 5 µs",
    solution="40 × 5 µs = 0.2 ms.",
    teaches="ch01-overhead",
    minutes=1,
)

G11 = Exercise(
    key="ch01.g11",
    title="The laptop's crossover",
    kind="number",
    unit="tokens",
    points=0,
    expected=2 * 100 / 25,
    mistakes=(
        Mistake(4, "That is the ridge. In f32 a token brings only half a FLOP for each byte of the weights."),
        Mistake(2, "Four-byte weights need more tokens than two-byte ones, not fewer."),
        Mistake(16, "Each weight takes four bytes and gives two FLOPs a token: the intensity is B/2, not B/4."),
    ),
    source="2 B / 4 = 100 / 25",
    solution="B/2 = 4, so B = 8 tokens.",
    teaches="ch01-yours",
    minutes=1,
)

EXERCISES = (G2, G4, G5, G6, G7, G8, G9, G10, G11)
