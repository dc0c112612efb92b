"""Encoders: BERT and its descendants, whose tokens see those behind them too. They put out vectors or scores.

Sources: the config and modelling files of transformers 5 (shapes and key defaults only), and the model repositories
named where transformers has no such type.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rooflight.catalog.config.feeds import dense
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.names import first_architecture
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.spellings import GPT_KEYS
from rooflight.catalog.config.vocabulary import SLIDING, Half, heads_of, kinds_of, layer, softmax, stacked
from rooflight.errors import BadConfig
from rooflight.values.model import Layer, Linear, Reach

BOTH = Reach(both=True)
_SCORE = ("forsequenceclassification", "forreranking", "ranker")
_LABEL = "fortokenclassification"
_MASKED = ("formaskedlm", "forpretraining")


class Encoder(msgspec.Struct, frozen=True, kw_only=True):
    """An encoder of learned positions as differences from BERT.

    pooler      a matrix over the first token, in the base class and in classifiers ...
    classifier  ... or a matrix of this name in classifiers
    types       rows of the table of token types where the file is silent; None: no such table
    positions   rows of the position table where the file is silent
    unused      rows of it that no token uses
    biases      further parameters of attention: the config's keys, multiplied (a table of relative positions)
    """

    pooler: bool = True
    classifier: str | None = None
    types: int | None = 2
    positions: int = 512
    unused: int = 0
    biases: tuple[str, ...] = ()


def multi_head(cfg: Config) -> Config:
    """A config in which each query head has its keys and values, as encoders of old have."""
    return cfg.renamed(fixed={"num_key_value_heads": cfg.integer("num_attention_heads")})


def attended(cfg: Config, reach: Reach = BOTH, *, bias: bool = True, rotary: bool = False) -> Half:
    """Attention both ways: nothing of it is cached."""
    shape = heads_of(cfg)
    kind = "attention both ways" if reach.window is None else "local attention both ways"
    half = softmax(cfg, shape, reach, kind=kind, bias=bias)
    return msgspec.structs.replace(half, mixer=shape.attention(reach, stores=False, rotary=rotary))


def ends(cfg: Config, name: str, *, bias: bool = True, vectors: int = 0) -> Layer:
    """A matrix from the hidden size to itself that one row a sequence passes; every device holds it whole."""
    entries = cfg.hidden if bias else 0
    linear = Linear(name=name, inputs=cfg.hidden, outputs=cfg.hidden, bias=entries, split="none", pinned=True)
    return Layer(count=1, kind=name, mlp=(linear,), vector_parameters=vectors, norms=0, passes="ends")


def scored(cfg: Config) -> bool:
    """Whether the checkpoint is of a classifier or reranker, which scores a sequence."""
    return first_architecture(cfg).lower().endswith(_SCORE)


def outputs_of(cfg: Config) -> Linear | None:
    """The matrix of a classifier's outputs, as many as it has labels; None where there is no classifier."""
    architecture = first_architecture(cfg)
    if not architecture.lower().endswith((*_SCORE, _LABEL)):
        return None
    labels = cfg.raw("id2label")
    usual = len(labels) if isinstance(labels, Mapping) and labels else 2
    outputs = cfg.integer("num_labels", default=usual, said=False)
    what = "a sequence" if scored(cfg) else "each token"
    cfg.assume(f"{architecture} scores {what} with {outputs} output{'s' if outputs > 1 else ''}")
    return Linear(name="score", inputs=cfg.hidden, outputs=outputs, bias=outputs, split="none", pinned=True)


def encoder(
    cfg: Config, layers: list[Layer], *, tables: int, looked_up: int, vectors: int, longest: int | None,
    outside: tuple[Linear, ...] = (), width: int | None = None,
) -> Text:  # fmt: skip
    """The encoder around its layers.

    tables      rows of the input tables beside the words; looked_up: how many of them a token looks up
    width       of the tables, where it is not the hidden size
    """
    name = first_architecture(cfg)
    if name.lower().endswith(_MASKED):
        cfg.assume(f"{name}: the encoder is counted, its head for masked words is not, as only training runs that")
    score, wide, words = outputs_of(cfg), width or cfg.hidden, cfg.integer("vocab_size")
    each = score is not None and not scored(cfg)  # a score of each token
    return Text(
        hidden=cfg.hidden, vocab=words, layers=stacked(layers), tied=False, head=None if each else score,
        embedding_parameters=(words + tables) * wide, embedding_row=(1 + looked_up) * wide,
        outside=(*outside, score) if each and score is not None else outside, vector_parameters=vectors, whole=True,
        max_context=longest,
    )  # fmt: skip


