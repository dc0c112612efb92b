"""Recorded files as measurements: kernels and steps of profiles, minutes of monitoring, runs of load generators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rooflight.values.recorded import Launched, Record, Recorded, Spread, StepSeen, Watched
from rooflight.values.sample import MachineState, Origin, Sample, Timing

# Counters that are shares of 0 to 1 by nature; others are not counted among a sample's.
_DEVICE_SHARES = (
    "gpu_util", "memory_util", "engine_active", "sm_active", "sm_occupancy", "tensor_active", "dram_active",
    "fp16_active", "fp32_active",
)  # fmt: skip
_ENGINE_SHARES = ("kv_usage", "prefix_hit", "acceptance")


def samples(files: Sequence[Recorded]) -> tuple[Sample, ...]:
    """All that files measured, file by file; what was a sample already stays as it is."""
    return tuple(one for file in files for one in _of(file))


def _of(file: Recorded) -> Iterator[Sample]:
    yield from file.samples
    if file.traced is not None:
        model = _only([record.stated.model for record in file.records])
        names = {device.device: device.name for device in file.traced.devices}
        for kernel in file.traced.kernels:
            yield _kernel(file, kernel, names.get(kernel.device), model)
        one = next(iter(names.values())) if len(names) == 1 else None
        for step in file.traced.steps:
            yield _step(file, step, one, model)
    for watched in file.watched:
        yield _interval(file, watched)
    for record in file.records:
        yield from _run(file, record)


def _only(names: Sequence[str | None]) -> str | None:
    """The only one among them."""
    known = {name for name in names if name}
    return known.pop() if len(known) == 1 else None


def _origin(file: Recorded, line: int | None = None) -> Origin:
    return Origin(file=file.file, tool=file.tool or file.format, version=file.version, line=line)


def _kernel(file: Recorded, one: Launched, device: str | None, model: str | None) -> Sample:
    """Calls of one kernel: of a call where their times are known one by one, else all together.

    A profiler's bytes are of a call already; link bytes of a collective are not known to be what its shape says.
    """
    talks = one.operator == "communication"
    each = one.time_s
    whole = Timing(median=one.total_s, low=one.total_s, high=one.total_s)
    return Sample(
        kind="collective" if talks else "kernel", name=one.name, operator=one.operator, model=model,
        device=device or one.device or None, runs=1 if each is not None else one.calls,
        time_s=whole if each is None else each, flop=one.flop, bytes=one.bytes, format=one.format, shape=one.shape,
        counters=_shares(one.counters), source=_origin(file),
    )  # fmt: skip


def _shares(counters: dict[str, float] | None) -> dict[str, float] | None:
    found = {name: value for name, value in (counters or {}).items() if 0 <= value <= 1}
    return found or None


def _step(file: Recorded, one: StepSeen, device: str | None, model: str | None) -> Sample:
    """A marked step: its time is the device's own where that is known, else the mark's."""
    seconds = one.wall_s if one.busy_s is None else one.busy_s
    sizes = {"tokens": one.tokens, "prompts": one.prompts}
    rows = sum(value for value in (one.batch, one.tokens) if value is not None)
    return Sample(
        kind="step", name=one.phase or "step", model=model, device=device, time_s=_once(seconds), batch=one.batch,
        context=one.context, shape={name: value for name, value in sizes.items() if value is not None} or None,
        tokens_per_s=rows / seconds if rows and seconds else None, source=_origin(file),
    )  # fmt: skip


def _once(seconds: float) -> Timing:
    return Timing(median=seconds, low=seconds, high=seconds)


def _interval(file: Recorded, one: Watched) -> Sample:
    """A moment or a while of monitoring. Of all since an engine's start only what is a mean is a measurement."""
    device = one.kind == "device"
    shares = {name: value for name in _DEVICE_SHARES + _ENGINE_SHARES if (value := getattr(one, name)) is not None}
    clocks = {"sm": one.sm_clock_hz, "memory": one.memory_clock_hz}
    known = {name: value for name, value in clocks.items() if value is not None}
    state = MachineState(clocks_hz=known or None, temperature_c=one.temperature_c, power_w=one.power_w)
    return Sample(
        kind="interval", name=one.subject, model=one.model, device=one.device,
        time_s=None if one.seconds is None else _once(one.seconds), batch=one.running, isl=one.isl, osl=one.osl,
        tokens_per_s=one.output_tokens_per_s, counters=_shares(shares), source=_origin(file), start=one.start,
        machine=state if device and state != MachineState() else None,
    )  # fmt: skip


def _run(file: Recorded, record: Record) -> Iterator[Sample]:
    """The requests of a run as one sample, its tokens' times as a step's: no single request is told in such files."""
    stated, measured = record.stated, record.measured
    load = stated.concurrency or stated.batch
    isl = measured.isl if measured.isl is not None else stated.isl
    osl = measured.osl if measured.osl is not None else stated.osl
    batch = measured.in_flight if measured.in_flight is not None else load
    machine = None if stated.engine is None else MachineState(
        versions={stated.engine: stated.engine_version} if stated.engine_version else {}
    )  # fmt: skip

    def sample(kind: str, name: str, time: Spread | None, rate: float | None) -> Sample:
        first = None if measured.ttft_s is None or kind == "step" else measured.ttft_s.middle
        return Sample(
            kind="step" if kind == "step" else "request", name=name, model=stated.model, device=stated.device,
            count=stated.gpus or 1, runs=1, time_s=_spread(time, measured.requests), format=stated.weights,
            batch=None if batch is None else float(batch), isl=isl, osl=osl, tokens_per_s=rate, ttft_s=first,
            context=None if stated.depth is None else float(stated.depth),
            source=_origin(file, record.line), machine=machine if machine != MachineState() else None,
        )  # fmt: skip

    name = record.name or "run"
    rate = measured.output_tokens_per_s
    if measured.request_s is not None or (measured.ttft_s is not None and rate is not None):
        yield sample("request", name, measured.request_s, rate)
    elif rate is not None:
        yield sample("request", name, None, rate)
    if measured.prefill_tokens_per_s is not None:
        yield sample("step", f"{name}, prefill", measured.prefill_s, measured.prefill_tokens_per_s)
    if measured.tpot_s is not None and measured.tpot_s.middle:
        yield sample("step", f"{name}, decode", measured.tpot_s, None)


def _spread(time: Spread | None, requests: int | None) -> Timing | None:
    """A distribution as its middle; what eight of ten lie between only where the file says so."""
    if time is None:
        return None
    middle = time.p50 if time.p50 is not None else time.mean
    if middle is None:
        return None
    high = middle if time.p90 is None else max(time.p90, middle)
    return Timing(median=middle, low=middle, high=high, n=requests or 1)
