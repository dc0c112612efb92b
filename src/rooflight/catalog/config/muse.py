"""Muse Glimmer: gated attention with norms that have no weights, four norms a layer."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, read
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.catalog.config.vocabulary import FULL, SLIDING
from rooflight.values.model import Tower

_GLIMMER = Decoder(
    bias=ATTENTION_BIAS, qk_norm="bare", head_dim=128, norms=4, output_gate=True, windows=Windows("every", 4, 2048)
)


@reads("muse_glimmer", "muse_glimmer_text")
def muse_glimmer(cfg: Config) -> Text:
    """Muse Glimmer: every fourth layer, counted from the last, attends everything."""
    if not cfg.has("layer_types"):
        last = cfg.layers - 1
        kinds = [SLIDING if (last - number) % 4 else FULL for number in range(cfg.layers)]
        cfg = cfg.renamed(fixed={"layer_types": kinds})
    return read(_GLIMMER, cfg)


@counts_towers("muse_glimmer")
def muse_glimmer_tower(outer: Config) -> tuple[Tower, ...]:
    """Its encoder: patches of two frames, learned positions, norms before and after; a projector of three matrices."""
    vision = towers.vision_of(outer)
    hidden, width = vision.integer("hidden_size", default=1536), vision.integer("intermediate_size", default=8960)
    frames = vision.integer("patch_temporal", default=2)
    rows = vision.integer("pos_emb_height", default=32)
    columns = vision.integer("pos_emb_width", default=32)
    encoder = towers.patches(vision, hidden, bias=False, patch=14, frames=frames) + (rows * columns + 4) * hidden
    encoder += vision.integer("num_hidden_layers", default=50) * towers.block(hidden, width)
    out, inner = outer.integer("out_hidden_size", default=6144), outer.integer("projector_hidden_size", default=4096)
    return towers.vision(encoder + out * inner + inner * inner + inner * towers.text_hidden(outer))
