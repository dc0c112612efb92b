"""What the operating system says of this machine: processors, caches, memory, clocks. None where it says nothing."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.units import in_bytes, to_base

_CPUS = Path("/sys/devices/system/cpu")
_TOOL_S = 10.0  # for a driver's tool to answer
_STOLEN = 7  # the place of that time in /proc/stat
_ASKED = "driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw"


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """A cache of one core or of several: bytes of one, and the processors that share it."""

    name: str
    bytes: float
    processors: frozenset[int]


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver tells of a device right now."""

    driver: str | None = None
    clocks_hz: dict[str, float] = {}
    temperature_c: float | None = None
    power_w: float | None = None


def processor() -> str:
    """The processor's name."""
    for line in _lines(Path("/proc/cpuinfo")):
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    if platform.system() == "Darwin":
        return _said(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.machine()
    return platform.processor() or platform.machine() or "a processor without a name"


def memory_bytes() -> float | None:
    """Main memory."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return None


def free_bytes() -> float | None:
    """Main memory that a program can have now without anything being swapped out."""
    for line in _lines(Path("/proc/meminfo")):
        key, _, value = line.partition(":")
        if key == "MemAvailable":
            return in_bytes(value.strip().replace("kB", "KiB"))
    return memory_bytes()


def allowed() -> tuple[int, ...]:
    """The processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def cores() -> tuple[int, ...]:
    """One processor of each core that this process may run on: two threads of a core share its units."""
    seen: set[str] = set()
    found = []
    for number in allowed():
        siblings = _text(_CPUS / f"cpu{number}/topology/thread_siblings_list") or str(number)
        if siblings not in seen:
            seen.add(siblings)
            found.append(number)
    return tuple(found)


def quota() -> float | None:
    """Processors' worth of time that a container is given; None: no limit."""
    for quota, period in (
        tuple((_text(Path("/sys/fs/cgroup/cpu.max")) or "max 0").split()[:2]),
        (_text(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) or "-1",
         _text(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")) or "0"),
    ):  # fmt: skip
        if quota.isdigit() and period.isdigit() and int(period):
            return int(quota) / int(period)
    return None


def keep_to(count: int | None = None) -> int:
    """Keep the process on so many processors, one a core first; how many. None: a thread a core, or what it is given.

    Raises BadInput for more than there are.
    """
    refuse_threads(count)
    there = allowed()
    singles = cores()
    share = quota()
    most = len(singles) if share is None else max(1, min(len(singles), round(share)))
    wanted = most if count is None else count
    place([*singles, *(number for number in there if number not in singles)][:wanted])
    return wanted


def refuse_threads(count: Any) -> None:
    """Raises BadInput for what is no number of threads that this process has processors for; None is one."""
    there = len(allowed())
    if count is None or (type(count) is int and 1 <= count <= there):
        return
    raise BadInput(
        "threads are a whole number" if type(count) is not int else "there are not so many processors" if count > 0
        else "threads are counted from 1",
        where=Named.of("threads"), got=count, want=f"a whole number from 1 to {there}",
    )  # fmt: skip


def place(processors: Collection[int]) -> None:
    """Keep the process, and the threads that libraries started, on these, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        for thread in _threads():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, processors)


def pinned(threads: int) -> bool:
    """Whether so many threads have as many processors, and no others, to run on."""
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == threads


def caches() -> tuple[Cache, ...]:
    """Data caches of the cores this process may use, from the smallest level; empty where nothing tells of them."""
    found: dict[tuple[str, frozenset[int]], Cache] = {}
    for number in allowed():
        for folder in sorted((_CPUS / f"cpu{number}/cache").glob("index*")):
            size = _text(folder / "size")
            if _text(folder / "type") in ("Data", "Unified") and size:
                shared = _numbers(_text(folder / "shared_cpu_list") or str(number))
                name = f"L{_text(folder / 'level')}"
                found[name, shared] = Cache(name=name, bytes=in_bytes(f"{size}iB"), processors=shared)
    return tuple(sorted(found.values(), key=lambda cache: cache.name)) or _caches_by_sysctl()


def _caches_by_sysctl() -> tuple[Cache, ...]:
    if platform.system() != "Darwin":
        return ()
    everyone = frozenset(allowed())
    # performance cores have sizes of their own, a core each for L1, a cluster for L2
    said = {
        level: _said(["sysctl", "-n", f"hw.perflevel0.{key}"])
        for level, key in (("L1", "l1dcachesize"), ("L2", "l2cachesize"))
    }
    return tuple(
        Cache(name=level, bytes=float(size), processors=frozenset((0,)) if level == "L1" else everyone)
        for level, size in said.items()
        if size and size.isdigit()
    )


class Busy:
    """How much of the processors others take from now on."""

    def __init__(self) -> None:
        self._start = self._now()

    def meanwhile(self) -> tuple[float | None, float | None]:
        """Processors' worth of time that other programs took, and other machines on this host; None: nothing tells."""
        end = self._now()
        if end is None or self._start is None:
            return None, None
        elapsed, busy, own, stolen = (b - a for a, b in zip(self._start, end, strict=True))
        return max(busy - own, 0.0) / elapsed, stolen / elapsed

    @staticmethod
    def _now() -> tuple[float, float, float, float] | None:
        """Seconds: of the clock, of all programs, of this one, and those that a hypervisor gave to others."""
        words = next((line.split()[1:] for line in _lines(Path("/proc/stat")) if line.startswith("cpu ")), None)
        if words is None or len(words) < _STOLEN + 1:
            return None
        ticks = [float(word) / os.sysconf("SC_CLK_TCK") for word in words]
        user, nice, system, _idle, _wait, interrupts, soft = ticks[:_STOLEN]
        own = os.times()
        return time.monotonic(), user + nice + system + interrupts + soft, own.user + own.system, ticks[_STOLEN]


def readings() -> Readings:
    """Of the processors: the fastest clock among them now, the hottest sensor of a package."""
    clocks = [float(text) for n in allowed() if (text := _text(_CPUS / f"cpu{n}/cpufreq/scaling_cur_freq"))]
    hz = [to_base(clock, "kHz") for clock in clocks]
    if not hz:
        pairs = (line.partition(":") for line in _lines(Path("/proc/cpuinfo")))
        hz = [to_base(float(value), "MHz") for key, _, value in pairs if key.strip() == "cpu MHz"]
    sensors = [folder for folder in _folders("/sys/class/hwmon") if _text(folder / "name") in ("coretemp", "k10temp")]
    hot = [float(text) for folder in sensors for file in folder.glob("temp*_input") if (text := _text(file))]
    return Readings(
        clocks_hz={"cpu": max(hz)} if hz else {}, temperature_c=max(hot) / 1000 if hot else None
    )  # fmt: skip


def card_readings(nvidia: str | None, pci: str | None) -> Readings:
    """Of a card, by its name to NVIDIA's tool, or from what its driver lays open by its place on the PCI bus."""
    if nvidia and shutil.which("nvidia-smi"):
        told = _said(["nvidia-smi", f"--id={nvidia}", f"--query-gpu={_ASKED}", "--format=csv,noheader,nounits"])
        if told and len(parts := [part.strip() for part in told.splitlines()[0].split(",")]) == _ASKED.count(",") + 1:
            driver, sm, memory, temperature, power = parts
            clocks = {"sm": _number(sm), "memory": _number(memory)}
            return Readings(
                driver=driver, clocks_hz={name: to_base(mhz, "MHz") for name, mhz in clocks.items() if mhz},
                temperature_c=_number(temperature), power_w=_number(power),
            )  # fmt: skip
    if pci is None:
        return Readings()
    folder = Path("/sys/bus/pci/devices") / pci
    module = (folder / "driver").resolve().name
    read = {
        name: [float(text) for file in folder.glob(f"hwmon/hwmon*/{name}") if (text := _text(file))][:1]
        for name in ("freq1_input", "temp1_input", "power1_average")
    }
    hz, millidegrees, microwatts = read["freq1_input"], read["temp1_input"], read["power1_average"]
    return Readings(
        driver=_text(Path(f"/sys/module/{module}/version")),
        clocks_hz={"sm": hz[0]} if hz else {},
        temperature_c=millidegrees[0] / 1000 if millidegrees else None,
        power_w=to_base(microwatts[0], "uW") if microwatts else None,
    )


def _threads() -> Iterable[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir("/proc/self/task")]
    return [0]


def _said(command: list[str]) -> str | None:
    """What a tool of the system says; None where there is no such tool, or it fails."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_S, check=True).stdout.strip()
    return None


def _text(path: Path) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return None


def _lines(path: Path) -> list[str]:
    return (_text(path) or "").splitlines()


def _folders(path: str) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(Path(path).iterdir())
    return []


def _number(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text)
    return None  # "[N/A]"


def _numbers(text: str) -> frozenset[int]:
    """A list of the kernel's: 0-3,8."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
