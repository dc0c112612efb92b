"""A measurement of one's own, as a person types it: "batch=33 tpot_ms=15.2" -> Record."""

from __future__ import annotations

import difflib
import functools
import math
import re
import shlex
import typing
from collections.abc import Iterable, Iterator

from msgspec.structs import fields, replace

from rooflight.errors import BadInput, UnknownName, printable
from rooflight.units import to_base, ungrouped
from rooflight.values.measurement import LEAST_VALUE, MOST_VALUE
from rooflight.values.recorded import Measurements, Record, Spread, Stated

_UNITS = {"_s": 1.0, "_ms": to_base(1, "ms"), "_us": to_base(1, "us")}
_RATES = {"_tok_s": "_tokens_per_s", "_tokens_per_s": "_tokens_per_s", "_req_s": "_per_s"}
_PARTS = ("mean", "p50", "p90", "p95", "p99")
# What else people call a field: names of `check` and of the command line, and of load generators.
_ALIASES = {
    "on": "device", "accelerator": "device", "context": "depth", "input_len": "isl", "output_len": "osl",
    "e2e_latency": "request", "e2e": "request", "latency": "request", "prompt_tok_s": "prefill_tok_s",
    "req_s": "requests_per_s", "request_throughput": "requests_per_s", "max_concurrency": "concurrency",
    "running": "in_flight",
    "quantization": "weights", "kv_cache_dtype": "kv_cache", "median": "p50", "ngl": "offloaded_layers",
    "output_tok_s_per_user": "output_tokens_per_s_per_user",
}  # fmt: skip
_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_LONGEST = 4_000
_COUNTS = ("requests_per_s", "in_flight", "isl", "osl", "kv_tokens", "acceptance", "requests", "failed", "layers",
           "offloaded_layers", "duration_s", "input_tokens", "output_tokens")  # fmt: skip


def points(texts: Iterable[str]) -> tuple[Record, ...]:
    """Each text as a record, named by itself. Raises BadInput, UnknownName for a key with the near ones."""
    return tuple(point(text) for text in texts)


def point(text: str) -> Record:
    """One measurement. Check: point("batch=33 tpot_ms=15.2").measured.tpot_s.mean is 0.0152.

    Keys are fields of values.recorded.Stated and Measurements; a time ends in its unit (tpot_ms, ttft_p99_ms,
    e2e_latency_s), a rate is in tokens (output_tok_s, prefill_tok_s). Raises BadInput, UnknownName.
    """
    stated: dict[str, object] = {}
    times: dict[str, dict[str, float]] = {}
    rest: dict[str, float] = {}
    for key, value in _pairs(text):
        name = _ALIASES.get(key, key)
        if name in _stated_fields() and not (name in ("isl", "osl") and "." in value):
            stated[name] = _stated(name, value)
        elif name in _COUNTS:
            rest[name] = 0.0 if value == "0" else _number(key, value)
        elif (time := _time(name)) is not None:
            field, part, unit = time
            times.setdefault(field, {})[part] = _number(key, value) * unit
        elif (rate := _rate(name)) is not None:
            rest[rate] = _number(key, value)
        else:
            raise _unknown(key)
    if not times and not rest.keys() - {"isl", "osl", "layers", "offloaded_layers", "acceptance", "requests"}:
        raise BadInput(
            "a point without a measured value", where="point", got=printable(text[:80]),
            want="how it ran and what came out, as in batch=33 tpot_ms=15.2",
        )  # fmt: skip
    whole = {name: int(value) for name, value in rest.items() if _is_whole(name)}
    spreads = {name: Spread(**parts) for name, parts in times.items()}
    record = Record(
        name=" ".join(text.split())[:120],
        stated=Stated(**stated),  # type: ignore[arg-type]
        measured=Measurements(**{**rest, **whole, **spreads}),  # type: ignore[arg-type]
    )
    return _per_gpu(record)


