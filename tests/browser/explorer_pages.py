"""Pages that hold an explorer and nothing else, for the browser tests and for benchmarks/explorer.py."""

import contextlib
import functools
import http.server
import shutil
import threading

from scaling_lib.widgets import page

HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Explorer</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
)
LINKS = (
    '<link rel="stylesheet" href="explorer.css">'
    '<script defer src="vega.min.js"></script><script defer src="explorer.js"></script>'
)
TALL = '<div style="height: 1500px"></div>'
# A page's module loader, in which a library would hide instead of standing in the window.
LOADER = "<script>window.define = () => {}; window.define.amd = {};</script>"

# Moves to each state, lets the browser lay out, and gives the milliseconds that each took.
MILLISECONDS = """(states) => {
  const figure = document.querySelector("figure.sl-explorer");
  return states.map((state) => {
    const start = performance.now();
    figure.slSet(state);
    figure.getBoundingClientRect();
    return performance.now() - start;
  });
}"""

# The words on the page are those of the state on show: they come when the slider has rested.
SAID = """((figure) => figure.querySelector('.sl-say').textContent === figure.slState.sentence)(
  document.querySelector('figure.sl-explorer'))"""

# Texts of the chart that leave its box, and pairs of labels that lie on each other (turned ones aside).
LABELS = """() => {
  const svg = document.querySelector('.sl-chart svg'), frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent);
  const boxOf = (text) => text.getBoundingClientRect();
  const inside = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
  const cut = texts.filter((text) => !inside(boxOf(text), frame)).map((text) => text.textContent);
  const level = texts.filter((text) => !/rotate/.test(text.getAttribute('transform')));
  const over = level.flatMap((a, i) => level.slice(i + 1).filter((b) => meet(boxOf(a), boxOf(b)))
    .map((b) => a.textContent + ' / ' + b.textContent));
  return [cut, over];
}"""


def write(folder, explorer):
    """Writes `alone.html` (all inside), `twice.html`, `loader.html`, and `book.html` with the scripts beside it."""
    alone, figure = page.standalone(explorer), page.figure(explorer)
    pages = {
        "alone": f"{HEAD}</head><body>{alone}",
        "twice": f"{HEAD}</head><body>{alone}{alone}",
        "loader": f"{HEAD}{LOADER}</head><body>{alone}",
        "book": f"{HEAD}{LINKS}</head><body>{TALL}{figure}{TALL}",
        "broken": f"{HEAD}{LINKS.replace('vega.min', 'missing')}</head><body>{figure}",
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text + "</body></html>", encoding="utf-8")
    for name in ("explorer.css", "explorer.js", "vega.min.js"):
        shutil.copy(page.STATIC / name, folder)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(folder):
    """The folder over http; gives the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