def read(kind: Encoder, cfg: Config) -> Text:
    """BERT and the like: a norm behind each half and behind the tables. Raises BadConfig.

    Jina's second generation says "alibi" and "geglu" (jinaai/jina-bert-implementation): no positions, gates without
    bias. Its third says "rotary" (jinaai/xlm-roberta-flash-implementation).
    """
    if cfg.flag("is_decoder"):
        raise BadConfig(
            "an encoder that is run as a decoder is not read", where=cfg.at("is_decoder"), got="true", want="false"
        )
    cfg = multi_head(cfg)
    placed = cfg.text("position_embedding_type", default="absolute")
    learned = placed not in ("alibi", "rotary")
    rows = cfg.integer("max_position_embeddings", default=kind.positions)
    types = 0 if kind.types is None else cfg.integer("type_vocab_size", default=kind.types, at_least=0, said=False)
    gated = cfg.text("feed_forward_type", default="original").endswith("glu")
    feed = dense(cfg, cfg.integer("intermediate_size"), gated=gated, bias=True)
    if gated:
        up, down = feed.linears
        feed = msgspec.structs.replace(feed, linears=(msgspec.structs.replace(up, bias=0), down))
    layers = [layer(cfg, attended(cfg, rotary=placed == "rotary"), feed, weights=2)] * cfg.layers
    if scored(cfg) and kind.classifier is not None:
        layers.append(ends(cfg, kind.classifier))
    elif kind.pooler:
        layers.append(ends(cfg, "pooler"))
    if cfg.raw("lora_adaptations"):
        cfg.assume("lora_adaptations: the adapters are not counted")
        cfg.aside("lora_rank", "lora_alpha")
    cfg.aside("pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head")
    width = cfg.integer("embedding_size", default=cfg.hidden, said=False)
    narrow = (Linear(name="embeddings_project", inputs=width, outputs=cfg.hidden, bias=cfg.hidden, split="none"),)
    relative = 1 if kind.biases else 0
    for key in kind.biases:
        relative *= cfg.integer(key, default=32)
    return encoder(
        cfg, layers, tables=(rows if learned else 0) + types, looked_up=int(learned) + bool(types),
        vectors=2 * width + relative, longest=rows - (kind.unused if learned else 0),
        outside=narrow if width != cfg.hidden else (), width=width,
    )  # fmt: skip


_ROBERTA = Encoder(classifier="dense", positions=514, unused=2)
_MPNET = Encoder(
    classifier="dense", types=None, positions=514, unused=2,
    biases=("relative_attention_num_buckets", "num_attention_heads"),
)  # fmt: skip


@reads("bert")
def bert(cfg: Config) -> Text:
    """BERT, MiniLM, E5, BGE, GTE and Jina of their first generations."""
    return read(Encoder(), cfg)


@reads("roberta", "xlm-roberta", "camembert")
def roberta(cfg: Config) -> Text:
    """RoBERTa and XLM-R: BERT with two rows of the position table unused, and a classifier of its own."""
    return read(_ROBERTA, cfg)


@reads("mpnet")
def mpnet(cfg: Config) -> Text:
    """MPNet: RoBERTa without token types, and one table of relative positions for all layers."""
    return read(_MPNET, cfg)


@reads("electra")
def electra(cfg: Config) -> Text:
    """ELECTRA: BERT whose tables may be narrower, without a pooler."""
    return read(Encoder(pooler=False, classifier="dense"), cfg)


@reads("distilbert")
def distilbert(cfg: Config) -> Text:
    """DistilBERT: BERT under other keys, without token types and pooler."""
    keys = {"hidden_size": "dim", "intermediate_size": "hidden_dim", "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads"}  # fmt: skip
    return read(Encoder(pooler=False, classifier="pre_classifier", types=None), cfg.renamed(keys))


