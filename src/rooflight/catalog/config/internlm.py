"""InternLM 1 to 3. The first two are not in transformers: the shapes of their own repositories' code."""

from __future__ import annotations

from rooflight.catalog.config.decoder import Decoder, described

described(
    {
        "internlm": Decoder(bias=("bias", True)),
        "internlm2": Decoder(bias=("bias", False)),
        "internlm3": Decoder(
            bias=("qkv_bias attention_bias", False),
            o_bias=("bias attention_bias", False),
            mlp_bias=("bias mlp_bias", False),
        ),
    }
)
