"""Marks of a graded chapter by student and question, from nbgrader's gradebook."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from scaling_lib.units import ScalingError

NOT_GRADED = "not graded"  # nbgrader's own export shows such a student with 0


class ReportFault(ScalingError):
    """A report that cannot be made; the message says what is missing."""


def lines(folder: Path, chapter: str) -> list[str]:
    """CSV: student, marks, the possible marks, and the marks of each question.

    A student whose notebook was handed in but has no graded copy (the grader failed, or has not run since) is
    `not graded`.

    Raises:
      ReportFault: the folder has no gradebook, or the gradebook no such chapter.
    """
    if not (folder / "gradebook.db").exists():
        raise ReportFault(f"{folder} has no gradebook.db: nothing was graded in it yet")
    possible, marks = _gradebook(folder, chapter)
    handed_in = {path.parent.name for path in folder.glob(f"submitted/*/{chapter}")}
    rows = [["student", "marks", "of", *(name.removesuffix("-check").replace("-", ".") for name in possible)]]
    for student in sorted(handed_in | set(marks)):
        graded = student in marks and (folder / "autograded" / student / chapter).exists()
        found = [marks[student][name] for name in possible] if graded else []
        rows.append([student, sum(found) if graded else NOT_GRADED, sum(possible.values()), *found])
    return [",".join(f"{entry:g}" if isinstance(entry, float) else str(entry) for entry in row) for row in rows]


def _gradebook(folder: Path, chapter: str) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Check cell -> possible marks, by number of the question; student -> check cell -> marks."""
    # nbgrader calls alembic by name, which only an activated environment finds.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    from nbgrader.api import Gradebook, MissingEntry

    with Gradebook(f"sqlite:///{folder.resolve() / 'gradebook.db'}") as book:
        try:
            notebooks = book.find_assignment(chapter).notebooks
        except MissingEntry:
            known = ", ".join(sorted(assignment.name for assignment in book.assignments))
            raise ReportFault(f"chapter is {chapter!r}; the gradebook has {known}") from None
        cells = {cell.name: float(cell.max_score) for n in notebooks for cell in n.grade_cells}
        numbered = sorted(cells, key=lambda name: [int(part) for part in re.findall("[0-9]+", name)])
        marks = {
            s.student.id: {grade.name: float(grade.score) for n in s.notebooks for grade in n.grades}
            for s in book.assignment_submissions(chapter)
        }
        return {name: cells[name] for name in numbered}, marks
