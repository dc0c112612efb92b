"""The hues of the charts as variables of the page's style sheets: one palette for both."""

from __future__ import annotations

import functools

from rooflight.show.charts.theme import DARK, LIGHT, Palette


@functools.cache
def style() -> str:
    """Both modes: --memory, --host-memory, --series-1 ..."""
    return (
        f":root {{ {_variables(LIGHT)} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n"
    )


def _variables(palette: Palette) -> str:
    named = {f"series-{name}" if name.isdigit() else name.replace("_", "-"): hue for name, hue in palette.hues.items()}
    return " ".join(f"--{name}: {hue};" for name, hue in named.items() if name != "ink")
