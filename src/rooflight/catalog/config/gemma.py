"""Gemma: 1 to 3, VaultGemma, Gemma 3n, Gemma 4, RecurrentGemma, PaliGemma's tower."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, described
from rooflight.catalog.config.feeds import dense, experts_of, feed_forward
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows, every
from rooflight.catalog.config.registry import DEFAULT_SIZES, Text, counts_towers, reads
from rooflight.catalog.config.vocabulary import (
    FULL,
    LINEAR,
    SLIDING,
    Half,
    Heads,
    heads_of,
    kinds_of,
    layer,
    pick,
    softmax,
    stack,
    text,
)
from rooflight.values.model import Experts, Layer, Linear, Reach, Recurrent, Tower

_GEMMA = Decoder(bias=ATTENTION_BIAS, tied=True, head_dim=256)

described(
    {
        "gemma": _GEMMA,
        "gemma2": _GEMMA.but(norms=4, windows=Windows("every", 2, 4096)),
        "gemma3_text": _GEMMA.but(norms=4, qk_norm="head", windows=Windows("every", 6, 4096)),
        "vaultgemma": _GEMMA.but(windows=Windows("every", 2, 4096)),
    }
)
DEFAULT_SIZES["gemma"] = {
    "vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 16,
}  # fmt: skip
DEFAULT_SIZES["gemma2"] = {
    "vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4,
}  # fmt: skip
DEFAULT_SIZES["gemma3_text"] = {
    **DEFAULT_SIZES["gemma2"], "vocab_size": 262208, "max_position_embeddings": 131072,
}  # fmt: skip


class _Attends:
    """The mixers of Gemma 3n and 4: queries and keys normed, near and far, the last layers with an earlier one's cache.

    equal   K and V of far layers come from one matrix (both are cached: only K is rotated)
    """

    def __init__(self, cfg: Config, shapes: dict[str, Heads], *, sharing: int, equal: bool = False) -> None:
        self.cfg, self.shapes, self.equal = cfg, shapes, equal
        shared = cfg.integer("num_kv_shared_layers", default=sharing, at_least=0)
        if shared > cfg.layers:
            raise cfg.bad("num_kv_shared_layers", shared, f"at most num_hidden_layers ({cfg.layers})")
        self.first_sharing = cfg.layers - shared
        self.window, self.bias = cfg.assumed("sliding_window", default=512), cfg.flag("attention_bias")
        self.made: dict[tuple[str, bool], Half] = {}

    def mixer(self, number: int, kind: str) -> Half:
        """The mixer of a layer. Raises BadConfig where the architecture has no such kind."""
        shares = number >= self.first_sharing
        if (kind, shares) not in self.made:
            self.made[kind, shares] = self._mixer(kind, shares)
        return self.made[kind, shares]

    def _mixer(self, kind: str, shares: bool) -> Half:
        shape, near = pick(self.cfg, "layer_types", kind, self.shapes), kind == SLIDING
        made = shape.kv // (2 if self.equal and not near else 1)
        return softmax(
            self.cfg,
            shape,
            Reach(window=self.window if near else None),
            kind=("sliding attention" if near else "full attention") + (" (shared cache)" if shares else ""),
            bias=self.bias,
            made=0 if shares else made,
            vectors=shape.head_dim if shares else shape.qk_norms,
        )


class _Side:
    """Per-layer inputs, of `width` elements (0: none): a table, and matrices in front of the layers and in each."""

    def __init__(self, cfg: Config, width: int) -> None:
        self.norms = 1 if width else 0
        self.row = cfg.layers * width
        self.table = cfg.integer("vocab_size_per_layer_input", default=262144) * self.row
        self.width = width
        self.inside: tuple[Linear, ...] = ()
        self.outside: tuple[Linear, ...] = ()
        if width:
            self.inside = (
                Linear(name="per_layer_gate", inputs=cfg.hidden, outputs=width, split="none"),
                Linear(name="per_layer_projection", inputs=width, outputs=cfg.hidden, split="none"),
            )
            self.outside = (
                Linear(name="per_layer_model_projection", inputs=cfg.hidden, outputs=self.row, split="none"),
            )


def _side_width(cfg: Config) -> int:
    """Elements of Gemma 4's per-layer inputs; an explicit 0 means the model has none, and so does the unified kind."""
    key = "hidden_size_per_layer_input"
    unified = "unified" in cfg.text("model_type", default="")
    return 0 if unified or cfg.raw(key) == 0 else cfg.assumed(key, default=256)


