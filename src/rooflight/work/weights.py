"""A model with its weights in the formats a deployment asks for, part by part.

A format that engines make of linear layers takes the place of what the checkpoint quantises, or of all linear layers
of a wide one; a cast, a GGUF file and an MLX conversion turn the whole checkpoint.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.format import Format
from rooflight.values.formats import format_named
from rooflight.values.ggml import MIXES, TYPES
from rooflight.values.model import Layer, Linear, Model
from rooflight.values.parts import PARTS, Choose, Place, named_parts, refitted
from rooflight.work.count import (
    layer_matrices,
    linear_parameters,
    parameters,
    stored_format,
    table_bytes,
    vector_bytes,
    weight_bytes,
)
from rooflight.work.gguf import table_type, types_of
from rooflight.work.storage import linear_bytes

# Checkpoints whose experts are MXFP4 as trained: what engines of GGUF files run of them, where no file is named.
NATIVE_FILE = "mxfp4_moe"
_WIDE_BITS = 16
# Less than any format has, and a little more than fp32 has: what a stated size may come to a weight.
_LEAST_BITS, _MOST_BITS = 0.5, 33.0
# vLLM's names of methods that say nothing of a width: the checkpoint does.
_METHODS = (
    "compressed-tensors",
    "auto-round",
    "gptqmodel",
    "quark",
    "torchao",
    "hqq",
    "modelopt-mixed",
    "exl2",
    "exl3",
)
# A group that a name spells out.
_GROUP = re.compile(r"-g\d+")
_TYPES = frozenset(form.id for form in TYPES)


def held(model: Model, weights: str | None) -> Model:
    """The model as a deployment holds it; the model itself where `weights` is blank or names its own format.

    Raises UnknownName for a format nobody knows, BadInput for a part that no model has.
    """
    return model if weights is None or names_own_format(model, weights) else _refitted(model, weights)


@lru_cache(maxsize=256)
def _refitted(model: Model, weights: str) -> Model:
    parts = named_parts(weights)
    if parts:
        return _by_part(model, parts)
    form = format_named(weights)
    if form.family == "cast":
        return refitted(model, lambda _: form.id, name=form.id, table=form.id, vectors=form.id)
    choose, table, vectors = _chooser(model, form.id), _table(model, form), _vectors(model, form)
    return refitted(model, choose, name=form.id, table=table, vectors=vectors)


def resized(model: Model, size_bytes: float) -> Model:
    """The model with all its weights scaled alike, so that they take `size_bytes` together; formats stay as they are.

    Raises BadInput for a size that no format of its weights comes to.
    """
    bits = 8 * size_bytes / parameters(model)
    if not _LEAST_BITS <= bits <= _MOST_BITS:
        least, most = (f"{number * parameters(model) / 8e9:.3g} GB" for number in (_LEAST_BITS, _MOST_BITS))
        raise BadInput(
            f"{parameters(model):,} weights of {model.id} do not take {size_bytes:,.0f} bytes: {bits:.3g} bits each",
            where=Named.of("weight_bytes"),
            got=f"{size_bytes:,.0f} bytes",
            want=f"{least} to {most}: {_LEAST_BITS:g} to {_MOST_BITS:g} bits a weight",
        )
    return _resized(model, size_bytes)


@lru_cache(maxsize=256)
def _resized(model: Model, size_bytes: float) -> Model:
    factor = size_bytes / weight_bytes(model)

    def put(linear: Linear) -> Linear:
        return msgspec.structs.replace(linear, stored_bytes=factor * linear_bytes(linear, stored_format(linear)))

    def layer(one: Layer) -> Layer:
        experts = one.experts
        if experts is not None:
            linears = tuple(map(put, experts.linears))
            experts = msgspec.structs.replace(experts, linears=linears, router=put(experts.router))
        return msgspec.structs.replace(
            one,
            projections=tuple(map(put, one.projections)),
            mlp=tuple(map(put, one.mlp)),
            experts=experts,
            vector_bytes=factor * vector_bytes(model, one),
        )

    return msgspec.structs.replace(
        model,
        layers=tuple(map(layer, model.layers)),
        head=None if model.head is None else put(model.head),
        outside=tuple(map(put, model.outside)),
        table_bytes=factor * table_bytes(model),
        vector_bytes=factor * vector_bytes(model, model),
    )


def names_own_format(model: Model, weights: str | None) -> bool:
    """Whether a weight format is the checkpoint's own, by its name or by a wider one: "fp8" of fp8-block128.

    Of a checkpoint in several formats, that of most of its weights is the one it is called by.
    """
    own = model.quantization
    if weights is None or own is None:
        return False
    said = weights.strip().lower().removesuffix("_marlin")
    if said in (own, model.called) or said.replace("_", "-") in _METHODS:
        return True
    if named_parts(said):
        return False
    main, form = _main(model), format_named(said)
    if main == form.id or main.startswith((f"{said}-", f"{form.id}-")):
        return True
    # "int4" of an AWQ, GPTQ or compressed-tensors checkpoint: a width, not a packing
    group = _GROUP.search(said)
    if group is not None and group[0] not in _GROUP.findall(main):
        return False
    width = f"int{form.bits:g}"
    general = form.activations is None and (form.id == width or form.id.startswith((f"{width}-", f"ct-{width}-")))
    return general and f"-{width}" in main and not main.startswith("w")


@lru_cache(maxsize=256)
def _main(model: Model) -> str:
    """The narrow format that holds most weights; nothing where all are wide."""
    sums: dict[str, int] = {}
    for layer in model.layers:
        for linear, copies in layer_matrices(layer):
            if _is_narrow(linear):
                size = layer.count * copies * linear_parameters(linear)
                sums[linear.format] = sums.get(linear.format, 0) + size
    return max(sums, key=lambda form: sums[form], default="")


def has_native_experts(model: Model) -> bool:
    """Whether its routed experts are MXFP4 as trained, which converters to other files keep."""
    routed = (layer.experts for layer in model.layers if layer.experts is not None)
    return any(linear.format == "mxfp4" for experts in routed for linear in experts.linears)


def _is_narrow(linear: Linear) -> bool:
    return format_named(linear.format, None).bits < _WIDE_BITS


def _chooser(model: Model, name: str) -> Choose:
    """What a format makes of each matrix."""
    form = format_named(name)
    if form.family == "gguf":
        return types_of(model, form.id)
    if form.family in ("mlx", "exl2", "exl3"):
        return lambda place: _converted(form, place)
    if model.quantization:
        return lambda place: form.id if _is_narrow(place.linear) else place.linear.format
    return lambda place: _narrowed(place.linear.format) if place.linear.pinned else form.id


def _converted(form: Format, place: Place) -> str:
    """Converters of whole files: every matrix that groups divide, the head too; MLX's also the router."""
    wide = place.part == "router" and form.family != "mlx"
    if wide or (form.block_inputs and place.linear.inputs % form.block_inputs):
        return _narrowed(place.linear.format) if not _is_narrow(place.linear) else "bf16"
    return form.id


