"""The course kit through nbgrader's own commands: a small class is graded, with the marks and hints each has earned."""

import copy
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scaling_lib.exercises import check, exercise, exercises, inputs, ticket
from tools import course, course_report

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbgrader")

CHAPTER, STEM = "ch01", "ch01_rooflines"
QUESTIONS = [e for e in exercises(CHAPTER) if not e.is_guess]
FULL = {e.key: float(e.points) for e in QUESTIONS}
NONE = dict.fromkeys(FULL, 0.0)
ROUNDS = max(len(e.mistakes) for e in QUESTIONS)  # student i makes mistake i of every question, round and round

IN_OTHER_UNITS = """
from scaling_lib.exercises.factors import unit_factors
name, factor = next(((n, f) for n, f in unit_factors({unit!r}).items() if f != 1), ("", 1))
{name} = f"{{float({name}) / factor!r}} {{name}}"
"""
PLANTED = """
from scaling_lib.exercises import exercise
from scaling_lib.exercises.faults import wrong_answer
planted = exercise({key!r}).mistakes[{index}]
{name} = planted.value if exercise({key!r}).kind == "code" else wrong_answer(planted, inputs({key!r}))
"""
ALWAYS_EQUAL = """
class Always:
    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = lambda self, other: True
    __call__ = lambda self, *args, **kwargs: self
    __float__ = lambda self: 1.0
{name} = Always()
"""
CRASH = "{name} = 1 / 0"
INNOCENT = "\ncheck = display = v = 'names that the notebook uses as well'"
FAKED = """
{name} = -1
class Faked:
    passed = True
import contextlib
import scaling_lib.exercises as library
check = lambda *args: Faked()
for place, attribute, value in (
    (library, "check", check),
    (library.engine, "check_exercise", check),
    (library.engine, "close", lambda *args: True),
    (library.Verdict, "passed", True),
    (library.Verdict, "__new__", check),
    (library.Exercise, "expected_for", lambda self, values: -1),
):
    with contextlib.suppress(AttributeError):
        setattr(place, attribute, value)
"""
FRIENDS = """
import os
os.environ["SCALING_STUDENT"] = os.environ["SCALING_MARKED"] = {ticket!r}
os.environ.pop("NBGRADER_EXECUTION", None)
"""
# What a careless student did to an otherwise right notebook: question -> answer cell. Question 12 is deleted whole.
CARELESS = {
    "ch01.q3": "# no idea",
    "ch01.q5": "answer = givn",
    "ch01.q6": "answer = 1979e12 / 3350e9 / 2",  # the book's chip: half the sheet's rate is dense
    "ch01.q8": "kept = answer * 1.0  # of an earlier question\n{solution}",
    "ch01.q9": "{solution}\n1 / 0",
}
CARELESS_EARNED = FULL | dict.fromkeys(("ch01.q3", "ch01.q5", "ch01.q6", "ch01.q12"), 0.0)


def answer_cell(notebook, key):
    return next(c for c in notebook.cells if {"answer", key} <= set(c.metadata.get("tags", ())))


def check_cell(notebook, key):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id(key))


def given_cell(notebook, key):
    return next(c for c in notebook.cells if f'inputs("{key}")' in c.source and c.cell_type == "code")


def grade_id(key):
    return f"{key.replace('.', '-')}-check"


def literal(e, name, solution, student):
    """An answer cell with a number worked out for one student; other kinds have one answer for all."""
    return f"{name} = {e.expected_for(inputs(e.key, student))!r}" if e.kind == "number" else solution


def submissions(source, release, friend):
    """Student -> the notebook handed in; `friend` is the ticket of another student."""

    def handed_in(write):
        made = copy.deepcopy(release)
        for e in QUESTIONS:
            name = re.search(r"check\([^,]+, *(\w+)", check_cell(source, e.key).source)[1]
            answer_cell(made, e.key).source = write(e, name, answer_cell(source, e.key).source)
        return made

    def in_other_units(e, name, solution):
        return solution + (IN_OTHER_UNITS.format(unit=e.unit, name=name) if e.kind == "number" else "")

    def mistaken(index):
        return handed_in(lambda e, name, _: PLANTED.format(key=e.key, index=index % len(e.mistakes), name=name))

    made = {
        "right": handed_in(lambda e, name, solution: solution),
        "units": handed_in(in_other_units),
        "untouched": release,
        "crashing": handed_in(lambda e, name, _: CRASH.format(name=name)),
        "always": handed_in(lambda e, name, _: ALWAYS_EQUAL.format(name=name)),
        "meddling": handed_in(lambda e, name, solution: solution + INNOCENT),
        "faking": handed_in(lambda e, name, _: FAKED.format(name=name)),
        "copying": handed_in(lambda e, name, solution: literal(e, name, solution, friend)),
        "careless": handed_in(lambda e, name, right: CARELESS.get(e.key, "{solution}").replace("{solution}", right)),
        "stripped": handed_in(lambda e, name, solution: solution),
        **{f"mistake{index}": mistaken(index) for index in range(ROUNDS)},
    }
    made["right"].cells.append(nbformat.v4.new_code_cell("import sys\nprint(sys.executable)"))
    made["copying"].cells.insert(0, nbformat.v4.new_code_cell(FRIENDS.format(ticket=friend)))
    meddle(made["meddling"], *FULL)
    for cell in (given_cell, answer_cell, check_cell):
        made["careless"].cells.remove(cell(made["careless"], "ch01.q12"))
    for cell in made["stripped"].cells:
        cell.metadata.pop("nbgrader", None)
    return made


