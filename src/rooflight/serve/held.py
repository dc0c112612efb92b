"""What lies on one device, as engines really keep it: weights with their tables and padding, caches in whole pages."""

from __future__ import annotations

import math

import msgspec

from rooflight.catalog.engine_memory import MemoryRule
from rooflight.numeric import Number, ceil, maximum, minimum
from rooflight.scenario.definite import Scenario
from rooflight.units import to_base
from rooflight.values.format import Format
from rooflight.values.model import Attention, LatentAttention, Linear, Model, Recurrent
from rooflight.work.adapters import device_adapter_bytes
from rooflight.work.count import (
    cache_elements,
    horizon,
    state_bytes,
    stored_format,
    table_bytes,
    tower_bytes,
    vector_bytes,
    window_elements,
)
from rooflight.work.layout import Layout, kv_share, local_sizes
from rooflight.work.numbers import Numbers
from rooflight.work.reach import held_positions
from rooflight.work.storage import linear_bytes

# Formats that engines keep without zero points: GPTQ, and 4 bits of which no more is said.
_SYMMETRIC = ("gptq-", "int4")
# Kinds of layers closer than this in number share one group of pages.
_ALIKE = 1.25


def device_weight_bytes(model: Model, layout: Layout) -> float:
    """Stored bytes on one device, stages taken as equal: matrices by their cut, tables and towers by tp, adapters."""
    total = table_bytes(model) / layout.tp + vector_bytes(model, model)
    total += tower_bytes(model) / layout.tp
    tables = list(model.outside) if model.head is None or model.tied else [*model.outside, model.head]
    for linear in tables:
        total += linear_bytes(linear, stored_format(linear)) * local_sizes(linear, layout.tp)[2]
    for layer in model.layers:
        held = vector_bytes(model, layer)
        for linear in (*layer.projections, *layer.mlp, *([layer.experts.router] if layer.experts else [])):
            held += linear_bytes(linear, stored_format(linear)) * local_sizes(linear, layout.tp)[2]
        if layer.experts is not None:
            one = sum(linear_bytes(linear, stored_format(linear)) for linear in layer.experts.linears)
            held += layer.experts.count * one / max(layout.ep, layout.tp)
        total += layer.count * held
    return total / layout.pp + device_adapter_bytes(model, layout)


def engine_weight_bytes(sc: Scenario, rule: MemoryRule | None) -> float:
    """What the weights take on one device of an engine: stored bytes, with what it adds and leaves out."""
    model, layout = sc.model, sc.layout
    held = device_weight_bytes(model, layout) + draft_weight_bytes(sc)
    if rule is None:
        return held
    if rule.table_on_host and not model.tied and sc.accelerator.kind == "gpu":
        held -= table_bytes(model) / layout.tp / layout.pp
    if rule.rope:
        held += rope_bytes(model) + (to_base(0.07, "GiB") if sc.accelerator.vendor == "AMD" else 0.0)
        held += _spread_bytes(sc) if sc.accelerator.vendor == "AMD" else _repacked_bytes(sc)
        if not any(layer.experts for layer in model.layers) and _main_format(sc).id.startswith("fp8"):
            held *= 1.008  # what fp8 kernels pad and keep beside dense matrices; engine starts of 14B models
    return held


def draft_weight_bytes(sc: Scenario) -> float:
    """What a named draft keeps of its own on one device, as stored."""
    return 0.0 if sc.draft is None else device_weight_bytes(sc.draft.own.model, sc.draft.own.layout)


def rope_bytes(model: Model) -> float:
    """The tables of rotary angles that every rank keeps: positions x rotated dims x 2 B, one for each kind of window.

    Check by hand: Llama-3.1-8B, 131,072 x 128 x 2 = 32 MiB. Gemma-3-12B: (8 + 1) x 131,072 x 256 x 2.
    """
    dims: dict[bool, int] = {}
    for layer in model.layers:
        mixer = layer.mixer
        if isinstance(mixer, Attention | LatentAttention):
            own = mixer.rope_dim if isinstance(mixer, LatentAttention) else mixer.head_dim
            windowed = horizon(mixer) is not None
            dims[windowed] = max(own, dims.get(windowed, 0))
    longest, stretched = model.max_context or 0, model.rope_positions or model.max_context or 0
    if longest == stretched:  # one table serves both
        return float(longest * max(dims.values(), default=0) * 2)
    return float((stretched * dims.get(False, 0) + longest * dims.get(True, 0)) * 2)


def _main_format(sc: Scenario) -> Format:
    """The format of the widest matrix that a deployment may narrow."""
    matrices = [linear for layer in sc.model.layers for linear in (*layer.projections, *layer.mlp) if not linear.pinned]
    matrices += [one for layer in sc.model.layers if layer.experts for one in layer.experts.linears]
    widest = max(matrices, key=lambda one: one.inputs * one.outputs, default=None)
    return Format(id="bf16", bits=16) if widest is None else stored_format(widest)


