"""Chips of the catalogue and the machines made of them, every figure with its source."""

from scaling_lib.hardware.catalog import Price, chip, chips, price, prices
from scaling_lib.hardware.specs import BOUND_OF_LINK, Alternate, Chip, GpuChip, Origin, TpuChip

# Machines are loaded when they are asked for: most of the library needs chips only.
_LAZY = {
    "AxisLinks": "mesh",
    "ClusterRules": "rules",
    "GpuCluster": "cluster",
    "Mesh": "mesh",
    "MultiSlice": "interconnect",
    "SliceRules": "rules",
    "Switch": "links",
    "Torus": "links",
    "TpuSlice": "interconnect",
}

__all__ = [
    "BOUND_OF_LINK",
    "Alternate",
    "AxisLinks",
    "Chip",
    "ClusterRules",
    "GpuChip",
    "GpuCluster",
    "Mesh",
    "MultiSlice",
    "Origin",
    "Price",
    "SliceRules",
    "Switch",
    "Torus",
    "TpuChip",
    "TpuSlice",
    "chip",
    "chips",
    "price",
    "prices",
]


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(f"scaling_lib.hardware.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
