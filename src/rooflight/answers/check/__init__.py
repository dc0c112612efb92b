"""Measurements and claims judged against their ceilings, and against what a well-run engine does."""
