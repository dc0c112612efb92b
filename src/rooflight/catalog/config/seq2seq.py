"""Encoder-decoders: T5, BART and theirs, Whisper. A prompt passes the encoder, what is put out the decoder beside it.

A decoder layer is three: attention to its own tokens, cached; attention to the encoder's output, with the feed-forward;
and the matrix that makes keys and values of that output, once a prompt, which a decode step does not read.

Sources: the config and modelling files of transformers 5 (shapes and key defaults only).
"""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.encoders import BOTH
from rooflight.catalog.config.feeds import feed_forward
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.vocabulary import Heads, stacked
from rooflight.errors import BadConfig
from rooflight.values.model import Attention, Layer, Linear

# start of transcript, language, task, no timestamps (openai/whisper, tokenizer.py: sot_sequence_including_notimestamps)
_WHISPER_STARTS = 4
_CONV = 3  # frames a convolution of Whisper's front sees


class Half(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides of an encoder-decoder are built of, one side at a time.

    bias        of all matrices; but not of keys where key_bias is False
    weights     parameters of a norm per element: 1 weight, 2 weight and bias
    """

    hidden: int
    shape: Heads
    width: int
    bias: bool = True
    key_bias: bool = True
    gated: bool = False
    weights: int = 2

    def feed(self) -> tuple[Linear, ...]:
        """The feed-forward."""
        return feed_forward(self.hidden, self.width, gated=self.gated, bias=self.bias)

    def biases(self, outputs: int, keys: int) -> int:
        """Bias entries of so many outputs, of which `keys` belong to keys."""
        return (outputs if self.key_bias else outputs - keys) if self.bias else 0

    def inputs(self, name: str, *, queries: bool = True, others: bool = True) -> Linear:
        """The matrix of queries, of keys and values, or of all of them."""
        kv = self.shape.kv if others else 0
        outputs = (self.shape.q if queries else 0) + kv
        bias = self.biases(outputs, self.shape.kv_heads * self.shape.head_dim if others else 0)
        return Linear(
            name=name, inputs=self.hidden, outputs=outputs, bias=bias, kv_outputs=kv,
            kv_heads=self.shape.kv_heads if others else 0,
        )  # fmt: skip

    def output(self) -> Linear:
        """The output matrix of attention."""
        bias = self.hidden if self.bias else 0
        return Linear(name="o", inputs=self.shape.out, outputs=self.hidden, bias=bias, split="row")

    def layer(self, kind: str, passes: str, mixer: Attention, inputs: Linear, mlp: tuple[Linear, ...]) -> Layer:
        """Attention, and a feed-forward where there is one, with a norm each."""
        norms = 2 if mlp else 1
        return Layer(
            count=1, kind=kind, passes=passes, mixer=mixer, projections=(inputs, self.output()), mlp=mlp,
            vector_parameters=norms * self.weights * self.hidden, norms=norms,
        )  # fmt: skip


def encoder_layers(side: Half, count: int) -> list[Layer]:
    """The encoder's layers: every token sees all."""
    mixer = side.shape.attention(BOTH, stores=False, rotary=False)
    one = side.layer("encoder: attention both ways + dense", "source", mixer, side.inputs("qkv"), side.feed())
    return [one] * count


def decoder_layers(side: Half, count: int) -> list[Layer]:
    """The decoder's layers, each of three, equal ones together."""
    own = side.layer("decoder: attention", "target", side.shape.attention(rotary=False), side.inputs("qkv"), ())
    crossing = side.shape.attention(stores=False, crosses=True)
    cross = side.layer(
        "decoder: cross-attention + dense", "target", crossing, side.inputs("q", others=False), side.feed()
    )
    made = Layer(
        count=1, kind="cross-attention's keys and values", passes="source",
        projections=(side.inputs("kv", queries=False),), norms=0,
    )  # fmt: skip
    return [made] * count + [own] * count + [cross] * count


def heads(cfg: Config, hidden: int, key: str, size: int | None = None) -> Heads:
    """Attention with keys and values for each head. Raises BadConfig."""
    count = cfg.integer(key)
    if size is None and hidden % count:
        raise BadConfig(
            f"d_model {hidden} % {key} {count} != 0", where=cfg.at(key), got=f"{hidden} / {count}",
            want="heads that divide the hidden size",
        )  # fmt: skip
    size = hidden // count if size is None else size
    return Heads(heads=count, kv_heads=count, head_dim=size, value_dim=size)


def both(
    cfg: Config, layers: list[Layer], *, hidden: int, tables: int, vectors: int, tied: bool, longest: int | None,
    source: int | None, starts: int = 1, looked_up: int = 1,
) -> Text:  # fmt: skip
    """The whole model around its layers; `tables`: parameters of the input tables beside the words'."""
    words = cfg.integer("vocab_size")
    head = Linear(name="lm_head", inputs=hidden, outputs=words, pinned=True)
    return Text(
        hidden=hidden, vocab=words, layers=stacked(layers), head=head,
        tied=cfg.flag("tie_word_embeddings", default=tied),
        embedding_parameters=words * hidden + tables, embedding_row=hidden * looked_up, vector_parameters=vectors,
        whole=True, max_context=longest, max_source=source, start_tokens=starts,
    )  # fmt: skip


def _sides(cfg: Config, *, key_bias: bool = True) -> tuple[Half, Half]:
    """Encoder and decoder under BART's keys."""
    hidden = cfg.integer("d_model", "hidden_size")
    found = [
        Half(
            hidden=hidden, shape=heads(cfg, hidden, f"{side}_attention_heads"), width=cfg.integer(f"{side}_ffn_dim"),
            key_bias=key_bias,
        )
        for side in ("encoder", "decoder")
    ]  # fmt: skip
    cfg.aside("num_hidden_layers", "num_attention_heads")
    return found[0], found[1]


def _bart(cfg: Config, *, table_norms: int, last_norms: int, extra_rows: int | None) -> Text:
    """BART and the like: a norm behind each table and last norms, each on both sides.

    extra_rows  of each position table beyond max_position_embeddings; None: positions are computed
    """
    first, second = _sides(cfg)
    longest = cfg.integer("max_position_embeddings", default=1024)
    layers = encoder_layers(first, cfg.integer("encoder_layers"))
    layers += decoder_layers(second, cfg.integer("decoder_layers"))
    rows = 0 if extra_rows is None else 2 * (longest + extra_rows)
    return both(
        cfg, layers, hidden=first.hidden, tables=rows * first.hidden, looked_up=2 if rows else 1, tied=True,
        vectors=(table_norms + last_norms) * 2 * 2 * first.hidden, longest=longest, source=longest,
    )  # fmt: skip


@reads("bart")
def bart(cfg: Config) -> Text:
    """BART: learned positions with two rows unused, norms behind the tables."""
    return _bart(cfg, table_norms=1, last_norms=0, extra_rows=2)


@reads("mbart")
def mbart(cfg: Config) -> Text:
    """mBART: BART with last norms."""
    return _bart(cfg, table_norms=1, last_norms=1, extra_rows=2)


@reads("m2m_100")
def m2m(cfg: Config) -> Text:
    """M2M-100 and NLLB: computed positions, last norms."""
    if cfg.optional("num_experts") and cfg.optional("encoder_sparse_step"):
        raise BadConfig(
            "NLLB with routed experts is not read", where=cfg.at("num_experts"), got=str(cfg.raw("num_experts")),
            want="a dense one",
        )  # fmt: skip
    return _bart(cfg, table_norms=0, last_norms=1, extra_rows=None)


@reads("pegasus")
def pegasus(cfg: Config) -> Text:
    """Pegasus: tables of computed positions, which files hold; last norms."""
    return _bart(cfg, table_norms=0, last_norms=1, extra_rows=0)


@reads("marian")
def marian(cfg: Config) -> Text:
    """Marian (Opus-MT): tables of computed positions, no norms but in layers."""
    return _bart(cfg, table_norms=0, last_norms=0, extra_rows=0)


@reads("whisper")
def whisper(cfg: Config) -> Text:
    """Whisper: two convolutions make 1,500 positions of 30 s of audio (3,000 frames); keys have no bias.

    Both tables of positions are counted, the encoder's computed one too, as files hold it.
    """
    first, second = _sides(cfg, key_bias=False)
    hidden, mels = first.hidden, cfg.integer("num_mel_bins", default=80)
    audio, longest = (
        cfg.integer(key, default=usual)
        for key, usual in (("max_source_positions", 1500), ("max_target_positions", 448))
    )
    fronts = [
        Layer(
            count=1, kind=f"encoder: convolution {number}", passes="source", rows=rows, norms=0,
            mlp=(Linear(name="conv", inputs=_CONV * inputs, outputs=hidden, bias=hidden, split="none", pinned=True),),
        )
        for number, inputs, rows in ((1, mels, 2), (2, hidden, 1))
    ]  # fmt: skip
    layers = [*fronts, *encoder_layers(first, cfg.integer("encoder_layers"))]
    layers += decoder_layers(second, cfg.integer("decoder_layers"))
    cfg.assume(f"a prompt is a window of 30 s of audio, {audio:,} positions; longer audio is several of them")
    cfg.assume(f"the decoder begins with {_WHISPER_STARTS} tokens: start, language, task, no timestamps")
    return both(
        cfg, layers, hidden=hidden, tables=(audio + longest) * hidden, looked_up=2, tied=True,
        vectors=2 * 2 * hidden, longest=longest, source=audio, starts=_WHISPER_STARTS,
    )  # fmt: skip


@reads("t5", "mt5", "umt5")
def t5(cfg: Config) -> Text:
    """T5: no biases, norms without bias, relative positions' table in the first layer of each side (umT5: in all)."""
    hidden, layers = cfg.integer("d_model"), cfg.integer("num_layers", "num_hidden_layers")
    shape = heads(cfg, hidden, "num_heads", cfg.integer("d_kv"))
    # converters of a first hour wrote "gelu" beside is_gated_act
    gated = cfg.text("feed_forward_proj", default="relu").startswith("gated") or cfg.flag("is_gated_act")
    side = Half(
        hidden=hidden, shape=shape, width=cfg.integer("d_ff"), bias=False, gated=gated, weights=1,
    )  # fmt: skip
    decoding = cfg.integer("num_decoder_layers", default=layers, said=False)
    buckets = cfg.integer("relative_attention_num_buckets", default=32, said=False)
    many = cfg.text("model_type", default="t5") == "umt5"
    tables = (layers + decoding if many else 2) * buckets * shape.heads
    return both(
        cfg, [*encoder_layers(side, layers), *decoder_layers(side, decoding)], hidden=hidden, tables=0,
        vectors=2 * hidden + tables, tied=True, longest=None, source=None,
    )  # fmt: skip
