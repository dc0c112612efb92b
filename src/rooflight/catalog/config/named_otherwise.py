"""Decoders whose configs name the same sizes by other keys: renamed first, then read as any other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from rooflight.catalog.config.decoder import ends, read_decoder
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.moe import Moe, read_moe
from rooflight.catalog.config.parts import Heads, attention, feed_forward, qkv_o, stacked
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.traits import RENAMED, Traits
from rooflight.errors import BadConfig
from rooflight.values.model import Layer, Linear


class Renamed(Config):
    """A config under the usual key names; errors still name the keys of the file."""

    def __init__(
        self,
        cfg: Config,
        names: Mapping[str, tuple[str, ...]],
        *,
        fixed: Mapping[str, Any] | None = None,
        **silent: Any,
    ) -> None:
        """`fixed` replaces what the file says, `silent` fills in where it says nothing."""
        data = dict(cfg.data)
        self.spelled: dict[str, str] = dict(cfg.spelled) if isinstance(cfg, Renamed) else {}
        for usual, others in names.items():
            for other in others:
                if cfg.data.get(other) is not None:
                    data[usual] = cfg.data[other]
                    self.spelled[usual] = other
                    break
        data.update((key, value) for key, value in silent.items() if data.get(key) is None)
        data.update(fixed or {})
        super().__init__(data, origin=cfg.origin, path=cfg.path, parent=cfg)

    def at(self, key: str) -> str:
        return super().at(self.spelled.get(key, key))


_GPT_KEYS = {
    "hidden_size": ("n_embd", "d_model", "hidden_size", "n_embed"),
    "num_hidden_layers": ("n_layer", "num_layers", "num_hidden_layers", "n_layers"),
    "num_attention_heads": ("n_head", "num_heads", "num_attention_heads", "n_heads", "attention_heads"),
    "intermediate_size": ("n_inner", "ffn_dim", "intermediate_size", "ffn_hidden_size"),
    "max_position_embeddings": ("n_positions", "max_position_embeddings", "max_seq_len", "seq_length"),
    "num_key_value_heads": ("n_head_kv", "num_kv_heads", "num_key_value_heads"),
}


def gpt(cfg: Config, *, ratio: int = 4) -> Renamed:
    """The keys of GPT-2's descendants; the feed-forward is `ratio` hidden sizes wide where the file is silent."""
    named = Renamed(cfg, _GPT_KEYS)
    hidden, heads = named.integer("hidden_size"), named.integer("num_attention_heads")
    return Renamed(named, {}, intermediate_size=ratio * hidden, num_key_value_heads=heads)


def read_gpt(traits: Traits, cfg: Config) -> Text:
    """GPT-2, GPT-J, CodeGen, XGLM, BLOOM and the first Phi: multi-head attention, a feed-forward 4 times as wide."""
    return read_decoder(traits, gpt(cfg))


def read_bigcode(traits: Traits, cfg: Config) -> Text:
    """StarCoder (1): GPT-2 with one K/V head."""
    named = Renamed(cfg, _GPT_KEYS)
    if cfg.flag("multi_query", default=True):
        named = Renamed(named, {}, fixed={"num_key_value_heads": 1})
    else:
        named = Renamed(named, {"num_key_value_heads": ("num_attention_heads",)})
    return read_gpt(traits, named)


def read_gpt_neo(traits: Traits, cfg: Config) -> Text:
    """GPT-Neo: every other layer looks back over window_size tokens only."""
    named = gpt(cfg)
    layers = named.integer("num_hidden_layers")
    kinds = cfg.items("attention_layers")
    if kinds is None:
        kinds = []
        for entry in cfg.items("attention_types") or [[["global", "local"], layers]]:
            if not (
                isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list) and isinstance(entry[1], int)
            ):
                raise cfg.bad("attention_types", entry, "[[kinds, how often], ...]")
            kinds += entry[0] * entry[1]
        kinds = kinds[:layers]
    spelled = {"global": "full_attention", "local": "sliding_attention"}
    types = [spelled.get(kind, kind) for kind in kinds]
    window = cfg.integer("window_size", default=256)
    named = Renamed(named, {}, layer_types=types, sliding_window=window)
    return read_decoder(msgspec.structs.replace(traits, windows="all"), named)


