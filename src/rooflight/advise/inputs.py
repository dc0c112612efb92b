"""What a caller of compare may give in more than one shape, brought into one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rooflight.advise.contenders import AXES
from rooflight.advise.log import Log, read_log
from rooflight.catalog.accelerators import load as named_card
from rooflight.errors import BadInput, RooflightError
from rooflight.spec.accelerator import Accelerator
from rooflight.spec.workload import Workload

# Dollars an hour of one accelerator; anything else is a slip.
LEAST_USD = 0.00001
MOST_USD = 1_000_000


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


def batch_of(batch: Any, load: Workload) -> int | None:
    """A number of sequences, the workload's where none is said; None for "max". Raises BadInput."""
    if batch is None:
        batch = load.batch
    if isinstance(batch, str) and batch.strip().lower() == "max":
        return None
    return int(Workload(batch=_one("batch", batch)).batch)


def _one(name: str, value: Any) -> Any:
    """The value, if it is not an array: a mix has one batch, and its lengths come from a log. Raises BadInput."""
    if getattr(value, "shape", ()):
        raise BadInput(
            f"{name} is one number here", where=f"--{name}", got=value, want="a number, or a log of requests"
        )
    return value


def check_mix(load: Workload, logged: bool) -> None:
    """Refuse what has no meaning in a comparison of whole requests, and lengths beside a log. Raises BadInput."""
    plain = Workload()
    for name in ("isl", "osl", "cached_prefix", "prefill_batch"):
        _one(name, getattr(load, name))
    for name in ("context", "draft_tokens", "chunk_tokens"):
        if getattr(load, name) != getattr(plain, name):
            raise BadInput(
                f"a comparison runs whole requests, prefill and plain decode steps: it has no {name}", where=name,
                got=getattr(load, name), want="isl and osl, or a log",
            )  # fmt: skip
    beside = [name for name in ("isl", "osl", "cached_prefix") if getattr(load, name) != getattr(plain, name)]
    if logged and beside:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in beside)
        raise BadInput(
            "a log says how long its requests are", where="--log", got=f"--log and {options}", want="one or the other"
        )


def log_of(source: str | Path | Iterable[Sequence[Any]] | None, columns: Sequence[str] | None) -> Log | None:
    """The log, if there is one. Raises BadInput, BadConfig."""
    if source is not None:
        return read_log(source, columns)
    if columns is not None:
        raise BadInput(
            "there is no log to take columns from", where="--log-columns", got="no --log", want="--log FILE beside it"
        )
    return None


def prices_of(prices: Mapping[str, Any], compared: Iterable[Accelerator]) -> dict[str, float]:
    """Dollars an hour of one accelerator by its id. Raises BadInput for what is no price, or two for one card."""
    known = {card.id for card in compared}
    found: dict[str, float] = {}
    for name, price in prices.items():
        card_id = name if name in known else _card_id(name)
        value = _dollars(price)
        if value is None:
            raise BadInput(
                f"{price!r} is no price", where=f"--price {name}", got=price, want="dollars an hour, such as 2.50"
            )
        if found.setdefault(card_id, value) != value:
            raise BadInput(
                f"{card_id} has two prices", where="--price", got=f"{found[card_id]} and {value}", want="one"
            )
    return found


def _card_id(name: str) -> str:
    try:
        card, count = named_card(name)
    except RooflightError as error:
        raise BadInput(error.what, where="--price", got=name, want=error.want, try_this=error.try_this) from None
    if count != 1 or name.strip().lower().startswith("1x"):
        raise BadInput(
            "a price is that of one accelerator", where="--price", got=name, want=card.id,
            try_this=f"--price {card.id}=USD_PER_HOUR",
        )  # fmt: skip
    return card.id


def _dollars(price: Any) -> float | None:
    try:
        value = math.nan if isinstance(price, bool) else float(price)
    except (TypeError, ValueError):
        return None
    return value if LEAST_USD <= value <= MOST_USD else None
