"""What a compiler made of a program: memory, FLOPs, collectives, versions; also as a recorded file."""

import html
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from scaling_lib.referee.hlo import Collective, FlopCount
from scaling_lib.units import ScalingError, si

RECORDED = Path(__file__).with_name("reports")


@dataclass(frozen=True)
class Memory:
    """Bytes on one device, from XLA's buffer assignment."""

    arguments_bytes: int
    outputs_bytes: int
    temporaries_bytes: int
    aliased_bytes: int  # outputs that reuse a donated argument's place
    code_bytes: int

    @property
    def total_bytes(self):
        """Arguments, outputs and temporaries together, what is shared counted once."""
        return self.arguments_bytes + self.outputs_bytes + self.temporaries_bytes - self.aliased_bytes


@dataclass(frozen=True, repr=False)
class TpuReport:
    """A program as the TPU compiler compiled it, per device.

    Attributes:
      program, program_hash: the function's name; of its source, shapes, shardings, mesh and topology.
      topology, mesh, n_devices: what it was compiled for; mesh is axis name -> size, slowest first.
      memory: `Memory`.
      flops: `FlopCount` of matrix products on one device.
      collectives: `Collective` entries in program order.
      versions: of python, jax, jaxlib and libtpu that compiled it.
      why_recorded: empty if it was compiled just now; otherwise why a recorded report is shown instead.
    """

    program: str
    program_hash: str
    topology: str
    mesh: dict[str, int]
    n_devices: int
    memory: Memory
    flops: FlopCount
    collectives: tuple[Collective, ...]
    versions: dict[str, str]
    why_recorded: str = ""
    _text: Callable[[], str] | None = field(default=None, compare=False)

    @property
    def recorded(self):
        return bool(self.why_recorded)

    @property
    def hlo(self):
        """HLO text of the compiled program, fetched when asked for."""
        if self._text is None:
            raise ScalingError(f"hlo: the recorded report of {self.program} keeps figures only; {self.why_recorded}")
        return self._text()

    def __repr__(self):
        rows = "\n".join(f"  {name:12} {value}" for name, value in self._rows())
        collectives = "".join(f"\n    {c}" for c in _merged(self.collectives)) or " none"
        return f"{self._title()}\n{rows}\n  collectives {collectives}\n  {self._provenance()}"

    def _repr_html_(self):
        def cells(row, tag="td"):
            return "<tr>" + "".join(f"<{tag} {_CELL}>{html.escape(str(v))}</{tag}>" for v in row) + "</tr>"

        facts = "".join(f"<br>{html.escape(name.strip())}: {html.escape(value)}" for name, value in self._rows())
        head = cells(("collective", "mesh axes", "type", "elements", "bytes", "times", "note"), "th")
        body = "".join(cells(_columns(c)) for c in _merged(self.collectives)) or '<tr><td colspan="7">none</td></tr>'
        return (
            f'<div class="sl-report"><p><strong>{html.escape(self._title())}</strong>{facts}</p>'
            f'<div class="sl-scroll" style="overflow-x:auto"><table style="margin:0.5em 0">'
            f"<thead>{head}</thead><tbody>{body}</tbody></table></div>"
            f"<p><small>{html.escape(self._provenance())}</small></p></div>"
        )

    def _title(self):
        axes = " × ".join(f"{name}={size}" for name, size in self.mesh.items())
        return f"{self.program} on {self.topology}: {self.n_devices} devices, mesh {axes}"

    def _rows(self):
        m = self.memory
        return [
            ("work", f"{self.flops}"),
            ("memory", f"{si(m.total_bytes, 'B')} a device"),
            ("  of which", f"arguments {m.arguments_bytes:,} B, outputs {m.outputs_bytes:,} B, temporaries "
             f"{m.temporaries_bytes:,} B" + (f", shared {m.aliased_bytes:,} B" if m.aliased_bytes else "")),
        ]  # fmt: skip

    def _provenance(self):
        with_what = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        if self.recorded:
            return f"RECORDED with {with_what}, not compiled here: {self.why_recorded}"
        return f"compiled here with {with_what}"


_CELL = 'style="padding:0.2em 1.2em 0.2em 0;text-align:left;background:none"'


def _merged(collectives):
    """Collectives for display: those that differ in nothing but how often they run are one row, where its first is."""
    times = {}
    for c in collectives:
        times.setdefault(replace(c, times=None), []).append(c.times)
    return [replace(c, times=None if None in each else sum(each)) for c, each in times.items()]


def _columns(c):
    axes = "?" if c.axes is None else ", ".join(c.axes) or "–"
    return c.op, axes, c.dtype, f"{c.elements:,}", f"{c.bytes:,}", "?" if c.times is None else c.times, c.note


def to_json(report):
    """A report as JSON text for `reports/`: figures only."""
    data = asdict(replace(report, _text=None))
    del data["why_recorded"], data["_text"]
    for collective in data["collectives"]:
        del collective["pairs"]
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def from_json(text, why_recorded):
    """The report that `to_json` wrote, marked as recorded."""
    data = json.loads(text)
    collectives = tuple(Collective(**{**c, "axes": _tuple(c["axes"])}) for c in data.pop("collectives"))
    flops = FlopCount(data["flops"]["counted"], tuple(data.pop("flops")["not_counted"]))
    return TpuReport(
        **{**data, "memory": Memory(**data["memory"])}, flops=flops, collectives=collectives, why_recorded=why_recorded
    )


def _tuple(axes):
    return None if axes is None else tuple(axes)


def recorded_report(program_hash, why):
    """The recorded report of exactly this program, or None."""
    for path in sorted(RECORDED.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        if json.loads(text)["program_hash"] == program_hash:
            return from_json(text, why)
    return None
