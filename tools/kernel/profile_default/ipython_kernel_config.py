"""Settings of the kernels that run the book's notebooks."""

import logging

c.HistoryManager.enabled = False  # noqa: F821  (nothing to remember, and no database that two kernels would share)

# A build's kernels are spoken to on this machine alone: the notice that this is unencrypted would come once a notebook.
logging.getLogger("IPKernelApp").addFilter(lambda record: "without encryption" not in record.getMessage())
