"""The Python front door: names or values in, answers out. The command line asks the same functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.scenario.definite import Scenario, scenario
from rooflight.values.accelerator import Accelerator, WhatIf
from rooflight.values.deployment import Deployment
from rooflight.values.field import describe
from rooflight.values.model import Model
from rooflight.values.question import FIELDS, Fields, SeveralFields, asked
from rooflight.values.workload import Workload

if TYPE_CHECKING:
    from rooflight.show.catalog import AcceleratorCatalog, ModelCatalog
    from rooflight.values.analysis import Analysis
    from rooflight.values.comparison import Comparison
    from rooflight.values.moves import Moves
    from rooflight.values.own import OwnCalibration
    from rooflight.values.sweep import Landmarks
    from rooflight.words.sweep import Sweep

Asking = TypeVar("Asking", bound=Callable[..., Any])


def by_name(function: Asking, *, without: tuple[str, ...] = ()) -> Asking:
    """The function as help() and notebooks show it: its fields by name, with the table's defaults and words."""
    own = inspect.signature(function)
    shown = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    fields = [field for name, field in FIELDS.items() if name not in (*own.parameters, *without)]
    shown += [inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for one in fields]
    told: Any = function
    told.__signature__ = own.replace(parameters=shown)
    describe(function, fields)
    return function


def accelerator(name: str) -> Accelerator:
    """One device of the catalog, or of a TOML file: `h100`, `mi300x`, `my-card.toml`.

    Raises UnknownName (with near names), BadInput for a count in front, BadConfig for an unreadable file.
    """
    from rooflight.catalog.accelerators import load
    from rooflight.library import here

    if not isinstance(name, str):
        raise BadInput("an accelerator goes by its name", where="accelerator", got=name, want='one, such as "h100"')
    card, count = load(name)
    _alone(card, "accelerator")
    if count != 1:
        raise BadInput("one accelerator has no count", where="accelerator", got=name, want=card.id)
    return here.told(card)


def accelerators(
    named: str = "",
    *,
    vendor: str | None = None,
    family: str | None = None,
    kind: str | None = None,
    format_peak: str | None = None,
    min_memory_bytes: float | None = None,
    min_memory_bytes_per_s: float | None = None,
) -> AcceleratorCatalog:
    """The accelerators of the catalog whose id or name has `named` in it, in any case.

    vendor, family, kind    as an entry has them: "amd", "hopper", "gpu"
    format_peak             a number format that it has a dense peak in: "fp8"

    Raises UnknownName for a vendor, family, kind or format that no entry has.
    """
    from rooflight.catalog import choose
    from rooflight.show.catalog import AcceleratorCatalog

    return AcceleratorCatalog(
        choose.accelerators(
            named, vendor=vendor, family=family, kind=kind, format_peak=format_peak, min_memory_bytes=min_memory_bytes,
            min_memory_bytes_per_s=min_memory_bytes_per_s,
        )
    )  # fmt: skip


def changed(
    card: str | Accelerator,
    *,
    id: str | None = None,
    peak_flop_per_s: Mapping[str, float] | None = None,
    memory_bytes_per_s: float | None = None,
    memory_bytes: float | None = None,
) -> Accelerator:
    """An accelerator with other figures: dense peaks by format (FLOP/s), bandwidth (bytes/s), memory (bytes).

    It answers under `id`; left out, under a name that says what is changed: "h100-sxm (memory_bytes_per_s=6.7e+12)".
    A format's fastest rate stays as far above its peak as it was.

    Raises UnknownName, BadInput for what is no rate or size.
    """
    from rooflight.catalog.changed import changed as with_other

    return with_other(
        _alone(card if isinstance(card, Accelerator) else accelerator(card), "card"),
        id=id, peak_flop_per_s=peak_flop_per_s, memory_bytes_per_s=memory_bytes_per_s, memory_bytes=memory_bytes,
    )  # fmt: skip


