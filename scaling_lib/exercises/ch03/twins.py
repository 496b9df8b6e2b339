"""Twins of the worked examples: the same steps with other numbers, the last one left to the reader."""

from scaling_lib.exercises.spec import Exercise, Mistake


def _twin(key, title, expected, mistakes, *, unit, source, solution, teaches, kind="number", minutes=2, rtol=0.01):
    """A guess box; `mistakes` is {value: what to say}."""
    return Exercise(
        key=key,
        title=title,
        kind=kind,
        unit=unit,
        points=0,
        expected=expected,
        mistakes=tuple(Mistake(value, says) for value, says in mistakes.items()),
        source=source,
        solution=solution,
        teaches=teaches,
        minutes=minutes,
        rtol=rtol,
    )


G5 = _twin(
    "ch03.g5",
    "An f32 array on sixteen chips",
    64 * 4096 * 4 / 1e6,
    {
        64 * 4096 * 2 / 1e6: "That is bf16; f32 takes four bytes.",
        1024 * 4096 * 4 / 1e6: "That is the whole array.",
        128 * 4096 * 4 / 1e6: "Both X and Y cut I: sixteen parts.",
    },
    unit="MB",
    source="1024/16 rows of 4096 f32 numbers",
    solution="64 · 4096 · 4 = 1,048,576 bytes: 1.05 MB.",
    teaches="ch03-notation",
)

G7 = _twin(
    "ch03.g7",
    "What the chips have after multiplying",
    "C[I_Y, K]{U_X}",
    {
        "C[I_Y, K]": "Each chip has only its share of every sum over J: say over which axis it is unreduced.",
        "C[I_Y, K_X]": "K is cut in neither operand: each chip has all of it, but only shares of the sums.",
        "C[I_YX, K]": "J is gone from the result, and its axis with it; what remains is a sum over X.",
        "C[I, K]{U_X}": "Y cuts I of A, and passes through to C.",
        "C[I, K]": "Y cuts I of A and passes through to C; and J is cut, so sums remain to be added.",
        "C[I_Y, K]{U_J}": "J is a dimension. In the braces stands the mesh axis that cuts it.",
        "C[I_X, K]{U_Y}": "That swaps the axes: Y cuts I, and the dimension that is summed over is cut over X.",
    },
    unit="",
    kind="sharding",
    source="case 3 over X; Y passes through",
    solution="J has X in both, so the result is unreduced over X; I keeps its Y: C[I_Y, K]{U_X}.",
    teaches="ch03-cases",
)

_V = 2 * 1024 * 4096

G9 = _twin(
    "ch03.g9",
    "A gather over two rings",
    15 / 16 * _V / (4 * 45e9) * 1e6,
    {
        15 / 16 * _V / (2 * 45e9) * 1e6: "Both rings bring bytes: four links into each chip.",
        3 / 4 * _V / (4 * 45e9) * 1e6: "A group is sixteen chips now: each lacks 15/16 of the array.",
        _V / (4 * 45e9) * 1e6: "Close: a chip has its own shard already, so 15/16 of V comes in.",
        15 / 16 * _V / 45e9 * 1e6: "That is one link; there are four into each chip, two for each ring.",
    },
    unit="µs",
    source="v4: 45 GB/s a link and direction; 15/16 V over four links",
    solution="15/16 · 8.39 MB ÷ (4 · 45 GB/s) = 43.7 µs.",
    teaches="ch03-gather",
)

G11 = _twin(
    "ch03.g11",
    "An all-reduce of what is left",
    2 * 3 / 4 * _V / 16 / 90e9 * 1e6,
    {
        3 / 4 * _V / 16 / 90e9 * 1e6: "That is the reduce-scatter alone; an all-reduce gathers as well.",
        2 * 3 / 4 * _V / 90e9 * 1e6: "That is the whole array. X and Y cut it: each ring adds up a sixteenth.",
        2 * _V / 16 / 90e9 * 1e6: "Close: a chip keeps its own part, so ¾ of V moves, twice.",
        2 * 3 / 4 * _V / 16 / 45e9 * 1e6: "Z is a ring: two links into each chip.",
    },
    unit="µs",
    source="v4: 45 GB/s a link and direction; 2 · 3/4 of 0.524 MB over two links",
    solution="2 · ¾ · 0.524 MB ÷ 90 GB/s = 8.7 µs.",
    teaches="ch03-reduce",
)

G13 = _twin(
    "ch03.g13",
    "An exchange on a small grid",
    1e9 / (16 * 45e9) * 1e3,
    {
        1e9 / (2 * 16 * 45e9) * 1e3: "That is with rings: these axes are lines, whose middle link is the only one.",
        1e9 / (4 * 45e9) * 1e3: "That is a single line of four: divide by all 16 chips, not by 4.",
        15 / 16 * 1e9 / (2 * 45e9) * 1e3: "That is an all-gather.",
        1e9 / 45e9 * 1e3: "That is all of it over one link. Divide by the 16 chips: each sends a part.",
        2 * 1e9 / (16 * 45e9) * 1e3: "That adds the times of both axes. Each has links of its own, and they work at "
        "once.",
    },
    unit="ms",
    source="v5e: 45 GB/s a link and direction; (4²/4)/4 · V/(16 W)",
    solution="1 · 1 GB ÷ (16 · 45 GB/s) = 1.39 ms.",
    teaches="ch03-exchange",
)

