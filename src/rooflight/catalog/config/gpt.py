"""GPT-2 and its descendants by other makers, and OpenAI's gpt-oss."""

from __future__ import annotations

from typing import Any

from rooflight.catalog.config.decoder import Decoder, Routed, described
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows
from rooflight.catalog.config.spellings import GPT_KEYS, gpt
from rooflight.errors import BadConfig

_POSITIONS = "max_position_embeddings"
_MOST_KINDS = 100  # of layers, in what is repeated


def _bigcode(cfg: Config) -> Config:
    """StarCoder (1): GPT-2 with one K/V head."""
    named = cfg.renamed(GPT_KEYS)
    if cfg.flag("multi_query", default=True):
        return gpt(named.renamed(fixed={"num_key_value_heads": 1}))
    return gpt(named.renamed({"num_key_value_heads": "num_attention_heads"}))


def _neo(cfg: Config) -> Config:
    """GPT-Neo: every other layer looks back over window_size tokens only."""
    named = gpt(cfg)
    kinds = cfg.items("attention_layers", of="name")
    if kinds is None:
        kinds = []
        for entry in cfg.items("attention_types", of="list") or [[["global", "local"], named.layers]]:
            if not _is_repeat(entry):
                raise cfg.bad("attention_types", entry, "[[kinds, how often], ...]")
            kinds += entry[0] * min(entry[1], named.layers)
        kinds = kinds[: named.layers]
    spelled = {"global": "full_attention", "local": "sliding_attention"}
    types = [spelled.get(kind, kind) for kind in kinds]
    return named.renamed(layer_types=types, sliding_window=cfg.integer("window_size", default=256))


def _is_repeat(entry: list[Any]) -> bool:
    if not (len(entry) == 2 and isinstance(entry[0], list) and len(entry[0]) <= _MOST_KINDS and type(entry[1]) is int):
        return False
    return all(isinstance(kind, str) for kind in entry[0])


def _opt(cfg: Config) -> Config:
    """OPT: the embedding may be narrower than the model, with a projection in and out (350M): not read."""
    named = gpt(cfg)
    narrow = cfg.integer("word_embed_proj_dim", default=named.hidden, said=False)
    if narrow == named.hidden:
        return named
    raise BadConfig(
        f"OPT with an embedding of {narrow} under a hidden size of {named.hidden} is not read",
        where=cfg.at("word_embed_proj_dim"),
        got=str(narrow),
        want=f"word_embed_proj_dim {named.hidden}",
    )


def _mpt(cfg: Config) -> Config:
    """MPT: grouped heads under attn_config; biases unless no_bias."""
    attn = cfg.section("attn_config")
    kv_heads = attn.optional("kv_n_heads") if attn else None
    heads = cfg.integer("n_heads")
    if attn and attn.text("attn_type", default="") == "multiquery_attention":
        kv_heads = 1
    named = gpt(cfg, ratio=cfg.integer("expansion_ratio", default=4))
    if not cfg.flag("no_bias", default=True):
        raise BadConfig("MPT with biases is not read", where=cfg.at("no_bias"), got="false", want="no_bias true")
    return named.renamed(fixed={"num_key_value_heads": kv_heads or heads})


_GPT = Decoder(bias=True, mlp_bias=True, gated=False, norm_weights=2, tied=True, spelled=gpt)
_GPT2 = _GPT.but(positions=(_POSITIONS, 0))
_ENABLED = ("enable_bias", True)

described(
    {
        "gpt2": _GPT2,
        "gpt_bigcode": _GPT2.but(spelled=_bigcode),
        "gpt_neo": _GPT2.but(bias=False, o_bias=True, windows=Windows("all"), spelled=_neo),
        "gptj codegen": _GPT.but(bias=False, head_bias=True, norms=1, tied=False),
        "gpt_neox": Decoder(bias=("attention_bias", True), mlp_bias=True, gated=False, norm_weights=2),
        "opt": _GPT.but(
            bias=_ENABLED,
            mlp_bias=_ENABLED,
            positions=(_POSITIONS, 2),
            final_norm=("do_layer_norm_before", True),
            spelled=_opt,
        ),
        "xglm": _GPT,
        "bloom": _GPT.but(embedding_norm=True),
        "mpt": Decoder(gated=False, tied=True, spelled=_mpt),
        "starcoder2": Decoder(
            bias=("use_bias", True),
            mlp_bias=("use_bias", True),
            gated=False,
            norm_weights=2,
            tied=True,
            windows=Windows("all"),
        ),
        "gpt_oss": Decoder(
            bias=("attention_bias", True),
            sinks=True,
            head_dim=64,
            windows=Windows("every", 2, 128),
            experts=Routed(width=("intermediate_size",), bias=True),
        ),
    }
)
