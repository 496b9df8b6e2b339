"""What a notebook is given of an explorer: HTML that stands alone, and with a kernel a widget that Python answers."""

import re
import sys
import types

import pytest

import scaling_lib as sl
from scaling_lib.widgets import ch01, display, live

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def shown():
    return ch01.roofline_explorer()


@pytest.fixture(scope="module")
def explorer(shown):
    return shown.explorer


def in_kernel(monkeypatch):
    monkeypatch.setattr(display, "_kernel_runs", lambda: True)
    monkeypatch.delenv("SCALING_BOOK", raising=False)


@pytest.mark.parametrize("shell", [None, types.SimpleNamespace(), types.SimpleNamespace(kernel=object())])
def test_a_kernel_runs_where_ipythons_shell_has_one(monkeypatch, shell):
    import IPython

    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert display._kernel_runs() is hasattr(shell, "kernel")


def test_without_a_kernel_there_is_html_alone_that_stands_alone(shown, monkeypatch):
    monkeypatch.delenv("SCALING_BOOK", raising=False)
    data, metadata = shown._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"}
    assert metadata == {}
    assert shown.describe() in data["text/html"]
    assert "<svg" in data["text/html"]
    assert "slExplorers" in data["text/html"]
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", data["text/html"])


def test_in_the_book_the_page_brings_the_scripts(shown, monkeypatch):
    in_kernel(monkeypatch)
    monkeypatch.setenv("SCALING_BOOK", "1")
    data, _ = shown._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"}
    assert data["text/html"].startswith('<figure class="sl-explorer"')
    assert "slExplorers" not in data["text/html"]
    assert "<style" not in data["text/html"]


def test_with_a_kernel_a_widget_comes_with_its_html_twin(shown, monkeypatch):
    in_kernel(monkeypatch)
    data, _ = shown._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain", WIDGET}
    assert data[WIDGET]["model_id"] == shown.widget.model_id


def test_on_colab_the_widget_names_colabs_manager(explorer, monkeypatch):
    import anywidget._util

    in_kernel(monkeypatch)
    asked = []
    output = types.ModuleType("google.colab.output")
    output._widgets = types.SimpleNamespace(_installed_url=None)

    def enable_custom_widget_manager():
        asked.append(True)
        output._widgets._installed_url = "colab-manager.js"

    output.enable_custom_widget_manager = enable_custom_widget_manager
    colab = types.ModuleType("google.colab")
    colab.output = output
    google = types.ModuleType("google")
    google.colab = colab
    for module in (google, colab, output):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    anywidget._util.enable_custom_widget_manager_once.cache_clear()
    data, metadata = type(ch01.roofline_explorer())(explorer)._repr_mimebundle_()
    assert asked == [True]
    assert metadata[WIDGET]["colab"]["custom_widget_manager"]["url"] == "colab-manager.js"
    assert "slExplorers" in data["text/html"]  # and the HTML view works alone


def test_colabs_module_is_loaded_where_it_can_be(monkeypatch, tmp_path):
    package = tmp_path / "google" / "colab" / "output"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "google"]:
        monkeypatch.delitem(sys.modules, name)
    display._meet_colab()
    assert "google.colab.output" in sys.modules
    for name in ("google.colab.output", "google.colab", "google"):
        monkeypatch.delitem(sys.modules, name)


def test_the_widget_is_answered_by_python_between_the_stops(explorer):
    widget = live.widget_of(explorer)
    assert widget.drawn["sentence"] == explorer.describe()
    assert widget.drawn["runs"] == 1
    state = {**explorer.default_state, "batch": 237, "d": 7000}
    widget.state = state
    assert widget.drawn["runs"] == 2
    assert widget.drawn["state"] == state
    assert widget.drawn["sentence"] == explorer.describe(state)
    kinds = dict.fromkeys(("x", "w", "out"), state["dtype"])
    time = sl.time_bounds(sl.matmul_work(237, 7000, state["f"], **kinds), sl.chip(state["chip"]))
    assert widget.drawn["values"]["time_s"] == pytest.approx(time.lower_s, rel=1e-12)
    widget.state = {**state, "d": 256, "f": 256}
    assert widget.drawn["values"]["turns"] == "inf"
    with pytest.raises(sl.ScalingError, match="batch got 0"):
        widget.state = {**state, "batch": 0}


def test_a_kernel_takes_finer_steps_and_never_misses_a_stop(explorer):
    for control in explorer.controls:
        assert set(control.stops) <= set(control.live_stops)
    assert len(explorer.control["batch"].live_stops) > 250
    assert all(isinstance(stop, int) for stop in explorer.control["batch"].live_stops)
