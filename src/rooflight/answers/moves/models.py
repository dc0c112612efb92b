"""What if the model had it: grouped or latent attention, a window, another context."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.scenario.definite import Scenario
from rooflight.values.model import Attention, Layer, Model, Reach
from rooflight.work.count import has_source, is_encoder

# Llama 3's groups, DeepSeek's latent (512 + 64 rotary), Mistral's window.
_KV_HEADS = 8
_LATENT_ELEMENTS = 576
_WINDOW = 4096


@move("attention-heads", "model")
def grouped(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Eight KV heads in place of more."""
    if any(mixer.kv_heads > _KV_HEADS and mixer.heads % _KV_HEADS == 0 for mixer in _attention(sc.model)):
        yield option(sc, _KV_HEADS, model=_with(sc.checkpoint, _grouped))


@move("attention-latent", "model")
def latent(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """One latent a token in place of keys and values."""
    if any(mixer.cache_elements > _LATENT_ELEMENTS for mixer in _attention(sc.model)):
        yield option(sc, _LATENT_ELEMENTS, model=_with(sc.checkpoint, _latent))


@move("attention-window", "model")
def window(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Three of four layers looking back no further than a window."""
    if any(mixer.reach == Reach() and mixer.stores for mixer in _attention(sc.model)):
        yield option(sc, _WINDOW, model=_windowed(sc.checkpoint))


@move("context", "model")
def context(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Shorter and longer requests."""
    load = sc.workload
    for times in (0.5, 2):
        isl = max(1, int(load.text_tokens * times))
        decoded = None if load.context is None else int(load.context * times)
        yield option(sc, times, isl, isl=isl, cached_prefix=int(load.cached_prefix * times), context=decoded)


def _attention(model: Model) -> list[Attention]:
    """Attention over a text's own cache; of encoders and what stands beside one, none that is tried."""
    if is_encoder(model) or has_source(model):
        return []
    return [layer.mixer for layer in model.layers if isinstance(layer.mixer, Attention)]


def _with(model: Model, change: Callable[[Layer, Attention], Layer]) -> Model:
    layers = tuple(
        change(layer, layer.mixer) if isinstance(layer.mixer, Attention) else layer for layer in model.layers
    )
    return msgspec.structs.replace(model, layers=layers)


def _grouped(layer: Layer, mixer: Attention) -> Layer:
    """K and V heads and what makes them, divided."""
    if mixer.kv_heads <= _KV_HEADS or mixer.heads % _KV_HEADS:
        return layer
    share = _KV_HEADS / mixer.kv_heads
    projections = tuple(
        msgspec.structs.replace(
            linear, outputs=linear.outputs - int(linear.kv_outputs * (1 - share)),
            kv_outputs=int(linear.kv_outputs * share), kv_heads=_KV_HEADS,
        )
        if linear.kv_outputs
        else linear
        for linear in layer.projections
    )  # fmt: skip
    narrow = msgspec.structs.replace(mixer, kv_heads=_KV_HEADS, cache_elements=int(mixer.cache_elements * share))
    return msgspec.structs.replace(layer, mixer=narrow, projections=projections)


def _latent(layer: Layer, mixer: Attention) -> Layer:
    held = min(mixer.cache_elements, _LATENT_ELEMENTS)
    return msgspec.structs.replace(layer, mixer=msgspec.structs.replace(mixer, cache_elements=held))


def _windowed(model: Model) -> Model:
    layers: list[Layer] = []
    for layer in model.layers:
        mixer = layer.mixer
        if not isinstance(mixer, Attention) or mixer.reach != Reach() or layer.count < 2:
            layers.append(layer)
            continue
        near = layer.count * 3 // 4
        short = msgspec.structs.replace(mixer, reach=Reach(window=_WINDOW))
        layers.append(msgspec.structs.replace(layer, count=near, kind=f"{layer.kind} windowed", mixer=short))
        layers.append(msgspec.structs.replace(layer, count=layer.count - near))
    return msgspec.structs.replace(model, layers=tuple(layers))
