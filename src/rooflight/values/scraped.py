"""A /metrics text, as series."""

from __future__ import annotations

import msgspec

from rooflight.values.shown import Part


class Series(msgspec.Struct, frozen=True):
    """One value of a scrape: its name as exported, its labels."""

    name: str
    labels: dict[str, str]
    value: float


class Scrape(Part, msgspec.Struct, frozen=True, kw_only=True):
    """The series of a /metrics text that are known by name; two of one process have a difference.

    time_s      since 1970, where the text has times
    """

    brief = ("time_s",)

    series: tuple[Series, ...] = ()
    time_s: float | None = None
