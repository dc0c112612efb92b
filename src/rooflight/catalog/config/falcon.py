"""Falcon: the first (RefinedWeb), Falcon-Mamba, and Falcon-H1 with both mixers in a layer."""

from __future__ import annotations

from rooflight.catalog.config.decoder import Decoder, read
from rooflight.catalog.config.feeds import dense
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.spellings import gpt
from rooflight.catalog.config.states import mamba_only, named_mamba2
from rooflight.catalog.config.vocabulary import alone, heads_of, layer, softmax, text

reads("falcon_mamba")(mamba_only)


@reads("falcon")
def falcon(cfg: Config) -> Text:
    """Falcon and its first spelling RefinedWeb: one K/V head (7B, multi_query) or a few (new decoder architecture)."""
    named = gpt(cfg)
    heads = named.integer("num_attention_heads")
    given = cfg.optional("num_kv_heads", "n_head_kv", "num_key_value_heads")
    # RefinedWeb says by n_head_kv alone that it is the new architecture
    new = cfg.flag("new_decoder_architecture", default=cfg.has("n_head_kv"))
    kv_heads = (given or heads) if new else (1 if cfg.flag("multi_query", default=True) else heads)
    parallel = cfg.flag("parallel_attn", default=True)
    two_norms = new and cfg.integer("num_ln_in_parallel_attn", default=2, said=False) == 2
    bias = cfg.flag("bias")
    norms = 2 if two_norms or not parallel else 1
    decoder = Decoder(bias=bias, mlp_bias=bias, gated=False, norm_weights=2, norms=norms, tied=True)
    return read(decoder, named.renamed(fixed={"num_key_value_heads": kv_heads}))


@reads("falcon_h1")
def falcon_h1(cfg: Config) -> Text:
    """Falcon-H1: attention and Mamba-2 side by side in every layer; the plan lists them one after the other."""
    # silence means 1024, an explicit null the usual expansion
    usual = cfg.integer("mamba_expand", default=2) * cfg.hidden
    inner = cfg.integer("mamba_d_ssm", default=usual if "mamba_d_ssm" in cfg.data else 1024)
    norm = cfg.flag("mamba_rms_norm")
    mamba = named_mamba2(cfg, inner, out_bias=cfg.flag("projectors_bias"), norm=norm)
    attention = softmax(cfg, heads_of(cfg, kv_default=8), kind="attention (beside mamba2)")
    mlp = dense(cfg, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    # both mixers read one normalised input, so the first of the pair has no norm of its own
    pair = [alone(cfg, attention, norms=0), layer(cfg, mamba, mlp)]
    return text(cfg, pair * cfg.layers)
