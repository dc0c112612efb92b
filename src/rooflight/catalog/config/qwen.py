"""Qwen: 1 to 3, their vision kinds, Qwen3-Next and Qwen3.5."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, Routed, described, read
from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows, dense_layers, every
from rooflight.catalog.config.registry import DEFAULT_SIZES, Text, counts_towers, reads
from rooflight.catalog.config.states import gated_delta
from rooflight.catalog.config.vocabulary import FULL, LINEAR, Half, heads_of, kinds_of, softmax, stack, text
from rooflight.values.model import Tower

_WHEN = ("use_sliding_window", False)


def _halved(cfg: Config) -> Config:
    width = cfg.integer("intermediate_size")
    cfg.assume(f"the first Qwen's intermediate_size ({width}) is gate and up together: each is {width // 2} wide")
    fixed = {"intermediate_size": width // 2, "num_key_value_heads": cfg.integer("num_attention_heads")}
    return cfg.renamed({"head_dim": "kv_channels"}, fixed=fixed)


QWEN3 = Decoder(bias=ATTENTION_BIAS, qk_norm="head", head_dim=128, windows=Windows("from", when=_WHEN))

described(
    {
        "qwen": Decoder(bias=True, o_bias=False, spelled=_halved),
        "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text": Decoder(
            bias=True, o_bias=False, windows=Windows("from", when=_WHEN)
        ),
        "qwen2_moe": Decoder(
            bias=("qkv_bias", True),
            o_bias=False,
            windows=Windows("below", when=_WHEN),
            experts=Routed(shared_width=("shared_expert_intermediate_size",), shared_gate=True, dense="steps"),
        ),
        "qwen3 qwen3_vl qwen3_vl_text": QWEN3,
        "qwen3_moe qwen3_vl_moe qwen3_vl_moe_text qwen3_omni_moe_text": Decoder(
            bias=ATTENTION_BIAS, qk_norm="head", windows=Windows("all", when=_WHEN), experts=Routed(dense="steps")
        ),
    }
)
DEFAULT_SIZES["qwen2"] = DEFAULT_SIZES["qwen3"] = {
    "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32,
}  # fmt: skip


@reads("logics")
def logics(cfg: Config) -> Text:
    """Logics-Thinking: the published shape is that of Qwen3-8B."""
    cfg.assume("model_type 'logics' is read as qwen3 (queries and keys normed), whose 8B shape its numbers are")
    return read(QWEN3, cfg)


def _gated_attention(cfg: Config) -> Half:
    """Full attention whose query projection also makes an output gate of the queries' size."""
    few = 4 if cfg.text("model_type", default="") in ("qwen3_5", "qwen3_5_text") else 2
    shape = heads_of(cfg, head_dim=256, kv_default=few)
    gate = shape.q if cfg.flag("attn_output_gate", default=True) else 0
    return softmax(cfg, shape, kind="full attention", gate=gate, vectors=shape.qk_norms)


# where the file is silent
_EXPERTS = {"qwen3_next": 512, "qwen3_5_moe": 256, "qwen3_5_moe_text": 256}


@reads("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text")
def qwen_next(cfg: Config) -> Text:
    """Qwen3-Next, Qwen3.5, Qwen3.6: three gated delta nets to one full attention; experts where the file has them."""
    delta = gated_delta(
        cfg.hidden,
        key_heads=cfg.assumed("linear_num_key_heads", default=16),
        heads=cfg.assumed("linear_num_value_heads", default=32),
        key_dim=cfg.assumed("linear_key_head_dim", default=128),
        value_dim=cfg.assumed("linear_value_head_dim", default=128),
        kernel=cfg.assumed("linear_conv_kernel_dim", default=4),
    )
    mixers = {LINEAR: delta, FULL: _gated_attention(cfg)}
    experts = cfg.integer("num_experts", default=_EXPERTS.get(cfg.text("model_type", default=""), 0), at_least=0)
    plain = dense_layers("steps", cfg)
    kinds = kinds_of(cfg, every(cfg, cfg.integer("full_attention_interval", default=4), most=LINEAR, nth=FULL))
    feeds = mlps(
        cfg,
        plain if experts else range(cfg.layers),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size")),
        routed=lambda: routed(
            cfg,
            count=experts,
            chosen=cfg.integer("num_experts_per_tok"),
            width=cfg.integer("moe_intermediate_size"),
            shared=cfg.assumed("shared_expert_intermediate_size", default=512),
            shared_gate=True,
        ),
    )
    return text(cfg, stack(cfg, kinds, mixers, feeds))


