"""Your own calibration: its file read and checked, and what it makes of an engine's fit."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rooflight.catalog import tables
from rooflight.catalog.calibration import calibration, fitted_family
from rooflight.errors import BadConfig, BadInput, Named
from rooflight.files import name_of, opened
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Busy, Engine
from rooflight.values.own import KINDS, SCHEMA, SHIFTED, OwnCalibration, OwnEntry, Shifts

WANT = "a calibration, as `rooflight calibrate FILE.csv -o mine.toml` writes it"
AGAIN = "rooflight calibrate FILE.csv -o mine.toml"
_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)
_DIGITS = 16
Kind = TypeVar("Kind")
# A file of more rows than anybody measures of one deployment is no calibration.
_MOST_BYTES = 16 << 20
_MOST_DEPTH = 400


def load(source: str | Path | OwnCalibration) -> OwnCalibration:
    """A calibration, or the file of one. Raises BadInput where there is none, BadConfig for one that is not right."""
    if isinstance(source, OwnCalibration):
        return source
    if not isinstance(source, str | Path):
        raise BadInput("this is no calibration", where=Named.of("calibration"), got=source, want=WANT)
    where = name_of(source)
    with opened(source, WANT) as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise BadConfig(f"{where} is too large for a calibration", where=where, got="more than 16 MiB", want=WANT)
    return _checked(_table(raw, where), where)


def _table(raw: bytes, where: str) -> dict[str, Any]:
    """The file's TOML. Raises BadConfig."""
    import tomllib

    if not raw.strip():
        raise BadConfig(f"{where} is empty", where=where, got="nothing", want=WANT, try_this=AGAIN)
    if max(raw.count(b"["), raw.count(b"{")) > _MOST_DEPTH * len(raw.splitlines()):
        raise BadConfig(f"{where} is nested too deep", where=where, got="brackets in brackets", want=WANT)
    if tables.too_many_dots(raw):
        raise BadConfig(f"{where} is nested too deep", where=where, got="keys of too many parts", want=WANT)
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise BadConfig(f"{where} is no TOML", where=where, got=_short(error), want=WANT, try_this=AGAIN) from None


def _checked(table: Mapping[str, Any], where: str) -> OwnCalibration:
    """The calibration that a table is. Raises BadConfig."""
    schema = table.get("schema")
    if schema != SCHEMA:
        told = "no schema" if schema is None else repr(schema)[:80]
        raise BadConfig(
            f"{where} is no calibration that this version reads", where=f"{where}, schema", got=told, want=SCHEMA,
            try_this=AGAIN,
        )  # fmt: skip
    plain = tables.dates_as_text({name: table[name] for name in OwnCalibration.__struct_fields__ if name in table})
    listed = plain.get("entries")
    for number, one in enumerate(listed if isinstance(listed, list) else ()):
        _converted(one, OwnEntry, where, f"entries[{number}]")
    found = _converted(plain, OwnCalibration, where, "")
    if not found.entries:
        raise BadConfig(f"{where} calibrates nothing", where=f"{where}, entries", got="no entry", want=WANT)
    met: set[tuple[str, str, str]] = set()
    for number, one in enumerate(found.entries):
        _check_entry(one, f"{where}, entries[{number}]", met)
    return found


def _converted(raw: Any, kind: type[Kind], where: str, place: str) -> Kind:
    """A part of the file as what it is. Raises BadConfig with its place."""
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        told = _PLACE.fullmatch(str(error))
        at = ".".join(part for part in (place, told[2] if told else "") if part)
        raise BadConfig(
            f"{where} holds a value that no calibration has", where=f"{where}, {at}" if at else where,
            got=_short(told[1] if told else error), want=WANT, try_this=AGAIN,
        ) from None  # fmt: skip


