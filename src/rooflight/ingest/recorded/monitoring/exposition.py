"""A /metrics text of any program, read for the engines and accelerators in it."""

from __future__ import annotations

import re

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.between import interval, order
from rooflight.ingest.recorded.monitoring.devices import devices
from rooflight.ingest.recorded.monitoring.families import exposed, scrapes
from rooflight.ingest.recorded.monitoring.replicas import Replica, engines, known
from rooflight.ingest.recorded.monitoring.totals import SECOND, SINGLE, lifetime, moment
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Measurements, Record, Recorded, Stated, Watched
from rooflight.values.scraped import Scrape

# vLLM's --kv-cache-dtype; "auto" is the model's own.
_FORMATS = {"fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_NAME = re.compile(r"[a-zA-Z_:][\w:]*")
_WANT = "metrics of vLLM, SGLang, TGI, llama.cpp's server, TensorRT-LLM or Dynamo, or of an accelerator's exporter"


def read(source: Source) -> Recorded:
    """All that its scrapes say. Raises BadConfig where they are of something else."""
    return read_text(source.text, source.name)


def read_text(text: str, name: str = "the text") -> Recorded:
    """A /metrics text, as `read`."""
    notes: list[str] = []
    found = scrapes(text, known, notes)
    replicas = engines(found[-1]) if found else ()
    lately = _engines(found, notes) if len(found) > 1 else _alone(replicas)
    watched = [*lately, *(one for scrape in found for one in devices(scrape, notes))]
    if any(one.span == "lifetime" for one in watched):
        notes.append(SINGLE)
    records = tuple(record for one in replicas if (record := _record(one, alone=len(replicas) == 1)) is not None)
    if not watched and not records:
        raise BadConfig(
            f"{name} has metrics of neither an engine nor an accelerator", where=name, got=_met(text), want=_WANT,
        )  # fmt: skip
    tools = sorted({one.engine for one in replicas}) or ["exporter"]
    return Recorded(
        file=name, format="", tool=", ".join(tools), records=records, watched=tuple(watched),
        scrape=found[-1] if replicas else None, lacks=_lacks(watched), notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _engines(found: tuple[Scrape, ...], notes: list[str]) -> list[Watched]:
    """What lies between each scrape and the next; of one that no other continues, what it says alone."""
    watched: list[Watched] = []
    for at, scrape in enumerate(found):
        after = found[at + 1] if at + 1 < len(found) else None
        sign = None if after is None else order(scrape, after)
        if after is not None and sign is not None:
            seen = interval(scrape, after) if sign >= 0 else interval(after, scrape)
            watched += seen.watched
            notes += seen.notes
        elif at == 0 or order(found[at - 1], scrape) is None:
            watched += _alone(engines(scrape))
    notes.append(f"{len(found):,} scrapes stand in it, one after another")
    return watched


def _alone(replicas: tuple[Replica, ...]) -> list[Watched]:
    """Of a single scrape the moment, and all since each engine's start."""
    return [one for each in replicas for one in (moment(each), lifetime(each)) if one is not None]


def _record(replica: Replica, *, alone: bool) -> Record | None:
    """How an engine is set up, which is no matter of time; None: it does not say the size of its KV pool."""
    seen = moment(replica) or lifetime(replica)
    if seen is None or seen.kv_tokens is None:
        return None
    stated = Stated(
        model=replica.model, engine=replica.engine, max_num_seqs=seen.max_num_seqs,
        memory_share=_number(replica.info.get("gpu_memory_utilization")),
        kv_cache=_FORMATS.get(replica.info.get("cache_dtype", "")),
    )  # fmt: skip
    measured = Measurements(kv_tokens_per_replica=seen.kv_tokens, kv_tokens=seen.kv_tokens if alone else None)
    return Record(name=replica.subject, stated=stated, measured=measured)


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 < found <= 1 else None


def _lacks(watched: list[Watched]) -> tuple[str, ...]:
    """What would tell more, in plain words."""
    found: list[str] = []
    cards = [one for one in watched if one.kind == "device"]
    if cards and all(one.dram_active is None for one in cards):
        found.append("how long the memory interface was active (DCGM_FI_PROF_DRAM_ACTIVE)")
    if cards and all(one.tensor_active is None for one in cards):
        found.append("how long the tensor cores were active (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)")
    if cards and all(one.throttled is None for one in cards):
        found.append("whether clocks are lowered (DCGM_FI_DEV_CLOCKS_EVENT_REASONS)")
    if any(one.span == "lifetime" for one in watched) and not any(one.span == "interval" for one in watched):
        found.append(SECOND)
    return tuple(found)


def _met(text: str) -> str:
    """A few names of the metrics that it has instead."""
    names = dict.fromkeys(matched[0][:60] for line in text[: 1 << 16].splitlines() if (matched := _NAME.match(line)))
    if names:
        return ", ".join(list(names)[:3])
    said = any(line.strip() and not line.startswith("#") for line in text[: 1 << 16].splitlines())
    return "a text without metrics" if said else "comments alone"


def looks(head: Head) -> bool:
    """Whatever is scraped for Prometheus."""
    return not head.json and exposed(head.text)


FORMAT = Format(name="metrics", words="a /metrics text (Prometheus or OpenMetrics)", looks=looks, read=read)
