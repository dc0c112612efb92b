"""Multi-head latent attention: of DeepSeek since V2, and of all who took it over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import dense_layers
from rooflight.catalog.config.registry import Text
from rooflight.catalog.config.vocabulary import WIDE_GATE, Half, stack, text
from rooflight.values.model import Indexer, LatentAttention, Linear, Reach


def latents(cfg: Config) -> list[Half]:
    """Latent attention in every layer."""
    return [latent(cfg)] * cfg.layers


def sparse_latents(cfg: Config) -> list[Half]:
    """Latent attention to the positions an indexer picks: its own, or that of an earlier layer."""
    kinds = indexers(cfg, cfg.layers)
    made = {kind: latent(cfg, kind) for kind in dict.fromkeys(kinds)}
    return [made[kind] for kind in kinds]


def latent(cfg: Config, indexer: str | None = None) -> Half:
    """Latent attention. Raises BadConfig.

    indexer   "full": has one, "shared": uses the picks of an earlier layer's, None: attends everything
    """
    hidden, heads = cfg.hidden, cfg.integer("num_attention_heads")
    rank, rope = cfg.integer("kv_lora_rank"), cfg.integer("qk_rope_head_dim", at_least=0)
    nope, value = cfg.integer("qk_nope_head_dim"), _value_dim(cfg, hidden, heads)
    cfg.aside("head_dim", "num_key_value_heads", "qk_head_dim")  # of ordinary attention, or sums of these
    biased = cfg.flag("attention_bias")
    queries, q_rank = _queries(cfg, heads * (nope + rope), biased)
    parts = [
        *queries,
        Linear(name="kv_a", inputs=hidden, outputs=rank + rope, bias=(rank + rope) * biased, split="none"),
        Linear(name="kv_b", inputs=rank, outputs=heads * (nope + value)),
        Linear(name="o", inputs=heads * value, outputs=hidden, bias=hidden * biased, split="row"),
    ]
    if cfg.flag("mla_use_output_gate", *WIDE_GATE):
        parts.append(Linear(name="output_gate", inputs=hidden, outputs=heads * value))
    vectors = rank + (q_rank or 0)
    reach, scorer = Reach(), None
    if indexer is not None:
        reach = Reach(top_k=cfg.integer("index_topk", default=2048))
    if indexer == "full":
        scorer, matrices = _indexer(cfg, hidden, q_rank or hidden)
        parts.extend(matrices)
        vectors += _index_vectors(cfg)
    return Half(
        kind="MLA" if indexer is None else "sparse MLA",
        mixer=LatentAttention(
            reach=reach, heads=heads, latent_dim=rank, rope_dim=rope, nope_dim=nope, value_dim=value, indexer=scorer
        ),
        linears=tuple(parts),
        vectors=vectors,
        inner_norms=2 + (indexer == "full"),
    )


def _queries(cfg: Config, outputs: int, biased: bool) -> tuple[tuple[Linear, ...], int | None]:
    """The matrices that make the queries, through a rank of their own where one is given; and that rank."""
    rank = cfg.optional("q_lora_rank")
    if "q_lora_rank" not in cfg.data:
        cfg.silent("q_lora_rank", "none (queries come from one full matrix)")
    if rank is None:
        return (Linear(name="q", inputs=cfg.hidden, outputs=outputs),), None
    down = Linear(name="q_a", inputs=cfg.hidden, outputs=rank, bias=rank * biased, split="none")
    return (down, Linear(name="q_b", inputs=rank, outputs=outputs)), rank


def _value_dim(cfg: Config, hidden: int, heads: int) -> int:
    """v_head_dim; MiniCPM3's own code takes hidden size over heads where it is not given."""
    if not cfg.has("v_head_dim") and cfg.raw("model_type") == "minicpm3" and hidden % heads == 0:
        cfg.assume(f"v_head_dim is not given: {hidden // heads}, the hidden size over the heads")
        return hidden // heads
    value: int = cfg.integer("v_head_dim")
    return value


def _index_vectors(cfg: Config) -> int:
    """The LayerNorm of the indexer's keys, and a bias by position in the pool where keys are pooled."""
    size, pool = cfg.integer("index_head_dim", default=128), cfg.integer("index_kpool", default=1, said=False)
    return int(2 * size + (pool * size if pool > 1 else 0))


def _indexer(cfg: Config, hidden: int, rank: int) -> tuple[Indexer, tuple[Linear, ...]]:
    """The scorer of sparse attention: queries from the query latent, one key a token, a weight a head.

    GLM-5.3 pools the keys of `index_kpool` tokens into one by a learned gate: a token has that part of a key.
    """
    heads = cfg.integer("index_n_heads", default=64)
    size = cfg.integer("index_head_dim", default=128)
    pool = cfg.integer("index_kpool", default=1, said=False)
    key = -(-size // pool)
    matrices: tuple[Linear, ...] = (
        Linear(name="index_q", inputs=rank, outputs=heads * size, split="none"),
        Linear(name="index_k", inputs=hidden, outputs=size, split="none"),
        Linear(name="index_weights", inputs=hidden, outputs=heads, split="none", pinned=True),
    )
    if pool > 1:
        matrices += (Linear(name="index_gate", inputs=hidden, outputs=size, split="none"),)
    return Indexer(heads=heads, head_dim=key, key_dim=key), matrices


def indexers(cfg: Config, count: int) -> list[str | None]:
    """Which layers run an indexer ("full") and which reuse the picks of the one before ("shared")."""
    kinds = cfg.items("indexer_types", of="name", length=count)
    if kinds is None:
        pattern = cfg.raw("index_topk_pattern")
        if isinstance(pattern, str):
            kinds = [{"F": "full", "S": "shared"}.get(mark, mark) for mark in pattern[: count + 1]]
        else:
            kinds = cfg.items("index_topk_pattern", of="name")
    if kinds is None:
        step = max(cfg.integer("index_topk_freq", default=1, said=False), 1)
        offset = cfg.integer("index_skip_topk_offset", default=2, at_least=0, said=False)
        return ["shared" if max(number - offset + 1, 0) % step else "full" for number in range(count)]
    if len(kinds) != count or not all(kind in ("full", "shared") for kind in kinds):
        raise cfg.bad("indexer_types", kinds, f"{count} entries of full and shared")
    return list(kinds)


def hybrid(cfg: Config, kinds: Sequence[str], mixers: Mapping[str, Half], *, dense_first: int) -> Text:
    """Latent attention beside another mixer, and experts with a shared one after the first layers."""
    feeds = mlps(
        cfg,
        dense_layers("first", cfg, dense_first),
        routed=lambda: routed(
            cfg,
            count=cfg.integer("num_experts", "num_local_experts"),
            chosen=cfg.integer("num_experts_per_token", "num_experts_per_tok"),
            width=cfg.integer("moe_intermediate_size"),
            shared=cfg.integer("num_shared_experts", "n_shared_experts", default=1, at_least=0)
            * cfg.integer("moe_shared_expert_intermediate_size", "moe_intermediate_size"),
        ),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size")),
    )
    # what is weighed is read from before, a vector and a norm in front of each half and of the head
    residual = 2 * cfg.hidden if cfg.optional("attn_res_block_size") else 0
    # the norms inside latent attention are counted among the vectors here, not as steps of their own
    bare = {
        kind: msgspec.structs.replace(half, inner_norms=0, vectors=half.vectors + 2 * residual)
        for kind, half in mixers.items()
    }
    return text(cfg, stack(cfg, kinds, bare, feeds), vectors=residual)
