"""What a row of measurements leaves open, in words: one function a key."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.values.accelerator import devices_named
from rooflight.values.note import Note
from rooflight.words import machines


def _devices_and_gpus(note: Note) -> str:
    named, gpus = note.value
    return f"the accelerator says {named} devices, gpus {gpus}: {gpus} count"


def _checkpoint_cache(note: Note) -> str:
    cache, weights = note.value
    return f"kv_cache not stated: {cache}, as {note.why}'s {weights} checkpoints carry"


def _suite_cache(note: Note) -> str:
    cache, weights = note.value
    return f"kv_cache not stated: {cache}, as suites of served runs mostly have with {weights} weights"


def _not_the_devices(note: Note) -> str:
    tp, pp, dp, gpus = note.value
    return f"tp {tp} x pp {pp} x dp {dp} is not {gpus} devices: the fastest legal layout of {gpus} counts"


def _heads(note: Note) -> str:
    stated, taken = note.value
    return f"tp {stated} does not divide the heads of {note.why}: the ceiling is that of tp {taken}"


def _layout(note: Note) -> str:
    degrees = (f"{name} {value}" for name, value in zip(("tp", "pp", "dp", "ep"), note.value, strict=True) if value > 1)
    return f"layout not stated: the fastest legal one, {' x '.join(degrees) or 'one device'}"


def _implied_batch(note: Note) -> str:
    batch, rate, token, first, request = note.value
    if request is not None:
        how = f"requests of {request:g} ms"
    elif first is not None:
        how = f"{first:g} ms to the first token and {token:g} ms a token"
    else:
        how = f"{token:g} ms a token"
    return f"batch not stated: {batch:,}, as {rate:g} tok/s and {how} make it"


ROW_WORDS: dict[str, Callable[[Note], str]] = {
    # value: the model whose config stands in
    "config_like": lambda note: f"counted with the config of {note.value}",
    # value: a format; why: as the row has it
    "read_format": lambda note: f"{note.why} weights of this engine read as {note.value}",
    "read_cache": lambda note: (
        f"kv_cache {note.why} read as {note.value}" if note.value else f"kv_cache {note.why} names no format"
    ),
    # value: the deployment that is expected; why: "open" where the row does not say which part, "stated", "" not known
    "offloaded": machines.offloaded,
    # value: watts
    "power_limit": lambda note: f"power limited to {note.value:g} W; figures are those of full power",
    # value: the shape that was taken; why: "routed" where its name leaves open whether it is
    "by_size": lambda note: (
        f"{note.value}; the ceiling is that of the fewest bytes a model of that size may stream"
        f"{', a routed one too' if note.why else ''}"
    ),
    # value: a format
    "named_weights": lambda note: f"weights not stated: {note.value}, as the name says",
    "uncalibrated_engine": lambda note: (
        f"no engine {note.value!r} is calibrated: the mean of the serving engines is expected"
    ),
    # value: devices by the accelerator's name, and by gpus
    "gpus_counted": _devices_and_gpus,
    "gpus": lambda note: f"gpus not stated: taken as {note.value}",
    # value: tp, pp, dp, ep
    "layout": _layout,
    # value: stages; why: the engine
    "layers_split": lambda note: f"layout not stated: {note.why} splits layers, so pp {note.value}",
    # value: tp, pp, dp and the devices they should be
    "not_the_devices": _not_the_devices,
    "ep_left_out": lambda note: f"ep {note.value} left out: the model has no routed experts",
    # value: tp as stated and as taken; why: the model
    "heads": _heads,
    # value: a format; why: the one it is the lightest reading of
    "lightest": lambda note: f"{note.why} read as {note.value}, the lightest it can be",
    # value: formats of (cache, weights); why: the engine
    "checkpoint_cache": _checkpoint_cache,
    # value: (format of the cache, of the weights)
    "suite_cache": _suite_cache,
    # value: devices; why: the accelerator
    "weights_beyond": lambda note: f"the weights alone are more than {devices_named(note.why, note.value)} hold",
    # value: sequences
    "filled_batch": lambda note: f"batch not stated: as many sequences as memory holds at most, {note.value:,}",
    # value: the batch, and what memory holds of it
    "beyond_memory": lambda note: f"of {note.value[0]:,} sequences {note.value[1]:,} at most run at once",
    "alone": lambda _: "batch not stated: one sequence, the fastest",
    "empty_cache": lambda _: "input_len not stated: an empty cache at the start",
    "decode_alone": lambda _: "input_len and output_len are not both stated: decoding alone, from an empty cache",
    "prompts_together": lambda note: (
        f"a time to first token of {note.value:,} prompts started together is that of all of them prefilled; "
        "the ceiling is that of one prompt"
    ),
    "one_prompt": lambda _: "a time to first token is one prompt's own: the ceiling is that of one prompt",
    # value: (batch, output tok/s, ms a token, to the first token, of a request; None: not given)
    "implied_batch": _implied_batch,
    "run_batch": lambda note: f"batch not stated: {note.value:,}, as another row of the run says",
    # value: prompts
    "one_wave": lambda note: (
        f"{note.value:,} prompts in all, as many as in flight: none come later, so what is expected reaches down to "
        "steps without prompts"
    ),
    # value: prompts, and the batch as stated
    "fewer_prompts": lambda note: (
        f"only {note.value[0]:,} prompts in all: no more than those are in flight, not {note.value[1]:,}"
    ),
    # value: devices of all workers, and gpus
    "not_the_workers": lambda note: f"the workers have {note.value[0]} devices, not {note.value[1]}: their own count",
}
