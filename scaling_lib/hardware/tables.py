"""The catalogue as Markdown tables: what the hardware appendix and the command line show."""

from scaling_lib.hardware.catalog import chip, chips, prices
from scaling_lib.units import ScalingError, gib, si

UNKNOWN = "–"
COLUMNS = {
    "tpu": (
        "bf16_flops_per_s",
        "int8_flops_per_s",
        "fp8_flops_per_s",
        "hbm_bytes",
        "hbm_bytes_per_s",
        "vmem_bytes",
        "ici_bytes_per_s",
        "ici_links",
        "pcie_bytes_per_s",
        "dcn_bytes_per_s",
        "pod_shape",
        "devices_per_chip",
    ),
    "gpu": (
        "bf16_flops_per_s",
        "fp8_flops_per_s",
        "fp4_flops_per_s",
        "hbm_bytes",
        "hbm_bytes_per_s",
        "l2_bytes",
        "nvlink_bytes_per_s",
        "nvlink_domain_chips",
        "scaleout_bytes_per_s",
        "pcie_bytes_per_s",
        "sms",
        "max_power_w",
    ),
}
HEADINGS = {
    "clock_hz": "clock",
    "ici_bytes_per_s": "ICI bandwidth, one link",
    "max_power_w": "max power",
    "nvswitches": "NVSwitches",
    "registers_bytes_per_sm": "registers, one SM",
    "scaleout_bytes_per_s": "scale-out bandwidth",
    "smem_bytes_per_sm": "L1 and SMEM, one SM",
    "tensorcores": "TensorCores",
    "mxus_per_tensorcore": "MXUs per TensorCore",
    "mxu_dim": "MXU side",
    "tmem_bytes_per_sm": "TMEM, one SM",
    "vector_flops_per_s": "vector, f32",
}
SPELLINGS = {name.lower(): name for name in ("HBM", "VMEM", "ICI", "DCN", "L2", "SMs", "TMEM", "SMEM", "MXU", "JAX")}
SPELLINGS |= {"pcie": "PCIe", "nvlink": "NVLink", "mxus": "MXUs"}


def markdown(header, rows):
    """A Markdown table; `|` in a cell is escaped.

    >>> print(markdown(["chip", "ridge"], [["tpu-v5e", 240]]))
    | chip | ridge |
    | --- | --- |
    | tpu-v5e | 240 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def heading(field):
    """A field's name as a column heading.

    >>> heading("hbm_bytes_per_s"), heading("int8_flops_per_s"), heading("pod_shape")
    ('HBM bandwidth', 'int8', 'pod shape')
    """
    if field in HEADINGS:
        return HEADINGS[field]
    stem = field.removesuffix("_flops_per_s").removesuffix("_bytes_per_s").removesuffix("_bytes")
    words = " ".join(SPELLINGS.get(word, word) for word in stem.split("_"))
    return words + (" bandwidth" if field.endswith("_bytes_per_s") else "")


def cell(field, value):
    """A field's value with its unit; bytes in SI and binary units.

    >>> cell("hbm_bytes", 16 * 2**30), cell("hbm_bytes_per_s", 820e9), cell("pod_shape", (16, 16))
    ('17.2 GB (16 GiB)', '820 GB/s', '16×16')
    """
    if value is None:
        return UNKNOWN
    if field.endswith("_flops_per_s"):
        return si(value, "FLOP/s")
    if field.endswith("_bytes_per_s"):
        return si(value, "B/s")
    if "_bytes" in field:
        return f"{si(value, 'B')} ({_binary(value)})"
    if field.endswith("_hz"):
        return si(value, "Hz")
    if field.endswith("_w"):
        return si(value, "W", digits=4)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "×".join(map(str, value)) if isinstance(value, tuple) else f"{value:,}"


def spec_table(kind):
    """Main figures of all chips of a kind ("tpu" or "gpu"), one row a chip.

    >>> print(spec_table("tpu").splitlines()[0][:44])
    | chip | bf16 | int8 | fp8 | HBM | HBM bandw
    """
    if kind not in COLUMNS:
        raise ScalingError(f"kind must be one of {', '.join(COLUMNS)}, got {kind!r}")
    fields = COLUMNS[kind]
    rows = [[c.title, *(cell(f, getattr(c, f)) for f in fields)] for c in chips() if c.kind == kind]
    return markdown(["chip", *map(heading, fields)], rows)


def field_table(name):
    """Every figure of one chip with its kind, source, place in the source and note.

    >>> "| HBM bandwidth | 820 GB/s | published |" in field_table("tpu-v5e")
    True
    """
    c = chip(name)
    rows = [
        [heading(field), cell(field, getattr(c, field)), o.kind, _link(o.source), _text(o.locator), _text(o.note)]
        for field, o in c.origins.items()
    ]
    return markdown(["figure", "value", "kind", "source", "where", "note"], rows)


def conflict_table(*kinds):
    """Every figure on which sources differ: our value, what others say, and who.

    >>> conflict_table("tpu").count("TPU v5e") >= 3
    True
    """
    rows = [
        [
            c.title,
            heading(field),
            cell(field, getattr(c, field)),
            cell(field, other.value),
            _link(other.source),
            _text(other.note),
        ]
        for c in chips()
        if c.kind in (kinds or COLUMNS)
        for field, origin in c.origins.items()
        for other in origin.alternates
        if other.value != getattr(c, field)
    ]
    return markdown(["chip", "figure", "we use", "also stated", "by", "note"], rows)


def price_table():
    """Prices, each with its date and source.

    >>> price_table().count("2025-02-18")
    3
    """
    rows = [
        [
            chip(p.chip).title,
            f"{p.usd_per_chip_hour:.2f}",
            p.provider,
            p.region,
            p.commitment,
            p.date,
            _link(p.source),
            _text(p.note),
        ]
        for p in prices()
    ]
    return markdown(
        ["chip", "USD per chip and hour", "provider", "region", "commitment", "date", "source", "note"], rows
    )


def _binary(nbytes):
    size, unit = (gib(nbytes), "GiB") if nbytes >= 2**30 else (nbytes / 2**20, "MiB")
    if nbytes < 2**20:
        size, unit = nbytes / 2**10, "KiB"
    return f"{size:.4g} {unit}"


def _text(words):
    """Words as Markdown shows them: 4*4*576 is no emphasis."""
    for sign in "\\*_<":
        words = words.replace(sign, "\\" + sign)
    return words


def _link(source):
    title, comma, url = source.rpartition(", http")
    return f"[{_text(title)}](http{url})" if comma else _text(source)
