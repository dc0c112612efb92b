"""The operators of vision and audio encoders: what a prompt's images and sounds ask for before its prefill."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.numeric import Number, is_plain, minimum
from rooflight.values.model import EncoderLayer, Encoding, Linear, View
from rooflight.values.work import Gemm, Operator, Row, Rows, Scores, Work
from rooflight.work import formulas
from rooflight.work.count import stored_format
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers, product_format
from rooflight.work.storage import linear_bytes


def encoder_rows(encodings: tuple[Encoding, ...], prompts: Number, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    """The encoders' operators for so many prompts; a part of one stands for a pass that has so much of it.

    Work is shared evenly by the tensor ranks, by whatever cut, and nothing is sent: engines also run an encoder whole
    on each rank, over a part of the images.
    """
    if is_plain(prompts) and not prompts:
        return
    for one in encodings:
        yield from _rows(one, prompts, layout.tp, numbers)


def patches(views: tuple[View, ...]) -> int:
    """Patches of all crops of all views. Check by hand: 2 images of 17 crops of 24 x 24 -> 19,584."""
    return sum(view.count * view.crops * view.rows * view.columns for view in views)


def positions(views: tuple[View, ...], extra: int) -> int:
    """Rows that pass the layers: patches and a class vector a crop."""
    return patches(views) + extra * sum(view.count * view.crops for view in views)


def attended(views: tuple[View, ...], extra: int, window: int) -> int:
    """Pairs of positions that attend one another: the square of a crop's positions, or of each window's.

    A window is `window` patches a side, less at the edges: the squares of a grid's windows are a product of two sums.
    Check by hand: 74 x 74 patches in windows of 8: sides 9 x 8 + 2, so (9 x 64 + 4)^2 = 336,400 pairs.
    """
    if not window:
        return sum(view.count * view.crops * (view.rows * view.columns + extra) ** 2 for view in views)
    return sum(view.count * view.crops * _squares(view.rows, window) * _squares(view.columns, window) for view in views)


def _squares(side: int, window: int) -> int:
    whole, left = divmod(side, window)
    return whole * window * window + left * left


def _rows(one: Encoding, prompts: Number, cut: int, numbers: Numbers) -> Iterator[Row]:
    encoder, name = one.encoder, one.name
    # a pass that holds a part of a prompt's images stands for as many passes of which that part encodes
    runs = minimum(prompts, 1) if not is_plain(prompts) or prompts < 1 else 1
    made, every = prompts * patches(one.views), prompts * positions(one.views, encoder.extra)
    for linear, times in encoder.front:
        yield _linear(one, linear, made * times, runs, 1, cut, numbers)
    for layer in encoder.layers:
        kind = "window" if layer.window else "full"
        for linear in layer.linears:
            yield _linear(one, linear, every, runs, layer.count, cut, numbers, kind)
        yield _attention(one, layer, prompts, runs, cut, numbers, kind)
        width, between = layer.heads * layer.head_dim, layer.linears[-1].inputs
        for what, size, times in (("norm", 2 * width, 2), ("act", layer.linears[-2].outputs, 1)):
            written = size if what == "norm" else between
            yield _plain(f"{name}_{what}", one, every / cut, size, written, runs, times * layer.count, numbers, kind)
    projected = prompts * sum(view.count * view.projected for view in one.views)
    for linear in encoder.projector:
        yield _linear(one, linear, projected, runs, 1, cut, numbers)


def _linear(
    one: Encoding, linear: Linear, rows: Number, runs: Number, count: int, cut: int, numbers: Numbers, kind: str = ""
) -> Row:
    form, own = stored_format(linear), rows / cut
    work = formulas.gemm(
        tokens=own, inputs=linear.inputs, outputs=linear.outputs, weight_bytes=linear_bytes(linear, form) / cut * runs,
        in_act_bytes=numbers.act_bytes, out_act_bytes=numbers.act_bytes,
    )  # fmt: skip
    op = Operator(
        name=f"{one.name}_{linear.name}", kind="linear", count=count, compute=product_format(form, numbers),
        work=_launched(work, runs),
        shape=Gemm(tokens=own, inputs=linear.inputs, outputs=linear.outputs, stored=form.id),
    )  # fmt: skip
    return (one, linear, kind), kind, op


def _attention(
    one: Encoding, layer: EncoderLayer, prompts: Number, runs: Number, cut: int, numbers: Numbers, kind: str
) -> Row:
    """FLOP = 4 x pairs x heads x head_dim: two products; queries, keys, values and output moved."""
    pairs = attended(one.views, one.encoder.extra, layer.window)
    each = positions(one.views, one.encoder.extra)
    every, keys = prompts * each, pairs / each
    heads = layer.heads / cut
    width = heads * layer.head_dim
    work = Work(
        flop=4 * prompts * pairs * width, activation_bytes=4 * every * width * numbers.act_bytes, launches=1
    )  # fmt: skip
    if not numbers.flash:  # as formulas.naive_scores
        work += Work(activation_bytes=4 * prompts * pairs * heads * numbers.act_bytes, launches=2)
    shape = Scores(
        decoding=False, sequences=every / keys, new=keys, keys=keys, heads=heads, kv_heads=heads,
        head_dim=layer.head_dim,
    )  # fmt: skip
    op = Operator(
        name=f"{one.name}_attention", kind="attention", count=layer.count, compute="bf16",
        work=_launched(work, runs), shape=shape,
    )  # fmt: skip
    return (one, "attention", kind), kind, op


def _plain(
    name: str, one: Encoding, rows: Number, read: int, written: int, runs: Number, count: int, numbers: Numbers,
    kind: str,
) -> Row:  # fmt: skip
    work = formulas.elementwise(tokens=rows, read_elements=read, written_elements=written, act_bytes=numbers.act_bytes)
    op = Operator(
        name=name, kind="elementwise", count=count, compute="bf16", work=_launched(work, runs),
        shape=Rows(tokens=rows, read=read, written=written),
    )  # fmt: skip
    return (one, name, kind), kind, op


def _launched(work: Work, runs: Number) -> Work:
    """Its launches as often as it runs."""
    return work if is_plain(runs) and runs == 1 else msgspec.structs.replace(work, launches=work.launches * runs)
