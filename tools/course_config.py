"""nbgrader's settings for a course on these exercises.

`tools/course.py` copies this file into the course folder as nbgrader_config.py. What differs between courses stands
beside it in course.json: the secret of the students' own numbers (empty: all get the book's) and the answers' stubs.
"""

import json
import os
import sys
from pathlib import Path

from nbgrader import preprocessors as steps
from nbgrader.preprocessors import NbGraderPreprocessor

from scaling_lib.exercises import ticket

COURSE = json.loads((Path(__file__).parent / "course.json").read_text(encoding="utf-8"))


class StubSolutions(steps.ClearSolutions):
    """Leaves each question's own stub where its solution stood."""

    def preprocess_cell(self, cell, resources, cell_index):
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        self.code_stub = {"python": COURSE["stubs"].get(grade_id, "answer = ...")}
        return super().preprocess_cell(cell, resources, cell_index)


class PlainCopies(NbGraderPreprocessor):
    """Takes nbgrader's mark off the copy of a cell: the first one counts. A copy otherwise stops the grading."""

    def preprocess(self, nb, resources):
        seen = set()
        for cell in nb.cells:
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
            if grade_id in seen:
                self.log.warning("Cell %s was copied; the first one counts", grade_id)
                del cell.metadata["nbgrader"]
            elif grade_id:
                seen.add(grade_id)
        return nb, resources


class OwnNumbers(NbGraderPreprocessor):
    """Tells the checks whose numbers to use: the submission folder's name decides, never the notebook."""

    def preprocess(self, nb, resources):
        secret = COURSE["secret"]
        os.environ["SCALING_MARKED"] = ticket(secret, resources["nbgrader"]["student"]) if secret else "the book"
        return nb, resources


# nbgrader calls alembic by name, which only an activated environment finds.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

c = get_config()  # noqa: F821 - nbgrader provides it
c.CourseDirectory.course_id = "scaling-by-the-numbers"

# nbgrader's own steps in its own order, but for the stubs.
c.GenerateAssignment.preprocessors = [
    steps.IncludeHeaderFooter,
    steps.LockCells,
    StubSolutions,
    steps.ClearOutput,
    steps.CheckCellMetadata,
    steps.ComputeChecksums,
    steps.SaveCells,
    steps.ClearHiddenTests,
    steps.ClearMarkScheme,
    steps.ComputeChecksums,
    steps.CheckCellMetadata,
]
c.Autograde.sanitize_preprocessors.prepend([PlainCopies])
c.Autograde.autograde_preprocessors.prepend([OwnNumbers])
c.OverwriteCells.add_missing_cells = True  # a deleted check is put back and counts
c.Execute.extra_arguments = ["--ext=scaling_lib.exercises.marking"]  # before the first cell: who it is, checks fixed
c.Execute.timeout = 60  # seconds a cell
