"""Chapter 3's explorer in the page: the planner's times, bars that mark the cheapest, pictures that fit a phone."""

import itertools
import random

import explorer_pages
import pytest
from playwright.sync_api import expect

import scaling_lib as sl
from scaling_lib.widgets import ch03

PHONE = {"width": 360, "height": 740}
FIGURE = "document.querySelector('figure.sl-explorer')"
BEST = f"(states) => states.map((s) => {{ {FIGURE}.slSet(s); return {FIGURE}.slState.values.best_s; }})"


@pytest.fixture(scope="module")
def explorer():
    return ch03.sharding_explorer().explorer


@pytest.fixture(scope="module")
def base_url(tmp_path_factory, explorer):
    folder = tmp_path_factory.mktemp("products")
    explorer_pages.write(folder, explorer)
    with explorer_pages.served(folder) as url:
        yield url


def states(explorer, n, seed):
    """Random states, half of them of small arrays; then every corner of the sliders on every mesh."""
    rng = random.Random(seed)
    ends = itertools.product(ch03.MESHES, *[(ch03.SIZES[0], ch03.SIZES[-1])] * 3)
    small = [{d: rng.choice(ch03.SIZES[:5]) for d in "ijk"} if i % 2 else {} for i in range(n)]
    small += [{"mesh": mesh, "i": i, "j": j, "k": k} for mesh, i, j, k in ends]
    return [{c.name: rng.choice(c.stops) for c in explorer.controls} | sizes for sizes in small]


def planned_s(state):
    a, b, c = (f"{name}[{state[name.lower()].replace(' ', ', ')}]" for name in "ABC")
    sizes = {dim: state[dim.lower()] for dim in "IJK"}
    return sl.plan_matmul(f"{a} * {b} -> {c}", sizes, ch03.MESHES[state["mesh"]]()).time.in_turn_s


def test_the_page_shows_the_planners_time_at_every_state(open_page, explorer):
    visit = open_page("book.html")
    asked = states(explorer, 300, seed=21)
    for state, best in zip(asked, visit.page.evaluate(BEST, asked), strict=True):
        assert best == pytest.approx(planned_s(state), rel=1e-6), state
    assert visit.errors == [] and visit.foreign == []


def test_the_cheapest_ways_are_marked_in_words_and_in_bold(open_page):
    page = open_page("alone.html").page  # three ways tie where the sliders start
    marked = page.locator(".sl-chart text", has_text="cheapest").filter(has_text="µs").all()
    assert [text.text_content() for text in marked] == ["920 µs, cheapest"] * 3
    assert {text.get_attribute("font-weight") for text in marked} == {"bold"}


def test_on_a_phone_nothing_of_the_chart_is_cut_and_every_menu_shows_its_longest_choice(open_page, explorer):
    page = open_page("alone.html", viewport=PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for state in states(explorer, 60, seed=22)[::2]:
        page.evaluate(f"(state) => {FIGURE}.slSet(state)", state)
        assert page.evaluate(explorer_pages.LABELS) == [[], []], state
        outside = page.evaluate(
            "() => { const box = document.querySelector('.sl-chart').getBoundingClientRect();"
            " return [...document.querySelectorAll('.sl-chart .mark-rect path')]"
            ".filter((p) => p.getBoundingClientRect().right > box.right + 1).length; }"
        )
        assert outside == 0
    for menu in page.locator("select").all():
        cut = menu.evaluate(
            "(menu) => { const free = document.createElement('select'); free.innerHTML = menu.innerHTML;"
            " free.style.cssText = `position: absolute; width: auto; font: ${getComputedStyle(menu).font};"
            " padding: 0 0.5em`; document.body.append(free); const wide = free.offsetWidth; free.remove();"
            " return wide > menu.offsetWidth + 1; }"
        )
        assert not cut, menu.get_attribute("name")


def test_every_control_moves_by_keyboard(open_page, explorer):
    page = open_page("alone.html").page
    state = explorer.default_state
    for control in explorer.controls:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == control.name
        page.keyboard.press("ArrowDown" if control.labels else "ArrowRight")
        state = {**state, control.name: control.stops[control.stops.index(state[control.name]) + 1]}
        expect(page.locator(".sl-say")).to_have_text(explorer.describe(state))


def test_an_update_takes_at_most_a_frame(open_page, explorer):
    took = sorted(open_page("alone.html").page.evaluate(explorer_pages.MILLISECONDS, states(explorer, 100, seed=23)))
    assert took[len(took) // 2] <= 16
