"""The explorer as a live widget: the sliders' state goes to Python, the library's values come back."""

from functools import cache

from scaling_lib.widgets import page


def widget_of(explorer):
    """A widget (anywidget) whose sliders are answered by `explorer.at`.

    Its `drawn` holds the last answer: state, values, sentence, and `runs`, how many times Python computed.
    """
    return _widget_class()(explorer)


@cache
def _widget_class():
    # Made on demand: anywidget brings ipywidgets with it, which `import scaling_lib.widgets` should not.
    import anywidget
    import traitlets

    class LiveExplorer(anywidget.AnyWidget):
        _esm = page.script() + "\nexport default { render: globalThis.slExplorers.render };"
        _css = page.asset("explorer.css")
        markup = traitlets.Unicode().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)
        drawn = traitlets.Dict().tag(sync=True)

        def __init__(self, explorer):
            self.explorer = explorer
            state = explorer.default_state
            super().__init__(markup=page.figure(explorer, live=True), state=state, drawn=_answer(explorer, state, 1))
            self.observe(self._compute, names="state")

        def _compute(self, change):
            self.drawn = _answer(self.explorer, change["new"], self.drawn["runs"] + 1)

    return LiveExplorer


def _answer(explorer, state, runs):
    values = explorer.at(state)
    return {
        "state": explorer.state(state),
        "values": {name: page.encoded(value) for name, value in values.items()},
        "sentence": explorer.say(values),
        "runs": runs,
    }
