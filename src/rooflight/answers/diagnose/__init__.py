"""What recorded files say of the ceiling that binds.

Each analysis is a module with one function of its name that returns what it found, or None where nothing recorded is
for it: regimes (monitoring), kernels (profiles), benchmarks (one run beside its prediction), fits (several measurements
of one thing), memory (an engine's own account of it). `report` asks them all and picks the one that leads.
`words.diagnosis` has a module of the same name for each, which makes sentences of it.
"""
