"""What an exercise is: one spec serves the notebook, the page, the solutions and the grader."""

from __future__ import annotations

import html
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import Any

from scaling_lib.exercises.factors import unit_factors
from scaling_lib.exercises.marking import Sealable
from scaling_lib.units import ScalingError

KINDS = ("number", "choice", "sharding", "code")
STATUSES = ("pass", "fail", "todo")
_EXACT = 1e-4
_KEY = re.compile(r"(ch[0-9]{2}|app_[a-z])\.[qg][0-9]+[a-z]?")


class SpecFault(ScalingError):
    """An exercise's own spec is wrong: its author must mend it."""


@dataclass(frozen=True)
class Mistake(metaclass=Sealable):
    """A wrong answer worth naming, and what to say about it.

    Args:
      value: the wrong answer itself, or a function of the exercise's inputs that gives it. A function with a
        parameter `answer` is a predicate instead. For a code question: a wrong implementation.
      says: names the mistake and the way out, without giving the answer away.
      example: for a predicate only: an answer that it catches, or a function of the inputs that gives one.
    """

    value: Any
    says: str
    example: Any = None

    @property
    def is_predicate(self) -> bool:
        """True if `value` judges an answer instead of giving the wrong one."""
        return callable(self.value) and "answer" in inspect.signature(self.value).parameters


@dataclass(frozen=True, kw_only=True)
class Exercise(metaclass=Sealable):
    """One question with its right answer, its known wrong ones and its help.

    Args:
      key: chapter and question, `ch03.q2`; guess boxes are `ch03.g1`.
      title: short, without a full stop.
      kind: number, choice, sharding or code.
      expected: the right answer, or a function of the inputs that gives it, from a formula or a literal of its own:
        never the library call that the solution uses. For a code question: a slow independent implementation.
      mistakes: at least two, each with its own message.
      source: where the numbers and the expected value come from.
      teaches: anchor of the section that explains it.
      hints: three stages: the idea, the set-up, the first line.
      unit: of a number; the answer may come in any unit of the same kind.
      points: marks; 0 for a guess.
      inputs: the default values that the printed book shows. For a code question: unused, see `cases`.
      draw: function of a `Draws` giving other inputs, so that every student can have their own. For a code question
        it draws the arguments of one call.
      rtol: relative tolerance; wide enough for an answer of three digits, narrower than the way to any mistake. Less
        than 10⁻⁴ for a count, a whole number that is asked for exactly.
      whole: for a count such as a batch: the whole numbers next to the right answer pass as well, whatever rtol is.
      choices: what a choice offers, in order; a learner may answer with the text or with its letter.
      accepts: further spellings of a sharding that mean the same.
      function: name of the function that a code question asks for.
      stub: its first lines, as the learner finds them; the last one is `return ...`.
      cases: argument sets (keywords) that a code question always tries, before the drawn ones.
      page: number or choice version of a code question, for the static page; its inputs are the arguments of one call.
      solution: the worked answer in a line or two; text, or a function of the inputs.
      level: 1 to 3.
      minutes: how long it takes.
    """

    key: str
    title: str
    kind: str
    expected: Any
    mistakes: tuple[Mistake, ...]
    source: str
    teaches: str
    hints: tuple[str, ...] = ()
    unit: str = ""
    points: int = 1
    inputs: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[..., Mapping[str, Any]] | None = None
    rtol: float = 0.01
    whole: bool = False
    choices: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    function: str = ""
    stub: str = ""
    cases: tuple[Mapping[str, Any], ...] = ()
    page: Exercise | None = None
    solution: str | Callable[..., str] = ""
    level: int = 1
    minutes: int = 5

    def __post_init__(self) -> None:
        # Frozen all the way down: a learner's code runs in the same process.
        object.__setattr__(self, "inputs", MappingProxyType(dict(self.inputs)))
        object.__setattr__(self, "cases", tuple(MappingProxyType(dict(case)) for case in self.cases))
        for wrong, says in _shape_faults(self):
            if wrong:
                raise SpecFault(f"exercise {self.key!r}: {says}")

    @property
    def chapter(self) -> str:
        """The chapter's part of the key, `ch03`."""
        return self.key.rsplit(".", 1)[0]

    @property
    def is_guess(self) -> bool:
        """True for a guess box, which carries no points."""
        return self.key.rsplit(".", 1)[1].startswith("g")

    @property
    def is_count(self) -> bool:
        """True where a whole number is asked for to the last digit; elsewhere three digits are enough."""
        return self.rtol < _EXACT

    def expected_for(self, values: Mapping[str, Any]) -> Any:
        """The right answer for these inputs (a code question's spec is not called)."""
        return of_inputs(self.expected, values) if self.kind != "code" else self.expected

    def solution_for(self, values: Mapping[str, Any]) -> str:
        """The worked answer for these inputs."""
        return of_inputs(self.solution, values)


def of_inputs(value: Any, values: Mapping[str, Any]) -> Any:
    """A literal as it is, a function of the inputs called with those it names."""
    if not callable(value):
        return value
    return value(**{name: values[name] for name in inspect.signature(value).parameters})