def _repacked_bytes(sc: Scenario) -> float:
    """What matrices take beyond their stored bytes once an engine has laid them out for its kernels, on one device.

    Kernels for NVIDIA's cards. Symmetric formats drop zero points and order (4.125 bits in groups of 128). Experts in
    MXFP4 are padded to 256 of the hidden size and to 128 of their own width: 2,880 becomes 3,072 x 2,944 (gpt-oss).
    """
    total = 0.0
    for layer in sc.model.layers:
        for linear in (*layer.projections, *layer.mlp):
            form = stored_format(linear)
            if form.id.startswith(_SYMMETRIC):
                total += layer.count * _symmetric(linear, form) * local_sizes(linear, sc.layout.tp)[2]
        if layer.experts is not None:
            cut = layer.experts.count / max(sc.layout.ep, sc.layout.tp)
            down = layer.experts.linears[-1]
            for linear in layer.experts.linears:
                form = stored_format(linear)
                if form.id.startswith(_SYMMETRIC):
                    total += layer.count * cut * _symmetric(linear, form)
                elif form.id == "mxfp4":
                    padded = _padded_bytes(sc, down.inputs, linear, form, back=linear is down)
                    total += layer.count * cut * (padded - linear_bytes(linear, form))
    return total / sc.layout.pp


def _spread_bytes(sc: Scenario) -> float:
    """What vLLM adds on ROCm to fp8 matrices whose rows are whole 512 bytes: 256 bytes a row, to spread them in memory.

    Source: VLLM_ROCM_FP8_PADDING, on by default.
    """
    total = 0.0
    for layer in sc.model.layers:
        for linear in (*layer.projections, *layer.mlp):
            inputs, outputs, _ = local_sizes(linear, sc.layout.tp)
            if stored_format(linear).id.startswith("fp8") and inputs % 512 == 0:
                total += layer.count * 256 * outputs
    return total / sc.layout.pp


def _symmetric(linear: Linear, form: Format) -> float:
    bare = msgspec.structs.replace(form, zero_bits=0, input_bits=0)
    return linear_bytes(linear, bare) - linear_bytes(linear, form)


