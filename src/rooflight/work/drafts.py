"""What drafts beside a model, as models: its own layers for multi-token prediction, or a head trained on it.

Multi-token prediction: norms of a token's embedding and of the last hidden state, a matrix that makes one of both, a
decoder layer, a norm, and the model's own table and head; of several layers the next drafted token runs the next one.
Sources: DeepSeek-V3's technical report (2412.19437), section 2.2, and README_WEIGHTS.md; vLLM 0.11
model_executor/models/deepseek_mtp.py, glm4_moe_mtp.py, mimo_mtp.py, qwen3_next_mtp.py.
"""

from __future__ import annotations

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.model import Attention, LatentAttention, Layer, Linear, Model

# Types whose layer for multi-token prediction is built as their last one, by the sources above.
# Of several layers, those of Qwen share the matrix in front of them and the norms.
_SHARING = ("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text")
KNOWN = ("deepseek_v3", "deepseek_v32", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "mimo", *_SHARING)
# Behind the model's name, what its own layers are called.
OWN_MARK = " (MTP)"


class Drafts(msgspec.Struct, frozen=True, kw_only=True):
    """A draft as models: what a draft step runs, what the first of a cycle does, and what is in memory of its own.

    The three are one where it is a model by itself.
    """

    steps: Model
    first: Model
    own: Model


def own_layers(model: Model) -> Drafts:
    """The model's layers for multi-token prediction. Raises BadInput where its config names none."""
    count, hidden = model.draft_layers, model.hidden
    if not count:
        raise BadInput(
            f"{model.id} has no layers for multi-token prediction, or its config does not say so",
            where=Named.of("draft_model"), got="mtp", want="a draft model, or the config.json of an EAGLE head",
            try_this=Named("{draft_model}", draft_model="llama-3.2-1b"),
        )  # fmt: skip
    layers = _last_layer(model)
    fc = Linear(name="eh_proj", inputs=2 * hidden, outputs=hidden, split="none", format=model.dtype, pinned=True)
    steps = _beside(model, f"{model.id}{OWN_MARK}", layers, (fc,), 3 * hidden)
    fronts = 1 if model.type in _SHARING else count
    own = msgspec.structs.replace(
        steps, head=None, outside=(fc,) * fronts, vector_parameters=3 * hidden * fronts,
        layers=tuple(msgspec.structs.replace(one, count=count) for one in layers),
    )  # fmt: skip
    return Drafts(steps=steps, first=steps, own=own)


def _last_layer(model: Model) -> tuple[Layer, ...]:
    """The last layer of the stack, or the last attention and the last feed-forward where a layer is one of both."""
    runs = model.runs or tuple((place, layer.count) for place, layer in enumerate(model.layers))
    stack = [msgspec.structs.replace(model.layers[place], count=1) for place, _ in runs][::-1]
    mixers = [one for one in stack if isinstance(one.mixer, Attention | LatentAttention)]
    if not mixers:
        raise BadInput(
            f"{model.id} has no attention that its layers for multi-token prediction could have",
            where=Named.of("draft_model"), got="mtp", want="a draft model",
        )  # fmt: skip
    if mixers[0].mlp or mixers[0].experts is not None:
        return (mixers[0],)
    feeds = [one for one in stack if one.mixer is None and (one.mlp or one.experts is not None)]
    return (mixers[0], *feeds[:1])


def _beside(model: Model, id: str, layers: tuple[Layer, ...], outside: tuple[Linear, ...], vectors: int) -> Model:
    """Layers between the model's own table and head."""
    return msgspec.structs.replace(
        model, id=id, layers=layers, runs=(), outside=outside, vector_parameters=vectors, vector_bytes=None,
        embedding_parameters=0, table_bytes=None, tied=False, towers=(), encodes=(), sized=None, adapters=None,
        asked_format=None, draft_layers=0, assumptions=(), warnings=(),
    )  # fmt: skip


def with_head(model: Model, draft: Model) -> Drafts:
    """A head that was trained on a model, or a model by itself. Raises BadInput for another model's head."""
    found = draft.draft_head
    if found is None:
        return Drafts(steps=draft, first=draft, own=draft)
    if found.hidden != model.hidden:
        raise BadInput(
            f"{draft.id} drafts for a model of hidden size {found.hidden:,}, and that of {model.id} is "
            f"{model.hidden:,}", where=Named.of("draft_model"), got=draft.id[:60], want="a head of this model",
        )  # fmt: skip
    bare = msgspec.structs.replace(draft, draft_head=None)
    first = bare if bare.head is not None else msgspec.structs.replace(bare, head=model.head)
    steps = msgspec.structs.replace(first, outside=()) if found.kind == "eagle3" else first
    return Drafts(steps=steps, first=first, own=bare)
