"""What an explorer is: controls, tables over them, values read from the tables, a chart and its sentence.

An explorer is evaluated twice with the same recipe. Python asks each table's function, at any state. The
static page looks the tables up, since their values over the controls' stops travel with it; then it adds, and
takes the greatest or least. So no formula is written in JavaScript: products are sums of log10 tables.

A table may stand over an earlier table: what depends on the size of an array alone need not be written for every pair
of lengths.
"""

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from scaling_lib.units import ScalingError
from scaling_lib.widgets.words import fill, names_in

MIN_STOPS = 12  # a coarser slider is a toy
BETWEEN = 8  # a live kernel takes this many steps from one stop to the next
TIE = 1e-6  # two values this close are equal: the first named wins
DIGITS = 9  # decimals of a log10 in the page: a relative error of 1e-9


@dataclass(frozen=True)
class Control:
    """One input: a slider over `stops`, or, where `labels` are given, a choice among them."""

    name: str
    label: str
    stops: tuple
    default: object
    labels: tuple[str, ...] = ()
    wide: bool = False  # takes a whole row of the page

    def __post_init__(self):
        if self.default not in self.stops:
            raise ScalingError(f"default of {self.name} is {self.default!r}: possible are {_listed(self.stops)}")
        if not self.labels and len(self.stops) < MIN_STOPS:
            raise ScalingError(f"{self.name} has {len(self.stops)} stops: a slider needs at least {MIN_STOPS}")

    @property
    def live_stops(self):
        """Stops where a kernel computes: whole numbers between the static ones as well."""
        if self.labels:
            return self.stops
        between = np.geomspace(self.stops[:-1], self.stops[1:], BETWEEN, endpoint=False)
        return tuple(sorted({*self.stops, *np.rint(between).astype(int).ravel().tolist()}))

    def says(self, value):
        """The value as a sentence would name it."""
        return self.labels[self.stops.index(value)] if self.labels else value

    def legal(self, value):
        """The value, if this control can take it: any of a choice, any number between a slider's ends."""
        if self.labels:
            if not isinstance(value, str) or value not in self.stops:
                raise ScalingError(f"{self.name} got {value!r}: possible are {_listed(self.stops)}")
            return value
        low, high = self.stops[0], self.stops[-1]
        number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        if not number or not low <= value <= high:
            raise ScalingError(f"{self.name} got {value!r}: possible are numbers from {low:,} to {high:,}")
        return value


@dataclass(frozen=True)
class Table:
    """A quantity of the library over the few controls, or earlier tables of plain numbers, that it depends on.

    `of` takes those by name: choices as text, sliders and tables as numbers or arrays that broadcast. It gives text
    or numbers; None or NaN means that there is nothing, inf that there is no bound. With `log10` the table holds
    logarithms, so that sums of tables are products of quantities.
    """

    name: str
    over: tuple[str, ...]
    of: Callable
    log10: bool = False

    def at(self, known):
        """The table's entry where controls and earlier tables have these values, on the stops or between them."""
        return self._scaled(self.of(**{name: known[name] for name in self.over})).item()

    def grid(self, stops):
        """The table's entries over {name: stops}, as an array with one axis for each name it stands over."""
        axes = {name: stops[name] for name in self.over}
        chosen = {name: values for name, values in axes.items() if isinstance(values[0], str)}
        moved = [name for name in axes if name not in chosen]
        sizes = dict(zip(moved, np.ix_(*(np.asarray(axes[name], float) for name in moved)), strict=True))
        entries = np.empty([len(values) for values in axes.values()], dtype=object)
        for picks in np.ndindex(*map(len, chosen.values())):
            pick = dict(zip(chosen, picks, strict=True))
            picked = {name: axes[name][i] for name, i in pick.items()}
            found = self._scaled(self.of(**picked, **sizes))
            entries[tuple(pick.get(name, slice(None)) for name in axes)] = found if found.ndim else found.item()
        return entries

    def _scaled(self, value):
        value = np.asarray(value)
        if value.dtype.kind in "OU":  # text, or nothing
            return value.astype(object)
        return np.log10(value.astype(float)) if self.log10 else value.astype(float)


@dataclass(frozen=True)
class Readout:
    """A value made of tables and earlier readouts, in one way that the page knows too.

    `how` is "add" (a minus before a name subtracts it), "stack" (the sum of the quantities, log10 or not), "greatest",
    "least", or "which": the name of the greatest, or what it `gives` (text, or a number that is log10 where they are).
    """

    name: str
    how: str
    of: tuple[str, ...]
    gives: tuple[str, ...] = ()

    @property
    def terms(self):
        """The names without their signs."""
        return tuple(name.lstrip("-") for name in self.of)

    def at(self, raw, log10):
        """The value, given those before it."""
        terms = [raw[name] for name in self.terms]
        if any(term is None or math.isnan(term) for term in terms):
            return None
        if self.how == "add":
            return math.fsum(-t if n[0] == "-" else t for t, n in zip(terms, self.of, strict=True))
        if self.how == "least":
            return min(terms)
        greatest = max(terms)
        if self.how == "greatest":
            return greatest
        if self.how == "stack":
            return _stacked(terms, greatest) if log10 else math.fsum(terms)
        near = TIE if log10 else TIE * abs(greatest)
        first = next(i for i, term in enumerate(terms) if term >= greatest - near)
        return raw[self.gives[first]] if self.gives else self.of[first]


