"""Formats, accelerators, engines: runs that differ in what moves, or in where, or in who moves it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rooflight.answers.diagnose.fitted.fit import BINDS, CLEARLY, Fit, Split, Taken, settled, taken
from rooflight.answers.diagnose.fitted.line import Line, fitted
from rooflight.answers.diagnose.fitted.series import PROMPTS, QUANTITIES, Quantity, Series
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import placed
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.catalog import spelled
from rooflight.errors import RooflightError
from rooflight.values.accelerator import Accelerator
from rooflight.values.diagnosis import Bound, Confidence
from rooflight.values.formats import format_named

# What moves must differ by so much to tell anything; a time that differs by less does not change.
_DIFFERS, _SAME = 1.1, 1.03
# Peaks that differ by so much would show, were arithmetic what binds.
_PEAKS = 1.3
_STEPS: tuple[Quantity, ...] = ("token_s", "each_s", "request_s")


def moved(one: Series, setting: Setting) -> Fit | None:
    """What runs say whose steps move different bytes, or at different rates: t = fixed + k x what memory takes.

    Along "weights", "kv_cache", "device", or (with a model and a machine) several things at once.
    """
    quantity = one.quantity(_STEPS)
    if quantity is None:
        return _prefilled(one, setting) if one.axis == "device" else None
    points = taken(one, quantity, setting, steps=quantity != "request_s")
    if len(points.ys) < 2 or (points.left_out and one.axis != "mixed" and len(points.ys) < 2):
        beyond = any(left.why == "beyond" for left in points.left_out)
        return _fit(one, quantity, points, said="beyond" if beyond else "mixed", cannot_tell=True)
    xs = _moved(one, points, setting)
    if xs is None:
        return _fit(one, quantity, points, said="mixed", cannot_tell=True) if one.axis == "mixed" else None
    scale = [run.in_flight or 1 if quantity == "each_s" and points.roofs else 1 for run in points.runs]
    ys = tuple(y * times for y, times in zip(points.ys, scale, strict=True))
    if one.axis == "kv_cache" and not points.roofs and len(set(xs)) < 2:
        return None
    order = sorted(range(len(xs)), key=lambda place: (-xs[place], points.labels[place]))
    most, least = order[0], order[-1]
    ends = _Ends(order=tuple(order), xs=xs, ys=ys, gain=ys[most] / ys[least], ideal=xs[most] / xs[least])
    if one.axis == "device":
        return _cards(one, quantity, points, ends, setting)
    full = all(run.in_flight is None for run in points.runs)
    if one.axis == "kv_cache" and quantity == "each_s" and full and ends.gain >= _DIFFERS:
        known = _fit(one, quantity, points, said="holds-more", ends=ends)  # as many ran as memory held
        return replace(known, bound="capacity", confidence="medium")
    if ends.ideal < _DIFFERS:
        return _fit(one, quantity, points, said="alike", cannot_tell=True)
    return _shares(_fit(one, quantity, points, said="moved", ends=ends), points, ends)


class _Ends:
    """The runs from the one that moves most to the one that moves least: memory's times (or in its place bits, seconds
    a byte), and the runs' own."""

    def __init__(
        self, *, order: tuple[int, ...], xs: Sequence[float], ys: Sequence[float], gain: float, ideal: float
    ) -> None:
        self.order, self.gain, self.ideal = order, gain, ideal
        self.xs = tuple(xs[place] for place in order)
        self.ys = tuple(ys[place] for place in order)
        self.line: Line | None = fitted(self.xs, self.ys)


def _fit(
    one: Series, quantity: Quantity, points: Taken, *, said: str, ends: _Ends | None = None, cannot_tell: bool = False
) -> Fit:
    order = range(len(points.labels)) if ends is None else ends.order
    return Fit(
        axis=one.axis, said=said, quantity=quantity, cannot_tell=cannot_tell, left_out=points.left_out,
        labels=tuple(points.labels[place] for place in order), values=tuple(points.ys[place] for place in order),
        line=None if ends is None else ends.line, gain=None if ends is None else ends.gain,
        ideal_gain=None if ends is None else ends.ideal,
    )  # fmt: skip


