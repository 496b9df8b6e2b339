"""Diagnoses a wrong number that no planted mistake explains, by its ratio to the right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RTOL = 0.004  # narrow: 1.074 and 1.1, 4/3 and 1.3 are different stories
_GIB = 2**30 / 1e9

_KNOWN = (
    (2, "twice the right value: a multiply-add is two FLOPs; count arrays, bytes and directions again."),
    (4, "4 times the right value: bytes an element counted twice, or f32 for int8?"),
    (8, "8 times the right value: bits or bytes?"),
    (1e3, "1000 times the right value: check the prefix (k, M, G, T)."),
    (1e6, "a million times the right value: check the prefixes."),
    (_GIB, "1.074 times the right value: GB (10⁹ bytes) or GiB (2³⁰ bytes)?"),
    (4 / 3, "4/3 of the right value: count the terms again."),
    (3, "3 times the right value: count the terms again."),
    (1 / 2, "half the right value: a multiply-add is two FLOPs; count arrays, bytes and directions again."),
    (1 / 4, "a quarter of the right value: elements or bytes?"),
    (1 / 8, "an eighth of the right value: bits or bytes?"),
    (1e-3, "a thousandth of the right value: check the prefix (k, M, G, T)."),
    (1e-6, "a millionth of the right value: check the prefixes."),
    (1 / _GIB, "the right value divided by 1.074: GB (10⁹ bytes) or GiB (2³⁰ bytes)?"),
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


def ratios(values: Mapping[str, Any], chapter: str = "") -> list[tuple[float, str]]:
    """The telling ratios of an answer to the right value, with what each may mean.

    Counts among the inputs come first, for of eight chips the count explains a factor of 8 better than bits and bytes.
    """
    counts = {name: count for name, count in values.items() if name in _COUNTS and count > 1}
    told = [(float(n), f"too large by {_COUNTS[name]}: one or all?") for name, n in counts.items()]
    told += [(1 / n, f"too small by {_COUNTS[name]}: one or all?") for name, n in counts.items()]
    told += [*(() if chapter in _BEFORE_TRAINING else _TRAINING), *_KNOWN]
    kept: list[tuple[float, str]] = []
    for ratio, says in told:
        if not any(abs(ratio - other) <= 2 * _RTOL * other for other, _ in kept):
            kept.append((ratio, f"It is {says}"))
    return kept


def by_ratio(value: float, expected: float, values: Mapping[str, Any], chapter: str = "") -> str:
    """What the ratio of a wrong value to the right one tells, or empty.

    >>> by_ratio(16.0, 2.0, {})
    'It is 8 times the right value: bits or bytes?'
    >>> by_ratio(16.0, 2.0, {"chips": 8})
    'It is too large by the number of chips: one or all?'
    >>> by_ratio(17.0, 2.0, {})
    ''
    """
    ratio = value / expected
    return next((says for known, says in ratios(values, chapter) if abs(ratio - known) <= _RTOL * known), "")