def models(named: str = "", *, type: str | None = None) -> ModelCatalog:
    """The models of the catalog whose id has `named` in it, in any case; of one model_type, such as "qwen3_moe".

    Raises UnknownName for a type that no entry is of.
    """
    from rooflight.catalog import choose
    from rooflight.show.catalog import ModelCatalog

    return ModelCatalog(choose.models(named, type=type))


def model(name: str | Path | Model) -> Model:
    """A model by Hugging Face id, unambiguous short name, config.json, GGUF or safetensors file, or their directory.

    Raises UnknownName, or BadConfig for a file that cannot be read as a decoder's config or header.
    """
    from rooflight.catalog.models import load

    return name if isinstance(name, Model) else load(name)


@by_name
def analyze(
    model: str | Path | Model,
    on: str | Accelerator | WhatIf,
    *,
    calibration: str | Path | OwnCalibration | None = None,
    workload: Workload | None = None,
    deployment: Deployment | None = None,
    **fields: Unpack[Fields],
) -> Analysis:
    """Which ceiling binds `model` on `on`, in prefill and in decode, and the fastest each can go.

    `on` is an accelerator or its name, with a count in front for several: "8xh100-sxm". Fields of Workload and
    Deployment may be given by name instead: analyze("llama-3.1-8b", on="h100", batch=32, weights="fp8").
    `calibration` is your own (rooflight.calibrate) or its file: what is expected is by that, here and below.

    Raises BadInput and its kinds for a malformed question, MissingFact for a number nobody published.
    """
    from rooflight.words.analysis import analyzed

    return analyzed(
        make_scenario(model, on, calibration=calibration, workload=workload, deployment=deployment, **fields)
    )


@by_name
def sweep(
    model: str | Path | Model,
    on: str | Accelerator | WhatIf | Sequence[str | Accelerator | WhatIf],
    axes: Mapping[str, Sequence[Any]],
    *,
    phase: str | None = None,
    ttft_slo_ms: float | None = None,
    tpot_slo_ms: float | None = None,
    calibration: str | Path | OwnCalibration | None = None,
    workload: Workload | None = None,
    deployment: Deployment | None = None,
    **fields: Unpack[Fields],
) -> Sweep:
    """Many operating points as arrays: iterate over the result for blocks of a few thousand points each.

    `axes` maps any of batch, prefill_batch, isl, osl, context, tp, pp, ep, dp, weights, kv_cache to the values
    to run over; several accelerators in `on` are an axis too. `phase` is "decode" or "prefill"; left out, it is
    prefill where isl or prefill_batch is swept and neither batch nor context is, else decode.

    With a `schedule` every point is a run under it: columns() then holds the runs, and runs() gives them in blocks.
    ttft_slo_ms, tpot_slo_ms: goals for what is expected; goals() says how many requests in flight keep them.

    Raises BadInput for an axis or value that cannot be swept, and as analyze does.
    """
    from rooflight.serve.goals import wanted_ms
    from rooflight.serve.sweep import make_sweep
    from rooflight.words.sweep import told

    load, layout = asked(workload, owning(deployment, calibration), fields)
    devices, wanted = _several(on), wanted_ms(ttft_slo_ms, tpot_slo_ms)
    return told(make_sweep(_model(model), devices, axes, phase=phase, workload=load, deployment=layout, wanted=wanted))


@by_name
def landmarks(
    model: str | Path | Model,
    on: str | Accelerator | WhatIf,
    *,
    calibration: str | Path | OwnCalibration | None = None,
    workload: Workload | None = None,
    deployment: Deployment | None = None,
    **fields: Unpack[Fields],
) -> Landmarks:
    """Where a deployment's batch turns: the knee, the ridge point, compute as the ceiling, the KV cache's limit.

    What chart(answer, landmarks=[...]) marks; sweep(...).landmarks() has them of every deployment.

    Raises BadInput and its kinds for a malformed question, MissingFact for a number nobody published.
    """
    from rooflight.serve.landmarks import landmarks as found

    return found(make_scenario(model, on, calibration=calibration, workload=workload, deployment=deployment, **fields))


