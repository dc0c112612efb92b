"""Phi: the first two, Phi-3 and 4, Phi-3-small, Phi-3.5-MoE, Phi-3-vision's tower."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, Routed, described
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows
from rooflight.catalog.config.registry import counts_towers
from rooflight.catalog.config.spellings import gpt
from rooflight.values.model import Tower

_PHI = Decoder(bias=True, mlp_bias=True, head_bias=True, gated=False, norms=1, norm_weights=2)


def _small(cfg: Config) -> Config:
    """Phi-3-small's every second layer attends in blocks."""
    if cfg.has("blocksparse_num_local_blocks"):
        cfg.assume("block-sparse attention layers are counted as full ones (their cache is)")
    return cfg.renamed({"intermediate_size": "ff_intermediate_size"})


described(
    {
        "phi-msft": _PHI.but(spelled=gpt),
        "phi": _PHI.but(qk_norm="head", qk_norm_if=("qk_layernorm", False), qk_weights=2),
        "phi3": Decoder(windows=Windows("all")),
        "phi3small": Decoder(bias=True, mlp_bias=True, norm_weights=2, tied=True, spelled=_small),
        "phimoe": Decoder(
            bias=ATTENTION_BIAS,
            norm_weights=2,
            head_bias=("lm_head_bias", False),
            windows=Windows("all"),
            experts=Routed(width=("intermediate_size",)),
        ),
    }
)


@counts_towers("phi3_v")
def phi3_vision_tower(outer: Config) -> tuple[Tower, ...]:
    """Phi-3-vision: CLIP-L/14 at 336, four patches joined, two matrices, two separator vectors."""
    image = outer.section("img_processor")
    if image is None or "clip-vit-large-patch14-336" not in image.text("model_name", default=""):
        return towers.not_counted(outer, "the vision tower (img_processor)")
    encoder = towers.clip(Config({}, origin=outer.origin, path="img_processor.", parent=outer))
    joined, out = 4 * image.integer("image_dim_out", default=1024), towers.text_hidden(outer)
    return towers.vision(encoder + towers.linear(joined, out) + towers.linear(out, out) + 2 * joined)
