"""What benchmarks print and people paste: "Serving Benchmark Result", vLLM's "Throughput:" line and batch latencies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from rooflight.ingest.recorded.bench.commands import said
from rooflight.ingest.recorded.bench.documents import MOST_RUNS, amount, count
from rooflight.ingest.recorded.bench.serving import measured, stated, titled
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

_START = re.compile(r"={3,}\s*(?:Offline Throughput|Serving) Benchmark Result\s*={3,}", re.IGNORECASE)
_END = re.compile(r"[^=]{0,80}={30,}\W*")
_BEGINS = "benchmark result"
# A block that nobody closed ends after so many lines, and no line of one is wider.
_LONGEST = 200
_WIDEST = 1000
# Printed labels, and the name that the JSON has for the same. vLLM prints "Total Token throughput" up to v0.11,
# "Total token throughput" since; SGLang "Total throughput", then "Total token throughput". None: no figure of ours,
# listed for its end, which is another's label.
_LABELS: dict[str, str | None] = {
    "successful requests": "completed", "failed requests": "failed", "benchmark duration": "duration",
    "total input tokens": "total_input_tokens", "total generated tokens": "total_output_tokens",
    "total output tokens": "total_output_tokens", "request throughput": "request_throughput",
    "input token throughput": "input_throughput", "peak output token throughput": None,
    "output token throughput": "output_throughput", "total token throughput": "total_token_throughput",
    "total throughput": "total_token_throughput", "peak concurrent requests": "max_concurrent_requests",
    "concurrency": "concurrency", "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency", "request rate configured": "request_rate",
    "traffic request rate": "request_rate", "backend": "backend", "acceptance rate": "spec_decode_acceptance_rate",
    "drafts": "spec_decode_num_drafts", "draft tokens": "spec_decode_draft_tokens", "accept length": "accept_length",
}  # fmt: skip
_UNITS = r"(?:\s*\((?:s|req/s|requests/s|tok/s|tokens/s|RPS|%)\))?"
_LABEL = re.compile(
    rf"(?:^|[^A-Za-z\s])\s*({'|'.join(sorted(_LABELS, key=len, reverse=True))}){_UNITS}\s*:\s*([^\s|]+)", re.IGNORECASE
)
_TIME = re.compile(
    r"(?:^|[^A-Za-z\s])\s*(mean|average|median|p\d{1,2}|max|min)\s+(TTFT|TPOT|ITL|E2EL|E2E Latency)\s*"
    r"(?:\((ms|s)\))?\s*:\s*([-\d.,]+)\s*(ms|s)?",
    re.IGNORECASE,
)
_NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el", "e2e latency": "e2el"}
# benchmark_throughput.py before v0.6.4 prints tokens/s of prompts and output together, without "total".
_THROUGHPUT = re.compile(
    r"Throughput:\s*([\d.,]+)\s*requests/s,\s*([\d.,]+)\s*(?:total )?tokens/s(?:,\s*([\d.,]+)\s*output tokens/s)?"
)
_TOKENS = re.compile(r"Total num (prompt|output) tokens:\s*([\d,]+)")
_LATENCY = re.compile(r"Avg latency:\s*([\d.]+)\s*seconds")
_PLACE = re.compile(r"(50|90|99)% percentile latency:\s*([\d.]+)\s*seconds")
_FOLLOWING = 12
# SGLang's bench_one_batch: a batch's prefill, the median of its steps, and the whole; a warm-up stands in front.
_PART = re.compile(
    r"(Prefill|Decode|Total)\.\s+(?:median )?latency:\s*([\d.]+) s,\s*(?:median )?throughput:\s*([\d.]+) token/s"
)
_WARM = re.compile(r"\s*Benchmark \.\.\.\s*")


class _Block(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one printed result. before: where the text in front of it begins; they are numbers of lines."""

    before: int
    start: int
    end: int


def _looks(head: Head) -> bool:
    others = any(one.search(head.text) for one in (_THROUGHPUT, _LATENCY, _PART))
    return others or any(_begins(line[:_WIDEST]) for line in head.text.splitlines())


def _begins(line: str) -> bool:
    """Whether a printed result begins there; most lines need no closer look."""
    return _BEGINS in line.lower() and _START.search(line) is not None


