"""Hunyuan: V1 dense and MoE, HY-V3."""

from __future__ import annotations

from rooflight.catalog.config.decoder import ATTENTION_BIAS, MLP_BIAS, Decoder, Routed, described

_HUNYUAN = Decoder(bias=ATTENTION_BIAS, qk_norm="head")

described(
    {
        "hunyuan_v1_dense": _HUNYUAN,
        "hunyuan_v1_moe": _HUNYUAN.but(
            experts=Routed(
                chosen=("moe_topk",),
                width=("moe_intermediate_size", "intermediate_size"),
                shared_number=("num_shared_expert",),
                shared_default=1,
            )
        ),
        "hy_v3": _HUNYUAN.but(
            mlp_bias=MLP_BIAS,
            experts=Routed(
                shared_number=("num_shared_experts",),
                shared_default=1,
                shared_bias=MLP_BIAS,
                dense="first",
                dense_first=1,
            ),
        ),
    }
)