@by_name
def compare(
    model: str | Path | Model,
    on: str | Accelerator | WhatIf | Sequence[str | Accelerator | WhatIf],
    *,
    log: str | Path | Iterable[Sequence[Any]] | None = None,
    log_columns: Sequence[str] | None = None,
    batch: int | str | None = None,
    objective: str = "throughput",
    prices: Mapping[str, float] | None = None,
    calibration: str | Path | OwnCalibration | None = None,
    workload: Workload | None = None,
    deployment: Deployment | None = None,
    **fields: Unpack[SeveralFields],
) -> Comparison:
    """Which accelerators serve a mix of requests best, by how much in prefill and in decode, and why.

    The mix is `isl` and `osl`, or a log: a CSV, JSON-lines or Parquet file, or pairs (isl, osl). `batch` is a number
    (left out: 1), or "max": each deployment at the largest that fits. tp, pp, ep, dp, weights, kv_cache and engine may
    be lists: every combination is a deployment. `prices` are dollars an hour of one accelerator, by name. `objective`
    is "throughput", "accelerator", "latency", "cost" or "energy".

    Raises BadInput for a log, a price or a layout that cannot be, and as analyze does.
    """
    from rooflight.answers.compare.inputs import axes_of, batch_of, check_mix, log_of, refuse_drafts
    from rooflight.answers.compare.report import compare as compared
    from rooflight.catalog.prices import prices_of
    from rooflight.words.comparison import told

    axes, single = axes_of(fields)
    refuse_drafts(single)
    load, layout = asked(workload, owning(deployment, calibration), single)
    check_mix(load, log is not None)
    devices = _several(on)
    found = compared(
        _model(model),
        devices,
        axes,
        log=log_of(log, log_columns),
        batch=batch_of(batch, load),
        objective=objective,
        prices=prices_of(prices or {}, [card for card, _ in devices]),
        workload=load,
        deployment=layout,
    )
    return told(found)


@by_name
def moves(
    model: str | Path | Model,
    on: str | Accelerator | WhatIf,
    *,
    objective: str = "throughput",
    cards: Sequence[str | Accelerator] = (),
    prices: Mapping[str, float] | None = None,
    speculative_tokens: int | None = None,
    hit_rate: float | None = None,
    calibration: str | Path | OwnCalibration | None = None,
    workload: Workload | None = None,
    deployment: Deployment | None = None,
    **fields: Unpack[Fields],
) -> Moves:
    """What each change of a deployment would gain, ranked by `objective`: throughput, latency, ttft or cost.

    cards       accelerators to try beside the next ones up; prices: dollars an hour of one, by name
    speculative_tokens      that the speculative move drafts a step (left out: 4); acceptance and draft_share are fields
    hit_rate    share of a prompt that prefix caching finds (left out: 0.5)
    draft_model, draft_weights      without draft_tokens: what the speculative move drafts with

    Raises BadInput and its kinds for a malformed question, MissingFact for a number nobody published.
    """
    from rooflight.answers.moves.option import Asked
    from rooflight.answers.moves.report import moves as found
    from rooflight.catalog.prices import prices_of
    from rooflight.words.moves_found import answered

    plain, draft = move_drafts(fields)
    sc = make_scenario(model, on, calibration=calibration, workload=workload, deployment=deployment, **plain)
    tried = tuple(_alone(devices_of(card)[0], "cards") for card in cards)
    named = {"speculative-decoding": speculative_tokens, "prefix-caching": hit_rate}
    asked = Asked(
        draft_tokens=4 if speculative_tokens is None else speculative_tokens,
        hit_rate=0.5 if hit_rate is None else hit_rate,
        named=tuple(kind for kind, given in named.items() if given is not None),
        draft=draft,
        cards=tried,
        usd_per_hour=prices_of(prices or {}, [sc.accelerator, *tried]),
    )
    return answered(sc, found(sc, objective, asked))


