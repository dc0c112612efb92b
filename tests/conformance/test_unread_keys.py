"""Every config of the collection: none has a key that looks like a shape and is not read, so none is warned of."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.conftest import DATA
from rooflight.catalog.config import read_model
from rooflight.errors import BadInput

FILES = [
    file
    for folder in ("configs", "configs_odd", "configs_reconstructed", "reports_inputs")
    for file in sorted((DATA / folder).glob("*.json"))
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_key_that_shapes_weights_is_left_unread(file: Path) -> None:
    try:
        model = read_model(file)
    except BadInput:
        pytest.skip("refused as a whole, which other tests are about")

    assert [warning for warning in model.warnings if "not read" in warning] == []
