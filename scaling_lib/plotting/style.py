"""One look for every figure: a colour means the same thing in the whole book."""

import hashlib
import html
import io
import re
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

# Each stands out by 3:1 on white and on near-black, and stays apart from the others for readers
# with deuteranopia and protanopia (tests/test_plotting.py computes both).
COLORS = {
    "compute": "#d55e00",
    "hbm": "#2e86de",
    "ici": "#0b8a5c",
    "dcn": "#a64ca6",
    "waiting": "#868b93",
}
INK = "#1d2330"  # replaced by the page's own text colour when a figure is shown
SERIES = tuple(COLORS[k] for k in ("hbm", "compute", "ici", "dcn", "waiting"))
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))  # a second mark beside colour
PHONE = (4.8, 3.6)  # inches: at 360 pixels the labels keep about nine pixels of height

RC = {
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "font.family": "sans-serif",
    "font.size": 10.2,
    "grid.alpha": 0.25,
    "grid.color": COLORS["waiting"],
    "grid.linewidth": 0.6,
    "lines.linewidth": 2.2,
    "savefig.transparent": True,
    "svg.fonttype": "none",  # text stays text: it takes the page's font and can be found and copied
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Picture:
    """A figure, the sentence that says what it shows, and the numbers that were drawn.

    In a notebook or on a page it shows itself as inline SVG in the page's own text colour, so that
    it reads in light and dark; the sentence is its caption and its text for screen readers.
    """

    figure: Figure
    sentence: str
    columns: dict

    def describe(self):
        """One sentence with the figure's numbers and verdict, made from the drawn data."""
        return self.sentence

    def svg(self):
        """The figure as SVG text: no background, ids that do not clash with another figure's."""
        return _svg(self.figure)

    def _repr_html_(self):
        svg, said = self.svg(), html.escape(self.sentence)
        name = "sl-" + hashlib.sha1(svg.encode()).hexdigest()[:10]
        svg = svg.replace("<svg ", f'<svg role="img" aria-labelledby="{name}" style="{_FLUID}" ', 1)
        return (
            f'<figure class="sl-figure" style="margin:1em 0">{svg}'
            f'<figcaption id="{name}" style="max-width:36rem;text-align:left">{said}</figcaption>'
            f'<details class="sl-data"><summary>table</summary>{table(self.columns)}</details></figure>'
        )

    def __repr__(self):
        return f"Picture: {self.sentence}"


_FLUID = "width:100%;max-width:36rem;height:auto"


@contextmanager
def book_style():
    """Matplotlib's settings for a figure of the book; the reader's own settings come back afterwards."""
    with mpl.rc_context(RC):
        yield


def new_axes(title, *, size=PHONE):
    """A figure and its axes, with a sentence as title. No pyplot: nothing is shown twice or left open."""
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    figure.suptitle(textwrap.fill(title, 46), x=0.01, ha="left", fontsize=11, fontweight="bold")
    axes.set_axisbelow(True)
    return figure, axes


def si_label(value):
    """A tick as people say it.

    >>> [si_label(v) for v in (0.25, 1, 240, 4096, 1e4, 2.5e6, 1e9)]
    ['0.25', '1', '240', '4.1k', '10k', '2.5M', '1G']
    """
    for size, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}" if value / size >= 100 else f"{value / size:.2g}{letter}"
    return f"{value:.3g}"


def log_axis(axis, *, subs=(1,)):
    """Make an axis logarithmic, with real numbers (1k, 1M) instead of powers; `subs` marks more than the decades."""
    axis.axes.set_xscale("log") if axis.axis_name == "x" else axis.axes.set_yscale("log")
    axis.set_major_locator(LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: si_label(value)))
    axis.set_minor_formatter(NullFormatter())


def direct_label(axes, x, y, text, color, **where):
    """Write a line's name beside it, in its own colour, instead of in a legend."""
    where = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", **where}
    return axes.annotate(text, (x, y), color=color, fontweight="bold", **where)


def _svg(figure):
    with mpl.rc_context({**RC, "svg.hashsalt": "scaling"}):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once: the same figure gives the same text again
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.S)  # it would style the whole page
    tag = "f" + hashlib.sha1(text.encode()).hexdigest()[:8]
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{tag}-", text)


def table(columns):
    """Every drawn number: the figure for those who cannot or would rather not look at it."""
    names = list(columns)
    cells = [[_cell(value) for value in np.atleast_1d(columns[name])] for name in names]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in zip(*cells, strict=True))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value):
    return html.escape(value) if isinstance(value, str) else f"{float(value):.4g}"
