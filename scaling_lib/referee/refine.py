"""A mesh with every axis cut into prime parts: XLA may communicate along a part of an axis."""

import copy

from scaling_lib.hardware.layout import Piece


def prime_mesh(mesh):
    """The same chips on the same hardware axes, with an axis for each prime factor, slowest first.

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> prime_mesh(Mesh(TpuSlice("tpu-v5e", (2, 4)), X=8)).sizes
    {'X.0': 2, 'X.1': 2, 'X.2': 2}
    """
    fine = copy.copy(mesh)
    parts = {
        f"{name}.{i}": piece
        for name, pieces in mesh.pieces.items()
        for i, piece in enumerate(part for piece in pieces for part in _parts(piece))
    }
    fine.pieces = {name: (piece,) for name, piece in parts.items()}
    fine.sizes = {name: piece.size for name, piece in parts.items()}
    return fine


def _parts(piece):
    """Prime parts of a piece, the slowest first."""
    rest, found = piece.size, []
    for prime in _primes(piece.size):
        rest //= prime
        found.append(Piece(piece.key, prime, piece.stride * rest))
    return found


def _primes(n):
    found, k = [], 2
    while n > 1:
        while n % k == 0:
            found.append(k)
            n //= k
        k += 1
    return found
