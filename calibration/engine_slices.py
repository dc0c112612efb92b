"""Intervals of served runs by slice: engine, family of cards, routed experts or none, few requests at once or many."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from engine_intervals import interval_within
from engine_rows import Row
from engine_shares import on_family

from rooflight.roofline.engine import FEW
from rooflight.values.calibration import Busy

# How the fields of intervals begin, of dense models and of routed experts: of a step, a whole request, a first token.
STEPS, WHOLES, FIRSTS = ("", "moe_"), ("run_", "moe_run_"), ("first_", "moe_first_")


def by_load(
    found: Sequence[Row], fifths: np.ndarray, models: np.ndarray, kinds: Sequence[str], models_count: float = 1.0
) -> dict[str, dict[str, Any]]:
    """The intervals of everyone (""), of each engine and of each engine on a family, of few requests and of many.

    Each is held near that of the larger group: an engine on a family with so much load near all its own, that near all
    of the family, that near everyone's; dense models and routed experts apart. Who was seen with one of the two alone
    has of the other the wider of what all engines on the family need and of what it needs itself.

    fifths, models  predicted over measured, without the operating point, and without the model
    kinds           how the fields begin, of dense models and of routed experts
    models_count    what a row predicted without its model counts, beside one without its operating point; below 1
                    models are no measure of how much a group knows
    """
    engine, family, load, routed = (
        np.array([getattr(row, name) for row in found]) for name in ("engine", "family", "requests", "routed")
    )
    sides = {"": load <= FEW, "busy": load > FEW}
    if not all(side.any() for side in sides.values()):
        sides = dict.fromkeys(sides, load > 0)
    logs = -np.log(np.concatenate([fifths, models]))
    weight, which = np.repeat([1.0, models_count], len(found)), [row.shape for row in found]
    shapes = np.array((which if models_count == 1 else [*range(len(found))]) * 2)
    bounds_: dict[str, dict[str, Any]] = {}
    for name, groups in _groups(engine, family).items():
        entry: dict[str, Any] = {"busy": {}}
        for kind, side in itertools.product(kinds, sides):
            of_kind = routed == kind.startswith("moe_")
            of_kind = of_kind if of_kind.any() else load > 0
            inside = [of_kind & group for group in groups]
            inside.append(inside[-1] & sides[side])
            bounds = interval_within(logs, weight, shapes, [np.tile(one, 2) for one in inside])
            if not inside[-2].any():
                own = interval_within(logs, weight, shapes, [np.tile(groups[-1], 2)])
                bounds = min(bounds[0], own[0]), max(bounds[1], own[1])
            (entry["busy"] if side else entry).update({f"{kind}low": bounds[0], f"{kind}high": bounds[1]})
        bounds_[name] = entry
    return bounds_


def _groups(engine: np.ndarray, family: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Which rows are of everyone, of each engine, of each engine on a family: the groups around it first."""
    everyone = engine == engine
    groups = {"": [everyone]} | {name: [everyone, engine == name] for name in np.unique(engine)}
    for pair in sorted({*zip(engine, family, strict=True)}):
        on = family == pair[1]
        groups[on_family(*pair)] = [everyone, on, on & (engine == pair[0])]
    return groups


def merged(*entries: dict[str, Any]) -> dict[str, Any]:
    """Entries together, with all that they say of many requests."""
    found = {name: value for entry in entries for name, value in entry.items()}
    return found | {"busy": {name: value for entry in entries for name, value in entry.get("busy", {}).items()}}


def whole_busy(entry: dict[str, Any]) -> None:
    """Make an entry that says something of many requests say everything: the rest as of few."""
    if entry.get("busy"):
        entry["busy"] = {name: entry["busy"].get(name, entry[name]) for name in Busy.__struct_fields__}
    else:
        entry.pop("busy", None)
