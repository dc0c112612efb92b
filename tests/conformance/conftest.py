"""The shared collection of data, where it lies beside the checkout; elsewhere these tests are skipped, saying so."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of collected facts and measurements."""
    if not DATA.is_dir():
        pytest.skip("the collected data (../shared/data beside the checkout) is not here")
    return DATA
