"""Accelerators: one TOML file of published facts each, read into a frozen value in base units.

`load("8xh100-sxm")` gives the accelerator and the count. A name is an id, another spelling of one, the short name of a
family (`h100`: a stated pick, listed among the assumptions), one of these with a memory size (`m4-pro-48gb`), the path
of a TOML file of your own, "-" for one on standard input, or `this`: the machine itself, as it was last measured. With
+ between them several stand for the devices of one deployment (catalog/unlike.py).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rooflight.catalog import card, tables, totals, unlike, variants
from rooflight.catalog.assumed import assumed_of
from rooflight.catalog.this import THIS, measured_file
from rooflight.errors import BadConfig, BadInput, UnknownName
from rooflight.files import STANDARD_INPUT, name_of, standard_input
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator
from rooflight.values.note import Note

_HERE = Path(__file__).parent
_FOLDER = _HERE / "accelerators"
_ID = re.compile(r"[a-z0-9][a-z0-9.+-]{0,99}")
_MAX_FILE_BYTES = to_base(1, "MB")
_MAX_COUNT = 1_000_000  # devices, not a unit
_WANT = "a TOML file with the facts of an accelerator"
_LIST = "`rooflight accelerators` for the list"


def load(name: str) -> tuple[Accelerator, int]:
    """The accelerator a name or file stands for, and how many of it: load("8xh100-sxm") gives (h100-sxm, 8).

    Raises UnknownName, BadInput, BadConfig, and MissingFact for `this` where it has not been measured.
    """
    if _is_path(name):
        return _from_file(Path(name)), 1
    if unlike.parts(name) and not _is_one(name):
        return unlike.joined(name, load)
    if _squeezed(name) in _letters_for_counts():
        return _by_name(name), 1
    count, rest = split_count(name)
    if rest == STANDARD_INPUT:
        return _from_standard_input(), count
    if rest.lower().endswith(".toml") or _is_path(rest):
        return _from_file(Path(rest)), count
    return _by_name(rest), count


def file_name(name: str) -> str | None:
    """The part of a name by which a machine of a file is found again, its path or `this`; None for one of the catalog.

    Check: 2xthis -> this; a/full.toml -> a/full.toml; 8xh100-sxm and standard input -> None. Raises BadInput.
    """
    if _is_path(name):
        return name
    if (unlike.parts(name) and not _is_one(name)) or _squeezed(name) in _letters_for_counts():
        return None
    rest = split_count(name)[1]
    return rest if rest.lower().endswith(".toml") or _is_path(rest) or _dashed(rest) == THIS else None


def catalogued(name: str) -> Accelerator:
    """The accelerator of a catalog entry, by id or another spelling of it; no file is opened by that name.

    For names that come from strangers. Raises UnknownName.
    """
    dashed = _dashed(name)
    if dashed in ids():
        return _shipped(dashed)
    return _by_other_name(name, dashed)


def counted(name: str) -> tuple[Accelerator, int]:
    """The same with how many of it: counted("8x NVIDIA H100 SXM") gives (h100-sxm, 8).

    For names that come from strangers. Raises UnknownName, BadInput.
    """
    if unlike.parts(name) and not _is_one(name):
        return unlike.joined(name, counted)
    if _squeezed(name) in _letters_for_counts():
        return catalogued(name), 1
    count, rest = split_count(name)
    return catalogued(rest), count


def sent(text: str, name: str) -> Accelerator:
    """The accelerator of a TOML text that somebody sent; no file is opened. name: what a message calls the text.

    Raises BadConfig, which says where.
    """
    return _of(_parsed(text.encode(), name), name)


def with_memory(one: Accelerator, memory_bytes: float) -> Accelerator:
    """The accelerator with so much memory, as its driver would report it."""
    return totals.sized(one, memory_bytes, _assumptions()["memory"])


def ids() -> tuple[str, ...]:
    """The id of every accelerator in the catalog, sorted."""
    return tuple(tables.stems(_FOLDER))


def all_accelerators() -> Iterator[Accelerator]:
    """Every accelerator in the catalog, by id."""
    return (_shipped(accelerator_id) for accelerator_id in ids())


def _is_one(name: str) -> bool:
    """Whether a name with + in it is that of one entry: a "Ryzen AI Max+ 395"."""
    try:
        catalogued(split_count(name)[1])
    except BadInput:
        return False
    return True


def split_count(name: str) -> tuple[int, str]:
    """`8xh100` into (8, "h100"). A count is a whole number from 1; a name without one means a single device."""
    match = re.fullmatch(r"\s*([-+]?[0-9][0-9.,]*)(?:\s*[xX\u00d7]\s*|-x-)(.*)", name, re.DOTALL)
    if match is None:
        return 1, name.strip()
    digits, rest = match.groups()
    whole = re.fullmatch(r"[0-9]{1,9}", digits)
    if whole is None or not 1 <= int(digits) <= _MAX_COUNT:
        raise BadInput(
            f"{_short(digits)}x is not a number of accelerators",
            got=_short(name),
            want=f"a whole number from 1 to {_MAX_COUNT:,} before the x, as in 8xh100-sxm",
        )
    if not rest:
        raise BadInput(
            f"{digits}x of which accelerator?", got=_short(name), want="a name after the x, as in 8xh100-sxm"
        )
    return int(digits), rest.strip()


def _dashed(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower()).strip("-")


def _by_name(name: str) -> Accelerator:
    dashed = _dashed(name)
    if not dashed:
        raise BadInput("no accelerator was named", want="an id such as h100-sxm, or a TOML file", try_this=_LIST)
    if dashed == THIS:
        return _from_file(measured_file())
    return shipped(dashed) or _by_other_name(name, dashed)


def _by_other_name(name: str, dashed: str) -> Accelerator:
    """A spelling of an id, a family's pick, or a spelling some entry lists; refused with the closest names."""
    table = tables.read(_HERE / "aliases.toml")
    known = {_squeezed(accelerator_id): accelerator_id for accelerator_id in ids()} | _letters_for_counts()
    picks = {_squeezed(alias): (alias, chosen) for alias, chosen in table["pick"].items()}
    spellings = _without_prefixes(_squeezed(dashed), table["prefixes"])
    for spelling in spellings:
        if spelling in known:
            return _shipped(known[spelling])
        if spelling in picks:
            return _picked(*picks[spelling])
    other = _listed_spellings()
    for spelling in spellings:
        if spelling in other:
            return _shipped(other[spelling])
    found = _in_a_size(name, dashed, table)
    if found is None:
        raise _unknown(name, dashed, [*ids(), *table["pick"]])
    return found


