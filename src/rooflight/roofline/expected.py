"""What a well-run engine gets: a floor, then memory and compute joined by a p-norm, each with an efficiency.

Pure functions of plain numbers or arrays. The coefficients come with a fit (values.calibration), the rates from the
datasheet. Memory time may use the last-level cache only as far as `cached` says: in a step of a real model that is 0
unless the step's bytes fit the cache. Source of all forms: fitted to aiconfigurator-core's kernel tables by
calibration/fit_kernels.py; the errors are in catalog/calibration and in calibration/kernels_report.md.
In Check lines, `fit example` is a fit of round numbers that the tests spell out.
"""

from __future__ import annotations

from rooflight.numeric import Number, maximum, minimum
from rooflight.values.calibration import DecodeFit, ElementwiseFit, GemmFit, LinkFit, PrefillFit

# The matrix units take at least this many rows at once; fewer leave them idle.
LEAST_ROWS = 16
# Up to so many tokens the vector units do a product, and no row is idle (llama.cpp's limit; cuBLAS: matrix by vector).
VECTOR_ROWS = 8
# The tile one compute unit works on, rows x columns.
TILE_ROWS = 128
TILE_COLUMNS = 128
# How alike experts are in how often they are chosen: the shape of a gamma distribution, large where all are alike.
# Ours, 2026-11-28: served runs of Qwen3-235B-A22B and MiniMax-M2.5, offline ones of Mixtral and Qwen3-30B-A3B touch
# fewer experts than chance would, and their busiest devices have more to do. docs/accuracy.md has the errors under
# other values. Most such runs have made-up prompts; real ones may be more even.
EVENNESS = 0.4
_NEARLY_ALL = 1 - 1e-9
# A product this long has lost half of what it will lose to power limits and cache misses.
_THROTTLE_S = 1e-3


def joined_s(*seconds: Number, sharpness: Number) -> Number:
    """Times that overlap, but not perfectly: the p-norm (a^p + b^p + ...)^(1/p), between their sum and the largest.

    Source: a smooth maximum; the sharpness is fitted. Check: joined_s(3, 4, sharpness=2) == 5.
    """
    return sum(part**sharpness for part in seconds) ** (1 / sharpness)


def cached_share(*, moved_bytes: Number, cache_bytes: Number, reach: Number, steepness: Number) -> Number:
    """Share of a repeated working set that the last-level cache serves: 1 / (1 + (bytes / (reach x cache))^steepness).

    Holds for: one kernel run again and again, as in kernel benchmarks; half is served at reach x cache.
    Check: moved_bytes 25e6, cache_bytes 50e6, reach 0.25, steepness 2 -> 0.2.
    """
    return 1 / (1 + (moved_bytes / (reach * cache_bytes)) ** steepness)


def streaming_s(
    *, moved_bytes: Number, cached: Number, cache_speedup: Number, memory_bytes_per_s: Number, efficiency: Number
) -> Number:
    """Seconds to move bytes of which a share comes from a faster cache.

    = bytes x (1 - cached + cached / cache_speedup) / (bandwidth x efficiency)

    Check: moved_bytes 100, cached 0.5, cache_speedup 2, memory_bytes_per_s 10, efficiency 0.75 -> 10.
    """
    return moved_bytes * (1 - cached + cached / cache_speedup) / (memory_bytes_per_s * efficiency)


def arithmetic_s(*, flop: Number, flop_per_s: Number, efficiency: Number, throttle: Number) -> Number:
    """Seconds of arithmetic at an efficiency that falls as a kernel grows long (power limit, cache misses).

    = t / efficiency x (1 + throttle x t / (t + 1 ms)), t being the time at the peak

    Check: flop 1e12, flop_per_s 1e15, efficiency 0.8, throttle 0.2 -> 0.001375.
    """
    peak_s = flop / flop_per_s
    return peak_s / efficiency * (1 + throttle * peak_s / (peak_s + _THROTTLE_S))


def elementwise_s(*, moved_bytes: Number, memory_bytes_per_s: Number, fit: ElementwiseFit) -> Number:
    """Seconds of a norm, activation function, rotary embedding or copy: floor + bytes over bandwidth x efficiency.

    Holds for: one unfused kernel; fused into its neighbour it costs neither.
    Check: moved_bytes 3e6, memory_bytes_per_s 3e12, fit example -> 4e-06.
    """
    return fit.floor_s + moved_bytes / (memory_bytes_per_s * fit.memory_efficiency)


