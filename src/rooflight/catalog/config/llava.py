"""LLaVA: a Llama under CLIP or SigLIP."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import LLAMA, described
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import counts_towers
from rooflight.values.model import Tower

described({"llava": LLAMA})


@counts_towers("llava", "llava_next", "llava_next_video", "llava_onevision")
def llava_tower(outer: Config) -> tuple[Tower, ...]:
    """LLaVA: an encoder named by its section or its repository, two matrices, and after 1.5 a separator vector."""
    vision = outer.section("vision_config")
    named = outer.text("mm_vision_tower", default="openai/clip-vit-large-patch14-336")
    if vision is None and "clip-vit-large-patch14-336" not in named:
        return towers.not_counted(outer, f"the vision tower {named}")
    if vision is None:
        vision = Config({}, origin=outer.origin, path="vision_config.", parent=outer)
    encoder = towers.ENCODERS.get(vision.text("model_type", default="clip_vision_model"))
    if encoder is None:
        return towers.not_counted(outer, f"the vision tower ({vision.raw('model_type')})")
    hidden, out = vision.integer("hidden_size", default=1024), towers.text_hidden(outer)
    bias = outer.flag("multimodal_projector_bias", default=True)
    projector = towers.linear(hidden, out, bias) + towers.linear(out, out, bias)
    newline = 0 if outer.raw("model_type") == "llava" else out
    return towers.vision(encoder(vision) + projector + newline)