def _padded_bytes(sc: Scenario, width: int, linear: Linear, form: Format, *, back: bool) -> float:
    """An expert's matrix padded; back: the one that goes from the experts' width to the hidden size."""
    wide, narrow = 256 * math.ceil(sc.model.hidden / 256), 128 * math.ceil(width / 128)
    inputs, outputs = (narrow, wide) if back else (wide, linear.outputs // width * narrow)
    return linear_bytes(msgspec.structs.replace(linear, inputs=inputs, outputs=outputs), form)


def device_sequence_bytes(model: Model, tokens: Number, layout: Layout, numbers: Numbers) -> Number:
    """KV cache and state one device holds for a sequence of `tokens` tokens; latents are on every tensor rank."""
    total: Number = 0.0
    for layer in model.layers:
        mixer = layer.mixer
        share = kv_share(mixer.kv_heads, layout.tp) if isinstance(mixer, Attention) else 1.0
        if isinstance(mixer, Attention | LatentAttention):
            bounded = horizon(mixer)
            positions = held_positions(mixer.reach, tokens)
            total = total + layer.count * cache_elements(mixer) * share * positions * numbers.kv_bytes
            if mixer.reach.stride > 1 and bounded is not None:
                total = total + layer.count * window_elements(mixer) * share * bounded * numbers.kv_bytes
        total = total + layer.count * state_bytes(mixer, numbers.act_bytes) / layout.tp
    return total / layout.pp


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Layers that cache alike, on one device: bytes a token (0: state alone), their window, a layer's state."""

    layers: int
    token_bytes: float
    window: int | None
    state: float
    latent: bool


class Pages(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's pages on one device: each of `group` layers, `bytes` in all of them.

    kinds   with the tokens of a block and the groups of each kind
    """

    bytes: float
    group: int
    kinds: tuple[tuple[Kind, int, int], ...]
    states: int

    @property
    def block(self) -> int:
        """Tokens of a page of the kind that keeps most of one."""
        return max(self.kinds, key=lambda cut: cut[0].token_bytes)[1]

    @property
    def groups(self) -> int:
        """Groups of all kinds."""
        return sum(number for _, _, number in self.kinds)

    def of_sequence(self, tokens: Number, step_tokens: int) -> Number:
        """Pages that a sequence of so many tokens takes, where a step holds up to step_tokens of it.

        Full: ceil(L / block). Window: min(ceil((w - 1 + T) / block) + 1, ceil(L / block)). State: a page each.
        Check by hand: 24,000 tokens, blocks of 16, window 128, T 2,048 -> 1,500 + 137.
        """
        total: Number = 0
        for kind, block, groups in self.kinds:
            if not kind.token_bytes:
                total = total + groups * self.states
                continue
            whole = ceil(tokens / block)
            if kind.window is not None:
                whole = minimum(math.ceil((kind.window - 1 + step_tokens) / block) + 1, whole)
            total = total + groups * whole
        return total


def kinds_of(sc: Scenario, rule: MemoryRule) -> tuple[Kind, ...] | None:
    """The kinds of layers by what they cache; None for compressed caches, whose pages are not known."""
    found: dict[tuple[float, int | None, float, bool], int] = {}
    for layer in sc.model.layers:
        mixer = layer.mixer
        if isinstance(mixer, Attention | LatentAttention) and mixer.reach.stride > 1:
            return None
        share = kv_share(mixer.kv_heads, sc.layout.tp) if isinstance(mixer, Attention) else 1.0
        each = cache_elements(mixer) * share * sc.numbers.kv_bytes
        window = horizon(mixer) if rule.windows else None
        state = _state_bytes(mixer, sc, rule) if isinstance(mixer, Recurrent) else 0.0
        if each or state:
            key = (each, window, state, isinstance(mixer, LatentAttention))
            found[key] = found.get(key, 0) + layer.count
    return tuple(
        Kind(layers=count, token_bytes=each, window=window, state=state, latent=latent)
        for (each, window, state, latent), count in found.items()
    )


def _state_bytes(mixer: Recurrent, sc: Scenario, rule: MemoryRule) -> float:
    """A layer's state on one device, as wide as the engine keeps it."""
    if sc.model.type in rule.narrow_states:
        mixer = msgspec.structs.replace(mixer, state_bytes_per_element=int(sc.numbers.act_bytes))
    return state_bytes(mixer, sc.numbers.act_bytes) / sc.layout.tp


def pages(kinds: tuple[Kind, ...], rule: MemoryRule) -> Pages | None:
    """How an engine cuts its cache into pages; None where nothing is cached.

    One page for all kinds: that of the largest, of `page` tokens (larger where a state is); the others have larger
    blocks. group = fewest layers of a kind, or the most where they are within 1.25.
    """
    if not kinds:
        return None
    counts = [kind.layers for kind in kinds]
    group = max(counts) if max(counts) < _ALIKE * min(counts) else min(counts)
    block = max((rule.page_latent if kind.latent else rule.page for kind in kinds), default=1)
    largest = max(kind.token_bytes for kind in kinds)
    state = max(kind.state for kind in kinds)
    if state and largest:
        block = max(block, rule.page * math.ceil(state / largest / rule.page))
    page = block * largest if largest else state
    cut = tuple(
        (kind, max(1, int(page // kind.token_bytes)) if kind.token_bytes else 1, math.ceil(kind.layers / group))
        for kind in kinds
    )
    return Pages(bytes=page * group, group=group, kinds=cut, states=rule.states)


def cells_bytes(kinds: tuple[Kind, ...], tokens: Number, ubatch: int, page: int) -> Number:
    """Cache of a sequence where cells are laid out for its length: in whole `page`s, windows with a batch beside.

    llama.cpp: cells x layers x heads x head_dim; a window keeps window + ubatch, padded to 256.
    Check by hand: window 512, ubatch 512 -> 1,024 cells; 2,048 -> 2,560.
    """
    total: Number = 0.0
    for kind in kinds:
        cells = page * ceil(tokens / page)
        if kind.window is not None:
            cells = minimum(cells, page * math.ceil((kind.window + ubatch) / page))
        total = total + kind.layers * (kind.token_bytes * cells + kind.state)
    return maximum(total, 0.0)


def held_bytes(sc: Scenario, tokens: Number) -> Number:
    """What a sequence of so many tokens takes on one device, in the engine's pages; a draft's cache beside."""
    if sc.draft is not None:
        alone = msgspec.structs.replace(sc, draft=None)
        return held_bytes(alone, tokens) + held_bytes(sc.draft.own, tokens)
    found = sc.habits
    if found is None or found.rule.page == 1:
        return device_sequence_bytes(sc.model, tokens, sc.layout, sc.numbers)
    kinds = kinds_of(sc, found.rule)
    if kinds is None:
        return device_sequence_bytes(sc.model, tokens, sc.layout, sc.numbers)
    if found.rule.ubatch is not None:
        return cells_bytes(kinds, tokens, found.rule.ubatch, found.rule.page) / sc.layout.pp
    cut = pages(kinds, found.rule)
    return 0.0 if cut is None else cut.of_sequence(tokens, step_tokens(sc)) * cut.bytes / sc.layout.pp


def sequence_tokens(sc: Scenario) -> Number:
    """Tokens a sequence may come to hold: isl + osl, or context + 1 where a context is given; drafted ones beside."""
    load = sc.workload
    return (load.isl + load.osl if load.context is None else load.context + 1) + load.draft_tokens


def step_tokens(sc: Scenario) -> int:
    """Tokens of a step at most: the budget; what a chunk that is asked for takes, where no budget is stated."""
    chunk = sc.workload.chunk_tokens
    if sc.deployment.max_num_batched_tokens is None and isinstance(chunk, int) and chunk:
        return min(sc.budget_tokens, chunk + math.ceil(_most_batch(sc) / sc.layout.dp))
    return sc.budget_tokens


def _most_batch(sc: Scenario) -> int:
    batch = sc.workload.batch
    return int(batch if isinstance(batch, int | float) else batch.max())
