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
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Calibration, Collectives, Engine

_FOLDER = Path(__file__).parent / "calibration"
_DEFAULT = "default"
_GENERIC = "generic"
# The least that values.calibration.Efficiency may be.
_LEAST_EFFICIENCY = 0.05
# The line of AMD's data-centre cards (default.toml).
_INSTINCT = "Instinct"
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


def fitted_family(card: Accelerator) -> str:
    """The family whose fits an accelerator takes: its own, but where default.toml tells them apart by their memory."""
    memory = next((fact.note for fact in card.facts if fact.what == "memory-bandwidth" and not fact.doubt), "")
    return _by_memory(card.family, memory)


@functools.cache
def _by_memory(family: str, memory: str) -> str:
    entries = tables.read(_FOLDER / f"{_DEFAULT}.toml").get("memory", [])
    kinds = [one for one in entries if one["family"] == family and memory.startswith(one["memory"])]
    return str(kinds[0]["as"]) if kinds else family


@functools.cache
def line_of(family: str) -> str:
    """The line of devices that a family belongs to, which stands in for it before all others; "" if it is in none."""
    lines = tables.read(_FOLDER / f"{_DEFAULT}.toml").get("line", [])
    return next((str(one["name"]) for one in lines if family in one["families"]), "")


@functools.cache
def _like(family: str) -> str:
    """The family whose engines' fits stand in for one that is told apart by its memory; "" where there is none."""
    kinds = tables.read(_FOLDER / f"{_DEFAULT}.toml").get("memory", [])
    return next((str(one.get("like", "")) for one in kinds if one["as"] == family), "")


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


# Other spellings of engines, each with the backend behind it, where the name says one that is not the vendor's own:
# "engine/backend".
_SPELLED = {
    "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "tensorrt": "tensorrt-llm", "ollama": "llama.cpp",
    "llamacpp": "llama.cpp", "llama.cpp-cuda": "llama.cpp", "llama.cpp-rocm": "llama.cpp/rocm",
    "llama.cpp-hip": "llama.cpp/rocm", "llama.cpp-vulkan": "llama.cpp/vulkan", "llama.cpp-sycl": "llama.cpp/sycl",
    "llama.cpp-cpu": "llama.cpp", "llama.cpp-metal": "llama.cpp", "llama-server": "llama.cpp",
    "docker-model-runner": "llama.cpp", "lm studio (vulkan)": "llama.cpp/vulkan",
    "lm studio (rocm)": "llama.cpp/rocm", "lm-studio (vulkan)": "llama.cpp/vulkan",
    # forked from it: the same graph of kernels a layer, other matrix products
    "ik_llama.cpp": "llama.cpp/ik", "ik_llama.cpp-cuda": "llama.cpp/ik", "ik_llama.cpp-cpu": "llama.cpp/ik",
    "deepspeed-mii": "deepspeed", "transformers (pytorch)": "transformers", "exllamav2": "exllama",
    # servers and forks around MLX's kernels; mlx-vlm took twice as long on one machine
    "mlx-lm": "mlx", "mlx-vlm": "mlx/vlm", "omlx": "mlx", "vllm-mlx": "mlx", "mlx-lm-turboquant": "mlx",
}  # fmt: skip
# A version at the end of an engine's name: mlx-vlm-0.4.4.
_VERSION = re.compile(r"-v?\d+(\.\d+)+$")
# A backend there, however it is set apart: "llama.cpp (Vulkan)", "llama-server vulkan". "" is the vendor's own.
_BACKEND = re.compile(r"[\s(-](cuda|cpu|metal|rocm|hip|vulkan|sycl)\)?$")
_BACKENDS = {"cuda": "", "cpu": "", "metal": "", "hip": "rocm"}


def engine_id(name: str) -> str:
    """The id of an engine by any of its spellings; "ollama or llama.cpp" are one."""
    return _read(name)[0]


def backend_of(name: str) -> str:
    """The backend that an engine's name says: "llama.cpp-vulkan" -> "vulkan"; "" is the vendor's own."""
    return _read(name)[1]


def other_backend(name: str | None, engine: Engine) -> str:
    """The backend that an engine's name says, where an entry is of another; "" where they are one."""
    said = "" if name is None else backend_of(name)
    return "" if said in (engine.backend, _own_backend(engine.family)) else said


def _own_backend(family: str) -> str:
    """The backend that rows of a family are of where they name none: AMD's Instinct cards run ROCm alone."""
    return "rocm" if _INSTINCT in (family, line_of(family)) else ""


@functools.lru_cache(maxsize=256)  # names come from files too; each step asks for its engine's
def _read(name: str) -> tuple[str, str]:
    plain = name.strip().lower()
    parts = [_VERSION.sub("", one.strip()) for one in plain.split(" or ")]
    found = [_spelled(one) for one in parts]
    engines, backends = {one[0] for one in found}, {one[1] for one in found}
    if len(engines) > 1:
        return plain, ""
    return engines.pop(), backends.pop() if len(backends) == 1 else ""


def _spelled(name: str) -> tuple[str, str]:
    """(engine, backend) of a spelling, with a backend behind it or without."""
    told = None if name in _SPELLED else _BACKEND.search(name)
    front = name if told is None else _VERSION.sub("", name[: told.start()].rstrip(" (-"))
    engine, _, backend = _SPELLED.get(front, front).partition("/")
    if told is None:
        return engine, backend
    # of an engine that nobody knows the whole is its name
    known = engine in engine_ids()
    return (engine, backend or _BACKENDS.get(told[1], told[1])) if known else (name, "")


def calibrated(name: str) -> bool:
    """Whether there is an engine of this name."""
    return engine_id(name) in engine_ids()


def engine_named(name: str | None, family: str = "", era: str = NEWEST) -> Engine:
    """The engine a name stands for, of its era before any other, on a device family, else its line, else all it was
    seen on; by its backend, where the name says one.

    Where none is named, the mean of the serving engines. Raises UnknownName.
    """
    if name is None:
        return engines(_GENERIC)[0]
    if not calibrated(name):
        raise UnknownName(
            f"no engine {name!r} is calibrated", where=Named.of("engine"), got=name,
            want="one of " + ", ".join(engine_ids()),
        )  # fmt: skip
    return nearest(engines(engine_id(name)), family, era, backend_of(name))


def nearest(entries: Sequence[Engine], family: str, era: str, backend: str = "") -> Engine:
    """Of an engine's entries the one of the era before any other; then by what stands nearest.

    That is the family under the backend, its line under it, the family under any, its line, one like it, and all that
    it was seen on. Of Instinct cards rows that name no backend are ROCm's.
    """
    line, like = line_of(family), _like(family)
    places = [(family, backend), (line, backend), (family, ""), (line, ""), (like, backend), (like, "")]
    if backend and backend == _own_backend(family):  # the family's rows are of it, though they do not say so
        places.insert(1, (family, ""))
    order = [*(place for place in places if place[0]), ("", backend), ("", "")]

    def rank(engine: Engine) -> tuple[bool, int]:
        place = (engine.family, engine.backend)
        return engine.era == era, -order.index(place) if place in order else -len(order)

    return max(entries, key=rank)
