"""The built site in headless Chromium, over http, with every foreign request blocked and written down.

Without Chromium or without a built site these tests are skipped and say so; SCALING_REQUIRE_BROWSER=1 (CI) makes that
a failure.
"""

import functools
import gzip
import http.server
import importlib.util
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from patience import WAIT_MS

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE = {"width": 1280, "height": 900}
CHARTS_FIT = """() => [...document.querySelectorAll('.sl-chart svg')].every(
  (svg) => svg.getBoundingClientRect().width <= svg.parentElement.clientWidth + 1)"""
COMPRESSED = ("text/", "application/javascript", "application/json", "image/svg+xml")  # by any web server


def pages() -> list[str]:
    """The paths of all pages of the book, as _toc.yml lists them; nothing where the site is not built."""
    spec = importlib.util.spec_from_file_location("book_build", ROOT / "book" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return [f"{name}.html" for name in build.pages_in_toc() if (SITE / f"{name}.html").exists()]


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


def _missing(what: str) -> None:
    if os.environ.get("SCALING_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what} (SCALING_REQUIRE_BROWSER is set)")
    pytest.skip(what)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "index.html").exists():
        _missing("the site is not built: run `make book`")
    return SITE


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture(scope="session")
def base_url(site) -> str:
    """The address at which this session serves the site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, driven by Playwright."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        _missing("Chromium is not on the PATH")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT_MS)
    flags = FLAGS + (["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=flags)
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """A page in a fresh profile, with what it loaded and what went wrong on it so far."""

    page: object
    base_url: str
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bytes_of: dict[str, int] = field(default_factory=dict)

    def goto(self, path: str):
        """Opens a page of the site and waits until its formulas are set."""
        self.page.goto(f"{self.base_url}/{path}", wait_until="load")
        self.page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
        return self.page

    def guard(self, route) -> None:
        """Lets the site's own requests through; blocks others and writes them down."""
        if route.request.url.startswith((self.base_url, "data:", "blob:")):
            route.continue_()
        else:
            self.foreign.append(route.request.url)
            route.abort()

    def weigh(self, request) -> None:
        """Writes down what a request brought, as compressed as a web server would send it."""
        response = request.response()
        body = response.body() if response and response.ok else b""
        packs = response is not None and response.headers.get("content-type", "").startswith(COMPRESSED)
        self.bytes_of[request.url] = len(gzip.compress(body)) if packs else len(body)


def _start(browser, base_url: str, **options) -> Visit:
    context = browser.new_context(**{"viewport": WIDE, **options})
    context.set_default_timeout(WAIT_MS)
    visit = Visit(context.new_page(), base_url)
    context.route("**/*", visit.guard)
    visit.page.on("console", lambda m: visit.errors.append(m.text) if m.type == "error" else None)
    visit.page.on("pageerror", lambda e: visit.errors.append(str(e)))
    return visit


@pytest.fixture
def open_page(browser, base_url):
    """`open_page(path, viewport=…, color_scheme=…, java_script_enabled=…)` -> Visit, in a fresh profile."""
    visits = []

    def start(path: str | None = None, **options) -> Visit:
        visits.append(_start(browser, base_url, **options))
        if path:
            visits[-1].goto(path)
        return visits[-1]

    yield start
    for visit in visits:
        visit.page.context.close()


@pytest.fixture(scope="module", params=pages())
def path(request) -> str:
    """Each page of the book in turn."""
    return request.param


@pytest.fixture(scope="module")
def opened(browser, base_url, path):
    """Each page of the book, opened once for all tests of a module; a test leaves it as it was."""
    visit = _start(browser, base_url, reduced_motion="reduce")  # no colour is caught half-way
    visit.page.on("requestfinished", visit.weigh)
    visit.goto(path)
    yield visit
    visit.page.context.close()


@pytest.fixture
def dark(opened):
    """`opened` in the dark."""
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=scheme)
        opened.page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
        if scheme == "dark":
            yield opened


@pytest.fixture
def phone(opened):
    """`opened` as wide as a narrow phone."""
    opened.page.set_viewport_size({"width": 360, "height": 740})
    opened.page.wait_for_function(CHARTS_FIT)  # they are drawn anew
    yield opened
    opened.page.set_viewport_size(WIDE)


@pytest.fixture
def printed(opened):
    """`opened` as print shows it."""
    opened.page.emulate_media(media="print")
    yield opened
    opened.page.emulate_media(media="screen")
