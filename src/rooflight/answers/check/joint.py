"""Values of one run judged together: what Little's law makes of them, and what no schedule gives at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rooflight.answers.check.doubts import network_open
from rooflight.answers.check.judge import beyond
from rooflight.answers.check.outcome import Judged, Load, NoCeiling, Pair
from rooflight.answers.check.questions import Question
from rooflight.answers.check.spans import Answered
from rooflight.ingest.rows import GivenRow
from rooflight.serve.metrics import bound_of, run_limits
from rooflight.units import to_base
from rooflight.values.measurement import Measurement, Timed
from rooflight.values.note import Note

# A batch that is off by more than this share is another one.
_OFF = 0.2
# A finite run drains, so that fewer are in flight in the mean: tolerance on the ceiling of a request.
_DRAINS = 0.05
# Columns in which rows of one run differ.
_OWN = ("id", "metric", "value", "phase", "reason", "unit")
_MS = to_base(1, "ms")


def runs(block: Sequence[GivenRow]) -> list[tuple[int, ...]]:
    """Places of rows that are of one run: of one `run`, or equal in everything but the metric. One row a metric."""
    found: dict[object, list[int]] = {}
    for place, asked in enumerate(block):
        if asked.row is not None:
            found.setdefault(_key(asked, asked.row), []).append(place)
    several = (places for places in found.values() if len(places) > 1)
    return [tuple(places) for places in several if len({_metric(block[one]) for one in places}) == len(places)]


def _metric(asked: GivenRow) -> str:
    return asked.row.metric if asked.row is not None else ""


def _key(asked: GivenRow, row: Measurement) -> object:
    if row.run:
        return row.model, row.accelerator, row.run
    return tuple(value for name, value in asked.given.items() if name not in _OWN)


def load_of(rows: Sequence[Measurement], osl: int | None) -> Load | None:
    """How many requests their values say were in flight; None where they do not.

    C = X (TTFT + TPOT (osl - 1)), or X times the request's time; without a first token those that decode, rate x TPOT.
    Check: 760 tok/s at 95 ms a token -> 72.2 that decode.
    """
    given = {row.metric: row for row in rows}
    rate = _rate(given, osl)
    if rate is None:
        return None
    token_ms, first_ms, request_ms = (_value(given, name) for name in ("tpot_ms", "ttft_ms", "e2e_latency_ms"))
    batch = stated_batch(rows)
    known: dict[str, float | int | None] = {
        "rate": rate, "token_ms": token_ms, "first_ms": first_ms, "request_ms": request_ms, "stated": batch,
    }  # fmt: skip
    if request_ms is not None and osl:
        return Load(**known, in_flight=rate / osl * request_ms * _MS, decoding=False)  # type: ignore[arg-type]
    if token_ms is None:
        return None
    if first_ms is not None and osl:
        whole_ms = first_ms + (osl - 1) * token_ms
        return Load(**known, in_flight=rate / osl * whole_ms * _MS, decoding=False)  # type: ignore[arg-type]
    wait = None
    if batch is not None and osl and (left := batch * osl / rate - (osl - 1) * token_ms * _MS) > 0:
        wait = left / _MS
    return Load(**known, in_flight=rate * token_ms * _MS, decoding=True, wait_ms=wait)  # type: ignore[arg-type]


def _value(given: Mapping[str, Measurement], metric: str) -> float | None:
    return given[metric].value if metric in given else None


def _rate(given: Mapping[str, Measurement], osl: int | None) -> float | None:
    """Output tokens a second of all."""
    if "output_tok_s" in given:
        return given["output_tok_s"].value
    each = given.get("output_tok_s_per_gpu")
    if each is not None and each.gpus is not None:
        return each.value * each.gpus
    total = given.get("total_tok_s")
    if total is not None and total.input_len and osl:
        return total.value * osl / (total.input_len + osl)
    return None


def of_its_run(row: Measurement, batch: int | None) -> tuple[Measurement, tuple[Note, ...]]:
    """The row with the batch that another row of its run states, where it states none."""
    if row.batch is not None or batch is None:
        return row, ()
    return replace(row, batch=batch), (Note(key="run_batch", value=batch),)


def stated_batch(rows: Sequence[Measurement]) -> int | None:
    """The batch that rows of a run state."""
    return next((row.batch for row in rows if row.batch is not None), None)


def implied(row: Measurement, load: Load) -> tuple[Measurement, tuple[Note, ...]]:
    """The row with the batch that its run's values make, where none is stated and that can be told of it."""
    batch = max(1, round(load.in_flight))
    if row.batch is not None or load.stated is not None or (load.decoding and row.timed is not Timed.STEP):
        return row, ()
    note = Note(key="implied_batch", value=(batch, load.rate, load.token_ms, load.first_ms, load.request_ms))
    return replace(row, batch=batch), (note,)


