"""One step of a model as operators: the plan meets tokens, formats and a layout."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.affine import elements, like
from rooflight.numeric import Number, is_plain, minimum, where
from rooflight.values.format import Format
from rooflight.values.model import Attention, Experts, Layer, Linear, Model
from rooflight.values.work import Gemm, Operator, Row, Rows, Work
from rooflight.work import formulas
from rooflight.work.adapters import adapter_rows
from rooflight.work.collectives import all_reduce_rows, all_to_all_rows, expert_width, hop_rows
from rooflight.work.count import stored_format, table_row_bytes, vector_bytes
from rooflight.work.encoders import encoder_rows
from rooflight.work.layout import Layout, kv_share, local_sizes
from rooflight.work.mixers import Slice, mixer_operators
from rooflight.work.numbers import Numbers, input_bytes, product_format
from rooflight.work.rows import met, rows_of
from rooflight.work.storage import linear_bytes


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one pass through the model processes on one replica: slices of equal sequences.

    busy    share of the replicas that have a pass to run; pooled experts get tokens from those alone
    """

    slices: tuple[Slice, ...]
    busy: Number = 1

    @property
    def tokens(self) -> Number:
        """Rows that pass the linear layers."""
        return sum(part.sequences * part.new for part in self.slices)

    @property
    def head_rows(self) -> Number:
        """Rows that pass the lm_head."""
        return sum(part.sequences * part.head_positions for part in self.slices)

    @property
    def prompts(self) -> Number:
        """Prompts whose images and sounds are encoded."""
        return sum(part.sequences * part.media for part in self.slices if not is_plain(part.media) or part.media)


def prompt_ends(model: Model, osl: Number) -> Number:
    """Positions of a prompt that pass the head: the last one where a token follows or a score is made, else none."""
    scores = model.head is not None and model.head.name == "score"
    scores |= any(layer.passes == "ends" for layer in model.layers)
    return 1 if scores else minimum(osl, 1)


def prefill(*, sequences: Number, isl: Number, cached_prefix: Number = 0, ends: Number = 1) -> Step:
    """Prompts of isl tokens, the first cached_prefix of them cached; `ends` of their positions pass the head."""
    part = Slice(sequences=sequences, new=isl - cached_prefix, context=cached_prefix, head_positions=ends, media=1)
    return Step(slices=(part,))


def decode(*, sequences: Number, context: Number, steps: Number = 1, source: Number = 0) -> Step:
    """One new token a sequence after `context` cached ones; it attends context + 1. steps, source: as in Slice."""
    return Step(slices=(Slice(sequences=sequences, new=1, context=context, absorbed=True, steps=steps, source=source),))


def verify(*, sequences: Number, context: Number, draft_tokens: Number, steps: Number = 1, source: Number = 0) -> Step:
    """Speculative decoding: draft_tokens guesses and one sure token a sequence, the head on every one."""
    new = draft_tokens + 1
    part = Slice(
        sequences=sequences, new=new, context=context, head_positions=new, absorbed=True, steps=steps, source=source
    )
    return Step(slices=(part,))


def chunked(*, tokens: Number, prompt: Number, cached: Number, ends: Number = 1) -> Step:
    """`tokens` of prompts that have `prompt` tokens left after `cached` ones: whole prompts, or a chunk of a long one.

    A chunk attends all before it, in the mean over a prompt's chunks cached + (prompt - chunk) / 2; the head runs on
    `ends` tokens of each prompt. Check: tokens 100, prompt 25, cached 0 -> 4 sequences of 25 tokens after none.
    """
    chunk = minimum(tokens, prompt)
    context = cached + (prompt - chunk) / 2
    done = chunk / prompt
    part = Slice(sequences=tokens / chunk, new=chunk, context=context, head_positions=ends * done, media=done)
    return Step(slices=(part,))


def together(*steps: Step) -> Step:
    """Several as one pass, those that decode first."""
    return Step(slices=tuple(part for step in steps for part in step.slices))


