"""The explorer of slices says what the library says of a slice, and of shapes that are none."""

import gzip
import math
import random

import pytest
from explorer_data import data_of, tables_of

import scaling_lib as sl
from scaling_lib.widgets import ch02, page


@pytest.fixture(scope="module")
def explorer():
    return ch02.slice_explorer().explorer


@pytest.fixture(scope="module")
def figure(explorer):
    return page.figure(explorer)


def slice_of(state):
    """The slice of a state, or None: 2D tori take X and Y, and an axis may have any name."""
    axes = sl.chip(state["chip"]).ici_axes
    lengths = [state["x"], state["y"], state["z"]]
    if axes == 2 and state["z"] != 1:
        return None
    for shape in (tuple(sorted(lengths[:axes])), tuple(sorted(lengths[:axes], reverse=True))):
        try:
            return sl.TpuSlice(state["chip"], shape)
        except sl.ScalingError:
            continue
    return None


def states(explorer, n, seed):
    """Random states, half of them with a shape that exists."""
    rng, found = random.Random(seed), {True: 0, False: 0}
    while min(found.values()) < n:
        state = {c.name: rng.choice(c.stops) for c in explorer.controls}
        if rng.random() < 0.7:
            state |= dict(
                zip("xyz", rng.choice([(4, 4, 4), (16, 4, 8), (2, 2, 1), (8, 16, 1), (4, 8, 1)]), strict=True)
            )
        legal = slice_of(state) is not None
        found[legal] += 1
        yield state


def farthest(s):
    """The corner or centre that lies farthest from the first chip, found by trying all."""
    here = (0,) * len(s.shape)
    return max(s.coordinates(), key=lambda chip: s.distance(here, chip))


def test_sliders_are_fine_and_the_pod_of_a_v5p_can_be_set(explorer):
    assert all(len(c.stops) >= 12 for c in explorer.controls if not c.labels)
    assert explorer.at({"chip": "tpu-v5p", "x": 16, "y": 20, "z": 28})["chips"] == pytest.approx(8960)


def test_values_are_the_librarys(explorer):
    seen = set()
    for state in states(explorer, 60, seed=3):
        values, s = explorer.at(state), slice_of(state)
        if s is None:
            assert values["chips"] is values["time_s"] is values["hosts"] is None
            assert "has no slice of" in explorer.describe(state)
            continue
        assert values["chips"] == pytest.approx(s.n_chips) and values["hosts"] == s.n_hosts
        assert (values["links"], values["rings"]) == (s.n_links, s.wrap_links)
        assert math.isinf(values["open"]) == (not any(s.wraps))
        if s.n_chips == 1:
            continue
        assert values["halves"] == pytest.approx(s.bisection_bytes_per_s)
        here = (0,) * len(s.shape)
        there = farthest(s) if state["to"] == "farthest" else s.coordinates()[1 if s.shape[-1] > 1 else s.shape[-1]]
        time = sl.transfer_time(1e3 * state["size"], s, here, there)
        assert values["first_s"] == pytest.approx(time.latency_s)
        if state["to"] == "farthest":
            assert values["send_s"] == pytest.approx(time.bandwidth_s)
            assert values["time_s"] == pytest.approx(time.upper_s)  # cut-through: the hops once, then all bytes
        assert values["time_s"] == pytest.approx(values["send_s"] + values["first_s"])
        seen.add((state["to"], any(s.wraps)))
    assert len(seen) == 4


def test_the_array_takes_its_bytes_over_each_bandwidth(explorer):
    for chip in ch02.CHIPS:
        values = explorer.at({"chip": chip, "x": 2, "y": 2, "z": 1, "size": 1000})
        c = sl.chip(chip)
        assert values["hbm_s"] == pytest.approx(1e6 / c.hbm_bytes_per_s)
        assert values["dcn_s"] == pytest.approx(1e6 / c.dcn_bytes_per_s)
        assert values["pcie_s"] == (pytest.approx(1e6 / c.pcie_bytes_per_s) if c.pcie_bytes_per_s else None)


def test_the_sentence_has_numbers_and_a_verdict(explorer):
    flat = {"chip": "tpu-v5e", "z": 1}
    said = explorer.describe(flat | {"x": 8, "y": 16})
    assert "chips 128, hosts 16" in said and "8 of which close rings" in said and "720 GB/s each way" in said
    assert "none of which closes a ring" in explorer.describe(flat | {"x": 4, "y": 4})
    assert "nobody to send to" in explorer.describe(flat | {"x": 1, "y": 1})
    wrong = explorer.describe(flat | {"x": 3, "y": 5})
    assert "3 × 5 × 1" in wrong and "4x8" in wrong
    assert "multiples of 4" in explorer.describe({"chip": "tpu-v5p", "x": 3, "y": 5, "z": 1})


def test_the_page_looks_up_what_the_library_computes(explorer, figure):
    data = data_of(figure)
    stops = {c["name"]: c["stops"] for c in data["controls"]}
    tables, over = tables_of(data), {table["name"]: table["over"] for table in data["tables"]}
    for state in states(explorer, 30, seed=5):
        values = explorer.at(state)
        for name in ("links", "hops", "ways", "cut", "hbm"):
            entry = tables[name][tuple(stops[c].index(state[c]) for c in over[name])]
            shown = 10**entry if explorer.logs[name] and entry is not None else entry
            assert shown == (None if values[name] is None else pytest.approx(values[name]))


def test_the_explorer_is_light_and_has_its_still_picture(figure):
    assert len(gzip.compress(figure.encode())) < 100_000
    assert "<svg" in figure and "read from HBM" in figure and 'aria-live="polite"' in figure
