"""What a build does besides packing: the catalog's TOML files are compiled (rooflight.catalog.tables says why)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileCatalog(BuildHookInterface):  # type: ignore[misc, type-arg]
    """Runs for wheels, those of editable installs included; a source distribution holds the TOML files alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatch's signature
        """Compile; the folder is an artifact in pyproject.toml, so that it is packed though git ignores it."""
        sys.path.insert(0, str(Path(self.root, "src")))
        from rooflight.catalog import tables

        tables.compile_all()
