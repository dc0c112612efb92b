"""Results of load generators and benchmarks."""

# Modules with a FORMAT, in the order in which they are tried.
FORMATS: tuple[str, ...] = ("inferencex", "sglang", "vllm_serve", "vllm_offline", "console")