def _shape_faults(e: Exercise):
    """Faults that show without working anything out, each with a sentence that says what is possible."""
    yield not _KEY.fullmatch(e.key), "a key reads ch03.q2, or ch03.g1 for a guess"
    yield e.kind not in KINDS, f"kind is {e.kind!r}, possible are {', '.join(KINDS)}"
    yield not (e.title and e.source and e.teaches), "title, source and teaches must say something"
    yield not 0 < e.rtol < 0.2, f"rtol is {e.rtol!r}, must lie between 0 and 0.2"
    yield e.level not in (1, 2, 3), f"level is {e.level!r}, possible are 1, 2, 3"
    yield not e.minutes > 0, f"minutes is {e.minutes!r}, must be positive"
    yield e.is_guess != (e.points == 0), f"points is {e.points!r}: a guess has 0, a question more"
    yield len(e.mistakes) < 2, f"{len(e.mistakes)} mistakes planted, at least two are needed"
    yield len({m.says for m in e.mistakes}) < len(e.mistakes), "two mistakes say the same"
    yield any(m.is_predicate and m.example is None for m in e.mistakes), "a predicate mistake needs an example"
    yield not e.is_guess and len(e.hints) != 3, f"{len(e.hints)} hints, three are needed"
    yield e.kind == "number" and not unit_factors(e.unit), f"unit {e.unit!r} is unknown"
    yield (e.kind == "choice") != bool(e.choices), "choices belong to a choice, and a choice needs them"
    yield e.kind == "code" and not (e.function and e.stub and e.cases), "a code question needs function, stub and cases"
    unstarted = e.kind == "code" and not e.stub.endswith("\n    return ...")
    yield unstarted, f"stub is {e.stub!r}, must end with a line 'return ...', for the learner to replace the dots"
    yield e.kind == "code" and e.page is None, "a code question needs a page version"
    yield e.page is not None and e.page.kind not in ("number", "choice"), "the page version is a number or a choice"


@dataclass(frozen=True, slots=True)
class Verdict(metaclass=Sealable):
    """What `check` says about one answer.

    Args:
      key: the exercise.
      status: pass, fail or todo.
      message: one plain sentence.
      hint: what went wrong, when the mistake is known; otherwise empty.
    """

    key: str
    status: str
    message: str
    hint: str = ""

    @property
    def passed(self) -> bool:
        """True only for a right answer."""
        return self.status == "pass"

    def __repr__(self) -> str:
        says = " ".join(part for part in (self.message, self.hint) if part)
        return f"[{self.status}] {self.key}: {says}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        mark = {"pass": "✓", "fail": "✗", "todo": "…"}[self.status]
        hint = f" <em>{html.escape(self.hint)}</em>" if self.hint else ""
        return (
            f'<div class="sl-verdict sl-{self.status}"><strong>{mark} {self.status}</strong> '
            f"<code>{html.escape(self.key)}</code>: {html.escape(self.message)}{hint}</div>"
        )

    def _ipython_display_(self) -> None:
        # Shown, not returned by the cell: nbgrader tries to read a check's result as a number of points, and warns.
        from IPython.display import display

        display({"text/plain": repr(self), "text/html": self._repr_html_()}, raw=True)


def pointer(e: Exercise) -> str:
    """Where to find help with a wrong answer that nothing explains."""
    help_ = f'hint("{e.key}") gives a hint' if e.hints else "read the worked example above once more"
    return f"No known mistake gives this; {help_}."


def close(a: float, b: float, rtol: float) -> bool:
    """True if a is b within rtol of b; a value that is not finite is close to nothing."""
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= rtol * abs(b)


def next_whole(a: float, b: float) -> bool:
    """True if a is the whole number just below or above b, or b itself.

    >>> [next_whole(a, 249.66) for a in (249, 250, 251, 249.5)]
    [True, True, False, False]
    """
    return math.isfinite(a) and math.isfinite(b) and a == math.floor(a) and abs(a - b) < 1


def shown(value: Any) -> str:
    """A value in a few characters, whatever its own repr does.

    >>> shown(4.5e10), shown(1e-6), shown("ZX")
    ('4.5e10', '1e-6', "'ZX'")
    """
    try:
        if isinstance(value, float) and type(value) is float:
            return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.6g}")
        text = repr(value)
    except BaseException:
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def named_values(e: Exercise, values: Mapping[str, Any]) -> list[tuple[str, float]]:
    """A number question's right answer and planted wrong ones for these inputs, each with what it is."""
    named = [("the right answer", float(e.expected_for(values)))]
    return named + [(f"{m.says!r}", float(of_inputs(m.value, values))) for m in e.mistakes if not m.is_predicate]


def too_near(e: Exercise, values: Mapping[str, Any]) -> Iterator[str]:
    """Pairs of answers to a number question that its tolerance cannot tell apart with these inputs."""
    named = named_values(e, values)
    for (one, a), (other, b) in combinations(named, 2):
        if _are_near(e, a, b, is_right=one == named[0][0]):
            yield f"{one} ({a:.6g}) and {other} ({b:.6g}) are too near for rtol {e.rtol} with {dict(values)}"


def fits_the_books_answer(e: Exercise, values: Mapping[str, Any]) -> bool:
    """Whether with these inputs what is right for the book's could be right too, or a planted mistake."""
    books = float(e.expected_for(e.inputs))
    return _are_near(e, float(e.expected_for(values)), books, is_right=True) or any(
        is_mistake(m, books, values, 2 * e.rtol) for m in e.mistakes
    )


def is_mistake(mistake: Mistake, value: float, values: Mapping[str, Any], rtol: float) -> bool:
    """Whether a number is what this mistake gives, or what it tells."""
    if mistake.is_predicate:
        return bool(of_inputs(mistake.value, {**values, "answer": value}))
    return close(value, float(of_inputs(mistake.value, values)), rtol)


def _are_near(e: Exercise, a: float, b: float, *, is_right: bool) -> bool:
    """Whether two answers cannot be told apart; the next whole number to the right one, `a`, may count as right."""
    rounded = 1 + e.rtol * abs(b) if e.whole and is_right else 0.0
    return abs(a - b) <= max(e.rtol * (abs(a) + abs(b)), rounded)
