"""Profiles made up by hand, as their tools write them."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

from rooflight.ingest.recorded.source import Head, Source
from rooflight.values.recorded import Recorded

GEMM, COPY, NCCL, NORM = (
    "nvjet_tst_64x8",
    "Memcpy DtoD (Device -> Device)",
    "ncclDevKernel_AllReduce_Sum",
    "rms_norm_kernel",
)


def kernel(
    name: str, ts: float, dur: float, *, device: Any = 0, stream: int = 7, cat: str = "kernel", **args: Any
) -> dict[str, Any]:
    """A kernel of a device; times in microseconds."""
    args = {"device": device, "stream": stream, **{key.replace("_", " "): value for key, value in args.items()}}
    return {"ph": "X", "cat": cat, "name": name, "pid": device, "tid": stream, "ts": ts, "dur": dur, "args": args}


def host(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    """An event of the host."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": 9, "ts": ts, "dur": dur, "args": args}


def document(*events: dict[str, Any], **beside: Any) -> str:
    """A trace as PyTorch writes it."""
    return json.dumps({"schemaVersion": 1, **beside, "traceEvents": list(events), "traceName": "x.json"})


def written(folder: Path, text: str | bytes, name: str = "t.json", *, packed: bool = False) -> Path:
    """The path of a file that holds it."""
    raw = text.encode() if isinstance(text, str) else text
    path = folder / name
    path.write_bytes(gzip.compress(raw) if packed else raw)
    return path


def taken(form: Any, raw: bytes) -> Recorded:
    """What a format reads of bytes that came through a pipe."""
    return form.read(Source(io.BufferedReader(io.BytesIO(raw)), "t", None, Head.of(raw[: 1 << 16])))
