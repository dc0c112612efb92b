"""The device that is timed: which there are, what it multiplies in, and the state it is in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from rooflight.errors import BadInput, MissingExtra, Named
from rooflight.probe import host
from rooflight.values.sample import MachineState

Kind = Literal["cpu", "cuda", "xpu", "mps"]
# torch's kinds, the fastest first; ROCm is torch's cuda.
_KINDS: tuple[Kind, ...] = ("cuda", "xpu", "mps", "cpu")
# Sides of the product a format is tried with: every library's multiples divide them.
_TRIED = 64
# NVIDIA's first with TF32, by compute capability.
_TF32_SINCE = (8, 0)


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One device as torch counts them; name as the operating system or its driver says it."""

    kind: Kind
    index: int = 0
    name: str

    def __str__(self) -> str:
        return self.kind if self.kind in ("cpu", "mps") else f"{self.kind}:{self.index}"


def torch_here() -> Any:
    """The module. Raises MissingExtra where it is not installed."""
    try:
        import torch
    except ImportError:
        raise MissingExtra(
            "measuring on this machine goes through torch, which is not installed",
            got="no module named torch", try_this="pip install 'rooflight[measure]'",
        ) from None  # fmt: skip
    return torch


def cpu() -> Device:
    """The host's processors. Needs no torch."""
    return Device(kind="cpu", name=host.processor())


def devices() -> tuple[Device, ...]:
    """What torch can compute on here, the fastest kind first. Raises MissingExtra."""
    torch = torch_here()
    found = []
    for kind in _KINDS:
        if kind == "cpu":
            found.append(cpu())
        elif kind == "mps":
            if torch.backends.mps.is_available():
                found.append(Device(kind="mps", name=host.processor()))
        else:
            one = getattr(torch, kind)
            count = one.device_count() if one.is_available() else 0
            found += [Device(kind=kind, index=index, name=one.get_device_name(index)) for index in range(count)]
    return tuple(found)


def device(name: str | None = None) -> Device:
    """The device of that name: cpu, cuda, cuda:1, xpu, mps; None: the best there is.

    Raises MissingExtra without torch, BadInput for one that is not there.
    """
    there = devices()
    if name is None:
        return there[0]
    for one in there:
        if name.lower() in (str(one), f"{one.kind}:{one.index}") or (name.lower() == one.kind and one.index == 0):
            return one
    raise BadInput(
        f"there is no device {name} that torch can compute on", where=Named.of("device"), got=name,
        want=", ".join(str(one) for one in there),
    )  # fmt: skip


def torch_device(one: Device) -> Any:
    """As torch names it."""
    return torch_here().device(str(one))


def synchronize(one: Device) -> None:
    """Wait for everything that was asked of the device."""
    if one.kind != "cpu":
        module = getattr(torch_here(), one.kind)
        module.synchronize() if one.kind == "mps" else module.synchronize(one.index)


def current(one: Device) -> contextlib.AbstractContextManager[Any]:
    """Within it, what names no device, as an event or a graph, is of this one."""
    if one.kind in ("cpu", "mps"):
        return contextlib.nullcontext()
    return getattr(torch_here(), one.kind).device(one.index)  # type: ignore[no-any-return]


def torch_type(format: str) -> Any:
    """torch's type of a number format. Raises BadInput for one that torch has no type for."""
    torch = torch_here()
    # AMD's CDNA 3 has an fp8 of its own
    fnuz = torch.version.hip is not None and "gfx94" in torch.cuda.get_device_properties(0).gcnArchName
    types = {
        "fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
        "fp8": torch.float8_e4m3fnuz if fnuz else torch.float8_e4m3fn, "int8": torch.int8,
    }  # fmt: skip
    if format not in types:
        raise BadInput(f"torch has no type for {format}", where="format", got=format, want=", ".join(types))
    return types[format]


