"""A mix of requests as a workload: its mean lengths, as they are or cut otherwise into input and output."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from rooflight.serve import formulas
from rooflight.values.mix import Mix, Requests
from rooflight.values.workload import MeanWorkload, Workload

Array = np.ndarray[Any, Any]


def single(*, isl: int, osl: int, cached: int = 0) -> Requests:
    """One kind of request."""
    return Requests(isl=np.array([float(isl)]), osl=np.array([float(osl)]), cached=np.array([float(cached)]))


def summary(requests: Requests, *, source: str | None = None, bad_rows: int = 0, lost_lines: int = 0) -> Mix:
    """The mix in numbers. Requests are met in a decode batch as often as they have decode steps."""
    isl, osl, cached = requests.isl, requests.osl, requests.cached
    steps = formulas.decode_steps(osl)
    met = steps / steps.sum() if steps.any() else np.full(len(steps), 1 / len(steps))
    mean_isl, mean_osl = float(isl.mean()), float(osl.mean())
    return Mix(
        source=source,
        requests=len(isl),
        bad_rows=bad_rows,
        lost_lines=lost_lines,
        isl=mean_isl,
        osl=mean_osl,
        cached_prefix=float(cached.mean()),
        decode_steps=float(steps.mean()),
        context=float((met * formulas.mean_context_tokens(isl, steps)).sum()),
        batch_isl=_up((met * isl).sum()),
        batch_osl=_up((met * osl).sum()),
        longest=int((isl + osl).max()),
        ratio=mean_isl / mean_osl if mean_osl else None,
    )


def _up(value: float) -> int:
    """The whole number at or above, a float's last bits aside."""
    return int(np.ceil(round(float(value), 6)))


def mean_load(load: Workload, mix: Mix) -> Workload:
    """The workload at the mix's mean lengths, decode steps at the context they have in the mean over all requests.

    Lengths that were given in place of a log are the workload's own.
    """
    media = load.media_tokens or 0  # a mix is of text
    if mix.source is None:
        return msgspec.structs.replace(load, isl=int(mix.isl) + media, osl=int(mix.osl))
    return _with(
        load, isl=mix.isl + media, osl=mix.osl, cached_prefix=mix.cached_prefix, met_context=mix.context + media
    )  # fmt: skip


def at_ratios(load: Workload, mix: Mix, ratios: Array) -> Workload:
    """Requests of the mix's mean total tokens, cut into input and output at each ratio; the cached share kept."""
    isl = formulas.input_tokens(mix.isl + mix.osl, ratios)
    media = load.media_tokens or 0
    return _with(load, isl=isl + media, osl=mix.isl + mix.osl - isl, cached_prefix=isl * mix.cached_prefix / mix.isl)


def _with(load: Workload, **lengths: Any) -> MeanWorkload:
    kept = {name: getattr(load, name) for name in Workload.__struct_fields__}
    return MeanWorkload(**{**kept, **lengths})
