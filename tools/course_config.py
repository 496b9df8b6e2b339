"""nbgrader's settings for a course on these exercises.

`tools/course.py` copies this file into the course folder as nbgrader_config.py. What differs between courses stands
beside it in course.json: the secret of the students' own numbers (empty: all get the book's) and the answers' stubs.
"""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor, Preprocessor
from nbgrader import preprocessors as steps
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from scaling_lib.exercises import ticket

FOLDER = Path(__file__).parent
COURSE = json.loads((FOLDER / "course.json").read_text(encoding="utf-8"))
UNMARKED = (
    "**No cell of this notebook carries the grader's marks, so no answer could be told from the rest: every question "
    "counts 0.** Copy the answers into a fresh copy of the notebook that was handed out, and hand that in."
)
BEFORE_AN_ANSWER = (
    '{name} = __import__("scaling_lib.exercises.marking", fromlist=["earlier"]).earlier(globals().get("{name}"))'
)


def grade_id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def take_any_name(assignment, student, notebooks):
    """Renames a submission's only notebook as the grader knows it, whatever a browser or the student made of it."""
    known = [path.name for path in (FOLDER / "source" / assignment).glob("*.ipynb")]
    if len(known) == len(notebooks) == 1 and (found := Path(notebooks[0])).name != known[0]:
        print(f"{found} is taken for {known[0]} and renamed", file=sys.stderr)
        notebooks[0] = str(found.rename(found.with_name(known[0])))


class StubSolutions(steps.ClearSolutions):
    """Leaves each question's own stub where its solution stood."""

    def preprocess_cell(self, cell, resources, cell_index):
        self.code_stub = {"python": COURSE["stubs"].get(grade_id(cell), "answer = ...")}
        return super().preprocess_cell(cell, resources, cell_index)


class PlainCopies(NbGraderPreprocessor):
    """Takes nbgrader's mark off the copy of a cell: the first one counts. A copy otherwise stops the grading."""

    def preprocess(self, nb, resources):
        seen = set()
        for cell in nb.cells:
            if (name := grade_id(cell)) in seen:
                self.log.warning("Cell %s was copied; the first one counts", name)
                del cell.metadata["nbgrader"]
            elif name:
                seen.add(name)
        return nb, resources


class MissingCells(NbGraderPreprocessor):
    """Puts back every cell that a student deleted, answers as stubs.

    nbgrader's own step puts back checks only, and stops at one whose answer cell is missing as well.
    """

    def preprocess(self, nb, resources):
        here = resources["nbgrader"]
        with Gradebook(here["db_url"]) as book:
            released = book.find_notebook(here["notebook"], here["assignment"])
            points = {cell.name: cell.max_score for cell in released.grade_cells}
            answers = {cell.name for cell in released.solution_cells}
            made = [self.made(cell, cell.name in answers, points.get(cell.name)) for cell in released.source_cells]
        unmarked = not {grade_id(cell) for cell in made} & {grade_id(cell) for cell in nb.cells}
        missing = self.put_back(nb, made)
        if unmarked:
            self.log.warning("No cell carries nbgrader's metadata, so every question counts 0; the feedback says why")
            nb.cells.insert(0, nbformat.v4.new_markdown_cell(UNMARKED))
        elif missing:
            self.log.warning("Deleted by the student and put back: %s", ", ".join(missing))
        return nb, resources

    @staticmethod
    def made(source, is_answer, points):
        """A released cell with nbgrader's metadata."""
        new = nbformat.v4.new_code_cell if source.cell_type == "code" else nbformat.v4.new_markdown_cell
        marks = {
            "grade": points is not None,
            "grade_id": source.name,
            "locked": source.locked,
            "schema_version": 3,
            "solution": is_answer,
            "task": False,
            **({} if points is None else {"points": points}),
        }
        return new(source.source, metadata={"nbgrader": marks})

    @staticmethod
    def put_back(nb, made):
        """Inserts each missing cell behind the one that it follows in the release; returns the names of the missing."""
        missing, before = [], -1
        for cell in made:
            present = [grade_id(c) for c in nb.cells]
            if grade_id(cell) in present:
                before = present.index(grade_id(cell))
            else:
                before += 1
                nb.cells.insert(before, cell)
                missing.append(grade_id(cell))
        return missing


