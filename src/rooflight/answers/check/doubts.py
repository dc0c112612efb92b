"""What a row leaves unsaid under which a value above the ceiling is possible after all."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.check.mixups import TooFast, devices, narrower
from rooflight.answers.check.outcome import Finding

# Weights whose format says in which 16-bit type the products ran.
_SAID = ("bf16", "fp32")


def doubts(one: TooFast, *, claimed: bool, gpus_open: bool) -> Iterator[Finding]:
    """Each that would do; of a claim, whose every blank has a default, only what the default does not settle.

    gpus_open: the row does not say on how many devices it ran.
    """
    sc, row = one.scenario, one.row
    if row.weights is None and not claimed:
        fit = next(narrower(one, sc.deployment.kv_cache), None)
        if fit is not None:
            yield Finding("weights", fit)
    stored = sc.numbers.weights
    if sc.deployment.compute is None and stored is not None and stored.integer_products and _runs(one, "int8"):
        yield Finding("int8")
    if row.compute is None and row.weights not in _SAID and not claimed and _runs(one, "fp16"):
        yield Finding("fp16")
    more = next(devices(one), None) if gpus_open else None
    if more is not None and more.kind == "more devices":
        yield Finding("devices", more.value)


def _runs(one: TooFast, compute: str) -> bool:
    """Whether the value is possible with the products in another format."""
    narrow = one.with_deployment(compute=compute)
    return narrow is not None and one.possible(narrow, one.time_s)
