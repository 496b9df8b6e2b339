"""What keeps the browser tests right on a machine that may stand still for seconds."""

WAIT_MS = 60_000  # before a page that does not answer counts as failed
HELD_AT_S = 10**6  # where a test holds a page's clock: far beyond what the clock can have run by itself until then
