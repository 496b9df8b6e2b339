"""The built site in headless Chromium, over http, with every foreign request blocked and written down.

Without Chromium or without a built site these tests are skipped and say so; SCALING_REQUIRE_BROWSER=1 (CI) makes that
a failure.
"""

import functools
import http.server
import os
import shutil
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
FLAGS = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def pages() -> list[str]:
    """The paths of all pages of the book, as _toc.yml lists them; nothing where the site is not built."""
    sys.path.append(str(ROOT / "book"))
    from build import pages_in_toc

    return [f"{name}.html" for name in pages_in_toc() if (SITE / f"{name}.html").exists()]


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
    from playwright.sync_api import sync_playwright

    flags = FLAGS.split() + (["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=flags)
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """An open page with what went wrong on it so far."""

    page: object
    base_url: str
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def goto(self, path: str):
        """Opens a page of the site and waits until it is at rest."""
        self.page.goto(f"{self.base_url}/{path}", wait_until="load")
        self.page.wait_for_load_state("networkidle")
        self.page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
        return self.page


@pytest.fixture
def open_page(browser, base_url):
    """`open_page(path, viewport=…, color_scheme=…, java_script_enabled=…)` -> Visit, in a fresh profile."""
    contexts = []

    def start(path: str | None = None, **options) -> Visit:
        context = browser.new_context(**{"viewport": WIDE, **options})
        contexts.append(context)
        visit = Visit(context.new_page(), base_url)

        def guard(route) -> None:
            if route.request.url.startswith((base_url, "data:", "blob:")):
                route.continue_()
            else:
                visit.foreign.append(route.request.url)
                route.abort()

        context.route("**/*", guard)
        visit.page.on("console", lambda m: visit.errors.append(m.text) if m.type == "error" else None)
        visit.page.on("pageerror", lambda e: visit.errors.append(str(e)))
        if path:
            visit.goto(path)
        return visit

    yield start
    for context in contexts:
        context.close()


@pytest.fixture(params=pages())
def path(request) -> str:
    """Each page of the book in turn."""
    return request.param
