"""Devices: meshes on eight CPU devices, the accelerator beside them, and every order in which jax may be met."""

import os
import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from scaling_lib import referee
from scaling_lib.referee import devices
from scaling_lib.units import ScalingError


def run(code, **env):
    """A fresh interpreter's output; warnings are errors there too."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "TPU_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env={**kept, **env}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_mesh_has_eight_cpu_devices_with_axis_types_stated():
    mesh = referee.make_mesh(X=4, Y=2)
    assert dict(mesh.shape) == {"X": 4, "Y": 2}
    assert set(mesh.axis_types) == {AxisType.Auto}
    assert {d.platform for d in mesh.devices.flat} == {"cpu"}
    assert referee.make_mesh({"X": 8}, axis_type="explicit").axis_types == (AxisType.Explicit,)


@pytest.fixture
def one_accelerator(monkeypatch):
    """jax as it looks on a machine with a single TPU chip."""
    chip = SimpleNamespace(platform="tpu", device_kind="TPU v5 lite", id=0)
    real = jax.devices

    def faked(backend=None):
        return real("cpu") if backend == "cpu" else [chip]

    monkeypatch.setattr(jax, "devices", faked)
    return chip


def test_beside_one_accelerator_a_mesh_takes_cpu_devices(one_accelerator):
    assert referee.this_device() is one_accelerator
    assert referee.mesh_devices(1) == [one_accelerator]
    eight = referee.mesh_devices(8)
    assert len(eight) == 8 and {d.platform for d in eight} == {"cpu"}
    assert referee.catalogue_chip().name == "tpu-v5e"
    mesh = referee.make_mesh(X=8)
    x = jax.device_put(np.arange(16.0), NamedSharding(mesh, PartitionSpec("X")))
    assert set(x.devices()) == set(eight) and float(jax.jit(lambda x: x.sum())(x)) == 120


def test_enough_accelerators_are_used():
    many = [SimpleNamespace(platform="gpu", id=k) for k in range(8)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "devices", lambda backend=None: many)
        assert referee.mesh_devices(4) == many[:4]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("TPU v4", "tpu-v4"), ("TPU v5 lite", "tpu-v5e"), ("TPU v5e", "tpu-v5e"), ("TPU v5", "tpu-v5p"),
        ("TPU v5p", "tpu-v5p"), ("TPU v6 lite", "tpu-v6e"), ("TPU7x", "tpu-7x"), ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"), ("NVIDIA GB200", "gb200"), ("NVIDIA B200", "b200"), ("Tesla T4", None),
        ("cpu", None),
    ],
)  # fmt: skip
def test_a_device_is_found_in_the_catalogue(kind, name):
    chip = referee.catalogue_chip(SimpleNamespace(device_kind=kind))
    assert (chip.name if chip else None) == name


def test_what_is_no_device_is_in_no_catalogue():
    with pytest.raises(ScalingError, match=r"device: got 'x'; give a jax device, such as jax\.devices\(\)\[0\]"):
        referee.catalogue_chip("x")


@pytest.mark.parametrize("n", [0, -1, 2.0, "8", True])
def test_a_count_of_devices_is_a_whole_number(n):
    with pytest.raises(ScalingError, match="n must be a whole number of devices, 1 or more, got"):
        referee.mesh_devices(n)


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({}, "at least one axis"),
        ({"X": 0}, "X must be a whole number of devices, 1 or more, got 0"),
        ({"sizes": 8}, "sizes: got 8"),
        ({"X": 8, "axis_type": "Auto"}, "axis_type: got 'Auto'; possible: auto, explicit, manual"),
        ({"X": 4, "devices": [1, 2]}, "devices: got 2; the mesh X=4 has 4 places"),
    ],
)
def test_a_mesh_that_cannot_be_is_refused(kwargs, says):
    with pytest.raises(ScalingError, match=says):
        referee.make_mesh(**kwargs)


def test_more_than_eight_devices_say_what_to_set():
    with pytest.raises(referee.DeviceError, match=r'jax_num_cpu_devices", 512\) before'):
        referee.mesh_devices(512)


COUNT = "from scaling_lib import referee; import jax; print(len(referee.mesh_devices(8)), jax.default_backend())"


@pytest.mark.skipif(devices.tpu_attached() or devices.gpu_attached(), reason="this machine has an accelerator")
@pytest.mark.parametrize("before", ["", "import jax.numpy; "])
def test_eight_devices_whether_or_not_jax_was_imported_first(before):
    assert run(before + COUNT) == "8 cpu"


def test_readers_settings_are_kept():
    code = COUNT + "; import os; print(os.environ['TPU_ACCELERATOR_TYPE'])"
    flags = "--xla_force_host_platform_device_count=9"
    assert run(code, XLA_FLAGS=flags, JAX_PLATFORMS="cpu", TPU_ACCELERATOR_TYPE="v6e-8").split() == [
        "8",
        "cpu",
        "v6e-8",
    ]
    code = "import jax; jax.config.update('jax_num_cpu_devices', 12); " + COUNT.replace("(8)", "(12)")
    assert run(code, JAX_PLATFORMS="cpu") == "12 cpu"


def test_a_backend_started_with_fewer_devices_says_to_restart():
    code = (
        "import jax; jax.devices(); from scaling_lib import referee\n"
        "try: referee.mesh_devices(8)\nexcept referee.DeviceError as e: print(e)"
    )
    said = run(code, JAX_PLATFORMS="cpu")
    assert "jax started with 1 CPU device" in said and "restart the kernel" in said


def test_without_jax_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "try: from scaling_lib import referee\nexcept ModuleNotFoundError as e: print(e)"
    )
    assert run(code) == 'scaling_lib.referee needs jax: pip install "scaling-lib[jax]"'


def test_a_tpu_on_the_machine_is_left_visible(monkeypatch):
    monkeypatch.setattr(devices, "tpu_attached", lambda: True)
    for name in ("JAX_PLATFORMS", "TPU_SKIP_MDS_QUERY"):
        monkeypatch.delenv(name, raising=False)
    devices.setup()
    assert "JAX_PLATFORMS" not in os.environ and "TPU_SKIP_MDS_QUERY" not in os.environ


def test_a_cloud_network_card_is_not_taken_for_a_tpu(monkeypatch):
    files = {"/a/vendor": "0x1ae0", "/a/device": "0x0042"}
    monkeypatch.setattr(devices.glob, "glob", lambda pattern: ["/a/vendor"] if "vendor" in pattern else [])
    monkeypatch.setattr(devices, "_read", files.get)
    monkeypatch.delenv("COLAB_TPU_ADDR", raising=False)
    assert not devices.tpu_attached()
    files["/a/device"] = "0x0063"
    assert devices.tpu_attached()
