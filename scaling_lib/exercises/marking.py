"""What an instructor's grader fixes before a submission's first cell runs: that it marks, and whose numbers count."""

from __future__ import annotations

import os
import sys
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from scaling_lib.exercises.draws import TICKET, is_spoilt_ticket
from scaling_lib.units import ScalingError

# As the process began: what a cell of the notebook sets later changes nothing.
_NAMES = ("NBGRADER_EXECUTION", "SCALING_MARKED")
_AT_START = MappingProxyType({name: os.environ.get(name, "") for name in _NAMES})
_PACKAGE = __package__ or "scaling_lib.exercises"


def is_marked() -> bool:
    """True while nbgrader grades, or where SCALING_MARKED said so at the start: no diagnosis gives the answer away."""
    return _AT_START["NBGRADER_EXECUTION"] == "autograde" or bool(_AT_START["SCALING_MARKED"])


def whose(student: str | None = None) -> str | None:
    """The student whose numbers count; None for the book's.

    While marking it is the one whose ticket SCALING_MARKED held at the start (without a ticket: the book's numbers),
    whatever is asked for here. Otherwise the student asked for, else the environment's SCALING_STUDENT.

    Raises:
      ScalingError: the student is no text, or a ticket that was not copied whole.
    """
    if is_marked():
        fixed = _AT_START["SCALING_MARKED"]
        return fixed if fixed.startswith(TICKET) else None
    if student is not None and not isinstance(student, str):
        raise ScalingError(f'student is {student!r}, must be a text: a ticket, or any word of your own such as "again"')
    name, student = ("student", student) if student else ("SCALING_STUDENT", os.environ.get("SCALING_STUDENT"))
    if student and is_spoilt_ticket(student):
        raise ScalingError(
            f"{name} is {student!r}, which looks like a ticket but is none: copy the whole of it, "
            f"'{TICKET}' and the 36 digits and letters that follow"
        )
    return student or None


class Earlier:
    """Marks an answer to an earlier question: it can be used, but answers nothing once more."""


_EARLIER = {kind: type("Earlier", (Earlier, kind), {}) for kind in (str, int, float)}


def earlier(value: Any) -> Any:
    """What a question's name holds when the grader comes to its answer cell: no answer to this question yet.

    A number (numpy's too) or text can still be calculated with, as at home; a function, which has a name of its own,
    stays. Anything else is gone.

    >>> earlier(2.5) * 2, isinstance(earlier(2.5), Earlier), earlier([1])
    (5.0, True, Ellipsis)
    """
    if isinstance(value, np.generic):
        value = value.item()
    kind = next((kind for kind in _EARLIER if isinstance(value, kind)), None)
    return _EARLIER[kind](value) if kind else value if callable(value) else ...


def load_ipython_extension(shell: Any) -> None:
    """Run by the grader's kernel before the first cell: loads the exercises and makes the checks read-only.

    Assigning to a check's module or class then raises. Not a wall (this is Python), but no longer a one-liner.
    """
    from scaling_lib.exercises import exercises

    exercises()
    for name, module in list(sys.modules.items()):
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}."):
            for value in list(vars(module).values()):
                if type(value) is Sealable:
                    value.__class__ = _Sealed
            module.__class__ = _ReadOnlyModule


def _refuse(changed: Any, name: str, *value: Any) -> None:
    raise AttributeError(f"{changed.__name__}.{name}: the checks cannot be changed while they are marked")


class _ReadOnlyModule(ModuleType):
    __setattr__ = __delattr__ = _refuse


class Sealable(type):
    """The class of classes that become read-only with the modules."""


class _Sealed(Sealable):
    __setattr__ = __delattr__ = _refuse
