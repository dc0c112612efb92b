"""Kimi: Kimi-Linear, the towers of Kimi-VL and K2.5. Kimi K2 is read as deepseek_v3."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import hybrid, latent
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.catalog.config.states import kimi_delta
from rooflight.catalog.config.vocabulary import FULL, LINEAR, kinds_of
from rooflight.values.model import Tower


@reads("kimi_linear")
def kimi_linear(cfg: Config) -> Text:
    """Kimi-Linear: Kimi delta attention with latent attention every fourth layer, experts after the first layers."""
    linear = cfg.section("linear_attn_config") or cfg
    full_layers = linear.items("full_attn_layers", of="number")
    if full_layers is None:
        pattern = [FULL if i and i % 4 == 0 else LINEAR for i in range(cfg.layers)]
    else:
        # numbered from 1 in the published files
        full = set(full_layers)
        pattern = [FULL if i + 1 in full else LINEAR for i in range(cfg.layers)]
    # beside the section, head_dim means something else
    head_dim_keys = ("linear_head_dim",) if linear is cfg else ("head_dim", "linear_head_dim")
    delta = kimi_delta(
        cfg.hidden,
        heads=linear.integer("num_heads", "linear_num_heads", default=32),
        head_dim=linear.integer(*head_dim_keys, default=128),
        kernel=linear.integer("short_conv_kernel_size", "linear_conv_kernel_dim", default=4),
        low_rank=True,
        low_rank_gate=not linear.flag("use_full_rank_gate"),
    )
    linear.repeats("kda_layers", [i + 1 for i, kind in enumerate(pattern) if kind == LINEAR])
    mixers = {LINEAR: delta, FULL: latent(cfg)}
    return hybrid(cfg, kinds_of(cfg, pattern), mixers, dense_first=1)


@counts_towers("kimi_k25", "kimi_vl")
def kimi_tower(outer: Config) -> tuple[Tower, ...]:
    """Kimi's MoonViT: learned positions on a grid, a norm, patches merged two by two, two matrices."""
    vision = towers.vision_of(outer)
    hidden = vision.integer("vt_hidden_size", "hidden_size", default=1152)
    width = vision.integer("vt_intermediate_size", "intermediate_size", default=4304)
    rows = vision.integer("init_pos_emb_height", "pos_emb_height", default=64)
    columns = vision.integer("init_pos_emb_width", "pos_emb_width", default=64)
    encoder = towers.patches(vision, hidden, bias=True, patch=14) + rows * columns * hidden + 2 * hidden
    encoder += vision.integer("vt_num_hidden_layers", "num_hidden_layers", default=27) * towers.block(hidden, width)
    joined = hidden * _product(vision, "merge_kernel_size")
    projector = 2 * hidden + towers.linear(joined, joined) + towers.linear(joined, towers.text_hidden(outer))
    return towers.vision(encoder + projector)


def _product(cfg: Config, key: str) -> int:
    sides = cfg.items(key, of="number") or [2, 2]
    if len(sides) > 3 or not all(sides):
        raise cfg.bad(key, sides, "a list of positive whole numbers")
    result = 1
    for side in sides:
        result *= side
    return result
