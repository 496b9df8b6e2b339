"""Runs a learner's function inside a check, with nothing to fear: errors, endless loops and endless output end in a
message, and what it prints never reaches the notebook (nbgrader gives no marks for a cell that writes to stderr)."""

from __future__ import annotations

import contextlib
import copy
import io
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TIME_LIMIT_S = 5.0
OUTPUT_LIMIT = 10_000


@dataclass(frozen=True)
class Outcome:
    """What one call gave: a value, or an error in words (`raised` is the error's class name)."""

    value: Any = None
    raised: str = ""
    says: str = ""


class _Stop(BaseException):
    """Ends a learner's call; not an Exception, so that `except Exception` inside it does not swallow it."""


class _Limited(io.TextIOBase):
    """A text stream that forgets what is written and stops a writer who never ends."""

    def __init__(self) -> None:
        self.left = OUTPUT_LIMIT

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.left -= len(text)
        if self.left < 0:
            raise _Stop(f"it prints more than {OUTPUT_LIMIT:,} characters")
        return len(text)


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises `_Stop` after some seconds, where the platform can: a POSIX signal in the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: Any) -> None:
        raise _Stop(f"it does not end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)  # again and again, should the first be caught
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_all(function: Callable[..., Any], cases: list[Mapping[str, Any]]) -> list[Outcome]:
    """Calls the function by position, once a case and with a copy of it, until the first limit is passed."""
    outcomes: list[Outcome] = []
    try:
        with _quiet(), _time_limit(TIME_LIMIT_S):
            for case in cases:
                outcomes.append(_call(function, case))
    except _Stop as stop:
        outcomes.append(Outcome(raised="limit", says=str(stop)))
    return outcomes


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(_Limited()), contextlib.redirect_stderr(_Limited()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _call(function: Callable[..., Any], case: Mapping[str, Any]) -> Outcome:
    try:
        return Outcome(value=function(*copy.deepcopy(dict(case)).values()))
    except _Stop:
        raise
    except KeyboardInterrupt:  # the stop button: no further case is tried
        raise _Stop("it was interrupted") from None
    except BaseException as error:  # GeneratorExit and SystemExit too: a check never raises
        return Outcome(raised=type(error).__name__, says=f"{type(error).__name__}: {_text(error)}")


def _text(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except _Stop:
        raise
    except BaseException:
        return "(no message)"