def meddle(notebook, copied, deleted, as_text, rewritten, *others):
    """What happens to cells on a learner's machine, and must not change the marks."""
    for original in (answer_cell(notebook, copied), check_cell(notebook, copied)):
        copy_of = copy.deepcopy(original)
        copy_of["id"] = original["id"] + "-copy"
        notebook.cells.append(copy_of)
    notebook.cells.remove(check_cell(notebook, deleted))
    text = check_cell(notebook, as_text)
    notebook.cells[notebook.cells.index(text)] = nbformat.v4.new_markdown_cell(text.source, metadata=text.metadata)
    check_cell(notebook, rewritten).source = "'I removed this check'"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course folder after all three commands, as an instructor types them."""
    home = tmp_path_factory.mktemp("home")
    folder = tmp_path_factory.mktemp("class") / "course"
    notebook = course.make_course(CHAPTER, folder, own_numbers=True)
    nbgrader(folder, home, "generate_assignment", CHAPTER)
    release = nbformat.read(folder / "release" / CHAPTER / f"{STEM}.ipynb", as_version=4)
    (line,) = course.tickets(folder, ["friend"])
    handed = submissions(nbformat.read(notebook, as_version=4), release, line.split(",")[1])
    for student, handed_in in handed.items():
        path = (
            folder
            / "submitted"
            / student
            / CHAPTER
            / (f"{STEM} (1).ipynb" if student == "careless" else f"{STEM}.ipynb")
        )
        path.parent.mkdir(parents=True)
        nbformat.write(handed_in, path)
    log = nbgrader(folder, home, "autograde", CHAPTER)
    assert "Autograding" in log and "converted to" not in log, log  # no verdict is read as points
    assert "Attribute 'checksum'" not in log and "Attribute 'cell_type' for cell ch01-q3-check" in log
    assert re.search("put back: .*ch01-q12-answer, ch01-q12-check", log) and "(1).ipynb is taken for" in log
    nbgrader(folder, home, "generate_feedback", CHAPTER)
    return folder


def nbgrader(folder: Path, home: Path, *command: str) -> str:
    """The log of one command, with nothing of this machine's settings: own home, own Jupyter, this Python's kernel."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "SCALING", "PYTHON", "NB"))}
    own = {
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=folder, env={**kept, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def marks(graded):
    """Student -> question -> marks, from nbgrader's gradebook."""
    code = (
        "import json, sys\n"
        "from nbgrader.api import Gradebook\n"
        "with Gradebook(sys.argv[1]) as book:\n"
        "    found = {s.student.id: {g.name: (g.score, g.needs_manual_grade) for n in s.notebooks for g in n.grades}\n"
        "             for s in book.assignment_submissions(sys.argv[2])}\n"
        "print(json.dumps(found))"
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    url = f"sqlite:///{graded / 'gradebook.db'}"
    done = subprocess.run(
        [sys.executable, "-c", code, url, CHAPTER],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    scores = json.loads(done.stdout)
    assert not any(by_hand for cells in scores.values() for _, by_hand in cells.values())
    return {who: {key: cells[grade_id(key)][0] for key in FULL} for who, cells in scores.items()}


def autograded(folder, student):
    return nbformat.read(folder / "autograded" / student / CHAPTER / f"{STEM}.ipynb", as_version=4)


@pytest.mark.parametrize(
    ("student", "earned"),
    [
        ("right", FULL),
        ("units", FULL),
        ("meddling", FULL),
        ("untouched", NONE),
        ("crashing", NONE),
        ("always", NONE),
        ("faking", NONE),
        ("careless", CARELESS_EARNED),
        ("stripped", NONE),
        *((f"mistake{index}", NONE) for index in range(ROUNDS)),
    ],
)
def test_a_student_gets_the_marks_earned(marks, student, earned):
    assert marks[student] == earned


def test_a_friends_ticket_and_numbers_earn_only_what_fits_ones_own(graded, marks):
    friend, own = (line.split(",")[1] for line in course.tickets(graded, ["friend", "copying"]))
    numbers = [e for e in QUESTIONS if e.kind == "number"]
    fits = {e.key: check(e.key, e.expected_for(inputs(e.key, friend)), own).passed for e in numbers}
    assert marks["copying"] == {key: FULL[key] if fits.get(key, True) else 0.0 for key in FULL}
    assert sum(not passed for passed in fits.values()) >= 2


@pytest.mark.parametrize("index", range(ROUNDS))
def test_the_feedback_names_the_mistake_and_no_other(graded, index):
    student = f"mistake{index}"
    page = (graded / "feedback" / student / CHAPTER / f"{STEM}.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub("<[^>]+>", "", page))
    for e in QUESTIONS:
        own = e.mistakes[index % len(e.mistakes)].says
        (error,) = (o for o in check_cell(autograded(graded, student), e.key).outputs if o.output_type == "error")
        assert [m.says for m in e.mistakes if error.evalue.endswith(m.says)] == [own]
        assert own in text


def test_a_missing_answer_is_never_taken_for_a_mistake(graded):
    notebook = autograded(graded, "careless")
    said = {key: [o.get("evalue", o.get("text")) for o in check_cell(notebook, key).outputs] for key in CARELESS_EARNED}
    assert [says for key in ("ch01.q3", "ch01.q12") for says in said[key]] == [
        f"[todo] {key}: no answer yet: give a number, in {exercise(key).unit}." for key in ("ch01.q3", "ch01.q12")
    ]
    raised, todo = said["ch01.q5"]
    assert raised == "The answer cell above raised NameError: name 'givn' is not defined\n"
    assert todo.startswith("[todo] ch01.q5: no answer yet")
    assert said["ch01.q6"] == [
        "[fail] ch01.q6: not yet. That is right for the book's numbers; yours differ: use given[...]."
    ]


def test_a_notebook_without_the_graders_metadata_says_why_it_counts_nothing(graded):
    page = (graded / "feedback" / "stripped" / CHAPTER / f"{STEM}.html").read_text(encoding="utf-8")
    assert "No cell of this notebook carries the grader" in page and "pre-wrap; overflow-wrap" in page


def test_the_report_tells_no_marks_from_not_graded(graded, marks):
    (graded / "submitted" / "unreadable" / CHAPTER).mkdir(parents=True)
    head, *rows = (line.split(",") for line in course_report.lines(graded, CHAPTER))
    assert head == ["student", "marks", "of", *FULL]
    found = {student: entries for student, *entries in rows}
    total = f"{sum(FULL.values()):g}"
    assert found.pop("unreadable") == ["not graded", total]
    assert found["careless"] == ["20", total, *(f"{points:g}" for points in CARELESS_EARNED.values())]
    assert found["stripped"] == ["0", total, *("0" for _ in FULL)]
    assert set(found) == set(marks)
    with pytest.raises(course_report.ReportFault, match=f"'ch99'; the gradebook has {CHAPTER}"):
        course_report.lines(graded, "ch99")


def test_an_untouched_question_is_told_apart_from_a_wrong_one(graded):
    for e in QUESTIONS:
        (error,) = (o for o in check_cell(autograded(graded, "untouched"), e.key).outputs if o.output_type == "error")
        assert error.evalue.startswith(f"[todo] {e.key}")


def test_kernels_run_this_python_and_check_cells_write_nothing_to_stderr(graded):
    notebook = autograded(graded, "right")
    assert notebook.cells[-1].outputs[0].text.strip() == sys.executable
    for student in ("right", "units", "untouched", "mistake0"):
        for cell in autograded(graded, student).cells:
            if cell.metadata.get("nbgrader", {}).get("grade"):
                assert not [o for o in cell.outputs if o.output_type == "stream"]


def test_the_release_holds_neither_solutions_nor_tests_nor_the_secret(graded):
    path = graded / "release" / CHAPTER / f"{STEM}.ipynb"
    text, notebook = path.read_text(encoding="utf-8"), nbformat.read(path, as_version=4)
    secret = json.loads((graded / "course.json").read_text(encoding="utf-8"))["secret"]
    assert len(secret) == 32 and secret not in text
    assert "SOLUTION" not in text and "HIDDEN" not in text and "assert" not in text and ")=" not in text
    assert notebook.cells[1].source.endswith('os.environ["SCALING_STUDENT"] = ""')
    for e in QUESTIONS:
        if e.kind == "code":
            assert answer_cell(notebook, e.key).source == e.stub


def test_the_grader_uses_the_numbers_of_the_students_ticket(graded):
    (line,) = course.tickets(graded, ["right"])
    secret = json.loads((graded / "course.json").read_text(encoding="utf-8"))["secret"]
    assert line == f"right,{ticket(secret, 'right')}"
    drawn = next(e for e in QUESTIONS if e.draw and e.kind == "number")
    cells = [c for c in autograded(graded, "right").cells if c.cell_type == "code"]
    given = next(c for c in cells if f'inputs("{drawn.key}")' in c.source)
    shown = re.findall(r"(\w+) = ([0-9,]+)(?:, |$)", given.outputs[0].data["text/plain"])  # whole numbers, no units
    own = inputs(drawn.key, line.split(",")[1])
    assert {name: int(value.replace(",", "")) for name, value in shown} == own != inputs(drawn.key)