def gemm_s(
    *,
    tokens: Number,
    step_tokens: Number,
    inputs: Number,
    flop: Number,
    moved_bytes: Number,
    quantised_bytes: Number,
    cached: Number,
    flop_per_s: Number,
    memory_bytes_per_s: Number,
    compute_units: Number,
    fit: GemmFit,
) -> Number:
    """Expected seconds of a linear layer: floor + quantising the activations + p-norm(memory, compute).

    quantise = its floor + quantised_bytes (read wide, written narrow) over bandwidth x its efficiency
    memory   = bytes over bandwidth x efficiency, + ramp x inputs / (inputs + ramp_inputs)
    compute  = flop of at least 16 tokens + a share of one wave of 128 x 128 tiles (the tail), its loop over the
               inputs longer by short_inputs, at the peak x efficiency; idle none where the step has up to
               8 tokens (step_tokens; of an expert, tokens are those that chose it)

    Holds for: kernels in a captured graph. The outputs' number enters through flop and bytes alone.
    Check: tokens 16, step_tokens 16, inputs 1000, flop 3e9, moved_bytes 3e6, quantised_bytes 3e6, cached 0, flop_per_s 1e15, memory_bytes_per_s 3e12, compute_units 0, fit example -> 1.6e-05.
    """  # noqa: E501 - a Check line runs as it stands
    fewest = maximum(tokens, LEAST_ROWS * (step_tokens > VECTOR_ROWS)) / tokens
    wave_flop = 2 * TILE_ROWS * TILE_COLUMNS * compute_units * inputs
    memory = streaming_s(
        moved_bytes=moved_bytes,
        cached=cached,
        cache_speedup=fit.cache_speedup,
        memory_bytes_per_s=memory_bytes_per_s,
        efficiency=fit.memory_efficiency,
    )
    compute = arithmetic_s(
        flop=(flop * fewest + fit.wave_share * wave_flop) * (1 + fit.short_inputs / inputs),
        flop_per_s=flop_per_s,
        efficiency=fit.compute_efficiency,
        throttle=fit.throttle,
    )
    runs = quantised_bytes > 0  # fused into the kernel before, quantising costs nothing of its own
    quantise = fit.quantise_floor_s * runs + quantised_bytes / (memory_bytes_per_s * fit.quantise_efficiency)
    ramp = fit.ramp_s * inputs / (inputs + fit.ramp_inputs)
    return fit.floor_s + quantise + joined_s(memory + ramp, compute, sharpness=fit.sharpness)


def decode_floor_s(*, head_dim: Number, fit: DecodeFit) -> Number:
    """The smallest time of attention in decode, of which a share grows with the head.

    = floor x (1 + floor_dims x (head_dim / 128 - 1)). Check: head_dim 256, fit example -> 6e-06.
    """
    return fit.floor_s * (1 + fit.floor_dims * (head_dim / 128 - 1))


def decode_attention_s(
    *,
    sequences: Number,
    kv_heads: Number,
    group: Number,
    head_dim: Number,
    context: Number,
    flop: Number,
    moved_bytes: Number,
    cached: Number,
    flop_per_s: Number,
    memory_bytes_per_s: Number,
    compute_units: Number,
    fit: DecodeFit,
) -> Number:
    """Expected seconds of attention in decode: floor + ramp(context) + p-norm(memory, items, compute).

    items   = each (sequence, kv head) after the first of a compute unit costs item_s, in proportion to
              (1 + head_dim / 128) / 2 and to 1 + group_share x group
    ramp    = ramp_s x context / (context + ramp_tokens): splitting a context over compute units and joining it
    compute = flop of at least 16 query heads a kv head, at the peak x efficiency

    Holds for: fused kernels (FlashAttention, FlashInfer, TensorRT-LLM) that split long contexts; context as the
    window leaves it; group: query heads a kv head.
    Check: sequences 20, kv_heads 10, group 16, head_dim 128, context 1000, flop 0, moved_bytes 3e6, cached 0, flop_per_s 1e15, memory_bytes_per_s 3e12, compute_units 100, fit example -> 1.1e-05.
    """  # noqa: E501 - a Check line runs as it stands
    per_item = fit.item_s * (1 + head_dim / 128) / 2 * (1 + fit.group_share * group)
    items = per_item * maximum(sequences * kv_heads / compute_units - 1, 0)
    memory = streaming_s(
        moved_bytes=moved_bytes,
        cached=cached,
        cache_speedup=fit.cache_speedup,
        memory_bytes_per_s=memory_bytes_per_s,
        efficiency=fit.memory_efficiency,
    )
    compute = flop * maximum(group, LEAST_ROWS) / group / (flop_per_s * fit.compute_efficiency)
    ramp = fit.ramp_s * context / (context + fit.ramp_tokens)
    floor = decode_floor_s(head_dim=head_dim, fit=fit)
    return floor + ramp + joined_s(memory, items, compute, sharpness=fit.sharpness)


