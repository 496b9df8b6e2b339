"""Exercises and guess boxes of chapter 3, sharded matrices."""

from scaling_lib.exercises.ch03 import guesses, layers, machines, notation, products, rings, twins

EXERCISES = (
    guesses.EXERCISES
    + twins.EXERCISES
    + notation.EXERCISES
    + rings.EXERCISES
    + products.EXERCISES
    + machines.EXERCISES
    + layers.EXERCISES
)
