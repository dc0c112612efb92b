"""Parameters, stored bytes and cache bytes of a model: sums over its plan, exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from rooflight.numeric import Number
from rooflight.values.format import Format
from rooflight.values.formats import format_named
from rooflight.values.model import Attention, LatentAttention, Layer, Linear, Mixer, Model, Recurrent
from rooflight.work.storage import element_bytes, linear_bytes


def puts_out_tokens(model: Model) -> bool:
    """Whether the model ends in a vocabulary head: not in hidden states (embeddings), nor in a few scores."""
    return model.head is not None and model.head.name != "score"


def is_encoder(model: Model) -> bool:
    """Whether every token sees those behind it too: nothing is cached, and no token follows another."""
    mixers = [layer.mixer for layer in model.layers if layer.mixer is not None]
    return bool(mixers) and all(isinstance(mixer, Attention) and mixer.reach.both for mixer in mixers)


def has_source(model: Model) -> bool:
    """Whether it is an encoder-decoder: prompts pass the encoder, and what is put out the decoder."""
    return any(layer.passes == "source" for layer in model.layers)


def source_tokens(model: Model, isl: Number) -> Number:
    """Of the tokens that a sequence holds, those of the encoder: the prompt's, or none where there is no encoder."""
    return isl if has_source(model) else 0


def linear_parameters(linear: Linear) -> int:
    """Weights and bias of one matrix: inputs x outputs / groups + bias."""
    return linear.inputs * linear.outputs // linear.groups + linear.bias


def expert_parameters(layer: Layer) -> int:
    """Weights of all routed experts of one layer."""
    if layer.experts is None:
        return 0
    return layer.experts.count * sum(map(linear_parameters, layer.experts.linears))


def routed_parameters(model: Model) -> int:
    """Weights of all routed experts of the model."""
    return sum(layer.count * expert_parameters(layer) for layer in model.layers)


def layer_parameters(layer: Layer) -> int:
    """All parameters of one layer."""
    own = sum(map(linear_parameters, (*layer.projections, *layer.mlp))) + layer.vector_parameters
    if layer.experts is not None:
        own += linear_parameters(layer.experts.router) + expert_parameters(layer)
    return own


def parameters(model: Model) -> int:
    """Parameters of the text model; a tied head is counted once, towers are not counted here."""
    head = 0 if model.head is None or model.tied else linear_parameters(model.head)
    if model.head is not None and model.tied:
        head = model.head.bias
    outside = sum(map(linear_parameters, model.outside)) + model.vector_parameters
    layers = sum(layer.count * layer_parameters(layer) for layer in model.layers)
    return model.embedding_parameters + head + outside + layers


def active_parameters(model: Model) -> int:
    """Parameters one token meets: all but the routed experts it does not choose, tables and head included."""
    idle = 0
    for layer in model.layers:
        if layer.experts is not None:
            share = layer.experts.count - layer.experts.chosen
            idle += layer.count * share * expert_parameters(layer) // layer.experts.count
    return parameters(model) - idle


def parts(model: Model) -> dict[str, int]:
    """Parameters by part: embedding, attention (any mixer), mlp, experts, router, head, norms and the rest."""
    head = 0 if model.head is None or model.tied else linear_parameters(model.head)
    sums = {"embedding": model.embedding_parameters, "mixer": 0, "mlp": 0, "experts": 0, "router": 0, "head": head}
    other = model.vector_parameters + sum(map(linear_parameters, model.outside))
    for layer in model.layers:
        sums["mixer"] += layer.count * sum(map(linear_parameters, layer.projections))
        sums["mlp"] += layer.count * sum(map(linear_parameters, layer.mlp))
        sums["experts"] += layer.count * expert_parameters(layer)
        if layer.experts is not None:
            sums["router"] += layer.count * linear_parameters(layer.experts.router)
        other += layer.count * layer.vector_parameters
    return {**sums, "norms and others": other}


