"""Random sharded products on meshes of up to eight chips, the same for everyone."""

import json
import math
import random
from pathlib import Path

import scaling_lib as sl
from scaling_lib.sharding import plan_matmul

N_PLAIN = 330  # the first ones; in those that follow one operand has dimensions alone
N_PRODUCTS = 400
RECORD = Path(__file__).with_name("products.json")

MESHES = (
    sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8),
    sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=2, Y=4),
    sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=4, Y=2),
    sl.Mesh(sl.TpuSlice("tpu-v5p", (2, 2, 2)), X=2, Y=2, Z=2),
    sl.Mesh(sl.TpuSlice("tpu-v5p", (2, 2, 2)), X=2, Y=4),
    sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2),
    sl.Mesh(sl.GpuCluster("h100", 3), X=3),
    sl.Mesh(sl.GpuCluster("h100", 6), X=3, Y=2),
    sl.Mesh(sl.GpuCluster("h100", 8), X=2, Y=2, Z=2),
    sl.Mesh(sl.MultiSlice(sl.TpuSlice("tpu-v5e", (2, 2)), n=2), X=2, Y=4),
)
EINSUMS = (
    ("IJ", "JK", "IK"), ("IJ", "JK", "IK"), ("IJ", "JK", "IK"), ("IJ", "JK", "KI"), ("BIJ", "BJK", "BIK"),
    ("IJL", "JLK", "IK"), ("IJ", "J", "I"), ("BIJ", "JK", "BIK"), ("I", "K", "IK"), ("IJ", "IJ", ""), ("BI", "BI", "B"),
)  # fmt: skip
ALONE = (
    ("IJ", "K", "IK"), ("IJ", "JK", "K"), ("ILJ", "JK", "IK"), ("IJ", "KJL", "IK"), ("BIL", "BK", "BIK"),
    ("IL", "IM", "I"),
)  # fmt: skip


def sharded(rng, name, dims, names, unreduced):
    """An array whose dimensions get axes at random."""
    axes = {dim: [] for dim in dims}
    over = []
    for axis in rng.sample(names, len(names)):
        where = rng.choice([*dims, *dims, None, "U" if unreduced and rng.random() < 0.25 else None])
        if where == "U":
            over.append(axis)
        elif where:
            axes[where].append(axis)
    written = ", ".join(dim + (f"_{''.join(axes[dim])}" if axes[dim] else "") for dim in dims)
    return f"{name}[{written}]" + (f"{{U_{''.join(over)}}}" if over else "")


def random_product(seed):
    """One product, the same for a seed everywhere.

    Args:
      seed: a whole number; from `N_PLAIN` on one operand has dimensions that no other array has.

    Returns:
      (text, small sizes, large sizes, mesh, pad).

    >>> random_product(0)[0]
    'A[I, J] * B[J] -> C[I_X]'
    """
    rng = random.Random(seed)
    mesh = rng.choice(MESHES)
    a, b, c = rng.choice(EINSUMS if seed < N_PLAIN else ALONE)
    names = list(mesh.names)
    text = f"{sharded(rng, 'A', a, names, True)} * {sharded(rng, 'B', b, names, rng.random() < 0.3)}"
    text += f" -> {sharded(rng, 'C', c, names, True)}"
    pad = rng.random() < 0.2
    unit = 1 if pad else math.prod(mesh.shape)
    dims = sorted({*a, *b})
    small = {dim: unit * rng.choice((1, 2, 3, 5, 7)) + (rng.choice((0, 1, 3, 6)) if pad else 0) for dim in dims}
    large = {dim: n * rng.choice((1, 2, 4) if dim in "BL" else (64, 128, 256)) for dim, n in small.items()}
    return text, small, large, mesh, pad


def planned(seed):
    """The plan of one product.

    Args:
      seed: of `random_product`.

    Returns:
      (plan at large sizes, the same steps at small ones).

    >>> large, small = planned(0)
    >>> [step.op for step in large.steps] == [step.op for step in small.steps]
    True
    """
    text, small, large, mesh, pad = random_product(seed)
    plan = plan_matmul(text, large, mesh, pad=pad)
    return plan, plan.at(small)


def recorded_products():
    """What was found out about `N_PRODUCTS` random products, by ``python -m scaling_lib.referee products``.

    Returns:
      {"versions": of jax and the compilers, "products": a row each}. Of a row `kind`, `jit` and `ratio` are of what
      `jit` compiles for CPU devices, `tpu_kind`, `tpu_jit` and `tpu_ratio` of what it compiles for eight TPU v5e, where
      that was tried; `tpu` is what becomes of the plan's own steps there. See `tally` and `CLASSES`.

    >>> record = recorded_products()
    >>> len(record["products"])
    400
    """
    return json.loads(RECORD.read_text("utf-8"))
