"""Read a config file as people meet it: byte-order marks, Git LFS pointers, cut downloads, adapters, hostile input."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rooflight.errors import BadConfig, BadInput, printable
from rooflight.files import SHELLS_PIPES, STANDARD_INPUT, name_of, standard_input

# The largest config seen is 3 MB (a quantised model that lists every expert); 64 MiB is weights, not a config.
LARGEST_BYTES = 64 << 20
# O_NONBLOCK: a named pipe that nobody writes to would keep open() waiting
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WEIGHT_ENDINGS = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".onnx", ".ggml", ".npz", ".h5", ".msgpack")


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed config, the quantisation sidecar beside it (or None), where they came from, and what was odd."""

    data: dict[str, Any]
    sidecar: dict[str, Any] | None
    origin: str
    id: str
    warnings: tuple[str, ...] = ()


def read(path: str | Path) -> ConfigFile:
    """A config.json, or a directory that holds one, with its hf_quant_config.json; "-": a config on standard input.

    Raises BadConfig, BadInput.
    """
    if str(path) == STANDARD_INPUT:
        return _piped()
    file = _config_in(Path(path).expanduser())
    data, warnings = read_object(file)
    _refuse_other_kinds(data, file)
    beside = file.with_name(
        "hf_quant_config.json" if file.name == "config.json" else f"{file.stem}_hf_quant_config.json"
    )
    sidecar = None
    if os.path.lexists(beside):
        sidecar, more = read_object(beside)
        warnings += more
    name, origin = printable(_id_of(file)), printable(str(file))
    return ConfigFile(data=data, sidecar=sidecar, origin=origin, id=name, warnings=tuple(map(printable, warnings)))


def _piped() -> ConfigFile:
    origin = name_of(STANDARD_INPUT)
    raw = standard_input(LARGEST_BYTES, "a config.json")
    if raw.startswith(b"GGUF"):
        raise BadInput(
            "a weight file is read by its path, not from standard input", where=STANDARD_INPUT, got="a GGUF file",
            want="a config.json on standard input, or the path of the GGUF file",
        )  # fmt: skip
    data, warnings = parse_object(raw, origin)
    _refuse_other_kinds(data, Path(origin))
    return ConfigFile(data=data, sidecar=None, origin=origin, id="config", warnings=tuple(map(printable, warnings)))


def read_object(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The JSON object in a file, and warnings about duplicate keys. Raises BadConfig, BadInput."""
    return parse_object(_bytes_of(file), str(file))


def parse_object(raw: bytes, origin: str) -> tuple[dict[str, Any], list[str]]:
    """The JSON object in some bytes, and warnings about duplicate keys. Raises BadConfig.

    NaN and Infinity are accepted, as Python's json writes them; the keys that matter refuse them later.
    """
    text = _decoded(raw, origin)
    duplicates: dict[str, None] = {}
    value = _parsed(text, origin, duplicates)
    if not isinstance(value, dict):
        kind = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}.get(type(value), "a number")
        raise BadConfig(f"{origin} holds {kind}, not an object", where=origin, got=kind, want="a JSON object { ... }")
    return value, [f"{origin}: the key {key!r} occurs twice in one object; the last one counts" for key in duplicates]


def _config_in(path: Path) -> Path:
    """The file meant by a path: itself, or the config.json of a directory. Raises BadInput."""
    where = str(path)
    if path.suffix.lower() in _WEIGHT_ENDINGS and not path.is_dir():
        raise BadInput(
            f"{path.name} is a weight file, not a config",
            where=where,
            got=path.suffix,
            want="a config.json, a GGUF or safetensors file, or a directory that holds one",
            try_this="the config.json of the same model, or its Hugging Face id",
        )
    try:
        if path.is_dir():
            inside = path / "config.json"
            if not os.path.lexists(inside):
                raise BadInput(
                    f"the directory {where} holds no config.json and no GGUF file",
                    where=where,
                    got=_listing(path),
                    want="a directory as `huggingface-cli download` makes it",
                )
            return inside
        if not os.path.lexists(path):
            raise BadInput(
                f"there is no file {where}", where=where, want="a config.json, or a directory that holds one"
            )
    except (OSError, ValueError) as error:
        raise _unreadable(where, error) from None
    return path


def _listing(path: Path) -> str:
    names = sorted(entry.name for entry in path.iterdir())
    return (", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")) or "an empty directory"


def _unreadable(where: str, error: Exception) -> BadInput:
    why = getattr(error, "strerror", None) or str(error)
    if getattr(error, "errno", None) == errno.ELOOP:
        why = "the link leads in a circle"
    return BadInput(f"{where} cannot be read: {why}", where=where, got=why, want="a readable config.json")


def _bytes_of(file: Path) -> bytes:
    """The bytes of a file, or of a pipe on standard input: never more than a config can have. Raises BadInput."""
    try:
        with open(os.open(file, _READ_FLAGS), "rb") as stream:
            kind = _strange_kind(stream.fileno(), file)
            if kind is not None:
                raise BadConfig(f"{file} is {kind}, not a file", where=str(file), got=kind, want="a config.json")
            os.set_blocking(stream.fileno(), True)
            raw = stream.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(str(file), error) from None
    if len(raw) > LARGEST_BYTES:
        raise BadConfig(
            f"{file.name} has more than {LARGEST_BYTES} bytes, too many for a config",
            where=str(file),
            got=f"over {LARGEST_BYTES} bytes",
            want=f"at most {LARGEST_BYTES} bytes",
        )
    return raw


def _strange_kind(number: int, file: Path) -> str | None:
    """What an open file is if it is no file to read a config from; the shell's own pipes (/dev/stdin) are."""
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISFIFO(mode):
        return None if str(file).startswith(SHELLS_PIPES) else "a named pipe"
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))
    return next((name for test, name in kinds if test(mode)), "a socket")


