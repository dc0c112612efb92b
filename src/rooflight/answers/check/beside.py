"""Rows that leave their model or their machine to a scenario: judged as measured of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.recorded import Said, SaidNames
from rooflight.answers.check.report import RowBlock, judged_block, row_of
from rooflight.errors import RooflightError
from rooflight.ingest.rows import GivenRow
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.metrics import measured_s
from rooflight.values.deployment import DEPLOYMENT
from rooflight.values.measurement import METRICS, Measurement, Timed
from rooflight.values.question import FIELDS

# They say one thing together: a row that has one of them says how it was laid out.
_LAYOUT = ("gpus", "tp", "pp", "ep", "dp")
# Of more rows it is not looked for at length why each is fast or impossible.
_FEW = 100
# Fields of a deployment beside the formats and the layout that a row has a column of.
_MORE = ("engine_version", "max_num_seqs", "max_num_batched_tokens", "network")


def cells_of(sc: Scenario) -> dict[str, str]:
    """What stands in the cells of a row that names no model, or no machine."""
    return {"model": sc.model.id, "accelerator": sc.accelerator.id}


def formats_stated(sc: Scenario) -> Scenario:
    """The same with the format of its weights as one that is stated, where that says nothing else than the default."""
    if sc.deployment.weights is not None:
        return sc
    try:
        stated = changed(sc, weights=sc.weights)
    except RooflightError:
        return sc
    times = (phases.decode(one, bounds_only=True).time.ceiling_s for one in (sc, stated))
    return stated if len(set(times)) == 1 else sc


def judged_of(rows: Iterable[GivenRow], sc: Scenario) -> Iterator[Judged | NoCeiling]:
    """Each row judged, in order. Of one that names neither model nor machine the scenario is all that it leaves blank;
    of one that names the other, the model or the machine alone."""
    sc = formats_stated(sc)
    kinds: dict[tuple[bool, bool], list[GivenRow]] = {}
    order = []
    for asked in rows:
        kind = _is_blank(asked, "model"), _is_blank(asked, "accelerator")
        order.append(kind)
        kinds.setdefault(kind, []).append(_whole(asked, sc) if all(kind) else asked)
    few = len(order) <= _FEW
    found = {kind: judged_block(_names(sc, *kind), RowBlock(ones, first=few)) for kind, ones in kinds.items()}
    for kind in order:
        yield next(found[kind])


def _is_blank(asked: GivenRow, name: str) -> bool:
    return not asked.given.get(name, "").strip()


def _names(sc: Scenario, model: bool, card: bool) -> Names:
    return SaidNames(
        Said(
            model=sc.checkpoint if model else None,
            accelerator=sc.accelerator if card else None,
            deployment=sc.deployment,
            stated=frozenset(DEPLOYMENT) if model and card else frozenset(),
        )
    )


def _whole(asked: GivenRow, sc: Scenario) -> GivenRow:
    """A row of the scenario with what it leaves blank."""
    row = asked.row
    if row is None:
        return asked
    known = row_of(sc, row.metric, row.value, FIELDS)
    laid = any(getattr(row, name) is not None for name in _LAYOUT) or row.mode is not None
    own = {name: getattr(known, name) for name in Measurement.__struct_fields__ if not (laid and name in _LAYOUT)}
    own |= {name: getattr(sc.deployment, name) for name in _MORE}
    own |= {"cached_prefix": sc.workload.cached_prefix or None, "draft_share": sc.workload.draft_share}
    blank: dict[str, Any] = {
        name: value for name, value in own.items() if getattr(row, name) in (None, "") and value not in (None, "")
    }
    if _is_blank(asked, "phase"):
        blank["phase"] = known.phase
    if "batch" in blank and METRICS[row.metric].phases[0] == blank.get("phase", row.phase) == "prefill":
        blank["batch"] = sc.workload.prefill_batch
    return replace(asked, row=replace(row, **blank))


def step_of(one: Judged) -> tuple[float, float] | None:
    """Where a row stands on the roofline: the FLOP a byte of the step that it times, and the FLOP a second of it.

    None of a whole run, of drafted tokens, and of steps that no time is known of.
    """
    sc, timed = one.scenario, one.row.timed
    if timed not in (Timed.STEP, Timed.PREFILL) or sc.workload.draft_tokens or (sc.unrated and timed is Timed.PREFILL):
        return None
    work = (phases.decode(sc) if timed is Timed.STEP else phases.prefill(sc)).work
    return float(work.flop / work.moved_bytes), float(work.flop / measured_s(sc, one.row))
