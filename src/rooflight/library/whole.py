"""A whole model run on this machine with random weights, beside the prediction made before."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rooflight import __version__
from rooflight.errors import BadInput, Named
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.sample import MachineState, Origin, Sample, Timing
from rooflight.values.whole import StepTimed, WholeModel

if TYPE_CHECKING:
    from rooflight.probe.device import Device
    from rooflight.probe.rounds import Timed
    from rooflight.probe.steps import Asked, Run
    from rooflight.scenario.definite import Scenario
    from rooflight.span import Span

BATCH = (1, 8)
PREFILL = (128, 512)
CONTEXT = 512
BUDGET_S = 60.0
FORMATS = ("fp32", "bf16", "fp16")
# Of the device's memory that is free, what weights and cache may take.
_SHARE = 0.7

Progress = Callable[[str, float], None]


class _Built(NamedTuple):
    """What is run: the steps (then, where layers are left out, what is outside of them), how many layers of how many,
    and their bytes (of those run, of all)."""

    runs: list[Run]
    run: int
    layers: int
    layer_bytes: tuple[float, float]


def measure_model(
    model: str | Path | Model,
    on: str | Accelerator = "this",
    *,
    weights: str | None = None,
    batch: Sequence[int] = BATCH,
    prefill: Sequence[int] = PREFILL,
    context: int = CONTEXT,
    device: str | None = None,
    threads: int | None = None,
    transformers: bool = False,
    budget_s: float = BUDGET_S,
    command: str = "rooflight.measure_model()",
    keep: Callable[[Sample], object] | None = None,
    progress: Progress | None = None,
) -> WholeModel:
    """A model's decode steps and prefills with random weights, timed beside the prediction made before they run.

    weights     fp32, bf16 or fp16, of activations and cache too; left out: the config's
    batch       sequences of the decode steps; context: tokens cached before them
    prefill     tokens of the prompts, one prompt a step
    transformers    run its own module of the model's config.json in place of a decoder of the plan
    budget_s    seconds of timing; every step is timed three times at least
    command     that asked, for the samples; keep is given each of these; progress: the part under way, and its share

    An interrupt ends it with the steps that were timed until then, before any with nothing. Raises MissingExtra
    without torch, BadInput for layers that no network is made of, a format that is none of torch's, or a device that
    is not there, and as analyze does.
    """
    from rooflight.library.questions import accelerator
    from rooflight.library.questions import model as model_named
    from rooflight.probe.device import device as device_named
    from rooflight.probe.device import threads_of

    made = model_named(model)
    card = accelerator(on) if isinstance(on, str) else on
    form = _format(made, weights)
    where = device_named(device)
    steps = _asked(batch, prefill, context)
    with threads_of(where, threads) as count:
        sc = _scenario(made, card, form, context, graphs=where.kind == "cuda")
        predicted = [_predicted(sc, one) for one in steps]  # before anything runs
        told = progress or _silent
        told("building", 0.0)
        built = _of_transformers(made, form, steps, where) if transformers else _of_plan(made, form, steps, where)
        references = _references(sc, form, where)
        runs = [*built.runs, *references.values()]
        found, interrupted = _timed(runs, where, budget_s, lambda share: told("steps", share))
        meta = _meta(made.id, where, form, "transformers" if transformers else "torch", count, command)
    results = _beside(steps, predicted, built, found[: len(built.runs)], meta)
    if keep is not None:
        for one in results:
            keep(one.sample)
    return WholeModel(
        model=made.id, device=where.name, on=card, by=meta.by, weights=form,
        engine=sc.engine.id if sc.fits.tables is not None else "", layers=built.layers, run=built.run,
        machine=meta.state, steps=tuple(results), interrupted=interrupted, notes=sc.assumptions,
        pace=_pace(sc, form, references, found[len(built.runs) :]),
    )  # fmt: skip


def _silent(_name: str, _share: float) -> None:
    """Nobody asked what it is busy with."""


def _format(model: Model, weights: str | None) -> str:
    """The one format of weights, activations and cache. Raises BadInput."""
    from rooflight.values.formats import format_named

    form = format_named(weights).id if weights is not None else model.quantization or model.dtype
    if form in FORMATS:
        return form
    raise BadInput(
        f"no network is made with {form} weights here", where=Named.of("weights"), got=form,
        want=f"one of {', '.join(FORMATS)}", try_this=Named("{weights}", weights="bf16"),
    )  # fmt: skip


def _asked(batch: Sequence[int], prefill: Sequence[int], context: int) -> list[Asked]:
    """The steps to time. Raises BadInput for sizes that are none."""
    from rooflight.probe.steps import Asked

    for name, sizes in (("batch", batch), ("prefill", [one - 1 for one in prefill]), ("context", [context])):
        if not all(isinstance(one, int) and one >= 1 for one in sizes):
            raise BadInput(
                f"no such {name}", where=Named.of(name), got=", ".join(map(str, sizes)),
                want="prompts of 2 tokens or more" if name == "prefill" else "whole numbers from 1",
            )  # fmt: skip
    if not batch and not prefill:
        raise BadInput("there is no step to time", where=Named.of("batch", "prefill"), got="none", want="one")
    decodes = [Asked(sequences=one, new=1, context=context) for one in batch]
    return [*decodes, *(Asked(sequences=1, new=one) for one in prefill)]


def _scenario(model: Model, card: Accelerator, form: str, context: int, *, graphs: bool) -> Scenario:
    """The question whose answers stand beside: by the machine's own tables where it has them."""
    from rooflight.library.questions import make_scenario
    from rooflight.scenario.measured import TORCH

    tables = card.measured is not None and card.measured.tables is not None and card.measured.tables.formats
    return make_scenario(
        model, card, weights=form, activations=form, kv_cache=form, context=context, graphs=graphs,
        engine=TORCH if tables else None,
    )  # fmt: skip


