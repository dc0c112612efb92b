"""MiniCPM: the first kinds (the shapes of their own code), dense or routed, and MiniCPM3 with latent attention."""

from __future__ import annotations

from rooflight.catalog.config.decoder import MLP_BIAS, Decoder, Routed, described, read
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import latents
from rooflight.catalog.config.registry import Text, reads

described({"minicpm3": Decoder(mixers=latents, tied=True, mlp_bias=MLP_BIAS)})


@reads("minicpm")
def minicpm(cfg: Config) -> Text:
    """MiniCPM: dense, or Mixtral-like where num_experts is set."""
    experts = Routed(width=("intermediate_size",)) if cfg.integer("num_experts", default=0, at_least=0) else None
    return read(Decoder(tied=True, experts=experts), cfg)
