"""Groups of devices in HLO, in every way XLA writes them, and the mesh axes they lie along."""

import itertools
import math
import re
from collections.abc import Mapping

import numpy as np

from scaling_lib.referee.devices import axis_sizes
from scaling_lib.referee.hlo_text import HloError


def groups_of(ins, n_devices):
    mesh = re.search(r"replica_groups=(mesh\[.*?\](?:, device_ids=\(.*?\))? \{.*?\})(?:,|$)", ins.attrs)
    text = mesh[1] if mesh else ins.needs("replica_groups")
    try:
        groups = parse_groups(text, n_devices)
    except HloError as error:
        raise HloError(f"line {ins.line}: %{ins.name}: {error}") from None
    devices = [d for g in groups for d in g]
    _check_devices(ins, devices, n_devices)
    if len(set(devices)) < len(devices):
        raise HloError(f"line {ins.line}: %{ins.name}: groups {text} name a device twice")
    return groups


def _check_devices(ins, devices, n_devices):
    outside = [d for d in devices if not 0 <= d < n_devices]
    if outside:
        raise HloError(f"%{ins.name}: {outside} name a device outside the module's {n_devices}")


def check_shapes(ins, operands, groups):
    """Refuse an all-gather or reduce-scatter whose result is not its operand times, or over, the size of a group."""
    sizes = {len(g) for g in groups}
    n, k = max(sizes), int(ins.needs("dimensions").strip("{}"))
    results = ins.arrays[len(operands) if ins.opcode.endswith("-start") else 0 :]  # a start's tuple has both
    for operand, result in zip(operands, results[: len(operands)], strict=True):
        small, large = (operand, result) if ins.opcode.startswith("all-gather") else (result, operand)
        whole = (*small.dims[:k], n * small.dims[k], *small.dims[k + 1 :])
        if len(sizes) > 1 or large.dims != whole or large.dtype != small.dtype:
            raise HloError(
                f"%{ins.name}: {ins.opcode} of {operand} to {result} does not fit groups such as {groups[0]}"
            )


def parse_groups(text, n_devices):
    """Replica groups as lists of device numbers.

    >>> parse_groups("{{0,2},{1,3}}", 4)
    [[0, 2], [1, 3]]
    >>> parse_groups("[2,2]<=[4]", 4), parse_groups("[2,2]<=[2,2]T(1,0)", 4)
    ([[0, 1], [2, 3]], [[0, 2], [1, 3]])
    >>> parse_groups("mesh['X'=2,'Y'=2] {'X'}", 4), parse_groups("{}", 2)
    ([[0, 2], [1, 3]], [[0, 1]])
    >>> parse_groups("mesh['a'=4] {'a':(1)2}", 4)
    [[0, 2], [1, 3]]
    """
    text = text.strip()
    iota = re.fullmatch(r"\[(\d+),(\d+)\](<=\[.*)", text)
    if iota:
        n, size, devices = int(iota[1]), int(iota[2]), iota_devices(iota[3])
        if n * size != devices.size:
            raise HloError(f"replica groups {text!r}: {n} groups of {size} for {devices.size} devices")
        return devices.reshape(n, size).tolist()
    if text.startswith("mesh["):
        return _mesh_groups(text)
    if re.fullmatch(r"\{(\{[\d,\s]*\},?\s*)*\}", text):
        groups = [[int(d) for d in g.split(",")] for g in re.findall(r"\{([\d,\s]+)\}", text)]
        return groups or [list(range(n_devices))]
    raise HloError(f"replica groups {text!r} are in no form known here")


def iota_devices(text):
    """Device numbers in the order that `<=[2,4]T(1,0)` writes them."""
    match = re.fullmatch(r"<=\[([\d,]+)\](?:T\(([\d,]+)\))?", text)
    if not match:
        raise HloError(f"device list {text!r} is in no form known here")
    dims = [int(d) for d in match[1].split(",")]
    order = [int(p) for p in match[2].split(",")] if match[2] else list(range(len(dims)))
    if sorted(order) != list(range(len(dims))):
        raise HloError(f"device list {text!r}: T({match[2]}) is no order of {len(dims)} dimensions")
    return np.arange(math.prod(dims)).reshape(dims).transpose(order)


