"""Shares of an engine on many families at once, each node of a tree held near the one above it.

All of an engine -> a line of families -> a family -> a family under a backend; and a line under a backend. What is
fitted are logarithms, so no share leaves what is physical, and one that no row shows stays where the node above has it.
A family of few rows takes most from its line, one of many little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from engine_rows import TERMS, Row
from engine_shares import row_weights

from rooflight.catalog.calibration import line_of

# A family or line and a backend; ("", "") is all of an engine.
Node = tuple[str, str]
ROOT: Node = ("", "")
# Fewer rows make no entry: what is odd about them is taken up, and said of nothing else.
LEAST_ROWS = 6


class Share(NamedTuple):
    """Where a share sets out, and how far (in its logarithm) the root may be from there, and a node from its parent,
    before it costs as much as a row off by a tenth."""

    start: float
    root: float
    node: float


# The shares of TERMS that are fitted, and of the kernels of prompts alone, times one more with routed experts. Links
# and units are those that were timed.
SHARES = {
    "body": Share(1.0, 0.4, 0.25), "floors": Share(0.5, 0.4, 0.4), "experts": Share(1.2, 0.4, 0.3),
    "steps": Share(1e-3, 1.0, 0.7), "sequence_steps": Share(1e-5, 0.7, 0.4), "expert_layers": Share(1e-5, 0.7, 0.4),
    "prefill": Share(2.0, 0.7, 0.3), "routed_prefill": Share(1.2, 0.5, 0.2),
}  # fmt: skip
# Where each may end, as values.calibration.Engine has it.
LIMITS = {
    "body": (0.5, 3.0), "floors": (0.0, 2.0), "experts": (0.5, 4.0), "steps": (0.0, 0.05),
    "sequence_steps": (0.0, 3e-4), "expert_layers": (0.0, 2e-4), "prefill": (0.3, 20.0),
    "routed_prefill": (0.2, 10.0),
}  # fmt: skip
_COLUMNS = [TERMS.index(name) for name in SHARES if name in TERMS]
_LINK = TERMS.index("link")
_SECONDS = [TERMS.index(name) for name in ("body", "floors", "link", "experts")]
_START = np.log([one.start for one in SHARES.values()])
_LIMITS = np.log([(max(low, 1e-9), high) for low, high in LIMITS.values()]).T
# Errors of up to so much count as their square, larger ones less.
_NEAR = 0.12
_LONGEST_STEP = 0.7
_MOST_STEPS = 60

# Logarithms of SHARES by node.
Tree = dict[Node, np.ndarray]


def paths_of(row: Row) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The nodes from the root to the row's own, by family, and by line alone under its backend."""
    line = line_of(row.family)
    above: tuple[Node, ...] = (ROOT, (line, "")) if line else (ROOT,)
    own: tuple[Node, ...] = (*above, (row.family, ""))
    if not row.backend:
        return own, above
    return (*own, (row.family, row.backend)), (*above, (line, row.backend))


def nearest_node(tree: Tree, row: Row) -> Node:
    """The node whose shares a row takes, as catalog.calibration.nearest finds its entry."""
    line = line_of(row.family)
    order = ((row.family, row.backend), (line, row.backend), (row.family, ""), (line, ""), ROOT)
    return next(node for node in order if node in tree)


def fit_tree(found: Sequence[Row], start: Tree | None = None) -> Tree:
    """Shares of all nodes of the rows; start: a solution nearby, from which to set out."""
    paths = [paths_of(row) for row in found]
    by_family = _fitted(found, [path[0] for path in paths], start)
    by_line = _fitted(found, [path[1] for path in paths], start)
    counts = Counter(node for both in paths for node in {*both[0], *both[1]})
    return {
        node: shares for node, shares in (by_line | by_family).items() if counts[node] >= LEAST_ROWS or node == ROOT
    }


def tree_seconds(row: Row, shares: np.ndarray) -> float:
    """What shares (logarithms) make of a row's terms."""
    terms, links = _split(row)
    return float(terms @ _factors(shares) + links)


