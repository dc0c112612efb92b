"""Shapes to time, and this machine: what was seen, as Samples and Rates. Nothing here compares."""
