"""Words of a finding, which does not know what was named and read, with that put in; steps and notes as sentences."""

from __future__ import annotations

import re
import shlex

from msgspec.structs import replace

from rooflight.answers.diagnose.report import Findings
from rooflight.values.diagnosis import Next, Told
from rooflight.words.diagnosis.series import BOTH, NAMED, WITHOUT

# Files that a command lists; of more it says FILE.
_LISTED = 6
_PLAIN = re.compile(r"[a-z][a-z-]*[ ,]")


def completed(words: Told, found: Findings) -> Told:
    """The same words: which of model and accelerator is missing, the command with the files that were read."""
    return Told(
        answer=_missing(words.answer, found), evidence=words.evidence,
        next=tuple(step for one in words.next if (step := _step(one, found)) is not None),
        notes=tuple(sentence(_missing(note, found)) for note in words.notes),
    )  # fmt: skip


def sentence(text: str) -> str:
    """Begun with a capital, unless with a name or a key: "two points" -> "Two points", "batch=1 x" as it is."""
    return text[0].upper() + text[1:] if _PLAIN.match(text) else text


def _missing(text: str, found: Findings) -> str:
    at = found.setting
    if at.model is None and at.card is None:
        return text
    if at.model is not None and at.card is not None:
        return text.replace(WITHOUT, "without a prediction of what was measured")
    return text.replace(BOTH, "the accelerator" if at.card is None else "the model")


def _step(one: Next, found: Findings) -> Next | None:
    """None: what it asks for is named already."""
    what = sentence(_missing(one.what, found)).rstrip(".") + "."
    if one.command != NAMED:
        return replace(one, what=what)
    at = found.setting
    if at.model is not None and at.card is not None:
        return None
    named = "" if at.model is None else at.model.id
    card = "" if at.card is None else f"{at.count}x{at.card.id}" if (at.count or 1) > 1 else at.card.id
    command = f"rooflight diagnose {_files(found)} --model {named or 'MODEL'} --on {card or 'ACCELERATOR'}"
    return replace(one, what=what, command=command)


def _files(found: Findings) -> str:
    """The files and points as they were given."""
    said: list[str] = []
    for file in found.files:
        if file.format == "points":
            said += [f'--point "{record.name}"' for record in file.records]
        else:
            said.append(shlex.quote(file.file))
    live = any("://" in one or (one.startswith("-") and not one.startswith("--point")) for one in said)
    return " ".join(said) if said and len(said) <= _LISTED and not live else "FILE"