def tree_ratio(found: Sequence[Row], tree: Tree) -> np.ndarray:
    """Predicted over measured, each row by its nearest node."""
    return np.array([tree_seconds(row, tree[nearest_node(tree, row)]) / row.seconds for row in found])


def _split(row: Row) -> tuple[np.ndarray, float]:
    """What SHARES are of, and seconds of links, which have none: a prompt alone is kernels as they were timed."""
    prompts = row.terms.sum(axis=0) if row.what.startswith("prefill") else row.terms[0] * row.whole
    rest = row.terms.sum(axis=0) - prompts
    alone = np.zeros(2)
    alone[int(row.routed)] = prompts[_SECONDS].sum()
    return np.concatenate([rest[_COLUMNS], alone]), float(rest[_LINK])


def _factors(shares: np.ndarray) -> np.ndarray:
    """What the terms are multiplied by: of prompts with routed experts both shares."""
    factors = np.exp(shares)
    factors[..., -1] *= factors[..., -2]
    return np.asarray(factors)


def _fitted(found: Sequence[Row], paths: Sequence[tuple[Node, ...]], start: Tree | None) -> Tree:
    """Damped Gauss-Newton steps; each residual weighs by the square root of what a smooth L1 makes of it."""
    nodes = list(dict.fromkeys(node for path in paths for node in path))
    at = {node: place for place, node in enumerate(nodes)}
    above = {at[node]: at[path[depth - 1]] for path in paths for depth, node in enumerate(path) if depth}
    whose = np.array([at[path[-1]] for path in paths])
    members = [np.flatnonzero(whose == place) for place in range(len(nodes))]
    terms, links = (np.array(part) for part in zip(*map(_split, found), strict=True))
    seconds, weight = np.log([row.seconds for row in found]), row_weights(found)
    pull, push = _pulls(len(nodes), above)
    shares = np.array([(start or {}).get(node, _START) for node in nodes])

    def judged(shares: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        slopes = terms * _factors(shares[whose])
        whole = slopes.sum(axis=1) + links
        slopes[:, -2] += slopes[:, -1]
        off = np.log(whole) - seconds
        flat = shares.ravel()
        held = flat @ pull @ flat - 2 * push @ flat
        return float((2 * weight * (np.hypot(1, off / _NEAR) - 1)).sum() + held), off, slopes / whole[:, None]

    cost, off, slopes = judged(shares)
    damping, size = 1e-3, len(SHARES)
    for _ in range(_MOST_STEPS):
        counts = weight / _NEAR**2 / np.hypot(1, off / _NEAR)
        matrix, gradient = pull.copy(), push - pull @ shares.ravel()
        for place, mine in enumerate(members):
            block = slice(place * size, (place + 1) * size)
            heavy = slopes[mine] * counts[mine, None]
            matrix[block, block] += heavy.T @ slopes[mine]
            gradient[block] -= heavy.T @ off[mine]
        while True:
            step = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), gradient)
            tried = shares + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP).reshape(shares.shape)
            better, *rest = judged(tried)
            if better < cost or damping > 1e6:
                break
            damping *= 4
        gained, cost, shares, (off, slopes) = cost - better, better, tried, rest
        damping = max(damping / 3, 1e-6)
        if gained < 1e-5 * abs(cost):
            break
    return {node: np.clip(shares[place], *_LIMITS) for node, place in at.items()}


def _pulls(nodes: int, above: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """What holds nodes near their parents, and the root near the start: shares A shares - 2 b shares."""
    size = len(SHARES)
    root, node = (np.array([1 / one[depth] ** 2 for one in SHARES.values()]) for depth in (1, 2))
    matrix, push = np.zeros((nodes * size, nodes * size)), np.zeros(nodes * size)
    for place in range(nodes):
        mine = np.arange(place * size, (place + 1) * size)
        if place not in above:
            matrix[mine, mine] += root
            push[mine] += root * _START
            continue
        other = np.arange(above[place] * size, (above[place] + 1) * size)
        matrix[mine, mine] += node
        matrix[other, other] += node
        matrix[mine, other] -= node
        matrix[other, mine] -= node
    return matrix, push
