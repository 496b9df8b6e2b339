"""What the tests of exercises share: small specs to vary, and a process that began as a grader's."""

from scaling_lib.exercises import Exercise, Mistake, exercises

EVERY = exercises()
KEYS = [e.key for e in EVERY]


def a_number(**changes):
    """A small sound exercise to vary."""
    spec = {
        "key": "ch99.q1",
        "title": "Twice a number",
        "kind": "number",
        "unit": "s",
        "inputs": {"x": 3.0},
        "draw": lambda rng: {"x": float(rng.integers(2, 90))},
        "expected": lambda x: 2 * x,
        "mistakes": (Mistake(lambda x: 5 * x, "five"), Mistake(lambda x: 7 * x, "seven")),
        "source": "counted",
        "teaches": "here",
        "hints": ("idea", "set-up", "first line"),
    }
    return Exercise(**{**spec, **changes})


def started_with(monkeypatch, **environment):
    """As if the process had begun with these variables."""
    start = dict.fromkeys(("NBGRADER_EXECUTION", "SCALING_MARKED"), "") | environment
    monkeypatch.setattr("scaling_lib.exercises.marking._AT_START", start)


def right_batch(p, w, d, f):
    share = w / p - 1 / d - 1 / f
    return 1 / share if share > 0 else float("inf")


class RaisingExit:
    """Ends the program, whatever is asked of it."""

    def __getattribute__(self, name):
        raise GeneratorExit

    def __repr__(self):
        raise SystemExit

    def __call__(self, *args):
        raise GeneratorExit