def read_opt(traits: Traits, cfg: Config) -> Text:
    """OPT: the embedding may be narrower than the model, with a projection in and out (350M)."""
    named = gpt(cfg)
    text = read_decoder(traits, named)
    narrow = cfg.integer("word_embed_proj_dim", default=text.hidden, said=False)
    if narrow == text.hidden:
        return text
    raise BadConfig(
        f"OPT with an embedding of {narrow} under a hidden size of {text.hidden} is not read",
        where=cfg.at("word_embed_proj_dim"),
        got=str(narrow),
        want=f"word_embed_proj_dim {text.hidden}",
    )


def read_mpt(traits: Traits, cfg: Config) -> Text:
    """MPT: grouped heads under attn_config; biases unless no_bias."""
    attn = cfg.section("attn_config")
    kv_heads = attn.optional("kv_n_heads") if attn else None
    heads = cfg.integer("n_heads")
    if attn and attn.text("attn_type", default="") == "multiquery_attention":
        kv_heads = 1
    ratio = cfg.integer("expansion_ratio", default=4)
    named = Renamed(gpt(cfg, ratio=ratio), {}, fixed={"num_key_value_heads": kv_heads or heads})
    if not cfg.flag("no_bias", default=True):
        raise BadConfig("MPT with biases is not read", where=cfg.at("no_bias"), got="false", want="no_bias true")
    return read_decoder(traits, named)


def read_falcon(cfg: Config) -> Text:
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
    named = Renamed(named, {}, fixed={"num_key_value_heads": kv_heads})
    traits = Traits(
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=bias,
        gated=False,
        norm_vectors=2,
        norms=2 if two_norms or not parallel else 1,
        tied=True,
    )
    return read_decoder(traits, named)


def read_chatglm(cfg: Config) -> Text:
    """ChatGLM 2 and 3, GLM-4 under its first name: fused gated feed-forward, few K/V groups."""
    heads = cfg.integer("num_attention_heads")
    groups = cfg.integer("multi_query_group_num", default=2) if cfg.flag("multi_query_attention") else heads
    if not cfg.has("ffn_hidden_size", "intermediate_size"):
        raise cfg.bad("ffn_hidden_size", None, "given (the first ChatGLM-6B, of 2D positions, is not read)")
    named = Renamed(
        cfg,
        {
            "num_hidden_layers": ("num_layers", "num_hidden_layers"),
            "vocab_size": ("padded_vocab_size", "vocab_size"),
            "intermediate_size": ("ffn_hidden_size",),
            "head_dim": ("kv_channels",),
            "max_position_embeddings": ("seq_length",),
        },
        fixed={"num_key_value_heads": groups},
    )
    traits = RENAMED["chatglm"]
    if not cfg.flag("rmsnorm", default=True):
        traits = msgspec.structs.replace(traits, norm_vectors=2)
    return read_decoder(traits, named)


