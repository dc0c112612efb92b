"""The shares of a step's parts that fit measured times best: of one group of rows, or of several engines at once.

Least squares on the logarithm, robust against rows that contradict the rest; many rows of one (source, model,
accelerator) weigh less each. Engines that were seen with two or three models each are fitted together: an engine's host
is its own, while its shares of the kernels, which all engines take from much the same libraries, stay near everyone's.
Ten times as free, the engines of the served runs describe what they know a little better (means of 8.3 % against 8.4 %
for dense models, 15.4 % against 16.5 % for routed experts) and models left out worse (12.3 % against 9.8 %, 21.8 %
against 20.1 %). Families apart help both: 8.0 % and 12.7 %, models left out 9.4 % and 15.5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from engine_rows import TERMS, Row
from scipy.optimize import least_squares

from rooflight.roofline.engine import UNIT_SHARPNESS
from rooflight.roofline.expected import joined_s

# What an entry calls the shares of TERMS.
FIELDS = dict(zip(TERMS, (
    "body_share", "floor_share", "link", "expert_share", "host_s", "host_per_sequence_s", "expert_layer_s",
    "unit_byte_s",
), strict=True))  # fmt: skip
# What a fit may turn, with the range it is looked for in (values.calibration.Engine's is wider), and where it starts.
FREE = {
    "body": (0.8, 2.5, 1.0), "floors": (0.05, 1.2, 0.4), "link": (1.0, 1.0 + 1e-9, 1.0), "experts": (0.8, 3.0, 1.2),
    "steps": (0.0, 2e-2, 1e-3), "sequence_steps": (0.0, 1e-4, 1e-5), "expert_layers": (0.0, 1.2e-4, 3e-5),
    "unit_bytes": (0.0, 5e-10, 1e-10),
}  # fmt: skip
# How far an engine may be from everyone's share, or its family's, before it costs as much as a row off by a tenth.
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

# Shares by engine, and by engine on a family (on_family), in the order of TERMS; "" is everyone's.
Shares = dict[str, np.ndarray]


def fit_alone(found: Sequence[Row]) -> Shares:
    """One set of shares for all rows. A lone card may hide what its compute units draw: no more than most others'."""
    terms, seconds, weight = _arrays(found)
    low = _lows(found)

    def residuals(shares: np.ndarray) -> np.ndarray:
        return np.asarray(weight * np.log(seconds_of(terms, shares * _HIGH).sum(axis=1) / seconds))

    best = least_squares(
        residuals, _START / _HIGH, bounds=(low / _HIGH * (1 - 1e-9), 1), loss="soft_l1", f_scale=_NEAR,
    )  # fmt: skip
    shares = best.x * _HIGH
    shares[-1] *= terms[..., -1].any()
    return {"": shares}


def _lows(found: Sequence[Row]) -> np.ndarray:
    low = _LOW.copy()
    if len({row.accelerator for row in found}) == 1:
        low[-1] = _START[-1]
    return low


def unseen(found: Sequence[Row]) -> list[str]:
    """Names of TERMS that no row has anything of, so that a fit leaves them where they start, or near everyone's."""
    terms = _arrays(found)[0].sum(axis=1)
    return [name for name, column in zip(TERMS, terms.T, strict=True) if not column.any()]


def ranges(found: Sequence[Row], *, tied: bool) -> dict[str, tuple[float, float]]:
    """Where a fit of these rows looked for what it could turn, by name of TERMS."""
    low = _LOW if tied else _lows(found)
    fixed = {"link", *(["unit_bytes"] if tied else []), *unseen(found)}
    return {name: (float(low[at]), float(_HIGH[at])) for at, name in enumerate(TERMS) if name not in fixed}


def fit_tied(found: Sequence[Row]) -> Shares:
    """Shares of each engine, held near everyone's by APART, and of each engine on a family, held near the family's.

    A family's shares are held near everyone's too, less so: they take up what its kernel fits miss. An engine's own are
    for families that it was not seen on. Kernels are those that were timed: no unit_bytes.
    """
    by_engine = _fit_tree(found, [("", row.engine) for row in found], (PULL, 1))
    by_family = _fit_tree(
        found, [("", f"all on {row.family}", on_family(row.engine, row.family)) for row in found], (PULL, PULL, 1)
    )
    return by_family | by_engine


def on_family(engine: str, family: str) -> str:
    """What Shares call an engine on a family."""
    return f"{engine} on {family}"


def shares_of(shares: Shares, engine: str, family: str) -> np.ndarray:
    """An engine's shares on a family, else on all, else everyone's."""
    return shares.get(on_family(engine, family), shares.get(engine, shares[""]))


