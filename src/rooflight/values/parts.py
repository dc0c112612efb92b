"""The parts of a checkpoint, each in a format of its own, and a model given other formats part by part.

A part is the embedding, the attention (any mixer's matrices), the dense or shared feed-forward, the routed experts,
the router, the head, or what stands outside the layers. Whoever knows what a file holds (a rule of a quantiser, a list
of tensors, a question) says it module by module, for each layer of the stack; `refitted` puts it on the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from math import gcd

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.formats import blend, format_named
from rooflight.values.model import Attention, Layer, Linear, Mixer, Model, Recurrent

PARTS = ("embedding", "attention", "dense", "shared", "experts", "router", "head", "other")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One module of a checkpoint.

    part        one of PARTS
    name        what it is: "q", "k", "v" of a fused "qkv", "gate", "up" of a fused "gate_up"; else the matrix's name
    linear      the matrix it is a piece of, and rows, how many of its outputs are the piece's
    layer       its number in the stack (0 is the first); -1 outside the layers
    """

    part: str
    name: str
    linear: Linear
    rows: int
    layer: int = -1


Choose = Callable[[Place], str]


def refitted(
    model: Model,
    choose: Choose,
    *,
    name: str | None,
    table: str | None = None,
    vectors: str | None = None,
) -> Model:
    """The model in the formats that `choose` gives each module, called `name`.

    Layers of one shape stay one: where they, or the pieces of a fused matrix, differ in format, the matrix takes the
    mean of them by rows, so all bytes add up. `table` is the format of the input tables, `vectors` that of norms and
    the like (None: as they are); a tied table is the head.
    """
    layers = tuple(
        _layer(layer, numbers, choose) for layer, numbers in zip(model.layers, numbers_of(model), strict=True)
    )
    head = model.head
    if head is not None:
        head = _put(head, choose, [Place(part="head", name=head.name, linear=head, rows=head.outputs)])
    outside = tuple(
        _put(one, choose, [Place(part="other", name=one.name, linear=one, rows=one.outputs)]) for one in model.outside
    )
    tied = model.tied and head is not None
    if vectors is not None:
        layers = tuple(msgspec.structs.replace(layer, vector_bytes=None) for layer in layers)
    table_format = head.format if tied and head is not None else table or model.table_format
    return msgspec.structs.replace(
        model,
        layers=layers,
        head=head,
        outside=outside,
        quantization=name,
        table_format=table_format,
        vector_format=vectors or model.vector_format,
        table_bytes=model.table_bytes if table_format == model.table_format else None,
        vector_bytes=model.vector_bytes if vectors is None else None,
    )


def numbers_of(model: Model) -> tuple[tuple[int, ...], ...]:
    """The numbers in the stack of each of model.layers."""
    runs = model.runs or tuple((place, layer.count) for place, layer in enumerate(model.layers))
    found: list[list[int]] = [[] for _ in model.layers]
    starts = accumulate((count for _, count in runs), initial=0)
    for (place, count), start in zip(runs, starts, strict=False):
        found[place].extend(range(start, start + count))
    return tuple(map(tuple, found))


def pieces(linear: Linear, layer: Layer) -> Iterator[tuple[str, int]]:
    """The modules that a matrix stands for, with their outputs: queries, keys and values, gate and up."""
    name = linear.name.removeprefix("shared_")
    if name == "gate_up" and linear.outputs % 2 == 0:
        yield "gate", linear.outputs // 2
        yield "up", linear.outputs // 2
        return
    mixer = layer.mixer
    if name == "in_proj" and isinstance(mixer, Recurrent) and is_delta(mixer) and mixer.conv_channels < linear.outputs:
        yield "qkv", mixer.conv_channels
        yield "z", linear.outputs - mixer.conv_channels
        return
    if name not in ("qkv", "kv") or not isinstance(mixer, Attention) or not linear.kv_outputs:
        yield name, linear.outputs
        return
    keys = min(mixer.kv_heads * mixer.head_dim, linear.kv_outputs)
    for piece, rows in (("q", linear.outputs - linear.kv_outputs), ("k", keys), ("v", linear.kv_outputs - keys)):
        if rows:
            yield piece, rows


def is_delta(mixer: Mixer | None) -> bool:
    """Gated delta networks: checkpoints keep what passes their convolution and their gate in two matrices."""
    return isinstance(mixer, Recurrent) and mixer.kind == "gated-delta"


def _layer(layer: Layer, numbers: tuple[int, ...], choose: Choose) -> Layer:
    routed = layer.experts is not None

    def put(linear: Linear, part: str) -> Linear:
        met = [
            Place(part=part, name=name, linear=linear, rows=rows, layer=number)
            for name, rows in pieces(linear, layer)
            for number in numbers
        ]
        return _put(linear, choose, met)

    def feed(linear: Linear) -> Linear:
        return put(linear, "shared" if routed or linear.name.startswith("shared_") else "dense")

    experts = layer.experts
    if experts is not None:
        experts = msgspec.structs.replace(
            experts,
            linears=tuple(put(linear, "experts") for linear in experts.linears),
            router=put(experts.router, "router"),
        )
    return msgspec.structs.replace(
        layer,
        projections=tuple(put(linear, "attention") for linear in layer.projections),
        mlp=tuple(map(feed, layer.mlp)),
        experts=experts,
    )


def _put(linear: Linear, choose: Choose, met: Iterable[Place]) -> Linear:
    rows: dict[str, int] = {}
    for place in met:
        form = choose(place)
        rows[form] = rows.get(form, 0) + place.rows
    form = mixed(tuple(rows.items()))
    # what a file holds of it is so in the file's format only
    return linear if form == linear.format else msgspec.structs.replace(linear, format=form, stored_bytes=None)


@lru_cache(maxsize=4096)
def mixed(rows: tuple[tuple[str, int], ...]) -> str:
    """One format of several by their rows: itself, or the blend of them, the commonest first."""
    if len(rows) == 1:
        return rows[0][0]
    least = gcd(*(count for _, count in rows))
    return blend(sorted(((form, count // least) for form, count in rows), key=lambda one: (-one[1], one[0])))


def named_parts(weights: str) -> tuple[tuple[str, str], ...]:
    """Formats by part as a question gives them, `experts=iq2_xxs,rest=q6_k`; nothing where it names one format.

    Raises BadInput for a part that no model has, UnknownName for a format nobody knows.
    """
    if "=" not in weights:
        return ()
    found: dict[str, str] = {}
    for term in weights.replace("/", ",").split(","):
        part, _, name = (word.strip().lower() for word in term.partition("="))
        if part not in (*PARTS, "rest") or part in found:
            raise BadInput(
                f"weights name the part {part!r} twice" if part in found else f"no model has a part {part!r}",
                where=Named.of("weights"),
                got=weights,
                want="PART=FORMAT with commas between; parts: " + ", ".join((*PARTS, "rest")),
                try_this="experts=iq2_xxs,rest=q6_k",
            )
        found[part] = format_named(name).id
    return tuple(found.items())
