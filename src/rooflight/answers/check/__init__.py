"""Measurements and claims judged against what physics allows and what is expected.

What is tried: `names` and `candidates` (deployments a row may have run as), `questions`, `spans` (the fastest of them).
How it is judged: `judge`, with `mixups`, `doubts` and `causes`. What comes of it: `outcome`, `report`, `tally`.
"""
