"""What HLO text is read into: a module of computations, of instructions, of arrays."""

import re
from dataclasses import dataclass, field
from functools import cached_property

from scaling_lib.units import ScalingError

_BITS = {"pred": 8, "c64": 64, "c128": 128, "bf16": 16, "token": 0, "opaque": 0}
_NUMBERS = re.compile(r"[su](1|2|4|8|16|32|64)|f(16|32|64)|f(8|4)e\dm\d(b11)?(fn|fnuz|fnu)?")


class HloError(ScalingError):
    """The text is not complete HLO of one compiled module."""


@dataclass(frozen=True)
class Array:
    """One array of an instruction's result: ``bf16[512,1024]``."""

    dtype: str
    dims: tuple[int, ...]

    @property
    def elements(self):
        n = 1
        for d in self.dims:
            n *= d
        return n

    @property
    def bytes(self):
        return -(-self.elements * bits_per_element(self.dtype) // 8)

    def __str__(self):
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


def bits_per_element(dtype):
    """Bits of one element of an HLO type.

    >>> bits_per_element("bf16"), bits_per_element("f8e4m3fn"), bits_per_element("s4")
    (16, 8, 4)
    """
    if dtype in _BITS:
        return _BITS[dtype]
    number = _NUMBERS.fullmatch(dtype)  # s32, u8, f32, f8e5m2, f4e2m1fn
    if not number:
        raise HloError(f"unknown HLO element type {dtype!r}")
    return int(number[1] or number[2] or number[3])


@dataclass(frozen=True)
class Instruction:
    name: str
    opcode: str
    arrays: tuple[Array, ...]  # the result's leaves: one array, or those of a (nested) tuple
    operands: tuple[str, ...]
    argument: str  # what stands between the brackets, as written
    attrs: str  # everything after them
    values: dict[str, str]  # the same, by key
    is_tuple: bool = False
    line: int = 0

    def attr(self, key):
        """Value of ``key=``, or None."""
        return self.values.get(key)

    def needs(self, key):
        """Value of ``key=``, which XLA writes for every such instruction."""
        if key not in self.values:
            raise HloError(f"%{self.name}: {self.opcode} without {key}=: the text is incomplete")
        return self.values[key]

    def callee(self, key):
        value = self.attr(key)
        return value.lstrip("%") if value else None

    def callees(self, key):
        value = self.attr(key)
        return tuple(v.strip().lstrip("%") for v in value.strip("{}").split(",")) if value else ()


@dataclass
class Computation:
    name: str
    instructions: dict[str, Instruction] = field(default_factory=dict)
    root: Instruction | None = None

    @cached_property
    def parameters(self):
        found = [i for i in self.instructions.values() if i.opcode == "parameter"]
        return sorted(found, key=lambda i: int(i.argument))

    @cached_property
    def call_targets(self):
        """Custom calls made here, by target."""
        return {i.attr("custom_call_target").strip('"') for i in self.instructions.values() if _is_custom(i)}

    def __getitem__(self, name):
        return self.instructions[name]


@dataclass
class Module:
    name: str
    n_replicas: int
    n_partitions: int
    computations: dict[str, Computation]
    entry: Computation

    @property
    def n_devices(self):
        return self.n_replicas * self.n_partitions

    def __getitem__(self, name):
        return self.computations[name]


def _is_custom(instruction):
    return instruction.opcode == "custom-call" and instruction.attr("custom_call_target")
