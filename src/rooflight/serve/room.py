"""How the memory of a device is spent: what an engine may use, what it keeps, and what is left for sequences."""

from __future__ import annotations

import math

import msgspec

from rooflight.numeric import Number, maximum, minimum, where
from rooflight.scenario.definite import Scenario
from rooflight.scenario.pools import prefill_worker
from rooflight.scenario.share import Share
from rooflight.serve.held import (
    device_sequence_bytes,
    device_weight_bytes,
    draft_weight_bytes,
    engine_weight_bytes,
    held_bytes,
    sequence_tokens,
)
from rooflight.serve.hosted import device_cache_share, host_holds, host_sequences, hosted_weight_bytes
from rooflight.serve.working import activation_bytes, decode_row_bytes, own_bytes, row_bytes
from rooflight.work.count import is_encoder
from rooflight.work.places import stage_model


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """One device's memory, in bytes; every field may be an array.

    cache, row      what one more sequence takes: KV cache and state, and its row of working memory
    prompt          what one prompt holds once it is prefilled
    left            what weights, activations, engine and the withheld share leave for sequences
    relaxed         0: the share as stated or by default; 1: all of it, because the default leaves no room for one
                    sequence; 2: one sequence in the label in full, nothing kept, because that leaves none either
    """

    usable: Number
    withheld: Number
    weights: Number
    chunk: Number
    engine: Number
    cache: Number
    row: Number
    prompt: Number
    left: Number
    relaxed: Number = 0

    @property
    def each(self) -> Number:
        """Bytes of one more sequence; never nothing, so that a model without a cache may be divided by it."""
        return maximum(self.cache + self.row, 1.0)

    def fits(self, sequences: Number, prompts: Number) -> Number:
        """Whether so many sequences, or so many prompts being prefilled, fit beside the rest."""
        return maximum(sequences * self.each, prompts * self.prompt) <= self.left


def decode_workers(sc: Scenario) -> int:
    """Workers that decode: one, where they are not apart."""
    return sc.deployment.decode_workers or 1


def holds_weights(sc: Scenario) -> bool:
    """Whether the weights alone lie in the devices' labelled memory; True where its size is in no source."""
    if sc.rates.unlike:
        return all(holds_weights(part) for part in parts(sc))
    most = sc.accelerator.most_bytes
    return most is None or least_weight_bytes(sc) <= most


def least_weight_bytes(sc: Scenario) -> float:
    """The least that weights take on a device: as stored, or less where an engine leaves a table to the host."""
    found = sc.habits
    stored = device_weight_bytes(sc.model, sc.layout) + draft_weight_bytes(sc)
    least = stored if found is None else min(stored, engine_weight_bytes(sc, found.rule))
    return least if sc.rates.beside is None else max(least - hosted_weight_bytes(sc) / (sc.layout.tp * sc.layout.pp), 0)


def room(sc: Scenario) -> Room:
    """How the memory of one device is spent.

    Where a default share leaves no room for one sequence, all of it is taken (DESIGN, Does not fit); a stated share
    is obeyed. A device whose size is in no source has room for any number.
    """
    found = _relaxed(sc)
    if not holds_elsewhere(sc):
        return msgspec.structs.replace(found, left=-found.each)
    most = host_sequences(sc)
    return found if most is None else msgspec.structs.replace(found, left=minimum(found.left, most * found.each))


def holds_elsewhere(sc: Scenario) -> bool:
    """Whether the host and the prefill workers hold what lies with them; these devices have no say in it."""
    return host_holds(sc) and prefill_holds(sc)


def prefill_holds(sc: Scenario) -> bool:
    """Whether a prefill worker on a card of its own holds the weights and a prompt of the question's length."""
    if sc.deployment.prefill_on is None:
        return True
    found = _relaxed(prefill_worker(sc))
    some = found.prompt <= found.left
    return some if isinstance(some, bool) else bool(some.all())


def _relaxed(sc: Scenario) -> Room:
    """The room by the share, or by all of it where a default leaves none."""
    share = sc.share
    first = _room(sc, share)
    if share.stated or sc.accelerator.given_bytes is None:
        return first
    some = _one(first)
    if some is True or (not isinstance(some, bool) and bool(some.all())):
        return first
    full, bare = msgspec.structs.replace(_room(sc, msgspec.structs.replace(share, value=1.0)), relaxed=1), labelled(sc)
    bare = msgspec.structs.replace(bare, left=minimum(bare.left, maximum(bare.each, bare.prompt)))  # for one
    return _either(some, first, _either(_one(full), full, _either(_one(bare), bare, first)))


def _one(one: Room) -> Number:
    """Whether one sequence fits."""
    return one.left >= one.each


