"""What engines keep of a device's memory: rules of `engine_memory.toml`, by engine and version."""

# Types are not texts here: evaluating those costs a tenth of a millisecond each, at every start.

import functools
import re
from pathlib import Path
from typing import Literal

import msgspec

from rooflight.catalog import tables

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)")
_YEAR = re.compile(r"(20\d\d)")

# What a share is of: what a program is given, what is free before loading, or after it; none: there is no share.
ShareOf = Literal["total", "before", "after", "none"]


class Reserve(msgspec.Struct, frozen=True, kw_only=True):
    """What SGLang leaves free by default: fixed + a token of its chunk + a sequence of its graphs + a rank, in MiB.

    least_MiB   at least that on devices above least_above_GiB
    """

    fixed_MiB: float  # noqa: N815 - as printed
    per_token_MiB: float  # noqa: N815
    per_graph_MiB: float  # noqa: N815
    per_rank_MiB: float  # noqa: N815
    least_MiB: float  # noqa: N815
    least_above_GiB: float  # noqa: N815


class MemoryRule(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's rule as engine_memory.toml has it, which says what each of them is."""

    before: str = ""
    of: ShareOf
    share: float = 0.0
    shares_by_tp: dict[str, float] = {}
    tower_share: float = 1.0
    reserve: Reserve | None = None
    sampler: str = ""
    logits: dict[str, float] = {}
    sure: bool = True
    experts: Literal["added", "inside", "none"] = "none"
    graphs_GiB: float = 0.0  # noqa: N815 - as printed
    own_GiB: float = 0.0  # noqa: N815
    own_nvlink_GiB: float = 0.0  # noqa: N815
    own_pcie_GiB: float = 0.0  # noqa: N815
    own_amd_GiB: float = 0.0  # noqa: N815
    own_pp_GiB: float = 0.0  # noqa: N815
    fixed_GiB: float = 0.0  # noqa: N815
    tower_GiB: float = 0.0  # noqa: N815
    page: int = 1
    page_latent: int = 1
    states: int = 1
    narrow_states: tuple[str, ...] = ()
    windows: bool = True
    printed: Literal["", "blocks", "concurrency"] = ""
    rope: bool = False
    table_on_host: bool = False
    ubatch: int | None = None
    doubt_GiB: float  # noqa: N815
    doubt_linked_GiB: float  # noqa: N815
    doubt_unified_GiB: float  # noqa: N815


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    source: str
    read: str
    log: str
    years: dict[str, str] = {}
    rule: tuple[MemoryRule, ...]


class EngineMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The rule of an engine's version; log: the line of its log that prints the pool."""

    engine: str
    rule: MemoryRule
    source: str
    log: str


@functools.cache
def engine_memory(engine: str, version: str | None) -> EngineMemory | None:
    """The rule of an engine (an id) in a version, unknown: the newest; None where the engine's habits are not known.

    Check: vllm 0.12.0 -> share 0.9; vllm blank -> 0.92.
    """
    entry = _entries().get(engine)
    if entry is None:
        return None
    given = _parts(version, entry.years)
    held = (one for one in entry.rule if one.before and given is not None and given < _parts(one.before, {}))  # type: ignore[operator]
    return EngineMemory(engine=engine, rule=next(held, entry.rule[-1]), source=entry.source, log=entry.log)


@functools.cache
def _entries() -> dict[str, _Entry]:
    found = msgspec.convert(tables.read(Path(__file__).parent / "engine_memory.toml")["engine"], list[_Entry])
    return {one.id: one for one in found}


def _parts(version: str | None, years: dict[str, str]) -> tuple[int, ...] | None:
    """A version as numbers; a year as the version that stands for it. None where that cannot be told, or is newer."""
    if not version:
        return None
    if found := _YEAR.search(version):
        stands = years.get(found[1])
        return None if stands is None else _parts(stands, {})
    found = _NUMBERS.match(version.strip())
    return None if found is None else tuple(map(int, found[1].split(".")))
