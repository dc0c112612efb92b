"""A chart as a value: a Vega-Lite document that shows and saves itself."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec

from rooflight.show import html
from rooflight.show.charts import export, page
from rooflight.show.charts.alt import alt_text, described_png, titled_svg

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

    @property
    def alt(self) -> str:
        """What it says, for whoever does not see it: the title, and the sentence below it."""
        return alt_text(self.spec, self.title)

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite document."""
        return self.spec

    def svg(self) -> str:
        """The picture as SVG text, its alternative text in its title. Raises MissingExtra without vl-convert."""
        return titled_svg(export.svg(self.spec), self.alt)

    def png(self, *, scale: float = 2) -> bytes:
        """The picture as PNG, `scale` pixels to a px, its alternative text in its Description."""
        return described_png(export.png(self.spec, scale), self.alt)

    def html(self) -> str:
        """One page that needs no network."""
        return page.single(self.spec, self.title, self.alt)

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

    @property
    def image(self) -> str:
        """The picture as an element of HTML, alone and whole."""
        drawn = base64.b64encode(self.svg().encode()).decode()
        return html.figure(f"data:image/svg+xml;base64,{drawn}", self.alt)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: HTML with the picture and its alternative text, where it is known Vega, else SVG, else
        the sentence."""
        return {
            export.mime(self.spec): {**self.spec, "description": self.alt},
            "text/html": self.image, "image/svg+xml": self.svg(), "text/plain": self.title,
        }  # fmt: skip
