"""What the catalogue knows of a chip: rates, memories and links, and where each figure comes from."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from scaling_lib.units import DTYPES, ScalingError, UnknownLink, UnsupportedDtype, gb, legal_dtype, positive, si

KINDS = ("published", "derived", "measured", "assumed", "unsupported", "unknown")
ABSENT = ("unsupported", "unknown")  # the field is None

# Which resource of an estimate a link keeps busy; in the order in which tables show the links.
BOUND_OF_LINK = {
    "vmem": "memory",
    "smem": "memory",
    "l2": "memory",
    "hbm": "memory",
    "ici_axis": "network",
    "ici": "network",
    "nvlink": "network",
    "scaleout": "network",
    "dcn": "network",
    "pcie": "host",
}


@dataclass(frozen=True)
class Alternate:
    """What another source says of the same field; `value` is None where it says that the chip has none."""

    value: float | None
    source: str
    note: str = ""


@dataclass(frozen=True)
class Origin:
    """Where a field's value comes from.

    Attributes:
      kind: published, derived (from published figures, in `note`), measured, assumed; or, where the field is
        None, unsupported (the chip lacks it) or unknown (no source read states it).
      source: title and address; of an unknown figure, where it was looked for.
      locator: the section or symbol in the source, or "as recorded from ..." where only the figure was kept.
      note: conditions and remarks.
      alternates: what other sources say.
    """

    kind: str
    source: str
    locator: str = ""
    note: str = ""
    alternates: tuple[Alternate, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One chip. Peaks are dense; None where unsupported or unknown.

    Bandwidths are per chip. A memory's (HBM, VMEM, caches) is of reads and writes together; a link's (ICI, NVLink,
    PCIe, network) is of one direction.

    `dataclasses.replace(chip, hbm_bytes_per_s=...)` gives a chip that does not exist yet.

    Attributes:
      name, title, vendor: "tpu-v5e", "TPU v5e", "Google".
      bf16_flops_per_s ... fp4_flops_per_s: peak of the matrix units; f32 on a GPU: of the CUDA cores.
      vector_flops_per_s: peak of the vector units in f32 (VPU; CUDA cores).
      hbm_bytes, hbm_bytes_per_s: capacity and bandwidth of the main memory.
      pcie_bytes_per_s: between host and chip.
      devices_per_chip: how many JAX devices one chip shows.
      chips_per_host: chips that one host drives.
      origins: an `Origin` for each of these fields.

    Raises:
      ScalingError: a figure is zero, negative or no number; the message names the field.
    """

    name: str
    title: str
    vendor: str
    bf16_flops_per_s: float | None
    f16_flops_per_s: float | None
    f32_flops_per_s: float | None
    fp8_flops_per_s: float | None
    int8_flops_per_s: float | None
    int4_flops_per_s: float | None
    fp4_flops_per_s: float | None
    vector_flops_per_s: float | None
    hbm_bytes: float | None
    hbm_bytes_per_s: float | None
    pcie_bytes_per_s: float | None
    devices_per_chip: int | None
    chips_per_host: int | None
    origins: dict[str, Origin] = dataclasses.field(repr=False, compare=False)

    kind: ClassVar[str] = ""
    units: ClassVar[tuple[str, ...]] = ("matrix", "vector")
    # link -> (field, how many of it make up the link)
    link_fields: ClassVar[dict[str, tuple[str, int]]] = {}

    def __post_init__(self):
        for field, value in vars(self).items():
            if value is not None and field not in ("name", "title", "vendor", "megacore", "origins"):
                for number in value if isinstance(value, tuple) else (value,):
                    positive(field, number)

    def __repr__(self):
        rates = ", ".join(f"{si(self.peak_flops_per_s(d), 'FLOP/s')} {d}" for d in self.dtypes[:1])
        memory = "" if self.hbm_bytes is None else f"{gb(self.hbm_bytes):.4g} GB"
        speed = "" if self.hbm_bytes_per_s is None else f"at {si(self.hbm_bytes_per_s, 'B/s')}"
        return f"{self.title} ({self.name}): {', '.join(filter(None, (rates, f'{memory} {speed}'.strip())))}"

    @property
    def dtypes(self):
        """Dtypes with a known peak rate, bf16 first: of the matrix units; f32 on a GPU, of the CUDA cores."""
        order = sorted(DTYPES, key=lambda dtype: dtype != "bf16")
        return tuple(d for d in order if getattr(self, f"{d}_flops_per_s") is not None)

    def peak_flops_per_s(self, dtype="bf16", unit="matrix"):
        """Peak arithmetic rate [FLOP/s], dense, of the whole chip.

        Args:
          dtype: dtype of the operands; of no effect on the vector unit, which computes in f32.
          unit: "matrix" (MXU, Tensor Core) or "vector" (VPU, CUDA cores).

        Raises:
          UnknownDtype: no such dtype.
          UnsupportedDtype: the chip has no rate for it, or none is known; the message names those it has.
          ScalingError: no such unit.

        >>> from scaling_lib.hardware import chip
        >>> chip("tpu-v5e").peak_flops_per_s("int8")
        394000000000000.0
        """
        if unit not in self.units:
            raise ScalingError(f"unit must be one of {', '.join(self.units)}, got {unit!r}")
        field = f"{legal_dtype(dtype)}_flops_per_s" if unit == "matrix" else "vector_flops_per_s"
        rate = getattr(self, field)
        if rate is None:
            origin = self.origins[field]
            known = "known " if origin.kind == "unknown" else ""
            if unit == "vector":
                raise UnsupportedDtype(
                    f"{self.title} has no {known}rate of the vector unit ({origin.note}): "
                    f"of the matrix unit there are {', '.join(self.dtypes)}"
                )
            raise UnsupportedDtype(
                f"{self.title} has no {known}{dtype} rate ({origin.note}): it has {', '.join(self.dtypes)}"
            )
        return rate

    @property
    def links(self):
        """Names of the memory levels and links the chip has a bandwidth for, nearest first."""
        fields = ((link, self.link_fields[link][0]) for link in BOUND_OF_LINK if link in self.link_fields)
        return tuple(link for link, field in fields if getattr(self, field) is not None)

    def link_bytes_per_s(self, link="hbm"):
        """Bandwidth of a memory level (reads and writes together) or link (one direction) [bytes/s] of one chip.

        Args:
          link: TPU: hbm, vmem, ici (one link), ici_axis (the two links of a torus axis), pcie, dcn;
            GPU: hbm, l2, smem, nvlink, scaleout, pcie.

        Raises:
          UnknownLink: the chip has no such link, or no source read states its bandwidth.

        >>> from scaling_lib.hardware import chip
        >>> chip("tpu-v5e").link_bytes_per_s("ici_axis")
        90000000000.0
        """
        field, count = self.link_fields.get(link, (None, 0)) if isinstance(link, str) else (None, 0)
        if field is None or getattr(self, field) is None:
            says = "is unknown" if field is None else "has no published figure"
            raise UnknownLink(link, self.links, of=self.title, says=says)
        return count * getattr(self, field)


