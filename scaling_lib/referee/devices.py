"""Which devices the book's programs run on: eight CPU devices for meshes, the one accelerator (or the CPU) to measure.

`setup` runs when `scaling_lib.referee` is imported. It should run before jax is used: where no TPU is attached it keeps
jax from looking for one, and gives libtpu what it needs to compile without a TPU.
"""

import contextlib
import glob
import math
import os
import sys
from collections.abc import Mapping

import numpy as np

from scaling_lib.units import ScalingError, whole

N_CPU_DEVICES = 8

# Google's PCI devices that are TPUs; the same vendor also makes a cloud network card.
_TPU_PCI_VENDOR = "0x1ae0"
_TPU_PCI_DEVICES = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}

_LIBTPU_ENV = {
    "TPU_SKIP_MDS_QUERY": "1",  # no cloud metadata server here
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",  # without it libtpu complains of host bounds; others still compile
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # without it a second kernel dies on libtpu's lock file
}


class DeviceError(RuntimeError):
    """jax was set up in a way that the book's programs cannot run in."""


def tpu_attached():
    """Whether this machine has a TPU of its own (looked up on the PCI bus, so that jax need not be loaded)."""
    if glob.glob("/dev/accel[0-9]*") or os.environ.get("COLAB_TPU_ADDR"):
        return True
    for vendor in glob.glob("/sys/bus/pci/devices/*/vendor"):
        if _read(vendor) == _TPU_PCI_VENDOR and _read(vendor.replace("vendor", "device")) in _TPU_PCI_DEVICES:
            return True
    return False


def gpu_attached():
    """Whether this machine has an NVIDIA or AMD GPU."""
    return bool(glob.glob("/dev/nvidia[0-9]*") or glob.glob("/proc/driver/nvidia/gpus/*") or os.path.exists("/dev/kfd"))


def _read(path):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return ""


def setup():
    """Make jax ready for the book: libtpu's environment where no TPU is attached, and eight CPU devices.

    Settings that the reader made are kept. Does no harm when called again.
    """
    if not tpu_attached():
        for name, value in _LIBTPU_ENV.items():
            os.environ.setdefault(name, value)
        if not gpu_attached():
            _cpu_only()
    import jax

    if jax.config.jax_num_cpu_devices < N_CPU_DEVICES and "host_platform_device_count" not in _xla_flags():
        with contextlib.suppress(RuntimeError):  # a device was used before: mesh_devices says so if it matters
            jax.config.update("jax_num_cpu_devices", N_CPU_DEVICES)


