"""Exercises and guess boxes of chapter 1, rooflines."""

from scaling_lib.exercises.ch01 import formats, guesses, limits, matmul, twins

EXERCISES = guesses.EXERCISES + twins.EXERCISES + matmul.EXERCISES + formats.EXERCISES + limits.EXERCISES
