"""Towers built for one model line: Llama 4, Llama 3.2 Vision, Gemma 4, Kimi, GLM-V, Step."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import scaled
from rooflight.catalog.config.registry import counts_towers
from rooflight.catalog.config.towers import block, grid, linear, patches, text_hidden, vision_of
from rooflight.values.model import Tower


@counts_towers("llama4")
def llama4(outer: Config) -> tuple[Tower, ...]:
    """Llama 4: a class vector and positions, norms before and after, an adapter over shuffled pixels, one matrix."""
    vision = vision_of(outer)
    hidden, width = vision.integer("hidden_size", default=768), vision.integer("intermediate_size", default=5632)
    positions = 1 + grid(vision, image=448, patch=14)
    encoder = hidden + positions * hidden + patches(vision, hidden, bias=False, patch=14) + 4 * hidden
    encoder += vision.integer("num_hidden_layers", default=34) * block(hidden, width)
    middle = vision.integer("projector_input_dim", default=4096)
    adapter = width * middle + middle * vision.integer("projector_output_dim", default=4096)
    bias = vision.flag("multi_modal_projector_bias")
    projector = linear(vision.integer("vision_output_dim", default=7680), text_hidden(outer), bias)
    return (Tower(name="vision", parameters=encoder + adapter + projector),)


@counts_towers("mllama")
def mllama(outer: Config) -> tuple[Tower, ...]:
    """Llama 3.2 Vision: tiles with embeddings of their own by aspect ratio, local layers and gated global ones."""
    vision = vision_of(outer)
    hidden, width = vision.integer("hidden_size", default=1280), vision.integer("intermediate_size", default=5120)
    tiles = vision.integer("max_num_tiles", default=4)
    ratios = vision.items("supported_aspect_ratios")
    rows = 1 + (8 if ratios is None else len(ratios))
    positions = 1 + grid(vision, image=448, patch=14)
    embedding = hidden + patches(vision, hidden, bias=False, patch=14)
    embedding += 1 + positions * hidden + rows * tiles * positions * hidden
    embedding += 2 * (1 + rows * tiles * hidden)
    layer = block(hidden, width, attention_bias=False)
    local = vision.integer("num_hidden_layers", default=32) * layer
    wide = vision.integer("num_global_layers", default=8) * (layer + 2)
    projector = linear(vision.integer("vision_output_dim", default=7680), text_hidden(outer))
    return (Tower(name="vision", parameters=embedding + 4 * hidden + local + wide + projector),)


def _gemma4_vision(vision: Config, out: int) -> int:
    hidden, width = vision.integer("hidden_size", default=768), vision.integer("intermediate_size", default=3072)
    heads, head_dim = vision.integer("num_attention_heads", default=12), vision.integer("head_dim", default=64)
    kv_heads = vision.integer("num_key_value_heads", default=heads)
    bias = vision.flag("attention_bias")
    attention = linear(hidden, heads * head_dim, bias) + 2 * linear(hidden, kv_heads * head_dim, bias)
    attention += linear(heads * head_dim, hidden, bias) + 2 * head_dim
    layer = attention + 3 * hidden * width + 4 * hidden
    positions = 2 * vision.integer("position_embedding_size", default=10240) * hidden
    ends = positions + patches(vision, hidden, bias=False, patch=16) + hidden * out
    return ends + vision.integer("num_hidden_layers", default=16) * layer


def _gemma4_audio(audio: Config, out: int) -> int:
    """A conformer: two half feed-forwards, attention with relative positions, a convolution, in every layer."""
    hidden, heads = audio.integer("hidden_size", default=1024), audio.integer("num_attention_heads", default=8)
    channels = audio.items("subsampling_conv_channels", length=2, length_of="its own number of stages") or [128, 32]
    first, second = int(channels[0]), int(channels[1])
    kernel = audio.integer("conv_kernel_size", default=5)
    # two strided convolutions with norms, then a matrix over what is left of the bands
    front = 9 * first + first + 9 * first * second + second + second * (first // 4) * hidden
    halves = 2 * (2 * 4 * hidden * hidden + 2 * hidden)
    attention = 5 * hidden * hidden + hidden // heads
    convolution = 3 * hidden * hidden + kernel * hidden + 2 * hidden
    layers = audio.integer("num_hidden_layers", default=12) * (halves + attention + convolution + 3 * hidden)
    width = audio.integer("output_proj_dims", default=1536)
    return front + layers + linear(hidden, width) + width * out


@counts_towers("gemma4")
def gemma4(outer: Config) -> tuple[Tower, ...]:
    """Gemma 4: a gated vision encoder with two-axis positions, and in the small models a conformer for audio."""
    out, towers = text_hidden(outer), []
    vision, audio = outer.section("vision_config"), outer.section("audio_config")
    if vision is not None:
        towers.append(Tower(name="vision", parameters=_gemma4_vision(vision, out)))
    if audio is not None:
        towers.append(Tower(name="audio", parameters=_gemma4_audio(audio, out)))
    return tuple(towers)


@counts_towers("kimi_k25", "kimi_vl")
def kimi(outer: Config) -> tuple[Tower, ...]:
    """Kimi's MoonViT: learned positions on a grid, a norm, patches merged two by two, two matrices."""
    vision = vision_of(outer)
    hidden = vision.integer("vt_hidden_size", "hidden_size", default=1152)
    width = vision.integer("vt_intermediate_size", "intermediate_size", default=4304)
    rows = vision.integer("init_pos_emb_height", "pos_emb_height", default=64)
    columns = vision.integer("init_pos_emb_width", "pos_emb_width", default=64)
    encoder = patches(vision, hidden, bias=True, patch=14) + rows * columns * hidden + 2 * hidden
    encoder += vision.integer("vt_num_hidden_layers", "num_hidden_layers", default=27) * block(hidden, width)
    joined = hidden * _product(vision, "merge_kernel_size")
    projector = 2 * hidden + linear(joined, joined) + linear(joined, text_hidden(outer))
    return (Tower(name="vision", parameters=encoder + projector),)


