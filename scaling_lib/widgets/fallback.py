"""The still picture of an explorer: for readers without scripts, and until the scripts have started."""

from scaling_lib.plotting import style


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