@dataclass(frozen=True)
class Say:
    """A sentence, and when it holds: {name: "none" | "never" | "some" or a text}. The first that holds is said."""

    text: str
    when: Mapping[str, str] = field(default_factory=dict)

    def holds(self, values):
        return all(kind_of(values[name]) == kind for name, kind in self.when.items())


def kind_of(value):
    """Of what kind a value is, for `Say`.

    >>> [kind_of(v) for v in ("memory", None, float("inf"), 3.5)]
    ['memory', 'none', 'never', 'some']
    """
    if isinstance(value, str):
        return value
    return "none" if value is None else "never" if math.isinf(value) else "some"


@dataclass(frozen=True)
class Explorer:
    """Everything that Python, the static page and a live kernel need to show one explorer.

    Args:
      name: as in the page's ids.
      title: the message, as a sentence.
      controls, tables, readouts, says: see their classes.
      rows: (label, template) pairs of the data table.
      chart: a Vega specification whose data sets are empty.
      drawn: {data set: rows}, a row being {field: name of a value, or a template with places}; a row that
        needs a value which does not exist is not drawn.
      still: function of `drawn_at(...)` and the title that gives the fallback picture as SVG text.
    """

    name: str
    title: str
    controls: tuple[Control, ...]
    tables: tuple[Table, ...]
    readouts: tuple[Readout, ...]
    says: tuple[Say, ...]
    rows: tuple[tuple[str, str], ...]
    chart: Mapping
    drawn: Mapping[str, tuple[Mapping[str, str], ...]]
    still: Callable

    def __post_init__(self):
        possible = [control.name for control in self.controls]
        for table in self.tables:
            if not set(table.over) <= set(possible):
                raise ScalingError(
                    f"table {table.name} got over {_listed(table.over)}: possible are {_listed(possible)}"
                )
            possible += [] if table.log10 else [table.name]
        known = {*self.logs, *(control.name for control in self.controls)}
        for name in self._named():
            if name not in known:
                raise ScalingError(f"explorer {self.name} names {name!r}: possible are {_listed(sorted(known))}")

    @cached_property
    def logs(self):
        """{name: whether it is held as log10} of the tables and readouts."""
        logs = {table.name: table.log10 for table in self.tables}
        for readout in self.readouts:
            terms = readout.terms
            if not {*terms, *readout.gives} <= set(logs) or len({logs[name] for name in terms}) > 1:
                possible = f"{_listed(logs)}, all of them log10 or none"
                raise ScalingError(f"readout {readout.name} got {_listed(terms)}: possible are {possible}")
            logs[readout.name] = logs[terms[0]]
        return logs

    @cached_property
    def control(self):
        """The controls by name."""
        return {control.name: control for control in self.controls}

    @cached_property
    def stops(self):
        """{name: stops} of all that a table stands over: controls, and the values that an earlier table can have."""
        stops = {control.name: control.stops for control in self.controls}
        for table in self.tables:
            if any(table.name in other.over for other in self.tables):
                stops[table.name] = tuple(sorted(set(table.grid(stops).flat)))
        return stops

    @property
    def default_state(self):
        return {control.name: control.default for control in self.controls}

    def state(self, state=None):
        """A whole, legal state: what is given, and defaults for the rest.

        Raises:
          ScalingError: an unknown control, or a value that its control cannot take.
        """
        unknown = set(state or {}) - set(self.control)
        if unknown:
            raise ScalingError(f"control {_listed(sorted(unknown))} is unknown: known are {_listed(self.control)}")
        whole = {**self.default_state, **(state or {})}
        return {name: self.control[name].legal(value) for name, value in whole.items()}

    def at(self, state=None):
        """Every value at a state, computed by the library: controls as said, tables and readouts in SI units."""
        state = self.state(state)
        raw = {}
        for table in self.tables:
            raw[table.name] = table.at(state | raw)
        for readout in self.readouts:
            raw[readout.name] = readout.at(raw, self.logs[readout.name])
        shown = {control.name: control.says(state[control.name]) for control in self.controls}
        return shown | {name: _shown(value, self.logs[name]) for name, value in raw.items()}

    def describe(self, state=None):
        """One sentence with the numbers and the verdict, as the page announces it."""
        return self.say(self.at(state))

    def say(self, values):
        """The first sentence that holds for values of `at`."""
        return next(fill(say.text, values) for say in self.says if say.holds(values))

    def drawn_at(self, state=None):
        """{data set: rows} as the chart draws them."""
        values = self.at(state)
        return {
            name: [
                {key: fill(made, values) if "{" in made else values[made] for key, made in row.items()}
                for row in rows
                if all(values[needed] is not None for needed in _needs(row))
            ]
            for name, rows in self.drawn.items()
        }

    def table_at(self, state=None):
        """(label, text) pairs of the data table."""
        values = self.at(state)
        return [(label, fill(template, values)) for label, template in self.rows]

    def _named(self):
        for rows in self.drawn.values():
            for row in rows:
                yield from _needs(row)
        for template in [say.text for say in self.says] + [template for _, template in self.rows]:
            yield from names_in(template)
        for say in self.says:
            yield from say.when


def _stacked(logs, greatest):
    """log10 of a sum, from the log10 of its terms."""
    return greatest + math.log10(math.fsum(10 ** (t - greatest) for t in logs)) if math.isfinite(greatest) else greatest


def _is_text(value):
    return value is None or isinstance(value, str)


def _needs(row):
    for made in row.values():
        yield from names_in(made) if "{" in made else (made,)


def _shown(value, log10):
    if _is_text(value):
        return value
    if math.isnan(value):
        return None
    return 10.0**value if log10 else value


def _listed(names):
    return ", ".join(str(name) for name in names)
