"""What `import scaling_lib` costs beyond numpy's own import: the median of fresh interpreters. Budget: 0.06 s."""

import statistics
import subprocess
import sys

CODE = """
import time
import numpy
start = time.perf_counter()
import scaling_lib
print(time.perf_counter() - start)
"""
RUNS = 21
BUDGET_S = 0.06


def main():
    """Prints the median and the extremes; returns 1 if over the budget."""
    command = [sys.executable, "-c", CODE]
    times = sorted(float(subprocess.check_output(command, text=True)) for _ in range(RUNS))
    median = statistics.median(times)
    print(
        f"import scaling_lib: median {median:.4f} s ({times[0]:.4f} to {times[-1]:.4f}) of {RUNS}, budget {BUDGET_S} s"
    )
    return int(median > BUDGET_S)


if __name__ == "__main__":
    sys.exit(main())
