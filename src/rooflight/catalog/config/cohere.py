"""Command R and A, Aya, Tiny Aya: attention and feed-forward in parallel, behind one norm."""

from __future__ import annotations

from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, Routed, described
from rooflight.catalog.config.layouts import Windows

_COHERE = Decoder(bias=ATTENTION_BIAS, norms=1, tied=True)
_COHERE2 = _COHERE.but(windows=Windows("every", 4, 4096))

described(
    {
        "cohere": _COHERE.but(qk_norm="heads", qk_norm_if=("use_qk_norm", False)),
        "cohere2": _COHERE2,
        "cohere2_moe": _COHERE2.but(
            experts=Routed(
                width=("intermediate_size",),
                shared_number=("num_shared_experts",),
                dense_width=("prefix_dense_intermediate_size", "intermediate_size"),
            )
        ),
    }
)
