"""What an instructor's grader fixes before a submission's first cell runs: that it marks, and whose numbers count."""

from __future__ import annotations

import os
import sys
from types import MappingProxyType, ModuleType
from typing import Any

from scaling_lib.exercises.draws import TICKET
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
    """
    if is_marked():
        fixed = _AT_START["SCALING_MARKED"]
        return fixed if fixed.startswith(TICKET) else None
    if student is not None and not isinstance(student, str):
        raise ScalingError(f'student is {student!r}, must be a text: a ticket, or any word of your own such as "again"')
    return student or os.environ.get("SCALING_STUDENT") or None


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
