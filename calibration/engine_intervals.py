"""Intervals of engines' times: what held-out rows say, wider where an engine was seen with few models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rooflight.roofline.engine import FEW, MANY

NOMINAL = 0.8
FEW_MODELS = 4
# A group of so many rows counts as much in its interval as the larger group that it is part of; rows of fewer than
# FEW_MODELS models count for less, those of one model for nothing: they say little of the next.
AS_MANY = 60


def interval(ratio: np.ndarray) -> tuple[float, float]:
    """Factors on the expected time that hold NOMINAL of the measurements; ratio is predicted over measured."""
    tail = (1 - NOMINAL) / 2
    low, high = np.quantile(1 / ratio, [tail, 1 - tail])
    return float(np.clip(low, 0.15, 0.97)), float(np.clip(high, 1.03, 9.0))


def interval_within(
    logs: np.ndarray, weight: np.ndarray, models: np.ndarray, groups: Sequence[np.ndarray]
) -> tuple[float, float]:
    """The interval of the last of groups that lie in one another, each held near the one around it by AS_MANY.

    logs    of measured over expected, nan where unknown; groups: which of them, from all to the narrowest
    """
    known = np.isfinite(logs)
    counts, left = np.zeros(len(logs)), 1.0
    for depth, group in reversed(list(enumerate(groups))):
        mine = np.where(group & known, weight, 0.0)
        rows = float((group & known).sum())
        if rows:
            rows *= min(1.0, (len(np.unique(models[group & known])) - 1) / (FEW_MODELS - 1))
            share = rows / (rows + AS_MANY) if depth else 1.0
            counts += left * share * mine / mine.sum()
            left *= 1 - share
    order = np.argsort(logs[known])
    sizes = counts[known][order]
    places = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    tail = (1 - NOMINAL) / 2
    low, high = np.exp(np.interp([tail, 1 - tail], places, logs[known][order]))
    return float(np.clip(low, 0.15, 0.97)), float(np.clip(high, 1.03, 9.0))


def ends(entry: Mapping[str, Any], kind: str, requests: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """An entry's interval with so many requests at once, as roofline.engine.interval has it."""
    few, busy = entry, entry.get("busy") or entry
    part = np.clip((np.asarray(requests) - FEW) / (MANY - FEW), 0, 1)
    low, high = (few[kind + side] + (busy[kind + side] - few[kind + side]) * part for side in ("low", "high"))
    return low, high


def unseen_card(ratio: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """By what factor an interval must be wider on both sides to hold NOMINAL of the rows of cards left out."""
    if not len(ratio):
        return 1.0
    needed = np.maximum(low * ratio, 1 / (high * ratio))
    return float(np.clip(np.quantile(needed, NOMINAL), 1.0, 3.0))


def widen(own: dict[str, Any], everyone: dict[str, Any], low: str, high: str, models: Collection[str]) -> None:
    """An engine seen with few models says little of others: half way to the interval of all engines, by ratio."""
    if len(set(models)) < FEW_MODELS:
        own[low] = min(own[low], (own[low] * everyone[low]) ** 0.5)
        own[high] = max(own[high], (own[high] * everyone[high]) ** 0.5)
