"""Holds a text against its chapter's exercises: every key has a prompt, an answer cell, a check cell and a spec."""

import ast
import re

from tools.cells import Cell, TextFault, parse

ROLES = ("prompt", "answer", "check")


def chapter_of(stem: str) -> str:
    """The chapter of a stem.

    >>> chapter_of("ch01_rooflines"), chapter_of("app_a_gpus")
    ('ch01', 'app_a')
    """
    match = re.match(r"(app_[a-z]|ch\d\d)_\w", stem)
    if not match:
        raise TextFault(f"{stem}.md: the name must read chNN_topic.md or app_x_topic.md")
    return match[1]


def target(key: str) -> str:
    """The target that a prompt starts with.

    >>> target("ch01.q1")
    '(ch01-q1)='
    """
    return f"({key.replace('.', '-')})="


def with_prompts(cells: list[Cell], keys: set[str]) -> list[Cell]:
    """The cells, those that hold a question's target tagged as its prompt."""
    by_target = {target(key): key for key in keys}
    found = []
    for cell in cells:
        lines = cell.source.splitlines() if cell.kind == "markdown" else []
        key = next((by_target[line.strip()] for line in lines if line.strip() in by_target), "")
        tags = (*cell.tags, "prompt", key) if key else cell.tags
        found.append(
            Cell(
                cell.kind, cell.source, tags, cell.line, {**cell.metadata, "tags": list(tags)} if key else cell.metadata
            )
        )
    return found


def match_exercises(name: str, cells: list[Cell], specs: dict[str, object]) -> None:
    """Refuses a question without spec, a spec without question, and a question that is not whole.

    Args:
      name: the text's path, for the messages.
      specs: key -> spec, guesses left out.
    """
    order: dict[str, list[str]] = {}
    for cell in cells:
        if role := next((r for r in ROLES if r in cell.tags), ""):
            if not cell.key:
                raise TextFault(
                    f"{name}:{cell.line}: the cell is tagged {role!r} but no exercise key such as 'ch01.q1'"
                )
            order.setdefault(cell.key, []).append(role)
            _refuse_bad_cell(name, cell, role)
    _compare_keys(name, set(order), set(specs), "exercises")
    for key, roles in order.items():
        if roles != list(ROLES):
            what = ", ".join(roles)
            raise TextFault(f"{name}: {key} has {what}; a question is a prompt below {target(key)}, an answer, a check")


def match_guesses(name: str, cells: list[Cell], specs: dict[str, object]) -> None:
    """Refuses a guess box without spec and a spec without guess box."""
    keys = [cell.key for cell in cells if "guess" in cell.tags]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise TextFault(f"{name}: guess boxes with one key: {', '.join(sorted(twice))}")
    _compare_keys(name, set(keys), set(specs), "exercises (guesses)")


def unmarked_checks(cell: Cell) -> list[str]:
    """A call of check() in a cell that is not tagged would be neither stored nor compared."""
    if cell.kind != "code" or "check" in cell.tags or "guess" in cell.tags:
        return []
    calls = [n for n in ast.walk(parse(cell.source)) if isinstance(n, ast.Call)]
    named = any(isinstance(n.func, ast.Name) and n.func.id == "check" for n in calls)
    return ["the cell calls check() but is not tagged check or guess"] if named else []


def _refuse_bad_cell(name: str, cell: Cell, role: str) -> None:
    if role == "check" and not re.fullmatch(
        rf"check\(\s*[\"']{re.escape(cell.key)}[\"']\s*,.+\)", cell.source.strip(), re.DOTALL
    ):
        raise TextFault(f"{name}:{cell.line}: the check cell of {cell.key} must read check({cell.key!r}, …)")
    markers = [line.strip() for line in cell.source.splitlines() if "SOLUTION" in line]
    if role == "answer" and markers != ["### BEGIN SOLUTION", "### END SOLUTION"]:
        raise TextFault(f"{name}:{cell.line}: {cell.key} needs one ### BEGIN SOLUTION and one ### END SOLUTION")


def _compare_keys(name: str, written: set[str], known: set[str], where: str) -> None:
    if strangers := written - known:
        raise TextFault(f"{name}: no spec in scaling_lib.{where} for {', '.join(sorted(strangers))}")
    if missing := known - written:
        raise TextFault(f"{name}: specs without a cell in the text: {', '.join(sorted(missing))}")
