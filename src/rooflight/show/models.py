"""Models as a list and one by one: rooflight.models/1 and rooflight.model/1.

Sizes are in the formats the config asks for, the KV cache in bf16, as `analyze` assumes where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.errors import BadInput
from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.show.layers import LayerPlan, layer_plan
from rooflight.units import whole
from rooflight.values.analysis import ModelBlock
from rooflight.values.model import Model
from rooflight.work import count
from rooflight.work.drafts import own_layers
from rooflight.work.weights import held

LIST_SCHEMA = "rooflight.models/1"
ONE_SCHEMA = "rooflight.model/1"


class Sizes(ModelBlock, frozen=True, kw_only=True):
    """The model block of `analyze`, and parameters and stored bytes by part."""

    parts: dict[str, int]
    part_bytes: dict[str, float]


class TowerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A vision or audio encoder; parameters null where it is not counted."""

    name: str
    parameters: int | None


class DraftLayers(msgspec.Struct, frozen=True, kw_only=True):
    """Layers for multi-token prediction: their number, and parameters and stored bytes of all of them."""

    count: int
    parameters: int
    weight_bytes: float


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The document of one model."""

    schema: str = ONE_SCHEMA
    answer: str
    model: Sizes
    type: str
    architecture: str
    hidden: int
    vocab: int
    tied: bool
    dtype: str
    quantization: str | None
    kv_format: str | None
    max_context: int | None
    layers: tuple[LayerPlan, ...]
    towers: tuple[TowerPlan, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    origin: str
    draft_layers: DraftLayers | msgspec.UnsetType = msgspec.UNSET


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list."""

    id: str
    type: str
    parameters: int
    active_parameters: int
    weight_bytes: float
    kv_bytes_per_token: float
    window_kv_bytes_per_token: float
    state_bytes_per_sequence: float
    max_context: int | None
    quantization: str | None
    layers: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the list."""

    schema: str = LIST_SCHEMA
    answer: str
    models: tuple[Entry, ...]


def sizes(model: Model) -> Sizes:
    """Counts of a model in its config's own formats."""
    return Sizes(
        id=model.id,
        parameters=count.parameters(model),
        active_parameters=count.active_parameters(model),
        tower_parameters=sum(tower.parameters or 0 for tower in model.towers),
        weight_bytes=whole(count.weight_bytes(model)),
        streamed_weight_bytes=whole(count.streamed_weight_bytes(model)),
        kv_bytes_per_token=whole(count.kv_bytes_per_token(model)),
        window_kv_bytes_per_token=whole(count.window_kv_bytes_per_token(model)),
        windows=count.windows(model),
        state_bytes_per_sequence=whole(count.state_bytes_per_sequence(model)),
        parts=count.parts(model),
        part_bytes={part: whole(size) for part, size in count.part_bytes(model).items()},
    )


def page(model: Model) -> Page:
    """The document of one model, its weights in the format that its name ends in, if it does."""
    model = held(model, model.asked_format)
    block = sizes(model)
    return Page(
        answer=_sentence(model, block),
        model=block,
        type=model.type,
        architecture=model.architecture,
        hidden=model.hidden,
        vocab=model.vocab,
        tied=model.tied,
        dtype=model.dtype,
        quantization=model.quantization,
        kv_format=model.kv_format,
        max_context=model.max_context,
        layers=tuple(map(layer_plan, model.layers)),
        towers=tuple(TowerPlan(name=tower.name, parameters=tower.parameters) for tower in model.towers),
        assumptions=model.assumptions,
        warnings=model.warnings,
        origin=model.origin,
        draft_layers=_draft_layers(model),
    )


def _draft_layers(model: Model) -> DraftLayers | msgspec.UnsetType:
    """What its own layers for multi-token prediction come to, as far as their shape is known."""
    try:
        own = own_layers(model).own
    except BadInput:
        return msgspec.UNSET
    return DraftLayers(
        count=model.draft_layers, parameters=count.parameters(own), weight_bytes=whole(count.weight_bytes(own))
    )