def _cpu_only():
    """Keep jax from probing for a TPU that is not there; after jax was imported its own setting must be changed."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    jax = sys.modules.get("jax")
    if jax is not None and not jax.config.jax_platforms:
        jax.config.update("jax_platforms", os.environ["JAX_PLATFORMS"])


def _xla_flags():
    return os.environ.get("XLA_FLAGS", "")


def this_device():
    """The device to measure on: the first accelerator, or the CPU where there is none."""
    import jax

    return jax.devices()[0]


def catalogue_chip(device=None):
    """The catalogue's chip that a jax device is (part of), or None: a CPU, or a chip the catalogue lacks.

    Args:
      device: jax device; `this_device()` by default.

    Raises:
      ScalingError: not a jax device.

    >>> catalogue_chip(mesh_devices(1)[0]) is None
    True
    """
    from scaling_lib.hardware import chips

    device = this_device() if device is None else device
    if not hasattr(device, "device_kind"):
        raise ScalingError(f"device: got {device!r}; give a jax device, such as jax.devices()[0]")
    kind = device.device_kind.lower().replace(" lite", "e").replace(" ", "")
    kind = {"tpuv5": "tpuv5p"}.get(kind, kind)  # libtpu calls a v5p "TPU v5"
    found = [c for c in chips() if c.name.replace("-", "") in kind]
    return max(found, key=lambda c: len(c.name), default=None)


def mesh_devices(n=N_CPU_DEVICES):
    """n devices for a mesh: accelerators only if there are n of them, otherwise n CPU devices.

    A Colab TPU is one chip: sharded programs then run on CPU devices beside it.

    Args:
      n: how many.

    Returns:
      list of n jax devices of one platform.

    Raises:
      ScalingError: n is not a positive whole number.
      DeviceError: jax started with fewer CPU devices.

    >>> len(mesh_devices(4))
    4
    """
    import jax

    n = whole("n", n, "devices")
    default = jax.devices()
    if default[0].platform != "cpu" and len(default) >= n:
        return default[:n]
    try:
        cpus = jax.devices("cpu")
    except RuntimeError as error:
        raise DeviceError(f"n: {n} devices need jax's CPU backend, which JAX_PLATFORMS leaves out ({error})") from None
    if len(cpus) >= n:
        return cpus[:n]
    if n > N_CPU_DEVICES:
        raise DeviceError(
            f"n: got {n}, jax has {len(cpus)} CPU devices; for more, call "
            f'jax.config.update("jax_num_cpu_devices", {n}) before anything else uses jax'
        )
    raise DeviceError(
        f"n: got {n}, but jax started with {len(cpus)} CPU device(s) before scaling_lib.referee could ask for "
        f"{N_CPU_DEVICES}; restart the kernel and import scaling_lib.referee first"
    )


def make_mesh(sizes=None, *, devices=None, axis_type="auto", **axes):
    """A jax mesh with named axes, the first named slowest; axis types are always explicit (jax's default has changed).

    Args:
      sizes: mapping of axis name to size; or give the axes by name, ``make_mesh(X=4, Y=2)``.
      devices: as many devices as the mesh has places; `mesh_devices` by default.
      axis_type: "auto", "explicit" or "manual", for all axes.

    >>> make_mesh(X=4, Y=2).shape["X"]
    4
    """
    from jax.sharding import Mesh

    sizes, kind = axis_sizes(sizes, axes), axis_kind(axis_type)
    n = math.prod(sizes.values())
    devices = mesh_devices(n) if devices is None else list(np.ravel(devices))
    if len(devices) != n:
        has = " × ".join(f"{name}={size}" for name, size in sizes.items())
        raise ScalingError(f"devices: got {len(devices)}; the mesh {has} has {n} places")
    grid = np.array(devices, dtype=object).reshape(tuple(sizes.values()))
    return Mesh(grid, tuple(sizes), axis_types=(kind,) * len(sizes))


def axis_kind(axis_type):
    """jax's AxisType for "auto", "explicit" or "manual"."""
    from jax.sharding import AxisType

    kinds = {"auto": AxisType.Auto, "explicit": AxisType.Explicit, "manual": AxisType.Manual}
    if axis_type not in kinds:
        raise ScalingError(f"axis_type: got {axis_type!r}; possible: {', '.join(kinds)}")
    return kinds[axis_type]


def axis_sizes(sizes, axes=None):
    """Axis name -> size, checked: whole numbers, 1 or more."""
    if sizes is not None and not isinstance(sizes, Mapping):
        raise ScalingError(f"sizes: got {sizes!r}; give a mapping such as {{'X': 4, 'Y': 2}}, or axes by name")
    sizes = {**(sizes or {}), **(axes or {})}
    if not sizes:
        raise ScalingError("sizes: a mesh needs at least one axis, such as X=8")
    return {name: whole(str(name), size, "devices") for name, size in sizes.items()}


def mesh_axes(mesh):
    """Axis name -> size of a jax mesh, or of such a mapping itself."""
    sizes = mesh if isinstance(mesh, Mapping) else getattr(mesh, "shape", None)
    if not isinstance(sizes, Mapping):
        raise ScalingError(f"mesh: got {mesh!r}; give a jax mesh, or axis sizes such as {{'X': 4, 'Y': 2}}")
    return axis_sizes(sizes)