class RestoreCells(steps.OverwriteCells):
    """Restores what a student changed in locked cells.

    That a checksum differs is no news: every check does, for the release leaves out its hidden assertion.
    """

    def report_change(self, name, attr, old, new):
        if attr != "checksum":
            super().report_change(name, attr, old, new)


class OwnNumbers(NbGraderPreprocessor):
    """Tells the checks whose numbers to use: the submission folder's name decides, never the notebook."""

    def preprocess(self, nb, resources):
        secret = COURSE["secret"]
        os.environ["SCALING_MARKED"] = ticket(secret, resources["nbgrader"]["student"]) if secret else "the book"
        return nb, resources


class RunCells(steps.Execute):
    """Runs the notebook. Questions share the name `answer`: an answer cell that gives none leaves none.

    Where an answer cell raised, its failed check says so.
    """

    def preprocess(self, nb, *args, **kwargs):
        self.names = {
            grade_id(cell).removesuffix("-check"): found[1]
            for cell in nb.cells
            if utils.is_grade(cell) and (found := re.search(r"\bcheck\([^,]+, *(\w+)", cell.source))
        }
        self.raised = {}
        return super().preprocess(nb, *args, **kwargs)

    def preprocess_cell(self, cell, resources, index):
        question = re.sub("-(answer|check)$", "", grade_id(cell))
        if utils.is_solution(cell) and question in self.names:
            code = BEFORE_AN_ANSWER.format(name=self.names[question])
            self.kc.execute(code, silent=True, stop_on_error=False)
        cell, resources = super().preprocess_cell(cell, resources, index)
        error = next((o for o in cell.get("outputs", ()) if o.output_type == "error"), None)
        if error and utils.is_solution(cell):
            says = re.sub(r"\(\d+\.py, (line \d+)\)", r"(\1)", error.evalue)  # a syntax error names IPython's own file
            self.raised[question] = f"{error.ename}: {says}".rstrip(": ")
        if error and utils.is_grade(cell) and question in self.raised:
            says = f"The answer cell above raised {self.raised[question]}\n"
            cell.outputs.insert(0, nbformat.v4.new_output("stream", name="stdout", text=says))
        return cell, resources


class WrapLines(Preprocessor):
    """Lets the long lines of a verdict wrap in the feedback page."""

    def preprocess(self, nb, resources):
        resources["inlining"]["css"].append("div.output_area pre { white-space: pre-wrap; overflow-wrap: anywhere; }")
        return nb, resources


# nbgrader calls alembic by name, which only an activated environment finds.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

c = get_config()  # noqa: F821 - nbgrader provides it
c.CourseDirectory.course_id = "scaling-by-the-numbers"

# nbgrader's own steps in its own order, but for those of this file.
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
c.Autograde.pre_convert_hook = take_any_name
c.Autograde.sanitize_preprocessors = [
    PlainCopies,
    MissingCells,
    steps.ClearOutput,
    steps.DeduplicateIds,
    steps.OverwriteKernelspec,
    RestoreCells,
    steps.CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    OwnNumbers,
    RunCells,
    steps.IgnorePattern,
    ClearMetadataPreprocessor,
    steps.LimitOutput,
    steps.SaveAutoGrades,
    steps.AssignLatePenalties,
    steps.CheckCellMetadata,
]
c.GenerateFeedback.preprocessors = [steps.GetGrades, CSSHTMLHeaderPreprocessor, WrapLines]
c.WrapLines.enabled = True
c.Execute.extra_arguments = ["--ext=scaling_lib.exercises.marking"]  # before the first cell: who it is, checks fixed
c.Execute.timeout = 60  # seconds a cell
