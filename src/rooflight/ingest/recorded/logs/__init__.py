"""What engines print while they start, and while they run."""

# Modules with a FORMAT, in the order in which they are tried.
FORMATS: tuple[str, ...] = ("sglang", "vllm", "llamacpp")
