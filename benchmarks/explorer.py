"""How large an explorer is, and how long one update takes in Chromium.

python benchmarks/explorer.py [path of Chromium]
"""

import gzip
import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

import explorer_pages
from playwright.sync_api import sync_playwright

from scaling_lib.widgets import ch01, ch02, ch03, page

EXPLORERS = (ch01.roofline_explorer, ch02.slice_explorer, ch03.sharding_explorer)
UPDATES = 400


def main():
    browser = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium") or shutil.which("google-chrome")
    shared = sum(_gzipped(page.asset(name)) for name in ("vega.min.js", "explorer.js", "explorer.css"))
    print(f"{'shared by all explorers of a page':40} {shared / 1e3:6.1f} kB gzipped")
    for make in EXPLORERS:
        explorer = make().explorer
        print(f"{explorer.name}: figure with its data {_gzipped(page.figure(explorer)) / 1e3:18.1f} kB gzipped")
        took = sorted(updates_ms(explorer, browser))
        median, late = statistics.median(took), took[int(0.95 * len(took))]
        print(f"{explorer.name}: update in Chromium, median {median:.2f} ms, 95 % within {late:.2f} ms")


def updates_ms(explorer, browser):
    """Milliseconds of moves to random states, layout included."""
    rng = random.Random(1)
    states = [{c.name: rng.choice(c.stops) for c in explorer.controls} for _ in range(UPDATES)]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        explorer_pages.write(Path(folder), explorer)
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        with explorer_pages.served(folder) as url:
            tab = chromium.new_page()
            tab.goto(f"{url}/alone.html")
            took = tab.evaluate(explorer_pages.MILLISECONDS, states)
        chromium.close()
    return took


def _gzipped(text):
    return len(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
