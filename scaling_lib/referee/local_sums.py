"""Sums of a compiled program that are no part of a product: what each device adds up of its own block."""

from scaling_lib.referee.hlo import complete, hlo_text
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_text import parse_module

_SAME_VALUE = ("bitcast", "copy", "reshape", "transpose", "convert")


@complete
def local_sums(compiled_or_text):
    """(elements read, elements written) of every sum over dimensions of an array that one device takes.

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
    found = []
    for visit in visits(parse_module(hlo_text(compiled_or_text))):
        ins, inside = visit.instruction, visit.computation
        if ins.opcode == "reduce" and _source(ins.operands[0], inside).opcode != "multiply":
            read = inside[ins.operands[0]].arrays[0].elements
            found += [(read, ins.arrays[0].elements)] * (visit.times or 1)
    return found


def _source(name, inside):
    ins = inside[name]
    return _source(ins.operands[0], inside) if ins.opcode in _SAME_VALUE else ins
