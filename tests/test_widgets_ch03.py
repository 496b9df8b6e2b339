"""The explorer of sharded products says what the planner says, at every state."""

import gzip
import itertools
import random
import re

import pytest
from explorer_data import data_of, tables_of

import scaling_lib as sl
from scaling_lib.widgets import ch03, page


@pytest.fixture(scope="module")
def explorer():
    return ch03.sharding_explorer().explorer


@pytest.fixture(scope="module")
def figure(explorer):
    return page.figure(explorer)


def random_states(explorer, n, seed):
    """Random states, half of them with sizes among the lowest five stops, where hops count as much as bytes."""
    rng = random.Random(seed)
    for i in range(n):
        state = {c.name: rng.choice(c.stops) for c in explorer.controls}
        yield state | ({dim: rng.choice(ch03.SIZES[:5]) for dim in "ijk"} if i % 2 else {})


def corners(explorer, seed):
    """Every mesh with every corner of the sizes, the layouts at random."""
    rng = random.Random(seed)
    ends = (ch03.SIZES[0], ch03.SIZES[-1])
    for mesh, *sizes in itertools.product(explorer.control["mesh"].stops, ends, ends, ends):
        layouts = {name: rng.choice(explorer.control[name].stops) for name in "abc"}
        yield layouts | {"mesh": mesh} | dict(zip("ijk", sizes, strict=True))


def planned(state, via=None):
    """The planner's plan of a state."""
    texts = ["{}[{}]".format(name, state[name.lower()].replace(" ", ", ")) for name in "ABC"]
    sizes = {dim: state[dim.lower()] for dim in "IJK"}
    return sl.plan_matmul("{} * {} -> {}".format(*texts), sizes, ch03.MESHES[state["mesh"]](), via=via)


def operands(label):
    """A way to multiply as the planner reads it: what cuts what of A and of B."""
    cuts = dict.fromkeys("IJK", "")
    for axes, dim in re.findall(r"([XY]+) cuts ([IJK])", label):
        cuts[dim] = axes
    return "A[I_{I}, J_{J}] * B[J_{J}, K_{K}]".format(**cuts).replace("_,", ",").replace("_]", "]")


def in_words(step):
    """A step of a plan as the explorer's sentence puts it."""
    name, over = step.output.name, " and ".join(step.axes)
    return f"cut {name} over {over} (free)" if step.op == "slice" else f"{step.op.replace('_', '-')} {name} over {over}"


def test_the_cheapest_plan_is_the_planners(explorer):
    for state in (*random_states(explorer, 400, seed=7), *corners(explorer, seed=9)):
        assert explorer.at(state)["best_s"] == pytest.approx(planned(state).time.in_turn_s, rel=1e-6), state


@pytest.mark.parametrize(
    ("layouts", "mesh", "sizes"),
    [
        ("I_Y J, J K_Y, I_X K_Y", "TPU v5e, X = 8, Y = 16 (a ring)", (512, 256, 1024)),
        ("I_YX J, J K_Y, I K_X", "TPU v5e, X = 8, Y = 16 (a ring)", (1536, 512, 256)),
        ("I_XY J, J K_X, I K_YX", "TPU v5e, X = 16, Y = 16 (rings)", (512, 256, 256)),
        ("I J_Y, J_XY K, I_Y K", "TPU v5e, X = 8, Y = 16 (a ring)", (768, 1536, 1536)),
        ("I J_Y, J K_XY, I_X K", "TPU v5e, X = 4, Y = 2", (512, 1024, 768)),
        ("I J_Y, J_Y K_X, I K", "TPU v5p, X = 4 × 4, Y = 4 (rings)", (8192, 768, 6144)),
    ],
)
def test_where_hops_and_bytes_both_count_it_is_still_the_planners(explorer, layouts, mesh, sizes):
    state = dict(zip("abc", layouts.split(", "), strict=True)) | {"mesh": mesh} | dict(zip("ijk", sizes, strict=True))
    assert explorer.at(state)["best_s"] == pytest.approx(planned(state).time.in_turn_s, rel=1e-6)