def contradicts(load: Load, rows: Sequence[Measurement]) -> bool:
    """Whether the batch that is stated cannot be together with rate and time."""
    if load.stated is None:
        return False
    prompts = next((row.prompts for row in rows if row.prompts is not None), None)
    drained = 1.0 if prompts is None else prompts / (prompts + load.stated)
    share = load.in_flight / load.stated
    if share > 1 + _OFF:
        return True
    steps = all(row.timed is Timed.STEP for row in rows if not row.timed.prompt)
    return share < (1 - _OFF) * drained and (steps or not load.decoding)


def paired(rows: Sequence[Measurement], questions: Sequence[Question]) -> Question | None:
    """The question how long a request takes whose first token and later ones are given; None where that is no matter
    of a ceiling: the batch or the lengths are not known, or one of the two."""
    by_metric = {one.row.metric: one for one in questions}
    first, token = by_metric.get("ttft_ms"), by_metric.get("tpot_ms")
    if first is None or token is None or token.bare or not (first.lengths and token.lengths):
        return None
    batch = stated_batch(rows)
    osl = rows[0].output_len or 0
    if batch is None or osl < 2:
        return None
    prompts = next((row.prompts for row in rows if row.prompts is not None), None)
    if prompts is not None:
        batch = max(1, min(batch, prompts) * prompts // (prompts + batch))
    phase = token.row.phase if token.row.phase in ("e2e_offline", "e2e_server") else "e2e_server"
    value = first.row.value + (osl - 1) * token.row.value
    row = replace(token.row, metric="e2e_latency_ms", phase=phase, value=value)
    isl = token.isl if token.claimed else (rows[0].depth or 0) + (rows[0].input_len or 1)
    return replace(token, row=row, batch=batch, alone=False, isl=isl, osl=osl, context=None, cached=first.cached)


def together(
    found: Sequence[Judged | NoCeiling], load: Load | None, asked: Question | None, whole: Answered | None
) -> list[Judged | NoCeiling]:
    """The verdicts on values of one run, given what they come to together."""
    judged = [one for one in found if isinstance(one, Judged)]
    if asked is not None and whole is not None and whole.scenario is not None and whole.span is not None:
        pair = _pair(judged, asked, whole)
        if pair is not None:
            bound = bound_of(whole.scenario, asked.row)
            return [_together(one, pair, bound) for one in found]
    if load is not None and contradicts(load, [one.row for one in judged]):
        return [_contradicted(one, load) for one in found]
    return list(found)


def _pair(judged: Sequence[Judged], asked: Question, whole: Answered) -> Pair | None:
    """The two values, where their request is shorter than its ceiling."""
    sc, span = whole.scenario, whole.span
    values = {one.row.metric: one.row.value for one in judged}
    if sc is None or span is None or asked.row.value * (1 + _DRAINS) >= span.ceiling or len(values) < len(judged):
        return None
    if network_open(sc):  # a faster one might do
        return None
    if not {"ttft_ms", "tpot_ms"} <= values.keys() or asked.row.speculative in ("yes", "unknown"):
        return None
    least = run_limits(sc)
    token = max(float(least.token_s) / _MS, (span.ceiling - values["ttft_ms"]) / (asked.osl - 1))
    return Pair(
        first_ms=values["ttft_ms"], token_ms=values["tpot_ms"], tokens=asked.osl - 1, batch=asked.batch or 1,
        ceiling_ms=span.ceiling, least_token_ms=token,
    )  # fmt: skip


def _together(one: Judged | NoCeiling, pair: Pair, bound: str) -> Judged | NoCeiling:
    """Both of the pair; what is above its ceiling by itself keeps its own reason."""
    if isinstance(one, NoCeiling) or one.above or one.row.metric not in ("ttft_ms", "tpot_ms"):
        return one
    return replace(one, verdict=beyond(one), pair=pair, bound=bound, found=(), filled=None)


def _contradicted(one: Judged | NoCeiling, load: Load) -> Judged | NoCeiling:
    """Values that Little's law speaks of; what cannot be true by itself, or be judged, keeps its own reason."""
    spoken = {"output_tok_s", "output_tok_s_per_gpu", "total_tok_s"}
    spoken |= {"e2e_latency_ms"} if load.request_ms is not None else {"tpot_ms"}
    spoken |= {"ttft_ms"} if load.first_ms is not None and load.request_ms is None else set()
    if isinstance(one, NoCeiling) or one.above or one.verdict == "cannot-judge":
        return one
    if one.row.metric not in spoken:
        return one
    return replace(one, verdict="cannot-judge", load=load, found=(), filled=None)
