"""What a notebook cell shows: the same explorer as a still-standing page and, while a kernel runs, as a widget."""

import contextlib
import importlib.util
import os
import sys

from scaling_lib.widgets import page

WIDGET = "application/vnd.jupyter.widget-view+json"


class Display:
    """An explorer on show. The notebook asks it for a MIME bundle.

    `text/html` stands alone: values of the library over the sliders' stops travel in it. Beside it, where a
    kernel runs and anywidget is installed, comes the widget, whose sliders call Python at any value.
    With SCALING_BOOK=1 (the build of the book) there is only HTML, and the page brings the scripts.
    """

    def __init__(self, explorer):
        self.explorer = explorer
        self._widget = None

    def describe(self, state=None):
        """One sentence with the numbers and the verdict at a state (default: where the sliders start)."""
        return self.explorer.describe(state)

    @property
    def widget(self):
        """The live widget, made when first asked for."""
        if self._widget is None:
            _meet_colab()
            from scaling_lib.widgets.live import widget_of

            self._widget = widget_of(self.explorer)
        return self._widget

    def __repr__(self):
        return self.describe()

    def _repr_mimebundle_(self, include=None, exclude=None):
        if os.environ.get("SCALING_BOOK") == "1":
            return {"text/html": page.figure(self.explorer), "text/plain": repr(self)}, {}
        data, metadata = {"text/html": page.standalone(self.explorer), "text/plain": repr(self)}, {}
        if _kernel_runs() and importlib.util.find_spec("anywidget"):
            live, metadata = self.widget._repr_mimebundle_() or ({}, {})
            data[WIDGET] = live[WIDGET]
        return data, metadata


def _kernel_runs():
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _meet_colab():
    """On Colab, load the module through which anywidget asks for Colab's manager of custom widgets.

    Colab shows only widgets whose metadata name that manager; anywidget adds it if this module is loaded.
    """
    with contextlib.suppress(ImportError):
        import google.colab.output  # noqa: F401
