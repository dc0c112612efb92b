"""Heads that draft for another model: EAGLE (1 and 2) and EAGLE-3, as their configs describe them.

EAGLE: a matrix makes one hidden state of a token's embedding and the model's last hidden state; a decoder layer without
the norm in front of it; the model's own table and head; no last norm. EAGLE-3: a matrix makes one of (usually three)
hidden states of the model, once a verified token; the attention of the first layer sees it beside the embedding, so its
inputs are twice as wide, each half with a norm; a head of its own, often over fewer tokens.
Sources: vLLM 0.11 model_executor/models/llama_eagle.py and llama_eagle3.py, transformers_utils/configs/eagle.py and
configs/speculators/algos.py (https://github.com/vllm-project/vllm); Li et al. 2024 (2401.15077), 2025 (2503.01840).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text
from rooflight.values.model import DraftHead, Layer, Linear

EAGLE, EAGLE3 = "eagle", "eagle3"
# EagleLlamaForCausalLM, LlamaForCausalLMEagle3, EAGLEModel, Eagle3DraftModel; not Eagle2_5_VLForConditionalGeneration
_CLASSES = re.compile(
    r"^eagle(?P<a>3?)(?=[a-z]\w*forcausallm)|forcausallmeagle(?P<b>3?)$|^eagle(?P<c>3?)(?:model|draftmodel|speculator)",
    re.IGNORECASE,
)
# How vLLM tells a head whose class is a plain decoder's (config/speculative.py): by the repository's name.
_NAMED = re.compile(r"(?:^|[/_.-])eagle(3?)-", re.IGNORECASE)
# Sections in which a config holds the decoder that the head is made of: of vLLM's own wrapper, of speculators'.
_SECTIONS = ("model", "transformer_layer_config")
_AUX_LAYERS = "eagle_aux_hidden_state_layer_ids"
_USUAL_AUX = 3
_MOST_LAYERS = 4


def draft_head(data: Mapping[str, Any], id: str) -> tuple[str | None, Mapping[str, Any]]:
    """Which kind of head a config is of, and the config of the decoder that it is made of; None, and as it is."""
    kind = _kind(data, id)
    if kind is None:
        return None, data
    flat = dict(data)
    for name in _SECTIONS:
        section = data.get(name)
        if isinstance(section, Mapping):
            del flat[name]
            outer = {key: value for key, value in flat.items() if value is not None and key != "model_type"}
            flat = {**section, **outer}
    flat.setdefault("num_hidden_layers", 1)
    if flat.get("model_type") in (None, EAGLE):
        flat["model_type"] = "llama"
    flat["architectures"] = ["LlamaForCausalLM"]  # it puts out tokens, whatever its class is called
    return kind, flat


def _kind(data: Mapping[str, Any], id: str) -> str | None:
    names = data.get("architectures")
    name = names[0] if isinstance(names, list) and names else names
    found = _CLASSES.search(name) if isinstance(name, str) else None
    said = data.get("speculators_model_type")
    if said in (EAGLE, EAGLE3):
        return str(said)
    if found is not None:
        return EAGLE3 if "3" in found.groups() or data.get("draft_vocab_size") is not None else EAGLE
    layers = data.get("num_hidden_layers")
    small = isinstance(layers, int) and not isinstance(layers, bool) and 0 < layers <= _MOST_LAYERS
    if small and data.get("draft_vocab_size") is not None:
        return EAGLE3
    named = _NAMED.search(id) if small else None
    return None if named is None else EAGLE3 if named[1] else EAGLE


def as_head(cfg: Config, text: Text, kind: str) -> tuple[Text, DraftHead]:
    """The decoder of a head's config as the head that it is."""
    wide = cfg.optional("target_hidden_size") or text.hidden
    first, rest = msgspec.structs.replace(text.layers[0], count=1), _others(text.layers)
    made = _eagle3(cfg, text, first, wide) if kind == EAGLE3 else _eagle(cfg, text, first)
    layers = (made.layers[0], *rest)
    table = 0 if wide == text.hidden else text.embedding_parameters
    cfg.assume(
        f"{'EAGLE-3' if kind == EAGLE3 else 'EAGLE'}: a head that drafts for a model of hidden size {wide:,}"
        + (", whose input table it shares" if not table else "")
        + (", and its output head" if made.head is None else f"; its own head puts out {made.head.outputs:,} tokens")
    )
    found = msgspec.structs.replace(made, layers=layers, embedding_parameters=table, tied=False, whole=True)
    return found, DraftHead(kind=kind, hidden=wide)


def _others(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers behind the first one."""
    one = layers[0]
    return layers[1:] if one.count == 1 else (msgspec.structs.replace(one, count=one.count - 1), *layers[1:])


def _eagle(cfg: Config, text: Text, first: Layer) -> Text:
    """fc: 2 x hidden -> hidden. HASS (add_para_norm) and speculators (layernorms) have norms of both inputs."""
    hidden = text.hidden
    bias = hidden if cfg.flag("fusion_bias") else 0
    fc = Linear(name="fc", inputs=2 * hidden, outputs=hidden, bias=bias, split="none")
    norms = 2 if cfg.flag("add_para_norm", "layernorms") else 0
    bare = msgspec.structs.replace(
        first, vector_parameters=max(first.vector_parameters - hidden, 0), norms=max(first.norms - 1, 0)
    )
    return msgspec.structs.replace(
        text, layers=(bare,), outside=(fc,), head=None, vector_parameters=norms * hidden,
    )  # fmt: skip


def _eagle3(cfg: Config, text: Text, first: Layer, wide: int) -> Text:
    """fc: as many hidden states of the model as it looks at -> hidden; the first layer's attention takes two inputs."""
    hidden, section = text.hidden, cfg.section("eagle_config")
    own = cfg if section is None else section
    aux = own.items(_AUX_LAYERS, of="number") or cfg.items(_AUX_LAYERS, of="number")
    fused = own.flag("use_aux_hidden_state", default=True)
    fc = Linear(name="fc", inputs=(len(aux) if aux else _USUAL_AUX) * wide, outputs=hidden, split="none")
    projections = tuple(
        msgspec.structs.replace(one, inputs=2 * hidden) if one.split != "row" and one.inputs == hidden else one
        for one in first.projections
    )
    both = msgspec.structs.replace(
        first, projections=projections, vector_parameters=first.vector_parameters + hidden, norms=first.norms + 1
    )
    outputs = cfg.integer("draft_vocab_size", default=text.vocab, said=False)
    head = Linear(name="lm_head", inputs=hidden, outputs=outputs, pinned=True)
    return msgspec.structs.replace(text, layers=(both,), outside=(fc,) if fused else (), head=head)
