"""Rows of served.csv, served2.csv and measured.csv as the parts an engine's time is made of."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from rooflight.catalog.accelerators import load
from rooflight.catalog.calibration import backend_of, calibrated, engine_named, fitted_family
from rooflight.catalog.config import read_model
from rooflight.catalog.engines import era_of, limits
from rooflight.errors import RooflightError, UnknownName
from rooflight.numeric import Number
from rooflight.scenario.caches import suite_cache
from rooflight.scenario.definite import Scenario, checkpoint_cache, context_tokens, scenario
from rooflight.serve.phases import prompt_fill
from rooflight.serve.replica import NO_STEPS, Replica, replica
from rooflight.serve.room import holds_weights
from rooflight.serve.run import wave_steps
from rooflight.serve.steady import Steady, steady
from rooflight.values.calibration import Engine
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.steptime import Parts
from rooflight.values.workload import Workload
from rooflight.work import step as steps
from rooflight.work.layout import share_out

# Engines as the data spell them -> ours.
ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "llama.cpp": "llama.cpp",
    "llama.cpp-cuda": "llama.cpp",
    "llama.cpp-rocm": "llama.cpp",
    "llama.cpp-vulkan": "llama.cpp",
    "transformers": "transformers",
    "transformers (pytorch)": "transformers",
    "deepspeed-mii": "deepspeed",
    "exllama": "exllama",
    "exllamav2": "exllama",
    "autoawq": "autoawq",
    "tinychat": "tinychat",
}
# Engines whose kernels are their own, and so may draw fewer bytes a compute unit than those that were timed.
OWN_KERNELS = ("llama.cpp", "exllama")
# Engines that launch kernels one by one, routed experts one after the other.
EAGER = ("transformers",)
# Engine, era and families whose decode attention reads the cache once for each query head.
UNSHARED = ("vllm", "2024", ("CDNA2", "CDNA3"))
# Names of a fit's unknowns, in the order of Row.terms; the last four are of some engines alone.
TERMS = (
    "body", "floors", "link", "experts", "steps", "sequence_steps", "expert_layers", "fp4_floors", "beside",
    "unshared", "repeated", "launches",
    "unit_bytes",
)  # fmt: skip


# Files of served runs, two rows each (ID-tpot, ID-ttft), and of everything else.
SERVED = ("served.csv", "served2.csv")
OFFLINE = ("measured.csv",)
# Offline runs that the two pieces of Row.terms are of: the prompts' steps, and the decode steps after them.
_WHOLE = "e2e_offline"


class First(NamedTuple):
    """The first token of a run in its steady state (serve.steady): what it was measured as, and is made of.

    own       its own prefill and half of the step under way, seconds; turn: what a prompt ahead takes
    inside    requests of the replica
    """

    seconds: float
    own: float
    turn: float
    inside: float
    line: str


class Row(NamedTuple):
    """One measurement: its seconds, and the terms that an engine's shares and host times make them from.

    terms       two pieces, each: body, floors, link, experts in seconds; steps; sequences x steps; layers with
                experts x steps; floors of products in FP4; nothing, where the share of prompts beside decode stands;
                of some engines: seconds of reads of the cache that others share, of all of them a query head, kernels
                launched one by one, bytes a compute unit moves. Of a served run the pieces are a step without prompts,
                and what prompts add to it in the mean
    shape       of the model: DeepSeek-R1 and -V3 are one; point: all that was asked, whoever measured it
    weights     as the row says; load: sequences of a replica
    line        the row of the file, of which the hash is made; raw: the row, of a served run both
    first       of a served run whose first token is known
    backend     that the engine's name says; family: the one whose fits the accelerator takes
    """

    id: str
    source: str
    engine: str
    what: str
    model: str
    shape: str
    accelerator: str
    family: str
    era: str
    batch: float
    osl: float
    routed: bool
    weights: str
    point: tuple[str, ...]
    seconds: float
    terms: np.ndarray
    line: str
    raw: tuple[dict[str, str], ...]
    first: First | None = None
    backend: str = ""

    @property
    def requests(self) -> float:
        """At once on a replica, as far as that is known."""
        return self.batch if self.first is None else self.first.inside

    @property
    def served(self) -> bool:
        """Whether it is a served run, whose terms hang on what its steady state is."""
        return self.what.startswith("e2e_server")

    @property
    def whole(self) -> bool:
        """Whether it is a batch from end to end: first the prompts, then decode steps."""
        return self.what.startswith(_WHOLE)


def rows(data: Path) -> Iterator[Row]:
    """All rows whose scenario is definite: model, card, batch, lengths and layout known."""
    for raw in raw_runs(data, SERVED):
        yield from rows_of((raw["tpot_ms"], raw.get("ttft_ms", {})), data)
    yield from offline_rows(data)


def offline_rows(data: Path) -> Iterator[Row]:
    """Those of offline runs alone."""
    for raw in raw_runs(data, OFFLINE):
        yield from rows_of((raw[""],), data)


def raw_runs(data: Path, names: Sequence[str]) -> list[dict[str, dict[str, str]]]:
    """The lines of files: of served runs those of one run together by metric, else each alone as ""."""
    runs: dict[str, dict[str, dict[str, str]]] = {}
    for name in names:
        if not (data / name).exists():
            continue
        with (data / name).open(newline="", encoding="utf-8") as file:
            for raw in csv.DictReader(file):
                key, metric = (raw["id"].rsplit("-", 1)[0], raw["metric"]) if name in SERVED else (raw["id"], "")
                runs.setdefault(f"{name} {key}", {})[metric] = raw
    return [run for run in runs.values() if "" in run or "tpot_ms" in run]


def rows_of(raw: tuple[dict[str, str], ...], data: Path) -> Iterator[Row]:
    """The row of a run, none where its scenario is not definite."""
    if unclear(raw[0]) or raw[0].get("mode") == "disagg":
        return
    try:
        row = row_of(raw, data)
    except (RooflightError, ValueError, KeyError):
        return
    if row is not None:
        yield row


def unclear(raw: dict[str, str]) -> bool:
    """Whether engine, batch, card or layout are not known, or somebody doubts the row."""
    if raw["engine"] not in ENGINES or not raw["batch"] or raw["has_accelerator"] != "True":
        return True
    if raw.get("use", "").startswith("no"):
        return True
    if any(word in raw.get("note", "") for word in ("disagree", "concurrency not stated")):
        return True
    if raw["accelerator"] == "gb200" and not raw["weights"]:
        return True  # half of what any format of this model allows: something else was measured
    # equal to the rows of one replica: the batch is per replica
    return "MiniMax" in raw["model"] and raw["dp"] not in ("", "1.0", "1")


def line_of(raw: dict[str, str]) -> str:
    """A row of a file as text: what it says, not how its columns are ordered."""
    return ",".join(f"{name}={value}" for name, value in sorted(raw.items()) if value)


def timed(found: Sequence[Row]) -> list[Row]:
    """All but lone prefills, which have a share of their own."""
    return [row for row in found if not row.what.startswith("prefill")]


@functools.cache
def _model(stem: str, data: Path) -> Model:
    for folder in ("configs_reconstructed", "configs"):
        if (path := data / folder / f"{stem}.json").exists():
            return read_model(path)
    raise KeyError(stem)


def shape_of(model: Model) -> str:
    """What tells models apart, whatever they are called."""
    layers = sum(layer.count for layer in model.layers)
    return f"{model.hidden} x {layers}, {model.vocab}, {model.layers[-1].experts is not None}"


def scenario_of(raw: dict[str, str], data: Path) -> Scenario:
    """The scenario of a row; raises RooflightError, ValueError or KeyError where it is not definite."""
    stem = raw["model"] if raw["has_config"] == "True" else raw["config_like"]
    model = _model(stem, data)
    gpus, pp = int(raw["gpus"] or 1), int(float(raw["pp"] or 1))
    dp = int(float(raw["dp"])) if raw["dp"] else 1
    tp = int(float(raw["tp"])) if raw["tp"] else max(1, gpus // (pp * dp))
    weights = raw["weights"] or None
    if weights and model.quantization and weights in model.quantization:
        weights = None
    kv_cache = raw["kv_cache"] or cache_of(raw, weights)
    deployment = Deployment(
        tp=tp, pp=pp, dp=dp, ep=int(float(raw["ep"] or 1)) or 1, weights=weights, kv_cache=kv_cache,
        ignore_capacity=raw["phase"] != "e2e_server",
    )  # fmt: skip
    engine = ENGINES[raw["engine"]]
    said = {"engine": engine, "engine_version": raw.get("engine_version") or None} if calibrated(engine) else {}
    deployment = msgspec.structs.replace(deployment, **said, **_workers(raw))
    card = load(raw["accelerator"])[0]
    sc = scenario(model, card, None, workload_of(raw), deployment)
    own = limits(engine, card)
    return msgspec.structs.replace(
        sc, engine=_start(engine, fitted_family(card), era_of(engine, raw.get("engine_version"))),
        budget_tokens=own.budget_tokens, most_sequences=own.sequences,
    )  # fmt: skip


def cache_of(raw: dict[str, str], weights: str | None) -> str | None:
    """The cache format of a row that leaves it blank, as `check` reads such rows."""
    own = checkpoint_cache(raw["engine"], weights)
    if own or raw["phase"] != "e2e_server":
        return own
    return suite_cache(raw["engine"], raw["weights"], native=weights is None)


def workload_of(raw: dict[str, str]) -> Workload:
    """The row's lengths as its metric counts them: what is cached before a prompt is no part of what is prefilled."""
    batch = int(float(raw["batch"]))
    depth, isl, osl = (int(float(raw.get(name) or 0)) for name in ("depth", "input_len", "output_len"))
    if raw["phase"] == "decode":
        return Workload(batch=batch, prefill_batch=batch, isl=max(isl, depth, 1), osl=max(osl, 1))
    whole = max(isl + depth, 1)
    return Workload(batch=batch, prefill_batch=batch, isl=whole, cached_prefix=min(depth, whole - 1), osl=max(osl, 1))


