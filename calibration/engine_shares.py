"""The shares of a step's parts that fit measured times best: of one group of rows, or of several engines at once.

Least squares on the logarithm, robust against rows that contradict the rest; many rows of one (source, model,
accelerator) weigh less each. Engines that were seen with two or three models each are fitted together: an engine's host
is its own, while its shares of the kernels, which all engines take from much the same libraries, stay near everyone's.
Fitted apart, the engines of the served runs describe dense models they know a little better (5.1 % against 5.7 %,
medians), routed experts no better (8 % against 7 %), and models left out far worse (14 % and 97 % against 7 %).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from engine_rows import TERMS, Row
from scipy.optimize import least_squares

from rooflight.roofline.engine import UNIT_SHARPNESS
from rooflight.roofline.expected import joined_s

# What a fit may turn, with the range it is looked for in (values.calibration.Engine's is wider), and where it starts.
FREE = {
    "body": (0.8, 2.5, 1.0), "floors": (0.05, 1.2, 0.4), "link": (1.0, 1.0 + 1e-9, 1.0), "experts": (0.8, 3.0, 1.2),
    "steps": (0.0, 2e-2, 1e-3), "sequence_steps": (0.0, 1e-4, 1e-5), "expert_layers": (0.0, 1.2e-4, 3e-5),
    "unit_bytes": (0.0, 5e-10, 1e-10),
}  # fmt: skip
# How far an engine may be from everyone's share before it costs as much as a row that is off by a tenth.
APART = {
    "body": 0.005, "floors": 0.005, "link": 0.1, "experts": 0.005,
    "steps": 5e-4, "sequence_steps": 2e-6, "expert_layers": 1e-6,
}  # fmt: skip
# Everyone's shares may be this many times as far from the start: kernels as they were timed alone, a host of 1 ms.
PULL = 3
LEAST_ROWS = 12
# Errors of up to a tenth count as their square, larger ones less.
_NEAR = 0.1
# What a compute unit's limit is held against, and what comes on top.
_KERNELS = [TERMS.index(name) for name in ("body", "experts")]
_OTHERS = [place for place in range(len(TERMS) - 1) if place not in _KERNELS]
_LOW, _HIGH, _START = (np.array([FREE[name][side] for name in TERMS]) for side in range(3))

# Shares by engine, in the order of TERMS; "" is everyone's.
Shares = dict[str, np.ndarray]


def fit_alone(found: Sequence[Row]) -> Shares:
    """One set of shares for all rows. A lone card may hide what its compute units draw: no more than most others'."""
    terms, seconds, weight = _arrays(found)
    low = _lows(found)

    def residuals(shares: np.ndarray) -> np.ndarray:
        return np.asarray(weight * np.log(seconds_of(terms, shares * _HIGH) / seconds))

    best = least_squares(
        residuals, _START / _HIGH, bounds=(low / _HIGH * (1 - 1e-9), 1), loss="soft_l1", f_scale=_NEAR,
    )  # fmt: skip
    shares = best.x * _HIGH
    shares[-1] *= terms[:, -1].any()
    return {"": shares}


def _lows(found: Sequence[Row]) -> np.ndarray:
    low = _LOW.copy()
    if len({row.accelerator for row in found}) == 1:
        low[-1] = _START[-1]
    return low


def unseen(found: Sequence[Row]) -> list[str]:
    """Names of TERMS that no row has anything of, so that a fit leaves them where they start, or near everyone's."""
    terms = _arrays(found)[0]
    return [name for name, column in zip(TERMS, terms.T, strict=True) if not column.any()]


def ranges(found: Sequence[Row], *, tied: bool) -> dict[str, tuple[float, float]]:
    """Where a fit of these rows looked for what it could turn, by name of TERMS."""
    low = _LOW if tied else _lows(found)
    fixed = {"link", *(["unit_bytes"] if tied else []), *unseen(found)}
    return {name: (float(low[at]), float(_HIGH[at])) for at, name in enumerate(TERMS) if name not in fixed}


def fit_tied(found: Sequence[Row]) -> Shares:
    """Shares of each engine, held near everyone's by APART; their kernels are those that were timed: no unit_bytes."""
    terms, seconds, weight = _arrays(found)
    engines = sorted({row.engine for row in found})
    whose = np.array([1 + engines.index(row.engine) for row in found])
    terms, low, high, start = terms[:, :-1], _LOW[:-1], _HIGH[:-1], _START[:-1]
    apart = np.array([APART[name] for name in TERMS[:-1]])

    def residuals(flat: np.ndarray) -> np.ndarray:
        shares = flat.reshape(-1, len(high)) * high
        off = weight * np.log((terms * shares[whose]).sum(axis=1) / seconds)
        damped = np.sign(off) * _NEAR * np.sqrt(2 * (np.sqrt(1 + (off / _NEAR) ** 2) - 1))
        own, common = (shares[1:] - shares[0]) / apart, (shares[0] - start) / (apart * PULL)
        return np.concatenate([damped, _NEAR * own.ravel(), _NEAR * common])

    sets = len(engines) + 1
    best = least_squares(residuals, np.tile(start / high, sets), bounds=(np.tile(low / high, sets), 1), max_nfev=60)
    shares = np.column_stack([best.x.reshape(sets, -1) * high, np.zeros(sets)])
    return dict(zip(("", *engines), shares, strict=True))


def seconds_of(terms: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The seconds that shares make of terms, as roofline.engine.step_s does."""
    kernels = terms[..., _KERNELS] @ shares[_KERNELS]
    kernels = joined_s(kernels, terms[..., -1] * shares[-1], sharpness=UNIT_SHARPNESS)
    return np.asarray(kernels + terms[..., _OTHERS] @ shares[_OTHERS])


def predicted(found: Sequence[Row], shares: Shares) -> np.ndarray:
    """Predicted over measured, each row by its engine's shares, else by everyone's."""
    return np.array([seconds_of(row.terms, shares.get(row.engine, shares[""])) / row.seconds for row in found])


def _arrays(found: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    groups: dict[tuple[str, ...], int] = {}
    keys = [(row.source, row.model, row.accelerator, row.engine) for row in found]
    for key in keys:
        groups[key] = groups.get(key, 0) + 1
    weight = np.array([groups[key] ** -0.25 for key in keys])
    return np.array([row.terms for row in found]), np.array([row.seconds for row in found]), weight
