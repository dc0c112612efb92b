"""Models: one small TOML file each, any config.json, or weight files; read into a plan of parts.

`load("meta-llama/Llama-3.1-70B")`, `load("llama-3.1-70b")`, `load("path/to/config.json")`, `load("model.gguf")` and
`load("path/to/checkpoint")` give a Model; "-" is a config.json on standard input.
A file holds the keys of the model's config.json that its shape hangs on, under [config], and where they were read.
Files are named after ids (org__name.toml, lower case), so that one id costs one file.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rooflight.catalog import tables
from rooflight.catalog.config import model_from_dict, read_model
from rooflight.catalog.config.heads import as_named
from rooflight.errors import BadConfig, BadInput, MissingExtra, UnknownName
from rooflight.files import STANDARD_INPUT
from rooflight.values.model import Model

_FOLDER = Path(__file__).parent / "models"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_HUB_FILE = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+/[\w./-]+\.gguf", re.IGNORECASE)
_ENDING = re.compile(r"-(instruct|chat|base|it|hf|v0\.[0-9])$")
_KEYS = {"id", "aliases", "source", "path", "commit", "note", "read", "config"}


def load(name_or_path: str | Path) -> Model:
    """The Model a catalog id, a short name, a path or a Hugging Face id stands for. Raises BadInput and its kinds."""
    name = str(name_or_path).strip()
    if not name:
        raise BadInput("no model is named", want="a catalog id, a Hugging Face id or a config.json")
    if name == STANDARD_INPUT:
        return as_named(read_model(name))
    if _is_file(name):
        return as_named(_read(name))
    entry = entry_file(name)
    if entry is not None:
        return _asked_as(_shipped(entry), name)
    if _HUB_FILE.fullmatch(name) and ".." not in name:
        return _gguf_from_hub(name)
    if _looks_like_path(name):
        return as_named(_read(name))
    if _HUB_ID.fullmatch(name):
        return _from_hub(name)
    raise unknown_model(name)


def _read(path: str) -> Model:
    """A config.json without more ado; whatever else a path may hold by its headers."""
    if path.lower().endswith(".json") and not path.lower().endswith(".index.json"):
        return read_model(path)
    from rooflight.catalog.files.model import read_path

    return read_path(path)


def catalogued(name: str) -> Model:
    """The Model of a catalog entry, by id, alias or short name; a path or a hub id is never followed.

    For names that come from strangers. Raises UnknownName.
    """
    matches = _index().get(_plain(name), ())
    if len(matches) != 1:
        raise _several(name, matches) if matches else unknown_model(name[:100])
    return _asked_as(_shipped(matches[0]), name.strip())


def ids() -> tuple[str, ...]:
    """The id of every model in the catalog, sorted."""
    return tuple(sorted((_spelled(stem) for stem in _stems()), key=str.lower))


def all_models() -> Iterator[Model]:
    """Every model in the catalog."""
    return (_shipped(stem) for stem in _stems())


def aliases(model_id: str) -> tuple[str, ...]:
    """The other names of a catalog entry: variants of the same shape, and short names."""
    entry = entry_file(model_id)
    if entry is None:
        raise unknown_model(model_id)
    return tuple(_document(_FOLDER / f"{entry}.toml").get("aliases", ()))


def _is_file(name: str) -> bool:
    """A path that exists; a directory counts only with a model in it, or where nothing else can be meant."""
    try:
        path = Path(name).expanduser()
        if os.path.lexists(path) and not path.is_dir():
            return True
        return os.path.lexists(path / "config.json") or next(path.glob("*.gguf"), None) is not None
    except (OSError, ValueError, RuntimeError):
        return False


def _looks_like_path(name: str) -> bool:
    if name.startswith((".", "~", "/", "\\")) or name.lower().endswith((".json", ".gguf", ".safetensors")):
        return True
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _stems() -> list[str]:
    return tables.stems(_FOLDER)


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def entry_file(name: str) -> str | None:
    """The stem of the file a name stands for: an id, its part behind the slash, or an alias. None: no such entry."""
    stem = name.lower().replace("/", "__")
    if re.fullmatch(r"[\w.-]{1,200}", stem) and (_FOLDER / f"{stem}.toml").is_file():
        return stem
    matches = _index().get(_plain(name), ())
    if len(matches) > 1:
        raise _several(name, matches)
    return matches[0] if matches else None


def _several(name: str, stems: tuple[str, ...]) -> UnknownName:
    return UnknownName(
        f"{name!r} could be more than one model",
        got=name,
        want="one of them by its full id",
        try_this=", ".join(_spelled(stem) for stem in stems),
    )


@functools.lru_cache(maxsize=1)
def _index() -> dict[str, tuple[str, ...]]:
    """Every name in the catalog -> files: ids and aliases, then what is behind an id's slash, then behind an alias's,
    then those without the endings that name a variant of the same shape. The first kind that has a name counts."""
    kinds: tuple[dict[str, dict[str, None]], ...] = ({}, {}, {}, {})
    for stem in _stems():
        known = [_plain(name) for name in _heading(stem)]
        tails = [name.rpartition("/")[2] for name in known]
        listed = (known, tails[:1], tails, [bare for tail in tails for bare in _without_endings(tail)])
        for kind, names in zip(kinds, listed, strict=True):
            for name in names:
                kind.setdefault(name, {})[stem] = None
    return {name: tuple(files) for kind in reversed(kinds) for name, files in kind.items()}


def _without_endings(name: str) -> Iterator[str]:
    """llama-2-7b-chat-hf as llama-2-7b-chat and llama-2-7b."""
    while name != (shorter := _ENDING.sub("", name)):
        yield shorter
        name = shorter


def _heading(stem: str) -> list[str]:
    """The id and the aliases of a file, read off its first lines without parsing the rest."""
    with open(os.path.join(_FOLDER, f"{stem}.toml"), "rb") as file:
        return re.findall(r'"([^"]+)"', file.read().partition(b"\nsource")[0].decode())


def _spelled(stem: str) -> str:
    """The id as its file spells it."""
    return _heading(stem)[0]


@functools.lru_cache(maxsize=256)
def _shipped(stem: str) -> Model:
    file = _FOLDER / f"{stem}.toml"
    document = _document(file)
    config, origin = expanded(document["config"]), f"catalog/models/{file.name}"
    return as_named(model_from_dict(config, id=document["id"], origin=origin, leaves_defaults_out=True))


def _document(file: Path) -> dict[str, Any]:
    try:
        document = tables.read(file)
    except (OSError, ValueError) as error:
        raise BadConfig(f"{file.name} cannot be read: {error}", where=str(file)) from None
    strange = document.keys() - _KEYS
    missing = {"id", "source", "read", "config"} - document.keys()
    if strange or missing:
        raise BadConfig(
            f"{file.name} has the wrong keys",
            where=str(file),
            got=", ".join(document),
            want="id, source, read, [config]; and perhaps aliases, commit, note, path",
        )
    return document


def expanded(value: Any) -> Any:
    """A TOML value as config.json would have it.

    Lists may be in runs: [{repeat = ["a", "b"], times = 2}, "a"] is a b a b a. TOML has no null: "null" stands for it.
    """
    if value == "null":
        return None
    if isinstance(value, Mapping):
        return {key: expanded(inner) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    result: list[Any] = []
    for entry in value:
        if isinstance(entry, Mapping) and entry.keys() == {"repeat", "times"}:
            result.extend(entry["repeat"] * entry["times"])
        else:
            result.append(expanded(entry))
    return result


def _asked_as(model: Model, name: str) -> Model:
    """A variant asked for by its own id keeps the entry's shape; the answer says so."""
    if "/" not in name or name.lower() == model.id.lower():
        return model
    note = f"{name} has the shape of {model.id}"
    return msgspec.structs.replace(model, assumptions=(*model.assumptions, note))


