"""What a call costs by itself, and what the way to the host and to other devices carries."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rooflight.probe import device as devices
from rooflight.probe.device import Device
from rooflight.probe.rounds import Cell, Timed, cost, rate
from rooflight.probe.timing import graph_timed, timed
from rooflight.units import to_base
from rooflight.values.measured import Rate, What

_GRAPH_CALLS = 256
_LINK_BYTES = to_base(256, "MiB")
# An all-reduce of weights' size tells the link's rate, not its latency.
_REDUCED_BYTES = to_base(128, "MiB")
_TURNS, _WARM_TURNS = 20, 3


def launches(device: Device, budget_s: float) -> tuple[Timed, ...]:
    """A kernel with next to nothing to do: called one by one, and inside a graph where there is one."""
    torch = devices.torch_here()
    with devices.current(device), torch.no_grad():
        one = torch.zeros(1, device=devices.torch_device(device))

        def run(_: int) -> object:
            return one.add_(1)

        ways = {
            "eager": timed(run, device, budget_s=budget_s / 2),
            "graph": graph_timed(run, device, calls=_GRAPH_CALLS, budget_s=budget_s / 2),
        }
    return tuple(
        Timed(cell=Cell(name=way, by="torch add of one number", moved_bytes=0.0), seconds=seconds)
        for way, seconds in ways.items()
        if seconds is not None
    )


def launch_rates(found: Sequence[Timed]) -> tuple[Rate, ...]:
    """Seconds of a call each way."""
    return tuple(cost(one.cell.name, one.seconds, by=one.cell.by) for one in found)


def host_link_cells(device: Device, turn_s: float) -> tuple[Cell, ...]:
    """Copies between the host's memory and the device's, from pages that stay in place and from any.

    Of a device that shares the host's memory there are none.
    """
    if device.kind in ("cpu", "mps"):
        return ()
    torch = devices.torch_here()
    there = torch.empty(int(_LINK_BYTES), dtype=torch.uint8, device=devices.torch_device(device))
    made = []
    for pinned in (True, False):
        here = torch.ones(int(_LINK_BYTES), dtype=torch.uint8, pin_memory=pinned)
        by = f"torch copy, {'pinned' if pinned else 'pageable'} memory"
        ways: dict[str, tuple[Any, Any]] = {"up": (there, here), "down": (here, there)}
        for way, (to, of) in ways.items():

            def turn(to: Any = to, of: Any = of) -> tuple[float, ...]:
                return timed(lambda _: to.copy_(of, non_blocking=True), device, least=2, budget_s=turn_s, warmup=1)

            made.append(Cell(name=way, by=by, moved_bytes=_LINK_BYTES, bytes=_LINK_BYTES, run=turn))
    return tuple(made)


def link_rates(what: What, found: Sequence[Timed]) -> tuple[Rate, ...]:
    """Bytes a second of each."""
    return tuple(rate(what, one.cell.name, one.rates, by=one.cell.by, bytes=one.cell.bytes) for one in found)


def all_reduce(kind: devices.Kind, count: int, *, bytes: float = _REDUCED_BYTES) -> Timed:
    """A sum over all devices; what each sends is 2 (n - 1) / n of its bytes, as a ring does.

    A process a device, through NCCL (of ROCm: RCCL; gloo on CPUs). Raises RuntimeError where they do not get together.
    """
    devices.torch_here()
    import torch.multiprocessing as processes

    answers = processes.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        meeting = f"file://{Path(folder) / 'meeting'}"
        try:
            processes.start_processes(_reduce, (kind, count, meeting, int(bytes) // 4, answers), nprocs=count)
        except (processes.ProcessRaisedException, processes.ProcessExitedException) as error:
            raise RuntimeError(str(error).strip().splitlines()[-1]) from error
    cell = Cell(
        name="all-reduce", by=f"torch all-reduce of {count}", bytes=bytes, moved_bytes=2 * (count - 1) / count * bytes
    )
    return Timed(cell=cell, seconds=tuple(answers.get()))


def _reduce(rank: int, kind: devices.Kind, count: int, meeting: str, length: int, answers: Any) -> None:
    """One process's part: as many turns in each, else one would wait for ever."""
    import torch
    import torch.distributed as together

    device = Device(kind=kind, index=rank, name="")
    backend = {"cuda": "nccl", "xpu": "xccl"}.get(kind, "gloo")
    with devices.current(device):
        together.init_process_group(backend, init_method=meeting, rank=rank, world_size=count)
        data = torch.zeros(length, device=devices.torch_device(device))
        seconds = []
        for _ in range(_WARM_TURNS + _TURNS):
            together.barrier()
            devices.synchronize(device)
            start = time.perf_counter()
            together.all_reduce(data)
            devices.synchronize(device)
            seconds.append(time.perf_counter() - start)
        together.destroy_process_group()
    if rank == 0:
        answers.put(seconds[_WARM_TURNS:])