def _fit_tree(found: Sequence[Row], paths: Sequence[tuple[str, ...]], widths: Sequence[float]) -> Shares:
    """Shares of every node of a tree, each held near its parent's, the root near the start.

    paths   by row the nodes from the root to the one whose shares it has; widths: by depth, how many APART a node may
            be away before it costs as much as a row that is off by a tenth
    """
    terms, seconds, weight = _arrays(found)
    terms, low, high, start = terms.sum(axis=1)[:, :-1], _LOW[:-1], _HIGH[:-1], _START[:-1]
    nodes = list(dict.fromkeys(node for depth in zip(*paths, strict=True) for node in sorted(set(depth))))
    parents = {node: path[depth - 1] for path in paths for depth, node in enumerate(path) if depth}
    depths = {node: depth for path in paths for depth, node in enumerate(path)}
    at = {node: place for place, node in enumerate(nodes)}
    above, whose = [at[parents[node]] for node in nodes[1:]], np.array([at[path[-1]] for path in paths])
    apart = np.array([APART[name] for name in TERMS[:-1]])
    near = _NEAR * high / (np.array([widths[depths[node]] for node in nodes])[:, None] * apart)
    pulls = _pulls(near, above)

    def residuals(flat: np.ndarray) -> np.ndarray:
        scaled = flat.reshape(near.shape)
        off = weight * np.log((terms * (scaled * high)[whose]).sum(axis=1) / seconds)
        held = near * (scaled - np.vstack([start[None] / high, scaled[above]]))
        return np.concatenate([damped(off), held.ravel()])

    def slopes(flat: np.ndarray) -> np.ndarray:
        whole = (terms * (flat.reshape(near.shape) * high)[whose]).sum(axis=1)
        each = (weight * damping(weight * np.log(whole / seconds)) / whole)[:, None] * terms * high
        data = np.zeros((len(terms), *near.shape))
        data[np.arange(len(terms)), whose] = each
        return np.vstack([data.reshape(len(terms), -1), pulls])

    first, least = np.tile(start / high, len(nodes)), np.tile(low / high, len(nodes))
    best = least_squares(residuals, first, jac=slopes, bounds=(least, 1), max_nfev=100)
    shares = np.column_stack([best.x.reshape(near.shape) * high, np.zeros(len(nodes))])
    return dict(zip(nodes, shares, strict=True))


def _pulls(near: np.ndarray, above: Sequence[int]) -> np.ndarray:
    """The slopes of what holds nodes near their parents."""
    nodes, names = near.shape
    slopes = np.zeros((nodes, names, nodes, names))
    for node, name in np.ndindex(nodes, names):
        slopes[node, name, node, name] = near[node, name]
        if node:
            slopes[node, name, above[node - 1], name] = -near[node, name]
    return slopes.reshape(nodes * names, -1)


def damped(off: np.ndarray) -> np.ndarray:
    """Errors of up to a tenth as they are, larger ones less."""
    return np.asarray(np.sign(off) * _NEAR * np.sqrt(2 * (np.sqrt(1 + (off / _NEAR) ** 2) - 1)))


def damping(off: np.ndarray) -> np.ndarray:
    """The slope of damped."""
    long = np.sqrt(1 + (off / _NEAR) ** 2)
    return np.asarray(np.sqrt((long + 1) / 2) / long)


def seconds_of(terms: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The seconds that shares make of terms, as roofline.engine.step_s does."""
    kernels = terms[..., _KERNELS] @ shares[_KERNELS]
    kernels = joined_s(kernels, terms[..., -1] * shares[-1], sharpness=UNIT_SHARPNESS)
    return np.asarray(kernels + terms[..., _OTHERS] @ shares[_OTHERS])


def predicted(found: Sequence[Row], shares: Shares) -> np.ndarray:
    """Predicted over measured, each row by its engine's shares, else by everyone's."""
    return np.array([
        seconds_of(row.terms, shares_of(shares, row.engine, row.family)).sum() / row.seconds for row in found
    ])  # fmt: skip


def with_prefill(found: Sequence[Row], share: float) -> list[Row]:
    """Rows whose prompts, in steps of their own before any decode, take so much more than the shares say."""
    return [row._replace(terms=row.terms * np.array([[share], [1.0]])) if row.whole else row for row in found]


def row_weights(found: Sequence[Row]) -> np.ndarray:
    """What each row counts: many of one source, model, card and engine weigh less each."""
    keys = [(row.source, row.shape, row.accelerator, row.engine, row.backend) for row in found]
    groups = Counter(keys)
    return np.array([groups[key] ** -0.25 for key in keys])


def _arrays(found: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array([row.terms for row in found]), np.array([row.seconds for row in found]), row_weights(found)