def _in_a_size(name: str, dashed: str, table: dict[str, Any]) -> Accelerator | None:
    """`m4-pro-48gb`: the first of the entries behind `m4-pro` that comes with 48 GB. None: the name asks for no size.

    Raises UnknownName where none of them comes in that size.
    """
    asked = variants.asked(dashed)
    entries = [] if asked is None else _meant(asked[0], table)
    if asked is None or not entries:
        return None
    stem, size_gb = asked
    for accelerator_id in entries:
        found = variants.of(_shipped(accelerator_id), size_gb, dashed, _assumptions()["memory"])
        if found is not None:
            return found
    known = sorted({size for entry in entries for size in variants.gigabytes(_shipped(entry))})
    raise UnknownName(
        f"{_short(stem)} is not known with {size_gb} GB",
        got=_short(name),
        want=f"one of {', '.join(map(str, known))} GB" if known else "a name without a size: none is known",
        try_this=f"{stem} with --memory {size_gb}GB",
    )


def _meant(stem: str, table: dict[str, Any]) -> list[str]:
    """The entries that a name without its size may mean, the likeliest first."""
    known = {_squeezed(accelerator_id): [accelerator_id] for accelerator_id in ids()}
    known |= {squeezed: [accelerator_id] for squeezed, accelerator_id in _letters_for_counts().items()}
    known |= {_squeezed(alias): chosen for alias, chosen in table["pick"].items()}
    listed = {squeezed: [accelerator_id] for squeezed, accelerator_id in _listed_spellings().items()}
    spellings = _without_prefixes(_squeezed(stem), table["prefixes"])
    return next((names[one] for names in (known, listed) for one in spellings if one in names), [])


def _picked(alias: str, chosen: list[str]) -> Accelerator:
    """The first of the entries a short name may mean, with a note that says so."""
    accelerator = _shipped(chosen[0])
    note = Note(key="read_as", value=(accelerator.id, accelerator.name, tuple(chosen[1:])), why=alias)
    return msgspec.structs.replace(accelerator, assumptions=(note, *accelerator.assumptions))


@functools.cache
def _listed_spellings() -> dict[str, str]:
    """Every name and alias that entries list, without separators, and the id it means."""
    spellings: dict[str, str] = {}
    for accelerator_id in ids():
        raw = tables.read(_FOLDER / f"{accelerator_id}.toml")
        for spelling in (raw["name"], *raw.get("aliases", ())):
            spellings.setdefault(_squeezed(spelling), accelerator_id)
    return spellings


@functools.cache
def _letters_for_counts() -> dict[str, str]:
    """Ids whose short name reads like a count: a 7900XTX is no 7,900 of a "TX"."""
    return {part: name for name in ids() if re.match("[0-9]+x", part := _squeezed(name.partition("-")[2]))}


def _without_prefixes(spelling: str, prefixes: list[str]) -> list[str]:
    """The spelling, then shorter ones with the vendor's and the brand's name taken off its front."""
    found = [spelling]
    for prefix in (prefix for _ in range(2) for prefix in prefixes):
        if found[-1].startswith(prefix) and found[-1] != prefix:
            found.append(found[-1].removeprefix(prefix))
    return found


