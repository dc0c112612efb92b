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
    both        an encoder: the tokens behind the query too, all of them, or those less than `window` away on each side
    """

    window: int | None = None
    chunk: int | None = None
    top_k: int | None = None
    stride: int = 1
    both: bool = False


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
    fixed_context           cross-attention to an image: so many positions, whatever the text length
    crosses                 cross-attention to the encoder's output, which its keys and values are made of
    rotary                  queries and keys are rotated (asked only where nothing is cached beside)
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
    crosses: bool = False
    rotary: bool = True
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
    passes              which rows pass it: "all" tokens; in an encoder-decoder the "source" (the encoder's) or the
                        "target" (the decoder's); "ends": one a sequence (a pooler, a classifier)
    rows                rows of it per token (a convolution's outputs)
    """

    count: int
    kind: str
    passes: str = "all"
    rows: int = 1
    mixer: Mixer | None = None
    projections: tuple[Linear, ...] = ()
    mlp: tuple[Linear, ...] = ()
    experts: Experts | None = None
    vector_parameters: int = 0
    norms: int = 2
    inner_norms: int = 0
    vector_bytes: float | None = None


class EncoderLayer(msgspec.Struct, frozen=True, kw_only=True):
    """`count` layers of an encoder: matrices that every position passes, and attention without a mask.

    window      positions attend their own square of so many patches a side; 0: all of their image
    """

    count: int
    linears: tuple[Linear, ...]
    heads: int
    head_dim: int
    window: int = 0


class Encoder(msgspec.Struct, frozen=True, kw_only=True):
    """What an encoder multiplies.

    front       what makes positions of patches or of spectra, each with its rows a position
    extra       positions beside the patches: a class vector
    projector   matrices behind the layers, which rows of View.projected pass
    """

    front: tuple[tuple[Linear, int], ...]
    layers: tuple[EncoderLayer, ...]
    projector: tuple[Linear, ...]
    extra: int = 0


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """How a model's processor cuts an image or a sound into positions and tokens; work.media has the rules by `kind`.

    patch, merge            pixels of a patch's side, and patches of a token's side
    image, crops            pixels of a crop's side, and crops of an image at most
    tokens                  of a crop
    least_pixels, most_pixels   that an image is resized to
    sizes                   (height, width) of the canvases that an image is fitted to
    """

    kind: str
    patch: int = 14
    merge: int = 1
    image: int = 0
    crops: int = 0
    tokens: int = 0
    least_pixels: int = 0
    most_pixels: int = 0
    sizes: tuple[tuple[int, int], ...] = ()


class View(msgspec.Struct, frozen=True, kw_only=True):
    """An image or a sound as an encoder sees it.

    tokens          that it adds to the prompt: embeddings, and separators between them
    crops           that are encoded apart, each of rows x columns patches (a sound: one row)
    projected       rows that pass the projector, of all crops
    count           of such images
    """

    tokens: int
    crops: int
    rows: int
    columns: int
    projected: int
    count: int = 1


class Encoding(msgspec.Struct, frozen=True, kw_only=True):
    """What of a prompt an encoder works on: the tower's name and format, its matrices, and the views."""

    name: str
    format: str
    encoder: Encoder
    views: tuple[View, ...]


class Tower(msgspec.Struct, frozen=True, kw_only=True):
    """A vision or audio encoder with its projector; parameters is None where it is not counted.

    stored_bytes    what a file holds of it (None: no file was read)
    encoder         what it multiplies (None: its shape is not read)
    processor       what makes its inputs (None: no rule is known)
    """

    name: str
    parameters: int | None
    format: str = "bf16"
    stored_bytes: float | None = None
    encoder: Encoder | None = None
    processor: Processor | None = None


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
    """LoRA adapters beside the weights: `count` of them resident, each of `rank` on the modules named (none: on all).

    modules     as values.parts.pieces names them, without "_proj"
    """

    rank: int
    count: int = 1
    modules: tuple[str, ...] = ()


class DraftHead(msgspec.Struct, frozen=True, kw_only=True):
    """That a model is a head which drafts for another one: of what kind, and that model's hidden size.

    kind    "eagle": it sees the model's last hidden state in every step; "eagle3": several of them, in the first step
            of a cycle alone
    """

    kind: str
    hidden: int


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model by its size: parameters, those a token runs (None: all), what is stated of its shape.

    near    the catalog's model whose shape was scaled to that size (None: a typical shape)
    weights the format that its name says
    named   the size stands in a name that says no more, so it may be of a routed model
    """

    parameters: int
    active_parameters: int | None = None
    layers: int | None = None
    hidden: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    vocab: int | None = None
    near: str | None = None
    weights: str | None = None
    named: bool = False


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
    asked_format            the weight format that the name asked for ends in, where the entry has the shape alone
    runs                    the stack in order: (which of `layers`, how many of them in a row); empty: as they stand
    start_tokens            tokens that a decoder beside an encoder begins with, which no prompt has
    max_source              tokens the encoder of an encoder-decoder takes at most, as max_context does of its decoder
    rope_positions          positions of the table of rotary angles, stretched ones counted
    kv_format               the KV cache format the checkpoint asks for, if any
    adapters                what is run beside its weights; neither its parameters nor its bytes are counted among them
    sized                   of a model whose shape is assumed from its size: what was known (None: the shape is known)
    table_bytes, vector_bytes   what a file holds of the input tables, and of vectors outside the layers (None: no file
                            was read); a tied table is the head too
    draft_layers            for multi-token prediction, which no plain step runs: not among `layers`
    draft_head              of a head that drafts for another model (None: a model by itself)
    encodes                 of a scenario: the images and sounds of every prompt, which are encoded in its prefill
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
    encodes: tuple[Encoding, ...] = ()
    dtype: str = "bf16"
    table_format: str | None = None
    vector_format: str | None = None
    quantization: str | None = None
    called: str | None = None
    asked_format: str | None = None
    runs: tuple[tuple[int, int], ...] = ()
    kv_format: str | None = None
    table_bytes: float | None = None
    vector_bytes: float | None = None
    max_context: int | None = None
    max_source: int | None = None
    start_tokens: int = 0
    rope_positions: int | None = None
    sized: Sized | None = None
    adapters: Adapters | None = None
    draft_layers: int = 0
    draft_head: DraftHead | None = None
    origin: str = ""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
