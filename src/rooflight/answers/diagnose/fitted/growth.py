"""Decode steps over the batch, or over the cached tokens: what is fixed, what grows, and at which rate it grows."""

from __future__ import annotations

from msgspec.structs import replace

from rooflight.answers.diagnose.fitted.fit import BINDS, CLEARLY, HOLDS, Fit, Split, Taken, settled, taken
from rooflight.answers.diagnose.fitted.line import Line, fitted
from rooflight.answers.diagnose.fitted.series import Series
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import lengths_open, placed, prompt_beside
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.errors import RooflightError
from rooflight.values.diagnosis import Bound, Confidence
from rooflight.values.formats import format_named
from rooflight.values.recorded import Stated
from rooflight.work.count import kv_bytes_per_token

# What grows is reading the cache, or arithmetic, where that alone would be this share of it at datasheet rates.
_EXPLAINS = 0.2
# A cache that is read at less than this share of the memory's rate lies elsewhere, or its kernel does not fit.
_SLOW = 0.25
# Growth of less than that, of the whole, is none; where the line's interval has 0 in it, of less than the second.
_FLAT, _UNSURE = 0.03, 0.1
_BITS_A_BYTE = 8
# Points must be so far apart, as a share of the last, to tell what is fixed: between near ones noise is a slope.
_APART = 0.3
# Points that may bend: fewer make no shape.
_BENT = 3


def growth(one: Series, setting: Setting) -> Fit | None:
    """What a series of decode steps along "batch" or "context" says; None where no step is timed."""
    quantity = one.quantity(("token_s",))
    if quantity is None or not one.xs:
        return None
    points = taken(one, quantity, setting)
    line = _line(points)
    if line is not None and line.off is not None:
        points = points.without(line.off)
    if line is None or sum(left.why == "beyond" for left in points.left_out) >= len(points.ys):
        if any(left.why == "beyond" for left in points.left_out):
            return Fit(
                axis=one.axis, said="beyond", quantity=quantity, cannot_tell=True, labels=points.labels,
                values=points.ys, left_out=points.left_out,
            )  # fmt: skip
        return None
    if points.xs[-1] - points.xs[0] < _APART * points.xs[-1]:
        return Fit(
            axis=one.axis, said="near", quantity=quantity, cannot_tell=True, labels=points.labels, values=points.ys,
            left_out=points.left_out,
        )  # fmt: skip
    last, x = points.ys[-1], points.xs[-1]
    growing = max(line.slope, 0.0) * x
    flat = growing < (_UNSURE if line.flat else _FLAT) * last
    known = Fit(
        axis=one.axis, said="", quantity=quantity, labels=points.labels, values=points.ys, line=line,
        left_out=points.left_out, share=0.0 if flat else min(growing / last, 1.0), gain=points.ys[0] / last,
        next_gain=_next(one, line, last, x, flat=flat), limit_gain=_limit(one, line, last, x, flat=flat),
    )  # fmt: skip
    if points.roofs:
        cached = _unstated(known, points, setting)
        return _under(known, points, line, flat=flat, cached_bytes=cached, prompt=_prompt(known, points, setting))
    return _alone(known, points, line, setting, flat=flat)


def _line(points: Taken) -> Line | None:
    return fitted(points.xs, points.ys)


def _next(one: Series, line: Line, last: float, x: float, *, flat: bool) -> float | None:
    """What twice the batch yields together, by the line."""
    growing = 0.0 if flat else max(line.slope, 0.0) * x
    return 2 * last / (last + growing) if one.axis == "batch" else None


def _limit(one: Series, line: Line, last: float, x: float, *, flat: bool) -> float | None:
    """What any batch yields together, by the line."""
    return last / (line.slope * x) if one.axis == "batch" and not flat and line.slope > 0 else None


def _prompt(known: Fit, points: Taken, setting: Setting) -> tuple[float, Bound] | None:
    """What a served sequence more adds to a token by its prompt; None of runs that time decode alone."""
    if known.axis != "batch" or not all(_served(run) for run in points.runs):
        return None
    sc = placed(setting, points.runs[-1])
    return None if sc is None else prompt_beside(sc)


def _served(run: Seen) -> bool:
    """Whether requests come one after the other, so that prompts of some lie between tokens of others."""
    stated = run.record.stated
    comes = stated.concurrency is not None or stated.request_rate is not None
    timed = run.basis in ("tpot", "itl", "user")
    return bool(comes and timed and stated.batch is None and stated.phase is None and run.isl and run.osl)


