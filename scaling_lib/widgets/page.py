"""An explorer as HTML: a figure that reads without scripts, and the data with which the page's script moves it."""

import html
import json
import math
from functools import cache
from pathlib import Path

from scaling_lib.widgets.explorer import DIGITS

STATIC = Path(__file__).parent / "static"


@cache
def asset(name):
    """The text of one file of `static/`."""
    return (STATIC / name).read_text(encoding="utf-8")


def standalone(explorer):
    """The figure with its style and scripts: what a notebook shows where no kernel runs."""
    return f"<style>{asset('explorer.css')}</style>{figure(explorer)}<script>{script()}</script>"


@cache
def script():
    """Vega and our script, for one tag. Vega is wrapped: on a page with an AMD loader it would hide in it."""
    vega = f"if (!globalThis.vega) (function (define, exports, module) {{{asset('vega.min.js')}}})();"
    return f"{vega}\n{asset('explorer.js')}"


def figure(explorer, *, live=False):
    """The `<figure>`: controls, the still picture, the sentence, the data table, and the data as JSON.

    Controls stay hidden until the script takes over: a slider that moves nothing misleads.
    """
    says = html.escape(explorer.describe())
    return (
        f'<figure class="sl-explorer" data-explorer="{explorer.name}">'
        f'<figcaption class="sl-title">{html.escape(explorer.title)}</figcaption>'
        f'<div class="sl-controls" hidden>{"".join(_control(c, live) for c in explorer.controls)}</div>'
        f'<div class="sl-chart" role="img" aria-label="{says}">{"" if live else _still(explorer)}</div>'
        f'<p class="sl-say" aria-live="polite" aria-atomic="true" translate="no">{says}</p>'
        f'<details class="sl-data"><summary>Table of the data</summary>{_table(explorer)}</details>'
        f'<script type="application/json">{_json(data(explorer, live=live))}</script>'
        "</figure>"
    )


def data(explorer, *, live=False):
    """All that the script needs, ready for JSON. Where a kernel computes, the tables stay at home."""
    return {
        "name": explorer.name,
        "controls": [
            {"name": c.name, "stops": c.live_stops if live else c.stops, "labels": c.labels} for c in explorer.controls
        ],
        "state": explorer.default_state,
        **({"tables": []} if live else _tables(explorer)),
        "readouts": [
            {"name": r.name, "how": r.how, "of": r.of, "gives": r.gives, "log10": explorer.logs[r.name]}
            for r in explorer.readouts
        ],
        "says": [{"text": say.text, "when": dict(say.when)} for say in explorer.says],
        "rows": explorer.rows,
        "drawn": explorer.drawn,
        "chart": explorer.chart,
    }


def _tables(explorer):
    """The tables, and the stops of those over which others stand.

    A table is a list of runs, which are its entries along the last name that it stands over. Every run and every entry
    is written once, however often it occurs: tables hold numbers of runs, runs hold numbers of entries.
    """
    entries, runs, tables = {}, {}, []
    for table in explorer.tables:
        grid = table.grid(explorer.stops)
        lines = grid.reshape(-1, *grid.shape[-1:] or (1,))
        coded = [tuple(_number(_entry(entry, table.log10), entries) for entry in line) for line in lines]
        numbers = [_number(run, runs) for run in coded]
        tables.append({"name": table.name, "over": table.over, "log10": table.log10, "runs": numbers})
    stops = {
        table.name: [_entry(stop, table.log10) for stop in explorer.stops[table.name]]
        for table in explorer.tables
        if table.name in explorer.stops
    }
    return {"tables": tables, "runs": list(runs), "entries": list(entries), "stops": stops}


def _number(what, known):
    """The number of something, the next one if it is new."""
    return known.setdefault(what, len(known))


def encoded(value):
    """A value as JSON can carry it: JSON has no infinity."""
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def _entry(value, log10):
    if value is None or isinstance(value, str):
        return value
    if math.isnan(value):
        return None
    if math.isinf(value):
        return encoded(value)
    short = round(value, DIGITS) if log10 else float(f"{value:.{DIGITS + 1}g}")
    return int(short) if short == int(short) else short


def _json(content):
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _control(control, live):
    name, label = html.escape(control.name), html.escape(control.label)
    at = f'<label class="sl-control{" sl-wide" * control.wide}"><span class="sl-label">{label}</span>'
    if control.labels:
        options = "".join(
            f'<option value="{html.escape(stop)}"{" selected" * (stop == control.default)}>{html.escape(text)}</option>'
            for stop, text in zip(control.stops, control.labels, strict=True)
        )
        return f'{at}<select name="{name}" translate="no">{options}</select></label>'
    stops = control.live_stops if live else control.stops
    return (
        f'{at}<span class="sl-value" aria-hidden="true" translate="no">{control.default:,}</span>'
        f'<input type="range" name="{name}" min="0" max="{len(stops) - 1}" step="1" '
        f'value="{stops.index(control.default)}" aria-valuetext="{control.default:,}"></label>'
    )


def _still(explorer):
    return explorer.still(explorer.drawn_at(), explorer.title)


def _table(explorer):
    rows = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th><td>{html.escape(text)}</td></tr>'
        for label, text in explorer.table_at()
    )
    head = '<tr><th scope="col">quantity</th><th scope="col">value</th></tr>'
    return f'<table translate="no"><thead>{head}</thead><tbody>{rows}</tbody></table>'
