"""How machines are put together: what data/slices.toml and data/clusters.toml say, each figure with its source."""

import dataclasses
import functools
import typing
from dataclasses import dataclass

from scaling_lib.hardware import catalog
from scaling_lib.hardware.specs import Origin
from scaling_lib.units import CatalogError, UnknownChip


@dataclass(frozen=True, kw_only=True)
class SliceRules:
    """How slices of one kind of TPU are cut from its pod; None where a rule does not exist for it.

    Attributes:
      small_shapes: every legal shape of a 2D torus; of a 3D one those below a cube.
      cube: side of the block that optical switches join; above it every A <= B <= C of whole cubes is legal,
        and every axis wraps.
      wrap_length: the one axis length that wraps on a 2D torus.
      host_shape: chips that one host drives.
      vm_chips: chips of one virtual machine in a slice that Google rents as several.
      name_prefixes, name_counts: Google's names, and whether their number counts "cores" or "chips".
      name_shape: of several shapes a name may mean the "most cubic", or "refuse".
      ici_hop_s, dcn_hop_s: fixed cost of one hop over a link, and over the data-centre network [s].
      origins: where each comes from.
    """

    small_shapes: tuple | None
    cube: int | None
    wrap_length: int | None
    host_shape: tuple | None
    vm_chips: int | None
    name_prefixes: tuple | None
    name_counts: str | None
    name_shape: str | None
    ici_hop_s: float | None
    dcn_hop_s: float | None
    origins: dict[str, Origin] = dataclasses.field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class ClusterRules:
    """How nodes of one kind of GPU are switched together; None where no source states it.

    Attributes:
      in_network_reduction: the node's switches can add (NVLS, SHARP).
      nvswitch_ports: NVLink ports of one switch chip of the node.
      switch_ports, switch_port_bytes_per_s: of one switch between nodes, one direction.
      leaf_ports_down: ports of a leaf switch that lead to network cards.
      nvlink_hop_s, scaleout_hop_s: fixed cost of one step inside a node and between nodes [s].
      origins: where each comes from.
    """

    in_network_reduction: bool | None
    nvswitch_ports: int | None
    switch_ports: int | None
    switch_port_bytes_per_s: float | None
    leaf_ports_down: int | None
    nvlink_hop_s: float | None
    scaleout_hop_s: float | None
    origins: dict[str, Origin] = dataclasses.field(repr=False, compare=False)


def slice_rules(chip):
    """`SliceRules` of a TPU; `UnknownChip` names those that have them.

    >>> from scaling_lib.hardware import chip
    >>> slice_rules(chip("tpu-v5e")).wrap_length
    16
    """
    return _rules_of(chip, slices(), "slices")


def cluster_rules(chip):
    """`ClusterRules` of a GPU; `UnknownChip` names those that have them."""
    return _rules_of(chip, clusters(), "clusters")


@functools.cache
def slices():
    """{chip name: SliceRules} of data/slices.toml."""
    return read_rules(catalog.DATA / "slices.toml", SliceRules)


@functools.cache
def clusters():
    """{chip name: ClusterRules} of data/clusters.toml."""
    return read_rules(catalog.DATA / "clusters.toml", ClusterRules)


def read_rules(path, cls):
    """{chip name: rules} of one TOML file; `CatalogError` names the file, the entry and the field at fault."""
    types = {f: typing.get_args(t)[0] for f, t in typing.get_type_hints(cls).items() if f != "origins"}
    return {name: _read(f"{path.name} [{name}]", table, cls, types) for name, table in catalog._read(path).items()}


def _read(where, table, cls, types):
    missing, unknown = [f for f in types if f not in table], [f for f in table if f not in types]
    if missing or unknown:
        complaint = "; ".join(f"{what} {', '.join(f)}" for what, f in (("missing", missing), ("unknown", unknown)) if f)
        raise CatalogError(f"{where}: {complaint}; the fields are those of {cls.__name__}")
    origins = {field: catalog._origin(f"{where} {field}", table[field]) for field in types}
    values = {field: _value(f"{where} {field}", table[field].get("value"), kind) for field, kind in types.items()}
    return cls(origins=origins, **values)


def _value(where, value, kind):
    if value is None:
        return None
    if kind is tuple and isinstance(value, list):
        return tuple(tuple(v) if isinstance(v, list) else v for v in value)
    if kind is float and type(value) in (int, float) and value > 0:
        return float(value)
    if type(value) is kind and kind is not float:
        return value
    raise CatalogError(f"{where}: value must be a {kind.__name__}, got {value!r}")


def _rules_of(chip, known, what):
    if chip.name not in known:
        raise UnknownChip(chip.name, known, of=what)
    return known[chip.name]