@lru_cache(maxsize=256)
def part_bytes(model: Model) -> dict[str, float]:
    """Stored bytes by part, as parts() names them; they add up to weight_bytes."""
    head = 0.0 if model.head is None or model.tied else linear_bytes(model.head, stored_format(model.head))
    sums = {"embedding": table_bytes(model), "mixer": 0.0, "mlp": 0.0, "experts": 0.0, "router": 0.0, "head": head}
    other = vector_bytes(model, model) + _held(model.outside)
    for layer in model.layers:
        sums["mixer"] += layer.count * _held(layer.projections)
        sums["mlp"] += layer.count * _held(layer.mlp)
        if layer.experts is not None:
            sums["experts"] += layer.count * layer.experts.count * _held(layer.experts.linears)
            sums["router"] += layer.count * _held((layer.experts.router,))
        other += layer.count * vector_bytes(model, layer)
    return {**sums, "norms and others": other}


def _held(linears: Iterable[Linear]) -> float:
    return sum(linear_bytes(linear, stored_format(linear)) for linear in linears)


def part_bits(model: Model) -> tuple[tuple[str, float], ...]:
    """Bits a weight of each part with its scales: embedding, attention (any mixer), feed-forwards, router, head."""
    sums: dict[str, list[float]] = {}

    def add(part: str, linear: Linear, copies: int) -> None:
        held = sums.setdefault(part, [0.0, 0.0])
        held[0] += copies * linear_bytes(linear, stored_format(linear))
        held[1] += copies * linear_parameters(linear)

    for layer in model.layers:
        for linear in layer.projections:
            add("attention", linear, layer.count)
        for linear in layer.mlp:
            add("dense" if layer.experts is None else "shared", linear, layer.count)
        for linear in layer.experts.linears if layer.experts is not None else ():
            add("experts", linear, layer.count * layer.experts.count if layer.experts is not None else 0)
        if layer.experts is not None:
            add("router", layer.experts.router, layer.count)
    if model.head is not None and not model.tied:
        add("head", model.head, 1)
    table = (("embedding", 8 * table_bytes(model) / max(model.embedding_parameters, 1)),)
    return table + tuple((part, 8 * held[0] / held[1]) for part, held in sums.items() if held[1])


def stored_format(linear: Linear) -> Format:
    """The format a matrix is kept in."""
    return format_named(linear.format, None)


def table_format(model: Model) -> str:
    """The type of the input tables."""
    return model.table_format or model.dtype


def vector_format(model: Model) -> str:
    """The type of norms and other vectors."""
    return model.vector_format or model.dtype


def layer_matrices(layer: Layer) -> Iterator[tuple[Linear, int]]:
    """The matrices of one layer, each with its number of copies."""
    for linear in (*layer.projections, *layer.mlp):
        yield linear, 1
    if layer.experts is not None:
        yield layer.experts.router, 1
        for linear in layer.experts.linears:
            yield linear, layer.experts.count


def weight_bytes(model: Model) -> float:
    """Stored bytes of the text model's weights, scales and tables included; a tied head is stored once."""
    total = table_bytes(model) + vector_bytes(model, model)
    if model.head is not None and not model.tied:
        total += linear_bytes(model.head, stored_format(model.head))
    total += sum(linear_bytes(linear, stored_format(linear)) for linear in model.outside)
    for layer in model.layers:
        matrices = sum(copies * linear_bytes(m, stored_format(m)) for m, copies in layer_matrices(layer))
        total += layer.count * (matrices + vector_bytes(model, layer))
    return total


def vector_bytes(model: Model, part: Layer | Model) -> float:
    """Stored bytes of the norms and other vectors of one layer, or of the model outside its layers."""
    if part.vector_bytes is not None:
        return part.vector_bytes
    return part.vector_parameters * element_bytes(vector_format(model))


def streamed_weight_bytes(model: Model) -> float:
    """What a step reads at most: every stored weight but the input tables; a tied head is read as the head.

    Of an encoder-decoder a decode step: what its encoder's tokens pass is left out.
    """
    head = 0.0
    if model.head is not None and model.tied:
        head = linear_bytes(model.head, stored_format(model.head))
    return weight_bytes(model) - table_bytes(model) + head - source_bytes(model)


def source_bytes(model: Model) -> float:
    """Stored bytes of what only an encoder's tokens pass: its layers, and what makes keys and values of its output."""
    return sum(
        layer.count
        * (sum(n * linear_bytes(m, stored_format(m)) for m, n in layer_matrices(layer)) + vector_bytes(model, layer))
        for layer in model.layers
        if layer.passes == "source"
    )


