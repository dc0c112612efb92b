"""Rows of measured2.csv as `check` reads them: models by name or size, formats, layouts, engines by any spelling."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from engine_rows import TERMS, Row, line_of, shape_of, vector

from rooflight.answers.check.names import Names
from rooflight.answers.check.questions import Question, question
from rooflight.catalog.calibration import backend_of, calibrated, engine_id, fitted_family
from rooflight.catalog.engines import era_of
from rooflight.errors import RooflightError
from rooflight.ingest.rows import BadRow, given_rows
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.phases import prompt_fill
from rooflight.serve.room import holds_weights
from rooflight.values.measurement import Timed
from rooflight.work import step as steps
from rooflight.work.layout import share_out

FILE = "measured2.csv"
# Engines that the name in the file stands for, whether they are calibrated yet or not.
OTHERS = ("mlx",)


def checked_rows(data: Path) -> Iterator[Row]:
    """The steps and prompts of the file whose question is definite; nothing offloaded, drafted or below full power."""
    if not (data / FILE).exists():
        return
    names = Names([data / name for name in ("configs_reconstructed", "configs")])
    with (data / FILE).open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if not _odd(line)]
    for given, line in zip(given_rows(lines), lines, strict=True):
        if given.row is None:
            continue
        try:
            row = _row(question(given.row, names), line)
        except (BadRow, RooflightError, ValueError):
            continue
        if row is not None:
            yield row


def _odd(line: dict[str, str]) -> bool:
    """Whether something else than the engine on the whole card was timed, or nobody knows which engine."""
    engine = engine_id(line["engine"])
    known = calibrated(line["engine"]) or engine in OTHERS
    apart = any(line.get(name) for name in ("partial_offload", "speculative", "power_limit_w"))
    return apart or not known or line["phase"] not in ("decode", "prefill")


def _row(asked: Question, line: dict[str, str]) -> Row | None:
    """The row of a definite question; None where batch, layout or what lies on a host are open."""
    options = asked.options
    if asked.bare or asked.batch is None or options.hosted or (options.layout_open and len(options.scenarios) > 1):
        return None
    sc = options.scenarios[0]
    if sc.rates.unlike or not holds_weights(sc):
        return None
    load = msgspec.structs.replace(
        sc.workload, isl=asked.isl, osl=asked.osl, cached_prefix=asked.cached, context=asked.context,
        batch=asked.batch, prefill_batch=asked.prompts or asked.batch,
    )  # fmt: skip
    sc = msgspec.structs.replace(sc, workload=load)
    found = _decode(sc, line) if asked.row.timed is Timed.STEP else _prefill(sc, asked, line)
    if found is None:
        return None
    part, seconds = found
    return _as_row(sc, line, part, seconds)


def _as_row(sc: Scenario, line: dict[str, str], part: np.ndarray, seconds: float) -> Row:
    name = engine_id(line["engine"])
    layout = tuple(map(str, (sc.layout.tp, sc.layout.pp, sc.layout.ep, sc.layout.dp)))
    said = ("weights", "batch", "input_len", "output_len", "depth", "phase", "metric")
    backend = backend_of(line["engine"])
    return Row(
        id=line["id"], source=line["id"].rsplit("-", 1)[0], engine=name, what=line["phase"] + " " + line["metric"],
        model=sc.model.id, shape=shape_of(sc.model), accelerator=sc.accelerator.id,
        family=fitted_family(sc.accelerator), era=era_of(name, line.get("engine_version")),
        batch=float(sc.workload.batch), osl=sc.workload.osl, routed=sc.expert_layers > 0, weights=line["weights"],
        seconds=seconds, terms=np.array([np.zeros(len(TERMS)), part]), line=line_of(line), raw=(line,),
        point=(shape_of(sc.model), sc.accelerator.id, name, backend, *layout, *(line[name] for name in said)),
        backend=backend,
    )  # fmt: skip


def _decode(sc: Scenario, line: dict[str, str]) -> tuple[np.ndarray, float] | None:
    batch, value = sc.workload.batch, float(line["value"])
    seconds = {
        "tpot_ms": value / 1e3, "output_tok_s": batch / value, "output_tok_s_per_user": 1 / value,
        "output_tok_s_per_gpu": batch / value / sc.layout.devices,
    }.get(line["metric"])  # fmt: skip
    if seconds is None:
        return None
    share = share_out(batch, sc.layout)
    context = context_tokens(sc.workload)
    part = sc.steps.parts(steps.decode(sequences=share.sequences, context=context, source=sc.source_tokens))
    return vector(part, steps_=1, sequences=float(share.sequences), layers=sc.expert_layers), seconds


def _prefill(sc: Scenario, asked: Question, line: dict[str, str]) -> tuple[np.ndarray, float] | None:
    load, value = sc.workload, float(line["value"])
    if asked.row.timed is not Timed.PREFILL or sc.unrated or line["metric"] not in ("ttft_ms", "prefill_tok_s"):
        return None
    new = load.isl - load.cached_prefix
    seconds = value / 1e3 if line["metric"] == "ttft_ms" else load.prefill_batch * new / value
    share = share_out(load.prefill_batch, sc.layout)
    ends = steps.prompt_ends(sc.model, load.osl)
    step = steps.prefill(sequences=share.sequences, isl=load.isl, cached_prefix=load.cached_prefix, ends=ends)
    fill = prompt_fill(sc, share.passes, new)
    return vector(sc.steps.parts(step), steps_=fill, sequences=float(share.sequences), layers=sc.expert_layers), seconds
