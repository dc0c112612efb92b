"""Which rows of a step pass which layer: all its tokens, an encoder's, a decoder's, or one of each sequence."""

from __future__ import annotations

import msgspec

from rooflight.affine import elements
from rooflight.numeric import Number, is_plain, maximum, where
from rooflight.values.model import Layer
from rooflight.work.mixers import Slice

Slices = tuple[Slice, ...]


def rows_of(layer: Layer, slices: Slices, start_tokens: int) -> Slices:
    """The slices of a step as they meet a layer.

    A prompt passes the encoder in whole; where it ends (head_positions), the decoder takes its start_tokens, and the
    ends their one row. A decoding sequence has `source` of its cached tokens in the encoder, the rest in the decoder.
    """
    if layer.passes == "all":
        return slices
    if layer.passes == "source":
        return tuple(part for part in slices if not part.absorbed)
    if layer.passes == "ends":
        return tuple(
            msgspec.structs.replace(part, sequences=part.sequences * part.head_positions, new=1, context=0, steps=1)
            for part in slices
        )
    return tuple(_decoded(part, start_tokens) for part in slices)


def _decoded(part: Slice, start_tokens: int) -> Slice:
    """What of a slice the decoder computes, and how long the encoder's output is that it attends."""
    if part.absorbed:
        own = maximum(part.context - part.source, 0) + start_tokens
        return msgspec.structs.replace(part, context=own)
    ended, whole = part.sequences * part.head_positions, part.new + 2 * part.context
    return msgspec.structs.replace(
        part, sequences=ended, new=start_tokens, context=0, source=whole, head_positions=1, steps=1
    )


def met(slices: Slices) -> tuple[Slices, Number]:
    """Slices that have rows, and 1, or in arrays 0 at the points where none has: a layer nothing passes is not read.

    Where some slices have rows and others none at a point, the others have none of its work.
    """
    found = tuple(part for part in slices if not is_plain(part.sequences) or part.sequences)
    if not found or any(is_plain(part.sequences) for part in found):
        return found, 1
    runs = [elements(part.sequences) > 0 for part in found]
    some = runs[0]
    for one in runs[1:]:
        some = some | one
    if some.all():
        return found, 1
    first = msgspec.structs.replace(found[0], sequences=where(some, found[0].sequences, 1.0))
    return (first, *found[1:]), where(some, 1, 0)
