"""What is to be said, as data: a sentence is made of it only where it is shown (words)."""

from __future__ import annotations

from typing import Any

import msgspec


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """An assumption, a warning, a move, a reason: what there is to say of it.

    key     what it is about: a field of the question ("batch", "kv_cache"), a part of the machine or model ("clock",
            "routing"), a kind of move; words.notes and words.moves list them with what their `value` holds
    value   what was taken, in base units; a tuple where it takes several
    why     where it comes from: "default", a family, an accelerator's id ...; "" where the key says it
    """

    key: str
    value: Any = None
    why: str = ""
