"""What of a question's card in focus figures alone do not tell: a size in place of a model, adapters, what drafts,
layers over unlike cards, and what lies on the host; a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.scenario.definite import Scenario
from rooflight.serve.alike import like_block
from rooflight.show.analysis import host_line
from rooflight.units import scaled
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Analysis
from rooflight.values.like import AdapterBlock, SpeculationBlock
from rooflight.words.like import like_line


def told(sc: Scenario, analysis: Analysis) -> list[str]:
    """Sentences about the answer to a scenario; none where it has nothing of the kind."""
    return list(_sentences(sc, analysis))


def _sentences(sc: Scenario, analysis: Analysis) -> Iterator[str]:
    if sc.model.sized is not None:
        said = like_line(like_block(sc, sc.model.sized))
        yield f"{said[0].upper()}{said[1:]}."
    if analysis.model.adapters is not None:
        yield _adapters(analysis.model.adapters)
    if analysis.speculation is not None:
        yield _speculation(analysis.speculation)
    if analysis.accelerator.split:
        parts = (
            f"{_numbers(one.first_layer, one.layers)} on {devices_named(one.accelerator, one.devices)} "
            f"({scaled(one.weights_bytes, 'B')} of weights, read at {scaled(one.memory_bytes_per_s, 'B/s')})"
            for one in analysis.accelerator.split
        )
        yield f"Layers are passed in turn: {', '.join(parts)}."
    if analysis.memory.host is not None:
        yield host_line(analysis.memory.host)


def _numbers(first: int, count: int) -> str:
    """Layers as people number them, from 1."""
    return f"layer {first + 1}" if count == 1 else f"layers {first + 1} to {first + count}"


def _adapters(held: AdapterBlock) -> str:
    several = f"{held.count:,} LoRA adapters" if held.count > 1 else "A LoRA adapter"
    where = f" on {', '.join(held.modules)}" if held.modules else ""
    each = " each" if held.count > 1 else ""
    size = f"{held.parameters_each:,} parameters{each}, {scaled(held.bytes, 'B')} in all"
    return f"{several} of rank {held.rank:,}{where}: {size}."


def _speculation(drafted: SpeculationBlock) -> str:
    cycle, drafts = drafted.cycle_s, drafted.draft_s
    said = (
        f"{drafted.draft} drafts: {drafted.parameters:,} parameters of its own in {scaled(drafted.weight_bytes, 'B')}"
    )
    if cycle is None or drafts is None:
        return f"{said}."
    return (
        f"{said}. Its steps and the verify step together take {scaled(cycle.ceiling, 's')} at best "
        f"({scaled(drafts.ceiling, 's')} of them drafting) and {scaled(cycle.expected, 's')} as expected, "
        f"for {drafted.tokens_per_cycle:.2f} tokens of a sequence."
    )
