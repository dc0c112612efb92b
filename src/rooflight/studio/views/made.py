"""Scenarios that a press makes: fields of the library's answers as the page's scenarios have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from pydantic import ValidationError

from rooflight.catalog import accelerators
from rooflight.catalog.changed import as_built
from rooflight.errors import RooflightError
from rooflight.show.blocks import Block, Prose
from rooflight.studio.answered import Answered
from rooflight.studio.page import Page
from rooflight.studio.question import LONGEST_NAME, MACHINE, Question, devices_of, is_own, scenario_of

_FORMATS = re.compile(r" ?--format [^.]*\.$")


def prices(page: Page) -> dict[str, float]:
    """Dollars an hour by accelerator id, as the page's scenarios have them, the one in focus before the others."""
    found: dict[str, float] = {}
    for one in (page.focused, *page.scenarios):
        if one.usd_per_hour is None:
            continue
        try:
            card = devices_of(one)[0]
        except RooflightError:
            continue
        found.setdefault(as_built(card)[0], one.usd_per_hour)
    return found


def made(focus: Answered, fields: Mapping[str, Any] | None, usd_per_hour: Mapping[str, float]) -> dict[str, Any] | None:
    """Fields of a page's scenario, changed from the one in focus; None where the page cannot ask it.

    An accelerator that no scenario of the page has a price of has none.
    """
    assert focus.scenario is not None
    if fields is None:
        return None
    found = dict(fields)
    if "on" in found:
        found |= _machine(found["on"], focus, usd_per_hour)
    try:
        after = Question.model_validate({**focus.question.model_dump(), **found})
        scenario_of(after)
    except (ValidationError, RooflightError):
        return None
    return {name: getattr(after, name) for name in found}


def _machine(on: str, focus: Answered, usd_per_hour: Mapping[str, float]) -> dict[str, Any]:
    """Another machine, or more of the same; that of a file goes by the page's name for it."""
    assert focus.scenario is not None
    count, card = accelerators.split_count(on)
    if card == as_built(focus.scenario.accelerator)[0]:
        return {"on": f"{count}x{MACHINE}"} if is_own(focus.question.on) else {"on": on}
    return {"on": on.removeprefix("1x"), "usd_per_hour": usd_per_hour.get(card)}


def paged(blocks: Iterable[Block]) -> list[Block]:
    """Blocks without what they say of the command line's other formats."""
    said = [msgspec.structs.replace(one, text=_FORMATS.sub("", one.text)) if isinstance(one, Prose) else one
            for one in blocks]  # fmt: skip
    return [one for one in said if not isinstance(one, Prose) or one.text]


def called(title: str) -> str:
    """A name for a scenario, of what it does."""
    return title if len(title) <= LONGEST_NAME else f"{title[: LONGEST_NAME - 1].rstrip()}…"
