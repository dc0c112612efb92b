"""The plan of formats that a checkpoint's quantisation section comes to, and what reading any method of it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from rooflight.catalog.config.expressions import Unreadable
from rooflight.catalog.config.fields import MOST_ENTRIES, Config, shown
from rooflight.catalog.config.patterns import checked, is_wild
from rooflight.errors import BadConfig, Named, UnknownName

SECTIONS = ("quantization_config", "compression_config")
MLX_SECTION = "quantization"
EXCLUSION_KEYS = (
    "modules_to_not_convert",
    "ignore",
    "exclude_modules",
    "ignored_layers",
    "exclude",
    "llm_int8_skip_modules",
    "skip_modules",
)
MOST_WILD = 1_000
_MOST_SAID = 3


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Formats and where they go.

    base            the format of every matrix not spoken of otherwise, None: stays wide
    listed          (pattern, format) of modules named one by one or by pattern; these win over base
    excluded        patterns of modules that stay wide
    experts_only    base is for routed experts
    experts         a format of its own for routed experts
    head            base is for the output head too; head_format: or a format of its own
    whole           base is for tables, head and router too (MLX), where a group divides the rows;
                    table: or a format of its own for the input tables, "wide" among them
    """

    base: str | None = None
    listed: tuple[tuple[str, str], ...] = ()
    excluded: tuple[str, ...] = ()
    experts_only: bool = False
    experts: str | None = None
    head: bool = False
    head_format: str | None = None
    whole: bool = False
    table: str | None = None
    kv_format: str | None = None


def exclusions(section: Config) -> tuple[str, ...]:
    """Patterns of modules left wide, from whichever key the method uses. Raises BadConfig."""
    found: list[str] = []
    for key in EXCLUSION_KEYS:
        found.extend(readable(section, key, texts(section, key)))
    return tuple(dict.fromkeys(found))


def texts(section: Config, key: str) -> list[str]:
    """A list of module names or patterns, empty where there is none. Raises BadConfig."""
    return section.items(key, of="name") or []


def readable(section: Config, key: str, patterns: Iterable[str]) -> list[str]:
    """The patterns that can be matched; of the others the first few are said. Raises BadConfig for too many."""
    given = list(patterns)
    for what, count, most in (
        ("modules", len(given), MOST_ENTRIES),
        ("globs and expressions", sum(map(is_wild, given)), MOST_WILD),
    ):
        if count > most:
            raise BadConfig(
                f"{key} names too many {what}", where=section.at(key), got=f"{count:,} {what}",
                want=f"at most {most:,}", try_this="say the same in fewer: one pattern for all layers or experts",
            )  # fmt: skip
    kept, odd = [], 0
    for pattern in given:
        try:
            checked(pattern)
        except Unreadable as error:
            odd += 1
            if odd <= _MOST_SAID:
                shown = pattern if len(pattern) <= 60 else pattern[:57] + "..."
                section.warn(f"{section.at(key)}: the expression {shown!r} is passed over: {error}")
        else:
            kept.append(pattern)
    if odd > _MOST_SAID:
        section.warn(f"{section.at(key)}: {odd - _MOST_SAID} more expressions are passed over")
    return kept


def group_of(section: Config, *keys: str, default: int | None = None) -> int | None:
    """How many elements share a scale; None for -1 (the whole row) and for silence. Raises BadConfig."""
    if not section.has(*keys):
        return default
    size: int = section.integer(*keys, at_least=-1)
    if size == 0:
        raise section.bad(next(key for key in keys if section.has(key)), 0, "a positive whole number, or -1 for none")
    return size if size > 0 else None


def inner(section: Config, path: str, value: Any) -> Config:
    """An object below a section, under the name errors give it. Raises BadConfig."""
    if not isinstance(value, Mapping):
        raise section.bad(path, value, "an object")
    return Config(value, origin=section.origin, path=f"{section.path}{path}.", parent=section)


def unknown(section: Config, key: str, value: object) -> UnknownName:
    """The error for a method or scheme nobody reads."""
    return UnknownName(
        f"the quantisation {value!r} is not known to rooflight",
        where=section.at(key),
        got=value if isinstance(value, str) else shown(value),
        want="fp8, modelopt, compressed-tensors, gptq, awq, auto-round, hqq, bitsandbytes, mxfp4, quark, torchao, exl2,"
        " exl3, fbgemm_fp8",
        try_this=Named("remove quantization_config and say the stored format with {weights}"),
    )
