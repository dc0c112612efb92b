"""Least squares on the logarithm of time, within the ranges that the fit's own struct states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import msgspec
import numpy as np
from provenance import at_edge
from rows import Rows
from scipy.optimize import least_squares

from rooflight.roofline import expected
from rooflight.values.calibration import DecodeFit, GemmFit, PrefillFit

SEED = 20261127
ROWS_A_FIT = 9_000
# What these are where no activation is quantised.
_UNQUANTISED = {"quantise_floor_s": 0.0, "quantise_efficiency": 1.0}
_SMALLEST = 1e-3  # of the start value: stands for a range that begins at 0, fits run in logarithms


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How one kind of kernel is fitted: its formula, struct, start values, and which engine factors pay."""

    formula: Any
    struct: Any
    start: dict[str, float]
    factors: dict[str, tuple[str, ...]]  # engine factor: fields it multiplies
    cache_steepness: float | None


KINDS = {
    "gemm": Kind(
        formula=expected.gemm_s, struct=GemmFit, cache_steepness=2.0,
        start={
            "floor_s": 2.5e-6, "quantise_floor_s": 2e-6, "quantise_efficiency": 0.5, "memory_efficiency": 0.85,
            "ramp_s": 2e-6, "ramp_inputs": 2000, "cache_speedup": 2, "compute_efficiency": 0.75, "throttle": 0.2,
            "short_inputs": 100, "wave_share": 0.1, "sharpness": 2,
        },
        factors={"floor": ("floor_s",), "quantise": ("quantise_floor_s", "/quantise_efficiency"),
                 "efficiency": ("compute_efficiency",)},
    ),
    "decode": Kind(
        formula=expected.decode_attention_s, struct=DecodeFit, cache_steepness=8.0,
        start={
            "floor_s": 8e-6, "floor_dims": 0.1, "ramp_s": 4e-6, "ramp_tokens": 1000, "memory_efficiency": 0.85,
            "cache_speedup": 4, "item_s": 3e-6, "group_share": 0.02, "compute_efficiency": 0.3, "sharpness": 2,
        },
        factors={"floor": ("floor_s",), "dims": ("floor_dims",), "efficiency": ("memory_efficiency",),
                 "item": ("item_s",)},
    ),
    "prefill": Kind(
        formula=expected.prefill_attention_s, struct=PrefillFit, cache_steepness=4.0,
        start={
            "floor_s": 1e-5, "memory_efficiency": 0.7, "cache_speedup": 2, "store_efficiency": 0.5,
            "compute_efficiency": 0.7, "softmax_dims": 30, "masked_keys": 60, "item_s": 2e-6, "unpacked": 0.3,
            "wave_share": 0.3, "throttle": 0.1, "sharpness": 2,
        },
        factors={"floor": ("floor_s",), "store": ("/store_efficiency",), "efficiency": ("compute_efficiency",),
                 "item": ("item_s",)},
    ),
}  # fmt: skip


def range_of(kind: Kind, field: str) -> tuple[float, float]:
    """Where a fit looks for a field: the plausible range its struct states, above zero."""
    hint = get_type_hints(kind.struct, include_extras=True)[field]
    meta = get_args(hint)[1]
    low = meta.ge if meta.ge is not None else meta.gt
    high = meta.le if meta.le is not None else meta.lt
    return max(float(low), _SMALLEST * kind.start[field]), float(high)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Coefficients, engine factors and the cache reach seen in the benchmark (not part of the calibration)."""

    kind: str
    values: dict[str, float]
    engines: dict[str, dict[str, float]]
    reach: dict[str, float]
    not_fitted: tuple[str, ...] = ()

    def seconds(self, rows: Rows, *, engines: bool = True) -> np.ndarray:
        """Expected seconds of rows; engines=False leaves the engines' own factors out."""
        kind = KINDS[self.kind]
        values: dict[str, Any] = dict(self.values)
        backend = rows.labels["backend"].to_numpy()
        if engines and self.engines:
            for factor, fields in kind.factors.items():
                known = {name: found[factor] for name, found in self.engines.items()}
                column = np.array([known.get(name, 1.0) for name in backend])
                for field in fields:
                    name = field.removeprefix("/")
                    values[name] = values[name] / column if field.startswith("/") else values[name] * column
        given = dict(rows.given)
        if kind.cache_steepness is not None:
            reach = np.array([self.reach["trtllm" if name == "trtllm" else "other"] for name in backend])
            given["cached"] = expected.cached_share(
                moved_bytes=given["moved_bytes"], cache_bytes=rows.cache_bytes, reach=reach,
                steepness=kind.cache_steepness,
            )  # fmt: skip
        return np.asarray(kind.formula(**given, fit=kind.struct(**values, low=0.9, high=1.1)))

    def error(self, rows: Rows, *, engines: bool = True) -> np.ndarray:
        """Signed relative error of each row."""
        return np.asarray(self.seconds(rows, engines=engines) / rows.seconds - 1)

    def struct(self, **extra: Any) -> Any:
        """The coefficients as the calibration's struct, rounded to what the data can tell."""
        kind = KINDS[self.kind]
        rounded = {name: float(f"{value:.4g}") for name, value in self.values.items()}
        logs = {name: tuple(np.log(range_of(kind, name))) for name in kind.start if name not in self.not_fitted}
        edges = at_edge({name: np.log(self.values[name]) for name in logs}, logs)
        fit = kind.struct(**rounded, at_edge=edges, not_fitted=self.not_fitted, **extra)
        return msgspec.convert(msgspec.to_builtins(fit), kind.struct)  # which refuses what is out of its range


