"""`vllm bench serve` and its forerunner benchmark_serving.py: the JSON that --save-result and --append-result write."""

from __future__ import annotations

from rooflight.ingest.recorded.bench.documents import documents, keys_of
from rooflight.ingest.recorded.bench.serving import AMOUNTS, COUNTS, measured, results, stated, titled
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Record, Recorded


def _looks(head: Head) -> bool:
    rates = {*AMOUNTS["requests_per_s"], *AMOUNTS["output_tokens_per_s"]}
    needed = (COUNTS["requests"], AMOUNTS["input_tokens"], rates)
    found = keys_of(head)
    return all(found & set(keys) for keys in needed)


def _read(source: Source) -> Recorded:
    """A record a run. What --save-detailed adds of each request is left out: its texts are the user's."""
    found, notes = documents(source)
    records: list[Record] = []
    for one in found:
        result = measured(one.values)
        how = stated(one.values)
        records.append(Record(name=titled(how), stated=how, measured=result.measured, line=one.line))
        notes += result.notes
    return results(source, records, notes, "vllm bench serve")


FORMAT = Format(name="vllm-bench-serve", words="results of vllm bench serve", looks=_looks, read=_read)
