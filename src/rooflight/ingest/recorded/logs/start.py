"""What readers of engines' logs share: lines without colours, printed sizes, arguments, a start being filled."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rooflight.units import to_base, ungrouped
from rooflight.values.recorded import Measurements, Record, Stated

# A line is looked at so far; an engine's longest is its arguments.
_LONGEST_LINE = 1 << 14
# Docker's json-file driver (daemon/logger/jsonfilelog): "log" comes first.
_CONTAINER = re.compile(r'\{"log": ?"((?:[^"\\]|\\.)*)"')
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}[A-Za-z]")
_MOST = 2**53
_REPLICA = re.compile(r"DP(\d{1,5})")
_UNITS = {
    "gib": "GiB", "gb": "GiB", "g": "GiB", "mib": "MiB", "mb": "MiB", "m": "MiB", "kib": "KiB", "kb": "KiB",
    "tib": "TiB", "tb": "TiB", "b": "B", "bytes": "B",
}  # fmt: skip
# torch's messages, whichever engine prints them (c10/cuda/CUDACachingAllocator.cpp; the wording is of 2.1, older ones
# say "GiB total capacity").
_TORCH_WANTED = re.compile(
    r"out of memory\.? ?(?:Tried|tried) to allocate (?P<size>\d[\d.]{0,12}) ?(?P<unit>[KMGT]?i?B)"
)
_TORCH_TOTAL = re.compile(
    r"(?:has a total capacity of |; )(?P<size>\d[\d.]{0,12}) ?(?P<unit>[KMGT]iB)(?: of which "
    r"(?P<free>\d[\d.]{0,12}) ?(?P<free_unit>[KMGT]iB|bytes) is free| total capacity)"
)
_OUT_OF_MEMORY = re.compile(r"(?:CUDA|HIP) (?:error: )?out of memory|OutOfMemoryError|hipErrorOutOfMemory")
# Names of a card in configuration files of tuned kernels, and as `nvidia-smi -L` prints them.
_DEVICE = re.compile(
    r"device_name=([A-Za-z0-9_.-]{3,60}?)(?:,|\.json)|^GPU \d+: ((?:NVIDIA|AMD) [\w .()/-]{3,60}?) \(UUID"
)


class Start:
    """One start of an engine, being filled by its lines: the first that says something counts."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._stated: dict[str, Any] = {}
        self._measured: dict[str, Any] = {}

    def state(self, **values: Any) -> None:
        """How it runs, where that is not known yet."""
        _first(self._stated, values)

    def measure(self, **values: Any) -> None:
        """What came out, where that is not known yet."""
        _first(self._measured, values)

    def forget(self, *names: str) -> None:
        """What turned out to be otherwise."""
        for name in names:
            self._measured.pop(name, None)

    def put(self, **values: Any) -> None:
        """What came out, whatever was known."""
        self._measured.update({name: value for name, value in values.items() if value is not None})

    def stated(self, name: str) -> Any:
        """A field of Stated; None: not known."""
        return self._stated.get(name)

    def measured(self, name: str) -> Any:
        """A field of Measurements; None: not known."""
        return self._measured.get(name)

    @property
    def empty(self) -> bool:
        """Whether nothing came out yet."""
        return not self._measured

    def record(self, name: str = "") -> Record:
        """The start as it is recorded."""
        return Record(name=name, stated=Stated(**self._stated), measured=Measurements(**self._measured), line=self.line)


class Ranks:
    """Values that several workers print of themselves: the first of each counts."""

    def __init__(self) -> None:
        self._of: dict[str, float] = {}

    def add(self, rank: str, value: float | None) -> None:
        """A worker's own value."""
        if value is not None:
            self._of.setdefault(rank, value)

    @property
    def all(self) -> tuple[float, ...]:
        """Of every worker, in the order in which they spoke."""
        return tuple(self._of.values())

    @property
    def several(self) -> tuple[float, ...] | None:
        """Of every worker, where there are several."""
        return self.all if len(self._of) > 1 else None

    @property
    def first(self) -> float | None:
        """Of the first that spoke."""
        return next(iter(self._of.values()), None)

    def tokens(self, start: Start) -> None:
        """Tokens of a pool: the smallest rank of a replica decides, and the server has those of all its replicas.

        Replicas are known by their ranks' names (DP0 ...); of those that do not speak the smallest that does stands.
        """
        by: dict[str, float] = {}
        for rank, value in self._of.items():
            found = _REPLICA.search(rank)
            name = found[1] if found else ""
            by[name] = min(value, by.get(name, value))
        if not by:
            return
        if len(by) > 1:
            by.pop("", None)
        start.state(dp=len(by) if len(by) > 1 else None)
        replicas, one = start.stated("dp") or 1, min(by.values())
        start.measure(kv_tokens=sum(by.values()) if len(by) >= replicas else one * replicas)
        if replicas > 1:
            start.measure(kv_tokens_per_replica=one)


