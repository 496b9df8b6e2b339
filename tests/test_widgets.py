"""The page, the kernel and the library say the same of every state of an explorer."""

import dataclasses
import gzip
import itertools
import math
import random
import re
import subprocess
import sys

import numpy as np
import pytest
from explorer_data import data_of, tables_of

import scaling_lib as sl
from scaling_lib import hardware
from scaling_lib.widgets import Control, Explorer, Readout, Say, Table, ch01, page, words


@pytest.fixture(scope="module")
def shown():
    return ch01.roofline_explorer()


@pytest.fixture(scope="module")
def explorer(shown):
    return shown.explorer


@pytest.fixture(scope="module")
def tables(explorer):
    """The tables as the page reads them: from the JSON in the figure, in the shape of their controls' stops."""
    read = tables_of(data_of(page.figure(explorer)))
    for name, entries in read.items():
        numbers = np.where(entries == "inf", math.inf, entries)
        text = any(isinstance(e, str) for e in numbers.flat)
        values = numbers if text else numbers.astype(float)  # None becomes NaN
        read[name] = 10**values if explorer.logs[name] else values
    return read


def states(explorer, n, seed, *, live=False):
    """Random states on the sliders' stops, or on those of a kernel."""
    rng = random.Random(seed)
    for _ in range(n):
        yield {c.name: rng.choice(c.live_stops if live else c.stops) for c in explorer.controls}


def bounds(state):
    """The library's own verdict on a state, by its public names."""
    kinds = {"x": state["dtype"], "w": state["dtype"], "out": state["dtype"]}
    work = sl.matmul_work(state["batch"], state["d"], state["f"], **kinds)
    return work, sl.time_bounds(work, sl.chip(state["chip"]))


def has(chip, dtype):
    return dtype in sl.chip(chip).dtypes


# ---- tables ----


def test_every_chip_and_every_number_format_of_the_catalogue_can_be_chosen(explorer):
    assert explorer.control["chip"].stops == tuple(chip.name for chip in sl.chips())
    assert set(explorer.control["dtype"].stops) == {dtype for chip in sl.chips() for dtype in chip.dtypes}


def test_sliders_are_fine(explorer):
    steps = {c.name: len(c.stops) for c in explorer.controls if not c.labels}
    assert steps["batch"] >= 40
    assert min(steps["d"], steps["f"]) >= 16


def test_tables_over_chips_hold_the_catalogue(explorer, tables):
    chips, dtypes = explorer.control["chip"].stops, explorer.control["dtype"].stops
    peaks = [[sl.chip(c).peak_flops_per_s(t) if has(c, t) else math.nan for t in dtypes] for c in chips]
    ridges = [[sl.ridge_point(c, dtype=t) if has(c, t) else math.nan for t in dtypes] for c in chips]
    np.testing.assert_allclose(tables["peak"], peaks, rtol=1e-8)
    np.testing.assert_allclose(tables["ridge"], ridges, rtol=1e-8)
    np.testing.assert_allclose(tables["hbm"], [sl.chip(c).hbm_bytes_per_s for c in chips], rtol=1e-8)
    np.testing.assert_allclose(tables["element_bytes"], [sl.bytes_per_element(t) for t in dtypes], rtol=1e-8)
    for c, (i, t) in itertools.product(range(len(chips)), enumerate(dtypes)):
        said = tables["lacks"][c, i]
        assert (said is None) == has(chips[c], t) and said in (None, f"no {t} arithmetic", f"no published {t} rate")
        assert (t in re.split(", | and ", tables["has"][c])) is has(chips[c], t)


def test_tables_over_sizes_hold_the_work_of_a_product(explorer, tables):
    batch, d, f = np.ix_(*(np.array(explorer.control[name].stops, float) for name in ("batch", "d", "f")))
    flops = tables["flops_bd"][:, :, None] * tables["f_size"]
    np.testing.assert_allclose(flops, 2 * batch * d * f, rtol=1e-8)
    np.testing.assert_allclose(tables["per_element"], 2 * batch * d * f / (batch * d + d * f + batch * f), rtol=1e-8)
    assert np.all(tables["left"] < tables["per_element"].min() / 4)
    assert np.all(tables["right"] > tables["per_element"].max() * 2)