def _moved(one: Series, points: Taken, setting: Setting) -> tuple[float, ...] | None:
    """Seconds that memory takes at its rate; without a model the bits of a format, or the seconds of a byte."""
    if one.axis == "mixed" and any(run.in_flight is None for run in points.runs):
        return None
    if points.roofs:
        return tuple(roof.weights_s + roof.cache_s for roof in points.roofs)
    if one.axis in ("weights", "kv_cache"):
        try:
            return tuple(_bits(label) for label in points.labels)
        except RooflightError:
            return None
    cards = [card_of(run, setting) for run in points.runs] if one.axis == "device" else []
    rates = [card.memory_bytes_per_s for card in cards if card is not None and card.memory_bytes_per_s]
    return tuple(1 / rate for rate in rates) if rates and len(rates) == len(points.runs) else None


def _bits(name: str) -> float:
    form = format_named(name)
    shared = form.block_inputs * max(form.block_outputs, 1)
    return form.bits + ((form.scale_bits + form.zero_bits) / shared if shared else 0.0)


def card_of(run: Seen, setting: Setting) -> Accelerator | None:
    """The run's own card in the catalog."""
    sc = placed(setting, run, own_device=True)
    if sc is not None:
        return sc.accelerator
    name = run.record.stated.device
    try:
        return None if name is None else spelled.accelerator(name)[0]
    except RooflightError:
        return None


def _shares(known: Fit, points: Taken, ends: _Ends) -> Fit:
    """How much of the time goes with what moves: all of it, a part, or none."""
    line, last = ends.line, ends.ys[-1]
    if line is None:
        return replace(known, cannot_tell=True)
    if ends.gain < _SAME:
        return _unmoved(replace(known, said="no-gain", share=0.0, confidence="medium"), points, ends)
    share = min(max(line.slope * ends.xs[-1] / last, 0.0), 1.0)
    split = None
    bound: Bound | None
    sure: Confidence
    if points.roofs:
        roof = points.roofs[ends.order[-1]]
        compute = roof.compute_s if roof.compute_s > (1 - share) * last * BINDS else 0.0
        rest = max((1 - share) * last - compute - roof.link_s, 0.0)
        split = Split(memory=share * last, compute=compute, link=roof.link_s, launch=rest)
        bound, sure = settled(split, line, ends.ys)
    else:
        sure = "medium" if share >= CLEARLY else "low"
        bound = "memory" if share >= BINDS else None
    limit = 1 / (1 - share) if share < 1 else None
    return replace(
        known, bound=bound, confidence=sure, share=share, split=split, left_s=max(line.fixed, 0.0), limit_gain=limit,
        cannot_tell=bound is None, **_rates(points, ends, line),
    )  # fmt: skip


def _rates(points: Taken, ends: _Ends, line: Line) -> dict[str, float | None]:
    if not points.roofs:
        return {}
    roof = points.roofs[ends.order[-1]]
    if any(run.in_flight is None for run in points.runs):  # a token of all is no step
        return {"roof_bytes_per_s": roof.bytes_per_s}
    rate = roof.bytes_per_s / line.slope if line.slope > 0 else None
    return {"bytes_per_s": rate, "roof_bytes_per_s": roof.bytes_per_s, "host_s": roof.host_s}


def _unmoved(known: Fit, points: Taken, ends: _Ends) -> Fit:
    """Where nothing is gained: what the run with the fewer bytes reads a second.

    A narrower cache has kernels more, which the host launches; narrower weights have slower ones in place of others.
    """
    bound: Bound | None = "launch" if known.axis == "kv_cache" else None
    if not points.roofs:
        return replace(known, bound=bound, confidence="low" if bound else known.confidence)
    roof = points.roofs[ends.order[-1]]
    last = ends.ys[-1]
    split = Split(memory=min(roof.weights_s + roof.cache_s, last), launch=max(last - roof.weights_s - roof.cache_s, 0))
    if known.axis != "weights":
        bound, sure = settled(split, ends.line, ends.ys, most="medium")
        known = replace(known, confidence=sure)
    return replace(
        known, bound=bound, split=split, bytes_per_s=roof.moved_bytes / last, roof_bytes_per_s=roof.bytes_per_s,
        host_s=roof.host_s,
    )  # fmt: skip


def _cards(one: Series, quantity: Quantity, points: Taken, ends: _Ends, setting: Setting) -> Fit:
    """Two accelerators or more: does the time follow their memory, their arithmetic, or neither."""
    known = _fit(one, quantity, points, said="moved", ends=ends)
    cards = [card_of(points.runs[place], setting) for place in (ends.order[0], ends.order[-1])]
    peaks = [_peak(card) for card in cards]
    compute = max(peaks) / min(peaks) if all(peaks) else None
    if ends.ideal >= _DIFFERS and ends.gain < 1 / _DIFFERS and (compute or 1) >= 1:
        return replace(known, said="worse", confidence="medium", gain=ends.gain)
    if ends.ideal >= _DIFFERS:
        found = _shares(known, points, ends)
        if found.said == "no-gain" or (found.share or 0) < BINDS:
            return _not_memory(found, points, ends, compute)
        return found
    near = max(ends.gain, 1 / ends.gain) < _DIFFERS
    if near and compute is not None and compute >= _PEAKS:
        return replace(known, said="same-memory", bound="memory", confidence="medium", expected_gain=compute)
    return replace(known, said="alike", cannot_tell=True)


