"""Three quick boxes from chapter 1, and what the reader predicts before a section derives it."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _guess(number, title, choices, right, wrong, source, solution, teaches):
    """A guess among choices; `wrong` says for each other choice why not, in order."""
    others = [choice for choice in choices if choice != right]
    return Exercise(
        key=f"ch02.g{number}",
        title=title,
        kind="choice",
        points=0,
        choices=choices,
        expected=right,
        mistakes=tuple(Mistake(choice, says) for choice, says in zip(others, wrong, strict=True)),
        source=source,
        solution=solution,
        teaches=teaches,
        minutes=1,
    )


G1 = Exercise(
    key="ch02.g1",
    title="What 100 tokens use of the peak",
    kind="number",
    unit="%",
    points=0,
    expected=100 * 100 / (197e12 / 820e9),
    mistakes=(
        Mistake(200 * 100 / (197e12 / 820e9), "That would be int8 weights: half the bytes, twice the intensity."),
        Mistake(50 * 100 / (197e12 / 820e9), "A bf16 weight takes two bytes and two FLOPs a token: they cancel."),
        Mistake(100.0, "The ridge of a v5e is at 240 FLOPs per byte; 100 tokens stay below it."),
    ),
    source="intensity about B = 100; ridge 197e12 / 820e9 = 240",
    solution="Intensity 100 over the ridge at 240: 42%.",
    teaches="ch02-warm-up",
    minutes=1,
)

G2 = Exercise(
    key="ch02.g2",
    title="The crossover with int8 weights on an H100",
    kind="number",
    unit="tokens",
    points=0,
    expected=989e12 / 3.35e12 / 2,
    mistakes=(
        Mistake(989e12 / 3.35e12, "That is for bf16 weights. Int8 weights are half the bytes under the same roof."),
        Mistake(2 * 989e12 / 3.35e12, "That is the ridge of int8 arithmetic; here the arithmetic stays in bf16."),
    ),
    source="H100 SXM: 989 TFLOP/s bf16, 3.35 TB/s; one byte a weight",
    solution="295 ÷ 2 = 148 tokens.",
    teaches="ch02-warm-up",
    minutes=1,
)

G3 = _guess(
    3,
    "Which size decides between link and arithmetic",
    ("the batch B", "the contraction D", "the width F", "B times F"),
    "the contraction D",
    (
        "B is in the FLOPs and in the bytes: it cancels.",
        "F is in the FLOPs and in the bytes: it cancels.",
        "Those are the numbers sent; the FLOPs hold them as well, so they cancel.",
    ),
    "BDF FLOPs against 2BF bytes",
    "BDF FLOPs against 2BF bytes: B and F cancel, D remains.",
    "ch02-warm-up",
)

G4 = _guess(
    4,
    "Multiplications in one clock cycle",
    ("about 128", "about 2,000", "about 65,000", "about 4,000,000"),
    "about 65,000",
    (
        "That is one row of one matrix unit. It has 128 rows, and there are four units.",
        "Near the vector unit's count. The matrix units have 128 × 128 cells each.",
        "197 TFLOP/s are 98.5 T multiplications a second; at 1.5 GHz that is fewer a cycle.",
    ),
    "v5e: 4 MXUs of 128 × 128 cells",
    "4 × 128 × 128 = 65,536.",
    "ch02-chip",
)

G6 = _guess(
    6,
    "How long the cells of the array multiply",
    ("nearly all of the time", "about half", "about a quarter", "about a hundredth"),
    "about a quarter",
    (
        "The weights have to come in first, and the last sums have to get out.",
        "Loading takes 128 cycles, streaming 128, and the way through the array 254 more.",
        "128 rows keep each cell busy for 128 cycles, of 510.",
    ),
    "128 of 128 + 128 + 128 + 128 - 2 cycles",
    "128 of 510 cycles: 25%.",
    "ch02-systolic",
)

G8 = _guess(
    8,
    "5000 or 5120",
    ("5000 is 5% faster", "5000 is 2% faster", "they take equally long", "5120 is faster"),
    "they take equally long",
    (
        "In FLOPs, yes. But the array works in tiles of 128, and both have 40 of them.",
        "The last tile is nearly empty with 5000, but it takes as long as a full one.",
        "Both take 40 tiles along each axis.",
    ),
    "ceil(5000 / 128) = ceil(5120 / 128) = 40",
    "Both have 40 tiles of 128 along each axis.",
    "ch02-padding",
)

G10 = _guess(
    10,
    "How long the vector unit adds",
    ("all of the time", "about a third", "about a tenth", "about a hundredth"),
    "about a hundredth",
    (
        "Count the bytes of one addition: two numbers in, one out.",
        "One of three crossings is the result, but the addition itself is far shorter than a crossing.",
        "Lower: 12 bytes an addition at 820 GB/s, against 6.1 T additions a second.",
    ),
    "1/12 FLOP per byte × 820 GB/s over 6.144 TFLOP/s",
    "12 bytes an addition feed 68 G additions a second, 1.1% of 6.1 T.",
    "ch02-vpu",
)

G12 = _guess(
    12,
    "How often the tiles read X",
    ("once", "8 times", "64 times", "8192 times"),
    "64 times",
    (
        "Only if a whole row of tiles fits at once. Each tile of the result needs its rows of X again.",
        "8192 ÷ 128 is larger.",
        "That is without any reuse, a tile of one column.",
    ),
    "8192 / 128 columns of tiles",
    "8192 ÷ 128 = 64 columns of tiles, and each reads all of X.",
    "ch02-tiling",
)

G14 = _guess(
    14,
    "Filling the memories of a host's chips",
    ("about 20 ms", "about 130 ms", "about 1 s", "about 8 s"),
    "about 1 s",
    (
        "That is HBM's own bandwidth. The bytes come over PCIe.",
        "All eight links together do 128 GB/s, but there are eight memories to fill.",
        "Each chip has a PCIe link of its own, so the eight fill at the same time.",
    ),
    "16 GiB = 17.2 GB over 16 GB/s, all chips at once",
    "17.2 GB ÷ 16 GB/s = 1.1 s, all chips at once.",
    "ch02-host",
)

G16 = _guess(
    16,
    "Across a pod",
    ("8 links", "15 links", "16 links", "30 links"),
    "16 links",
    (
        "That is one axis: half-way round a ring of 16. There are two axes.",
        "That is one axis without wraparound.",
        "That is without wraparound: 15 on each axis.",
    ),
    "floor(16 / 2) on each of two rings",
    "Half-way round two rings of 16: 8 + 8 = 16.",
    "ch02-torus",
)

G18 = _guess(
    18,
    "L1 and shared memory against VMEM",
    ("four times as much", "about as much", "about a quarter", "about a hundredth"),
    "about a quarter",
    (
        "One SM has 256 KiB; 132 of them are still less than 128 MiB.",
        "132 × 256 KiB is 33 MiB.",
        "That is less than one SM's share: 132 of them add up.",
    ),
    "132 × 256 KiB = 33 MiB against 128 MiB",
    "132 × 256 KiB = 33 MiB, a quarter of 128 MiB.",
    "ch02-gpu",
)

G20 = _guess(
    20,
    "The bandwidth outside the node",
    ("the same", "about a third", "a ninth", "a hundredth"),
    "a ninth",
    (
        "The fat tree is not narrower higher up, but the way into it is one network card a GPU.",
        "NVLink is 450 GB/s; a card of 400 Gbit/s is 50 GB/s.",
        "Not that bad: 400 Gbit/s are 50 GB/s.",
    ),
    "50 GB/s over 450 GB/s",
    "400 Gbit/s = 50 GB/s, a ninth of 450 GB/s.",
    "ch02-cluster",
)

EXERCISES = (G1, G2, G3, G4, G6, G8, G10, G12, G14, G16, G18, G20)
