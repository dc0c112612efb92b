"""Deployments compared on a mix of requests: which is best, by how much in each phase, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rooflight.answers.compare.contenders import Contender, Devices, contenders
from rooflight.answers.compare.crossings import Crossed, equal_at, found_crossings
from rooflight.answers.compare.outcome import Timed, compared_of, timed_of
from rooflight.answers.compare.ranking import Ranked, ranking, too_close
from rooflight.errors import BadInput, Named, UnknownName
from rooflight.ingest.requests import Log
from rooflight.scenario.definite import Scenario, lengths
from rooflight.serve import mix as mixes
from rooflight.serve.memory import max_batch
from rooflight.serve.room import room
from rooflight.values.comparison import OBJECTIVES, Compared
from rooflight.values.deployment import Deployment
from rooflight.values.mix import Mix
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.workload import Workload


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison in numbers; words.comparison makes the documented answer of it.

    models          ids, in the order in which they are first run
    rows, compared  the deployments, as they were tried and as the answer has them, in the same order
    ranked          those with times, the best first; too_close: those that cannot be told from it
    largest         whether each was taken at the largest batch that fits; per_s: requests that arrive a second
    """

    models: tuple[str, ...]
    objective: str
    mix: Mix
    rows: tuple[Contender, ...]
    compared: tuple[Compared, ...]
    ranked: tuple[Ranked, ...]
    too_close: tuple[str, ...]
    baseline: str | None
    crossed: Crossed
    largest: bool
    per_s: float | None
    assumptions: tuple[Note, ...]
    warnings: tuple[Note, ...]


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
) -> Found:
    """The comparison of all deployments. batch None: each at the largest that fits.

    Raises BadInput for an objective that cannot be judged or a layout that cannot be, MissingFact where a fact is
    missing for every deployment.
    """
    _check_kind(deployment)
    mix = mix_of(lengths(model, workload), log)
    rows, notes = contenders(
        model, devices, axes, mix=mix, batch=batch, workload=workload, deployment=deployment, prices=prices
    )
    asked = Asked(
        models=(model.id,), objective=objective, mix=mix, log=log, prices=prices, largest=batch is None,
        per_s=workload.request_rate,
    )  # fmt: skip
    return judged(rows, notes, asked)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the rows of a comparison; baseline: the label of what they are compared with, None the first."""

    models: tuple[str, ...]
    objective: str
    mix: Mix
    log: Log | None
    prices: Mapping[str, float]
    largest: bool
    per_s: float | None
    baseline: str | None = None


def judged(rows: Sequence[Contender], notes: Sequence[Note], asked: Asked) -> Found:
    """The comparison of rows, however they were made. Raises BadInput for an objective that cannot be judged."""
    mix, log = asked.mix, asked.log
    _check_objective(asked.objective, asked.prices, rows)
    timed = {one.label: timed_of(one, one.run, mix) for one in rows if one.answers and one.run is not None}
    baseline = timed.get(asked.baseline or "", next(iter(timed.values()), None))
    crossed = found_crossings(list(timed.values()), mix)
    compared = tuple(
        compared_of(
            one,
            mix,
            timed.get(one.label),
            baseline,
            equal_at(crossed.curves, one.label, baseline.one.label) if baseline else None,
        )
        for one in rows
    )
    ranked = tuple(ranking(compared, timed, asked.objective))
    return Found(
        models=asked.models,
        objective=asked.objective,
        mix=mix,
        rows=tuple(rows),
        compared=compared,
        ranked=ranked,
        too_close=too_close(ranked),
        baseline=baseline.one.label if baseline else None,
        crossed=crossed,
        largest=asked.largest,
        per_s=asked.per_s,
        assumptions=tuple(_assumptions(rows, timed, log, asked.largest)),
        warnings=(
            *notes,
            *(Note(key="file", value=text) for text in (log.notes if log else ())),
            *_warnings(rows, asked, baseline),
        ),
    )


def mix_of(load: Workload, log: Log | None) -> Mix:
    """The requests of a log, or the workload's lengths as the one kind of request there is."""
    if log is not None:
        return mixes.summary(log.requests, source=log.source, bad_rows=log.bad_rows, lost_lines=log.lost_lines)
    return mixes.summary(mixes.single(isl=load.isl, osl=load.osl, cached=load.cached_prefix))