def test_at_the_batch_that_turns_arithmetic_takes_as_long_and_one_below_it_does_not(explorer, tables):
    chips, dtypes, d, f = (explorer.control[name].stops for name in ("chip", "dtype", "d", "f"))
    d, f = np.ix_(np.array(d, float), np.array(f, float))
    for (i, chip), (j, dtype) in itertools.product(enumerate(chips), enumerate(dtypes)):
        turns = tables["turns"][i, j]
        if not has(chip, dtype):
            assert np.all(np.isnan(turns))
            continue
        at = bounds({"chip": chip, "dtype": dtype, "batch": np.where(np.isinf(turns), 1e12, turns), "d": d, "f": f})[1]
        below = bounds({"chip": chip, "dtype": dtype, "batch": np.where(turns > 1, turns - 1, 1e-3), "d": d, "f": f})[1]
        assert np.array_equal(at.math_s >= at.memory_s * (1 - 1e-9), np.isfinite(turns))
        assert np.all(below.math_s < below.memory_s)


def test_every_table_of_the_page_is_checked_here(tables):
    checked = "peak ridge hbm element_bytes lacks has flops_bd f_size per_element left right turns"
    assert set(tables) == set(checked.split())


# ---- values and sentences ----


@pytest.mark.parametrize("between_stops", [False, True])
def test_values_at_a_state_are_the_librarys(explorer, between_stops):
    seen = set()
    for state in states(explorer, 300, seed=1, live=between_stops):
        values = explorer.at(state)
        if not has(state["chip"], state["dtype"]):
            assert values["time_s"] is values["attained"] is values["binds"] is values["peak"] is None
            assert explorer.drawn_at(state)["point"] == explorer.drawn_at(state)["slope"] == []
            continue
        work, time = bounds(state)
        assert values["intensity"] == pytest.approx(work.intensity, rel=1e-12)
        assert values["bytes"] == pytest.approx(work.bytes, rel=1e-12)
        assert values["time_s"] == pytest.approx(time.lower_s, rel=1e-12)
        assert values["attained"] == pytest.approx(work.flops / time.lower_s, rel=1e-12)
        assert values["share"] == pytest.approx(time.math_s / time.lower_s, rel=1e-12)
        assert values["binds"] == {"math": "math_s", "memory": "memory_s"}[time.bound]
        assert (values["binds"] == "math_s") == (state["batch"] >= values["turns"])
        seen.add((values["binds"], math.isinf(values["turns"])))
    assert seen == {("math_s", False), ("memory_s", False), ("memory_s", True)}


def test_the_sentence_names_every_control_and_the_verdict(shown):
    said = shown.describe({"chip": "tpu-v5e", "batch": 240, "d": 8192, "f": 8192})
    assert said == (
        "TPU v5e, bf16, batch 240, D = 8,192, F = 8,192: 227 FLOPs per byte give at most 186 TFLOP/s, 94.4% of the "
        "peak; the product takes at least 173 µs. Memory binds; from batch 256 on, arithmetic does."
    )
    assert shown.describe({"batch": 256, "d": 8192, "f": 8192}).endswith(
        "Arithmetic binds, as it does from batch 256 on."
    )
    assert "no batch changes that" in shown.describe({"d": 256, "f": 256})
    assert shown.describe({"chip": "h100", "dtype": "fp4"}) == "H100 SXM has no fp4 arithmetic. It has " + (
        ch01._and(sl.chip("h100").dtypes) + "."
    )


def test_a_rate_nobody_publishes_is_not_called_missing(shown):
    said = shown.describe({"chip": "tpu-v5e", "dtype": "f32"})
    assert said == "TPU v5e has no published f32 rate. It has bf16, int8 and int4."


def test_numbers_are_written_as_the_library_writes_them():
    rng = random.Random(2)
    for _ in range(500):
        value = 10 ** rng.uniform(-13, 18)
        assert words.fill("{x:FLOP/s}", {"x": value}) == sl.si(value, "FLOP/s")
    assert (
        words.fill("{x:,} {x:3} {x:%} {y:s} {z:3} {t}", {"x": 1, "y": None, "z": math.inf, "t": "v5e"})
        == "1 1 100% – ∞ v5e"
    )


def test_a_number_between_two_printed_ones_goes_up_whichever_side_it_was_computed_on():
    for exact in (112.5, 2.125, 0.0625 * 1.02, 1.125e-6):
        for off in (1 - 2e-9, 1, 1 + 2e-9):
            written = words.fill("{x:3}", {"x": exact * off})
            assert written == words.fill("{x:3}", {"x": exact})
    assert words.fill("{x:3}", {"x": 112.5}) == "113"


# ---- bad input ----


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"chips": "tpu-v5e"}, "control chips is unknown: known are chip, dtype, batch, d, f"),
        ({"chip": "tpu-v9"}, "chip got 'tpu-v9': possible are tpu-v3"),
        ({"chip": 5}, "chip got 5: possible are tpu-v3"),
        ({"dtype": "bf17"}, "dtype got 'bf17': possible are f32"),
        ({"batch": 0}, "batch got 0: possible are numbers from 1 to 16,384"),
        ({"batch": -8}, "batch got -8"),
        ({"batch": 20000}, "batch got 20000"),
        ({"batch": "64"}, "batch got '64'"),
        ({"batch": True}, "batch got True"),
        ({"d": math.nan}, "d got nan"),
        ({"f": math.inf}, "f got inf: possible are numbers from 256 to 53,248"),
    ],
)
def test_a_state_that_cannot_be_says_what_is_possible(explorer, state, says):
    for method in (explorer.at, explorer.describe, explorer.drawn_at):
        with pytest.raises(sl.ScalingError, match=re.escape(says)):
            method(state)


