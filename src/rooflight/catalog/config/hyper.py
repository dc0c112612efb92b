"""Manifold-constrained hyper-connections: several residual streams, collapsed before and mixed after each half.

Of DeepSeek-V4 and of GLM-5.3 (config and modelling files of transformers 5.24, shapes only).
"""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.vocabulary import Half
from rooflight.values.model import Linear


def streams_of(cfg: Config) -> int:
    """How many residual streams there are."""
    streams: int = cfg.integer("hc_mult", default=4)
    return streams


def mixing(cfg: Config, name: str, outputs: int) -> Linear:
    """A matrix that sees all streams at once; kept wide in every published file."""
    return Linear(name=name, inputs=streams_of(cfg) * cfg.hidden, outputs=outputs, split="none", pinned=True)


def mixed(cfg: Config, half: Half, name: str) -> Half:
    """A half behind what collapses, expands and mixes the streams: a matrix, a bias and three scales."""
    streams = streams_of(cfg)
    mixes = (2 + streams) * streams
    linears = (mixing(cfg, name, mixes), *half.linears)
    return msgspec.structs.replace(half, linears=linears, vectors=half.vectors + mixes + 3)
