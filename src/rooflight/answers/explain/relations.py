"""Every formula of `explain`: which value follows from which others. Names are in words.quantities with their units.

Rates of requests are means of a steady state: Little's law is exact for them, and a request's time holds its waiting.
"""

from __future__ import annotations

from typing import NamedTuple


class Relation(NamedTuple):
    """target = formula. Relations of one law are one equation, solved for each of its values.

    law     "": a definition that nothing contradicts
    unless  a value whose presence makes the formula say something else
    """

    target: str
    formula: str
    law: str = ""
    unless: str = ""


REQUESTS = (
    # TPOT as the field has it: (end to end - first token) / (output tokens - 1)
    Relation("request_s", "ttft_s + tpot_s * (osl - 1)", "request"),
    Relation("tpot_s", "(request_s - ttft_s) / (osl - 1)", "request"),
    Relation("ttft_s", "request_s - tpot_s * (osl - 1)", "request", unless="all_decode"),
    Relation("osl", "(request_s - ttft_s) / tpot_s + 1", "request"),
    # guidellm's time_per_output_token_ms: from the request's start to its last token, over all output tokens
    Relation("request_s_per_output_token", "request_s / osl", "whole"),
    Relation("request_s", "request_s_per_output_token * osl", "whole"),
    Relation("itl_s", "tpot_s * tokens_per_chunk", "chunks"),
    Relation("tpot_s", "itl_s / tokens_per_chunk", "chunks"),
    Relation("tokens_per_chunk", "itl_s / tpot_s", "chunks"),
    Relation("output_tokens_per_s_per_user", "1 / tpot_s", "user"),
    Relation("tpot_s", "1 / output_tokens_per_s_per_user", "user"),
)
RATES = (
    Relation("output_tokens_per_s", "output_tokens_per_s_per_accelerator * accelerators", "accelerators"),
    Relation("output_tokens_per_s_per_accelerator", "output_tokens_per_s / accelerators", "accelerators"),
    Relation("requests_per_s", "output_tokens_per_s / osl", "output"),
    Relation("output_tokens_per_s", "requests_per_s * osl", "output"),
    Relation("osl", "output_tokens_per_s / requests_per_s", "output"),
    Relation("requests_per_s", "total_tokens_per_s / (isl + osl)", "total"),
    Relation("total_tokens_per_s", "requests_per_s * (isl + osl)", "total"),
    Relation("isl", "total_tokens_per_s / requests_per_s - osl", "total"),
    Relation("input_tokens_per_s", "requests_per_s * isl"),
    Relation("total_tokens_per_s_per_accelerator", "total_tokens_per_s / accelerators"),
)
# Little 1961: L = lambda W, of whole requests and of the tokens of those that decode.
LITTLE = (
    Relation("in_flight", "requests_per_s * request_s", "little"),
    Relation("requests_per_s", "in_flight / request_s", "little"),
    Relation("request_s", "in_flight / requests_per_s", "little"),
    Relation("decoding", "output_tokens_per_s * tpot_s", "decoding"),
    Relation("output_tokens_per_s", "decoding / tpot_s", "decoding"),
    Relation("tpot_s", "decoding / output_tokens_per_s", "decoding"),
    Relation("output_tokens_per_s_per_request", "osl / request_s"),
)
# A decode step. In speculative decoding it gives a sequence several tokens.
STEP = (
    Relation("step_s", "tpot_s * tokens_per_step"),
    Relation("step_s", "tpot_s", unless="tokens_per_step"),
    Relation("streamed_bytes", "weight_bytes + kv_bytes"),
    Relation("bytes_per_s", "streamed_bytes / step_s"),
    Relation("mbu", "bytes_per_s / memory_bytes_per_s"),
    Relation("of_measured_bandwidth", "bytes_per_s / measured_bytes_per_s"),
    Relation("flop_per_s", "flop / step_s"),
    Relation("mfu", "flop_per_s / peak_flop_per_s", unless="arithmetic_s"),
    Relation("mfu", "arithmetic_s / step_s"),
    Relation("of_measured_peak", "flop_per_s / measured_flop_per_s"),
    Relation("of_ceiling", "ceiling_s / step_s"),
)
PREFILL = (
    Relation("prefill_s", "prefill_tokens / prefill_tokens_per_s"),
    Relation("prefill_s", "ttft_s", unless="prefill_tokens_per_s"),
    Relation("prefill_flop_per_s", "prefill_flop / prefill_s"),
    Relation("prefill_mfu", "prefill_flop_per_s / peak_flop_per_s", unless="prefill_arithmetic_s"),
    Relation("prefill_mfu", "prefill_arithmetic_s / prefill_s"),
    Relation("prefill_of_measured_peak", "prefill_flop_per_s / measured_flop_per_s"),
    Relation("prefill_of_ceiling", "prefill_ceiling_s / prefill_s"),
)
COUNTERS = (
    Relation("dram_bytes_per_s", "dram_active * memory_bytes_per_s"),
    Relation("dram_of_measured_bandwidth", "dram_bytes_per_s / measured_bytes_per_s"),
    Relation("tensor_flop_per_s", "tensor_active * peak_flop_per_s"),
    Relation("most_flop_per_s", "sm_active * peak_flop_per_s"),
    Relation("idle", "1 - gpu_util"),
    Relation("cached_tokens", "kv_cache_usage * kv_tokens"),
    Relation("counted_step_s", "streamed_bytes / dram_bytes_per_s"),
)
ROOF = (
    Relation("intensity_flop_per_byte", "kernel_flop / kernel_bytes"),
    Relation("ridge_flop_per_byte", "peak_flop_per_s / memory_bytes_per_s"),
    Relation("attainable_flop_per_s", "min(peak_flop_per_s, intensity_flop_per_byte * memory_bytes_per_s)"),
    Relation("of_peak", "attainable_flop_per_s / peak_flop_per_s"),
    Relation("measured_ridge_flop_per_byte", "measured_flop_per_s / measured_bytes_per_s"),
    Relation(
        "measured_attainable_flop_per_s", "min(measured_flop_per_s, intensity_flop_per_byte * measured_bytes_per_s)"
    ),
)
KERNEL = (
    Relation("kernel_bytes_per_s", "kernel_bytes / kernel_s"),
    Relation("kernel_of_bandwidth", "kernel_bytes_per_s / memory_bytes_per_s"),
    Relation("kernel_of_measured_bandwidth", "kernel_bytes_per_s / measured_bytes_per_s"),
    Relation("kernel_flop_per_s", "kernel_flop / kernel_s"),
    Relation("kernel_of_peak", "kernel_flop_per_s / peak_flop_per_s"),
    Relation("kernel_of_measured_peak", "kernel_flop_per_s / measured_flop_per_s"),
    Relation("kernel_of_roof", "kernel_flop_per_s / attainable_flop_per_s"),
    Relation("kernel_memory_s", "kernel_bytes / memory_bytes_per_s"),
    Relation("kernel_compute_s", "kernel_flop / peak_flop_per_s"),
    Relation("kernel_least_s", "max(kernel_memory_s, kernel_compute_s)"),
)
# What always holds; the others are of steps, counters and kernels.
TRAFFIC = (*REQUESTS, *RATES, *LITTLE)
RELATIONS = (*TRAFFIC, *STEP, *PREFILL, *COUNTERS, *ROOF, *KERNEL)
