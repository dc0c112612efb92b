"""llama-batched-bench and ik_llama.cpp's llama-sweep-bench: a row for each batch, or for each depth of the cache."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.bench.documents import documents
from rooflight.ingest.recorded.figures import amount, whole
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

# Columns by the names of the JSON lines: github.com/ggml-org/llama.cpp, tools/batched-bench/batched-bench.cpp;
# ik_llama.cpp, examples/sweep-bench/sweep-bench.cpp, has no B, and N_KV is what lies in front of the prompt there.
_COLUMNS = {
    "PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "S_PP t/s": "speed_pp", "T_TG s": "t_tg",
    "S_TG t/s": "speed_tg", "S t/s": "speed",
}  # fmt: skip
_HEAD = re.compile(r"^\|\s*PP\s*\|\s*TG\s*\|.*\bS_TG t/s\b.*\|\s*$", re.MULTILINE)
_KEYS = {"pp", "tg", "pl", "t_pp", "t_tg", "speed_tg"}
_SHARED = re.compile(r"\bis_pp_shared\b\W{1,6}(\d)")


def _looks(head: Head) -> bool:
    return (head.json and head.keys >= _KEYS) or _HEAD.search(head.text) is not None


def _read(source: Source) -> Recorded:
    text = source.text
    given = [one.values for one in documents(source)[0]] if source.head.json else list(_rows(text))
    shared = _SHARED.search(text)
    at_once = shared is not None and shared[1] == "1"
    records = tuple(one for row in given for one in (_batch(row, at_once) if "pl" in row else _sweep(row)))
    if not records:
        raise BadConfig(
            "no row of llama-batched-bench is in it", where=source.name, got="none", want="rows with PP, TG and S_TG"
        )
    return Recorded(
        file=source.name, format="", tool="llama-batched-bench" if records[0].stated.depth is None else
        "llama-sweep-bench", records=records, lacks=("the model", "which accelerator ran"),
    )  # fmt: skip


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    """Rows of the tables by the names of the JSON lines."""
    names: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else []
        if _HEAD.match(line.strip()):
            names = [_COLUMNS.get(cell, "") for cell in cells]
        elif names and len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))


def _batch(row: Mapping[str, Any], shared: bool) -> Iterator[Record]:
    """Prompts of a batch one after another, or one that all share; then all of them a token at a time."""
    prompt, output, batch = whole(row.get("pp")), whole(row.get("tg")), whole(row.get("pl"))
    first, later = amount(row.get("t_pp")), amount(row.get("t_tg"))
    if prompt is None or output is None or not batch or not (first or later):
        return
    yield Record(
        name=f"batch {batch}, {prompt} in, {output} out",
        stated=Stated(engine="llama.cpp", batch=batch, concurrency=batch, isl=float(prompt), osl=float(output)),
        measured=Measurements(
            isl=float(prompt), osl=float(output), total_tokens_per_s=amount(row.get("speed")) or None,
            output_tokens_per_s=(amount(row.get("speed_tg")) or None) if output else None,
            prefill_tokens_per_s=(amount(row.get("speed_pp")) or None) if prompt else None,
            prefill_s=Spread(mean=first) if first and prompt and (batch == 1 or shared) else None,
            tpot_s=Spread(mean=later / output) if later and output else None,
        ),
    )  # fmt: skip


def _sweep(row: Mapping[str, Any]) -> Iterator[Record]:
    """Generation, then a prompt, each on a cache of N_KV tokens: as two tests of llama-bench."""
    prompt, output, depth = whole(row.get("pp")), whole(row.get("tg")), whole(row.get("n_kv"))
    first, later = amount(row.get("t_pp")), amount(row.get("t_tg"))
    if depth is None:
        return
    if prompt and first:
        yield Record(
            name=f"pp{prompt} @ d{depth}",
            stated=Stated(engine="llama.cpp", batch=1, isl=float(prompt), osl=0.0, depth=depth, phase="prefill"),
            measured=Measurements(prefill_tokens_per_s=prompt / first),
        )  # fmt: skip
    if output and later:
        yield Record(
            name=f"tg{output} @ d{depth}",
            stated=Stated(engine="llama.cpp", batch=1, isl=0.0, osl=float(output), depth=depth, phase="decode"),
            measured=Measurements(output_tokens_per_s=output / later, tpot_s=Spread(mean=later / output)),
        )  # fmt: skip


FORMAT = Format(
    name="llama-batched-bench", words="tables or JSON lines of llama-batched-bench and llama-sweep-bench",
    looks=_looks, read=_read,
)  # fmt: skip
