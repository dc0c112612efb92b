"""The Python front door to serving endpoints: a load, what came of it, and the run predicted for it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from rooflight import __version__
from rooflight.errors import BadInput, Named
from rooflight.library.questions import make_scenario
from rooflight.serve.goals import Wanted, wanted_ms
from rooflight.values.accelerator import Accelerator
from rooflight.values.endpoint import APIS, EndpointReport, Load, Sent
from rooflight.values.field import one_of
from rooflight.values.model import Model
from rooflight.values.question import Fields, asked
from rooflight.values.sample import Origin, Sample

if TYPE_CHECKING:
    from rooflight.probe.endpoint.drive import Ended
    from rooflight.scenario.definite import Scenario

NUM_PROMPTS = 32
# Where a time ends the load and no number is given.
MOST_PROMPTS = 10_000
TIMEOUT_S = 120.0
# Published contexts reach 10 million tokens; a prompt is held in memory.
_LARGEST = {"isl": 10_000_000, "num_prompts": 1_000_000, "warmup": 1_000, "batch": 1 << 16}
_LONGEST_S = 86_400.0
# Fields that say how requests arrive and how long they are; the others are the prediction's alone.
_LOAD = ("batch", "request_rate", "isl", "osl")


def measure_endpoint(
    url: str,
    *,
    model: str | Path | Model | None = None,
    on: str | Accelerator | None = None,
    served_model: str | None = None,
    api: str | None = None,
    num_prompts: int | None = None,
    duration_s: float | None = None,
    timeout_s: float = TIMEOUT_S,
    warmup: int = 1,
    burst: bool = False,
    burstiness: float = 1.0,
    ttft_slo_ms: float | None = None,
    tpot_slo_ms: float | None = None,
    headers: Mapping[str, str] | None = None,
    api_key_env: str | None = None,
    seed: int | None = None,
    watch: Callable[[Sent], None] | None = None,
    keep: Callable[[Sample], None] | None = None,
    **fields: Unpack[Fields],
) -> EndpointReport:
    """Drive an OpenAI-compatible streaming endpoint, and set what it does beside the run predicted for the load.

    url         of the server, with or without /v1, or of its completions or chat completions; nothing else is asked
    model, on   what the server runs, and on what; both left out: measurements alone
    served_model    the name it goes by there (left out: the one that the server lists)
    api         "completions" (left out) or "chat"
    num_prompts     requests at most (left out: 32, or 10,000 beside duration_s); duration_s: none are sent after it
    timeout_s   of a request; warmup: requests before, which do not count
    burst       all at once; burstiness: of arrivals at a request_rate, 1 is Poisson, less is burstier
    headers     of every request; api_key_env: the variable of the environment that holds a key
    seed        of prompts and arrivals (left out: a new one each time, so that no prefix cache knows the prompts)
    watch, keep     are called with every request, and with it as a sample, as it ends
    fields      batch (requests in flight), request_rate, isl and osl are the load; others, of Workload and Deployment,
                say what is predicted

    Faults are outcomes of requests, and nothing is raised for them. Raises BadInput and its kinds for a malformed
    question, MissingExtra without aiohttp, MissingFact for a number nobody published, all before anything is sent.
    """
    from rooflight.probe.endpoint.drive import headers_of

    load = _load(
        fields, wanted_ms(ttft_slo_ms, tpot_slo_ms), num_prompts=num_prompts, duration_s=duration_s,
        timeout_s=timeout_s, warmup=warmup, burst=burst, burstiness=burstiness, seed=seed,
    )  # fmt: skip
    question = _Question(load, fields, model, on)
    chosen: Any = None if api is None else one_of(api, APIS, Named.of("api"))
    known = headers_of(headers or {}, key_of(api_key_env))
    return _report(question, url, chosen, served_model=served_model, headers=known, watch=watch, keep=keep)


class _Question:
    """The load, and what it is predicted for; scenario None: measurements alone. Raises as make_scenario does."""

    def __init__(
        self, load: Load, fields: Mapping[str, Any], model: str | Path | Model | None, on: str | Accelerator | None
    ) -> None:  # fmt: skip
        from rooflight.catalog.accelerators import file_name

        _both_or_none(model, on, fields)
        self.load, self.stated = load, frozenset(fields)
        self._of = None if model is None or on is None else (model, on)
        self._fields = _run_fields(load, fields)
        self.scenario = self._made()
        self.on = file_name(on) if isinstance(on, str) else None

    def _made(self) -> Scenario | None:
        return None if self._of is None else make_scenario(*self._of, **self._fields)

    def take_engine(self, engine: str | None) -> None:
        """The engine that the server says it is, where none was stated."""
        if engine is not None and self.scenario is not None and self.scenario.deployment.engine is None:
            self._fields["engine"] = engine
            self.scenario = self._made()


def _report(
    question: _Question, url: str, api: Any, *, served_model: str | None, headers: Mapping[str, str],
    watch: Callable[[Sent], None] | None, keep: Callable[[Sample], None] | None,
) -> EndpointReport:  # fmt: skip
    from rooflight.answers.check.endpoint import judge
    from rooflight.probe.endpoint.drive import drive
    from rooflight.probe.endpoint.figures import figures, sample
    from rooflight.words.endpoint import told

    load, sc = question.load, question.scenario
    source = Origin(command=f"measure_endpoint {url.partition('?')[0]}", tool="rooflight", version=__version__)
    about: dict[str, Any] = {"device": None, "count": 1} if sc is None else _devices(sc)

    def ended(one: Ended) -> None:
        if watch is not None:
            watch(one.sent)
        if keep is not None:
            keep(sample(one.sent, load, model=one.model, start=one.start, source=source, **about))

    driven = drive(
        url, api, load, served_model=served_model, fallback_model=None if sc is None else sc.model.id,
        headers=headers, watch=ended,
    )  # fmt: skip
    found = figures(driven)
    question.take_engine(driven.engine)
    if question.scenario is None or not found.answered:
        return told(driven, found)
    report = told(driven, found, judge(question.scenario, question.stated, found, load))
    return replace(report, on=question.on or report.accelerator)


def _devices(sc: Scenario) -> dict[str, Any]:
    return {"device": sc.accelerator.id, "count": sc.layout.devices}


def _load(
    fields: Mapping[str, Any], wanted: Wanted | None, *, num_prompts: int | None, duration_s: float | None,
    timeout_s: float, warmup: int, burst: bool, burstiness: float, seed: int | None,
) -> Load:  # fmt: skip
    """The load that is asked for. Raises BadInput for what is none."""
    asks = asked(None, None, {name: one for name, one in fields.items() if name in _LOAD})[0]
    isl, osl, users = (_whole(name, getattr(asks, name)) for name in ("isl", "osl", "batch"))
    beside = [name for name in ("batch", "request_rate") if name in fields]
    if burst and beside:
        raise BadInput(
            "a burst sends all at once", where=Named.of("burst"), got=Named.of("burst", *beside),
            want="one way of arrival",
        )  # fmt: skip
    if burstiness != 1 and asks.request_rate is None:
        raise BadInput(
            "burstiness is of requests that arrive at a rate", where=Named.of("burstiness"), got=burstiness,
            want=Named("{request_rate} beside it"),
        )  # fmt: skip
    most = num_prompts if num_prompts is not None else NUM_PROMPTS if duration_s is None else MOST_PROMPTS
    if asks.request_rate is not None and duration_s is None:
        _refuse_endless(_whole("num_prompts", most), asks.request_rate)
    return Load(
        isl=isl, osl=osl, concurrency=None if burst or asks.request_rate is not None else users,
        request_rate=asks.request_rate, burstiness=_amount("burstiness", burstiness), burst=burst,
        num_prompts=_whole("num_prompts", most),
        duration_s=None if duration_s is None else _amount("duration_s", duration_s),
        timeout_s=_amount("timeout_s", timeout_s), warmup=_whole("warmup", warmup, least=0),
        seed=int.from_bytes(os.urandom(4), "big") if seed is None else _whole("seed", seed, least=0),
        ttft_slo_s=None if wanted is None else wanted.ttft_s, tpot_slo_s=None if wanted is None else wanted.tpot_s,
    )  # fmt: skip


def _refuse_endless(num_prompts: int, request_rate: float) -> None:
    """Raises BadInput where the last of the requests would arrive after longer than a load may take."""
    takes_s = (num_prompts - 1) / request_rate
    if takes_s > _LONGEST_S:
        raise BadInput(
            "that load would not end", where=Named.of("request_rate"),
            got=f"{num_prompts:,} requests at {request_rate:g} a second: {takes_s:,.0f} s until the last is sent",
            want=f"{_LONGEST_S:,.0f} s at most",
            try_this=Named("a higher {request_rate}, fewer {num_prompts}, or {duration_s} to end it"),
        )  # fmt: skip


def _whole(name: str, value: Any, least: int = 1) -> int:
    most = _LARGEST.get(name, 1 << 40)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInput(
            f"{name} cannot be that", where=Named.of(name), got=value, want=f"a whole number from {least} to {most:,}"
        )
    return value


def _amount(name: str, value: Any) -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not real or not 0 < value <= _LONGEST_S:
        raise BadInput(
            f"{name} cannot be that", where=Named.of(name), got=value, want=f"more than 0, up to {_LONGEST_S:,.0f}"
        )
    return float(value)


def _both_or_none(model: object, on: object, fields: Mapping[str, Any]) -> None:
    """A prediction needs a model and a machine, and other fields are of a prediction. Raises BadInput."""
    if (model is None) != (on is None):
        missing = "on" if on is None else "model"
        raise BadInput(
            "a prediction needs a model and what it runs on", where=Named.of(missing), got="one of them",
            want=Named("{model} and {on}, or neither to measure alone"),
        )  # fmt: skip
    media = [name for name in ("images", "audio_seconds") if fields.get(name) is not None]
    if media:
        raise BadInput(
            "prompts that are sent are text", where=Named.of(*media), got=Named.of(*media), want="none of them here",
        )  # fmt: skip
    others = [name for name in fields if name not in _LOAD]
    if model is None and others:
        raise BadInput(
            "nothing is predicted without a model and what it runs on", where=Named.of(*others), got=Named.of(*others),
            want=Named("{model} and {on} beside it"),
        )  # fmt: skip


def _run_fields(load: Load, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the run that the load is: served, or a batch that starts together."""
    question = {name: one for name, one in fields.items() if name != "batch"}
    if load.request_rate is None:
        question["batch"] = min(load.concurrency or load.num_prompts, load.num_prompts)
    if not {"prefill_workers", "decode_workers", "prefill_on", "schedule"} & fields.keys():
        question["schedule"] = "batch" if load.burst else "served"
    return question


def key_of(name: str | None) -> str | None:
    """The key in a variable of the environment. Raises BadInput where there is none."""
    if name is None:
        return None
    key = os.environ.get(name, "").strip()
    if not key.isascii() or not key.isprintable():
        raise BadInput(
            "the key in that variable cannot be sent", where=Named.of("api_key_env"), got=name[:60],
            want="a key of one line, in ASCII",
        )  # fmt: skip
    if not key:
        raise BadInput(
            "there is no key in that variable", where=Named.of("api_key_env"), got=name[:60],
            want="the name of an environment variable that holds the key",
        )  # fmt: skip
    return key
