"""How much a step of a plan moves or computes, and how long that takes."""

import math
from dataclasses import dataclass, replace

from scaling_lib.estimate import TimeBounds
from scaling_lib.hardware import Mesh
from scaling_lib.roofline import time_bounds
from scaling_lib.sharding.costs import COLLECTIVES
from scaling_lib.sharding.product import Product
from scaling_lib.sharding.shuffle import changes, crossed, shuffle_time, sources
from scaling_lib.units import bytes_per_element
from scaling_lib.work import Work, math_dtype


@dataclass(frozen=True)
class Amounts:
    """Elements, bytes and times of one product's steps.

    Attributes:
      product, sizes, mesh, dtypes, compute: as of the plan.
    """

    product: Product
    sizes: dict
    mesh: Mesh
    dtypes: tuple
    compute: str | None = None

    @property
    def bytes(self):
        """Of the whole operands and the whole result."""
        return [self.whole_bytes(array) for array in self.product.arrays]

    def whole_bytes(self, array):
        """Of the whole of one array."""
        return bytes_per_element(self._dtype(array)) * math.prod(self.sizes[dim] for dim in array.dims)

    def work(self):
        """Of the whole product; what only one operand has and is summed over is summed before the product."""
        a, b, c = (set(array.dims) for array in self.product.arrays)
        flops = 2.0 * math.prod(size for dim, size in self.sizes.items() if dim in c or dim in a & b)
        return Work(flops, math.fsum(self.bytes), math_dtype(*self.dtypes[:2], self.compute))

    def of(self, step):
        """The step with its elements, bytes and time."""
        if step.op in ("slice", "place"):
            return step
        if step.op == "multiply":
            return replace(step, time=self._multiplied(step))
        if step.op == "sum":
            elements = sum(array.local_elements(self.sizes, self.mesh) for array in (*step.inputs, step.output))
            return replace(step, time=TimeBounds(memory_s=self.sum_s(step.output, elements)))
        elements = self.elements(step)
        nbytes = elements * bytes_per_element(self._dtype(step.output))
        if step.op == "permute":
            needs = sources(self.mesh.sizes, changes(step.inputs[0], step.output))
            axes, time = crossed(self.mesh.sizes, needs), shuffle_time(nbytes, self.mesh, needs)
            return replace(step, axes=axes, elements=elements, bytes=nbytes, time=time)
        time = COLLECTIVES[step.op](nbytes, self.mesh, step.axes)
        return replace(step, elements=elements, bytes=nbytes, time=time)

    def elements(self, step):
        """Of the whole array of one group; for a permute what one chip sends."""
        (before,) = step.inputs
        local = (step.output if step.op == "all_gather" else before).local_elements(self.sizes, self.mesh)
        return local * (self.mesh.size(step.axes) if step.op == "all_to_all" else 1)

    def sum_s(self, array, elements):
        """Seconds in which a chip sums dimensions of an array: all that it reads and writes goes through its memory."""
        return elements * bytes_per_element(self._dtype(array)) / self.mesh.chip.link_bytes_per_s("hbm")

    def _multiplied(self, step):
        arrays = (*step.inputs, step.output)
        nbytes = math.fsum(
            bytes_per_element(self._dtype(array)) * array.local_elements(self.sizes, self.mesh) for array in arrays
        )
        cutting = {axis for array in step.inputs for axes in array.axes for axis in axes}
        whole = self.work()
        parts = math.prod(self.mesh.sizes[axis] for axis in cutting)
        return time_bounds(Work(whole.flops / parts, nbytes, whole.dtype), self.mesh.chip)

    def _dtype(self, array):
        names = [other.name for other in self.product.arrays]
        return self.dtypes[names.index(array.name)]
