"""Names for shell completion. Ids come from file names or an index; nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def models(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Model ids that contain what was typed, then files."""
    from rooflight.catalog.models import ids

    typed = incomplete.lower()
    found = [CompletionItem(name) for name in ids() if typed in name.lower()]
    return [*found, CompletionItem(incomplete, type="file")]


def accelerators(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Accelerator ids, and `this`, after a count and after commas: 8xh1 -> 8xh100-sxm."""
    from rooflight.catalog.accelerators import ids
    from rooflight.catalog.this import THIS

    before, comma, last = incomplete.rpartition(",")
    count, times, _ = last.partition("x")
    front = f"{count}x" if times and count.isdigit() else ""
    return _starting((*ids(), THIS), last.removeprefix(front), f"{before}{comma}{front}")


def formats(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Number formats, after commas too."""
    from rooflight.values.formats import FORMATS

    before, comma, last = incomplete.rpartition(",")
    return _starting(FORMATS, last, before + comma)


def terms(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Terms that `explain` knows, and what tools call them."""
    from rooflight.words.terms import terms as known

    typed = incomplete.lower()
    names = [one.name for one in known()]
    others = [alias for one in known() for alias in one.aliases if " " not in alias]
    return _starting(names, typed, "") or [CompletionItem(name) for name in others if name.lower().startswith(typed)]


def _starting(names: Iterable[str], typed: str, front: str) -> list[CompletionItem]:
    return [CompletionItem(front + name) for name in names if name.startswith(typed.lower())]
