"""Names of units that an answer may use, and their factor to the unit that the exercise asks for.

Tables only: the page gets the same ones (`page_spec(key)["units"]`), so that Python and the page agree.
"""

from __future__ import annotations

from functools import cache

_SI = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}
_BARE = {prefix: factor for prefix, factor in _SI.items() if prefix}  # `2.1k`
_IEC = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
_PARTS_OF_A_SECOND = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_LONGER = {"min": 60.0, "h": 3600.0, "day": 86400.0}
_PER_TIME = {"s": 1.0, "sec": 1.0, "second": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0}


def _prefixed(*names: str) -> dict[str, float]:
    return {prefix + name: factor for prefix, factor in _SI.items() for name in names}


def _times() -> dict[str, float]:
    words = {
        "sec": 1.0,
        "second": 1.0,
        "seconds": 1.0,
        "minute": 60.0,
        "minutes": 60.0,
        "hour": 3600.0,
        "hours": 3600.0,
    }
    for part, factor in {"milli": 1e-3, "micro": 1e-6, "nano": 1e-9}.items():
        words |= {f"{part}second": factor, f"{part}seconds": factor}
    words |= {f"{part[:-1]}sec": factor for part, factor in _PARTS_OF_A_SECOND.items()}
    return {"s": 1.0} | _PARTS_OF_A_SECOND | _LONGER | words | {"d": 86400.0, "days": 86400.0}


def _bytes() -> dict[str, float]:
    binary = {prefix + "B": factor for prefix, factor in _IEC.items()}
    bits = {name: factor / 8 for name, factor in _prefixed("bit").items()}
    return _prefixed("B") | binary | {"byte": 1.0, "bytes": 1.0, "bits": 1 / 8} | bits


def _flops() -> dict[str, float]:
    return _prefixed("FLOP", "FLOPs", "OP", "OPs") | {"operation": 1.0, "operations": 1.0}


def _counted(noun: str) -> dict[str, float]:
    """A noun that is counted: with or without the word, with or without a prefix (`2.1k`, `8 M tokens`)."""
    singular = noun.removesuffix("es") if noun.endswith(("ches", "xes")) else noun.removesuffix("s")
    words = ("tokens", "token", "rows", "row") if noun in ("tokens", "rows") else (noun, singular)
    spaced = {f"{p} {word}": factor for p, factor in _BARE.items() for word in words}
    return _prefixed(*words) | spaced | _BARE


def _family(unit: str) -> dict[str, float]:
    """Every name of a plain unit's family with its factor to the family's base unit."""
    if unit in ("", "%"):
        return {"%": 0.01, "×": 1.0, "x": 1.0, "times": 1.0} | _counted("numbers") if not unit else {"%": 1.0}
    dollars = {"$": 1.0} | _prefixed("USD") | {p + "$": f for p, f in _SI.items()}
    energy = _prefixed("J") | {p + "Wh": 3600 * f for p, f in _SI.items()}
    for names in (_times(), _bytes(), _flops(), dollars, energy, _prefixed("W")):
        if unit in names:
            return names
    return _counted(unit) if unit.isalpha() else {}


def _denominators(name: str) -> dict[str, float]:
    """What may stand below the bar, with the size of each relative to the base of its family."""
    if name in _PER_TIME:
        return _PER_TIME
    if name in ("byte", "B"):
        return {"byte": 1.0, "bytes": 1.0, "B": 1.0}
    plural = name if name.endswith("s") else name + "s"
    return {plural.removesuffix("s"): 1.0, plural: 1.0}


@cache
def _table(unit: str) -> dict[str, float]:
    above, bar, below = unit.partition("/")
    names = _family(above)
    if bar and names:
        bare = {name: factor for name, factor in names.items() if name in _SI}
        names = {f"{a}/{b}": x / y for a, x in names.items() for b, y in _denominators(below).items()} | bare
        if above in _flops() and below == "s":
            names |= _prefixed("FLOPS", "OPS")
    return {name: factor / names.get(unit, 1.0) for name, factor in names.items()}


def unit_factors(unit: str) -> dict[str, float]:
    """The names that an answer in `unit` may use, each with its factor to `unit`; empty for an unknown unit.

    >>> unit_factors("ms")["s"], unit_factors("GB")["GiB"], unit_factors("FLOP/s")["TFLOP/s"]
    (1000.0, 1.073741824, 1000000000000.0)
    >>> unit_factors("tokens")["k"], unit_factors("")["%"], unit_factors("3 ells")
    (1000.0, 0.01, {})
    """
    return dict(_table(unit))  # a copy: the cached table stays as it is
