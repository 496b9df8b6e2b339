"""Templates of sentences and labels: `{batch:,}` or `{time_s:s}` filled with an explorer's values.

`static/explorer.js` has the same few rules, so that the page and Python say the same to the digit.
"""

import math
import re

from scaling_lib.units import ScalingError, si

PLACE = re.compile(r"\{(\w+)(?::([^{}]+))?\}")

# The page reads its numbers from tables of nine decimals. A number that lies exactly between two printed
# ones (112.5 in three digits) must not be rounded up here and down there: both sides first step aside.
NUDGE = 1 + 1e-7
NOTHING = 1e-27  # a quantity below this is written 0: it stands for none where a logarithm is wanted


def fill(template, values):
    """The template with its places filled.

    Forms: none (as it is), `,` (whole number), `3` (that many significant digits), `%` (a share in percent),
    anything else a unit with SI prefix.

    >>> fill("{chip}: batch {batch:,} takes {time_s:s}", {"chip": "TPU v5e", "batch": 4096, "time_s": 4.88e-6})
    'TPU v5e: batch 4,096 takes 4.88 µs'
    >>> fill("{share:%} of the peak, {intensity:3} FLOP/byte", {"share": 0.2641, "intensity": 112.5})
    '26.4% of the peak, 113 FLOP/byte'
    """
    return PLACE.sub(lambda place: written(place[1], values, place[2] or ""), template)


def names_in(template):
    """Names of the values that a template speaks of.

    >>> names_in("{chip}: batch {batch:,}")
    ('chip', 'batch')
    """
    return tuple(place[0] for place in PLACE.findall(template))


def written(name, values, form):
    """One value as text; a value that does not exist is a dash, one without bound is `∞`."""
    if name not in values:
        raise ScalingError(f"template names {name!r}: possible are {', '.join(values)}")
    value = values[name]
    if value is None:
        return "–"
    if isinstance(value, str) or not form:
        return str(value)
    if math.isinf(value):
        return "∞"
    if form == ",":
        return f"{math.floor(value * NUDGE + 0.5):,}"
    if form == "%":
        return significant(100 * value * NUDGE, 3) + "%"
    if form.isdigit():
        return significant(value * NUDGE, int(form))
    return si(0.0 if abs(value) < NOTHING else value * NUDGE, form)


def significant(value, digits):
    """A number in so many significant digits, whole numbers in full, zeros at the end dropped.

    >>> significant(0.4996, 3), significant(240.2, 3), significant(28672, 3)
    ('0.5', '240', '28,672')
    """
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
