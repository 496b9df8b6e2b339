"""Figures of the book: one style, and every figure says in one sentence what it shows."""

from scaling_lib.plotting.accelerators import array_utilisation, bandwidth_ladder, tiles_and_bytes, vector_roofline
from scaling_lib.plotting.animations import elementwise_stream, systolic_array
from scaling_lib.plotting.communication import collective_knee, partitioner_choices, ways_to_multiply
from scaling_lib.plotting.film import Animation
from scaling_lib.plotting.machines import chip_drawing, cluster_drawing, slice_drawing
from scaling_lib.plotting.rings import ring_all_gather, ring_all_to_all, ring_reduce_scatter
from scaling_lib.plotting.rooflines import (
    against_measurement,
    attained_rate,
    measured_roofline,
    ridge_chart,
    roofline,
    strong_and_weak_scaling,
)
from scaling_lib.plotting.sharded import product_drawing, sharded_arrays
from scaling_lib.plotting.style import COLORS, Picture

__all__ = [
    "COLORS",
    "Animation",
    "Picture",
    "against_measurement",
    "array_utilisation",
    "attained_rate",
    "bandwidth_ladder",
    "chip_drawing",
    "cluster_drawing",
    "collective_knee",
    "elementwise_stream",
    "measured_roofline",
    "partitioner_choices",
    "product_drawing",
    "ridge_chart",
    "ring_all_gather",
    "ring_all_to_all",
    "ring_reduce_scatter",
    "roofline",
    "sharded_arrays",
    "slice_drawing",
    "strong_and_weak_scaling",
    "systolic_array",
    "tiles_and_bytes",
    "vector_roofline",
    "ways_to_multiply",
]
