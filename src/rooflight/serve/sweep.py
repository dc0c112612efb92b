"""Many operating points: a grid cut into blocks of a few thousand, each a dozen array expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rooflight.errors import BadInput, Named
from rooflight.roofline.rates import no_peak
from rooflight.scenario.definite import Scenario, context_tokens, scenario
from rooflight.serve import phases
from rooflight.serve.axes import GRID_AXES, PLAN_AXES, check_axes, check_load, check_outputs, check_runs
from rooflight.serve.goals import Wanted, goals
from rooflight.serve.landmarks import landmarks
from rooflight.serve.memory import all_fit, largest_batch
from rooflight.serve.room import room
from rooflight.serve.runs import run_block, run_columns
from rooflight.span import Span
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.placed import Placed
from rooflight.values.shown import Shown
from rooflight.values.steptime import BINDING
from rooflight.values.sweep import Goal, Landmarks, RunBlock, SweepBlock
from rooflight.values.workload import Workload
from rooflight.work.count import is_encoder

# Points of a block: large enough to hide Python, small enough to stay in the processor's cache.
BLOCK_POINTS = 32_000
# Of a block of runs, which keep more arrays at once.
BLOCK_RUNS = 6_000
# Axes that a phase's time does not depend on (a decode step's context may follow from isl and osl).
_IDLE_IN = {
    "prefill": ("batch", "context", "osl"), "decode": ("prefill_batch",), "run alone": ("batch", "context"),
    "run batch": ("context",), "run served": ("context",), "run apart": ("context",),
}  # fmt: skip


class Part(NamedTuple):
    """Some points of a sweep: the number of their scenario, and their piece of each axis, shaped to its dimension."""

    scenario: int
    pieces: dict[str, np.ndarray[Any, Any]]


class SweepPoints(Shown):
    """The points of a sweep, computed block by block while iterating.

    schedule    under which each point is a run too; None: points are steps alone
    wanted      the goals for users' times
    """

    def __init__(
        self,
        scenarios: tuple[Scenario, ...],
        grid: Mapping[str, np.ndarray[Any, Any]],
        phase: str,
        axes: tuple[str, ...],
        *,
        schedule: str | None = None,
        wanted: Wanted | None = None,
    ) -> None:
        self.scenarios = scenarios
        self.grid = grid
        self.phase = phase
        self.axes = axes
        self.schedule = schedule
        self.wanted = wanted

    @property
    def points(self) -> int:
        """How many there are."""
        count = len(self.scenarios)
        for values in self.grid.values():
            count *= len(values)
        return count

    @property
    def assumed(self) -> tuple[Note, ...]:
        """Of all scenarios, each once; what an axis varies is not assumed."""
        said = dict.fromkeys(note for sc in self.scenarios for note in sc.assumptions)
        return tuple(note for note in said if note.key not in self.axes)

    @property
    def warned(self) -> tuple[Note, ...]:
        """Of all scenarios, each once; and of axes that change nothing in this phase or run."""
        what = self.phase if self.schedule is None else f"run {self.schedule}"
        # a prompt that nothing follows does not pass the head
        heads = what == "prefill" and "osl" in self.grid and self.grid["osl"].min() == 0 < self.grid["osl"].max()
        repeats = set(_IDLE_IN[what]) - ({"osl"} if heads else set())
        repeats -= {"batch"} if all(is_encoder(sc.model) for sc in self.scenarios) else set()
        idle = [Note(key="idle_axis", value=axis, why=what) for axis in self.axes if axis in repeats]
        return tuple(dict.fromkeys([*idle, *(note for sc in self.scenarios for note in sc.warnings)]))

    def __iter__(self) -> Iterator[SweepBlock]:
        return map(self.block, self.parts(BLOCK_POINTS))

    def parts(self, most: int | None = None) -> Iterator[Part]:
        """What the sweep is computed by, one after the other: so many points each (None: as is best for them)."""
        most = most or (BLOCK_POINTS if self.schedule is None else BLOCK_RUNS)
        for number in range(len(self.scenarios)):
            for pieces in _blocks(self.grid, most):
                yield Part(number, pieces)

    def block(self, part: Part) -> SweepBlock:
        """The points of a part."""
        return _block(self.scenarios[part.scenario], part.pieces, self.phase)

    def run(self, part: Part) -> RunBlock:
        """They as runs under the schedule, `served` where none was asked for."""
        sc = _at(self.scenarios[part.scenario], part.pieces)
        return run_block(sc, self.schedule or "served", _shape(part.pieces))

    def landmarks(self) -> tuple[Landmarks, ...]:
        """Where the batch of each deployment meets the ridge, the knee and the KV limit, in decode.

        At the workload's lengths; where lengths are swept, at the shortest and at the longest.
        """
        first = self.scenarios[0].workload
        more = {"isl": first.media_tokens or 0, "osl": 0, "context": 0}  # beside the lengths of the grid
        lengths = {name: values + more[name] for name, values in self.grid.items() if name in more}
        ends = [{name: int(pick(values)) for name, values in lengths.items()} for pick in (np.min, np.max)]
        loads = [msgspec.structs.replace(first, **end) for end in ends]
        loads = loads[:1] if loads[0] == loads[1] else loads
        return tuple(landmarks(msgspec.structs.replace(sc, workload=load)) for sc in self.scenarios for load in loads)

    def runs(self) -> Iterator[RunBlock]:
        """The same points as runs."""
        return map(self.run, self.parts(BLOCK_RUNS))

    def goals(self) -> tuple[Goal, ...]:
        """The most requests in flight that keep the goals, a deployment and a pair of lengths each. Raises BadInput."""
        if self.wanted is None:
            return ()
        most = {name: values.max() for name, values in self.grid.items() if name == "batch"}
        lengths = {name: self.grid[name] for name in ("isl", "osl") if name in self.grid}
        asked = self.wanted, self.schedule or "served", lengths
        return tuple(one for sc in self.scenarios for one in goals(_at(sc, most), *asked))

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """Every point as flat arrays, named by the paths of a row of the JSON: `time_s.expected`.

        What hangs on a compute peak that is not known is no number (and in prefill bound is empty). Times are those of
        points that do not fit too. Under a schedule the runs; no number where there is none.
        """
        parts: dict[str, list[np.ndarray[Any, Any]]] = {}
        blocks = ((one.shape, _block_columns(one)) for one in self)
        runs = ((one.shape, run_columns(one)) for one in self.runs())
        for shape, named in blocks if self.schedule is None else runs:
            for name, values in named.items():
                parts.setdefault(name, []).append(np.broadcast_to(values, shape).ravel())
        return {name: np.concatenate(values) for name, values in parts.items()}


def make_sweep(
    model: Model,
    devices: Sequence[tuple[Accelerator, int | None]],
    axes: Mapping[str, Sequence[Any]],
    *,
    phase: str | None,
    workload: Workload,
    deployment: Deployment,
    wanted: Wanted | None = None,
) -> SweepPoints:
    """The sweep over `axes`; a deployment that cannot be laid out is an error.

    Raises BadInput, UnknownName, and MissingFact where every deployment lacks what the phase needs.
    """
    check_axes(axes, devices)
    check_load(workload)
    schedule = deployment.schedule
    if schedule is not None or wanted is not None:
        check_runs(schedule, phase)
    grid = {name: _points(name, axes[name]) for name in GRID_AXES if name in axes}
    # The largest of each axis stands in for it, so that warnings and checks see the extreme.
    largest: dict[str, Any] = {name: _largest(values) for name, values in grid.items()}
    load = msgspec.structs.replace(workload, **largest)
    Workload(**{name: getattr(load, name) for name in Workload.__struct_fields__})
    for name, points in grid.items():
        _check_axis(load, name, points)
    scenarios = tuple(
        scenario(model, card, count, load, filled(deployment_with, card, count, axes))
        for card, count in devices
        for deployment_with in _deployments(deployment, axes)
    )
    outputs = grid.get("osl", np.asarray([scenarios[0].workload.osl]))
    check_outputs(outputs, phase)
    nothing = outputs.max() == 0 if schedule else outputs.min() == 0
    chosen = phase or ("prefill" if nothing else "decode" if schedule else _phase_of(axes))
    if chosen == "prefill" and all(sc.unrated for sc in scenarios):
        raise no_peak(scenarios[0].accelerator, scenarios[0].unrated, "prefill")
    if chosen not in ("decode", "prefill"):
        want = "decode or prefill"
        raise BadInput(f"a sweep's phase is {want}", where=Named.of("phase"), got=chosen, want=want)
    named = (*(("accelerator",) if len(devices) > 1 else ()), *axes)
    return SweepPoints(scenarios, grid, chosen, named, schedule=schedule, wanted=wanted)


def _points(name: str, values: Sequence[Any]) -> np.ndarray[Any, Any]:
    try:
        points = np.asarray(values)
    except ValueError:
        points = np.asarray(0)
    if points.ndim != 1:
        what = f"the axis {name} is not one row of whole numbers"
        raise BadInput(what, where=Named.of(name), got=values, want="such as [1, 2]")
    return points


def _check_axis(load: Workload, name: str, values: np.ndarray[Any, Any]) -> None:
    """Every value alone must make a workload: counts of the allowed size, a prompt longer than its cached prefix."""
    one: dict[str, Any] = {name: values}
    Workload(**one)
    smallest = msgspec.structs.replace(load, **{name: int(values.min())})
    Workload(**{field: getattr(smallest, field) for field in Workload.__struct_fields__})


def _largest(values: np.ndarray[Any, Any]) -> int:
    try:
        return int(values.max())
    except (TypeError, ValueError) as error:
        raise BadInput("an axis holds whole numbers", where="axes", got=values, want="whole numbers") from error


def _phase_of(axes: Mapping[str, Sequence[Any]]) -> str:
    prompts = "isl" in axes or "prefill_batch" in axes
    return "prefill" if prompts and "batch" not in axes and "context" not in axes else "decode"


def _deployments(deployment: Deployment, axes: Mapping[str, Sequence[Any]]) -> Iterator[Deployment]:
    names = [name for name in PLAN_AXES if name in axes]
    given = {name: getattr(deployment, name) for name in Deployment.__struct_fields__}
    for values in product(*(axes[name] for name in names)):
        yield Deployment(**{**given, **dict(zip(names, values, strict=True))})


def filled(
    deployment: Deployment, card: Accelerator, count: int | None, axes: Mapping[str, Sequence[Any]]
) -> Deployment:
    """With tp swept on a stated number of devices, replicas fill what one layout leaves over (dp = count / tp / pp).

    Unlike devices have no replicas: what is not cut over all of them is split by layers.
    """
    if card.joined:
        return deployment
    used = (deployment.tp or 1) * deployment.pp
    if count is None or "tp" not in axes or "dp" in axes or deployment.dp != 1 or count % used:
        return deployment
    return msgspec.structs.replace(deployment, dp=count // used)


def _blocks(grid: Mapping[str, np.ndarray[Any, Any]], most: int) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    """Cut the grid into blocks of at most so many points, each axis shaped to its own dimension."""
    sizes = [len(values) for values in grid.values()]
    cuts = list(sizes)
    for dimension in range(len(sizes)):
        inner = int(np.prod(cuts[dimension + 1 :], dtype=np.int64))
        cuts[dimension] = max(1, min(sizes[dimension], most // inner)) if inner <= most else 1
    starts = [range(0, size, cut) for size, cut in zip(sizes, cuts, strict=True)]
    for corner in product(*starts):
        pieces = {}
        for dimension, (name, values) in enumerate(grid.items()):
            piece = values[corner[dimension] : corner[dimension] + cuts[dimension]]
            shape = [1] * len(sizes)
            shape[dimension] = len(piece)
            pieces[name] = piece.reshape(shape)
        yield pieces


def _at(sc: Scenario, pieces: Mapping[str, np.ndarray[Any, Any]]) -> Scenario:
    """The scenario of one block. Floats inside: whole numbers of this size are exact in them."""
    arrays: dict[str, Any] = {name: piece.astype(np.float64) for name, piece in pieces.items()}
    if is_encoder(sc.model) and "batch" in arrays:
        arrays.setdefault("prefill_batch", arrays["batch"])  # the batch of an encoder is what it prefills
    arrays |= {"isl": arrays["isl"] + (sc.workload.media_tokens or 0)} if "isl" in arrays else {}
    return msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **arrays))


def _shape(pieces: Mapping[str, np.ndarray[Any, Any]]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(piece.shape for piece in pieces.values()))


def _block(sc: Scenario, pieces: Mapping[str, np.ndarray[Any, Any]], phase: str) -> SweepBlock:
    """The points of one block."""
    sc, shape = _at(sc, pieces), _shape(pieces)
    one = phases.decode(sc) if phase == "decode" else phases.prefill(sc)
    memory = room(sc)
    load = sc.workload
    return SweepBlock(
        **sc.placed,
        phase=phase,
        shape=shape,
        batch=load.batch,
        prefill_batch=load.prefill_batch,
        isl=load.text_tokens,
        osl=load.osl,
        context=context_tokens(load) if phase == "decode" else None,
        time=one.time,
        span=one.span,
        tokens=one.tokens,
        work=one.work,
        ridge_flop_per_byte=phases.ridge(sc, one.time),
        unrated=bool(sc.unrated),
        fits=np.broadcast_to(all_fit(sc, memory), shape),
        max_batch=np.asarray(largest_batch(sc, memory), dtype=np.int64),
    )


def _block_columns(block: SweepBlock) -> dict[str, Any]:
    """A block's numbers by the paths of a row of the JSON; what hangs on an unknown peak is no number."""
    time, work, nothing = block.time, block.work, float("nan")
    rates = {"time_s": block.span, "tokens_per_s": block.span.rate(block.tokens)}
    if block.context is not None:
        rates["tokens_per_s_per_user"] = block.span.rate(block.tokens / block.batch)
    ceilings = {f"ceilings_s.{name}": time.terms.get(name, nothing) if block.known else nothing for name in BINDING}
    moved = {
        "weights": work.weight_bytes, "kv_read": work.kv_read_bytes, "kv_write": work.kv_write_bytes,
        "activations": work.activation_bytes, "total": work.moved_bytes,
    }  # fmt: skip
    return {
        **{name: getattr(block, name) for name in (*Placed.__struct_fields__, "phase")},
        **{name: np.asarray(getattr(block, name)).astype(np.int64) for name in GRID_AXES[:4]},
        **({} if block.context is None else {"context": _tidy(np.asarray(block.context))}),
        "fits": block.fits,
        "max_batch": block.max_batch,
        "bound": np.asarray(BINDING)[time.bound] if block.known else "",
        **ceilings,
        **({"ceilings_s.compute": nothing} if block.unrated else {}),
        **{
            f"{rate}.{name}": getattr(span, name) if block.known else nothing
            for rate, span in rates.items()
            for name in Span.__struct_fields__
        },
        "intensity_flop_per_byte": work.flop / work.moved_bytes,
        "ridge_flop_per_byte": nothing if block.ridge_flop_per_byte is None else block.ridge_flop_per_byte,
        **{f"bytes.{name}": amount for name, amount in moved.items()},
        "flop": work.flop,
        "link_bytes": work.link_bytes,
    }


def _tidy(context: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whole numbers where all are."""
    return context.astype(np.int64) if (context % 1 == 0).all() else context