def prefill_attention_s(
    *,
    sequences: Number,
    kv_heads: Number,
    group: Number,
    new: Number,
    keys: Number,
    head_dim: Number,
    flop: Number,
    moved_bytes: Number,
    stored_bytes: Number,
    cached: Number,
    flop_per_s: Number,
    memory_bytes_per_s: Number,
    compute_units: Number,
    fit: PrefillFit,
) -> Number:
    """Expected seconds of causal attention over prompts: floor + store + p-norm(memory, compute + tiles).

    store   = keys and values (stored_bytes, as the cache keeps them) read and written, over bandwidth x its efficiency
    tiles   = each tile of 128 rows (queries x the group of heads that share keys), after the first of a compute
              unit, costs item_s, in proportion to (1 + head_dim / 128) / 2; short prompts have group^unpacked at least
    compute = flop as the mask leaves it x (1 + masked_keys / keys), for tiles the mask cuts, + a share of one wave
              of tiles (the tail), all x (1 + softmax_dims / head_dim), at the peak x efficiency

    Holds for: fused kernels; `keys` a query sees on the mean: prefix + (new + 1)/2, or about the window.
    Check: sequences 20, kv_heads 10, group 1, new 128, keys 500, head_dim 128, flop 1e9, moved_bytes 3e6, stored_bytes 1.5e6, cached 0, flop_per_s 1e15, memory_bytes_per_s 3e12, compute_units 100, fit example -> 1.075e-05.
    """  # noqa: E501 - a Check line runs as it stands
    tiles = sequences * kv_heads * maximum(new * group / TILE_ROWS, group**fit.unpacked)
    per_tile = fit.item_s * (1 + head_dim / 128) / 2
    memory = streaming_s(
        moved_bytes=moved_bytes,
        cached=cached,
        cache_speedup=fit.cache_speedup,
        memory_bytes_per_s=memory_bytes_per_s,
        efficiency=fit.memory_efficiency,
    )
    wave_flop = 4 * TILE_ROWS * head_dim * compute_units * keys
    compute = arithmetic_s(
        flop=(flop * (1 + fit.masked_keys / keys) + fit.wave_share * wave_flop) * (1 + fit.softmax_dims / head_dim),
        flop_per_s=flop_per_s,
        efficiency=fit.compute_efficiency,
        throttle=fit.throttle,
    )
    worked = compute + per_tile * maximum(tiles / compute_units - 1, 0)
    store = 2 * stored_bytes / (memory_bytes_per_s * fit.store_efficiency)
    return fit.floor_s + store + joined_s(memory, worked, sharpness=fit.sharpness)


def collective_rate_bytes_per_s(*, devices: Number, link_bytes_per_s: Number, fit: LinkFit) -> Number:
    """Bytes a device sends a second, one way, in a collective of large payload.

    = rate x efficiency x (1 - start_share / devices) x (2 / devices)^contention

    Source: fitted (module). Check: devices 4, link_bytes_per_s 1000, fit example -> 600.
    """
    return link_bytes_per_s * fit.efficiency * (1 - fit.start_share / devices) * (2 / devices) ** fit.contention


def all_reduce_s(*, payload_bytes: Number, devices: Number, link_bytes_per_s: Number, fit: LinkFit) -> Number:
    """Expected seconds to sum `payload_bytes` over devices: the better of one step and two.

    one step  = latency + hops + (devices - 1) x payload at the rate: everybody reads everybody's part
    two steps = the same latency + sync + 2 (devices - 1)/devices x payload: ring, tree, or in the switch

    Holds for: engines that choose by size between their own kernel and NCCL, as vLLM, SGLang, TensorRT-LLM do.
    Source: fitted to the best of them a size. Check: payload_bytes 6e6, devices 4, link_bytes_per_s 3e12, fit example -> 1.4e-05.
    """  # noqa: E501 - a Check line runs as it stands
    rate = collective_rate_bytes_per_s(devices=devices, link_bytes_per_s=link_bytes_per_s, fit=fit)
    latency = fit.latency_s + fit.hop_s * maximum(devices - 2, 0)
    one_step = (devices - 1) * payload_bytes / rate
    two_steps = fit.sync_s + 2 * (devices - 1) / devices * payload_bytes / rate
    return latency + minimum(one_step, two_steps)


