"""Groups of devices in HLO, in every way XLA writes them, and the mesh axes they lie along."""

import itertools
import math
import re
from functools import lru_cache

import numpy as np

from scaling_lib.referee.devices import mesh_axes
from scaling_lib.referee.hlo_module import HloError

_SENT_PAIRS = re.compile(r'_xla_send_recv_source_target_pairs="?(\{(?:\{[^{}]*\}|[,\s])*\})')


def groups_of(ins, module):
    """Replica groups of a collective as tuples of device numbers; none of them outside the module, none named twice.

    `{}` are all devices; without a channel all replicas, and where there is but one, each device by itself.
    """
    mesh = re.search(r"replica_groups=(mesh\[.*?\](?:, device_ids=\(.*?\))? \{.*?\})(?:,|$)", ins.attrs)
    text = mesh[1] if mesh else ins.needs("replica_groups")
    if text == "{}" and module.n_replicas == 1 and ins.attr("channel_id") is None:
        return tuple((device,) for device in range(module.n_devices))
    groups = _at(ins, _sound_groups, text, module.n_devices)
    named = sum(map(len, groups))
    if named < module.n_devices and ins.opcode.removesuffix("-start") != "collective-broadcast":
        says = f"groups {text} name {named} of {module.n_devices} devices, or number something else"
        raise HloError(f"line {ins.line}: %{ins.name}: {says}")
    return groups


def pairs_of(ins, n_devices):
    """(sender, receiver) of each copy that a collective-permute, or a send, makes; empty where nothing is sent."""
    sent = _SENT_PAIRS.search(ins.attrs) if ins.opcode == "send" else None
    if ins.opcode == "send" and not sent:
        raise HloError(f"line {ins.line}: %{ins.name}: a send between devices that the text does not name")
    pairs = _at(ins, _sound_pairs, sent[1] if sent else ins.needs("source_target_pairs"), n_devices)
    for does, devices in zip(("sends", "receives"), zip(*pairs, strict=True), strict=False):
        # In place, a device may send and receive several slices.
        if len(set(devices)) < len(devices) and ins.attr("slice_sizes") is None:
            raise HloError(f"line {ins.line}: %{ins.name}: a device {does} twice in {pairs}")
    return pairs


def _at(ins, read, text, n_devices):
    try:
        return read(text, n_devices)
    except HloError as error:
        raise HloError(f"line {ins.line}: %{ins.name}: {error}") from None


@lru_cache(maxsize=128)  # a module names the same few groups again and again
def _sound_groups(text, n_devices):
    groups = tuple(map(tuple, parse_groups(text, n_devices)))
    devices = [d for g in groups for d in g]
    _check_devices(devices, n_devices)
    if len(set(devices)) < len(devices):
        raise HloError(f"groups {text} name a device twice")
    return groups


@lru_cache(maxsize=128)
def _sound_pairs(text, n_devices):
    if not re.fullmatch(r"\{(\{\d+,\s*\d+\}(,\s*\{\d+,\s*\d+\})*)?\}", text):
        raise HloError(f"source_target_pairs {text!r} are no pairs of devices")
    pairs = tuple(tuple(int(d) for d in p.split(",")) for p in re.findall(r"\{(\d+,\s*\d+)\}", text))
    _check_devices([d for pair in pairs for d in pair], n_devices)
    return pairs


def _check_devices(devices, n_devices):
    outside = [d for d in devices if not 0 <= d < n_devices]
    if outside:
        raise HloError(f"{outside} name a device outside the module's {n_devices}")


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
        if cuts[0] < 1 or cuts[-1] > n or any(after % before for before, after in itertools.pairwise(cuts)):
            named = ", ".join(f"{name!r}:({p}){k}" for p, k in parts)
            raise HloError(f"replica groups {text!r}: axis {name!r} of {n} has no sub-axis {named}")
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


def mesh_sizes(mesh, n_devices):
    """Axis sizes of a jax mesh or a mapping, slowest first, whose product is the program's devices; None for None."""
    if mesh is None:
        return None
    sizes = mesh_axes(mesh)
    if math.prod(sizes.values()) != n_devices:
        has = " × ".join(f"{k}={v}" for k, v in sizes.items())
        raise HloError(f"mesh: {has} has {math.prod(sizes.values())} devices, the program was compiled for {n_devices}")
    return sizes


def axes_of_groups(groups, sizes):
    """Mesh axes, in mesh order, along which these groups lie; None where they lie along none."""
    return None if sizes is None else _axes(tuple(map(tuple, groups)), tuple(sizes.items()))


@lru_cache(maxsize=128)
def _axes(groups, sizes):
    wanted = {frozenset(g) for g in groups}
    shape = tuple(size for _, size in sizes)
    devices = np.arange(math.prod(shape)).reshape(shape)
    split = [k for k, size in enumerate(shape) if size > 1]
    for count in range(len(split) + 1):
        for inner in itertools.combinations(split, count):
            outer = [k for k in range(len(shape)) if k not in inner]
            rows = devices.transpose(*outer, *inner).reshape(-1, math.prod(shape[k] for k in inner))
            if {frozenset(r) for r in rows.tolist()} == wanted:
                return tuple(sizes[k][0] for k in inner)
    return None


def axes_of_pairs(pairs, sizes):
    """Mesh axes along which senders and receivers differ."""
    if sizes is None:
        return None
    devices = np.array(pairs, int).reshape(-1, 2)
    places = np.array(np.unravel_index(devices, tuple(sizes.values())))  # [axis, pair, sender or receiver]
    moved = (places[..., 0] != places[..., 1]).any(axis=1)
    return tuple(n for n, m in zip(sizes, moved, strict=True) if m)
