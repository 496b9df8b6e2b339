"""What rings and lines carry: gathers, exchanges, hops."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _gather_us(nbytes, n, link, ways):
    return nbytes * (n - 1) / n / (ways * link) * 1e6


Q5 = Exercise(
    key="ch03.q5",
    title="A gather in one group",
    kind="number",
    unit="µs",
    points=3,
    inputs={"i": 4096, "j": 8192, "x": 16, "y": 4, "link": 45e9},
    draw=lambda rng: {
        "i": 1024 * rng.integers(2, 12),
        "j": 4096 * rng.integers(1, 6),
        "x": rng.choice((6, 12, 16)),
        "y": rng.choice((4, 8)),
        "link": 1e9 * rng.integers(40, 100),
    },
    expected=lambda i, j, x, y, link: _gather_us(2 * i * j / y, x, link, 2),
    rtol=0.005,
    source="V = 2ij/y of one group; (x - 1)/x of it over two links",
    mistakes=(
        Mistake(
            lambda i, j, x, y, link: _gather_us(2 * i * j, x, link, 2),
            "That is the whole array. Y cuts it too, and each ring along X moves only its part.",
        ),
        Mistake(
            lambda i, j, x, y, link: _gather_us(2 * i * j / y, x, link, 1),
            "That is a line, or one direction of a ring. On a ring both directions bring shards.",
        ),
        Mistake(
            lambda i, j, x, y, link: _gather_us(2 * i * j / x / y, x, link, 2),
            "V is the array after gathering: X does not divide it any more.",
        ),
        Mistake(
            lambda i, j, x, y, link: _gather_us(i * j / y, x, link, 2),
            "Half of it. Either one byte a number, where bf16 takes two; or four links, where one ring has two.",
        ),
        Mistake(
            lambda i, j, x, y, link: 2 * i * j / y / x / (2 * link) * 1e6,
            "That is one shard. Every chip takes in all the others.",
        ),
        Mistake(
            lambda i, j, x, y, link: 2 * i * j / y / (2 * link) * 1e6,
            "Close: a chip has its own shard already, so (x − 1)/x of V comes in.",
        ),
    ),
    hints=(
        "Which part of the array do the chips of one ring gather?",
        "V = 2·i·j/y bytes; (x − 1)/x of it comes in over two links.",
        "`v = 2 * i * j / y`; then the share that comes in, over two links, in µs.",
    ),
    solution=lambda i, j, x, y, link: (
        f"V = {2 * i * j / y / 1e6:.4g} MB; {x - 1}/{x} of it over two links: "
        f"{_gather_us(2 * i * j / y, x, link, 2):.4g} µs."
    ),
    teaches="ch03-gather",
    level=2,
    minutes=5,
)  # fmt: skip


def _hops(n, wraps):
    """Counted: rounds in which every chip passes on what came in last, until nobody lacks a shard."""
    have = [{chip} for chip in range(n)]
    hops = 0
    while any(len(shards) < n for shards in have):
        seen = [set(shards) for shards in have]
        for chip in range(n):
            for other in (chip - 1, chip + 1):
                if wraps or 0 <= other < n:
                    have[chip] |= seen[other % n]
        hops += 1
    return hops


Q6 = Exercise(
    key="ch03.q6",
    title="The time of an all-gather",
    kind="code",
    unit="s",
    points=4,
    function="all_gather_s",
    stub="def all_gather_s(nbytes, n, wraps, link, hop):\n    return ...",
    cases=(
        {"nbytes": 33554432, "n": 16, "wraps": True, "link": 45e9, "hop": 1e-6},
        {"nbytes": 33554432, "n": 4, "wraps": False, "link": 45e9, "hop": 1e-6},
        {"nbytes": 256, "n": 4, "wraps": True, "link": 45e9, "hop": 1e-6},
        {"nbytes": 256, "n": 9, "wraps": True, "link": 45e9, "hop": 1e-6},
        {"nbytes": 256, "n": 8, "wraps": False, "link": 45e9, "hop": 1e-6},
        {"nbytes": 256, "n": 11, "wraps": False, "link": 45e9, "hop": 1e-6},
        {"nbytes": 1000, "n": 7, "wraps": False, "link": 90e9, "hop": 1e-9},
        {"nbytes": 256, "n": 6, "wraps": True, "link": 90e9, "hop": 5e-7},
    ),
    draw=lambda rng: {
        "nbytes": 10 ** rng.integers(2, 9),
        "n": rng.integers(2, 24),
        "wraps": bool(rng.integers(0, 2)),
        "link": 1e9 * rng.integers(40, 100),
        "hop": rng.choice((5e-7, 1e-6, 2e-6)),
    },
    expected=lambda nbytes, n, wraps, link, hop: max(
        nbytes / n * (n - 1) / (2 if wraps else 1) / link, _hops(n, wraps) * hop
    ),
    rtol=1e-6,
    source="n - 1 shards over one link or two; hops counted by passing shards on",
    mistakes=(
        Mistake(
            lambda nbytes, n, wraps, link, hop: nbytes / n * (n - 1) / (2 if wraps else 1) / link,
            "A small array waits for the hops: the larger of both times counts.",
        ),
        Mistake(
            lambda nbytes, n, wraps, link, hop: max(
                nbytes / n * (n - 1) / (2 if wraps else 1) / link, -(-n // 2) * hop if wraps else (n - 1) * hop
            ),
            "On a ring of odd length the farthest chip is n // 2 hops away.",
        ),
        Mistake(
            lambda nbytes, n, wraps, link, hop: max(
                nbytes / n * (n - 1) / (2 if wraps else 1) / link, (n / 2 if wraps else n - 1) * hop
            ),
            "There is no half hop: on a ring of nine the farthest chip is four hops away.",
        ),
        Mistake(
            lambda nbytes, n, wraps, link, hop: max(nbytes / n * (n - 1) / link, (n - 1) * hop),
            "That is a line, whatever wraps says. A ring has two ways: bytes from both sides, and half the hops.",
        ),
        Mistake(
            lambda nbytes, n, wraps, link, hop: max(nbytes / n * (n - 1) / 2 / link, n // 2 * hop),
            "A line has no link that closes it: its end has one neighbour, and n - 1 hops to the other end.",
        ),
        Mistake(
            lambda nbytes, n, wraps, link, hop: max(
                nbytes / (2 if wraps else 1) / link, (n // 2 if wraps else n - 1) * hop
            ),
            "A chip holds its own shard already: (n - 1)/n of the array comes in.",
        ),
        Mistake(
            lambda nbytes, n, wraps, link, hop: (
                nbytes / n * (n - 1) / (2 if wraps else 1) / link + (n // 2 if wraps else n - 1) * hop
            ),
            "That is the upper bound, where nothing overlaps; asked for is the larger of the two.",
        ),
    ),
    hints=(
        "Bytes into the chip with the fewest links, and hops from the farthest chip.",
        "(n − 1)/n of the bytes over two links on a ring, one on a line; n // 2 hops or n − 1.",
        "`ways = 2 if wraps else 1`; the hops likewise, and then both times.",
    ),
    solution="max((n − 1)/n · V / (2W), ⌊n/2⌋ hops) on a ring; V/W instead of V/2W and n − 1 hops on a line.",
    teaches="ch03-gather",
    level=2,
    minutes=10,
    page=Exercise(
        key="ch03.q6",
        title="The time of an all-gather",
        kind="number",
        unit="µs",
        points=4,
        inputs={"nbytes": 90000, "n": 9, "wraps": True, "link": 45e9, "hop": 1e-6},
        expected=4.0,
        rtol=0.005,
        source="a ring of 9 at 45 GB/s: 8/9 · 90 kB / 90 GB/s = 0.89 µs; 4 hops of 1 µs",
        mistakes=(
            Mistake(lambda nbytes, n: nbytes * (n - 1) / n / 90e9 * 1e6, "The hops take longer than the bytes."),
            Mistake(
                lambda nbytes, n: nbytes * (n - 1) / n / 45e9 * 1e6,
                "Those are the bytes of a line, over one link; a ring has two. And the hops take longer.",
            ),
            Mistake(lambda nbytes: nbytes / 90e9 * 1e6, "The hops take longer than the bytes, of which 8/9 come in."),
            Mistake(4.5, "There is no half hop: the farthest chip of a ring of nine is four hops away."),
            Mistake(5.0, "The farthest chip of a ring of nine is four hops away."),
            Mistake(8.0, "That is a line: on a ring one may go the other way round."),
            Mistake(
                lambda nbytes, n: 4 + nbytes * (n - 1) / n / 90e9 * 1e6,
                "That is the upper bound, where nothing overlaps; asked for is the larger of the two.",
            ),
        ),
        hints=(
            "Bytes, or hops?",
            "Bytes: 8/9 of 90 kB over two links of 45 GB/s. Hops: half-way round, 1 µs each.",
            "The bytes take 0.89 µs. How long do the hops take, and which of the two counts?",
        ),
        solution="The bytes take 0.89 µs, the four hops 4 µs: 4 µs.",
        teaches="ch03-gather",
    ),
)


def _middle(n, wraps):
    """Blocks on the busiest link direction of an all-to-all, counted: every block goes the shorter way."""
    load = {}
    for source in range(n):
        for target in range(n):
            right = (target - source) % n
            ways = [(1, right), (-1, n - right)] if wraps else [(1 if target > source else -1, abs(target - source))]
            least = min(length for _, length in ways)
            ways = [way for way in ways if way[1] == least]
            for step, length in ways:
                for k in range(length):
                    at = (source + step * k) % n, step
                    load[at] = load.get(at, 0) + 1 / len(ways)
    return max(load.values())


Q7 = Exercise(
    key="ch03.q7",
    title="Blocks over the busiest link",
    kind="code",
    points=4,
    function="busiest",
    stub="def busiest(n, wraps):\n    return ...",
    cases=(
        {"n": 8, "wraps": True},
        {"n": 4, "wraps": True},
        {"n": 8, "wraps": False},
        {"n": 5, "wraps": True},
        {"n": 5, "wraps": False},
        {"n": 6, "wraps": True},
        {"n": 10, "wraps": True},
        {"n": 7, "wraps": True},
        {"n": 13, "wraps": False},
    ),
    draw=lambda rng: {"n": rng.integers(3, 14), "wraps": bool(rng.integers(0, 2))},
    expected=_middle,
    rtol=1e-9,
    source="every block sent along its shorter way, links counted",
    mistakes=(
        Mistake(
            lambda n, wraps: (n - 1) / 2 if wraps else n - 1.0,
            "Those are the shards of an all-gather. Here a block stops at its target.",
        ),
        Mistake(
            lambda n, wraps: n * (n - 1) / 2,
            "That is one direction all the way round; blocks take the shorter way.",
        ),
        Mistake(
            lambda n, wraps: n * n // 4 / 2,
            "A line has no second way: its middle link carries all blocks from one half to the other.",
        ),
        Mistake(
            lambda n, wraps: n * n // 4,
            "That is a line, whatever wraps says. On a ring two links join the halves: each carries half.",
        ),
        Mistake(
            lambda n, wraps: n * n // (8 if wraps else 4),
            "On a ring half of the blocks need not be a whole number: one that may go either way is split.",
        ),
        Mistake(
            lambda n, wraps: n * n / 8 if wraps else n * n // 4,
            "On a ring of odd n that is not exact: of five chips the distances 1, 1, 2, 2 add up to 6, not to 25/4.",
        ),
        Mistake(
            lambda n, wraps: n * n / (8 if wraps else 4),
            "For odd n that is not exact: a line of five has halves of 2 and 3 chips, and on a ring of five the "
            "distances 1, 1, 2, 2 add up to 6, not to 25/4.",
        ),
    ),
    hints=(
        "On a line: how many blocks must cross the middle?",
        "Line: chips of one half times chips of the other, (n // 2) · (n − n // 2). Ring: half of that, two ways lead.",
        "`across = (n // 2) * (n - n // 2)`",
    ),
    solution="⌊n²/4⌋ blocks cross the middle of a line; on a ring two links join the halves, so half of that.",
    teaches="ch03-exchange",
    level=3,
    minutes=12,
    page=Exercise(
        key="ch03.q7",
        title="Blocks over the busiest link",
        kind="number",
        unit="",
        points=4,
        inputs={"n": 12, "wraps": True},
        expected=lambda n: n * n / 8,
        rtol=1e-9,
        source="a ring of 12",
        mistakes=(
            Mistake(lambda n: n * n / 4, "That is a line. On a ring two links join the halves."),
            Mistake(lambda n: (n - 1) / 2, "Those are the shards of an all-gather, each n times as large."),
            Mistake(lambda n: n * (n - 1) / 2, "That is one direction all the way round."),
            Mistake(
                lambda n: n * n / 16, "A link works in both directions: 36 blocks go across, and 36 others come back."
            ),
            Mistake(lambda n: n * n, "Those are all blocks, from every chip to every chip. How many cross one link?"),
            Mistake(lambda n: n * (n - 1), "Those are all blocks that are sent. How many cross one link?"),
        ),
        hints=(
            "How many blocks must go from one half of the ring to the other?",
            "6 · 6 blocks, over the two links that join the halves.",
            "`across = 36`; over how many links?",
        ),
        solution="6 · 6 blocks cross, over two links: 18.",
        teaches="ch03-exchange",
    ),
)

EXERCISES = (Q5, Q6, Q7)
