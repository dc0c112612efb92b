"""Multi-head latent attention: DeepSeek V2 to V3.2, Kimi K2, GLM-4.7-Flash, GLM-5, LongCat, MiniCPM3 and their kin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from rooflight.catalog.config.decoder import Feed, dense_feed, ends
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.moe import Moe, feeds, read_moe, routed_experts
from rooflight.catalog.config.parts import stacked
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.traits import LLAMA, MLP_BIAS, Traits
from rooflight.values.model import Indexer, LatentAttention, Layer, Linear, Reach


class Latent(msgspec.Struct, frozen=True, kw_only=True):
    """A family with latent attention.

    moe             its feed-forward (None: dense throughout)
    indexed         sparse attention with an indexer
    post_moe_norm   a norm after the routed feed-forward
    """

    moe: Moe | None = None
    base: Traits = Traits(mlp_bias=False)
    indexed: bool = False
    post_moe_norm: bool = False


def read_latent(family: Latent, cfg: Config) -> Text:
    """Latent attention under a dense or routed feed-forward."""
    count = cfg.integer("num_hidden_layers")
    feed_of = _feeds(family, cfg)
    indexers = _indexers(cfg, count) if family.indexed else [None] * count
    layers = [_layer(family, cfg, feed_of(number), indexers[number]) for number in range(count)]
    return ends(family.base, cfg, stacked(layers))


def _feeds(family: Latent, cfg: Config) -> Callable[[int], Feed]:
    if family.moe is not None:
        return feeds(family.moe, cfg)
    feed = dense_feed(family.base, cfg)
    return lambda _: feed


def _layer(family: Latent, cfg: Config, feed: Feed, indexer: str | None) -> Layer:
    hidden = cfg.integer("hidden_size")
    mixer, projections, vectors = latent_attention(cfg, indexer)
    extra = 1 if family.post_moe_norm and feed.experts is not None else 0
    kind = "MLA" if indexer is None else "sparse MLA"
    return Layer(
        count=1,
        kind=f"{kind} + {feed.kind}",
        mixer=mixer,
        projections=projections,
        mlp=feed.mlp,
        experts=feed.experts,
        vector_parameters=(2 + extra) * hidden + vectors + feed.vectors,
        norms=2 + extra,
        inner_norms=2 + (1 if indexer == "full" else 0),
    )


def latent_attention(cfg: Config, indexer: str | None = None) -> tuple[LatentAttention, tuple[Linear, ...], int]:
    """The mixer, its matrices, and its parameters that are no matrix. `indexer`: "full", "shared" or None."""
    hidden = cfg.integer("hidden_size")
    heads = cfg.integer("num_attention_heads")
    latent, rope = cfg.integer("kv_lora_rank"), cfg.integer("qk_rope_head_dim")
    nope, value = cfg.integer("qk_nope_head_dim"), _value_dim(cfg, hidden, heads)
    rank = cfg.optional("q_lora_rank")
    if "q_lora_rank" not in cfg.data:
        cfg.silent("q_lora_rank", "none (queries come from one full matrix)")
    biased = cfg.flag("attention_bias")
    queries = heads * (nope + rope)
    parts = [
        Linear(name="kv_a", inputs=hidden, outputs=latent + rope, bias=(latent + rope) * biased, split="none"),
        Linear(name="kv_b", inputs=latent, outputs=heads * (nope + value)),
        Linear(name="o", inputs=heads * value, outputs=hidden, bias=hidden * biased, split="row"),
    ]
    vectors = latent
    if rank is None:
        parts.insert(0, Linear(name="q", inputs=hidden, outputs=queries))
    else:
        vectors += rank
        parts.insert(0, Linear(name="q_a", inputs=hidden, outputs=rank, bias=rank * biased, split="none"))
        parts.insert(1, Linear(name="q_b", inputs=rank, outputs=queries))
    reach, scorer = Reach(), None
    if indexer is not None:
        reach = Reach(top_k=cfg.integer("index_topk", default=2048))
    if indexer == "full":
        scorer, matrices, more = _indexer(cfg, hidden, rank or hidden)
        parts.extend(matrices)
        vectors += more
    mixer = LatentAttention(
        reach=reach, heads=heads, latent_dim=latent, rope_dim=rope, nope_dim=nope, value_dim=value, indexer=scorer
    )
    return mixer, tuple(parts), vectors


def _value_dim(cfg: Config, hidden: int, heads: int) -> int:
    """v_head_dim; MiniCPM3's own code takes hidden size over heads where it is not given."""
    if not cfg.has("v_head_dim") and cfg.raw("model_type") == "minicpm3" and hidden % heads == 0:
        cfg.assume(f"v_head_dim is not given: {hidden // heads}, the hidden size over the heads")
        return hidden // heads
    value: int = cfg.integer("v_head_dim")
    return value


