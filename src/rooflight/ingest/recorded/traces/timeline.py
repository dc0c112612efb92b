"""How the time of devices went: kernels as they pass, held as columns, their overlaps counted once.

Times are in the profile's own unit until they are told. Nothing is kept of an event but its numbers.
"""

from __future__ import annotations

import itertools
from array import array
from typing import Any

import msgspec

from rooflight.ingest.recorded.traces.families import MULTIPLYING, moved_by_engines, number_format, operator
from rooflight.ingest.recorded.traces.marks import mark
from rooflight.ingest.recorded.traces.shapes import Asked
from rooflight.values.recorded import DeviceTrace, Launched, StepSeen
from rooflight.values.sample import Timing

# Kernels beyond are counted, not kept; names beyond are their operator's.
MOST_KERNELS = 5_000_000
MOST_NAMES = 20_000
MOST_STEPS = 20_000
# Devices of one document; what says more is no profile of accelerators, and each costs a look at all kernels.
MOST_DEVICES = 256
LONGEST_NAME = 4000
_LONGEST_MARK = 300
_KERNEL, _COMMUNICATION, _COPY = 0, 1, 2
# What eight of ten lie between.
_TENTHS = (10, 50, 90)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A mark, in the profile's unit."""

    name: str
    start: float
    length: float
    rank: int


