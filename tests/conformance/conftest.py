"""The shared collection of data, where it lies beside the checkout; elsewhere these tests are skipped, saying so."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from rooflight.catalog.config import read_model
from rooflight.values.model import Model

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of collected facts and measurements."""
    if not DATA.is_dir():
        pytest.skip("the collected data (../shared/data beside the checkout) is not here")
    return DATA


def config_path(name: str) -> Path:
    """The collected config of this name, as published or reconstructed."""
    return next(path for folder in ("configs", "configs_reconstructed") if (path := DATA / folder / name).exists())


@functools.cache
def model_of(name: str) -> Model:
    """What is read of it; read once, since every column of the oracle asks for it."""
    return read_model(config_path(name))