def _read(source: Source) -> Recorded:
    lines = [line[:_WIDEST] for line in source.text.splitlines()]
    records: list[Record] = []
    notes: list[str] = []
    for block in _blocks(lines):
        record, more = _served(lines, block)
        records.append(record)
        notes += more
    records += [*_offline(lines), *_batches(lines)]
    records.sort(key=lambda one: one.line or 0)
    if len(records) > MOST_RUNS:
        notes.append(f"only the first {MOST_RUNS:,} of {len(records):,} results are read")
    return Recorded(
        file=source.name, format="", tool=_tool(source.head.text), records=tuple(records[:MOST_RUNS]),
        notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _tool(text: str) -> str:
    sglang = "retokenized" in text or "E2E Latency" in text or _PART.search(text) is not None
    return "sglang bench" if sglang else "vllm bench"


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """Printed results in order, each up to its closing line, the next result, or the end of the text."""
    before = 0
    starts = [place for place, line in enumerate(lines) if _begins(line)]
    for number, start in enumerate(starts, start=1):
        last = min(starts[number] if number < len(starts) else len(lines), start + _LONGEST)
        end = next((place for place in range(start + 1, last) if _END.fullmatch(lines[place])), last)
        yield _Block(before=before, start=start, end=end)
        before = end


def _served(lines: list[str], block: _Block) -> tuple[Record, tuple[str, ...]]:
    """One printed result, with what the command in front of it says of the server and the load."""
    values = _values(lines[block.start + 1 : block.end])
    result, how = measured(values), stated(values)
    command, notes = said("\n".join(lines[block.before : block.start]), result.measured)
    fields = {field: getattr(how, field) for field in how.__struct_fields__ if getattr(how, field) is not None}
    how = replace(command, **fields)
    record = Record(name=titled(how), stated=how, measured=result.measured, line=block.start + 1)
    return record, (*result.notes, *notes)


def _values(lines: list[str]) -> dict[str, Any]:
    """What is printed, by the names of the JSON; the first of two."""
    found: dict[str, Any] = {}
    for line in lines:
        if (time := _TIME.search(line)) is not None:
            stem, what, unit, value = time[1].lower(), _NAMES[time[2].lower()], time[3] or time[5], time[4]
            suffix = "" if unit == "s" else "_ms"
            found.setdefault(f"{'mean' if stem == 'average' else stem}_{what}{suffix}", value)
        elif (label := _LABEL.search(line)) is not None and (key := _LABELS[label[1].lower()]) is not None:
            found.setdefault(key, label[2])
    return found


def _offline(lines: list[str]) -> Iterator[Record]:
    """vLLM's batches: a throughput in a line, or the latency of repetitions in several."""
    for place, line in enumerate(lines):
        below = "\n".join(lines[place + 1 : place + _FOLLOWING])
        if (rates := _THROUGHPUT.search(line)) is not None:
            tokens = {one[1]: amount(one[2]) for one in _TOKENS.finditer(below.partition("Throughput:")[0])}
            yield Record(
                name="throughput", stated=Stated(engine="vllm"), line=place + 1,
                measured=Measurements(
                    requests_per_s=amount(rates[1]), total_tokens_per_s=amount(rates[2]),
                    output_tokens_per_s=amount(rates[3]), input_tokens=tokens.get("prompt"),
                    output_tokens=tokens.get("output"), **_lengths(rates, tokens),
                ),
            )  # fmt: skip
        elif (mean := _LATENCY.search(line)) is not None:
            at = {f"p{one[1]}": amount(one[2]) for one in _PLACE.finditer(below.partition("Avg latency:")[0])}
            yield Record(
                name="latency", stated=Stated(engine="vllm"), line=place + 1,
                measured=Measurements(request_s=Spread(mean=amount(mean[1]), **at)),
            )  # fmt: skip


def _batches(lines: list[str]) -> Iterator[Record]:
    """SGLang's batches by themselves. A step's rate times its time is the batch; its prompts' likewise their tokens."""
    met: dict[str, tuple[float, float]] = {}
    after = max((place for place, line in enumerate(lines) if _WARM.fullmatch(line)), default=0)
    for place, line in enumerate(lines[after:], start=after + 1):
        found = _PART.search(line)
        if found is None:
            continue
        time, rate = amount(found[2]), amount(found[3])
        if time and rate:
            met[found[1]] = (time, rate)
        if found[1] != "Total":
            continue
        whole, prefill, step = (met.get(name) for name in ("Total", "Prefill", "Decode"))
        how = Stated(engine="sglang", batch=None if step is None else count(round(step[0] * step[1])))
        yield Record(
            name=titled(how), stated=how, line=place,
            measured=Measurements(
                request_s=Spread(mean=whole[0]) if whole else None, total_tokens_per_s=whole[1] if whole else None,
                ttft_s=Spread(mean=prefill[0]) if prefill else None, tpot_s=Spread(p50=step[0]) if step else None,
                prefill_s=Spread(mean=prefill[0]) if prefill else None,
                prefill_tokens_per_s=prefill[1] if prefill else None,
                isl=round(prefill[0] * prefill[1] / how.batch) if prefill and how.batch else None,
            ),
        )  # fmt: skip
        met = {}


def _lengths(rates: re.Match[str], tokens: dict[str, float | None]) -> dict[str, Any]:
    """Requests, and the tokens of each in the mean: output tokens over output tokens a second is how long it took."""
    per_s, output = amount(rates[1]), amount(rates[3])
    if not per_s or not output or not tokens.get("output"):
        return {}
    duration = (tokens["output"] or 0.0) / output
    requests = count(round(per_s * duration))
    if requests is None:
        return {}
    lengths = {"isl": tokens.get("prompt"), "osl": tokens["output"]}
    found = {field: total / requests for field, total in lengths.items() if total is not None}
    return {"duration_s": duration, "requests": requests, **found}


FORMAT = Format(
    name="bench-console", words="a pasted Serving Benchmark Result, or vLLM's Throughput line", looks=_looks, read=_read
)
