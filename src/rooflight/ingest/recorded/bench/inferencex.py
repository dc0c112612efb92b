"""InferenceX (InferenceMAX): results of its serving benchmark with times in seconds, and its aggregated rows.

Aggregated rows: utils/process_result.py of https://github.com/SemiAnalysisAI/InferenceX. Until December 2025 with one
`tp` and `ep`, since then with those of prefill and decode workers for disaggregated runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rooflight.ingest.recorded.bench.documents import amount, count, documents, keys_of, name
from rooflight.ingest.recorded.bench.serving import Found, engine, measured, results, stated, titled
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Record, Recorded, Stated

_SECONDS = frozenset(("mean_ttft", "median_ttft", "mean_tpot", "median_tpot"))
_ROW = "tput_per_gpu"
# Formats whose name is one of rooflight's; "fp4" may be NVIDIA's or the OCP's.
_PRECISIONS = ("bf16", "fp16", "fp8", "nvfp4", "mxfp4", "int4")
_YES = ("true", "1", "yes")
_MEDIANS = "only medians and percentiles are given, no means"


def _looks(head: Head) -> bool:
    found = keys_of(head)
    return bool(found & _SECONDS or _ROW in found)


def _read(source: Source) -> Recorded:
    found, notes = documents(source)
    records: list[Record] = []
    for one in found:
        result, how = measured(one.values), stated(one.values)
        if _ROW in one.values:
            how = _aggregated(one.values, how)
            result = _all_gpus(one.values, how, result)
        times = (result.measured.ttft_s, result.measured.tpot_s)
        if all(each is None or each.mean is None for each in times):
            notes += (_MEDIANS,)
        records.append(Record(name=titled(how), stated=how, measured=result.measured, line=one.line))
        notes += result.notes
    return results(source, records, notes, "InferenceX")


def _aggregated(values: Mapping[str, Any], how: Stated) -> Stated:
    """The layout, lengths and formats of an aggregated row."""
    precision = (name(values.get("precision")) or "").lower()
    drafts = (name(values.get("spec_decoding")) or name(values.get("mtp")) or "").lower()
    framework = (name(values.get("framework")) or "").lower()
    how = replace(
        how, device=name(values.get("hw")), concurrency=count(values.get("conc")),
        isl=amount(values.get("isl")) or None, osl=amount(values.get("osl")) or None,
        weights=precision if precision in _PRECISIONS else None,
        engine=engine(framework.removeprefix("dynamo-")) or framework or None,
        speculative=None if not drafts else drafts not in ("none", "off", "false"),
    )  # fmt: skip
    if _yes(values.get("disagg")) or _yes(values.get("is_multinode")):
        return replace(how, **_apart(values))
    return replace(how, **_together(values, how))


def _together(values: Mapping[str, Any], how: Stated) -> dict[str, int | None]:
    """TP is the number of devices; with DP_ATTENTION each of them holds whole attention."""
    gpus = None if how.tp is None else how.tp * (how.pp or 1)
    if _yes(values.get("dp_attention")) and how.tp is not None:
        return {"gpus": gpus, "tp": 1, "dp": how.tp}
    return {"gpus": gpus}


def _apart(values: Mapping[str, Any]) -> dict[str, int | None]:
    """Pools of workers: tp and the rest are those of one decode worker."""
    sides = {side: count(values.get(f"num_{side}_gpu")) for side in ("prefill", "decode")}
    known = [one for one in sides.values() if one is not None]
    found: dict[str, int | None] = {"gpus": sum(known) if len(known) == len(sides) else None, "pp": None}
    for side, prefix in (("prefill", "prefill_"), ("decode", "")):
        tp = count(values.get(f"{side}_tp"))
        whole = _yes(values.get(f"{side}_dp_attention")) and tp is not None
        found[f"{side}_workers"] = count(values.get(f"{side}_num_workers"))
        found |= {f"{prefix}tp": 1 if whole else tp, f"{prefix}dp": tp if whole else None}
        found[f"{prefix}ep"] = count(values.get(f"{side}_ep"))
    return found


def _all_gpus(values: Mapping[str, Any], how: Stated, result: Found) -> Found:
    """Rates of each device as rates of all; a disaggregated run counts output by its decode devices alone."""
    total, output = amount(values.get(_ROW)), amount(values.get("output_tput_per_gpu"))
    decode = count(values.get("num_decode_gpu")) if how.decode_workers is not None else how.gpus
    rates: dict[str, float] = {}
    if total is not None and how.gpus is not None:
        rates["total_tokens_per_s"] = total * how.gpus
    if output is not None and decode is not None:
        rates["output_tokens_per_s"] = output * decode
    return Found(measured=replace(result.measured, **rates), notes=result.notes)


def _yes(value: object) -> bool:
    return str(value).strip().lower() in _YES


FORMAT = Format(name="inferencex", words="results of InferenceX", looks=_looks, read=_read)
