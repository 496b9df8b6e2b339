"""Checked prose: numbers as prose prints them, and checks as the text holds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.prose_numbers import NumberFault, number_before
from tools.prose_text import ProseFault, checks, is_word_check, paragraph, sentence_at, unchecked


def agrees(text, value):
    return number_before(text).agrees(value)


# ------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a chip does 197 TFLOP/s", 1.97e14),
        ("4.9 µs", 4.878e-6),
        ("4.9 μs", 4.878e-6),
        ("4.9 us", 4.878e-6),
        ("34 MB", 34e6),
        ("16 GB per chip", 16e9),
        ("16 GiB per chip", 16 * 2**30),
        ("400 Gb/s", 50e9),
        ("820 GB/s", 8.2e11),
        ("12.3 tokens/ms", 12_300),
        ("64 kB", 64_000),
        ("2,189 tokens", 2189.3),
        ("1,234,567", 1_234_567),
        ("8192", 8192),
        ("128k tokens", 128_000),
        ("1.2 M parameters", 1.2e6),
        ("15T tokens", 15e12),
        ("70B parameters", 70.4e9),
        ("0.2%", 0.00208),
        ("99.8 % of it", 0.998),
        ("3.2×", 3.2),
        ("3.2 × the cost", 3.2),
        ("1.97 × 10¹⁴ operations a second", 1.97e14),
        ("4.5 × 10⁻⁶ s", 4.5e-6),
        (r"$1.97 \times 10^{14}$", 1.97e14),
        ("6.4 × 10^24 FLOPs", 6.4e24),
        ("10¹² FLOPs", 1e12),
        (r"$T = 4.9\ \mu\text{s}$", 4.9e-6),
        ("2{,}189", 2189),
        ("½ FLOP per byte", 0.5),
        ("1½ bytes", 1.5),
        ("1/2", 0.5),
        ("7/8 of it", 0.875),
        ("half a FLOP per byte", 0.5),
        ("a third of the time", 1 / 3),
        ("eight chips", 8),
        ("**240** FLOPs per byte", 240.2),
        ("`B` = 240 tokens", 240.2),
        ("about `B` = 240 tokens", 238),
        (r"about \$5.76 M", 5.76e6),
        ("−3 ms", -3e-3),
        ("-3 ms", -3e-3),
        ("10–20 ms", 0.02),
        ("(about 2,189)", 2189),
        ("32 bf16 numbers", 32),
        ("28 days", 28 * 86_400),
        ("3.5 hours", 12_600),
        ("240 FLOPs per byte", 240.2),
        ("an H100 has 80 GB", 80e9),
        ("3 × 4 = 12 bytes", 12),
    ],
)
def test_a_printed_number_is_read_with_its_unit(text, value):
    assert agrees(text, value)
    assert not agrees(text, 1.3 * value)
    assert not agrees(text, -value)


@pytest.mark.parametrize("text", ["TPU v5e", "bf16", "no number", "240, or so", "240. Then", "ZeRO-3 it", "2.5.1"])
def test_what_is_no_number_is_not_taken_for_one(text):
    with pytest.raises(NumberFault):
        number_before(text)


def test_billions_are_refused_for_they_differ_between_languages():
    with pytest.raises(NumberFault, match="prefix or a power of ten"):
        number_before("70 billion parameters")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("240", 239.5, 240.5),  # half a unit of the last digit
        ("240.0", 239.95, 240.05),  # zeros at the end count
        ("2,000", 1999.5, 2000.5),
        ("0.20%", 0.00195, 0.00205),
        ("1.5 GB/s", 1.45e9, 1.55e9),
        ("about 2,200", 2150, 2250),  # two digits
        ("about 2,189", 2188.5, 2189.5),  # what is printed counts
        ("about 0.50", 0.495, 0.505),
        ("roughly 3", 2.5, 3.5),
        ("≈ 300", 295, 305),
        ("nearly 10", 9.5, 10.5),
        ("about 5 GB", 4.5e9, 5.5e9),
    ],
)
def test_tolerance_is_half_a_unit_of_the_last_digit_that_counts(text, low, high):
    inside, outside = 1e-6 * (high - low), 1e-3 * (high - low)
    assert agrees(text, low + inside)
    assert agrees(text, high - inside)
    assert not agrees(text, low - outside)
    assert not agrees(text, high + outside)


PREFIXES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@given(st.floats(0.01, 99_999), st.integers(0, 3), st.sampled_from(sorted(PREFIXES)), st.booleans())
def test_a_rounded_number_agrees_and_a_digit_off_does_not(mantissa, decimals, prefix, grouped):
    def printed(number):
        return f"{number:{',' if grouped else ''}.{decimals}f} {prefix}s"

    value = mantissa * PREFIXES[prefix]
    assert agrees(printed(mantissa), value)
    assert not agrees(printed(mantissa + 1.02 * 10**-decimals), value)


@given(st.floats(1, 9999), st.floats(1, 9999), st.integers(0, 3))
def test_reprinted_digits_agree_with_the_new_value(old, new, decimals):
    text = f"{old:,.{decimals}f} GB/s"
    again = number_before(text).reprinted(new * 1e9)
    assert agrees(f"{again} GB/s", new * 1e9)
    assert len(again.partition(".")[2]) == decimals


@pytest.mark.parametrize(
    ("text", "value", "digits"),
    [
        ("820 GB/s", 9.02e11, "902"),
        ("about 2,200", 2408, "2,400"),
        ("8192", 9011, "9011"),
        ("960", 1056, "1,056"),
        ("0.2%", 0.00041, "0.04"),
        ("1.97 × 10¹⁴", 2.167e14, "2.17"),
        ("2{,}189", 2408, "2{,}408"),
    ],
)
def test_update_keeps_the_printed_precision(text, value, digits):
    assert number_before(text).reprinted(value) == digits


# -------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# It does 240 <!-- = x -->\n", "stands in a heading"),
        ("It does 240 <!-- = x -->\n===\n", "stands in a heading"),
        ("It does 240\n<!-- = x --> tokens\n", "starts a line"),
        ("- <!-- = x --> tokens\n", "starts a line"),
        ("> <!-- given --> tokens\n", "starts a line"),
        ("It does 240 <!-- = x -- y --> tokens\n", "holds --"),
        ("| a | b |\n|---|---|\n| 240 <!-- = x | y --> | 3 |\n", "inside a table"),
        ("a | b\n--|--\n240 <!-- = x | y --> | 3\n", "inside a table"),
        ("$$\nT = 240 <!-- = x -->\n$$\n", "formula"),
        ("```{admonition} 240 <!-- = x -->\nA note.\n```\n", "directive's title"),
        ("It does 240 <!-- == x --> tokens\n", "must read"),
        ("It does 240 <!-- = --> tokens\n", "must read"),
        ("It does 240 <!-- givens --> tokens\n", "must read"),
        ("It does 240 <!-- = x\n+ y --> tokens\n", "not closed on its line"),
    ],
)
def test_a_check_that_could_mislead_is_refused(text, says):
    with pytest.raises(ProseFault, match=rf"^t\.md:\d+: .*{says}"):
        checks(text, "t.md")


def test_checks_know_their_line_and_the_code_cells_above():
    text = """\