@reads("gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text")
def gemma4(cfg: Config) -> Text:
    """Gemma 4: wider heads in global layers, experts beside the dense feed-forward, per-layer inputs in small ones."""
    local = heads_of(cfg, head_dim=256, kv_default=4)
    equal = cfg.flag("attention_k_eq_v")
    wide = cfg.integer("global_head_dim", default=512)
    kv_heads = cfg.integer("num_global_key_value_heads", default=local.kv_heads) if equal else local.kv_heads
    far = Heads(heads=local.heads, kv_heads=kv_heads, head_dim=wide, value_dim=wide)
    side_width = _side_width(cfg)
    attends = _Attends(cfg, {SLIDING: local, FULL: far}, sharing=0, equal=equal)
    kinds = kinds_of(cfg, every(cfg, 6, most=SLIDING, nth=FULL))
    if kinds[-1] == SLIDING:
        cfg.assume("the last layer attends globally, whatever layer_types says")
        kinds[-1] = FULL
    width, widened = cfg.integer("intermediate_size"), cfg.flag("use_double_wide_mlp")
    experts = _gemma4_experts(cfg)
    side = _Side(cfg, side_width)

    def one(number: int, kind: str) -> Layer:
        wider = widened and number >= attends.first_sharing
        mlp = Half(
            kind="dense and MoE" if experts else "dense",
            linears=(*feed_forward(cfg.hidden, width * 2 if wider else width), *side.inside),
            experts=experts,
            vectors=cfg.hidden + experts.count if experts else 0,  # the scales of the router
            norms=(3 if experts else 0) + side.norms,
        )
        return layer(cfg, attends.mixer(number, kind), mlp, norms=4)

    return text(
        cfg,
        [one(number, kind) for number, kind in enumerate(kinds)],
        vocab=262144,
        tied=True,
        outside=side.outside,
        vectors=side.width,
        side_tables=side.table,
        side_row=side.row,
    )


def _gemma4_experts(cfg: Config) -> Experts | None:
    """The experts beside the dense half."""
    if not cfg.flag("enable_moe_block"):
        return None
    count = cfg.integer("num_experts")
    width = cfg.integer("moe_intermediate_size", "expert_intermediate_size")
    chosen = cfg.integer("top_k_experts")
    return experts_of(cfg, count=count, chosen=chosen, width=width, chosen_key="top_k_experts")


def _altup(hidden: int, streams: int, laurel: int) -> tuple[Linear, ...]:
    """What a Gemma 3n layer adds to attention and feed-forward: the mix of its streams and a low-rank residual."""
    return (
        Linear(name="altup_router", inputs=hidden, outputs=streams, split="none", pinned=True),
        Linear(name="altup_predict", inputs=streams, outputs=streams * streams, split="none", pinned=True),
        Linear(name="altup_correct", inputs=streams, outputs=streams, split="none", pinned=True),
        Linear(name="laurel_left", inputs=hidden, outputs=laurel, split="none"),
        Linear(name="laurel_right", inputs=laurel, outputs=hidden, split="none"),
    )


@reads("gemma3n", "gemma3n_text")
def gemma3n(cfg: Config) -> Text:
    """Gemma 3n: several residual streams, per-layer inputs, the last layers reading the caches of earlier ones."""
    hidden = cfg.hidden
    shape = heads_of(cfg, head_dim=256, kv_default=2)
    side_width = cfg.assumed("hidden_size_per_layer_input", default=256)
    streams, laurel = cfg.integer("altup_num_inputs", default=4), cfg.integer("laurel_rank", default=64)
    attends = _Attends(cfg, {FULL: shape, SLIDING: shape}, sharing=15)
    kinds = kinds_of(cfg, every(cfg, 5, most=SLIDING, nth=FULL))
    listed = isinstance(cfg.raw("intermediate_size"), list)
    widths = cfg.items("intermediate_size", of="number", length=cfg.layers) if listed else None
    side = _Side(cfg, side_width)
    extra = (*side.inside, *_altup(hidden, streams, laurel))

    def one(number: int, kind: str, width: int) -> Layer:
        # norms of the streams' router, of the low-rank residual and of the side input; a scale
        mlp = Half(kind="dense", linears=(*feed_forward(hidden, width), *extra), vectors=hidden, norms=3)
        return layer(cfg, attends.mixer(number, kind), mlp, norms=4)

    layers = zip(kinds, widths or [cfg.integer("intermediate_size")] * cfg.layers, strict=True)
    others = streams - 1
    streams_in = Linear(name="altup_in", inputs=hidden, outputs=others * hidden, split="none")
    streams_out = Linear(name="altup_out", inputs=others * hidden, outputs=others * hidden, groups=others, split="none")
    return text(
        cfg,
        [one(number, kind, width) for number, (kind, width) in enumerate(layers)],
        vocab=262400,
        tied=True,
        outside=(*side.outside, streams_in, streams_out) if others else side.outside,
        vectors=side.width,
        side_tables=side.table,
        side_row=side.row,
    )