def _product(cfg: Config, key: str) -> int:
    sides = cfg.items(key) or [2, 2]
    if not all(isinstance(side, int) and side > 0 for side in sides):
        raise cfg.bad(key, sides, "a list of positive whole numbers")
    result = 1
    for side in sides:
        result *= side
    return result


@counts_towers("glm4v", "glm4v_moe")
def glm4v(outer: Config) -> tuple[Tower, ...]:
    """GLM-4.1V and 4.5V: gated layers as wide as the output, a convolution that merges patches, a gated merger."""
    vision = vision_of(outer)
    hidden, out = vision.integer("hidden_size", default=1536), vision.integer("out_hidden_size", default=4096)
    frames, merge = vision.integer("temporal_patch_size", default=2), vision.integer("spatial_merge_size", default=2)
    bias = vision.flag("attention_bias")
    encoder = patches(vision, hidden, bias=True, patch=14, frames=frames)
    encoder += grid(vision, image=336, patch=14) * hidden + 2 * hidden
    layer = block(hidden, out, gated=True, attention_bias=False, mlp_bias=False, norm_vectors=1)
    encoder += vision.integer("depth", default=24) * (layer + (3 * hidden if bias else 0))
    merger = linear(hidden * merge * merge, out) + out * out + 2 * out
    merger += 3 * out * vision.integer("intermediate_size", default=13696)
    return (Tower(name="vision", parameters=encoder + merger),)


@counts_towers("step3p7")
def step(outer: Config) -> tuple[Tower, ...]:
    """Step 3.7: scaled residuals, two convolutions that shrink the grid, one matrix."""
    vision = vision_of(outer)
    hidden = vision.integer("width", "hidden_size", default=1536)
    width = scaled(vision, "mlp_ratio", hidden, 8960 / 1536)
    encoder = patches(vision, hidden, bias=False, patch=14)
    encoder += vision.integer("max_position_embeddings", default=2704) * hidden + 2 * hidden
    encoder += vision.integer("layers", "num_hidden_layers", default=47) * (block(hidden, width) + 2 * hidden)
    shrink = linear(9 * hidden, 2 * hidden) + linear(9 * 2 * hidden, 4 * hidden)
    projector = linear(4 * hidden, text_hidden(outer), outer.flag("projector_bias"))
    return (Tower(name="vision", parameters=encoder + shrink + projector),)
