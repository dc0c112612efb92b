"""Where the last full measurement of this machine is kept: what `--on this` reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rooflight.errors import MissingFact

# The name by which the machine that runs rooflight is meant.
THIS = "this"
_VARIABLE = "ROOFLIGHT_DATA_HOME"


def data_folder() -> Path:
    """The folder that rooflight keeps a user's own data in; it need not exist yet.

    `rooflight` in $ROOFLIGHT_DATA_HOME, else $XDG_DATA_HOME, else where the operating system has it. A variable that is
    no absolute path does not count, as the XDG base directory specification says.
    """
    for name in (_VARIABLE, "XDG_DATA_HOME"):
        stated = os.environ.get(name, "")
        if os.path.isabs(stated):
            return Path(stated) / "rooflight"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return (Path(local) if os.path.isabs(local) else Path.home() / "AppData" / "Local") / "rooflight"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "rooflight"
    return Path.home() / ".local" / "share" / "rooflight"


def this_file() -> Path:
    """The file of the last full measurement of this machine; it need not exist."""
    return data_folder() / "this.toml"


def measured_file() -> Path:
    """The same, which exists. Raises MissingFact, with the command that makes it."""
    try:
        path = this_file()
        known = path.is_file()
    except (OSError, RuntimeError):  # no home folder, or none that may be looked into
        path, known = Path(f"${_VARIABLE}") / "rooflight" / "this.toml", False
    if known:
        return path
    raise MissingFact(
        "this machine has not been measured",
        where=str(path),
        got="no such file",
        want="what a full `rooflight measure` keeps there",
        try_this="rooflight measure (under three minutes), or a name of the catalog: `rooflight accelerators`",
    )
