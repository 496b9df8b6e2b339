"""The grammar of a typed number: what `check` and the page's answer box both understand.

The cases of `answer_cases.json` bind both. A doubtful spelling is asked about, never guessed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from scaling_lib.exercises.factors import unit_factors

LONGEST = 100
_SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f\t", " ") | {"−": "-", "–": "-", "’": "'"})
_SUPERSCRIPTS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_RAISED = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_ABOUT = re.compile(r"^(?:≈|~|=|about )\s*")
_COMPARED = re.compile(r"^(?:[A-Za-z]\s*=|(?:[A-Za-z]\s*)?(?:[<>]=?|[≤≥]))\s*")
_INFINITE = re.compile(r"[+-]?(?:inf|infinity|∞)", re.IGNORECASE)
_FORMULA = re.compile(r"[-+*/^×·(]\s*[(.0-9]|[0-9)]\s*[-+*/^×·(]")
# Letters whose case matters: milli and mega, bits and bytes, the amount FLOPs and the rate FLOPS.
_DOUBTFUL = re.compile(r"m|b(?!yte|it)|(?<=op)s$", re.IGNORECASE)
_TYPED = re.compile(r"(\$\s*)?([+-]?)\s*((?:[0-9]|\.(?=[0-9]))(?:[0-9.,_' ]*[0-9.])?)(.*)", re.S)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_TIMES_POWER = re.compile(r"\s*[×x*·]\s*(10|2)\s*(?:\^|\*\*)\s*([+-]?[0-9]+)")
_POWER = re.compile(r"\s*(?:\^|\*\*)\s*([+-]?[0-9]+)")
_OVER = re.compile(r"\s*/\s*([0-9]+(?:\.[0-9]+)?)")
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+|(?:0|[1-9][0-9]*)(?:_[0-9]+)+(?:\.[0-9]*)?")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]+")
_OTHER_GROUPS = re.compile(r"[0-9]{1,3}(?:(?: [0-9]{3})+|(?:'[0-9]{3})+|(?:\.[0-9]{3})+)(?:[.,][0-9]+)?")
_ONE_GROUP = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")


@dataclass(frozen=True)
class Reading:
    """A typed answer, read: exactly one of the three is set.

    Args:
      value: the number, in the exercise's unit.
      ask: another spelling to offer: "did you mean …?".
      error: why it cannot be read: empty, number, formula, infinite, unit, zero (division) or large.
    """

    value: float | None = None
    ask: str | None = None
    error: str | None = None


def parse_answer(text: str, unit: str = "", expected: float | None = None) -> Reading:
    """Reads a typed number.

    Args:
      text: `240`, `2.4e2`, `1/2`, `2.4 × 10²`, `1,024`, `3.2 ms`, `16 GiB`, `50%`, …
      unit: what a bare number is in; a unit in the text is converted to it.
      expected: the right answer, if known: `2.189` is asked about only where 2,189 would be right.

    >>> parse_answer("3.2 ms", "s")
    Reading(value=0.0032, ask=None, error=None)
    >>> parse_answer("3,2 ms", "s").ask, parse_answer("1 000", "tokens").ask
    ('3.2 ms', '1000')
    >>> parse_answer("2.189", "tokens").value, parse_answer("2.189", "tokens", expected=2189).ask
    (2.189, '2,189')
    >>> parse_answer("3 GB", "s").error
    'unit'
    """
    if len(text) > LONGEST:
        return Reading(error="number")
    clean = _RAISED.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text.translate(_SPACES)).strip()
    clean = _ABOUT.sub("", clean)
    if not clean:
        return Reading(error="empty")
    if compared := _COMPARED.match(clean):
        number = clean[compared.end() :]
        again = parse_answer(number, unit)
        return again if again.error else Reading(ask=again.ask or number)
    if _INFINITE.fullmatch(clean):
        return Reading(error="infinite")
    typed = _TYPED.fullmatch(clean)
    if not typed:
        return Reading(error="formula" if clean[0] not in "+-" and _FORMULA.search(clean) else "number")
    dollar, sign, numeral, rest = typed.groups()
    if respelled := _respell(numeral):
        again = parse_answer(sign + respelled + rest + (" $" if dollar else ""), unit)
        return again if again.error else Reading(ask=again.ask or (dollar or "") + sign + respelled + rest)
    if not (_PLAIN.fullmatch(numeral) or _GROUPED.fullmatch(numeral)):
        return Reading(error="number")
    factor, rest, error = _scale(float(numeral.replace(",", "").replace("_", "")), rest)
    if error:
        return Reading(error=error)
    number = clean[: len(clean) - len(rest)].removeprefix("$").strip()
    reading = _in_unit(-factor if sign == "-" else factor, "$" if dollar and not rest else rest, unit, number)
    if reading.value is not None and expected is not None and _ONE_GROUP.fullmatch(numeral):
        return _other_mark(reading, expected, numeral, clean)
    return reading


def _respell(numeral: str) -> str:
    """The house's spelling of a number that was typed in another country's, or empty."""
    if _PLAIN.fullmatch(numeral) or _GROUPED.fullmatch(numeral):
        return ""
    if _DECIMAL_COMMA.fullmatch(numeral):
        return numeral.replace(",", ".")
    if _OTHER_GROUPS.fullmatch(numeral):
        tail = re.search(r"[.,]([0-9]+)$", numeral) if re.search("[ ',]", numeral) else None
        whole = numeral[: tail.start()] if tail else numeral
        return re.sub("[^0-9]", "", whole) + (f".{tail[1]}" if tail else "")
    return ""


def _scale(value: float, rest: str) -> tuple[float, str, str]:
    """Applies an exponent, a power or a denominator; returns the value, what is left, and an error or empty."""
    try:
        if m := _EXPONENT.match(rest):
            value, rest = value * 10.0 ** int(m[1]), rest[m.end() :]
        elif m := _TIMES_POWER.match(rest):
            value, rest = value * float(m[1]) ** int(m[2]), rest[m.end() :]
        elif m := _POWER.match(rest):
            value, rest = value ** int(m[1]), rest[m.end() :]
        if m := _OVER.match(rest):
            value, rest = value / float(m[1]), rest[m.end() :]
    except ZeroDivisionError:
        return math.nan, rest, "zero"
    except OverflowError:
        return math.inf, rest, "large"
    return value, rest, "" if math.isfinite(value) else "large"


def _in_unit(value: float, name: str, unit: str, number: str) -> Reading:
    """The value converted from the unit that was typed; a near miss is asked about."""
    written = name
    name = re.sub(r"\s+", " ", re.sub(r"\s*(?:/|\bper\b)\s*", "/", name.strip()))
    if not name:
        return Reading(value=value)
    factors = unit_factors(unit)
    if name in factors:
        scaled = value * factors[name]
        return Reading(value=scaled) if math.isfinite(scaled) else Reading(error="large")
    alike = [n for n in factors if n.casefold() == name.casefold()]
    if same := [n for n in alike if _DOUBTFUL.findall(n) == _DOUBTFUL.findall(name)]:
        return _in_unit(value, same[0], unit, number)
    alike = alike or [n for n in factors if n == name + "/s"]
    if len({factors[n] for n in alike}) == 1:
        return Reading(ask=f"{number} {alike[0]}")
    return Reading(error="formula" if _FORMULA.search(written) else "unit")


def _other_mark(reading: Reading, expected: float, numeral: str, clean: str) -> Reading:
    """Asks where the other reading of one point or comma before three digits would be right."""
    point = "." in numeral
    other = reading.value * 1000 if point else reading.value / 1000
    if abs(other - expected) > 0.05 * abs(expected):
        return reading
    return Reading(ask=clean.replace(numeral, numeral.translate(str.maketrans(".,", ",."))))
