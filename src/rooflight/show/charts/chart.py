"""A chart as a value: a Vega-Lite document that shows and saves itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from rooflight.show.charts import export, page

ENDINGS = (".svg", ".png", ".html")


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A picture and its words. All numbers are in `spec["datasets"]`, by name, so that a page can swap them.

    kind        roofline, batch, waterfall ...
    title       the answer, one sentence
    notes       what stands below: how to read it, where the figures are from
    """

    kind: str
    title: str
    notes: tuple[str, ...]
    spec: dict[str, Any]

    @property
    def datasets(self) -> dict[str, list[dict[str, Any]]]:
        """The rows that are drawn, by name."""
        rows: dict[str, list[dict[str, Any]]] = self.spec["datasets"]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite document."""
        return self.spec

    def svg(self) -> str:
        """The picture as SVG text. Raises MissingExtra without vl-convert."""
        return export.svg(self.spec)

    def png(self, *, scale: float = 2) -> bytes:
        """The picture as PNG, `scale` pixels to a px."""
        return export.png(self.spec, scale)

    def html(self) -> str:
        """One page that needs no network."""
        return page.single(self.spec, self.title)

    def save(self, path: str | Path) -> None:
        """Write it in the form the ending says. Raises BadInput for another ending."""
        Path(path).write_bytes(self.encoded(Path(path).suffix.lower()))

    def encoded(self, ending: str) -> bytes:
        """What a file with that ending holds. Raises BadInput where charts have no such form."""
        if ending == ".png":
            return self.png()
        if ending == ".svg":
            return self.svg().encode()
        if ending == ".html":
            return self.html().encode()
        raise export.unknown_ending(ending, ENDINGS)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: Vega where it is known, else SVG, else the sentence."""
        return {export.mime(self.spec): self.spec, "image/svg+xml": self.svg(), "text/plain": self.title}
