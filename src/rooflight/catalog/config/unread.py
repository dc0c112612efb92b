"""Keys of a config that by their names shape weights, and that no reader asked for: a count without them may be wrong.

Which keys were asked for is kept by fields.Config as it is read. What each of the others would be is judged by its
name, as nobody knows its meaning. Names that look like shapes and are none stand here with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rooflight.catalog.config.fields import Config

# A count, a width or a rank; a gate (which is a matrix); a latent space; which layers are of another kind.
_SHAPE = re.compile(
    r"(?:^|_)(?:sizes?|dims?|ranks?|heads|experts?|gates?|widths?|channels?|latents?|lora|layers|groups|num|mult)$"
    r"|^(?:num|n|d)_|(?:^|_)(?:latent|lora|gate)_"
)
# Why a key that matches is none of the text model's shapes.
_HARMLESS = {
    "where tokens stand, and how far they look: no weights": (
        r"rope|rotary|position|window|max_context|context_(?:len|size)|n_ctx|seq_len|chunk_(?:size|len)|block_size$"
        r"|attention_sink|sink_size|every_n_layers|type_vocab|yarn|mscale|ntk"
    ),
    "parts beside the text model, which are counted apart or named as not counted": (
        r"vision|visual|image|img|video|audio|speech|sound|siglip|(?:^|_)clip|mm_|projector|talker|code2wav|tts|codec|aligner"
    ),
    "drafting layers, of which the answer speaks by itself": r"mtp|nextn|draft|medusa|eagle|num_pred_tokens",
    "how experts are picked, once they are scored": (
        r"^n_group$|topk_group|expert_groups?$|limited_groups|hash_layers|router_(?:topk|top_k|group)"
    ),
    "how it was trained, or is to be run": (
        r"^(?:ep|tp|dp|pp|world|batch|micro_batch|kernel|tile|page|cache|bucket|shard)_size$|pretraining_tp|loss|dropout"
        r"|_parallel|overlap|initializer|num_(?:epochs|steps|workers|gpus|devices|iterations|iters)$|gate_lower_bound"
        r"|gate_init|gate_scale|noise|capacity"
    ),
    "how an answer is generated, or what a classifier puts out": (
        r"^num_(?:beams|beam_groups|return_sequences|labels|logits_to_keep|assistant_tokens|classes)$|n_best|ngram_size$"
    ),
    "tokens by number": r"token_id|(?:special|new|pad|eos|bos|patch)_tokens?$|special_",
}
_PASSED = "|".join(_HARMLESS.values())  # a pattern that few configs need: compiled when one does
# Objects of a config that hold no shapes of the text model, or are read on their own.
_PASSED_OBJECTS = re.compile(r"quant|compression|rope|rotary|task_specific|generation|auto_map|id2label|label2id|token")
_MOST_NAMED = 6
_DEEPEST = 8


def unread(outer: Config, cfg: Config) -> str | None:
    """What to warn of: the keys of the text model that look like shapes and were not asked for. None: there are none.

    Of a wrapper's own keys those that its text section has too say nothing new: the section counts.
    """
    found = dict(_left(cfg.data, cfg.path, cfg.met))
    if cfg.path:
        plain = {key: value for key, value in outer.data.items() if not isinstance(value, Mapping)}
        found |= {key: value for key, value in _left(plain, outer.path, outer.met) if key not in cfg.data}
    if not found:
        return None
    told = [f"{key} {_short(value)}" for key, value in found.items()]
    more = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    pronoun, verb = ("it shapes", "key is") if len(told) == 1 else ("they shape", "keys are")
    return (
        f"{len(told)} {verb} not read for this model type: {', '.join(told[:_MOST_NAMED])}{more};"
        f" if {pronoun} weights, the counts are wrong"
    )


def _left(data: Mapping[str, Any], path: str, met: set[str], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Path and value of each key that looks like a shape, says something and was not met; equal ones of a list once."""
    for key, value in data.items():
        if not isinstance(key, str) or not key:
            continue
        if isinstance(value, Mapping):
            if depth < _DEEPEST and not _PASSED_OBJECTS.search(key.lower()) and not _passed(key):
                yield from _left(value, f"{path}{key}.", met, depth + 1)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, entry in enumerate(value if depth < _DEEPEST and not _passed(key) else ()):
                if isinstance(entry, Mapping):
                    yield from _left(entry, f"{path}{key}[{number}].", met, depth + 1)
        elif _SHAPE.search(key.lower()) and _says(key, value) and f"{path}{key}" not in met and not _passed(key):
            yield f"{path}{key}", value


def _passed(key: str) -> bool:
    return re.search(_PASSED, key.lower()) is not None


def _says(key: str, value: object) -> bool:
    """Whether a value could be a shape: no, null, 0, -1 say that there is no such part, and fractions scale."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value > 0 and value == int(value) if abs(value) < 1 << 62 else False
    if isinstance(value, str):
        return value.strip().isdecimal() or (key.lower().endswith("gate") and bool(value.strip()))
    return isinstance(value, list) and any(type(entry) is int and entry > 0 for entry in value)


def _short(value: object) -> str:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
