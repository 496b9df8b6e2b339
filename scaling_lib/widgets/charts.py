"""Charts of explorers as Vega specifications: plain dicts, with empty data sets that the page fills.

Colours are CSS variables of `explorer.css` and the page's own text colour, so that a chart follows light and dark.
"""

import math

INK = "currentColor"
FONT = "system-ui, sans-serif"


def color(role):
    """A colour of the book by what it stands for: compute, hbm, ici, dcn, waiting."""
    return f"var(--sl-{role})"


def decades(low, high):
    """The powers of ten between two numbers: the ticks of a log axis.

    >>> decades(0.4, 1200)
    [1.0, 10.0, 100.0, 1000.0]
    """
    return [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def roofline(x_domain, y_domain, *, x_title, y_title, height=300):
    """A roofline with one point that moves.

    Data sets: `slope` and `flat`, the two parts of the roof (two rows x, y each); `slope_name`, written along the
    slope (x, y, x2, y2, text); `flat_name` (y, text); `ridge_name` (x, text); `point` (x, y, ridge, text);
    `note`, in the middle (text).
    """
    return {
        "width": 300,
        "height": height,
        "padding": {"left": 44, "right": 18, "top": 26, "bottom": 42},
        "autosize": "none",
        "config": {"aria": False},
        "data": [{"name": name} for name in DATA_SETS],
        "scales": [_log_scale("x", x_domain, "width"), _log_scale("y", y_domain, "height")],
        "axes": [_axis("x", "bottom", x_domain, x_title), _axis("y", "left", y_domain)],
        "marks": [
            _text({"value": -40}, {"value": -14}, {"value": y_title}),
            _area("slope", "hbm"),
            _area("flat", "compute"),
            _line("slope", "hbm"),
            _line("flat", "compute"),
            _along("slope_name"),
            _dot("point"),
            _label("flat_name", {"signal": "width"}, _at("y", offset=-16), align="right"),  # clear of the dot
            _label("ridge_name", _at("x", offset=-5), {"signal": "height - 12"}, align="right"),
            _label("point", {"signal": BESIDE}, {"signal": _below(x_domain, y_domain)}, align="left"),
            _label("note", {"signal": "width / 2"}, {"signal": "height / 2"}, align="center"),
        ],
    }


DATA_SETS = ("slope", "flat", "slope_name", "flat_name", "ridge_name", "point", "note")
BESIDE = "min(scale('x', datum.x), width - 130)"  # the point's label keeps its width from the right edge


def _below(x_domain, y_domain):
    """How far down the point's label stands: where it begins left of the point, as far as the slope falls."""
    decades_x, decades_y = (math.log10(high / low) for low, high in (x_domain, y_domain))
    fall = f"(height / {decades_y:.6g}) / (width / {decades_x:.6g})"  # pixels down for one to the left
    return f"scale('y', datum.y) + 20 + max(0, scale('x', min(datum.x, datum.ridge)) - {BESIDE}) * {fall}"


def _log_scale(name, domain, extent):
    return {"name": name, "type": "log", "domain": list(domain), "range": extent}


def _axis(scale, orient, domain, title=None):
    return {
        "scale": scale,
        "orient": orient,
        "values": decades(*domain),
        "format": "~s",
        "grid": True,
        "gridColor": INK,
        "gridOpacity": 0.12,
        "domainColor": INK,
        "tickColor": INK,
        "labelColor": INK,
        "labelFont": FONT,
        "labelFontSize": 12,
        "labelOverlap": True,
        "title": title,
        "titleColor": INK,
        "titleFont": FONT,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 6,
    }


def _at(scale, field=None, offset=0):
    return {"scale": scale, "field": field or scale, "offset": offset}


def _line(data, role):
    stroke = {"stroke": {"value": color(role)}, "strokeWidth": {"value": 3}, "strokeCap": {"value": "round"}}
    return {"type": "line", "from": {"data": data}, "encode": {"update": {"x": _at("x"), "y": _at("y"), **stroke}}}


def _area(data, role):
    fill = {"fill": {"value": color(role)}, "fillOpacity": {"value": 0.08}, "y2": {"signal": "height"}}
    return {"type": "area", "from": {"data": data}, "encode": {"update": {"x": _at("x"), "y": _at("y"), **fill}}}


def _text(x, y, text, **more):
    look = {"fill": {"value": INK}, "font": {"value": FONT}, "fontSize": {"value": 12}, "baseline": {"value": "middle"}}
    return {"type": "text", "encode": {"update": {"x": x, "y": y, "text": text, **look, **more}}}


def _label(data, x, y, *, align, **more):
    align = align if isinstance(align, dict) else {"value": align}
    return _text(x, y, {"field": "text"}, align=align, **more) | {"from": {"data": data}}


def _along(data):
    """A name written along the line from x, y to x2, y2, at its middle."""
    run, rise = "(scale('x', datum.x2) - scale('x', datum.x))", "(scale('y', datum.y2) - scale('y', datum.y))"
    return _label(
        data,
        {"signal": f"scale('x', datum.x) + {run} / 2"},
        {"signal": f"scale('y', datum.y) + {rise} / 2"},
        align="center",
        angle={"signal": f"atan2({rise}, {run}) * 180 / PI"},
        dy={"value": -10},
    )


def _dot(data):
    look = {"size": {"value": 130}, "fill": {"value": INK}, "stroke": {"value": "Canvas"}, "strokeWidth": {"value": 2}}
    return {"type": "symbol", "from": {"data": data}, "encode": {"update": {"x": _at("x"), "y": _at("y"), **look}}}


SECONDS = "replace(format(datum.value, '~s'), /([a-zµ]?)$/, ' $1s')"  # 1n -> 1 ns


def bars(rows, x_domain, *, x_title, height=150):
    """Bars on a log axis, one a name, with their values beside them.

    Args:
      rows: (name, role of its colour) pairs, the topmost first.

    Data set: `bars` (row, x, text).
    """
    names, roles = zip(*rows, strict=True)
    band = {"scale": "y", "field": "row"}
    middle = band | {"band": 0.5}
    fill = {"fill": {"scale": "role", "field": "row"}, "height": {"scale": "y", "band": 1}}
    ends = {"x": {"signal": "0"}, "x2": _at("x")}
    bar = {"type": "rect", "from": {"data": "bars"}, "encode": {"update": {"y": band, **ends, **fill}}}
    look = _axis("x", "bottom", x_domain, x_title)
    return {
        "width": 300,
        "height": height,
        "padding": {"left": 108, "right": 18, "top": 8, "bottom": 42},
        "autosize": "none",
        "config": {"aria": False},
        "data": [{"name": "bars"}],
        "scales": [
            _log_scale("x", x_domain, "width"),
            {"name": "y", "type": "band", "domain": list(names), "range": "height", "padding": 0.25},
            {"name": "role", "type": "ordinal", "domain": list(names), "range": [color(role) for role in roles]},
        ],
        "axes": [
            {**look, "encode": {"labels": {"update": {"text": {"signal": SECONDS}}}}},
            {**_axis("y", "left", (1, 1)), "values": list(names), "grid": False, "format": ""},
        ],
        "marks": [bar, _label("bars", _at("x", offset=6), middle, align="left")],
    }


CHEAPEST = 1.00001  # bars up to so many times the shortest count as the shortest
PARTS = ("compute", "ici")  # colours of a bar's two parts
BROKEN = "scale('x', datum.x) > width - 1"
FADED = 0.6  # opacity of the other bars
SQUARE = 9  # pixels


def multiples(rows, most, *, x_title, parts, top=0, band=17):
    """Bars of two parts in multiples of the shortest, one a name; those beyond `most` are broken off.

    Args:
      rows: names, the topmost first.
      most: where the axis ends.
      parts: what the two parts of a bar stand for.
      top: pixels left free above.

    Data set: `bars` (row, part, x, text): where the first part and the bar end, in multiples, and what to write.
    """
    first = top + 24
    height = first + band * len(rows)
    middle = {"scale": "y", "field": "row", "band": 0.5}
    weight = {"fontWeight": {"signal": f"datum.x < {CHEAPEST} ? 'bold' : 'normal'"}}
    written = _label("bars", _at("x", offset=6), middle, align="left", **weight)
    written["encode"]["update"]["text"] = {"signal": f"datum.text + (datum.x < {CHEAPEST} ? ', cheapest' : '')"}
    name = _label("bars", {"value": -6}, middle, align="right", **weight)
    name["encode"]["update"]["text"] = {"field": "row"}
    ends = {"fill": {"signal": f"{BROKEN} ? 'var(--pst-color-background, Canvas)' : 'transparent'"}}
    slit = _band({"signal": "width - 12"}, {"signal": "width - 8"}, **ends)
    return {
        "width": 300,
        "height": height,
        "padding": {"left": 126, "right": 60, "top": 8, "bottom": 42},
        "autosize": "none",
        "config": {"aria": False},
        "data": [{"name": "bars"}],
        "scales": [
            {"name": "x", "type": "linear", "domain": [0, most], "range": "width", "clamp": True},
            {"name": "y", "type": "band", "domain": list(rows), "range": [first, height], "padding": 0.25},
        ],
        "axes": [
            {
                **_axis("x", "bottom", (1, 1), x_title),
                "grid": False,  # it would run through what stands above
                "values": list(range(1, most + 1)),
                "encode": {"labels": {"update": {"text": {"signal": "datum.value + ' ×'"}}}},
            }
        ],
        "marks": [
            *_key(dict(zip(parts, PARTS, strict=True)), top + 12),
            *(_upright(n, first, height) for n in range(1, most + 1)),
            _band({"value": 0}, _at("x", "part"), **_faded("compute")),
            _band(_at("x", "part"), _at("x"), **_faded("ici")),
            slit,
            written,
            name,
        ],
    }


def _band(x, x2, **look):
    """A part of each bar."""
    rows = {"y": {"scale": "y", "field": "row"}, "height": {"scale": "y", "band": 1}}
    return {"type": "rect", "from": {"data": "bars"}, "encode": {"update": {**rows, "x": x, "x2": x2, **look}}}


def _upright(n, first, last):
    """A line of the grid."""
    look = {"stroke": {"value": INK}, "strokeOpacity": {"value": 0.12}}
    ends = {"x": {"scale": "x", "value": n}, "y": {"value": first}, "y2": {"value": last}}
    return {"type": "rule", "encode": {"update": {**ends, **look}}}


def _faded(role):
    """A colour, full for the shortest bars and weak for the others."""
    strength = {"signal": f"datum.x < {CHEAPEST} ? 1 : {FADED}"}
    return {"fill": {"value": color(role)}, "fillOpacity": strength}


def _key(roles, y):
    """What colours mean: a square and a word each, side by side."""
    for i, (text, role) in enumerate(roles.items()):
        at = {"value": 90 * i}
        box = {"x": at, "y": {"value": y - SQUARE / 2}, "width": {"value": SQUARE}, "height": {"value": SQUARE}}
        yield {"type": "rect", "encode": {"update": {**box, "fill": {"value": color(role)}}}}
        yield _text({**at, "offset": SQUARE + 5}, {"value": y}, {"value": text})


def blocks(lefts, side, top, shift):
    """Marks of pictures of arrays: a frame each, its name, and one filled block.

    Args:
      lefts: where each picture begins [pixels].
      side, top: of every picture [pixels].
      shift: from there to the plot's left edge.

    Data sets: `blocks` (x, y, x2, y2) and `names` (x, text), in the pixels of the pictures.
    """
    ink = {"stroke": {"value": INK}, "strokeOpacity": {"value": 0.5}}
    fill = {"fill": {"value": color("hbm")}, "fillOpacity": {"value": 0.6}}
    box = {"y": {"value": top}, "width": {"value": side}, "height": {"value": side}}
    for left in lefts:
        yield {"type": "rect", "encode": {"update": {"x": {"value": left - shift}, **box, **ink}}}
    corners = {end: {"field": end, "offset": -shift} for end in ("x", "x2")} | {
        end: {"field": end} for end in ("y", "y2")
    }
    yield {"type": "rect", "from": {"data": "blocks"}, "encode": {"update": {**corners, **fill, **ink}}}
    yield _label("names", {"field": "x", "offset": -shift}, {"value": top - 10}, align="left")