def exchange_s(*, payload_bytes: Number, devices: Number, link_bytes_per_s: Number, fit: LinkFit) -> Number:
    """Expected seconds of all_gather, reduce_scatter or all_to_all: latency + hops + its bytes at the rate.

    payload_bytes: the gathered tensor, the tensor to scatter, or what one device holds before an all_to_all; a
    device sends (devices - 1)/devices of it.

    Source: fitted to NCCL and oneCCL. Check: payload_bytes 2.4e6, devices 4, link_bytes_per_s 3e12, fit example -> 8e-06.
    """  # noqa: E501 - a Check line runs as it stands
    rate = collective_rate_bytes_per_s(devices=devices, link_bytes_per_s=link_bytes_per_s, fit=fit)
    latency = fit.latency_s + fit.hop_s * maximum(devices - 2, 0)
    return latency + (devices - 1) / devices * payload_bytes / rate


def likely_experts(*, held: Number, chance: float, rows: Number) -> Number:
    """Of `held` experts, how many `rows` token-expert pairs touch where experts differ in how often they are chosen.

    = held x (1 - (1 + tokens x c)^-EVENNESS), c = (1 - chance)^(-1/EVENNESS) - 1, tokens = rows / (held x chance)

    Holds for: -ln(1 - an expert's chance) spread as a gamma distribution of shape EVENNESS, its mean such that one
    token touches held x chance. With growing EVENNESS it becomes work.formulas.touched_experts.
    Source: the gamma distribution's Laplace transform. Check: held 128, chance 0.0625, rows 256 -> 67.839.
    """
    tokens = rows / (held * chance)
    spread = (1 - min(chance, _NEARLY_ALL)) ** (-1 / EVENNESS) - 1
    return held * (1 - (1 + tokens * spread) ** -EVENNESS)


def load_imbalance(*, rows: Number, held: Number, devices: int) -> Number:
    """The busiest device's share of routed rows over the mean: 1 + d x sqrt(1/rows + 1/(held x EVENNESS)).

    rows: token-expert pairs a device has on the mean; held: experts on each. d: the largest of `devices` normal draws,
    in standard deviations, on the mean; at most `devices` (one device has them all). One device: 1.
    Holds for: many rows a device; experts as uneven as in likely_experts.
    Source: variances of Poisson counts and of sums of gammas; Blom 1958 for d. Check: rows 1000, held 16, devices 8 -> 1.56873.
    """  # noqa: E501 - a Check line runs as it stands
    if devices <= 1:
        return 1.0
    from statistics import NormalDist  # as costly to import as all that is left of this room

    largest = NormalDist().inv_cdf((devices - 0.375) / (devices + 0.25))
    return minimum(1 + largest * (1 / rows + 1 / (held * EVENNESS)) ** 0.5, devices)


def expert_gemm_s(
    *,
    rows: Number,
    step_tokens: Number,
    touched: Number,
    imbalance: Number,
    inputs: Number,
    flop: Number,
    moved_bytes: Number,
    quantised_bytes: Number,
    cached: Number,
    flop_per_s: Number,
    memory_bytes_per_s: Number,
    compute_units: Number,
    fit: GemmFit,
) -> Number:
    """Expected seconds of a grouped product of routed experts on one device: a linear layer of rows / touched rows.

    rows: token-expert pairs on the device; touched: experts that get any; the busiest device has `imbalance` times
    the mean's flop. Fewer than 16 rows an expert cost as many, beyond 8 tokens a step.

    Leaves out: sorting rows by expert (an element-wise kernel), and that grouped kernels start experts one by one.
    Check: rows 32, step_tokens 16, touched 2, imbalance 1, inputs 1000, flop 3e9, moved_bytes 3e6, quantised_bytes 0, cached 0, flop_per_s 1e15, memory_bytes_per_s 3e12, compute_units 0, fit example -> 1.4e-05.
    """  # noqa: E501 - a Check line runs as it stands
    return gemm_s(
        tokens=rows * imbalance / touched,
        step_tokens=step_tokens,
        inputs=inputs,
        flop=flop * imbalance,
        moved_bytes=moved_bytes,
        quantised_bytes=quantised_bytes,
        cached=cached,
        flop_per_s=flop_per_s,
        memory_bytes_per_s=memory_bytes_per_s,
        compute_units=compute_units,
        fit=fit,
    )
