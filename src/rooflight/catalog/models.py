"""Models: one small TOML file each, any config.json, or weight files; read into a plan of parts.

`load("meta-llama/Llama-3.1-70B")`, `load("llama-3.1-70b")`, `load("path/to/config.json")`, `load("model.gguf")` and
`load("path/to/checkpoint")` give a Model; "-" is a config.json on standard input.
`load("70b")` gives the typical model of that size (catalog.sized).
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

from rooflight.catalog import forms, model_names, sized, tables
from rooflight.catalog.config import model_from_dict, read_model
from rooflight.catalog.config.heads import as_named
from rooflight.errors import BadConfig, BadInput, MissingExtra, UnknownName
from rooflight.files import STANDARD_INPUT
from rooflight.values.model import Model

_FOLDER = model_names.FOLDER
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_HUB_FILE = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+/[\w./-]+\.gguf", re.IGNORECASE)
_LONGEST_SIZE, _LONGEST_NAME = 40, 100
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
    stored = _in_other_form(name)
    if _HUB_ID.fullmatch(name):
        try:
            return _from_hub(name)
        except (BadInput, MissingExtra):
            if stored is None:
                raise
    return _by_size(name) if stored is None else stored


def _by_size(name: str, *, near: bool = True) -> Model:
    """A name that is nothing but a size: the typical model of it. Raises UnknownName, BadInput."""
    asked = sized.size_of(name[:_LONGEST_SIZE])
    if asked is None:
        raise unknown_model(name[:_LONGEST_NAME], near=near)
    return sized.shaped(asked)


def _read(path: str) -> Model:
    """A config.json without more ado; whatever else a path may hold by its headers."""
    if path.lower().endswith(".json") and not path.lower().endswith(".index.json"):
        return read_model(path)
    from rooflight.catalog.files.model import read_path

    return read_path(path)


def catalogued(name: str, *, near: bool = True) -> Model:
    """The Model of a catalog entry, by id, alias or short name, or of a size; a path or a hub id is never followed.

    For names that come from strangers. Raises UnknownName; looking for near names takes a tenth of a second, so
    `near=False` is for who asks for thousands and shows none.
    """
    matches = _found(name)
    if len(matches) == 1:
        return _asked_as(_shipped(matches[0]), name.strip())
    if matches:
        raise _several(name, matches)
    stored = _in_other_form(name.strip())
    return _by_size(name, near=near) if stored is None else stored


def ids() -> tuple[str, ...]:
    """The id of every model in the catalog, sorted."""
    return tuple(sorted((model_names.spelled(stem) for stem in model_names.stems()), key=str.lower))


def all_models() -> Iterator[Model]:
    """Every model in the catalog."""
    return (_shipped(stem) for stem in model_names.stems())


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


def entry_file(name: str) -> str | None:
    """The stem of the file a name stands for: an id, its part behind the slash, or an alias. None: no such entry."""
    stem = name.lower().replace("/", "__")
    if re.fullmatch(r"[\w.-]{1,200}", stem) and (_FOLDER / f"{stem}.toml").is_file():
        return stem
    matches = _found(name)
    if len(matches) > 1:
        raise _several(name, matches)
    return matches[0] if matches else None


def _found(name: str) -> tuple[str, ...]:
    """The files a name may stand for; one where it is one model in several storage forms: the plain one."""
    matches = model_names.matching(name)
    if len(matches) > 1:
        plain = forms.plainest({model_names.spelled(stem): stem for stem in matches})
        return matches if plain is None else (plain,)
    return matches


def _in_other_form(name: str) -> Model | None:
    """A catalog entry by its name with a format of weights behind it: the entry's shape, its weights in that format."""
    for bare, form in forms.bare_names(name):
        matches = _found(bare)
        asked = None if matches or form is None else sized.size_of(bare[:_LONGEST_SIZE])
        if asked is not None:  # 70b-q4_k_m
            return msgspec.structs.replace(sized.shaped(asked), asked_format=form)
        if len(matches) != 1:
            continue
        model = _shipped(matches[0])
        if form is None:
            note = f"{name} has the shape of {model.id}; GGUF is no one format: weights as in its config"
        else:
            note = f"{name} has the shape of {model.id}; its weights are read as {form}, as the name says"
        return msgspec.structs.replace(model, asked_format=form, assumptions=(*model.assumptions, note))
    return None


def _several(name: str, stems: tuple[str, ...]) -> UnknownName:
    return UnknownName(
        f"{name!r} could be more than one model",
        got=name,
        want="one of them by its full id",
        try_this=", ".join(model_names.spelled(stem) for stem in stems),
    )


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
    """A variant asked for by its id keeps the entry's shape, a bare name takes one storage form; the answer says so."""
    if name.lower() == model.id.lower():
        return model
    if "/" in name:
        note = f"{name} has the shape of {model.id}"
    else:
        others = [one for one in map(model_names.spelled, model_names.matching(name)) if one != model.id]
        form = next(forms.bare_names(model.id), None)
        if not others and (form is None or next(forms.bare_names(name), None) is not None):
            return model
        note = f"{name} is read as {model.id}" + (f"; it is also there as {', '.join(others)}" if others else "")
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

    wanted = model_names.plain(name)
    known = model_names.index()
    index = {name: stems for name, stems in known.items() if not name.startswith("~")}
    close = difflib.get_close_matches(wanted, index, n=3, cutoff=0.6)
    close += difflib.get_close_matches(wanted.partition("/")[2] or wanted, index, n=4, cutoff=0.5)
    return list(dict.fromkeys(model_names.spelled(stem) for found in close for stem in index[found]))[:5]


def _near_words(name: str) -> str:
    near = _near(name)
    return f"; or one of {', '.join(near)}" if near else ""


def unknown_model(name: str, *, near: bool = True) -> UnknownName:
    """The error for a name nobody knows, with the near ones."""
    names, within = _near(name) if near else [], sized.size_in(name)
    sized_near = [] if within is None else [f"{sized.spelled(within)} for a typical model of that size"]
    return UnknownName(
        f"there is no model {name!r} in the catalog",
        got=name,
        want="an id of `rooflight models`, a Hugging Face id (org/name), the path of a config.json, or a size: 70b, "
        "30b-a3b",
        try_this=", ".join([*names, *sized_near]) or "`rooflight models` for the list",
    )
