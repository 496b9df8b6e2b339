"""Every explorer of the built book: at random states and at each slider's ends it shows what Python computes."""

import random

import pytest
from playwright.sync_api import expect

from scaling_lib.widgets import ch01, ch02, ch03

EXPLORERS = {
    "chapters/ch01_rooflines.html": [ch01.roofline_explorer],
    "chapters/ch02_accelerators.html": [ch02.slice_explorer],
    "chapters/ch03_sharding.html": [ch03.sharding_explorer],
}
SHOW = """(figure, states) => states.map((state) => { figure.slSet(state); return figure.slState; })"""


def asked(explorer):
    rng = random.Random(56)
    ends = [{**explorer.default_state, c.name: stop} for c in explorer.controls for stop in (c.stops[0], c.stops[-1])]
    return ends + [{c.name: rng.choice(c.stops) for c in explorer.controls} for _ in range(20)]


@pytest.mark.parametrize("path", EXPLORERS)
def test_in_the_book_sliders_show_what_python_computes(open_page, path):
    visit = open_page(path)
    figures = visit.page.locator("figure.sl-explorer")
    explorers = [make().explorer for make in EXPLORERS[path]]
    names = figures.evaluate_all("(all) => all.map((figure) => figure.dataset.explorer)")
    assert names == [explorer.name for explorer in explorers]
    for explorer, figure in zip(explorers, figures.all(), strict=True):
        states = asked(explorer)
        for state, shown in zip(states, figure.evaluate(SHOW, states), strict=True):
            assert shown["sentence"] == explorer.describe(state)
            for name, value in explorer.at(state).items():
                same = pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
                assert shown["values"][name] == same, (name, state)
        expect(figure.locator(".sl-say")).to_have_text(explorer.describe(states[-1]))
    assert visit.foreign == []
    assert visit.errors == []


def test_no_page_of_the_book_holds_a_widget_without_its_html(site):
    pages = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    assert not [text for text in pages if "vnd.jupyter.widget" in text]
    assert sum('class="sl-explorer"' in text for text in pages) == len(EXPLORERS)


def test_formats_that_a_chip_lacks_are_grey(open_page):
    figure = open_page("chapters/ch01_rooflines.html").page.locator("figure.sl-explorer")
    explorer = ch01.roofline_explorer().explorer
    for chip in explorer.control["chip"].stops:
        figure.get_by_label("Chip").select_option(chip)
        grey = figure.locator("select[name=dtype] option:disabled").evaluate_all("all => all.map((o) => o.value)")
        lacking = [d for d in explorer.control["dtype"].stops if explorer.at({"chip": chip, "dtype": d})["lacks"]]
        assert grey == lacking
    assert figure.locator("select[name=chip] option:disabled").count() == 0
