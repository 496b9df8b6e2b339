"""Collectives and FLOPs of a compiled program, read from its HLO: what XLA really does, on one device."""

import functools
import re
from dataclasses import dataclass, field, replace

from scaling_lib.referee.hlo_flops import NO_RULE, flops_of, target
from scaling_lib.referee.hlo_groups import (
    axes_of_groups,
    axes_of_pairs,
    groups_of,
    mesh_sizes,
    pairs_of,
)
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_module import Array, HloError, Module, bits_per_element
from scaling_lib.referee.hlo_operations import COLLECTIVES
from scaling_lib.referee.hlo_shapes import check_copies, check_shapes
from scaling_lib.referee.hlo_text import parse_module
from scaling_lib.units import ScalingError


@dataclass(frozen=True, repr=False)
class Collective:
    """One collective of a compiled program.

    `elements` and `bytes` are of the array that the library's time functions take: the whole array of one group before
    scattering or after gathering (all-reduce and all-to-all: the whole array; permute: what one device sends).
    """

    op: str
    elements: int
    bytes: int
    axes: tuple[str, ...] | None  # names of the mesh's axes; None: no mesh given, or no axes fit
    times: int | None  # how often it runs; None: a loop with a count not in the text
    dtype: str = ""
    group_size: int = 1
    arrays: int = 1  # more than one where XLA merged several into one
    note: str = ""
    pairs: tuple = field(default=(), compare=False)  # (sender, receiver) of a permute

    def __repr__(self):
        axes = "?" if self.axes is None else ", ".join(self.axes) or "-"
        times = "× ?" if self.times is None else f"× {self.times}" if self.times != 1 else ""
        text = f"{self.op} over {axes}: {self.dtype}, {self.elements:,} elements, {self.bytes:,} bytes {times}".rstrip()
        return f"{text} ({self.note})" if self.note else text

    def __iter__(self):
        """The first five: ``for op, elements, bytes, axes, times in collectives_in(compiled)``."""
        return iter((self.op, self.elements, self.bytes, self.axes, self.times))


@dataclass(frozen=True)
class FlopCount:
    """FLOPs of the matrix products and convolutions that one device runs."""

    counted: int  # a lower bound where something is missing
    not_counted: tuple[str, ...] = ()  # operations and loops whose work the text does not tell

    @property
    def flops(self):
        """The count, or None where a part is not counted: never a number that is silently too small."""
        return None if self.not_counted else self.counted

    def __str__(self):
        missing = "".join(f"; not counted: {what}" for what in self.not_counted)
        return f"{self.counted:,} FLOPs a device{missing}"


def complete(read):
    """Say of text in which an instruction lacks a part that it is incomplete."""

    @functools.wraps(read)
    def reading(*args, **kwargs):
        try:
            return read(*args, **kwargs)
        except RecursionError:
            raise HloError("computations call each other too deeply to be followed") from None
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise HloError(f"the HLO text is incomplete: an instruction lacks a part of it ({error})") from error
        except ValueError as error:
            if isinstance(error, ScalingError):  # HloError among them
                raise
            raise HloError(f"the HLO text is incomplete: {error}") from error

    return reading


def hlo_text(compiled_or_text):
    """HLO text of a compiled jax function, a report with `.hlo`, or text itself."""
    if isinstance(compiled_or_text, str):
        return compiled_or_text
    if hasattr(compiled_or_text, "hlo"):
        return compiled_or_text.hlo
    if hasattr(compiled_or_text, "compile"):
        raise HloError("this is lowered, not compiled: collectives appear only in .compile()'s result")
    if not hasattr(compiled_or_text, "as_text"):
        raise HloError(f"compiled_or_text: got {type(compiled_or_text).__name__}; give jit(f).lower(...).compile()")
    return compiled_or_text.as_text()


def module_of(compiled_or_text):
    """The `Module` of what `hlo_text` takes; one that is read already is given back."""
    return compiled_or_text if isinstance(compiled_or_text, Module) else parse_module(hlo_text(compiled_or_text))