---
kernelspec: {name: python3}
---
# Title

First 1 <!-- = a --> and 2 <!-- given -->.

```{code-cell} ipython3
a = "3 <!-- = not a check -->"
```

```{note}
Inside a note 4 <!-- = b -->.
```

`5 <!-- = shown -->` is code, and <!-- a remark --> no check.

````{admonition} A title
:class: tip
```{code-cell} ipython3
b = 1
```
Then 6 <!-- = c -->.
````

| a | b |
|---|---|
| 7 <!-- = d --> | 8 <!-- = e --> |
"""
    found = [(c.line, c.after, c.printed.text, c.expr) for c in checks(text, "t.md")]
    assert found == [
        (6, 0, "1", "a"),
        (6, 0, "2", ""),
        (13, 1, "4", "b"),
        (23, 2, "6", "c"),
        (28, 2, "7", "d"),
        (28, 2, "8", "e"),
    ]


def test_a_check_may_be_about_a_word():
    check = checks("It is bound by **memory** <!-- = t.bound --> here.", "t.md")[0]
    assert is_word_check(check, "memory")
    assert not is_word_check(check, "math")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It moves 34 MB in 4.9 µs.", ["34 MB", "4.9 µs"]),
        ("It moves 34 MB <!-- = x --> in 4.9 µs <!-- given -->.", []),
        ("| 240 | 295 <!-- = x --> |\n|---|---|\n", ["240"]),
        ("# Chapter of 240\n\n2. In 2025, chapter 3 and figure 12 of edition 2.\n", []),
        ("A TPU v5e, an H100, bf16, LLaMA 3 70B, ZeRO-3, Python 3.11, 2D tori, 1F1B.", []),
        ("`240` and $B > 240$ and [240](https://x.example/240) and {cite}`a2024`.", ["240"]),
        ("$$\nB = 240\n$$\n", []),
        ("```{code-cell} ipython3\n240\n```\n", []),
        ("```{note}\nIt takes 240 tokens.\n```\n", ["240 tokens"]),
        ("A slice of 4 × 8 or 16×16×28 chips holds 6.4 × 10²⁴ of them.", ["6.4 × 10²⁴ of"]),
        ("It takes 12 bytes per element, or ½ of them.", ["12 bytes", "½ of"]),
        ("A model of 70B parameters.", ["70B"]),
    ],
)
def test_numbers_that_state_a_result_and_have_no_check_are_listed(text, numbers):
    assert [number for _, number in unchecked(text, "t.md")] == numbers


def test_a_sentence_is_found_across_lines_without_its_checks():
    text = "Before. It delivers 820 GB/s <!-- = x -->, which\nis 0.2% <!-- = y --> of it. After.\n"
    first, second = checks(text, "t.md")
    whole = "It delivers 820 GB/s, which is 0.2% of it."
    assert sentence_at(text, 1, first.printed.start) == sentence_at(text, 2, second.printed.start) == whole
    assert paragraph(text, 2) == ["Before.", whole, "After."]
    listed = "- Memory: 1 GB ÷ 820 GB/s.\n- Bounds: 2 ms\n  to 3 ms.\n\nNext.\n"
    assert paragraph(listed, 1) == ["- Memory: 1 GB ÷ 820 GB/s."]
    assert paragraph(listed, 3) == ["- Bounds: 2 ms to 3 ms."]
