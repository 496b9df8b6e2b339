"""Pages of the built site: without scripts, with their sums shown, searched, left and found again; no dead link."""

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

KINDS = [f"{tree}/ch01_rooflines.html" for tree in ("chapters", "exercises", "solutions")]


def test_without_scripts_figure_and_sentence_remain(open_page, site):
    paths = [p.relative_to(site).as_posix() for p in site.rglob("*.html") if 'class="sl-explorer"' in p.read_text()]
    assert paths
    for path in paths:
        for explorer in open_page(path, java_script_enabled=False).page.locator(".sl-explorer").all():
            assert explorer.locator("svg").first.is_visible()
            assert len(explorer.locator(".sl-say").inner_text()) > 20


def test_without_scripts_hints_and_solution_open(open_page):
    page = open_page(KINDS[1], java_script_enabled=False).page
    folded = page.locator(".sl-answer details").all()
    assert folded
    for help_text in folded:
        help_text.locator("summary").click()
        assert help_text.locator("p").first.is_visible()


@pytest.mark.parametrize("path", KINDS[:2])
def test_sums_are_shown_on_request_and_never_in_print(open_page, path):
    page = open_page(path).page
    switch = page.get_by_role("button", name="Show the sums")
    assert page.locator(".sl-sum[tabindex]").count() == 0
    switch.focus()
    page.keyboard.press("Enter")
    assert switch.get_attribute("aria-pressed") == "true"
    page.locator(".sl-sum:not([data-sum=''])").first.focus()
    tip = page.get_by_role("tooltip")
    assert tip.inner_text() == "= " + page.evaluate("document.activeElement.dataset.sum")
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.emulate_media(media="print")
    assert page.locator(".sl-sum").first.evaluate("e => getComputedStyle(e).borderBottomStyle") == "none"
    page.emulate_media(media="screen")
    page.reload()
    assert switch.get_attribute("aria-pressed") == "true"  # the choice is remembered


def test_a_long_page_remembers_the_readers_place(open_page):
    page = open_page("chapters/ch01_rooflines.html").page
    assert page.get_by_text("Go on at").count() == 0
    heading = page.locator("article section > h2").nth(2)
    heading.scroll_into_view_if_needed()
    page.mouse.wheel(0, 400)
    page.wait_for_function("Object.keys(localStorage).some((key) => key.includes('place:'))")
    page.goto(page.url)
    link = page.get_by_role("link", name="Go on at")
    assert link.get_attribute("href").startswith("#")
    link.click()
    page.wait_for_function("scrollY > 500")


def test_a_number_under_the_mouse_shows_its_sum(open_page):
    page = open_page("chapters/ch01_rooflines.html").page
    number = page.locator(".sl-sum:not([data-sum=''])").first
    number.hover()
    assert page.get_by_role("tooltip").count() == 0 or page.get_by_role("tooltip").is_hidden()
    page.get_by_role("button", name="Show the sums").click()
    number.hover()
    assert page.get_by_role("tooltip").inner_text() == "= " + number.get_attribute("data-sum")


def test_search_finds_a_page_and_shows_its_words(open_page):
    visit = open_page("search.html?q=dot+product")
    visit.page.wait_for_selector("#search-results li a")
    found = visit.page.locator("#search-results li a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    assert any("ch01_rooflines" in href for href in found)
    assert "\\" not in "".join(visit.page.locator("#search-results .context").all_inner_texts())  # no raw TeX
    assert visit.foreign == [] and visit.errors == []


def test_sums_do_not_reach_the_search(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index[index.index("(") + 1 : index.rindex(")")])["terms"]
    texts = [page.read_text(encoding="utf-8") for page in site.rglob("*.html")]
    assert any("data-sum=" in text for text in texts), "no checked number in the whole site"
    assert not [term for term in terms if "data-sum" in term or "<!--" in term]
    assert not [text for text in texts if "<!-- =" in text or "<!-- given" in text]


class _Links(HTMLParser):
    """Collects a page's anchors and the addresses that it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.addresses = set(), []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs) -> None:
        given = dict(attrs)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        self.addresses += [given[name] for name in ("href", "src") if given.get(name)]


def dead_links(site: Path) -> list[str]:
    """`page -> address` for each address inside the site whose file or anchor is missing."""
    read = {p: _Links(p.read_text(encoding="utf-8")) for p in site.rglob("*.html") if "_static" not in p.parts}
    dead = []
    for page, links in read.items():
        for address in links.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in read and anchor not in read[target].anchors):
                dead.append(f"{page.relative_to(site)} -> {address}")
    return dead


def test_no_link_inside_the_site_is_dead(site):
    assert dead_links(site.resolve()) == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="c.html">x</a><a href="b.html#there">x</a>')
    (tmp_path / "b.html").write_text('<p id="here">')
    assert dead_links(tmp_path) == ["a.html -> c.html", "a.html -> b.html#there"]
