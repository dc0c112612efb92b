"""Out of Vega-Lite: SVG, PNG and HTML by vl-convert, without a browser and without a network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rooflight.errors import BadInput, MissingExtra

_INSTALL = "pip install 'rooflight[charts]'"


def altair() -> Any:
    """The altair module; raises MissingExtra."""
    try:
        import altair
    except ImportError:
        raise _missing("altair") from None
    return altair


def converter() -> Any:
    """The vl_convert module; raises MissingExtra."""
    try:
        import vl_convert
    except ImportError:
        raise _missing("vl-convert-python") from None
    return vl_convert


def _missing(package: str) -> MissingExtra:
    return MissingExtra(
        f"charts need {package}, which is not installed",
        where="charts",
        got="an installation without the extra `charts`",
        want="altair and vl-convert-python",
        try_this=_INSTALL,
    )


def unknown_ending(ending: str, endings: Sequence[str]) -> BadInput:
    """The error for a file that no chart can be written to."""
    return BadInput(
        "a chart has no such form", where="the file's ending", got=ending or "none", want=", ".join(endings)
    )


def version(spec: dict[str, Any]) -> str:
    """Vega-Lite's, as the document names it: 6.4."""
    found = re.search(r"/v(\d+\.\d+)", spec["$schema"])
    if found is None:
        raise BadInput(
            "the chart names no Vega-Lite version", where="$schema", got=spec["$schema"], want="vega-lite/v6.4"
        )
    return found[1]


def mime(spec: dict[str, Any]) -> str:
    """The media type that notebooks know the document by."""
    return f"application/vnd.vegalite.v{version(spec).partition('.')[0]}+json"


def svg(spec: dict[str, Any]) -> str:
    """The document drawn as SVG. Nothing is fetched."""
    drawn: str = converter().vegalite_to_svg(spec, vl_version=version(spec), allowed_base_urls=[])
    return drawn


def png(spec: dict[str, Any], scale: float) -> bytes:
    """The document drawn as PNG. Nothing is fetched."""
    drawn: bytes = converter().vegalite_to_png(spec, vl_version=version(spec), scale=scale, allowed_base_urls=[])
    return drawn
