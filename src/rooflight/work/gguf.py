"""Which type llama.cpp's quantiser gives each matrix of a model, for a file's name: the rule on the model's own shapes.

Source: llama_tensor_get_type_impl and tensor_type_fallback of src/llama-quant.cpp (ggml-org/llama.cpp at 007dbbf), read
2026-11-28. An importance matrix is taken to be at hand, as it was for nearly all published files of names below 5 bits;
without one a few matrices of IQ3_XXS, IQ4_XS and IQ4_NL are wider. Vectors, routers and biases stay in fp32. Leaves
out: MLA's key expansion, cut into heads and padded to a type of small blocks; multi-token-prediction layers.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.values.formats import format_named
from rooflight.values.ggml import MIXES, Mix
from rooflight.values.model import Attention, Model
from rooflight.values.parts import Place, is_delta, numbers_of
from rooflight.work import gguf_ik

# Model types whose files keep queries, keys and values in one tensor (convert_hf_to_gguf.py).
_FUSED = (
    "falcon", "gpt_neox", "gpt2", "gpt_bigcode", "bloom", "mpt", "dbrx", "qwen", "chatglm", "phi3", "phi-msft",
    "codeshell",
)  # fmt: skip
_LOW = ("iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq1_s", "iq1_m")
# What takes the place of a type whose blocks of 256 do not divide a row.
_FALLBACK = {
    "q2_k": "q4_0", "q3_k": "q4_0", "q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0", "tq1_0": "q4_0", "tq2_0": "q4_0",
    **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs"), "iq4_nl"),
    **dict.fromkeys(("iq2_k", "iq2_ks", "iq2_kl", "iq3_k", "iq3_ks", "iq4_k", "iq4_ks", "iq4_kss"), "iq4_nl"),
    **dict.fromkeys(("iq5_k", "iq5_ks"), "q6_0"), "iq6_k": "q8_0",
    **dict.fromkeys(("iq1_kt", "iq2_kt", "iq3_kt", "iq4_kt"), "iq4_nl"),
}  # fmt: skip
_BLOCK, _SMALL_BLOCK = 256, 32
# Matrices that the quantiser passes over as too small (tensor_allows_quantization); files hold them in 16 or 32 bits.
_WIDE = ("altup", "laurel", "per_layer_model_projection", "index_weights", "hyper")


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What of a model the rule looks at.

    layers      in the stack; attending, how many have a value matrix, and their order by layer
    gqa         query heads a KV head
    experts     routed experts of a layer (0: none)
    shared      whether shared experts stand beside them
    seventy     a stack of 80 layers, which the rule knows as the 70B; vocab, rows of its table
    native      its experts are MXFP4 as trained: converters keep what the checkpoint quantised so
    """

    layers: int
    attending: dict[int, int]
    gqa: float
    experts: int
    shared: bool
    seventy: bool
    vocab: int
    falcon: bool
    fused: bool
    tied: bool
    native: bool


def types_of(model: Model, name: str) -> Callable[[Place], str]:
    """The rule for a file of that name: the type of each matrix of the model."""
    mix, shape = MIXES[name], _shape_of(model)
    return lambda place: _stored(mix, shape, place)


def table_type(model: Model, name: str) -> str:
    """The type of an input table that is not the head."""
    mix = MIXES[name]
    found = mix.table or {
        **dict.fromkeys(("iq2_xxs", "iq2_xs", "iq1_s", "iq1_m"), "q2_k"),
        **dict.fromkeys(("iq2_s", "iq2_m", "iq3_xxs"), "iq3_s"),
        **dict.fromkeys(("tq1_0", "tq2_0"), "q4_k"),
    }.get(mix.rule, mix.base)
    return fitting(found, model.hidden)


