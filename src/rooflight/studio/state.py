"""A page as a short query string: only what differs from the default, and the version that the defaults are of.

`v=1.2.3&c=4xh100-sxm&b=64&2.c=2xh200-sxm` is 64 sequences on two machines: keys of the first scenario stand alone,
those of others have its number in front and say what differs from the first ("2.w=": the default again). Pasted configs
are not in it: the page keeps them in the part of its address behind the #, which never reaches a server. A machine's
file, a GGUF header and samples are in none: the page alone has them.

Addresses of the first version are read too: several cards (`c=h100-sxm,h200-sxm`) are a scenario each, and what was
different before (`was.w=bf16`) is a scenario in front of that in focus.

What the page alone has is named in `own`, so that whoever opens the address is told.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ValidationError

from rooflight import __version__
from rooflight.studio.page import MOST_SCENARIOS, Page
from rooflight.studio.question import Question, is_own
from rooflight.values.question import FIELDS

LONGEST = 12_000  # characters of an address that are read
# Field -> its key in the query: a short one, else its name.
_SHORT = {
    "name": "n", "model": "m", "on": "c", "weights": "w", "kv_cache": "kv", "attention": "a", "tp": "tp",
    "batch": "b", "isl": "isl", "osl": "osl", "context": "ctx", "ignore_capacity": "all", "bandwidth_times": "bw",
    "peak_times": "pk", "usd_per_hour": "usd",
}  # fmt: skip
KEYS = {**_SHORT, **{name: name for name in FIELDS if name not in _SHORT}}
# Whole names are read too, as somebody writes them by hand.
_FIELDS = {**{name: name for name in KEYS}, **{key: field for field, key in KEYS.items()}}
# The same of the page as a whole.
PAGE_KEYS = {
    "focus": "f", "intensity": "ai", "tpot_slo_ms": "tpot_slo_ms", "ttft_slo_ms": "ttft_slo_ms", "levels": "lv",
}  # fmt: skip
_PAGE_FIELDS = {key: field for field, key in PAGE_KEYS.items()}
_BEFORE = "was."
# Of the first version: in the place of a default where that was what was different.
_AUTO = ("auto", "-1")
# Keys of the browser alone (which phase, operator and view are open); passed through by the page.
VIEW_KEYS = ("ph", "op", "q", "view")
_LONGEST_KEY = 40
# What no address carries, by the field that has it, and what then stands in its place.
_OWN = "own"
_LEFT = {
    "machine": "the file of its machine, in whose place {on} stands: drop the file here again",
    "gguf": "the header of its GGUF file, in whose place {model} stands: choose the file here again",
    "samples": "its timed kernels: drop their file here again",
}


def query_of(page: Page) -> str:
    """The short form, without a leading "?"."""
    pairs = [("v", __version__), *_pairs(_whole(page), PAGE_KEYS, _DEFAULT_PAGE, "")]
    first = _addressed(page.scenarios[0])
    pairs += _pairs(first, KEYS, _DEFAULT, "")
    for number, one in enumerate(page.scenarios[1:], 2):
        differs = list(_pairs(_addressed(one), KEYS, {**first, "name": ""}, f"{number}."))
        pairs += differs or [(f"{number}.{KEYS['on']}", first["on"])]
    left = [name for name in _LEFT if any(map(_has(name), (page, *page.scenarios)))]
    pairs += [(_OWN, ",".join(left))] if left else []
    return urlencode(pairs, safe="/,:")


_DEFAULT = Question().model_dump(include=set(KEYS))
_DEFAULT_PAGE = Page().model_dump(include=set(PAGE_KEYS))


def _whole(page: Page) -> dict[str, Any]:
    return {**page.model_dump(include=set(PAGE_KEYS)), "focus": page.shown}


def _addressed(question: Question) -> dict[str, Any]:
    """A scenario's fields as an address can have them: without the machine that is on the page alone."""
    found = question.model_dump(include=set(KEYS))
    return {**found, "on": _DEFAULT["on"]} if is_own(question.on) else found


def _pairs(
    values: Mapping[str, Any], keys: Mapping[str, str], than: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, str]]:
    """Keys and values, of those that are other than the ones given."""
    for field, key in keys.items():
        if values[field] != than[field]:
            yield prefix + key, _written(values[field])


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    short = f"{value:.6g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def read_query(query: str) -> tuple[Page, list[str]]:
    """The page a query string holds, and in words what of it could not be read (that stays at its default)."""
    said = ["the address is too long: its end is not read"] if len(query) > LONGEST else []
    whole: dict[str, Any] = {}
    fields: dict[int, dict[str, Any]] = {1: {}}
    before: dict[str, Any] = {}
    for key, text in parse_qsl(query[:LONGEST].removeprefix("?"), keep_blank_values=True):
        number, own = _numbered(key)
        if key == "v":
            said += _other_version(text)
        elif key == _OWN:
            said += _left_behind(text)
        elif key in _PAGE_FIELDS:
            whole[_PAGE_FIELDS[key]] = text
        elif own in _FIELDS and number is not None:
            fields.setdefault(number, {})[_FIELDS[own]] = text
        elif key.startswith(_BEFORE) and _FIELDS.get(key.removeprefix(_BEFORE)) in (*FIELDS, "model"):
            before[_FIELDS[key.removeprefix(_BEFORE)]] = text
        elif key not in VIEW_KEYS:
            said.append(f"the address has a part {key[:20]!r} that this version does not know{_near(own)}")
    state = _valid(Page, whole, said)
    return _page(state, _scenarios(fields, before, state.get("focus", 0), said)), said


