"""Products: which collective, which way, where they cross over."""

from scaling_lib.exercises.spec import Exercise, Mistake

_WAYS = (
    "all-gather A over X, multiply",
    "multiply, then all-reduce C over X",
    "all-gather B over X, multiply",
    "multiply, then all-to-all of C",
)

Q8 = Exercise(
    key="ch03.q8",
    title="Which collective",
    kind="choice",
    points=2,
    choices=_WAYS,
    expected=_WAYS[2],
    mistakes=(
        Mistake(_WAYS[0], "That works for C[I, K_X]. Here the result must be cut along I, and B is the smaller one."),
        Mistake(_WAYS[1], "J is whole in both: no partial sums arise."),
        Mistake(_WAYS[3], "As they are, chips can only multiply the diagonal blocks of C."),
    ),
    hints=(
        "Which case is it?",
        "X stands on I of A and on K of B, two outer dimensions: one of them must give it up.",
        "The result keeps X on I. Which operand loses it?",
    ),
    source="case 4",
    solution="Case 4. The result keeps I_X, so B gives up X: all-gather B over X.",
    teaches="ch03-cases",
    level=1,
    minutes=3,
)

Q9 = Exercise(
    key="ch03.q9",
    title="A reduce-scatter, then what",
    kind="sharding",
    points=2,
    expected="C[I_X, K_Y]",
    mistakes=(
        Mistake("C[I_X, K]", "A reduce-scatter puts the axis that it reduces over on a dimension."),
        Mistake("C[I_X, K]{U_Y}", "That is before the reduce-scatter."),
        Mistake("C[I_XY, K]", "That is possible too, but the question puts it on K."),
        Mistake("C[I_Y, K_X]", "X stays where it was, on I."),
        Mistake("C[I, K_Y]", "X cuts I of A, and passes through to C."),
    ),
    hints=(
        "First the local product, then the collective.",
        "The local product is C[I_X, K]{U_Y}.",
        "The reduce-scatter takes {U_Y} away and puts Y on K.",
    ),
    source="case 3 over Y with a scatter along K",
    solution="C[I_X, K]{U_Y} becomes C[I_X, K_Y].",
    teaches="ch03-reduce",
    level=1,
    minutes=3,
)

Q10 = Exercise(
    key="ch03.q10",
    title="When the scatter hides behind the arithmetic",
    kind="number",
    unit="",
    points=4,
    inputs={"peak": 197e12, "link": 45e9, "n": 16},
    draw=lambda rng: {"peak": 1e12 * rng.integers(150, 500), "link": 1e9 * rng.integers(40, 100),
                      "n": rng.choice((8, 12, 16, 24))},
    expected=lambda peak, link, n: (n - 1) * peak / (2 * link),
    rtol=0.005,
    source="2IJK/(n·peak) = (n - 1)/n · 2IK/(2·link)",
    mistakes=(
        Mistake(
            lambda peak, link, n: (n - 1) * peak / link,
            "That is an all-reduce, which costs twice a reduce-scatter; or a line, or one of a ring's two links.",
        ),
        Mistake(
            lambda peak, link, n: (n - 1) / n * peak / (2 * link),
            "The arithmetic is shared by n chips: each does 2IJK/n.",
        ),
        Mistake(
            lambda peak, link, n: (n - 1) * peak / (4 * link),
            "Half of it: does a number take two bytes, and a multiply-add two FLOPs?",
        ),
        Mistake(
            lambda peak, link: peak / link,
            "That leaves out n. The chips share the arithmetic, and (n − 1)/n of the result goes over two links each.",
        ),
        Mistake(
            lambda peak, link: peak / (2 * link),
            "That leaves out n: each chip does 2IJK/n FLOPs, and sends (n − 1)/n of the result.",
        ),
        Mistake(lambda peak, link, n: n * peak / (2 * link), "Close: a chip keeps its own block, so (n − 1)/n moves."),
    ),
    hints=(
        "Set the time of the local product equal to that of the reduce-scatter.",
        "Arithmetic: 2·I·J·K/(n·peak). Reduce-scatter: (n − 1)/n · 2·I·K over two links. I and K cancel.",
        "`2 * J / (n * peak) == (n - 1) / n * 2 / (2 * link)`, solved for J.",
    ),
    solution=lambda peak, link, n: (
        f"J = (n − 1) · peak / 2W = {n - 1} · {peak / 1e12:.0f} T / {2 * link / 1e9:.0f} G "
        f"= {(n - 1) * peak / (2 * link):,.0f}."
    ),
    teaches="ch03-choose",
    level=3,
    minutes=10,
)  # fmt: skip


def _ways_us(b, d, f, n, link):
    """µs of reducing the result, and of gathering the weights with the batch cut, on a ring."""
    share = (n - 1) / n / (2 * link) * 1e6
    return 2 * 2 * b * f * share, (2 * d * f + 2 * b * f) * share


Q11 = Exercise(
    key="ch03.q11",
    title="The cheaper of two ways",
    kind="number",
    unit="µs",
    points=3,
    inputs={"b": 12288, "d": 4096, "f": 16384, "n": 8, "link": 90e9},
    draw=lambda rng: {
        "b": 1024 * rng.integers(9, 16),
        "d": 1024 * rng.integers(2, 8),
        "f": 2048 * rng.integers(4, 12),
        "n": rng.choice((4, 8, 16)),
        "link": 1e9 * rng.integers(45, 100),
    },
    expected=lambda b, d, f, n, link: min(_ways_us(b, d, f, n, link)),
    rtol=0.005,
    source="4BF or 2DF + 2BF bytes, (n - 1)/n of them over two links",
    mistakes=(
        Mistake(lambda b, d, f, n, link: max(_ways_us(b, d, f, n, link)), "The other way moves less: B exceeds D."),
        Mistake(
            lambda b, d, f, n, link: 2 * d * f * (n - 1) / n / (2 * link) * 1e6,
            "Those are the weights alone. The result is cut over the batch, and is gathered too.",
        ),
        Mistake(
            lambda b, d, f, n, link: 2 * b * f * (n - 1) / n / (2 * link) * 1e6,
            "Those are the results alone; the weights are gathered as well.",
        ),
        Mistake(
            lambda b, d, f, n, link: 2 * min(_ways_us(b, d, f, n, link)), "On a ring both directions of a link work."
        ),
        Mistake(
            lambda b, d, f, n, link: min(_ways_us(b, d, f, n, link)) * n / (n - 1),
            "Close: a chip has its own part already, so (n − 1)/n of it moves.",
        ),
    ),
    hints=(
        "Reduce the result, or gather weights and results: which moves less?",
        "Reduce: 2 · 2BF bytes. Gather both: 2DF + 2BF. A ring moves (n − 1)/n of that over two links.",
        "`nbytes = min(4 * b * f, 2 * d * f + 2 * b * f)`",
    ),
    solution=lambda b, d, f, n, link: "reduce: {:.4g} µs, gather both: {:.4g} µs.".format(*_ways_us(b, d, f, n, link)),
    teaches="ch03-choose",
    level=2,
    minutes=7,
)

EXERCISES = (Q8, Q9, Q10, Q11)
