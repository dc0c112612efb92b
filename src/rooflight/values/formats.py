"""Number formats: how many bits an element takes in memory, scales included, and what multiplies it.

Bits are definitions, not measurements; sources: OCP Microscaling v1.0 (mxfp*), NVIDIA NVFP4 (16-element
blocks, an fp8 scale each, an fp32 scale a tensor), AutoAWQ and AutoGPTQ packings, ggml block structures
(ggml-common.h: bytes of a block over its elements), bitsandbytes (64-element blocks, fp32 absmax), MLX (a 16-bit scale
and a 16-bit bias a group), ExLlamaV2 and V3 (a mean over the matrices, as their names say).
"""

from __future__ import annotations

from functools import lru_cache

from rooflight.errors import Named, UnknownName
from rooflight.values.format import Format
from rooflight.values.ggml import FILES, TYPES


def _plain(id: str, bits: float, words: str) -> Format:
    """A cast of the whole checkpoint."""
    return Format(id=id, bits=bits, activations=id, compute=id, family="cast", words=words)


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
    Format(id="mxfp8-weight-only", bits=8, block_inputs=32, block_outputs=1, scale_bits=8,
           words="MXFP8 weights, wide activations (8.25 bits)"),
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
    Format(id="bnb-fp4", bits=4, block_inputs=64, block_outputs=1, scale_bits=32, words="bitsandbytes FP4 (4.5 bits)"),
    Format(id="bnb-fp4-double", bits=4, block_inputs=64, block_outputs=1, scale_bits=8.125,
           words="bitsandbytes FP4 with double quantisation (4.127 bits)"),
    # 4-bit integers; 16-bit scale and 16-bit zero point a group unless the packing is named
    Format(id="w4a8-fp8", bits=4, block_inputs=128, block_outputs=1, scale_bits=16, activations="fp8", compute="fp8",
           words="INT4 weights in groups of 128, FP8 activations (4.125 bits)"),
    Format(id="mxfp4-w4a8", bits=4, block_inputs=32, block_outputs=1, scale_bits=8, activations="fp8", compute="fp8",
           words="MXFP4 weights, FP8 activations (4.25 bits)"),
    Format(id="int4", bits=4, block_inputs=128, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 128 (4.25 bits)"),
    Format(id="int4-g128", bits=4, block_inputs=128, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 128 (4.25 bits)"),
    Format(id="int4-g64", bits=4, block_inputs=64, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 64 (4.5 bits)"),
    Format(id="int4-g32", bits=4, block_inputs=32, block_outputs=1, scale_bits=16, zero_bits=16, words="INT4 weight-only, groups of 32 (5 bits)"),
)  # fmt: skip

FORMATS = {form.id: form for form in (*_ALL, *TYPES, *FILES)}

# vLLM's --quantization names and other spellings, mapped once.
SPELLINGS = {
    "float32": "fp32", "f32": "fp32", "float": "fp32",
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "e4m3": "fp8", "fp8_per_tensor": "fp8", "ptpc_fp8": "fp8-channel", "fbgemm_fp8": "fp8-channel",
    "fp8_per_block": "fp8-block128", "w8a8-fp8": "fp8", "fp8-w8a8": "fp8", "modelopt": "fp8",
    "w8a16-fp8": "fp8-weight-only", "fp8-w8a16": "fp8-weight-only",
    "w8a8": "w8a8-int8", "int8-w8a8": "w8a8-int8", "smoothquant": "w8a8-int8", "w8a16": "int8", "int8-weight-only": "int8",
    "modelopt_fp4": "nvfp4", "modelopt_mxfp8": "mxfp8", "fp4": "nvfp4",
    "w4a8": "w4a8-fp8", "w4afp8": "w4a8-fp8", "w4a8_awq": "w4a8-fp8", "w4a16": "ct-int4-g128", "awq": "awq-int4-g128", "awq_marlin": "awq-int4-g128",
    "gptq": "gptq-int4-g128", "gptq_marlin": "gptq-int4-g128",
    "bitsandbytes": "nf4", "bnb": "nf4", "bnb-nf4": "nf4",
    "bnb-4bit": "nf4", "bnb-8bit": "bnb-int8", "llm.int8": "bnb-int8",
    "f16-gguf": "f16", "mxfp4-moe": "mxfp4_moe",
}  # fmt: skip


def packed_int(method: str, *, bits: int, group: int, symmetric: bool = False) -> Format:
    """What AWQ, GPTQ and compressed-tensors store: 16-bit scales, packed zero points, GPTQ's index of rows.

    `group` inputs share a scale (-1: the whole column). Symmetric groups need no zero points, and rows in order no index:
    GPTQ files hold them all the same, but kernels drop them when they load (Marlin, ExLlama), so nothing reads them.
    """
    gptq = method == "gptq"
    return Format(
        id=f"{method}-int{bits}" + (f"-g{group}" if group > 0 else "") + ("-sym" if symmetric and gptq else ""),
        bits=bits,
        block_inputs=max(group, 0),
        block_outputs=1,
        scale_bits=16,
        zero_bits=0 if symmetric else bits,
        input_bits=32 if gptq and not symmetric else 0,
        words=f"{method.upper()} {bits}-bit weights"
        + (f", groups of {group}" if group > 0 else "")
        + (", symmetric" if symmetric else ""),
    )


def format_named(name: str, field: str | None = "weights") -> Format:
    """The Format a name or a known spelling of it stands for; raises UnknownName with the near misses.

    `field` of the question gave the name; None: the config did.
    """
    found = _meant(name, field is None)
    if found is None:
        raise unknown_format(name, field)
    return found


@lru_cache(maxsize=4096)
def _meant(name: str, blends: bool) -> Format | None:
    """The Format; blends, which only a plan made of modules has, where they are allowed."""
    key = name.strip().lower()
    key = SPELLINGS.get(key, key)
    found = FORMATS.get(key) or (_parametrised(key) if key.isascii() else None)
    return _blended(key) if found is None and blends else found


def _parametrised(key: str) -> Format | None:
    """Formats whose names say their sizes: awq-int4-g128, int3-g64, mlx-4bit-g64, exl3-3.5bpw."""
    method, _, rest = key.partition("-int")
    if method in ("awq", "gptq", "ct") and rest:
        symmetric = method == "ct" or (method == "gptq" and rest.endswith("-sym"))
        bits, _, group = rest.removesuffix("-sym").partition("-g")
        if bits in ("2", "3", "4", "8") and (not group or group.isdigit()):
            return packed_int(method, bits=int(bits), group=int(group) if group else -1, symmetric=symmetric)
    if key.startswith("int") and "-g" in key:
        return _grouped(key, *key.removeprefix("int").split("-g", 1))
    if key.startswith("mlx-"):
        return _mlx(*key.removeprefix("mlx-").replace("-dwq", "").partition("-g"))
    if key.startswith("turboquant-") and key.endswith("bit"):
        return _turbo(key.removeprefix("turboquant-").removesuffix("bit"))
    for kind in ("exl2", "exl3"):
        if key.startswith(f"{kind}-") and key.endswith("bpw"):
            return _bits_per_weight(kind, key.removeprefix(f"{kind}-").removesuffix("bpw"))
    return None


def _grouped(key: str, bits: str, group: str) -> Format | None:
    if bits not in ("2", "3", "4", "5", "6", "8") or not group.isdigit() or int(group) == 0:
        return None
    return Format(
        id=key, bits=int(bits), block_inputs=int(group), block_outputs=1, scale_bits=16, zero_bits=16,
        words=f"INT{bits} weight-only, groups of {group}, a 16-bit scale and zero point each",
    )  # fmt: skip


def _mlx(width: str, _: str, group: str) -> Format | None:
    """MLX's affine quantisation: a 16-bit scale and a 16-bit bias a group of inputs (64 unless said)."""
    if width in _MLX_MODES and not group:
        bits_, inputs, mode = _MLX_MODES[width]
        return Format(
            id=f"mlx-{width}", bits=bits_, block_inputs=inputs, block_outputs=1, scale_bits=8, family="mlx",
            words=f"MLX {mode}: {bits_} bits, an 8-bit scale for {inputs} inputs",
        )  # fmt: skip
    bits = width.removesuffix("bit")
    size = int(group) if group.isdigit() else 0 if group else 64
    if not width.endswith("bit") or bits not in ("2", "3", "4", "5", "6", "8") or not size:
        return None
    return Format(
        id=f"mlx-{bits}bit-g{size}", bits=int(bits), block_inputs=size, block_outputs=1, scale_bits=16, zero_bits=16,
        family="mlx", words=f"MLX {bits}-bit, groups of {size}: {int(bits) + 32 / size:g} bits with scale and bias",
    )  # fmt: skip


# Modes of mx.quantize beside the affine one (mlx.core.quantize): bits, inputs that share an 8-bit scale.
_MLX_MODES = {"mxfp4": (4, 32, "MXFP4"), "nvfp4": (4, 16, "NVFP4"), "mxfp8": (8, 32, "MXFP8")}


def _turbo(number: str) -> Format | None:
    """TurboQuant's caches (arXiv:2504.19874): so many bits a coordinate; a vector's 16-bit norm is left out."""
    try:
        bits = float(number)
    except ValueError:
        return None
    if not 1 <= bits <= 8:
        return None
    return Format(id=f"turboquant-{bits:g}bit", bits=bits, words=f"TurboQuant at {bits:g} bits an element")


def _bits_per_weight(kind: str, number: str) -> Format | None:
    try:
        bits = float(number)
    except ValueError:
        return None
    if not 0 < bits <= 16:
        return None
    return Format(id=f"{kind}-{bits:g}bpw", bits=bits, family=kind, words=f"{kind.upper()} at {bits:g} bits a weight")


def blend(shares: list[tuple[str, int]]) -> str:
    """The name of a matrix whose rows are in several formats: `3 q4_k + 1 q6_k`."""
    return " + ".join(f"{share} {form}" for form, share in shares)


@lru_cache(maxsize=1024)
def _blended(key: str) -> Format | None:
    """What a row of a blend takes in the mean, scales included; it multiplies as its widest part does."""
    shares: list[tuple[Format, int]] = []
    for term in key.split(" + "):
        share, _, name = term.partition(" ")
        form = FORMATS.get(name) or (None if " " in name else _parametrised(name))
        if not (share.isascii() and share.isdigit() and int(share)) or form is None:
            return None
        shares.append((form, int(share)))
    whole = sum(share for _, share in shares)
    widest = max((form for form, _ in shares), key=lambda form: form.bits)
    return Format(
        id=key,
        bits=sum(share * element_bits(form) for form, share in shares) / whole,
        activations=widest.activations,
        compute=widest.compute,
        family=widest.family if len({form.family for form, _ in shares}) == 1 else "",
        words="rows in several formats: " + key,
    )


def element_bits(form: Format) -> float:
    """Bits of one element with its share of the scales of its block; scales of a whole row or tensor are left out."""
    if not form.block_inputs:
        return form.bits
    return form.bits + (form.scale_bits + form.zero_bits) / form.block_inputs / max(form.block_outputs, 1)


def unknown_format(name: str, field: str | None) -> UnknownName:
    """The error for a format nobody knows, with suggestions."""
    import difflib

    near = difflib.get_close_matches(name.lower(), [*FORMATS, *SPELLINGS], n=4, cutoff=0.5)
    return UnknownName(
        f"there is no number format {name!r}",
        where="the config" if field is None else Named.of(field),
        got=name,
        want="one of "
        + ", ".join(form.id for form in _ALL)
        + ", intB-gN, awq-intB-gN, gptq-intB-gN, mlx-Bbit-gN, exl2-Nbpw, exl3-Nbpw, or "
        "what a GGUF file is called: q4_k_m, iq3_xxs, ud-q4_k_xl ...",
        try_this=", ".join(near) if near else None,
    )


def arithmetic(name: str, field: str) -> str | None:
    """The number format that `name` asks products to run in; None where nothing multiplies in it. Raises UnknownName."""
    form = format_named(name, field)
    return "int8" if form.id == "int8" else form.compute


# The next wider formats a product runs in where the hardware has no path for the first.
WIDER = {
    "fp4": ("fp6", "fp8", "bf16", "fp16", "fp32"),
    "fp6": ("fp8", "bf16", "fp16", "fp32"),
    "fp8": ("bf16", "fp16", "fp32"),
    "int4": ("int8", "bf16", "fp16", "fp32"),
    "int8": ("bf16", "fp16", "fp32"),
    "bf16": ("fp16", "fp32"),
    "fp16": ("bf16", "fp32"),
    "fp32": (),
}
