"""The operators of what mixes tokens: attention of every kind, and recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.numeric import Number
from rooflight.values.model import Attention, Indexer, LatentAttention, Mixer, Reach, Recurrent
from rooflight.values.work import Operator, Scores, Shape, Work
from rooflight.work import formulas, reach
from rooflight.work.count import state_bytes
from rooflight.work.layout import Layout, kv_share
from rooflight.work.numbers import Numbers

# How often a token multiplies the recurrent state: update and read-out; a delta rule also recalls.
STATE_PRODUCTS = {"mamba1": 2, "mamba2": 2, "lightning": 2, "gated-delta": 3, "kda": 3}


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """Sequences of equal length in a step: `new` tokens each after `context` cached ones.

    head_positions  rows of each that pass the lm_head
    absorbed        latent attention runs in its absorbed form (decode, verify)
    steps           the mean over so many steps, whose contexts grow by one and are `context` in the mean
    source          tokens of an encoder that are among the cached ones
    media           of each sequence, the share of its prompt's images and sounds that is encoded beside
    """

    sequences: Number
    new: Number
    context: Number
    head_positions: Number = 1
    absorbed: bool = False
    steps: Number = 1
    source: Number = 0
    media: Number = 0


def mixer_operators(
    mixer: Mixer | None, slices: tuple[Slice, ...], layout: Layout, numbers: Numbers
) -> Iterator[Operator]:
    """Operators of one layer's mixer on one device: one attention or scan a slice, else the slices of a step summed."""
    if isinstance(mixer, Attention) and mixer.crosses:
        yield from _crossing(mixer, slices, layout, numbers)
    elif isinstance(mixer, Attention | LatentAttention):
        if not isinstance(mixer, Attention) or mixer.stores or mixer.rotary:
            works = (_appended(mixer, part, layout, numbers) for part in slices)
            yield _op("rope_cache", "elementwise", _sum(works), numbers)
        if mixer.indexer is not None:
            works = (_index(mixer.indexer, mixer.reach, part, numbers) for part in slices)
            yield _op("indexer", "attention", _sum(works), numbers)
        for number, part in enumerate(slices):
            name = "attention" if number == 0 else "chunk_attention"
            shape = _scores_shape(mixer, part, layout)
            yield _op(name, "attention", _attended(mixer, part, layout, numbers), numbers, shape)
    elif isinstance(mixer, Recurrent):
        if mixer.conv_channels:
            yield _op("conv", "recurrent", _sum(_conv(mixer, part, layout, numbers) for part in slices), numbers)
        if mixer.heads:
            yield _op("scan", "recurrent", _sum(_scan(mixer, part, layout, numbers) for part in slices), numbers)


def _crossing(mixer: Attention, slices: tuple[Slice, ...], layout: Layout, numbers: Numbers) -> Iterator[Operator]:
    """Attention to the encoder's output: its keys and values are cached once a prompt, and read by every step."""
    share = kv_share(mixer.kv_heads, layout.tp)
    kept = mixer.cache_elements * share * numbers.kv_bytes
    written = [part.sequences * part.source * kept for part in slices if not part.absorbed]
    if written:
        yield _op("cross_cache", "elementwise", Work(kv_write_bytes=sum(written), launches=1), numbers)
    for number, part in enumerate(slices):
        heads = mixer.heads / layout.tp
        work = formulas.softmax_attention(
            sequences=part.sequences, pairs=part.new * part.source, new=part.new, cached=part.source, heads=heads,
            kv_heads=0, head_dim=mixer.head_dim, value_dim=mixer.value_dim, cache_elements=mixer.cache_elements * share,
            kv_bytes=numbers.kv_bytes, act_bytes=numbers.act_bytes,
        )  # fmt: skip
        if not numbers.flash:
            work = work + formulas.naive_scores(
                sequences=part.sequences, new=part.new, context=part.source - part.new, heads=heads,
                act_bytes=numbers.act_bytes,
            )  # fmt: skip
        shape = Scores(
            decoding=part.absorbed, sequences=part.sequences, new=part.new, keys=part.source, heads=heads,
            kv_heads=mixer.kv_heads * share, head_dim=mixer.head_dim,
        )  # fmt: skip
        name = "cross_attention" if number == 0 else "chunk_cross_attention"
        yield _op(name, "attention", work, numbers, shape)


