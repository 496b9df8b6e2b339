"""The explorer in a page without a kernel: what the browser draws and says is what Python computes."""

import random
import statistics

import explorer_pages
import pytest
from patience import HELD_AT_S
from playwright.sync_api import expect

from scaling_lib.widgets import ch01

PHONE = {"width": 360, "height": 740}
FIGURE = "document.querySelector('figure.sl-explorer')"
REST_MS = 250  # the page waits as long before it speaks


@pytest.fixture(scope="module")
def explorer():
    return ch01.roofline_explorer().explorer


@pytest.fixture(scope="module")
def base_url(tmp_path_factory, explorer):
    """In the place of the site: pages that hold the explorer alone."""
    folder = tmp_path_factory.mktemp("explorer")
    explorer_pages.write(folder, explorer)
    with explorer_pages.served(folder) as url:
        yield url


def states(explorer, n, seed):
    rng = random.Random(seed)
    return [{c.name: rng.choice(c.stops) for c in explorer.controls} for _ in range(n)]


def set_state(page, state):
    page.evaluate(f"(state) => {FIGURE}.slSet(state)", state)
    return page.evaluate(f"{FIGURE}.slState")


def announced(page):
    page.wait_for_function(explorer_pages.SAID)
    return page.locator(".sl-say").first.inner_text()


def assert_drawn(drawn, expected):
    assert set(drawn) == set(expected)
    for name, rows in expected.items():
        assert len(drawn[name]) == len(rows)
        for got, row in zip(drawn[name], rows, strict=True):
            for key, value in row.items():
                assert got[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-6)), (name, key)


# ---- the same as Python ----


@pytest.mark.parametrize(("path", "n"), [("book.html", 20), ("alone.html", 5), ("loader.html", 2)])
def test_at_random_states_the_page_draws_and_says_what_python_computes(open_page, explorer, path, n):
    visit = open_page(path)
    for state in states(explorer, n, seed=path):
        shown = set_state(visit.page, state)
        assert_drawn(shown["drawn"], explorer.drawn_at(state))
        in_chart = visit.page.evaluate(f"{FIGURE}.slView.data('point').map(({{x, y, text}}) => ({{x, y, text}}))")
        assert in_chart == [{key: row[key] for key in ("x", "y", "text")} for row in shown["drawn"]["point"]]
        assert shown["sentence"] == explorer.describe(state)
        assert announced(visit.page) == explorer.describe(state)
        assert visit.page.locator(".sl-chart").get_attribute("aria-label") == explorer.describe(state)
        assert visit.page.locator(".sl-data td").all_text_contents() == [text for _, text in explorer.table_at(state)]
    assert visit.foreign == []
    assert visit.errors == []


def test_a_thousand_sentences_agree_to_the_digit(open_page, explorer):
    page = open_page("alone.html").page
    asked = states(explorer, 1000, seed=3)
    said = page.evaluate(
        f"(states) => states.map((s) => {{ {FIGURE}.slSet(s); return {FIGURE}.slState.sentence; }})", asked
    )
    assert said == [explorer.describe(state) for state in asked]


@pytest.mark.parametrize("name", ["chip", "dtype", "batch", "d", "f"])
def test_at_a_sliders_ends_every_readout_that_hangs_on_it_changes(open_page, explorer, name):
    page = open_page("alone.html").page
    control = explorer.control[name]
    ends = []
    for stop in (control.stops[0], control.stops[-1]):
        state = {**explorer.default_state, name: stop}
        set_state(page, state)
        ends.append((announced(page), *page.locator(".sl-data td").all_text_contents()))
        shown = page.evaluate(f"{FIGURE}.slState.values")
        for value, expected in explorer.at(state).items():
            same = expected if expected is None or isinstance(expected, str) else pytest.approx(expected, rel=1e-6)
            assert shown[value] == same, value
    expected = [
        (explorer.describe(state), *(text for _, text in explorer.table_at(state)))
        for state in ({**explorer.default_state, name: stop} for stop in (control.stops[0], control.stops[-1]))
    ]
    assert ends == expected
    changed = [low != high for low, high in zip(*ends, strict=True)]
    assert changed[0], "the sentence"
    assert sum(changed) >= 3


# ---- keyboard, ear, finger ----


def test_arrow_keys_move_sliders_and_change_what_is_announced(open_page, explorer):
    page = open_page("alone.html").page
    state = explorer.default_state
    for name in ("batch", "d", "f"):
        before = announced(page)
        slider = page.get_by_role("slider", name=explorer.control[name].label)
        slider.focus()
        page.keyboard.press("ArrowLeft")
        stops = explorer.control[name].stops
        state = {**state, name: stops[stops.index(state[name]) - 1]}
        assert slider.get_attribute("aria-valuetext") == f"{state[name]:,}"
        assert announced(page) == explorer.describe(state) != before
    page.keyboard.press("End")
    assert announced(page) == explorer.describe({**state, "f": 53248})


def test_tab_reaches_every_control_and_the_table(open_page):
    page = open_page("alone.html").page
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
    assert reached == ["chip", "dtype", "batch", "d", "f", "SUMMARY"]
    page.keyboard.press("Enter")
    assert page.get_by_role("table").is_visible()


