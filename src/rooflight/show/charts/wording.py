"""The words above and below pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rooflight.units import round_significant, several
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Analysis, Phase

# Letters of the phases, as in the terminal's drawing.
MARKS = {"prefill": "P", "decode": "D", "verify": "V", "draft": "F", "mixed": "M"}
BOUND_WORDS = {
    "compute": "compute-bound",
    "memory": "memory-bound",
    "link": "link-bound",
    "launch": "launch-bound",
    "host_memory": "bound by the host's memory",
    "host_link": "bound by the link to the host",
    "capacity": "does not fit",
}


def where(analysis: Analysis) -> str:
    """The devices: 4 x h100-sxm."""
    return devices(analysis.accelerator.id, analysis.accelerator.count)


def devices(card: str, count: int) -> str:
    """An accelerator and how many: 4 x h100-sxm."""
    return devices_named(card, count)


def short(model: str) -> str:
    """The model's id without its owner."""
    return model.rpartition("/")[2]


def deployed(analysis: Analysis) -> str:
    """Model, weights and devices."""
    return f"{short(analysis.model.id)} ({analysis.deployment['weights']}) on {where(analysis)}"


def setting(analysis: Analysis) -> str:
    """What a move changes: weights, devices, batch."""
    return f"{analysis.deployment['weights']} on {where(analysis)} at batch {analysis.workload['batch']:,}"


def variant(analysis: Analysis) -> str:
    """The same where the devices are."""
    return f"{analysis.deployment['weights']}, batch {analysis.workload['batch']:,}"


def times(ratio: float) -> str:
    """A ratio: 1.9 x."""
    return f"{round_significant(ratio)} x"


def step_words(phases: Mapping[str, Phase]) -> str:
    """decode is memory-bound, prefill is compute-bound."""
    order = sorted(phases, key=lambda name: (name != "decode", name))
    return ", ".join(f"{name} is {BOUND_WORDS[phases[name].bound]}" for name in order)


def source(analyses: Sequence[Analysis]) -> str:
    """What was asked, and where the figures are from."""
    load = analyses[0].workload
    return (
        f"Batch {load['batch']:,}, {several(load['isl'] or 0, 'token')} in, {load['osl']:,} out, decode at "
        f"{load['context']:,} of context. {rated(analyses)}"
    )


def rated(analyses: Sequence[Analysis]) -> str:
    """Where the figures are from."""
    from rooflight import __version__

    printed = [a.accelerator for a in analyses if a.accelerator.measured is None]
    seen = [(a.accelerator.id, a.accelerator.measured) for a in analyses if a.accelerator.measured is not None]
    cards = dict.fromkeys(f"{card.id} (confidence {card.confidence})" for card in printed)
    said = f"Datasheet rates, dense: {', '.join(cards)}. " if cards else ""
    for name, found in dict.fromkeys((name, found.date) for name, found in seen):
        said += f"Rates of {name}: medians, measured {found}; its ceilings are the fastest seen here. "
    return f"{said}rooflight {__version__}."
