"""On real machines: a block of two layers, slices over a network, an exchange on a torus."""

from scaling_lib.exercises.spec import Exercise, Mistake

Q12 = Exercise(
    key="ch03.q12",
    title="Two layers on four chips",
    kind="choice",
    points=3,
    choices=(
        "W[D_XY, F] and R[F, D_XY]",
        "W[D, F_XY] and R[F_XY, D]",
        "W[D, F_X] and R[F_X, D], copies along Y",
        "W[D, F_XY] and R[F, D_XY]",
    ),
    expected="W[D, F_XY] and R[F_XY, D]",
    mistakes=(
        Mistake(
            "W[D_XY, F] and R[F, D_XY]",
            "The first product leaves partial sums of the wide array [B, F], four times as large as [B, D].",
        ),
        Mistake("W[D, F_X] and R[F_X, D], copies along Y", "Each chip would hold half of 1.07 GB: it does not fit."),
        Mistake(
            "W[D, F_XY] and R[F, D_XY]", "The wide array [B, F] comes out cut over F, and would have to be gathered."
        ),
    ),
    hints=(
        "Both must be cut four ways to fit. Which dimension?",
        "Between the two products stands the wide array [B, F]: best if it never moves.",
        "H[B, F_XY] meets R with the same subscript on F: case 3, and only [B, D] is reduced.",
    ),
    source="each weight 537 MB; 300 MB a chip; F = 4D",
    solution="Cut F in both: H[B, F_XY] stays where it is, the second product is case 3, and only [B, D] is reduced.",
    teaches="ch03-cases",
    level=3,
    minutes=8,
)

Q13 = Exercise(
    key="ch03.q13",
    title="An all-reduce over two levels",
    kind="number",
    unit="ms",
    points=4,
    inputs={"gbytes": 2, "slices": 4, "chips": 64, "dcn": 3.125e9},
    draw=lambda rng: {
        "gbytes": rng.integers(1, 9),
        "slices": rng.choice((3, 4, 6, 8)),
        "chips": rng.choice((16, 64, 128)),
        "dcn": 1e9 * rng.integers(2, 8),
    },
    expected=lambda gbytes, slices, chips, dcn: 2 * (slices - 1) / slices * gbytes * 1e9 / chips / dcn * 1e3,
    rtol=0.005,
    source="after a reduce-scatter inside, a chip's 1/chips crosses: 2 (s - 1)/s of it",
    mistakes=(
        Mistake(
            lambda gbytes, slices, dcn: 2 * (slices - 1) / slices * gbytes * 1e9 / dcn * 1e3,
            "Scatter inside first: then each chip has only its own block to send across.",
        ),
        Mistake(
            lambda gbytes, slices, chips, dcn: (slices - 1) / slices * gbytes * 1e9 / chips / dcn * 1e3,
            "That is a reduce-scatter across; everyone must be told the sum as well.",
        ),
        Mistake(
            lambda gbytes, slices, chips, dcn: 2 * gbytes * 1e9 / chips / dcn * 1e3,
            "Close: a slice keeps its own part, so (s − 1)/s crosses.",
        ),
        Mistake(
            lambda gbytes, slices, chips, dcn: 2 * (slices - 1) / slices * gbytes * 1e9 / (chips * slices) / dcn * 1e3,
            "Inside one slice the array is scattered over its own chips only.",
        ),
        Mistake(
            lambda gbytes, chips, dcn: gbytes * 1e9 / chips / dcn * 1e3,
            "That sends a chip's piece once. In an all-reduce twice (s − 1)/s of it crosses.",
        ),
    ),
    hints=(
        "Reduce-scatter inside, all-reduce across, all-gather inside.",
        "Across: each chip has gbytes/chips, of which 2·(s − 1)/s goes over its share of the network.",
        "`piece = gbytes * 1e9 / chips`",
    ),
    solution=lambda gbytes, slices, chips, dcn: (
        f"{gbytes * 1e3 / chips:.4g} MB a chip; 2 · {slices - 1}/{slices} of it at {dcn / 1e9:.4g} GB/s: "
        f"{2 * (slices - 1) / slices * gbytes * 1e9 / chips / dcn * 1e3:.4g} ms."
    ),
    teaches="ch03-dcn",
    level=3,
    minutes=8,
)


def _exchange_ms(gbytes, a, b, link, ways=2):
    return max(a, b) / 4 / ways * gbytes * 1e9 / (a * b * link) * 1e3