G15 = _twin(
    "ch03.g15",
    "Where gathering takes over",
    4096,
    {
        2048: "That is where reducing the result moves as much as way 1; way 3 gathers the result too.",
        32768: "F cancels: it stands in every term.",
        8192: "Set 2DF + 2BF = 4BF and solve for B.",
    },
    unit="tokens",
    source="2DF + 2BF = 4BF",
    solution="2DF + 2BF = 4BF, so B = D = 4096 tokens.",
    teaches="ch03-choose",
)

G16 = _twin(
    "ch03.g16",
    "Cut over the contracting dimension",
    2 * 63 / 64 * 2 * 4096**2 / (6 * 45e9) * 1e6,
    {
        63 / 64 * 2 * 4096**2 / (6 * 45e9) * 1e6: "An all-reduce is a reduce-scatter and an all-gather: twice.",
        2 * 2 * 4096**2 / (6 * 45e9) * 1e6: "Close: a chip keeps its own part, so 63/64 of V moves, twice.",
        2 * 63 / 64 * 2 * 4096**2 / (3 * 45e9) * 1e6: "Three rings are six links into each chip.",
        2 * 63 / 64 * 2 * 4096**2 / (2 * 45e9) * 1e6: "All three axes bring bytes at once: six links.",
    },
    unit="µs",
    rtol=0.005,
    source="v4: 45 GB/s a link and direction; 2 · 63/64 V over six links",
    solution="2 · 63/64 · 33.6 MB ÷ 270 GB/s = 245 µs: twice the gather of the worked example.",
    teaches="ch03-planner",
)

G18 = _twin(
    "ch03.g18",
    "A gather where an exchange would do",
    4,
    {
        2: "An all-to-all on a line takes V/4W, an all-gather V/W.",
        8: "That compares a line with a ring, V/W with V/8W; or it counts what a chip sends. Asked for is the time.",
        3: "That is exact for four chips, where a chip lacks ¾ of the array. In the limit it lacks all of it.",
        3.5: "That is exact for eight chips in a line. In the limit of many a chip lacks all of the array.",
        1 / 4: "That is the all-to-all over the all-gather; the question asks for the all-gather over the all-to-all.",
        1: "Of the gathered array each chip keeps only a part: it was sent for nothing.",
    },
    unit="",
    source="V/W against V/(4W)",
    solution="V/W ÷ V/4W = 4.",
    teaches="ch03-referee",
)

G19 = _twin(
    "ch03.g19",
    "A vocabulary on eight chips",
    6283,
    {
        50257: "That is the whole vocabulary; cut it over eight chips.",
        6282: "Round up: with 6282 rows on each chip the last one has no place.",
        50264: "That is all of them after padding.",
        50257 / 8: "Rows are whole, so the vocabulary is padded until all chips hold as many.",
    },
    unit="rows",
    rtol=5e-6,
    source="50,257 rounded up to a multiple of 8",
    solution="8 · 6283 = 50,264, seven rows more: 6283 rows each.",
    teaches="ch03-uneven",
)

G20 = _twin(
    "ch03.g20",
    "Four slices",
    2 * 3 / 4 * 1e9 / 256 / 3.125e9 * 1e3,
    {
        3 / 4 * 1e9 / 256 / 3.125e9 * 1e3: "An all-reduce counts twice.",
        2 * 3 / 4 * 1e9 / 3.125e9 * 1e3: "The array is cut over X: a chip holds 1/256 of it.",
        2 * 1e9 / 256 / 3.125e9 * 1e3: "Close: a slice has its own quarter already, so twice ¾ crosses.",
        1e9 / 256 / 3.125e9 * 1e3: "That is with two slices, or once all of it. Of four, twice ¾ crosses.",
        2 * 3 / 4 * 1e9 / 256 / 45e9 * 1e3: "Between slices there is no ICI, only the network: 3.1 GB/s a chip.",
    },
    unit="ms",
    rtol=0.02,
    source="v5e: 3.125 GB/s of DCN a chip; 2 · 3/4 of 3.9 MB",
    solution="2 · ¾ · 3.9 MB ÷ 3.125 GB/s = 1.9 ms: more slices hardly matter.",
    teaches="ch03-dcn",
)

_MATH_MS = 2 * 4096 * 8192 * 4096 / 4 / 197e12 * 1e3
_SENT_MS = 3 / 4 * 2 * 4096**2 / 45e9 * 1e3

G21 = _twin(
    "ch03.g21",
    "A longer product over the same scatter",
    3 * _MATH_MS,
    {
        3 * _MATH_MS + _SENT_MS: "That is in turn. Overlapped, the longer of the two counts.",
        _SENT_MS: "That is the network; the arithmetic takes longer now.",
        3 * _MATH_MS - _SENT_MS: "What overlaps is not subtracted: the longer of the two remains.",
    },
    unit="ms",
    source="v5e: 197 TFLOP/s; three times 349 µs against 559 µs",
    solution="max(1.05 ms, 0.56 ms) = 1.05 ms: the scatter is hidden entirely.",
    teaches="ch03-overlap",
)

EXERCISES = (G5, G7, G9, G11, G13, G15, G16, G18, G19, G20, G21)
