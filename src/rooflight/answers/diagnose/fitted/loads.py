"""Output a second over the requests in flight: where it stops growing, and whether requests wait from there on."""

from __future__ import annotations

from rooflight.answers.diagnose.fitted.fit import BINDS, Fit, taken
from rooflight.answers.diagnose.fitted.series import Series
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import placed, step_roof
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.errors import RooflightError
from rooflight.numeric import is_plain
from rooflight.serve.memory import admitted
from rooflight.serve.replica import room
from rooflight.values.diagnosis import Bound, Confidence

# Within that of the most output it is level; it must be level over so many times the requests.
_LEVEL, _OVER = 0.9, 1.9
# Requests of which so large a share waits are a queue; a first token so many times as late as before the knee shows it.
_WAITS, _LATE = 0.3, 5.0
# Up to the knee each request brings at least this share of what the first ones brought.
_STEEP = 0.7
# Sequences that run are those that memory holds within that.
_HOLDS = 1.3


def loads(one: Series, setting: Setting) -> Fit | None:
    """A queue in a series along "batch"; None where output grows on, or steps themselves grow longer."""
    if not one.xs or not all(run.rate for run in one.runs):
        return None
    points = taken(one, "each_s", setting, steps=False)
    rates = tuple(run.rate or 0.0 for run in points.runs)
    if len(rates) < 2:
        return None
    best, last = max(rates), points.runs[-1]
    knee = next(place for place, rate in enumerate(rates) if rate >= _LEVEL * best)
    if points.xs[-1] < _OVER * points.xs[knee]:
        return None
    slots = _running(last, points.runs[knee], points.xs[knee])
    if slots is None and _idle(last, setting):
        slots = points.xs[knee]
    if slots is None or points.xs[-1] - slots < _WAITS * points.xs[-1]:
        return None
    steep = rates[knee] / points.xs[knee] >= _STEEP * rates[0] / points.xs[0]
    held, limit = _room(last, setting)
    full = held is not None and slots >= held / _HOLDS and (limit is None or held < limit)
    bound: Bound = "capacity" if full else "queue"
    shown = last.ttft_s is not None or last.basis != "rate"
    sure: Confidence = "high" if len(rates) > 2 and shown and (steep or full) else "medium"
    return Fit(
        axis=one.axis, said="room" if full else "slots", quantity="each_s", labels=points.labels,
        values=tuple(1 / rate for rate in rates), left_out=points.left_out, bound=bound, confidence=sure,
        knee=points.xs[knee], slots=slots, waiting=points.xs[-1] - slots, room=held,
        gain=rates[-1] / rates[0], ideal_gain=points.xs[-1] / points.xs[0], share=_first(last),
        expected_gain=_gain(last, points.runs[knee]),
    )  # fmt: skip


def _running(last: Seen, knee: Seen, at: float) -> float | None:
    """Sequences that decode at the largest load: rate x time of a token; else as many as at the knee, if first tokens
    come that much later than there."""
    if last.token_s and last.rate and last.basis in ("tpot", "itl", "user", "request", "little"):
        return last.token_s * last.rate
    late = last.ttft_s and knee.ttft_s and last.ttft_s >= _LATE * knee.ttft_s
    return at if late else None


def _idle(last: Seen, setting: Setting) -> bool:
    """Whether steps of all in flight would be done far sooner, by the slow end of what is expected."""
    sc = placed(setting, last) if last.basis == "rate" and last.token_s else None
    roof = None if sc is None else step_roof(sc)
    return roof is not None and (roof.span.high or roof.span.expected) < BINDS * (last.token_s or 0.0)


def _gain(last: Seen, knee: Seen) -> float | None:
    """How much later the first token comes than at the knee."""
    return last.ttft_s / knee.ttft_s if last.ttft_s and knee.ttft_s else None


def _first(run: Seen) -> float | None:
    """The share of a request that is over before its first token."""
    return run.ttft_s / run.request_s if run.ttft_s and run.request_s else None


def _room(run: Seen, setting: Setting) -> tuple[float | None, float | None]:
    """Sequences that memory holds, by the library or by the pool that was recorded, and the engine's own limit."""
    limit = run.record.stated.max_num_seqs
    pool = run.record.measured.kv_tokens
    if pool and run.isl:
        return pool / (run.isl + (run.osl or 0)), limit
    sc = placed(setting, run)
    if sc is None or sc.accelerator.given_bytes is None:
        return None, limit
    try:
        held, most = admitted(sc), room(sc)
    except (RooflightError, ZeroDivisionError):
        return None, limit
    if not is_plain(held, most):
        return None, limit
    replicas = sc.layout.dp
    return float(held) * replicas, None if limit is None else float(limit) * replicas
