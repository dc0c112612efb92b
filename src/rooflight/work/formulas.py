"""What each kind of operator asks of one device: pure functions of plain numbers or arrays.

A token is one row of activations. `*_act_bytes` are bytes of one activation element.
The Check lines run as tests.
"""

from __future__ import annotations

import math

from rooflight.numeric import Number, maximum, minimum
from rooflight.values.work import Work


def gemm(
    *,
    tokens: Number,
    inputs: Number,
    outputs: Number,
    weight_bytes: Number,
    in_act_bytes: Number,
    out_act_bytes: Number,
) -> Work:
    """A linear layer y[tokens, outputs] = x[tokens, inputs] W.

    flop = 2 x tokens x inputs x outputs; the weights are read once; x is read and y written once.

    Holds for: one unfused kernel. Leaves out: bias additions, re-reading of x by tiles that fall out of cache.
    Source: the definition of a matrix product, one multiply-add being 2 FLOP.
    Check: tokens 1, inputs 4096, outputs 4096, weight_bytes 33554432, in_act_bytes 2, out_act_bytes 2 -> flop 33554432, moved_bytes 33570816.
    """
    return Work(
        flop=2 * tokens * inputs * outputs,
        weight_bytes=weight_bytes,
        activation_bytes=tokens * (inputs * in_act_bytes + outputs * out_act_bytes),
        launches=1,
    )


def softmax_attention(
    *,
    sequences: Number,
    pairs: Number,
    new: Number,
    cached: Number,
    heads: Number,
    kv_heads: Number,
    head_dim: Number,
    value_dim: Number,
    cache_elements: Number,
    kv_bytes: Number,
    act_bytes: Number,
) -> Work:
    """Attention of `new` queries a sequence over `cached` positions and themselves, scores kept on chip.

    flop          = 2 x sequences x pairs x heads x (head_dim + value_dim), pairs as the mask leaves them
    kv_read_bytes = sequences x cached x cache_elements x kv_bytes: K and V once a kv head
    activations   = queries, new keys and values read, the output written

    Holds for: FlashAttention-like kernels in which all query heads of a group share one read of K and V.
    Leaves out: softmax FLOP (about 1 % at head_dim 128).
    Source: Dao et al. 2022 (FlashAttention), section 3; Ainslie et al. 2023 (GQA).
    Check: sequences 1, pairs 4097, new 1, cached 4096, heads 32, kv_heads 8, head_dim 128, value_dim 128, cache_elements 2048, kv_bytes 2, act_bytes 2 -> flop 67125248, kv_read_bytes 16777216.
    """
    fresh = sequences * new * (heads * head_dim + kv_heads * (head_dim + value_dim) + heads * value_dim)
    return Work(
        flop=2 * sequences * pairs * heads * (head_dim + value_dim),
        kv_read_bytes=sequences * cached * cache_elements * kv_bytes,
        activation_bytes=fresh * act_bytes,
        launches=1,
    )


def naive_scores(*, sequences: Number, new: Number, context: Number, heads: Number, act_bytes: Number) -> Work:
    """What attention costs on top when the score matrix goes through memory.

    Four passes over sequences x heads x new x (context + new) elements: scores written by the first product,
    read and written by softmax, read by the second product; two more kernels.

    Source: Dao et al. 2022, algorithm 0 (standard attention).
    Check: sequences 1, new 8192, context 0, heads 32, act_bytes 2 -> activation_bytes 17179869184.
    """
    scores = sequences * heads * new * (context + new)
    return Work(activation_bytes=4 * scores * act_bytes, launches=2)


def latent_attention(
    *,
    sequences: Number,
    pairs: Number,
    new: Number,
    cached: Number,
    heads: Number,
    latent_dim: Number,
    rope_dim: Number,
    kv_bytes: Number,
    act_bytes: Number,
) -> Work:
    """MLA in its absorbed form: each query head attends the latent itself, as MQA with one wide head.

    flop          = 2 x sequences x pairs x heads x ((latent + rope) + latent)
    kv_read_bytes = sequences x cached x (latent + rope) x kv_bytes

    Holds for: decode and verify. The expansion matrix is absorbed into query and output (counted as "kv_b").
    Source: DeepSeek-V2 (2405.04434), section 2.1.2.
    Check: sequences 1, pairs 1025, new 1, cached 1024, heads 128, latent_dim 512, rope_dim 64, kv_bytes 2, act_bytes 2 -> flop 285491200, kv_read_bytes 1179648.
    """
    width = latent_dim + rope_dim
    fresh = sequences * new * (heads * width + width + heads * latent_dim)
    return Work(
        flop=2 * sequences * pairs * heads * (width + latent_dim),
        kv_read_bytes=sequences * cached * width * kv_bytes,
        activation_bytes=fresh * act_bytes,
        launches=1,
    )


