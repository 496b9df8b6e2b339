"""Figures of the book: one style, and every figure says in one sentence what it shows."""

from scaling_lib.plotting.rooflines import (
    against_measurement,
    attained_rate,
    measured_roofline,
    ridge_chart,
    roofline,
    strong_and_weak_scaling,
)
from scaling_lib.plotting.style import COLORS, Picture

__all__ = [
    "COLORS",
    "Picture",
    "against_measurement",
    "attained_rate",
    "measured_roofline",
    "ridge_chart",
    "roofline",
    "strong_and_weak_scaling",
]
