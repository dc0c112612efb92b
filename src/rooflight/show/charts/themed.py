"""A picture in both modes at once: its colours are variables of the page, which a style sheet fills in as the reader's
system says, also while the page is open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rooflight.show.charts.theme import DARK, LIGHT, Palette

# A colour in quotes, as Vega's expressions have it.
_IN_EXPRESSIONS = re.compile(r"'(#[0-9a-f]{6})'")


def themed(spec: dict[str, Any]) -> dict[str, Any]:
    """The document of a picture, drawn in either mode, for both: variables in the place of its colours."""
    own = DARK if spec["config"]["background"] == DARK.paper else LIGHT
    names: dict[str, str] = {}
    for name, colour in _colours(own):
        names.setdefault(colour, f"var({name})")
    return {name: part if name == "datasets" else _painted(part, names, own.wash) for name, part in spec.items()}


def style() -> str:
    """Rules that fill in the colours: light, dark where the reader prefers it, and light on paper."""
    chips = "".join(f".hue-{number}{{background:var(--hues-{number})}}" for number in LIGHT.hues if number.isdigit())
    return (
        f":root{{color-scheme:light dark;{_declared(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_declared(DARK)}}}}}\n{chips}\n"
    )


def _colours(palette: Palette) -> Iterator[tuple[str, str]]:
    """Each colour behind the name of its variable: --ink, --hues-memory."""
    for name in Palette.__struct_fields__:
        value = getattr(palette, name)
        if isinstance(value, dict):
            yield from ((f"--{name}-{key}", colour) for key, colour in value.items())
        elif isinstance(value, str):
            yield f"--{name}", value


def _declared(palette: Palette) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in _colours(palette))


def _painted(part: Any, names: dict[str, str], wash: float, key: str = "") -> Any:
    """The part of a document, its colours by name; what is washed, in the middle between the modes."""
    if isinstance(part, dict):
        return {name: _painted(one, names, wash, name) for name, one in part.items()}
    if isinstance(part, list):
        return [_painted(one, names, wash, key) for one in part]
    if isinstance(part, str):
        whole = names.get(part, part)
        return _IN_EXPRESSIONS.sub(lambda one: f"'{names[one[1]]}'" if one[1] in names else one[0], whole)
    return (LIGHT.wash + DARK.wash) / 2 if key == "opacity" and part == wash else part
