"""What would hold a scenario that does not fit, each as a scenario that a press makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rooflight.answers.moves.fields import fields_of
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.serve.remedy import remedy
from rooflight.serve.room import prefill_holds
from rooflight.studio.answered import Answered, key_without_batch
from rooflight.studio.kept import Kept, digest
from rooflight.studio.page import Page
from rooflight.studio.views.made import called, made, prices
from rooflight.units import scaled, several, to_base

_CUT = ("tp", "pp", "dp", "ep")
# The field of a remedy that names it; of several the first.
_TITLES: dict[str, Callable[[Any], str]] = {
    "weights": lambda form: f"weights {form}",
    "n_cpu_moe": lambda layers: f"experts of {several(layers, 'layer')} on the host",
    "n_gpu_layers": lambda layers: f"{several(layers - 1, 'layer')} on the cards",
    "cpu_offload_gb": lambda size: f"{size / to_base(1, 'GiB'):,.0f} GiB a card read over the link",
    "host_memory": lambda size: f"a host with {scaled(size, 'B')}",
}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that a press makes of the one in focus: what it is called, and the fields that it changes."""

    name: str
    fields: Mapping[str, Any]


_kept: Kept[tuple[Offer, ...]] = Kept(64)


def offers(page: Page, focus: Answered) -> tuple[Offer, ...]:
    """Each remedy that the answer names and that the page can ask for; none of what fits."""
    if focus.analysis is None or focus.analysis.run is not None:
        return ()
    usd, asked = prices(page), focus.question
    key = digest([key_without_batch(asked), asked.given().get("batch"), sorted(usd.items())])
    return _kept.get_or_make(key, lambda: tuple(_offers(focus, usd)))


def _offers(focus: Answered, usd: Mapping[str, float]) -> Iterator[Offer]:
    sc = focus.scenario
    assert sc is not None
    for changes in remedy(sc).ways():
        after = _after(sc, changes)
        fields = None if after is None else made(focus, fields_of(sc, sc, after), usd)
        if after is not None and fields:
            yield Offer(name=called(_title(after, changes)), fields=fields)


def _after(sc: Scenario, changes: Mapping[str, Any]) -> Scenario | None:
    """The scenario changed; None where that does not hold it either."""
    try:
        after = changed(sc, **changes)
        return after if memory(after).whole and prefill_holds(after) else None
    except RooflightError:
        return None


def _title(after: Scenario, changes: Mapping[str, Any]) -> str:
    """Such as 12 x h100-sxm, TP4 PP3."""
    if "tp" in changes:
        cut = " ".join(f"{name.upper()}{changes[name]}" for name in _CUT if changes[name] > 1)
        return f"{after.devices}, {cut}" if cut else after.devices
    name = next(name for name in _TITLES if changes.get(name) is not None)
    return _TITLES[name](changes[name])
