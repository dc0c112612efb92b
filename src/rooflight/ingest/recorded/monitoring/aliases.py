"""The names that engines and exporters give their metrics, one table a source, the newest name of each first.

Where a scrape has an old name and a new one of the same thing, the new one counts. Counters stand here without the
_total that Prometheus clients add, histograms without _bucket, _sum and _count; some servers write the colon of
"vllm:" as an underscore or put ray_ before it (Ray Serve), which is the same name.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["gauge", "counter", "histogram", "info", "bits", "flag"]


class Metric(NamedTuple):
    """A metric under all its names.

    field   of Watched, or what `totals` makes fields of (requests, hit_tokens, inference_s ...)
    unit    what `units` knows, "%" or "" a plain number
    where   a label and its value: only series with it. Of an info: the labels whose values are multiplied
    over    how series of one replica that differ in other labels become one value
    """

    field: str
    names: tuple[str, ...]
    kind: Kind = "gauge"
    unit: str = ""
    where: tuple[str, str] | None = None
    over: Literal["sum", "mean"] = "sum"


class Source(NamedTuple):
    """Who exports. name: of the engine or tool; prefixes: spellings of what stands before each name."""

    name: str
    prefixes: tuple[str, ...]
    metrics: tuple[Metric, ...]
    devices: bool = False


# https://docs.vllm.ai/en/stable/usage/metrics/ and vllm/v1/metrics/loggers.py
_VLLM = (
    Metric("running", ("num_requests_running",)),
    Metric("waiting", ("num_requests_waiting",)),
    Metric("swapped", ("num_requests_swapped",)),  # the V0 engine, to 0.10: vllm-project/vllm#14136
    # gpu_... was renamed in 2025 (vllm-project/vllm#18354; both for some versions) and removed for 0.13 (#29330)
    Metric("kv_usage", ("kv_cache_usage_perc", "gpu_cache_usage_perc"), over="mean"),
    Metric("hit_tokens", ("prefix_cache_hits", "gpu_prefix_cache_hits"), "counter"),
    Metric("asked_tokens", ("prefix_cache_queries", "gpu_prefix_cache_queries"), "counter"),
    Metric("prefix_hit", ("gpu_prefix_cache_hit_rate",), over="mean"),  # V0
    # V0, vllm/engine/metrics.py: means over its logging interval
    Metric("prompt_tokens_per_s", ("avg_prompt_throughput_toks_per_s",)),
    Metric("output_tokens_per_s", ("avg_generation_throughput_toks_per_s",)),
    Metric("kv_tokens", ("cache_config_info",), "info", where=("num_gpu_blocks", "block_size")),
    Metric("preemptions", ("num_preemptions",), "counter"),
    Metric("prompt_tokens", ("prompt_tokens",), "counter"),
    Metric("output_tokens", ("generation_tokens",), "counter"),
    Metric("requests", ("request_success",), "counter"),
    Metric("drafted", ("spec_decode_num_draft_tokens",), "counter"),
    Metric("accepted", ("spec_decode_num_accepted_tokens",), "counter"),
    Metric("ttft_s", ("time_to_first_token_seconds",), "histogram"),
    # The old name says "per output token", but was observed once a chunk: vllm-project/vllm#24110 (0.11) renamed it.
    Metric("itl_s", ("inter_token_latency_seconds", "time_per_output_token_seconds"), "histogram"),
    Metric("tpot_s", ("request_time_per_output_token_seconds",), "histogram"),  # vllm-project/vllm#24015
    Metric("request_s", ("e2e_request_latency_seconds",), "histogram"),
    Metric("queue_s", ("request_queue_time_seconds",), "histogram"),
    Metric("inference_s", ("request_inference_time_seconds",), "histogram"),
    Metric("prefill_s", ("request_prefill_time_seconds",), "histogram"),
    Metric("decode_s", ("request_decode_time_seconds",), "histogram"),
    Metric("isl", ("request_prompt_tokens",), "histogram"),
    Metric("osl", ("request_generation_tokens",), "histogram"),
    Metric("step_tokens", ("iteration_tokens_total",), "histogram"),
)

# https://docs.sglang.io/references/production_metrics.html and sglang/srt/metrics/collector.py
_SGLANG = (
    Metric("running", ("num_running_reqs",)),
    Metric("waiting", ("num_queue_reqs", "num_waiting_reqs")),
    Metric("kv_usage", ("token_usage",), over="mean"),
    Metric("kv_tokens", ("max_total_num_tokens",)),
    Metric("max_num_seqs", ("max_running_requests",)),  # sgl-project/sglang#1853, the first
    Metric("output_tokens_per_s", ("gen_throughput",)),
    Metric("prefix_hit", ("cache_hit_rate",), over="mean"),
    Metric("acceptance", ("spec_accept_rate",), over="mean"),
    Metric("queue_mean_s", ("avg_request_queue_latency",), over="mean"),  # older than queue_time_seconds
    Metric("prompt_tokens", ("prompt_tokens",), "counter"),
    Metric("output_tokens", ("generation_tokens",), "counter"),
    Metric("cached_tokens", ("cached_tokens",), "counter"),
    Metric("requests", ("num_requests",), "counter"),
    Metric("preemptions", ("num_retracted_requests",), "counter"),
    Metric("ttft_s", ("time_to_first_token_seconds",), "histogram"),
    Metric("itl_s", ("inter_token_latency_seconds", "time_per_output_token_seconds"), "histogram"),
    Metric("request_s", ("e2e_request_latency_seconds",), "histogram"),
    Metric("queue_s", ("queue_time_seconds",), "histogram"),
    Metric("isl", ("prompt_tokens_histogram",), "histogram"),
    Metric("osl", ("generation_tokens_histogram",), "histogram"),
)

# https://huggingface.co/docs/text-generation-inference/reference/metrics. tgi_request_mean_time_per_token_duration
# divides a request's whole inference, prefill included, by its tokens, so it is no time per later token.
_TGI = (
    Metric("running", ("batch_current_size",)),
    Metric("waiting", ("queue_size",)),
    Metric("requests", ("request_success",), "counter"),
    Metric("request_s", ("request_duration",), "histogram"),
    Metric("queue_s", ("request_queue_duration",), "histogram"),
    Metric("inference_s", ("request_inference_duration",), "histogram"),
    Metric("itl_s", ("batch_inference_duration",), "histogram", where=("method", "decode")),
    Metric("isl", ("request_input_length",), "histogram"),
    Metric("osl", ("request_generated_tokens",), "histogram"),
)

# https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#get-metrics. predicted_tokens_seconds is a
# rate over the slots' own decoding times, so of one stream, and prompt_tokens_seconds one over prefill's time alone.
_LLAMACPP = (
    Metric("running", ("requests_processing",)),
    Metric("waiting", ("requests_deferred",)),
    Metric("kv_usage", ("kv_cache_usage_ratio",), over="mean"),  # removed in 2025: ggml-org/llama.cpp#13660
    Metric("stream_tokens_per_s", ("predicted_tokens_seconds",)),
    Metric("prompt_tokens", ("prompt_tokens",), "counter"),
    Metric("output_tokens", ("tokens_predicted",), "counter"),
    Metric("output_s", ("tokens_predicted_seconds",), "counter"),
    Metric("steps", ("n_decode",), "counter"),
    Metric("busy_slots", ("n_busy_slots_per_decode",)),
    Metric("drafted", ("spec_decode_num_draft_tokens",), "counter"),
    Metric("accepted", ("spec_decode_num_accepted_tokens",), "counter"),
)

# https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/metrics/collector.py
_TRTLLM = (
    Metric("running", ("num_requests_running",)),
    Metric("waiting", ("num_requests_waiting",)),
    Metric("kv_usage", ("kv_cache_utilization",), over="mean"),
    Metric("prefix_hit", ("kv_cache_hit_rate",), over="mean"),
    Metric("kv_blocks", ("kv_cache_max_blocks",)),
    Metric("kv_block_tokens", ("kv_cache_tokens_per_block",), over="mean"),
    Metric("max_num_seqs", ("max_batch_size_runtime", "max_num_active_requests")),
    Metric("prompt_tokens", ("prompt_tokens",), "counter"),
    Metric("output_tokens", ("generation_tokens",), "counter"),
    Metric("cached_tokens", ("prompt_cached_tokens",), "counter"),
    Metric("requests", ("request_success",), "counter"),
    Metric("drafted", ("spec_decode_drafted_tokens", "spec_decode_num_draft_tokens"), "counter"),
    Metric("accepted", ("spec_decode_accepted_tokens", "spec_decode_num_accepted_tokens"), "counter"),
    Metric("inference_s", ("request_inference_time_seconds",), "histogram"),
    Metric("ttft_s", ("time_to_first_token_seconds",), "histogram"),
    Metric("tpot_s", ("time_per_output_token_seconds",), "histogram"),
    Metric("request_s", ("e2e_request_latency_seconds",), "histogram"),
    Metric("queue_s", ("request_queue_time_seconds",), "histogram"),
    Metric("prefill_s", ("request_prefill_time_seconds",), "histogram"),
    Metric("decode_s", ("request_decode_time_seconds",), "histogram"),
)

# https://github.com/triton-inference-server/tensorrtllm_backend#triton-metrics
_TRITON = (
    Metric("running", ("request_metrics",), where=("request_type", "scheduled")),
    Metric("waiting", ("request_metrics",), where=("request_type", "waiting")),
    Metric("max_num_seqs", ("request_metrics",), where=("request_type", "max")),
    Metric("kv_usage", ("kv_cache_block_metrics",), where=("kv_cache_block_type", "fraction"), over="mean"),
    Metric("kv_blocks", ("kv_cache_block_metrics",), where=("kv_cache_block_type", "max")),
    Metric("kv_block_tokens", ("kv_cache_block_metrics",), where=("kv_cache_block_type", "tokens_per"), over="mean"),
)

# https://docs.nvidia.com/nim/large-language-models/latest/observability.html: vLLM's names of 2024 without a prefix.
_NIM = (Metric("max_num_seqs", ("num_request_max",)), *_VLLM)

# https://docs.nvidia.com/dynamo/latest/reference/observability/metrics-catalog: the frontend's. In flight are all that
# it has passed on; what it calls queued waits for its first token, prefill included, so it is no queue of the engine.
_DYNAMO = (
    Metric("running", ("inflight_requests", "inflight_requests_total")),
    Metric("output_tokens", ("output_tokens",), "counter"),
    Metric("requests", ("requests",), "counter"),
    Metric("ttft_s", ("time_to_first_token_seconds",), "histogram"),
    Metric("itl_s", ("inter_token_latency_seconds",), "histogram"),
    Metric("request_s", ("request_duration_seconds",), "histogram"),
    Metric("isl", ("input_sequence_tokens",), "histogram"),
    Metric("osl", ("output_sequence_tokens",), "histogram"),
)

ENGINES = (
    Source("vllm", ("vllm:", "vllm_", "ray_vllm_", "ray_vllm:"), _VLLM),
    Source("sglang", ("sglang:", "sglang_"), _SGLANG),
    Source("tgi", ("tgi_",), _TGI),
    Source("llama.cpp", ("llamacpp:", "llamacpp_"), _LLAMACPP),
    Source("trtllm", ("trtllm_", "trtllm:"), _TRTLLM),
    Source("trtllm", ("nv_trt_llm_",), _TRITON),
    Source("dynamo", ("dynamo_frontend_",), _DYNAMO),
    Source("nim", ("",), _NIM),
)

# https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html and dcgm-exporter's
# etc/default-counters.csv; the lower-case names are those of 1.x (etc/1.x-compatibility-metrics.csv there). Bytes over
# PCIe and NVLink are rates, means over the sampling interval, whatever type the exporter's list gives them.
_DCGM = (
    Metric("gpu_util", ("DCGM_FI_DEV_GPU_UTIL", "dcgm_gpu_utilization"), unit="%"),
    Metric("memory_util", ("DCGM_FI_DEV_MEM_COPY_UTIL", "dcgm_mem_copy_utilization"), unit="%"),
    Metric("engine_active", ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "dcgm_fi_prof_gr_engine_active"), unit="share"),
    Metric("sm_active", ("DCGM_FI_PROF_SM_ACTIVE", "dcgm_fi_prof_sm_active"), unit="share"),
    Metric("sm_occupancy", ("DCGM_FI_PROF_SM_OCCUPANCY", "dcgm_fi_prof_sm_occupancy"), unit="share"),
    Metric("tensor_active", ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "dcgm_fi_prof_pipe_tensor_active"), unit="share"),
    Metric("dram_active", ("DCGM_FI_PROF_DRAM_ACTIVE", "dcgm_fi_prof_dram_active"), unit="share"),
    Metric("fp16_active", ("DCGM_FI_PROF_PIPE_FP16_ACTIVE", "dcgm_fi_prof_pipe_fp16_active"), unit="share"),
    Metric("fp32_active", ("DCGM_FI_PROF_PIPE_FP32_ACTIVE", "dcgm_fi_prof_pipe_fp32_active"), unit="share"),
    Metric("memory_used_bytes", ("DCGM_FI_DEV_FB_USED", "dcgm_fb_used"), unit="MiB"),
    Metric("memory_total_bytes", ("DCGM_FI_DEV_FB_TOTAL", "dcgm_fb_total"), unit="MiB"),
    Metric("memory_free_bytes", ("DCGM_FI_DEV_FB_FREE", "dcgm_fb_free"), unit="MiB"),
    Metric("memory_reserved_bytes", ("DCGM_FI_DEV_FB_RESERVED",), unit="MiB"),
    Metric("power_w", ("DCGM_FI_DEV_POWER_USAGE", "dcgm_power_usage", "DCGM_FI_DEV_POWER_USAGE_INSTANT"), unit="W"),
    Metric("power_limit_w", ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_POWER_MGMT_LIMIT"), unit="W"),
    Metric("sm_clock_hz", ("DCGM_FI_DEV_SM_CLOCK", "dcgm_sm_clock"), unit="MHz"),
    Metric("max_sm_clock_hz", ("DCGM_FI_DEV_MAX_SM_CLOCK",), unit="MHz"),
    Metric("memory_clock_hz", ("DCGM_FI_DEV_MEM_CLOCK", "dcgm_memory_clock"), unit="MHz"),
    Metric("max_memory_clock_hz", ("DCGM_FI_DEV_MAX_MEM_CLOCK",), unit="MHz"),
    Metric("temperature_c", ("DCGM_FI_DEV_GPU_TEMP", "dcgm_gpu_temp")),
    # CLOCK_THROTTLE_REASONS was renamed in DCGM 3.3
    Metric("throttled", ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"), "bits"),
    Metric("pcie_tx", ("DCGM_FI_PROF_PCIE_TX_BYTES", "dcgm_fi_prof_pcie_tx_bytes"), unit="B/s"),
    Metric("pcie_rx", ("DCGM_FI_PROF_PCIE_RX_BYTES", "dcgm_fi_prof_pcie_rx_bytes"), unit="B/s"),
    Metric("nvlink_tx", ("DCGM_FI_PROF_NVLINK_TX_BYTES", "dcgm_fi_prof_nvlink_tx_bytes"), unit="B/s"),
    Metric("nvlink_rx", ("DCGM_FI_PROF_NVLINK_RX_BYTES", "dcgm_fi_prof_nvlink_rx_bytes"), unit="B/s"),
)

# https://github.com/utkuozdemir/nvidia_gpu_exporter/blob/main/docs/METRICS.md: the columns of nvidia-smi --query-gpu,
# in base units; clocks_throttle_reasons before driver 535 (nvidia-smi's own renaming).
_NVIDIA_SMI = (
    Metric("gpu_util", ("utilization_gpu_ratio",)),
    Metric("memory_util", ("utilization_memory_ratio",)),
    Metric("memory_used_bytes", ("memory_used_bytes",), unit="B"),
    Metric("memory_total_bytes", ("memory_total_bytes",), unit="B"),
    Metric("power_w", ("power_draw_watts", "power_draw_average_watts", "power_draw_instant_watts"), unit="W"),
    Metric("power_limit_w", ("enforced_power_limit_watts", "power_limit_watts"), unit="W"),
    Metric("sm_clock_hz", ("clocks_current_sm_clock_hz",), unit="Hz"),
    Metric("max_sm_clock_hz", ("clocks_max_sm_clock_hz",), unit="Hz"),
    Metric("memory_clock_hz", ("clocks_current_memory_clock_hz",), unit="Hz"),
    Metric("max_memory_clock_hz", ("clocks_max_memory_clock_hz",), unit="Hz"),
    Metric("temperature_c", ("temperature_gpu",)),
    Metric("throttled", ("clocks_event_reasons_active", "clocks_throttle_reasons_active"), "bits"),
    Metric("info", ("gpu_info",)),
)

# https://github.com/ROCm/device-metrics-exporter/blob/main/docs/configuration/metricslist.md; megabytes are amd-smi's,
# which are 2^20 bytes.
_AMD = (
    Metric("gpu_util", ("gpu_gfx_activity",), unit="%"),
    Metric("memory_util", ("gpu_umc_activity",), unit="%"),
    Metric("engine_active", ("gpu_prof_gui_util_percent",), unit="%"),
    Metric("sm_active", ("gpu_prof_sm_active",), unit="%"),
    Metric("sm_occupancy", ("gpu_prof_occupancy_percent",), unit="%"),
    Metric("tensor_active", ("gpu_prof_tensor_active_percent",), unit="%"),
    Metric("memory_used_bytes", ("gpu_used_vram",), unit="MiB"),
    Metric("memory_total_bytes", ("gpu_total_vram",), unit="MiB"),
    Metric("power_w", ("gpu_package_power", "gpu_average_package_power", "gpu_power_usage"), unit="W"),
    Metric("temperature_c", ("gpu_junction_temperature", "gpu_edge_temperature")),
    Metric("sm_clock_hz", ("gpu_clock",), unit="MHz", where=("clock_type", "system")),
    Metric("memory_clock_hz", ("gpu_clock",), unit="MHz", where=("clock_type", "memory")),
    Metric("power", ("gpu_violation_ppt_residency_percentage",), "flag"),
    Metric("thermal", ("gpu_violation_socket_thermal_residency_percentage",), "flag"),
    Metric("thermal", ("gpu_violation_hbm_thermal_residency_percentage",), "flag"),
    Metric("thermal", ("gpu_violation_vr_thermal_residency_percentage",), "flag"),
    Metric("hw-slowdown", ("gpu_violation_processor_hot_residency_percentage",), "flag"),
)

# https://github.com/triton-inference-server/server/blob/main/docs/user_guide/metrics.md#gpu-metrics
_TRITON_GPU = (
    Metric("gpu_util", ("gpu_utilization",)),
    Metric("memory_used_bytes", ("gpu_memory_used_bytes",), unit="B"),
    Metric("memory_total_bytes", ("gpu_memory_total_bytes",), unit="B"),
    Metric("power_w", ("gpu_power_usage",), unit="W"),
    Metric("power_limit_w", ("gpu_power_limit",), unit="W"),
)

DEVICES = (
    Source("dcgm", ("",), _DCGM, devices=True),
    Source("nvidia_smi", ("nvidia_smi_",), _NVIDIA_SMI, devices=True),
    Source("amd", ("", "amd_"), _AMD, devices=True),
    Source("triton", ("nv_",), _TRITON_GPU, devices=True),
)

# Since when the process runs, in seconds since 1970: of every Prometheus client library.
STARTED = "process_start_time_seconds"

# nvmlClocksEventReasons (https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html), by bit. Left out,
# as they slow nothing that runs: idle 1, clocks that were set on purpose 2 and 0x100.
REASONS = (
    (0x4, "power"),
    (0x8, "hw-slowdown"),
    (0x10, "sync-boost"),
    (0x20, "thermal"),
    (0x40, "thermal"),
    (0x80, "power-brake"),
)


def reasons(mask: int) -> tuple[str, ...]:
    """Why clocks are lowered, by NVML's bits; () for no reason that slows what runs."""
    return tuple(dict.fromkeys(name for bit, name in REASONS if mask & bit))