def _has(name: str) -> Callable[[BaseModel], bool]:
    """Whether a page or a scenario has that; a machine also where its file is asked for still."""
    return lambda one: bool(
        getattr(one, name, None) or (name == "machine" and isinstance(one, Question) and is_own(one.on))
    )


def _left_behind(text: str) -> list[str]:
    """What of a page its address does not carry, in words."""
    names = [name for name in _LEFT if name in text.split(",")]
    return [f"the address does not carry {_LEFT[name].format_map(_DEFAULT)}" for name in names]


def _near(key: str) -> str:
    """The part that may have been meant."""
    near = difflib.get_close_matches(key[:_LONGEST_KEY], [*_FIELDS, *_PAGE_FIELDS], n=1)
    return f"; did you mean {near[0]}?" if near and near[0] != key else ""


def _numbered(key: str) -> tuple[int | None, str]:
    """The scenario that a key is of, and the key alone: 2.w -> (2, w); None where there are not so many."""
    number, point, own = key.partition(".")
    if not point:
        return 1, key
    return (int(number), own) if number in ("2", "3", "4") else (None, own)


def _page(state: Mapping[str, Any], scenarios: tuple[list[Question], int]) -> Page:
    questions, focus = scenarios
    return Page(**{**state, "focus": min(focus, len(questions) - 1), "scenarios": questions})


def _scenarios(
    fields: Mapping[int, dict[str, Any]], before: Mapping[str, Any], focus: int, said: list[str]
) -> tuple[list[Question], int]:
    """The scenarios, and which of them is in focus."""
    machines = fields[1].get("on", _DEFAULT["on"]).split(",")
    if len(machines) > 1 or before:
        return _of_before(fields[1], machines, before, focus, said)
    first = _question(fields[1], {}, said)
    numbers = range(2, max(fields) + 1)
    return [first, *(_question(fields.get(one, {}), first.model_dump(), said, f"{one}.") for one in numbers)], focus


def _of_before(
    fields: Mapping[str, Any], machines: list[str], before: Mapping[str, Any], focus: int, said: list[str]
) -> tuple[list[Question], int]:
    """Scenarios of an address as the first version wrote it: rates were those of the card in focus."""
    if len(machines) > MOST_SCENARIOS:
        said.append(f"the address names {len(machines)} machines: the first {MOST_SCENARIOS} are shown")
        machines = machines[:MOST_SCENARIOS]
    focus = min(focus, len(machines) - 1)
    own = ("bandwidth_times", "peak_times")
    others = {name: value for name, value in fields.items() if name not in own}
    found = [
        _question({**(fields if place == focus else others), "on": machine}, {}, said if place == focus else [])
        for place, machine in enumerate(machines)
    ]
    if not before:
        return found, focus
    changed = {name: "" if text in _AUTO else text for name, text in before.items()}
    earlier = _question({"name": "before", **changed}, found[focus].model_dump(), said, _BEFORE)
    found[focus] = found[focus].model_copy(update={"name": found[focus].name or "after"})
    if len(found) == MOST_SCENARIOS:
        said.append("the address compares four machines and a state before: one machine is left out")
        left_out = 0 if focus == MOST_SCENARIOS - 1 else MOST_SCENARIOS - 1
        del found[left_out]
        focus -= left_out < focus
    return [*found[:focus], earlier, *found[focus:]], focus + 1


def _question(fields: Mapping[str, Any], from_first: Mapping[str, Any], said: list[str], prefix: str = "") -> Question:
    """A scenario of its fields, over those of the first. Its name is its own."""
    kept = {name: value for name, value in from_first.items() if name != "name"}
    asked = {name: _DEFAULT[name] if text == "" else text for name, text in fields.items()}
    return Question(**{**kept, **_valid(Question, asked, said, prefix)})


def _valid(kind: type[BaseModel], fields: Mapping[str, Any], said: list[str], prefix: str = "") -> dict[str, Any]:
    """The fields that hold; what is wrong with the others is said."""
    kept = dict(fields)
    try:
        return kind(**kept).model_dump(include=set(kept))
    except ValidationError as error:
        for one in error.errors():
            field = str(one["loc"][0])
            kept.pop(field, None)
            key = {**KEYS, **PAGE_KEYS}[field]
            said.append(f"the address asks for {prefix}{key}={str(fields[field])[:40]!r}: {one['msg']}")
    return kind(**kept).model_dump(include=set(kept))


def _other_version(text: str) -> list[str]:
    if text == __version__:
        return []
    return [f"this address was made with rooflight {text[:20]}; this is {__version__}, and figures may differ"]
