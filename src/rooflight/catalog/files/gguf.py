"""The header of a GGUF file: metadata and tensor list, nothing of the weights.

Why not the package gguf: it maps the whole file, needs all of it on disk, and makes arrays of every metadata entry
before anything is asked (a vocabulary is 700,000 strings), with no limit on what a header may claim. What is needed
here is a bounded walk over lengths, of a stranger's file or of a range fetched from far away.

Format: github.com/ggml-org/ggml docs/gguf.md (versions 2 and 3). Block sizes: ggml-common.h, as gguf-py's table
GGML_QUANT_SIZES has them (read 2026-11).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import msgspec

from rooflight.catalog.files.source import Source, opened
from rooflight.catalog.files.tensors import Header, Tensor
from rooflight.errors import BadConfig, BadInput, printable

# More than any file has: DeepSeek-V3 has 1,025 tensors, and those of one tensor an expert were small models.
MOST_TENSORS = 100_000
_MOST_KEYS = 10_000
_MOST_STRINGS = 3_000_000  # in arrays: vocabularies and merges come to 700,000
_KEPT_ENTRIES = 2_000  # of arrays; those that have an entry a layer are short
_KEPT_TEXT = 4_096
_LONGEST_NAME = 1_024
_MOST_ELEMENTS = 1 << 45
_MOST_PARTS = 1_000

# ggml type -> storage format, elements of a block, bytes of a block. A row is a whole number of blocks.
# From 137 on: types of ik_llama.cpp that have no scale a row. 4 is what ollama's own converter calls MXFP4.
TYPES: dict[int, tuple[str, int, int]] = {
    0: ("fp32", 1, 4), 1: ("f16", 1, 2), 30: ("bf16", 1, 2),
    2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22), 7: ("q5_1", 32, 24), 8: ("q8_0", 32, 34),
    10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110), 12: ("q4_k", 256, 144), 13: ("q5_k", 256, 176),
    14: ("q6_k", 256, 210), 16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74), 18: ("iq3_xxs", 256, 98),
    19: ("iq1_s", 256, 50), 20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82),
    23: ("iq4_xs", 256, 136), 29: ("iq1_m", 256, 56), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66),
    39: ("mxfp4", 32, 17), 4: ("mxfp4", 32, 17), 40: ("nvfp4-weight-only", 64, 36),
    137: ("iq2_k", 256, 76), 138: ("iq3_k", 256, 110), 139: ("iq4_k", 256, 144), 140: ("iq5_k", 256, 176),
    141: ("iq6_k", 256, 212), 24: ("", 1, 1), 25: ("", 1, 2), 26: ("", 1, 4), 27: ("", 1, 8), 28: ("", 1, 8),
}  # fmt: skip
# general.file_type -> what a file of it is called (llama.h, enum llama_ftype)
_NAMES = (
    "f32 f16 q4_0 q4_1 - - - q8_0 q5_0 q5_1 q2_k q3_k_s q3_k_m q3_k_l q4_k_s q4_k_m q5_k_s q5_k_m q6_k iq2_xxs iq2_xs"
    " q2_k_s iq3_xs iq3_xxs iq1_s iq4_nl iq3_s iq3_m iq2_s iq2_m iq4_xs iq1_m bf16 - - - tq1_0 tq2_0 mxfp4_moe nvfp4"
)
FILE_TYPES = {number: name for number, name in enumerate(_NAMES.split()) if name != "-"}
# ik_llama.cpp's repacked files: rows of the same blocks, interleaved
_REPACKED = (2, 6, 8, 10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 30)
TYPES |= {200 + kind: TYPES[kind] for kind in _REPACKED}
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_NUMBERED = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.I)


def read(file: Path) -> Header:
    """The header of a GGUF file, with those of the other parts of a split one. Raises BadConfig, BadInput."""
    parts = [file.with_name(name) for name in part_names(file.name)]
    missing = [part.name for part in parts if not part.exists()]
    if missing and len(parts) > 1:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise BadInput(
            f"{len(missing)} of the {len(parts)} parts of {stem(file.name)} are not beside it",
            where=str(file.parent),
            got=f"no {', '.join(missing[:3])}{more}",
            want=f"all {len(parts)} parts in one directory",
        )
    return whole([_header_of(part) for part in parts])


def part_names(name: str) -> list[str]:
    """The names of all parts of the model that a file belongs to, the first one first. Raises BadConfig."""
    numbered = _NUMBERED.search(name)
    if numbered is None:
        return [name]
    count = int(numbered[2])
    if not 1 <= count <= _MOST_PARTS:
        raise BadConfig(
            f"{name} says that it is one of {count} parts", where=name, got=f"{count} parts",
            want=f"1 to {_MOST_PARTS} parts",
        )  # fmt: skip
    return [f"{stem(name)}-{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1)]


def stem(name: str) -> str:
    """The name of a file without its ending, and without its number where it is a part."""
    return re.sub(r"\.gguf$", "", _NUMBERED.sub("", name), flags=re.I)


def _header_of(file: Path) -> Header:
    with opened(file) as source:
        return header(source)


def whole(headers: list[Header]) -> Header:
    """The parts of a file as one: the metadata of the first, the tensors of all. Raises BadConfig."""
    first, parts = headers[0], len(headers)
    tensors = tuple(tensor for part in headers for tensor in part.tensors)
    said, number = first.keys.get("split.count"), first.keys.get("split.tensors.count")
    if type(said) is int and said > 1 and said != parts:
        place = first.keys.get("split.no")  # counted from 0
        part = f"part {place + 1}" if type(place) is int and 0 <= place < said else "one"
        raise BadConfig(
            f"{first.origin} is {part} of {said} parts, which are one model together",
            where=first.origin,
            got=f"{parts} of them",
            want=f"all parts, named NAME-00001-of-{said:05d}.gguf and so on, together: the first says what the "
            "model is, and each lists its own weights",
        )
    if type(number) is int and parts > 1 and number != len(tensors):
        raise BadConfig(
            f"the parts of {first.origin} do not belong together",
            where=first.origin, got=f"{len(tensors)} tensors", want=f"the {number} that the first part names",
        )  # fmt: skip
    _refuse_twice(tensors, first.origin)
    warnings = tuple(warning for part in headers for warning in part.warnings)
    return msgspec.structs.replace(first, tensors=tensors, warnings=warnings)


def header(source: Source) -> Header:
    """The header of one file. Raises BadConfig."""
    reader = _Reader(source)
    tensors, keys = reader.start()
    found = reader.keys(keys)
    listed = reader.tensors(tensors)
    _refuse_twice(listed, source.origin)
    total = sum(tensor.bytes for tensor in listed)
    warnings: tuple[str, ...] = ()
    if source.size is not None and source.size < reader.at + total:
        said = f"{source.size:,} bytes, but its header and its tensors take {reader.at + total:,}"
        warnings = (f"{printable(source.origin)} is cut: {said}; counted as if it were whole",)
    return Header(tensors=listed, origin=source.origin, keys=found, warnings=warnings)


def shortened(*sources: Source) -> bytes:
    """The header of a file without its long entries, such as vocabularies: the same Header in some 100 kB.

    Of the parts of a split file, in any order, the header of the file that they are together. Raises BadConfig, also
    where they are not all of them.
    """
    headers = [header(source) for source in sources]
    order = sorted(range(len(headers)), key=lambda place: _number(headers[place]))
    whole([headers[place] for place in order])
    parts = [_cut(sources[place]) for place in order]
    first, _, entries = parts[0]
    several = len(parts) > 1
    kept = [entry for name, entry in entries if not (several and name.startswith("split."))]
    count = sum(len(headers[place].tensors) for place in order)
    head = first + struct.pack("<QQ", count, len(kept))
    return b"".join([head, *kept, *(tensors for _, tensors, _ in parts)])


def _number(part: Header) -> int:
    number = part.keys.get("split.no")
    return number if type(number) is int else 0


def _cut(source: Source) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    """Of a header its front, its list of tensors, and the entries that are short, each by its name."""
    reader = _Reader(source)
    tensors, keys = reader.start()
    kept = []
    for _ in range(keys):
        start = reader.at
        name, value = reader.entry()
        if value is not None:
            kept.append((name, bytes(source.data[start : reader.at])))
    start = reader.at
    reader.tensors(tensors)
    return bytes(source.data[:8]), bytes(source.data[start : reader.at]), kept


def _refuse_twice(tensors: tuple[Tensor, ...], origin: str) -> None:
    if len({tensor.name for tensor in tensors}) == len(tensors):
        return
    seen: set[str] = set()
    name = next(one.name for one in tensors if one.name in seen or seen.add(one.name))  # type: ignore[func-returns-value]
    raise BadConfig(
        f"two tensors are called {name}", where=origin, got=f"{name} twice", want="a name of its own for every tensor"
    )


class _Reader:
    """A walk over one header; `at` is where it stands."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.at = 0
        self.strings = 0

    def _bad(self, what: str, *, got: object, want: str, try_this: str | None = None) -> BadConfig:
        where = f"{self.source.origin}: byte {self.at:,}"
        return BadConfig(what, where=where, got=got, want=want, try_this=try_this)

    def _unpack(self, form: str) -> Any:
        size = struct.calcsize("<" + form)
        self.source.need(self.at + size)
        (value,) = struct.unpack_from("<" + form, self.source.data, self.at)
        self.at += size
        return value

    def _text(self, longest: int, what: str) -> str:
        """A string; one that is longer than `longest` is cut where it is a value, refused where it is a name."""
        length = self._unpack("Q")
        if length > longest and what:
            raise self._bad(f"{what} is {length:,} bytes long", got=f"{length:,} bytes", want=f"at most {longest:,}")
        self.source.need(self.at + length)
        kept = bytes(self.source.data[self.at : self.at + min(length, longest)])
        self.at += length
        return kept.decode("utf-8", errors="replace")

    def start(self) -> tuple[int, int]:
        """Magic and version; how many tensors and metadata entries there are. Raises BadConfig."""
        name = self.source.origin
        self.source.need(4)
        magic = bytes(self.source.data[:4])
        if magic != b"GGUF":
            pointer = bytes(self.source.data[:20]) == b"version https://git-"
            hint = "git lfs pull, or download the file again" if pointer else None
            got = "a Git LFS pointer" if pointer else f"{magic!r} in front"
            raise self._bad(f"{name} is no GGUF file", got=got, want="GGUF in front", try_this=hint)
        self.at = 4
        version = self._unpack("I")
        if version and not version & 0xFFFF:
            raise self._bad(
                f"{name} is a big-endian GGUF file", got="big-endian numbers", want="a little-endian file",
                try_this="convert it with gguf_convert_endian.py of llama.cpp",
            )  # fmt: skip
        if version not in (2, 3):
            hint = "quantise it anew: version 1 was replaced in 2023" if version == 1 else None
            raise self._bad(f"{name} has the GGUF version {version}", got=version, want="2 or 3", try_this=hint)
        tensors, keys = self._unpack("Q"), self._unpack("Q")
        for what, count, most in (("tensors", tensors, MOST_TENSORS), ("metadata entries", keys, _MOST_KEYS)):
            if count > most:
                raise self._bad(f"{name} claims {count:,} {what}", got=f"{count:,} {what}", want=f"at most {most:,}")
        return tensors, keys

    def keys(self, count: int) -> dict[str, Any]:
        """The metadata; long arrays and texts are passed over, in their place stands None. Raises BadConfig."""
        found: dict[str, Any] = {}
        for _ in range(count):
            key, value = self.entry()
            if key in found:
                raise self._bad(f"the metadata entry {key} occurs twice", got=key, want="each entry once")
            found[key] = value
        return found

    def entry(self) -> tuple[str, Any]:
        """The name of the next metadata entry, and its value; None for a long one. Raises BadConfig."""
        key = self._text(_LONGEST_NAME, "the name of a metadata entry")
        return key, self._value(self._unpack("I"), key)

    def _value(self, kind: int, key: str) -> Any:
        if kind in _SCALARS:
            return self._unpack(_SCALARS[kind])
        if kind == _STRING:
            return self._text(_KEPT_TEXT, "")
        if kind != _ARRAY:
            raise self._bad(f"{key} has the unknown type {kind}", got=kind, want="a type from 0 to 12")
        inner, count = self._unpack("I"), self._unpack("Q")
        if inner == _STRING:
            return self._strings(count, key)
        if inner not in _SCALARS:
            what = "an array of arrays" if inner == _ARRAY else f"the unknown type {inner}"
            raise self._bad(f"{key} is an array of {what}", got=what, want="an array of numbers or strings")
        size = struct.calcsize("<" + _SCALARS[inner])
        self.source.need(self.at + count * size)
        start, self.at = self.at, self.at + count * size
        if count > _KEPT_ENTRIES:
            return None
        return list(struct.unpack_from(f"<{count}{_SCALARS[inner]}", self.source.data, start))

    def _strings(self, count: int, key: str) -> None:
        """Pass over an array of strings."""
        self.strings += count
        if self.strings > _MOST_STRINGS:
            raise self._bad(f"{key} claims {count:,} strings", got=f"{count:,}", want=f"at most {_MOST_STRINGS:,}")
        source, data, at = self.source, self.source.data, self.at
        unpack = struct.Struct("<Q").unpack_from
        have = len(data)
        for _ in range(count):
            if at + 8 > have:
                source.need(at + 8)
                have = len(data)
            at += 8 + unpack(data, at)[0]
        source.need(at)
        self.at = at

    def tensors(self, count: int) -> tuple[Tensor, ...]:
        """The list of tensors. Raises BadConfig."""
        return tuple(self._tensor() for _ in range(count))

    def _tensor(self) -> Tensor:
        name = self._text(_LONGEST_NAME, "the name of a tensor")
        dimensions = self._unpack("I")
        if not 1 <= dimensions <= 4:
            raise self._bad(f"{name} has {dimensions} dimensions", got=dimensions, want="1 to 4")
        self.source.need(self.at + 8 * dimensions + 12)
        *shape, kind, _offset = struct.unpack_from(f"<{dimensions}QIQ", self.source.data, self.at)
        self.at += 8 * dimensions + 12
        elements = 1
        for size in shape:
            elements *= size
        if not 0 < elements <= _MOST_ELEMENTS:
            raise self._bad(
                f"{name} has {elements:,} elements", got=" x ".join(map(str, shape)),
                want=f"1 to {_MOST_ELEMENTS:,} elements",
            )  # fmt: skip
        known = TYPES.get(kind)
        if known is None:
            raise self._bad(f"{name} has the unknown type {kind}", got=f"ggml type {kind}", want="a type of llama.cpp")
        form, block, block_bytes = known
        if shape[0] % block:
            raise self._bad(
                f"a row of {name} is no whole number of blocks", got=f"{shape[0]} elements",
                want=f"a multiple of {block}, as {form.upper()} has it",
            )  # fmt: skip
        return Tensor(name, tuple(shape), form, elements // block * block_bytes)
