"""config.json -> Model. Shapes and formats only: no weights are read and no remote code is run."""

from __future__ import annotations

from pathlib import Path

from rooflight.catalog.config.json_file import read
from rooflight.catalog.config.reading import model_from_dict
from rooflight.values.model import Model

__all__ = ["model_from_dict", "read_model"]


def read_model(path: str | Path) -> Model:
    """The Model of a config.json, or of the directory that holds one. Raises BadInput and its kinds."""
    file = read(path)
    return model_from_dict(file.data, id=file.id, origin=file.origin, sidecar=file.sidecar, warnings=file.warnings)