def _per_gpu(record: Record) -> Record:
    """In flight counts as set where nothing else says how many ran at once."""
    found, stated = record.measured, record.stated
    if found.in_flight and stated.batch is None and stated.concurrency is None:
        return replace(record, stated=replace(stated, batch=max(1, round(found.in_flight))))
    return record


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Keys, spelled with underscores, and values; several pairs of one key are refused."""
    if len(text) > _LONGEST:
        raise BadInput("a point is short", where="point", got=f"{len(text):,} characters", want=f"{_LONGEST:,} at most")
    try:
        spaced = re.sub(r"[,;](?=\s*[A-Za-z_]\w*\s*=)", " ", text.replace("'", " "))
        words = shlex.split(re.sub(r"\s*=\s*", "=", spaced))
    except ValueError:
        words = text.split()
    met: set[str] = set()
    for word in _apart(words):
        key, equal, value = word.partition("=")
        key = key.strip().lstrip("-").replace("-", "_").lower()
        if not equal or not key or not value:
            raise BadInput(
                "a point is made of key=value", where="point", got=printable(word[:60]),
                want="such as batch=33 tpot_ms=15.2",
            )  # fmt: skip
        if key in met:
            raise BadInput(
                f"{printable(key[:40])} is said twice", where="point", got=printable(text[:80]), want="each key once"
            )
        met.add(key)
        yield key, value


def _apart(words: Iterable[str]) -> Iterator[str]:
    """Words, and what commas keep apart; those of a format by part (weights=experts=fp8,rest=bf16) belong to it."""
    for word in words:
        held = ""
        for piece in re.split(r"[,;]", word):
            if held and ("=" not in piece or "=" in held.partition("=")[2]):
                held += f",{piece}" if piece else ""
                continue
            if held:
                yield held
            held = piece
        if held:
            yield held


def _time(name: str) -> tuple[str, str, float] | None:
    """A time's field, which part of its distribution, and its unit in seconds; None where it is no such name."""
    ending = next((unit for unit in _UNITS if name.endswith(unit) and not name.endswith("_tok_s")), None)
    if ending is None:
        return None
    plain, part = name.removesuffix(ending), "mean"
    for one in (*_PARTS, "median"):
        if plain.endswith(f"_{one}") or plain.startswith(f"{one}_"):
            plain, part = plain.removesuffix(f"_{one}").removeprefix(f"{one}_"), _ALIASES.get(one, one)
    field = f"{_ALIASES.get(plain, plain)}_s"
    return (field, part, _UNITS[ending]) if field in _spreads() else None


def _rate(name: str) -> str | None:
    """A rate's field of Measurements."""
    if name in _rates():
        return name
    for ending, field in _RATES.items():
        if name.endswith(ending) and (found := name.removesuffix(ending) + field) in _rates():
            return found
    return None


def _number(key: str, value: str) -> float:
    try:
        number = float(ungrouped(value))
    except ValueError:
        number = math.nan
    if not LEAST_VALUE <= number <= MOST_VALUE:  # also where it is no number
        raise BadInput(
            f"{printable(key[:40])} has no number that can be measured", where="point", got=printable(value[:40]),
            want="a number above 0, in the unit that the key names",
        )  # fmt: skip
    return number


def _stated(name: str, value: str) -> object:
    kind = _stated_fields()[name]
    if bool in kind:
        if value.lower() not in _YES:
            raise BadInput(f"{name} is yes or no", where="point", got=printable(value[:40]), want="yes or no")
        return _YES[value.lower()]
    if str in kind:
        return value[:120]
    number = 0.0 if value in ("0", "0.0") else _number(name, value)
    if int in kind:
        if number != int(number):
            raise BadInput(f"{name} is a whole number", where="point", got=printable(value[:40]), want="such as 32")
        return int(number)
    return number


def _unknown(key: str) -> UnknownName:
    known = sorted({*_stated_fields(), *_COUNTS, *(f"{one[:-2]}_ms" for one in _spreads()), *_ALIASES, *_short_rates()})
    near = difflib.get_close_matches(key[:40], known, n=3, cutoff=0.5)
    return UnknownName(
        f"a point has no {printable(key[:40])!r}", where="point", got=printable(key[:40]),
        want="how it ran (batch, isl, tp, weights ...) or what came out with its unit (tpot_ms, ttft_ms, output_tok_s)",
        try_this=" or ".join(near) or None,
    )  # fmt: skip


def _short_rates() -> Iterator[str]:
    return (one.replace("_tokens_per_s", "_tok_s") for one in _rates())


def _is_whole(name: str) -> bool:
    return name in ("requests", "failed", "layers", "offloaded_layers")


@functools.cache
def _stated_fields() -> dict[str, tuple[type, ...]]:
    hints = typing.get_type_hints(Stated)
    return {one.name: typing.get_args(hints[one.name]) for one in fields(Stated)}


@functools.cache
def _spreads() -> tuple[str, ...]:
    hints = typing.get_type_hints(Measurements)
    return tuple(one.name for one in fields(Measurements) if Spread in typing.get_args(hints[one.name]))


@functools.cache
def _rates() -> tuple[str, ...]:
    return tuple(one.name for one in fields(Measurements) if "tokens_per_s" in one.name)