def test_a_badly_made_explorer_is_refused(explorer):
    stops = tuple(range(1, 13))
    with pytest.raises(sl.ScalingError, match="x has 11 stops: a slider needs at least 12"):
        Control("x", "X", stops[:11], 1)
    with pytest.raises(sl.ScalingError, match="default of x is 0: possible are 1, 2"):
        Control("x", "X", stops, 0)
    with pytest.raises(sl.ScalingError, match="names 'nothing': possible are"):
        dataclasses.replace(explorer, says=(Say("{nothing}"),))
    with pytest.raises(
        sl.ScalingError, match="table wrong got over batch, later: possible are chip, dtype, batch, d, f"
    ):
        dataclasses.replace(explorer, tables=(Table("wrong", ("batch", "later"), max),))
    with pytest.raises(sl.ScalingError, match=r"readout wrong got peak, turns: possible are .*log10 or none"):
        dataclasses.replace(explorer, readouts=(Readout("wrong", "add", ("peak", "turns")),))


# ---- the page without scripts, and its size ----


def test_without_scripts_picture_sentence_and_table_remain_and_no_dead_slider(shown):
    html = page.figure(shown.explorer)
    assert 'class="sl-controls" hidden' in html
    assert f'role="img" aria-label="{shown.describe()}"' in html
    for label, text in shown.explorer.table_at():
        assert f'<th scope="row">{label}</th><td>{text}</td>' in html


def test_the_page_is_the_same_at_every_build(shown):
    assert page.figure(shown.explorer) == page.figure(ch01._explorer.__wrapped__())


def test_sizes_stay_in_their_budgets(shown):
    figure = page.figure(shown.explorer).encode()
    data = len(gzip.compress(figure, mtime=0))
    print(f"explorer: {len(figure) / 1e3:.0f} kB, {data / 1e3:.0f} kB gzipped")
    assert data <= 80_000  # the budget of one explorer is 300 kB
    assert (page.STATIC / "vega.min.js").stat().st_size < 1_000_000
    assert "University of Washington" in page.asset("LICENSE.vega")


def test_the_script_has_no_formula_and_cannot_end_its_tag():
    code = page.asset("explorer.js")
    assert len(code.splitlines()) <= 350
    assert set(re.findall(r"Math\.(\w+)", code)) <= {"abs", "floor", "log10", "max", "min", "pow"}
    assert "</script" not in page.script()
    assert "<!--" not in page.script()


def test_a_new_chip_appears_with_no_other_edit(monkeypatch):
    new = dataclasses.replace(sl.chip("tpu-v5e"), name="tpu-x", title="TPU X", hbm_bytes_per_s=1.64e12)
    known = {chip.name: chip for chip in (*sl.chips(), new)}
    monkeypatch.setattr(hardware, "chips", lambda: tuple(known.values()))
    monkeypatch.setattr(hardware, "chip", known.__getitem__)
    explorer = ch01._explorer.__wrapped__()
    assert explorer.at({"chip": "tpu-x"})["ridge"] == pytest.approx(sl.ridge_point("tpu-v5e") / 2)
    assert ">TPU X</option>" in page.figure(explorer)


def test_an_explorer_can_be_small():
    stops = tuple(range(1, 14))
    explorer = Explorer(
        name="area",
        title="Area",
        controls=(Control("w", "Width", stops, 2), Control("h", "Height", stops, 3)),
        tables=(Table("row", ("w",), lambda w: w, log10=True), Table("rows", ("h",), lambda h: h, log10=True)),
        readouts=(Readout("area", "add", ("row", "rows")),),
        says=(Say("{w:,} by {h:,} is {area:m²}."),),
        rows=(("area", "{area:m²}"),),
        chart={},
        drawn={"bar": ({"x": "area"},)},
        still=lambda drawn, title: "<svg></svg>",
    )
    assert explorer.describe({"w": 12, "h": 12}) == "12 by 12 is 144 m²."
    assert explorer.drawn_at() == {"bar": [{"x": pytest.approx(6)}]}


def test_importing_explorers_loads_neither_widgets_nor_matplotlib():
    code = "import sys, scaling_lib.widgets.ch01; print({'anywidget', 'ipywidgets', 'matplotlib'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
