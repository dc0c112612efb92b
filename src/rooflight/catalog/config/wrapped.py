"""Text models that are a known decoder inside a multimodal one: read as that decoder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import dense, full_attention, joined, moe, text_of
from rooflight.catalog.config.parts import heads_of
from rooflight.catalog.config.registry import Text, reader_of, reads
from rooflight.errors import BadConfig

# model_type -> the decoder it is, and what the config means where it is silent and the decoder means otherwise
_SAME_AS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "qwen2_vl": ("qwen2", {}),
    "qwen2_vl_text": ("qwen2", {}),
    "qwen2_5_vl": ("qwen2", {}),
    "qwen2_5_vl_text": ("qwen2", {}),
    "qwen2_5_omni_text": ("qwen2", {}),
    "qwen3_omni_moe_text": ("qwen3_moe", {}),
    "qwen3_vl": ("qwen3", {}),
    "qwen3_vl_text": ("qwen3", {}),
    "qwen3_vl_moe": ("qwen3_moe", {}),
    "qwen3_vl_moe_text": ("qwen3_moe", {}),
    "glm4v": ("glm4", {"attention_bias": True}),
    "glm4v_text": ("glm4", {"attention_bias": True}),
    "glm4v_moe": ("glm4_moe", {"attention_bias": True, "first_k_dense_replace": 1, "use_qk_norm": False}),
    "glm4v_moe_text": ("glm4_moe", {"attention_bias": True, "first_k_dense_replace": 1, "use_qk_norm": False}),
    "llava": ("llama", {}),
}


def read_as(decoder: str, silent: Mapping[str, Any], cfg: Config) -> Text:
    """The text config read as another model_type. Raises BadConfig."""
    reader = reader_of(decoder)
    if reader is None:
        raise BadConfig(
            f"{cfg.raw('model_type')} is a {decoder} inside, which this version does not read",
            where=cfg.at("model_type"),
            got=str(cfg.raw("model_type")),
        )
    given = {key: value for key, value in cfg.data.items() if value is not None}
    if decoder.startswith("glm4") and "head_dim" not in given:
        # the text classes of GLM-V have no head size of their own, unlike the decoders they resemble
        given["head_dim"] = cfg.integer("hidden_size") // cfg.integer("num_attention_heads")
    return reader(Config({**silent, **given}, origin=cfg.origin, path=cfg.path, parent=cfg))


for _type, (_decoder, _silent) in _SAME_AS.items():
    reads(_type)(partial(read_as, _decoder, _silent))


@reads("logics")
def logics(cfg: Config) -> Text:
    """Logics-Thinking: the published shape is that of Qwen3-8B."""
    cfg.assume("model_type 'logics' is read as qwen3 (queries and keys normed), whose 8B shape its numbers are")
    return read_as("qwen3", {}, cfg)


@reads("deepseek_vl_v2")
def deepseek_vl2(cfg: Config) -> Text:
    """DeepSeek-VL2 and DeepSeek-OCR: a small DeepSeek-V2, with ordinary attention where use_mla is false."""
    return read_as("deepseek_v2", {}, cfg) if cfg.flag("use_mla", default=True) else deepseek_without_mla(cfg)


def deepseek_without_mla(cfg: Config) -> Text:
    """DeepSeek-V2's experts over ordinary attention: each query head has its own K and V of hidden / heads elements."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    attention = full_attention(cfg, hidden, heads_of(cfg, hidden))
    width = cfg.integer("moe_intermediate_size")
    routed = moe(
        hidden,
        count=cfg.integer("n_routed_experts"),
        chosen=cfg.integer("num_experts_per_tok"),
        width=width,
        shared=width * cfg.integer("n_shared_experts", default=0, at_least=0),
    )
    plain = dense(hidden, cfg.integer("intermediate_size"))
    first = cfg.integer("first_k_dense_replace", default=0, at_least=0)
    layers = [joined(attention, plain if i < first else routed, norm_elements=2 * hidden) for i in range(count)]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)