class Timeline:
    """Kernels, the calls that launch them and the marks around these, of one document after another.

    unit_s      seconds of one unit of its times
    left_out    kernels beyond what is kept; shaped: kernels whose operators' sizes are known
    first       when its first kernel began
    """

    def __init__(self, unit_s: float) -> None:
        self._unit_s = unit_s
        self._names: dict[str, int] = {}
        self._labels: dict[str, int] = {}
        self._kinds: list[int] = []
        self._operators: list[str] = []
        self._groups: dict[tuple[int, int, Asked | None], list[Any]] = {}
        self._spans: dict[int, list[tuple[Any, Any, Any]]] = {}
        self._steps: list[tuple[Step, float | None, float | None]] = []
        self.left_out, self.shaped = 0, 0
        self.first = float("inf")
        self._clear()

    def _clear(self) -> None:
        self._columns = (array("i"), array("i"), array("d"), array("d"), array("q"), array("q"))
        self._calls, self._asked = (array("q"), array("d")), (array("q"), array("i"))
        self._works: dict[Asked, int] = {}
        self._marks: list[Step] = []
        self._device_marks: list[Step] = []

    @property
    def kernels(self) -> int:
        """How many kernels and copies were seen of this document."""
        return len(self._columns[0])

    def named(self, name: str) -> int:
        """The number of a kernel's name."""
        name = name[:LONGEST_NAME]
        found = self._names.get(name)
        if found is None:
            family = operator(name)
            if len(self._names) >= MOST_NAMES:
                name = f"({family})"
                if name in self._names:
                    return self._names[name]
            found = self._names[name] = len(self._names)
            moved = moved_by_engines(name)
            self._kinds.append(_COPY if moved else _COMMUNICATION if family == "communication" else _KERNEL)
            self._operators.append(family)
        return found

    def add(self, device: int, name: int, start: float, length: float, call: int, asked: int) -> None:
        """A kernel. device: its number in this document, call: of the call that launched it, asked: of its operator."""
        if self.kernels >= MOST_KERNELS:
            self.left_out += 1
            return
        devices, names, starts, lengths, calls, operators = self._columns
        devices.append(device)
        names.append(name)
        starts.append(start)
        lengths.append(length)
        calls.append(call)
        operators.append(asked)

    def called(self, call: int, start: float) -> None:
        """A call of the host that launches something."""
        if len(self._calls[0]) < MOST_KERNELS:
            self._calls[0].append(call)
            self._calls[1].append(start)

    def asks(self, number: int, asked: Asked) -> None:
        """An operator with its work."""
        if len(self._asked[0]) < MOST_KERNELS:
            self._asked[0].append(number)
            self._asked[1].append(self._works.setdefault(asked, len(self._works)))

    def marked(self, name: str, start: float, length: float, *, on_device: bool = False) -> None:
        """A mark of the host, or one of the device around what a mark of the host launched."""
        said = mark(name)
        marks = self._device_marks if on_device else self._marks
        if said is not None and len(marks) < MOST_STEPS:
            marks.append(Step(name=name[:_LONGEST_MARK], start=start, length=length, rank=said.rank))

    def close(self, labels: list[str]) -> None:
        """A document's end, with the names of its devices: their numbers, those of calls and operators begin anew."""
        import numpy as np

        device, name, start, length, call, asked = (_numbers(one) for one in self._columns)
        if len(device):
            self.first = min(self.first, float(start.min()))
            order = np.argsort(start, kind="stable")
            device, name, start, length, call, asked = (
                one[order] for one in (device, name, start, length, call, asked)
            )
            device = np.array([self._labels.setdefault(one, len(self._labels)) for one in labels])[device]
            kinds = np.array(self._kinds, np.int8)[name]
            for one in np.unique(device):
                of = device == one
                self._spans.setdefault(int(one), []).append((start[of], start[of] + length[of], kinds[of]))
            self._group(device, name, length, self._matched(name, length, asked))
        self._close_steps(start, start + length, call)
        self._clear()

    def _matched(self, name: Any, length: Any, asked: Any) -> Any:
        """For each kernel the index of the work that it did, -1 for none: of one operator's its longest fitting one."""
        import numpy as np

        found = np.full(len(name), -1)
        if not self._works or not len(name):
            return found
        numbers, works = map(_numbers, self._asked)
        numbers, first = np.unique(numbers, return_index=True)
        works = works[first]
        at = np.clip(np.searchsorted(numbers, asked), 0, len(numbers) - 1)
        known = (numbers[at] == asked) & (asked > 0)
        families = sorted(set(self._operators) | {one.family for one in self._works})
        index = {family: i for i, family in enumerate(families)}
        wanted = np.array([index[one.family] for one in self._works])[works[at]]
        own = np.array([index[one] for one in self._operators])[name]
        fits = np.flatnonzero(known & (wanted == own))
        order = fits[np.lexsort((length[fits], asked[fits]))]
        longest = order[np.append(asked[order][1:] != asked[order][:-1], True)] if len(order) else order
        found[longest] = works[at[longest]]
        return found

    def _group(self, device: Any, name: Any, length: Any, work: Any) -> None:
        """Lengths of kernels of one device, name and work, together."""
        import numpy as np

        works = list(self._works)
        order = np.lexsort((work, name, device))
        device, name, length, work = device[order], name[order], length[order], work[order]
        new = (device[1:] != device[:-1]) | (name[1:] != name[:-1]) | (work[1:] != work[:-1])
        edges = [0, *(np.flatnonzero(new) + 1).tolist(), len(device)]
        for first, last in itertools.pairwise(edges):
            at = int(work[first])
            key = (int(device[first]), int(name[first]), None if at < 0 else works[at])
            self._groups.setdefault(key, []).append(length[first:last])
            self.shaped += (last - first) * (at >= 0)

    def _close_steps(self, start: Any, end: Any, call: Any) -> None:
        """What the device did of each step: the kernels that were launched within its mark, whenever they ran."""
        import numpy as np

        steps, began = self._marks, None
        if not steps:
            steps, began = self._device_marks, start
        kept = _distinct(steps)
        if kept and began is None:
            numbers, first = np.unique(_numbers(self._calls[0]), return_index=True)
            if not len(numbers):
                began = start
            else:
                at = np.clip(np.searchsorted(numbers, call), 0, len(numbers) - 1)
                times = _numbers(self._calls[1])[first][at]
                began = np.where((numbers[at] == call) & (call > 0), times, np.nan)
        if kept and began is not None:
            order = np.argsort(began, kind="stable")
            began = began[order]
        for step in kept:
            busy = device = None
            if began is not None and len(began):
                low, high = np.searchsorted(began, (step.start, step.start + step.length))
                of = np.sort(order[low:high])
                if len(of):
                    busy = covered(start[of], end[of])[0] * self._unit_s
                    device = float(end[of].max() - start[of].min()) * self._unit_s
            self._steps.append((step, busy, device))

    def devices(self, names: dict[str, str | None]) -> tuple[DeviceTrace, ...]:
        """How the time of each went."""
        labels = sorted(label for label, number in self._labels.items() if number in self._spans)
        return tuple(self._device(label, self._labels[label], names.get(label)) for label in labels)

    def _device(self, label: str, number: int, name: str | None) -> DeviceTrace:
        import numpy as np

        start, end, kind = (np.concatenate(column) for column in zip(*self._spans[number], strict=True))
        order = np.argsort(start, kind="stable")
        start, end, kind = start[order], end[order], kind[order]
        busy, gaps = covered(start, end)
        talking, copying = kind == _COMMUNICATION, kind == _COPY
        return DeviceTrace(
            device=label,
            name=name,
            span_s=float(end.max() - start[0]) * self._unit_s,
            busy_s=busy * self._unit_s,
            communication_s=covered(start[talking], end[talking])[0] * self._unit_s,
            exposed_s=(busy - covered(start[~talking], end[~talking])[0]) * self._unit_s,
            copy_s=(busy - covered(start[~copying], end[~copying])[0]) * self._unit_s,
            kernels=int((~copying).sum()),
            gaps=len(gaps),
            gap_s=self._timing(gaps) if len(gaps) else None,
        )

    def launched(self) -> tuple[Launched, ...]:
        """Kernels grouped, what took longest first."""
        import numpy as np

        labels, names = list(self._labels), list(self._names)
        found = []
        for (device, name, work), lengths in self._groups.items():
            took, family = np.concatenate(lengths), self._operators[name]
            told = number_format(names[name]) if family in MULTIPLYING else None
            found.append(
                Launched(
                    name=names[name],
                    operator=family,
                    device=labels[device],
                    calls=len(took),
                    total_s=float(took.sum()) * self._unit_s,
                    time_s=self._timing(took),
                    flop=work.flop if work else None,
                    bytes=work.bytes if work else None,
                    format=(work.format if work else None) or told,
                    shape=dict(work.sizes) if work else None,
                )
            )
        return tuple(sorted(found, key=lambda one: (-one.total_s, one.device, one.name)))

    def steps(self, first: float) -> tuple[StepSeen, ...]:
        """Steps in the order of their marks, those that say most where several kinds of marks lie around one."""
        best = min((step.rank for step, _, _ in self._steps), default=0)
        found = []
        for step, busy_s, device_s in sorted(self._steps, key=lambda one: one[0].start):
            said = mark(step.name)
            if step.rank == best and said is not None:
                found.append(
                    StepSeen(
                        name=step.name, phase=said.phase, batch=said.batch, tokens=said.tokens,
                        context=said.context, prompts=said.prompts, prompt_context=said.prompt_context,
                        start_s=max(step.start - first, 0.0) * self._unit_s,
                        wall_s=step.length * self._unit_s, busy_s=busy_s, device_s=device_s,
                    )
                )  # fmt: skip
        return tuple(found)

    def _timing(self, lengths: Any) -> Timing:
        import numpy as np

        low, middle, high = np.percentile(lengths, _TENTHS) * self._unit_s
        return Timing(median=float(middle), low=float(low), high=float(high), n=len(lengths))


def covered(start: Any, end: Any) -> tuple[float, Any]:
    """How long any of some intervals lasts, by their starts in order, and the gaps between them.

    Check: 0 to 4, 1 to 2 and 6 to 7 -> 5, with one gap of 2.
    """
    import numpy as np

    if not len(start):
        return 0.0, np.empty(0)
    reach = np.maximum.accumulate(end)
    gaps = start[1:] - reach[:-1]
    gaps = gaps[gaps > 0]
    return float(reach[-1] - start[0] - gaps.sum()), gaps


def _distinct(steps: list[Step]) -> list[Step]:
    """Marks that lie in none of their rank: engines mark a step more than once."""
    kept: list[Step] = []
    reach: dict[int, float] = {}
    for step in sorted(steps, key=lambda one: (one.start, -one.length)):
        end = step.start + step.length
        if end > reach.get(step.rank, float("-inf")):
            reach[step.rank] = end
            kept.append(step)
    return kept


def _numbers(column: array[Any]) -> Any:
    """A column without a copy."""
    import numpy as np

    return np.frombuffer(column, column.typecode) if len(column) else np.empty(0, column.typecode)