@complete
def collectives_in(compiled_or_text, mesh=None):
    """Collectives that one device takes part in, in program order, loops multiplied out.

    An asynchronous pair counts once. A reduce-scatter that the TPU compiler writes as a custom fusion (an all-reduce
    and a slice inside) is listed as what it is; so is a permute that the GPU compiler splits into send and recv, and
    an all-reduce of narrow integers that the TPU compiler packs into words.

    Args:
      compiled_or_text: result of ``jit(f).lower(...).compile()``, or its text, or a report of `compile_for_tpu`.
      mesh: jax mesh (or mapping of axis name to size, slowest first) that names the groups.

    Returns:
      list of `Collective`.

    Raises:
      HloError: the text is not compiled HLO, or is cut off; the groups do not fit the mesh, or do not number devices.
      ScalingError: mesh is no mesh.

    Assumes: every device runs the same program (SPMD); groups number devices, slowest mesh axis first.
    Source: XLA's operation semantics (openxla.org/xla/operation_semantics) and texts of three jax versions in
    tests/data/hlo.

    >>> for c in collectives_in('''HloModule m, num_partitions=8
    ...
    ... ENTRY %main (x: bf16[4,16]) -> bf16[8,16] {
    ...   %x = bf16[4,16]{1,0} parameter(0)
    ...   ROOT %g = bf16[8,16]{1,0} all-gather(%x), replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}
    ... }''', mesh={"X": 2, "Y": 4}): print(c)
    all-gather over X: bf16, 128 elements, 256 bytes
    """
    module = module_of(compiled_or_text)
    sizes = mesh_sizes(mesh, module.n_devices)
    found = []
    for visit in visits(module):
        ins, inside = visit.instruction, visit.computation
        op = _op(ins)
        if op is None or is_later_part(inside):
            continue
        collective = _collective(op, ins, inside, module, sizes)
        if visit.in_branch:
            collective = replace(collective, note=_join(collective.note, "in one branch of a conditional"))
        found.append(replace(collective, times=visit.times))
    return found


def _join(*notes):
    return "; ".join(n for n in notes if n)


def _op(ins):
    """The collective that an instruction is, or None. A send between devices is a permute, its recv a part of that."""
    if ins.opcode == "send":
        return None if ins.attr("is_host_transfer") == "true" else "collective-permute"
    op = ins.opcode.removesuffix("-start")
    return op if op in COLLECTIVES else None


def is_later_part(computation):
    """A TPU fusion that carries on an asynchronous collective which another fusion started."""
    targets = computation.call_targets
    if "AsyncCollectiveStart" in targets:
        return False
    return "AsyncCollectiveDone" in targets or computation.name.startswith("async_collective_fusion")


def _collective(op, ins, inside, module, sizes):
    _check_numbers_devices(ins, module)
    if not ins.operands:
        raise HloError(f"line {ins.line}: %{ins.name}: {ins.opcode} of nothing: the text is incomplete")
    if op == "collective-permute":
        return _permute(ins, inside, module, sizes)
    arrays = [a for name in ins.operands for a in inside[name].arrays]
    groups = groups_of(ins, module)
    check_shapes(ins, arrays, groups)
    note = ""
    if packed := _packed(ins, inside, module):
        filled = f", {arrays[0].bytes:,} bytes as whole tiles" if arrays[0].bytes > packed.bytes else ""
        note, arrays = f"added up in words: {arrays[0]}{filled}", [packed]
    if inside.name.startswith("all-reduce-scatter"):
        padded, arrays = arrays, [a for p in inside.parameters for a in p.arrays]
        op, note = "reduce-scatter", "XLA's all-reduce-scatter fusion"
        if sum(a.elements for a in padded) != sum(a.elements for a in arrays):
            note += f", padded to {padded[0]}"
    group_size = max(len(g) for g in groups)
    axes = axes_of_groups(groups, sizes)
    if axes is None and sizes:
        note = _join(note, f"groups such as {list(groups[0])} lie along no mesh axis")
    if op == "ragged-all-to-all":
        arrays, note = arrays[:1], "ragged: at most"
    whole = group_size if op in ("all-gather", "all-to-all", "ragged-all-to-all") else 1
    merged = 1 if op == "all-to-all" else len(arrays)  # its tuple form is one array in pieces
    return _of_arrays(op, arrays, whole, axes=axes, group_size=group_size, arrays=merged, note=note)


def _packed(ins, inside, module):
    """The narrow integers whose words an all-reduce adds up, each word's parts apart; None for any other operand."""
    source, added = inside[ins.operands[0]], ins.callee("to_apply")
    if len(ins.operands) != 1 or source.opcode != "bitcast" or not added:
        return None
    whole = inside[source.operands[0]]
    if whole.opcode == "custom-call" and target(whole) == "ZeroCrop":  # fills tiles up with zeros, in place
        whole = inside[whole.operands[0]]
    (narrow,), (word,) = whole.arrays, source.arrays
    parts = {a.dtype for i in module[added].instructions.values() if i.opcode == "add" for a in i.arrays}
    return narrow if narrow.dtype != word.dtype and parts == {narrow.dtype} else None