def _check_kind(deployment: Deployment) -> None:
    """Refuse a prefill pool on another card. Raises BadInput."""
    if deployment.prefill_on is not None:
        raise BadInput(
            "each accelerator is compared as a whole, so a prefill pool on another has no place",
            where=Named.of("prefill_on"), got=deployment.prefill_on, want="a comparison without it",
            try_this="analyze, or sweep with --schedule apart",
        )  # fmt: skip


def _check_objective(objective: str, prices: Mapping[str, float], rows: Sequence[Contender]) -> None:
    """An objective that there is, prices of what is compared, and some where dollars decide. Raises BadInput."""
    if objective not in OBJECTIVES:
        raise UnknownName(
            f"nothing is compared for {objective!r}",
            where=Named.of("objective"),
            got=objective,
            want=f"one of {', '.join(OBJECTIVES)}",
        )
    unknown = [name for name in prices if name not in {card.id for one in rows for card, _ in one.cards}]
    if unknown:
        raise BadInput(
            f"a price is given for {unknown[0]}, which is not compared", where=Named.of("prices"), got=unknown[0],
            want=f"one of {', '.join(dict.fromkeys(card.id for one in rows for card, _ in one.cards))}",
        )  # fmt: skip
    if objective == "cost" and not prices:
        cards = list(dict.fromkeys(row.card.id for row in rows))
        raise BadInput(
            "cost cannot be compared without prices", where=Named("{objective}", objective=objective),
            got=Named("no {prices}"), want=Named("{prices} for each accelerator", prices={"CARD": "USD_PER_HOUR"}),
            try_this=Named("{prices}", prices=dict.fromkeys(cards[:2], "2.50")),
        )  # fmt: skip


def _assumptions(
    rows: Sequence[Contender], timed: Mapping[str, Timed], log: Log | None, largest: bool
) -> Iterator[Note]:
    """Of all scenarios; what the mix, the batch or a swept option replaces is not assumed."""
    for schedule in dict.fromkeys(each.run.schedule for each in timed.values()):
        yield Note(key="run", value=schedule)
    if log is not None:
        yield Note(key="file", value=log.taken)
        yield Note(key="mean_lengths")
    if largest:
        yield Note(key="largest_batch")
    known = [one.scenario for one in rows if one.scenario is not None]
    if any(sc.accelerator.tdp_w for sc in known):
        yield Note(key="joules")
    unsaid = largest or any(sc.workload.request_rate is not None for sc in known)
    gone = {"context"} | ({"isl", "osl"} if log is not None else set()) | ({"batch"} if unsaid else set())
    yield from (note for sc in known for note in sc.assumptions if note.key not in gone)


def _warnings(rows: Sequence[Contender], asked: Asked, baseline: Timed | None) -> Iterator[Note]:
    known, mix, prices = [(one, one.scenario) for one in rows if one.scenario is not None], asked.mix, asked.prices
    yield from (note for _, sc in known for note in sc.warnings)
    first = asked.baseline or rows[0].label
    if baseline is not None and first != baseline.one.label:
        yield Note(key="baseline_without_times", value=first, why=baseline.one.label)
    bare = tuple(one.label for one in rows if one.price_usd_per_hour is None)
    if prices and bare:
        yield Note(key="no_price", value=bare)
    powerless = tuple(one.label for one, sc in known if sc.accelerator.tdp_w is None)
    if powerless:
        yield Note(key="no_tdp", value=powerless)
    if mix.requests == 1 or not known:
        return
    most = known[0][1].model.max_context
    if most is not None and mix.longest > most:
        yield Note(key="longest_request", value=(mix.longest, most))
    small = tuple(one.label for one, sc in known if one.answers and not holds(sc, mix.longest))
    if small:
        yield Note(key="longest_alone", value=mix.longest, why=", ".join(small))


def holds(sc: Scenario, tokens: int) -> bool:
    """Whether a single sequence of so many tokens fits."""
    longest = max(tokens - 1, 1) + (sc.workload.media_tokens or 0)
    load = msgspec.structs.replace(sc.workload, batch=1, isl=longest, osl=1, cached_prefix=0)
    return bool(max_batch(room(msgspec.structs.replace(sc, workload=load))) >= 1)
