"""`scaling`: the catalogue and the rooflines from a shell. Every table is read from the catalogue."""

import argparse
import os
import sys

from scaling_lib.hardware import BOUND_OF_LINK, chip, chips, price, prices
from scaling_lib.hardware.tables import cell, heading
from scaling_lib.roofline import critical_batch, ridge_cell, ridge_rows, time_bounds
from scaling_lib.units import DTYPES, ScalingError, UnknownLink, si
from scaling_lib.work import matmul_work


def main(argv=None):
    """Runs one command; returns the exit status, 2 for an argument that cannot be used."""
    arguments = _parser().parse_args(argv)
    try:
        print(arguments.run(arguments), flush=True)
    except ScalingError as error:
        print(f"scaling: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough: `scaling chip h100 | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left for the last flush
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="scaling", description="How models scale on TPUs and GPUs, by the numbers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add = commands.add_parser("chips", help="all chips of the catalogue")
    add.set_defaults(run=_chips)

    add = commands.add_parser("chip", help="every figure of one chip, with its source")
    add.add_argument("name")
    add.set_defaults(run=_chip)

    add = commands.add_parser("ridge", help="ridge points of every chip, for every memory level and link [FLOP/byte]")
    add.add_argument("--dtype", default="bf16", help=", ".join(DTYPES))
    add.set_defaults(run=_ridge)

    add = commands.add_parser("matmul", help="roofline of x [B, D] times w [D, F]")
    for size in "BDF":
        add.add_argument(size, type=float)
    add.add_argument("--chip", help="only this one")
    for dtype, default in {"x": "bf16", "w": None, "out": None, "compute": None}.items():
        add.add_argument(f"--{dtype}", default=default, help=f"dtype: {', '.join(DTYPES)}")
    add.add_argument("--link", default="hbm", help="memory level or link the bytes pass")
    add.set_defaults(run=_matmul)
    return parser


def _chips(_):
    fields = ("bf16_flops_per_s", "int8_flops_per_s", "fp8_flops_per_s", "hbm_bytes", "hbm_bytes_per_s")
    rows = [[c.name, c.title, *(cell(f, getattr(c, f)) for f in fields)] for c in chips()]
    return _columns(["name", "chip", *map(heading, fields)], rows)


def _chip(arguments):
    c = chip(arguments.name)
    rows = [[heading(f), cell(f, getattr(c, f)), o.kind, o.source, o.note] for f, o in c.origins.items()]
    text = f"{c}\n\n" + _columns(["figure", "value", "kind", "source", "note"], rows)
    if any(p.chip == c.name for p in prices()):
        text += f"\n\n{price(c.name)}"
    return text


def _ridge(arguments):
    links, rows = ridge_rows(arguments.dtype)
    return _columns(["chip", *links], [[title, *map(ridge_cell, points)] for title, points in rows.items()])


def _matmul(arguments):
    chosen = chips() if arguments.chip is None else [chip(arguments.chip)]
    if arguments.link not in BOUND_OF_LINK:
        raise UnknownLink(arguments.link, BOUND_OF_LINK)
    dtypes = {name: getattr(arguments, name) for name in ("x", "w", "out", "compute")}
    work = matmul_work(arguments.B, arguments.D, arguments.F, **dtypes)
    able = [c for c in chosen if arguments.chip or (work.dtype in c.dtypes and arguments.link in c.links)]
    rows = [_matmul_row(c, work, arguments, dtypes) for c in able]
    facts = f"{si(work.flops, 'FLOP')}, {si(work.bytes, 'B')}, {work.intensity:,.1f} FLOP/byte, maths in {work.dtype}"
    header = ["chip", "maths", arguments.link, "at least", "at most", "bound", "critical B"]
    unable = ", ".join(c.name for c in chosen if c not in able)
    without = f"\n\nwithout a {work.dtype} rate or {arguments.link}: {unable}" if unable else ""
    return f"{facts}\n\n{_columns(header, rows)}{without}"


def _matmul_row(c, work, arguments, dtypes):
    t = time_bounds(work, c, link=arguments.link)
    transfer_s = t.memory_s + t.network_s + t.host_s
    batch = critical_batch(c, arguments.D, arguments.F, **dtypes, link=arguments.link)
    times = (si(s, "s") for s in (t.math_s, transfer_s, t.lower_s, t.upper_s))
    return [c.name, *times, t.bound, "none" if batch == float("inf") else f"{batch:,.1f}"]


def _columns(header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(str(text).ljust(width) for text, width in zip(row, widths, strict=True)) for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    sys.exit(main())