def _from_hub(name: str) -> Model:
    """A repository of the Hugging Face hub: config.json, hf_quant_config.json and the headers of its weights.

    Nothing else is fetched. Raises BadInput.
    """
    hub = _hub(name, f"{name} is not in the catalog, and reading it from the hub")
    cached = not _hub_in_reach()
    try:
        config = hub.hf_hub_download(name, "config.json", local_files_only=cached)
    except Exception as error:  # the hub client raises many kinds, for one reason each: say that reason
        if not cached and "EntryNotFoundError" in _kinds(error):
            return _gguf_in(hub, name)
        reason = "the hub is out of reach and the file is in no cache" if cached else _reason(error)
        raise BadInput(
            f"{name} is not in the catalog, and its config.json could not be fetched from the hub",
            got=reason,
            want="a catalog id, a reachable Hugging Face id, or the path of a config.json",
            try_this=f"download config.json and give its path{_near_words(name)}",
        ) from None
    with contextlib.suppress(Exception):  # most repositories have none
        hub.hf_hub_download(name, "hf_quant_config.json", local_files_only=cached)
    if cached:
        return as_named(msgspec.structs.replace(_cached(Path(config)), id=name))
    from rooflight.catalog.files.hub import checkpoint_of

    return as_named(checkpoint_of(hub, name, Path(config)))


