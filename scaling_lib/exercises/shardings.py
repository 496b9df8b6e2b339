"""Answers in the notation of sharded arrays: which ones mean the same, and where one cannot be read."""

from __future__ import annotations

import itertools
import re

from scaling_lib.sharding.grammar import NotationError, read_array, read_product
from scaling_lib.units import ScalingError


def plain_sharding(text: str) -> str:
    """A sharding's text without spaces and needless braces, and with plain signs; answers.js does the same.

    Letters in braces without commas, as LaTeX writes them, are axes of one letter each.

    >>> plain_sharding("C[ I_{X}, K ]"), plain_sharding("A[I_{X,Y}, J_{ZW}] · B[J] → C[I]")
    ('C[I_X,K]', 'A[I_XY,J_ZW]*B[J]->C[I]')
    """

    def bare(match: re.Match[str]) -> str:
        names = match[1].split(",")
        letters = all(len(name) == 1 for name in names) or re.fullmatch("[A-Z]+", match[1])
        return "".join(names) if letters else match[0]

    text = re.sub(r"[·@×]", "*", re.sub(r"\s+", "", text)).replace("→", "->")
    return re.sub(r"(?<=_)\{([^}]*)\}", bare, text)


def spellings(text: str) -> list[str]:
    """Every plain text that means the same: partial sums over several axes may be named in any order.

    >>> spellings("C[I_X, K]{U_YZ}")
    ['C[I_X,K]{U_YZ}', 'C[I_X,K]{U_ZY}']
    """
    return list(dict.fromkeys(_orders(plain_sharding(text))))


def _orders(text: str) -> list[str]:
    """The text with the axes of each {U_...} in every order."""
    parts = re.split(r"(?<=\{U_)([A-Za-z]+)(?=\})", text)
    orders = [["".join(p) for p in itertools.permutations(part)] if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(one) for one in itertools.product(*orders)]


def unreadable(text: str) -> str:
    """What is wrong with a text that is not the notation, and where; empty where it can be read.

    >>> unreadable("A[I_X, J_X]")
    "axis X shards both I and J of A: ... (at 'X]', character 10)."
    >>> unreadable("A[I_X, J]")
    ''
    """
    try:
        (read_product if "->" in text or "→" in text else read_array)(text)
    except NotationError as error:
        rest = error.text[error.at : error.at + 12]
        where = f"at {rest!r}, character {error.at + 1}" if rest else "at the end"
        return f"{str(error).splitlines()[0]} ({where})."
    except ScalingError as error:
        return str(error)
    return ""
