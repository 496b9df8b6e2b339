"""Loads the catalogue from data/*.toml: no figure of a chip stands in code, and no rule fills one in."""

import dataclasses
import datetime
import functools
import typing
from dataclasses import dataclass
from pathlib import Path

from scaling_lib.hardware.specs import ABSENT, KINDS, Alternate, Chip, GpuChip, Origin, TpuChip
from scaling_lib.units import CatalogError, UnknownChip, positive

DATA = Path(__file__).parent / "data"
FILES = {"tpus.toml": TpuChip, "gpus.toml": GpuChip}
TEXTS = ("title", "vendor")
ENTRY_KEYS = {"value", "kind", "source", "locator", "note", "alternates"}


@dataclass(frozen=True)
class Price:
    """What one chip cost for an hour, where, and when. Prices rot: no conclusion may rest on one alone."""

    provider: str
    chip: str
    region: str
    commitment: str
    usd_per_chip_hour: float
    date: datetime.date
    source: str
    locator: str = ""
    note: str = ""

    def __post_init__(self):
        positive("usd_per_chip_hour", self.usd_per_chip_hour)

    def __str__(self):
        return f"{self.usd_per_chip_hour:.2f} USD per chip and hour ({self.provider}, {self.commitment}, {self.date})"


def chip(name):
    """The chip of this name.

    Args:
      name: tpu-v3 v4 v5e v5p v6e 7x, each with "tpu-" before it; a100 h100 h200 b200 gb200.

    Raises:
      UnknownChip: any other name; the message lists near ones and all.

    >>> chip("tpu-v5e").hbm_bytes_per_s
    820000000000.0
    >>> chip("tpu-v5")
    Traceback (most recent call last):
    scaling_lib.units.UnknownChip: chip 'tpu-v5' is unknown: did you mean tpu-v5p, tpu-v5e, tpu-v4? known: ...
    """
    known = _chips()
    if not isinstance(name, str) or name not in known:
        raise UnknownChip(name, known)
    return known[name]


def chips():
    """All chips, in the order of the catalogue: TPUs by generation, then GPUs.

    >>> [c.name for c in chips()][:3]
    ['tpu-v3', 'tpu-v4', 'tpu-v5e']
    """
    return tuple(_chips().values())


def prices():
    """All prices of the catalogue."""
    return _prices()


def price(chip_name):
    """The latest price of a chip, or an error that says which chips have one.

    Raises:
      UnknownChip: no such chip, or it has no price.

    >>> print(price("tpu-v5e"))
    1.20 USD per chip and hour (Google Cloud, list price, 2025-02-18)
    """
    found = [p for p in _prices() if p.chip == chip(chip_name).name]
    if not found:
        priced = sorted({p.chip for p in _prices()})
        raise UnknownChip(chip_name, priced, of="prices")
    return max(found, key=lambda p: p.date)


def read_chips(path, cls):
    """{name: chip} of one TOML file; `CatalogError` names the file, the entry and the field at fault."""
    tables = _read(path)
    return {name: _read_chip(f"{path.name} [{name}]", name, table, cls) for name, table in tables.items()}


@functools.cache
def _chips():
    found = {}
    for file, cls in FILES.items():
        found.update(read_chips(DATA / file, cls))
    return found


@functools.cache
def _prices():
    return tuple(read_prices(DATA / "prices.toml"))


def read_prices(path):
    """Prices of one TOML file, each complete and of a known chip."""
    required = {f.name for f in dataclasses.fields(Price) if f.default is dataclasses.MISSING}
    for number, row in enumerate(_read(path).get("price", []), 1):
        where = f"{path.name} price {number}"
        missing = sorted(key for key in required if row.get(key) in (None, ""))
        if missing:
            raise CatalogError(
                f"{where}: {', '.join(missing)} missing; all of {', '.join(sorted(required))} are needed"
            )
        chip(row["chip"])
        yield Price(**row | {"source": _source(row["source"]), "usd_per_chip_hour": float(row["usd_per_chip_hour"])})


def _read(path):
    import tomllib  # only when the catalogue is read

    with open(path, "rb") as file:
        return tomllib.load(file)


@functools.cache
def _sources():
    return {key: f"{row['title']}, {row['url']}" for key, row in _read(DATA / "sources.toml").items()}


def _source(text):
    """A key of sources.toml written out; other text as it stands."""
    return _sources().get(text, text)


@functools.cache
def _field_types(cls):
    """{field: type} of what a TOML entry must hold: all fields but the name, the texts and the origins."""
    types = typing.get_type_hints(cls)
    fields = (f.name for f in dataclasses.fields(cls) if f.name not in ("name", "origins", *TEXTS))
    return {name: typing.get_args(types[name])[0] for name in fields}


def _read_chip(where, name, table, cls) -> Chip:
    types = _field_types(cls)
    missing = [f for f in (*TEXTS, *types) if f not in table]
    unknown = [f for f in table if f not in types and f not in TEXTS]
    if missing or unknown:
        complaint = "; ".join(f"{what} {', '.join(f)}" for what, f in (("missing", missing), ("unknown", unknown)) if f)
        raise CatalogError(f"{where}: {complaint}; the fields are those of {cls.__name__}")
    origins = {field: _origin(f"{where} {field}", table[field]) for field in types}
    values = {field: _value(f"{where} {field}", table[field], kind) for field, kind in types.items()}
    return cls(name=name, origins=origins, **{text: table[text] for text in TEXTS}, **values)


def _origin(where, entry):
    if not isinstance(entry, dict) or not ENTRY_KEYS.issuperset(entry):
        raise CatalogError(f"{where}: must be a table of {', '.join(sorted(ENTRY_KEYS))}, got {entry!r}")
    if not str(entry.get("source", "")).strip():
        raise CatalogError(f"{where}: source missing; a figure without one is not accepted")
    if entry.get("kind") not in KINDS:
        raise CatalogError(f"{where}: kind must be one of {', '.join(KINDS)}, got {entry.get('kind')!r}")
    if (entry["kind"] in ABSENT) == ("value" in entry):
        raise CatalogError(f"{where}: a value is needed, unless kind is {' or '.join(ABSENT)}, where none is possible")
    others = tuple(
        Alternate(_frozen(row.get("value")), _source(row.get("source", "")), row.get("note", ""))
        for row in entry.get("alternates", [])
    )
    if not all(other.source for other in others):
        raise CatalogError(f"{where}: an alternate has no source")
    return Origin(entry["kind"], _source(entry["source"]), entry.get("locator", ""), entry.get("note", ""), others)


def _frozen(value):
    return tuple(value) if isinstance(value, list) else value


def _value(where, entry, kind):
    value = entry.get("value")
    if value is None:
        return None
    origin = typing.get_origin(kind) or kind
    legal = {
        bool: lambda v: isinstance(v, bool),
        tuple: lambda v: isinstance(v, list) and all(type(n) is int and n > 0 for n in v),
        int: lambda v: type(v) is int and v > 0,
        float: lambda v: type(v) in (int, float) and 0 < v < float("inf"),
    }
    if not legal[origin](value):
        raise CatalogError(f"{where}: value must be a positive {origin.__name__}, got {value!r}")
    return origin(value)
