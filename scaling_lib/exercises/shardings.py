"""Answers in the notation of sharded arrays: which ones mean the same, and where one cannot be read."""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import Any

from scaling_lib.sharding.grammar import NotationError, read_array, read_product
from scaling_lib.units import ScalingError

# What a plain text of the notation looks like, for Python and the page alike: an array, or two and their product.
_AXES = r"(?:[A-Z]+|\{[A-Za-z][A-Za-z0-9]*(?:,[A-Za-z][A-Za-z0-9]*)*\})"
_BELOW = rf"(?:_{_AXES})?"
_DIMENSION = rf"[A-Z][A-Za-z0-9]*{_BELOW}"
_ARRAY = rf"[A-Z][A-Za-z0-9_]*\[(?:{_DIMENSION}(?:,{_DIMENSION})*)?\](?:\{{U_{_AXES}\}})*"
NOTATION = rf"^{_ARRAY}(?:\*{_ARRAY}->{_ARRAY})?$"
NOT_READ = (
    "This is not the notation. Write it like C[I_X, K]{U_Y}: the array's name comes first, its dimensions stand in "
    "square brackets, what remains to be added in braces, and capitals matter."
)

_SUBSCRIPTS = re.compile("_?[\u2090-\u209c\u1d62-\u1d6a\u2c7c]+")  # ₓ and its like, which exist for small letters only
_QUOTES = re.compile("^[\"'`“”‘’]+|[\"'`“”‘’]+$")


def plain_sharding(text: str) -> str:
    """A sharding's text without spaces, quotes and needless braces, and with plain signs; answers.js does the same.

    Letters in braces without commas, as LaTeX writes them, are axes of one letter each; small subscripts are axes.

    >>> plain_sharding("C[ I_{X}, K ]"), plain_sharding("A[I_{X,Y}, J_{ZW}] · B[J] → C[I]"), plain_sharding("'C[Iₓ]'")
    ('C[I_X,K]', 'A[I_XY,J_ZW]*B[J]->C[I]', 'C[I_X]')
    """

    def bare(match: re.Match[str]) -> str:
        names = match[1].split(",")
        letters = all(len(name) == 1 for name in names) or re.fullmatch("[A-Z]+", match[1])
        return "".join(names) if letters else match[0]

    text = _SUBSCRIPTS.sub(lambda run: "_" + _normal(run[0].strip("_")).upper().replace("Γ", "Y"), text)
    text = _QUOTES.sub("", re.sub(r"\s+", "", _normal(text)))
    text = re.sub(r"[·@×]", "*", text).replace("→", "->")
    return re.sub(r"(?<=_)\{([^}]*)\}", bare, text)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def notation(expected: str) -> dict[str, Any]:
    """What the page needs to read an answer in the notation, and to tell what is wrong with it.

    Keys: pattern, of a plain text that can be read; unread, what to say to any other; told, in this order, what to say
    to a wrong one that matches a pattern.

    >>> [told["about"] for told in notation("C[I_X, K]")["told"] if re.search(told["pattern"], "W[K_X,I]")]
    ['name', 'dimensions', 'I cut', 'K cut']
    """
    return {
        "pattern": NOTATION,
        "unread": NOT_READ,
        "told": [] if "->" in plain_sharding(expected) else _told(expected),
    }


def _told(expected: str) -> list[dict[str, str]]:
    array = read_array(expected)
    name, dims = array.name.name, [dim.name for dim, _ in array.dims]
    whole = rf"{name}\[{','.join(dim + _BELOW for dim in dims)}\]"
    listed = " and ".join(dims) if len(dims) < 3 else ", ".join(dims)
    told = {
        "twice": (
            r"^(?!.*->).*\[.*_[A-Z]*([A-Z])[A-Z]*(?:\1|.*_[A-Z]*\1)",
            "An axis can stand only once: either it cuts one dimension, or sums over it remain.",
        ),
        "name": (rf"^(?!{name}\[)", f"The array is called {name}."),
        "dimensions": (rf"^(?!{whole})", f"{name} has the dimensions {listed}, in this order."),
        "sums": (
            (r"^(?!.*\{U_)", "Each chip has only its share of the sums: say over which axis, in braces at the end.")
            if array.unreduced
            else (r"\{U_", "No partial sums remain here: no braces at the end.")
        ),
    }
    right = plain_sharding(expected)
    for dim in dims:
        axes = re.search(rf"[\[,]{dim}(_{_AXES})?(?=[,\]])", right)[1]
        told[f"{dim} cut"] = (
            (rf"[\[,]{dim}[,\]]", f"{dim} is cut too: which axis cuts it?")
            if axes
            else (rf"[\[,]{dim}_", f"{dim} is whole: no axis cuts it.")
        )
        if axes:
            says = f"{dim} is cut, but not like that: over which axes, and in which order?"
            told[f"{dim} axes"] = (rf"[\[,]{dim}(?!{re.escape(axes)}[,\]])_", says)
    if array.unreduced:
        told["sum axes"] = ("", "Sums remain, but not over that axis.")
    return [{"about": about, "pattern": pattern, "says": says} for about, (pattern, says) in told.items()]


def what_is_wrong(plain: str, expected: str) -> str:
    """What can be told of a wrong sharding, in plain text, that no planted mistake explains; else empty."""
    return next((told["says"] for told in notation(expected)["told"] if re.search(told["pattern"], plain)), "")


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

    >>> unreadable("A[I_X, J]{X}")
    "here should be 'U_' and the axes over which parts remain to be added, not 'X'; ... (at 'X}', character 11)."
    >>> unreadable("a[i_x, j]") == NOT_READ, unreadable("A[I_X, J]")
    (True, '')
    """
    return "" if re.search(NOTATION, plain_sharding(text)) else _where(text) or NOT_READ


def _where(text: str) -> str:
    """What the reader of the notation stumbles over, and where; empty where it does not."""
    try:
        (read_product if "->" in text or "→" in text else read_array)(text)
    except NotationError as error:
        rest = error.text[error.at : error.at + 12]
        where = f"at {rest!r}, character {error.at + 1}" if rest else "at the end"
        return f"{str(error).splitlines()[0]} ({where})."
    except ScalingError as error:
        return str(error)
    return ""