def _decoded(raw: bytes, origin: str) -> str:
    if not raw.strip():
        raise BadConfig(f"{origin} is empty", where=origin, got=f"{len(raw)} bytes", want="a JSON object")
    if raw.startswith(b"version https://git-lfs.github.com/spec"):
        raise BadConfig(
            f"{origin} is a Git LFS pointer, not the file itself",
            where=origin,
            got="a pointer of a clone made without LFS",
            want="the file it points to",
            try_this="git lfs pull, or download the file again",
        )
    if raw.startswith(b"GGUF"):
        raise BadConfig(
            f"{origin} is a GGUF file under the name of a config", where=origin, got="a file that begins with GGUF",
            want="a GGUF file under a name that ends in .gguf, or a config.json", try_this="rename it",
        )  # fmt: skip
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise BadConfig(
            f"{origin} is not text",
            where=origin,
            got=f"byte 0x{raw[error.start]:02x} at offset {error.start}",
            want="UTF-8 JSON",
        ) from None


def _parsed(text: str, origin: str, duplicates: dict[str, None]) -> Any:
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    duplicates[key] = None
                seen.add(key)
        return result

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise _not_json(text, origin, error.msg, error.pos, error.lineno, error.colno) from None
    except RecursionError:
        raise BadConfig(
            f"{origin} is nested too deeply for a config", where=origin, want="a JSON object a few levels deep"
        ) from None
    except ValueError as error:  # an integer of thousands of digits
        raise BadConfig(f"{origin} cannot be read: {error}", where=origin, want="numbers of ordinary size") from None


def _not_json(text: str, origin: str, message: str, position: int, line: int, column: int) -> BadConfig:
    start = text.lstrip()[:15].lower()
    seen = text[position : position + 2]
    if start.startswith(("<!doctype", "<html", "<?xml")):
        what, hint = f"{origin} is a web page, not a config", "the raw file, not the page that shows it"
    elif position >= len(text.rstrip()) or text[position:].strip() == "":
        what, hint = f"{origin} ends at line {line} column {column} in the middle of the JSON", "download it again"
    elif message.startswith("Invalid control character"):
        what = f"{origin} has a raw control character ({text[position]!r}) in a string at line {line} column {column}"
        hint = "write it as an escape, such as \\n"
    elif message.startswith("Unterminated string") and "\n" not in text[position:].rstrip():
        last = text.count("\n") + 1
        what = f"{origin} ends in the middle of the JSON, in a string that starts at line {line} column {column}"
        hint = f"download it again (it has {last} lines)"
    elif seen[:1] in ("#", "/") or seen == "//":
        what, hint = f"{origin} has a comment at line {line} column {column}, and JSON has no comments", "remove it"
    else:
        what, hint = f"{origin} is not JSON: {message} at line {line} column {column}", None
    got = text.splitlines()[line - 1][:80] if line <= len(text.splitlines()) else "the end of the file"
    return BadConfig(what, where=f"{origin}:{line}:{column}", got=got, want="JSON", try_this=hint)


def _refuse_other_kinds(data: Mapping[str, Any], file: Path) -> None:
    """Refuse by name the other JSON files of a model repository."""
    if "peft_type" in data or "base_model_name_or_path" in data:
        base, rank = data.get("base_model_name_or_path") or "an unnamed base model", data.get("r")
        detail = f"a PEFT adapter (r={rank})" if rank is not None else "a PEFT adapter"
        raise BadConfig(
            f"this is {detail} for {base}, not a model",
            where=str(file),
            got=f"peft_type {data.get('peft_type')}",
            want="the config.json of the base model",
            try_this=f"{base}",
        )
    marks = {
        "a tokenizer config": ("tokenizer_class", "added_tokens_decoder"),
        "a tokenizer": ("added_tokens", "normalizer"),
        "a generation config": ("do_sample", "max_new_tokens", "top_p", "temperature"),
        "an index of weight files": ("weight_map",),
        "an image processor config": ("image_processor_type", "processor_class"),
        "a sentence-transformers config": ("similarity_fn_name", "__version__"),
        "a quantisation sidecar": ("quantization", "producer"),
    }
    if any(
        key in data for key in ("model_type", "architectures", "hidden_size", "text_config", "dim", "n_embd", "d_model")
    ):
        return
    for kind, keys in marks.items():
        if any(key in data for key in keys):
            raise BadConfig(
                f"{file.name} is {kind}, not a model config",
                where=str(file),
                got="keys " + ", ".join(list(data)[:5]),
                want="the config.json that names model_type and hidden_size",
            )


def _id_of(file: Path) -> str:
    """A name for the model of a file: org__name.json and the Hugging Face cache spell ids; else the directory."""
    if file.name == "config.json":
        for part in file.resolve().parts:
            if part.startswith("models--"):
                return part.removeprefix("models--").replace("--", "/", 1)
        return file.resolve().parent.name or "config"
    return file.stem.replace("__", "/", 1)
