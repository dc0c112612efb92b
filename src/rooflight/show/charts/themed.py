"""Pictures of a page in both modes at once: colours are names that the page's style sheet fills in."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.show.charts.theme import DARK, LIGHT, Look, Palette


class Themed(Look, frozen=True):
    """A look whose colours are the page's variables, light or dark as the reader's system says, also while open."""

    @property
    def palette(self) -> Palette:
        """The names of the colours, in place of colours."""
        return _NAMES


def _named(light: Palette, dark: Palette) -> Palette:
    """Each colour by the name of its variable; what is no colour, in the middle between the modes."""
    filled: dict[str, Any] = {}
    for name in Palette.__struct_fields__:
        one, other = getattr(light, name), getattr(dark, name)
        if isinstance(one, dict):
            filled[name] = {key: f"var({_variable(name, key)})" for key in one}
        else:
            filled[name] = f"var({_variable(name)})" if isinstance(one, str) else (one + other) / 2
    return msgspec.structs.replace(light, **filled)


def _variable(name: str, key: str = "") -> str:
    return f"--{name}-{key}" if key else f"--{name}"


_NAMES = _named(LIGHT, DARK)


def variables(palette: Palette) -> str:
    """The declarations of a mode's colours for a style sheet."""
    said = []
    for name in Palette.__struct_fields__:
        value = getattr(palette, name)
        if isinstance(value, dict):
            said += [f"{_variable(name, key)}:{colour}" for key, colour in value.items()]
        elif isinstance(value, str):
            said.append(f"{_variable(name)}:{value}")
    return ";".join(said)


def style() -> str:
    """Rules that fill in the colours: light, dark where the reader prefers it, and light on paper."""
    return (
        f":root{{{variables(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}\n"
        f"{''.join(f'.hue-{number}{{background:var(--hues-{number})}}' for number in LIGHT.hues if number.isdigit())}\n"
    )