def _under(
    known: Fit, points: Taken, line: Line, *, flat: bool, cached_bytes: float | None, prompt: tuple[float, Bound] | None
) -> Fit:
    """With a model and a machine: the fixed part against the weights, the growing part against the cache.

    cached_bytes    of a token, where nobody states how many are cached: what grows is then taken as their reading
    prompt          what a sequence's prompt adds to the others' tokens, and what binds it
    """
    roofs, xs = points.roofs, points.xs
    first, last = roofs[0], roofs[-1]
    rest = _rest(points, line)
    slope = 0.0 if flat else max(rest.slope, 0.0)
    across = xs[-1] - xs[0] or 1.0
    batch = known.axis == "batch"
    bytes_each = last.cache_bytes / xs[-1] if batch else (last.cache_bytes - first.cache_bytes) / across
    before = roofs[-2] if len(roofs) > 1 else first
    compute_each = (last.compute_s - before.compute_s) / (xs[-1] - points.xs[-2] or 1.0)
    cache_each = bytes_each / last.bytes_per_s
    # prompts are estimated, the cache's bytes are counted: reading these at the datasheet's rate goes first
    most_each = max(slope - cache_each, 0.0)
    prompt_each = 0.0 if prompt is None else min(prompt[0], most_each)
    slope -= prompt_each
    # where prompts take all that the datasheet's rate leaves, no rate is measured
    open_ = prompt is not None and prompt[0] >= most_each
    rate = bytes_each / slope if slope and bytes_each and not open_ else None
    growing = min(slope * xs[-1], points.ys[-1])
    prompts = min(prompt_each * xs[-1], points.ys[-1] - growing)
    # what is beside a growing part that hides the weights' reading is no more than the rest
    weights = min(last.weights_s, points.ys[-1] - growing - prompts)
    fixed = points.ys[-1] - growing - prompts - last.weights_s
    left = max(fixed, 0.0)
    link = min(left, last.link_s)
    parts = {"memory": weights, "compute": 0.0, "link": link, "launch": left - link}
    slow = not batch and rate is not None and rate < _SLOW * last.bytes_per_s
    most = max(cache_each, compute_each)
    kind: Bound = "launch" if most < _EXPLAINS * slope and not slow else "memory"
    kind = "compute" if kind == "memory" and compute_each > cache_each and not slow else kind
    tokens = None
    if cached_bytes is not None and slope:
        kind, rate, bytes_each = "memory", None, 0.0
        tokens = slope * last.bytes_per_s / cached_bytes
    parts[kind] += growing
    if prompt is not None:
        parts[prompt[1]] += prompts
    split = Split(**parts)
    little = tokens is None and growing > BINDS * points.ys[-1] and most < BINDS * slope
    unsure = (line.flat and not flat) or little or prompts > BINDS * (growing + prompts)
    bound, sure = settled(split, line, points.ys, most="medium" if unsure else "high")
    slow = slow and growing >= _SLOW * points.ys[-1]
    said = "slow-cache" if slow else "flat" if flat and not batch else "split"
    return replace(
        known, bound=bound, confidence="low" if slow else sure, said=said, split=split, weights_s=last.weights_s,
        left_s=fixed, host_s=last.host_s, bytes_each=bytes_each or None, bytes_per_s=rate,
        roof_bytes_per_s=last.bytes_per_s, grows_s=growing, slope_s=slope, prompts_s=prompts or None,
        cached_tokens=tokens,
    )  # fmt: skip


def _unstated(known: Fit, points: Taken, setting: Setting) -> float | None:
    """Bytes of a cached token where nobody states how many a sequence has; None where somebody does."""
    if known.axis != "batch" or not all(lengths_open(run, setting) for run in points.runs):
        return None
    return _cache_bytes(setting, points.runs[-1].record.stated)


def _rest(points: Taken, line: Line) -> Line:
    """The line without the weights, which wake with the batch where there are experts; of points that bend, that of
    their last three: what grows there, grows on."""
    ys = [y - roof.weights_s for y, roof in zip(points.ys, points.roofs, strict=True)]
    bent = line.spread is not None and line.points > _BENT and line.spread > HOLDS * sum(points.ys) / len(points.ys)
    if bent:
        return fitted(points.xs[-3:], points.ys[-3:]) or line
    return fitted(points.xs, ys) or line


def _alone(known: Fit, points: Taken, line: Line, setting: Setting, *, flat: bool) -> Fit:
    """Without a machine: how much grows. What the fixed part is made of cannot be told."""
    if known.axis == "batch":
        return replace(known, said="parts", cannot_tell=True)
    each = _cache_bytes(setting, points.runs[-1].record.stated)
    sequences = points.runs[-1].in_flight or 1
    rate = each * sequences / line.slope if each and line.slope > 0 and not flat else None
    if rate is None or (known.share or 0.0) < 1 - CLEARLY:
        return replace(known, said="flat" if flat else "parts", cannot_tell=True)
    bound: Bound | None = "memory"
    sure: Confidence = "medium" if (known.share or 0.0) >= CLEARLY else "low"
    return replace(
        known, said="cache", bound=bound, confidence=sure, bytes_each=(each or 0) * sequences, bytes_per_s=rate
    )


def _cache_bytes(setting: Setting, stated: Stated) -> float | None:
    """Bytes that a cached token has in all layers that keep it."""
    if setting.model is None:
        return None
    try:
        form = format_named(stated.kv_cache or "bf16", "kv_cache")
    except RooflightError:
        return None
    scales = form.scale_bits / form.block_inputs if form.block_inputs else 0.0
    return float(kv_bytes_per_token(setting.model, (form.bits + scales) / _BITS_A_BYTE)) or None
