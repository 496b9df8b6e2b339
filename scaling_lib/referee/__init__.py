"""The referee: what XLA compiles and what devices measure, to hold predictions against. Needs jax; imports it first."""

from importlib.util import find_spec

if find_spec("jax") is None:
    raise ModuleNotFoundError('scaling_lib.referee needs jax: pip install "scaling-lib[jax]"', name="jax")

from scaling_lib.referee.devices import DeviceError, catalogue_chip, make_mesh, mesh_devices, setup, this_device

setup()

from scaling_lib.referee import programs  # noqa: E402  (jax is set up first)
from scaling_lib.referee.choice import CLASSES, Choice, partitioner_choice  # noqa: E402
from scaling_lib.referee.hlo import Collective, FlopCount, HloError, collectives_in, flops_in  # noqa: E402
from scaling_lib.referee.measure import MeasuredRoofline, measure_roofline  # noqa: E402
from scaling_lib.referee.random_products import planned, random_product, recorded_products  # noqa: E402
from scaling_lib.referee.record import on_this_tpu, scatters_on_tpu, tally  # noqa: E402
from scaling_lib.referee.report import TpuReport  # noqa: E402
from scaling_lib.referee.rewrites import OnTpu, on_tpu, wanted  # noqa: E402
from scaling_lib.referee.tiles import MeasuredTiles, measure_tiles  # noqa: E402
from scaling_lib.referee.tpu_compiler import (  # noqa: E402
    CannotCompile,
    TopologyError,
    compile_for_tpu,
    parse_topology,
    versions,
)
from scaling_lib.referee.verification import Verification, verify  # noqa: E402

__all__ = [
    "CLASSES",
    "CannotCompile",
    "Choice",
    "Collective",
    "DeviceError",
    "FlopCount",
    "HloError",
    "MeasuredRoofline",
    "MeasuredTiles",
    "OnTpu",
    "TopologyError",
    "TpuReport",
    "Verification",
    "catalogue_chip",
    "collectives_in",
    "compile_for_tpu",
    "flops_in",
    "make_mesh",
    "measure_roofline",
    "measure_tiles",
    "mesh_devices",
    "on_this_tpu",
    "on_tpu",
    "parse_topology",
    "partitioner_choice",
    "planned",
    "programs",
    "random_product",
    "recorded_products",
    "scatters_on_tpu",
    "setup",
    "tally",
    "this_device",
    "verify",
    "versions",
    "wanted",
]
