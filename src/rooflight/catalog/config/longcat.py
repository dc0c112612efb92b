"""LongCat-Flash."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.decoder import EXPERT_COUNT
from rooflight.catalog.config.feeds import dense, experts_of
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import latent
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.vocabulary import layer, text


@reads("longcat_flash")
def longcat(cfg: Config) -> Text:
    """LongCat-Flash: each layer has two latent attentions, two dense feed-forwards and one MoE in a shortcut.

    A layer is two here, the second with the experts. The zero experts (identities) take part in routing and
    cost nothing; a token meets moe_topk * n_routed / (n_routed + zero) real ones on average.
    """
    count = cfg.integer("num_layers", "num_hidden_layers")
    zero = cfg.integer("zero_expert_num", default=0, at_least=0)
    plain = dense(cfg, cfg.integer("ffn_hidden_size", "intermediate_size"))
    experts = experts_of(
        cfg,
        count=cfg.integer(*EXPERT_COUNT),
        chosen=cfg.integer("moe_topk"),
        width=cfg.integer("expert_ffn_hidden_size", "moe_intermediate_size"),
        chosen_key="moe_topk",
    )
    total = experts.count + zero
    chosen = max(1, experts.chosen * experts.count // total)
    if zero:
        cfg.assume(
            f"{zero} of {total} experts are identities and cost nothing:"
            f" of the {experts.chosen} chosen, {chosen} are real on average"
        )
    router = msgspec.structs.replace(experts.router, outputs=total)
    experts = msgspec.structs.replace(experts, router=router, chosen=chosen)
    beside = msgspec.structs.replace(plain, kind="dense beside MoE", experts=experts)
    mixer = latent(cfg)
    pair = [layer(cfg, mixer, plain), layer(cfg, mixer, beside)]
    cfg.assume(f"each of the {count} layers has two attentions: counted as two layers, the second with the experts")
    return text(cfg, pair * count)
