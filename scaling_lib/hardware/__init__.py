"""Chips of the catalogue, every figure with its source."""

from scaling_lib.hardware.catalog import Price, chip, chips, price, prices
from scaling_lib.hardware.specs import BOUND_OF_LINK, Alternate, Chip, GpuChip, Origin, TpuChip

__all__ = [
    "BOUND_OF_LINK",
    "Alternate",
    "Chip",
    "GpuChip",
    "Origin",
    "Price",
    "TpuChip",
    "chip",
    "chips",
    "price",
    "prices",
]
