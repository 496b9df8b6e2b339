"""Arrays some of whose entries are illegal. Apart from units.py, for numpy.ma is slow to import and seldom needed."""

import functools

import numpy as np

from scaling_lib.units import Reason


class Masked(np.ma.MaskedArray):
    """A masked array that knows why: `.reason` holds one `Reason` code per entry, 0 where legal.

    >>> from scaling_lib.units import positive
    >>> x = positive("batch", [8, 0, float("nan")])
    >>> x
    Masked([8.0, --, --])
    >>> [Reason(code).says for code in x.reason]
    ['ok', 'zero', 'not a number']
    """

    @property
    def reason(self):
        """Reason codes, int8, of this array's shape; MASKED where an operation of numpy lost the reason."""
        codes = self._optinfo.get("reason")
        mask = np.ma.getmaskarray(self)
        if codes is None or codes.shape != self.shape:
            codes = np.full(self.shape, Reason.OK, np.int8)
        return np.where(mask & (codes == Reason.OK), np.int8(Reason.MASKED), np.where(mask, codes, np.int8(Reason.OK)))

    def __getitem__(self, index):
        item = super().__getitem__(index)
        if isinstance(item, Masked):
            item._optinfo = {"reason": self.reason[index]}
        return item

    def __array_function__(self, function, types, args, kwargs):
        keeps = _KEEPS_REASONS.get(function)
        return keeps(*args, **kwargs) if keeps else super().__array_function__(function, types, args, kwargs)

    def transpose(self, *axes):
        turned = super().transpose(*axes)
        turned._optinfo = {"reason": self.reason.transpose(*axes)}
        return turned

    @property
    def T(self):
        return self.transpose()

    def __repr__(self):
        return f"Masked({', '.join(str(self).split())})" if self.ndim == 1 else f"Masked({self})"


def _hiding(name):
    """An operator of numpy.ma that leaves NaN under the mask; numpy's own leaves one of the operands there."""
    operator = getattr(np.ma.MaskedArray, name)

    @functools.wraps(operator)
    def hiding(self, other):
        result = operator(self, other)
        if isinstance(result, Masked) and result.dtype.kind == "f":
            np.copyto(result.data, np.nan, where=result.mask)
        return result

    return hiding


for _name in ("add", "sub", "mul", "truediv", "floordiv", "pow", "radd", "rsub", "rmul", "rtruediv", "rfloordiv"):
    setattr(Masked, f"__{_name}__", _hiding(f"__{_name}__"))


def masked_array(values, reason):
    """`values`, masked where `reason` is not OK; both broadcast.

    Nothing made up stands under the mask: numbers there are NaN and words are empty, should numpy drop the mask.
    """
    shape = np.broadcast_shapes(np.shape(values), reason.shape)
    codes = np.broadcast_to(reason, shape)
    hidden = {"f": np.nan, "U": ""}.get(np.asarray(values).dtype.kind)
    shown = np.broadcast_to(values, shape) if hidden is None else np.where(codes == Reason.OK, values, hidden)
    result = np.ma.array(shown, mask=codes != Reason.OK, copy=hidden is None).view(Masked)
    result._optinfo = {"reason": codes}
    return result


def _reason(x):
    return getattr(x, "reason", np.where(np.ma.getmaskarray(x), np.int8(Reason.MASKED), np.int8(Reason.OK)))


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


def _select(conditions, choices, default=0):
    """Masked where a condition is, or what it chooses."""
    plain = [np.ma.getdata(c) for c in conditions]
    values = np.select(plain, [np.ma.getdata(c) for c in choices], np.ma.getdata(default))
    reason = np.select(plain, [_reason(c) for c in choices], _reason(default))
    for condition in map(_reason, conditions):
        reason = np.where(condition != Reason.OK, condition, reason)
    return masked_array(values, reason.astype(np.int8))


_KEEPS_REASONS = {  # instead of numpy's own, which drop the mask
    np.concatenate: _concatenate, np.broadcast_to: _broadcast_to, np.meshgrid: _meshgrid, np.where: _where,
    np.select: _select,
}  # fmt: skip