def index_scores(
    *,
    sequences: Number,
    pairs: Number,
    new: Number,
    cached: Number,
    heads: Number,
    head_dim: Number,
    key_dim: Number,
    kv_bytes: Number,
    act_bytes: Number,
) -> Work:
    """The indexer of sparse attention: every query scores every earlier key, then keeps the best.

    flop = 2 x sequences x pairs x heads x head_dim; one key of key_dim elements is read a cached position.

    Leaves out: the top-k selection and the weighted sum over heads.
    Source: DeepSeek-V3.2 technical report, section 2 (lightning indexer).
    Check: sequences 1, pairs 1025, new 1, cached 1024, heads 64, head_dim 128, key_dim 128, kv_bytes 2, act_bytes 2 -> flop 16793600, kv_read_bytes 262144.
    """
    return Work(
        flop=2 * sequences * pairs * heads * head_dim,
        kv_read_bytes=sequences * cached * key_dim * kv_bytes,
        activation_bytes=sequences * new * (heads * head_dim + key_dim) * act_bytes,
        launches=2,
    )


def recurrent_scan(
    *,
    sequences: Number,
    new: Number,
    products: Number,
    state_elements: Number,
    state_bytes: Number,
    token_elements: Number,
    act_bytes: Number,
) -> Work:
    """A recurrent mixer in its step form: the state is read and written once, and met by every token.

    flop = 2 x products x sequences x new x state_elements (products: how often a token multiplies the state:
    2 for state-space layers [update, read-out], 3 for delta rules [recall, update, read-out])

    Leaves out: what chunked kernels compute on top of it, decay and gate arithmetic.
    Source: Dao & Gu 2024 (2405.21060), section 3; Yang et al. 2024 (2412.06464), equation 10.
    Check: sequences 1, new 1, products 3, state_elements 524288, state_bytes 2097152, token_elements 0, act_bytes 2 -> flop 3145728, kv_read_bytes 2097152.
    """
    return Work(
        flop=2 * products * sequences * new * state_elements,
        kv_read_bytes=sequences * state_bytes,
        kv_write_bytes=sequences * state_bytes,
        activation_bytes=sequences * new * token_elements * act_bytes,
        launches=1,
    )


def depthwise_conv(
    *, sequences: Number, new: Number, channels: Number, kernel: Number, state_bytes: Number, act_bytes: Number
) -> Work:
    """A causal depthwise convolution: flop = 2 x tokens x channels x kernel; its window of state moves once each way.

    Check: sequences 1, new 1, channels 8192, kernel 4, state_bytes 65536, act_bytes 2 -> flop 65536, kv_read_bytes 65536.
    """
    return Work(
        flop=2 * sequences * new * channels * kernel,
        kv_read_bytes=sequences * state_bytes,
        kv_write_bytes=sequences * state_bytes,
        activation_bytes=2 * sequences * new * channels * act_bytes,
        launches=1,
    )


def elementwise(*, tokens: Number, read_elements: Number, written_elements: Number, act_bytes: Number) -> Work:
    """A norm, activation function, rotary or copy: no matrix product, only traffic.

    Check: tokens 2, read_elements 4096, written_elements 4096, act_bytes 2 -> activation_bytes 32768.
    """
    return Work(activation_bytes=tokens * (read_elements + written_elements) * act_bytes, launches=1)


def touched_experts(*, experts: Number, chosen: Number, tokens: Number) -> Number:
    """Routed experts a step of `tokens` tokens touches: E x (1 - (1 - k/E)^tokens), in expectation.

    Holds for: uniform, independent routing; real routers are less even and touch fewer.
    Source: the probability that none of `tokens` draws hits an expert.
    Check: experts 128, chosen 8, tokens 32 -> 111.771 (87 %).
    """
    return experts * (1 - (1 - chosen / experts) ** tokens)


