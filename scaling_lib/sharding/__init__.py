"""Sharded arrays: the notation A[I_X, J_Y], and which collectives a product of two needs, cheapest first."""

from scaling_lib.sharding.grammar import NotationError
from scaling_lib.sharding.notation import Sharding, parse_sharding
from scaling_lib.sharding.plan import Plan, plan_matmul
from scaling_lib.sharding.product import Product, parse_product
from scaling_lib.sharding.steps import PlanTime, Step

__all__ = [
    "NotationError",
    "Plan",
    "PlanTime",
    "Product",
    "Sharding",
    "Step",
    "parse_product",
    "parse_sharding",
    "plan_matmul",
]
