"""Deployments compared on a mix of requests: which is best, by how much in each phase, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rooflight.answers.compare.contenders import Contender, Devices, contenders
from rooflight.answers.compare.crossings import equal_at, found_crossings, weight
from rooflight.answers.compare.outcome import Timed, compared_of
from rooflight.answers.compare.sentence import Ranked, sentence
from rooflight.errors import BadInput, Named, UnknownName
from rooflight.ingest.log import Log
from rooflight.scenario.definite import Scenario
from rooflight.serve import mix as mixes
from rooflight.serve.memory import max_batch, room
from rooflight.serve.metrics import bends
from rooflight.values.comparison import OBJECTIVES, Compared, Comparison
from rooflight.values.deployment import Deployment
from rooflight.values.mix import Lengths, Mix, Requests
from rooflight.values.model import Model
from rooflight.values.workload import Workload
from rooflight.words.notes import worded


def compare(
    model: Model,
    devices: Sequence[Devices],
    axes: Mapping[str, Sequence[Any]],
    *,
    log: Log | None,
    batch: int | None,
    objective: str,
    prices: Mapping[str, float],
    workload: Workload,
    deployment: Deployment,
) -> Comparison:
    """The comparison of all deployments. batch None: each at the largest that fits.

    Raises BadInput for an objective that cannot be judged or a layout that cannot be, MissingFact where a fact is
    missing for every deployment.
    """
    requests = _requests(workload) if log is None else log.requests
    mix = mixes.summary(requests, source=log.source if log else None, bad_rows=log.bad_rows if log else 0)
    rows, notes = contenders(
        model, devices, axes, mix=mix, batch=batch, workload=workload, deployment=deployment, prices=prices
    )
    _check_objective(objective, prices, rows)
    timed = _timed(rows, requests, mix)
    baseline = next(iter(timed.values()), None)
    crossed = found_crossings([(each.one, each.sc) for each in timed.values()], mix)
    compared = tuple(
        compared_of(
            one,
            timed.get(one.label),
            baseline,
            mix,
            equal_at(crossed.curves, one.label, baseline.one.label) if baseline else None,
        )
        for one in rows
    )
    ranked = ranking(compared, timed, objective)
    winner = ranked[0].one if ranked else None
    return Comparison(
        answer=sentence(model.id, rows, compared, ranked, mix, objective, largest=batch is None),
        model=model.id,
        objective=objective,
        mix=mix,
        baseline=baseline.one.label if baseline else None,
        winner=winner.label if winner else None,
        compared=compared,
        stretches=crossed.stretches,
        crossings=crossed.crossings,
        curves=crossed.curves,
        assumptions=_assumptions(rows, log, batch),
        warnings=tuple(dict.fromkeys([*notes, *(log.notes if log else ()), *_warnings(rows, mix, baseline, prices)])),
    )


def _requests(load: Workload) -> Requests:
    """The workload's lengths as the one kind of request there is."""
    return mixes.single(isl=load.isl, osl=load.osl, cached=load.cached_prefix)


def _timed(rows: Sequence[Contender], requests: Requests, mix: Mix) -> dict[str, Timed]:
    """The parts of a request on everything that can run it, by label."""
    timed: dict[str, Timed] = {}
    lengths: Lengths | None = None
    for one in rows:
        if one.answers and one.scenario is not None:
            # whether layers bend a step's time along the context is the model's, so one set of lengths serves all
            lengths = lengths or mixes.lengths(requests, mix, bends=bends(one.scenario))
            prefill, decode = (of(one.scenario, lengths) for of in (mixes.prefill_part, mixes.decode_part))
            timed[one.label] = Timed(one=one, sc=one.scenario, prefill=prefill, decode=decode)
    return timed


def ranking(compared: Sequence[Compared], timed: Mapping[str, Timed], objective: str) -> list[Ranked]:
    """Those with times by what they give of the objective as expected, the most first, of equals the first named.

    Requests stand in for output tokens, so that a mix without output is ranked too.
    """
    known = []
    for one in compared:
        found = timed.get(one.label)
        factor = weight(found.one, objective) if found else None
        if found is not None and factor is not None:
            expected, ceiling = (1 / (factor * found.seconds(basis)) for basis in ("expected", "ceiling"))
            known.append(Ranked(expected, ceiling, one))
    return sorted(known, key=lambda place: -place.expected)