def _check_entry(one: OwnEntry, where: str, met: set[tuple[str, str, str]]) -> None:
    """Raises BadConfig for what types do not say."""
    key = (one.engine, one.era, one.accelerator)
    if key in met:
        raise BadConfig(
            f"{one.engine} on {one.accelerator} has two entries", where=where, got=" ".join(key), want="one"
        )  # fmt: skip
    met.add(key)
    for name, given, known in (("kinds", one.kinds, KINDS), ("dropped", one.dropped, SHIFTED)):
        for odd in (word for word in given if word not in known):
            raise BadConfig(
                f"{name} names something else", where=f"{where}, {name}", got=odd, want=f"any of {', '.join(known)}"
            )  # fmt: skip
    for of in (one.others, *one.models):
        if of.request.factor != 1:
            raise BadConfig(
                "a request has no factor of its own: it is made of the others", where=f"{where}, request",
                got=of.request.factor, want="1",
            )  # fmt: skip


def _short(text: object) -> str:
    said = str(text)
    return said if len(said) <= 100 else said[:100] + "..."


@functools.lru_cache(maxsize=256)
def fit_of(engine: Engine, family: str) -> str:
    """What tells the fits that an engine's expected times are made of from those of another version."""
    parts = (msgspec.json.encode(engine), msgspec.json.encode(calibration(family)))
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:_DIGITS]


def calibrated_by(own: OwnCalibration | None, engine: Engine, accelerator: Accelerator) -> OwnEntry | None:
    """The entry that holds for an engine's fit on an accelerator; None where there is none.

    Raises BadConfig where its factors are on other fits than these.
    """
    entry = None if own is None else own.entry(engine.full_id, engine.era, accelerator.id)
    if own is None or entry is None:
        return None
    now = fit_of(engine, fitted_family(accelerator))
    if entry.fit != now:
        raise BadConfig(
            f"the calibration's factors for {entry.engine} on {entry.accelerator} are relative to other fits than this "
            "version has", where=Named.of("calibration"), got=f"fits {entry.fit}, by rooflight {own.rooflight}",
            want=f"fits {now}", try_this=AGAIN,
        )  # fmt: skip
    return entry


def owned(
    engine: Engine, own: OwnCalibration | None, accelerator: Accelerator, model: str
) -> tuple[Engine, OwnEntry | None]:
    """The engine's fit as your own calibration has it for a model, and the entry that says so, None where none does.

    Raises BadConfig as calibrated_by does.
    """
    entry = calibrated_by(own, engine, accelerator)
    return (engine, None) if entry is None else (shifted(engine, entry, model), entry)


@functools.lru_cache(maxsize=256)
def shifted(engine: Engine, entry: OwnEntry, model: str) -> Engine:
    """An engine's fit with the entry's factors and intervals: all that a calibration does, it does here.

    A lone prefill has the factor of steps in it, so its own takes that out. Kinds of models that are not among the rows
    keep the engine's intervals, as wide as they are on this accelerator without rows.
    """
    own = entry.of(model)
    busy = None if engine.busy is None else msgspec.structs.replace(engine.busy, **_all_ends(engine.busy, entry, own))
    return msgspec.structs.replace(
        engine,
        step_share=engine.step_share * own.step.factor,
        prefill_share=engine.prefill_share * own.prefill.factor / own.step.factor,
        first_share=engine.first_share * own.first.factor,
        calibrated_on=entry.accelerator,
        prefill_low=own.prefill.low, prefill_high=own.prefill.high,
        **_all_ends(engine, entry, own), busy=busy,
    )  # fmt: skip


def _all_ends(engine: Engine | Busy, entry: OwnEntry, own: Shifts) -> dict[str, float]:
    """The ends of all intervals but a lone prefill's."""
    first = {f"{front}first_{end}": getattr(own.first, end) for front in ("", "moe_") for end in ("low", "high")}
    return first | _ends(engine, entry, own, "dense", "") | _ends(engine, entry, own, "routed", "moe_")


def _ends(engine: Engine | Busy, entry: OwnEntry, own: Shifts, kind: str, front: str) -> dict[str, float]:
    """The ends of the intervals of steps and of requests of a kind of model."""
    found = {}
    for name, shift in (("", own.step), ("run_", own.request)):
        low, high = f"{front}{name}low", f"{front}{name}high"
        seen = kind in entry.kinds
        found[low] = shift.low if seen else getattr(engine, low) / entry.widened
        found[high] = shift.high if seen else getattr(engine, high) * entry.widened
    return found