def _predicted(sc: Scenario, one: Asked) -> Span:
    from rooflight.serve import phases

    if one.context:
        return phases.decode(sc, batch=one.sequences, context=one.context).span.plain()
    return phases.prefill(sc, isl=one.new, prompts=1).span.plain()


def _of_plan(model: Model, form: str, steps: list[Asked], where: Device) -> _Built:
    """A network of as many layers as fit. Raises BadInput where none does."""
    from rooflight.probe import network
    from rooflight.probe import steps as runs

    network.refuse(model)
    positions = max(one.context + one.new for one in steps)
    size = network.size(model, form, sequences=max(one.sequences for one in steps), positions=positions)
    layers = _fitting(size.layers, _free_bytes(where) * _SHARE - size.outside)
    if not layers:
        raise BadInput(
            f"not one layer of {model.id} fits", where=where.name,
            got=f"{size.outside + min(size.layers, default=0.0):,.0f} bytes with what is outside the layers",
            want="less than is free", try_this=Named("{weights}", weights="bf16"),
        )  # fmt: skip
    built = network.Network(
        model, form, where, sequences=max(one.sequences for one in steps), positions=positions, layers=layers
    )
    asked = list(steps)
    if layers < len(size.layers):
        asked += [msgspec.structs.replace(one, layers=0) for one in steps]
    return _Built(
        runs.network_runs(built, asked, where), layers, len(size.layers),
        (sum(size.layers[:layers]), sum(size.layers)),
    )  # fmt: skip


def _fitting(layer_bytes: Sequence[float], room: float) -> int:
    """How many layers from the bottom up fit."""
    for count, one in enumerate(layer_bytes):
        room -= one
        if room < 0:
            return count
    return len(layer_bytes)


def _free_bytes(where: Device) -> float:
    from rooflight.probe.memory import free_bytes

    return free_bytes(where)


def _of_transformers(model: Model, form: str, steps: list[Asked], where: Device) -> _Built:
    """transformers' own module, all layers. Raises BadInput for a model without a config.json of its own."""
    from rooflight.probe.steps import transformers_runs

    layers = sum(layer.count for layer in model.layers)
    runs = transformers_runs(_config(model), form, steps, where)
    return _Built(runs, layers, layers, (1.0, 1.0))


