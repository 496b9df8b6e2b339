"""Arrays some of whose entries are illegal. Apart from units.py, for numpy.ma is slow to import and seldom needed."""

import functools

import numpy as np

from scaling_lib.units import Reason


class Masked(np.ma.MaskedArray):
    """A masked array that knows why: `.reason` holds one `Reason` code per entry, 0 where legal.

    It is an answer, so its numbers cannot be set. Those of a copy can, which has the mask without the reasons.

    >>> from scaling_lib.units import positive
    >>> x = positive("batch", [8, 0, float("nan")])
    >>> x
    Masked([8.0, --, --])
    >>> [Reason(code).says for code in x.reason]
    ['ok', 'zero', 'not a number']
    """

    _codes = None  # numpy's attributes for such things follow an array even where its entries change their places

    @property
    def reason(self):
        """Reason codes, int8, of this array's shape; MASKED where an operation of numpy lost the reason."""
        codes = self._codes.reshape(self.shape) if self._is_sealed else np.zeros(self.shape, np.int8)
        known = np.where(codes == Reason.OK, np.int8(Reason.MASKED), codes)
        return np.where(np.ma.getmaskarray(self), known, np.int8(Reason.OK))

    @property
    def _is_sealed(self):
        return self._codes is not None and not self.flags.writeable

    def _sealed(self, codes):
        self._codes = codes
        self.flags.writeable = False
        return self

    def __array_wrap__(self, array, context=None, return_scalar=False):
        result = super().__array_wrap__(array, context, return_scalar)
        operands, more = (context[1][: context[0].nin], context[1][context[0].nin :]) if context else ((), ())
        return _kept(result, *operands) if operands and not more else result  # else it is an array of the caller's

    def __array_function__(self, function, types, args, kwargs):
        instead = _INSTEAD.get(function)
        return instead(*args, **kwargs) if instead else super().__array_function__(function, types, args, kwargs)

    def __getitem__(self, index):
        item = super().__getitem__(index)
        if not (self._is_sealed and isinstance(item, Masked)):
            return item
        return item._sealed(self._codes.reshape(self.shape)[index])

    def astype(self, *args, **kwargs):
        result = super().astype(*args, **kwargs)
        return result._sealed(self.reason) if self._is_sealed and isinstance(result, Masked) else result

    def __repr__(self):
        if self.ndim != 1 or self.size > np.get_printoptions()["threshold"]:
            return f"Masked({self})"
        entries = zip(self.data.tolist(), np.ma.getmaskarray(self), strict=True)
        shown = ("--" if hidden else repr(x) for x, hidden in entries)
        return f"Masked([{', '.join(shown)}])"


def _kept(result, *operands):
    """An operation's result with NaN under its mask, where numpy leaves anything, and the reasons of its operands.

    Sealed if these all are.
    """
    if not isinstance(result, np.ma.MaskedArray) or result is np.ma.masked:
        return result
    result = result.view(Masked)
    if result.flags.writeable and result.dtype.kind in "fc":
        np.copyto(result.data, np.nan, where=np.ma.getmaskarray(result))
    masked = [x for x in operands if isinstance(x, np.ma.MaskedArray)]
    if not masked or any(isinstance(x, Masked) and not x._is_sealed for x in masked):
        return result
    first, *more = map(_reason, masked)
    for codes in more:
        first = np.where(first == Reason.OK, codes, first)
    return result._sealed(np.broadcast_to(first, result.shape))


def _keeping(name):
    """An operator of numpy.ma as `_kept` wants it."""
    operator = getattr(np.ma.MaskedArray, name)
    return functools.wraps(operator)(lambda self, other: _kept(operator(self, other), self, other))


def _reducing(name):
    """A method that makes one entry of several, with whatever reasons."""
    method = getattr(np.ma.MaskedArray, name)
    return functools.wraps(method)(lambda *args, **kwargs: _kept(method(*args, **kwargs)))


def _moving(name):
    """A method that only moves entries: the reasons go with them, from places in memory like the entries' own."""
    method = getattr(np.ma.MaskedArray, name)

    @functools.wraps(method)
    def moving(self, *args, **kwargs):
        moved = method(self, *args, **kwargs)
        if not self._is_sealed:
            return moved
        codes = np.empty_like(self.data, np.int8)
        codes[...] = self.reason
        return moved._sealed(method(np.ma.array(codes), *args, **kwargs).data)

    return moving


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "pow")
for _name in (*_OPERATORS, *(f"r{name}" for name in _OPERATORS), "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Masked, f"__{_name}__", _keeping(f"__{_name}__"))
for _name in (*_OPERATORS, "mod", "and", "or", "xor"):  # in place they make a new array, as of a tuple
    setattr(Masked, f"__i{_name}__", getattr(Masked, f"__{_name}__"))
for _name in ("sum", "prod", "product", "max", "min", "mean", "std", "var", "cumsum", "cumprod", "dot"):
    setattr(Masked, _name, _reducing(_name))
for _name in ("ravel", "repeat", "reshape", "squeeze", "swapaxes", "transpose"):
    setattr(Masked, _name, _moving(_name))


def masked_array(values, reason):
    """`values`, masked where `reason` is not OK; both broadcast.

    Nothing made up stands under the mask: numbers there are NaN and words are empty, should numpy drop the mask.
    """
    shape = np.broadcast_shapes(np.shape(values), reason.shape)
    codes = np.broadcast_to(reason, shape)
    hidden = {"f": np.nan, "U": ""}.get(np.asarray(values).dtype.kind)
    shown = np.broadcast_to(values, shape) if hidden is None else np.where(codes == Reason.OK, values, hidden)
    result = np.ma.array(shown, mask=codes != Reason.OK, copy=hidden is None).view(Masked)
    return result._sealed(codes)


def _reason(x):
    return x.reason if isinstance(x, Masked) else np.where(np.ma.getmaskarray(x), np.int8(Reason.MASKED), np.int8(0))


def _concatenate(arrays, axis=0, **kwargs):
    values = np.concatenate([np.ma.getdata(a) for a in arrays], axis, **kwargs)
    return masked_array(values, np.concatenate([_reason(a) for a in arrays], axis))


def _broadcast_to(array, shape, subok=False):
    return masked_array(np.broadcast_to(np.ma.getdata(array), shape), np.broadcast_to(_reason(array), shape))


def _meshgrid(*arrays, **kwargs):
    values, reasons = (np.meshgrid(*map(part, arrays), **kwargs) for part in (np.ma.getdata, _reason))
    return tuple(map(masked_array, values, reasons))


def _where(condition, *choices):
    if not choices:
        return np.nonzero(condition)
    return _select([np.asanyarray(condition).astype(bool)], choices[:1], choices[1])


def _select(condlist, choicelist, default=0):
    """Masked where a condition is, or what it chooses."""
    plain = [np.ma.getdata(c) for c in condlist]
    values = np.select(plain, [np.ma.getdata(c) for c in choicelist], np.ma.getdata(default))
    reason = np.select(plain, [_reason(c) for c in choicelist], _reason(default))
    for condition in map(_reason, condlist):
        reason = np.where(condition != Reason.OK, condition, reason)
    return masked_array(values, reason.astype(np.int8))


_INSTEAD = {  # of numpy's own, which drop the mask or the reasons
    np.concatenate: _concatenate, np.broadcast_to: _broadcast_to, np.meshgrid: _meshgrid, np.where: _where,
    np.select: _select,
}  # fmt: skip