@dataclass(frozen=True, kw_only=True, repr=False)
class TpuChip(Chip):
    """A TPU chip: matrix units fed from VMEM, torus links to its neighbours.

    Attributes:
      tensorcores, mxus_per_tensorcore, mxu_dim: cores, systolic arrays a core, side of one array.
      megacore: two cores act as one device.
      vmem_bytes, vmem_bytes_per_s: on-chip scratchpad of all cores, and its bandwidth, reads and writes together.
      ici_bytes_per_s: ONE inter-chip link in ONE direction.
      ici_links, ici_axes: links of a chip, and axes of its torus (two links each).
      pod_shape, pod_chips: largest torus.
      pod_all_reduce_bytes_per_s, pod_bisection_bytes_per_s: of the whole pod, as the vendor states them.
      dcn_bytes_per_s: data-centre network, per chip.
    """

    tensorcores: int | None
    mxus_per_tensorcore: int | None
    mxu_dim: int | None
    megacore: bool | None
    vmem_bytes: float | None
    vmem_bytes_per_s: float | None
    ici_bytes_per_s: float | None
    ici_links: int | None
    ici_axes: int | None
    pod_shape: tuple[int, ...] | None
    pod_chips: int | None
    pod_all_reduce_bytes_per_s: float | None
    pod_bisection_bytes_per_s: float | None
    dcn_bytes_per_s: float | None

    kind: ClassVar[str] = "tpu"
    link_fields: ClassVar[dict[str, tuple[str, int]]] = {
        "vmem": ("vmem_bytes_per_s", 1),
        "hbm": ("hbm_bytes_per_s", 1),
        "ici_axis": ("ici_bytes_per_s", 2),
        "ici": ("ici_bytes_per_s", 1),
        "pcie": ("pcie_bytes_per_s", 1),
        "dcn": ("dcn_bytes_per_s", 1),
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class GpuChip(Chip):
    """A GPU: streaming multiprocessors over a shared L2, switched NVLink to the others of its node.

    Attributes:
      sms, clock_hz: streaming multiprocessors, and the clock of the matrix units.
      smem_bytes_per_sm, tmem_bytes_per_sm, registers_bytes_per_sm: on-chip memories of one SM.
      smem_bytes_per_s: shared-memory bandwidth of all SMs.
      l2_bytes, l2_bytes_per_s: second-level cache of the chip.
      nvlink_links, nvlink_bytes_per_s: NVLinks of a GPU, and the sum of all of them in one direction.
      nvlink_domain_chips, nvswitches: GPUs and switches of one NVLink domain.
      scaleout_bytes_per_s: network between nodes, per GPU.
      matmul_measured_bf16_flops_per_s, matmul_measured_fp8_flops_per_s: best matmul found by search.
      max_power_w: power limit [W].
    """

    sms: int | None
    clock_hz: float | None
    smem_bytes_per_sm: float | None
    smem_bytes_per_s: float | None
    tmem_bytes_per_sm: float | None
    registers_bytes_per_sm: float | None
    l2_bytes: float | None
    l2_bytes_per_s: float | None
    nvlink_links: int | None
    nvlink_bytes_per_s: float | None
    nvlink_domain_chips: int | None
    nvswitches: int | None
    scaleout_bytes_per_s: float | None
    matmul_measured_bf16_flops_per_s: float | None
    matmul_measured_fp8_flops_per_s: float | None
    max_power_w: float | None

    kind: ClassVar[str] = "gpu"
    link_fields: ClassVar[dict[str, tuple[str, int]]] = {
        "smem": ("smem_bytes_per_s", 1),
        "l2": ("l2_bytes_per_s", 1),
        "hbm": ("hbm_bytes_per_s", 1),
        "nvlink": ("nvlink_bytes_per_s", 1),
        "pcie": ("pcie_bytes_per_s", 1),
        "scaleout": ("scaleout_bytes_per_s", 1),
    }
