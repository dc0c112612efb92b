"""What a caller of compare may give in more than one shape, brought into one."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rooflight.advise.contenders import AXES
from rooflight.advise.log import Log, read_log
from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput, RooflightError
from rooflight.spec.workload import Workload


def axes_of(fields: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """(fields with several values, fields with one). Raises BadInput for an empty list."""
    axes: dict[str, list[Any]] = {}
    single: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in AXES or not isinstance(value, list | tuple):
            single[name] = value
        elif not value:
            raise BadInput(f"{name} has no values", where=f"--{name.replace('_', '-')}", got="[]", want="at least one")
        elif len(value) == 1:
            single[name] = value[0]
        else:
            axes[name] = list(value)
    return axes, single


def batch_of(batch: Any) -> int | None:
    """A number of sequences; None for "max". Raises BadInput."""
    if isinstance(batch, str) and batch.strip().lower() == "max":
        return None
    return int(Workload(batch=batch).batch)


def log_of(
    source: str | Path | Iterable[Sequence[Any]] | None, columns: Sequence[str] | None, given: Collection[str]
) -> Log | None:
    """The log, if there is one; lengths cannot be given beside it. Raises BadInput, BadConfig."""
    if "context" in given:
        raise BadInput(
            "a comparison runs whole requests, so its decode steps have no single context", where="--context",
            got="--context", want="--isl and --osl, or a log",
        )  # fmt: skip
    if source is None:
        if columns is not None:
            raise BadInput(
                "there is no log to take columns from",
                where="--log-columns",
                got="no --log",
                want="--log FILE beside it",
            )
        return None
    beside = sorted({"isl", "osl", "cached_prefix"} & set(given))
    if beside:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in beside)
        raise BadInput(
            "a log says how long its requests are", where="--log", got=f"--log and {options}", want="one or the other"
        )
    return read_log(source, columns)


def prices_of(prices: Mapping[str, Any]) -> dict[str, float]:
    """Dollars an hour of one accelerator by its id. Raises BadInput for what is no price, or two for one card."""
    found: dict[str, float] = {}
    for name, price in prices.items():
        try:
            card, count = load(name)
        except RooflightError as error:
            raise BadInput(error.what, where="--price", got=name, want=error.want, try_this=error.try_this) from None
        if count != 1 or name.strip().lower().startswith("1x"):
            raise BadInput(
                "a price is that of one accelerator", where="--price", got=name, want=card.id,
                try_this=f"--price {card.id}=USD_PER_HOUR",
            )  # fmt: skip
        value = _dollars(price)
        if value is None:
            raise BadInput(
                f"{price!r} is no price", where=f"--price {name}", got=price, want="dollars an hour, such as 2.50"
            )
        if found.setdefault(card.id, value) != value:
            raise BadInput(
                f"{card.id} has two prices", where="--price", got=f"{found[card.id]} and {value}", want="one"
            )
    return found


def _dollars(price: Any) -> float | None:
    try:
        value = math.nan if isinstance(price, bool) else float(price)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) and value > 0 else None
