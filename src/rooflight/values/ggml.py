"""Tensor types of GGUF files, and the names of such files: which types a file of a name is made of.

Bits of a type are the bytes of its block over the block's elements (ggml-common.h of llama.cpp, and of ik_llama.cpp for
the types it adds; a scale a row of the latter is left out). A file's name says what most of its matrices are in and
which rule chose the rest; work.gguf has the rule.
"""

from __future__ import annotations

import msgspec

from rooflight.values.format import Format


def _type(id: str, bits: float) -> Format:
    return Format(id=id, bits=bits, family="gguf", words=f"GGUF {id.upper()}: {bits:g} bits an element with its scales")


TYPES = tuple(
    _type(id, bits)
    for id, bits in {
        "f16": 16, "q8_0": 8.5, "q6_k": 6.5625, "q5_k": 5.5, "q5_0": 5.5, "q5_1": 6.0, "q4_k": 4.5, "q4_0": 4.5,
        "q4_1": 5.0, "q3_k": 3.4375, "q2_k": 2.625,
        "iq4_nl": 4.5, "iq4_xs": 4.25, "iq3_s": 3.4375, "iq3_xxs": 3.0625, "iq2_s": 2.5625, "iq2_xs": 2.3125,
        "iq2_xxs": 2.0625, "iq1_m": 1.75, "iq1_s": 1.5625, "tq2_0": 2.0625, "tq1_0": 1.6875,
        # ik_llama.cpp
        "q6_0": 6.5,
        "iq6_k": 6.625, "iq5_k": 5.5, "iq5_ks": 5.25, "iq4_k": 4.5, "iq4_ks": 4.25, "iq4_kss": 4.0, "iq3_k": 3.4375,
        "iq3_ks": 3.1875, "iq2_kl": 2.6875, "iq2_k": 2.375, "iq2_ks": 2.1875, "iq4_kt": 4.0, "iq3_kt": 3.125,
        "iq2_kt": 2.125, "iq1_kt": 1.75,
    }.items()
)  # fmt: skip


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of a name is made of.

    base        the type of its matrices where no rule says otherwise
    rule        the name whose rule of llama.cpp's quantiser it follows ("": none, all in base)
    table, head types of the input table and of the output matrix where the name fixes them ("": by the rule)
    approximate its maker chooses types by model and publishes no rule: the nearest mix stands for it
    """

    base: str
    rule: str = ""
    table: str = ""
    head: str = ""
    approximate: bool = False


# Names that llama-quantize knows, with the type it starts from.
_BASES = {
    "f16": "f16", "q8_0": "q8_0", "q6_k": "q6_k", "q5_0": "q5_0", "q5_1": "q5_1", "q4_0": "q4_0", "q4_1": "q4_1",
    "q5_k_s": "q5_k", "q5_k_m": "q5_k", "q4_k_s": "q4_k", "q4_k_m": "q4_k",
    "q3_k_s": "q3_k", "q3_k_m": "q3_k", "q3_k_l": "q3_k", "q2_k": "q2_k", "q2_k_s": "q2_k",
    "iq4_nl": "iq4_nl", "iq4_xs": "iq4_xs", "iq3_m": "iq3_s", "iq3_s": "iq3_s", "iq3_xs": "iq3_s",
    "iq3_xxs": "iq3_xxs", "iq2_m": "iq2_s", "iq2_s": "iq2_xs", "iq2_xs": "iq2_xs", "iq2_xxs": "iq2_xxs",
    "iq1_m": "iq1_m", "iq1_s": "iq1_s", "tq2_0": "tq2_0", "tq1_0": "tq1_0", "mxfp4_moe": "q8_0",
}  # fmt: skip
# Types that no file is called after: all matrices in that type, but the head.
_PLAIN = ("q5_k", "q4_k", "q3_k")
# Files with table and head in Q8_0 (bartowski's *_L and *_XL), by the mix of the rest.
_LARGE = {"q6_k_l": "q6_k", "q5_k_l": "q5_k_m", "q4_k_l": "q4_k_m", "q3_k_xl": "q3_k_l", "q2_k_l": "q2_k"}
# Unsloth's dynamic files choose types by model; their rule is not published. Read as the lightest mix near them, for
# a ceiling must stay one. Seen: Qwen3.5-9B UD-Q4_K_XL 5.97 GB (Q4_K_S 5.4), Qwen3.6-35B-A3B UD-IQ2_XXS 11.8 GB (9.5).
_DYNAMIC = {
    "ud-q8_k_xl": "q8_0", "ud-q6_k_xl": "q6_k", "ud-q6_k": "q6_k", "ud-q6_k_s": "q6_k", "ud-q5_k_xl": "q5_k_s",
    "ud-q5_k_m": "q5_k_s", "ud-q5_k_s": "q5_k_s", "ud-q4_k_xl": "q4_k_s", "ud-q4_k_m": "q4_k_s",
    "ud-q4_k_s": "iq4_xs", "ud-q3_k_xl": "q3_k_s", "ud-q3_k_m": "q3_k_s", "ud-q3_k_s": "iq3_xs",
    "ud-q2_k_xl": "iq2_m", "ud-q2_k_l": "iq2_m", "ud-iq4_nl": "iq4_xs", "ud-iq4_nl_xl": "iq4_xs",
    "ud-iq4_xs": "iq4_xs", "ud-iq3_s": "iq3_xs", "ud-iq3_xxs": "iq3_xxs", "ud-iq2_m": "iq2_m",
    "ud-iq2_xxs": "iq2_xxs", "ud-iq1_m": "iq1_m", "ud-iq1_s": "iq1_s", "ud-tq1_0": "iq1_s",
}  # fmt: skip
# ik_llama.cpp's own types (work.gguf_ik has its rule).
_IK = (
    "q6_0", "iq6_k", "iq5_k", "iq5_ks", "iq4_k", "iq4_ks", "iq4_kss", "iq3_k", "iq3_ks", "iq2_kl", "iq2_k", "iq2_ks",
    "iq4_kt", "iq3_kt", "iq2_kt", "iq1_kt",
)  # fmt: skip

MIXES = {
    **{name: Mix(base=base, rule=name) for name, base in _BASES.items()},
    **{name: Mix(base=_BASES[rule], rule=rule, table="q8_0", head="q8_0") for name, rule in _LARGE.items()},
    **{name: Mix(base=_BASES[rule], rule=rule, approximate=True) for name, rule in _DYNAMIC.items()},
    **{name: Mix(base=name, rule=name) for name in (*_IK, *_PLAIN)},
}

_BITS = {form.id: form.bits for form in TYPES}
# Names that are no type: what `--weights` takes. Their bits are those of the base; a mix has more, by the model.
FILES = tuple(
    Format(
        id=name, bits=_BITS[mix.base], family="gguf",
        words=f"{mix.base.upper()} and wider, by llama.cpp's rule" + (": the nearest mix" if mix.approximate else ""),
    )
    for name, mix in MIXES.items()
    if name not in _BITS
)  # fmt: skip
