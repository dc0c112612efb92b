"""Relations applied to known values until nothing more follows, and where they contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from rooflight.answers.explain.formula import names, worked
from rooflight.answers.explain.relations import Relation

# Values that people round: what a law makes of them may be off by so much.
_OFF = 0.03
# What may be nothing: a counter at rest, a rate that follows from it.
_MAY_BE_ZERO = frozenset(
    ("idle", "dram_bytes_per_s", "tensor_flop_per_s", "most_flop_per_s", "cached_tokens", "dram_of_measured_bandwidth")
)  # fmt: skip


class Step(msgspec.Struct, frozen=True):
    """A value and the relation that it follows by."""

    relation: Relation
    value: float


class Clash(msgspec.Struct, frozen=True):
    """A relation that does not hold: what it makes of the others, and what its target is stated to be.

    stated      None: the target is not stated, and what it would be is nothing or less
    """

    relation: Relation
    made: float
    stated: float | None


class Solved(msgspec.Struct, frozen=True, kw_only=True):
    """All values by name, the steps in their order, and what cannot be together."""

    values: Mapping[str, float]
    steps: tuple[Step, ...]
    clashes: tuple[Clash, ...]


def solve(known: Mapping[str, float], relations: Iterable[Relation]) -> Solved:
    """Everything that follows. What two ways lead to is taken by the first in the order of the relations."""
    values, every = dict(known), tuple(relations)
    steps: list[Step] = []
    clashes: dict[str, Clash] = {}
    while True:
        found = _next(values, every, clashes)
        if found is None:
            break
        values[found.relation.target] = found.value
        steps.append(found)
    for relation in every:
        if relation.law and relation.law not in clashes:
            clash = _clash(values, relation)
            if clash is not None:
                clashes[relation.law] = clash
    return Solved(values=values, steps=tuple(steps), clashes=tuple(clashes.values()))


def _next(values: Mapping[str, float], relations: Iterable[Relation], clashes: dict[str, Clash]) -> Step | None:
    """The first relation that gives something new; what gives nothing or less goes to the clashes."""
    for relation in relations:
        if relation.target in values or relation.law in clashes:
            continue
        value = _value(values, relation)
        if value is None:
            continue
        if value > 0 or (value == 0 and relation.target in _MAY_BE_ZERO):
            return Step(relation, value)
        if relation.law:
            clashes[relation.law] = Clash(relation, value, None)
    return None


def _value(values: Mapping[str, float], relation: Relation) -> float | None:
    if relation.unless in values or not all(name in values for name in names(relation.formula)):
        return None
    try:
        value = worked(relation.formula, values)
    except (ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _clash(values: Mapping[str, float], relation: Relation) -> Clash | None:
    if relation.target not in values:
        return None
    made, stated = _value(values, relation), values[relation.target]
    if made is None or abs(made - stated) <= _OFF * max(abs(stated), abs(made)):
        return None
    return Clash(relation, made, stated)
