"""The four cases of a sharded product, and their variants, as plans: what chapter 3 compiles."""

import functools

from scaling_lib.hardware import Mesh, TpuSlice
from scaling_lib.sharding import plan_matmul

TOPOLOGIES = ("v5e:4x2", "v5p:2x2x2", "v6e:2x4", "tpu7x:2x2x1")  # each of eight devices
SIZES = {"I": 1024, "J": 2048, "K": 4096, "B": 8, "L": 64}

# name: (product, how it is multiplied; None: as is cheapest)
CASES = {
    "case1": ("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", None),
    "case2_gather": ("A[I, J_X] * B[J, K] -> C[I, K]", "A[I, J] * B[J, K]"),
    "case2_slice": ("A[I, J_X] * B[J, K] -> C[I, K]", "A[I, J_X] * B[J_X, K]"),
    "case3_all_reduce": ("A[I, J_X] * B[J_X, K] -> C[I, K]", "A[I, J_X] * B[J_X, K]"),
    "case3_reduce_scatter": ("A[I, J_X] * B[J_X, K] -> C[I, K_X]", "A[I, J_X] * B[J_X, K]"),
    "case3_scatter_rows": ("A[I, J_X] * B[J_X, K] -> C[I_X, K]", "A[I, J_X] * B[J_X, K]"),
    "case3_unreduced": ("A[I, J_X] * B[J_X, K] -> C[I, K]{U_X}", "A[I, J_X] * B[J_X, K]"),
    "case4_gather_b": ("A[I_X, J] * B[J, K_X] -> C[I_X, K]", "A[I_X, J] * B[J, K]"),
    "case4_gather_a": ("A[I_X, J] * B[J, K_X] -> C[I, K_X]", "A[I, J] * B[J, K_X]"),
    "two_contracting_axes": ("A[I, J_X] * B[J_Y, K] -> C[I, K]", None),
    "two_contracting_dims": ("A[I, J_X, L_Y] * B[J_X, L_Y, K] -> C[I, K]", "A[I, J_X, L_Y] * B[J_X, L_Y, K]"),
    "both_axes": ("A[I_X, J_Y] * B[J_Y, K] -> C[I_X, K_Y]", "A[I_X, J_Y] * B[J_Y, K]"),
    "batch": ("A[B_X, I, J_Y] * W[B_X, J_Y, K] -> C[B_X, I, K]", "A[B_X, I, J_Y] * W[B_X, J_Y, K]"),
    "all_to_all": ("A[I_X, J] * B[J, K] -> C[I, K_X]", "A[I_X, J] * B[J, K]"),
    "permute": ("A[I_XY, J] * B[J, K] -> C[I_YX, K]", "A[I_XY, J] * B[J, K]"),
    "gather_two_axes": ("A[I_X, J_Y] * B[J, K] -> C[I, K]", "A[I, J] * B[J, K]"),
}


@functools.cache
def case_plan(name):
    """The plan of one case, on eight v5e chips as X=4, Y=2, axes that no array names left alone."""
    text, via = CASES[name]
    mesh = Mesh(TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2)
    return plan_matmul(text, SIZES, mesh, use_idle=False, via=via)
