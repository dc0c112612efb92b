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
    "body_share", "floor_share", "link_share", "expert_share", "host_s", "host_per_sequence_s", "expert_layer_s",
    "fp4_floor_share", "beside_share", "unshared_kv_share", "repeated_kv_share", "launch_s", "unit_byte_s",
), strict=True))  # fmt: skip
# What a fit may turn, with the range it is looked for in (values.calibration.Engine's is wider), and where it starts.
FREE = {
    "body": (0.8, 2.5, 1.0), "floors": (0.05, 1.2, 0.4), "link": (0.5, 8.0, 1.0), "experts": (0.8, 3.0, 1.2),
    "steps": (0.0, 2e-2, 1e-3), "sequence_steps": (0.0, 1e-4, 1e-5), "expert_layers": (0.0, 1.2e-4, 3e-5),
    "fp4_floors": (0.0, 1e-9, 0.0), "beside": (1.0, 1.0 + 1e-9, 1.0),
    "unshared": (0.0, 8.0, 1.0), "repeated": (0.0, 30.0, 5.0), "launches": (0.0, 1.5e-4, 5e-5),
    "unit_bytes": (0.0, 5e-10, 1e-10),
}  # fmt: skip
# The same for engines that are fitted together: no time is negative, more is not asked of them.
TIED = FREE | {
    "body": (0.0, 3.0, 1.0), "floors": (0.0, 2.0, 0.4), "link": (0.3, 3.0, 1.0), "experts": (0.0, 4.0, 1.2),
    "expert_layers": (0.0, 2e-4, 3e-5), "sequence_steps": (0.0, 3e-4, 1e-5), "fp4_floors": (0.0, 4.0, 0.2),
    "beside": (0.0, 3.0, 1.0),
}  # fmt: skip
# How far an engine may be from everyone's share, or its family's, before it costs as much as a row off by a tenth.
APART = {
    "body": 0.01, "floors": 0.03, "link": 0.05, "experts": 0.01, "steps": 5e-4, "sequence_steps": 6e-6,
    "expert_layers": 1e-6, "fp4_floors": 1.0, "beside": 0.03,
}  # fmt: skip
# Everyone's shares may be this many times as far from the start: kernels as they were timed alone, a host of 1 ms.
PULL = 3
LEAST_ROWS = 12
# Errors of up to a tenth count as their square, larger ones less.
_NEAR = 0.1
# Terms of some engines alone, the last ones; where no row has anything of one it is 0.
OWN = TERMS[TERMS.index("unshared") :]
_OWN = len(TERMS) - len(OWN)
_UNITS, _LAUNCHES = TERMS.index("unit_bytes"), TERMS.index("launches")
# What a compute unit's limit is held against, what launches are held against beside it, and what comes on top.
_KERNELS = [TERMS.index(name) for name in ("body", "experts")]
_DEVICE = [TERMS.index(name) for name in ("floors", "fp4_floors", "link", "expert_layers", "unshared", "repeated")]
_HOST = [TERMS.index(name) for name in ("steps", "sequence_steps")]
_BESIDE = TERMS.index("beside")
_LOW, _HIGH, _START = (np.array([FREE[name][side] for name in TERMS]) for side in range(3))
_LEAST, _MOST, _FROM = (np.array([TIED[name][side] for name in TERMS[:_OWN]]) for side in range(3))

# Shares by engine, and by engine on a family (on_family), in the order of TERMS; "" is everyone's.
Shares = dict[str, np.ndarray]


def fit_alone(found: Sequence[Row]) -> Shares:
    """One set of shares for all rows. A lone card may hide what its compute units draw: no more than most others'.

    What no row has anything of stays where it starts, or is 0 where only some engines have it.
    """
    terms, seconds, weight = _arrays(found)
    seen = np.asarray(terms.any(axis=(0, 1)))
    high, low, shares = _HIGH[seen], _lows(found)[seen], _START.copy()
    shares[_OWN:] *= seen[_OWN:]

    def residuals(part: np.ndarray) -> np.ndarray:
        shares[seen] = part * high
        return np.asarray(weight * np.log(seconds_of(terms, shares).sum(axis=1) / seconds))

    best = least_squares(
        residuals, _START[seen] / high, bounds=(low / high * (1 - 1e-9), 1), loss="soft_l1", f_scale=_NEAR,
    )  # fmt: skip
    shares[seen] = best.x * high
    return {"": shares}


def _lows(found: Sequence[Row]) -> np.ndarray:
    low = _LOW.copy()
    if len({row.accelerator for row in found}) == 1:
        low[_UNITS] = _START[_UNITS]
    return low