def _workers(raw: dict[str, str]) -> dict[str, int]:
    """Pools of workers, where the row names them."""
    if raw.get("mode") != "disagg":
        return {}
    names = ("prefill_workers", "prefill_tp", "prefill_ep", "prefill_dp", "decode_workers")
    return {name: int(float(raw[name])) or 1 for name in names if raw[name]}


def _start(engine: str, family: str, era: str) -> Engine:
    """The catalog's fit, from which a new one sets out; of an engine without one the mean of all."""
    try:
        return engine_named(engine, family, era)
    except UnknownName:
        return engine_named(None)


def row_of(raw: tuple[dict[str, str], ...], data: Path, engine: Engine | None = None) -> Row | None:
    """Lines of a file as a row (of a served run TPOT, TTFT); None where it does not say what was measured.

    engine      under which a served run's steady state is; None: the catalog's. Raises as scenario_of does.
    """
    line, *more = raw
    sc = scenario_of(line, data)
    if not holds_weights(sc):
        return None  # it ran on more devices than stated
    if engine is not None:
        sc = msgspec.structs.replace(sc, engine=engine)
    name, first = ENGINES[line["engine"]], None
    if line["phase"] == "e2e_server":
        got = _served(sc, line)
        if got is not None and more and more[0]:
            first = _first(sc, raw)
    else:
        got = _offline(sc, line)
    if got is None:
        return None
    terms, seconds = got
    era, family = era_of(name, line.get("engine_version")), sc.accelerator.family
    terms[:, TERMS.index("unit_bytes")] *= name in OWN_KERNELS
    terms[:, [TERMS.index("launches"), TERMS.index("repeated")]] *= name in EAGER
    terms[:, TERMS.index("unshared")] *= (name, era) == UNSHARED[:2] and family in UNSHARED[2]
    layout = (str(sc.layout.tp), str(sc.layout.pp), str(sc.layout.ep), str(sc.layout.dp))
    asked = (line["weights"], line["batch"], line["input_len"], line["output_len"], line["phase"], line["metric"])
    return Row(
        id=line["id"], source=line["id"].split("-")[0], engine=name, what=line["phase"] + " " + line["metric"],
        model=sc.model.id, shape=shape_of(sc.model), accelerator=sc.accelerator.id,
        family=fitted_family(sc.accelerator), era=era_of(name, line.get("engine_version")),
        batch=float(line["batch"]), osl=sc.workload.osl,
        routed=sc.expert_layers > 0, weights=line["weights"], seconds=seconds, terms=terms, line=line_of(line),
        point=(shape_of(sc.model), sc.accelerator.id, name, *layout, *asked), raw=raw, first=first,
        backend=backend_of(line["engine"]),
    )  # fmt: skip