def mixed(
    *, sequences: Number, context: Number, chunk_tokens: Number, chunk_context: Number, source: Number = 0,
    media: Number = 0,
) -> Step:  # fmt: skip
    """Chunked prefill: a decode step with chunk_tokens of a prompt beside it, chunk_context of them cached.

    media   the share of the prompt's images and sounds that the chunk encodes
    """
    chunk = Slice(sequences=1, new=chunk_tokens, context=chunk_context, head_positions=0, media=media)
    return Step(slices=(*decode(sequences=sequences, context=context, source=source).slices, chunk))


def operators(model: Model, step: Step, layout: Layout, numbers: Numbers) -> tuple[Operator, ...]:
    """The operators of one pass, per device, equal ones merged into a row with a count."""
    merged: dict[object, Operator] = {}
    kinds: dict[object, str] = {}
    for key, kind, op in _all(model, step, layout, numbers):
        met = merged.get(key)
        merged[key] = op if met is None else msgspec.structs.replace(op, count=op.count + met.count)
        kinds.setdefault(key, kind)
    names = [op.name for op in merged.values()]
    return tuple(
        msgspec.structs.replace(op, name=f"{op.name} ({kinds[key]})") if kinds[key] and names.count(op.name) > 1 else op
        for key, op in merged.items()
    )


