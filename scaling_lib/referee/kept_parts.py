"""Reduce-scatters that are written as an all-reduce of which each device keeps its own part, found in HLO."""

import functools
import operator
import re

from scaling_lib.referee.hlo import complete, is_later_part, module_of
from scaling_lib.referee.hlo_groups import groups_of
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_operations import REARRANGES

_SAME_ELEMENTS = (*REARRANGES, "all-reduce-done")
_KEEPS_APART = (*_SAME_ELEMENTS, "copy-start", "copy-done", "clamp", "multiply", "add", "broadcast")  # of indices


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
    groups = groups_of(ins, module)
    slices = _slices(module, visit.computation, ins.name, ())
    if not slices or any(tables is None for _, tables in slices):
        return False
    whole = ins.arrays[0].bytes  # the array may be of words that hold several integers each
    return all(
        kept * len(group) <= whole and len({tuple(table[i] for table in tables) for i in group}) == len(group)
        for kept, tables in slices
        for group in groups
    )


def _slices(module, inside, name, callers):
    """(bytes, tables of where they start) of the slices that are taken of a value; None if it is used otherwise."""
    found = []
    for user in (i for i in inside.instructions.values() if name in i.operands):
        if user.opcode == "dynamic-slice" and user.operands[0] == name:
            found.append((user.arrays[0].bytes, _tables(module, inside, user.operands[1:], callers)))
            continue
        if user.opcode in _SAME_ELEMENTS:
            more = _slices(module, inside, user.name, callers)
        elif user.opcode == "fusion":
            called = module[user.callee("calls")]
            parameter = called.parameters[user.operands.index(name)].name
            more = _slices(module, called, parameter, (*callers, (inside, user)))
        else:
            more = None
        if not more:
            return None
        found += more
    return found


def _tables(module, inside, names, callers):
    """What the indices come from: for each source a tuple, one number a device; None if that cannot be told."""
    found = [_table(module, inside, name, callers) for name in names]
    return None if None in found else functools.reduce(operator.or_, found, set())


def _table(module, inside, name, callers):
    ins = inside[name]
    if ins.opcode == "parameter" and callers:
        outside, call = callers[-1]
        return _table(module, outside, call.operands[int(ins.argument)], callers[:-1])
    if ins.opcode == "partition-id":
        return {tuple(range(module.n_devices))}
    if ins.opcode == "constant":
        numbers = tuple(map(int, re.findall(r"-?\d+", ins.argument)))
        return {numbers} if len(numbers) == module.n_devices > 1 else set()
    if ins.opcode == "dynamic-slice":  # a table, looked up at the device's number
        at = _tables(module, inside, ins.operands[1:], callers)
        return _table(module, inside, ins.operands[0], callers) if at == {tuple(range(module.n_devices))} else None
    return _tables(module, inside, ins.operands, callers) if ins.opcode in _KEEPS_APART else None
