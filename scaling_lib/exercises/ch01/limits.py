"""Where the simple roofline ends: rates against batch, no reuse, links, fixed costs."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _counted(b, d, f, w_bytes):
    """FLOPs and bytes of x[b, d] · w[d, f], array by array; x and the result take two bytes a number."""
    arrays = ((b, d, 2), (d, f, w_bytes), (b, f, 2))
    return 2 * b * d * f, sum(rows * columns * size for rows, columns, size in arrays)


def _attained(b, d, f, w_bytes, peak, bandwidth):
    flops, moved = _counted(b, d, f, w_bytes)
    return flops / max(flops / peak, moved / bandwidth)


def _not_overlapped(b, d, f, w_bytes, peak, bandwidth):
    flops, moved = _counted(b, d, f, w_bytes)
    return flops / (flops / peak + moved / bandwidth)


def _slope_only(b, d, f, w_bytes, peak, bandwidth):
    flops, moved = _counted(b, d, f, w_bytes)
    return flops / moved * bandwidth


def _weights_only(b, d, f, w_bytes, peak, bandwidth):
    flops = 2 * b * d * f
    return min(peak, flops / (w_bytes * d * f) * bandwidth)


Q7 = Exercise(
    key="ch01.q7",
    title="The attained rate",
    kind="code",
    unit="FLOP/s",
    points=4,
    function="attained_rate",
    stub="def attained_rate(b, d, f, w_bytes, peak, bandwidth):\n    return ...",
    cases=(
        {"b": 100, "d": 1024, "f": 1024, "w_bytes": 1, "peak": 1.97e14, "bandwidth": 8.2e11},
        {"b": 4096, "d": 8192, "f": 8192, "w_bytes": 2, "peak": 9.89e14, "bandwidth": 3.35e12},
        {"b": 4096, "d": 256, "f": 256, "w_bytes": 1, "peak": 1.97e14, "bandwidth": 8.2e11},
        {"b": 37, "d": 512, "f": 4096, "w_bytes": 0.5, "peak": 9.89e14, "bandwidth": 3.35e12},
        {"b": 600, "d": 1024, "f": 384, "w_bytes": 2, "peak": 4.59e14, "bandwidth": 2.765e12},
    ),
    draw=lambda rng: {
        "b": rng.integers(1, 2000),
        "d": 128 * rng.integers(2, 64),
        "f": 128 * rng.integers(2, 64),
        "w_bytes": rng.choice((0.5, 1, 2)),
        "peak": 1e12 * rng.integers(100, 1000),
        "bandwidth": 1e10 * rng.integers(80, 400),
    },
    expected=_attained,
    rtol=1e-6,
    source="definition: FLOPs over the slower of the two clocks",
    mistakes=(
        Mistake(_slope_only, "That is the slope alone. The rate cannot exceed the peak."),
        Mistake(_not_overlapped, "Those are both clocks one after the other. At best they overlap: take the slower."),
        Mistake(_weights_only, "Only the weights were counted; for narrow matrices input and result matter."),
        Mistake(
            lambda b, d, f, w_bytes, peak, bandwidth: _attained(b, d, f, 2, peak, bandwidth),
            "The weights take w_bytes each, not always two.",
        ),
    ),
    hints=(
        "A rate is FLOPs over time; the time is that of the slower clock.",
        "FLOPs: 2BDF. Bytes: 2BD + w_bytes·DF + 2BF.",
        "`intensity = 2 * b * d * f / (2 * b * d + w_bytes * d * f + 2 * b * f)`",
    ),
    solution="intensity = 2BDF / (2BD + w_bytes·DF + 2BF); the rate is min(peak, intensity × bandwidth).",
    teaches="ch01-formats",
    level=2,
    minutes=10,
    page=Exercise(
        key="ch01.q7",
        title="The attained rate",
        kind="number",
        unit="FLOP/s",
        points=4,
        inputs={"b": 100, "d": 1024, "f": 1024, "w_bytes": 1, "peak": 1.97e14, "bandwidth": 8.2e11},
        expected=_attained,
        source="v5e: 197 TFLOP/s bf16, 820 GB/s HBM",
        mistakes=(
            Mistake(lambda peak: peak, "That is the peak; at this batch the memory sets the rate."),
            Mistake(_weights_only, "Only the weights were counted; for narrow matrices input and result matter."),
            Mistake(_not_overlapped, "Those are both clocks one after the other. At best they overlap."),
        ),
        hints=("as above",) * 3,
        solution="210 MFLOP over 1.46 MB are 144 FLOPs per byte, times 820 GB/s: 118 TFLOP/s.",
        teaches="ch01-formats",
    ),
)

Q8 = Exercise(
    key="ch01.q8",
    title="Own weights for every token",
    kind="number",
    unit="FLOP/byte",
    points=2,
    inputs={"b": 128, "d": 4096, "f": 4096},
    draw=lambda rng: {"b": 8 * rng.integers(8, 64), "d": 512 * rng.integers(4, 17), "f": 512 * rng.integers(4, 17)},
    expected=lambda b, d, f: 2 * b * d * f / (b * d + b * d * f + b * f),
    rtol=0.005,
    source="counted at one byte an element: BD + BDF + BF",
    mistakes=(
        Mistake(
            lambda b, d, f: 2 * b * d * f / (b * d + d * f + b * f),
            "That is one matrix shared by all tokens. Here there are B matrices.",
        ),
        Mistake(lambda b: 2 * b, "No weight is used twice, so the batch does not help."),
        Mistake(lambda b: b, "That is the rule for bf16 weights that all tokens share. Here each token has its own."),
        Mistake(
            lambda b, d, f: b * d * f / (b * d + b * d * f + b * f),
            "That is for bf16, or counts a multiply-add as one operation.",
        ),
    ),
    hints=(
        "How often is each weight used after it was read?",
        "Operations: 2BDF. Bytes: BD for the inputs, BDF for the weights, BF for the results.",
        "`operations = 2 * b * d * f`; now look for b in the bytes as well.",
    ),
    solution="B cancels: 2 / (1 + 1/D + 1/F), a little less than 2 at any batch.",
    teaches="ch01-slope",
    level=2,
    minutes=5,
)

Q9 = Exercise(
    key="ch01.q9",
    title="Softmax in three passes",
    kind="number",
    unit="ms",
    points=2,
    inputs={"rows": 8192, "columns": 32768, "bandwidth": 820e9},
    draw=lambda rng: {
        "rows": 1024 * rng.integers(2, 20),
        "columns": 1024 * rng.integers(8, 64),
        "bandwidth": 1e11 * rng.integers(8, 80),
    },
    expected=lambda rows, columns, bandwidth: 8 * rows * columns / bandwidth * 1e3,
    source="counted: three reads and one write of two bytes a number",
    mistakes=(
        Mistake(
            lambda rows, columns, bandwidth: 4 * rows * columns / bandwidth * 1e3,
            "That reads each number once. Each of the three passes reads it again.",
        ),
        Mistake(
            lambda rows, columns, bandwidth: 12 * rows * columns / bandwidth * 1e3,
            "Only the last pass writes the array; the other two leave one number a row.",
        ),
        Mistake(
            lambda rows, columns, bandwidth: 6 * rows * columns / bandwidth * 1e3,
            "The result has to be written as well.",
        ),
    ),
    hints=(
        "The arithmetic is far too little to matter. Count the bytes.",
        "Pass one reads for the maximum, pass two for the sum, pass three reads and writes.",
        "`array_bytes = 2 * rows * columns`",
    ),
    solution=lambda rows, columns, bandwidth: (
        f"8 bytes for each of {rows * columns:.3g} numbers: {8 * rows * columns / bandwidth * 1e3:.3g} ms; "
        "one pass would take half of that."
    ),
    teaches="ch01-slope",
    level=2,
    minutes=6,
)

Q10 = Exercise(
    key="ch01.q10",
    title="More memory bandwidth, same arithmetic",
    kind="choice",
    points=2,
    choices=(
        "1.43 times for both",
        "1.43 times for the small batch, nothing for the large one",
        "nothing for the small batch, 1.43 times for the large one",
        "nothing for either",
    ),
    expected="1.43 times for the small batch, nothing for the large one",
    mistakes=(
        Mistake("1.43 times for both", "The large batch waits for arithmetic, which is the same."),
        Mistake(
            "nothing for the small batch, 1.43 times for the large one",
            "It is the small batch that waits for the weights; the large one waits for arithmetic.",
        ),
        Mistake("nothing for either", "At 64 tokens the weights' bytes set the time."),
    ),
    hints=(
        "Which clock sets the time of each?",
        "Ridges: 295 on the H100 and 206 on the H200. Where do 64 and 4096 tokens lie?",
        "Below both ridges the time is bytes over bandwidth; above both it is FLOPs over the peak.",
    ),
    source="H100: 989 TFLOP/s, 3.35 TB/s; H200: 989 TFLOP/s, 4.8 TB/s; 4.8 / 3.35 = 1.43",
    solution="64 tokens lie below both ridges (4.8 / 3.35 = 1.43 times faster), 4096 above both (no gain).",
    teaches="ch01-ridges",
    level=1,
    minutes=4,
)

Q11 = Exercise(
    key="ch01.q11",
    title="When the result may stay split",
    kind="number",
    points=3,
    inputs={"peak": 459e12, "link": 90e9, "hbm": 2.765e12},
    draw=lambda rng: {
        "peak": 1e12 * rng.integers(150, 1000),
        "link": 1e9 * rng.integers(40, 500),
        "hbm": 1e11 * rng.integers(8, 80),
    },
    expected=lambda peak, link: peak / link,
    source="BDF / peak = (2 bytes × BF / 2) / link",
    mistakes=(
        Mistake(
            lambda peak, link: 2 * peak / link,
            "That is for a chip that sends all its partial sums. It sends only the half that its neighbour keeps.",
        ),
        Mistake(
            lambda peak, link: peak / link / 2,
            "Each chip does BDF FLOPs, half of the matmul's; or did you count both directions of the link?",
        ),
        Mistake(lambda peak, hbm: peak / hbm, "That is the ridge of the memory. The partial sums go over the link."),
    ),
    hints=(
        "What does each chip send, if each ends with half of the columns of the result?",
        "Each chip does BDF FLOPs and sends BF/2 numbers of two bytes.",
        "`math_time = b * d * f / peak`; the link must not take longer.",
    ),
    solution=lambda peak, link: (
        f"Half the bytes, half the size: D > {peak / 1e12:.0f} T ÷ {link / 1e9:.0f} G = {peak / link:.0f}."
    ),
    teaches="ch01-network",
    level=3,
    minutes=8,
)


def _fixed_cost(rows_1, time_1, rows_2, time_2):
    """The straight line through two timings, at no rows."""
    return time_1 - (time_2 - time_1) / (rows_2 - rows_1) * rows_1


Q12 = Exercise(
    key="ch01.q12",
    title="Fixed cost from two timings",
    kind="number",
    unit="µs",
    points=3,
    inputs={"rows_1": 1024, "time_1": 170.0, "rows_2": 4096, "time_2": 643.0},
    draw=lambda rng: {
        "rows_1": 1024,
        "time_1": (first := rng.integers(130, 180)) + rng.integers(8, 20),
        "rows_2": 4096,
        "time_2": 4.0 * first,
    },
    expected=_fixed_cost,
    rtol=0.02,
    source="time = T0 + rows × c through two points; default timings from Microsoft Vidur's H100 profiles",
    mistakes=(
        Mistake(
            lambda rows_1, time_1, rows_2, time_2: (time_2 - time_1) / (rows_2 - rows_1) * rows_1,
            "That is the part of the first time that grows with the rows; the fixed cost is the rest.",
        ),
        Mistake(
            lambda rows_1, time_1, rows_2, time_2: time_1 - time_2 / rows_2 * rows_1,
            "The second time contains the fixed cost as well; take the slope between the two.",
        ),
        Mistake(lambda time_1, time_2: time_2 - time_1, "That is what 3072 more rows cost."),
        Mistake(
            lambda rows_1, time_1, rows_2, time_2: (time_2 - time_1) / (rows_2 - rows_1),
            "That is the cost of one row; the fixed cost is the time that no rows would take.",
        ),
    ),
    hints=(
        "Two unknowns, a fixed cost and a cost per row; two timings.",
        "Cost per row: the difference of the times over the difference of the rows.",
        "`per_row = (time_2 - time_1) / (rows_2 - rows_1)`",
    ),
    solution=lambda rows_1, time_1, rows_2, time_2: (
        f"{(time_2 - time_1) / (rows_2 - rows_1):.4f} µs a row "
        f"leave {_fixed_cost(rows_1, time_1, rows_2, time_2):.1f} µs."
    ),
    teaches="ch01-overhead",
    level=3,
    minutes=8,
)

EXERCISES = (Q7, Q8, Q9, Q10, Q11, Q12)
