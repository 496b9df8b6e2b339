"""Random draws that are the same on every machine, Python and numpy, for ever.

numpy promises no stable streams across versions; a printed book and a graded course need them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Any

TICKET = "seed:"
_SEED = 32  # digits of a ticket's seed; four check digits follow


class Draws:
    """A stream of draws fixed by its seed (SHA-256 in counter mode).

    >>> rng = Draws("ch01.q1")
    >>> 8 <= rng.integers(8, 400) < 400
    True
    >>> Draws("a").integers(0, 10**6) == Draws("a").integers(0, 10**6)
    True
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._count = 0

    def integers(self, low: int, high: int) -> int:
        """An integer of low, …, high - 1."""
        self._count += 1
        digest = hashlib.sha256(self._seed + b"/%d" % self._count).digest()
        return low + int.from_bytes(digest) % (high - low)

    def uniform(self, low: float, high: float) -> float:
        """A float of [low, high)."""
        return low + (high - low) * self.integers(0, 2**53) / 2**53

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return options[self.integers(0, len(options))]


def ticket(secret: str, student: str) -> str:
    """The seed of one student in one course, HMAC(secret, student), and check digits that tell a slip of copying.

    The instructor's grader derives it from the submission folder's name; a student who was given the ticket sees the
    same numbers at home, with no need to know the secret. Names that differ in capitals are different students.

    >>> ticket("our secret", "alice")
    'seed:298db6921c5f5ed757c6745fbadf16d4935b'
    """
    return _with_check_digits(hmac.new(secret.encode(), student.encode(), hashlib.sha256).hexdigest()[:_SEED])


def _with_check_digits(seed: str) -> str:
    return TICKET + seed + hashlib.sha256(seed.encode()).hexdigest()[:4]


def is_spoilt_ticket(text: str) -> bool:
    """True for what looks like a ticket, or a part of one, and is none.

    >>> [is_spoilt_ticket(t) for t in ("seed:298d", "298db6921c5f5ed757c6745fbadf16d4935b", "alice", "again")]
    [True, True, False, False]
    """
    looks_like_one = re.fullmatch(f"{TICKET}.*|[0-9a-f]{{20,36}}", text.strip().casefold())
    return bool(looks_like_one) and text != _with_check_digits(text.removeprefix(TICKET)[:_SEED])


def seed_of(student: str) -> str:
    """A ticket's seed; any other name is a seed of its own, for practice."""
    return student.removeprefix(TICKET)[:_SEED] if student.startswith(TICKET) else f"name:{student}"
