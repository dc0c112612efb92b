"""Which deployments a row may have run on: the one it states, or every legal one where it states none."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.answers.check.names import Names
from rooflight.catalog.calibration import engine_id
from rooflight.errors import BadInput, RooflightError
from rooflight.ingest.rows import BadRow
from rooflight.scenario.definite import Scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.measurement import Measurement
from rooflight.values.model import LatentAttention, Model

# Engines that put whole layers on each card instead of cutting matrices.
_LAYER_SPLIT = ("llama.cpp", "llamacpp", "exllama", "ollama")
_MOST_DEVICES = 4096
# Files of mixed formats, read as the lightest they can be: a ceiling must stay one.
_LIGHTEST = {
    "ud-q8_k_xl": "q8_0", "ud-q6_k_xl": "q6_k", "ud-q5_k_xl": "q5_k", "ud-q4_k_xl": "iq4_xs", "ud-q3_k_xl": "iq3_xxs",
    "ud-q3_k_s": "iq3_xxs", "ud-q2_k_xl": "iq2_xs", "q3_k_s": "q3_k", "q3_k_m": "q3_k", "q3_k_l": "q3_k",
}  # fmt: skip


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """Scenarios the row may have run as (workload left open), and what was taken for what it does not say.

    layout_open     the row states no layout, so the fastest counts
    gpus_open       not even the number of devices
    """

    scenarios: tuple[Scenario, ...]
    notes: tuple[str, ...] = ()
    layout_open: bool = False
    gpus_open: bool = False


class Degrees(msgspec.Struct, frozen=True):
    """A layout in numbers."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1


def candidates(row: Measurement, model: Model, card: Accelerator, count: int, names: Names) -> Candidates:
    """The legal deployments that agree with what the row states. Raises BadRow where there is none."""
    routed = any(layer.experts is not None for layer in model.layers)
    notes: list[str] = []
    gpus = row.gpus if row.gpus is not None else (count if count > 1 else None)
    if count > 1 and gpus != count:
        notes.append(f"the accelerator says {count} devices, gpus {gpus}: {gpus} count")
    options, layout_open = _degrees(row, gpus, routed, notes)
    if any(isinstance(layer.mixer, LatentAttention) for layer in model.layers):
        options += [other for one in options if (other := _attention_replicated(one)) not in options]
    formats = _formats(row, model, notes)
    found: list[Scenario] = []
    problem: RooflightError | None = None
    for degrees in options:
        try:
            found.append(names.scenario(model, card, _deployment(degrees, formats)))
        except RooflightError as error:
            problem = problem or error
    if not found and isinstance(problem, BadInput) and problem.where == "tp":
        found = list(_wider(options[0], formats, model, card, names, notes))
    if not found:
        raise BadRow(problem.what if problem else "no layout is legal")
    return Candidates(
        scenarios=tuple(found),
        notes=tuple(notes),
        layout_open=layout_open,
        gpus_open=gpus is None and row.tp is None,
    )


def _formats(row: Measurement, model: Model, notes: list[str]) -> tuple[str | None, str | None, str | None]:
    weights = row.weights
    if weights and model.quantization and model.quantization.startswith(f"{weights}-"):
        return None, row.kv_cache, row.compute  # "fp8" of a checkpoint in fp8-block128 is that checkpoint's own
    if weights in _LIGHTEST:
        notes.append(f"{weights} read as {_LIGHTEST[weights]}, the lightest it can be")
        weights = _LIGHTEST[weights]
    kv_cache = row.kv_cache or checkpoint_cache(row.engine, weights)
    if kv_cache and not row.kv_cache:
        notes.append(f"kv_cache not stated: {kv_cache}, as {row.engine}'s {weights} checkpoints carry")
    return weights, kv_cache, row.compute


def checkpoint_cache(engine: str, weights: str | None) -> str | None:
    """The KV cache format an engine's converted checkpoints carry, or None where it follows the activations.

    ModelOpt writes `kv_cache_quant_algo: FP8` beside FP8 and NVFP4 weights, which TensorRT-LLM obeys unless told not
    to. Source: config of nvidia/Llama-3.1-70B-Instruct-FP8; served runs that fit in no other format (docs/accuracy.md).
    """
    converted = engine_id(engine) == "tensorrt-llm" and weights in ("fp8", "nvfp4")
    return "fp8" if converted else None


