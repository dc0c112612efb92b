"""A question as a query string: only what differs from the default, and the version that the defaults are of.

`v=1.2.3&c=h100-sxm,h200-sxm&b=64` is 64 sequences on two cards. Pasted configs are not in it: the page keeps them in
the part of its address behind the #, which never reaches a server. A machine's file is in none: the page alone has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pydantic import ValidationError

from rooflight import __version__
from rooflight.studio.question import MACHINE, Change, Question
from rooflight.values.question import FIELDS

LONGEST = 4000
# Field -> its key in the query: a short one, else its name.
_SHORT = {
    "model": "m", "cards": "c", "focus": "f", "weights": "w", "kv_cache": "kv", "attention": "a", "tp": "tp",
    "batch": "b", "isl": "isl", "osl": "osl", "context": "ctx", "ignore_capacity": "all", "bandwidth_times": "bw",
    "peak_times": "pk",
}  # fmt: skip
KEYS = {**_SHORT, **{name: name for name in FIELDS if name not in _SHORT}}
_FIELDS = {key: field for field, key in KEYS.items()}
_BEFORE = "was."
# Keys of the page alone (which phase and operator are open, levels of memory as roofs); passed through by the page,
# unknown to a question.
VIEW_KEYS = ("ph", "op", "q", "lv")


def query_of(question: Question) -> str:
    """The short form, without a leading "?"."""
    pairs = [("v", __version__)]
    for field, key in KEYS.items():
        value = _addressed(question, field)
        if value != Question.model_fields[field].default:
            pairs.append((key, _written(value)))
    if question.before is not None:
        changed = question.before.model_dump(exclude_none=True)
        pairs += [(_BEFORE + key, _written(changed[field])) for field, key in KEYS.items() if field in changed]
    return urlencode(pairs, safe="/,:")


def _addressed(question: Question, field: str) -> Any:
    """A field as an address can have it: without the machine that is on the page alone."""
    if MACHINE in question.cards and field in ("cards", "focus"):
        known = [name for name in question.cards if name != MACHINE]
        return 0 if field == "focus" else known or Question.model_fields["cards"].default
    return getattr(question, field)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        return ",".join(value)
    short = f"{value:.6g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def read_query(query: str) -> tuple[Question, list[str]]:
    """The question a query string holds, and in words what of it could not be read (that stays at its default)."""
    said: list[str] = []
    fields: dict[str, Any] = {}
    before: dict[str, Any] = {}
    for key, text in parse_qsl(query[:LONGEST].removeprefix("?"), max_num_fields=None):
        if key == "v":
            said += _other_version(text)
        elif key in _FIELDS:
            fields[_FIELDS[key]] = _value(_FIELDS[key], text)
        elif key.startswith(_BEFORE) and _FIELDS.get(key.removeprefix(_BEFORE)) in Change.model_fields:
            field = _FIELDS[key.removeprefix(_BEFORE)]
            before[field] = _value(field, text)
        elif key not in VIEW_KEYS:
            said.append(f"the address has a part {key[:20]!r} that this version does not know")
    fields = _valid(Question, fields, said)
    changed = _valid(Change, before, said)
    question = Question(**fields, before=Change(**changed) if changed else None)
    return question, said


def _value(field: str, text: str) -> Any:
    return text.split(",") if field == "cards" else text


def _valid(kind: type[Question] | type[Change], fields: Mapping[str, Any], said: list[str]) -> dict[str, Any]:
    """The fields that hold; what is wrong with the others is said."""
    kept = dict(fields)
    try:
        return kind(**kept).model_dump(include=set(kept))
    except ValidationError as error:
        for one in error.errors():
            field = str(one["loc"][0])
            kept.pop(field, None)
            said.append(f"the address asks for {KEYS[field]}={str(fields[field])[:40]!r}: {one['msg']}")
    return kind(**kept).model_dump(include=set(kept))


def _other_version(text: str) -> list[str]:
    if text == __version__:
        return []
    return [f"this address was made with rooflight {text[:20]}; this is {__version__}, and figures may differ"]