def unseen(found: Sequence[Row]) -> list[str]:
    """Names of TERMS that no row has anything of, so that a fit leaves them where they start, or near everyone's."""
    terms = _arrays(found)[0].sum(axis=1)
    terms[:, _BESIDE] = [row.served for row in found]
    return [name for name, column in zip(TERMS, terms.T, strict=True) if not column.any()]


def ranges(found: Sequence[Row], *, tied: bool) -> dict[str, tuple[float, float]]:
    """Where a fit of these rows looked for what it could turn, by name of TERMS."""
    low, fixed = _lows(found), {*(OWN if tied else ("beside", "fp4_floors")), *unseen(found)}
    looked = {name: TIED[name][:2] if tied else (float(low[at]), float(_HIGH[at])) for at, name in enumerate(TERMS)}
    return {name: ends for name, ends in looked.items() if name not in fixed}


def fit_tied(found: Sequence[Row]) -> Shares:
    """Shares of each engine on a family, held near the family's by APART, those near everyone's, less so.

    A family's take up what its kernel fits miss. On a family that an engine was not seen on, everyone's count: an
    engine's own over all families are no better there (routed experts on Blackwell by fits of Hopper 23 % off in the
    mean, by everyone's, which lie between the families, 19). Kernels are those that were timed: none of OWN.
    """
    paths = [("", f"all on {row.family}", on_family(row.engine, row.family)) for row in found]
    return _fit_tree(found, paths, (PULL, PULL, 1))


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
    quiet, beside, scale = terms[:, 0, :_OWN], terms[:, 1, :_OWN], _MOST
    nodes = list(dict.fromkeys(node for depth in zip(*paths, strict=True) for node in sorted(set(depth))))
    parents = {node: path[depth - 1] for path in paths for depth, node in enumerate(path) if depth}
    depths = {node: depth for path in paths for depth, node in enumerate(path)}
    at = {node: place for place, node in enumerate(nodes)}
    above, whose = [at[parents[node]] for node in nodes[1:]], np.array([at[path[-1]] for path in paths])
    apart = np.array([APART[name] for name in TERMS[:_OWN]])
    near = _NEAR * scale / (np.array([widths[depths[node]] for node in nodes])[:, None] * apart)
    pulls = _pulls(near, above)

    def wall(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mine = (flat.reshape(near.shape) * scale)[whose]
        added = (beside * mine).sum(axis=1)
        return mine, added, (quiet * mine).sum(axis=1) + mine[:, _BESIDE] * added

    def residuals(flat: np.ndarray) -> np.ndarray:
        scaled = flat.reshape(near.shape)
        off = weight * np.log(wall(flat)[2] / seconds)
        held = near * (scaled - np.vstack([_FROM[None] / scale, scaled[above]]))
        return np.concatenate([damped(off), held.ravel()])

    def slopes(flat: np.ndarray) -> np.ndarray:
        mine, added, whole = wall(flat)
        each = quiet + mine[:, [_BESIDE]] * beside
        each[:, _BESIDE] = added
        each *= (weight * damping(weight * np.log(whole / seconds)) / whole)[:, None] * scale
        data = np.zeros((len(terms), *near.shape))
        data[np.arange(len(terms)), whose] = each
        return np.vstack([data.reshape(len(terms), -1), pulls])

    first, least = np.tile(_FROM / scale, len(nodes)), np.tile(_LEAST / scale, len(nodes))
    best = least_squares(residuals, first, jac=slopes, bounds=(least, 1), max_nfev=100)
    shares = np.column_stack([best.x.reshape(near.shape) * scale, np.zeros((len(nodes), len(OWN)))])
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
    kernels = joined_s(kernels, terms[..., _UNITS] * shares[_UNITS], sharpness=UNIT_SHARPNESS)
    device = kernels + terms[..., _DEVICE] @ shares[_DEVICE]
    device = joined_s(device, terms[..., _LAUNCHES] * shares[_LAUNCHES], sharpness=UNIT_SHARPNESS)
    return np.asarray(device + terms[..., _HOST] @ shares[_HOST])


def wall_s(row: Row, shares: np.ndarray) -> float:
    """The seconds of all of a row: both pieces, of a served run the second as its engine's share says."""
    pieces = seconds_of(row.terms, shares)
    return float(pieces[0] + pieces[1] * (shares[_BESIDE] if row.served else 1.0))


def predicted(found: Sequence[Row], shares: Shares) -> np.ndarray:
    """Predicted over measured, each row by its engine's shares, else by everyone's."""
    return np.array([wall_s(row, shares_of(shares, row.engine, row.family)) / row.seconds for row in found])


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
