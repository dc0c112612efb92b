"""Names as other people's files write them, looked up in the catalog: the one rule of all that reads such files.

Nothing is opened or fetched by a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rooflight.catalog import accelerators, forms, models
from rooflight.errors import RooflightError, UnknownName
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model

_LONGEST = 300
_FILE = re.compile(r"(-\d{5}-of-\d{5})?\.gguf$", re.IGNORECASE)
# "Radeon 8060S Graphics (RADV STRIX_HALO)": the driver behind a device's name.
_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")


def model(name: str) -> Model:
    """The catalog's model, also by a path's last part, and without the number format that a file's name ends in.

    Check: "a/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf" -> meta-llama/Meta-Llama-3.1-8B. Raises UnknownName.
    """
    for spelled in _models(name[:_LONGEST]):
        try:
            return models.catalogued(spelled, near=False)
        except RooflightError:
            continue
    raise UnknownName(f"there is no model {name[:60]!r} in the catalog", got=name[:60])


def names_format(name: str) -> bool:
    """Whether a model's name ends in the number format of its weights."""
    return forms.ENDING.search(_FILE.sub("", name[:_LONGEST].strip().rstrip("/"))) is not None


def format_in(name: str) -> str | None:
    """The number format that a model's name ends in, as formats are called; None: none, or one that nobody knows.

    Check: "some-model-32B-Q4_K_M.gguf" -> "q4_k_m"; "some-model-FP8-dynamic" -> "fp8-channel".
    """
    _, form = next(forms.bare_names(_FILE.sub("", name[:_LONGEST].strip().rstrip("/"))), ("", None))
    return form


def accelerator(name: str) -> tuple[Accelerator, int]:
    """The catalog's accelerator with how many of it, also without what stands in brackets behind its name.

    Check: "Radeon 8060S Graphics (RADV STRIX_HALO)" -> as "Radeon 8060S Graphics". Raises UnknownName, BadInput.
    """
    short = name[:_LONGEST].strip()
    bare = _BRACKETS.sub("", short)
    try:
        return accelerators.counted(short)
    except RooflightError:
        if not bare or bare == short:
            raise
    return accelerators.counted(bare)


def _models(name: str) -> Iterator[str]:
    whole = name.strip().rstrip("/")
    yield whole
    alone = _FILE.sub("", re.split(r"[/\\]", whole)[-1])
    yield alone
    bare = forms.ENDING.sub("", alone)
    yield bare
    if ":" in bare:  # an ollama tag
        yield forms.ENDING.sub("", bare.replace(":", "-"))