def test_words_wait_until_the_slider_rests(open_page, explorer):
    visit = open_page()
    page = visit.page
    page.clock.install(time=0)  # before the page takes its timers
    visit.goto("alone.html")
    first = announced(page)
    page.clock.pause_at(HELD_AT_S)  # from now on only the test moves it
    assert page.locator(".sl-say").get_attribute("aria-live") == "polite"
    page.evaluate(
        """() => { window.said = [];
        new MutationObserver((all) => window.said.push(...all.map((m) => m.target.textContent)))
          .observe(document.querySelector('.sl-say'), { childList: true, characterData: true, subtree: true }); }"""
    )
    slider = page.get_by_role("slider", name="Batch B")
    slider.focus()
    stops = explorer.control["batch"].stops
    for stop in stops[stops.index(64) + 1 : stops.index(256) + 1]:
        page.keyboard.press("ArrowRight")
        expect(slider).to_have_attribute("aria-valuetext", str(stop))  # the key was heard
        page.clock.run_for(REST_MS - 1)
    assert page.locator(".sl-say").inner_text() == first
    page.clock.run_for(1)
    assert announced(page) == explorer.describe({"batch": 256})
    assert page.evaluate("window.said.length") == 1


def test_a_finger_on_a_slider_moves_the_slider_and_not_the_page(open_page):
    page = open_page("book.html", viewport=PHONE, has_touch=True, is_mobile=True).page
    slider = page.get_by_role("slider", name="Batch B")
    slider.scroll_into_view_if_needed()
    box, before = slider.bounding_box(), page.evaluate("scrollY")
    x, y = box["x"] + 20, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        point = {"x": x + 20 * step, "y": y + 40 * max(step - 3, 0)}  # along the slider, then well off it
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"{FIGURE}.slState.state.batch > 64")
    assert page.evaluate("scrollY") == before


def test_names_and_numbers_are_left_alone_by_translators(open_page):
    page = open_page("alone.html").page
    for part in (".sl-control select", ".sl-value", ".sl-say", ".sl-data table"):
        for found in page.locator(part).all():
            assert found.get_attribute("translate") == "no"


# ---- phone, print, no scripts ----


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_scrolls_sideways_is_too_small_or_is_cut(open_page, explorer, scheme):
    page = open_page("alone.html", viewport=PHONE, color_scheme=scheme).page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for control in page.locator("select, input, summary").all():
        assert min(control.bounding_box()["width"], control.bounding_box()["height"]) >= 44
    corners = [
        {**explorer.default_state, "chip": c, "batch": b} for c in explorer.control["chip"].stops for b in (1, 16384)
    ]
    for state in corners + states(explorer, 20, seed=5):
        set_state(page, state)
        cut, over = page.evaluate(explorer_pages.LABELS)
        assert cut == [], state
        assert over == [], state


def test_the_chart_follows_the_width_of_its_box(open_page):
    page = open_page("alone.html").page
    chart = "document.querySelector('.sl-chart svg').getBoundingClientRect().width"
    narrower = min(page.evaluate(chart), PHONE["width"])
    page.set_viewport_size(PHONE)
    page.wait_for_function(f"{chart} < {narrower}")


@pytest.mark.parametrize("path", ["alone.html", "book.html"])
def test_with_scripts_off_picture_and_sentence_remain_and_no_dead_slider(open_page, explorer, path):
    page = open_page(path, java_script_enabled=False).page
    assert page.locator(".sl-say").inner_text() == explorer.describe()
    assert page.locator(".sl-chart svg").bounding_box()["height"] > 150
    assert page.get_by_role("img", name=explorer.describe()).is_visible()
    assert not page.locator(".sl-controls").is_visible()


def test_where_the_chart_library_is_missing_the_still_picture_remains(open_page):
    page = open_page("broken.html").page
    assert page.locator(".sl-chart svg").bounding_box()["height"] > 150
    assert not page.locator(".sl-controls").is_visible()


def test_print_shows_figure_and_sentence_without_controls(open_page, explorer):
    page = open_page("alone.html").page
    page.emulate_media(media="print")
    assert page.locator(".sl-say").is_visible()
    assert page.locator(".sl-chart svg").is_visible()
    assert not page.locator(".sl-controls").is_visible()
    assert not page.locator(".sl-data").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page("alone.html", color_scheme=scheme).page
    page.locator("summary").click()
    found = Axe().run(page, context="figure.sl-explorer").response["violations"]
    assert [f["id"] for f in found if f["impact"] in ("serious", "critical")] == []


def test_two_explorers_on_a_page_move_apart(open_page, explorer):
    visit = open_page("twice.html")
    visit.page.get_by_role("slider", name="Batch B").nth(1).focus()
    visit.page.keyboard.press("End")
    expect(visit.page.locator(".sl-say")).to_have_text([explorer.describe(), explorer.describe({"batch": 16384})])
    assert visit.errors == []


def test_an_update_takes_at_most_a_frame(open_page, explorer):
    page = open_page("alone.html").page
    took = page.evaluate(explorer_pages.MILLISECONDS, states(explorer, 200, seed=7))
    print(f"explorer update: median {statistics.median(took):.1f} ms, slowest {max(took):.1f} ms")
    assert statistics.median(took) <= 16
