"""The Python front door to `explain`: what follows from a few values, and what a term means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rooflight.errors import BadInput, Named
from rooflight.units import in_bytes, in_unit, to_base
from rooflight.values.explain import Explained
from rooflight.values.field import amount
from rooflight.values.question import FIELDS, ClaimFields, split

if TYPE_CHECKING:
    from rooflight.answers.explain.report import Asked
    from rooflight.values.accelerator import Accelerator
    from rooflight.values.model import Model

_MS = to_base(1, "ms")
# Keyword: (name of the value, what it is multiplied by).
_VALUES: Mapping[str, tuple[str, float]] = {
    "output_tok_s": ("output_tokens_per_s", 1),
    "output_tok_s_per_user": ("output_tokens_per_s_per_user", 1),
    "output_tok_s_per_gpu": ("output_tokens_per_s_per_accelerator", 1),
    "total_tok_s": ("total_tokens_per_s", 1),
    "prefill_tok_s": ("prefill_tokens_per_s", 1),
    "request_rate": ("requests_per_s", 1),
    "ttft_ms": ("ttft_s", _MS),
    "tpot_ms": ("tpot_s", _MS),
    "itl_ms": ("itl_s", _MS),
    "tokens_per_chunk": ("tokens_per_chunk", 1),
    "e2e_latency_ms": ("request_s", _MS),
    "guidellm_tpot_ms": ("request_s_per_output_token", _MS),
    "ai": ("intensity_flop_per_byte", 1),
    "isl": ("isl", 1),
    "osl": ("osl", 1),
}
_LENGTHS = ("isl", "osl")
_SHARES = ("dram_active", "tensor_active", "sm_active", "gpu_util", "kv_cache_usage")
_AMOUNTS = {"bytes": ("kernel_bytes", "B"), "flop": ("kernel_flop", "FLOP"), "time": ("kernel_s", "s")}
_EXAMPLES = {"bytes": "64MB", "flop": "2GFLOP", "time": "120us"}


def explain(
    term: str | None = None,
    *,
    model: str | Path | Model | None = None,
    on: str | Accelerator | None = None,
    output_tok_s: float | None = None,
    output_tok_s_per_user: float | None = None,
    output_tok_s_per_gpu: float | None = None,
    total_tok_s: float | None = None,
    prefill_tok_s: float | None = None,
    ttft_ms: float | None = None,
    tpot_ms: float | None = None,
    itl_ms: float | None = None,
    tokens_per_chunk: float | None = None,
    e2e_latency_ms: float | None = None,
    guidellm_tpot_ms: float | None = None,
    gpus: int | None = None,
    dram_active: float | None = None,
    tensor_active: float | None = None,
    sm_active: float | None = None,
    gpu_util: float | None = None,
    kv_cache_usage: float | None = None,
    bytes: float | str | None = None,
    flop: float | str | None = None,
    time: float | str | None = None,
    ai: float | None = None,
    **fields: Unpack[ClaimFields],
) -> Explained:
    """What a term means (alone), or what follows from values, each with its formula. Without either: all terms.

    model, on   bytes and FLOP of a step, and rates: with a time or a rate its GB/s, MBU, FLOP/s and MFU
    output_tok_s ... e2e_latency_ms     of a load: tokens a second, milliseconds; batch, isl, osl and request_rate are
                fields. guidellm_tpot_ms is end-to-end time over all output tokens
    gpus        where no `on` counts them
    dram_active ... kv_cache_usage      counters, as shares of 1
    bytes, flop, time   of a kernel, in base units or with a unit: "64MB", "2GFLOP", "120us"; ai: FLOP a byte

    Raises UnknownName for a term that is not known, BadInput and its kinds for a malformed question, MissingFact for a
    number nobody published.
    """
    from rooflight.words import explain as words

    own = {name: value for name, value in locals().items() if name in _OWN and value is not None}
    stated: dict[str, Any] = own | {name: value for name, value in fields.items() if value is not None}
    if term is not None and not isinstance(term, str):
        raise BadInput("a term is text", where=Named.of("explain"), got=type(term).__name__, want='such as "itl"')
    if term is not None:
        if stated or model is not None or on is not None:
            raise BadInput(
                "a term is explained by itself", where="explain",
                got=f"{term} and {', '.join(stated) or 'a machine'}", want="a term, or values",
            )  # fmt: skip
        from rooflight.words.terms import term as named

        return words.of_term(named(term))
    if not stated and model is None and on is None:
        return words.of_none()
    from rooflight.answers.explain.report import findings

    return words.told(findings(_asked(model, on, stated)))


_OWN = frozenset({*_VALUES, *_SHARES, *_AMOUNTS, "gpus"} - {"isl", "osl", "request_rate"})


def _asked(model: str | Path | Model | None, on: str | Accelerator | None, stated: Mapping[str, Any]) -> Asked:
    """The question in base units. Raises BadInput, UnknownName."""
    from rooflight.answers.explain.report import Asked
    from rooflight.library.questions import devices_of, make_scenario
    from rooflight.scenario.definite import Scenario
    from rooflight.scenario.definite import scenario as definite

    fields = {name: value for name, value in stated.items() if name not in _OWN}
    load, layout = split(fields)
    for name, value in fields.items():
        if getattr(FIELDS[name].checked(value), "shape", ()):  # an array, as sweeps have
            raise BadInput(f"{name} is one value here", where=Named.of(name), got="several", want="a number")
    values = _values(stated)
    if model is not None and on is None:
        raise BadInput(
            "no accelerator was named", where=Named.of("on"), want="an accelerator's id, such as h100-sxm or 8xh100-sxm"
        )
    form = layout.get("compute")
    batch = None if load.get("batch") is None else int(load["batch"])
    if on is None:
        return Asked(values=values, batch=batch, devices=_devices(stated, None), form=form)
    card, count = devices_of(on)
    if fields.get("prefill_on") is not None:
        raise BadInput(
            "values are explained by one kind of card", where=Named.of("prefill_on"), got=fields["prefill_on"],
            want=Named("the card that they were seen on: {on}", on="h100-sxm"),
        )  # fmt: skip
    if model is None:
        devices = _devices(stated, count) or math.prod(layout.get(name) or 1 for name in ("tp", "pp", "dp"))
        return Asked(values=values, batch=batch, card=card, devices=devices, form=form)
    asked: Any = {name: value for name, value in fields.items() if name not in ("batch", "request_rate")}
    first: Scenario = make_scenario(model, on, **asked)

    def of_batch(sequences: int) -> Scenario:
        from msgspec.structs import replace

        workload = replace(first.workload, batch=sequences)
        return definite(first.checkpoint, card, count, workload, first.deployment, plans=first.plans)

    return Asked(
        values=values, batch=batch, scenario=of_batch, card=first.accelerator, devices=first.layout.devices, form=form
    )


def _devices(stated: Mapping[str, Any], count: int | None) -> int | None:
    """Accelerators of the deployment; raises BadInput where two numbers of them are stated."""
    gpus = stated.get("gpus")
    if gpus is None:
        return count
    number = amount("gpus", gpus)
    if number != int(number) or count not in (None, int(number)):
        raise BadInput(
            "no such number of accelerators", where=Named.of("gpus"), got=gpus,
            want="a whole number, the one that stands in front of the accelerator",
        )  # fmt: skip
    return int(number)


def _values(stated: Mapping[str, Any]) -> dict[str, float]:
    values = {}
    for keyword, value in stated.items():
        if keyword in _LENGTHS and value == 0:
            continue  # a request without it has no time or rate of it
        if keyword in _VALUES:
            name, times = _VALUES[keyword]
            values[name] = amount(keyword, value) * times
        elif keyword in _SHARES:
            values[keyword] = _share(keyword, value)
        elif keyword in _AMOUNTS:
            name, base = _AMOUNTS[keyword]
            values[name] = _amount(keyword, value, base)
    return values


def _share(keyword: str, value: Any) -> float:
    share = amount(keyword, value, zero=True)
    if share > 1:
        hint = Named(f"{{{keyword}}}", **{keyword: share / 100}) if share <= 100 else None
        raise BadInput(
            f"{keyword.replace('_', '-')} is a share of 1", where=Named.of(keyword), got=value, want="0 to 1",
            try_this=hint,
        )  # fmt: skip
    return share


def _amount(keyword: str, value: Any, base: str) -> float:
    if isinstance(value, str):
        try:
            value = in_bytes(value) if base == "B" else in_unit(value, base)
        except ValueError:
            raise BadInput(
                f"{keyword} is no amount", where=Named.of(keyword), got=value[:60],
                want=f"a number in {base}, or one with a unit",
                try_this=Named(f"{{{keyword}}}", **{keyword: _EXAMPLES[keyword]}),
            ) from None  # fmt: skip
    return amount(keyword, value)
