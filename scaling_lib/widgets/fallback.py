"""The still picture of an explorer: for readers without scripts, and until the scripts have started."""

from scaling_lib.plotting import style
from scaling_lib.widgets import charts


def roofline(drawn, title, *, x_domain, y_domain, x_title, y_title):
    """SVG of the same data sets that `charts.roofline` draws."""
    with style.book_style():
        picture, axes = style.new_axes("")
        style.log_axis(axes.xaxis)
        style.log_axis(axes.yaxis)
        axes.set_xlim(x_domain)
        axes.set_ylim(y_domain)
        axes.set_xlabel(x_title)
        axes.set_ylabel(y_title)
        for name, role in (("slope", "hbm"), ("flat", "compute")):
            axes.plot(*_columns(drawn[name]), color=style.COLORS[role])
        for row in drawn["slope_name"]:
            part = (row["x2"] / row["x"]) ** 0.3  # a third of the way up, below the line
            style.direct_label(
                axes, row["x"] * part, row["y"] * part, row["text"], style.INK, xytext=(5, -7), ha="left"
            )
        for row in drawn["flat_name"]:
            style.direct_label(axes, x_domain[1], row["y"], row["text"], style.INK, xytext=(-4, 9), ha="right")
        for row in drawn["ridge_name"]:
            axes.plot([row["x"]] * 2, [y_domain[0], drawn["flat"][0]["y"]], color=style.INK, ls=":", lw=1)
            style.direct_label(axes, row["x"], y_domain[0], row["text"], style.INK, xytext=(-4, 9), ha="right")
        for row in drawn["point"]:
            axes.plot([row["x"]], [row["y"]], "o", color=style.INK, ms=7)
            style.direct_label(axes, row["x"], row["y"], row["text"], style.INK, xytext=(4, -11), ha="left")
    return style.Picture(picture, title, {}).svg()


def _columns(rows):
    return [row["x"] for row in rows], [row["y"] for row in rows]


def bars(drawn, title, *, rows, x_domain, x_title, size=(4.8, 2.4)):
    """SVG of the data set that `charts.bars` draws."""
    names = [name for name, _ in rows]
    with style.book_style():
        picture, axes = style.new_axes("", size=size)
        style.log_axis(axes.xaxis)
        axes.set_xlim(x_domain)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(x_title)
        for row in drawn["bars"]:
            y = names.index(row["row"])
            axes.barh(
                [y], [row["x"] - x_domain[0]], left=x_domain[0], height=0.7, color=style.COLORS[dict(rows)[row["row"]]]
            )
            style.direct_label(axes, row["x"], y, row["text"], style.INK, xytext=(5, 0))
    return style.Picture(picture, title, {}).svg()


def multiples(drawn, title, *, rows, most, x_title, parts, side, top):
    """SVG of the data sets that `charts.multiples` and `charts.blocks` draw: pictures above, bars below."""
    with style.book_style():
        picture, axes = style.new_axes("", size=(4.8, 5.6))
        axes.set(xlim=(0, most), ylim=(len(rows) - 0.5, -0.5), xlabel=x_title)
        axes.set_xticks(range(1, most + 1), [f"{n} ×" for n in range(1, most + 1)])
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(visible=False, axis="y")
        for row in drawn["bars"]:
            _bar(axes, row, rows.index(row["row"]), most)
        for n, (part, role) in enumerate(zip(parts, charts.PARTS, strict=True)):
            axes.annotate(
                "■ " + part, (0.3 * n, 1.0), (0, 3), "axes fraction", "offset points", color=style.COLORS[role]
            )
        _pictures(axes.inset_axes([0, 1.07, 1, 0.28]), drawn, side, top)
    return style.Picture(picture, title, {}).svg()


def _bar(axes, row, y, most):
    shortest = row["x"] < charts.CHEAPEST
    end, part = min(row["x"], most), min(row["part"], most)
    look = {"height": 0.7, "alpha": 1.0 if shortest else charts.FADED}
    axes.barh([y], [part], color=style.COLORS["compute"], **look)
    axes.barh([y], [end - part], left=part, color=style.COLORS["ici"], **look)
    text = row["text"] + ", cheapest" * shortest + " →" * (row["x"] > most)
    axes.annotate(text, (end, y), (5, 0), textcoords="offset points", va="center", color=style.INK,
                  fontweight="bold" if shortest else "normal")  # fmt: skip


def _pictures(axes, drawn, side, top):
    """The arrays with their blocks."""
    for name, block in zip(drawn["names"], drawn["blocks"], strict=True):
        axes.bar(name["x"], side, side, top, align="edge", fill=False, edgecolor=style.INK, lw=0.8)
        axes.bar(block["x"], block["y2"] - block["y"], block["x2"] - block["x"], block["y"], align="edge",
                 color=style.COLORS["hbm"], alpha=0.6)  # fmt: skip
        axes.annotate(name["text"], (name["x"], top), (0, 4), textcoords="offset points", color=style.INK)
    axes.set(aspect="equal", anchor="W")
    axes.autoscale_view()
    axes.invert_yaxis()
    axes.axis("off")