def _check_objective(objective: str, prices: Mapping[str, float], rows: Sequence[Contender]) -> None:
    """An objective that there is, prices of what is compared, and some where dollars decide. Raises BadInput."""
    if objective not in OBJECTIVES:
        raise UnknownName(
            f"nothing is compared for {objective!r}",
            where=Named.of("objective"),
            got=objective,
            want=f"one of {', '.join(OBJECTIVES)}",
        )
    unknown = [name for name in prices if name not in {one.card.id for one in rows}]
    if unknown:
        raise BadInput(
            f"a price is given for {unknown[0]}, which is not compared", where=Named.of("prices"), got=unknown[0],
            want=f"one of {', '.join(dict.fromkeys(one.card.id for one in rows))}",
        )  # fmt: skip
    if objective == "cost" and not prices:
        cards = list(dict.fromkeys(row.card.id for row in rows))
        raise BadInput(
            "cost cannot be compared without prices", where=Named("{objective}", objective=objective),
            got=Named("no {prices}"), want=Named("{prices} for each accelerator", prices={"CARD": "USD_PER_HOUR"}),
            try_this=Named("{prices}", prices=dict.fromkeys(cards[:2], "2.50")),
        )  # fmt: skip


def _assumptions(rows: Sequence[Contender], log: Log | None, batch: int | None) -> tuple[str, ...]:
    """Of all scenarios, each once; what the mix, the batch or a swept option replaces is not assumed."""
    said = (note for one in rows if one.scenario is not None for note in one.scenario.assumptions)
    gone = ["context"]
    gone += ["isl", "osl"] if log is not None else []
    gone += ["batch"] if batch is None else []
    own = ["a request costs its prefill and its part of the decode steps it shares, one phase after the other"]
    if log is not None:
        own.append(log.taken)
    if batch is None:
        own.append("batch: as many sequences as fit at the mean length, and always that many")
    if any(one.scenario is not None and one.scenario.accelerator.tdp_w for one in rows):
        own.append("tokens per joule at TDP, the most that the accelerators draw; hosts and cooling are not counted")
    return (*own, *worded(note for note in said if note.key not in gone))


def _warnings(
    rows: Sequence[Contender], mix: Mix, baseline: Timed | None, prices: Mapping[str, float]
) -> list[str]:  # fmt: skip
    said = [*worded(note for one in rows if one.scenario is not None for note in one.scenario.warnings)]
    if baseline is not None and rows[0].label != baseline.one.label:
        said.append(f"{rows[0].label} has no times, so speed-ups are over {baseline.one.label}")
    if prices:
        bare = [one.label for one in rows if one.price_usd_per_hour is None]
        said += [f"no price for {', '.join(bare)}: left out where dollars decide"] if bare else []
    powerless = [one.label for one in rows if one.scenario is not None and one.scenario.accelerator.tdp_w is None]
    said += [f"no TDP is known for {', '.join(powerless)}: left out where joules decide"] if powerless else []
    timed = [one for one in rows if one.answers and one.scenario is not None and mix.requests > 1]
    small = [one.label for one in timed if one.scenario is not None and not holds(one.scenario, mix.longest)]
    most = next((one.scenario.model.max_context for one in rows if one.scenario is not None), None)
    if mix.requests > 1 and most is not None and mix.longest > most:
        said.append(f"the longest request, {mix.longest:,} tokens, exceeds the {most:,} that the model was made for")
    if small:
        said.append(f"the longest request, {mix.longest:,} tokens, does not fit even alone on {', '.join(small)}")
    return said


def holds(sc: Scenario, tokens: int) -> bool:
    """Whether a single sequence of so many tokens fits."""
    load = msgspec.structs.replace(sc.workload, batch=1, isl=max(tokens - 1, 1), osl=1, cached_prefix=0)
    return bool(max_batch(room(msgspec.structs.replace(sc, workload=load))) >= 1)
