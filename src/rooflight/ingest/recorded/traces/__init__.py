"""Profiles: PyTorch, Nsight Systems and Compute, rocprof."""

# Modules with a FORMAT, in the order in which they are tried.
FORMATS: tuple[str, ...] = ("torch_trace", "nsys", "nsys_sqlite", "ncu", "ncu_rep", "rocprof", "samples")
