"""Bytes of a matrix product as an exact fraction, counted array by array."""

from fractions import Fraction

BITS = {"f32": 32, "bf16": 16, "f16": 16, "fp8": 8, "int8": 8, "int4": 4, "fp4": 4}


def traffic(b, d, f, x, w, out):
    """Three arrays, each once."""
    return Fraction(BITS[x] * b * d + BITS[w] * d * f + BITS[out] * b * f, 8)
