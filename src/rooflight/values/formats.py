"""Number formats: how many bits an element takes in memory, scales included, and what multiplies it.

Bits are definitions, not measurements; sources: OCP Microscaling v1.0 (mxfp*), NVIDIA NVFP4 (16-element
blocks, an fp8 scale each, an fp32 scale a tensor), AutoAWQ and AutoGPTQ packings, ggml block structures
(ggml-common.h: bytes of a block over its elements), bitsandbytes (64-element blocks, fp32 absmax).
"""

from __future__ import annotations

import msgspec

from rooflight.errors import Named, UnknownName


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """How a weight matrix (or a cache) is stored.

    bits                bits of one element, without what it shares
    block_inputs        elements along the input dimension that share a scale (0: all of them)
    block_outputs       the same along the output dimension (0: all of them)
    scale_bits          of the scale, and zero_bits of the zero point, of such a block
    input_bits          further bits per input row (GPTQ's g_idx)
    activations         the format activations take with it (None: weight-only, activations stay wide)
    compute             the format whose peak multiplies it when activations match it
    head, table, rest   what a checkpoint in this format keeps its lm_head, its input table, and its router, norms and
                        the like in; blank: the type that the config names
    """

    id: str
    bits: float
    block_inputs: int = 0
    block_outputs: int = 0
    scale_bits: float = 0
    zero_bits: float = 0
    input_bits: float = 0
    activations: str | None = None
    compute: str | None = None
    head: str = ""
    table: str = ""
    rest: str = ""
    words: str = ""

    @property
    def integer_products(self) -> bool:
        """Whether engines may multiply it in int8 though it is a weight-only format, as llama.cpp does (ggml's mmq)."""
        return self.words.startswith("GGUF") and self.bits < 16


def _plain(id: str, bits: float, words: str) -> Format:
    """A cast of the whole checkpoint."""
    return Format(id=id, bits=bits, activations=id, compute=id, head=id, table=id, rest=id, words=words)


# What llama.cpp keeps the output matrix in, and the input table where it is another matrix (src/llama-quant.cpp,
# llama_tensor_get_type_impl): Q6_K and the file's own type unless named here.
_GGML_HEADS = {
    "f16": "f16", "q8_0": "q8_0",
    **dict.fromkeys(("iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s"), "q5_k"),
}  # fmt: skip
_GGML_TABLES = {
    "q4_k_m": "q4_k", "q5_k_m": "q5_k", "iq3_xxs": "iq3_s", "iq2_s": "iq3_s", "tq2_0": "q4_k", "tq1_0": "q4_k",
    **dict.fromkeys(("iq2_xs", "iq2_xxs", "iq1_m", "iq1_s"), "q2_k"),
}  # fmt: skip


def _ggml(id: str, bits: float) -> Format:
    return Format(
        id=id,
        bits=bits,
        head=_GGML_HEADS.get(id, "q6_k"),
        table=_GGML_TABLES.get(id, id),
        words=f"GGUF {id.upper()}: {bits:g} bits an element with its scales",
    )