def again(row: Row, data: Path, engine: Engine | None = None) -> Row:
    """The row with its terms anew: its steady state under another engine, its parts under other kernel formulas."""
    found = row_of(row.raw, data, engine)
    return row if found is None else found


def vector(part: Parts, *, steps_: float, sequences: float, layers: int) -> np.ndarray:
    """The terms (TERMS) of `steps_` steps of these parts."""
    seconds = (part.body, part.floors, part.link, part.experts)
    each = (steps_, sequences * steps_, layers * steps_)
    rest = (steps_ * part.fp4_floors, 0.0)
    own = (part.unshared, part.repeated, part.launches, part.unit_bytes)
    return np.array(
        [*(steps_ * part_ for part_ in seconds), *each, *rest, *(steps_ * part_ for part_ in own)], dtype=float
    )


def _step(one: Replica, decoding: Number | None, tokens: Number | None, steps_: float) -> np.ndarray:
    """The terms of so many of the steps that serve.replica times."""
    return vector(
        one.parts(decoding, tokens), steps_=steps_, sequences=one.sequences(decoding, tokens),
        layers=one.sc.expert_layers,
    )  # fmt: skip


def _served(sc: Scenario, raw: dict[str, str]) -> tuple[np.ndarray, float] | None:
    """The mean step of the steady state: a quiet one, and what prompt tokens beside add to it; and the seconds."""
    one = replica(sc)
    if raw["metric"] != "tpot_ms" or one.users > one.room or one.steps <= NO_STEPS:
        return None
    decoding, tokens, share = _steady(one).step
    quiet, loud = _step(one, decoding, None, 1.0), _step(one, decoding, tokens, 1.0)
    return np.array([quiet, share * (loud - quiet)]), float(raw["value"]) / 1e3


