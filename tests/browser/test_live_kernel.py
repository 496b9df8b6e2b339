"""JupyterLab with a kernel: the explorer's sliders are answered by Python, between the page's stops too."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from scaling_lib.widgets import ch01

FIGURE = "document.querySelector('.sl-live figure.sl-explorer')"
START_S, ANSWER_MS = 60, 60_000


@pytest.fixture(scope="module")
def base_url(tmp_path_factory):
    """JupyterLab on localhost, in an empty home, with one notebook."""
    folder = tmp_path_factory.mktemp("lab")
    code = "from scaling_lib.widgets import ch01\nch01.roofline_explorer()"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, id="explorer")])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "explorer.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name != "SCALING_BOOK"}
    environment |= {"HOME": str(folder), "JUPYTER_CONFIG_DIR": str(folder), "JUPYTER_PLATFORM_DIRS": "1"}
    options = f"--no-browser --allow-root --ip=127.0.0.1 --port={port} --ServerApp.root_dir={folder}"
    quiet = "--IdentityProvider.token= --ServerApp.password= --LabApp.news_url="
    command = [sys.executable, "-m", "jupyter", "lab", *options.split(), *quiet.split()]
    with (folder / "log.txt").open("w") as log:
        lab = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
    try:
        wait_for(f"http://127.0.0.1:{port}/api", lab, folder / "log.txt")
        yield f"http://127.0.0.1:{port}"
    finally:
        lab.terminate()
        lab.wait(timeout=30)


def wait_for(url: str, process, log: Path) -> None:
    for _ in range(START_S * 4):
        if process.poll() is None:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except OSError:
                time.sleep(0.25)
    pytest.fail(f"JupyterLab does not answer at {url}:\n{log.read_text()[-2000:]}")


def test_in_jupyterlab_a_slider_moved_by_keyboard_is_answered_by_python(open_page):
    explorer = ch01.roofline_explorer().explorer
    visit = open_page()
    page = visit.page
    page.goto(f"{visit.base_url}/lab/tree/explorer.ipynb")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=ANSWER_MS)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=ANSWER_MS)
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    page.locator(".sl-live .sl-chart svg").first.wait_for(timeout=ANSWER_MS)
    assert page.locator(".sl-live .sl-say").inner_text() == explorer.describe()
    runs = page.evaluate(f"{FIGURE}.slState.runs")

    page.locator(".sl-live").get_by_role("slider", name="Batch B").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{FIGURE}.slState.runs > {runs}", timeout=ANSWER_MS)
    shown = page.evaluate(f"{FIGURE}.slState")
    batch = shown["state"]["batch"]
    assert batch not in explorer.control["batch"].stops, "no static table holds this value: the kernel computed it"
    expected = explorer.at({"batch": batch})
    assert {k: pytest.approx(v) if isinstance(v, float) else v for k, v in expected.items()} == shown["values"]
    expect(page.locator(".sl-live .sl-say")).to_have_text(explorer.describe({"batch": batch}))
    assert page.locator(".jp-Notebook .jp-CodeCell").first.is_visible(), "the key stayed with the slider"
    assert visit.foreign == []
