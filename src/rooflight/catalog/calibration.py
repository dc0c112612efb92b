"""Calibrations: what engines get out of a device family, from `calibration/<family>.toml`, checked on reading.

A family without a file of its own is looked up in `calibration/default.toml`, which names the family it inherits from,
why, and by what factor its intervals are wider. Every calibration inherits what it lacks in the same way.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rooflight.catalog import tables
from rooflight.errors import BadConfig, Named, UnknownName
from rooflight.values.calibration import Calibration, Collectives, Engine

_FOLDER = Path(__file__).parent / "calibration"
_DEFAULT = "default"
_GENERIC = "generic"
# The least that values.calibration.Efficiency may be.
_LEAST_EFFICIENCY = 0.05
# The era of fits that counts where no version is known.
NEWEST = "2025"


@functools.cache
def calibration(family: str) -> Calibration:
    """The calibration of a device family as accelerators name it ("Hopper"); of an unknown one, the default's."""
    stem = re.sub(r"[^a-z0-9]+", "-", family.lower()).strip("-")
    path = _FOLDER / f"{stem}.toml"
    if stem and stem != _DEFAULT and path.is_file():
        raw = tables.read(path)
    else:
        raw = _inheritance(family)
    if raw.get("inherits"):
        raw = _inherited(raw)
    try:
        found = msgspec.convert(raw | {"family": family}, Calibration)
        return msgspec.structs.replace(found, collectives=collectives())
    except msgspec.ValidationError as error:
        raise BadConfig(f"the calibration of {family} is not one", where=path.name, got=str(error)) from None


@functools.cache
def collectives() -> Collectives:
    """The fits of collective libraries."""
    return msgspec.convert(tables.read(_FOLDER / "collectives.toml"), Collectives)


def families() -> tuple[str, ...]:
    """Families with measurements of their own, sorted."""
    return tuple(sorted(raw["family"] for path in _FOLDER.glob("*.toml") if "family" in (raw := tables.read(path))))


def _inheritance(family: str) -> dict[str, Any]:
    """The entry of default.toml that lists the family; its last one is for everything else."""
    table = tables.read(_FOLDER / f"{_DEFAULT}.toml")
    entries = table["inherit"]
    entry = next((entry for entry in entries if family in entry["families"]), entries[-1])
    same = {"date": table["date"], "source": table["source"], "fitted_on": "nothing of this family"}
    return same | {name: value for name, value in entry.items() if name != "families"}


def _inherited(raw: dict[str, Any]) -> dict[str, Any]:
    """A calibration completed from the family it inherits, whose intervals are widened."""
    parent = msgspec.to_builtins(msgspec.structs.replace(calibration(raw["inherits"]), collectives=None))
    widened, compute = raw.get("widened", 1.0), raw.get("compute", 1.0)
    merged = {name: raw.get(name, parent[name]) for name in ("date", "source", "fitted_on")}
    for part in ("gemm", "decode", "prefill", "links"):
        fits = {key: _wider(_slower(fit, compute), widened) for key, fit in parent[part].items()}
        merged[part] = fits | raw.get(part, {})
    merged["elementwise"] = raw.get("elementwise") or _wider(parent["elementwise"], widened)
    return raw | merged


def _slower(fit: dict[str, Any], share: float) -> dict[str, Any]:
    """A fit whose arithmetic reaches this share of what it reached."""
    reached = fit.get("compute_efficiency")
    return fit if reached is None else fit | {"compute_efficiency": max(reached * share, _LEAST_EFFICIENCY)}


def _wider(fit: dict[str, Any], factor: float) -> dict[str, Any]:
    """A fit whose interval is wider by a factor on both sides."""
    return fit | {"low": fit["low"] / factor, "high": fit["high"] * factor}


@functools.cache
def engine_ids() -> tuple[str, ...]:
    """Engines that are calibrated, by id, the one that is taken where none is named first."""
    return (_GENERIC, *sorted(path.stem for path in (_FOLDER / "engines").glob("*.toml") if path.stem != _GENERIC))


@functools.cache
def engines(name: str) -> tuple[Engine, ...]:
    """The entries of an engine, one a family and era, as calibration/engines/<id>.toml has them."""
    table = tables.read(_FOLDER / "engines" / f"{name}.toml")
    return tuple(msgspec.convert({"date": table["date"]} | entry, Engine) for entry in table["engine"])


def all_engines() -> tuple[Engine, ...]:
    """Every entry of every engine."""
    return tuple(one for name in engine_ids() for one in engines(name))


# Other spellings of engines.
_SPELLED = {
    "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "tensorrt": "tensorrt-llm", "ollama": "llama.cpp",
    "llamacpp": "llama.cpp", "llama.cpp-cuda": "llama.cpp", "llama.cpp-rocm": "llama.cpp",
    "llama.cpp-vulkan": "llama.cpp", "llama.cpp-sycl": "llama.cpp", "llama.cpp-cpu": "llama.cpp",
    "llama.cpp-metal": "llama.cpp", "llama-server": "llama.cpp", "docker-model-runner": "llama.cpp",
    "lm studio (vulkan)": "llama.cpp", "lm studio (rocm)": "llama.cpp", "lm-studio (vulkan)": "llama.cpp",
    # forked from it: the same graph of kernels a layer, other matrix products
    "ik_llama.cpp": "llama.cpp", "ik_llama.cpp-cuda": "llama.cpp", "ik_llama.cpp-cpu": "llama.cpp",
    "deepspeed-mii": "deepspeed", "transformers (pytorch)": "transformers", "exllamav2": "exllama",
}  # fmt: skip


def engine_id(name: str) -> str:
    """The id of an engine by any of its spellings; "ollama or llama.cpp" are one."""
    plain = name.strip().lower()
    ids = {_SPELLED.get(one.strip(), one.strip()) for one in plain.split(" or ")}
    return ids.pop() if len(ids) == 1 else plain


def calibrated(name: str) -> bool:
    """Whether there is an engine of this name."""
    return engine_id(name) in engine_ids()


def engine_named(name: str | None, family: str = "", era: str = NEWEST) -> Engine:
    """The engine a name stands for, of its era before any other, on a device family, else on all it was seen on.

    Where none is named, the mean of the serving engines. Raises UnknownName.
    """
    if name is None:
        return engines(_GENERIC)[0]
    if not calibrated(name):
        raise UnknownName(
            f"no engine {name!r} is calibrated", where=Named.of("engine"), got=name,
            want="one of " + ", ".join(engine_ids()),
        )  # fmt: skip
    return nearest(engines(engine_id(name)), family, era)


def nearest(entries: Sequence[Engine], family: str, era: str) -> Engine:
    """Of an engine's entries the one of the era before any other, on the family, else on all it was seen on."""
    return max(entries, key=lambda engine: (engine.era == era, engine.family == family, engine.family == ""))
