"""The headers of safetensors files: eight bytes of length, then JSON; and the index of a checkpoint in several files.

Format: github.com/huggingface/safetensors (README, read 2026-11). Why not the package safetensors: it opens whole
files, and what is asked here is the header alone, of files that may be far away; that is msgspec's decoder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rooflight.catalog.files.source import MOST_HEADER_BYTES, Source, opened
from rooflight.catalog.files.tensors import Header, Tensor
from rooflight.errors import BadConfig, BadInput, printable

INDEX = "model.safetensors.index.json"
MOST_FILES = 2_000
_MOST_TENSORS = 2_000_000
_LARGEST = 1 << 50
_METADATA = "__metadata__"
_SHARD = re.compile(r"-\d+-of-\d+\.safetensors$")
# dtype -> storage format ("": packed numbers, whose meaning the config says), bits of an element
DTYPES = {
    "F64": ("", 64), "F32": ("fp32", 32), "F16": ("fp16", 16), "BF16": ("bf16", 16), "F8_E4M3": ("", 8),
    "F8_E5M2": ("", 8), "F8_E8M0": ("", 8), "I64": ("", 64), "U64": ("", 64), "I32": ("", 32), "U32": ("", 32),
    "I16": ("", 16), "U16": ("", 16), "I8": ("", 8), "U8": ("", 8), "BOOL": ("", 8), "F4": ("", 4), "C64": ("", 64),
    "F6_E2M3": ("", 6), "F6_E3M2": ("", 6),
}  # fmt: skip

_FLOAT8 = ("F8_E4M3", "F8_E5M2")


class _Entry(msgspec.Struct, frozen=True, gc=False):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class Index(msgspec.Struct, frozen=True):
    """model.safetensors.index.json: the file of each tensor, and what all take together."""

    weight_map: dict[str, str]
    metadata: dict[str, object] = {}

    @property
    def total_bytes(self) -> int | None:
        """What the index says of the whole, None where it says nothing."""
        total = self.metadata.get("total_size")
        return int(total) if isinstance(total, int | float) and 0 < total < _LARGEST else None


_ENTRIES: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRY = msgspec.json.Decoder(_Entry)
_INDEX = msgspec.json.Decoder(Index)


def header(source: Source) -> tuple[Tensor, ...]:
    """The tensors of one file. Raises BadConfig."""
    source.need(8)
    length = int.from_bytes(source.data[:8], "little")
    if length > MOST_HEADER_BYTES - 8 or (source.size is not None and length > source.size - 8):
        have = f", and the file has {source.size:,}" if source.size is not None else ""
        raise BadConfig(
            f"{source.origin} is no safetensors file, or is cut in its header",
            where=f"{source.origin}: byte 0",
            got=f"a header of {length:,} bytes{have}",
            want=f"a header of at most {MOST_HEADER_BYTES:,} bytes that is wholly there",
            try_this="download it again (git lfs pull, if it is a pointer)",
        )
    source.need(8 + length)
    try:
        entries = _ENTRIES.decode(bytes(source.data[8 : 8 + length]))
        found = [(name, _ENTRY.decode(raw)) for name, raw in entries.items() if name != _METADATA]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BadConfig(
            f"the header of {source.origin} is not what safetensors has", where=source.origin,
            got=printable(str(error))[:200], want="JSON: a dtype, a shape and two offsets for each tensor",
        ) from None  # fmt: skip
    return tuple(tensor_of(name, one.dtype, one.shape, one.data_offsets, source.origin) for name, one in found)


def tensor_of(name: str, dtype: str, shape: list[int], offsets: tuple[int, int], origin: str) -> Tensor:
    """A tensor of a header. Raises BadConfig for one that cannot be."""
    known = DTYPES.get(dtype)
    name = name if name.isprintable() else printable(name)
    where = f"{origin}: {name[:200]}"
    if known is None:
        raise BadConfig(
            "a tensor has an unknown type", where=where, got=dtype[:100], want="one of " + ", ".join(DTYPES)
        )
    form, bits = known
    elements = 1
    for size in shape:
        elements *= size if size >= 0 else -_LARGEST
    start, end = offsets
    if len(shape) > 8 or not 0 <= elements < _LARGEST or not 0 <= start <= end < _LARGEST:
        raise BadConfig(
            "a tensor has an impossible size", where=where, got=f"{shape}, bytes {start} to {end}"[:200],
            want="a shape and an extent that a file can have",
        )  # fmt: skip
    if elements * bits != (end - start) * 8:
        raise BadConfig(
            "a tensor's extent is not that of its shape", where=where, got=f"{end - start:,} bytes",
            want=f"{elements * bits // 8:,} bytes for {elements:,} elements of {dtype}",
        )  # fmt: skip
    # the output dimension stands first here
    return Tensor(name, tuple(reversed(shape)), form, end - start, dtype in _FLOAT8)


def read_index(raw: bytes, origin: str) -> Index:
    """An index file's content. Raises BadConfig."""
    try:
        index = _INDEX.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BadConfig(
            f"{origin} is no index of safetensors files", where=origin, got=printable(str(error))[:200],
            want='{"weight_map": {tensor: file}, "metadata": {"total_size": bytes}}',
        ) from None  # fmt: skip
    files = set(index.weight_map.values())
    # a name that leads out of the directory is a stranger's: nothing else is opened for it
    strange = next((one for one in files if not re.fullmatch(r"[\w][\w.\-]*\.safetensors", one)), None)
    if strange is not None or len(files) > MOST_FILES:
        raise BadConfig(
            f"{origin} names {'a file that is none of its own' if strange else 'too many files'}", where=origin,
            got=printable(strange)[:100] if strange else f"{len(files)} files",
            want=f"at most {MOST_FILES:,} files of its own directory, NAME.safetensors",
        )  # fmt: skip
    return index


