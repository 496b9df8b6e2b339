"""From the cells of a text to the notebooks of the three trees. Pure: nothing is read, run or written."""

import copy
import re

from tools import grading
from tools.bootstrap import bootstrap
from tools.cells import Cell
from tools.outputs import CodeCell

# What may be defined once in the whole site: targets, equation labels, names of directives.
_TARGET = re.compile(r"^\((?P<label>[\w.:-]+)\)=$", re.MULTILINE)
_EQUATION = re.compile(r"(?<=\$\$) *\((?P<label>[\w.:-]+)\)$", re.MULTILINE)
_OPTION = re.compile(r"^(?P<head> *:(?:label|name): *)(?P<label>[\w.:-]+)$", re.MULTILINE)
_TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def chapter(stem: str, cells: list[Cell], url: str, version: str):
    """The notebook of a chapter: every cell as written, behind the first one that installs the library."""
    return _notebook(stem, cells, bootstrap(f"chapters/{stem}.ipynb", url, version))


def solutions(stem: str, cells: list[Cell], points: dict[str, float], url: str, version: str):
    """The instructor's notebook: check cells carry the grader's assertion, all cells nbgrader's metadata.

    Args:
      points: exercise key -> points, for every key among the cells.
    """
    graded = [_graded(cell, points) for cell in cells]
    made = _notebook(stem, graded, bootstrap(f"solutions/{stem}.ipynb", url, version))
    for cell in made.cells:
        if cell.cell_type == "code" and "nbgrader" not in cell.metadata:
            # Locked, so that the grader puts back what every question builds on.
            cell.metadata["nbgrader"] = grading.metadata(cell.id, "given")
    return made


def exercises(stem: str, instructors, stubs: dict[str, str], url: str, version: str):
    """The learner's notebook, made from the instructor's: solutions out, stubs in, graded cells locked."""
    made = copy.deepcopy(instructors)
    made.cells = [cell for cell in made.cells if "solution" not in cell.metadata.get("tags", ())]
    made.cells[0].source = bootstrap(f"exercises/{stem}.ipynb", url, version)
    return grading.release(made, stubs)


def solution_page(instructors):
    """The instructor's notebook as a page of its own: no label or title is shared with the exercises' page."""
    made = copy.deepcopy(instructors)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = relabelled(cell.source)
    first = next((c for c in made.cells if c.cell_type == "markdown"), None)
    if first is not None:
        first.source = _TITLE.sub(lambda m: f"# {solution_title(m['title'])}", first.source, count=1)
    return made


def relabelled(source: str) -> str:
    """Adds `-solution` to what may be defined only once in the site.

    >>> relabelled("(ch01-q1)=\\n## Q1\\n")
    '(ch01-q1-solution)=\\n## Q1\\n'
    """
    source = _TARGET.sub(r"(\g<label>-solution)=", source)
    source = _EQUATION.sub(r" (\g<label>-solution)", source)
    return _OPTION.sub(r"\g<head>\g<label>-solution", source)


def without_targets(source: str) -> str:
    """A text without the targets of links, which only the site understands.

    >>> without_targets("(ch01-q1)=\\n## Q1\\n")
    '## Q1\\n'
    """
    return re.sub(_TARGET.pattern + r"\n", "", source, flags=re.MULTILINE)


def solution_title(title: str) -> str:
    """The title of a solutions page.

    >>> solution_title("Exercises: rooflines"), solution_title("Rooflines by hand")
    ('Solutions: rooflines', 'Solutions: Rooflines by hand')
    """
    return re.sub("^Exercises", "Solutions", title) if title.startswith("Exercises") else f"Solutions: {title}"


def code_cells(notebook, where: dict[str, str]) -> list[CodeCell]:
    """What running the notebook needs to know; `where` maps a cell's id to its place in the text."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            tags = cell.metadata.get("tags", ())
            raises = "raises-exception" in tags
            found.append(CodeCell(cell.source, is_checked(tags), raises, where.get(cell.id, cell.id)))
    return found


def is_checked(tags) -> bool:
    """True for a cell whose output must be stored, and compared when the notebook is run again."""
    return "check" in tags or "nbval-check-output" in tags


def store(notebook, shown: list[dict[str, str] | None]):
    """A copy of the notebook with the outputs of its check cells; the counts are 1, as nbval needs one."""
    import nbformat

    made = copy.deepcopy(notebook)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    for cell, data in zip(code, shown, strict=True):
        if data is not None:
            cell.execution_count = 1
            own = {} if "check" in cell.metadata.get("tags", ()) else {"execution_count": 1}  # a verdict shows itself
            cell.outputs = [nbformat.v4.new_output("execute_result" if own else "display_data", data, **own)]
    return made


def to_bytes(notebook) -> bytes:
    """The file, the same bytes each time."""
    import nbformat

    nbformat.validate(notebook)
    return (nbformat.writes(notebook) + "\n").encode()


def cell_id(stem: str, position: int) -> str:
    """A cell's id: stem and position, whatever jupytext would have drawn.

    >>> cell_id("ch01_rooflines", 3)
    'ch01_rooflines-003'
    """
    return f"{stem}-{position:03d}"


def _graded(cell: Cell, points: dict[str, float]) -> Cell:
    role = next((r for r in ("answer", "check", "prompt") if r in cell.tags), "")
    if not cell.key or not role:
        return cell
    source = grading.check_cell(cell.source) if role == "check" else cell.source
    extra = {"nbgrader": grading.metadata(cell.key, role, points[cell.key])}
    return Cell(cell.kind, source, cell.tags, cell.line, {**cell.metadata, **extra})


def _notebook(stem: str, cells: list[Cell], first: str):
    import nbformat

    made = nbformat.v4.new_notebook(metadata=copy.deepcopy(_METADATA))
    start = Cell("code", first, ("remove-cell",), 0, {"tags": ["remove-cell"]})
    for position, cell in enumerate([start, *cells]):
        new = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
        made.cells.append(new(cell.source, id=cell_id(stem, position), metadata=copy.deepcopy(cell.metadata)))
    return made
