"""Granite: dense, MoE and sliding-window kinds, and Granite 4's hybrids with Mamba-2."""

from __future__ import annotations

from rooflight.catalog.config.decoder import ATTENTION_BIAS, LLAMA, MLP_BIAS, Decoder, Routed, described
from rooflight.catalog.config.feeds import dense, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.states import named_mamba2
from rooflight.catalog.config.vocabulary import FULL, LINEAR, heads_of, kinds_of, softmax, stack, text

_MOE = Routed(width=("intermediate_size",))
_SHARED = Routed(width=("intermediate_size",), shared_width=("shared_intermediate_size",))
_SWA = Decoder(bias=ATTENTION_BIAS, sinks=True, windows=Windows("every-first", 4, 128))

described(
    {
        "granite": LLAMA,
        "granite_swa": _SWA.but(mlp_bias=MLP_BIAS, tied=True),
        "granitemoe": Decoder(bias=ATTENTION_BIAS, experts=_MOE),
        "granitemoeshared": Decoder(bias=ATTENTION_BIAS, experts=_SHARED),
        "granitemoe_swa": _SWA.but(experts=_SHARED),
    }
)


@reads("granitemoehybrid")
def granite_hybrid(cfg: Config) -> Text:
    """Granite 4: Mamba-2 and attention, experts beside a shared feed-forward; no experts means dense."""
    kinds = kinds_of(cfg, [LINEAR] * cfg.layers, "layer_types", "layers_block_type")
    mixers = {}
    if LINEAR in kinds:
        mixers[LINEAR] = named_mamba2(cfg, cfg.integer("mamba_expand", default=2) * cfg.hidden)
    else:
        cfg.aside("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv", "mamba_expand")
    if FULL in kinds:
        mixers[FULL] = softmax(cfg, heads_of(cfg))
    shared = cfg.assumed("shared_intermediate_size", default=1024)
    experts = cfg.integer("num_local_experts", default=8, at_least=0)
    if experts:
        chosen = cfg.integer("num_experts_per_tok", default=2)
        mlp = routed(cfg, count=experts, chosen=chosen, width=cfg.integer("intermediate_size"), shared=shared)
    else:
        cfg.aside("intermediate_size", "num_experts_per_tok")
        mlp = dense(cfg, shared)
    return text(cfg, stack(cfg, kinds, mixers, mlp))
