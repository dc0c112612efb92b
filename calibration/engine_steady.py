"""Served runs fitted with their steady states inside: solved under the shares so far, frozen, fitted, solved again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from engine_first import FIELDS as FIRST_FIELDS
from engine_first import Waits, fit_waits
from engine_rows import Row, again
from engine_shares import FIELDS, Shares, fit_tied, shares_of

from rooflight.catalog.calibration import engine_named
from rooflight.values.calibration import Engine

# Solved and fitted so often; after the first time nothing moves by more than a tenth of a per cent.
ROUNDS = 3


class Fitted(NamedTuple):
    """Served runs with their terms, steady states solved, and the numbers by engine that they were solved under."""

    rows: list[Row]
    shares: Shares
    waits: Waits


def fit_served(found: Sequence[Row], data: Path) -> Fitted:
    """Shares of the steps, server_s and queue of runs that come solved under the catalog's."""
    rows, waits = list(found), _start(found)
    for _ in range(ROUNDS):
        shares = fit_tied(rows)
        rows = [again(row, data, engine_with(shares, waits, row)) for row in rows]
        waits = fit_waits([row for row in rows if row.first is not None])
        rows = [again(row, data, engine_with(shares, waits, row)) for row in rows]
    return Fitted(rows=rows, shares=fit_tied(rows), waits=waits)


def _start(found: Sequence[Row]) -> Waits:
    """The catalog's server_s and queue of the engines of rows."""
    names = {row.engine for row in found}
    engines = {name: engine_named(name) for name in names} | {"": engine_named(None)}
    return {name: np.array([engine.server_s, engine.queue]) for name, engine in engines.items()}


def engine_with(shares: Shares, waits: Waits, row: Row) -> Engine:
    """The engine of a row with these numbers, everything else as the catalog has it."""
    own = dict(zip(FIELDS.values(), map(float, shares_of(shares, row.engine, row.family)), strict=True))
    own |= dict(zip(FIRST_FIELDS, map(float, waits.get(row.engine, waits[""])), strict=True))
    return msgspec.structs.replace(engine_named(row.engine, row.family, row.era), **own)
