"""Intervals of engines' times: what held-out rows say, wider where an engine was seen with few models."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

NOMINAL = 0.8
FEW_MODELS = 4


def interval(ratio: np.ndarray) -> tuple[float, float]:
    """Factors on the expected time that hold NOMINAL of the measurements; ratio is predicted over measured."""
    tail = (1 - NOMINAL) / 2
    low, high = np.quantile(1 / ratio, [tail, 1 - tail])
    return float(np.clip(low, 0.15, 0.97)), float(np.clip(high, 1.03, 9.0))


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
