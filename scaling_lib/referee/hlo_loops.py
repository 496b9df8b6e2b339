"""How often each instruction of an HLO module runs: loops multiplied out, fusions and calls followed.

CPU modules state a loop's trip count; TPU modules do not. There the loop's body is run once on stand-ins for the values
it carries. What comes back as it went in is fixed. What comes back with a constant added is a counter, and a condition
on counters can be solved. Everything else is unknown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scaling_lib.referee.hlo_module import Computation, Instruction, Module, bits_per_element

_KNOWN_TRIPS = re.compile(r'known_trip_count\\?":\{\\?"n\\?":\\?"(\d+)')
_SAME_NUMBER = {"copy", "bitcast", "reshape", "broadcast", "opt-barrier", "copy-start", "copy-done"}
_HOLDS = {
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b, "NE": lambda a, b: a != b,
}  # fmt: skip


@dataclass(frozen=True)
class Visit:
    """An instruction, where it stands, and how often it runs on one device."""

    instruction: Instruction
    computation: Computation
    times: int | None  # None: a loop around it has a count the text does not fix
    in_branch: bool  # in one branch of a conditional: runs at most `times`


@dataclass(frozen=True)
class _Carried:
    """A value of a loop's state as it stood when the iteration began, plus `by`."""

    index: int
    by: int = 0


def visits(module: Module) -> Iterator[Visit]:
    """Every instruction that runs, in program order; one visit for each place it is called from."""
    yield from _walk(module, module.entry, 1, False, ())


def _walk(module, computation, times, in_branch, given):
    known = _values(module, computation, given)
    for ins in computation.instructions.values():
        yield Visit(ins, computation, times, in_branch)
        if ins.opcode == "while":
            n, fixed = _trips(module, ins, known[ins.operands[0]])
            body, condition = (module[ins.needs(key).lstrip("%")] for key in ("body", "condition"))
            yield from _walk(module, body, _times(times, n), in_branch, (fixed,))
            yield from _walk(module, condition, _times(times, None if n is None else n + 1), in_branch, (fixed,))
        elif ins.opcode == "conditional":
            for callee in _branches(ins):
                yield from _walk(module, module[callee], times, True, ())
        else:
            for callee in _called(ins):
                yield from _walk(module, module[callee], times, in_branch, tuple(known[o] for o in ins.operands))


def _times(outer, inner):
    return None if outer is None or inner is None else outer * inner


def _branches(ins):
    two = [ins.callee(k) for k in ("true_computation", "false_computation")]
    if all(two):
        return two
    ins.needs("branch_computations")
    return ins.callees("branch_computations")


def _called(ins):
    """Computations run once where `ins` stands; not a reduction's operator, which holds scalars only."""
    opcode = ins.opcode.removesuffix("-start")
    if opcode == "call":
        return [ins.needs("to_apply").lstrip("%")]
    if opcode in ("fusion", "async"):
        return [ins.needs("calls").lstrip("%")]
    return ins.callees("called_computations") if opcode == "custom-call" else []


def _trips(module, ins, start):
    """Trip count of a while, and what stays fixed inside it: (count or None, values of the loop's state)."""
    body, condition = (module[ins.needs(key).lstrip("%")] for key in ("body", "condition"))
    stated = _KNOWN_TRIPS.search(ins.attrs)
    count = int(stated[1]) if stated else None
    if not isinstance(start, tuple):
        return count, None
    carried = tuple(_Carried(k) for k in range(len(start)))
    stays = [back == carried[k] for k, back in enumerate(_after(module, body, carried))]
    fixed = tuple(a if stay and isinstance(a, int) else None for a, stay in zip(start, stays, strict=True))
    if count is None:
        count = _count(module, body, condition, start, fixed)
    return count, fixed


def _after(module, body, state):
    """The loop's state after one iteration: as many values, each None where the text does not fix it."""
    back = _root_value(module, body, (state,))
    return back if isinstance(back, tuple) and len(back) == len(state) else (None,) * len(state)


