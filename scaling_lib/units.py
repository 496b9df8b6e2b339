"""Bytes per element, GB and GiB, printing of quantities, argument checks and the error classes.

Units are SI floats everywhere: bytes, seconds, FLOPs, elements, USD. A *legal* number is finite and
positive (or zero, where a quantity may vanish) and at most 1e30, so that no product of sizes overflows.
An illegal scalar raises; an illegal entry of an array is masked, with a reason code beside the mask.
"""

import enum
import math
import numbers
import operator

import numpy as np

BYTES_PER_ELEMENT = {"f32": 4.0, "bf16": 2.0, "f16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5, "fp4": 0.5}
DTYPES = tuple(BYTES_PER_ELEMENT)
LARGEST = 1e30
SMALLEST = 1e-30


class ScalingError(ValueError):
    """An argument that cannot be used: the message names it, what it got and what is possible."""


class UnknownName(ScalingError):
    """A name that is in no list; the message shows the nearest names and all that exist, or `listed` in their place."""

    kind = "name"

    def __init__(self, name, known, of="", says="is unknown", listed=""):
        import difflib  # errors only

        self.name, self.known = name, tuple(known)
        close = difflib.get_close_matches(str(name).lower(), self.known, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(close)}? " if close else ""
        of = f" for {of}" if of else ""
        super().__init__(f"{self.kind} {name!r} {says}{of}: {hint}known: {listed or ', '.join(self.known)}")


class UnknownChip(UnknownName):
    """A chip the catalogue does not have."""

    kind = "chip"


class UnknownDtype(UnknownName):
    """A dtype that is not one of `DTYPES`."""

    kind = "dtype"


class UnknownLink(UnknownName):
    """A memory level or link the chip does not have."""

    kind = "link"


class UnknownAxis(UnknownName):
    """An axis the mesh does not have."""

    kind = "axis"


class UnknownExercise(UnknownName):
    """A key no exercise has."""

    kind = "exercise"


class UnsupportedDtype(ScalingError):
    """The chip has no rate for this dtype, or none is known; the message names those it has."""


class CatalogError(ScalingError):
    """A catalogue entry is incomplete or malformed; the message names the file, the entry and the field."""


class Reason(enum.IntEnum):
    """Why an entry of an array is masked."""

    OK = 0
    NOT_A_NUMBER = 1
    INFINITE = 2
    ZERO = 3
    NEGATIVE = 4
    TOO_LARGE = 5
    TOO_SMALL = 6
    MASKED = 7  # masked already when it was given
    NOT_DIVISIBLE = 8  # by the chips that share it
    NOT_WHOLE = 9  # a part of an element

    @property
    def says(self):
        return self.name.lower().replace("_", " ")


def legal_dtype(dtype):
    """`dtype` if it is one of `DTYPES`; else `UnknownDtype`."""
    if not isinstance(dtype, str) or dtype not in BYTES_PER_ELEMENT:
        raise UnknownDtype(dtype, DTYPES)
    return dtype


def bytes_per_element(dtype):
    """Bytes of one element of `dtype` (one of f32 bf16 f16 fp8 int8 int4 fp4).

    Raises:
      UnknownDtype: any other name.

    >>> bytes_per_element("bf16"), bytes_per_element("int4")
    (2.0, 0.5)
    """
    return BYTES_PER_ELEMENT[legal_dtype(dtype)]


def positive(name, x):
    """`x` as a float, or as an array of floats, if it is a legal positive number.

    Args:
      name: the argument's name, for the message.
      x: a real number, or an array or list of real numbers.

    Returns:
      A float for a scalar; a float64 array; a `Masked` array where some entries are illegal.

    Raises:
      ScalingError: text, a bool, or a scalar that is masked or not in [1e-30, 1e30].

    >>> positive("batch", 8)
    8.0
    >>> positive("batch", "8")
    Traceback (most recent call last):
    scaling_lib.units.ScalingError: batch must be a number, got '8' (str): possible are positive numbers up to 1e+30
    """
    return _checked(name, x, SMALLEST, "positive numbers")


def non_negative(name, x):
    """As `positive`, but zero is legal.

    Raises:
      ScalingError: text, a bool, or a scalar that is masked or not in [0, 1e30].

    >>> non_negative("overhead_s", 0)
    0.0
    """
    return _checked(name, x, 0.0, "zero and positive numbers")


def at_least(name, x, least, of):
    """As `positive`, with a larger bound: `of` says what is counted.

    >>> at_least("n", [2, 0.5], 1, "numbers of chips")
    Masked([2.0, --])
    """
    return _checked(name, x, float(least), f"{of} from {least}")


def whole(name, x, of="", least=1):
    """`x` as an int, if it is a whole number of at least `least`; numpy's integers count, floats and bools do not.

    >>> whole("n", 4.0, of="slices")
    Traceback (most recent call last):
    scaling_lib.units.ScalingError: n must be a whole number of slices, 1 or more, got 4.0
    """
    number = None if isinstance(x, bool | np.bool_) or not hasattr(x, "__index__") or np.ndim(x) else operator.index(x)
    if number is None or number < least:
        raise ScalingError(f"{name} must be a whole number{of and f' of {of}'}, {least} or more, got {_short(x)}")
    return number


def wholes(given, least=1):
    """`given` as a tuple of ints, none below `least`; None where it is no sequence of whole numbers.

    >>> wholes([4, 8]), wholes((4.0, 8)), wholes(4), wholes("48")
    ((4, 8), None, None, None)
    """
    try:
        return None if isinstance(given, str) else tuple(whole("", x, least=least) for x in given)
    except (TypeError, ScalingError):
        return None


def broadcastable(**values):
    """Refuses arguments whose shapes do not broadcast against one another.

    >>> broadcastable(nbytes=[1, 2, 3], hop_latency_s=[1, 2])
    Traceback (most recent call last):
    scaling_lib.units.ScalingError: nbytes (3,), hop_latency_s (2,): these shapes do not broadcast
    """
    shapes = {name: np.shape(v) for name, v in values.items() if not isinstance(v, int | float) and np.ndim(v)}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ScalingError(f"{listed}: these shapes do not broadcast") from None


def plain(*checked):
    """Checked arguments as plain floats and arrays, and why entries are illegal.

    The formula between `plain` and `sealed` sees only legal numbers: an illegal entry is replaced by 1.

    Returns:
      (values, reason): the values in order, and None or an array of `Reason` codes of the joint shape.
    """
    reasons = [c.reason for c in checked if _is_masked(c)]
    values = tuple(c.filled(1.0) if _is_masked(c) else c for c in checked)
    if not reasons:
        return values, None
    shape = np.broadcast_shapes(*(np.shape(v) for v in values))
    reason = np.zeros(shape, np.int8)
    for codes in reasons:
        reason = np.where(reason == Reason.OK, codes, reason)
    return values, np.broadcast_to(reason, shape)


def sealed(reason, value):
    """A formula's result for the caller: a Python scalar, an array, or a `Masked` array.

    >>> (b,), reason = plain(positive("b", [4, -1]))
    >>> sealed(reason, 2 * b)
    Masked([8.0, --])
    """
    if reason is not None:
        from scaling_lib.masked import masked_array

        return masked_array(value, reason)
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        return value.item()
    return value


def _checked(name, x, least, possible):
    possible = f"{possible} up to {LARGEST:g}"
    if isinstance(x, numbers.Real) and not isinstance(x, bool | np.bool_ | np.timedelta64):
        return _checked_scalar(name, x, least, possible)
    array = _as_array(x)
    if array is None or array.dtype.kind not in "iuf":
        kind = type(x).__name__ if array is None or array.ndim == 0 else f"array of {array.dtype}"
        raise ScalingError(f"{name} must be a number, got {_short(x)} ({kind}): possible are {possible}")
    if array.ndim:
        return _checked_array(array, least)
    if _is_masked(array) and array.mask:
        why = Reason(int(getattr(array, "reason", Reason.MASKED))).says
        raise ScalingError(f"{name} is {why}, got a masked number: possible are {possible}")
    return _checked_scalar(name, array.item(), least, possible)


def _is_masked(x):
    """Whether `x` is a masked array, asked without importing numpy.ma."""
    return hasattr(x, "mask") and hasattr(x, "filled")


def _as_array(x):
    try:
        return x if _is_masked(x) else np.asarray(x)
    except (TypeError, ValueError):  # ragged lists, objects that refuse
        return None


def _checked_scalar(name, x, least, possible):
    try:
        number = float(x)
    except OverflowError:  # a whole number beyond every float
        says = Reason.TOO_LARGE.says if x > 0 else Reason.NEGATIVE.says
        raise ScalingError(f"{name} is {says}, got more digits than a float holds: possible are {possible}") from None
    if least <= number <= LARGEST:
        return number
    code = Reason(int(_reasons(np.float64(number), least)))
    raise ScalingError(f"{name} is {code.says}, got {_short(x)}: possible are {possible}")


def _checked_array(array, least):
    masked = _is_masked(array)
    values = np.asarray(array.data if masked else array, dtype=np.float64)
    if not masked and (values.size == 0 or (values.min() >= least and values.max() <= LARGEST)):  # NaN fails both
        return values
    codes = _reasons(values, least)
    if masked:
        given = array.reason if hasattr(array, "reason") else np.where(array.mask, Reason.MASKED, Reason.OK)
        codes = np.where(given != Reason.OK, given, codes).astype(np.int8)
    return sealed(codes, values)


def _reasons(values, least):
    tests = [np.isnan(values), np.isinf(values), values < 0, values > LARGEST]
    codes = [Reason.NOT_A_NUMBER, Reason.INFINITE, Reason.NEGATIVE, Reason.TOO_LARGE]
    if least > 0:
        tests += [values == 0, values < least]
        codes += [Reason.ZERO, Reason.TOO_SMALL]
    return np.select(tests, codes, Reason.OK).astype(np.int8)


def _short(x):
    try:
        text = repr(x)
    except ValueError:  # Python refuses to print a whole number of thousands of digits
        text = "more digits than can be printed"
    return text if len(text) <= 60 else text[:57] + "..."


def si(value, unit, digits=3):
    """A quantity with an SI prefix, `digits` significant digits, trailing zeros dropped.

    It is rounded once, to its digits, and then given the prefix that suits what is left.

    Raises:
      ScalingError: value is no number, or digits no whole number of them.

    >>> si(1.97e14, "FLOP/s"), si(4.88e-6, "s"), si(8.2e11, "B/s"), si(0, "s")
    ('197 TFLOP/s', '4.88 µs', '820 GB/s', '0 s')
    >>> si(123456, "B", 2)
    '120 kB'
    """
    try:
        number = float(None if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        raise ScalingError(f"value must be a number, got {_short(value)} ({type(value).__name__})") from None
    digits = whole("digits", digits, of="digits")
    if number == 0 or not math.isfinite(number):
        return f"{number:g} {unit}"
    rounded = f"{number:.{digits - 1}e}"
    exponent = int(rounded.partition("e")[2])
    step = min(max(exponent // 3, -5), 6)
    text = f"{float(rounded) / 1000.0**step:,.{max(digits - 1 - exponent + 3 * step, 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text} {'fpnµm kMGTPE'[step + 5].strip()}{unit}"


def gb(nbytes):
    """Bytes in GB = 1e9 bytes. Broadcasts.

    Raises:
      ScalingError: nbytes is negative or no number.

    >>> gb(16 * 2**30)
    17.179869184
    """
    return non_negative("nbytes", nbytes) / 1e9


def gib(nbytes):
    """Bytes in GiB = 2**30 bytes; as `gb`.

    >>> gib(16 * 2**30)
    16.0
    """
    return non_negative("nbytes", nbytes) / 2**30
