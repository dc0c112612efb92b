"""Where the bytes of a file land: every tensor on one matrix, one layer's vectors, the tables or a tower of the plan.

No byte is lost and none is counted twice: what no matrix claims is its layer's (norms, scales, convolutions), what
stands outside the layers the model's. So a model read from a file weighs what its tensors weigh, whatever their mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import gcd

import msgspec

from rooflight.catalog.config.reading import Stored
from rooflight.catalog.config.registry import Text
from rooflight.catalog.config.vocabulary import stacked
from rooflight.catalog.files.tensors import Tensor
from rooflight.errors import BadConfig
from rooflight.values.formats import FORMATS, blend, format_named
from rooflight.values.model import Layer, Linear, Tower


class Spot(msgspec.Struct, frozen=True):
    """Where a tensor belongs: a module of a layer (None: outside of them), or elsewhere.

    elsewhere   "tower" (with ":" and what the file calls it), "draft", or "other:" and the name of a network that is
                none of the text model's
    """

    module: str
    layer: int | None = None
    elsewhere: str = ""


class Pile(msgspec.Struct):
    """What a file holds of one module: its bytes, and elements by format (of FP8 ones, how many), biases left out."""

    bytes: int = 0
    formats: dict[str, int] = {}
    float8: int = 0

    def add(self, tensor: Tensor) -> None:
        """One more tensor of the module."""
        self.bytes += tensor.bytes
        if not tensor.name.endswith("bias"):
            self.formats[tensor.format] = self.formats.get(tensor.format, 0) + tensor.elements
            self.float8 += tensor.elements if tensor.float8 else 0

    def take(self, other: Pile) -> None:
        """The other one too."""
        self.bytes += other.bytes
        self.float8 += other.float8
        for form, size in other.formats.items():
            self.formats[form] = self.formats.get(form, 0) + size

    @property
    def packed(self) -> bool:
        """Numbers whose meaning the config says: elements of the tensors are not those of the matrix."""
        return "" in self.formats

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return sum(self.formats.values())


def blended(elements: dict[str, int]) -> str:
    """One format of several by their elements: itself, or the blend of them, the commonest first."""
    if len(elements) == 1:
        return next(iter(elements))
    least = gcd(*elements.values())
    return blend(
        sorted(((form, count // least) for form, count in elements.items()), key=lambda one: (-one[1], one[0]))
    )


# What modules may be called that a matrix of the plan stands for: (layer, matrix, role) -> names, without the layer.
Names = Callable[[Layer, Linear, str], Iterable[str]]
TABLES, HEAD, OTHER = "tables", "head", "other:"
# Of a layer's bytes: norms, convolutions and scales are less, a matrix that nobody claims is more.
_SMALL = 0.02


class Piles:
    """The tensors of a file by layer and module; what is claimed is taken away."""

    def __init__(self, tensors: Iterable[Tensor], spot: Callable[[str], Spot]) -> None:
        self.layers: dict[int, dict[str, Pile]] = {}
        self.outside: dict[str, Pile] = {}
        self.elsewhere: dict[str, Pile] = {}
        for tensor in tensors:
            place = spot(tensor.name)
            if place.elsewhere:
                home, name = self.elsewhere, place.elsewhere
            elif place.layer is None:
                home, name = self.outside, place.module
            else:
                home, name = self.layers.setdefault(place.layer, {}), place.module
            home.setdefault(name, Pile()).add(tensor)

    @staticmethod
    def claimed(home: dict[str, Pile], names: Iterable[str]) -> Pile:
        """All that stands under these names, together."""
        result = Pile()
        for name in dict.fromkeys(names):
            found = home.pop(name, None)
            if found is not None:
                result.take(found)
        return result

    @staticmethod
    def rest(home: dict[str, Pile]) -> Pile:
        """All that nobody claimed."""
        result = Pile()
        for pile in home.values():
            result.take(pile)
        return result


class _Found(msgspec.Struct, frozen=True):
    """A matrix of the plan, what the file holds of it, and how many copies that is."""

    linear: Linear
    pile: Pile
    copies: int = 1

    @property
    def wanted(self) -> int:
        """Weights the plan has of it."""
        return self.linear.inputs * self.linear.outputs // self.linear.groups * self.copies


class _Placer:
    def __init__(self, piles: Piles, names: Names, origin: str) -> None:
        self.piles = piles
        self.names = names
        self.origin = origin
        self.used: dict[str, int] = {}
        self.differing: dict[str, str] = {}
        self.missing: dict[str, None] = {}
        self.guessed: dict[str, None] = {}
        self.float8: dict[str, None] = {}
        self.unread: dict[str, None] = {}
        self.placed = 0

    def find(self, linear: Linear, home: dict[str, Pile], names: Iterable[str], where: str, copies: int = 1) -> _Found:
        """What the file holds of a matrix, in formats that have a name."""
        found = _Found(linear, Piles.claimed(home, names), copies)
        pile = found.pile
        if not pile.bytes:
            self.missing[f"{linear.name} of {where}"] = None
            return found
        self.placed += 1
        if pile.packed:
            pile.formats = {self._unpacked(found): found.wanted}
        elif pile.elements != found.wanted:
            told = f"{linear.name} of {where} ({pile.elements:,}, not {found.wanted:,})"
            self.differing.setdefault(linear.name, told)
        if not linear.pinned:
            for form, count in pile.formats.items():
                self.used[form] = self.used.get(form, 0) + count
        return found

    def _unpacked(self, found: _Found) -> str:
        """What packed numbers are: as the config says, or where it says nothing, by their bits."""
        form = FORMATS.get(found.linear.format)
        bits = 8 * found.pile.bytes / found.wanted
        if form is None or form.bits < 16 or bits > 12:
            return found.linear.format
        if found.pile.float8 == found.wanted:
            self.float8.setdefault(found.linear.name)
            return "fp8"
        self.guessed.setdefault(found.linear.name)
        return "int8" if bits > 6 else "int4"

    def layer(self, layer: Layer, number: int, *, last: bool) -> tuple[list[_Found], Pile]:
        """The matrices of a layer in order, and what nobody claims of it (`last`: it is counted here)."""
        home = self.piles.layers.get(number, {})
        whole = Piles.rest(home).bytes
        found = [
            self.find(linear, home, self.names(layer, linear, role), f"layer {number}", copies)
            for linear, role, copies in _matrices(layer)
        ]
        if last:
            self.unread |= dict.fromkeys(name for name, pile in home.items() if pile.bytes > _SMALL * whole)
        return found, Piles.rest(home) if last else Pile()

    def check(self) -> Iterator[str]:
        """What to warn of. Raises BadConfig where the file does not hold this model."""
        if len(self.missing) > self.placed:
            raise BadConfig(
                "the tensors of this file are not those of the model it names",
                where=self.origin,
                got=f"no tensor for {_listed(self.missing)}",
                want="the weights of the architecture that the file or the config beside it names",
            )
        if self.missing:
            yield f"{self.origin} has no tensor for {_listed(self.missing)}: counted as the config has it"
        if self.differing:
            yield (
                "the file has another number of weights than this reader's plan in "
                f"{_listed(self.differing.values())}: the file's bytes count"
            )
        if self.unread:
            yield f"this reader's plan has no matrix for {_listed(self.unread)}: read, not multiplied"
        if self.float8:
            yield f"no quantisation section, and FP8 numbers in {_listed(self.float8)}: read as fp8, W8A8"
        if self.guessed:
            yield f"nothing says how {_listed(self.guessed)} is packed: read by its bits as int4 or int8, weights only"


def _matrices(layer: Layer) -> Iterator[tuple[Linear, str, int]]:
    """The matrices of a layer in a fixed order, each with its role and number of copies."""
    if layer.experts is not None:
        yield layer.experts.router, "router", 1
        for linear in layer.experts.linears:
            yield linear, "experts", layer.experts.count
    for linear in layer.projections:
        yield linear, "mixer", 1
    for linear in layer.mlp:
        yield linear, "mlp", 1


def _with(layer: Layer, matrices: list[Linear], vector_bytes: float) -> Layer:
    """The layer with its matrices, as _matrices orders them, replaced."""
    left = iter(matrices)
    experts = layer.experts
    if experts is not None:
        router = next(left)
        experts = msgspec.structs.replace(experts, router=router, linears=tuple(next(left) for _ in experts.linears))
    return msgspec.structs.replace(
        layer,
        projections=tuple(next(left) for _ in layer.projections),
        mlp=tuple(next(left) for _ in layer.mlp),
        experts=experts,
        vector_bytes=vector_bytes,
    )


def _held(several: list[_Found]) -> Linear:
    """A matrix of layers that are alike but for its format: in the mean of bytes, in the blend of formats."""
    first, together = several[0], Pile()
    for one in several:
        together.take(one.pile)
    if not together.bytes:
        return first.linear
    each = together.bytes / len(several) / first.copies
    return msgspec.structs.replace(first.linear, format=blended(together.formats), stored_bytes=each)


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    return ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")


def place(piles: Piles, names: Names, origin: str, text: Text, *, keeps: bool = False) -> Stored:
    """A text plan with the bytes of a file on it. Raises BadConfig where the file does not hold this model.

    Layers of one shape stay one, as if each had the mean of their bytes: a file of thirty mixes is no thirty plans.

    keeps   the plan's own formats name the quantisation, as a config does; layers that differ in them stay apart
    """
    placer = _Placer(piles, names, origin)
    layers, blocks = _layers(text, placer, keeps)
    drafts = sum(Piles.rest(home).bytes for number, home in piles.layers.items() if number >= blocks)
    drafts += piles.elsewhere.get("draft", Pile()).bytes
    outside = tuple(
        _held([placer.find(linear, piles.outside, names(layers[0], linear, "outside"), "the model")])
        for linear in text.outside
    )
    table = Piles.claimed(piles.outside, [name for name in piles.outside if name.startswith(TABLES)])
    head, tied = _head(text, placer, table)
    rest = Piles.rest(piles.outside)
    warnings = tuple(placer.check())
    return Stored(
        text=msgspec.structs.replace(text, layers=stacked(layers), outside=outside, head=head, tied=tied),
        quantization=None if keeps and not (placer.guessed or placer.float8) else label(placer.used),
        dtype=_wide(placer.used),
        table_format=None if table.packed or not table.formats else blended(table.formats),
        table_bytes=float(table.bytes) if table.bytes else None,
        vector_bytes=float(rest.bytes),
        towers=tuple(_towers(piles.elsewhere)),
        notes=_notes(origin, drafts, piles.elsewhere),
        warnings=warnings,
    )


def _layers(text: Text, placer: _Placer, keeps: bool) -> tuple[list[Layer], int]:
    """The stack with the bytes of the file, and how many blocks of the file it is."""
    singles = list(_singles(text.layers))
    depth = max(placer.piles.layers, default=-1) + 1
    # a block with two mixers side by side is two layers of the plan
    each = 2 if depth < len(singles) == 2 * depth else 1
    met = [placer.layer(one, number // each, last=number % each == each - 1) for number, one in enumerate(singles)]
    alike: dict[object, list[int]] = {}
    for number, (one, (found, _)) in enumerate(zip(singles, met, strict=True)):
        forms = tuple(tuple(matrix.pile.formats) for matrix in found) if keeps else ()
        alike.setdefault((one, forms), []).append(number)
    layers: dict[int, Layer] = {}
    for (one, _), numbers in alike.items():  # type: ignore[misc]
        together = [_held([met[number][0][place] for number in numbers]) for place in range(len(met[numbers[0]][0]))]
        vectors = sum(met[number][1].bytes for number in numbers) / len(numbers)
        layers |= dict.fromkeys(numbers, _with(one, together, vectors))
    return [layers[number] for number in range(len(singles))], len(singles) // each


def _head(text: Text, placer: _Placer, table: Pile) -> tuple[Linear | None, bool]:
    """The output matrix: one of its own in the file, or the table's."""
    if text.head is None:
        return None, text.tied
    if text.tied or HEAD not in placer.piles.outside:
        placer.piles.outside.pop(HEAD, None)
        if not table.bytes:
            return text.head, True
        form = text.head.format if table.packed else blended(table.formats)
        return msgspec.structs.replace(text.head, format=form, stored_bytes=float(table.bytes)), True
    return _held([placer.find(text.head, placer.piles.outside, [HEAD], "the model")]), False