def _config(model: Model) -> dict[str, Any]:
    path = Path(model.origin)
    path = path / "config.json" if path.is_dir() else path
    try:
        found = json.loads(path.read_text("utf-8")) if path.suffix == ".json" else None
    except (OSError, ValueError):
        found = None
    if isinstance(found, dict) and isinstance(found.get("model_type"), str):
        return found
    raise BadInput(
        f"transformers needs the whole config of {model.id}", where="model",
        got=model.origin or "an entry of the catalog",
        want="a config.json, or the folder that holds one",
    )  # fmt: skip


def _references(sc: Scenario, form: str, where: Device) -> dict[str, Run]:
    """Kernels of the machine's tables, run beside the steps; none where it has no tables."""
    from rooflight.probe.tables import pace_runs

    return {} if sc.fits.tables is None else pace_runs(form, where, sc.rates.cache_bytes)


def _pace(sc: Scenario, form: str, references: dict[str, Run], found: Sequence[Timed]) -> dict[str, float]:
    """What they take over what the tables say; nothing where an interrupt came before one of them."""
    from rooflight.probe.tables import PACE
    from rooflight.probe.timing import timing
    from rooflight.roofline.tables import seconds_at

    if sc.fits.tables is None or not all(one.seconds for one in found):
        return {}
    grid = sc.fits.tables.gemm[form]
    return {
        name: timing(one.seconds).median / float(seconds_at(grid, *PACE[name]))
        for name, one in zip(references, found, strict=True)
    }


def _timed(
    runs: list[Run], where: Device, budget_s: float, tick: Callable[[float], None]
) -> tuple[tuple[Timed, ...], bool]:
    """Seconds of every run, and whether an interrupt ended it. Raises BadInput where there is no memory for it."""
    from rooflight.probe.steps import timed_steps

    try:
        return timed_steps(runs, where, budget_s, tick)
    except RuntimeError as error:  # torch's own for want of memory
        raise BadInput(
            "a step could not be run", where=where.name, got=str(error).splitlines()[0][:200],
            want="a step that the device has memory for", try_this="a smaller batch or shorter prompts",
        ) from None  # fmt: skip


class _Meta(NamedTuple):
    """What every sample of a run has."""

    model: str
    where: Device
    form: str
    by: str
    state: MachineState
    source: Origin


def _meta(model: str, where: Device, form: str, by: str, threads: int | None, command: str) -> _Meta:
    from rooflight.probe.device import state

    source = Origin(command=command, tool="rooflight", version=__version__)
    return _Meta(model, where, form, by, state(where, threads), source)


def _beside(
    steps: list[Asked], predicted: list[Span], built: _Built, found: tuple[Timed, ...], meta: _Meta
) -> list[StepTimed]:
    """The steps that were timed, and what is outside of their layers where some are left out.

    Raises KeyboardInterrupt where one came before there was any.
    """
    from rooflight.answers.check.whole import beside
    from rooflight.probe.timing import timing

    times = [timing(one.seconds) if one.seconds else None for one in found]
    outside = times[len(steps) :]
    results = [
        beside(asked, span, _sample(asked, one, built, meta), without, built.layer_bytes)
        for asked, span, one, without in zip(steps, predicted, times, outside or [None] * len(steps), strict=False)
        if one is not None and (without is not None or not outside)
    ]
    if not results:
        raise KeyboardInterrupt
    return results


def _sample(asked: Asked, time_s: Timing, built: _Built, meta: _Meta) -> Sample:
    from rooflight.probe.timing import now

    decoding = asked.context > 0
    shape = {"sequences": asked.sequences, "new": asked.new, "context": asked.context, "layers": built.run}
    return Sample(
        kind="step", name=f"{'decode' if decoding else 'prefill'} ({meta.by})",
        operator="decode" if decoding else "prefill", model=meta.model, device=meta.where.name, time_s=time_s,
        format=meta.form, compute=meta.form, shape={name: float(size) for name, size in shape.items()},
        batch=float(asked.sequences), isl=None if decoding else float(asked.new),
        context=float(asked.context) if decoding else None,
        tokens_per_s=asked.sequences * asked.new / time_s.median if built.run == built.layers else None,
        source=meta.source, machine=meta.state,
        start=now(),
    )  # fmt: skip
