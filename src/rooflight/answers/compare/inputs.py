"""What a caller of compare may give in more than one shape, brought into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rooflight.answers.compare.contenders import AXES
from rooflight.errors import BadInput, Named
from rooflight.ingest.log import read_log
from rooflight.ingest.requests import Log
from rooflight.values.question import two_loads
from rooflight.values.workload import Workload


def axes_of(fields: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """(fields with several values, fields with one). Raises BadInput for an empty list."""
    axes: dict[str, list[Any]] = {}
    single: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in AXES or not isinstance(value, list | tuple):
            single[name] = value
        elif not value:
            raise BadInput(f"{name} has no values", where=Named.of(name), got="[]", want="at least one")
        elif len(value) == 1:
            single[name] = value[0]
        else:
            axes[name] = list(value)
    return axes, single


def batch_of(batch: Any, load: Workload) -> int | None:
    """A number of sequences, the workload's where none is said; None for "max". Raises BadInput."""
    if batch is not None and load.request_rate is not None:
        raise two_loads()
    if batch is None:
        batch = load.batch
    if isinstance(batch, str) and batch.strip().lower() == "max":
        return None
    return int(Workload(batch=_one("batch", batch)).batch)


def _one(name: str, value: Any) -> Any:
    """The value, if it is not an array: a mix has one batch, and its lengths come from a log. Raises BadInput."""
    if getattr(value, "shape", ()):
        raise BadInput(
            f"{name} is one number here", where=Named.of(name), got=value, want="a number, or a log of requests"
        )
    return value


def refuse_drafts(fields: Mapping[str, Any]) -> None:
    """Refuse what drafts: a comparison runs plain decode steps. Raises BadInput."""
    for name in ("draft_model", "draft_weights"):
        if fields.get(name) is not None:
            raise BadInput(
                f"a comparison runs whole requests, prefill and plain decode steps: it has no {name}",
                where=Named.of(name), got=str(fields[name])[:60], want="one deployment at a time in `analyze`",
            )  # fmt: skip


def check_mix(load: Workload, logged: bool) -> None:
    """Refuse what has no meaning in a comparison of whole requests, and lengths beside a log. Raises BadInput."""
    plain = Workload()
    for name in ("isl", "osl", "cached_prefix", "prefill_batch"):
        _one(name, getattr(load, name))
    for name in ("context", "draft_tokens", "chunk_tokens"):
        if getattr(load, name) != getattr(plain, name):
            raise BadInput(
                f"a comparison runs whole requests, prefill and plain decode steps: it has no {name}",
                where=Named.of(name), got=getattr(load, name), want="isl and osl, or a log",
            )  # fmt: skip
    beside = [name for name in ("isl", "osl", "cached_prefix") if getattr(load, name) != getattr(plain, name)]
    if logged and beside:
        raise BadInput(
            "a log says how long its requests are",
            where=Named.of("log"),
            got=Named(f"{{log}} and {Named.of(*beside).template}"),
            want="one or the other",
        )


def log_of(source: str | Path | Iterable[Sequence[Any]] | None, columns: Sequence[str] | None) -> Log | None:
    """The log, if there is one. Raises BadInput, BadConfig."""
    if source is not None:
        return read_log(source, columns)
    if columns is not None:
        raise BadInput(
            "there is no log to take columns from",
            where=Named.of("log_columns"),
            got=Named("no {log}"),
            want=Named("{log} FILE beside it"),
        )
    return None
