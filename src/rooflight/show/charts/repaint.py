"""A drawn document in both modes at once: its colours become variables that a style sheet fills in as the reader's
system says, also while the page is open."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rooflight.show.charts.theme import DARK, LIGHT, Palette

# A colour in quotes, as Vega's expressions have it.
_IN_EXPRESSIONS = re.compile(r"'(#[0-9a-f]{6})'")


class Repainted(msgspec.Struct, frozen=True, kw_only=True):
    """The document with variables for colours, and the rules that fill them in."""

    spec: dict[str, Any]
    style: str


def repainted(spec: dict[str, Any]) -> Repainted:
    """A document of either mode for both."""
    dark = spec["config"]["background"] == DARK.paper
    pairs = partners(*((DARK, LIGHT) if dark else (LIGHT, DARK)))
    light = {_variable(own): other if dark else own for own, other in pairs.items()}
    night = {_variable(own): own if dark else other for own, other in pairs.items()}
    washes = (DARK if dark else LIGHT).wash, (LIGHT.wash + DARK.wash) / 2
    drawn = {name: part if name == "datasets" else _painted(part, pairs, washes) for name, part in spec.items()}
    rules = (
        f":root{{color-scheme:light dark;{_declared(light)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_declared(night)}}}}}"
    )
    return Repainted(spec=drawn, style=rules)


def partners(own: Palette, other: Palette) -> dict[str, str]:
    """Each colour of a palette with that of the other one."""
    found: dict[str, str] = {}
    for name in Palette.__struct_fields__:
        one, two = getattr(own, name), getattr(other, name)
        if isinstance(one, dict):
            found |= {colour: two[key] for key, colour in one.items()}
        elif isinstance(one, str):
            found[one] = two
    return found


def variable(colour: str) -> str:
    """The value that stands for a colour: var(--c-1a1a1a)."""
    return f"var({_variable(colour)})"


def _variable(colour: str) -> str:
    return f"--c-{colour.removeprefix('#')}"


def _declared(values: dict[str, str]) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in values.items())


def _painted(part: Any, pairs: dict[str, str], washes: tuple[float, float], key: str = "") -> Any:
    """The part of a document, its colours by name; what is washed, in the middle between the modes."""
    if isinstance(part, dict):
        return {name: _painted(one, pairs, washes, name) for name, one in part.items()}
    if isinstance(part, list):
        return [_painted(one, pairs, washes, key) for one in part]
    if isinstance(part, str):
        whole = variable(part) if part in pairs else part
        return _IN_EXPRESSIONS.sub(lambda one: f"'{variable(one[1])}'" if one[1] in pairs else one[0], whole)
    return washes[1] if key == "opacity" and part == washes[0] else part