def _steady(one: Replica) -> Steady:
    engine = one.sc.engine
    return steady(one, one.expected_s, server_s=engine.server_s, queue=engine.queue)


def _first(sc: Scenario, raw: tuple[dict[str, str], ...]) -> First:
    found = _steady(replica(sc))
    own = found.own_s + (1 - 1 / found.inside) * found.step_s / 2
    return First(
        seconds=float(raw[1]["value"]) / 1e3, own=own, turn=found.turn_s, inside=found.inside,
        line=line_of(raw[0]) + "," + line_of(raw[1]),
    )  # fmt: skip


def _offline(sc: Scenario, raw: dict[str, str]) -> tuple[np.ndarray, float] | None:
    """The terms of what was measured, and its seconds."""
    value, metric, phase = float(raw["value"]), raw["metric"], raw["phase"]
    load_ = sc.workload
    batch, osl = load_.batch, load_.osl
    share = share_out(batch, sc.layout)
    one = functools.partial(vector, layers=sc.expert_layers)
    none = np.zeros(len(TERMS))
    if phase == "decode":
        seconds = {
            "tpot_ms": value / 1e3, "output_tok_s": batch / value, "output_tok_s_per_user": 1 / value,
            "output_tok_s_per_gpu": batch / value / sc.layout.devices,
        }[metric]  # fmt: skip
        step = sc.steps.parts(steps.decode(sequences=share.sequences, context=context_tokens(load_)))
        return np.array([none, one(step, steps_=1, sequences=float(share.sequences))]), seconds
    if phase == "prefill" and metric in ("ttft_ms", "prefill_tok_s", "total_tok_s"):
        prompts, new = share_out(load_.prefill_batch, sc.layout).sequences, load_.isl - load_.cached_prefix
        seconds = value / 1e3 if metric == "ttft_ms" else batch * new / value
        step = sc.steps.parts(steps.prefill(sequences=prompts, isl=load_.isl, cached_prefix=load_.cached_prefix))
        fill = prompt_fill(sc, share_out(load_.prefill_batch, sc.layout).passes, new)
        return np.array([none, one(step, steps_=fill, sequences=float(prompts))]), seconds
    if phase == _WHOLE and osl > 1:
        seconds = {
            "e2e_latency_ms": value / 1e3, "output_tok_s_per_user": osl / value, "output_tok_s": batch * osl / value,
            "output_tok_s_per_gpu": batch * osl / value / sc.layout.devices,
            "total_tok_s": batch * (load_.isl + osl) / value,
        }[metric]  # fmt: skip
        wave = replica(sc)
        times, tokens = wave_steps(wave)
        return np.array([_step(wave, None, tokens, times), _step(wave, wave.users, None, wave.steps)]), seconds
    return None