def _merged(vision: Config, hidden: int) -> int:
    """The width of the patches that are merged into one."""
    return hidden * vision.integer("spatial_merge_size", default=2) ** 2


def _merger(merged: int, out: int, norm: int) -> int:
    return norm + towers.linear(merged, merged) + towers.linear(merged, out)


@counts_towers("qwen2_vl")
def qwen2_vl_tower(outer: Config) -> tuple[Tower, ...]:
    """Qwen2-VL: rotary positions, two frames a patch, a merger of four patches."""
    vision = towers.vision_of(outer)
    hidden = vision.integer("embed_dim", default=1280)
    width = vision.scaled("mlp_ratio", hidden, 4)
    merged = _merged(vision, hidden)
    frames = vision.integer("temporal_patch_size", default=2)
    encoder = towers.patches(vision, hidden, bias=False, patch=14, frames=frames)
    encoder += vision.integer("depth", default=32) * towers.block(hidden, width)
    out = vision.integer("hidden_size", default=towers.text_hidden(outer))
    return towers.vision(encoder + _merger(merged, out, 2 * hidden))


@counts_towers("qwen2_5_vl")
def qwen2_5_vl_tower(outer: Config) -> tuple[Tower, ...]:
    """Qwen2.5-VL: as Qwen2-VL with gated feed-forwards and norms without bias."""
    vision = towers.vision_of(outer)
    hidden = vision.integer("hidden_size", default=1280)
    merged = _merged(vision, hidden)
    frames = vision.integer("temporal_patch_size", default=2)
    block = towers.block(hidden, vision.integer("intermediate_size", default=3420), gated=True, norm_vectors=1)
    encoder = towers.patches(vision, hidden, bias=False, patch=14, frames=frames)
    encoder += vision.integer("depth", default=32) * block
    out = vision.integer("out_hidden_size", default=towers.text_hidden(outer))
    return towers.vision(encoder + _merger(merged, out, hidden))


def _qwen3_tower(outer: Config) -> tuple[int, int, int, Config]:
    """Encoder and merger of Qwen3-VL and Qwen3.5, the merged width and the output width."""
    vision = towers.vision_of(outer)
    hidden = vision.integer("hidden_size", default=1152)
    merged = _merged(vision, hidden)
    frames = vision.integer("temporal_patch_size", default=2)
    encoder = towers.patches(vision, hidden, bias=True, patch=16, frames=frames)
    encoder += vision.integer("num_position_embeddings", default=2304) * hidden
    depth = vision.integer("depth", default=27)
    encoder += depth * towers.block(hidden, vision.integer("intermediate_size", default=4304))
    out = vision.integer("out_hidden_size", default=towers.text_hidden(outer))
    return encoder + _merger(merged, out, 2 * hidden), merged, out, vision


@counts_towers("qwen3_vl", "qwen3_vl_moe")
def qwen3_vl_tower(outer: Config) -> tuple[Tower, ...]:
    """Qwen3-VL: learned positions, and further mergers for the layers that feed the text model's first layers."""
    parameters, merged, out, vision = _qwen3_tower(outer)
    taps = vision.items("deepstack_visual_indexes", of="number")
    further = 3 if taps is None else len(taps)
    return towers.vision(parameters + further * _merger(merged, out, 2 * merged))


@counts_towers("qwen3_5", "qwen3_5_moe")
def qwen3_5_tower(outer: Config) -> tuple[Tower, ...]:
    """Qwen3.5 and 3.6: the encoder of Qwen3-VL with one merger."""
    return towers.vision(_qwen3_tower(outer)[0])


@counts_towers("logics")
def logics_tower(outer: Config) -> tuple[Tower, ...]:
    """Logics: towers of several encoders, named but not counted."""
    return towers.not_counted(outer, "ConvNeXt and SigLIP2 encoders and their projector")