def _table(model: Model, form: Format) -> str:
    if form.family == "gguf":
        return table_type(model, form.id)
    return form.id if form.family == "mlx" else _narrowed(model.table_format or model.dtype)


def _vectors(model: Model, form: Format) -> str:
    return "fp32" if form.family == "gguf" else _narrowed(model.vector_format or model.dtype)


def _narrowed(form: str) -> str:
    """No engine keeps tables in fp32 beside quantised weights: they are multiplied with 16-bit activations."""
    return "bf16" if form == "fp32" else form


def _by_part(model: Model, parts: tuple[tuple[str, str], ...]) -> Model:
    """Each part named in its format (a GGUF type as it is, a file's name by its rule), the others as they are."""
    named = dict(parts)
    _check_parts(model, named)
    choosers = {part: _plain(model, form) for part, form in parts}

    def choose(place: Place) -> str:
        chooser = choosers.get(place.part)
        if chooser is None and place.part == "head" and model.tied:  # the table is the head
            chooser = choosers.get("embedding")
        if chooser is None and place.part != "router":
            chooser = choosers.get("rest")
        return place.linear.format if chooser is None else chooser(place)

    table = named.get("embedding") or named.get("rest")
    return refitted(
        model,
        choose,
        name=",".join(f"{part}={form}" for part, form in parts),
        table=None if table is None else _table_of(model, table),
    )


def _check_parts(model: Model, named: dict[str, str]) -> None:
    """Refuse parts that the model has none of. Raises BadInput."""
    routed = [layer for layer in model.layers if layer.experts is not None]
    held = {"experts": bool(routed), "router": bool(routed), "shared": any(layer.mlp for layer in routed)}
    for part in named:
        if not held.get(part, True):
            raise BadInput(
                f"{model.id} has no part {part!r}", where=Named.of("weights"), got=part,
                want=", ".join(one for one in (*PARTS, "rest") if held.get(one, True)),
            )  # fmt: skip


def _table_of(model: Model, name: str) -> str:
    return name if name in _TYPES else _table(model, format_named(name))


def _plain(model: Model, name: str) -> Choose:
    form = format_named(name).id
    return types_of(model, form) if form in MIXES and form not in _TYPES else lambda _: form
