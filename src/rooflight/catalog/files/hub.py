"""Headers of weight files on the Hugging Face hub: ranges of them, by the hub's own client; nothing else is fetched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rooflight.catalog.config import json_file
from rooflight.catalog.files import gguf, safetensors
from rooflight.catalog.files.model import checkpoint, gguf_model
from rooflight.catalog.files.source import Source
from rooflight.catalog.files.tensors import Header
from rooflight.errors import BadInput, RooflightError, printable
from rooflight.values.model import Model

# What a request brings: most headers are a few MB, of which the vocabulary is the most.
_RANGE_BYTES = 1 << 20


def checkpoint_of(hub: Any, name: str, config: Path) -> Model:
    """The Model of a repository whose config.json is here, with the headers of its safetensors files.

    `hub` is the module huggingface_hub. Without headers the config alone says the sizes, and the answer says so.
    Raises BadConfig for headers that contradict the config.
    """
    file = msgspec.structs.replace(json_file.read(config), id=name)
    try:
        with _without_bars():
            found = hub.get_safetensors_metadata(name)
    except Exception as error:  # the hub client raises many kinds
        kind = type(error).__name__
        model = checkpoint(file, (), origin=name)
        if any(one.__name__ == "NotASafetensorsRepoError" for one in type(error).__mro__):
            return _beside_gguf(model, gguf_files_of(hub, name))
        note = f"the headers of {name}'s weights were not read from the hub ({kind}): sizes as its config has them"
        return msgspec.structs.replace(model, assumptions=(*model.assumptions, note))
    tensors = tuple(
        safetensors.tensor_of(tensor, info.dtype, list(info.shape), tuple(info.data_offsets), f"{name}/{part}")
        for part, header in found.files_metadata.items()
        for tensor, info in header.tensors.items()
    )
    return checkpoint(file, tensors, origin=name)


def _beside_gguf(model: Model, found: list[str]) -> Model:
    """The Model of a config that has GGUF files beside it and no others: they say more, one at a time."""
    if not found:
        return model
    names = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    said = f"read from the config alone; a GGUF file beside it is read by its own path: {names}"
    return msgspec.structs.replace(model, warnings=(*model.warnings, said))


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """The client's bars of progress would stand between the lines of an answer."""
    try:
        from huggingface_hub import utils
    except ImportError:
        yield
        return
    shown = not utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            utils.enable_progress_bars()


def gguf_of(hub: Any, path: str) -> Model:
    """The Model of a GGUF file on the hub, `org/name/file.gguf`, by ranges of its header. Raises BadInput."""
    parts = gguf.part_names(path.rpartition("/")[2])
    folder = path.rpartition("/")[0]
    files = hub.HfFileSystem()
    header = gguf.whole([_header(files, f"{folder}/{part}") for part in parts])
    return gguf_model(header, id=printable(f"{folder}/{gguf.stem(parts[0])}"))


def _header(files: Any, path: str) -> Header:
    try:
        with files.open(path, "rb", block_size=_RANGE_BYTES) as stream:

            def fetch(start: int, count: int) -> bytes:
                stream.seek(start)
                data: bytes = stream.read(min(count, _RANGE_BYTES))
                return data

            size = getattr(stream, "size", None)
            return gguf.header(Source(fetch, size=size if type(size) is int else None, origin=path))
    except RooflightError:
        raise
    except Exception as error:  # the hub client raises many kinds, for one reason each
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:200]
        raise BadInput(
            f"{path} is no file here, and its header could not be read from the hub",
            where=path,
            got=reason,
            want="a GGUF file on this machine, or on the hub as org/name/file.gguf",
        ) from None


def gguf_files_of(hub: Any, name: str) -> list[str]:
    """The GGUF models in a repository, one path each; none where it has none or does not answer."""
    try:
        listed = hub.list_repo_files(name)
    except Exception:  # as above; what is missing then is said by the caller
        return []
    found = [file for file in listed if file.lower().endswith(".gguf") and not file.lower().startswith("mmproj")]
    firsts = {gguf.stem(file.rpartition("/")[2]): file for file in sorted(found, reverse=True)}
    return [f"{name}/{file}" for file in sorted(firsts.values())]
