"""Rows of served.csv and measured.csv as the parts an engine's time is made of."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rooflight.answers.check.candidates import checkpoint_cache
from rooflight.catalog.accelerators import load
from rooflight.catalog.config import read_model
from rooflight.errors import RooflightError
from rooflight.numeric import Number
from rooflight.scenario.definite import Scenario, scenario
from rooflight.serve.memory import holds_weights, max_batch, room
from rooflight.serve.served import LUMP_TOKENS
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
# Names of a fit's unknowns, in the order of Row.terms.
TERMS = ("body", "floors", "link", "experts", "steps", "sequence_steps", "expert_layers", "unit_bytes")


class Row(NamedTuple):
    """One measurement: its seconds, and the terms that an engine's shares and host times make them from.

    terms       body, floors, link, experts in seconds; steps; sequences x steps; layers with experts x steps;
                bytes a compute unit moves, of engines with kernels of their own
    line        the row of the file, of which the hash is made
    """

    id: str
    source: str
    engine: str
    what: str
    model: str
    accelerator: str
    family: str
    era: str
    batch: float
    routed: bool
    seconds: float
    terms: np.ndarray
    line: str


def rows(data: Path) -> Iterator[Row]:
    """All rows whose scenario is definite: model, card, batch, lengths and layout known."""
    for name in ("served.csv", "measured.csv"):
        with (data / name).open(newline="", encoding="utf-8") as file:
            for raw in csv.DictReader(file):
                engine = ENGINES.get(raw["engine"])
                if engine is None or not raw["batch"] or raw["has_accelerator"] != "True":
                    continue
                try:
                    row = row_of(raw, engine, data)
                except (RooflightError, ValueError, KeyError, StopIteration):
                    continue
                if row is not None:
                    yield row


def line_of(raw: dict[str, str]) -> str:
    """A row of a file as text: what it says, not how its columns are ordered."""
    return ",".join(f"{name}={value}" for name, value in sorted(raw.items()) if value)


def timed(found: Sequence[Row]) -> list[Row]:
    """All but lone prefills, which have a share of their own."""
    return [row for row in found if not row.what.startswith("prefill")]


@functools.cache
def _model(stem: str, data: Path) -> Model:
    path = next(p for d in ("configs_reconstructed", "configs") if (p := data / d / f"{stem}.json").exists())
    return read_model(path)


def scenario_of(raw: dict[str, str], data: Path) -> Scenario:
    """The scenario of a row; raises RooflightError, ValueError or StopIteration where it is not definite."""
    stem = raw["model"] if raw["has_config"] == "True" else raw["config_like"]
    model = _model(stem, data)
    gpus, pp = int(raw["gpus"] or 1), int(float(raw["pp"] or 1))
    dp = int(float(raw["dp"])) if raw["dp"] else 1
    tp = int(float(raw["tp"])) if raw["tp"] else max(1, gpus // (pp * dp))
    weights = raw["weights"] or None
    if weights and model.quantization and weights in model.quantization:
        weights = None
    kv_cache = raw["kv_cache"] or checkpoint_cache(raw["engine"], weights)
    deployment = Deployment(
        tp=tp, pp=pp, dp=dp, ep=int(float(raw["ep"] or 1)) or 1, weights=weights, kv_cache=kv_cache,
        ignore_capacity=True,
    )  # fmt: skip
    load_ = Workload(
        batch=int(float(raw["batch"])), prefill_batch=int(float(raw["batch"])),
        isl=max(1, int(float(raw["input_len"] or 1))), osl=max(1, int(float(raw["output_len"] or 1))),
    )  # fmt: skip
    return scenario(model, load(raw["accelerator"])[0], None, load_, deployment)


def newcomers(engine: str) -> float:
    """Share of a request's life in which others are prefilled beside it.

    1 in a steady state. SGLang's two campaigns contradict each other (1 fits one, half the other): between them.
    """
    return 0.75 if engine == "sglang" else 1.0


def vector(part: Parts, *, steps_: float, sequences: float, layers: int) -> np.ndarray:
    """The terms (TERMS) of `steps_` steps of these parts."""
    seconds = (part.body, part.floors, part.link, part.experts)
    return np.array([*seconds, steps_, sequences * steps_, layers * steps_, part.unit_bytes], dtype=float)


def row_of(raw: dict[str, str], engine: str, data: Path) -> Row | None:
    """A line of a file as a row; None where it does not say what was measured. Raises as scenario_of does."""
    if any(word in raw.get("note", "") for word in ("disagree", "concurrency not stated")):
        return None  # the layout or the batch is not known
    if raw["accelerator"] == "gb200" and not raw["weights"]:
        return None  # half of what any format of this model allows: something else was measured
    if "MiniMax" in raw["model"] and raw["dp"] not in ("", "1.0", "1"):
        return None  # equal to the rows of one replica: the batch is per replica
    sc = scenario_of(raw, data)
    if not holds_weights(sc):
        return None  # it ran on more devices than stated
    got = _terms(sc, raw, engine)
    if got is None:
        return None
    terms, seconds = got
    terms[-1] *= engine in OWN_KERNELS
    routed = sc.expert_layers > 0
    return Row(
        id=raw["id"], source=raw["id"].split("-")[0], engine=engine, what=raw["phase"] + " " + raw["metric"],
        model=sc.model.id, accelerator=sc.accelerator.id, family=sc.accelerator.family,
        era="2025" if raw["phase"] == "e2e_server" else "2024", batch=float(raw["batch"]),
        routed=routed, seconds=seconds, terms=terms, line=line_of(raw),
    )  # fmt: skip


def _terms(sc: Scenario, raw: dict[str, str], engine: str) -> tuple[np.ndarray, float] | None:
    """The terms of what was measured, and its seconds."""
    value, metric, phase = float(raw["value"]), raw["metric"], raw["phase"]
    batch, isl, osl = sc.workload.batch, sc.workload.isl, sc.workload.osl
    share = share_out(batch, sc.layout)
    layers = sc.expert_layers
    one = functools.partial(vector, layers=layers, sequences=float(share.sequences))

    def decode(context: float) -> np.ndarray:
        return one(sc.steps.parts(steps.decode(sequences=share.sequences, context=context)), steps_=1)

    if phase == "e2e_server" and metric == "tpot_ms":
        if batch > max_batch(room(sc)) * sc.layout.dp:
            return None
        return served_terms(sc, one, newcomers=newcomers(engine)), value / 1e3
    if phase == "decode":
        seconds = {
            "tpot_ms": value / 1e3, "output_tok_s": batch / value, "output_tok_s_per_user": 1 / value,
            "output_tok_s_per_gpu": batch / value / sc.layout.devices,
        }[metric]  # fmt: skip
        depth = isl if raw["id"].startswith(("spark", "strix", "xdai")) else isl + osl / 2
        return decode(depth), seconds
    if phase == "prefill" and metric in ("ttft_ms", "prefill_tok_s", "total_tok_s"):
        seconds = value / 1e3 if metric == "ttft_ms" else batch * isl / value
        prompts = share_out(1 if metric == "ttft_ms" else batch, sc.layout).sequences
        return one(sc.steps.parts(prompt_step(sc, prompts)), steps_=1), seconds
    if phase == "e2e_offline" and metric in ("e2e_latency_ms", "output_tok_s_per_user") and osl > 1:
        seconds = value / 1e3 if metric == "e2e_latency_ms" else osl / value
        pre = one(sc.steps.parts(prompt_step(sc, share.sequences)), steps_=1)
        return pre + decode(isl + osl / 2) * (osl - 1), seconds
    return None


def prompt_step(sc: Scenario, prompts: Number) -> steps.Step:
    """The prefill of so many of the workload's prompts on one replica."""
    load = sc.workload
    return steps.prefill(sequences=prompts, isl=load.isl, cached_prefix=load.cached_prefix)


def served_terms(sc: Scenario, one: Callable[..., np.ndarray], *, newcomers: float) -> np.ndarray:
    """The mean step of serve.served.served, as terms."""
    share = share_out(sc.workload.batch, sc.layout)
    load_ = sc.workload
    context = load_.isl + load_.osl / 2
    rate = newcomers * share.sequences / load_.osl
    busy = min(rate, 1.0)
    lump = load_.isl * rate / busy
    chunk = min(lump, LUMP_TOKENS)
    alone = one(sc.steps.parts(steps.decode(sequences=share.sequences, context=context)), steps_=1)
    mixed = steps.mixed(sequences=share.sequences, context=context, chunk_tokens=chunk, chunk_context=0)
    beside = one(sc.steps.parts(mixed), steps_=1)
    return np.asarray(alone + (beside - alone) * busy * lump / chunk)
