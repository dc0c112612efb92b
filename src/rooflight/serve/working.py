"""What an engine works in beside weights and cache, on one device: activations, logits, buffers, its own context."""

from __future__ import annotations

import math

from rooflight.catalog.engine_memory import MemoryRule
from rooflight.numeric import Number, minimum
from rooflight.scenario.definite import Scenario
from rooflight.serve.held import sequence_tokens, step_tokens
from rooflight.units import to_base
from rooflight.values.model import Attention, LatentAttention
from rooflight.work.count import stored_format
from rooflight.work.layout import local_sizes

# Sequences whose logits an engine's graphs are estimated for.
_GRAPHS_OF = 256


def row_bytes(sc: Scenario) -> float:
    """Working memory of one token's row on its way through the widest layer, on one device."""
    model, cut = sc.model, sc.layout.tp
    widest = max(
        (local_sizes(linear, cut)[1] for layer in model.layers for linear in (*layer.projections, *layer.mlp)),
        default=model.hidden,
    )
    return (4 * model.hidden + 2 * widest) * sc.numbers.act_bytes


def decode_row_bytes(sc: Scenario) -> Number:
    """Working memory of one decoding sequence: its row, its scores where they are kept, its logits in fp32."""
    return row_bytes(sc) + score_bytes(sc) * sequence_tokens(sc) + sc.model.vocab * 4 / sc.layout.tp


def score_bytes(sc: Scenario) -> float:
    """Bytes of scores a query leaves in memory per key: none in flash attention, one per head in naive."""
    if sc.numbers.flash:
        return 0.0
    mixers = (layer.mixer for layer in sc.model.layers)
    heads = max((mixer.heads for mixer in mixers if isinstance(mixer, Attention | LatentAttention)), default=0)
    return heads / sc.layout.tp * sc.numbers.act_bytes


def chunk_bytes(sc: Scenario) -> Number:
    """Working memory of a prefill chunk of an engine whose habits are not known; scores where they are kept.

    An assumption, not a count: engines reuse buffers differently.
    """
    load = sc.workload
    rows = minimum(load.prefill_batch * load.isl, step_tokens(sc))
    return rows * (row_bytes(sc) + score_bytes(sc) * load.isl)


def activation_bytes(sc: Scenario, rule: MemoryRule | None) -> Number:
    """What a step's activations take at most, on one device, as the engine measures it before it cuts its pool.

    max(S V k + 2 T h, 2 T (3 i / tp + 4 h)) + buffers of routed experts + a fixed part; S sequences at most, V
    vocabulary (gathered, so not cut), k bytes of the sampler, T tokens of a step, h hidden, i width of a dense MLP.
    llama.cpp: a batch of T tokens in fp32, logits and two hidden states.
    """
    if rule is None:
        return chunk_bytes(sc)
    model, tokens = sc.model, step_tokens(sc)
    if rule.ubatch is not None:
        rows = min(rule.ubatch, tokens)
        return rows * 4.0 * (model.vocab + 2 * model.hidden) + rows * score_bytes(sc) * sc.workload.isl
    logits = sampler_bytes(sc, rule) * model.vocab * _sequences(sc)
    experts = expert_buffer_bytes(sc, tokens) if rule.experts != "none" else 0.0
    step = 2 * tokens * (3 * _dense_width(sc) / sc.layout.tp + 4 * model.hidden)
    most = max(logits + 2 * tokens * model.hidden, step, experts if rule.experts == "inside" else 0.0)
    if rule.experts == "added":
        most += experts
    fixed = rule.fixed_GiB + (rule.tower_GiB if model.towers else 0.0)
    scores = minimum(sc.workload.prefill_batch * sc.workload.isl, tokens) * score_bytes(sc) * sc.workload.isl
    return most + to_base(fixed, "GiB") + scores


def sampler_bytes(sc: Scenario, rule: MemoryRule) -> float:
    """Bytes a logit takes in the sampler: the stated one's, else that of the version's; 0 where none is measured."""
    return rule.logits.get(sc.deployment.sampler or rule.sampler, 0.0)


def other_sampler_bytes(sc: Scenario, rule: MemoryRule) -> float:
    """The same of the sampler that a start may run in its place, where nothing says which it is."""
    if sc.deployment.sampler is not None or rule.sure:
        return sampler_bytes(sc, rule)
    return next(size for name, size in rule.logits.items() if name != rule.sampler)


def _sequences(sc: Scenario) -> int:
    """Sequences the sampler works on at most."""
    return sc.most_sequences or _GRAPHS_OF


def _dense_width(sc: Scenario) -> float:
    """The widest dense feed-forward's inner size, shared experts included."""
    return max((linear.inputs for layer in sc.model.layers for linear in layer.mlp if linear.split == "row"), default=0)


def expert_buffer_bytes(sc: Scenario, tokens: int) -> float:
    """Buffers of routed experts: 2 T top_k (max(i_e / tp, h) + max(2 i_e / tp, h)); none where they run in MXFP4."""
    found = 0.0
    for layer in sc.model.layers:
        if layer.experts is None or stored_format(layer.experts.linears[-1]).id == "mxfp4":
            continue
        width, hidden = layer.experts.linears[-1].inputs / sc.layout.expert_cut, sc.model.hidden
        found = max(found, 2 * tokens * layer.experts.chosen * (max(width, hidden) + max(2 * width, hidden)))
    return found


def own_bytes(sc: Scenario, rule: MemoryRule | None) -> float:
    """What context, workspaces, communication and graphs of an engine take on one device."""
    card, layout = sc.accelerator, sc.layout
    if rule is None:
        return card.assumed.engine_reserve_bytes
    alone = rule.own_amd_GiB if card.vendor == "AMD" else rule.own_GiB
    if layout.tp > 1 or layout.pooled > 1:
        named = card.link.name if card.link is not None else card.unrated_link
        nvlink = named.startswith("NVLink") and card.vendor == "NVIDIA"
        alone = max(rule.own_nvlink_GiB if nvlink else rule.own_pcie_GiB, alone)
    stages = rule.own_pp_GiB if layout.pp > 1 else 0.0
    graphs = rule.graphs_GiB * math.sqrt(_sequences(sc) / _GRAPHS_OF) if sc.deployment.graphs else 0.0
    return to_base(alone + stages + graphs, "GiB")
