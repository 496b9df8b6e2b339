"""Diagnoses a wrong number that no planted mistake explains, by its ratio to the right one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scaling_lib.exercises.factors import unit_factors

_RTOL = 0.004  # narrow: 1.074 and 1.1, 4/3 and 1.3 are different stories
# Prefix -> how much larger the binary one is than the decimal one, and what to ask.
_BINARY = {
    "k": (1.024, "kB (10³ bytes) or KiB (2¹⁰ bytes)?"),
    "M": (1.024**2, "MB (10⁶ bytes) or MiB (2²⁰ bytes)?"),
    "G": (1.024**3, "GB (10⁹ bytes) or GiB (2³⁰ bytes)?"),
    "T": (1.024**4, "TB (10¹² bytes) or TiB (2⁴⁰ bytes)?"),
}

_KNOWN = (
    (4, "4 times the right value: are two factors of two counted twice?"),
    (8, "8 times the right value: bits or bytes?"),
    (4 / 3, "4/3 of the right value: count the terms again."),
    (3, "3 times the right value: count the terms again."),
    (1 / 4, "a quarter of the right value: are two factors of two left out?"),
    (1 / 8, "an eighth of the right value: bits or bytes?"),
    (3 / 4, "3/4 of the right value: count the terms again."),
    (1 / 3, "a third of the right value: count the terms again."),
)
# Said only where training has been introduced.
_TRAINING = (
    (4 / 3, "4/3 of the right value: was the forward pass recomputed (8 FLOPs) where it is not (6)?"),
    (3, "3 times the right value: the backward pass costs twice the forward pass; is it asked for?"),
    (3 / 4, "3/4 of the right value: does the step recompute its forward pass (8 FLOPs for 6)?"),
    (1 / 3, "a third of the right value: was the backward pass, twice the forward pass, left out?"),
)
_BEFORE_TRAINING = ("ch01", "ch02", "ch03")
_COUNTS = {
    "chips": "the number of chips",
    "n_chips": "the number of chips",
    "layers": "the number of layers",
    "n_layers": "the number of layers",
}
_THOUSANDS = {3: "1000", 6: "a million", 9: "a billion", 12: "10¹²"}


class Told(NamedTuple):
    """A ratio of an answer to the right value, how far from it still counts, and what it may mean."""

    ratio: float
    rtol: float
    says: str


CLOSE = Told(1.0, 0.02, "Close: is it rounding? Give three digits.")


def _prefixes(unit: str) -> Iterator[Told]:
    """The right digits with another prefix."""
    for power, name in _THOUSANDS.items():
        for sign, way in ((1, "large"), (-1, "small")):
            says = f"Right digits, other unit: {name} times too {way}{f' for {unit}' if unit else ''}."
            yield Told(10.0 ** (sign * power), 0.01, says)


def _twos(unit: str) -> Iterator[tuple[float, str]]:
    """A factor of two; the two FLOPs of a multiply-add only where no plain time or size is asked for."""
    counted = {"s", "B"} & set(unit_factors(unit))
    flops = "" if counted else " A multiply-add is two FLOPs."
    yield 2.0, f"twice the right value: is an array, a byte or a direction counted twice?{flops}"
    yield 0.5, f"half the right value: is an array, a byte or a direction left out?{flops}"


def _binary(unit: str) -> Iterator[tuple[float, str]]:
    """The ratios of binary to decimal prefixes: of the unit's own, or of those that a size or rate may have had."""
    own = [prefix for prefix in _BINARY if unit.startswith(f"{prefix}B")]
    for prefix in own or ("k" if unit == "B" else "") + "MG":
        larger, asks = _BINARY[prefix]
        yield larger, f"{larger:.4g} times the right value: {asks}"
        yield 1 / larger, f"the right value divided by {larger:.4g}: {asks}"


def ratios(values: Mapping[str, Any], chapter: str = "", unit: str = "") -> list[Told]:
    """The telling ratios of an answer to the right value, with what each may mean.

    Counts among the inputs come first, for of eight chips the count explains a factor of 8 better than bits and bytes.
    """
    counts = {name: count for name, count in values.items() if name in _COUNTS and count > 1}
    told = [(float(n), f"too large by {_COUNTS[name]}: one or all?") for name, n in counts.items()]
    told += [(1 / n, f"too small by {_COUNTS[name]}: one or all?") for name, n in counts.items()]
    told += [*(() if chapter in _BEFORE_TRAINING else _TRAINING), *_twos(unit), *_KNOWN, *_binary(unit)]
    kept: list[Told] = []
    for new in (*(Told(ratio, _RTOL, f"It is {says}") for ratio, says in told), *_prefixes(unit), CLOSE):
        if not any(abs(new.ratio - old.ratio) <= 2 * _RTOL * old.ratio for old in kept):
            kept.append(new)
    return kept


def by_ratio(value: float, expected: float, values: Mapping[str, Any], chapter: str = "", unit: str = "") -> str:
    """What the ratio of a wrong value to the right one tells, or empty.

    >>> by_ratio(16.0, 2.0, {})
    'It is 8 times the right value: bits or bytes?'
    >>> by_ratio(16.0, 2.0, {"chips": 8})
    'It is too large by the number of chips: one or all?'
    >>> by_ratio(2619, 2.619, {}, unit="ms")
    'Right digits, other unit: 1000 times too large for ms.'
    >>> by_ratio(8192, 8589.9, {}, unit="MB")
    'It is the right value divided by 1.049: MB (10⁶ bytes) or MiB (2²⁰ bytes)?'
    >>> by_ratio(17.0, 2.0, {})
    ''
    """
    told = (t for t in ratios(values, chapter, unit) if abs(value / expected - t.ratio) <= t.rtol * t.ratio)
    return next((t.says for t in told), "")
