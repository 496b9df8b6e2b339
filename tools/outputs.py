"""Runs a notebook's code cells in process and keeps what its check cells show."""

import ast
import contextlib
import io
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

MIMES = ("text/plain", "text/html")
WORKERS = 2


@dataclass(frozen=True)
class CodeCell:
    """What running needs to know of a cell."""

    source: str
    checked: bool = False
    raises: bool = False
    where: str = ""


class RunFault(RuntimeError):
    """A cell that did not do what it must; the message starts with where it stands."""


def in_fresh_processes(function: Callable, items: list) -> list:
    """function(item) for each item, each in a process of its own, so that none sees what another left behind."""
    if not items:
        return []
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        return list(pool.map(function, items))


def run_cells(cells: Iterable[CodeCell]) -> list[dict[str, str] | None]:
    """Runs the cells in order, in one namespace.

    Returns:
      For each cell what it shows (mime type -> text) if it is a check cell, otherwise None.

    Raises:
      RunFault: a cell fails, or is meant to and does not, or a check cell shows nothing or prints as well.

    >>> run_cells([CodeCell("a = 240"), CodeCell("a + 1", checked=True)])
    [None, {'text/plain': '241'}]
    """
    os.environ.setdefault("MPLBACKEND", "agg")  # figures are drawn, and shown nowhere
    namespace: dict = {"__name__": "__main__"}
    return [_run_cell(cell, namespace) for cell in cells]


def _run_cell(cell: CodeCell, namespace: dict) -> dict[str, str] | None:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            value = _value_of_last_line(cell, namespace)
    except Exception as error:
        if cell.raises:
            return None
        raise RunFault(f"{cell.where}: the cell raised {type(error).__name__}: {error}") from error
    if cell.raises:
        raise RunFault(f"{cell.where}: the cell is tagged raises-exception and raised nothing")
    if not cell.checked:
        return None
    if printed.getvalue():
        # nbval would compare it, and nbgrader takes anything on stderr for a failure.
        raise RunFault(f"{cell.where}: a check cell prints {printed.getvalue()[:80]!r}; it must only show its verdict")
    if value is None:
        raise RunFault(f"{cell.where}: checked cell without output to store; its last line must be the verdict")
    return _shown(value)


def _value_of_last_line(cell: CodeCell, namespace: dict) -> object:
    tree = ast.parse(cell.source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell.where or "<cell>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), cell.where or "<cell>", "eval"), namespace) if last else None


def _shown(value: object) -> dict[str, str]:
    """What a kernel would show of a value, as text and as HTML."""
    from IPython.core.formatters import DisplayFormatter

    formatter = DisplayFormatter()
    formatter.ipython_display_formatter.enabled = False  # no kernel here that a value could show itself in
    data, _ = formatter.format(value)
    return {mime: data[mime] for mime in MIMES if mime in data}
