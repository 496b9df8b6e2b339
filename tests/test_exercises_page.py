"""The page's script reads and judges as Python does, run in Node where there is one (in a browser: tests/browser)."""

import json
import math
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from scaling_lib.exercises import exercises, page_spec
from scaling_lib.exercises.engine import check_exercise
from scaling_lib.exercises.factors import unit_factors
from scaling_lib.exercises.shardings import notation, spellings

NODE = shutil.which("node")
SCRIPTS = [Path(__file__).parents[1] / "book" / "static" / name for name in ("grammar.js", "answers.js")]
CASES = json.loads(files("scaling_lib.exercises").joinpath("answer_cases.json").read_text(encoding="utf-8"))
SHARDINGS = json.loads(files("scaling_lib.exercises").joinpath("sharding_cases.json").read_text(encoding="utf-8"))
FACTORS = (1.0001, 0.96, 0.985, 1.02, 1.024, 1.3, 17.0, 1e3, 1.003e-12)
RUN = """
global.window = global; global.document = { querySelectorAll: () => [] };
for (const path of process.argv.slice(1)) require(path);
const { cases, texts, asked } = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const read = cases.map((c) => slParseAnswer(c.text, c.units, c.expected));
const shardings = texts.map(([spec, text]) => slRead(spec, text));
console.log(JSON.stringify({ read, shardings, judged: asked.map(([spec, answer]) => slJudge(spec, answer)) }));
"""
pytestmark = pytest.mark.skipif(not NODE, reason="needs Node")


def in_node(cases=(), texts=(), asked=()):
    given = json.dumps({"cases": list(cases), "texts": list(texts), "asked": list(asked)})
    done = subprocess.run([NODE, "-e", RUN, *SCRIPTS], input=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_numbers_are_read_alike():
    read = in_node(cases=[{**case, "units": unit_factors(case["unit"])} for case in CASES])["read"]
    for case, reading in zip(CASES, read, strict=True):
        assert reading.get("ask") == case.get("ask") and reading.get("error") == case.get("error"), case
        assert math.isclose(reading.get("value", 0), case.get("value", 0), rel_tol=1e-12), case


def test_shardings_are_read_and_judged_alike():
    asked = [(sharding_spec(case["expected"]), case["text"]) for case in SHARDINGS]
    there = in_node(texts=asked, asked=asked)
    for (spec, _), case, reading, judged in zip(asked, SHARDINGS, there["shardings"], there["judged"], strict=True):
        unread = case["outcome"] == "unread"
        assert reading.get("error") == (None if not unread else "notation" if case["text"] else "empty"), case
        if not unread:
            about = {told["about"]: told["says"] for told in spec["notation"]["told"]} | {"": ""}
            assert judged == {"status": case["outcome"], "says": about[case.get("about", "")]}, case


def sharding_spec(expected):
    """What a page would get for a question with this answer and no planted mistake."""
    plain = spellings(expected)
    return {"kind": "sharding", "value": plain[0], "accepts": plain, "notation": notation(expected)}


def test_answers_are_judged_alike():
    asked = []
    for e in (e.page or e for e in exercises()):
        spec = page_spec(e.key)
        answers = [m["value"] for m in spec["mistakes"]]
        if e.kind == "number":
            right = spec["value"]
            answers += [right * factor for factor in FACTORS] + [math.floor(right), math.ceil(right) + 1]
        asked += [(e, spec, answer) for answer in answers]
    judged = in_node(asked=[(spec, answer) for _, spec, answer in asked])["judged"]
    for (e, _, answer), there in zip(asked, judged, strict=True):
        here = check_exercise(e, answer)
        assert there == {"status": "right" if here.passed else "wrong", "says": here.hint}, (e.key, answer)