_ALL = (
    _plain("fp32", 32, "IEEE single"),
    _plain("bf16", 16, "bfloat16"),
    _plain("fp16", 16, "IEEE half"),
    # 8 bits
    Format(id="fp8", bits=8, scale_bits=32, activations="fp8", compute="fp8", words="FP8 W8A8, one fp32 scale a tensor"),
    Format(
        id="fp8-channel", bits=8, block_outputs=1, scale_bits=16, activations="fp8", compute="fp8",
        words="FP8 W8A8, one bf16 scale an output channel",
    ),
    Format(
        id="fp8-block128", bits=8, block_inputs=128, block_outputs=128, scale_bits=32, activations="fp8", compute="fp8",
        words="FP8 W8A8, one fp32 scale a block of 128 x 128",
    ),
    Format(id="fp8-weight-only", bits=8, block_outputs=1, scale_bits=16, words="FP8 weights, wide activations"),
    Format(
        id="w8a8-int8", bits=8, block_outputs=1, scale_bits=32, activations="int8", compute="int8",
        words="INT8 W8A8, one fp32 scale an output channel",
    ),
    Format(id="int8", bits=8, block_outputs=1, scale_bits=16, words="INT8 weight-only, one fp16 scale an output channel"),
    Format(id="bnb-int8", bits=8, block_outputs=1, scale_bits=32, activations="int8", compute="int8",
           words="bitsandbytes LLM.int8(), one fp32 scale an output channel"),
    Format(id="mxfp8", bits=8, block_inputs=32, block_outputs=1, scale_bits=8, activations="fp8", compute="fp8",
           words="MXFP8: 32-element blocks, an 8-bit scale each"),
    # 6 and 4 bits, floating point
    Format(id="mxfp6", bits=6, block_inputs=32, block_outputs=1, scale_bits=8, words="MXFP6: 6.25 bits"),
    Format(id="nvfp4", bits=4, block_inputs=16, block_outputs=1, scale_bits=8, activations="fp4", compute="fp4",
           words="NVFP4 W4A4: 16-element blocks, an fp8 scale each (4.5 bits)"),
    Format(id="nvfp4-weight-only", bits=4, block_inputs=16, block_outputs=1, scale_bits=8,
           words="NVFP4 weights, wide activations (4.5 bits)"),
    Format(id="mxfp4", bits=4, block_inputs=32, block_outputs=1, scale_bits=8,
           words="MXFP4 weight-only: 32-element blocks, an 8-bit scale each (4.25 bits)"),
    Format(id="mxfp4-w4a4", bits=4, block_inputs=32, block_outputs=1, scale_bits=8, activations="fp4", compute="fp4",
           words="MXFP4 W4A4: 32-element blocks, an 8-bit scale each (4.25 bits)"),
    Format(id="nf4", bits=4, block_inputs=64, block_outputs=1, scale_bits=32, words="bitsandbytes NF4 (4.5 bits)"),
    Format(id="nf4-double", bits=4, block_inputs=64, block_outputs=1, scale_bits=8.125,
           words="bitsandbytes NF4 with double quantisation (4.127 bits)"),
    # 4-bit integers; 16-bit scale and 16-bit zero point a group unless the packing is named
    Format(id="int4", bits=4, block_inputs=128, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 128 (4.25 bits)"),
    Format(id="int4-g128", bits=4, block_inputs=128, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 128 (4.25 bits)"),
    Format(id="int4-g64", bits=4, block_inputs=64, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 64 (4.5 bits)"),
    Format(id="int4-g32", bits=4, block_inputs=32, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 32 (5 bits)"),
    # GGUF, from the ggml block structures
    _ggml("f16", 16), _ggml("q8_0", 8.5), _ggml("q6_k", 6.5625), _ggml("q5_k", 5.5), _ggml("q5_0", 5.5), _ggml("q5_1", 6.0),
    _ggml("q4_k", 4.5), _ggml("q4_0", 4.5), _ggml("q4_1", 5.0), _ggml("q3_k", 3.4375), _ggml("q2_k", 2.625),
    _ggml("iq4_nl", 4.5), _ggml("iq4_xs", 4.25), _ggml("iq3_s", 3.4375), _ggml("iq3_xxs", 3.0625),
    _ggml("iq2_s", 2.5625), _ggml("iq2_xs", 2.3125), _ggml("iq2_xxs", 2.0625), _ggml("iq1_m", 1.75), _ggml("iq1_s", 1.5625),
    _ggml("tq2_0", 2.0625), _ggml("tq1_0", 1.6875),
    # Mixed files: half of the layers keep attn_v and ffn_down in Q6_K (llama.cpp's rule, with use_more_bits), the
    # rest Q4_K or Q5_K. With Llama-3-8B's shapes those two are 62.9 of 218.1 million weights a layer:
    # 4.5 + 0.5 x 0.2885 x (6.5625 - 4.5) and 5.5 + 0.5 x 0.2885 x (6.5625 - 5.5). Other shapes differ by 1-2 %.
    _ggml("q4_k_m", 4.797), _ggml("q5_k_m", 5.653),
)  # fmt: skip

FORMATS = {form.id: form for form in _ALL}

# vLLM's --quantization names and other spellings, mapped once.
SPELLINGS = {
    "float32": "fp32", "f32": "fp32", "float": "fp32",
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "e4m3": "fp8", "fp8_per_tensor": "fp8", "ptpc_fp8": "fp8-channel", "fbgemm_fp8": "fp8-channel",
    "fp8_per_block": "fp8-block128", "w8a8-fp8": "fp8", "fp8-w8a8": "fp8", "modelopt": "fp8",
    "w8a16-fp8": "fp8-weight-only", "fp8-w8a16": "fp8-weight-only",
    "w8a8": "w8a8-int8", "int8-w8a8": "w8a8-int8", "smoothquant": "w8a8-int8", "w8a16": "int8", "int8-weight-only": "int8",
    "modelopt_fp4": "nvfp4", "modelopt_mxfp8": "mxfp8", "fp4": "nvfp4",
    "w4a16": "int4-g128", "awq": "awq-int4-g128", "awq_marlin": "awq-int4-g128",
    "gptq": "gptq-int4-g128", "gptq_marlin": "gptq-int4-g128",
    "bitsandbytes": "nf4", "bnb": "nf4", "bnb-nf4": "nf4",
    "q4_k_s": "q4_k", "q5_k_s": "q5_k", "f16-gguf": "f16",
}  # fmt: skip


def packed_int(method: str, *, bits: int, group: int, zero_point: bool = True) -> Format:
    """What AWQ, GPTQ and compressed-tensors really store: fp16 scales, packed zero points, GPTQ's g_idx.

    `group` inputs share a scale (-1: the whole column).
    """
    return Format(
        id=f"{method}-int{bits}" + (f"-g{group}" if group > 0 else ""),
        bits=bits,
        block_inputs=max(group, 0),
        block_outputs=1,
        scale_bits=16,
        zero_bits=bits if zero_point else 0,
        input_bits=32 if method == "gptq" else 0,
        words=f"{method.upper()} {bits}-bit weights, groups of {group}"
        if group > 0
        else f"{method.upper()} {bits}-bit",
    )


def format_named(name: str, field: str | None = "weights") -> Format:
    """The Format a name or a known spelling of it stands for; raises UnknownName with the near misses.

    `field` of the question gave the name; None: the config did.
    """
    key = name.strip().lower()
    key = SPELLINGS.get(key, key)
    if key in FORMATS:
        return FORMATS[key]
    method, _, rest = key.partition("-int")
    if method in ("awq", "gptq", "ct") and rest:
        bits, _, group = rest.partition("-g")
        if bits in ("2", "3", "4", "8") and (not group or group.isdigit()):
            return packed_int(method, bits=int(bits), group=int(group) if group else -1, zero_point=method != "ct")
    if key.startswith("int") and "-g" in key:
        bits, _, group = key.removeprefix("int").partition("-g")
        if bits in ("2", "3", "4", "5", "6", "8") and group.isdigit() and int(group) > 0:
            return Format(
                id=key, bits=int(bits), block_inputs=int(group), block_outputs=1, scale_bits=16, zero_bits=16,
                words=f"INT{bits} weight-only, groups of {group}, a 16-bit scale and zero point each",
            )  # fmt: skip
    if key.startswith("exl2-") and key.endswith("bpw"):
        return _bits_per_weight(key, key.removeprefix("exl2-").removesuffix("bpw"), field)
    raise unknown_format(name, field)


def _bits_per_weight(key: str, number: str, field: str | None) -> Format:
    try:
        bits = float(number)
    except ValueError:
        raise unknown_format(key, field) from None
    if not 0 < bits <= 16:
        raise unknown_format(key, field)
    # as where a config says so: its bits are a mean over the matrices, the head among them
    return Format(id=key, bits=bits, head=key, words=f"EXL2 at {bits:g} bits a weight")


def unknown_format(name: str, field: str | None) -> UnknownName:
    """The error for a format nobody knows, with suggestions."""
    import difflib

    near = difflib.get_close_matches(name.lower(), [*FORMATS, *SPELLINGS], n=4, cutoff=0.5)
    return UnknownName(
        f"there is no number format {name!r}",
        where="the config" if field is None else Named.of(field),
        got=name,
        want="one of " + ", ".join(FORMATS) + ", intB-gN, awq-intB-gN, gptq-intB-gN, exl2-Nbpw",
        try_this=", ".join(near) if near else None,
    )


def arithmetic(name: str, field: str) -> str | None:
    """The number format that `name` asks products to run in; None where nothing multiplies in it. Raises UnknownName."""
    form = format_named(name, field)
    return "int8" if form.id == "int8" else form.compute
