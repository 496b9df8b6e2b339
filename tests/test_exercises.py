"""Every exercise of every chapter: each planted mistake gets its own message, no odd answer raises or is paid."""

import ast
import decimal
import json
from pathlib import Path

import numpy as np
import pytest
from exercise_specs import EVERY, KEYS, RaisingExit

import scaling_lib.exercises
from scaling_lib.exercises import chapters, faults, inputs, page_spec
from scaling_lib.exercises.coded import cases_of
from scaling_lib.exercises.engine import check_exercise


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_every_planted_mistake_gets_its_own_message_and_no_other_for_any_student(e):
    students = [None, *(f"student {i}" for i in range(25 if e.kind == "code" else 250))]
    assert {fault for student in students for fault in faults(e, student)} == set()


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_draws_differ_between_students(e):
    if e.draw:
        given = cases_of if e.kind == "code" else lambda e, student: inputs(e.key, student)
        assert len({repr(given(e, f"student {i}")) for i in range(40)}) >= 10


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_the_page_gets_plain_data_that_agrees_with_the_check(e):
    spec = json.loads(json.dumps(page_spec(e.key), allow_nan=False))
    assert spec["solution"] and spec["kind"] in ("number", "choice", "sharding")
    judged = e.page or e
    assert check_exercise(judged, spec["value"]).passed
    for mistake in spec["mistakes"]:
        assert check_exercise(judged, mistake["value"]).hint == mistake["says"]


ODD = {
    "True": True,
    "numpy bool": np.True_,
    "nan": float("nan"),
    "inf": float("inf"),
    "complex": 3j,
    "huge": 10**400,
    "array": np.array([234.06, 234.06]),
    "list": [234.06],
    "dict": {"answer": 234.06},
    "empty list": [],
    "text": "banana",
    "empty units": "GB",
    "bytes": b"240",
    "class": float,
    "function": lambda *a, **k: 1j,
    "generator": (i for i in ()),
    "decimal nan": decimal.Decimal("nan"),
    "date": np.datetime64("2025-02-18"),
    "object array": np.array(None),
}


class AlwaysEqual:
    """Says that it equals everything."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __call__(self, *args, **kwargs):
        return AlwaysEqual()


class AlwaysEqualFloat(float):
    __hash__ = None

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__


class AlwaysEqualText(str):
    __hash__ = None

    def __eq__(self, other):
        return True

    def casefold(self):
        return AlwaysEqualText(self)

    def split(self):
        return [self]


class Raising:
    """Raises whatever is asked of it, its repr included."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError

    def __call__(self, *args):
        return Raising()


HOSTILE = {
    "always equal": AlwaysEqual,
    "always equal float": lambda: AlwaysEqualFloat(1e-9),
    "always equal text": lambda: AlwaysEqualText("always"),
    "raising": Raising,
    "raising exit": RaisingExit,
}


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
@pytest.mark.parametrize("name", [*ODD, *HOSTILE])
def test_an_odd_answer_never_raises_and_is_never_paid(e, name):
    answer = HOSTILE[name]() if name in HOSTILE else ODD[name]  # pytest itself cannot hold some of these
    verdict = check_exercise(e, answer)
    assert verdict.status == "fail" and str(verdict) and verdict._repr_html_()


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
@pytest.mark.parametrize("answer", [..., None, "", "  "])
def test_no_answer_yet_is_todo(e, answer):
    verdict = check_exercise(e, answer)
    wanted = {"number": e.unit or "number", "choice": "b: ", "code": e.function, "sharding": "sharding"}[e.kind]
    assert verdict.status == "todo" and wanted in verdict.message


@pytest.mark.parametrize("chapter", chapters())
def test_questions_have_formulas_of_their_own(chapter):
    package = Path(scaling_lib.exercises.__file__).parent
    paths = [package / f"{chapter}.py", *(package / chapter).glob("*.py")]
    nodes = [node for path in paths if path.exists() for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    allowed = ("math", "itertools", "functools", "collections")
    ours = ("scaling_lib.units", "scaling_lib.exercises")
    imported = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert imported and [name for name in imported if not name.startswith((*allowed, *ours))] == []


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_what_an_exercise_teaches_is_a_place_in_the_text(e):
    (text,) = (Path(__file__).parents[1] / "text" / "chapters").glob(f"{e.chapter}_*.md")
    assert f"({e.teaches})=" in text.read_text(encoding="utf-8")