def move_drafts(fields: Fields) -> tuple[Fields, tuple[str, str | None] | None]:
    """The fields of a deployment, and apart the draft model and its weights where nothing is drafted yet."""
    name = fields.get("draft_model")
    if name is None or fields.get("draft_tokens"):
        return fields, None
    plain = fields.copy()
    plain.pop("draft_model")
    return plain, (name, plain.pop("draft_weights", None))


def make_scenario(
    model: str | Path | Model,
    on: str | Accelerator | WhatIf,
    *,
    calibration: str | Path | OwnCalibration | None = None,
    workload: Workload | None = None,
    deployment: Deployment | None = None,
    **fields: Unpack[Fields],
) -> Scenario:
    """The definite question behind analyze(): names looked up, blanks filled, assumptions listed."""
    load, layout = asked(workload, owning(deployment, calibration), fields)
    card, count = devices_of(on)
    return scenario(_model(model), card, count, load, layout)


def own_of(calibration: str | Path | OwnCalibration | None) -> OwnCalibration | None:
    """Your own calibration, or that of a file. Raises BadInput, BadConfig."""
    from rooflight.catalog.own import load

    return None if calibration is None else load(calibration)


def owning(deployment: Deployment | None, calibration: str | Path | OwnCalibration | None) -> Deployment | None:
    """A deployment with your own calibration. Raises BadInput, BadConfig."""
    own = own_of(calibration)
    if own is None or not (deployment is None or isinstance(deployment, Deployment)):  # what is none is said below
        return deployment
    return msgspec.structs.replace(deployment or Deployment(), calibration=own)


_model = model


def _alone(card: Accelerator, what: str) -> Accelerator:
    """The card. Raises BadInput where it stands for several kinds."""
    if card.joined:
        raise BadInput("unlike cards are no one card", where=Named.of(what), got=card.id, want="a card of one kind")
    return card


def _several(
    on: str | Accelerator | WhatIf | Sequence[str | Accelerator | WhatIf],
) -> list[tuple[Accelerator, int | None]]:
    """Each accelerator and its count. Raises BadInput for none at all."""
    found = [devices_of(on)] if isinstance(on, str | Accelerator | WhatIf) else [devices_of(name) for name in on]
    if not found:
        raise BadInput("no accelerator was named", where=Named.of("on"), got=on, want="a name or several")
    return [(_told_apart(card, [other for other, _ in found]), count) for card, count in found]


def _told_apart(card: Accelerator, all_of_them: Sequence[Accelerator]) -> Accelerator:
    """With the name of its file, where one machine that was measured twice is among them twice."""
    if card.measured is None or not any(
        other.id == card.id and other.measured != card.measured for other in all_of_them
    ):
        return card
    return msgspec.structs.replace(card, id=f"{card.id} ({Path(card.origin).stem})")


def devices_of(on: str | Accelerator | WhatIf) -> tuple[Accelerator, int | None]:
    """The accelerator and its count; None where no count was said. Raises as accelerator() does."""
    from rooflight.catalog.accelerators import load
    from rooflight.catalog.changed import under_own_name, what_if
    from rooflight.library import here

    if isinstance(on, WhatIf):
        card, count = devices_of(on.on)
        return what_if(card, bandwidth_times=on.bandwidth_times, peak_times=on.peak_times), count
    if isinstance(on, Accelerator):
        return under_own_name(on), None
    if not isinstance(on, str):
        raise BadInput("an accelerator goes by its name", where=Named.of("on"), got=on, want='one, such as "h100"')
    card, count = load(on)
    said = count > 1 or on.strip().lower().startswith("1x")
    return under_own_name(here.told(card)), count if said else None
