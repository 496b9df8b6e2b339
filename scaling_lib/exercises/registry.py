"""Finds exercises by key; a chapter's module is imported when first asked for."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

import scaling_lib.exercises as package
from scaling_lib.exercises.spec import Exercise, SpecFault
from scaling_lib.units import UnknownExercise

_PREFIXES = ("ch", "app_")


@cache
def chapters() -> tuple[str, ...]:
    """The chapters that have exercises, in order.

    >>> chapters()[0]
    'ch01'
    """
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted((n for n in names if n.startswith(_PREFIXES)), key=lambda n: (n.startswith("app"), n)))


@cache
def _of_chapter(chapter: str) -> dict[str, Exercise]:
    module = importlib.import_module(f"scaling_lib.exercises.{chapter}")
    found = {e.key: e for e in module.EXERCISES}
    if len(found) != len(module.EXERCISES):
        raise SpecFault(f"{chapter}: two exercises have the same key")
    if strangers := [key for key in found if not key.startswith(f"{chapter}.")]:
        raise SpecFault(f"{chapter}: holds exercises of another chapter: {strangers}")
    return found


def exercises(chapter: str | None = None) -> tuple[Exercise, ...]:
    """All exercises of one chapter, or of all.

    >>> [e.key for e in exercises("ch01") if not e.is_guess][:2]
    ['ch01.q1', 'ch01.q2']
    """
    if chapter is not None and chapter not in chapters():
        raise UnknownExercise(chapter, chapters())
    return tuple(e for c in ([chapter] if chapter else chapters()) for e in _of_chapter(c).values())


def exercise(key: str) -> Exercise:
    """The exercise of a key.

    Raises:
      UnknownExercise: no such key; the message names near ones and says how far the keys go.

    >>> exercise("ch01.q1").unit
    'FLOP/byte'
    """
    chapter = str(key).rsplit(".", 1)[0]
    known = _of_chapter(chapter) if chapter in chapters() else {}
    if key in known:
        return known[key]
    asked = [chapter] if known else chapters()
    keys = [e.key for c in asked for e in exercises(c)]
    raise UnknownExercise(key, keys, listed="; ".join(map(_extent, asked)))


def _extent(chapter: str) -> str:
    """The keys of a chapter, from the first to the last question and guess.

    >>> _extent("ch01")
    'ch01.q1 to q12, g1 to g11'
    """
    names = {"q": [], "g": []}
    for key in _of_chapter(chapter):
        name = key.rsplit(".", 1)[1]
        names[name[0]].append(name)
    ends = (
        sorted(found, key=lambda name: (int(re.sub("[^0-9]", "", name)), name)) for found in names.values() if found
    )
    return f"{chapter}." + ", ".join(f"{found[0]} to {found[-1]}" for found in ends)
