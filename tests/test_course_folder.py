"""The course folder before anything is graded: what is written, what stays, and what to type next."""

import json

import pytest

from scaling_lib.exercises import exercise, exercises
from tools import course

pytest.importorskip("nbformat")
pytest.importorskip("nbgrader")

CHAPTER, STEM = "ch01", "ch01_rooflines"


def test_a_course_grows_by_a_chapter_and_keeps_its_secret(tmp_path):
    first = course.make_course(CHAPTER, tmp_path, own_numbers=True)
    before = (tmp_path / "course.json").read_text(), first.read_bytes()
    course.make_course(CHAPTER, tmp_path)
    assert ((tmp_path / "course.json").read_text(), first.read_bytes()) == before


def test_what_was_made_before_is_made_again_with_force(tmp_path, capsys):
    arguments = [CHAPTER, "--folder", str(tmp_path)]
    assert course.main(arguments) == 0 and "--force" not in capsys.readouterr().out
    for made in (f"release/{CHAPTER}", f"autograded/alice/{CHAPTER}", "feedback/alice/ch02"):
        (tmp_path / made).mkdir(parents=True)
    assert course.main(arguments) == 0
    said = capsys.readouterr().out
    assert f"generate_assignment {CHAPTER} --force" in said and f"autograde {CHAPTER} --force" in said
    assert "generate_feedback" not in said and (tmp_path / ".gitignore").read_text() == "*\n"


def test_a_report_needs_a_gradebook(tmp_path, capsys):
    assert course.main([CHAPTER, "--folder", str(tmp_path), "--report"]) == 1
    assert "no gradebook.db" in capsys.readouterr().err


def test_without_own_numbers_there_are_no_tickets(tmp_path, capsys):
    assert course.main([CHAPTER, "--folder", str(tmp_path)]) == 0
    assert "SCALING_STUDENT" not in (tmp_path / "source" / CHAPTER / f"{STEM}.ipynb").read_text(encoding="utf-8")
    assert course.main(["--folder", str(tmp_path), "--tickets", "alice"]) == 1
    assert "--own-numbers" in capsys.readouterr().err


@pytest.mark.parametrize("chapter", ["", "ch99", "ch1", "ch01_rooflines"])
def test_an_unknown_chapter_lists_those_with_exercises(tmp_path, capsys, chapter):
    assert course.main([chapter, "--folder", str(tmp_path)]) == 1
    assert "ch01" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_every_answer_gets_the_stub_of_its_question(tmp_path):
    course.make_course(CHAPTER, tmp_path)
    stubs = json.loads((tmp_path / "course.json").read_text(encoding="utf-8"))["stubs"]
    assert set(stubs) == {f"{e.key.replace('.', '-')}-answer" for e in exercises(CHAPTER) if not e.is_guess}
    assert stubs["ch01-q2-answer"] == exercise("ch01.q2").stub
