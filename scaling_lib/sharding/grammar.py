"""The grammar of `A[I_XY, J]{U_Z}`, read with the place of every name, so that an error can point at it."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from scaling_lib.units import ScalingError, UnknownAxis

LOOKS = "the notation looks like A[I_X, J], A[I_XY, J], A[I_{data,model}, J] or A[I, J]{U_X}"
LOOKS_PRODUCT = "a product looks like A[I, J_X] * B[J_X, K] -> C[I, K]"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # of an array: W_in
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")  # of a dimension: I, J2
_AXIS = re.compile(r"_*[A-Za-z][A-Za-z0-9_]*")  # of an axis in braces: data, tensor_parallel
_NAMES = {"array": _NAME, "dimension": _WORD, "mesh axis": _AXIS}
_RUN = re.compile(r"[A-Za-z]+")  # axes of one letter each: XY
_TIMES = re.compile(r"[*·@×]")
_ARROW = re.compile(r"->|→")


class NotationError(ScalingError):
    """Text that is not the notation, or an array that cannot be cut as it says; the message points at the place.

    Attributes:
      text, at: what was read, and the place in it.

    >>> print(NotationError("one closing bracket is missing", "A[I_X, J", 8))
    one closing bracket is missing
      A[I_X, J
              ^
    """

    def __init__(self, says, text, at):
        self.text, self.at = text, at
        super().__init__(f"{says}\n{caret(text, at)}")


def caret(text, at):
    """The text, and a caret under one place of it."""
    return f"  {text}\n  {' ' * at}^"


def one_line(text):
    """The text with every blank a space, so that a caret stands right."""
    return re.sub(r"\s", " ", text)


def unknown_axis(name, known, text, at):
    """The error for an axis that the mesh lacks, with a caret."""
    error = UnknownAxis(name, known, of="this mesh")
    letters = len(name) > 1 and all(letter in known for letter in name)
    hint = f" (for several axes write _{name} or _{{{','.join(name)}}})" if letters else ""
    if len(name) == 1 and not hint and any(len(axis) > 1 for axis in known):
        hint = " (a name of several letters goes in braces: _{data})"
    error.args = (f"{error}{hint}\n{caret(text, at)}",)
    error.text, error.at = text, at
    return error


def checked_names(argument, names, of):
    """Names of arrays, dimensions or mesh axes as a tuple, if they can be written.

    >>> checked_names("dims", ["I", "d_ff"], "dimension")
    Traceback (most recent call last):
    scaling_lib.units.ScalingError: dims: 'd_ff' names no dimension: possible are letters, and digits behind them
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        example = "('I', 'J')" if of == "dimension" else "('X',)"
        raise ScalingError(f"{argument}: got {names!r}; give a tuple with the name of each {of}, such as {example}")
    names = tuple(names)
    for name in names:
        if not isinstance(name, str) or not _NAMES[of].fullmatch(name):
            possible = "letters, and digits behind them" if of == "dimension" else "letters, _, and digits behind them"
            raise ScalingError(f"{argument}: {name!r} names no {of}: possible are {possible}")
    return names


@dataclass(frozen=True)
class Named:
    """A name and where it stands."""

    name: str
    at: int


@dataclass(frozen=True)
class ArrayText:
    """One array as it was written.

    Attributes:
      name: of the array.
      dims: ((dimension, its axes), ...), all `Named`.
      unreduced: the axes of {U_...}.
    """

    name: Named
    dims: tuple
    unreduced: tuple


def read_array(text):
    """One array, `A[I_X, J]`; anything after it is an error."""
    reader = _Reader(text)
    array = reader.array()
    reader.end()
    return array


def read_operands(text):
    """The two arrays of `A[I, J] * B[J, K]`; an arrow may follow, and whatever stands behind it."""
    reader = _Reader(text, "operands look like A[I, J] * B[J, K]")
    operands = reader.operands()
    if not reader.take(_ARROW):
        reader.end()
    return operands


def read_product(text):
    """Two arrays and their product, `A[I, J] * B[J, K] -> C[I, K]`."""
    reader = _Reader(text, LOOKS_PRODUCT)
    a, b = reader.operands()
    reader.sign(_ARROW, "'->' and the product")
    c = reader.array()
    reader.end()
    return a, b, c


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text, looks=LOOKS):
        if not isinstance(text, str):
            raise ScalingError(f"text: got {text!r} ({type(text).__name__}); {looks}")
        self.text, self.looks = one_line(text), looks
        self.at = 0

    def array(self):
        name = self.word(_NAME, "the name of an array, such as A")
        self.sign(re.compile(r"\["), "'[' and the dimensions")
        dims = []
        while not self.take(re.compile(r"\]")):
            if dims:
                self.sign(re.compile(","), "',' or ']'")
            dims.append(self.dimension())
        array = ArrayText(name, tuple(dims), self.unreduced())
        _check(array, self.text)
        return array

    def operands(self):
        a = self.array()
        self.sign(_TIMES, "'*' and the second array")
        return a, self.array()

    def dimension(self):
        name = self.word(_WORD, "the name of a dimension, such as I")
        return name, self.axes() if self.take(re.compile("_")) else ()

    def axes(self):
        """What follows an underscore: letters, or names in braces."""
        if not self.take(re.compile(r"\{")):
            run = self.word(_RUN, "a mesh axis, such as X, or several in braces")
            if self.at < len(self.text) and self.text[self.at].isdigit():
                raise self.fault("a name that is not one letter goes in braces: I_{X1}")
            return tuple(Named(letter, run.at + i) for i, letter in enumerate(run.name))
        names = [self.word(_AXIS, "a mesh axis")]
        while not self.take(re.compile(r"\}")):
            self.sign(re.compile(","), "',' or '}'")
            names.append(self.word(_AXIS, "a mesh axis"))
        return tuple(names)

    def unreduced(self):
        found = ()
        while self.take(re.compile(r"\{")):
            self.sign(re.compile("U(?=_)"), "'U_' and the axes over which parts remain to be added")
            self.sign(re.compile("_"), "'_'")
            found += self.axes()
            self.sign(re.compile(r"\}"), "'}'")
        return found

    def word(self, pattern, what):
        self.blank()
        match = pattern.match(self.text, self.at)
        if not match:
            raise self.fault(f"here should be {what}")
        named = Named(match[0], self.at)
        self.at = match.end()
        return named

    def sign(self, pattern, what):
        if not self.take(pattern):
            raise self.fault(f"here should be {what}")

    def take(self, pattern):
        self.blank()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return bool(match)

    def end(self):
        self.blank()
        if self.at < len(self.text):
            raise self.fault("nothing should follow here")

    def blank(self):
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def fault(self, says):
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end of the text"
        return NotationError(f"{says}, not {found}{self._foreign()}; {self.looks}", self.text, self.at)

    def _foreign(self):
        """A hint where a letter stands that is none of A to Z: a subscript of its own."""
        char = self.text[self.at : self.at + 1]
        if char.isascii() or not char.isalnum():
            return ""
        plain = unicodedata.normalize("NFKC", char).upper()
        meant = f": I_{plain}" if plain.isascii() else ""
        return f" (names are of ASCII letters and digits, and axes stand behind an underscore{meant})"


def _check(array, text):
    """Each dimension once, each axis once."""
    seen = set()
    for dim, _ in array.dims:
        if dim.name in seen:
            says = f"dimension {dim.name} stands twice in {array.name.name}: give each dimension a name of its own"
            raise NotationError(says, text, dim.at)
        seen.add(dim.name)
    used = {}
    for dim, axes in (*array.dims, (None, array.unreduced)):
        for axis in axes:
            if axis.name in used:
                raise NotationError(_twice(array.name.name, axis.name, used[axis.name], dim), text, axis.at)
            used[axis.name] = dim


def _twice(array, axis, first, second):
    """What to say of an axis that stands twice."""
    if first is second:
        where = f"stands twice on {first.name}" if first else "stands twice behind U"
        return f"axis {axis} of {array} {where}: once is enough (names of several letters go in braces: I_{{data}})"
    if second is None:
        return (
            f"axis {axis} shards {first.name} of {array} and is unreduced too: a chip along {axis} holds either its "
            "own part of a dimension or a partial sum of the whole; leave one of the two out"
        )
    return (
        f"axis {axis} shards both {first.name} and {second.name} of {array}: a mesh axis can cut an array along one "
        f"dimension only; leave it off one of them, or use another axis"
    )
