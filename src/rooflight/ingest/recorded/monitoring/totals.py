"""What a replica's gauges say of a moment, and its counters of a time: since its start or between two scrapes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from rooflight.ingest.recorded.monitoring.replicas import Replica
from rooflight.values.recorded import Span, Spread, Watched

# What is said of a single scrape, and holds no longer where another is beside it.
SINGLE = "counters of a single scrape are of all time since the engine's start, quiet hours included"
SECOND = "rates, for which it takes a second scrape half a minute later"
_MOMENT = (
    "running", "waiting", "swapped", "kv_usage", "prefix_hit", "acceptance", "prompt_tokens_per_s",
    "output_tokens_per_s",
)  # fmt: skip
_SHARES = ("kv_usage", "prefix_hit", "acceptance")
_PERCENT = 100
_SPREADS = ("ttft_s", "tpot_s", "itl_s", "request_s", "queue_s", "prefill_s", "decode_s")


def moment(replica: Replica) -> Watched | None:
    """What it did when it was asked; None: it has no gauges."""
    gauges = replica.gauges
    values: dict[str, Any] = {name: gauges[name] for name in _MOMENT if name in gauges}
    values |= {name: values[name] / _PERCENT for name in _SHARES if 1 < values.get(name, 0) <= _PERCENT}
    if not values:
        return None
    if "queue_mean_s" in gauges:
        values["queue_s"] = Spread(mean=gauges["queue_mean_s"])
    if gauges.get("stream_tokens_per_s"):
        values["tpot_s"] = Spread(mean=1 / gauges["stream_tokens_per_s"])
    return Watched(**_who(replica), span="moment", start=clock(replica.time_s), **values)


def lifetime(replica: Replica) -> Watched | None:
    """All since its start: means of what it finished, and rates where the scrape says when that was and when it is."""
    started, now = replica.started_s, replica.time_s
    seconds = now - started if now is not None and started is not None and now > started else None
    found = totalled(replica, seconds, "lifetime")
    return found if found is None or seconds is None else replace(found, start=clock(started))


def totalled(replica: Replica, seconds: float | None, span: Span) -> Watched | None:
    """A replica whose counters and histograms are those of a time alone; None: nothing was counted."""
    counters, histograms = replica.counters, replica.histograms
    osl, whole = histograms.get("osl"), histograms.get("request_s")
    ended = next((one.count for one in (osl, whole) if one is not None), None)
    requests = counters.get("requests", ended)
    isl = histograms.get("isl")
    prompts = counters.get("prompt_tokens", None if isl is None else isl.total)
    outputs = counters.get("output_tokens", None if osl is None else osl.total)
    if not any((requests, prompts, outputs, ended, *(one.count for one in histograms.values()))):
        return None
    values: dict[str, Any] = {
        name: found for name in _SPREADS if (one := histograms.get(name)) is not None and (found := one.spread())
    }
    values.setdefault("tpot_s", _per_token(replica))
    values |= {
        "requests": requests,
        "isl": _mean(replica, "isl", prompts, requests),
        "osl": _mean(replica, "osl", outputs, requests),
        "step_tokens": histograms["step_tokens"].mean if "step_tokens" in histograms else None,
        "preemptions": counters.get("preemptions"),
        "prefix_hit": _prefix_hit(replica),
        "acceptance": share(counters.get("accepted"), counters.get("drafted")),
    }
    if seconds is not None and seconds > 0:
        rates = {"requests_per_s": requests, "prompt_tokens_per_s": prompts, "output_tokens_per_s": outputs}
        values |= {name: None if amount is None else amount / seconds for name, amount in rates.items()}
        values["seconds"] = seconds
    return Watched(**_who(replica), span=span, **values)


def _who(replica: Replica) -> dict[str, Any]:
    """Whose values they are, and what does not change with time."""
    gauges = replica.gauges
    blocks, size = gauges.get("kv_blocks"), gauges.get("kv_block_tokens")
    tokens = gauges.get("kv_tokens", blocks * size if blocks and size else None)
    limit = gauges.get("max_num_seqs")
    return {
        "subject": replica.subject, "kind": "engine", "engine": replica.engine, "model": replica.model,
        "kv_tokens": tokens or None, "max_num_seqs": int(limit) if limit else None,
    }  # fmt: skip


def _per_token(replica: Replica) -> Spread | None:
    """Time per later token where no histogram has it: decoding time over the tokens that came after each first one.

    Of llama.cpp the slots' decoding time over all their tokens, its own measure of speed.
    """
    decode, osl = replica.histograms.get("decode_s"), replica.histograms.get("osl")
    if decode is not None and osl is not None and decode.count == osl.count and osl.total > osl.count:
        return Spread(mean=decode.total / (osl.total - osl.count))
    mean = share(replica.counters.get("output_s"), replica.counters.get("output_tokens"))
    return None if mean is None else Spread(mean=mean)


def _mean(replica: Replica, name: str, total: float | None, requests: float | None) -> float | None:
    """Tokens of a request: by its histogram, else all of them over the requests that ended meanwhile."""
    found = replica.histograms.get(name)
    return found.mean if found is not None else share(total, requests)


def _prefix_hit(replica: Replica) -> float | None:
    counters = replica.counters
    if "cached_tokens" in counters:
        return share(counters["cached_tokens"], counters.get("prompt_tokens"))
    return share(counters.get("hit_tokens"), counters.get("asked_tokens"))


def share(part: float | None, whole: float | None) -> float | None:
    """Part of a whole, None where either is not known or there is no whole."""
    return part / whole if part is not None and whole else None


def clock(time_s: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC."""
    if time_s is None:
        return None
    try:
        return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None
