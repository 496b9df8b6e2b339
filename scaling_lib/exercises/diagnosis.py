"""Diagnoses a wrong number that no planted mistake explains, by its ratio to the right one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from scaling_lib.exercises.factors import unit_factors
from scaling_lib.exercises.given import UNITS

_RTOL = 0.004  # narrow: 1.074 and 1.1, 4/3 and 1.3 are different stories
_EXACT = 1e-6
# Prefix -> how much larger the binary one is than the decimal one, and what to ask.
_BINARY = {
    "k": (1.024, "kB (10³ bytes) or KiB (2¹⁰ bytes)?"),
    "M": (1.024**2, "MB (10⁶ bytes) or MiB (2²⁰ bytes)?"),
    "G": (1.024**3, "GB (10⁹ bytes) or GiB (2³⁰ bytes)?"),
    "T": (1.024**4, "TB (10¹² bytes) or TiB (2⁴⁰ bytes)?"),
}

_KNOWN = (
    (4, "4 times the right value: are two factors of two counted twice?"),
    (4 / 3, "4/3 of the right value: count the terms again."),
    (3, "3 times the right value: count the terms again."),
    (1 / 4, "a quarter of the right value: are two factors of two left out?"),
    (3 / 4, "3/4 of the right value: count the terms again."),
    (1 / 3, "a third of the right value: count the terms again."),
)
_BITS = (
    (8, "8 times the right value: bits or bytes?"),
    (1 / 8, "an eighth of the right value: bits or bytes?"),
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
_THOUSANDS = {3: "1000", 6: "a million", 9: "10⁹", 12: "10¹²"}


class Told(NamedTuple):
    """A ratio of an answer to the right value, how far from it still counts, and what it may mean."""

    ratio: float
    rtol: float
    says: str


CLOSE = Told(1.0, 0.02, "Close: is it rounding? Give three digits.")


def _prefixes(unit: str) -> Iterator[Told]:
    """The right digits with another prefix."""
    other, of_unit = ("unit", f" for {unit}") if unit else ("power of ten", "")
    if unit == "%":
        yield Told(0.01, 0.01, "Right digits, but as a share: percent are asked for.")
    for power, name in _THOUSANDS.items():
        for sign, way in ((1, "large"), (-1, "small")):
            says = f"Right digits, other {other}: {name} times too {way}{of_unit}."
            yield Told(10.0 ** (sign * power), 0.01, says)


def _made_of(unit: str, values: Mapping[str, Any]) -> set[str]:
    """What a number is worked out from, as its unit and those of the inputs tell: "bytes", "FLOPs", both or neither.

    >>> sorted(_made_of("FLOP/byte", {})), _made_of("µs", {"peak": 1e14}), _made_of("%", {"k": 320})
    (['FLOPs', 'bytes'], {'bytes'}, set())
    """
    if {"s", "B"} & set(unit_factors(unit)):
        return {"bytes"}  # a plain time or size: whatever the FLOPs are, they are not what was counted wrong
    if unit == "tokens":
        return {"bytes", "FLOPs"}  # the batch at which arithmetic takes over from bytes
    units = " ".join((unit, *(UNITS.get(name, "") for name in values)))
    return {kind for kind, sign in (("bytes", "B/s|byte"), ("FLOPs", "FLOP")) if re.search(sign, units)}


def _twos(made_of: set[str]) -> Iterator[tuple[float, str]]:
    """A factor of two, with what it may be in a number made of bytes or FLOPs."""
    what = "an array, a byte or a direction" if "bytes" in made_of else "something"
    flops = " A multiply-add is two FLOPs." if "FLOPs" in made_of else ""
    yield 2.0, f"twice the right value: is {what} counted twice?{flops}"
    yield 0.5, f"half the right value: is {what} left out?{flops}"


def _binary(unit: str) -> Iterator[tuple[float, str]]:
    """The ratios of binary to decimal prefixes: of the unit's own, or of those that a size or rate may have had."""
    own = [prefix for prefix in _BINARY if unit.startswith(f"{prefix}B")]
    for prefix in own or ("k" if unit == "B" else "") + "MG":
        larger, asks = _BINARY[prefix]
        yield larger, f"{larger:.4g} times the right value: {asks}"
        yield 1 / larger, f"the right value divided by {larger:.4g}: {asks}"


