"""Records of benchmarks as rows to judge: what each says of its run, and what is said of it beside the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rooflight.answers.check.names import Names
from rooflight.errors import BadInput, Named
from rooflight.ingest.rows import BadRow, GivenRow, given_rows
from rooflight.scenario.definite import Scenario
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import DEPLOYMENT, Deployment
from rooflight.values.measurement import Measurement
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.own import OwnCalibration
from rooflight.values.recorded import Record, Recorded, Spread
from rooflight.values.workload import Workload

_MS = to_base(1, "ms")
# Columns of a row by the fields of a question that say the same; the others of a deployment are put in beside them.
_COLUMNS = {
    "batch": "batch", "isl": "input_len", "osl": "output_len", "cached_prefix": "cached_prefix",
    **{
        name: name
        for name in (
            "draft_tokens", "acceptance", "draft_share", "tp", "pp", "ep", "dp", "weights", "kv_cache", "compute",
            "engine", "engine_version", "max_num_batched_tokens", "max_num_seqs", "network", "prefill_workers",
            "decode_workers", "prefill_tp", "prefill_ep", "prefill_dp", "n_gpu_layers", "n_cpu_moe", "host_cpu",
            "host_memory_bandwidth",
        )
    },
}  # fmt: skip
_LAYOUT = ("tp", "pp", "ep", "dp", "prefill_workers", "decode_workers", "prefill_tp", "prefill_ep", "prefill_dp")
_SCHEDULES = {"batch": "e2e_offline", "served": "e2e_server"}
# Of these a file speaks itself: which step was timed, and how many requests were in flight.
_NOT_OF_FILES = ("context", "prefill_batch", "request_rate")
_FINEST = 1e-6
_MOST_DRAFTS = 1000


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a file's runs beside it, which stands before what the file says.

    model, accelerator, count   None: as the file names them; count: devices, None where no number was said
    stated      names of the fields that were given; the other values of workload and deployment are defaults
    """

    model: Model | None = None
    accelerator: Accelerator | None = None
    count: int | None = None
    workload: Workload = Workload()
    deployment: Deployment = Deployment()
    stated: frozenset[str] = frozenset()


class SaidNames(Names):
    """Names in rows of which model, accelerator and deployment may be said beside them."""

    def __init__(
        self, said: Said, configs: Iterable[str | Path] = (), calibration: OwnCalibration | None = None
    ) -> None:
        super().__init__(configs, calibration)
        self._said = said

    def _without(self) -> SaidNames:
        return SaidNames(self._said, self._configs)

    def model(self, row: Measurement) -> tuple[Model, Note | None]:
        return (self._said.model, None) if self._said.model is not None else super().model(row)

    def accelerator(self, row: Measurement) -> tuple[Accelerator, int]:
        card = self._said.accelerator
        return (card, self._said.count or 1) if card is not None else super().accelerator(row)

    def scenario(self, model: Model, card: Accelerator, deployment: Deployment) -> Scenario:
        beside = self._said.stated & (DEPLOYMENT.keys() - _COLUMNS.keys() - {"schedule"})
        more = {name: getattr(self._said.deployment, name) for name in beside}
        return super().scenario(model, card, replace(deployment, **more) if more else deployment)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Rows to judge with the names in them, and what was odd: times of which only medians are known."""

    rows: tuple[GivenRow, ...]
    names: SaidNames
    notes: tuple[str, ...] = ()


def rows_of(
    found: Recorded, said: Said, configs: Iterable[str | Path] = (), calibration: OwnCalibration | None = None
) -> Asked:
    """Every measured value of a file's records as a row. Raises BadInput where there is none, or nobody is named."""
    for name in _NOT_OF_FILES:
        if name in said.stated:
            raise BadInput(
                "a file of results says itself what was timed", where=Named.of(name), got=found.file,
                want=Named("lengths as {isl} and {osl}, the number in flight as {batch}"),
            )  # fmt: skip
    names = SaidNames(said, configs, calibration)
    titles = Counter(record.name for record in found.records)
    named = [
        _told(record, place, alone=titles[record.name] == 1) for place, record in enumerate(found.records, start=1)
    ]
    runs = [(run, row) for run, record in zip(named, found.records, strict=True) for row in measurements(record, run)]
    rows = [_under(row, said) for _, row in runs]
    if not rows:
        raise BadInput(
            f"{found.file} holds no measured time or rate of tokens", where=found.file, got=found.format,
            want="results of a benchmark", try_this=f"rooflight diagnose {found.file}",
        )  # fmt: skip
    _named(found, rows, names)
    cells = [_cells(replace(row, run=run)) for row, (run, _) in zip(rows, runs, strict=True)]
    medians = any(row.run != run for run, row in runs)
    return Asked(
        rows=tuple(map(_of_its_run, given_rows(cells), rows)), names=names,
        notes=("where no mean is given, the median stands for it",) if medians else (),
    )  # fmt: skip