def _sentence(model: Model, block: Sizes) -> str:
    active = block.active_parameters
    some = f", {numbers.parameters(active)} of them active a token" if active != block.parameters else ""
    cache = f"{numbers.amount(block.kv_bytes_per_token, 'B')} of KV cache a token" if block.kv_bytes_per_token else ""
    if block.window_kv_bytes_per_token:
        longest = max(block.windows, default=0)
        more = f"{numbers.amount(block.window_kv_bytes_per_token, 'B')} a token up to {longest:,} tokens"
        cache = f"{cache}, {more}" if cache else f"{more} of KV cache"
    if block.state_bytes_per_sequence:
        state = f"{numbers.amount(block.state_bytes_per_sequence, 'B')} of state a sequence"
        cache = f"{cache}, {state}" if cache else state
    return (
        f"{model.id}: {numbers.parameters(block.parameters)} parameters{some}, "
        f"{numbers.amount(block.weight_bytes, 'B')} of weights "
        f"({model.quantization or model.dtype}); {cache or 'no cache'}."
    )


def listing(models: Sequence[Model]) -> Listing:
    """The document of several."""
    return Listing(
        answer=f"{len(models)} models; any config.json, GGUF or safetensors file works too.",
        models=tuple(map(_entry, models)),
    )


def _entry(model: Model) -> Entry:
    return Entry(
        id=model.id,
        type=model.type,
        parameters=count.parameters(model),
        active_parameters=count.active_parameters(model),
        weight_bytes=whole(count.weight_bytes(model)),
        kv_bytes_per_token=whole(count.kv_bytes_per_token(model)),
        window_kv_bytes_per_token=whole(count.window_kv_bytes_per_token(model)),
        state_bytes_per_sequence=whole(count.state_bytes_per_sequence(model)),
        max_context=model.max_context,
        quantization=model.quantization,
        layers=layers_summary(model),
    )


def layers_summary(model: Model) -> str:
    """Kinds and numbers of layers: `16 x full attention, 48 x window`."""
    sums: dict[str, int] = {}
    for layer in model.layers:
        sums[layer.kind] = sums.get(layer.kind, 0) + layer.count
    return ", ".join(f"{number} x {kind}" for kind, number in sums.items())


def list_blocks(document: Listing) -> list[Block]:
    """The list as a table."""
    heads = ("id", "param-\neters", "active", "KV cache\na token", "layers")
    rows = tuple(
        (
            one.id,
            numbers.parameters(one.parameters),
            numbers.parameters(one.active_parameters) if one.active_parameters != one.parameters else "",
            numbers.amount(one.kv_bytes_per_token + one.window_kv_bytes_per_token, "B"),
            one.layers,
        )
        for one in document.models
    )
    return [
        Prose(document.answer, "answer"),
        Table(heads=heads, left=("id", "layers"), whole=("id",), rows=rows),
        Prose("KV cache in bf16, window layers included; `rooflight models ID` shows a model's plan.", "note"),
    ]


def list_rows(document: Listing) -> Rows:
    """The list for CSV."""
    return rows_of([msgspec.to_builtins(one) for one in document.models])


def blocks(model: Model) -> list[Block]:
    """A model as a page."""
    return page_blocks(page(model))


def document(model: Model) -> dict[str, Any]:
    """The document of one, as Python values."""
    result: dict[str, Any] = msgspec.to_builtins(page(model))
    return result


def rows(model: Model) -> Rows:
    """Its layers for CSV."""
    return page_rows(page(model))


def page_rows(document: Page) -> Rows:
    """The layer plan for CSV."""
    return rows_of([{"model": document.model.id, **flat(msgspec.to_builtins(layer))} for layer in document.layers])


_PART_WORDS = {"mixer": "attention or state", "mlp": "feed-forward"}