def _appended(mixer: Attention | LatentAttention, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    if isinstance(mixer, Attention):
        return _append(mixer, part, layout, numbers)
    return _append_latent(mixer, part, layout, numbers)


def _attended(mixer: Attention | LatentAttention, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    if isinstance(mixer, Attention):
        return _attention(mixer, part, layout, numbers)
    return _latent(mixer, part, layout, numbers)


def _op(name: str, kind: str, work: Work, numbers: Numbers, shape: Shape | None = None) -> Operator:
    """One operator of a layer; attention multiplies in the format of its cache, the rest in the wide one."""
    compute = numbers.kv_compute if kind == "attention" else "bf16"
    return Operator(name=name, kind=kind, count=1, compute=compute, work=work, shape=shape)


def _scores_shape(mixer: Attention | LatentAttention, part: Slice, layout: Layout) -> Scores:
    seen = reach.pairs(mixer.reach, new=part.new, context=part.context, steps=part.steps) / part.new
    if isinstance(mixer, Attention):
        kv_heads, width = mixer.kv_heads * kv_share(mixer.kv_heads, layout.tp), mixer.head_dim
    elif part.absorbed:
        kv_heads, width = 1, mixer.latent_dim + mixer.rope_dim
    else:
        kv_heads, width = mixer.heads / layout.tp, mixer.nope_dim + mixer.rope_dim
    return Scores(
        decoding=part.absorbed,
        sequences=part.sequences,
        new=part.new,
        keys=seen,
        heads=mixer.heads / layout.tp,
        kv_heads=kv_heads,
        head_dim=width,
        latent=not isinstance(mixer, Attention),
    )


def _sum(works: Iterator[Work]) -> Work:
    """The slices of a step share one kernel, so launches are those of one slice."""
    first = next(works)
    launches = first.launches
    for work in works:
        first = first + work
    return msgspec.structs.replace(first, launches=launches)


def _attention(mixer: Attention, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    heads = mixer.heads / layout.tp
    share = kv_share(mixer.kv_heads, layout.tp)
    seen = reach.pairs(mixer.reach, new=part.new, context=part.context, steps=part.steps)
    if not numbers.flash:
        seen = part.new * (part.context + part.new)
    work = formulas.softmax_attention(
        sequences=part.sequences,
        pairs=seen,
        new=part.new,
        cached=reach.cached_positions(mixer.reach, new=part.new, context=part.context, steps=part.steps),
        heads=heads,
        kv_heads=mixer.kv_heads * share,
        head_dim=mixer.head_dim,
        value_dim=mixer.value_dim,
        cache_elements=mixer.cache_elements * share,
        kv_bytes=numbers.kv_bytes,
        act_bytes=numbers.act_bytes,
    )
    return work if numbers.flash else work + _scores(heads, part, numbers)


def _scores(heads: Number, part: Slice, numbers: Numbers) -> Work:
    return formulas.naive_scores(
        sequences=part.sequences, new=part.new, context=part.context, heads=heads, act_bytes=numbers.act_bytes
    )


def _append(mixer: Attention, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    """Rotary on queries and keys, and the new keys and values written to the cache."""
    share = kv_share(mixer.kv_heads, layout.tp)
    rotated = mixer.heads * mixer.head_dim / layout.tp
    fresh = mixer.kv_heads * (mixer.head_dim + mixer.value_dim) * share if mixer.stores else 0
    if mixer.reach.both:  # keys are rotated in place too, and stay what they are: activations
        fresh = mixer.kv_heads * mixer.head_dim * share
        rotated += fresh
        fresh = 0
    work = formulas.elementwise(
        tokens=part.sequences * part.new,
        read_elements=rotated + fresh,
        written_elements=rotated,
        act_bytes=numbers.act_bytes,
    )
    # A compressed cache gains one key in `stride` tokens beside its window.
    kept = mixer.cache_elements * share * (1 + (1 / mixer.reach.stride if mixer.reach.stride > 1 else 0))
    written = part.sequences * part.new * kept * numbers.kv_bytes if mixer.stores else 0
    return work + Work(kv_write_bytes=written)


def _append_latent(mixer: LatentAttention, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    width = mixer.latent_dim + mixer.rope_dim
    rotated = mixer.heads * mixer.rope_dim / layout.tp
    tokens = part.sequences * part.new
    work = formulas.elementwise(
        tokens=tokens, read_elements=rotated + width, written_elements=rotated, act_bytes=numbers.act_bytes
    )
    return work + Work(kv_write_bytes=tokens * width * numbers.kv_bytes)


def _latent(mixer: LatentAttention, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    """Absorbed in decode; in prefill keys and values of all positions are expanded first (by "kv_b")."""
    heads = mixer.heads / layout.tp
    seen = reach.pairs(mixer.reach, new=part.new, context=part.context, steps=part.steps)
    if not numbers.flash:
        seen = part.new * (part.context + part.new)
    cached = reach.cached_positions(mixer.reach, new=part.new, context=part.context, steps=part.steps)
    if part.absorbed:
        work = formulas.latent_attention(
            sequences=part.sequences,
            pairs=seen,
            new=part.new,
            cached=cached,
            heads=heads,
            latent_dim=mixer.latent_dim,
            rope_dim=mixer.rope_dim,
            kv_bytes=numbers.kv_bytes,
            act_bytes=numbers.act_bytes,
        )
    else:
        key, width = mixer.nope_dim + mixer.rope_dim, mixer.latent_dim + mixer.rope_dim
        work = formulas.softmax_attention(
            sequences=part.sequences,
            pairs=seen,
            new=part.new,
            cached=cached,
            heads=heads,
            kv_heads=heads,
            head_dim=key,
            value_dim=mixer.value_dim,
            cache_elements=width,
            kv_bytes=numbers.kv_bytes,
            act_bytes=numbers.act_bytes,
        )
        expanded = part.sequences * part.context * heads * (key + mixer.value_dim) * numbers.act_bytes
        work = work + Work(activation_bytes=expanded)
    return work if numbers.flash else work + _scores(heads, part, numbers)


def _index(indexer: Indexer, span: Reach, part: Slice, numbers: Numbers) -> Work:
    """Every device scores with the whole indexer: it is small and not cut."""
    written = part.sequences * part.new * indexer.key_dim / span.stride * numbers.kv_bytes
    return formulas.index_scores(
        sequences=part.sequences,
        pairs=reach.index_keys(span, new=part.new, context=part.context, steps=part.steps),
        new=part.new,
        cached=reach.compressed_keys(span, context=part.context, steps=part.steps),
        heads=indexer.heads,
        head_dim=indexer.head_dim,
        key_dim=indexer.key_dim,
        kv_bytes=numbers.kv_bytes,
        act_bytes=numbers.act_bytes,
    ) + Work(kv_write_bytes=written)


def _conv(mixer: Recurrent, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    return formulas.depthwise_conv(
        sequences=part.sequences,
        new=part.new,
        channels=mixer.conv_channels / layout.tp,
        kernel=mixer.conv_kernel,
        state_bytes=mixer.conv_state_elements * numbers.act_bytes / layout.tp,
        act_bytes=numbers.act_bytes,
    )


def _scan(mixer: Recurrent, part: Slice, layout: Layout, numbers: Numbers) -> Work:
    return formulas.recurrent_scan(
        sequences=part.sequences,
        new=part.new,
        products=STATE_PRODUCTS.get(mixer.kind, 0),
        state_elements=mixer.heads * mixer.key_dim * mixer.value_dim / layout.tp,
        state_bytes=state_bytes(mixer, 0) / layout.tp,
        token_elements=mixer.heads * 2 * (mixer.key_dim + mixer.value_dim) / layout.tp,
        act_bytes=numbers.act_bytes,
    )