def _shape_of(model: Model) -> _Shape:
    """What of a model the rule looks at."""
    attends = [number for layer, numbers in zip(model.layers, numbers_of(model), strict=True)
               if isinstance(layer.mixer, Attention) or is_delta(layer.mixer) for number in numbers]  # fmt: skip
    heads = [layer.mixer for layer in model.layers if isinstance(layer.mixer, Attention)]
    routed = [layer for layer in model.layers if layer.experts is not None]
    layers = sum(layer.count for layer in model.layers)
    return _Shape(
        layers=layers,
        attending={number: place for place, number in enumerate(sorted(attends))},
        gqa=max((one.heads / one.kv_heads for one in heads), default=1),
        experts=max((layer.experts.count for layer in routed if layer.experts is not None), default=0),
        shared=any(layer.mlp for layer in routed),
        seventy=layers == 80 and model.type in ("llama", "qwen2") and any(one.heads != one.kv_heads for one in heads),
        vocab=model.vocab,
        falcon=model.type == "falcon",
        fused=model.type in _FUSED,
        tied=model.tied,
        native=any(one.format == "mxfp4" for layer in routed if layer.experts for one in layer.experts.linears),
    )


def _stored(mix: Mix, shape: _Shape, place: Place) -> str:
    if place.part == "experts" and (mix.rule == "mxfp4_moe" or (shape.native and _keeps(mix, place.linear.inputs))):
        return "mxfp4"
    if place.part == "router" or place.linear.name == "shared_gate":
        return "fp32"
    if place.linear.name.startswith(_WIDE):
        return "f16"
    if place.part == "head":
        return fitting(mix.head or _head(mix, shape, place), place.linear.inputs)
    if mix.base in ("f16", "q8_0"):
        return mix.base
    return fitting(_matrix(mix, shape, place), place.linear.inputs // place.linear.groups)


def _keeps(mix: Mix, inputs: int) -> bool:
    """Whether a file of that name keeps experts in MXFP4: all but narrower types whose blocks fit the rows."""
    narrower = format_named(mix.base).bits < format_named("mxfp4").bits
    return not narrower or bool(inputs % _BLOCK)


def fitting(form: str, inputs: int) -> str:
    """The type itself, or the one that stands in where its blocks do not divide a row of so many elements."""
    if form in _FALLBACK and inputs % _BLOCK:
        form = _FALLBACK[form]
    return "f16" if form not in ("f16", "fp32") and inputs % _SMALL_BLOCK else form


def _head(mix: Mix, shape: _Shape, place: Place) -> str:
    if mix.base == "f16":
        return "f16"
    if mix.base == "q8_0" or shape.falcon or (mix.base in _FALLBACK and place.linear.inputs % _BLOCK):
        return "q8_0"
    return "q5_k" if mix.rule in (*_LOW, "iq3_xxs") else "q6_k"


def _matrix(mix: Mix, shape: _Shape, place: Place) -> str:
    """The rule by the tensor's name in the file."""
    name, rule = place.name, mix.rule
    if rule in gguf_ik.NAMES:
        return gguf_ik.type_of(rule, _as_ik(shape, place))
    value = name in ("v", "qkv") or (name in ("q", "k") and shape.fused)
    if rule in _LOW:
        return _low(mix, shape, place, value)
    if value:
        return _value(mix, shape, shape.attending.get(place.layer, 0))
    eight = shape.experts == 8
    if name == "k" and eight:
        return "q8_0"
    if name in ("q", "k"):
        return {"iq3_xs": "iq3_xxs", "iq3_xxs": "iq2_s"}.get(rule, mix.base)
    if name == "o":
        return _output(mix, shape)
    if name == "down":
        return _down(mix, shape, place.layer)
    if name in ("gate", "up") and rule == "iq3_xs" and shape.layers // 8 <= place.layer < 7 * shape.layers // 8:
        return "iq3_xxs"
    return mix.base


def _as_ik(shape: _Shape, place: Place) -> gguf_ik.Module:
    return gguf_ik.Module(
        name=place.name,
        early=place.layer < shape.layers // 8,
        shared=place.part == "shared",
        gqa=shape.gqa,
        experts=shape.experts,
        layers=shape.layers,
        vocab=shape.vocab,
    )


def _more(layer: int, layers: int) -> bool:
    """Layers that get more bits: the first and the last eighth, and every third between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def _low(mix: Mix, shape: _Shape, place: Place, value: bool) -> str:
    """Files of less than 3 bits."""
    middle = "iq3_s" if mix.rule in ("iq2_s", "iq2_m") else "q2_k"
    if value:
        return "q4_k" if shape.gqa >= 4 or shape.experts >= 4 else middle
    name = place.name
    if name == "k" and shape.experts == 8:
        return "q4_k"
    if name == "down":
        # it counts down matrices, of which a layer with shared experts has two
        counted = place.layer * 2 if shape.shared else place.layer
        return middle if counted < shape.layers // 8 else mix.base
    if name == "o":
        if shape.experts == 8:
            return "q5_k"
        return {"iq1_s": "iq2_xxs", "iq1_m": "iq2_xxs", "iq2_s": "iq3_s", "iq2_m": "iq3_s"}.get(mix.rule, mix.base)
    return mix.base


def _value(mix: Mix, shape: _Shape, place: int) -> str:
    """Value matrices, and fused ones that hold them; `place` among those."""
    if shape.experts == 8:
        return "q8_0"
    rule, found = mix.rule, mix.base
    grouped = shape.gqa >= 4
    if rule == "q2_k":
        found = "q4_k" if grouped else "q3_k"
    elif rule == "iq3_m" or (grouped and rule in ("q2_k_s", "iq3_xxs", "iq3_xs", "iq3_s")):
        found = "q4_k"
    elif rule == "q3_k_m":
        found = "q5_k" if place < 2 else "q4_k"
    elif rule == "q3_k_l" or (grouped and rule in ("iq4_nl", "iq4_xs")) or (rule == "q4_k_s" and place < 4):
        found = "q5_k"
    elif rule in ("q4_k_m", "q5_k_m") and _more(place, len(shape.attending)):
        found = "q6_k"
    return "q5_k" if shape.seventy and found in ("q3_k", "q4_k") else found


def _output(mix: Mix, shape: _Shape) -> str:
    """The output matrix of attention."""
    if shape.falcon:
        return "q4_k" if mix.rule == "q3_k_l" else mix.base
    if shape.experts == 8:
        raised = "q2_k iq3_xs iq3_xxs q3_k_s q3_k_m iq4_nl q4_k_s q4_k_m iq3_s iq3_m iq4_xs"
        return "q5_k" if mix.rule in raised.split() else mix.base
    return {"q2_k": "q3_k", "iq3_xxs": "iq3_s", "q3_k_m": "q4_k", "q3_k_l": "q5_k", "iq3_m": "q4_k"}.get(
        mix.rule, mix.base
    )


def _down(mix: Mix, shape: _Shape, layer: int) -> str:
    """The second matrix of the feed-forward, of experts too."""
    rule, layers, more = mix.rule, shape.layers, _more(layer, shape.layers)
    early, first = layer < layers // 8, layer < layers // 16
    if shape.falcon and rule in ("q3_k_m", "q3_k_l", "q4_k_m", "q4_k_s"):
        narrow = {"q3_k_m": "q4_k" if more else "q3_k", "q3_k_l": "q4_k", "q4_k_m": "q5_k" if more else "q4_k"}
        return (
            {"q3_k_m": "q5_k", "q4_k_m": "q6_k"}.get(rule, narrow.get(rule, mix.base))
            if first
            else narrow.get(rule, mix.base)
        )
    if rule in ("q4_k_m", "q5_k_m"):
        return "q6_k" if more else mix.base
    if rule == "q3_k_m":
        return "q5_k" if first else "q4_k"
    if early and rule in ("q2_k_s", "q4_k_s"):
        return {"q2_k_s": "q4_k", "q4_k_s": "q5_k"}[rule]
    if rule == "iq3_m" and (early or (shape.experts == 8 and more)):
        return "q4_k"
    return {"q2_k": "q3_k", "q3_k_l": "q5_k"}.get(rule, mix.base)
