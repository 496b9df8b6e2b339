"""How many collective estimates a second: one call over an array of sizes, every figure read.

Goal: at least a million a second, on every kind of machine.
"""

import statistics
import sys
import time

import numpy as np

import scaling_lib as sl

GOAL = 1e6
SIZES = np.logspace(3, 12, 1_000_000)
POD = sl.Mesh(sl.TpuSlice("tpu-v5p", (8, 16, 16)), X=8, Y=16, Z=16)
MACHINES = {
    "one ring": (POD, "Y"),
    "three axes": (POD, "XYZ"),
    "H100 node": (sl.GpuCluster("h100", 8), None),
    "1024 H100": (sl.GpuCluster("h100", 1024), None),
    "4 slices": (sl.MultiSlice(sl.TpuSlice("tpu-v5e", (16, 16)), n=4), None),
}
COLLECTIVES = (sl.all_gather_time, sl.reduce_scatter_time, sl.all_reduce_time, sl.all_to_all_time, sl.permute_time)


def estimates_per_s(collective, mesh, axes, repeats=5):
    """Median rate of estimates, both bounds and what binds included."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        t = collective(SIZES, mesh, axes)
        _ = t.lower_s, t.upper_s, t.bound
        taken.append(time.perf_counter() - start)
    return len(SIZES) / statistics.median(taken)


def main():
    """Prints the rates; 1 if one is below the goal."""
    slowest = float("inf")
    for name, (mesh, axes) in MACHINES.items():
        for collective in COLLECTIVES:
            rate = estimates_per_s(collective, mesh, axes)
            slowest = min(slowest, rate)
            print(f"{name:12} {collective.__name__:20} {rate:12,.0f} a second")
    print(f"slowest {slowest:,.0f} a second, goal {GOAL:,.0f}")
    return int(slowest < GOAL)


if __name__ == "__main__":
    sys.exit(main())