def _unknown(name: str, dashed: str, candidates: list[str]) -> UnknownName:
    import difflib

    close = difflib.get_close_matches(dashed[:100], candidates, n=4, cutoff=0.55)
    return UnknownName(
        f"no accelerator is called {_short(name)!r}",
        got=_short(name),
        want="an id, the short name of a family, or a TOML file",
        try_this=f"{', '.join(close)}; {_LIST}" if close else _LIST,
    )


def shipped(accelerator_id: str) -> Accelerator | None:
    """The catalog's entry of exactly that id; None where there is none."""
    known = _ID.fullmatch(accelerator_id) and (_FOLDER / f"{accelerator_id}.toml").is_file()
    return _shipped(accelerator_id) if known else None


@functools.cache
def _shipped(accelerator_id: str) -> Accelerator:
    path = _FOLDER / f"{accelerator_id}.toml"
    return card.accelerator(tables.read(path), origin=f"catalog/accelerators/{path.name}", assumed_from=_assumptions())


def host_assumed(card: Accelerator, memory_bytes_per_s: float | None, memory_bytes: float | None) -> Accelerator:
    """The host beside a card where none is named: the rate that is stated, else the assumed one; an assumed peak."""
    said = _assumptions()["host"]
    consumer = card.id.startswith(tuple(said["consumer_names"])) and not any(
        name in card.id for name in said["work_names"]
    )
    kind = "consumer" if consumer else "server"
    slow, peak = to_base(said[f"{kind}_GB_per_s"], "GB/s"), to_base(said[f"{kind}_TFLOP_per_s"], "TFLOP/s")
    fast = to_base(said["fastest_GB_per_s"], "GB/s")
    return Accelerator(
        id="host", name="the host", vendor="", family="CPU", kind="cpu", peak_flop_per_s={"fp32": peak},
        fast_flop_per_s={"fp32": math.inf}, memory_bytes_per_s=memory_bytes_per_s or slow,
        fast_memory_bytes_per_s=memory_bytes_per_s or max(fast, slow),
        memory_bytes=memory_bytes, assumed=assumed_of("CPU", "host", _assumptions()), confidence="C",
        origin=f"{said['source']} ({said['date']})",
    )  # fmt: skip


def host_usual_most() -> str:
    """The fastest host that is expected beside a measured run of which nobody names it."""
    return str(_assumptions()["host"]["usual_most"])


def host_habits() -> tuple[float, float, float]:
    """What an engine gets of a host's memory and link, as shares, expected and at least; seconds of a handover."""
    said = _assumptions()["host"]
    return said["reached_share"], said["least_share"], to_base(said["handover_us"], "us")


@functools.cache
def _assumptions() -> dict[str, Any]:
    return tables.read(_HERE / "assumptions.toml")


def _from_file(path: Path) -> Accelerator:
    return _of(_read_toml(path), str(path))


def _from_standard_input() -> Accelerator:
    name = name_of(STANDARD_INPUT)
    return _of(_parsed(standard_input(int(_MAX_FILE_BYTES), _WANT), name), name)


def _of(raw: dict[str, Any], origin: str) -> Accelerator:
    return card.accelerator(raw, origin=origin, assumed_from=_assumptions(), known=shipped)


def _read_toml(path: Path) -> dict[str, Any]:
    """A user's TOML file as plain values; anything that is not one is refused in words."""

    where = _short(str(path), 200)
    try:
        path = path.expanduser()
        if not path.exists():
            raise BadInput(f"there is no file {where}", where=where, want=_WANT, try_this=_LIST)
        if not path.is_file():
            raise BadConfig(f"{where} is not a file", where=where, got="a folder or device", want=_WANT)
        with path.open("rb") as file:
            data = file.read(int(_MAX_FILE_BYTES) + 1)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{where} cannot be read", where=where, got=str(error), want=_WANT) from None
    if len(data) > _MAX_FILE_BYTES:
        raise BadConfig(f"{where} is too large for an accelerator", where=where, got="over 1 MB", want=_WANT)
    return _parsed(data, where)


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    """Raises BadConfig for what is no TOML."""
    import tomllib

    if tables.too_many_dots(data):
        raise BadConfig(f"{where} is nested too deep", where=where, got="keys of too many parts", want=_WANT)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadConfig(f"{where} is not text", where=where, got="bytes that are not UTF-8", want=_WANT) from None
    except (ValueError, RecursionError) as error:
        reason = "tables nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadConfig(f"{where} is not TOML", where=where, got=_short(reason, 200), want=_WANT) from None


def _is_path(name: str) -> bool:
    """Whether a name is meant as a path: something is there, and it could not be an id."""
    try:
        return Path(name).exists() and ("/" in name or "\\" in name or name.lower().endswith(".toml"))
    except (OSError, ValueError):
        return False


def _squeezed(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.lower())


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
