"""What transformers' eager path multiplies (as torch counts it), term by term, from a plan: the witness of oracle.csv.

torch counts 2 M K N for every matrix product and convolution it really runs, and nothing for elementwise work and
triangular solves. So its counts differ from the rules of `rooflight.work` in these ways, each a function here:

- attention multiplies the whole rectangle new x (context + new): no triangle, no window, no top-k (`attention_flop`);
- a window layer at decode multiplies what its cache kept: window - 1 positions and the new one;
- latent attention runs in the naive form at decode too: the cached latent is expanded again (`expansion_flop`);
- scans run in chunks, padded to whole chunks (`scan_flop`), and at decode mostly elementwise (nothing counted);
- depthwise convolutions run over kernel - 1 padded positions more, at decode over two outputs (`conv_flop`);
- an indexer scores the whole rectangle, and a sparse layer still multiplies all of it (`indexer_flop`);
- compressed attention multiplies its near part whole beside floor(tokens / stride) compressed keys;
- the residual streams of DeepSeek-V4 are mixed by small products that no weight matrix makes (`streams_flop`);
- Gemma 3n's residual streams are mixed in the same way, and its stream router runs twice a layer (`altup_flop`);
- the lm_head runs on every position (take the last-only columns, or `head_positions`).
"""

from __future__ import annotations

from rooflight.values.model import Attention, Indexer, LatentAttention, Layer, Linear, Mixer, Model, Recurrent

# Chunk lengths of the chunked scans in transformers, where the config does not say (Mamba-2's chunk_size does).
DELTA_CHUNK = 64
LIGHTNING_BLOCK = 256


def linear_flop(linear: Linear, tokens: int) -> int:
    """2 x tokens x inputs x outputs / groups; the bias rides along uncounted."""
    return 2 * tokens * linear.inputs * linear.outputs // linear.groups


def scan_flop(mixer: Recurrent, tokens: int, *, decode: bool = False, chunk: int = DELTA_CHUNK) -> int:
    """Products of a recurrent mixer over `tokens` tokens, its convolution and projections left out.

    `chunk` is the config's chunk_size (mamba_chunk_size) for mamba2; the others have fixed lengths.
    """
    heads, k, v = mixer.heads, mixer.key_dim, mixer.value_dim
    if mixer.kind == "mamba1":
        # the scan itself is elementwise; only the read-out by C is a product, token by token
        return 2 * tokens * heads * k
    if mixer.kind == "mamba2":
        # decode: read-out by C only
        return 2 * tokens * heads * k * v if decode else heads * _ssd_chunks(tokens, chunk, state=k, head_dim=v)
    if mixer.kind == "gated-delta":
        return 0 if decode else heads * _gated_delta_chunks(tokens, k, v)
    if mixer.kind == "kda":
        return 0 if decode else heads * _kimi_delta_chunks(tokens, k, v)
    if mixer.kind == "lightning":
        # decode: the outer product of key and value, and the read-out
        return tokens * heads * 4 * k * v if decode else heads * _lightning_blocks(tokens, k, v)
    return 0  # rg-lru and short convolutions: elementwise


