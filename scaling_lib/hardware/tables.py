"""The catalogue as Markdown tables: what the hardware appendix and the command line show."""

from scaling_lib.hardware.catalog import chip, chips, prices
from scaling_lib.units import ScalingError, gib, si

UNKNOWN = "–"
ROWS = {
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
    "dcn_bytes_per_s": "DCN bandwidth, one way",
    "ici_bytes_per_s": "ICI bandwidth, one link, one way",
    "max_power_w": "max power",
    "nvlink_bytes_per_s": "NVLink bandwidth, one way",
    "nvswitches": "NVSwitches",
    "pcie_bytes_per_s": "PCIe bandwidth, one way",
    "registers_bytes_per_sm": "registers, one SM",
    "scaleout_bytes_per_s": "scale-out bandwidth, one way",
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
    """A field's name as a column heading. A link's bandwidth is one way; a memory's, reads and writes together.

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
        return si(value, "OP/s" if field.startswith("int") else "FLOP/s", digits=4)
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
    """Main figures of all chips of a kind ("tpu" or "gpu"), one column a chip.

    Raises:
      ScalingError: no such kind.

    >>> print(spec_table("tpu").splitlines()[0][:36])
    | figure | TPU v3 | TPU v4 | TPU v5e
    """
    if kind not in ROWS:
        raise ScalingError(f"kind must be one of {', '.join(ROWS)}, got {kind!r}")
    shown = [c for c in chips() if c.kind == kind]
    rows = [[heading(f), *(cell(f, getattr(c, f)) for c in shown)] for f in ROWS[kind]]
    return markdown(["figure", *(c.title for c in shown)], rows)


def field_table(name):
    """Every figure of one chip with its kind, its source (and the place in it) and the note.

    Raises:
      UnknownChip: no such chip.

    >>> "| HBM bandwidth | 820 GB/s | published |" in field_table("tpu-v5e")
    True
    """
    c = chip(name)
    rows = [
        [heading(field), cell(field, getattr(c, field)), o.kind, _whence(o.source, o.locator, o.note)]
        for field, o in c.origins.items()
    ]
    return markdown(["figure", "value", "kind", "source and note"], rows)


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
            _whence(other.source, "", other.note),
        ]
        for c in chips()
        if c.kind in (kinds or ROWS)
        for field, origin in c.origins.items()
        for other in origin.alternates
        if other.value != getattr(c, field)
    ]
    return markdown(["chip", "figure", "we use", "also stated", "by, and note"], rows)


def price_table():
    """Prices, each with its date and source.

    >>> price_table().count("2025-02-18")
    3
    """
    rows = [
        [
            chip(p.chip).title,
            f"{p.usd_per_chip_hour:.2f}",
            f"{p.provider}, {p.commitment}, region {p.region}",
            p.date,
            _whence(p.source, "", p.note),
        ]
        for p in prices()
    ]
    return markdown(["chip", "USD per chip and hour", "offer", "date", "source and note"], rows)


def folded(table, summary="Every figure and its source"):
    """A table behind a line that opens it: Markdown for where it is shown as HTML.

    >>> print(folded("| a |", "Open"))
    <details>
    <summary>Open</summary>
    <BLANKLINE>
    | a |
    <BLANKLINE>
    </details>
    """
    return f"<details>\n<summary>{summary}</summary>\n\n{table}\n\n</details>"


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


def _whence(source, locator, note):
    """Source, place in it and note as one cell."""
    place = "" if locator in ("", "none recorded") else f", {_text(locator)}"
    return _link(source) + place + (f". *Note:* {_text(note)}" if note else "")


def _link(source):
    title, comma, url = source.rpartition(", http")
    return f"[{_text(title)}](http{url})" if comma else _text(source)