def test_the_sentence_tells_the_steps_of_a_plan_of_that_cost(explorer):
    for state in random_states(explorer, 200, seed=11):
        said = explorer.describe(state).replace(" (with the links of both)", "")
        steps = re.split(r"; (?=[\d.,]+ .?s, of which)", said.split(": ", 1)[1])[0]
        before, label, after = re.fullmatch(r"(.*?)multiply \((.*?)\)(.*)", steps).groups()
        plan = planned(state, via=operands(label))
        assert plan.time.in_turn_s == pytest.approx(planned(state).time.in_turn_s, rel=1e-5), state
        i = [step.op for step in plan.steps].index("multiply")
        assert before == "".join(f"{in_words(step)}, " for step in plan.steps[:i]), state
        assert after == "".join(f", {in_words(step)}" for step in plan.steps[i + 1 :]), state


def test_the_page_holds_the_planners_times(explorer, figure):
    """Tables of the page, read as its script reads them, against plans of the same way to multiply."""
    data = data_of(figure)
    tables, stops = tables_of(data), data["stops"] | {c["name"]: c["stops"] for c in data["controls"]}
    for state in random_states(explorer, 30, seed=13):
        for way in random.Random(str(state)).sample(ch03.WAYS, 3):
            plan, sending = planned(state, via=operands(ch03._label(way))), 0.0
            for array, (d, e) in ch03.ARRAYS.items():
                known = state | {f"nbytes_{array}": 2 * state[d.lower()] * state[e.lower()]}
                names = ("mesh", array.lower(), f"nbytes_{array}")
                entry = tables[f"sent_{ch03._spot(array, way)}"][tuple(stops[n].index(known[n]) for n in names)]
                sending += 10**entry
            assert sending == pytest.approx(
                sum(s.seconds for s in plan.steps if s.op != "multiply"), rel=1e-6, abs=1e-20
            )


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
            top, left = values[f"y_{name}"] - ch03.TOP, values[f"x_{name}"] - ch03.LEFTS[name]
            assert (top, left) == pytest.approx((ch03.SIDE * row / rows, ch03.SIDE * column / columns))


def test_the_four_cases_are_told_by_their_collectives(explorer):
    case1 = explorer.describe({"a": "I_X J", "b": "J K_Y", "c": "I_X K_Y"})
    assert ": multiply (X cuts I, Y cuts K); 174 µs" in case1 and "gather" not in case1
    assert "reduce-scatter C over Y" in explorer.describe({"a": "I_X J_Y", "b": "J_Y K", "c": "I_X K_Y"})
    assert "all-gather B" in explorer.describe({"a": "I_X J", "b": "J K_X", "c": "I_X K"})
    assert "all-to-all" in explorer.describe({"a": "I J_X", "b": "J_Y K", "c": "I K"})


def test_a_cut_that_is_undone_at_once_says_why(explorer):
    said = explorer.describe({"a": "I_X J", "b": "J K_X", "c": "I_X K"})
    assert "cut B over Y (free), all-gather B over Y and X (with the links of both)" in said


def test_layouts_stand_in_a_natural_order(explorer):
    assert explorer.control["a"].stops == (
        "I J", "I_X J", "I_Y J", "I_XY J", "I_YX J", "I J_X", "I J_Y", "I J_XY", "I J_YX", "I_X J_Y", "I_Y J_X",
    )  # fmt: skip


def test_every_way_has_its_bar_and_its_row_and_the_cheapest_is_once_as_long_as_itself(explorer):
    for state in random_states(explorer, 5, seed=4):
        bars = explorer.drawn_at(state)["bars"]
        assert len({bar["row"] for bar in bars}) == len(bars) == len(ch03.WAYS) == 19
        assert min(bar["x"] for bar in bars) == pytest.approx(1)
        assert all(0 < bar["part"] <= bar["x"] * (1 + 1e-9) for bar in bars)
        assert len([label for label, _ in explorer.table_at(state) if label.endswith("in all")]) == 19


def test_sliders_are_fine_and_the_page_is_light(explorer, figure):
    assert all(len(c.stops) >= 12 for c in explorer.controls if not c.labels)
    assert len(gzip.compress(figure.encode())) < 100_000
    assert {r["how"] for r in data_of(figure)["readouts"]} <= {"add", "stack", "greatest", "least", "which"}


def test_the_still_picture_shows_the_arrays_and_every_way(figure):
    still = figure[figure.index("<svg") : figure.index("</svg>")]
    for text in ("A[I_X, J]", "C[I_X, K]", "X cuts I alone", "cheapest", "sending"):
        assert text in still
