"""Headers written for tests: GGUF and safetensors, without a byte of weights."""

from __future__ import annotations

import json
import struct
from pathlib import Path

TYPE_IDS = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12,
    "Q5_K": 13, "Q6_K": 14, "IQ2_XXS": 16, "IQ4_NL": 20, "IQ4_XS": 23, "BF16": 30, "MXFP4": 39,
}  # fmt: skip

Listed = list[tuple[str, tuple[int, ...], str]]


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(value: object) -> bytes:
    """A metadata value with its type in front."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    assert isinstance(value, list)
    inner = entry(value[0])[:4] if value else struct.pack("<I", 4)
    return struct.pack("<I", 9) + inner + struct.pack("<Q", len(value)) + b"".join(entry(one)[4:] for one in value)


def gguf(keys: dict[str, object], tensors: Listed, *, version: int = 3) -> bytes:
    """The header of a GGUF file, as docs/gguf.md of ggml describes it."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    head += b"".join(text(key) + entry(value) for key, value in keys.items())
    for name, shape, kind in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, TYPE_IDS[kind], 0)
    return head


def write_gguf(file: Path, keys: dict[str, object], tensors: Listed) -> Path:
    file.write_bytes(gguf(keys, tensors))
    return file


def safetensors(tensors: dict[str, tuple[str, tuple[int, ...]]]) -> bytes:
    """The header of a safetensors file: its length in 8 bytes, then JSON."""
    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "I32": 4, "U8": 1, "I8": 1, "I64": 8}
    at, listed = 0, {}
    for name, (kind, shape) in tensors.items():
        size = sizes[kind]
        for side in shape:
            size *= side
        listed[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    raw = json.dumps(listed).encode()
    return struct.pack("<Q", len(raw)) + raw
