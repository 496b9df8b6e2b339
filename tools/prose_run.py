"""Gets the value of every expression in the prose: from the kernels that ran the notebooks, or by running them now."""

import hashlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

from tools import trees
from tools.address import ROOT
from tools.notebooks import assignment, chapter, texts
from tools.outputs import in_fresh_processes
from tools.prose_text import Check, checks

TIMEOUT_S = 300
DOCUMENTS = ("intro.md", "README.md", "CONTRIBUTING.md", "STYLE.md", "docs/**/*.md", "book/**/*.md")
KERNEL = Path("tools/kernel")


@dataclass(frozen=True)
class Value:
    """What an expression gave: a number, a text or a truth; or the error it raised."""

    value: float | str | bool | None = None
    error: str = ""


def kernel_environment(root: Path = ROOT) -> dict[str, str]:
    """What a kernel must inherit to record values, on top of the usual environment."""
    return {
        "IPYTHONDIR": str(ROOT / KERNEL),
        "SCALING_PROSE_DIR": str(results_folder(root)),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def results_folder(root: Path = ROOT) -> Path:
    """Where plan and results are kept."""
    return root / "_build" / "prose"


def documents(root: Path = ROOT) -> list[Path]:
    """Plain pages, whose expressions know `sl` and `math` only."""
    return sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)})


def notebooks(root: Path = ROOT) -> dict[str, tuple[Path, object]]:
    """The notebooks whose prose is checked: path -> (its text, the notebook). Exercises are checked where solved."""
    made = {f"chapters/{p.stem}.ipynb": (p, chapter(p, root)) for p in texts(root, "chapters")}
    solved = {p: trees.solution_page(assignment(p, root)) for p in texts(root, "exercises")}
    return made | {f"solutions/{p.stem}.ipynb": (p, notebook) for p, notebook in solved.items()}


def plan(name: str, notebook, found: list[Check], library: str) -> dict:
    """What a kernel is told of one notebook: its code cells, and which expressions to evaluate after which of them.

    The fingerprint covers all that values depend on; an edit to other words leaves results valid.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    told = {
        "cells": [hashlib.sha256(cell.source.encode()).hexdigest() for cell in code],
        "expressions": [[check.after, check.expr] for check in found if check.expr],
        "raises": [i for i, cell in enumerate(code) if "raises-exception" in cell.metadata.get("tags", ())],
    }
    content = json.dumps([name, library, told], sort_keys=True)
    return {**told, "fingerprint": hashlib.sha256(content.encode()).hexdigest()}


def library_digest(root: Path = ROOT) -> str:
    """A digest of the library's sources and data."""
    digest = hashlib.sha256()
    for path in sorted((root / "scaling_lib").rglob("*")):
        if path.suffix in (".py", ".toml", ".json", ".csv") and path.is_file():
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def write_plan(root: Path = ROOT, made: dict | None = None) -> dict[str, dict]:
    """Writes the plan that kernels read, and returns it: notebook path -> plan."""
    library = library_digest(root)
    plans = {
        name: plan(name, notebook, checks(path.read_text(encoding="utf-8"), path.name), library)
        for name, (path, notebook) in (made or notebooks(root)).items()
    }
    results_folder(root).mkdir(parents=True, exist_ok=True)
    (results_folder(root) / "plan.json").write_text(json.dumps(plans, indent=1) + "\n", encoding="utf-8")
    return plans


def values(root: Path = ROOT, made: dict | None = None) -> tuple[dict[str, list[Value]], list[str]]:
    """The values of every expression.

    Returns:
      text path -> values in the order of its expressions (texts that did not run are missing); and what went wrong: a
      notebook that failed, or a cell that is tagged raises-exception and raised nothing.
    """
    made = notebooks(root) if made is None else made
    plans = write_plan(root, made)
    stale = [name for name, told in plans.items() if _fresh(root, name, told) is None]
    failures = run_all(root, {name: made[name][1] for name in stale})
    found, troubles = {}, []
    for name, told in plans.items():
        text = made[name][0].relative_to(root).as_posix()
        saved = _fresh(root, name, told)
        if saved is None:
            troubles.append(f"{text}: {failures.get(name) or f'{name} left no values'}")
            continue
        found[text] = [Value(**value) for value in saved["values"]]
        troubles += [f"{text}: code cell {i} is tagged raises-exception and raised nothing" for i in saved["silent"]]
    return found | {p.relative_to(root).as_posix(): direct(p) for p in documents(root)}, troubles


def run_all(root: Path, stale: dict[str, object]) -> dict[str, str]:
    """Runs notebooks in kernels that record values; path -> what went wrong, or nothing."""
    work = [(root, name, json.dumps(notebook)) for name, notebook in stale.items()]
    return dict(zip(stale, in_fresh_processes(run, work), strict=True))


def run(work: tuple[Path, str, str]) -> str:
    """Runs one notebook, given as (root, path, content)."""
    import nbclient
    import nbformat

    root, name, content = work
    where = (root / name).parent if (root / name).parent.is_dir() else root
    notebook = nbformat.reads(content, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(where)}})
    try:
        client.execute(env={**os.environ, **kernel_environment(root)})
    except nbclient.exceptions.CellExecutionError as error:
        return f"{name} failed with {error.ename}: {error.evalue}"
    except (nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError) as error:
        return f"{name} failed: {error}"
    return ""


def direct(path: Path) -> list[Value]:
    """The values of a plain page's expressions."""
    return [evaluated(c.expr) for c in checks(path.read_text(encoding="utf-8"), path.name) if c.expr]


def evaluated(expression: str) -> Value:
    """An expression's value where only the library is known.

    >>> evaluated("2 * 120"), evaluated("no_such_name").error
    (Value(value=240, error=''), "NameError: name 'no_such_name' is not defined")
    """
    import scaling_lib

    try:
        found = eval(expression, {"sl": scaling_lib, "math": math})
        return Value(found if isinstance(found, bool | str | int) else float(found))
    except Exception as error:
        return Value(error=f"{type(error).__name__}: {error}")


def _fresh(root: Path, name: str, told: dict) -> dict | None:
    path = (results_folder(root) / name).with_suffix(".json")
    if not path.exists():
        return None
    saved = json.loads(path.read_text(encoding="utf-8"))
    return saved if saved["fingerprint"] == told["fingerprint"] else None
