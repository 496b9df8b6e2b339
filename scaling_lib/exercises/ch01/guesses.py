"""What the reader predicts before a section derives it."""

from scaling_lib.exercises.spec import Exercise, Mistake

G1 = Exercise(
    key="ch01.g1",
    title="What a dot product uses of the peak",
    kind="choice",
    points=0,
    choices=("most of it", "half", "a tenth", "less than a hundredth"),
    expected="less than a hundredth",
    mistakes=(
        Mistake("most of it", "Count the bytes: each pair of numbers moves 4 bytes and needs only 2 FLOPs."),
        Mistake("half", "Half a FLOP per byte is the intensity; the chip needs hundreds of FLOPs per byte to be busy."),
        Mistake("a tenth", "Lower still: compare half a FLOP per byte with the chip's FLOPs per byte of bandwidth."),
    ),
    source="v5e: 197 TFLOP/s bf16 dense, 820 GB/s HBM; 2 FLOPs and 4 bytes a pair",
    solution="0.5 FLOP/byte × 820 GB/s = 0.41 TFLOP/s, 0.2% of 197 TFLOP/s.",
    teaches="ch01-dot-product",
    minutes=1,
)

G3 = Exercise(
    key="ch01.g3",
    title="From which batch on a wide matmul computes",
    kind="choice",
    points=0,
    choices=("about 10 tokens", "about 240 tokens", "about 8192 tokens", "it never does"),
    expected="about 240 tokens",
    mistakes=(
        Mistake("about 10 tokens", "At 10 tokens each weight serves 10 multiplications; the chip could do far more."),
        Mistake(
            "about 8192 tokens", "The batch need not be as wide as the matrix: it is the weights that must be shared."
        ),
        Mistake(
            "it never does", "A dot product never does. Here every weight is used once for each token of the batch."
        ),
    ),
    source="1/B = 1/I* - 1/D - 1/F with I* = 197e12 / 820e9 and D = F = 8192: 255 tokens",
    solution="Exactly 255 tokens, near the ridge point of 240 FLOPs per byte.",
    teaches="ch01-matmul",
    minutes=1,
)

EXERCISES = (G1, G3)
