"""What a row leaves unsaid under which a value above the ceiling is possible after all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from rooflight.answers.check.mixups import TooFast, devices, narrower, speculative
from rooflight.answers.check.outcome import Finding
from rooflight.answers.check.wording import format_open, may_draft
from rooflight.roofline.links import PCIE
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.units import to_base
from rooflight.values.accelerator import Link
from rooflight.work.layout import crossing

# Weights whose format says in which 16-bit type the products ran.
_SAID = ("bf16", "fp32")
# In a model's name: that it comes with what drafts for it.
_DRAFTS = re.compile(r"(?:^|[-_.:/])(mtp|eagle\d*|medusa|dflash)(?=$|[-_.:/])", re.IGNORECASE)
# Faster than any that could bind.
_ANY_NETWORK = "1000PB/s"
_ANY_LINK_BYTES_PER_S = to_base(1000, "PB/s")


def doubts(one: TooFast, *, gpus_open: bool) -> Iterator[Finding]:
    """Each that would do.

    gpus_open   the row does not say on how many devices it ran
    """
    sc, row = one.scenario, one.row
    load = sc.workload
    named = "name" if _DRAFTS.search(row.model) else None
    drafts = row.speculative or named or ("engine" if may_draft(row) else None)
    if drafts in ("yes", "unknown", "name", "engine") and not load.draft_tokens:
        found = next(speculative(one), None)
        if found is not None:
            yield Finding("speculation", (drafts, found.value))
    if load.draft_tokens and row.acceptance is None:
        accepted = replace(sc, workload=replace(load, acceptance=1.0))
        if one.possible(accepted):
            yield Finding("acceptance", (load.draft_tokens, load.acceptance))
    if format_open(row):
        fit = next(narrower(one, sc.deployment.kv_cache), None)
        if fit is not None:
            yield Finding("weights", fit)
    stored = sc.replaced
    if sc.deployment.compute is None and stored is not None and stored.integer_products and _runs(one, "int8"):
        yield Finding("int8")
    if row.compute is None and row.weights not in _SAID and _runs(one, "fp16"):
        yield Finding("fp16")
    if network_open(sc) and sc.rates.links is not None:
        faster = one.with_deployment(network=_ANY_NETWORK)
        if faster is not None and one.possible(faster):
            yield Finding("network", sc.rates.links.far_fastest_bytes_per_s)
    if sc.accelerator.unrated_link and sc.rates.links is not None and sc.rates.links.name == PCIE:
        name = sc.accelerator.unrated_link
        joined = replace(sc.accelerator, link=Link(name=name, bytes_per_s=_ANY_LINK_BYTES_PER_S), unrated_link="")
        if one.possible(changed(sc, accelerator=joined)):
            yield Finding("unrated link", name)
    if row.offloaded and sc.rates.beside is None:
        yield Finding("offloaded")
    more = next(devices(one), None) if gpus_open else None
    if more is not None and more.kind == "more devices":
        yield Finding("devices", more.value)


def network_open(sc: Scenario) -> bool:
    """Whether devices talk over a network that nobody stated."""
    links = sc.rates.links
    return links is not None and links.assumed and bool(crossing(sc.layout))


def _runs(one: TooFast, compute: str) -> bool:
    """Whether the value is possible with the products in another format."""
    narrow = one.with_deployment(compute=compute)
    return narrow is not None and one.possible(narrow)
