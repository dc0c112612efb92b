"""Scenarios that differ in whatever they do, by name, on one mix of requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rooflight.answers.compare.contenders import Contender, contender, without_times
from rooflight.answers.compare.report import Asked, Found, judged, mix_of
from rooflight.errors import BadInput, Named, RooflightError, UnknownName
from rooflight.ingest.requests import Log
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.values.mix import Mix
from rooflight.values.note import Note
from rooflight.values.workload import Workload

Scenarios = Sequence[tuple[str, Scenario]]


def compared(
    named: Scenarios,
    *,
    log: Log | None = None,
    objective: str = "throughput",
    baseline: str | None = None,
    prices: Mapping[str, float] | None = None,
    largest: bool = False,
) -> Found:
    """Scenarios under their names, on the requests of a log, or of the lengths that the baseline has.

    Each keeps its own requests in flight, or takes the largest batch that fits; its own cached prefix where lengths are
    given; and what it drafts. `baseline`, left out the first, is what the others are compared with. Prices are by
    accelerator id. What cannot be run on the mix is a row that says why.

    Raises BadInput for no scenario, two of one name, or an objective that cannot be judged, UnknownName for a baseline
    that is none of them.
    """
    first = _baseline(named, baseline)
    mix = mix_of(_asked(first), log)
    rows = [_row(label, sc, mix, largest, prices or {}) for label, sc in named]
    rates = {sc.workload.request_rate for _, sc in named}
    asked = Asked(
        models=tuple(dict.fromkeys(sc.model.id for _, sc in named)), objective=objective, mix=mix, log=log,
        prices=prices or {}, largest=largest, per_s=rates.pop() if len(rates) == 1 else None, baseline=baseline,
    )  # fmt: skip
    return judged(rows, tuple(_notes(named, mix)), asked)


def _baseline(named: Scenarios, baseline: str | None) -> Scenario:
    labels = [label for label, _ in named]
    if not labels:
        raise BadInput("no scenario is compared", where=Named.of("scenarios"), got="none", want="one or several")
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise BadInput(
            f"two scenarios are called {twice}", where=Named.of("scenarios"), got=twice, want="a name for each"
        )
    if baseline is not None and baseline not in labels:
        raise UnknownName(
            f"no scenario is called {baseline}", where=Named.of("baseline"), got=baseline,
            want=f"one of {', '.join(labels)}",
        )  # fmt: skip
    return named[0][1] if baseline is None else dict(named)[baseline]


def _asked(sc: Scenario) -> Workload:
    """Its lengths as a question has them: prompts without their images and sound."""
    load = sc.workload
    return Workload(isl=load.text_tokens, osl=load.osl, cached_prefix=min(load.cached_prefix, load.text_tokens - 1))


def _row(label: str, sc: Scenario, mix: Mix, largest: bool, prices: Mapping[str, float]) -> Contender:
    card, devices = sc.accelerator, sc.layout.devices
    try:
        return contender(changed(sc, **_on(mix, sc)), mix, largest=largest, prices=prices, label=label)
    except RooflightError as error:
        return without_times(card, devices, sc.deployment, error, prices, label)


def _on(mix: Mix, sc: Scenario) -> dict[str, Any]:
    """What is changed of a scenario so that its requests are those of the mix, which memory is counted for too."""
    isl, osl = max(mix.batch_isl, 1), max(mix.batch_osl, 1 if mix.osl else 0)
    return {
        "isl": isl, "osl": osl, "context": None, "chunk_tokens": 0,
        "cached_prefix": min(sc.workload.cached_prefix, isl - 1),
    }  # fmt: skip


def _notes(named: Scenarios, mix: Mix) -> Iterator[Note]:
    models = tuple(dict.fromkeys(sc.model.id for _, sc in named))
    if len(models) > 1:
        yield Note(key="unlike_models", value=models)
    lengths = (int(mix.isl), int(mix.osl))
    others = [label for label, sc in named if (sc.workload.text_tokens, sc.workload.osl) != lengths]
    if mix.source is None and others:
        yield Note(key="other_lengths", value=lengths, why=" and ".join(others))
    stated = [label for label, sc in named if sc.workload.context is not None]
    if stated:
        yield Note(key="no_context", why=" and ".join(stated))
