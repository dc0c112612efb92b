"""GLM: ChatGLM, GLM-4 to GLM-5, GLM-V."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, Routed, described, read
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import latents, sparse_latents
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.values.model import Tower

_GLM = Decoder(bias=("attention_bias", True), o_bias=False, head_dim=128)
_GLM4 = _GLM.but(norms=4)
_GLM5 = Routed(shared_number=("n_shared_experts",), shared_default=1, dense="first", dense_first=3)
_FIRST = Routed(shared_number=("n_shared_experts",), shared_default=1, dense="first", dense_first=1)
_GLM4_MOE = Decoder(
    bias=ATTENTION_BIAS, o_bias=False, qk_norm="head", qk_norm_if=("use_qk_norm", False), experts=_FIRST
)


def _as_text(cfg: Config) -> Config:
    """GLM-V's text: its classes have defaults of their own, and no head size, unlike the decoders they resemble."""
    if not cfg.has("head_dim"):
        cfg = cfg.renamed(head_dim=cfg.hidden // cfg.integer("num_attention_heads"))
    return cfg.renamed(attention_bias=True, first_k_dense_replace=1)


described(
    {
        "glm": _GLM,
        "glm4": _GLM4,
        "glm4v glm4v_text": _GLM4.but(spelled=_as_text),
        "glm4_moe": _GLM4_MOE,
        "glm4v_moe glm4v_moe_text": _GLM4_MOE.but(spelled=_as_text),
        "glm4_moe_lite": Decoder(mixers=latents, experts=_FIRST),
        "glm_moe_dsa": Decoder(mixers=sparse_latents, experts=_GLM5),
    }
)


@reads("chatglm")
def chatglm(cfg: Config) -> Text:
    """ChatGLM 2 and 3, GLM-4 under its first name: fused gated feed-forward, few K/V groups."""
    heads = cfg.integer("num_attention_heads")
    groups = cfg.integer("multi_query_group_num", default=2) if cfg.flag("multi_query_attention") else heads
    if not cfg.has("ffn_hidden_size", "intermediate_size"):
        raise cfg.bad("ffn_hidden_size", None, "given (the first ChatGLM-6B, of 2D positions, is not read)")
    named = cfg.renamed(
        {
            "num_hidden_layers": "num_layers num_hidden_layers",
            "vocab_size": "padded_vocab_size vocab_size",
            "intermediate_size": "ffn_hidden_size",
            "head_dim": "kv_channels",
            "max_position_embeddings": "seq_length",
        },
        fixed={"num_key_value_heads": groups},
    )
    linear_bias = ("add_bias_linear", False)
    weights = 1 if cfg.flag("rmsnorm", default=True) else 2
    decoder = Decoder(bias=("add_qkv_bias", False), o_bias=linear_bias, mlp_bias=linear_bias, norm_weights=weights)
    return read(decoder, named)


@counts_towers("glm4v", "glm4v_moe")
def glm4v_tower(outer: Config) -> tuple[Tower, ...]:
    """GLM-4.1V and 4.5V: gated layers as wide as the output, a convolution that merges patches, a gated merger."""
    vision = towers.vision_of(outer)
    hidden, out = vision.integer("hidden_size", default=1536), vision.integer("out_hidden_size", default=4096)
    frames, merge = vision.integer("temporal_patch_size", default=2), vision.integer("spatial_merge_size", default=2)
    bias = vision.flag("attention_bias")
    encoder = towers.patches(vision, hidden, bias=True, patch=14, frames=frames)
    encoder += towers.grid(vision, image=336, patch=14) * hidden + 2 * hidden
    layer = towers.block(hidden, out, gated=True, attention_bias=False, mlp_bias=False, norm_vectors=1)
    encoder += vision.integer("depth", default=24) * (layer + (3 * hidden if bias else 0))
    merger = towers.linear(hidden * merge * merge, out) + out * out + 2 * out
    merger += 3 * out * vision.integer("intermediate_size", default=13696)
    return towers.vision(encoder + merger)
