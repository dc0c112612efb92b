"""The rule of ik_llama.cpp's quantiser for the types it adds: which type each matrix takes in a file of a name.

Source: llama_tensor_get_type of src/llama-quantize.cpp (ikawrakow/ik_llama.cpp), read 2026-11-28, with an importance
matrix at hand. Many published files of these names were made by recipes of their own, which no name says. Leaves out:
the rule of IQ1_KT.
"""

from __future__ import annotations

import msgspec

# Value matrices by name: with two query heads a KV head or more (four for the last two), and with fewer.
_VALUES = {
    "iq2_k": (2, "iq4_k", "iq3_k"), "iq3_k": (2, "iq4_k", "iq3_k"), "iq3_ks": (2, "iq4_ks", "iq3_ks"),
    "iq2_kl": (2, "iq4_ks", "iq2_kl"), "iq4_k": (2, "iq5_k", "iq4_k"), "iq4_ks": (2, "iq5_k", "iq4_ks"),
    "iq4_kss": (2, "iq5_k", "iq4_kss"), "iq5_k": (4, "iq6_k", "iq5_k"), "iq5_ks": (4, "iq6_k", "iq5_ks"),
    "iq3_kt": (4, "iq4_k", "iq3_k"), "iq4_kt": (4, "iq5_k", "iq4_k"),
}  # fmt: skip
_LOW = ("iq2_ks", "iq2_kt")
_EXPERT_OUTPUTS = ("iq2_k", "iq3_k", "iq3_ks", "iq3_kt", "iq4_k", "iq4_ks", "iq4_kss", "iq5_ks")
# Queries of the 8B and 70B of a large vocabulary.
_QUERIES = {"iq5_k": "iq4_k", "iq5_ks": "iq4_ks"}
_LARGE_VOCABULARY = 127_999
NAMES = (*_VALUES, *_LOW)


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix as the rule sees it: its name ("q", "k", "v", "o", "down" ...), its layer, and what the model is.

    early       in the first eighth of the layers; shared: of a shared expert
    """

    name: str
    early: bool
    shared: bool
    gqa: float
    experts: int
    layers: int
    vocab: int


def type_of(name: str, one: Module) -> str:
    """The type of a matrix in a file of that name."""
    if name in _LOW:
        return _low(name, one)
    if one.name in ("v", "k") and one.experts >= 4:
        return "q8_0"
    if one.name == "v":
        least, more, fewer = _VALUES[name]
        if one.layers == 80 and name == "iq3_k":
            return "iq5_k"
        return more if one.gqa >= least else fewer
    if one.name == "q" and one.vocab >= _LARGE_VOCABULARY and one.layers in (32, 80):
        return _QUERIES.get(name, name)
    return _output(name, one) if one.name == "o" else name


def _output(name: str, one: Module) -> str:
    if one.experts >= 4:
        return "q5_k" if name in _EXPERT_OUTPUTS else "iq4_ks" if name == "iq2_kl" else name
    return "iq3_k" if name == "iq2_k" or (name == "iq3_kt" and one.gqa >= 4) else name


def _low(name: str, one: Module) -> str:
    trellis = name == "iq2_kt"
    if one.name == "v":
        return "iq4_k" if one.gqa >= 4 or one.experts >= 4 else "iq3_k" if one.gqa >= 2 else "q2_k"
    if one.name in ("q", "k") and one.experts >= 8:
        return "q4_k"
    if one.shared and trellis:
        return "iq4_k"
    if one.name == "down" and one.early:
        return "iq3_k" if trellis else "q2_k"
    if one.name == "o":
        return "q5_k" if one.experts >= 4 else "iq3_k" if trellis else name
    return name