def _towers(elsewhere: dict[str, Pile]) -> Iterator[Tower]:
    """The encoders in the file, under the names it has for those that say it in no other way."""
    for name, pile in elsewhere.items():
        kind, _, called = name.partition(":")
        if kind == "tower":
            yield Tower(name=called or "vision", parameters=None, stored_bytes=float(pile.bytes))


def _notes(origin: str, drafts: int, elsewhere: dict[str, Pile]) -> tuple[str, ...]:
    said: tuple[str, ...] = (f"sizes and formats of the weights are those of the tensors in {origin}",)
    if drafts:
        said += (f"{drafts:,} bytes of multi-token-prediction layers in the file are not counted",)
    others = {name.removeprefix(OTHER): pile.bytes for name, pile in elsewhere.items() if name.startswith(OTHER)}
    if others:
        said += (f"{sum(others.values()):,} bytes of other networks in the file are not counted: {_listed(others)}",)
    return said


def _singles(layers: Sequence[Layer]) -> Iterator[Layer]:
    for layer in layers:
        one = msgspec.structs.replace(layer, count=1)
        for _ in range(layer.count):
            yield one


def label(used: dict[str, int]) -> str | None:
    """The narrow formats of the matrices, the commonest first; None where all are wide."""
    total = sum(used.values())
    narrow = {form: size for form, size in used.items() if format_named(form, None).bits < 16}
    kept = sorted((form for form, size in narrow.items() if size >= total / 200), key=lambda form: -narrow[form])
    return " + ".join(kept or narrow) or None


def _wide(used: dict[str, int]) -> str | None:
    """The wide type that most weights are kept in; None where they are in a narrow one."""
    form = max(used, key=used.__getitem__, default="")
    return {"f16": "fp16"}.get(form, form) if form in ("bf16", "fp16", "f16", "fp32") else None
