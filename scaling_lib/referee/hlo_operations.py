"""The operations of HLO that the reader knows; text with others is refused.

An operation of a later XLA may be a collective, and one that is passed over would go uncounted.
Source: XLA's own list, `xla/hlo/ir/hlo_opcode.h`; its `collective-reduce`, new there, is left out and so refused.
"""

import re

from scaling_lib.referee.hlo_module import HloError

COLLECTIVES = (
    "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "collective-permute", "ragged-all-to-all",
    "collective-broadcast",
)  # fmt: skip
_MOVES = "infeed outfeed send send-done recv recv-done copy copy-start copy-done"
_CALLS = "call while conditional fusion custom-call async-start async-update async-done map sort scan domain"
_PRODUCTS = "dot ragged-dot scaled-dot convolution fft cholesky triangular-solve"
_ONE_BY_ONE = """
abs acos acosh add and asin asinh atan atan2 atanh cbrt ceil clamp compare complex convert cosine cosh
count-leading-zeros divide erf exponential exponential-minus-one floor imag is-finite log log-plus-one logistic maximum
minimum mulhi multiply negate not or popcnt power real reduce-precision remainder round-nearest-afz round-nearest-even
rsqrt select shift-left shift-right-arithmetic shift-right-logical sign sine sinh sqrt stochastic-convert subtract tan
tanh xor
"""
_SHAPES = """
bitcast bitcast-convert broadcast concatenate dynamic-reshape dynamic-slice dynamic-update-slice gather
get-dimension-size get-tuple-element iota pad reduce reduce-window reshape reverse scatter select-and-scatter
set-dimension-size shuffle slice topk transpose tuple
"""
_OTHERS = """
add-dependency after-all batch-norm-grad batch-norm-inference batch-norm-training constant opt-barrier parameter
partition-id replica-id rng rng-bit-generator rng-get-and-update-state
"""
REARRANGES = ("bitcast", "copy", "reshape", "transpose", "convert")  # the same elements, laid out or written otherwise

OPERATIONS = frozenset(
    (*COLLECTIVES, *" ".join((_MOVES, _CALLS, _PRODUCTS, _ONE_BY_ONE, _SHAPES, _OTHERS)).split())
)  # fmt: skip


def check_operation(opcode):
    """Refuse an operation that is none of XLA's; any may come as an asynchronous part: ``slice-start``."""
    if opcode not in OPERATIONS and re.sub("-(start|update|done)$", "", opcode) not in OPERATIONS:
        raise HloError(f"unknown operation {opcode!r}: what it moves or multiplies would go uncounted")
