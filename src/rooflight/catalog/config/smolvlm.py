"""SmolVLM and Idefics3, whose text models are Llamas."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import counts_towers
from rooflight.values.model import Tower


@counts_towers("idefics3", "smolvlm")
def idefics3_tower(outer: Config) -> tuple[Tower, ...]:
    """Idefics3 and SmolVLM: SigLIP without its head; scale_factor squared patches joined by one matrix."""
    vision = towers.vision_of(outer)
    joined = vision.integer("hidden_size", default=1152) * outer.integer("scale_factor", default=2) ** 2
    encoder = towers.siglip(vision.renamed(vision_use_head=False))
    return towers.vision(encoder + joined * towers.text_hidden(outer))