def sample(rows: Rows, count: int, seed: int = SEED) -> Rows:
    """At most `count` rows, the same number of each engine where there are enough."""
    if len(rows.seconds) <= count:
        return rows
    rng = np.random.default_rng(seed)
    backends = rows.labels["backend"].to_numpy()
    names = np.unique(backends)
    chosen = [rng.permutation(np.flatnonzero(backends == name))[: count // len(names)] for name in names]
    return rows.take(np.sort(np.concatenate(chosen)))


def fit(rows: Rows, *, count: int = ROWS_A_FIT) -> Fitted:
    """The coefficients that suit rows best: soft-L1 on log(expected / measured)."""
    rows = sample(rows, count)
    layout = _layout(rows)
    low, high, start = (np.array([entry[i] for entry in layout.values()]) for i in (0, 1, 2))

    def residual(point: np.ndarray) -> np.ndarray:
        fitted = _fitted(rows, dict(zip(layout, np.exp(point), strict=True)))
        return np.asarray(np.log(fitted.seconds(rows) / rows.seconds))

    found = least_squares(
        residual, np.log(start), bounds=(np.log(low), np.log(high)), loss="soft_l1", f_scale=0.1, max_nfev=30
    )
    return _fitted(rows, dict(zip(layout, np.exp(found.x), strict=True)))


def _layout(rows: Rows) -> dict[str, tuple[float, float, float]]:
    """Free numbers of a fit: name -> (low, high, start)."""
    kind = KINDS[rows.kind]
    quantises = "quantised_bytes" in rows.given and rows.given["quantised_bytes"].any()
    layout = {}
    for name, start in kind.start.items():
        if name.startswith("quantise") and not quantises:
            continue
        low, high = range_of(kind, name)
        layout[name] = (low, high, float(np.clip(start, low * 1.001, high * 0.999)))
    engines = _engines(rows)
    for engine in engines[1:]:
        for factor in kind.factors:
            if factor != "quantise" or quantises:
                layout[f"{engine}.{factor}"] = (0.3, 3.3, 1.0)
    if kind.cache_steepness is not None:
        layout["reach.trtllm"] = (0.02, 1.5, 0.2)
        layout["reach.other"] = (0.02, 1.5, 0.2)
    return layout


def _engines(rows: Rows) -> list[str]:
    return sorted(rows.labels["backend"].unique())


def _fitted(rows: Rows, point: dict[str, float]) -> Fitted:
    kind = KINDS[rows.kind]
    values = {name: point[name] for name in kind.start if name in point}
    missing = {name: start for name, start in _UNQUANTISED.items() if name in kind.start and name not in values}
    names = _engines(rows)
    engines: dict[str, dict[str, float]] = {name: {} for name in names} if len(names) > 1 else {}
    for factor in kind.factors if engines else ():
        free = {name: point.get(f"{name}.{factor}", 1.0) for name in names[1:]}
        first = 1 / np.prod(list(free.values()))
        for name in names:
            engines[name][factor] = float(np.clip(free.get(name, first), 0.2, 5))
    reach = {name: point.get(f"reach.{name}", 1.0) for name in ("trtllm", "other")}
    return Fitted(kind=rows.kind, values=values | missing, engines=engines, reach=reach, not_fitted=tuple(missing))
