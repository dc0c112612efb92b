"""Time: from the ceiling of a step to what is expected of it, a cause a strip; of several scenarios as a table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.show import numbers
from rooflight.show.analysis import gap_blocks
from rooflight.show.blocks import Block, Prose, Table
from rooflight.show.charts.waterfall import waterfall
from rooflight.show.layers import LayerPlan, layer_plan
from rooflight.studio.answered import Answered, answered
from rooflight.studio.view import Asked, Choice, View, drawn
from rooflight.values.analysis import Phase
from rooflight.words.headline import CEILINGS


def time(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered."""
    found = answered(asked.page)
    focus = found[asked.page.shown]
    if focus.error is not None:
        raise focus.error
    assert focus.analysis is not None
    phases = focus.analysis.phases
    names = sorted(phases, key=lambda name: (name != "decode", name != "prefill", name))
    if not names:
        return View(answer=focus.analysis.answer)
    name = asked.option if asked.option in phases else names[0]
    chart = waterfall(focus.analysis, phase=name, look=asked.look)
    shown = msgspec.structs.replace(drawn(chart), title=f"A step of {name}, from its ceiling to what is expected")
    return View(
        answer=_answer(chart.title, phases[name]),
        charts=(shown,),
        blocks=(*_beside(found, name), *_layers(focus)),
        choices=tuple(Choice(one, f"a step of {one}") for one in names),
    )


def _answer(title: str, phase: Phase) -> str:
    """What it takes, what the largest loss is, what binds."""
    spent = f"; as expected, the largest part of the time is bound by {numbers.resource(phase.expected_bound)}"
    more = "" if phase.expected_bound == phase.bound else spent
    ceiling = CEILINGS[phase.bound]
    return f"{title}. {ceiling[0].upper()}{ceiling[1:]}{more}."


def _beside(found: Sequence[Answered], name: str) -> list[Block]:
    """The same step of every scenario, cause by cause; who has none is said."""
    if len(found) == 1:
        return []
    there = {one.label.letter: one.analysis for one in found if one.analysis and name in one.analysis.phases}
    absent = [f"{one.label.whole} has no {name}: {_why(one)}." for one in found if one.label.letter not in there]
    measured = all(analysis.accelerator.measured is not None for analysis in there.values())
    steps = {letter: analysis.phases[name] for letter, analysis in there.items()}
    table = gap_blocks(steps, measured) if len(there) > 1 else []
    return [*(Prose(text, "warning") for text in absent), *table]


def _why(one: Answered) -> str:
    if one.analysis is None:
        return "" if one.error is None else one.error.what.rstrip(".")
    return "it does not fit" if not one.analysis.phases else "its requests have no such step"


def _layers(focus: Answered) -> list[Block]:
    """The layers of a model that has several kinds of them."""
    assert focus.scenario is not None
    plans = [layer_plan(layer) for layer in focus.scenario.model.layers]
    if len(plans) < 2:
        return []
    heads = ("layers", "how many", "parameters each", "experts a token", "KV cache a token, each in bf16")
    return [Table(title="Layers of the model", heads=heads, left=heads[:1], rows=tuple(map(_layer, plans)))]


def _layer(plan: LayerPlan) -> tuple[str, ...]:
    experts = "" if plan.experts is None else f"{plan.experts.chosen:,} of {plan.experts.count:,}"
    cached = numbers.amount(plan.kv_bytes_per_token, "B") if plan.kv_bytes_per_token else ""
    if cached and plan.window is not None:
        cached += f", of the last {plan.window:,}"
    return (plan.kind, f"{plan.count:,}", numbers.parameters(plan.parameters), experts, cached)