def _ssd_chunks(tokens: int, length: int, *, state: int, head_dim: int) -> int:
    """Mamba-2's chunked form, a head: C B^T and its product with x inside a chunk; the chunk's state and its read-out;
    and the recurrence over chunks, written as one product over all pairs of chunks."""
    chunks = -(-tokens // length)
    inside = 2 * length * length * (state + head_dim)
    across = 4 * length * state * head_dim
    return chunks * (inside + across) + 2 * (chunks + 1) ** 2 * state * head_dim


def _gated_delta_chunks(tokens: int, k: int, v: int) -> int:
    """The gated delta rule in chunks of 64, a value head: K K^T, Q K^T and its product with the values inside a chunk;
    the recall, the read-out and the update of the state. Two triangular solves are not counted."""
    c = DELTA_CHUNK
    chunks = -(-tokens // c)
    return chunks * (4 * c * c * k + 2 * c * c * v + 6 * c * k * v)


def _kimi_delta_chunks(tokens: int, k: int, v: int) -> int:
    """Kimi's rule in chunks of 64, a head: both score matrices are elementwise there (a decay a channel); the solved
    system multiplies values and keys, the scores multiply the values; recall, read-out and update as above."""
    c = DELTA_CHUNK
    chunks = -(-tokens // c)
    return chunks * (2 * c * c * (2 * v + k) + 6 * c * k * v)


def _lightning_blocks(tokens: int, k: int, v: int) -> int:
    """Lightning attention in blocks of up to 256, the last one short, a head: scores and their product with the values,
    read-out and update of the state."""
    full, rest = divmod(tokens, LIGHTNING_BLOCK)
    sizes = [LIGHTNING_BLOCK] * full + ([rest] if rest else [])
    return sum(2 * b * b * (k + v) + 4 * b * k * v for b in sizes)


def conv_flop(mixer: Recurrent, tokens: int, *, decode: bool = False) -> int:
    """The depthwise convolution: padded by kernel - 1 on both ends; at decode over kernel + 1 inputs, two outputs.

    RecurrentGemma's decode multiplies elementwise instead.
    """
    if decode and mixer.kind == "rg-lru":
        return 0
    outputs = 2 if decode else tokens + mixer.conv_kernel - 1
    return 2 * mixer.conv_channels * mixer.conv_kernel * outputs


def keys_multiplied(mixer: Attention | LatentAttention, new: int, context: int) -> int:
    """Key positions each query multiplies in the eager path, masked ones included."""
    if isinstance(mixer, Attention) and mixer.fixed_context is not None:
        return mixer.fixed_context
    reach = mixer.reach
    bound = reach.window or reach.chunk
    kept = context if bound is None else min(context, bound - 1)
    compressed = (context + new) // reach.stride if reach.stride > 1 else 0
    return kept + new + compressed


def attention_flop(mixer: Attention | LatentAttention, new: int, context: int) -> int:
    """Q K^T and the product with V over the whole rectangle."""
    keys = keys_multiplied(mixer, new, context)
    if isinstance(mixer, LatentAttention):
        return 2 * new * keys * mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
    return 2 * new * keys * mixer.heads * (mixer.head_dim + mixer.value_dim)


def expansion_flop(layer: Layer, context: int) -> int:
    """kv_b on the cached positions, which the naive form expands again at each step."""
    if not isinstance(layer.mixer, LatentAttention):
        return 0
    return sum(linear_flop(linear, context) for linear in layer.projections if linear.name == "kv_b")


def indexer_flop(mixer: Mixer | None, new: int, context: int, *, weighs_by_product: bool) -> int:
    """Scores of all index heads against every cached key (every compressed one), masked or not.

    weighs_by_product: DeepSeek-V3.2 and GLM-5 sum the heads with a product (2 x heads a pair), V4 elementwise.
    """
    indexer: Indexer | None = getattr(mixer, "indexer", None)
    if indexer is None or not isinstance(mixer, Attention | LatentAttention):
        return 0
    stride = mixer.reach.stride
    keys = context + new if stride == 1 else (context + new) // stride
    return new * keys * indexer.heads * (2 * indexer.head_dim + (2 if weighs_by_product else 0))


def streams_flop(layer: Layer, hidden: int, tokens: int) -> int:
    """DeepSeek-V4: each half mixes `streams` residual streams by a streams x streams matrix made for the token."""
    mixes = [linear for linear in (*layer.projections, *layer.mlp) if linear.name.startswith("hyper_")]
    streams = mixes[0].inputs // hidden if mixes else 0
    return len(mixes) * 2 * tokens * streams * streams * hidden


def altup_flop(layer: Layer, hidden: int, tokens: int) -> int:
    """Gemma 3n: the router runs once more than the plan says (before and after the layer), and mixes the streams."""
    routers = [linear for linear in layer.mlp if linear.name == "altup_router"]
    return sum(2 * tokens * hidden * (linear.outputs + linear.outputs**2) for linear in routers)


def layer_flop(layer: Layer, model: Model, new: int, context: int, chunk: int) -> int:
    """All products of one layer."""
    total = sum(linear_flop(linear, new) for linear in (*layer.projections, *layer.mlp))
    if layer.experts is not None:
        total += linear_flop(layer.experts.router, new)
        total += layer.experts.chosen * sum(linear_flop(linear, new) for linear in layer.experts.linears)
    decode = context > 0
    mixer = layer.mixer
    if isinstance(mixer, Recurrent):
        total += scan_flop(mixer, new, decode=decode, chunk=chunk if mixer.kind == "mamba2" else DELTA_CHUNK)
        if mixer.conv_channels:
            total += conv_flop(mixer, new, decode=decode)
    elif mixer is not None:
        total += attention_flop(mixer, new, context) + expansion_flop(layer, context)
        # MiniMax-M3 pools the heads by a maximum, V4 sums elementwise
        by_product = isinstance(mixer, LatentAttention)
        total += indexer_flop(mixer, new, context, weighs_by_product=by_product)
    return total + streams_flop(layer, model.hidden, new) + altup_flop(layer, model.hidden, new)


def forward_flop(
    model: Model, new: int, *, context: int = 0, head_positions: int | None = None, chunk: int = 256
) -> int:
    """All products of a forward pass over `new` tokens after `context` cached ones, batch 1, towers left out.

    `chunk` is Mamba-2's chunk_size; a text-only run of Llama 3.2 Vision skips its cross-attention layers.
    """
    layers = [
        layer
        for layer in model.layers
        if not (isinstance(layer.mixer, Attention) and layer.mixer.fixed_context is not None)
    ]
    total = sum(layer.count * layer_flop(layer, model, new, context, chunk) for layer in layers)
    total += sum(linear_flop(linear, new) for linear in model.outside)
    if model.head is not None:
        total += linear_flop(model.head, new if head_positions is None else head_positions)
    return total
