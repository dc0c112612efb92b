"""Frozen values that flow through rooflight. No formulas, no I/O."""