def _cached(config: Path) -> Model:
    """A repository in the client's cache: by its weights where they are there, else by its config."""
    from rooflight.catalog.files.model import read_path

    try:
        return read_path(config.parent)
    except BadInput:  # weights fetched in part
        return read_model(config)


def _gguf_in(hub: Any, name: str) -> Model:
    """The one GGUF model of a repository that has no config.json. Raises BadInput."""
    from rooflight.catalog.files.hub import gguf_files_of, gguf_of

    found = gguf_files_of(hub, name)
    if len(found) == 1:
        return gguf_of(hub, found[0])
    raise BadInput(
        f"{name} has no config.json on the hub" + (f", but {len(found)} GGUF models" if found else ""),
        where=name,
        got=", ".join(found[:4]) + (" ..." if len(found) > 4 else "") or "no GGUF file either",
        want="one of its GGUF files as org/name/file.gguf" if found else "a repository with a config.json",
        try_this=found[0] if found else None,
    )


def _gguf_from_hub(path: str) -> Model:
    """A GGUF file of the hub by its path, org/name/file.gguf, its header alone. Raises BadInput."""
    hub = _hub(path, f"there is no file {path} here, and reading its header from the hub")
    if not _hub_in_reach():
        raise BadInput(
            f"there is no file {path} here, and the hub is out of reach",
            where=path, got="no network", want="a GGUF file on this machine",
        )  # fmt: skip
    from rooflight.catalog.files.hub import gguf_of

    return gguf_of(hub, path)


def _hub(name: str, what: str) -> Any:
    """The hub's client. Raises MissingExtra."""
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra(
            f"{what} needs huggingface-hub",
            got=name,
            want="a catalog id, or the path of a config.json or a weight file",
            try_this=f"pip install 'rooflight[hub]'{_near_words(name)}",
        ) from None
    return huggingface_hub


def _reason(error: Exception) -> str:
    """What the hub's client says went wrong, without its advice on its own options."""
    said = {
        "RepositoryNotFoundError": "no such repository, or one that needs a login",
        "GatedRepoError": "the repository asks for a licence to be accepted, and a login",
        "EntryNotFoundError": "the repository has no config.json",
        "LocalEntryNotFoundError": "the hub did not answer and the file is in no cache",
    }
    name = type(error).__name__
    known = next((said[kind] for kind in _kinds(error) if kind in said), None)
    return known or f"{name}: {(str(error).splitlines() or ['no reason given'])[0].partition('. ')[0]}"[:200]


def _kinds(error: Exception) -> list[str]:
    """An error's class and those it is one of, by name: versions of the client differ in which one they raise."""
    return [kind.__name__ for kind in type(error).__mro__]


def _hub_in_reach() -> bool:
    """Whether the hub's name resolves (or a proxy stands between): without it the client retries for half a minute."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    if getproxies():
        return True
    try:
        socket.getaddrinfo(urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname, 443)
    except OSError:
        return False
    return True


def _near(name: str) -> list[str]:
    import difflib

    wanted = _plain(name)
    index = _index()
    close = difflib.get_close_matches(wanted, index, n=3, cutoff=0.6)
    close += difflib.get_close_matches(wanted.partition("/")[2] or wanted, index, n=4, cutoff=0.5)
    return list(dict.fromkeys(_spelled(stem) for found in close for stem in index[found]))[:5]


def _near_words(name: str) -> str:
    near = _near(name)
    return f"; or one of {', '.join(near)}" if near else ""


def unknown_model(name: str) -> UnknownName:
    """The error for a name nobody knows, with the near ones."""
    near = _near(name)
    return UnknownName(
        f"there is no model {name!r} in the catalog",
        got=name,
        want="an id of `rooflight models`, a Hugging Face id (org/name), or the path of a config.json",
        try_this=", ".join(near) if near else "`rooflight models` for the list",
    )