def _deployment(degrees: Degrees, formats: tuple[str | None, str | None, str | None]) -> Deployment:
    weights, kv_cache, compute = formats
    return Deployment(
        tp=degrees.tp, pp=degrees.pp, dp=degrees.dp, ep=degrees.ep,
        weights=weights, kv_cache=kv_cache, compute=compute, ignore_capacity=True,
    )  # fmt: skip


def _degrees(row: Measurement, gpus: int | None, routed: bool, notes: list[str]) -> tuple[list[Degrees], bool]:
    """Layouts to try, and whether the row leaves them open."""
    ep = (row.ep or 1) if routed else 1
    if ep != (row.ep or 1):
        notes.append(f"ep {row.ep} left out: the model has no routed experts")
    tp, pp, dp = row.tp or 1, row.pp or 1, row.dp or 1
    stated = tp * pp * dp
    if gpus is None:
        if row.tp is None:
            notes.append(f"gpus not stated: taken as {stated}")
        gpus = stated
    if gpus > _MOST_DEVICES:
        raise BadRow(f"gpus is {gpus}: want at most {_MOST_DEVICES:,}")
    if gpus == stated:
        return [Degrees(tp, pp, dp, ep)], False
    if row.tp is None and _splits_layers(row.engine) and row.dp is None:
        notes.append(f"layout not stated: {row.engine} splits layers, so pp {gpus}")
        return [Degrees(1, gpus, 1, ep)], False
    rest, over = divmod(gpus, stated)
    if over:
        notes.append(f"tp {tp} x pp {pp} x dp {dp} is not {gpus} devices: the fastest legal layout of {gpus} counts")
        return list(_all(gpus, ep, routed)), True
    if row.tp is None and row.pp is None and row.dp is None:
        return list(_all(gpus, ep, routed)), True
    if row.tp is None:
        return [Degrees(rest, pp, dp, ep)], False
    options = [Degrees(tp, pp, dp * rest, ep)] if row.dp is None else []
    options += [Degrees(tp, pp * rest, dp, ep)] if row.pp is None else []
    if not options:
        notes.append(f"tp {tp} x pp {pp} x dp {dp} is not {gpus} devices: the fastest legal layout of {gpus} counts")
        options = list(_all(gpus, ep, routed))
    return options, True


def _attention_replicated(degrees: Degrees) -> Degrees:
    """Tensor parallel as engines do it for a latent cache: whole attention on each device, only the experts cut."""
    devices = degrees.tp * degrees.dp
    return Degrees(1, degrees.pp, devices, devices)


def _splits_layers(engine: str) -> bool:
    return engine.lower().startswith(_LAYER_SPLIT)


def _all(gpus: int, ep: int, routed: bool) -> Iterator[Degrees]:
    """Every tp that divides the devices, the rest as replicas or as pipeline stages; experts pooled where there are."""
    for tp in range(gpus, 0, -1):
        if gpus % tp:
            continue
        rest = gpus // tp
        yield Degrees(tp, 1, rest, ep)
        if routed and ep == 1 and gpus > 1:
            yield Degrees(tp, 1, rest, gpus)
        if rest > 1:
            yield Degrees(tp, rest, 1, ep)


def _wider(
    degrees: Degrees, formats: tuple[str | None, str | None, str | None], model: Model, card: Accelerator,
    names: Names, notes: list[str],
) -> Iterator[Scenario]:  # fmt: skip
    """The next larger tp that divides the heads: it cuts finer than the stated one, so its ceiling lies above."""
    for tp in range(degrees.tp + 1, 4 * degrees.tp + 1):
        try:
            found = names.scenario(model, card, _deployment(msgspec.structs.replace(degrees, tp=tp), formats))
        except RooflightError:
            continue
        notes.append(f"tp {degrees.tp} does not divide the heads of {model.id}: the ceiling is that of tp {tp}")
        yield found
        return


def layout_words(sc: Scenario) -> str:
    """A layout in words: tp 4 x dp 2."""
    cut = sc.layout
    parts = [f"{name} {value}" for name, value in (("tp", cut.tp), ("pp", cut.pp), ("dp", cut.dp)) if value > 1]
    parts += [f"ep {cut.ep}"] if cut.ep > 1 else []
    return " x ".join(parts) or "one device"
