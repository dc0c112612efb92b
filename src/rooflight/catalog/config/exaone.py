"""EXAONE: 3 under GPT's key names, 4 with windows, its MoE kind."""

from __future__ import annotations

from rooflight.catalog.config.decoder import Decoder, Routed, described
from rooflight.catalog.config.layouts import Windows

_EXAONE4 = Decoder(qk_norm="head", windows=Windows("every", 4, 4096))

described(
    {
        "exaone": Decoder(spelled=lambda cfg: cfg.renamed({"num_hidden_layers": "num_layers"})),
        "exaone4": _EXAONE4,
        "exaone_moe": _EXAONE4.but(
            experts=Routed(shared_number=("num_shared_experts",), shared_default=1, dense="first", dense_first=1)
        ),
    }
)