def _off_by_one(count: float) -> Iterator[Told]:
    for by, way in ((1, "many"), (-1, "few")):
        if count + by > 0:
            says = f"One too {way}: where does the count begin, and where does it end?"
            yield Told((count + by) / count, _EXACT, says)


def ratios(values: Mapping[str, Any], chapter: str = "", unit: str = "", count: float | None = None) -> list[Told]:
    """The telling ratios of an answer to the right value, with what each may mean.

    Numbers of chips or layers among the inputs come first: of eight chips their number explains a factor of 8 better
    than bits and bytes. Where the right value is a `count`, a whole number asked for to the last digit, neither bytes
    nor FLOPs nor rounding explain anything.
    """
    numbers = {name: n for name, n in values.items() if name in _COUNTS and n > 1}
    told = [(float(n), f"too large by {_COUNTS[name]}: one or all?") for name, n in numbers.items()]
    told += [(1 / n, f"too small by {_COUNTS[name]}: one or all?") for name, n in numbers.items()]
    if count is not None:
        return _apart([*_off_by_one(count), *_named((*told, *_twos(set())))])
    made_of = _made_of(unit, values)
    told += [*(() if chapter in _BEFORE_TRAINING else _TRAINING), *_twos(made_of), *_KNOWN]
    told += [*_BITS, *_binary(unit)] if "bytes" in made_of else []
    return _apart([*_named(told), *_prefixes(unit), CLOSE])


def _named(told: Iterable[tuple[float, str]]) -> Iterator[Told]:
    return (Told(ratio, _RTOL, f"It is {says}") for ratio, says in told)


def _apart(told: Iterable[Told]) -> list[Told]:
    """The first of those that are too near each other to be told apart."""
    kept: list[Told] = []
    for new in told:
        if not any(abs(new.ratio - old.ratio) <= 2 * min(_RTOL, old.rtol) * old.ratio for old in kept):
            kept.append(new)
    return kept


def other_unit(ratio: float, unit: str = "") -> str:
    """What a ratio of a thousand, a million, … tells; else empty.

    >>> other_unit(1e6, "s")
    'Right digits, other unit: a million times too large for s.'
    """
    return next((t.says for t in _prefixes(unit) if abs(ratio - t.ratio) <= _EXACT * t.ratio), "")


def by_ratio(
    value: float,
    expected: float,
    values: Mapping[str, Any],
    chapter: str = "",
    unit: str = "",
    *,
    is_count: bool = False,
) -> str:
    """What the ratio of a wrong value to the right one tells, or empty.

    >>> by_ratio(16.0, 2.0, {}, unit="µs")
    'It is 8 times the right value: bits or bytes?'
    >>> by_ratio(16.0, 2.0, {"chips": 8})
    'It is too large by the number of chips: one or all?'
    >>> by_ratio(15, 14, {}, is_count=True)
    'One too many: where does the count begin, and where does it end?'
    >>> by_ratio(2619, 2.619, {}, unit="ms")
    'Right digits, other unit: 1000 times too large for ms.'
    >>> by_ratio(8192, 8589.9, {}, unit="MB")
    'It is the right value divided by 1.049: MB (10⁶ bytes) or MiB (2²⁰ bytes)?'
    >>> by_ratio(0.61, 61.0, {}, unit="%")
    'Right digits, but as a share: percent are asked for.'
    >>> by_ratio(17.0, 2.0, {})
    ''
    """
    if expected == 0:
        return ""
    told = ratios(values, chapter, unit, expected if is_count else None)
    return next((t.says for t in told if abs(value / expected - t.ratio) <= t.rtol * t.ratio), "")
