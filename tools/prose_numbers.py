"""Reads a number as prose prints it, compares it with a value, and prints another value the same way.

Values are SI: bytes, seconds, FLOPs. The unit that follows a number is understood (`4.9 µs` is 4.9e-6), so that no
expression converts. The first word after the number decides; one that is no unit (`tokens`) leaves it as it is.
"""

import math
import re
from dataclasses import dataclass

PREFIXES = {"n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PREFIXES |= {"P": 1e15, "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
ALONE = ("k", "K", "M", "G", "T", "P")  # 128k tokens, 1.2 M parameters
PREFIXED = dict.fromkeys(("B", "FLOP", "FLOPs", "FLOPS", "OP", "OPs", "OPS", "s", "Hz", "W", "J"), 1)
PREFIXED |= {"b": 1 / 8, "bit": 1 / 8}
NOUNS = {"thousand": 1e3, "million": 1e6, "bit": 1 / 8, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
NOUNS |= {"week": 604800.0, "year": 365.25 * 86400, "nanosecond": 1e-9, "microsecond": 1e-6, "millisecond": 1e-3}
NOUNS |= {"kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12, "petabyte": 1e15}
WORDS = {"%": 0.01, "percent": 0.01, "min": 60.0, "h": 3600.0} | NOUNS | {f"{w}s": f for w, f in NOUNS.items()}
SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
FRACTIONS = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅛": 1 / 8, "⅜": 3 / 8, "⅝": 5 / 8, "⅞": 7 / 8}
NAMED = {word: float(i) for i, word in enumerate(SPELLED)} | {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")

DIGITS = r"\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"
POWER = r"(?:\^\{?(?P<power>[-−]?\d+)\}?|(?P<high>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+))"
NUMBER = re.compile(
    rf"(?<![\w.,/^-])(?P<sign>(?<![\w)])[-−])?(?:"
    rf"(?P<whole>\d+)?(?P<vulgar>[{''.join(FRACTIONS)}])"
    rf"|(?P<ratio>\d+/\d+)(?![\w/])"
    rf"|(?P<digits>{DIGITS})(?:\s*(?:×|\\times)\s*10{POWER})?)"
)
TEN = re.compile(rf"10{POWER}")
NAME = re.compile(rf"\b({'|'.join(NAMED)})\b", re.IGNORECASE)
UNIT = re.compile(r"[\s\u00a0\u202f-]?(?P<unit>%|×|[A-Za-zµμ]+(?:/[A-Za-zµμ]+)?)")
REST = re.compile(r"(?:[\s-]+[^\W\d_][\w/·'’-]*){0,5}[\s*_`)\]\"”’$]*")
APPROXIMATE = re.compile(
    r"(?:\b(?:about|roughly|approximately|around|nearly|almost|some|close to|(?:just|a little) (?:over|under))"
    r"|≈|~|∼|\\approx|\\sim)\s*(?:[*_`$]*\w+[*_`$]*\s*=\s*)?[*_`(]*\\?[$€]?$",
    re.IGNORECASE,
)


class NumberFault(ValueError):
    """No number stands where one must."""


@dataclass(frozen=True)
class Printed:
    """A number as printed.

    Args:
      start, end: where its digits (or fraction, or word) stand in the line.
      text: those digits.
      value: their value, before unit and power of ten.
      factor: what unit and power of ten multiply it by.
      about: whether prose calls it approximate.
      exact: a fraction or a word, which has no last digit.
    """

    start: int
    end: int
    text: str
    value: float
    factor: float
    about: bool = False
    exact: bool = False

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.text.partition(".")[2]) if not self.exact else 0

    @property
    def significant(self) -> int:
        """Digits that say something: zeros at the end of a whole number say nothing when it is approximate."""
        bare = self.text.replace(",", "").replace("{}", "").lstrip("0.")
        return max(2, len((bare if "." in self.text else bare.rstrip("0")).replace(".", "")))

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit; when approximate, of the last one that says something."""
        if self.exact:
            return 0.05 * self.value if self.about else 0.005 * self.value
        printed = 0.5 * 10.0**-self.decimals
        if not self.about or not self.value:
            return printed
        return max(printed, 0.5 * 10.0 ** (math.floor(math.log10(abs(self.value))) - self.significant + 1))

    def agrees(self, value: float) -> bool:
        """Whether the printed number states this value.

        >>> number_before("about 2,200 tokens").agrees(2189), number_before("2,200 tokens").agrees(2189)
        (True, False)
        """
        stated = value / self.factor
        return abs(stated - self.value) <= self.tolerance * (1 + 1e-9) + 1e-12 * abs(stated)

    def reprinted(self, value: float) -> str:
        """The digits for another value, at the same precision.

        >>> number_before("820 GB/s").reprinted(9.02e11), number_before("about 2,200").reprinted(2408)
        ('902', '2,400')
        """
        if self.exact:
            raise NumberFault(f"{self.text!r} has no digits to rewrite")
        stated, decimals = abs(value / self.factor), self.decimals
        if self.about and stated:
            decimals = min(decimals, self.significant - 1 - math.floor(math.log10(stated)))
        if stated and round(stated, decimals) == 0:
            decimals = -math.floor(math.log10(stated))  # not a bare zero
        stated = round(stated, decimals)
        grouped = "," in self.text or self.value < 1000
        return self._grouping(f"{stated:{',' if grouped else ''}.{max(decimals, 0)}f}")

    def _grouping(self, digits: str) -> str:
        return digits.replace(",", "{,}") if "{,}" in self.text else digits


def number_before(text: str) -> Printed:
    """The number at the end of a text, with the unit and the few words that may follow it.

    >>> number_before("the chip does 197 TFLOP/s").factor
    1000000000000.0
    >>> number_before("and a half FLOP per byte").value
    0.5

    Raises:
      NumberFault: there is none.
    """
    candidates = [printed for printed in numbers_in(text) if is_tail(text[printed[1] :])]
    if candidates:
        match, end = candidates[-1]
        return _printed(text, match, end)
    if named := [m for m in NAME.finditer(text) if is_tail(text[m.end() :])]:
        match = named[-1]
        about = bool(APPROXIMATE.search(text[: match.start()]))
        factor = unit_factor(text[match.end() :])
        return Printed(match.start(), match.end(), match[0], NAMED[match[0].lower()], factor, about, exact=True)
    raise NumberFault(f"no number ends {text[-40:]!r}")


def numbers_in(text: str) -> list[tuple[re.Match, int]]:
    """The numbers of a text, each with where it ends, its power of ten included.

    >>> [m[0] for m, _ in numbers_in("1.97 × 10¹⁴ FLOP/s on a v5e, 1/2 or −3")]
    ['1.97 × 10¹⁴', '1/2', '−3']
    """
    found = []
    for match in NUMBER.finditer(text):
        power = TEN.match(text, match.start("digits")) if match["digits"] == "10" else None
        found.append((match, power.end() if power else match.end()))
    return found


def is_tail(text: str) -> bool:
    """Whether what stands between a number and its check is a unit and a few words."""
    text = plain(text)
    unit = UNIT.match(text)
    return bool(REST.fullmatch(text) or (unit and REST.fullmatch(text[unit.end() :])))


def unit_factor(after: str) -> float:
    """What the unit that follows a number multiplies it by.

    >>> unit_factor(" µs"), unit_factor(" GiB/s"), unit_factor("%"), unit_factor(" tokens"), unit_factor("k tokens")
    (1e-06, 1073741824.0, 0.01, 1.0, 1000.0)
    """
    after = plain(after)
    match = UNIT.match(after)
    if not match:
        return 1
    above, _, below = match["unit"].partition("/")
    if above in ("billion", "trillion", "billions", "trillions"):
        raise NumberFault(f"{above} differs between languages: write a prefix or a power of ten")
    if above == "B" and match.start("unit") == 0 and re.match(r"\s*(active\s+)?param", after[match.end() :]):
        return 1e9
    return _factor(above) / (_factor(below) if below.endswith("s") and len(below) == 2 else 1)


def _factor(unit: str) -> float:
    if unit in WORDS:
        return WORDS[unit]
    if unit in ALONE:
        return PREFIXES[unit]
    for symbol, factor in PREFIXED.items():
        prefix = unit.removesuffix(symbol)
        if unit.endswith(symbol) and (not prefix or prefix in PREFIXES):
            return factor * PREFIXES.get(prefix, 1)
    return 1


def plain(text: str) -> str:
    r"""Text as it reads, without the commands that set units in formulas.

    >>> plain(r"\ \mu\text{s}$")
    ' µs$'
    """
    text = re.sub(r"\\(?:text|mathrm|mathsf)\{([^}]*)\}", r"\1", text)
    return re.sub(r"\\[ ,;:]", " ", text).replace(r"\mu", "µ").replace(r"\%", "%").replace("**", "")


def _printed(text: str, match: re.Match, end: int) -> Printed:
    about = bool(APPROXIMATE.search(text[: match.start()]))
    sign = -1.0 if match["sign"] else 1.0
    factor = sign * unit_factor(text[end:])
    if match["vulgar"] or match["ratio"]:
        above, _, below = (match["ratio"] or "0/1").partition("/")
        value = float(match["whole"] or 0) + FRACTIONS[match["vulgar"]] if match["vulgar"] else int(above) / int(below)
        return Printed(match.start(), end, match[0], value, factor, about, exact=True)
    if power := TEN.match(text, match.start("digits")):
        return Printed(match.start(), end, power[0], 1.0, factor * _power(power), about, exact=True)
    digits = match["digits"]
    value = float(digits.replace("{,}", "").replace(",", ""))
    factor *= _power(match) if match["power"] or match["high"] else 1
    return Printed(match.start("digits"), match.end("digits"), digits, value, factor, about)


def _power(match: re.Match) -> float:
    return 10.0 ** int((match["power"] or match["high"]).translate(SUPERSCRIPTS))
