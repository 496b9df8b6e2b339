"""The explorer of sharded products says what the planner says."""

import gzip
import json
import random
import re

import pytest

import scaling_lib as sl
from scaling_lib.widgets import ch03, page


@pytest.fixture(scope="module")
def explorer():
    return ch03.sharding_explorer().explorer


@pytest.fixture(scope="module")
def figure(explorer):
    return page.figure(explorer)


def planned(state):
    """The planner's plan of a state."""
    texts = [ch03._written(name, state[name.lower()]) for name in "ABC"]
    sizes = {dim: state[dim.lower()] for dim in "IJK"}
    return sl.plan_matmul("{} * {} -> {}".format(*texts), sizes, ch03.MESHES[state["mesh"]]())


def test_the_cheapest_plan_is_the_planners(explorer):
    rng = random.Random(7)
    for _ in range(40):
        state = {c.name: rng.choice(c.stops) for c in explorer.controls} | {d: rng.choice((8192, 16384)) for d in "ijk"}
        values, plan = explorer.at(state), planned(state)
        # Explorers take a route's bytes and hops as wholes: at these sizes nearly the sum of its steps.
        assert values["best_s"] == pytest.approx(plan.time.in_turn_s, rel=0.03), state


def test_what_a_chip_holds_is_the_notations(explorer):
    rng = random.Random(8)
    for _ in range(20):
        state = {c.name: rng.choice(c.stops) for c in explorer.controls} | {"i": 4096, "j": 8192, "k": 16384}
        values, mesh = explorer.at(state), ch03.MESHES[state["mesh"]]()
        for name in "ABC":
            s = sl.parse_sharding(ch03._written(name, state[name.lower()]))
            held = s.local_bytes({"I": 4096, "J": 8192, "K": 16384}, mesh)
            assert values[f"local_{name}"] == pytest.approx(held)
            row, column = s.block({"X": 1, "Y": 0}, mesh)
            rows, columns = s.shards(mesh)
            top, left = values[f"y_{name}"] - ch03.TOP, values[f"x_{name}"] - {"A": 6, "B": 108, "C": 210}[name]
            assert (top, left) == pytest.approx((ch03.SIDE * row / rows, ch03.SIDE * column / columns))


def test_the_four_cases_are_told_by_their_collectives(explorer):
    case1 = explorer.describe({"a": "I_X J", "b": "J K_Y", "c": "I_X K_Y"})
    assert "multiply with X on I and Y on K; 174 µs" in case1 and "gather" not in case1
    assert "reduce-scatter C over Y" in explorer.describe({"a": "I_X J_Y", "b": "J_Y K", "c": "I_X K_Y"})
    assert "all-gather B" in explorer.describe({"a": "I_X J", "b": "J K_X", "c": "I_X K"})
    assert "all-to-all" in explorer.describe({"a": "I J_X", "b": "J_Y K", "c": "I K"})


def test_ways_that_are_drawn_and_listed_are_all_and_the_least_is_the_best(explorer):
    values = explorer.at()
    times = [values[f"time_{ch03._name(way)}"] for way in ch03.WAYS]
    assert len(explorer.drawn_at()["bars"]) == len(ch03.WAYS) == 19
    assert values["best_s"] == pytest.approx(min(times))


def test_sliders_are_fine_and_the_page_is_light(explorer, figure):
    assert all(len(c.stops) >= 12 for c in explorer.controls if not c.labels)
    assert len(gzip.compress(figure.encode())) < 100_000
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)[1])
    assert {r["how"] for r in data["readouts"]} <= {"add", "stack", "greatest", "least", "which"}
