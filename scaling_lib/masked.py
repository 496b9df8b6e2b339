"""Arrays some of whose entries are illegal. Apart from units.py, for numpy.ma is slow to import and seldom needed."""

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
        return np.where(mask & (codes == Reason.OK), np.int8(Reason.MASKED), np.where(mask, codes, Reason.OK))

    def __getitem__(self, index):
        item = super().__getitem__(index)
        if isinstance(item, Masked):
            item._optinfo = {"reason": self.reason[index]}
        return item

    def __array_function__(self, function, types, args, kwargs):
        if function is np.concatenate:  # numpy's own drops the mask
            arrays, *rest = args
            reasons = [getattr(a, "reason", np.where(np.ma.getmaskarray(a), Reason.MASKED, Reason.OK)) for a in arrays]
            values = np.concatenate([np.ma.getdata(a) for a in arrays], *rest, **kwargs)
            return masked_array(values, np.concatenate(reasons, *rest, **kwargs).astype(np.int8))
        return super().__array_function__(function, types, args, kwargs)

    def transpose(self, *axes):
        turned = super().transpose(*axes)
        turned._optinfo = {"reason": self.reason.transpose(*axes)}
        return turned

    @property
    def T(self):
        return self.transpose()

    def __repr__(self):
        return f"Masked({', '.join(str(self).split())})" if self.ndim == 1 else f"Masked({self})"


def masked_array(values, reason):
    """`values`, masked where `reason` is not OK; both broadcast."""
    shape = np.broadcast_shapes(np.shape(values), reason.shape)
    codes = np.broadcast_to(reason, shape)
    result = np.ma.array(np.broadcast_to(values, shape), mask=codes != Reason.OK, copy=True).view(Masked)
    result._optinfo = {"reason": codes}
    return result