def files_in(folder: Path) -> tuple[list[Path], Index | None]:
    """The safetensors files of a directory: those its index names, else model.safetensors, else all of one series.

    None of them: the index alone says what they take together. Raises BadConfig, BadInput for parts of a series that
    are missing, and for several files of which nothing says how they belong together.
    """
    index_file = folder / INDEX
    if index_file.exists():
        with opened(index_file) as source:
            source.need(source.size or 0)
            index = read_index(bytes(source.data), str(index_file))
        named = [folder / name for name in sorted(set(index.weight_map.values()))]
        there = [file for file in named if file.exists()]
        if there and len(there) < len(named):
            missing = [file.name for file in named if file not in there]
            raise BadInput(
                f"{len(missing)} of the {len(named)} files of {INDEX} are not there", where=str(folder),
                got=f"no {missing[0]}", want="all of them, or none (the index alone says their size)",
                try_this="download the rest",
            )  # fmt: skip
        return there, index
    single = folder / "model.safetensors"
    if single.exists():
        return [single], None
    found = sorted(folder.glob("*.safetensors"))[: MOST_FILES + 1]
    shards = [file for file in found if _SHARD.search(file.name)]
    if shards:
        return _series(folder, shards), None
    models = [file for file in found if not file.name.startswith("adapter")]
    if len(models) > 1:
        raise _several(folder, [file.name for file in models])
    return models, None


def _series(folder: Path, shards: list[Path]) -> list[Path]:
    """The parts of one series, all of them. Raises BadInput."""
    first = {_SHARD.sub("", file.name): file.name for file in reversed(shards)}
    if len(first) > 1:
        raise _several(folder, sorted(first.values()))
    of = int(shards[0].stem.rpartition("-")[2])
    if len(shards) != of:
        raise BadInput(
            f"{len(shards)} of {of} files of a series are there, and no {INDEX}", where=str(folder),
            got=f"{shards[0].name} and its like", want=f"all {of} of them", try_this="download the rest",
        )  # fmt: skip
    return shards


def _several(folder: Path, names: list[str]) -> BadInput:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return BadInput(
        f"{folder} holds {len(names)} safetensors files and no {INDEX} that says what belongs together",
        where=str(folder), got=", ".join(names[:4]) + more,
        want=f"model.safetensors, one series NAME-00001-of-0000N.safetensors, or {INDEX}",
        try_this=f"{folder / 'config.json'}, which is read by itself",
    )  # fmt: skip


def read(files: Iterable[Path], origin: str) -> Header:
    """The tensors of several files together. Raises BadConfig, BadInput."""
    tensors: list[Tensor] = []
    for file in files:
        with opened(file) as source:
            tensors += header(source)
        if len(tensors) > _MOST_TENSORS:
            raise BadConfig(f"{origin} has too many tensors", where=origin, want=f"at most {_MOST_TENSORS:,}")
    return Header(tensors=tuple(tensors), origin=origin)