def _all(model: Model, step: Step, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    if model.encodes:
        yield from encoder_rows(model.encodes, step.prompts, layout, numbers)
    yield from _embedding(model, step, numbers)
    for linear in model.outside:
        yield _linear_row(linear, step.tokens, "outside", 1, layout.tp, numbers)
    for layer in model.layers:
        if isinstance(layer.mixer, Attention) and layer.mixer.fixed_context is not None:
            continue
        if layer.passes == "all":
            yield from _layer(model, layer, step, layout, numbers)
        else:
            yield from _some(model, layer, step, layout, numbers)
    if layout.pp > 1:
        yield from hop_rows(model, step.tokens, layout, numbers)
    if model.head is not None:
        yield from _head(model.head, step.head_rows, layout.tp, numbers)


def _head(head: Linear, rows: Number, cut: int, numbers: Numbers) -> Iterator[Row]:
    """The head on the positions that need it; where none does, it neither runs nor is read."""
    if is_plain(rows):
        if rows:
            yield _linear_row(head, rows, "", 1, cut, numbers)
        return
    runs = elements(rows) > 0
    key, kind, op = _linear_row(head, rows if runs.all() else where(runs, rows, 1.0), "", 1, cut, numbers)
    yield key, kind, op if runs.all() else msgspec.structs.replace(op, count=where(runs, 1, 0))


def _embedding(model: Model, step: Step, numbers: Numbers) -> Iterator[Row]:
    rows = step.tokens * (table_row_bytes(model) + model.hidden * numbers.act_bytes)
    work = Work(activation_bytes=rows, launches=1)
    yield "embedding", "", Operator(name="embedding", kind="elementwise", count=1, compute="bf16", work=work)
    _, kind, norm = _norm_row(model, model, step.tokens, 1, 1, numbers)
    yield "final_norm", kind, msgspec.structs.replace(norm, name="final_norm")


def _some(model: Model, layer: Layer, step: Step, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    """A layer that some rows of a step pass; where none does, it neither runs nor is read."""
    slices, runs = met(rows_of(layer, step.slices, model.start_tokens))
    if not slices:
        return
    for key, kind, op in _layer(model, layer, msgspec.structs.replace(step, slices=slices), layout, numbers):
        yield (layer.passes, key), kind, msgspec.structs.replace(op, count=op.count * runs)


def _layer(model: Model, layer: Layer, step: Step, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    tokens, kind, count = step.tokens * layer.rows, layer.kind, layer.count
    if layer.norms or layer.vector_parameters:
        yield _norm_row(model, layer, tokens, count, layer.norms, numbers)
    expansion = sum(part.sequences * part.context for part in step.slices if not part.absorbed)
    outputs = [linear for linear in layer.projections if linear.split == "row"]
    for linear in layer.projections:
        if linear not in outputs:
            rows = tokens + expansion if linear.name == "kv_b" else tokens
            yield _linear_row(linear, rows, kind, count, layout.tp, numbers)
            yield from _adapters(model, layer, linear, step, layout.tp, numbers)
    if layer.inner_norms:
        yield _inner_norm_row(layer, tokens, layout.tp, numbers)
    for op in mixer_operators(layer.mixer, step.slices, layout, numbers):
        yield (op.name, layer.mixer), kind, msgspec.structs.replace(op, count=count)
    for linear in outputs:
        yield _linear_row(linear, tokens, kind, count, layout.tp, numbers)
        yield from _adapters(model, layer, linear, step, layout.tp, numbers)
    if outputs:
        yield from all_reduce_rows(model, tokens, count, layout, numbers)
    yield from _mlp(layer.mlp, tokens, kind, count, layout.tp, numbers)
    for linear in layer.mlp:
        yield from _adapters(model, layer, linear, step, layout.tp, numbers)
    if layer.experts is not None:
        yield from _experts(layer.experts, step, kind, count, layout, numbers)
    tensor_cut = any(linear.split == "row" for linear in layer.mlp)
    tensor_cut |= layer.experts is not None and layout.pooled == 1
    if tensor_cut:
        yield from all_reduce_rows(model, tokens, count, layout, numbers)


def _adapters(model: Model, layer: Layer, linear: Linear, step: Step, cut: int, numbers: Numbers) -> Iterator[Row]:
    """What LoRA adapters run beside a matrix."""
    if model.adapters is None:
        return
    sequences = sum(part.sequences for part in step.slices)
    yield from adapter_rows(model, layer, linear, step.tokens, sequences, cut, numbers)


def _norm_row(model: Model, part: Layer | Model, tokens: Number, count: int, norms: int, numbers: Numbers) -> Row:
    """The norms of `count` layers, each fused with the residual addition: two rows read, two written.

    The layer's vectors (norm weights, biases of convolutions, scalars) are read with them, once a step.
    """
    rows = formulas.elementwise(
        tokens=tokens, read_elements=2 * model.hidden, written_elements=2 * model.hidden, act_bytes=numbers.act_bytes
    )
    vectors = vector_bytes(model, part)
    work = rows * norms + Work(weight_bytes=vectors)
    if norms > 1:
        work, count = work * (1 / norms), count * norms
    key = ("norm", vectors, norms)
    shape = Rows(tokens=tokens, read=2 * model.hidden, written=2 * model.hidden)
    return key, "", Operator(name="norm", kind="elementwise", count=count, compute="bf16", work=work, shape=shape)


def _inner_norm_row(layer: Layer, tokens: Number, cut: int, numbers: Numbers) -> Row:
    """Norms inside the mixer, each read and written once at the mean width of what they normalise."""
    mixer = layer.mixer
    widths: tuple[float, ...]
    if isinstance(mixer, Attention):
        widths = mixer.heads * mixer.head_dim / cut, mixer.kv_heads * mixer.head_dim * kv_share(mixer.kv_heads, cut)
    else:
        widths = tuple(linear.outputs for linear in layer.projections if linear.name in ("q_a", "kv_a")) or (0,)
    width = sum(widths) / len(widths)
    work = formulas.elementwise(tokens=tokens, read_elements=width, written_elements=width, act_bytes=numbers.act_bytes)
    op = Operator(
        name="inner_norm", kind="elementwise", count=layer.count * layer.inner_norms, compute="bf16", work=work,
        shape=Rows(tokens=tokens, read=width, written=width),
    )  # fmt: skip
    return ("inner_norm", widths), layer.kind, op


def _linear_row(
    linear: Linear, tokens: Number, kind: str, count: int, cut: int, numbers: Numbers, *,
    matrices: Number = 1, held: Number = 1, chance: float = 1.0, compute: str | None = None,
) -> Row:  # fmt: skip
    form = stored_format(linear)
    inputs, outputs, share = local_sizes(linear, cut)
    work = formulas.gemm(
        tokens=tokens,
        inputs=inputs / linear.groups,
        outputs=outputs,
        weight_bytes=linear_bytes(linear, form) * share,
        in_act_bytes=input_bytes(form, numbers) * linear.groups,
        out_act_bytes=numbers.act_bytes,
    )
    op = Operator(
        name=linear.name,
        kind="linear",
        count=count,
        compute=compute or product_format(form, numbers),
        work=work,
        shape=Gemm(
            tokens=tokens,
            inputs=inputs / linear.groups,
            outputs=outputs,
            matrices=matrices,
            held=held,
            chance=chance,
            stored=form.id,
            quantised_bytes=quantised_bytes(tokens * inputs, form, numbers),
        ),
    )
    return (linear, kind == "outside"), kind, op


def quantised_bytes(elements: Number, form: Format, numbers: Numbers) -> Number:
    """Bytes of narrowing the inputs of a product: read wide, written narrow; 0 where they stay wide."""
    narrow = input_bytes(form, numbers)
    return elements * (numbers.act_bytes + narrow) if narrow < numbers.act_bytes else 0


def _mlp(mlp: tuple[Linear, ...], tokens: Number, kind: str, count: int, cut: int, numbers: Numbers) -> Iterator[Row]:
    for position, linear in enumerate(mlp):
        if linear.name.endswith("down") and position:
            yield _activation_row(mlp[position - 1], linear, tokens, kind, count, cut, numbers)
        yield _linear_row(linear, tokens, kind, count, cut, numbers)


def _activation_row(up: Linear, down: Linear, tokens: Number, kind: str, count: int, cut: int, numbers: Numbers) -> Row:
    """The activation function (and the gate product) between two matrices."""
    read, written = local_sizes(up, cut)[1], local_sizes(down, cut)[0]
    work = formulas.elementwise(
        tokens=tokens, read_elements=read, written_elements=written, act_bytes=numbers.act_bytes
    )
    name = "expert_act" if down.name.startswith("expert") else "shared_act" if down.name.startswith("shared") else "act"
    shape = Rows(tokens=tokens, read=read, written=written)
    op = Operator(name=name, kind="elementwise", count=count, compute="bf16", work=work, shape=shape)
    return ("act", up, down), kind, op


def _experts(experts: Experts, step: Step, kind: str, count: int, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    tokens = step.tokens
    # a router in fp32 beside others is no reason to multiply in it: engines may narrow it, and a ceiling lets them
    beside = product_format(stored_format(experts.linears[0]), Numbers())
    wide = stored_format(experts.router).bits > 16 and beside != "fp32"
    yield _linear_row(experts.router, tokens, kind, count, 1, numbers, compute="bf16" if wide else None)
    if layout.pooled > 1:
        yield from all_to_all_rows(experts, tokens, count, layout, numbers)
    pool_tokens = tokens * (step.busy * layout.pooled if layout.pooled > 1 else 1)
    routing = {"experts": experts.count, "chosen": experts.chosen, "tokens": pool_tokens}
    touched = like(tokens, formulas.touched_experts(**routing) / layout.ep)
    sure = like(tokens, formulas.least_touched_experts(**routing) / layout.ep)
    rows = pool_tokens * experts.chosen / layout.ep
    spread = {"matrices": touched, "held": experts.count / layout.ep, "chance": experts.chosen / experts.count}
    for position, linear in enumerate(experts.linears):
        named = (
            linear
            if linear.name.startswith("expert")
            else msgspec.structs.replace(linear, name=f"expert_{linear.name}")
        )
        if linear.name.endswith("down") and position:
            yield _activation_row(experts.linears[position - 1], named, rows, kind, count, layout.expert_cut, numbers)
        key, _, op = _linear_row(named, rows, kind, count, layout.expert_cut, numbers, **spread)
        one = op.work.weight_bytes
        read = msgspec.structs.replace(op.work, weight_bytes=one * touched, avoidable_bytes=one * (touched - sure))
        op = msgspec.structs.replace(op, kind="experts", work=read)
        yield ("experts", experts, key), kind, op
    width = expert_width(experts)
    combine = formulas.elementwise(
        tokens=rows, read_elements=width, written_elements=0, act_bytes=numbers.act_bytes
    ) + Work(activation_bytes=tokens * width * numbers.act_bytes, launches=1)
    op = Operator(name="expert_sort_combine", kind="elementwise", count=count, compute="bf16", work=combine)
    yield ("combine", experts), kind, op


def total(ops: tuple[Operator, ...]) -> Work:
    """The sum of all operators, per device."""
    result = Work()
    for op in ops:
        result = result + op.work * op.count
    return result
