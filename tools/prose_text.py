"""Finds the checks of a text, refuses what could mislead, and lists the numbers that have none.

A check is an HTML comment behind a number, on the same line: `240 <!-- = EXPRESSION -->`. A premise: `<!-- given -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tools.prose_numbers import PREFIXED, NumberFault, Printed, is_tail, number_before, numbers_in, unit_factor

INLINE = re.compile(r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))|(?P<comment><!--(?P<body>.*?)-->)")
CHECK = re.compile(r"\s*(?:=(?!=)\s*(?P<expr>\S.*?)|(?P<given>given))\s*")
FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,}|:{3,})\s*(?P<directive>\{[^}]*\})?")
# Directives whose body is no prose. Others (notes, admonitions, figures) hold text.
NO_PROSE = ("{code-cell}", "{code-block}", "{code}", "{math}", "{eval-rst}", "{raw}", "{mermaid}", "{bibliography}")
HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
BREAK = re.compile(
    r"\s*(?:[-*+]\s|\d+[.)]\s|\||#{1,6}\s|`{3,}|~{3,}|:{3,})"
)  # a list item, a table row, a heading, a fence
LINE_START = re.compile(r"[\s>]*(?:[-*+]\s|\d+[.)]\s|\[\^[^\]]*\]:)?[\s>]*")
# Parts of a line that state nothing: formulas, roles, link targets, tags, footnote marks, addresses.
SILENT = re.compile(
    r"\{[\w:-]+\}`[^`]*`|\$\$.*?\$\$|(?<![\\\w])\$[^$]+\$|\]\([^)]*\)|<[^>]*>|\[\^[^\]]*\]|https?://\S+|^\(.*\)=$|^\s*:[\w-]+:.*$"
)
NAMES = re.compile(
    r"(?:\b(?:chapters?|ch\.|sections?|figures?|fig\.|tables?|parts?|appendix|equations?|eq\.|questions?|exercises?"
    r"|steps?|levels?|pages?|versions?|editions?|issues?|stages?|phases?|notes?|boxes|box|cases?|cells?|book|v|by"
    r"|llama|gemma|gpt|palm|mixtral|deepseek|python|jax|numpy|tpu|zero|pcie|nvlink|gen|cuda|apache|colab|debian)"
    r"|[§#№])[ \u00a0]?$",
    re.IGNORECASE,
)
SHAPE = re.compile(r"[\d,]*\d(?:\s?[×x]\s?(?!10[\^⁰¹²³⁴⁵⁶⁷⁸⁹⁻])[\d,]*\d)+|\d+:\d\d")
ATTACHED = re.compile(r"[A-Za-z][\w-]*")  # 3D, 70B: a name, unless it is a unit


class ProseFault(ValueError):
    """A check that prose.py refuses; the message starts with file and line."""


@dataclass(frozen=True)
class Line:
    """A line of prose: number, text, how many code cells stand above it, and what kind of line it is."""

    number: int
    text: str
    after: int
    kind: str = "prose"  # or heading, table, math, title


@dataclass(frozen=True)
class Check:
    """A check, where it stands, and the text between it and the check before it.

    Args:
      expr: what yields the value; empty for a premise.
      start: where the stretch of text begins in the line; `end` is where the comment starts.
      after: how many code cells stand above.
    """

    name: str
    line: int
    text: str
    start: int
    end: int
    expr: str
    after: int

    @property
    def where(self) -> str:
        """file:line."""
        return f"{self.name}:{self.line}"

    @property
    def stretch(self) -> str:
        """The text that ends with what is checked."""
        return self.text[self.start : self.end]

    @cached_property
    def printed(self) -> Printed | None:
        """The number that the check is about, its place counted from the start of the line; None if there is none."""
        try:
            found = number_before(self.stretch)
        except NumberFault:
            return None
        return replace(found, start=found.start + self.start, end=found.end + self.start)


def prose_lines(text: str) -> list[Line]:
    """The lines of a text that a reader reads as prose, headings and tables included."""
    lines = text.splitlines()
    found = [line for line in _outside_blocks(lines) if line.text.strip()]
    tables = _table_lines(lines)
    return [Line(n.number, n.text, n.after, _kind(n, lines, tables)) for n in found]


def checks(text: str, name: str) -> list[Check]:
    """The checks of a text, in order.

    >>> [c.expr for c in checks("It does 240 <!-- = 2 * 120 --> of 8 <!-- given -->.", "t.md")]
    ['2 * 120', '']

    Raises:
      ProseFault: one stands where it must not, or reads as it must not.
    """
    found = []
    for line in prose_lines(text):
        start = 0
        for comment in _comments(line.text):
            match = CHECK.fullmatch(comment["body"])
            if match:
                check = Check(name, line.number, line.text, start, comment.start(), match["expr"] or "", line.after)
                _refuse(check, line, comment)
                found.append(check)
            elif re.match(r"\s*(=|given)", comment["body"]):
                raise ProseFault(
                    f"{name}:{line.number}: {comment[0]} must read <!-- = EXPRESSION --> or <!-- given -->"
                )
            start = comment.end()
        _refuse_open(name, line)
    return found


def unchecked(text: str, name: str) -> list[tuple[int, str]]:
    """The numbers that state a result and have no check, as (line, number with its unit).

    >>> unchecked("In 2024 chapter 3 saw 240 tokens and `8`, 12 % <!-- given --> of them.", "t.md")
    [(1, '240 tokens')]
    """
    checked = [(c.line, c.printed.start) for c in checks(text, name) if c.printed]
    found = []
    for line in prose_lines(text):
        masked = _masked(line.text)
        for match, end in numbers_in(masked) if line.kind in ("prose", "table") else ():
            known = any(at == line.number and match.start() <= start < end for at, start in checked)
            if not known and _states_result(masked, match, end):
                unit = re.match(r"\s?[^\s.,;:)|]*", masked[end:])[0]
                found.append((line.number, masked[match.start() : end] + unit.rstrip()))
    return found


def sentence_at(text: str, line: int, column: int) -> str:
    """The sentence around a place of a text, without its checks."""
    return next(s for s, start, end in _sentences(text, line) if start <= column < end)


def paragraph(text: str, line: int) -> list[str]:
    """The sentences of the paragraph that holds a line, without checks."""
    return [s for s, _, _ in _sentences(text, line)]


def _sentences(text: str, line: int) -> Iterator[tuple[str, float, float]]:
    """Sentences of a paragraph, list item or table row, with the columns they cover, counted from `line`'s start."""
    lines = text.splitlines()
    first, last = line - 1, line
    while (
        first > 0
        and not BREAK.match(lines[first])
        and not (FENCE.match(lines[first - 1]) or not lines[first - 1].strip())
    ):
        first -= 1
    while last < len(lines) and lines[last].strip() and not BREAK.match(lines[last]):
        last += 1
    whole = " ".join(lines[first:last])
    origin = sum(len(text) + 1 for text in lines[first : line - 1])
    blank = INLINE.sub(lambda m: "\0" * len(m[0]) if m["comment"] else m[0], whole)
    start = 0
    for match in re.finditer(r"(?<=[.!?])[\0*_)\"”]*\s+(?=[^a-z])|$", blank):
        sentence = " ".join(re.sub(r"\s*\0+", "", blank[start : match.start()]).split())
        if sentence:
            yield sentence, start - origin, match.end() - origin
        start = match.end()