def _rg_lru(cfg: Config, blocks: int) -> Half:
    """Griffin's recurrent block: two branches, a convolution, gates block-diagonal by head, one state a channel."""
    hidden = cfg.hidden
    width = cfg.integer("lru_width", default=hidden)
    kernel = cfg.assumed("conv1d_width", default=4)
    return Half(
        kind="recurrent",
        mixer=Recurrent(
            kind="rg-lru",
            heads=width,
            key_dim=1,
            value_dim=1,
            conv_channels=width,
            conv_kernel=kernel,
            conv_state_elements=width * (kernel - 1),
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=2 * width, bias=2 * width),
            Linear(name="input_gate", inputs=width, outputs=width, groups=blocks, bias=width),
            Linear(name="recurrent_gate", inputs=width, outputs=width, groups=blocks, bias=width),
            Linear(name="out_proj", inputs=width, outputs=hidden, bias=hidden, split="row"),
        ),
        vectors=width * (kernel + 1) + width,
    )


@reads("recurrent_gemma")
def recurrent_gemma(cfg: Config) -> Text:
    """RecurrentGemma: two recurrent blocks to one of local attention; intermediate_size counts gate and up together."""
    shape = heads_of(cfg)
    reach = Reach(window=cfg.assumed("attention_window_size", "sliding_window", default=2048))
    local = softmax(cfg, shape, reach, kind="sliding attention", o_bias=True)
    mixers = {LINEAR: _rg_lru(cfg, shape.heads), FULL: local}
    pattern = cfg.items("block_types", of="name") or ["recurrent", "recurrent", "attention"]
    pattern = [LINEAR if kind == "recurrent" else FULL if kind == "attention" else kind for kind in pattern]
    kinds = [pattern[i % len(pattern)] for i in range(cfg.layers)]
    mlp = dense(cfg, cfg.integer("intermediate_size") // 2, bias=True)
    return text(cfg, stack(cfg, kinds, mixers, mlp, key="block_types"), tied=True)


@counts_towers("gemma3")
def gemma3_tower(outer: Config) -> tuple[Tower, ...]:
    """Gemma 3: SigLIP without its head, a norm and one matrix."""
    vision = outer.section("vision_config")
    if vision is None:
        return ()
    hidden = vision.integer("hidden_size", default=1152)
    return towers.vision(towers.siglip(vision) + hidden * towers.text_hidden(outer) + hidden)


@counts_towers("paligemma")
def paligemma_tower(outer: Config) -> tuple[Tower, ...]:
    """PaliGemma: SigLIP without its head, one matrix with bias."""
    vision = towers.vision_of(outer)
    hidden = vision.integer("hidden_size", default=1152)
    out = outer.integer("projection_dim", default=towers.text_hidden(outer))
    return towers.vision(towers.siglip(vision.renamed(vision_use_head=False)) + towers.linear(hidden, out))


def _gemma4_vision(vision: Config, out: int) -> int:
    hidden, width = vision.integer("hidden_size", default=768), vision.integer("intermediate_size", default=3072)
    heads, head_dim = vision.integer("num_attention_heads", default=12), vision.integer("head_dim", default=64)
    kv_heads = vision.integer("num_key_value_heads", default=heads)
    bias = vision.flag("attention_bias")
    attention = towers.linear(hidden, heads * head_dim, bias) + 2 * towers.linear(hidden, kv_heads * head_dim, bias)
    attention += towers.linear(heads * head_dim, hidden, bias) + 2 * head_dim
    layer = attention + 3 * hidden * width + 4 * hidden
    positions = 2 * vision.integer("position_embedding_size", default=10240) * hidden
    ends = positions + towers.patches(vision, hidden, bias=False, patch=16) + hidden * out
    return ends + vision.integer("num_hidden_layers", default=16) * layer


def _gemma4_audio(audio: Config, out: int) -> int:
    """A conformer: two half feed-forwards, attention with relative positions, a convolution, in every layer."""
    hidden, heads = audio.integer("hidden_size", default=1024), audio.integer("num_attention_heads", default=8)
    stages = "its own number of stages"
    channels = audio.items("subsampling_conv_channels", of="number", length=2, length_of=stages)
    first, second = channels or (128, 32)
    kernel = audio.integer("conv_kernel_size", default=5)
    # two strided convolutions with norms, then a matrix over what is left of the bands
    front = 9 * first + first + 9 * first * second + second + second * (first // 4) * hidden
    halves = 2 * (2 * 4 * hidden * hidden + 2 * hidden)
    attention = 5 * hidden * hidden + hidden // heads
    convolution = 3 * hidden * hidden + kernel * hidden + 2 * hidden
    layers = audio.integer("num_hidden_layers", default=12) * (halves + attention + convolution + 3 * hidden)
    width = audio.integer("output_proj_dims", default=1536)
    return front + layers + towers.linear(hidden, width) + width * out


@counts_towers("gemma4")
def gemma4_tower(outer: Config) -> tuple[Tower, ...]:
    """Gemma 4: a gated vision encoder with two-axis positions, and in the small models a conformer for audio."""
    out, counted = towers.text_hidden(outer), []
    vision, audio = outer.section("vision_config"), outer.section("audio_config")
    if vision is not None:
        counted.append(Tower(name="vision", parameters=_gemma4_vision(vision, out)))
    if audio is not None:
        counted.append(Tower(name="audio", parameters=_gemma4_audio(audio, out)))
    return tuple(counted)
