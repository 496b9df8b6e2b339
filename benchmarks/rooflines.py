"""One million matmul rooflines in one call: work, times, both bounds and what binds. Budget: 0.2 s."""

import statistics
import sys
import time

import numpy as np

import scaling_lib as sl

N = 10**6
RUNS = 7
BUDGET_S = 0.2


def once(b, d, f, chip):
    """Seconds for the whole sweep."""
    start = time.perf_counter()
    t = sl.time_bounds(sl.matmul_work(b, d, f, w="int8"), chip)
    results = t.lower_s, t.upper_s, t.bound
    assert all(result.shape == (N,) for result in results)
    return time.perf_counter() - start


def main():
    """Prints first and median time; returns 1 if the median is over the budget."""
    rng = np.random.default_rng(0)
    b, d, f = (rng.integers(1, 65536, N) for _ in range(3))
    times = [once(b, d, f, sl.chip("tpu-v5e")) for _ in range(RUNS)]
    median = statistics.median(times)
    print(f"{N:,} rooflines: first {times[0]:.3f} s, median {median:.3f} s of {RUNS}, budget {BUDGET_S} s")
    return int(median > BUDGET_S)


if __name__ == "__main__":
    sys.exit(main())
