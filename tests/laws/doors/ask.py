"""The doors: each takes a question and gives its document as JSON has it; None where it cannot be asked that."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import json
import math
from collections.abc import Callable
from typing import Any

import rooflight
from laws.doors.questions import Question, asked, catalog, cli_json
from rooflight.scenario.definite import checkpoint_cache

Document = dict[str, Any]
HAS_STUDIO = all(importlib.util.find_spec(name) for name in ("fastapi", "jinja2", "httpx"))
# A speed that is possible everywhere, and far too slow, so that check says what binds.
SLOW = {"ms": 1e9, "tok/s": 1e-6}
# Phase and metric of the rows that check is asked to judge.
ROWS = (
    *(("decode", name) for name in ("tpot_ms", "output_tok_s", "output_tok_s_per_user", "output_tok_s_per_gpu")),
    *(("prefill", name) for name in ("ttft_ms", "prefill_tok_s")),
    *(("e2e_offline", name) for name in ("e2e_latency_ms", "output_tok_s", "total_tok_s")),
    *(
        ("e2e_server", name)
        for name in (
            "tpot_ms",
            "ttft_ms",
            "e2e_latency_ms",
            "output_tok_s",
            "output_tok_s_per_user",
            "output_tok_s_per_gpu",
        )
    ),
)
# What a claim's metrics are of (docs of `check`): a decode step, a prefill, a whole request.
CLAIMS = {
    "tpot_ms": "decode",
    "output_tok_s": "decode",
    "output_tok_s_per_user": "decode",
    "output_tok_s_per_gpu": "decode",
    "ttft_ms": "prefill",
    "prefill_tok_s": "prefill",
    "e2e_latency_ms": "e2e_offline",
    "total_tok_s": "e2e_offline",
}


def slow(metric: str) -> float:
    """A value of the metric far below any ceiling."""
    return SLOW["ms" if metric.endswith("_ms") else "tok/s"]


def plain(value: Any) -> Any:
    """As JSON has it: tuples are lists."""
    return json.loads(json.dumps(value))


def words(one: Question) -> list[str]:
    """The question as a command line's arguments behind MODEL."""
    fields = one.said("tp", "pp", "ep", "dp", "weights", "kv_cache", "engine", "batch", "isl", "osl")
    options = [word for name, value in fields.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return ["--on", one.on, *options]


@functools.cache
def analyze(one: Question) -> Document:
    """`rooflight.analyze`."""
    return plain(rooflight.analyze(one.model, **asked(one)).to_dict())


def analyze_json(one: Question) -> Document:
    """`rooflight analyze --json`."""
    return cli_json("analyze", one.model, *words(one))


def sweep(one: Question) -> Document:
    """The only row of `rooflight sweep --json`, of both phases."""
    return {phase: _sweep_json(one, phase)["rows"][0] for phase in ("decode", "prefill")}


def landmarks(one: Question) -> Document:
    """The landmarks of `rooflight sweep --json`."""
    return _sweep_json(one, "decode")["landmarks"][0]


@functools.lru_cache(maxsize=8)
def _sweep_json(one: Question, phase: str) -> Document:
    return cli_json("sweep", one.model, *words(one), "--phase", phase)


def _or_none(value: object) -> object:
    """A column of numbers has NaN where a document has null."""
    return None if isinstance(value, float) and math.isnan(value) else value


def sweep_columns(one: Question) -> Document:
    """The only point of `rooflight.sweep(...).columns()`, of both phases."""
    found = {}
    for phase in ("decode", "prefill"):
        fields = asked(one)
        axes = {"batch": [fields.pop("batch")]}
        columns = rooflight.sweep(one.model, fields.pop("on"), axes, phase=phase, **fields).columns()
        found[phase] = {name: _or_none(values[0].item()) for name, values in columns.items()}
    return found


@functools.cache
def compare(one: Question) -> Document:
    """`rooflight.compare` of one deployment."""
    return plain(rooflight.compare(one.model, **asked(one)).to_dict())


def compare_json(one: Question) -> Document:
    """`rooflight compare --json`."""
    return cli_json("compare", one.model, *words(one))


@functools.cache
def moves(one: Question) -> Document:
    """`rooflight.moves`."""
    return plain(rooflight.moves(one.model, **asked(one)).to_dict())


def moves_json(one: Question) -> Document:
    """`rooflight moves --json`."""
    return cli_json("moves", one.model, *words(one))


def row_of(one: Question, phase: str, metric: str) -> dict[str, Any]:
    """A row of measurements that asks the question; a prefill is that of one prompt, the default."""
    fields = one.said("model", "tp", "pp", "dp", "weights", "kv_cache", "engine")
    if one.ep > 1:
        fields["ep"] = one.ep
    return {
        **fields, "accelerator": one.card, "gpus": one.count, "phase": phase, "metric": metric, "value": slow(metric),
        "batch": 1 if phase == "prefill" else one.batch, "input_len": one.isl, "output_len": one.osl,
    }  # fmt: skip


def check_rows(one: Question) -> Document:
    """`rooflight.check` of a row for each metric, as columns say it."""
    report = plain(rooflight.check([row_of(one, phase, metric) for phase, metric in ROWS]).to_dict())
    return {f"{_meant(phase, row)}/{metric}": row for (phase, metric), row in zip(ROWS, report["rows"], strict=True)}


def check_claim(one: Question) -> Document:
    """`rooflight check --model ... --json` of a claim in each metric."""
    claims = [word for metric in CLAIMS for word in (f"--{metric.replace('_', '-')}", str(slow(metric)))]
    rows = cli_json("check", "--model", one.model, *words(one), *claims)["rows"]
    phases = {row["metric"]: _meant(CLAIMS[row["metric"]], row) for row in rows}
    # too few of them are of a served run for a law of their own
    return {f"{phases[row['metric']]}/{row['metric']}": row for row in rows if phases[row["metric"]] != "e2e_server"}


def _meant(phase: str, row: Document) -> str:
    """What a row is of: of a served run, where memory does not hold a step of all its sequences."""
    return "e2e_server" if phase == "decode" and "at most run at once" in row["reason"] else phase


def models_list(one: Question) -> Document:
    """The model's line in `rooflight models --json`."""
    return _in_own_formats(one, next(entry for entry in catalog()[0] if entry["id"] == one.model))


def models_page(one: Question) -> Document:
    """The model block of `rooflight models MODEL --json`."""
    return _in_own_formats(one, cli_json("models", one.model)["model"])


def _in_own_formats(one: Question, block: Document) -> Document:
    """Without the bytes that are another question's: the catalog is asked of the config's own formats alone."""
    cache = one.kv_cache or checkpoint_cache(one.engine, one.weights)
    other = [name for name, said in (("weight", one.weights), ("kv", cache)) if said]
    return {name: value for name, value in block.items() if not ("bytes" in name and any(f in name for f in other))}


def accelerators_list(one: Question) -> Document:
    """The card's line in `rooflight accelerators --json`."""
    return next(entry for entry in catalog()[1] if entry["id"] == one.card)


def accelerators_page(one: Question) -> Document:
    """The accelerator block of `rooflight accelerators CARD --json`."""
    return cli_json("accelerators", one.card)["accelerator"]


@functools.cache
def _app() -> Any:
    from rooflight.studio.app import make_app

    return make_app()


def _post(path: str, one: Question) -> Document | None:
    """A request of the studio about one scenario."""
    return _sent(path, _scenario(one))


def _scenario(one: Question) -> Document:
    """A scenario of the studio, which has every field of a question by its own name."""
    return {"model": one.model, **asked(one)}


def _sent(path: str, body: Document) -> Document | None:
    if not HAS_STUDIO:
        return None
    import httpx

    async def once() -> Any:
        transport = httpx.ASGITransport(app=_app())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            return await client.post(path, json=body)

    answer = asyncio.run(once())
    assert answer.status_code == 200, answer.text
    return answer.json()


@functools.cache
def studio(one: Question) -> Document | None:
    """/api/analyze of the studio."""
    return _post("/api/analyze", one)


def studio_picture(one: Question) -> Document | None:
    """The analysis of /api/picture: of the second of two scenarios, which is in focus."""
    picture = _sent("/api/picture", {"scenarios": [{}, _scenario(one)], "focus": 1})
    return picture and picture["analysis"]


def studio_landmarks(one: Question) -> Document | None:
    """/api/landmarks of the studio."""
    return _post("/api/landmarks", one)


DOORS: dict[str, Callable[[Question], Document | None]] = {
    "analyze": analyze,
    "sweep": sweep,
    "sweep columns": sweep_columns,
    "compare": compare,
    "moves": moves,
    "check row": check_rows,
    "check claim": check_claim,
    "studio": studio,
    "studio picture": studio_picture,
    "sweep landmarks": landmarks,
    "studio landmarks": studio_landmarks,
    "models": models_list,
    "models MODEL": models_page,
    "accelerators": accelerators_list,
    "accelerators CARD": accelerators_page,
}