def _of_arrays(op, moved, whole, **rest):
    """`Collective` of these arrays, each `whole` times over."""
    elements = whole * sum(a.elements for a in moved)
    nbytes = -(-whole * sum(a.elements * bits_per_element(a.dtype) for a in moved) // 8)
    return Collective(op, elements, nbytes, times=1, dtype="/".join(dict.fromkeys(a.dtype for a in moved)), **rest)


def _check_numbers_devices(ins, module):
    """Refuse groups that number replicas, or partitions, where a module has several of both."""
    if min(module.n_replicas, module.n_partitions) > 1 and ins.attr("use_global_device_ids") != "true":
        raise HloError(
            f"line {ins.line}: %{ins.name}: without use_global_device_ids=true its groups do not number the devices of "
            f"{module.n_replicas} replicas × {module.n_partitions} partitions; such groups are not read here"
        )


def _permute(ins, inside, module, sizes):
    pairs, moved = pairs_of(ins, module.n_devices), _sent(ins, inside)
    note = "rows that padding left on the neighbour" if _sends_padding(ins, inside, module) else ""
    sends = any(source != target for source, target in pairs)
    if not sends:
        note = "no pairs of two devices: nothing is sent"
    axes = axes_of_pairs(pairs, sizes)
    return _of_arrays("collective-permute", moved, int(sends), axes=axes, arrays=len(moved), note=note, pairs=pairs)


def _sent(ins, inside):
    """Arrays that one device sends: every operand, or in the form that writes in place, slices of the first."""
    operands = [inside[name] for name in ins.operands]
    if ins.opcode == "send" or not any(o.is_tuple for o in operands):
        sent = operands[0].arrays if ins.opcode == "send" else [o.arrays[0] for o in operands]  # of (array, token)
        check_copies(ins, sent, sent)
        return sent
    check_copies(ins, operands[0].arrays, operands[1].arrays)
    # In place: (from, to, where to read, where to write); the last two are tuples of indices, or of tuples of such.
    slices = [tuple(int(n) for n in s.split(",")) for s in re.findall(r"\{([\d,]+)\}", ins.needs("slice_sizes"))]
    buffers = operands[0].arrays if operands[0].is_tuple else operands[0].arrays * len(slices)
    if len(buffers) != len(slices):
        raise HloError(f"line {ins.line}: %{ins.name}: {len(slices)} slices of {len(buffers)} arrays")
    return [Array(a.dtype, dims) for a, dims in zip(buffers, slices, strict=True)]


def _sends_padding(ins, inside, module):
    """Whether a permute sends what a padded all-reduce-scatter made: rows of the neighbour's part."""
    source = inside[ins.operands[0]]
    if source.opcode == "slice":
        source = inside[source.operands[0]]
    called = source.callee("calls") if source.opcode == "fusion" else None
    if not called or not called.startswith("all-reduce-scatter"):
        return False
    fused = module[called]
    reduced = [a for i in fused.instructions.values() if i.opcode == "all-reduce" for a in i.arrays]
    given = [a for p in fused.parameters for a in p.arrays]
    return sum(a.elements for a in reduced) > sum(a.elements for a in given)


@complete
def flops_in(compiled_or_text):
    """FLOPs of matrix products and convolutions on one device, loops multiplied out; element-wise work is left out.

    ``2 · (output elements) · (elements contracted for each)``. XLA's own ``cost_analysis()`` counts the body of a loop
    once; this does not. Of a conditional's branches all are counted: the result is then an upper bound.

    Args:
      compiled_or_text: as in `collectives_in`.

    Returns:
      FlopCount: `.flops`, or None there and the reason in `.not_counted`: a custom call or a loop that hides its work,
      a Fourier transform, a triangular solve, a ragged or scaled dot.

    Raises:
      HloError: the text is not compiled HLO, or is cut off.

    Assumes: a multiply-add is two FLOPs; a convolution's products with padding and holes are no work.
    Source: XLA's operation semantics (openxla.org/xla/operation_semantics), dot and convolution.

    >>> print(flops_in('''HloModule m
    ...
    ... ENTRY %main (x: f32[4,8], w: f32[8,2]) -> f32[4,2] {
    ...   %x = f32[4,8]{1,0} parameter(0)
    ...   %w = f32[8,2]{1,0} parameter(1)
    ...   ROOT %y = f32[4,2]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }'''))
    128 FLOPs a device
    """
    counted, missing = 0, []
    for visit in visits(module_of(compiled_or_text)):
        ins = visit.instruction
        flops = flops_of(ins, visit.computation)
        if flops is None:
            missing.append(ins.opcode if ins.opcode in NO_RULE else f"custom call {target(ins)}")
        elif flops and visit.times is None:
            missing.append("a loop whose count the text does not give")
        else:
            counted += flops * (visit.times or 0)
    return FlopCount(counted, tuple(dict.fromkeys(missing)))