def _of_its_run(asked: GivenRow, row: Measurement) -> GivenRow:
    """The row as given, in the run that it is judged with."""
    return asked if asked.row is None else GivenRow(asked.line, asked.given, replace(asked.row, run=row.run))


def _told(record: Record, place: int, *, alone: bool) -> str:
    """A run's name, with its place where others have the same."""
    if record.name and alone:
        return record.name
    return f"{record.name} ({place})" if record.name else str(place)


def measurements(record: Record, run: str) -> tuple[Measurement, ...]:
    """A record's values, each as a row of one run of that name; a median is of a run of its own.

    What values of one run make together, Little's law says of means alone.
    """
    return tuple(_rows(record, run))


def _rows(record: Record, run: str) -> Iterator[Measurement]:
    phase = _phase(record)
    plain = _run(record, phase, run)
    for metric, found in _values(record, phase):
        value = found if not isinstance(found, Spread) else found.middle and found.middle / _MS
        if value:
            of = "prefill" if metric == "prefill_tok_s" else phase
            alone = isinstance(found, Spread) and found.mean is None
            yield replace(plain, metric=metric, value=value, phase=of, run=f"{run}, median {metric}" if alone else run)


def _phase(record: Record) -> str:
    """The one that was timed; a batch that starts together, or a load."""
    stated, found = record.stated, record.measured
    if stated.phase in ("prefill", "decode"):
        return stated.phase
    loaded = stated.concurrency is not None or stated.request_rate is not None
    if not loaded and (stated.batch is not None or (found.ttft_s is None and found.tpot_s is None)):
        return "e2e_offline"
    return "e2e_server"


def _values(record: Record, phase: str) -> Iterator[tuple[str, float | Spread | None]]:
    """Rates and times, by the metric that they are of."""
    found = record.measured
    if phase == "prefill":
        rates = (found.prefill_tokens_per_s, found.input_tokens_per_s, found.total_tokens_per_s)
        yield "prefill_tok_s", next((one for one in rates if one is not None), None)
        yield "ttft_ms", found.ttft_s
        return
    token = _token(record)
    if phase != "decode":
        yield "ttft_ms", found.ttft_s
    yield "tpot_ms", token
    if phase != "decode":
        yield "e2e_latency_ms", found.request_s
    yield "output_tok_s", found.output_tokens_per_s
    if token is None and found.output_tokens_per_s is None:
        yield "output_tok_s_per_user", found.output_tokens_per_s_per_user
    if phase == "e2e_offline":
        yield "prefill_tok_s", found.prefill_tokens_per_s
    if found.output_tokens_per_s is None and phase != "decode":
        yield "total_tok_s", found.total_tokens_per_s


def _token(record: Record) -> Spread | None:
    """The time between two tokens.

    The time between chunks is that where each carries one token; its median is only where it is first averaged over a
    request, as by those who call another time TPOT.
    """
    found = record.measured
    if found.tpot_s is not None or found.itl_s is None or record.stated.speculative:
        return found.tpot_s
    return found.itl_s if found.itl_s.mean is not None or found.tpot_with_first_s is not None else None


def _run(record: Record, phase: str, run: str) -> Measurement:
    """What all values of a record have in common."""
    stated, found = record.stated, record.measured
    apart = stated.prefill_workers is not None or stated.decode_workers is not None
    isl, osl = (_length(one) for one in (found.isl or stated.isl, found.osl or stated.osl))
    served = phase == "e2e_server"
    prompts = stated.num_prompts if stated.num_prompts is not None else found.requests
    drafts = stated.draft_tokens if stated.speculative is not False else None
    return Measurement(
        model=stated.model or "", accelerator=stated.device or "", metric="", value=0.0, phase=phase,
        gpus=stated.gpus, tp=stated.tp, pp=stated.pp, ep=stated.ep, dp=stated.dp,
        weights=stated.weights, kv_cache=stated.kv_cache, batch=_in_flight(record, phase),
        input_len=isl, output_len=osl if phase != "prefill" else None, depth=stated.depth,
        engine=stated.engine or "", engine_version=stated.engine_version or "",
        max_num_batched_tokens=stated.max_num_batched_tokens, max_num_seqs=stated.max_num_seqs,
        speculative={True: "yes", False: "no", None: None}[stated.speculative],
        draft_tokens=drafts, acceptance=_chance(found.acceptance, drafts), mode="disagg" if apart else None,
        prefill_workers=stated.prefill_workers, decode_workers=stated.decode_workers, prefill_tp=stated.prefill_tp,
        prefill_ep=stated.prefill_ep, prefill_dp=stated.prefill_dp,
        prompts=prompts if served or (phase == "e2e_offline" and stated.batch is None) else None,
        n_gpu_layers=stated.n_gpu_layers, n_cpu_moe=stated.n_cpu_moe, run=run,
    )  # fmt: skip


