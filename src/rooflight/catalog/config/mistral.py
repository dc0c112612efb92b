"""Mistral: Mistral, Ministral, Mixtral, and Mistral 4 with latent attention."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import Decoder, Routed, described
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import latents
from rooflight.catalog.config.layouts import Windows
from rooflight.catalog.config.registry import DEFAULT_SIZES, counts_towers
from rooflight.values.model import Tower

described(
    {
        "mistral ministral": Decoder(windows=Windows("all", size=4096)),
        "ministral3": Decoder(windows=Windows("all")),
        "mixtral": Decoder(windows=Windows("all"), experts=Routed(width=("intermediate_size",))),
        "mistral4": Decoder(
            mixers=latents, experts=Routed(shared_number=("n_shared_experts",), shared_default=1, dense="first")
        ),
    }
)
DEFAULT_SIZES["mistral"] = {
    "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8,
}  # fmt: skip


@counts_towers("mistral3", "ministral3")
def mistral3_tower(outer: Config) -> tuple[Tower, ...]:
    """Mistral Small 3.1 and Ministral 3: Pixtral, patches merged two by two, two matrices."""
    vision = outer.section("vision_config")
    if vision is None:
        return ()
    hidden, out = vision.integer("hidden_size", default=1024), towers.text_hidden(outer)
    merge = outer.integer("spatial_merge_size", default=2) ** 2 * hidden * hidden
    bias = outer.flag("multimodal_projector_bias")
    projector = hidden + merge + towers.linear(hidden, out, bias) + towers.linear(out, out, bias)
    return towers.vision(towers.pixtral(vision) + projector)
