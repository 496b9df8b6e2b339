"""Number formats, spec sheets and what helps a memory-bound matmul."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _int8_times(b, d, f, bytes_each=1):
    """Times of an int8 matmul on a v5e: 394 TOP/s and 820 GB/s [µs]."""
    return 2 * b * d * f / 394e12 * 1e6, bytes_each * (b * d + d * f + b * f) / 820e9 * 1e6


Q3 = Exercise(
    key="ch01.q3",
    title="The least time of an int8 matmul",
    kind="number",
    unit="µs",
    points=2,
    inputs={"b": 64, "d": 4096, "f": 16384},
    draw=lambda rng: {"b": 16 * rng.integers(4, 10), "d": 4096, "f": 4096 * rng.integers(3, 8)},
    expected=lambda b, d, f: max(_int8_times(b, d, f)),
    rtol=0.005,
    source="v5e: 394 TOP/s int8, 820 GB/s HBM; one byte an element",
    mistakes=(
        Mistake(lambda b, d, f: sum(_int8_times(b, d, f)), "That is the upper bound. At best the two clocks overlap."),
        Mistake(lambda b, d, f: min(_int8_times(b, d, f)), "That is the faster clock. The slower one sets the time."),
        Mistake(lambda b, d, f: max(_int8_times(b, d, f, 2)), "Int8 takes one byte a number, bf16 two."),
        Mistake(lambda b, d, f: d * f / 820e9 * 1e6, "Those are the weights alone; input and result move as well."),
    ),
    hints=(
        "Two clocks run at once; the slower one sets the least time.",
        "Operations: 2BDF at 394 TOP/s. Bytes: BD + DF + BF at 820 GB/s.",
        "`math_time = 2 * b * d * f / 394e12`",
    ),
    solution=lambda b, d, f: "math {:.1f} µs, memory {:.1f} µs: the memory sets the time.".format(
        *_int8_times(b, d, f)
    ),
    teaches="ch01-formats",
    level=1,
    minutes=5,
)

Q4 = Exercise(
    key="ch01.q4",
    title="What helps a small batch",
    kind="choice",
    points=1,
    choices=(
        "a chip with twice the FLOP/s and the same memory",
        "weights stored in int8, the arithmetic still in bf16",
        "a matrix twice as wide",
        "twice as many such matmuls, each with its own weights",
    ),
    expected="weights stored in int8, the arithmetic still in bf16",
    mistakes=(
        Mistake(
            "a chip with twice the FLOP/s and the same memory",
            "The arithmetic is not what it waits for; its ridge would only move further away.",
        ),
        Mistake(
            "a matrix twice as wide",
            "The weights are four times as many, and so are the FLOPs: the intensity stays at about the batch.",
        ),
        Mistake(
            "twice as many such matmuls, each with its own weights",
            "Own weights are not shared: bytes and FLOPs both double.",
        ),
    ),
    hints=(
        "Is it bound by arithmetic or by memory?",
        "At 32 tokens the intensity is about 32, far below the ridge; nearly all bytes are weights.",
        "Which of the four lowers the bytes per FLOP?",
    ),
    source="v5e: ridge 240 FLOPs per byte; intensity at B = 32 about 32",
    solution="Int8 halves the weights' bytes and nearly the time; the others leave the bytes per FLOP as they are.",
    teaches="ch01-formats",
    level=1,
    minutes=3,
)


def _mixed_crossover(peak, bandwidth, d, f, w_bytes):
    """From 2BDF / peak = (2BD + w DF + 2BF) / bandwidth."""
    ridge = peak / bandwidth
    return ridge * w_bytes * d * f / (2 * d * f - 2 * ridge * (d + f))


Q5 = Exercise(
    key="ch01.q5",
    title="The crossover with int8 weights",
    kind="number",
    unit="tokens",
    points=3,
    inputs={"peak": 197e12, "bandwidth": 820e9, "d": 8192, "f": 8192},
    draw=lambda rng: {
        "peak": 1e12 * rng.integers(150, 350),
        "bandwidth": 820e9,
        "d": 1024 * rng.integers(3, 9),
        "f": 1024 * rng.integers(3, 9),
    },
    expected=lambda peak, bandwidth, d, f: _mixed_crossover(peak, bandwidth, d, f, 1),
    rtol=0.005,
    whole=True,
    source="2BDF / peak = (2BD + DF + 2BF) / bandwidth",
    mistakes=(
        Mistake(
            lambda peak, bandwidth: peak / bandwidth,
            "That is the rule for wide matrices in bf16; int8 weights take one byte, and D and F count.",
        ),
        Mistake(lambda peak, bandwidth: peak / bandwidth / 2, "That is the limit for very wide matrices; be exact."),
        Mistake(
            lambda peak, bandwidth, d, f: _mixed_crossover(peak, bandwidth, d, f, 2),
            "That is for bf16 weights, two bytes each.",
        ),
        Mistake(
            lambda peak, bandwidth, d, f: _mixed_crossover(2 * peak, bandwidth, d, f, 1),
            "The arithmetic stays in bf16, so its peak does not double.",
        ),
        Mistake(
            lambda peak, bandwidth, d, f: 1 / (2 * bandwidth / peak - 1 / d - 1 / f),
            "Activations and results are still bf16: two bytes each, so 2/D and 2/F.",
        ),
    ),
    hints=(
        "At the crossover arithmetic and memory take the same time.",
        "Bytes: 2BD for the input, DF for the weights, 2BF for the result.",
        "`math_time = 2 * b * d * f / peak` equals the memory's time; divide both by `b * d * f`.",
    ),
    solution=lambda peak, bandwidth, d, f: (
        f"1/B = 2/{peak / bandwidth:.1f} - 2/{d} - 2/{f}, so B = {_mixed_crossover(peak, bandwidth, d, f, 1):.1f}."
    ),
    teaches="ch01-formats",
    level=2,
    minutes=8,
)

Q6 = Exercise(
    key="ch01.q6",
    title="From a data sheet to a batch",
    kind="number",
    unit="tokens",
    points=2,
    inputs={"sheet_flops_per_s": 1979e12, "bandwidth": 3.35e12},
    draw=lambda rng: {"sheet_flops_per_s": 1e12 * rng.integers(600, 5000), "bandwidth": 1e11 * rng.integers(15, 80)},
    expected=lambda sheet_flops_per_s, bandwidth: sheet_flops_per_s / 2 / bandwidth,
    whole=True,
    source="a wide bf16 matmul's intensity is its batch; 2:4 sparsity doubles the printed rate",
    mistakes=(
        Mistake(
            lambda sheet_flops_per_s, bandwidth: sheet_flops_per_s / bandwidth,
            "The printed rate counts the zeros of sparse weights. A dense matmul gets half of it.",
        ),
        Mistake(
            lambda sheet_flops_per_s, bandwidth: sheet_flops_per_s / 4 / bandwidth,
            "That is for int8 weights; bf16 weights take two bytes.",
        ),
        Mistake(
            lambda sheet_flops_per_s, bandwidth: 8 * sheet_flops_per_s / 2 / bandwidth,
            "Memory bandwidth is in bytes a second, not bits.",
        ),
    ),
    hints=(
        "Which of the sheet's numbers does a dense matmul get?",
        "Dense peak: half of the printed one. Ridge: dense peak over bandwidth.",
        "`dense = sheet_flops_per_s / 2`",
    ),
    solution=lambda sheet_flops_per_s, bandwidth: (
        f"{sheet_flops_per_s / 2e12:.1f} T dense ÷ {bandwidth / 1e12:.2f} TB/s = "
        f"{sheet_flops_per_s / 2 / bandwidth:.1f} tokens."
    ),
    teaches="ch01-ridges",
    level=2,
    minutes=5,
)

EXERCISES = (Q3, Q4, Q5, Q6)
