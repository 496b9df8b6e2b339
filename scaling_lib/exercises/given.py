"""The numbers of a question, shown with their units."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

# Name of an input -> its unit, the same in every chapter. What is not here is a plain count.
UNITS = {
    "bandwidth": "B/s",
    "card_gbit": "Gbit/s",
    "clock_ghz": "GHz",
    "dcn": "B/s",
    "flops_each": "FLOPs",
    "gbytes": "GB",
    "hbm": "B/s",
    "hop_us": "µs",
    "link": "B/s",
    "matrix": "FLOP/s",
    "nbytes": "B",
    "nvlink": "B/s",
    "pcie": "B/s",
    "peak": "FLOP/s",
    "sheet_flops_per_s": "FLOP/s",
    "time_1": "µs",
    "time_2": "µs",
    "vector": "FLOP/s",
}
_PREFIXED = ("B", "B/s", "FLOP/s")
_PREFIXES = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}


class Given(dict):
    """The inputs of a question, name -> plain number in SI units; it shows them as a reader writes them.

    >>> Given(i=4096, x=16, link=45e9)
    i = 4,096, x = 16, link = 45 GB/s
    >>> Given(i=4096, x=16, link=45e9)["link"]
    45000000000.0
    """

    def __repr__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self._shown())

    def _repr_html_(self) -> str:
        said = (f"<b>{html.escape(name)}</b> = {html.escape(value)}" for name, value in self._shown())
        return f'<p class="sl-given">{", ".join(said)}</p>'

    def _shown(self) -> Iterator[tuple[str, str]]:
        return ((name, with_unit(value, UNITS.get(name, ""))) for name, value in self.items())


def with_unit(value: Any, unit: str = "") -> str:
    """A number in a few digits, none of them lost to a prefix, with its unit.

    >>> with_unit(4096), with_unit(1.979e15, "FLOP/s"), with_unit(2.765e12, "B/s"), with_unit(16777216, "B")
    ('4,096', '1,979 TFLOP/s', '2.765 TB/s', '16,777,216 B')
    >>> with_unit(1.75, "GHz"), with_unit("ZX")
    ('1.75 GHz', 'ZX')
    """
    if not isinstance(value, int | float):
        return str(value)
    for prefix, factor in _PREFIXES.items() if unit in _PREFIXED else ():
        number = f"{value / factor:,.6g}"
        if value >= factor and float(number.replace(",", "")) * factor == value:
            return f"{number} {prefix}{unit}"
    number = f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
    return f"{number} {unit}".strip()