def _length(tokens: float | None) -> int | None:
    return None if tokens is None or tokens < 0 else max(1, round(tokens))


def _in_flight(record: Record, phase: str) -> int | None:
    """The batch, or how many requests are in flight: what the generator keeps there, else as Little's law has it.

    Where requests arrive at a rate, the most that it allows is no number that is kept.
    """
    stated, found = record.stated, record.measured
    if phase != "e2e_server":
        return stated.batch if stated.batch is not None else stated.concurrency
    whole, rate = found.request_s, found.requests_per_s
    most = rate * whole.mean if rate is not None and whole is not None and whole.mean is not None else None
    flying = found.in_flight or most
    mean = None if not flying else max(1, round(flying))
    if stated.concurrency is None or (stated.request_rate is not None and mean is not None):
        return mean
    return stated.concurrency


def _chance(share: float | None, drafts: int | None) -> float | None:
    """The chance a of each drafted token that makes so large a share of them accepted: a + a^2 + ... = share x drafts.

    Check: 3 drafted, 0.875 of 3 accepted (0.5 + 0.25 + 0.125) -> 0.5.
    """
    if share is None or drafts is None or not 0 <= share <= 1 or drafts > _MOST_DRAFTS:
        return None
    low, high = 0.0, 1.0
    while high - low > _FINEST:
        middle = (low + high) / 2
        accepted = sum(middle**place for place in range(1, drafts + 1))
        low, high = (middle, high) if accepted < share * drafts else (low, middle)
    return (low + high) / 2


def _under(row: Measurement, said: Said) -> Measurement:
    """The row with what is said beside it. Raises BadInput for workers on two kinds of cards."""
    if said.deployment.prefill_on is not None:
        raise BadInput(
            "rows of a file are of one kind of card", where=Named.of("prefill_on"), got=said.deployment.prefill_on,
            want="a claim, without a file, or the file without it",
        )  # fmt: skip
    asked = {**_given(said.workload, said), **_given(said.deployment, said)}
    if said.count is not None:
        asked["gpus"] = said.count
    elif any(name in said.stated for name in _LAYOUT):
        asked["gpus"] = None
    elif said.accelerator is not None and row.gpus is row.tp is row.pp is row.dp is None and not row.apart:
        asked["gpus"] = 1  # as a claim about it
    if said.model is not None:
        asked["model"] = said.model.id
    if said.accelerator is not None:
        asked["accelerator"] = said.accelerator.id
    phase = _SCHEDULES.get(said.deployment.schedule or "")
    if phase is not None and row.phase in _SCHEDULES.values():
        asked["phase"] = phase
    if "prefill_workers" in said.stated or "decode_workers" in said.stated:
        asked["mode"] = "disagg"
    return replace(row, **asked)


def _given(values: Workload | Deployment, said: Said) -> dict[str, object]:
    names = [name for name in values.__struct_fields__ if name in said.stated and name in _COLUMNS]
    return {_COLUMNS[name]: getattr(values, name) for name in names}


def _named(found: Recorded, rows: Sequence[Measurement], names: SaidNames) -> None:
    """Raises BadInput where no row's model, or accelerator, is known."""
    for what, field, look_up, want in (
        ("model", "model", names.model, "a model's id, or its config.json"),
        ("accelerator", "on", names.accelerator, "an accelerator's id, such as h100-sxm or 8xh100-sxm"),
    ):
        met = {getattr(row, what): row for row in rows}
        problems = [problem for row in met.values() if (problem := _problem(look_up, row)) is not None]
        if len(problems) == len(met):
            said = ", ".join(name for name in met if name)[:100]
            raise BadInput(
                f"{found.file} names no {what} that the catalog knows", where=Named.of(field), got=said or "none",
                want=want, try_this=f"`rooflight {what}s` for the list",
            )  # fmt: skip


def _problem(look_up: Callable[[Measurement], object], row: Measurement) -> str | None:
    try:
        look_up(row)
    except BadRow as bad:
        return str(bad)
    return None


def _cells(row: Measurement) -> dict[str, object]:
    """The columns that say something."""
    cells = {name: getattr(row, name) for name in row.__struct_fields__}
    return {name: value for name, value in cells.items() if value is not None and value != ""}