def linear(format: str) -> Callable[[Any, Any], Any]:
    """x [tokens, inputs] times weights [outputs, inputs] in a format; of fp8 comes bf16, of int8 32-bit integers."""
    torch = torch_here()
    if format == "int8":
        return lambda x, weights: torch._int_mm(x, weights.t())
    if format == "fp8":
        scales: dict[Any, Any] = {}

        def scaled(x: Any, weights: Any) -> Any:
            one = scales.get(x.device)
            if one is None:
                one = scales[x.device] = torch.ones((), device=x.device)
            return torch._scaled_mm(x, weights.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

        return scaled
    return torch.nn.functional.linear  # type: ignore[no-any-return]


@contextlib.contextmanager
def computing_in(format: str) -> Iterator[None]:
    """fp32 products are of 32-bit numbers inside, unless tf32 is asked for; as it was afterwards."""
    matmul = torch_here().backends.cuda.matmul
    name, tf32, fp32 = ("fp32_precision", "tf32", "ieee") if hasattr(matmul, "fp32_precision") else (
        "allow_tf32", True, False)  # fmt: skip
    before = getattr(matmul, name)
    setattr(matmul, name, tf32 if format == "tf32" else fp32)
    try:
        yield
    finally:
        setattr(matmul, name, before)


def filled(format: str, shape: tuple[int, ...], one: Device) -> Any:
    """Random numbers of a format on a device: ones that no kernel can leave out, and that stay finite."""
    torch = torch_here()
    kind, place = torch_type(format), torch_device(one)
    if format == "int8":
        return torch.randint(-8, 8, shape, dtype=kind, device=place)
    if kind.itemsize >= 2:
        return torch.randn(shape, dtype=kind, device=place)
    return torch.randn(shape, device=place).to(kind)


def formats(one: Device) -> tuple[str, ...]:
    """The formats in which a product really runs there, each tried."""
    return tuple(format for format in ("fp32", "tf32", "bf16", "fp16", "fp8", "int8") if _multiplies(format, one))


def _multiplies(format: str, one: Device) -> bool:
    torch = torch_here()
    if format == "tf32" and (
        one.kind != "cuda" or torch.version.hip or torch.cuda.get_device_capability(one.index) < _TF32_SINCE
    ):
        return False
    side = (_TRIED, _TRIED)
    try:
        with torch.no_grad(), computing_in(format):
            linear(format)(filled(format, side, one), filled(format, side, one))
        synchronize(one)
    except (RuntimeError, NotImplementedError, TypeError, AttributeError, ValueError):  # each backend says no its way
        return False
    return True


def memory_bytes(one: Device) -> float | None:
    """What the driver (of a CPU: the operating system) reports; None: it says nothing."""
    if one.kind in ("cpu", "mps"):
        return host.memory_bytes()
    return float(getattr(torch_here(), one.kind).get_device_properties(one.index).total_memory)


def set_threads(count: int | None = None) -> int:
    """Use so many threads on the CPU, and keep the process on as many processors; None: a thread a core.

    Raises BadInput for more threads than processors.
    """
    threads = host.keep_to(count)
    with contextlib.suppress(MissingExtra):
        torch_here().set_num_threads(threads)
    return threads


@contextlib.contextmanager
def threads_of(one: Device, wanted: int | None) -> Iterator[int | None]:
    """Within it a CPU computes on so many threads (None: one a core), which are given; behind it as before.

    Raises BadInput for more threads than processors, or threads of a device that is no CPU.
    """
    if one.kind != "cpu":
        if wanted is not None:
            raise BadInput(
                "threads are a CPU's", where=Named.of("threads"), got=f"{wanted} threads and {one}",
                want=Named("{device}", device="cpu"),
            )  # fmt: skip
        yield None
        return
    processors, threads = host.allowed(), None
    with contextlib.suppress(MissingExtra):
        threads = torch_here().get_num_threads()
    try:
        yield set_threads(wanted)
    finally:
        host.place(processors)
        if threads is not None:
            torch_here().set_num_threads(threads)


def state(one: Device, threads: int | None = None) -> MachineState:
    """The machine as it is now: what can be read without rights; None for the rest."""
    read = host.readings() if one.kind in ("cpu", "mps") else host.card_readings(*_address(one))
    return MachineState(
        driver=read.driver, clocks_hz=read.clocks_hz or None, temperature_c=read.temperature_c, power_w=read.power_w,
        threads=threads, pinned=None if threads is None else host.pinned(threads), versions=_versions(),
    )  # fmt: skip


def _address(one: Device) -> tuple[str | None, str | None]:
    """A card's NVIDIA name and its place on the PCI bus, which its driver's tools and files go by."""
    properties = getattr(torch_here(), one.kind).get_device_properties(one.index)
    bus = getattr(properties, "pci_bus_id", None)
    place = None if bus is None else f"{properties.pci_domain_id:04x}:{bus:02x}:{properties.pci_device_id:02x}.0"
    uuid = getattr(properties, "uuid", None)
    return None if uuid is None else f"GPU-{uuid}", place


def _versions() -> dict[str, str]:
    import platform

    import numpy

    found = {"python": platform.python_version(), "numpy": numpy.__version__}
    with contextlib.suppress(MissingExtra):
        torch = torch_here()
        found["torch"] = str(torch.__version__)
        found |= {name: version for name in ("cuda", "hip") if (version := getattr(torch.version, name, None))}
    return found
