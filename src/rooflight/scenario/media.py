"""Images and sound of a question, as a model sees them: how many tokens they make, and what is encoded."""

from __future__ import annotations

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.field import image_sizes
from rooflight.values.model import Encoding, Model, Processor, Tower, View
from rooflight.values.workload import Workload
from rooflight.work.media import IMAGES, SOUNDS, WINDOW_POSITIONS, WINDOW_S


def with_media(model: Model, workload: Workload) -> tuple[tuple[Encoding, ...], Workload]:
    """What is encoded of each prompt, and the workload whose isl counts the tokens it makes. Raises BadInput.

    Of a workload that was filled before, the tokens then are replaced.
    """
    if workload.images is None and workload.audio_seconds is None and not workload.media_tokens:
        return (), workload
    found = tuple(one for one in (_images(model, workload), _sound(model, workload)) if one is not None)
    tokens = sum(view.count * view.tokens for one in found for view in one.views)
    before = workload.media_tokens or 0
    if tokens != before:
        workload = msgspec.structs.replace(workload, isl=workload.isl - before + tokens, media_tokens=tokens or None)
    return found, workload


def _images(model: Model, workload: Workload) -> Encoding | None:
    if workload.images is None:
        return None
    tower, how = _tower(model, "vision", "images", workload.images)
    rule = IMAGES[how.kind]
    views = (
        msgspec.structs.replace(rule(height, width, how), count=count)
        for count, width, height in image_sizes(workload.images) or ()
    )
    return _encoding(tower, tuple(views))


def _sound(model: Model, workload: Workload) -> Encoding | None:
    if workload.audio_seconds is None:
        return None
    tower, how = _tower(model, "audio", "audio_seconds", workload.audio_seconds)
    return _encoding(tower, (SOUNDS[how.kind](workload.audio_seconds, how),))


def _encoding(tower: Tower, views: tuple[View, ...]) -> Encoding:
    assert tower.encoder is not None
    return Encoding(name=tower.name, format=tower.format, encoder=tower.encoder, views=views)


def _tower(model: Model, name: str, field: str, got: object) -> tuple[Tower, Processor]:
    """The tower whose inputs a rule is known for. Raises BadInput where the model has none, or nobody read it."""
    towers = [tower for tower in model.towers if tower.name == name]
    for tower in towers:
        if tower.encoder is not None and tower.processor is not None:
            return tower, tower.processor
    what = "images" if name == "vision" else "sound"
    if name == "audio" and model.type == "whisper":
        raise BadInput(
            f"sound is what {model.id} has as its input tokens: a window of {WINDOW_S} s, {WINDOW_POSITIONS:,} of them",
            where=Named.of(field), got=got, want="longer sound as several requests", try_this=Named("no {isl} at all"),
        )  # fmt: skip
    if towers:
        raise BadInput(
            f"how many tokens {model.id} makes of {what} is not known here: no rule for its processor was read",
            where=Named.of(field), got=got, want="a model whose rule is listed in docs/models.md",
            try_this=Named("{isl} with those tokens counted in it; the encoder's own work is then left out"),
        )  # fmt: skip
    raise BadInput(
        f"{model.id} has no {name} tower, so it takes no {what}", where=Named.of(field), got=got,
        want="a model that does", try_this=None,
    )  # fmt: skip