def parts(sc: Scenario) -> tuple[Scenario, ...]:
    """The scenario of each kind of unlike devices, with the layers that they hold; none where all are alike."""
    return tuple(
        msgspec.structs.replace(
            sc, model=stage_model(sc.model, stage.first, stage.last), accelerator=stage.rates.accelerator,
            layout=msgspec.structs.replace(sc.layout, pp=stage.devices), rates=stage.rates,
        )
        for stage in sc.rates.unlike
    )  # fmt: skip


def _room(sc: Scenario, share: Share) -> Room:
    """The room that a share leaves: of unlike devices in the mean, with what the fullest of them leaves."""
    return _of_fullest(_mean_room(sc, share), [_mean_room(part, share) for part in parts(sc)])


def _of_fullest(mean: Room, rooms: list[Room]) -> Room:
    """The mean room of unlike devices, where each holds its layers' part of every sequence: the fullest decides."""
    if not rooms:
        return mean
    left = mean.left
    for one in rooms:
        left = minimum(left, one.left / one.each * mean.each)
    return msgspec.structs.replace(mean, left=left)


def _mean_room(sc: Scenario, share: Share) -> Room:
    found = sc.habits
    rule = None if found is None else found.rule
    total, kept = sc.accelerator.given_bytes, device_cache_share(sc)
    weights, own = engine_weight_bytes(sc, rule), own_bytes(sc, rule)
    if sc.rates.beside is not None:
        weights = max(weights - hosted_weight_bytes(sc) / (sc.layout.tp * sc.layout.pp), 0.0)
    chunk = 0.0 if share.of == "before" else activation_bytes(sc, rule)
    row = decode_row_bytes(sc) / sc.layout.pp if rule is None else 0.0
    if is_encoder(sc.model):  # what is in memory of a sequence is its activations, and no more at once than in a step
        chunk, row = 0.0, sc.workload.isl * row_bytes(sc)
    if total is None:
        withheld, left = 0.0, math.inf
    elif share.of == "before":
        withheld = (1 - share.value) * max(total - own, 0.0)
        left = total - own - weights - withheld
    elif share.of == "after":
        free = total - own - weights - chunk
        withheld = (1 - share.value) * maximum(free, 0.0)
        left = free - withheld
    else:
        withheld = (1 - share.value) * total
        left = total - withheld - weights - chunk - own
    return Room(
        usable=math.inf if total is None else total, withheld=withheld, weights=weights, chunk=chunk, engine=own,
        cache=held_bytes(sc, sequence_tokens(sc)) * kept, row=row,
        prompt=held_bytes(sc, sc.workload.isl) * kept, left=left,
    )  # fmt: skip


def labelled(sc: Scenario) -> Room:
    """The label in full GiB with nothing kept: what is asked before anything is called too large."""
    return _of_fullest(_labelled(sc), [_labelled(part) for part in parts(sc)])


def _labelled(sc: Scenario) -> Room:
    most = sc.accelerator.most_bytes or math.inf
    weights = least_weight_bytes(sc)
    both = (sc,) if sc.draft is None else (sc, sc.draft.own)
    cache, prompt = (
        sum(device_sequence_bytes(one.model, tokens, one.layout, one.numbers) * device_cache_share(one) for one in both)
        for tokens in (sequence_tokens(sc), sc.workload.isl)
    )
    return Room(
        usable=most, withheld=0.0, weights=weights, chunk=0.0, engine=0.0, cache=cache, row=0.0, prompt=prompt,
        left=most - weights, relaxed=2,
    )  # fmt: skip


def _either(condition: Number, yes: Room, no: Room) -> Room:
    """One room or the other, elementwise."""
    if isinstance(condition, bool):
        return yes if condition else no
    names = Room.__struct_fields__
    return Room(**{name: where(condition, getattr(yes, name), getattr(no, name)) for name in names})


def share_used(sc: Scenario, one: Room) -> float | None:
    """The share that a room is of; None where the label in full counts, or an engine has none."""
    share = sc.share
    if one.relaxed == 2 or share.of == "none":
        return None
    return 1.0 if one.relaxed == 1 else share.value


def share_needed(sc: Scenario, one: Room) -> float | None:
    """The share that one sequence needs, where the default leaves no room for it; more than 1 where none does."""
    if not one.relaxed or sc.accelerator.given_bytes is None:
        return None
    if sc.rates.unlike:
        needed = [share_needed(part, one) for part in parts(sc)]
        return max((share for share in needed if share is not None), default=None)
    full = _room(sc, msgspec.structs.replace(sc.share, value=1.0))
    weights, engine, total = float(full.weights), float(full.engine), float(full.usable)
    sequence, kept = float(full.cache + full.row), float(full.weights + full.chunk + full.engine)
    if sc.share.of == "before":
        return (weights + sequence) / max(total - engine, 1.0)
    if sc.share.of == "after":
        return sequence / max(total - kept, 1.0) if total > kept else 1 + kept / total
    return (kept + sequence) / total