def page_blocks(document: Page) -> list[Block]:
    """Sentence, parameters by part, bytes, the plan, towers, notes."""
    block = document.model
    shown: list[Block] = [Prose(document.answer, "answer")]
    shown += [Prose(f"Warning: {text}", "warning") for text in document.warnings]
    parts = tuple(
        (
            _PART_WORDS.get(part, part),
            f"{number:,}",
            numbers.percent(number / block.parameters),
            numbers.amount(block.part_bytes[part], "B"),
        )
        for part, number in block.parts.items()
        if number
    )
    total = ("total", f"{block.parameters:,}", "", numbers.amount(block.weight_bytes, "B"))
    active = block.active_parameters
    met = ("active a token", f"{active:,}", numbers.percent(active / block.parameters), "")
    shown.append(
        Table(heads=("parameters", "number", "share", "bytes"), left=("parameters",), rows=(*parts, total, met))
    )
    shown.append(Prose(_bytes_line(document)))
    heads = ("layers", "kind", "attention or state", "experts", "KV cache\na token", "state")
    plan = tuple(_layer_row(layer) for layer in document.layers)
    shown.append(Table(title="Layer plan:", heads=heads, left=heads[1:4], rows=plan))
    for tower in document.towers:
        size = "not counted" if tower.parameters is None else f"{tower.parameters:,} parameters"
        shown.append(Prose(f"Beside the text model: {tower.name} tower, {size}."))
    if (drafts := document.draft_layers) is not msgspec.UNSET:
        layers = f"{drafts.count} layer{'s' * (drafts.count > 1)} for multi-token prediction"
        shown.append(Prose(f"Beside the text model: {layers}, {drafts.parameters:,} parameters (--draft-model mtp)."))
    if document.assumptions:
        shown.append(Bullets("Assumed:", document.assumptions))
    return shown


def _bytes_line(document: Page) -> str:
    block = document.model
    tied = "the input table is the output head too, so it is read once"
    apart = "the input table is only looked up"
    said = [
        f"Weights {block.weight_bytes:,.0f} bytes; a step reads at most {block.streamed_weight_bytes:,.0f} of them "
        f"({tied if document.tied else apart})."
    ]
    if block.kv_bytes_per_token:
        said.append(f"KV cache {block.kv_bytes_per_token:,.0f} bytes a token in bf16.")
    if block.window_kv_bytes_per_token:
        lengths = " or ".join(f"{window:,}" for window in block.windows)
        said.append(
            f"Layers with a window keep {block.window_kv_bytes_per_token:,.0f} bytes a token, "
            f"of the last {lengths} tokens."
        )
    if block.state_bytes_per_sequence:
        said.append(f"State {block.state_bytes_per_sequence:,.0f} bytes a sequence, however long.")
    if document.max_context:
        said.append(f"Made for at most {document.max_context:,} tokens.")
    return " ".join(said)


def _layer_row(layer: LayerPlan) -> tuple[str, ...]:
    experts = layer.experts
    return (
        f"{layer.count}",
        layer.kind,
        _mixer_words(layer),
        f"{experts.chosen} of {experts.count}" if experts else "",
        numbers.amount(layer.kv_bytes_per_token or 2 * (layer.attention.cache_elements if layer.attention else 0), "B"),
        numbers.amount(layer.state_bytes, "B") if layer.state_bytes else "",
    )


def _mixer_words(layer: LayerPlan) -> str:
    """`gqa 32/8 heads of 128, window 4,096`."""
    if layer.state is not None:
        return f"{layer.state.kind} {layer.state.heads} x {layer.state.key_dim} x {layer.state.value_dim}"
    attention = layer.attention
    if attention is None:
        return ""
    heads = f"{attention.heads}/{attention.kv_heads}" if attention.kv_heads is not None else f"{attention.heads}"
    words = [f"{attention.kind} {heads} heads of {attention.head_dim}"]
    for name in ("window", "chunk", "top_k"):
        value = getattr(attention, name)
        if value is not None:
            words.append(f"{name.replace('_k', ' ')} {value:,}")
    if attention.stride > 1:
        words.append(f"one key per {attention.stride} tokens")
    if attention.sinks:
        words.append("sinks")
    if not attention.stores:
        words.append("reads an earlier layer's cache")
    return ", ".join(words)
