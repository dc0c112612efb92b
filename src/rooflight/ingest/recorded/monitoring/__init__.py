"""Counters of devices and engines."""

# Modules with a FORMAT, in the order in which they are tried.
FORMATS: tuple[str, ...] = ("engines", "dcgm", "dcgmi", "smi", "amd", "exposition")
