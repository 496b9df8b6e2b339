"""Makes an nbgrader course folder of a chapter's exercises.

python tools/course.py ch01                   adds assignment ch01 to ./course
python tools/course.py ch01 --own-numbers     the same, every student with numbers of their own
python tools/course.py --tickets alice bob    what to give each student so that they see their numbers at home
python tools/course.py ch01 --report          marks by student and question as CSV, and who could not be graded
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
from pathlib import Path

if __package__ in (None, ""):  # run as a script
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from scaling_lib.exercises import chapters, ticket
from scaling_lib.units import ScalingError
from tools import course_report, grading, notebooks, trees
from tools.address import ROOT, address, version
from tools.bootstrap import bootstrap
from tools.cells import TextFault
from tools.matching import chapter_of

CONFIG = Path(__file__).with_name("course_config.py")
TICKET_CELL = """\
# Here every student has numbers of their own. Put your ticket between the quotes: without it you see
# the book's numbers, and a literal answer to those earns nothing.
import os
os.environ["SCALING_STUDENT"] = ""
"""


class CourseFault(ScalingError):
    """A course that cannot be made; the message says what is possible."""


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("chapter", nargs="?", default="", help="such as ch01")
    options.add_argument("--folder", type=Path, default=Path("course"), help="the course folder (./course)")
    options.add_argument("--own-numbers", action="store_true", help="draw other inputs for every student")
    options.add_argument("--tickets", nargs="+", metavar="STUDENT", help="print the tickets of these students as CSV")
    options.add_argument("--report", action="store_true", help="print the marks of this chapter as CSV")
    given = options.parse_args(arguments)
    try:
        if given.tickets:
            print("\n".join(["student,ticket", *tickets(given.folder, given.tickets)]))
        elif given.report:
            print("\n".join(course_report.lines(given.folder, given.chapter)))
        else:
            make_course(given.chapter, given.folder, own_numbers=given.own_numbers)
            print(f"{given.folder} holds assignment {given.chapter}. Next, in that folder:")
            print("\n".join(f"  {step}" for step in next_steps(given.folder, given.chapter)))
    except (CourseFault, TextFault, course_report.ReportFault) as fault:
        print(f"course: {fault}", file=sys.stderr)
        return 1
    return 0


def make_course(chapter: str, folder: Path, *, own_numbers: bool = False, root: Path = ROOT) -> Path:
    """Writes the assignment of a chapter into a course folder, new or old.

    Args:
      chapter: such as ch01.
      folder: the course folder. What it holds of other chapters, submissions and marks is left alone.
      own_numbers: draw a secret, unless the course has one, from which each student's numbers follow.
      root: the checkout.

    Returns:
      The assignment's notebook.

    Raises:
      CourseFault: no exercises for this chapter; the message lists the chapters that have some.
    """
    found = [path for path in notebooks.texts(root, "exercises") if chapter_of(path.stem) == chapter]
    if not found:
        raise CourseFault(f"chapter is {chapter!r}; chapters with exercises: {', '.join(chapters())}")
    (path,) = found
    course = settings(folder)
    course["secret"] = course["secret"] or (secrets.token_hex(16) if own_numbers else "")
    notebook = instructors(path, root, own_numbers=bool(course["secret"]))
    target = folder / "source" / chapter / f"{path.stem}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(trees.to_bytes(notebook))
    shutil.copyfile(CONFIG, folder / "nbgrader_config.py")
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")  # solutions, marks and the secret are in no commit
    course["stubs"] |= stubs(notebook, {key: spec.stub for key, spec in notebooks.specs_of(chapter).items()})
    (folder / "course.json").write_text(json.dumps(course, indent=1) + "\n", encoding="utf-8")
    return target


def next_steps(folder: Path, chapter: str) -> list[str]:
    """The commands to type next; with --force where nbgrader would skip what it has made before."""
    steps = [
        f"nbgrader generate_assignment {chapter}" + (" --force" if (folder / "release" / chapter).exists() else "")
    ]
    for command, made in (("autograde", "autograded"), ("generate_feedback", "feedback")):
        if any(folder.glob(f"{made}/*/{chapter}")):
            steps.append(f"nbgrader {command} {chapter} --force")
    return steps


def instructors(path: Path, root: Path = ROOT, *, own_numbers: bool = False):
    """The instructor's notebook: with solutions and hidden tests, without what only the site's pages need."""
    from nbformat.v4 import new_code_cell

    notebook = notebooks.assignment(path, root)
    notebook.cells = [cell for cell in notebook.cells if "solution" not in cell.metadata.get("tags", ())]
    notebook.cells[0].source = bootstrap(f"exercises/{path.stem}.ipynb", address(root), version(root))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = trees.without_targets(cell.source)
    if own_numbers:
        notebook.cells.insert(1, new_code_cell(TICKET_CELL.rstrip(), id=f"{path.stem}-ticket"))
    return notebook


def stubs(notebook, own: dict[str, str]) -> dict[str, str]:
    """What stands in each answer cell's place: grade_id -> stub, as in the exercises' own notebooks."""
    by_id = {grading.grade_id(key, "answer"): stub for key, stub in own.items()}
    answers = {
        c.metadata["nbgrader"]["grade_id"]: c.source for c in notebook.cells if "answer" in c.metadata.get("tags", ())
    }
    return {grade_id: grading.stub_for(source, by_id.get(grade_id, "")) for grade_id, source in answers.items()}


def settings(folder: Path) -> dict:
    """The course's own settings, or those of a new course."""
    path = folder / "course.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"secret": "", "stubs": {}}


def tickets(folder: Path, students: list[str]) -> list[str]:
    """One line `student,ticket` each.

    Raises:
      CourseFault: all students of this course have the book's numbers.
    """
    secret = settings(folder)["secret"]
    if not secret:
        raise CourseFault(f"{folder} has no secret: all students have the book's numbers; see --own-numbers")
    return [f"{student},{ticket(secret, student)}" for student in students]


if __name__ == "__main__":
    sys.exit(main())
