"""Counting one matmul: its intensity and its exact crossover."""

from math import inf

from scaling_lib.exercises.spec import Exercise, Mistake

Q1 = Exercise(
    key="ch01.q1",
    title="The intensity of a matmul",
    kind="number",
    unit="FLOP/byte",
    points=2,
    inputs={"b": 256, "d": 4096, "f": 8192},
    # d and f far apart, so that leaving out the input and leaving out the output differ.
    draw=lambda rng: {"b": (b := 8 * rng.integers(12, 80)), "d": 16 * b, "f": b * rng.choice((6, 7, 8, 30, 32))},
    expected=lambda b, d, f: 2 * b * d * f / (2 * b * d + 2 * d * f + 2 * b * f),
    rtol=0.005,
    source="counted: 2BDF FLOPs; X[B, D], W[D, F] and Y[B, F] once each at 2 bytes an element",
    mistakes=(
        Mistake(
            lambda b: b, "That is the batch itself, the limit for D and F much larger than B. Count the bytes exactly."
        ),
        Mistake(
            lambda b, d, f: b * d * f / (2 * b * d + 2 * d * f + 2 * b * f),
            "A multiplication and an addition are two FLOPs, so a matmul takes 2BDF of them.",
        ),
        Mistake(
            lambda b, d, f: 2 * b * d * f / (b * d + d * f + b * f),
            "You divided by elements. A bf16 element takes two bytes.",
        ),
        Mistake(
            lambda b, d, f: 2 * b * d * f / (2 * b * d + 2 * d * f),
            "The output has to be written back too: B × F more elements.",
        ),
        Mistake(
            lambda b, d, f: 2 * b * d * f / (2 * d * f + 2 * b * f),
            "The activations have to be read too: B × D more elements.",
        ),
    ),
    hints=(
        "Intensity is FLOPs over bytes moved: count both for the whole product.",
        "FLOPs: 2BDF. Bytes: 2 for each element of X[B, D], W[D, F] and Y[B, F].",
        "`flops = 2 * b * d * f`",
    ),
    solution=lambda b, d, f: (
        f"2·{b}·{d}·{f} FLOPs over 2·({b}·{d} + {d}·{f} + {b}·{f}) bytes "
        f"= {b * d * f / (b * d + d * f + b * f):.4g} FLOP/byte."
    ),
    teaches="ch01-matmul",
    level=1,
    minutes=4,
)


def _crossover(peak, bandwidth, d, f):
    """From the definition: the batch at which mathematics and memory take the same time, by halving an interval."""

    def is_compute_bound(b):
        return 2 * b * d * f / peak >= 2 * (b * d + d * f + b * f) / bandwidth

    low, high = 0.0, 1e15
    if not is_compute_bound(high):
        return inf
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if is_compute_bound(middle) else (middle, high)
    return high


def _no_inf(peak, bandwidth, d, f):
    return 1 / (bandwidth / peak - 1 / d - 1 / f)


def _unless_inf(formula):
    """A wrong formula that still knows where no batch helps."""
    return lambda peak, bandwidth, d, f: inf if (share := formula(peak / bandwidth, d, f)) <= 0 else 1 / share


Q2 = Exercise(
    key="ch01.q2",
    title="The exact crossover",
    kind="code",
    points=4,
    function="critical_batch",
    stub="def critical_batch(peak, bandwidth, d, f):\n    return ...",
    cases=(
        {"peak": 1.97e14, "bandwidth": 8.2e11, "d": 8192, "f": 28672},
        {"peak": 9.89e14, "bandwidth": 3.35e12, "d": 4096, "f": 16384},
        {"peak": 1.97e14, "bandwidth": 8.2e11, "d": 256, "f": 512},  # no batch helps
        {"peak": 2.0**48, "bandwidth": 2.0**40, "d": 512, "f": 512},  # nor here, by nothing
    ),
    draw=lambda rng: {
        "peak": 1e12 * rng.integers(100, 1000),
        "bandwidth": 1e10 * rng.integers(80, 400),
        "d": 128 * rng.integers(2, 128),
        "f": 128 * rng.integers(2, 256),
    },
    expected=_crossover,
    rtol=1e-6,
    whole=True,  # "the batch at which it turns" may well be taken as the next whole one
    source="definition: the batch at which 2BDF / peak = 2(BD + DF + BF) / bandwidth",
    mistakes=(
        Mistake(
            lambda peak, bandwidth, d, f: peak / bandwidth,
            "That is the limit for D and F without bound; here they count.",
        ),
        Mistake(_no_inf, "Almost: where 1/I - 1/D - 1/F is not positive no batch helps. Return float('inf') there."),
        Mistake(_unless_inf(lambda i, d, f: 1 / i - 1 / d), "The output's B × F elements are missing: a term 1/F."),
        Mistake(_unless_inf(lambda i, d, f: 1 / i - 1 / f), "The input's B × D elements are missing: a term 1/D."),
        Mistake(
            _unless_inf(lambda i, d, f: 1 / i + 1 / d + 1 / f),
            "A sign: finite D and F make the crossover larger, not smaller.",
        ),
        Mistake(
            _unless_inf(lambda i, d, f: 2 / i - 1 / d - 1 / f),
            "A multiply-add is two FLOPs and a bf16 element two bytes: the twos cancel.",
        ),
    ),
    hints=(
        "At the crossover mathematics and memory take the same time.",
        "Set 2BDF / peak = 2(BD + DF + BF) / bandwidth and divide both sides by 2BDF.",
        "`share = bandwidth / peak - 1 / d - 1 / f` is 1/B; what does a share of zero or less mean?",
    ),
    solution="1/B = bandwidth/peak - 1/D - 1/F; where the right side is not positive, no batch is large enough.",
    teaches="ch01-matmul",
    level=2,
    minutes=10,
    page=Exercise(
        key="ch01.q2",
        title="The exact crossover",
        kind="number",
        unit="tokens",
        points=4,
        inputs={"peak": 1.97e14, "bandwidth": 8.2e11, "d": 8192, "f": 28672},
        expected=_crossover,
        rtol=0.004,  # less than half of the way to the batch without 1/F, 247.5
        whole=True,
        source="as above",
        mistakes=(
            Mistake(
                lambda peak, bandwidth: peak / bandwidth,
                "That is the limit for D and F without bound; here they count.",
            ),
            Mistake(
                lambda peak, bandwidth, d: 1 / (bandwidth / peak - 1 / d),
                "The output's B × F elements are missing: a term 1/F.",
            ),
            Mistake(
                lambda peak, bandwidth, f: 1 / (bandwidth / peak - 1 / f),
                "The input's B × D elements are missing: a term 1/D.",
            ),
            Mistake(
                lambda peak, bandwidth, d, f: 1 / (bandwidth / peak + 1 / d + 1 / f),
                "A sign: finite D and F make the crossover larger, not smaller.",
            ),
            Mistake(
                lambda peak, bandwidth, d: 1 / (bandwidth / peak - 2 / d),
                "That is for D = F = 8192; here F is larger than D.",
            ),
        ),
        hints=("as above",) * 3,
        solution=lambda peak, bandwidth, d, f: (
            f"1/B = 1/{peak / bandwidth:.4g} - 1/{d} - 1/{f}, so B = {_crossover(peak, bandwidth, d, f):.4g} tokens."
        ),
        teaches="ch01-matmul",
    ),
)

EXERCISES = (Q1, Q2)
