"""A whole model's steps: rooflight.measure-model/1, as text and as rows."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.values.sample import MachineState
from rooflight.values.whole import StepTimed, WholeModel
from rooflight.words import whole as words

SCHEMA = "rooflight.measure-model/1"


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """The JSON document of a model's timed steps."""

    answer: str
    model: str
    device: str
    on: str
    by: str
    weights: str
    engine: str
    layers: int
    run: int
    machine: MachineState
    steps: tuple[StepTimed, ...]
    interrupted: bool
    pace: dict[str, float]
    notes: tuple[str, ...]


def written(found: WholeModel) -> Document:
    """What the document says."""
    same = {
        name: getattr(found, name)
        for name in ("model", "device", "by", "weights", "engine", "layers", "run", "interrupted")
    }
    return Document(
        answer=words.answer(found), on=found.on.id, machine=found.machine, steps=found.steps, pace=found.pace,
        notes=words.notes(found), **same,
    )  # fmt: skip


def document(found: WholeModel) -> dict[str, Any]:
    """The JSON document as Python values."""
    made: dict[str, Any] = msgspec.to_builtins(written(found))
    return made


def blocks(found: WholeModel) -> list[Block]:
    """The sentence, a row a step, how it was run."""
    cut = found.run < found.layers
    heads = (
        "step", "time", "±", "tok/s", words.ceiling(found).replace(" ", "\n", 1), "roofline", "expected",
        "low to high", "of\nexpected", *(["not\ntimed"] if cut else []),
    )  # fmt: skip
    table = Table(heads=heads, left=("step",), whole=("step",), rows=tuple(_row(one, cut=cut) for one in found.steps))
    return [Prose(words.answer(found), "answer"), table, Bullets("How:", words.notes(found))]


def _row(one: StepTimed, *, cut: bool) -> tuple[str, ...]:
    predicted = one.predicted_tokens_per_s
    cells = (
        called(one),
        numbers.seconds(one.time_s.median),
        numbers.percent(one.time_s.spread / 2),
        numbers.plain(one.tokens_per_s),
        numbers.plain(predicted.ceiling),
        numbers.plain(predicted.roofline),
        numbers.plain(predicted.expected),
        f"{numbers.plain(predicted.low)} to {numbers.plain(predicted.high)}",
        numbers.percent(one.over_expected),
    )
    return (*cells, numbers.percent(one.extrapolated)) if cut else cells


def called(one: StepTimed) -> str:
    """A step in a table."""
    if one.phase == "prefill":
        return f"prefill of {one.new:,}"
    return f"decode, batch {one.sequences:,} at {one.context:,}"


def rows(found: WholeModel) -> Rows:
    """A step a row."""
    return rows_of([_flat(found, one) for one in found.steps])


def _flat(found: WholeModel, one: StepTimed) -> dict[str, Any]:
    fields = msgspec.to_builtins(one)
    fields.pop("sample")
    about = {"model": found.model, "device": found.device, "on": found.on.id, "by": found.by, "weights": found.weights}
    return flat({**about, **fields, "layers": found.layers, "run": found.run, "threads": found.machine.threads})
