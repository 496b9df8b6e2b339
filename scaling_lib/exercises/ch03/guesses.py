"""Warm-up questions from chapters 1 and 2, and what to predict before each section of chapter 3."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _choice(key, title, right, wrong, *, source, solution, teaches, order=None):
    """A guess box with a choice: `wrong` is {choice: what to say}."""
    choices = (right, *wrong) if order is None else order
    return Exercise(
        key=key,
        title=title,
        kind="choice",
        points=0,
        choices=choices,
        expected=right,
        mistakes=tuple(Mistake(value, says) for value, says in wrong.items()),
        source=source,
        solution=solution,
        teaches=teaches,
        minutes=1,
    )


G1 = Exercise(
    key="ch03.g1",
    title="The upper bound of two clocks",
    kind="number",
    unit="µs",
    points=0,
    expected=174 + 93,
    mistakes=(
        Mistake(174, "That is the lower bound, where everything overlaps. Without overlap the times add up."),
        Mistake(174 - 93, "A difference means nothing here: the clocks add up if nothing overlaps."),
    ),
    source="chapter 1: time lies between the slowest clock and the sum of all",
    solution="174 + 93 = 267 µs, if nothing overlaps; 174 µs if everything does.",
    teaches="ch03-warm-up",
    minutes=1,
)

G2 = Exercise(
    key="ch03.g2",
    title="The farthest chip on a ring",
    kind="number",
    unit="hops",
    points=0,
    expected=8,
    rtol=1e-9,
    mistakes=(
        Mistake(15, "That is a line. On a ring one may go the other way round."),
        Mistake(16, "That is all the way round, back to the start."),
    ),
    source="half of the ring",
    solution="16 ÷ 2 = 8 hops, either way round.",
    teaches="ch03-warm-up",
    minutes=1,
)

G3 = _choice(
    "ch03.g3",
    "Rings of a small slice",
    "neither",
    {
        "both": "On a v5e only an axis of the full 16 chips is closed to a ring.",
        "one of them": "Both axes have 4 chips; on a v5e an axis is closed at 16.",
    },
    order=("both", "one of them", "neither"),
    source="chapter 2: v5e wraps at 16",
    solution="Neither: on a v5e an axis wraps only where it has all 16 chips. Both are lines.",
    teaches="ch03-warm-up",
)

G4 = Exercise(
    key="ch03.g4",
    title="Bytes on each chip",
    kind="number",
    unit="B",
    points=0,
    expected=128 / 16 * 2048,
    mistakes=(
        Mistake(128 / 32 * 2048, "Z is not named, so it does not cut the array: it holds copies."),
        Mistake(128 * 2048, "That is the whole array."),
        Mistake(2 * 128 / 16 * 2048, "Int8 takes one byte a number."),
    ),
    source="I over X and Y: 128 / 16 rows of 2048 bytes",
    solution="128 ÷ (2 · 8) = 8 rows of 2048 bytes: 16,384 bytes. Z holds copies.",
    teaches="ch03-notation",
    minutes=2,
)

G6 = _choice(
    "ch03.g6",
    "A product without communication",
    "A[I_X, J] · B[J, K_Y] → C[I_X, K_Y]",
    {
        "A[I, J_X] · B[J, K] → C[I, K]": "Each chip has only some of the columns of A, and the sum runs over all.",
        "A[I, J_X] · B[J_X, K] → C[I, K]": "They can be multiplied as they are, but every chip gets only its share of "
        "each sum.",
        "A[I_X, J] · B[J, K_X] → C[I_X, K]": "Chip x has rows block x and columns block x: only the diagonal of C.",
    },
    order=(
        "A[I, J_X] · B[J, K] → C[I, K]",
        "A[I, J_X] · B[J_X, K] → C[I, K]",
        "A[I_X, J] · B[J, K_Y] → C[I_X, K_Y]",
        "A[I_X, J] · B[J, K_X] → C[I_X, K]",
    ),
    source="a block of C needs all of J for its rows and columns",
    solution="The third: J is whole in both, and chip (x, y) has rows x and columns y, as its block of C needs.",
    teaches="ch03-cases",
)

G8 = _choice(
    "ch03.g8",
    "A longer ring",
    "nearly the same, the longer ring a little more",
    {
        "four times as long on sixteen chips": "There are four times as many shards, but each is a quarter as large.",
        "four times as long on four chips": "Each chip must take in nearly the whole array either way.",
    },
    order=(
        "four times as long on sixteen chips",
        "nearly the same, the longer ring a little more",
        "four times as long on four chips",
    ),
    source="(N - 1)/N: 3/4 against 15/16",
    solution="A chip takes in (N − 1)/N of the array over its two links: ¾ of it, or 15/16.",
    teaches="ch03-gather",
)

G10 = _choice(
    "ch03.g10",
    "An all-reduce against an all-gather",
    "twice as long",
    {
        "as long": "Adding up alone takes as long as a gather; then everyone must be told.",
        "N times as long": "The blocks are added up all at once, each on its own chip.",
        "half as long": "Everything that a gather moves must be moved, and the sums as well.",
    },
    order=("half as long", "as long", "twice as long", "N times as long"),
    source="reduce-scatter and all-gather, one after the other",
    solution="A reduce-scatter, then an all-gather of the finished blocks: twice.",
    teaches="ch03-reduce",
)

G12 = _choice(
    "ch03.g12",
    "An all-to-all against an all-gather",
    "about a quarter",
    {
        "about the same": "In a gather every shard visits every chip; here each block goes to one chip only.",
        "about a half": "Half of it: blocks stop at their target. They also take the shorter way round.",
        "about 1/N": "That is through a switch. On a ring blocks pass through the chips between.",
    },
    order=("about the same", "about a half", "about a quarter", "about 1/N"),
    source="V/(8W) against V/(2W)",
    solution="V/8W against V/2W: a quarter.",
    teaches="ch03-exchange",
)

G14 = _choice(
    "ch03.g14",
    "Gather the weights or reduce the result",
    "reduce the result",
    {
        "gather the weights": "They are 2DF = 537 MB; the result is 2BF = 34 MB, and moves twice.",
        "about equal": "Compare D with 2B: 8192 against 1024.",
    },
    order=("gather the weights", "reduce the result", "about equal"),
    source="2DF against 4BF bytes",
    solution="Reducing moves 2 · 34 MB instead of 537 MB, an eighth; and each chip does an eighth of the arithmetic.",
    teaches="ch03-choose",
)

G17 = _choice(
    "ch03.g17",
    "How often jit is as cheap",
    "for about a third",
    {
        "for nearly all": "It is, for the usual cases of a model. These are random layouts.",
        "for about two thirds": "Fewer: it takes layouts as given, and knows no links.",
        "for almost none": "It finds gathers and reductions of the usual cases.",
    },
    order=("for almost none", "for about a third", "for about two thirds", "for nearly all"),
    source="recorded: scaling_lib/referee/products.json",
    solution="For about a third of the random products; the next figure has the classes.",
    teaches="ch03-referee",
)

EXERCISES = (G1, G2, G3, G4, G6, G8, G10, G12, G14, G17)
