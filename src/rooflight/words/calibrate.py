"""`calibrate` in words: the rows of a source judged, what they come to, and one sentence about it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rooflight import __version__
from rooflight.answers.calibrate.report import LeftRow, calibrated
from rooflight.answers.check.opened import opened_rows
from rooflight.answers.check.outcome import NoCeiling
from rooflight.answers.check.recorded import Said
from rooflight.errors import BadInput
from rooflight.files import name_of
from rooflight.ingest.rows import RowLike
from rooflight.units import percent
from rooflight.values.own import LeftOut, OwnCalibration, OwnEntry
from rooflight.values.recorded import Recorded
from rooflight.words.own import TIMES, engine, error, factors
from rooflight.words.verdicts import verdict

# Longer a source's name is not kept.
_LONGEST = 200
_WHY = {
    "not expected": "nothing is expected of it, so nothing can be shifted",
    "no batch": "no batch is stated, so what is expected of it is open",
    "drafts": "speculation was on, or may have been, and nothing says how many tokens were drafted",
    "far": "it is more than 20 times off what is expected: of something else than it says",
}


def calibration(
    source: str | Path | Recorded | Iterable[RowLike] | RowLike, *, configs: Iterable[str | Path] = (),
    said: Said | None = None, date: str,
) -> OwnCalibration:  # fmt: skip
    """What the rows of a source come to. Raises BadInput and BadConfig as `check` does, and where no row counts."""
    opened = opened_rows(source, configs=configs, said=said)
    found = calibrated(opened.judged)
    where = name_of(source)[:_LONGEST] if isinstance(source, str | Path) else ""
    left_out = tuple(map(_left_out, found.left_out))
    if not found.entries:
        why = left_out[0].reason if left_out else "there is none"
        raise BadInput(
            "no row counts for a calibration", where=where or "source", got=why,
            want="measured rows of which `rooflight check` says ok, slow or fast, with what is expected",
            try_this="rooflight check FILE.csv, which says of each row what it lacks",
        )  # fmt: skip
    return OwnCalibration(
        answer=answer(found.entries, len(left_out)), date=date, rooflight=__version__, source=where,
        notes=tuple(opened.notes), entries=found.entries, left_out=left_out,
    )  # fmt: skip


def _left_out(one: LeftRow) -> LeftOut:
    told = verdict(one.one)
    reason = _WHY.get(one.why) or f"{told.verdict}: {told.reason}"
    if one.why == "not expected" and not isinstance(one.one, NoCeiling):
        reason = f"{reason} ({told.reason})"
    return LeftOut(
        line=told.line, model=told.model, accelerator=told.accelerator, metric=told.metric, value=told.value,
        reason=reason,
    )  # fmt: skip


def answer(entries: tuple[OwnEntry, ...], left_out: int) -> str:
    """What is shifted by how much, and whether it helps."""
    if len(entries) == 1:
        said = entry(entries[0])
    else:
        rows = sum(one.rows for one in entries)
        helped = sum(helps(one) for one in entries)
        said = f"{len(entries)} engines and accelerators from {rows:,} rows, of which {helped} "
        said += f"{'is' if helped == 1 else 'are'} nearer with it, leaving one out"
    reason = (
        "1 row is left out, with its reason"
        if left_out == 1
        else f"{left_out:,} rows are left out, each with its reason"
    )
    more = f" {reason}." if left_out else ""
    return f"{said}.{more}"


def entry(one: OwnEntry) -> str:
    """An entry's sentence, without its end."""
    rows = f"{one.rows:,} row{'s' * (one.rows != 1)} of {one.runs:,} run{'s' * (one.runs != 1)}"
    of = one.models[0] if len(one.models) == 1 else one.others
    shifts = {name: factor for name, factor in of.factors.items() if factor != 1}
    whose = of.model if of.model else "models in general"
    said = f"{engine(one.engine)} on {one.accelerator}, {rows}: {factors(shifts)} ({whose}); {error(one)}"
    return f"{said}; {dropped(one)}" if one.dropped else said


def dropped(one: OwnEntry) -> str:
    """Which factors are 1 because none helps."""
    named = " and ".join(TIMES[name] for name in one.dropped)
    return f"no factor on {named} helps when one run is left out, so there it is 1"


def helps(one: OwnEntry) -> bool:
    """Whether its rows are nearer with it, leaving one out."""
    found = one.all
    return found is not None and found.after is not None and found.after < found.before


def off(share: float | None) -> str:
    """An error, a dash where it is not known."""
    return "-" if share is None else percent(share)
