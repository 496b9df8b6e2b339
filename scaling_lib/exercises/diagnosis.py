"""Diagnoses a wrong number that no planted mistake explains, by its ratio to the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RTOL = 0.004  # narrow: 1.074 and 1.1, 4/3 and 1.3 are different stories
_GIB = 2**30 / 1e9

_KNOWN = (
    (2, "twice the right value: one direction or two, forward and back, a multiply-add as one FLOP or two?"),
    (4, "4 times the right value: FLOPs or bytes of an element counted twice, f32 for int8?"),
    (8, "8 times the right value: bits or bytes?"),
    (1e3, "1000 times the right value: check the prefix (k, M, G, T)."),
    (1e6, "a million times the right value: check the prefixes."),
    (_GIB, "1.074 times the right value: GB (10⁹ bytes) or GiB (2³⁰ bytes)?"),
    (4 / 3, "4/3 of the right value: was the forward pass recomputed (8 FLOPs) where it is not (6)?"),
    (3, "3 times the right value: the backward pass costs twice the forward pass; is it asked for?"),
)
_INVERSE = (
    (2, "half the right value: one direction or two, a multiply-add as one FLOP or two, one operand left out?"),
    (4, "a quarter of the right value: elements or bytes?"),
    (8, "an eighth of the right value: bits or bytes?"),
    (1e3, "a thousandth of the right value: check the prefix (k, M, G, T)."),
    (1e6, "a millionth of the right value: check the prefixes."),
    (_GIB, "the right value divided by 1.074: GB (10⁹ bytes) or GiB (2³⁰ bytes)?"),
    (4 / 3, "3/4 of the right value: does the step recompute its forward pass (8 FLOPs for 6)?"),
    (3, "a third of the right value: was the backward pass, twice the forward pass, left out?"),
)
_COUNTS = {
    "chips": "the number of chips",
    "n_chips": "the number of chips",
    "layers": "the number of layers",
    "n_layers": "the number of layers",
}


def ratios(values: Mapping[str, Any]) -> list[tuple[float, str]]:
    """The telling ratios of an answer to the right value, with what each may mean; counts in the inputs first."""
    told = []
    for name, count in values.items():
        if name in _COUNTS and isinstance(count, int | float) and count > 1:
            what = _COUNTS[name]
            told.append((float(count), f"too large by {what}: is it asked for one or for all?"))
            told.append((1 / count, f"too small by {what}: is it asked for one or for all?"))
    told += [(float(ratio), f"It is {says}") for ratio, says in _KNOWN]
    told += [(1 / ratio, f"It is {says}") for ratio, says in _INVERSE]
    kept: list[tuple[float, str]] = []
    for ratio, says in told:  # eight chips: the count wins over bits and bytes
        if not any(abs(ratio - other) <= 2 * _RTOL * other for other, _ in kept):
            kept.append((ratio, says if says.startswith("It is") else f"It is {says}"))
    return kept


def by_ratio(value: float, expected: float, values: Mapping[str, Any]) -> str:
    """What the ratio of a wrong value to the right one tells, or empty.

    >>> by_ratio(16.0, 2.0, {})
    'It is 8 times the right value: bits or bytes?'
    >>> by_ratio(17.0, 2.0, {})
    ''
    """
    ratio = value / expected
    return next((says for known, says in ratios(values) if abs(ratio - known) <= _RTOL * known), "")