Q14 = Exercise(
    key="ch03.q14",
    title="An exchange over a torus",
    kind="number",
    unit="ms",
    points=3,
    inputs={"gbytes": 4, "a": 8, "b": 16, "link": 45e9},
    draw=lambda rng: {
        "gbytes": rng.integers(1, 9),
        "a": rng.choice((4, 8)),
        "b": rng.choice((12, 16, 20)),
        "link": 1e9 * rng.integers(40, 100),
    },
    expected=lambda gbytes, a, b, link: _exchange_ms(gbytes, a, b, link),
    rtol=0.005,
    source="longest ring b: (b²/4)/(2b) · V/(N W)",
    mistakes=(
        Mistake(
            lambda gbytes, a, b, link: _exchange_ms(gbytes, a, b, link, 1),
            "That is with lines. Here both axes are rings: two links join the halves.",
        ),
        Mistake(
            lambda gbytes, a, b, link: min(a, b) / 8 * gbytes * 1e9 / (a * b * link) * 1e3,
            "The longer axis is the slower one.",
        ),
        Mistake(
            lambda gbytes, a, b, link: (a + b) / 8 * gbytes * 1e9 / (a * b * link) * 1e3,
            "That adds the times of both axes. Each has links of its own, and they work at once.",
        ),
        Mistake(
            lambda gbytes, a, b, link: max(a, b) / 8 * gbytes * 1e9 / link * 1e3,
            "That is all of it over one link. Divide by all chips: each sends a part.",
        ),
        Mistake(
            lambda gbytes, a, b, link: gbytes * 1e9 / (8 * link) * 1e3,
            "That is one ring that holds everything. In two dimensions divide by all chips.",
        ),
        Mistake(
            lambda gbytes, a, b, link: (a * b - 1) / (a * b) * gbytes * 1e9 / (4 * link) * 1e3, "That is an all-gather."
        ),
    ),
    hints=(
        "Which axis is the slowest?",
        "On a ring of n: n²/4 ÷ (2n) = n/8. Then times V over (all chips · W).",
        "`longest, chips = max(a, b), a * b`",
    ),
    solution=lambda gbytes, a, b, link: (
        f"{max(a, b)}/8 · {gbytes} GB ÷ ({a * b} · {link / 1e9:.0f} GB/s) = {_exchange_ms(gbytes, a, b, link):.4g} ms."
    ),
    teaches="ch03-exchange",
    level=2,
    minutes=5,
)


def _one_way(n):
    """An all-to-all's time over an all-gather's if chip c can send to c + 1 alone: what each link carries, counted."""
    load = [0] * n
    for source in range(n):
        for distance in range(1, n):
            for step in range(distance):
                load[(source + step) % n] += 1
    return max(load) / n**2 / ((n - 1) / n)


Q16 = Exercise(
    key="ch03.q16",
    title="Links that work one way",
    kind="number",
    unit="",
    points=4,
    inputs={"n": 16},
    expected=_one_way,
    rtol=0.005,
    source="blocks of V/n² on each link counted, against n - 1 shards of V/n",
    mistakes=(
        Mistake(
            1 / 4,
            "That is with links both ways, where a block may go the shorter way round, half as far. Here it may not.",
        ),
        Mistake(1.0, "A shard of a gather visits every chip. A block stops at its target, half-way on average."),
        Mistake(
            2.0, "That is the all-gather over the all-to-all; the question asks for the all-to-all over the all-gather."
        ),
        Mistake(
            lambda n: n / 2 / (n - 1),
            "Close: block and shard cross so many links. But a shard is n blocks, of which only n − 1 travel.",
        ),
        Mistake(
            lambda n: (n - 1) / (2 * n),
            "Close: that is the exchange against V/W. A gather takes a little less: a chip has its own shard already.",
        ),
        Mistake(lambda n: 1 / n, "That is through a switch. On a ring blocks pass through the chips between."),
    ),
    hints=(
        "How many links does a shard of the gather cross, and how many a block of the exchange?",
        "A shard crosses n − 1 links. A block for a chip d places on crosses d, and d runs from 1 to n − 1.",
        "`mean_distance = sum(range(1, n)) / (n - 1)`",
    ),
    solution=(
        "A block crosses n/2 links on average, a shard n − 1; of the n blocks of V/n² in a shard of V/n only n − 1 "
        "travel: n/2 · (n − 1)/n² ÷ (n − 1)/n = 1/2, exactly, for every n."
    ),
    teaches="ch03-exchange",
    level=3,
    minutes=8,
)

EXERCISES = (Q12, Q13, Q14, Q16)
