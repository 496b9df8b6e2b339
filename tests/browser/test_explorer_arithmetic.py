"""What the page's script does with tables, on an explorer small enough to check by hand."""

import decimal
import math
import random

import explorer_pages
import pytest

from scaling_lib.widgets import Control, Explorer, Readout, Say, Table, words

STOPS = tuple(range(1, 14))
SET = """(states) => states.map((state) => {
  const figure = document.querySelector("figure.sl-explorer");
  figure.slSet(state);
  return figure.slState;
})"""


def tiny():
    """Readouts of every kind over plain tables and logarithms; one table stands over another."""
    logs, plain = ("width", "height", "tall"), ("plain_w", "plain_h")
    return Explorer(
        name="tiny",
        title="Tiny",
        controls=(Control("w", "Width", STOPS, 2), Control("h", "Height", STOPS, 3)),
        tables=(
            Table("width", ("w",), lambda w: w, log10=True),
            Table("height", ("h",), lambda h: h, log10=True),
            Table("tall", ("h",), lambda h: 1e12 * h, log10=True),
            Table("plain_w", ("w",), lambda w: w),
            Table("plain_h", ("h",), lambda h: h),
            Table("area", ("w", "h"), lambda w, h: w * h),
            Table("root", ("area",), lambda area: area**0.5),
        ),
        readouts=(
            Readout("quotient", "add", ("width", "-height")),
            Readout("sum", "stack", ("width", "height")),
            Readout("sum_of_uneven", "stack", ("width", "tall")),
            Readout("sum_of_plain", "stack", plain),
            Readout("difference", "add", ("plain_w", "-plain_h")),
            Readout("greatest", "greatest", plain),
            Readout("least", "least", logs),
            Readout("longer", "which", plain),
            Readout("least_of_plain", "which", ("plain_h", "plain_w"), ("plain_w", "plain_h")),
        ),
        says=(Say("{w} by {h}: {longer}, {sum:3}."),),
        rows=(("sum", "{sum:3}"),),
        chart={
            "width": 10, "height": 10, "padding": {"left": 0, "right": 0, "top": 0, "bottom": 0}, "autosize": "none",
            "data": [{"name": "bar"}], "marks": [],
        },
        drawn={"bar": ({"x": "sum"},)},
        still=lambda drawn, title: "<svg></svg>",
    )  # fmt: skip


def by_hand(w, h):
    return {
        "quotient": w / h,
        "sum": w + h,
        "sum_of_uneven": w + 1e12 * h,
        "sum_of_plain": w + h,
        "difference": w - h,
        "greatest": w if w > h else h,
        "least": w if w < h else h,
        "longer": "plain_w" if w >= h else "plain_h",  # of equals the first named
        "least_of_plain": h if w > h else w,
        "root": math.sqrt(w * h),
    }


@pytest.fixture(scope="module")
def base_url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    explorer_pages.write(folder, tiny())
    with explorer_pages.served(folder) as url:
        yield url


def test_sums_stacks_greatest_and_least_are_what_they_are_by_hand(open_page):
    rng = random.Random(3)
    sizes = [(w, h) for w in (1, 13) for h in (1, 13)] + [(rng.choice(STOPS), rng.choice(STOPS)) for _ in range(60)]
    visit = open_page("alone.html")
    shown = visit.page.evaluate(SET, [{"w": w, "h": h} for w, h in sizes])
    for (w, h), state in zip(sizes, shown, strict=True):
        for values in (state["values"], tiny().at({"w": w, "h": h})):
            for name, value in by_hand(w, h).items():
                same = value if isinstance(value, str) else pytest.approx(value, rel=1e-8)
                assert values[name] == same, (name, w, h)
    assert visit.errors == []


def exactly_half_way(x):
    """Whether the float, exactly, lies between two numbers of three digits."""
    return len(decimal.Decimal(x).normalize(decimal.Context(prec=999)).as_tuple().digits) == 4


def test_quantities_near_the_next_digit_and_prefix_are_written_as_python_writes_them(open_page):
    halves = [m * 10.0**e for m in (1, 1.005, 1.125, 9.985, 9.994, 9.995, 9.996) for e in range(-17, 21)]
    values = [sign * x * by for x in halves for by in (1, 1 / words.NUDGE, 1 - 2e-7) for sign in (1, -1)]
    values = [x for x in values if not exactly_half_way(x * words.NUDGE)]  # the two languages round those apart
    assert len(values) > 1400
    said = open_page("alone.html").page.evaluate("(xs) => xs.map((x) => slExplorers.fill('{x:B}', {x}))", values)
    assert said == [words.fill("{x:B}", {"x": value}) for value in values]
