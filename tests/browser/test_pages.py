"""Every page of the built site: alone, quiet, fit for a phone, light enough, and with no dead link."""

import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

PHONE = {"width": 360, "height": 740}
HEAVIEST = 1_500_000  # bytes of one page with all it loads, compressed
TEXT = ("text/", "application/javascript", "application/json", "image/svg+xml")
WIDER_THAN_THE_PAGE = """() => [...document.querySelectorAll('body *')].filter((e) => {
  const box = e.getBoundingClientRect();
  return box.right > innerWidth + 1 && box.width && getComputedStyle(e).position !== 'fixed';
}).slice(0, 5).map((e) => e.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_asks_no_other_host_and_leaves_the_console_silent(open_page, path, scheme):
    visit = open_page(path, color_scheme=scheme)
    assert visit.foreign == []
    assert visit.errors == []
    red, green, blue = map(
        int, re.findall(r"\d+", visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert (red + green + blue < 200) == (scheme == "dark")


def test_a_page_fits_a_phone(open_page, path):
    page = open_page(path, viewport=PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.evaluate(WIDER_THAN_THE_PAGE)


def test_our_controls_are_large_enough_for_a_finger(open_page, path):
    page = open_page(path, viewport=PHONE).page
    ours = ".sl-answer :is(button, input[type=text], summary, .sl-choice), .sl-tools :is(a, button), .sl-foot a, .sl-explorer :is(select, input, summary)"
    small = page.eval_on_selector_all(
        ours, "all => all.filter((e) => e.offsetParent && e.offsetHeight < 44).map((e) => e.outerHTML.slice(0, 120))"
    )
    assert small == []


def test_a_page_is_light(open_page, path):
    visit, sizes = open_page(), {}

    def weigh(response) -> None:
        body = response.body()
        if response.headers.get("content-type", "").startswith(TEXT):
            body = gzip.compress(body)
        sizes[response.url] = len(body)

    visit.page.on("requestfinished", lambda request: weigh(request.response()))
    visit.goto(path)
    visit.page.wait_for_timeout(100)
    heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
    assert sum(sizes.values()) <= HEAVIEST, heaviest


def test_formulas_can_be_heard(open_page, path):
    page = open_page(path).page
    formulas = page.locator("mjx-container").count()
    assert page.locator("mjx-container mjx-assistive-mml math").count() == formulas
    assert formulas or "\\(" not in page.locator("article").inner_text()


def test_without_scripts_figure_sentence_hints_and_solution_remain(open_page, path):
    page = open_page(path, java_script_enabled=False).page
    for explorer in page.locator(".sl-explorer").all():
        assert explorer.locator("svg").first.is_visible()
        assert len(explorer.locator(".sl-say").inner_text()) > 20
    for help_text in page.locator(".sl-answer details").all():
        help_text.locator("summary").click()
        assert help_text.locator("p").first.is_visible()


def test_sums_are_shown_on_request_and_never_in_print(open_page, path):
    page = open_page(path).page
    if not page.locator(".sl-sum").count():
        pytest.skip("no checked number on this page")
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


def test_search_finds_a_page_and_shows_its_words(open_page):
    visit = open_page("search.html?q=dot+product")
    visit.page.wait_for_selector("#search-results li a")
    found = visit.page.locator("#search-results li a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    assert any("ch01_rooflines" in href for href in found)
    assert visit.foreign == [] and visit.errors == []


def test_sums_do_not_reach_the_search(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index[index.index("(") + 1 : index.rindex(")")])["terms"]
    sums = {
        s for page in site.rglob("*.html") for s in re.findall(r'data-sum="([^"]+)"', page.read_text(encoding="utf-8"))
    }
    assert sums, "no checked number in the whole site"
    assert not [term for term in terms if "data-sum" in term or "<!--" in term]
    assert not [page for page in site.rglob("*.html") if "<!-- =" in page.read_text(encoding="utf-8")]


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
