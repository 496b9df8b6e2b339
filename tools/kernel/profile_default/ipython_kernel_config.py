"""Settings of the kernels that run the book's notebooks."""

c.HistoryManager.enabled = False  # noqa: F821  (nothing to remember, and no database that two kernels would share)
