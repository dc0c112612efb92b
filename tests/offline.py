"""The blocks of an offline page read back in Python, as explore.js reads them."""

from __future__ import annotations

import base64
import json
import re
import zlib


def inflated(page: str, name: str) -> str:
    """A block of the page: base64 of a raw deflate stream."""
    held = re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', page)[1]
    return zlib.decompress(base64.b64decode(held), wbits=-15).decode()


class Tables:
    """The tables of a page, and rows of them."""

    def __init__(self, page: str) -> None:
        self.data = json.loads(inflated(page, "tables"))
        self.batches, self.contexts = self.data["batches"], self.data["contexts"]

    def point(self, batch: int, context: int) -> int:
        return self.batches.index(batch) * len(self.contexts) + self.contexts.index(context)

    @property
    def asked(self) -> int:
        """Behind the grid: every scenario as it was asked."""
        return len(self.batches) * len(self.contexts)

    def rows(self, table: dict, point: int) -> list[dict]:
        which = table["at"][point] if "at" in table else point
        counts = table["rows"]
        first, count = (which * counts, counts) if isinstance(counts, int) else (sum(counts[:which]), counts[which])
        return [
            {name: self._value(column, place) for name, column in table["fields"].items()}
            for place in range(first, first + count)
        ]

    def _value(self, column: list | dict, place: int) -> object:
        if isinstance(column, list):
            return column[place]
        if "all" in column:
            return column["all"]
        number = column["of"][place]
        return None if number is None else self.data["strings"][number]

    def together(self, dataset: str, point: int, look: str = "both", chart: str = "roofline-chart") -> list[dict]:
        return self.rows(self.data["together"][chart][look][dataset], point)

    def each(self, scenario: int, chart: str, dataset: str, point: int) -> list[dict]:
        return self.rows(self.data["each"][scenario]["charts"][chart]["both"][dataset], point)

    def said(self, scenario: int, what: str, point: int) -> list[dict]:
        """words, run or operators."""
        return self.rows(self.data["each"][scenario][what], point)