# Ours, 2026-11-27: the smallest share of the uniform expectation a ceiling reckons with. Batches of like prompts
# on gpt-oss-120b and Mixtral decode up to 1.5 times faster than uniform routing allows (llama.cpp's DGX Spark
# figures, Argonne's LLM-Inference-Bench); real traffic lies nearer to uniform.
LEAST_COVERAGE = 0.5


def least_touched_experts(*, experts: Number, chosen: Number, tokens: Number) -> Number:
    """Routed experts a ceiling takes as touched: half the uniform expectation, but no fewer than a token chooses.

    Holds for: correlated routing as far as it was seen (LEAST_COVERAGE); exact for one token.
    Check: experts 128, chosen 8, tokens 1 -> 8.
    """
    expected = touched_experts(experts=experts, chosen=chosen, tokens=tokens)
    return maximum(minimum(expected, chosen), LEAST_COVERAGE * expected)


def all_reduce_bytes(*, payload_bytes: Number, devices: Number, in_switch: bool) -> Number:
    """Bytes each device must send, one way, to sum `payload_bytes` over all devices and give all the result.

    Ring or tree: 2 (n - 1)/n of the payload. With in-switch reduction a device sends its part once: (n - 1)/n.

    Source: Patarasuk & Yuan 2009 (bandwidth-optimal all-reduce); NVIDIA NVLink SHARP.
    Check: payload_bytes 1000, devices 4, in_switch False -> 1500.
    """
    return payload_bytes * (1 if in_switch else 2) * (devices - 1) / devices


def across_bytes(*, payload_bytes: Number, local: Number, domains: int) -> Number:
    """Bytes each device must send out of its domain to sum `payload_bytes` over all devices of several domains.

    What the others need of a domain is its sum, once: payload / local, whatever adds up on the way. One domain: 0.

    Holds for: reducing within a domain first, each device its part, then across, then giving the result out. A ring
    across sends 2 (domains - 1)/domains of it, as much for two; a network that adds up in flight, no more than this.
    Source: the cut between a domain and the rest; NVIDIA SHARP. Check: payload_bytes 1000, local 8, domains 2 -> 125.
    """
    return payload_bytes / local if domains > 1 else 0.0


def reach_chance(*, parts: Number, chosen: int, groups: int, chosen_groups: int) -> float:
    """Chance that a token sends a copy to one given of `parts` equal parts of the experts (devices, or domains).

    Without groups 1 - (1 - 1/parts)^chosen. With them a token first picks `chosen_groups` of `groups` neighbouring
    blocks of experts, then its experts among those: the mean over how many of its blocks the part holds.

    Holds for: uniform routing, experts laid out in order. Source: DeepSeek-V3 technical report, section 2.1.2
    (node-limited routing); as touched_experts. Check: parts 4, chosen 1, groups 1, chosen_groups 1 -> 0.25.
    Check: parts 8, chosen 8, groups 8, chosen_groups 4 -> 0.449944. Check: parts 8, chosen 8, groups 1, chosen_groups 1 -> 0.656391.
    """
    if groups <= 1:
        return float(1 - (1 - 1 / parts) ** chosen)
    if parts >= groups:  # a part is a share of one block
        return float(chosen_groups / groups * (1 - (1 - groups / parts / chosen_groups) ** chosen))
    held = max(1, round(groups / parts))
    ways = math.comb(groups, chosen_groups)
    return sum(
        math.comb(held, own) * math.comb(groups - held, chosen_groups - own) / ways
        * (1 - (1 - own / chosen_groups) ** chosen)
        for own in range(1, min(held, chosen_groups) + 1) if chosen_groups - own <= groups - held
    )  # fmt: skip


def all_to_all_bytes(
    *, tokens: Number, row_bytes: Number, chosen: int, devices: int, groups: int = 1, chosen_groups: int = 1
) -> Number:
    """Bytes a device sends to bring its tokens to their experts, one copy a device (or domain) that needs it.

    = tokens x row_bytes x (devices - 1) x the chance that a token needs a given one (reach_chance), uniform routing.

    Source: as touched_experts; dispatch as in DeepEP. Check: tokens 1, row_bytes 100, chosen 1, devices 4, groups 1, chosen_groups 1 -> 75.
    Check: tokens 1, row_bytes 100, chosen 8, devices 8, groups 8, chosen_groups 4 -> 314.96.
    """
    chance = reach_chance(parts=devices, chosen=chosen, groups=groups, chosen_groups=chosen_groups)
    return tokens * row_bytes * (devices - 1) * chance
