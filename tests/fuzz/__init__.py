"""Mutated inputs at every door, and random questions held against physics: short in the suite, long by run.py."""
