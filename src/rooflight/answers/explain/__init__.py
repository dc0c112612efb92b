"""`explain`: what follows from a few values, by formulas that are written down once.

Counting is the library's: bytes and FLOP of a step come from `serve.phases`, rates from the catalog. `relations` holds
every formula, `solve` applies them, `facts` looks up what a model and a machine bring, `report` asks all of them.
"""
