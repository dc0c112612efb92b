"""SGLang's benchmarks: JSON lines of bench_serving, bench_one_batch, bench_one_batch_server, bench_offline_throughput.

https://github.com/sgl-project/sglang, python/sglang/bench_*.py (since v0.5.6 python/sglang/benchmark/). Sweeps over
contexts and concurrencies that people make from them are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from rooflight.ingest.recorded.bench.documents import Document, amount, count, documents, keys_of, name, number
from rooflight.ingest.recorded.bench.serving import engine, layout, measured, results, stated, titled
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

_SERVING = frozenset(("backend", "sharegpt_output_len"))
_OFFLINE = frozenset(("successful_requests", "total_latency"))
_BATCH = frozenset(("batch_size", "input_len", "output_len"))
_BATCH_RESULTS = frozenset(("prefill_latency", "overall_throughput", "output_throughput"))
_SWEEPS = ("context_sweep", "throughput_sweep")
# The server's own arguments, which bench_serving copies under "server_info" since v0.5.
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "context_tokens": ("context_length",),
    "max_num_seqs": ("max_running_requests",),
    "max_num_batched_tokens": ("chunked_prefill_size",),
    "draft_tokens": ("speculative_num_draft_tokens",),
}
_CARDS = re.compile(r"\s*(\d{1,4})\s*x\s+(.{1,80}?)(?:,?\s+TP\s*=?\s*(\d{1,4}))?\s*", re.IGNORECASE)
# Rate and times of one point that are off by more than this do not belong together.
_APART = 2.0
_ONE = 0.02


def _looks(head: Head) -> bool:
    keys = keys_of(head)
    batch = keys >= _BATCH and bool(keys & _BATCH_RESULTS)
    serving = keys >= _SERVING or "total_output_tokens_retokenized" in keys
    return serving or batch or keys >= _OFFLINE or any(one in keys for one in _SWEEPS)


def _read(source: Source) -> Recorded:
    found, notes = documents(source)
    records: list[Record] = []
    for one in found:
        some, more = _records(one)
        records += some
        notes += more
    return results(source, records, notes, "SGLang")


def _records(one: Document) -> tuple[list[Record], tuple[str, ...]]:
    values = one.values
    if any(isinstance(values.get(sweep), list) for sweep in _SWEEPS):
        found = list(_sweep(values))
        return found, tuple(note for record in found if (note := _start_up(record)))
    if values.keys() >= _BATCH:
        return [_batch(values, one.line)], _cached(values)
    result, how = measured(values), _serving(values)
    return [Record(name=titled(how), stated=how, measured=result.measured, line=one.line)], result.notes


def _serving(values: Mapping[str, Any]) -> Stated:
    """How a load was made; lengths as asked for, where all requests have the same."""
    how = stated(values)
    if how.engine is None and values.keys() >= _OFFLINE:
        how = replace(how, engine="sglang", num_prompts=count(values.get("successful_requests")))
    if number(values.get("random_range_ratio")) == 1 and str(values.get("dataset_name")).startswith("random"):
        lengths = {"isl": "random_input_len", "osl": "random_output_len"}
        how = replace(how, **{field: amount(values.get(key)) or None for field, key in lengths.items()})
    server = values.get("server_info")
    return _told(server, how) if isinstance(server, dict) else how


def _told(server: Mapping[str, Any], how: Stated) -> Stated:
    """What the server says of itself."""
    degrees = layout(server)
    tp, dp, pp = degrees["tp"], degrees["dp"] or 1, degrees["pp"] or 1
    if server.get("enable_dp_attention") is True and tp is not None:
        # tp counts the devices there; attention is cut in tp / dp
        degrees |= {"gpus": tp * pp, "tp": max(1, tp // dp)}
    elif tp is not None:
        degrees["gpus"] = tp * dp * pp
    cache = (name(server.get("kv_cache_dtype")) or "").lower()
    drafts = name(server.get("speculative_algorithm"))
    return replace(
        how,
        model=how.model or name(server.get("model_path")),
        engine=how.engine or "sglang",
        engine_version=name(server.get("version")),
        kv_cache="fp8" if cache.startswith("fp8") else "bf16" if cache in ("bf16", "bfloat16") else None,
        memory_share=amount(server.get("mem_fraction_static")) or None,
        speculative=True if drafts and drafts.lower() != "none" else how.speculative,
        **{field: count(server.get(key)) for field, (key,) in _ARGUMENTS.items()},
        **degrees,
    )


def _batch(values: Mapping[str, Any], line: int | None) -> Record:
    """One batch: bench_one_batch times its prefill and its steps, bench_one_batch_server the whole.

    The server's newer rows count output_throughput from the last first token on; here it is of the whole, as before.
    """
    batch, isl, osl = (count(values.get(key)) for key in ("batch_size", "input_len", "output_len"))
    length = number(_first_known(values, "acc_length", "accept_length"))
    how = Stated(
        engine="sglang", batch=batch, isl=isl, osl=osl, speculative=True if length is not None and length > 1 else None
    )
    whole = amount(_first_known(values, "total_latency", "latency")) or None
    prefill, last = amount(values.get("prefill_latency")) or None, amount(values.get("last_ttft")) or None
    step = amount(values.get("median_decode_latency")) or None
    rate = amount(values.get("prefill_throughput")) if prefill else amount(values.get("input_throughput"))
    decode = whole - last if whole is not None and last is not None and whole > last else None
    return Record(
        name=titled(how), stated=how, line=line,
        measured=Measurements(
            requests=batch, isl=isl, osl=osl, duration_s=whole,
            request_s=None if whole is None else Spread(mean=whole),
            ttft_s=Spread(mean=prefill) if prefill else Spread(high=last) if last else None,
            prefill_s=Spread(mean=prefill) if prefill else None,
            decode_s=Spread(mean=decode) if decode else None,
            tpot_s=Spread(p50=step) if step else None,
            prefill_tokens_per_s=rate or None,
            output_tokens_per_s=batch * osl / whole if batch and osl and whole else None,
            total_tokens_per_s=amount(values.get("overall_throughput")) or None,
        ),
    )  # fmt: skip


def _first_known(values: Mapping[str, Any], *keys: str) -> object:
    """The value under the first of some keys."""
    return next((values[key] for key in keys if key in values), None)


def _cached(values: Mapping[str, Any]) -> tuple[str, ...]:
    hit = amount(values.get("cache_hit_rate"))
    return (f"{hit:.0%} of the prompt tokens were cached".replace("%", " %"),) if hit else ()


def _sweep(values: Mapping[str, Any]) -> Iterator[Record]:
    """Points of one stream over contexts, then of several over concurrencies.

    "context" is a label; input_len is what was sent. Tokens a second are one over the time of a token there: of
    decoding alone, without the prompt.
    """
    how, part = _whose(values), "p50" if "median" in str(values.get("method")).lower() else "mean"
    osl = amount(values.get("output_tokens")) or None
    for point in _points(values.get("context_sweep")):
        token, rate = _seconds(point, "tpot_ms"), amount(point.get("tok_per_sec")) or None
        alone = token is not None and rate is not None and abs(token * rate - 1) < _ONE
        label = count(point.get("context"))
        yield Record(
            name="" if label is None else f"context {label:,}",
            stated=replace(how, batch=1, phase="decode") if alone else how,
            measured=Measurements(
                isl=amount(point.get("input_len")), osl=osl, output_tokens_per_s=rate,
                tpot_s=Spread(**{part: token}) if token else None,
            ),
        )  # fmt: skip
    for point in _points(values.get("throughput_sweep")):
        token, first = _seconds(point, "tpot_ms"), _seconds(point, "ttft_ms")
        at = replace(how, concurrency=count(point.get("concurrency")))
        yield Record(
            name=titled(at), stated=at,
            measured=Measurements(
                osl=osl, output_tokens_per_s=amount(point.get("throughput")) or None,
                ttft_s=Spread(**{part: first}) if first else None, tpot_s=Spread(**{part: token}) if token else None,
            ),
        )  # fmt: skip


def _points(listed: object) -> list[Mapping[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _seconds(point: Mapping[str, Any], key: str) -> float | None:
    value = amount(point.get(key))
    return to_base(value, "ms") if value else None


def _whose(values: Mapping[str, Any]) -> Stated:
    """Model, engine and cards ("2x R9700 TP=2") of a sweep."""
    cards = name(values.get("hardware")) or ""
    found = _CARDS.fullmatch(cards)
    return Stated(
        model=name(values.get("model")), engine=engine(values.get("engine")),
        device=found[2] if found else cards or None, gpus=count(found[1]) if found else None,
        tp=count(found[3]) if found and found[3] else None,
    )  # fmt: skip


def _start_up(one: Record) -> str | None:
    """Where a point's rate is far below what its times make: start-up time is in one of them."""
    rate, token, first = one.measured.output_tokens_per_s, one.measured.tpot_s, one.measured.ttft_s
    many, osl = one.stated.concurrency, one.measured.osl
    if rate is None or token is None or first is None or many is None or not osl or not token.middle:
        return None
    whole = (first.middle or 0.0) + (osl - 1) * token.middle
    made = many * osl / whole
    if made < _APART * rate:
        return None
    return f"{one.name}: {rate:.4g} tokens/s, where its times make {made:.4g}: they are not of the same requests"


FORMAT = Format(name="sglang-bench", words="results of SGLang's benchmarks", looks=_looks, read=_read)
