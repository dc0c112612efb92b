"""Names as other people's files write them, looked up in the catalog: the one rule of all that reads such files.

Nothing is opened or fetched by a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rooflight.catalog import accelerators, models
from rooflight.errors import RooflightError, UnknownName
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model

_LONGEST = 300
_FILE = re.compile(r"(-\d{5}-of-\d{5})?\.gguf$", re.IGNORECASE)
# "-UD-Q4_K_XL", "-Q4_K_M", "_fp8-dynamic", "-AWQ": how a name ends that says its weights' format too.
_FORMAT = re.compile(
    r"[-_.](?:ud-)?(?:i?q\d\w*|tq\d\w*|bf16|fp?16|fp?32|fp8|nvfp4|mxfp4|awq|gptq|int[48]|w\da\d+|w4a16|exl\d)"
    r"(?:[-_.](?:dynamic|static|int[48]|\d?bit|g\d+))*$",
    re.IGNORECASE,
)
# "Radeon 8060S Graphics (RADV STRIX_HALO)": the driver behind a device's name.
_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")


def model(name: str) -> Model:
    """The catalog's model, also by a path's last part, and without the number format that a file's name ends in.

    Check: "a/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf" -> meta-llama/Meta-Llama-3.1-8B. Raises UnknownName.
    """
    for spelled in _models(name[:_LONGEST]):
        try:
            return models.catalogued(spelled)
        except RooflightError:
            continue
    raise UnknownName(f"there is no model {name[:60]!r} in the catalog", got=name[:60])


def names_format(name: str) -> bool:
    """Whether a model's name ends in the number format of its weights."""
    return _FORMAT.search(_FILE.sub("", name[:_LONGEST].strip().rstrip("/"))) is not None


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
    yield _FORMAT.sub("", alone)