def _outside_blocks(lines: list[str]) -> Iterator[Line]:
    """Lines outside front matter, code and formulas; inside notes and other directives that hold text they count."""
    after, stack, math, comment, options = 0, [], "", False, False
    front = bool(lines) and lines[0] == "---"
    for number, text in enumerate(lines, 1):
        if front:
            front = number == 1 or text != "---"
            continue
        fence = FENCE.match(text)
        if stack and fence and fence["mark"].startswith(stack[-1][0]) and text.strip() == fence["mark"]:
            stack.pop()
        elif stack and not stack[-1][1]:
            continue
        elif fence and not math:
            directive = fence["directive"] or ""
            after += directive == "{code-cell}"
            stack.append((fence["mark"], bool(directive) and directive not in NO_PROSE))
            options = True
            if stack[-1][1]:
                yield Line(number, text, after, "title")
        elif comment or (text.lstrip().startswith("<!--") and "-->" not in text):
            comment = "-->" not in text
        elif options and re.match(r"\s*:[\w-]+:", text):
            continue
        else:
            options = False
            opened = math
            math = _math_after(text, math)
            yield Line(number, text, after, "math" if opened or math or text.lstrip().startswith("$$") else "prose")


def _math_after(text: str, math: str) -> str:
    """What ends the formula that is open after this line; empty if none is."""
    if math:
        return "" if math in text else math
    if text.count("$$") % 2:
        return "$$"
    begin = re.match(r"\s*\\begin\{([\w*]+)\}", text)
    return rf"\end{{{begin[1]}}}" if begin and rf"\end{{{begin[1]}}}" not in text else ""


