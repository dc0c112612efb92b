"""Results of load generators and benchmarks."""

# Modules with a FORMAT, in the order in which they are tried.
FORMATS: tuple[str, ...] = (
    "inference_perf", "guidellm", "mlperf", "aiperf", "llama_bench", "llama_batched", "inferencex", "sglang",
    "vllm_serve", "vllm_offline", "console",
)  # fmt: skip