def _mesh_groups(text):
    mesh, rest = re.match(r"mesh\[(.*?)\](.*)", text).groups()
    sizes = {name: int(n) for name, n in re.findall(r"'?([\w.-]+)'?=(\d+)", mesh)}
    devices = np.arange(math.prod(sizes.values()))
    listed = re.match(r", device_ids=\((.*?)\) \{", rest)
    if listed and listed[1].startswith("["):
        devices = iota_devices("<=" + listed[1]).ravel()
    elif listed:
        devices = np.array([int(d) for d in listed[1].split(",")])
    if len(devices) != math.prod(sizes.values()):
        raise HloError(f"replica groups {text!r}: {len(devices)} device ids for a mesh of {math.prod(sizes.values())}")
    unknown = [name for name, *_ in _wanted_axes(rest) if name not in sizes]
    if unknown:
        raise HloError(f"replica groups {text!r}: no axis {unknown[0]!r} in the mesh {', '.join(sizes)}")
    # A sub-axis 'a':(p)k is the middle of axis a split into (p, k, rest): split every axis so, and pick the parts.
    shape, grouped = [], {}
    wanted = _wanted_axes(rest)
    for name, n in sizes.items():
        parts = [(int(p), int(k)) for w, p, k in wanted if w == name and p]
        cuts = sorted({1, n, *(p for p, _ in parts), *(p * k for p, k in parts)})
        for before, after in itertools.pairwise(cuts):
            for order, (w, p, k) in enumerate(wanted):
                if w == name and (not p or int(p) <= before < int(p) * int(k)):
                    grouped[len(shape)] = order
            shape.append(after // before)
    inner = sorted(grouped, key=grouped.get)
    outer = [k for k in range(len(shape)) if k not in grouped]
    size = math.prod(shape[k] for k in inner)
    return devices.reshape(shape).transpose(outer + inner).reshape(-1, size).tolist()


def _wanted_axes(rest):
    return re.findall(r"'?([\w.-]+)'?(?::\((\d+)\)(\d+))?", rest[rest.rindex("{") + 1 : rest.rindex("}")])


def pairs_of(ins, n_devices):
    text = ins.needs("source_target_pairs")
    if not re.fullmatch(r"\{\{\d+,\s*\d+\}(,\s*\{\d+,\s*\d+\})*\}", text):
        raise HloError(f"%{ins.name}: source_target_pairs {text!r} are no pairs of devices")
    pairs = [tuple(int(d) for d in p.split(",")) for p in re.findall(r"\{(\d+,\s*\d+)\}", text)]
    _check_devices(ins, [d for pair in pairs for d in pair], n_devices)
    return pairs


def mesh_sizes(mesh, n_devices):
    if mesh is None:
        return None
    if not isinstance(getattr(mesh, "shape", mesh), Mapping):
        raise HloError(f"mesh: got {mesh!r}; give a jax mesh, or axis sizes such as {{'X': 4, 'Y': 2}}")
    sizes = axis_sizes(mesh if isinstance(mesh, Mapping) else mesh.shape)
    if math.prod(sizes.values()) != n_devices:
        has = " × ".join(f"{k}={v}" for k, v in sizes.items())
        raise HloError(f"mesh: {has} has {math.prod(sizes.values())} devices, the program was compiled for {n_devices}")
    return sizes


def axes_of_groups(groups, sizes):
    """Mesh axes, in mesh order, along which these groups lie; None where they lie along none."""
    if sizes is None:
        return None
    wanted = {frozenset(g) for g in groups}
    names = [n for n, size in sizes.items() if size > 1]
    devices = np.arange(math.prod(sizes.values())).reshape(tuple(sizes.values()))
    for count in range(len(names) + 1):
        for axes in itertools.combinations(names, count):
            last = [k for k, n in enumerate(sizes) if n in axes]
            first = [k for k in range(len(sizes)) if k not in last]
            size = math.prod(sizes[n] for n in axes)
            rows = devices.transpose(first + last).reshape(-1, size)
            if {frozenset(r) for r in rows.tolist()} == wanted:
                return axes
    return None


def axes_of_pairs(pairs, sizes):
    """Mesh axes along which senders and receivers differ."""
    if sizes is None:
        return None
    shape = tuple(sizes.values())
    moved = np.zeros(len(shape), bool)
    for source, target in pairs:
        moved |= np.array(np.unravel_index(source, shape)) != np.array(np.unravel_index(target, shape))
    return tuple(n for n, m in zip(sizes, moved, strict=True) if m)