@reads("modernbert")
def modernbert(cfg: Config) -> Text:
    """ModernBERT: rotary positions, gated feed-forwards, norms in front; every third layer sees all, others near ones.

    local_attention is the width of both sides together: 128 is 64 on each side, and the token itself.
    """
    cfg = multi_head(cfg)
    bias, norm = cfg.flag("attention_bias"), 2 if cfg.flag("norm_bias") else 1
    step = cfg.integer("global_attn_every_n_layers", default=3, said=False)
    near = Reach(both=True, window=cfg.integer("local_attention", default=128) // 2 + 1)
    kinds = kinds_of(cfg, [SLIDING if number % step else "full_attention" for number in range(cfg.layers)])
    feed = dense(cfg, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    made = {kind: attended(cfg, near if kind == SLIDING else BOTH, bias=bias, rotary=True) for kind in set(kinds)}
    layers = [layer(cfg, made[kind], feed, weights=norm) for kind in kinds]
    # the first layer has no norm of its own: the one behind the tables stands in front of it
    layers[0] = layer(cfg, made[kinds[0]], feed, norms=1, weights=norm)
    if scored(cfg):
        layers.append(ends(cfg, "dense", bias=cfg.flag("classifier_bias"), vectors=norm * cfg.hidden))
    longest = cfg.integer("max_position_embeddings", default=8192)
    return encoder(cfg, layers, tables=0, looked_up=0, vectors=2 * norm * cfg.hidden, longest=longest)


@reads("nomic_bert")
def nomic(cfg: Config) -> Text:
    """Nomic's BERT (nomic-ai/nomic-bert-2048): rotary positions, gated feed-forwards, no biases but in norms."""
    cfg = multi_head(cfg.renamed(GPT_KEYS))
    if cfg.integer("num_experts", default=0, at_least=0):
        raise BadConfig(
            "Nomic's BERT with routed experts is not read", where=cfg.at("num_experts"),
            got=str(cfg.raw("num_experts")), want="no num_experts",
        )  # fmt: skip
    gated = cfg.text("activation_function", default="swiglu").endswith("glu")
    feed = dense(cfg, cfg.integer("intermediate_size"), gated=gated, bias=cfg.flag("mlp_fc1_bias"))
    half = attended(cfg, bias=cfg.flag("qkv_proj_bias"), rotary=True)
    types = cfg.integer("type_vocab_size", default=2, at_least=0)
    layers = [layer(cfg, half, feed, weights=2)] * cfg.layers
    longest = cfg.optional("max_position_embeddings")
    return encoder(cfg, layers, tables=types, looked_up=int(types > 0), vectors=2 * cfg.hidden, longest=longest)


@reads("new")
def new(cfg: Config) -> Text:
    """GTE of the second generation (Alibaba-NLP/new-impl): rotary positions, gates without bias."""
    cfg = multi_head(cfg)
    feed = dense(cfg, cfg.integer("intermediate_size"), bias=True)
    up, down = feed.linears
    feed = msgspec.structs.replace(feed, linears=(msgspec.structs.replace(up, bias=0), down))
    types = cfg.integer("type_vocab_size", default=1, at_least=0)
    layers = [layer(cfg, attended(cfg, rotary=True), feed, weights=2)] * cfg.layers
    if scored(cfg):
        layers.append(ends(cfg, "pooler"))
    longest = cfg.optional("max_position_embeddings")
    return encoder(cfg, layers, tables=types, looked_up=int(types > 0), vectors=2 * cfg.hidden, longest=longest)


@reads("eurobert")
def eurobert(cfg: Config) -> Text:
    """EuroBERT: a Llama whose tokens see both ways."""
    half = attended(cfg, bias=cfg.flag("attention_bias"), rotary=True)
    feed = dense(cfg, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    layers = [layer(cfg, half, feed)] * cfg.layers
    if scored(cfg):
        layers.append(ends(cfg, "dense", bias=False))
    longest = cfg.integer("max_position_embeddings", default=8192)
    return encoder(cfg, layers, tables=0, looked_up=0, vectors=cfg.hidden, longest=longest)