def _count(module, body, condition, start, fixed):
    """How often the body runs, where the condition compares counters that move by a constant; else None."""
    state = tuple(_Carried(k) if value is None else value for k, value in enumerate(fixed))
    steps = {
        k: back.by
        for k, back in enumerate(_after(module, body, state))
        if isinstance(back, _Carried) and back.index == k and isinstance(start[k], int)
    }
    direction, dtype, *sides = _compared(module, condition, (state,)) or (None, None)
    if direction not in _HOLDS or any(isinstance(s, _Carried) and s.index not in steps for s in sides):
        return None
    lines = [(start[s.index] + s.by, steps[s.index]) if isinstance(s, _Carried) else (s, 0) for s in sides]
    n = _crossing(_HOLDS[direction], *lines)
    ends = [at + k * step for at, step in lines for k in (0, n or 0)]
    return n if all(_wrapped(end, dtype) == end for end in ends) else None


def _crossing(holds, left, right):
    """First k at which ``left + k · step`` no longer holds against right; None if never. Each side: (start, step)."""
    gap, step = left[0] - right[0], left[1] - right[1]
    if not holds(gap, 0):
        return 0
    if step == 0:
        return None
    n = abs(gap) // abs(step)
    return next((k for k in range(n, n + 3) if not holds(gap + k * step, 0) and holds(gap + (k - 1) * step, 0)), None)


def _compared(module, computation, given):
    """(direction, type, left, right) of the integer comparison that a condition is, or None."""
    known, ins = _values(module, computation, given), computation.root
    while ins.opcode in _SAME_NUMBER:
        ins = computation[ins.operands[0]]
    if ins.opcode == "compare":
        left, right = (known[o] for o in ins.operands)
        dtype = computation[ins.operands[0]].arrays[0].dtype
        return None if left is None or right is None else (ins.needs("direction"), dtype, left, right)
    if ins.opcode in ("fusion", "call"):
        return _compared(module, module[_called(ins)[0]], tuple(known[o] for o in ins.operands))
    return None


def _root_value(module, computation, given):
    return _values(module, computation, given)[computation.root.name]


def _values(module, computation, given):
    """What the text fixes of each value of a computation, by name; `given` are those of its parameters.

    An int, a `_Carried`, a tuple of such, or None for everything else. Each is read once, in the order of the text.
    """
    known = {}
    for ins in computation.instructions.values():
        known[ins.name] = _value(module, ins, [known[o] for o in ins.operands], given)
    return known


def _value(module, ins, operands, given):
    if ins.opcode == "parameter":
        k = int(ins.argument)
        return given[k] if k < len(given) else None
    if ins.opcode == "tuple":
        return tuple(operands)
    if not ins.is_tuple and (ins.arrays[0].elements != 1 or ins.arrays[0].dtype[0] not in "su"):
        return None  # counters are single integers
    if ins.opcode == "constant":
        return int(ins.argument) if re.fullmatch(r"-?\d+", ins.argument) else None
    if ins.opcode == "get-tuple-element":
        whole, k = operands[0], int(ins.needs("index"))
        return whole[k] if isinstance(whole, tuple) and k < len(whole) else None
    if ins.opcode in _SAME_NUMBER:
        return operands[0]
    if ins.opcode == "convert":
        return _wrapped(operands[0], ins.arrays[0].dtype) if isinstance(operands[0], int) else None
    if ins.opcode in ("add", "subtract", "multiply"):
        value = _arithmetic(ins.opcode, *operands)
        return None if value is None else _wrapped(value, ins.arrays[0].dtype)
    if ins.opcode in ("fusion", "call") and all(a.elements == 1 for a in ins.arrays):
        return _root_value(module, module[_called(ins)[0]], tuple(operands))
    return None


def _arithmetic(opcode, left, right):
    if isinstance(left, int) and isinstance(right, int):
        return {"add": left + right, "subtract": left - right, "multiply": left * right}[opcode]
    if opcode == "add" and isinstance(right, _Carried):
        left, right = right, left
    if opcode == "multiply" or not (isinstance(left, _Carried) and isinstance(right, int)):
        return None
    return _Carried(left.index, left.by + right if opcode == "add" else left.by - right)


def _wrapped(value, dtype):
    """The integer as this type holds it; of a carried value, what is added, as the smallest number with that effect."""
    size = 2 ** bits_per_element(dtype)
    if isinstance(value, _Carried):
        return _Carried(value.index, (value.by + size // 2) % size - size // 2)
    low = -size // 2 if dtype[0] == "s" else 0
    return (value - low) % size + low