def _indexer(cfg: Config, hidden: int, rank: int) -> tuple[Indexer, tuple[Linear, ...], int]:
    """The scorer of sparse attention: queries from the query latent, one key a token, a weight a head; a LayerNorm."""
    heads = cfg.integer("index_n_heads", default=64)
    size = cfg.integer("index_head_dim", default=128)
    matrices = (
        Linear(name="index_q", inputs=rank, outputs=heads * size, split="none"),
        Linear(name="index_k", inputs=hidden, outputs=size, split="none"),
        Linear(name="index_weights", inputs=hidden, outputs=heads, split="none", pinned=True),
    )
    return Indexer(heads=heads, head_dim=size, key_dim=size), matrices, 2 * size


def _indexers(cfg: Config, count: int) -> list[str | None]:
    """Which layers run an indexer ("full") and which reuse the picks of the one before ("shared")."""
    kinds = cfg.items("indexer_types", length=count)
    if kinds is None:
        pattern = cfg.raw("index_topk_pattern")
        if isinstance(pattern, str):
            kinds = [{"F": "full", "S": "shared"}.get(mark, mark) for mark in pattern]
        elif isinstance(pattern, list):
            kinds = pattern
    if kinds is None:
        step = max(cfg.integer("index_topk_freq", default=1, said=False), 1)
        offset = cfg.integer("index_skip_topk_offset", default=2, at_least=0, said=False)
        return ["shared" if max(number - offset + 1, 0) % step else "full" for number in range(count)]
    if len(kinds) != count or not set(kinds) <= {"full", "shared"}:
        raise cfg.bad("indexer_types", kinds, f"{count} entries of full and shared")
    return list(kinds)


def read_deepseek_v2(cfg: Config) -> Text:
    """DeepSeek V2; its small multimodal siblings switch latent attention off."""
    if cfg.flag("use_mla", default=True) and cfg.has("kv_lora_rank"):
        return read_latent(Latent(moe=_V2), cfg)
    return read_moe(msgspec.structs.replace(_V2, base=LLAMA), cfg)


def read_longcat(cfg: Config) -> Text:
    """LongCat-Flash: each layer has two latent attentions, two dense feed-forwards and one MoE in a shortcut.

    A layer is two here, the second with the experts. The zero experts (identities) take part in routing and
    cost nothing; a token meets moe_topk * n_routed / (n_routed + zero) real ones on average.
    """
    count = cfg.integer("num_layers", "num_hidden_layers")
    zero = cfg.integer("zero_expert_num", default=0, at_least=0)
    dense = dense_feed(Traits(), cfg, "ffn_hidden_size", "intermediate_size")
    routed = routed_experts(Moe(chosen=("moe_topk",), width=("expert_ffn_hidden_size", "moe_intermediate_size")), cfg)
    total = routed.count + zero
    chosen = max(1, routed.chosen * routed.count // total)
    if zero:
        cfg.assume(
            f"{zero} of {total} experts are identities and cost nothing:"
            f" of the {routed.chosen} chosen, {chosen} are real on average"
        )
    router = msgspec.structs.replace(routed.router, outputs=total)
    experts = msgspec.structs.replace(routed, router=router, chosen=chosen)
    second = Feed(kind="dense beside MoE", mlp=dense.mlp, experts=experts)
    family = Latent()
    pair = [_layer(family, cfg, dense, None), _layer(family, cfg, second, None)]
    cfg.assume(f"each of the {count} layers has two attentions: counted as two layers, the second with the experts")
    return ends(family.base, cfg, stacked(pair * count))


_V3 = Moe(shared_number=("n_shared_experts",), shared_default=1, dense="first", dense_first=3)
_FIRST = msgspec.structs.replace(_V3, dense_first=1)
_V2 = Moe(
    base=Traits(mlp_bias=MLP_BIAS),
    shared_number=("n_shared_experts",),
    shared_default=2,
    shared_bias=MLP_BIAS,
    dense="first",
)
_TIED = Traits(tied=True, mlp_bias=MLP_BIAS)

LATENTS: dict[str, Latent] = {
    "deepseek_v3": Latent(moe=_V3),
    "deepseek_v32": Latent(moe=_V3, indexed=True),
    "glm_moe_dsa": Latent(moe=_V3, indexed=True),
    "glm4_moe_lite": Latent(moe=_FIRST),
    "sarvam_mla": Latent(moe=_FIRST),
    "axk1": Latent(moe=_FIRST, post_moe_norm=True),
    "mistral4": Latent(moe=msgspec.structs.replace(_V3, dense_first=0)),
    "youtu": Latent(base=Traits(tied=True)),
    "minicpm3": Latent(base=_TIED),
}

for _type, _family in LATENTS.items():
    reads(_type)(partial(read_latent, _family))
reads("deepseek_v2")(read_deepseek_v2)
reads("longcat_flash")(read_longcat)