def read_qwen(cfg: Config) -> Text:
    """The first Qwen: intermediate_size counts gate and up together, so each is half as wide."""
    width = cfg.integer("intermediate_size")
    fixed = {"intermediate_size": width // 2, "num_key_value_heads": cfg.integer("num_attention_heads")}
    named = Renamed(cfg, {"head_dim": ("kv_channels",)}, fixed=fixed)
    cfg.assume(f"the first Qwen's intermediate_size ({width}) is gate and up together: each is {width // 2} wide")
    return read_decoder(RENAMED["qwen"], named)


def read_exaone(cfg: Config) -> Text:
    """EXAONE 3: Llama under GPT's key names."""
    return read_decoder(RENAMED["exaone"], Renamed(cfg, {"num_hidden_layers": ("num_layers",)}))


def read_dbrx(cfg: Config) -> Text:
    """DBRX: sizes under attn_config and ffn_config, norms without bias."""
    attn, ffn = cfg.section("attn_config"), cfg.section("ffn_config")
    if attn is None or ffn is None:
        raise cfg.bad("attn_config" if attn is None else "ffn_config", None, "an object")
    fixed = {
        "num_key_value_heads": attn.integer("kv_n_heads", default=1),
        "moe_intermediate_size": ffn.integer("ffn_hidden_size", default=3584),
        "num_experts": ffn.integer("moe_num_experts", default=4),
        "num_experts_per_tok": ffn.integer("moe_top_k", default=1),
    }
    return read_moe(Moe(), Renamed(cfg, _GPT_KEYS, fixed=fixed))


def read_phi3_small(cfg: Config) -> Text:
    """Phi-3-small: biased LayerNorms and matrices, a gated GELU; every second layer attends in blocks."""
    named = Renamed(cfg, {"intermediate_size": ("ff_intermediate_size",)})
    if cfg.has("blocksparse_num_local_blocks"):
        cfg.assume("block-sparse attention layers are counted as full ones (their cache is)")
    return read_decoder(RENAMED["phi3small"], named)


def read_nemotron_nas(cfg: Config) -> Text:
    """Llama-Nemotron (NAS): each layer has its own K/V heads and feed-forward width, or none."""
    hidden = cfg.integer("hidden_size")
    blocks = cfg.items("block_configs", length=cfg.integer("num_hidden_layers"))
    if blocks is None:
        raise cfg.bad("block_configs", None, "a list of one object a layer")
    layers = [_nas_layer(Config(block, origin=cfg.origin, path=f"block_configs[{i}].", parent=cfg), cfg, hidden)
              for i, block in enumerate(blocks)]  # fmt: skip
    return ends(Traits(), cfg, stacked(layers))


def _nas_layer(block: Config, cfg: Config, hidden: int) -> Layer:
    heads = cfg.integer("num_attention_heads")
    projections: tuple[Linear, ...] = ()
    mixer, kinds, norms = None, [], 0
    attn, ffn = block.section("attention"), block.section("ffn")
    if attn is not None and not attn.flag("no_op"):
        norms += 1
        if attn.flag("replace_with_linear"):
            projections = (Linear(name="attention_linear", inputs=hidden, outputs=hidden),)
            kinds.append("linear map")
        else:
            size = cfg.integer("head_dim", default=hidden // heads)
            shape = Heads(
                heads=heads, kv_heads=heads // attn.integer("n_heads_in_group"), head_dim=size, value_dim=size
            )
            mixer, projections = attention(shape), qkv_o(hidden, shape)
            kinds.append("attention")
    mlp: tuple[Linear, ...] = ()
    if ffn is not None and not ffn.flag("no_op"):
        norms += 1
        if ffn.flag("replace_with_linear"):
            mlp = (Linear(name="mlp_linear", inputs=hidden, outputs=hidden),)
            kinds.append("linear map")
        else:
            mlp = feed_forward(hidden, _nas_width(ffn, hidden))
            kinds.append("dense")
    return Layer(
        count=1,
        kind=" + ".join(kinds) or "nothing",
        mixer=mixer,
        projections=projections,
        mlp=mlp,
        vector_parameters=norms * hidden,
        norms=norms,
    )


def _nas_width(ffn: Config, hidden: int) -> int:
    """intermediate_size, or the multiple of 2/3 hidden sizes rounded up to 256 that ffn_mult stands for."""
    if ffn.has("intermediate_size"):
        width: int = ffn.integer("intermediate_size")
        return width
    exact = int(2 * ffn.number("ffn_mult") * hidden / 3)
    return -(-exact // 256) * 256


_GPTS = ("gpt2", "gptj", "codegen", "xglm", "bloom", "phi-msft")
for _type in _GPTS:
    reads(_type)(partial(read_gpt, RENAMED[_type]))
reads("gpt_bigcode")(partial(read_bigcode, RENAMED["gpt_bigcode"]))
reads("gpt_neo")(partial(read_gpt_neo, RENAMED["gpt_neo"]))
reads("opt")(partial(read_opt, RENAMED["opt"]))
reads("mpt")(partial(read_mpt, RENAMED["mpt"]))
reads("falcon")(read_falcon)
reads("chatglm")(read_chatglm)
reads("qwen")(read_qwen)
reads("exaone")(read_exaone)
reads("dbrx")(read_dbrx)
reads("phi3small")(read_phi3_small)
reads("nemotron-nas")(read_nemotron_nas)
