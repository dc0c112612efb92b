"""A model as a plan of parts: weight matrices, what mixes tokens, and how often each layer occurs.

Only shapes and storage formats: no weights, no code, no machine.
"""

from __future__ import annotations

import msgspec

from rooflight.values.shown import Displayed


class Linear(msgspec.Struct, frozen=True, kw_only=True):
    """y[tokens, outputs] = x[tokens, inputs] W (+ bias), applied to every token that reaches it.

    groups      block-diagonal matrices hold inputs * outputs / groups weights
    bias        bias entries (0 if none)
    format      storage format id (values.formats)
    split       how tensor parallelism shares it: "column" (by outputs), "row" (by inputs, an
                all-reduce follows) or "none" (every device holds the whole)
    kv_outputs  of `outputs`, those that belong to K and V heads ...
    kv_heads    ... of which there are so many: they are shared no further than that
    pinned      keeps its format when a deployment asks for another one (router, lm_head, ...)
    stored_bytes    what a file holds of it in its format, bias included (None: no file was read; the format says it)
    """

    name: str
    inputs: int
    outputs: int
    groups: int = 1
    bias: int = 0
    format: str = "bf16"
    split: str = "column"
    kv_outputs: int = 0
    kv_heads: int = 0
    pinned: bool = False
    stored_bytes: float | None = None


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """Which earlier positions a query attends, itself included; p = tokens up to and with the query.

    all None    all p
    window      the last min(p, window)
    chunk       those of its own chunk: (p - 1) mod chunk + 1
    top_k       the min(p, top_k) that an indexer picks
    stride      keys are kept once per `stride` tokens: floor(p / stride) of them (or the top_k of those),
                beside the last `window` uncompressed ones
    """

    window: int | None = None
    chunk: int | None = None
    top_k: int | None = None
    stride: int = 1


class Indexer(msgspec.Struct, frozen=True, kw_only=True):
    """The small scorer of sparse attention: heads * head_dim queries against one cached key a position."""

    heads: int
    head_dim: int
    key_dim: int


class Attention(msgspec.Struct, frozen=True, kw_only=True, tag="attention"):
    """Softmax attention over K and V heads (MHA, GQA, MQA).

    head_dim, value_dim     elements of a query/key head and of a value head
    cache_elements          elements cached per cached position (normally kv_heads * (head_dim + value_dim);
                            kv_heads * head_dim where K and V are one tensor)
    stores                  False: reads the cache of an earlier layer and appends nothing
    fixed_context           cross-attention: so many positions, whatever the text length
    sinks                   learned sink logits beside the keys (no cache, no product)
    """

    reach: Reach = Reach()
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    cache_elements: int
    indexer: Indexer | None = None
    stores: bool = True
    fixed_context: int | None = None
    sinks: bool = False


class LatentAttention(msgspec.Struct, frozen=True, kw_only=True, tag="latent"):
    """Multi-head latent attention (MLA): the cache holds latent_dim + rope_dim elements a token.

    Prefill expands the latent to heads (nope_dim + rope_dim per key, value_dim per value); decode
    absorbs the expansion into query and output and attends the latent itself. The expansion matrix
    is the projection named "kv_b".
    """

    reach: Reach = Reach()
    heads: int
    latent_dim: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    indexer: Indexer | None = None


class Recurrent(msgspec.Struct, frozen=True, kw_only=True, tag="recurrent"):
    """A mixer whose memory does not grow: state-space, linear attention, short convolution.

    kind            "mamba1", "mamba2", "gated-delta", "kda", "lightning", "rg-lru", "short-conv", ...
    heads, key_dim, value_dim   the state is heads x key_dim x value_dim
                    (mamba1: channels x state size x 1; mamba2: heads x state size x head dim)
    conv_channels, conv_kernel  the causal depthwise convolution in front of it
    conv_state_elements         what of it is carried between steps, in the activation format
    state_bytes_per_element     4 where the state is carried in fp32
    """

    kind: str
    heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    conv_channels: int = 0
    conv_kernel: int = 0
    conv_state_elements: int = 0
    state_bytes_per_element: int = 4


Mixer = Attention | LatentAttention | Recurrent


class Experts(msgspec.Struct, frozen=True, kw_only=True):
    """Routed experts: each token uses `chosen` of `count`, each a copy of `linears`.

    groups, chosen_groups   blocks the experts lie in, and of how many of them a token may choose (1: no such limit)
    """

    count: int
    chosen: int
    linears: tuple[Linear, ...]
    router: Linear
    groups: int = 1
    chosen_groups: int = 1


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """`count` layers of equal shape.

    projections         the mixer's matrices ("qkv", "o", "q_a", ...)
    mlp                 feed-forward that every token passes: dense, or the shared experts of an MoE
    vector_parameters   everything that is no matrix: norms, convolutions, sinks, scalars
    norms               norms over the hidden size in the layer
    inner_norms         norms inside the mixer: of queries and keys, or of latents
    vector_bytes        what a file holds of what is no matrix (None: no file was read)
    """

    count: int
    kind: str
    mixer: Mixer | None = None
    projections: tuple[Linear, ...] = ()
    mlp: tuple[Linear, ...] = ()
    experts: Experts | None = None
    vector_parameters: int = 0
    norms: int = 2
    inner_norms: int = 0
    vector_bytes: float | None = None


class Tower(msgspec.Struct, frozen=True, kw_only=True):
    """A vision or audio encoder with its projector; parameters is None where it is not counted.

    stored_bytes    what a file holds of it (None: no file was read)
    """

    name: str
    parameters: int | None
    format: str = "bf16"
    stored_bytes: float | None = None


class Model(Displayed, msgspec.Struct, frozen=True, kw_only=True):
    """The text model (and, apart, the towers that come with it).

    embedding_parameters    the input tables: looked up, never streamed; position tables included
    embedding_row           elements looked up per token
    head                    the output matrix; with tied=True it is the embedding and adds no parameters
    outside                 matrices outside the layers that every token passes
    vector_parameters       final norm and the like
    dtype                   what the config says weights and activations are
    table_format            of the input tables, and vector_format of norms and the like (None: dtype)
    quantization            what the weights are called: formats of the matrices, or the name of a file's mix
    called                  another name of the same: what a file's maker calls its mix
    runs                    the stack in order: (which of `layers`, how many of them in a row); empty: as they stand
    rope_positions          positions of the table of rotary angles, stretched ones counted
    kv_format               the KV cache format the checkpoint asks for, if any
    table_bytes, vector_bytes   what a file holds of the input tables, and of vectors outside the layers (None: no file
                            was read); a tied table is the head too
    """

    brief = ("id", "type", "hidden", "vocab", "quantization")

    id: str
    type: str
    architecture: str
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    embedding_parameters: int
    embedding_row: int
    head: Linear | None
    tied: bool
    outside: tuple[Linear, ...] = ()
    vector_parameters: int = 0
    towers: tuple[Tower, ...] = ()
    dtype: str = "bf16"
    table_format: str | None = None
    vector_format: str | None = None
    quantization: str | None = None
    called: str | None = None
    runs: tuple[tuple[int, int], ...] = ()
    kv_format: str | None = None
    table_bytes: float | None = None
    vector_bytes: float | None = None
    max_context: int | None = None
    rope_positions: int | None = None
    origin: str = ""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
