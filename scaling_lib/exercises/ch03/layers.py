"""Layers as models lay them out: weights and batch cut over one axis, features over another."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _ring_us(nbytes, n, link):
    return nbytes * (n - 1) / n / (2 * link) * 1e6


Q15 = Exercise(
    key="ch03.q15",
    title="The usual layout of training",
    kind="number",
    unit="µs",
    points=3,
    inputs={"i": 32768, "j": 5120, "k": 13824, "x": 16, "y": 16, "link": 45e9},
    draw=lambda rng: {
        "i": 4096 * rng.integers(4, 12),
        "j": 1024 * rng.integers(4, 12),
        "k": 2048 * rng.integers(5, 16),
        "x": rng.choice((8, 16)),
        "y": rng.choice((8, 16)),
        "link": 1e9 * rng.integers(40, 100),
    },
    expected=lambda j, k, x, y, link: _ring_us(2 * j * k / y, x, link),
    rtol=0.005,
    source="case 2 on B, for A uses X already: B[J_X, K_Y] gathered over X, (x - 1)/x of 2jk/y bytes over two links",
    mistakes=(
        Mistake(
            lambda j, k, x, link: _ring_us(2 * j * k, x, link),
            "That is all of B. Y cuts its columns, and each ring along X gathers only its own.",
        ),
        Mistake(
            lambda i, j, x, link: _ring_us(2 * i * j, x, link),
            "That gathers A, which would give up X on I; the result keeps it there. B gives it up.",
        ),
        Mistake(
            lambda i, j, x, y, link: _ring_us(2 * i * j / y, x, link),
            "That gathers A, cut over Y as well; but Y does not cut A, and it is B that gives up X.",
        ),
        Mistake(
            lambda i, k, x, y, link: _ring_us(2 * i * k / y, x, link),
            "That reduce-scatters C. No sums remain to be added: once B has given up X, J is whole in both.",
        ),
        Mistake(
            lambda j, k, x, y, link: 2 * _ring_us(2 * j * k / y, x, link),
            "That is an all-reduce, or a line. No sums remain here, and both axes are rings.",
        ),
        Mistake(
            lambda j, k, y, link: 2 * j * k / y / (2 * link) * 1e6,
            "Close: a chip has its own part already, so (x − 1)/x comes in.",
        ),
        Mistake(
            lambda j, k, x, y, link: _ring_us(2 * j * k / y / x, x, link),
            "V is the array after gathering: X does not divide it any more.",
        ),
        Mistake(
            lambda j, k, x, y, link: _ring_us(j * k / y, x, link),
            "Half of it. Either one byte a number, where bf16 takes two; or the links of both rings, where X has two.",
        ),
    ),
    hints=(
        "X cuts I of A and J of B; in the result it cuts I. Which operand must give it up?",
        "B is gathered over X. In one ring that is B[J, K_Y]: 2·j·k/y bytes.",
        "`v = 2 * j * k / y`; then the share that comes in, over two links, in µs.",
    ),
    solution=lambda j, k, x, y, link: (
        f"All-gather B over X: {2 * j * k / y / 1e6:.4g} MB in each ring, {x - 1}/{x} of it over two links: "
        f"{_ring_us(2 * j * k / y, x, link):.4g} µs."
    ),
    teaches="ch03-cases",
    level=2,
    minutes=6,
)

Q17 = Exercise(
    key="ch03.q17",
    title="Two ways to store a weight",
    kind="number",
    unit="",
    points=3,
    inputs={"i": 4096, "j": 28672, "k": 8192},
    draw=lambda rng: {
        "i": 1024 * rng.integers(1, 5),
        "j": 1024 * rng.integers(11, 40),
        "k": 1024 * rng.integers(5, 9),
    },
    expected=lambda j, k: j / k,
    rtol=0.005,
    source="2ij bytes gathered against 2ik scattered, the same share of both over the same links",
    mistakes=(
        Mistake(
            lambda j, k: k / j,
            "That is the second way over the first; the question asks for the first over the second.",
        ),
        Mistake(1.0, "The weight has the same size either way, but does not move. A moves in one way, C in the other."),
        Mistake(
            lambda j, k: j / (2 * k),
            "That counts the second way twice, as an all-reduce. C stays cut, so a reduce-scatter is enough.",
        ),
        Mistake(lambda i, k: i / k, "That compares A with the weight. The weight stays where it is; C moves."),
        Mistake(lambda j, k: 2 * j / k, "That counts the gather twice; both arrays are bf16 and move once."),
    ),
    hints=(
        "The weight itself never moves. What does, in each way?",
        "First way: A[I, J_X] is gathered. Second way: C[I, K]{U_X} is reduced and scattered.",
        "`gathered = 2 * i * j`; the other array likewise, and the share (n − 1)/n is the same.",
    ),
    solution=lambda i, j, k: (
        f"2IJ = {2 * i * j / 1e6:.4g} MB gathered, or 2IK = {2 * i * k / 1e6:.4g} MB scattered: I cancels, "
        f"J/K = {j / k:.4g}. They are equal at K = J."
    ),
    teaches="ch03-choose",
    level=2,
    minutes=5,
)

EXERCISES = (Q15, Q17)
