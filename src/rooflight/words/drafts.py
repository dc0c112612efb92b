"""Sentences about speculative decoding and what drafts in it."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.units import scaled
from rooflight.values.note import Note

DRAFTS: dict[str, Callable[[Note], str]] = {
    # value: (chance, share of a decode step, None where what drafts is named)
    "acceptance": lambda note: (
        f"each drafted token is accepted with a chance of {note.value[0]:g}"
        + ("" if note.value[1] is None else f"; drafting it takes {note.value[1]:g} of a decode step")
    ),
    # value: tokens; why: "draft" where what drafts is named
    "verify": lambda note: (
        "verify: tok/s as if every drafted token were accepted; "
        + (
            f"the phase draft is one of the {note.value} draft steps before it, and runs count all of them"
            if note.why
            else "the draft model's own time is counted in runs alone"
        )
    ),
    # value: (parameters, bytes, format); why: what drafts
    "draft": lambda note: (
        f"{note.why} drafts on the same devices, one token of every sequence a step, one step after the other: "
        f"{note.value[0]:,} parameters of its own in {scaled(note.value[1], 'B')} ({note.value[2]}), its own KV cache "
        "in the format of the model's; prompts pass it too"
    ),
    # value: by how much intervals are wider
    "draft_unfitted": lambda note: (
        "no fit has seen a draft's steps: their kernels and launches are the engine's, its host time is the verify "
        f"step's, and expected intervals are {note.value:g} times wider at both ends"
    ),
    # value: layers; why: a model type whose layers no source describes
    "draft_layers": lambda note: (
        f"a draft step runs one of {note.value} layer{'s' * (note.value > 1)} for multi-token prediction: a matrix of "
        "2 x hidden by hidden, a layer in the shape and formats of the model's last one, and the model's own head"
        + (f"; taken for granted of {note.why}" if note.why else "")
    ),
    # value: tensor ranks of the model
    "draft_uncut": lambda note: (
        f"{note.why} cannot be cut over {note.value} devices: one of them drafts, and memory is reckoned as if each "
        "held it"
    ),
    # value: entries of the draft's vocabulary, and of the model's
    "draft_vocab": lambda note: (
        f"{note.why} has a vocabulary of {note.value[0]:,} and the model one of {note.value[1]:,}: engines may refuse "
        "the pair or translate between them, which is not counted"
    ),
}
