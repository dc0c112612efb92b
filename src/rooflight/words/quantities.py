"""The values of `explain` by name: their unit, and what a person calls them."""

from __future__ import annotations

from rooflight.units import percent, round_significant, scaled

# What binds, where it is not named by itself.
_RESOURCES = {"host_memory": "the host's memory", "host_link": "the link to the host"}


def resource(name: str) -> str:
    """What binds, or a term, as a sentence names it."""
    return _RESOURCES.get(name, name)


def bound_by(name: str) -> str:
    """memory-bound; bound by the host's memory."""
    return f"bound by {_RESOURCES[name]}" if name in _RESOURCES else f"{name}-bound"


# name: (unit, words). Units are base units; "share" is of 0 to 1, "" a plain number.
QUANTITIES: dict[str, tuple[str, str]] = {
    "isl": ("tokens", "input tokens a request"),
    "osl": ("tokens", "output tokens a request"),
    "accelerators": ("", "accelerators"),
    "in_flight": ("requests", "requests in flight"),
    "decoding": ("sequences", "sequences that decode at once"),
    "ttft_s": ("s", "time to first token"),
    "tpot_s": ("s", "time per output token"),
    "itl_s": ("s", "inter-token latency"),
    "tokens_per_chunk": ("tokens", "tokens a chunk"),
    "request_s": ("s", "end-to-end time"),
    "request_s_per_output_token": ("s", "end-to-end time per output token"),
    "requests_per_s": ("requests/s", "requests a second"),
    "output_tokens_per_s": ("tok/s", "output tokens a second"),
    "total_tokens_per_s": ("tok/s", "input and output tokens a second"),
    "input_tokens_per_s": ("tok/s", "input tokens a second"),
    "output_tokens_per_s_per_user": ("tok/s", "output tokens a second per user after the first"),
    "output_tokens_per_s_per_request": ("tok/s", "output tokens a second of a request from end to end"),
    "output_tokens_per_s_per_accelerator": ("tok/s", "output tokens a second per accelerator"),
    "total_tokens_per_s_per_accelerator": ("tok/s", "input and output tokens a second per accelerator"),
    "tokens_per_step": ("tokens", "tokens a sequence gets of a verify step"),
    "step_s": ("s", "time of a step"),
    "weight_bytes": ("B", "weight bytes a step"),
    "kv_bytes": ("B", "KV cache bytes a step"),
    "streamed_bytes": ("B", "bytes streamed a step"),
    "bytes_per_s": ("B/s", "bytes streamed a second"),
    "memory_bytes_per_s": ("B/s", "datasheet bandwidth"),
    "measured_bytes_per_s": ("B/s", "measured bandwidth"),
    "mbu": ("share", "MBU"),
    "of_measured_bandwidth": ("share", "share of the measured bandwidth"),
    "flop": ("FLOP", "FLOP a step"),
    "flop_per_s": ("FLOP/s", "FLOP a second"),
    "peak_flop_per_s": ("FLOP/s", "datasheet peak"),
    "measured_flop_per_s": ("FLOP/s", "measured peak"),
    "arithmetic_s": ("s", "FLOP of a step at the peaks of their formats"),
    "mfu": ("share", "MFU"),
    "of_measured_peak": ("share", "share of the measured peak"),
    "ceiling_s": ("s", "least time of the step"),
    "of_ceiling": ("share", "share of the ceiling's speed"),
    "prefill_tokens": ("tokens", "prompt tokens of a prefill"),
    "prefill_tokens_per_s": ("tok/s", "prompt tokens prefilled a second"),
    "prefill_s": ("s", "time of the prefill"),
    "prefill_flop": ("FLOP", "FLOP of the prefill"),
    "prefill_bytes": ("B", "bytes streamed by the prefill"),
    "prefill_flop_per_s": ("FLOP/s", "FLOP a second of the prefill"),
    "prefill_arithmetic_s": ("s", "FLOP of the prefill at the peaks of their formats"),
    "prefill_mfu": ("share", "MFU of the prefill"),
    "prefill_of_measured_peak": ("share", "share of the measured peak in the prefill"),
    "prefill_ceiling_s": ("s", "least time of the prefill"),
    "prefill_of_ceiling": ("share", "share of the ceiling's speed in the prefill"),
    "dram_active": ("share", "DRAM active"),
    "dram_bytes_per_s": ("B/s", "bytes a second by the counter"),
    "dram_of_measured_bandwidth": ("share", "share of the measured bandwidth by the counter"),
    "counted_step_s": ("s", "time of a step at the counter's rate"),
    "tensor_active": ("share", "tensor active"),
    "tensor_flop_per_s": ("FLOP/s", "FLOP a second by the counter, at most"),
    "sm_active": ("share", "SM active"),
    "most_flop_per_s": ("FLOP/s", "FLOP a second that busy multiprocessors could do at most"),
    "gpu_util": ("share", "GPU utilisation"),
    "idle": ("share", "share of the time without any kernel"),
    "kv_cache_usage": ("share", "KV cache usage"),
    "kv_tokens": ("tokens", "tokens the KV cache holds"),
    "cached_tokens": ("tokens", "tokens cached"),
    "kernel_bytes": ("B", "bytes"),
    "kernel_flop": ("FLOP", "FLOP"),
    "kernel_s": ("s", "time"),
    "kernel_bytes_per_s": ("B/s", "bytes a second"),
    "kernel_of_bandwidth": ("share", "share of the datasheet's bandwidth"),
    "kernel_of_measured_bandwidth": ("share", "share of the measured bandwidth"),
    "kernel_flop_per_s": ("FLOP/s", "FLOP a second"),
    "kernel_of_peak": ("share", "share of the datasheet's peak"),
    "kernel_of_measured_peak": ("share", "share of the measured peak"),
    "kernel_of_roof": ("share", "share of what the roof allows"),
    "kernel_memory_s": ("s", "bytes at the datasheet's bandwidth"),
    "kernel_compute_s": ("s", "FLOP at the datasheet's peak"),
    "kernel_least_s": ("s", "least time"),
    "intensity_flop_per_byte": ("FLOP/byte", "arithmetic intensity"),
    "ridge_flop_per_byte": ("FLOP/byte", "ridge point"),
    "attainable_flop_per_s": ("FLOP/s", "attainable rate"),
    "measured_ridge_flop_per_byte": ("FLOP/byte", "measured ridge point"),
    "measured_attainable_flop_per_s": ("FLOP/s", "attainable rate as measured"),
    "of_peak": ("share", "share of the peak that is attainable"),
}
_SCALED = ("B", "B/s", "FLOP", "FLOP/s", "s")


def unit(name: str) -> str:
    """The base unit of a value."""
    return QUANTITIES[name][0]


def called(name: str) -> str:
    """A value in words."""
    return QUANTITIES[name][1]


def shown(name: str, value: float) -> str:
    """A value as a person reads it: 14.1 GB, 77 %, 55 tok/s."""
    base = unit(name)
    if base == "share":
        return percent(value)
    if base in _SCALED:
        return scaled(value, base)
    one = value == 1 and base in ("requests", "sequences", "tokens")
    return f"{round_significant(value)} {base[:-1] if one else base}".rstrip()
