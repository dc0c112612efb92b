"""A Model read from weight files: the plan of its architecture, the bytes of its tensors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rooflight.catalog.config import json_file, read_model
from rooflight.catalog.config.reading import DRAFT_KEYS, Stored, model_from_dict
from rooflight.catalog.config.registry import Text
from rooflight.catalog.files import gguf, safetensors
from rooflight.catalog.files.architectures import config_of
from rooflight.catalog.files.names import gguf_names, gguf_spot, module_names, module_spot
from rooflight.catalog.files.place import Piles, place
from rooflight.catalog.files.tensors import Header, Tensor
from rooflight.errors import BadConfig, BadInput, printable
from rooflight.values.model import Model

_WANTED = "a config.json, a GGUF or safetensors file, or a directory that holds one of them"


def read_path(path: str | Path) -> Model:
    """The Model of a config.json, a GGUF or safetensors file, or a directory that holds one of them.

    Raises BadInput and its kinds.
    """
    file = Path(path).expanduser()
    try:
        if not os.path.lexists(file):
            raise BadInput(f"there is no file {file}", where=str(file), want=_WANTED)
        kind = file.suffix.lower()
        if file.is_dir() or file.name == safetensors.INDEX:
            return _of_folder(file if file.is_dir() else file.parent)
        if kind == ".gguf" or (kind != ".json" and _is_gguf(file)):
            return read_gguf(file)
        if kind == ".safetensors":
            return _of_safetensors(file)
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {error}", where=str(file), want="a readable file") from None
    return read_model(file)


def _is_gguf(file: Path) -> bool:
    """By its first bytes: model stores keep files under names that say nothing."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(4) == b"GGUF"


def _of_folder(folder: Path) -> Model:
    """A checkpoint of config.json and safetensors, or a directory with one GGUF file. Raises BadInput."""
    found = _gguf_models(folder)
    names = ", ".join(sorted(file.name for file in found)[:4]) + (f" and {len(found) - 4} more" if found[4:] else "")
    if os.path.lexists(folder / "config.json"):
        files, index = safetensors.files_in(folder)
        if files or index is not None:
            model = _weighed(folder / "config.json", files, index)
            return _warned(model, f"{names} beside them: the safetensors files count") if found else model
        if len(found) == 1:
            return read_gguf(found[0])
        model = read_model(folder)
        several = f"{len(found)} GGUF models beside the config.json ({names}): read from the config alone"
        return _warned(model, f"{several}; one of them is read by its own path") if found else model
    if len(found) > 1:
        raise BadInput(
            f"{folder} holds {len(found)} GGUF models", where=str(folder), got=names, want="one of them by its own path"
        )
    return read_gguf(found[0]) if found else read_model(folder)


def _gguf_models(folder: Path) -> list[Path]:
    """The GGUF models in a directory, each by its first part; what encodes pictures for one is none."""
    found = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".gguf" and not file.is_dir())
    language = [file for file in found if not file.name.lower().startswith("mmproj")]
    return list({gguf.stem(file.name): file for file in reversed(language)}.values())


def _warned(model: Model, warning: str) -> Model:
    return msgspec.structs.replace(model, warnings=(*model.warnings, f"{model.origin}: {warning}"))


def read_gguf(file: Path) -> Model:
    """The Model of a GGUF file, its other parts beside it where it is split. Raises BadConfig, BadInput."""
    return gguf_model(gguf.read(file), id=printable(gguf.stem(file.name)))


def gguf_model(header: Header, *, id: str) -> Model:
    """The Model that a GGUF header describes. Raises BadConfig, UnknownName."""
    config = config_of(header)
    origin = printable(header.origin)
    _refuse_more_blocks(header, origin)

    def weighed(text: Text) -> Stored:
        stored = place(Piles(header.tensors, gguf_spot), gguf_names, origin, text)
        kind = header.keys.get("general.file_type")
        called = gguf.FILE_TYPES.get(kind) if type(kind) is int else None
        return msgspec.structs.replace(stored, called=called, vector_format="fp32")

    return model_from_dict(
        config, id=id, origin=origin, warnings=header.warnings, leaves_defaults_out=True, weighed=weighed
    )


def _refuse_more_blocks(header: Header, origin: str) -> None:
    """Blocks beyond block_count, in a file that speaks of none for drafting. Raises BadConfig."""
    said = header.keys.get(f"{header.keys.get('general.architecture')}.block_count")
    spots = [gguf_spot(tensor.name) for tensor in header.tensors]
    last = max((spot.layer for spot in spots if spot.layer is not None), default=-1)
    drafts = any("nextn" in key for key in header.keys) or any(spot.elsewhere == "draft" for spot in spots)
    if type(said) is int and 0 < said <= last and not drafts:
        raise BadConfig(
            "the file holds more blocks than its block_count says", where=f"{origin}: block_count",
            got=f"block_count {said}, and tensors of blk.{last}", want="a file whose keys and tensors agree",
            try_this="convert it again",
        )  # fmt: skip


def _of_safetensors(file: Path) -> Model:
    """One safetensors file with the config.json beside it; a part of several stands for all of them."""
    config = file.with_name("config.json")
    if not file.exists() or not config.exists():
        missing = config if file.exists() else file
        raise BadInput(
            f"there is no {missing.name} beside {file.name}" if file.exists() else f"there is no file {file}",
            where=str(missing),
            want="the config.json of the model beside its weights: safetensors files do not name their shape",
        )
    files, index = safetensors.files_in(file.parent)
    if file not in files:
        files, index = [file], None
    return _weighed(config, files, index)


def _weighed(config: Path, files: Sequence[Path], index: safetensors.Index | None) -> Model:
    read = json_file.read(config)
    origin = printable(str(config.parent))
    header = safetensors.read(files, origin)
    if files and not header.tensors:
        raise BadConfig(
            f"{files[0].name} holds no tensors", where=str(files[0]), got="a header without an entry",
            want="the weights of the model", try_this=f"download it again, or give {config} alone",
        )  # fmt: skip
    model = checkpoint(read, header.tensors, origin=origin)
    total = None if header.tensors or index is None else index.total_bytes
    if total is None:
        return model
    said = f"{safetensors.INDEX} says {total:,} bytes in all; no headers are there, so parts are sized by the config"
    return msgspec.structs.replace(model, assumptions=(*model.assumptions, said))


def checkpoint(file: json_file.ConfigFile, tensors: tuple[Tensor, ...], *, origin: str) -> Model:
    """The Model of a config with the tensors of its safetensors files, as far as there are any."""

    speaks = any(
        key in part for part in (file.data, *file.data.values()) if isinstance(part, dict) for key in DRAFT_KEYS
    )

    def weighed(text: Text) -> Stored:
        if text.whole:
            said = "the headers of its files are not read for this kind of model: parts are sized by the config"
            return Stored(text=text, notes=(f"{origin}: {said}",))
        piles = Piles(tensors, module_spot)
        stored = place(piles, module_names, origin, text, keeps=True)
        more = max(piles.layers, default=-1) + 1 - sum(layer.count for layer in text.layers)
        if more <= 0 or speaks:
            return stored
        said = f"{origin} holds {more} more layers than the config counts, and nothing says that they draft: left out"
        return msgspec.structs.replace(stored, warnings=(*stored.warnings, said))

    return model_from_dict(
        file.data,
        id=file.id,
        origin=file.origin,
        sidecar=file.sidecar,
        warnings=file.warnings,
        weighed=weighed if tensors else None,
    )