def _peak(card: Accelerator | None) -> float:
    """In 16 bits, which all have that are compared; 0 where nobody published it."""
    known = {} if card is None else card.peak_flop_per_s
    return known.get("bf16") or known.get("fp16") or 0.0


def _prefilled(one: Series, setting: Setting) -> Fit | None:
    """Prompts on two accelerators or more: does their time follow the arithmetic's peaks."""
    quantity = one.quantity((*PROMPTS, "prompt_token_s"))
    if quantity is None:
        return None
    points = taken(one, quantity, setting, steps=False)
    peaks = [_peak(card_of(run, setting)) for run in points.runs]
    if not all(peaks) or len(points.ys) < 2 or max(peaks) < _DIFFERS * min(peaks):
        return None
    xs = [1 / peak for peak in peaks]
    order = sorted(range(len(xs)), key=lambda place: (-xs[place], points.labels[place]))
    most, least = order[0], order[-1]
    ends = _Ends(
        order=tuple(order), xs=xs, ys=points.ys, gain=points.ys[most] / points.ys[least], ideal=xs[most] / xs[least]
    )
    share = 0.0 if ends.line is None else min(max(ends.line.slope * ends.xs[-1] / ends.ys[-1], 0.0), 1.0)
    known = _fit(one, quantity, points, said="peaks", ends=ends)
    sure: Confidence = "medium" if share >= CLEARLY else "low"
    return replace(known, share=share, bound="compute" if share >= BINDS else None, cannot_tell=share < BINDS,
                   confidence=sure)  # fmt: skip


def _not_memory(found: Fit, points: Taken, ends: _Ends, compute: float | None) -> Fit:
    """Memory does not bind; arithmetic neither where it is a small part, or the peaks differ and the time does not."""
    last = points.runs[ends.order[-1]]
    peak_s = points.roofs[ends.order[-1]].compute_s if points.roofs else None
    little = peak_s is not None and peak_s < (1 - BINDS) * ends.ys[-1]
    unlike = compute is not None and compute >= _PEAKS and ends.gain < _DIFFERS
    if little or unlike or (points.roofs and last.in_flight is None and _little_arithmetic(points, ends)):
        sure: Confidence = "medium" if points.roofs else "low"
        return replace(found, said="not-memory", bound="launch", confidence=sure, cannot_tell=False)
    return replace(found, said="not-memory", bound=None, confidence="low", cannot_tell=True)


def _little_arithmetic(points: Taken, ends: _Ends) -> bool:
    """Whether the tokens of all, whatever their batch, take less than half of the machine's arithmetic."""
    roof, run = points.roofs[ends.order[-1]], points.runs[ends.order[-1]]
    return bool(run.each_s and roof.compute_s < BINDS * run.each_s)


def engines(one: Series, setting: Setting) -> Fit | None:
    """Engines on one machine: the fastest says what the machine does at least."""
    quantity = one.quantity(QUANTITIES)
    if quantity is None:
        return None
    points = taken(one, quantity, setting, steps=quantity not in PROMPTS)
    if len(points.ys) < 2:
        return None
    order = sorted(range(len(points.ys)), key=lambda place: (-points.ys[place], points.labels[place]))
    slow, fast = order[0], order[-1]
    gain = points.ys[slow] / points.ys[fast]
    share = None
    if points.roofs:
        run = points.runs[fast]
        step = points.ys[fast] * (run.in_flight or 1) if quantity == "each_s" else points.ys[fast]
        share = points.roofs[fast].ceiling_s / step
    near: Bound | None = "memory" if share is not None and share >= BINDS else None
    bound: Bound | None = "launch" if gain >= 1 / CLEARLY else near
    return Fit(
        axis=one.axis, said="engines", quantity=quantity, labels=tuple(points.labels[place] for place in order),
        values=tuple(points.ys[place] for place in order), left_out=points.left_out, gain=gain, share=share,
        bound=bound, confidence="medium" if bound and share else "low", cannot_tell=bound is None,
    )  # fmt: skip
