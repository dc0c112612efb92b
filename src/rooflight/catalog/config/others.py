"""Lines of a type or two that differ in details only, a row each."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.decoder import (
    ATTENTION_BIAS,
    LLAMA,
    MLP_BIAS,
    USE_BIAS,
    Decoder,
    Routed,
    described,
)
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import latents
from rooflight.catalog.config.layouts import Windows
from rooflight.catalog.config.spellings import GPT_KEYS


def _dbrx(cfg: Config) -> Config:
    """DBRX: sizes under attn_config and ffn_config, norms without bias."""
    attn, ffn = cfg.section("attn_config"), cfg.section("ffn_config")
    if attn is None or ffn is None:
        raise cfg.bad("attn_config" if attn is None else "ffn_config", None, "an object")
    return cfg.renamed(
        GPT_KEYS,
        fixed={
            "num_key_value_heads": attn.integer("kv_n_heads", default=1),
            "moe_intermediate_size": ffn.integer("ffn_hidden_size", default=3584),
            "num_experts": ffn.integer("moe_num_experts", default=4),
            "num_experts_per_tok": ffn.integer("moe_top_k", default=1),
        },
    )


_FIRST = Routed(shared_number=("n_shared_experts",), shared_default=1, dense="first", dense_first=1)
_FIRST_AND_NORM = msgspec.structs.replace(_FIRST, norm_behind=True)

described(
    {
        "afmoe": Decoder(
            bias=ATTENTION_BIAS,
            qk_norm="head",
            norms=4,
            windows=Windows("every", 4, 1024),
            output_gate=True,
            experts=Routed(
                shared_number=("num_shared_experts",),
                shared_default=2,
                dense="first",
                dense_first=1,
                correction=True,
            ),
        ),
        "apertus": Decoder(bias=ATTENTION_BIAS, gated=False, qk_norm="head", extra=2),
        "arcee": LLAMA.but(gated=False),
        "axk1": Decoder(mixers=latents, experts=_FIRST_AND_NORM),
        "cwm": Decoder(mlp_bias=MLP_BIAS, head_dim=128, windows=Windows("every-first", 4, 8192)),
        "dbrx": Decoder(experts=Routed(), spelled=_dbrx),
        "dots1": Decoder(
            bias=ATTENTION_BIAS,
            qk_norm="head",
            windows=Windows("from", size=4096),
            experts=Routed(shared_number=("n_shared_experts",), dense="first"),
        ),
        "ernie4_5": Decoder(bias=USE_BIAS, mlp_bias=USE_BIAS, tied=True, head_dim=128),
        "ernie4_5_moe": Decoder(
            bias=USE_BIAS,
            mlp_bias=USE_BIAS,
            head_bias=USE_BIAS,
            tied=True,
            experts=Routed(
                chosen=("moe_k",),
                shared_number=("moe_num_shared_experts",),
                shared_default=2,
                shared_bias=USE_BIAS,
                dense="between",
                correction=True,
            ),
        ),
        "helium": LLAMA.but(o_bias=False),
        "hyperclovax": LLAMA.but(post_norms_if=("use_post_norm", True)),
        "iquestcoder": LLAMA,
        "jais2": Decoder(bias=("attention_bias", True), mlp_bias=("mlp_bias", True), gated=False, norm_weights=2),
        "mellum": Decoder(bias=ATTENTION_BIAS, qk_norm="head", experts=Routed()),
        "nanochat": Decoder(bias=ATTENTION_BIAS, gated=False, norm_weights=0, qk_norm="bare"),
        # modeling_openpangu_dense.py of the model repository: one flag for all four matrices of attention
        "panguembedded": LLAMA.but(bias=("bias", True), mlp_bias=False),
        "persimmon": Decoder(
            bias=True,
            mlp_bias=True,
            gated=False,
            norm_weights=2,
            qk_norm="head",
            qk_norm_if=("qk_layernorm", True),
            qk_weights=2,
        ),
        "sarvam_mla": Decoder(mixers=latents, experts=_FIRST),
        "sarvam_moe": Decoder(
            bias=ATTENTION_BIAS,
            o_bias=False,
            qk_norm="head",
            qk_norm_if=("use_qk_norm", True),
            experts=Routed(
                shared_number=("n_shared_experts", "num_shared_experts"),
                shared_default=1,
                dense="first",
                dense_first=1,
            ),
        ),
        "seed_oss": Decoder(
            bias=("attention_bias", True), o_bias=("attention_out_bias", False), mlp_bias=MLP_BIAS, head_dim=128
        ),
        "smollm3": LLAMA.but(tied=True, windows=Windows("nope", 4, when=("use_sliding_window", False))),
        "solar_open": Decoder(
            bias=ATTENTION_BIAS, o_bias=False, experts=Routed(shared_number=("n_shared_experts",), shared_default=1)
        ),
        # config.json of XHToken/Spark-X2.5-4B, whose gates are one a head (headwise_attn_output_gate)
        "spark2_5": LLAMA.but(head_dim=256, windows=Windows("every", 4, 512)),
        "stablelm": Decoder(
            bias=("use_qkv_bias", False),
            o_bias=False,
            norm_weights=2,
            one_norm_if=("use_parallel_residual", False),
            qk_norm="heads",
            qk_norm_if=("qk_layernorm", False),
        ),
        "youtu": Decoder(mixers=latents, tied=True),
        # not in transformers: the shapes of their own repositories' code
        "aquila baichuan skywork xverse yi": Decoder(),
        "orion": Decoder(norm_weights=2),
    }
)
