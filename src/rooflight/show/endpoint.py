"""A load on an endpoint: its report as text, as rows that `check` reads, and its requests as samples."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.check.endpoint import METRICS, means, seen_lengths
from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows
from rooflight.show.seen import renamed
from rooflight.units import round_significant
from rooflight.values.endpoint import PERCENTILES, Beside, EndpointReport, Figures, Spread

# The columns of a table of measurements, and those of `check` that a run of requests has beside them.
COLUMNS = (
    "id", "model", "has_config", "config_like", "accelerator", "has_accelerator", "accelerator_note", "gpus", "tp",
    "pp", "ep", "dp", "weights", "kv_cache", "compute", "phase", "batch", "input_len", "output_len", "depth", "metric",
    "value", "engine", "engine_version", "cuda_graphs", "source", "note", "weights_as_given", "model_as_given",
    "accelerator_as_given", "prompts", "run",
)  # fmt: skip
_DEPLOYED = ("gpus", "tp", "pp", "ep", "dp", "weights", "kv_cache", "compute", "engine_version")
_NAMES = {
    "ttft_s": "TTFT", "tpot_s": "TPOT", "itl_s": "ITL", "request_s": "end to end",
    "output_tokens_per_s": "output tok/s", "total_tokens_per_s": "total tok/s",
}  # fmt: skip
_SPREADS = ("ttft_s", "tpot_s", "itl_s", "request_s")
_RATES = {
    "requests_per_s": "requests/s", "goodput_per_s": "goodput, requests/s", "output_tokens_per_s": "output tok/s",
    "total_tokens_per_s": "total tok/s", "in_flight": "requests in flight",
}  # fmt: skip


def blocks(report: EndpointReport) -> list[Block]:
    """The sentence, the percentiles, the rates, the run beside them, and what there is to know."""
    shown: list[Block] = [Prose(report.answer, "answer")]
    if report.answered:
        shown += [_spreads(report.figures), _rates(report.figures)]
    if report.beside:
        shown += renamed([_beside(report)], report.measured)
        verdicts = tuple(f"{_NAMES[one.figure]} {one.verdict}: {one.reason}" for one in report.beside)
        shown.append(Bullets("Verdicts:", verdicts))
    shown.append(Bullets("To know:", report.notes))
    if report.assumptions:
        shown.append(Bullets("Assumed:", report.assumptions))
    return shown


def _spreads(found: Figures) -> Table:
    def cells(one: Spread | None) -> Iterator[str]:
        for name in ("mean", *(f"p{share}" for share in PERCENTILES)):
            yield "n/a" if one is None else numbers.seconds(getattr(one, name))
        yield numbers.count(0 if one is None else one.n)

    return Table(
        heads=("", "mean", *(f"p{share}" for share in PERCENTILES), "of"), left=("",),
        rows=tuple((_NAMES[name], *cells(getattr(found, name))) for name in _SPREADS),
    )  # fmt: skip


def _rates(found: Figures) -> Table:
    rows = [(words, getattr(found, name)) for name, words in _RATES.items()]
    return Table(
        heads=("", "in the whole load"), left=("",),
        rows=tuple((words, numbers.plain(value)) for words, value in rows if value is not None),
    )  # fmt: skip


def _beside(report: EndpointReport) -> Table:
    def cell(one: Beside, value: float | None) -> str:
        return numbers.seconds(value) if one.figure in _SPREADS else numbers.plain(value)

    def cells(one: Beside) -> Iterator[str]:
        return (
            cell(one, value) for value in (one.measured, one.ceiling, one.roofline, one.expected, one.low, one.high)
        )

    return Table(
        title="Beside the run that is predicted:", left=("",),
        heads=("", "measured", "ceiling", "roofline", "expected", "low", "high", "over\nceiling"),
        rows=tuple(
            (
                _NAMES[one.figure], *cells(one),
                "" if one.over_ceiling is None else round_significant(one.over_ceiling),
            )
            for one in report.beside
        ),
    )  # fmt: skip


def rows(report: EndpointReport) -> Rows:
    """A row a metric, in the columns that `check` reads; none where nothing was answered."""
    return Rows(COLUMNS, [[row.get(name, "") for name in COLUMNS] for row in _rows(report)])


def _rows(report: EndpointReport) -> Iterator[dict[str, object]]:
    load, found = report.load, report.figures
    if not report.answered:
        return
    isl, osl = seen_lengths(found, load)
    stated = {name: getattr(report, name) for name in _DEPLOYED}
    same: dict[str, object] = {
        "model": report.model or report.served_model, "has_config": report.model is not None,
        "accelerator": report.on or "", "has_accelerator": report.accelerator is not None,
        "phase": "e2e_offline" if load.burst else "e2e_server", "batch": _in_flight(report),
        "input_len": isl, "output_len": osl, "engine": report.engine or "", "source": report.url,
        "note": "means over requests; in flight: the mean" if load.request_rate else "means over requests",
        "model_as_given": report.served_model, "prompts": found.requests, "run": f"{report.start} {report.url}",
        **{name: "" if value is None else value for name, value in stated.items()},
    }  # fmt: skip
    for name, value in means(found).items():
        metric, unit = METRICS[name]
        yield same | {"id": f"{report.start} {metric}", "metric": metric, "value": value / unit}


def _in_flight(report: EndpointReport) -> int:
    """Requests in flight: as asked for, of those that arrive as it was in the mean."""
    load = report.load
    if load.concurrency is not None or load.burst:
        return min(load.concurrency or load.num_prompts, report.figures.requests)
    return max(1, round(report.figures.in_flight or 1))