def _first(known: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if value is not None:
            known.setdefault(name, value)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Lines, counted from 1, without colours, each as far as it is looked at; a command's lines are one.

    A container's log of JSON lines, as Docker and Kubernetes keep it, is read as what was printed.
    """
    held, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        short = _unwrapped(line[:_LONGEST_LINE])
        short = _COLOUR.sub("", short) if "\x1b" in short else short
        if short.rstrip().endswith("\\") and len(held) < _LONGEST_LINE:
            held, first = held + short.rstrip()[:-1] + " ", first or number
            continue
        yield first or number, held + short
        held, first = "", 0
    if held:
        yield first, held


def _unwrapped(line: str) -> str:
    r"""What a container printed, of Docker's {"log":"...\n","stream":"stderr",...}; any other line as it is."""
    found = _CONTAINER.match(line) if line.startswith("{") else None
    if found is None:
        return line
    try:
        return str(json.loads(f'"{found[1]}"')).rstrip("\n")
    except ValueError:
        return line


def number(text: str | None) -> float | None:
    """A printed number, thousands in groups or not; None where it is none, or larger than anything counted."""
    try:
        value = float(ungrouped((text or "").strip().rstrip(".,")))
    except ValueError:
        return None
    return value if abs(value) <= _MOST else None


def count(text: str | None) -> int | None:
    """A printed whole number."""
    value = number(text)
    return int(value) if value is not None and value == int(value) else None


def size(text: str | None, unit: str = "GiB") -> float | None:
    """A printed size in bytes. "GB", "MB" are 2^30 and 2^20, as torch, vLLM, SGLang and llama.cpp mean them."""
    value, known = number(text), _UNITS.get(unit.strip().lower())
    found = None if value is None or known is None else to_base(value, known)
    return found if found is None or abs(found) <= _MOST else None


def argument(text: str, *names: str) -> str | None:
    """The value of the first of these names that a dump of arguments (name=value, 'name': value) gives; None: none."""
    for name in names:
        found = re.search(
            rf"(?<![\w.-])['\"]?{name}['\"]?\s{{0,2}}[=:]\s{{0,2}}('[^']*'|\"[^\"]*\"|[^\s,(){{}}\[\]]+)", text
        )
        if found and found[1] not in ("None", "null"):
            return found[1].strip("'\"")
    return None


def option(text: str, *names: str) -> str | None:
    """The value of the first of these options that a command line gives."""
    for name in names:
        spelled = name[:2] + name[2:].replace("-", "[-_]")
        found = re.search(rf"(?<!\S){spelled}[=\s]\s{{0,3}}['\"]?([^\s'\"\\]+)", text)
        if found:
            return found[1]
    return None


def model_name(given: str | None) -> str | None:
    """A model as a log names it, without the folders of whoever ran it: a hub's id, or a file's or folder's name."""
    if not given:
        return None
    if "sha256-" in given:  # a blob of Ollama's, which is no name
        return None
    path = given.strip().replace("\\", "/").rstrip("/")
    if (hub := re.search(r"models--([^/]+?)--([^/]+)", path)) is not None:
        return f"{hub[1]}/{hub[2]}"
    last = path.rsplit("/", 1)[-1]
    local = path.startswith(("/", "./", "../", "~")) or path.count("/") != 1 or ":" in path.split("/", 1)[0]
    return (last if local else path) or None


def common(line: str, start: Start) -> bool:
    """What any engine on torch prints: memory that ran out, the name of a card. Returns whether it was that."""
    if found := _TORCH_WANTED.search(line):
        start.measure(wanted_bytes=size(found["size"], found["unit"]), out_of_memory=True)
        if more := _TORCH_TOTAL.search(line, found.end()):
            start.measure(total_bytes_per_accelerator=size(more["size"], more["unit"]))
            if more["free"]:
                start.measure(free_bytes_per_accelerator=size(more["free"], more["free_unit"]))
        return True
    if _OUT_OF_MEMORY.search(line):
        start.measure(out_of_memory=True)
        return True
    if found := _DEVICE.search(line):
        start.state(device=(found[1] or found[2]).replace("_", " "))
        return True
    return False
