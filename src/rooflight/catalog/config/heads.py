"""Whether a checkpoint ends in a vocabulary head, in the outputs of a classifier, or in hidden states.

Class names tell: of the inner text model where a wrapper's section names one, as wrappers that generate are called all
kinds of things (InternVLChatModel, NVLM_D_Model, UltravoxModel), and one that only embeds holds a text model of a
generating class all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.names import first_architecture
from rooflight.catalog.config.registry import Text
from rooflight.values.model import Linear, Model

_GENERATES = re.compile(
    r"(?:forcausallm|causallm|forconditionalgeneration|lmheadmodel|forvision2seq|forimagetexttotext|forseq2seqlm"
    r"|chatmodel|chatglmmodel|generation)$"
)
_SCORES = ("forsequenceclassification", "rewardmodel", "forrewardmodel")
# Wrappers that embed: ColPali, ColQwen2, NVEmbedModel, JinaEmbeddingsV4Model, LlamaNemotronVLForRetrieval ...
_EMBEDS = re.compile(r"embed|retriev|^col(?=[a-z])(?!osseum)|biencoder|bidirectional")
# Generating wrappers named like the headless bases of transformers (Qwen2VLModel): Ultravox, Qwen2.5-Omni, MiDashengLM.
_BASES_THAT_GENERATE = ("ultravox", "qwen2_5omni", "qwen2_5_omni", "midashenglm")
_NAMED_EMBEDDER = re.compile(r"(?:^|[-_.])embed(?:ding|dings|der)?(?:$|[-_.])", re.IGNORECASE)


def as_named(model: Model) -> Model:
    """A decoder that is named an embedder, without the head that the class in its config would have.

    Qwen3-Embedding names Qwen3ForCausalLM, and its files hold no lm_head (7,567,295,488 parameters, model card). Only
    the name that a publisher gave counts, `org/name`: what somebody calls a file or a directory says nothing of what is
    in it. Where a weight file holds a head, it is there whatever the name.
    """
    publisher, _, name = model.id.rpartition("/")
    if not publisher or not _NAMED_EMBEDDER.search(name) or model.head is None or model.head.name == "score":
        return model
    if model.head.stored_bytes is not None and not model.tied:
        return model
    note = f"{name} is named after what it does, embeddings: it keeps no vocabulary head"
    return msgspec.structs.replace(model, head=None, tied=False, assumptions=(*model.assumptions, note))


def headed(outer: Config, cfg: Config, text: Text) -> Text:
    """The text model with the head that its checkpoint holds: as the reader made it, one of scores, or none."""
    if text.whole:
        return text
    wrapper = first_architecture(outer)
    inner = first_architecture(cfg) if cfg.path else ""
    if wrapper.lower().endswith(_SCORES):
        return _scoring(outer, wrapper, text)
    if cfg.path:
        generates = _wrapper_generates(outer, wrapper.lower(), inner.lower())
    else:
        lower = wrapper.lower()
        generates = bool(_GENERATES.search(lower)) or not lower.endswith("model")
    if generates:
        return text
    outer.assume(f"{wrapper or inner} has no vocabulary head: it returns hidden states (an embedding model)")
    return msgspec.structs.replace(text, head=None, tied=False)


def _wrapper_generates(outer: Config, wrapper: str, inner: str) -> bool:
    """Whether a wrapper around a text model puts out tokens."""
    if _EMBEDS.search(wrapper):
        return False
    if _GENERATES.search(wrapper) or _GENERATES.search(inner):
        return True
    if inner.endswith("model"):
        return False
    stem = wrapper.removesuffix("model")
    if stem == wrapper or stem in _BASES_THAT_GENERATE:
        return True
    # transformers calls the headless base of a wrapper by its type: Qwen2VLModel of qwen2_vl
    own = str(outer.raw("model_type") or "").lower()
    return _plain(stem) != _plain(own)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name)


def _scoring(outer: Config, architecture: str, text: Text) -> Text:
    """A classifier or reward model: the same stack with a few outputs in place of the vocabulary."""
    names = outer.raw("id2label")
    default = len(names) if isinstance(names, Mapping) and names else (1 if "reward" in architecture.lower() else 2)
    labels = outer.integer("num_labels", default=default, said=False)
    outputs = "1 output" if labels == 1 else f"{labels} outputs"
    outer.assume(f"{architecture} scores a sequence with {outputs}: it has no vocabulary head")
    score = Linear(name="score", inputs=text.hidden, outputs=labels, split="none", pinned=True)
    return msgspec.structs.replace(text, head=score, tied=False)
