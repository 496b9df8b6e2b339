"""Settings of the whole suite."""

from hypothesis import settings

# The same examples on every run and every machine, and no clock: a busy machine is not a wrong answer.
settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
