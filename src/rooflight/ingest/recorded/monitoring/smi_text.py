"""The long text of nvidia-smi -q: names and values by indented sections, GPU after GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rooflight.ingest.recorded.monitoring.columns import SECTIONS, amount, slowed
from rooflight.ingest.recorded.monitoring.smi_rows import made, time_of
from rooflight.values.recorded import Watched

BEGIN = "NVSMI LOG"
_GPU = re.compile(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\s*$")
_REASONS = ("clocks event reasons", "clocks throttle reasons")


class Asked:
    """One answer of nvidia-smi -q, line by line."""

    def __init__(self) -> None:
        self.start: str | None = None
        self.cards: list[_Card] = []
        self._path: list[tuple[int, str]] = []

    def take(self, line: str) -> None:
        """One line of it."""
        if _GPU.match(line):
            self.cards.append(_Card())
            self._path = []
            return
        name, colon, value = line.partition(" : ")
        indent = len(line) - len(line.lstrip())
        name = name.strip().lower()
        while self._path and self._path[-1][0] >= indent:
            self._path.pop()
        if not self.cards:
            if name == "timestamp":
                self.start = time_of(value)
            return
        if name:
            self.cards[-1].take([one for _, one in self._path], name, value.strip() if colon else "")
            if len(self._path) < 32:
                self._path.append((indent, name))

    def watched(self) -> Iterator[Watched]:
        """Its GPUs, counted as nvidia-smi does."""
        for index, card in enumerate(self.cards):
            yield made(str(index), card.values, device=card.device, start=self.start, throttled=slowed(card.reasons))


class _Card:
    """A GPU of it."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.reasons: dict[str, str] = {}
        self.device: str | None = None

    def take(self, path: list[str], name: str, value: str) -> None:
        """One name with its value; path: the sections it stands in."""
        if any(one.startswith("mig device") for one in path) or not value:
            return
        if not path and name == "product name":
            self.device = value
        elif path and path[0] in _REASONS:
            self.reasons[name.replace(" ", "_")] = value
        elif path:
            column = SECTIONS.get((path[-1], name)) or SECTIONS.get((path[0], name))
            if column is not None and column.field not in self.values:
                found = amount(value, column.unit)
                if found is not None:
                    self.values[column.field] = found


def asked(lines: Iterable[str]) -> tuple[Watched, ...]:
    """The GPUs of one answer."""
    found = Asked()
    for line in lines:
        found.take(line)
    return tuple(found.watched())
