"""Rows in the words of their engines and tables, made plain: formats by another name, settings that are no formats.

What a word means is looked up in one table a source; a word that none of them has stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from rooflight.values.measurement import Measurement
from rooflight.values.note import Note

# Engines that run MLX's files: there `int4-g64` is a width of all matrices, tables and head among them.
_MLX = ("mlx", "omlx", "vllm-mlx", "dflash")
# LM Studio runs GGUF and MLX files alike; integers in groups are of the latter. Ollama's MLX tags end so.
_EITHER = ("lm-studio", "lm studio")
_GROUPED = re.compile(r"int([234568])-g(\d+)")
_MLX_MODES = ("mxfp4", "nvfp4", "mxfp8")
# Cache columns of MLX servers: mlx_lm's --kv-bits N (groups of 64; https://github.com/ml-explore/mlx-lm), the
# TurboQuant of mlx-vlm's --kv-quant-scheme (https://github.com/Blaizzy/mlx-vlm), read 2026-11-29.
_CACHES = {"kv8": "mlx-8bit-g64", "kv-q8": "mlx-8bit-g64", "kv4": "mlx-4bit-g64", "kv2": "mlx-2bit-g64"}
_TURBO = re.compile(r"tq(\d+(?:\.\d+)?)bit")
# Settings of a server's prompt cache: where it lies and what is kept, not in which format.
_NO_FORMATS = ("ssd-paged", "clear-idle", "reuse")
_PROMPT_CACHE = re.compile(r"cache\d+k")
_DRAFTS = re.compile(r"(?:dflash|eagle|mtp)\S*")


def plain(row: Measurement) -> tuple[Measurement, tuple[Note, ...]]:
    """The row with its formats under the names that `--weights` and `--kv-cache` have, and what was made of them."""
    row, notes = _cache(row)
    weights = _weights(row)
    if weights != row.weights:
        notes += (Note(key="read_format", value=weights, why=row.weights or ""),)
        row = replace(row, weights=weights)
    if row.power_limit_w is not None:
        notes += (Note(key="power_limit", value=row.power_limit_w),)
    return row, notes


def format_open(row: Measurement) -> bool:
    """Whether the weights' format is not stated, or only assumed by who wrote the row down."""
    said = row.weights_as_given.lower()
    return row.weights is None or "assumed" in said or "not stated" in said


def may_draft(row: Measurement) -> bool:
    """Whether the engine drafts by itself where a file carries a draft: Ollama with its MLX tags.

    Source: https://github.com/ollama/ollama/pull/15980 (2026-05-05: DRAFT in a Modelfile, used without being asked).
    """
    name = row.model.lower()
    return row.engine.lower().startswith("ollama") and ("-mlx" in name or ":mlx" in name)


def model_names(row: Measurement) -> Iterator[str]:
    """How the row calls its model: by the table's name, by the source's."""
    yield row.model
    if row.model_as_given and row.model_as_given != row.model:
        yield row.model_as_given


def _mlx(row: Measurement) -> bool:
    engine = row.engine.lower()
    return engine.startswith(_MLX) or (engine.startswith(_EITHER) and _GROUPED.fullmatch(row.weights or "") is not None)


def _weights(row: Measurement) -> str | None:
    """The format by its engine's file: MLX converts every matrix, where others keep table and head."""
    said = row.weights
    if said is None or not _mlx(row):
        return said
    if said in _MLX_MODES:
        return f"mlx-{said}"
    found = _GROUPED.fullmatch(said)
    return said if found is None else f"mlx-{found[1]}bit-g{found[2]}"


def _cache(row: Measurement) -> tuple[Measurement, tuple[Note, ...]]:
    """The row with its cache's format; what is said there of a prompt cache or of drafts is no format."""
    said = row.kv_cache
    if said is None:
        return row, ()
    words = [_CACHES.get(word, word) for word in said.split("+")]
    kept = [word for word in words if word not in _NO_FORMATS and not _PROMPT_CACHE.fullmatch(word)]
    drafts = [word for word in kept if _DRAFTS.fullmatch(word)]
    kept = [_turbo(word) for word in kept if word not in drafts]
    cache = "+".join(kept) or None
    if cache == said:
        return row, ()
    speculative = row.speculative or ("yes" if drafts else None)
    note = Note(key="read_cache", value=cache, why=said)
    return replace(row, kv_cache=cache, speculative=speculative), (note,)


def _turbo(word: str) -> str:
    found = _TURBO.fullmatch(word)
    return word if found is None else f"turboquant-{found[1]}bit"
