"""Images and sound of a question, as a model sees them: how many tokens they make, and what is encoded."""

from __future__ import annotations

import math

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.numeric import is_plain
from rooflight.values.field import image_sizes
from rooflight.values.model import Encoding, Model, Processor, Tower, View
from rooflight.values.workload import Workload
from rooflight.work.count import has_source
from rooflight.work.media import IMAGES, SOUNDS, WINDOW_S, merged_patches

# Sides of an image that Qwen2-VL's processor and those after it take at most, the longer over the shorter: smart_resize
# in transformers, qwen2_vl/image_processing_qwen2_vl.py.
_WIDEST = 200


def with_media(model: Model, workload: Workload) -> tuple[tuple[Encoding, ...], Workload]:
    """What is encoded of each prompt, and the workload whose isl counts the tokens it makes. Raises BadInput.

    Of a workload that was filled before, the tokens then are replaced.
    """
    if workload.images is None and workload.audio_seconds is None and not workload.media_tokens:
        return (), workload
    if _is_of_sound(model):
        _check_window(model, workload)
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
    for _, width, height in image_sizes(workload.images) or () if rule is merged_patches else ():
        if max(width, height) > _WIDEST * min(width, height):
            raise BadInput(
                f"the processor of {model.id} takes no image that is over {_WIDEST} times as long as wide",
                where=Named.of("images"), got=f"{width} x {height}",
                want="width x height in pixels; a number in front is how many: 2x640x480",
            )  # fmt: skip
    views = (
        msgspec.structs.replace(rule(height, width, how), count=count)
        for count, width, height in image_sizes(workload.images) or ()
    )
    return _encoding(tower, tuple(views))


def _sound(model: Model, workload: Workload) -> Encoding | None:
    if workload.audio_seconds is None or _is_of_sound(model):
        return None
    tower, how = _tower(model, "audio", "audio_seconds", workload.audio_seconds)
    return _encoding(tower, (SOUNDS[how.kind](workload.audio_seconds, how),))


def _is_of_sound(model: Model) -> bool:
    """Whether the model's own encoder reads sound (Whisper): convolutions make its positions of frames."""
    return has_source(model) and any(layer.passes == "source" and layer.rows > 1 for layer in model.layers)


def _check_window(model: Model, workload: Workload) -> None:
    """Refuse what is no window of sound: each is padded to the positions that isl then counts. Raises BadInput."""
    seconds, isl = workload.audio_seconds, workload.isl
    if seconds is None:
        return
    windows = math.ceil(seconds / WINDOW_S)
    if windows > 1:
        raise BadInput(
            f"a prompt of {model.id} is a window of {WINDOW_S} s of sound, and longer sound is several prompts",
            where=Named.of("audio_seconds"), got=f"{seconds:g} s, {windows:,} windows",
            want=f"{WINDOW_S} s at most: shorter sound is padded",
            try_this=Named(f"{{audio_seconds}} {WINDOW_S} {{batch}} {windows}"),
        )  # fmt: skip
    if not is_plain(isl) or isl != model.max_source:
        raise BadInput(
            f"a window of sound is {model.max_source:,} positions of {model.id}'s encoder, whatever else is said",
            where=Named.of("isl"), got="other lengths" if not is_plain(isl) else f"{isl:,}",
            want=Named("{isl} or {audio_seconds}, not both"),
        )  # fmt: skip


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
