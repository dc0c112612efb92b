"""Llama: 1 to 3.3, Llama 3.2 Vision, Llama 4."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import LLAMA, described
from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import every
from rooflight.catalog.config.registry import DEFAULT_SIZES, Text, counts_towers, reads
from rooflight.catalog.config.vocabulary import (
    CHUNKED,
    FULL,
    Half,
    heads_of,
    kinds_of,
    layer,
    output,
    softmax,
    stack,
    text,
)
from rooflight.values.model import Linear, Reach, Tower

described({"llama": LLAMA})
DEFAULT_SIZES["llama"] = {
    "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32,
}  # fmt: skip


def _rotary(cfg: Config, chunk: int | None) -> list[str]:
    """Llama 4's layers with rotary positions attend within their chunk, those without (every fourth) everything."""
    step = cfg.integer("no_rope_layer_interval", default=4, said=False)
    rotary = cfg.items("no_rope_layers", of="mark", length=cfg.layers) if cfg.raw("no_rope_layers") != [] else None
    near = FULL if chunk is None else CHUNKED
    return [near if flag else FULL for flag in rotary] if rotary else every(cfg, step, most=near, nth=FULL)


@reads("llama4", "llama4_text")
def llama4(cfg: Config) -> Text:
    """Llama 4: attention within chunks in three layers of four; experts beside a shared one, in all or every other."""
    shape = heads_of(cfg, head_dim=128, kv_default=8)
    chunk = None if cfg.raw("attention_chunk_size") in (None, 0) else cfg.integer("attention_chunk_size")
    if chunk is None and "attention_chunk_size" not in cfg.data:
        chunk = cfg.assumed("attention_chunk_size", default=8192)
    mixers = {FULL: softmax(cfg, shape, kind="full attention")}
    if chunk is not None:
        mixers[CHUNKED] = softmax(cfg, shape, Reach(chunk=chunk), kind="chunked attention")
    experts, width = cfg.integer("num_local_experts", default=16), cfg.integer("intermediate_size")
    step = cfg.integer("interleave_moe_layer_step", default=1)
    listed = cfg.layer_numbers("moe_layers", cfg.layers)
    without = {i for i in range(cfg.layers) if ((i + 1) % step if listed is None else i not in listed)}
    chosen = cfg.integer("num_experts_per_tok", default=1)
    kinds = kinds_of(cfg, _rotary(cfg, chunk))
    feeds = mlps(
        cfg,
        without,
        routed=lambda: routed(cfg, count=experts, chosen=chosen, width=width, shared=width),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size_mlp")),
    )
    return text(cfg, stack(cfg, kinds, mixers, feeds), vocab=202048)


def _image_tokens(cfg: Config) -> int:
    """Positions a cross-attention layer sees of one image: tiles x (patches + 1)."""
    usual = (("max_num_tiles", 4), ("image_size", 560), ("patch_size", 14))
    tiles, side, patch = (cfg.integer(key, default=size, said=False) for key, size in usual)
    tokens = tiles * ((side // patch) ** 2 + 1)
    seen = f"one image of {tokens} positions ({tiles} tiles)"
    cfg.assume(f"cross-attention layers attend {seen}; without an image they are skipped")
    return tokens


@reads("mllama", "mllama_text_model")
def mllama(cfg: Config) -> Text:
    """Llama 3.2 Vision: some layers attend the image only, through gates, with normed queries and keys.

    Their K and V matrices run on image positions, once an image: a text step neither multiplies nor reads them,
    so they are stored beside the input tables.
    """
    shape = heads_of(cfg, kv_default=8)
    named = cfg.layer_numbers("cross_attention_layers", cfg.layers) or [3, 8, 13, 18, 23, 28, 33, 38]
    crossing = {number for number in range(cfg.layers) if number in named}
    mlp = dense(cfg, cfg.integer("intermediate_size"))
    own = softmax(cfg, shape, bias=False)
    cross = Half(
        kind="cross-attention to the image",
        mixer=shape.attention(stores=False, fixed_context=_image_tokens(cfg)),
        linears=(Linear(name="q", inputs=cfg.hidden, outputs=shape.q), output(cfg, shape)),
        vectors=shape.qk_norms + 2,
    )
    plain, crossed = layer(cfg, own, mlp), layer(cfg, cross, mlp)
    return text(
        cfg,
        [crossed if i in crossing else plain for i in range(cfg.layers)],
        side_tables=8 * cfg.hidden + len(crossing) * cfg.hidden * shape.kv,  # 8 rows for image tokens
    )


@counts_towers("llama4")
def llama4_tower(outer: Config) -> tuple[Tower, ...]:
    """Llama 4: a class vector and positions, norms before and after, an adapter over shuffled pixels, one matrix."""
    vision = towers.vision_of(outer)
    hidden, width = vision.integer("hidden_size", default=768), vision.integer("intermediate_size", default=5632)
    positions = 1 + towers.grid(vision, image=448, patch=14)
    encoder = hidden + positions * hidden + towers.patches(vision, hidden, bias=False, patch=14) + 4 * hidden
    encoder += vision.integer("num_hidden_layers", default=34) * towers.block(hidden, width)
    middle = vision.integer("projector_input_dim", default=4096)
    adapter = width * middle + middle * vision.integer("projector_output_dim", default=4096)
    bias = vision.flag("multi_modal_projector_bias")
    inputs = vision.integer("vision_output_dim", default=7680)
    return towers.vision(encoder + adapter + towers.linear(inputs, towers.text_hidden(outer), bias))


@counts_towers("mllama")
def mllama_tower(outer: Config) -> tuple[Tower, ...]:
    """Llama 3.2 Vision: tiles with embeddings of their own by aspect ratio, local layers and gated global ones."""
    vision = towers.vision_of(outer)
    hidden, width = vision.integer("hidden_size", default=1280), vision.integer("intermediate_size", default=5120)
    tiles = vision.integer("max_num_tiles", default=4)
    ratios = vision.items("supported_aspect_ratios", of="list")
    rows = 1 + (8 if ratios is None else len(ratios))
    positions = 1 + towers.grid(vision, image=448, patch=14)
    embedding = hidden + towers.patches(vision, hidden, bias=False, patch=14)
    embedding += 1 + positions * hidden + rows * tiles * positions * hidden
    embedding += 2 * (1 + rows * tiles * hidden)
    block = towers.block(hidden, width, attention_bias=False)
    local = vision.integer("num_hidden_layers", default=32) * block
    wide = vision.integer("num_global_layers", default=8) * (block + 2)
    projector = towers.linear(vision.integer("vision_output_dim", default=7680), towers.text_hidden(outer))
    return towers.vision(embedding + 4 * hidden + local + wide + projector)
