"""Rates as sources print them: the faster of two units, the two figures of a conflict, vector units that stand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rooflight.values.accelerator import Fact
from rooflight.values.formats import WIDER
from rooflight.values.note import Note

DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8", "int4")
# Of what two sources may print two figures, the doubted one saying so.
DISPUTED = ("peak", "peak-fp16-accumulate", "memory-bandwidth")

# A fact with its number in base units, of one device.
Amount = tuple[Fact, float]
# The slower and the faster figure for one thing; equal where sources agree.
Pair = tuple[float, float]


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one device. Of figures in conflict peaks and memory_bytes_per_s are the slower: what may be relied on.

    fastest, fp16_accumulate, fast_memory_bytes_per_s   the faster, for ceilings; the last None without a conflict
    vectors     formats whose peak is that of vector units
    """

    peaks: dict[str, float]
    fastest: dict[str, float]
    fp16_accumulate: dict[str, float]
    memory_bytes_per_s: float | None
    fast_memory_bytes_per_s: float | None
    vectors: tuple[str, ...]


def rates_in_print(amounts: Sequence[Amount], matrix_units: bool) -> Printed:
    """The rates among a file's facts.

    matrix_units    products run on units of their own, for which no vector unit stands in
    """
    dense = _peaks(amounts, "peak", "dense")
    vectors = {} if matrix_units else _stand_ins(_peaks(amounts, "peak", "vector"), dense)
    peaks = {dtype: {**dense, **vectors}[dtype] for dtype in DTYPES if dtype in dense or dtype in vectors}
    accumulate = _peaks(amounts, "peak-fp16-accumulate", "dense")
    slower, faster = _pair([one for one in amounts if one[0].what == "memory-bandwidth"]) or (None, None)
    return Printed(
        peaks={dtype: pair[0] for dtype, pair in peaks.items()},
        fastest={dtype: pair[1] for dtype, pair in peaks.items()},
        fp16_accumulate={dtype: pair[1] for dtype, pair in accumulate.items()},
        memory_bytes_per_s=slower,
        fast_memory_bytes_per_s=None if faster == slower else faster,
        vectors=tuple(vectors),
    )


def rate_notes(accelerator_id: str, facts: Sequence[Fact], rated: Printed) -> Iterator[Note]:
    """Peaks that are vector units', and figures of which one is doubted."""
    if rated.vectors:
        yield Note(key="vector_peak", value=rated.vectors, why=accelerator_id)
    for doubt in dict.fromkeys(fact.doubt for fact in facts if fact.doubt):
        things = []
        for thing in dict.fromkeys(_thing(fact) for fact in facts if fact.doubt == doubt):
            same = [other for other in facts if _thing(other) == thing]
            figures = tuple((float(other.value), other.unit, other.source) for other in same)
            what, dtype, _ = thing
            things.append((" ".join(part for part in (dtype, str(what).replace("-", " ")) if part), figures))
        yield Note(key="in_conflict", value=(tuple(things), doubt), why=accelerator_id)


def _peaks(amounts: Sequence[Amount], what: str, kind: str) -> dict[str, Pair]:
    of = [one for one in amounts if one[0].what == what and one[0].kind == kind]
    found = {dtype: _pair([one for one in of if one[0].dtype == dtype]) for dtype in DTYPES}
    return {dtype: pair for dtype, pair in found.items() if pair is not None}


def _pair(amounts: Sequence[Amount]) -> Pair | None:
    """None: nobody prints a figure. Two that nobody doubts are of two units, matrix and vector: the faster is meant."""
    sure = [amount for fact, amount in amounts if not fact.doubt]
    figures = [*([max(sure)] if sure else []), *(amount for fact, amount in amounts if fact.doubt)]
    return (min(figures), max(figures)) if figures else None


def _stand_ins(vectors: dict[str, Pair], dense: dict[str, Pair]) -> dict[str, Pair]:
    """Vector units' rates that count: of formats which no matrix unit multiplies as fast, in them or a wider one."""

    def beaten(dtype: str) -> bool:
        matrix = (dense[name][0] for name in (dtype, *WIDER.get(dtype, ())) if name in dense)
        return max(matrix, default=0.0) >= vectors[dtype][0]

    return {dtype: pair for dtype, pair in vectors.items() if not beaten(dtype)}


def _thing(fact: Fact) -> tuple[str | None, ...]:
    """What a figure is of, whoever prints it."""
    return fact.what, fact.dtype, fact.kind
