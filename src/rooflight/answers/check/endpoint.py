"""What an endpoint was seen to do, set beside the run that is predicted for the same load."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.report import judged_claims
from rooflight.errors import NoSteadyState
from rooflight.scenario.definite import Scenario
from rooflight.serve.arrivals import holds_one, loaded
from rooflight.serve.schedule import scheduled
from rooflight.units import to_base
from rooflight.values.endpoint import Figures, Load
from rooflight.values.run import Run

_MS = to_base(1, "ms")
# What `check` calls a figure, and one of its units in that figure's.
METRICS = {
    "ttft_s": ("ttft_ms", _MS), "tpot_s": ("tpot_ms", _MS), "request_s": ("e2e_latency_ms", _MS),
    "output_tokens_per_s": ("output_tok_s", 1.0), "total_tokens_per_s": ("total_tok_s", 1.0),
}  # fmt: skip


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The run that is predicted, and each measured figure judged as a value of it.

    run     None where not one sequence fits, and where requests arrive faster than they are predicted to be finished,
            which `endless` says
    """

    scenario: Scenario
    run: Run | None
    judged: dict[str, Judged | NoCeiling]
    endless: str | None = None


def means(found: Figures) -> dict[str, float]:
    """The figures that a run has too, by name: means over requests, and rates."""
    values = {name: getattr(found, name) for name in METRICS}
    plain = {
        name: value if isinstance(value, float) else getattr(value, "mean", None) for name, value in values.items()
    }
    return {name: value for name, value in plain.items() if value}


def seen_lengths(found: Figures, load: Load) -> tuple[int, int]:
    """Tokens in and out of a request in the mean, whole; as asked where the server does not count."""
    return round(found.isl or load.isl), max(1, round(found.osl or load.osl))


def judge(sc: Scenario, given: frozenset[str], found: Figures, load: Load) -> Judgement:
    """The figures of a load beside its run; given: the fields of the question that were stated.

    The run is that of the lengths that were seen, under the load that was asked for.
    """
    isl, osl = seen_lengths(found, load)
    prefix = min(sc.workload.cached_prefix, isl - 1)
    at = replace(sc, workload=replace(sc.workload, isl=isl, osl=osl, cached_prefix=prefix))
    values = {METRICS[name][0]: value / METRICS[name][1] for name, value in means(found).items()}
    try:
        run = scheduled(loaded(at)[0]) if holds_one(at) else None
        stated = given | {"isl", "osl", "batch"}
        # how many are in flight is predicted where requests arrive, so values are not held against each other by it
        alone = load.request_rate is not None
        sets = [{metric: value} for metric, value in values.items()] if alone else [values]
        judged = [one for some in sets for one in judged_claims(at, some, stated)]
        return Judgement(scenario=at, run=run, judged=dict(zip(means(found), judged, strict=True)))
    except NoSteadyState as error:
        return Judgement(scenario=at, run=None, judged={}, endless=error.what)
