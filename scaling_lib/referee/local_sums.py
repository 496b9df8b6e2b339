"""Sums of a compiled program that are no part of a product: what each device adds up of its own block."""

import re

from scaling_lib.referee.hlo import complete, module_of
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_module import HloError
from scaling_lib.referee.hlo_operations import REARRANGES


@complete
def local_sums(compiled_or_text):
    """(elements read, elements written) of every sum over dimensions of an array that one device takes.

    Raises:
      HloError: the text is not compiled HLO, or is cut off; a sum stands in a loop with a count not in the text.

    >>> local_sums('''HloModule m
    ...
    ... ENTRY %main (x: f32[4,8]) -> f32[4] {
    ...   %x = f32[4,8]{1,0} parameter(0)
    ...   %zero = f32[] constant(0)
    ...   ROOT %y = f32[4]{0} reduce(%x, %zero), dimensions={1}, to_apply=%add
    ... }
    ...
    ... %add (a: f32[], b: f32[]) -> f32[] {
    ...   %a = f32[] parameter(0)
    ...   %b = f32[] parameter(1)
    ...   ROOT %c = f32[] add(%a, %b)
    ... }''')
    [(32, 4)]
    """
    found, fused, module = [], {}, module_of(compiled_or_text)
    for visit in visits(module):
        ins, inside = visit.instruction, visit.computation
        if ins.opcode == "fusion":
            fused[ins.callee("calls")] = ins, inside
        if ins.opcode == "reduce" and _adds(module[ins.callee("to_apply")]):
            of = _summed(ins, inside, fused)
            if _source(*of).opcode != "multiply":
                if visit.times is None:
                    raise HloError(f"line {ins.line}: %{ins.name} runs in a loop whose count the text does not give")
                name, where = of
                found += [(where[name].arrays[0].elements, ins.arrays[0].elements)] * visit.times
    return found


def _adds(computation):
    """Whether it adds, in whatever format it hands the sum on."""
    return _source(computation.root.name, computation).opcode == "add"


def _source(name, inside):
    ins = inside[name]
    return _source(ins.operands[0], inside) if ins.opcode in REARRANGES else ins


def _summed(ins, inside, fused):
    """(name, computation) of what is summed in the end: the CPU compiler may add up windows of it first."""
    source, where = _source(ins.operands[0], inside), inside
    if source.opcode == "parameter" and where.name in fused:
        call, where = fused[where.name]
        source = _source(call.operands[int(source.argument)], where)
    return _summed(source, where, fused) if _adds_windows(source) else (ins.operands[0], inside)


def _adds_windows(ins):
    """Whether these are sums of windows that do not overlap, each element in one of them."""
    window = dict(re.findall(r"(\w+)=([^ }]+)", ins.attr("window") or ""))
    return ins.opcode == "reduce-window" and window.get("size") == window.get("stride")
