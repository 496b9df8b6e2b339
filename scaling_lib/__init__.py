"""How large language models scale on TPUs and GPUs: the library behind *Scaling by the Numbers*.

>>> import scaling_lib as sl
>>> sl.ridge_point(sl.chip("tpu-v5e"), dtype="bf16")
240.2439...
"""

from scaling_lib.estimate import TimeBounds
from scaling_lib.hardware import Chip, GpuChip, Origin, Price, TpuChip, chip, chips, price, prices
from scaling_lib.roofline import (
    attainable_flops_per_s,
    critical_batch,
    critical_contraction,
    critical_width,
    max_intensity,
    ridge_point,
    ridge_rows,
    ridge_table,
    time_bounds,
    two_chip_matmul_time,
)
from scaling_lib.units import (
    DTYPES,
    CatalogError,
    Reason,
    ScalingError,
    UnknownAxis,
    UnknownChip,
    UnknownDtype,
    UnknownExercise,
    UnknownLink,
    UnknownName,
    UnsupportedDtype,
    bytes_per_element,
    gb,
    gib,
    si,
)
from scaling_lib.work import (
    Work,
    batched_matmul_work,
    dot_work,
    elementwise_work,
    layer_norm_work,
    matmul_work,
    softmax_work,
)

__all__ = [
    "DTYPES",
    "CatalogError",
    "Chip",
    "GpuChip",
    "Origin",
    "Price",
    "Reason",
    "ScalingError",
    "TimeBounds",
    "TpuChip",
    "UnknownAxis",
    "UnknownChip",
    "UnknownDtype",
    "UnknownExercise",
    "UnknownLink",
    "UnknownName",
    "UnsupportedDtype",
    "Work",
    "attainable_flops_per_s",
    "batched_matmul_work",
    "bytes_per_element",
    "chip",
    "chips",
    "critical_batch",
    "critical_contraction",
    "critical_width",
    "dot_work",
    "elementwise_work",
    "gb",
    "gib",
    "layer_norm_work",
    "matmul_work",
    "max_intensity",
    "price",
    "prices",
    "ridge_point",
    "ridge_rows",
    "ridge_table",
    "si",
    "softmax_work",
    "time_bounds",
    "two_chip_matmul_time",
]


# Loaded when asked for: chips and rooflines need none of it. Masked brings numpy.ma, which is slow to import.
_LAZY = {
    "masked": ("Masked",),
    "hardware": ("AxisLinks", "GpuCluster", "Mesh", "MultiSlice", "Switch", "Torus", "TpuSlice"),
    "hardware.shapes": ("UnknownSlice",),
    "collectives": (
        "CollectiveTime",
        "all_gather_time",
        "all_reduce_time",
        "all_to_all_time",
        "permute_time",
        "reduce_scatter_time",
        "transfer_time",
    ),
    "sharding": (
        "NotationError",
        "Plan",
        "PlanTime",
        "Product",
        "Sharding",
        "Step",
        "parse_product",
        "parse_sharding",
        "plan_matmul",
    ),
    "systolic": ("SystolicRun", "padded_size", "systolic_cycles", "systolic_matmul", "systolic_utilisation"),
    "tiling": ("TileWalk", "tile_bytes", "tile_intensity", "tiled_matmul_bytes", "walk_tiles"),
    "traffic": ("Bandwidths", "bandwidths", "bus_factor", "ragged_share", "wire_factor"),
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}
__all__ += sorted(_MODULE_OF)


def __getattr__(name):
    if name in _MODULE_OF:
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
