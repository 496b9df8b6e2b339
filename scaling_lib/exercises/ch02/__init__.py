"""Exercises and guess boxes of chapter 2, accelerators."""

from scaling_lib.exercises.ch02 import arrays, clusters, guesses, memory, slices, twins

EXERCISES = (
    guesses.EXERCISES + twins.EXERCISES + arrays.EXERCISES + memory.EXERCISES + slices.EXERCISES + clusters.EXERCISES
)
