"""Reads a text of text/ into cells, and refuses what a notebook of this book must not hold."""

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property

KEY = re.compile(r"(?:ch\d\d|app_[a-z])\.[qg]\d+[a-z]?")
FENCE = re.compile(r"^(`{3,})\{code-cell\}")
LONGEST_FUNCTION = 12  # lines below `def`; longer ones belong in the library
WIDEST_LINE = 76  # characters that the page shows beside its sidebars
# nbval and nbmake each ignore some of these, so a cell that carries one would pass without being looked at.
SILENCERS = ("nbval-skip", "nbval-ignore-output", "skip-execution")
SILENCING_COMMENTS = re.compile(r"#\s*(NBVAL_SKIP|NBVAL_IGNORE_OUTPUT|PYTEST_VALIDATE_IGNORE_OUTPUT)\b")
NETWORK_MODULES = {"urllib3", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "huggingface_hub", "datasets"}
NETWORK_SUBMODULES = {"urllib.request", "http.client"}
NETWORK_SHELL = re.compile(r"^\s*[!%]\s*(pip|conda|uv|curl|wget|git|load)\b", re.MULTILINE)
NETWORK_STRING = re.compile(r"(https?|ftp|gs|s3|hf)://")


class TextFault(ValueError):
    """A text that no notebook can be made of; the message starts with file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a text: its kind, source, tags, and the line of the text where it starts (code cells)."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()
    line: int = 0
    metadata: dict = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """The exercise that the cell belongs to, or nothing."""
        return next((tag for tag in self.tags if KEY.fullmatch(tag)), "")


def read_cells(text: str, name: str) -> list[Cell]:
    """The cells of a MyST text, by jupytext.

    >>> [c.kind for c in read_cells("# Title\\n\\n```{code-cell} ipython3\\n1 + 1\\n```\\n", "t.md")]
    ['markdown', 'code']
    """
    import jupytext

    notebook = jupytext.reads(text, fmt="md:myst")
    lines = fence_lines(text)
    code = sum(cell.cell_type == "code" for cell in notebook.cells)
    if code != len(lines):
        raise TextFault(f"{name}: {len(lines)} code cells are opened, {code} are read; is one inside another block?")
    found, starts = [], iter(lines)
    for cell in notebook.cells:
        tags = tuple(cell.metadata.get("tags", ()))
        line = next(starts) if cell.cell_type == "code" else 0
        if line and not cell.source.strip():
            raise TextFault(f"{name}:{line}: the code cell is empty")
        if cell.source.strip():
            found.append(Cell(cell.cell_type, cell.source, tags, line, dict(cell.metadata)))
    return found


def fence_lines(text: str) -> list[int]:
    """The lines on which code cells open.

    >>> fence_lines("a\\n```{code-cell} ipython3\\n1\\n```\\n")
    [2]
    """
    found, closing = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if closing:
            closing = "" if line.strip().startswith(closing) and not line.strip().strip("`") else closing
        elif match := FENCE.match(line):
            found.append(number)
            closing = match[1]
    return found


def faults(cell: Cell, *, chapter: bool) -> list[str]:
    """What is wrong with a code cell, without running it; `chapter` adds the limits on functions and lines."""
    if cell.kind != "code":
        return []
    found = [f"tag {tag!r} would let the cell pass unseen" for tag in cell.tags if tag in SILENCERS]
    found += [
        f"comment {match[1]} would let the cell pass unseen" for match in SILENCING_COMMENTS.finditer(cell.source)
    ]
    try:
        found += network_uses(cell.source)
        return found + (long_functions(cell.source) + wide_lines(cell.source) if chapter else [])
    except SyntaxError as error:
        return [*found, f"line {error.lineno} of the cell is no Python: {error.msg}"]


def parse(source: str) -> ast.Module:
    """The syntax tree of a cell, IPython's magics included."""
    from IPython.core.inputtransformer2 import TransformerManager

    return ast.parse(TransformerManager().transform_cell(source))


def long_functions(source: str) -> list[str]:
    """Functions that belong in the library.

    >>> long_functions("def f():\\n" + "    x = 1\\n" * 13)
    ['function f has 13 lines, at most 12 fit a chapter: move it to scaling_lib']
    """
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    sizes = [(n.name, n.end_lineno - n.lineno) for n in ast.walk(parse(source)) if isinstance(n, kinds)]
    return [
        f"function {name} has {size} lines, at most {LONGEST_FUNCTION} fit a chapter: move it to scaling_lib"
        for name, size in sizes
        if size > LONGEST_FUNCTION
    ]


def wide_lines(source: str) -> list[str]:
    """Lines that a page would cut at its side.

    >>> wide_lines("x = 1\\n" + "y" * 80)
    ['a line of 80 characters is cut on the page, at most 76 fit: yyyyyyyyyyyyyyyyyyyyyyyy…']
    """
    return [
        f"a line of {len(line)} characters is cut on the page, at most {WIDEST_LINE} fit: {line.strip()[:24]}…"
        for line in source.splitlines()
        if len(line) > WIDEST_LINE
    ]


def network_uses(source: str) -> list[str]:
    """What would reach for the network when the cell runs.

    >>> network_uses("import requests")
    ['requests is for the network, which a notebook must not need']
    >>> network_uses("import urllib.parse")
    []
    """
    found = [f"!{m[1]} is for the network, which a notebook must not need" for m in NETWORK_SHELL.finditer(source)]
    for node in ast.walk(parse(source)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        reached = [n for n in names if n.split(".")[0] in NETWORK_MODULES or n in NETWORK_SUBMODULES]
        found += [f"{name} is for the network, which a notebook must not need" for name in reached]
        if isinstance(node, ast.Call):
            texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found += [
                f"{t!r} is on the network, which a notebook must not need" for t in texts if NETWORK_STRING.match(t)
            ]
    return found
