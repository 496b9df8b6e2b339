"""How often each instruction of an HLO module runs: loops multiplied out, fusions and calls followed.

CPU modules state a loop's trip count; TPU modules do not. There the loop is run on its counters alone: the few integers
whose values the text fixes (start, step, limit), everything else unknown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scaling_lib.referee.hlo_text import Computation, Instruction, Module

_KNOWN_TRIPS = re.compile(r'known_trip_count\\?":\{\\?"n\\?":\\?"(\d+)')
_SAME_VALUE = {"copy", "bitcast", "convert", "reshape", "broadcast", "optimization-barrier", "copy-done"}
_ARITHMETIC = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b}
_HOLDS = {
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b, "NE": lambda a, b: a != b,
}  # fmt: skip
_FINISHES = ("-done", "-update")  # the second half of an operation that its start has counted


@dataclass(frozen=True)
class Visit:
    """An instruction, where it stands, and how often it runs on one device."""

    instruction: Instruction
    computation: Computation
    times: int | None  # None: a loop around it has a count the text does not fix
    in_branch: bool  # in one branch of a conditional: runs at most `times`


def visits(module: Module) -> Iterator[Visit]:
    """Every instruction that runs, in program order; one visit for each place it is called from."""
    yield from _walk(module, module.entry, 1, False, ())


def _walk(module, computation, times, in_branch, values):
    for ins in computation.instructions.values():
        if ins.opcode.endswith(_FINISHES):
            continue
        yield Visit(ins, computation, times, in_branch)
        if ins.opcode == "while":
            start = _value(module, computation, ins.operands[0], values)
            n, inside = _trips(module, ins, start)
            body, condition = module[ins.callee("body")], module[ins.callee("condition")]
            yield from _walk(module, body, _times(times, n), in_branch, (inside,))
            yield from _walk(module, condition, _times(times, None if n is None else n + 1), in_branch, (inside,))
        elif ins.opcode == "conditional":
            for callee in _branches(ins):
                yield from _walk(module, module[callee], times, True, ())
        else:
            for callee in _called(ins):
                inside = tuple(_value(module, computation, name, values) for name in ins.operands)
                yield from _walk(module, module[callee], times, in_branch, inside)


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
        return [ins.callee("to_apply")]
    if opcode in ("fusion", "async"):
        return [ins.callee("calls")]
    return ins.callees("called_computations") if opcode == "custom-call" else []


def _trips(module, ins, start):
    """Trip count of a while, and what stays fixed inside it: (count or None, values of the loop's state)."""
    first = start if isinstance(start, tuple) else None
    body, condition = module[ins.callee("body")], module[ins.callee("condition")]
    second = _root_value(module, body, (first,))
    fixed = None
    if first is not None and isinstance(second, tuple) and len(second) == len(first):
        fixed = tuple(a if a == b and not isinstance(a, tuple) else None for a, b in zip(first, second, strict=True))
    stated = _KNOWN_TRIPS.search(ins.attrs)
    if stated:
        return int(stated[1]), fixed
    if fixed is None:
        return None, None
    return _count(module, body, condition, first, second), fixed


def _count(module, body, condition, first, second):
    third = _root_value(module, body, (second,))
    sides = [_compared(module, condition, condition.root.name, (state,)) for state in (first, second, third)]
    if any(s is None for s in sides) or len({direction for direction, _, _ in sides}) > 1:
        return None
    holds = _HOLDS.get(sides[0][0])
    (_, a0, b0), (_, a1, b1), (_, a2, b2) = sides
    step = (a1 - b1) - (a0 - b0)
    if holds is None or (a2 - b2) - (a1 - b1) != step:
        return None
    gap = a0 - b0  # the loop runs while holds(gap + k * step, 0)
    if not holds(gap, 0):
        return 0
    if step == 0:
        return None
    n = abs(gap) // abs(step)
    return next((k for k in range(n, n + 3) if not holds(gap + k * step, 0) and holds(gap + (k - 1) * step, 0)), None)


def _compared(module, computation, name, values):
    """(direction, left, right) of the integer comparison that `name` is, or None."""
    ins = computation[name]
    if ins.opcode == "compare":
        left, right = (_value(module, computation, o, values) for o in ins.operands)
        both = isinstance(left, int) and isinstance(right, int)
        return (ins.attr("direction"), left, right) if both else None
    if ins.opcode in ("fusion", "call"):
        inside = tuple(_value(module, computation, o, values) for o in ins.operands)
        callee = module[_called(ins)[0]]
        return _compared(module, callee, callee.root.name, inside)
    if ins.opcode in _SAME_VALUE:
        return _compared(module, computation, ins.operands[0], values)
    return None


def _root_value(module, computation, values):
    return _value(module, computation, computation.root.name, values)


def _value(module, computation, name, values):
    """What the text fixes of a value: an int, a tuple of such, or None for everything else.

    `values` are those of the computation's parameters.
    """
    ins = computation[name]

    def of(operand):
        return _value(module, computation, operand, values)

    if ins.opcode == "constant":
        is_integer = not ins.is_tuple and ins.arrays[0].dtype[0] in "su"
        return int(ins.argument) if is_integer and re.fullmatch(r"-?\d+", ins.argument) else None
    if ins.opcode == "parameter":
        k = int(ins.argument)
        return values[k] if k < len(values) else None
    if ins.opcode == "tuple":
        return tuple(of(o) for o in ins.operands)
    if not ins.is_tuple and (ins.arrays[0].elements != 1 or ins.arrays[0].dtype[0] not in "su"):
        return None  # counters are single integers; long chains of arrays need not be followed
    if ins.opcode == "get-tuple-element":
        whole = of(ins.operands[0])
        k = int(ins.attr("index"))
        return whole[k] if isinstance(whole, tuple) and k < len(whole) else None
    if ins.opcode in _SAME_VALUE and ins.operands:
        value = of(ins.operands[0])
        return value if isinstance(value, int) or ins.opcode != "convert" else None
    if ins.opcode == "copy-start":
        return of(ins.operands[0])
    if ins.opcode in _ARITHMETIC:
        left, right = (of(o) for o in ins.operands)
        return _ARITHMETIC[ins.opcode](left, right) if isinstance(left, int) and isinstance(right, int) else None
    if ins.opcode in ("fusion", "call") and all(a.elements == 1 for a in ins.arrays):
        callee = module[_called(ins)[0]]
        return _root_value(module, callee, tuple(of(o) for o in ins.operands))
    return None
