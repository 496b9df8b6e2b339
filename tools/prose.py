"""Holds the numbers of the prose against the code that yields them.

python tools/prose.py --check     every checked number; fails if one is wrong
python tools/prose.py --update    rewrites wrong digits at their printed precision, and lists what to reread
python tools/prose.py --list      the numbers that state a result and have no check, and the checked share
python tools/prose.py --plan      tells the kernels of the book's build which values to save
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):  # run as a script
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tools import notebooks, prose_run
from tools.address import ROOT
from tools.cells import TextFault
from tools.outputs import RunFault
from tools.prose_numbers import NumberFault
from tools.prose_run import Value
from tools.prose_text import Check, ProseFault, checks, is_word_check, paragraph, sentence_at, unchecked

# Words beside a changed number that may no longer hold.
CLAIMS = re.compile(
    r"\d|\b(half|twice|double|doubles|triple|thrice|third|quarter|tenth|hundredth|most|least|more|less|fewer|faster|slower"
    r"|larger|smaller|bigger|higher|lower|above|below|over|under|only|nearly|almost|never|always|same|equal|wins|loses|binds|bound"
    r"|limits?|dominates?|cheaper|dearer|first|last|best|worst|close|far|enough|too)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """A check that does not hold: what is wrong, and the digits that would be right (if digits can mend it)."""

    check: Check
    says: str
    digits: str = ""


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = options.add_mutually_exclusive_group(required=True)
    for mode in ("check", "update", "list", "plan"):
        modes.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode)
    try:
        return {"check": check, "update": update, "list": report, "plan": plan}[options.parse_args(arguments).mode](
            ROOT
        )
    except (ProseFault, TextFault, RunFault) as fault:
        print(f"prose: {fault}", file=sys.stderr)
        return 1


def plan(root: Path) -> int:
    prose_run.write_plan(root)
    return 0


def check(root: Path) -> int:
    """Prints every number that is not what its expression yields."""
    found, troubles = findings(root)
    lines = [*troubles, *(f"{f.check.where}: {f.says}" for f in found)]
    count = sum(len(present) for present in all_checks(root).values())
    print("\n".join(lines or [f"all {count} checks in the prose hold"]))
    return bool(lines)


def update(root: Path) -> int:
    """Rewrites digits, then prints the sentences to reread, then what only a person can mend."""
    found, troubles = findings(root)
    mended = [f for f in found if f.digits]
    for name in sorted({f.check.name for f in mended}):
        path = root / name
        before = path.read_text(encoding="utf-8")
        path.write_text(rewritten(before, [f for f in mended if f.check.name == name]), encoding="utf-8")
        print("\n".join(to_reread(name, path.read_text(encoding="utf-8"), mended)))
    print(f"{len(mended)} numbers rewritten")
    by_hand = [*troubles, *(f"{f.check.where}: {f.says}" for f in found if not f.digits), *remade(root)]
    if by_hand:
        print("\n".join(["To mend by hand:", *by_hand]))
    return bool(by_hand)


def remade(root: Path) -> list[str]:
    """Writes the notebooks anew, as many as can be made; returns what stands in the way of the others."""
    troubles = []
    for build in (notebooks.build_chapters, notebooks.build_exercises):
        try:
            notebooks.write(root, build(root), [])
        except (TextFault, RunFault) as fault:
            troubles.append(str(fault))
    return troubles


def report(root: Path) -> int:
    """Prints the unchecked numbers and, for each text, the share of results that are checked."""
    rows = []
    for name, found in all_checks(root).items():
        loose = unchecked((root / name).read_text(encoding="utf-8"), name) if is_book(name) or found else []
        for line, number in loose:
            print(f"{name}:{line}: {number}")
        rows.append((name, sum(bool(c.expr) for c in found), sum(not c.expr for c in found), len(loose)))
    total = ("all", *(sum(row[i] for row in rows) for i in (1, 2, 3)))
    print(f"{'checked':>8} {'given':>6} {'without':>8} {'share':>7}")
    for name, good, given, bare in [*(row for row in rows if any(row[1:])), total]:
        print(f"{good:8} {given:6} {bare:8} {share(good, bare):6.1%}  {name}")
    return 0


def share(checked: int, bare: int) -> float:
    """The share of results that are checked; premises are no results.

    >>> share(19, 1)
    0.95
    """
    return checked / (checked + bare) if checked + bare else 1.0


def is_book(name: str) -> bool:
    """Whether every result of this page ought to be checked."""
    return name.startswith("text/") or name == "intro.md"


def all_checks(root: Path = ROOT) -> dict[str, list[Check]]:
    """Every check: path of the text -> checks in order."""
    trees = [path for tree in ("chapters", "exercises") for path in notebooks.texts(root, tree)]
    names = [path.relative_to(root).as_posix() for path in [*trees, *prose_run.documents(root)]]
    return {name: checks((root / name).read_text(encoding="utf-8"), name) for name in names}


def findings(root: Path = ROOT) -> tuple[list[Finding], list[str]]:
    """What does not hold, and what else went wrong on the way."""
    found = []
    texts = all_checks(root)
    values, troubles = prose_run.values(root)
    for name in (name for name in texts if name in values):
        present, supplied = texts[name], iter(values[name])
        for check in present:
            if finding := judged(check, next(supplied) if check.expr else None):
                found.append(finding)
    return found, troubles


def judged(check: Check, value: Value | None) -> Finding | None:
    """Compares what is printed with what its expression yields; a premise needs a number, and nothing else.

    >>> check = checks("It does 240 tokens <!-- = x -->.", "t.md")[0]
    >>> judged(check, Value(240.2)) is None, judged(check, Value(264.2)).digits
    (True, '264')
    """
    no_number = f"no number ends {check.stretch.strip()[-40:]!r}"
    if value is None:
        return None if check.printed else Finding(check, no_number)
    if value.error:
        return Finding(check, f"{check.expr} raised {value.error}")
    if isinstance(value.value, bool):
        return None if value.value else Finding(check, f"{check.expr} no longer holds")
    if isinstance(value.value, str):
        right = is_word_check(check, value.value)
        return None if right else Finding(check, f"{check.expr} gives {value.value!r}, the text says otherwise")
    if not check.printed:
        return Finding(check, no_number)
    return _judged_number(check, value.value)


def _judged_number(check: Check, value: float) -> Finding | None:
    printed = check.printed
    if abs(value) == float("inf") or value != value:
        return Finding(check, f"{check.expr} gives {value}, which no digits can state")
    if printed.agrees(value):
        return None
    shown = check.text[printed.start : check.end].strip()
    try:
        digits = printed.reprinted(value) if value / printed.factor >= 0 else ""
    except NumberFault:
        digits = ""
    return Finding(check, f"prints {shown!r}, {check.expr} gives {value / printed.factor:.6g} of that unit", digits)


def rewritten(text: str, found: list[Finding]) -> str:
    """The text with the digits of each finding put right."""
    lines = text.split("\n")
    for finding in sorted(found, key=lambda f: -f.check.printed.start):
        at, line = finding.check.line - 1, lines[finding.check.line - 1]
        printed = finding.check.printed
        lines[at] = line[: printed.start] + finding.digits + line[printed.end :]
    return "\n".join(lines)


def to_reread(name: str, after: str, found: list[Finding]) -> list[str]:
    """The changed sentences, and beside each those of its paragraph whose words may no longer hold."""
    changes: dict[str, list[Finding]] = {}
    for finding in (f for f in found if f.check.name == name):
        changes.setdefault(sentence_at(after, finding.check.line, finding.check.printed.start), []).append(finding)
    told, lines = set(changes), []
    for sentence, group in changes.items():
        digits = ", ".join(f"{f.check.printed.text} -> {f.digits}" for f in group)
        lines.append(f"{group[0].check.where}: {digits} in: {sentence}")
        beside = [s for s in paragraph(after, group[0].check.line) if CLAIMS.search(s) and s not in told]
        told.update(beside)
        lines += [f"    beside it: {s}" for s in beside]
    return lines


if __name__ == "__main__":
    sys.exit(main())