def table_bytes(model: Model) -> float:
    """Stored bytes of the input tables."""
    if model.table_bytes is not None:
        return model.table_bytes
    return model.embedding_parameters * element_bytes(table_format(model))


def table_row_bytes(model: Model) -> float:
    """Bytes of what a token looks up in the input tables."""
    if model.table_bytes is not None and model.embedding_parameters:
        return model.table_bytes * model.embedding_row / model.embedding_parameters
    return model.embedding_row * element_bytes(table_format(model))


def tower_bytes(model: Model) -> float:
    """Stored bytes of the vision and audio towers, as far as a file holds them or they are counted."""
    return sum(
        tower.stored_bytes if tower.stored_bytes is not None else (tower.parameters or 0) * element_bytes(tower.format)
        for tower in model.towers
    )


def cache_elements(mixer: Mixer | None) -> int:
    """Elements one layer caches per cached position, indexer keys included; 0 where nothing is kept a token."""
    if isinstance(mixer, LatentAttention):
        return mixer.latent_dim + mixer.rope_dim + (mixer.indexer.key_dim if mixer.indexer else 0)
    if isinstance(mixer, Attention) and mixer.stores and mixer.fixed_context is None and not mixer.crosses:
        return mixer.cache_elements + (mixer.indexer.key_dim if mixer.indexer else 0)
    return 0


def key_share(model: Model) -> float:
    """The share of keys in what is cached, over all layers; latents and indexer keys count as keys, as in files."""
    cached = keys = 0
    for layer in model.layers:
        elements = layer.count * cache_elements(layer.mixer)
        cached += elements
        if isinstance(layer.mixer, Attention) and elements:
            values = max(layer.mixer.cache_elements - layer.mixer.kv_heads * layer.mixer.head_dim, 0)
            keys += elements - layer.count * values
        else:
            keys += elements
    return keys / cached if cached else 1.0


def horizon(mixer: Mixer | None) -> int | None:
    """Tokens after which a layer's cache stops growing; None if it does not stop (or there is none)."""
    if not isinstance(mixer, Attention | LatentAttention):
        return None
    return mixer.reach.window if mixer.reach.window is not None else mixer.reach.chunk


def kv_bytes_per_token(model: Model, bytes_per_element: float = 2) -> float:
    """Cache bytes per token of the layers whose cache grows without bound (compressed ones: their share)."""
    total = 0.0
    for layer in model.layers:
        if isinstance(layer.mixer, Attention | LatentAttention):
            grows = horizon(layer.mixer) is None or layer.mixer.reach.stride > 1
            elements = cache_elements(layer.mixer) / layer.mixer.reach.stride
            total += layer.count * elements * bytes_per_element if grows else 0
    return total


def window_kv_bytes_per_token(model: Model, bytes_per_element: float = 2) -> float:
    """Cache bytes per token, up to their window, of the layers whose cache is bounded by one."""
    total = 0.0
    for layer in model.layers:
        if isinstance(layer.mixer, Attention) and horizon(layer.mixer) is not None:
            total += layer.count * window_elements(layer.mixer) * bytes_per_element
    return total


def window_elements(mixer: Attention | LatentAttention) -> int:
    """Elements per token of a bounded cache; beside a compressed cache the window holds no indexer key."""
    if isinstance(mixer, Attention) and mixer.reach.stride > 1:
        return mixer.cache_elements
    return cache_elements(mixer)


def windows(model: Model) -> tuple[int, ...]:
    """The distinct window (or chunk) lengths, shortest first."""
    found = {horizon(layer.mixer) for layer in model.layers if layer.mixer is not None and cache_elements(layer.mixer)}
    return tuple(sorted(w for w in found if w is not None))


def state_bytes(mixer: Mixer | None, bytes_per_element: float = 2) -> float:
    """Recurrent and convolution state of one layer and sequence; the latter in the activation format."""
    if not isinstance(mixer, Recurrent):
        return 0.0
    recurrent = mixer.heads * mixer.key_dim * mixer.value_dim * mixer.state_bytes_per_element
    return recurrent + mixer.conv_state_elements * bytes_per_element


def state_bytes_per_sequence(model: Model, bytes_per_element: float = 2) -> float:
    """State that does not grow with the text, of all layers."""
    return sum(layer.count * state_bytes(layer.mixer, bytes_per_element) for layer in model.layers)
