"""Every config of the collection: none has a key that looks like a shape and is not read, so none is warned of."""

from __future__ import annotations

from pathlib import Path

from conformance.conftest import DATA
from rooflight.catalog.config import read_model
from rooflight.errors import BadInput

FILES = [
    file
    for folder in ("configs", "configs_odd", "configs_reconstructed", "reports_inputs")
    for file in sorted((DATA / folder).glob("*.json"))
]


def test_no_key_that_shapes_weights_is_left_unread(data: Path) -> None:
    """Of those that are read at all: some are odd on purpose, and refused."""
    found: dict[str, list[str]] = {}
    refused = 0
    for file in FILES:
        try:
            model = read_model(file)
        except BadInput:
            refused += 1
            continue
        found[f"{file.parent.name}/{file.name}"] = [one for one in model.warnings if "not read" in one]

    assert {name: said for name, said in found.items() if said} == {}
    assert refused < 0.1 * len(FILES)