def _kind(line: Line, lines: list[str], tables: set[int]) -> str:
    below = lines[line.number] if line.number < len(lines) else ""
    if line.kind != "prose":
        return line.kind
    if HEADING.match(line.text) or (UNDERLINE.match(below) and line.number + 1 not in tables):
        return "heading"
    return "table" if line.number in tables else "prose"


def _table_lines(lines: list[str]) -> set[int]:
    """The numbers of the lines of tables: blocks whose second line is a rule with a bar."""
    found, block = set(), []
    for number, text in enumerate([*lines, ""], 1):
        if text.strip():
            block.append(number)
            continue
        if any("|" in lines[n - 1] and TABLE_RULE.match(lines[n - 1]) for n in block):
            found.update(block)
        block = []
    return found


def _comments(text: str) -> list[re.Match]:
    return [m for m in INLINE.finditer(text) if m["comment"]]


def _refuse(check: Check, line: Line, comment: re.Match) -> None:
    kinds = {"heading": "a heading", "title": "a directive's title", "math": "a formula's block"}
    before = LINE_START.sub("", check.text[: check.end], count=1)
    says = {
        f"stands in {kinds.get(line.kind)}": line.kind in kinds,
        "starts a line; put it behind its number": not before.strip(),
        "holds --, which ends an HTML comment": "--" in comment["body"],
        "holds | inside a table": line.kind == "table" and "|" in comment["body"],
    }
    if bad := [text for text, wrong in says.items() if wrong]:
        raise ProseFault(f"{check.where}: the check {comment[0]} {bad[0]}")


def _refuse_open(name: str, line: Line) -> None:
    rest = INLINE.sub("", line.text)
    if re.search(r"<!--\s*(=|given)", rest):
        raise ProseFault(f"{name}:{line.number}: the check is not closed on its line")


def _masked(text: str) -> str:
    """The line with all that states nothing blanked out, column for column."""
    text = INLINE.sub(lambda m: " " * len(m[0]), text)
    text = SILENT.sub(lambda m: " " * len(m[0]), text)
    return re.sub(r"^(\s*)\d+[.)](?=\s)", lambda m: " " * len(m[0]), text)


def _states_result(text: str, match: re.Match, end: int) -> bool:
    before, after = text[: match.start()], text[end:]
    shapes = [m.span() for m in SHAPE.finditer(text)]
    if NAMES.search(before) or any(a <= match.start() < b for a, b in shapes):
        return False
    if re.fullmatch(r"(19|20)\d\d", match[0]) and unit_factor(after) == 1:
        return False
    attached = ATTACHED.match(after)
    return not attached or unit_factor(after) != 1 or (attached[0] in PREFIXED and attached[0] != "B")


def is_word_check(check: Check, value: str) -> bool:
    """Whether the text before the check ends with this word or phrase.

    >>> is_word_check(checks("It is bound by memory <!-- = bound -->.", "t.md")[0], "memory")
    True
    """
    bare = re.sub(r"[\s*_`)\"”]+$", "", check.stretch).lower()
    return bare.endswith(value.lower()) and is_tail(check.stretch[len(bare) :])
