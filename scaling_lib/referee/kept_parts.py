"""Reduce-scatters that are written as an all-reduce of which each device keeps its own part, found in HLO."""

import itertools
import math
import re

import numpy as np

from scaling_lib.referee.hlo import complete, is_later_part, module_of
from scaling_lib.referee.hlo_groups import groups_of
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_module import bits_per_element
from scaling_lib.referee.hlo_operations import REARRANGES

_SAME_ELEMENTS = (*REARRANGES, "all-reduce-done")
_SAME_PLACES = ("copy", "convert", "all-reduce-done")
_LAID_OUT = ("bitcast", "copy", "copy-start", "copy-done", "reshape", "convert")  # of where a slice starts
_COMPUTED = {"add": np.add, "multiply": np.multiply, "clamp": lambda low, x, high: np.clip(x, low, high)}


@complete
def kept_parts(compiled_or_text):
    """For each all-reduce that `collectives_in` lists, whether its devices keep parts that differ from each other's.

    >>> kept_parts('''HloModule m, num_partitions=2
    ...
    ... ENTRY %main (x: f32[8]) -> f32[4] {
    ...   %x = f32[8]{0} parameter(0)
    ...   %r = f32[8]{0} all-reduce(%x), replica_groups={{0,1}}, to_apply=%add
    ...   %i = u32[] partition-id()
    ...   %four = u32[] constant(4)
    ...   %at = u32[] multiply(%i, %four)
    ...   ROOT %mine = f32[4]{0} dynamic-slice(%r, %at), dynamic_slice_sizes={4}
    ... }
    ...
    ... %add (a: f32[], b: f32[]) -> f32[] {
    ...   %a = f32[] parameter(0)
    ...   %b = f32[] parameter(1)
    ...   ROOT %c = f32[] add(%a, %b)
    ... }''')
    [True]
    """
    module = module_of(compiled_or_text)
    return [
        _keeps_parts(module, visit)
        for visit in visits(module)
        if visit.instruction.opcode.removesuffix("-start") == "all-reduce"
        and not visit.computation.name.startswith("all-reduce-scatter")
        and not is_later_part(visit.computation)
    ]


def _keeps_parts(module, visit):
    ins = visit.instruction
    slices = _slices(module, visit.computation, ins.name)
    if not slices or any(starts is None for _, starts, _ in slices) or len({view for *_, view in slices}) > 1:
        return False  # places in different views of the sum cannot be compared
    pairs = [pair for group in groups_of(ins, module) for pair in itertools.permutations(group, 2)]
    return all(_apart(mine, its, *pair) for mine, its in itertools.product(slices, repeat=2) for pair in pairs)


def _apart(mine, its, one, other):
    """Whether the slice `mine` of one device and the slice `its` of another have no element in common."""
    (kept, starts, _), (others, theirs, _) = mine, its
    return any(
        start[one] + n <= at[other] or at[other] + m <= start[one]
        for n, start, m, at in zip(kept.dims, starts, others.dims, theirs, strict=True)
    )


def _slices(module, inside, name, callers=(), view=()):
    """(array, where it starts, of which view) of each slice taken of a value; None if it is used otherwise too."""
    found = []
    uses = ((user, i) for user in inside.instructions.values() for i, used in enumerate(user.operands) if used == name)
    for user, i in uses:
        if user.opcode == "dynamic-slice" and i == 0:
            found.append((user.arrays[0], _starts(module, inside, user, callers), view))
            continue
        if user.opcode in _SAME_ELEMENTS:
            moved = () if user.opcode in _SAME_PLACES else ((user.opcode, user.arrays[0], user.attr("dimensions")),)
            more = _slices(module, inside, user.name, callers, view + moved)
        elif user.opcode == "fusion":
            called = module[user.callee("calls")]
            more = _slices(module, called, called.parameters[i].name, (*callers, (inside, user)), view)
        else:
            more = None
        if not more:
            return None
        found += more
    return found


def _starts(module, inside, ins, callers):
    """Where a dynamic-slice starts, along each dimension an array with a number for each device; None: not known."""
    whole, size = inside[ins.operands[0]].arrays[0].dims, ins.arrays[0].dims
    indices = [_numbers(module, inside, name, callers) for name in ins.operands[1:]]
    if any(at is None or at[0].size != 1 for at in indices) or len(indices) != len(size):
        return None
    return [np.clip(at.ravel(), 0, n - kept) for at, n, kept in zip(indices, whole, size, strict=True)]


def _numbers(module, inside, name, callers):
    """What integers each device has there, an array [devices, *its shape]; None where they depend on anything else."""
    ins = inside[name]
    shape = (module.n_devices, *ins.arrays[0].dims)
    if ins.opcode == "parameter" and callers:
        outside, call = callers[-1]
        return _numbers(module, outside, call.operands[int(ins.argument)], callers[:-1])
    if ins.opcode in ("partition-id", "replica-id"):
        replica, partition = np.divmod(np.arange(module.n_devices), module.n_partitions)
        return partition if ins.opcode == "partition-id" else replica
    if ins.opcode == "constant":
        numbers = np.array([int(n) for n in re.findall(r"-?\d+", ins.argument)])
        return np.broadcast_to(numbers.reshape(shape[1:]), shape) if numbers.size == math.prod(shape[1:]) else None
    if ins.opcode == "dynamic-slice":
        return _looked_up(module, inside, ins, callers)
    moved = ins.opcode == "bitcast" and math.prod(shape[1:]) > 1  # perhaps, if the layouts differ
    if moved or ins.opcode not in (*_LAID_OUT, *_COMPUTED):
        return None
    given = [_numbers(module, inside, operand, callers) for operand in ins.operands]
    if any(numbers is None or numbers.size != math.prod(shape) for numbers in given):
        return None
    made = given[0] if ins.opcode in _LAID_OUT else _COMPUTED[ins.opcode](*given)
    return made.reshape(shape) if _fit(made, ins.arrays[0].dtype) else None


def _fit(numbers, dtype):
    """Whether these integers are none too large for their type."""
    bits = bits_per_element(dtype) - (dtype[0] == "s")
    return dtype[0] in "su" and -(2**bits) * (dtype[0] == "s") <= numbers.min() and numbers.max() < 2**bits


def _looked_up(module, inside, ins, callers):
    """What a dynamic-slice takes out of a table that is known."""
    table = _numbers(module, inside, ins.operands[0], callers)
    starts = _starts(module, inside, ins, callers)
    if table is None or starts is None:
        return None
    size = ins.arrays[0].dims
    found = [
        of[tuple(slice(at, at + n) for at, n in zip(start, size, strict=True))]
        for of, start in zip(table, np.transpose(starts), strict=True)
    ]
    return np.stack(found)
