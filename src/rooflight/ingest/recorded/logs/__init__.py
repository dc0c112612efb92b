"""What engines print while they start."""

# Modules with a FORMAT, in the order in which they are tried.
FORMATS: tuple[str, ...] = ()
