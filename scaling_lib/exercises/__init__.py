"""Exercises that check themselves: in a notebook, in the page's answer box and in an instructor's grader.

>>> from scaling_lib.exercises import check, inputs
>>> inputs("ch01.q1")
b = 256, d = 4,096, f = 8,192
>>> check("ch01.q1", 234.06)
[pass] ch01.q1: right.
>>> check("ch01.q1", "0.2341 kFLOP/byte").passed
True
>>> check("ch01.q1", ...)
[todo] ch01.q1: no answer yet: give a number, in FLOP/byte.
"""

from scaling_lib.exercises.draws import Draws, ticket
from scaling_lib.exercises.engine import check, hint, inputs, marks
from scaling_lib.exercises.faults import faults
from scaling_lib.exercises.grammar import Reading, parse_answer
from scaling_lib.exercises.page import page_spec
from scaling_lib.exercises.registry import chapters, exercise, exercises
from scaling_lib.exercises.spec import Exercise, Mistake, SpecFault, Verdict

__all__ = [
    "Draws",
    "Exercise",
    "Mistake",
    "Reading",
    "SpecFault",
    "Verdict",
    "chapters",
    "check",
    "exercise",
    "exercises",
    "faults",
    "hint",
    "inputs",
    "marks",
    "page_spec",
    "parse_answer",
    "ticket",
]
