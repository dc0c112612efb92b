"""Which deployments a row may have run on: the one it states, or every legal one where it states none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rooflight.answers.check.names import Names
from rooflight.answers.check.offloaded import others, splits
from rooflight.catalog import models
from rooflight.catalog.calibration import calibrated, engine_id
from rooflight.catalog.unlike import groups
from rooflight.errors import BadInput, RooflightError
from rooflight.ingest.rows import BadRow
from rooflight.scenario.alike import sparse
from rooflight.scenario.caches import suite_cache
from rooflight.scenario.change import spread
from rooflight.scenario.definite import Scenario, checkpoint_cache
from rooflight.serve.room import holds_weights
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import OWN_LAYERS, SHAPE, Deployment
from rooflight.values.measurement import Measurement
from rooflight.values.model import LatentAttention, Model
from rooflight.values.note import Note
from rooflight.work.layout import Layout
from rooflight.work.weights import names_own_format

# Engines that put whole layers on each card instead of cutting matrices.
_LAYER_SPLIT = ("llama.cpp", "llamacpp", "exllama", "ollama")
# The same where nothing else is stated: transformers by device_map.
_IN_TURN = ("transformers",)
_MOST_DEVICES = 4096
_NARROW = "nvfp4"
_LONGEST_VERSION = 60
# What a scenario assumed of formats that a verdict should say too.
_TOLD = ("checkpoint_cache", "lightest", "engine_file", "weight_bytes", "host_rate", "variant", "own_unused")


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """Scenarios the row may have run as (workload left open), and what was taken for what it does not say.

    beside          the same beside other hosts than the one assumed: what is expected goes up to theirs
    least           of a model by its size, the same with the fewest bytes that any model of it may stream: its ceiling
    layout_open     the row states no layout, so the fastest counts
    gpus_open       not even the number of devices
    hosted          a part of it lies on a host; split_open: the row does not say which
    """

    scenarios: tuple[Scenario, ...]
    notes: tuple[Note, ...] = ()
    beside: tuple[Scenario, ...] = ()
    least: tuple[Scenario, ...] = ()
    layout_open: bool = False
    gpus_open: bool = False
    hosted: bool = False
    split_open: bool = False


def candidates(row: Measurement, model: Model, card: Accelerator, count: int, names: Names) -> Candidates:
    """The legal deployments that agree with what the row states. Raises BadRow where there is none."""
    routed = any(layer.experts is not None for layer in model.layers)
    notes: list[Note] = []
    gpus = row.gpus if row.gpus is not None else (count if count > 1 else None)
    if count > 1 and gpus != count:
        notes.append(Note(key="gpus_counted", value=(count, gpus)))
    options, layout_open = _apart(row, routed, notes) if row.apart else _layouts(row, gpus, routed, notes)
    unlike = len(card.joined) if len(groups(card)) > 1 else 0
    if unlike and row.tp in (None, 1) and row.pp in (None, 1, unlike) and row.dp in (None, 1) and gpus == unlike:
        options, layout_open = [Layout(pp=unlike)], False
    whose = routed and (row.dp or 1) > 1 and (row.ep or 1) == 1  # experts of replicas: each has all, or they share them
    if (None in (row.tp, row.dp) or whose) and any(isinstance(layer.mixer, LatentAttention) for layer in model.layers):
        options += [other for one in options if (other := _attention_replicated(one)) not in options]
    bare = _unlaid(row, card, routed, notes)
    if (cache := _suite_cache(row, model, bare, notes)) is not None:
        bare = msgspec.structs.replace(bare, kv_cache=cache)
    if model.sized is not None and bare.weights is None and model.sized.weights is not None:
        bare = msgspec.structs.replace(bare, weights=model.sized.weights)
        notes.append(Note(key="named_weights", value=model.sized.weights))
    found: list[Scenario] = []
    problem: RooflightError | None = None
    ways = 1
    for one in (_sized(bare, row.weight_bytes), bare) if row.weight_bytes is not None else (bare,):
        for layout in options:
            laid = _laid(one, layout)
            try:
                placed = splits(row, model, card, laid, names)
            except RooflightError as error:
                raise BadRow(error.what) from None
            ways = max(ways, len(placed))
            for deployment in placed or (laid,):
                try:
                    found.append(names.scenario(model, card, deployment))
                except RooflightError as error:
                    problem = problem or error
    larger = names.larger(card)
    if larger is not None and not (row.offloaded or row.split) and not any(map(holds_weights, found)):
        return candidates(row, model, larger, count, names)
    if any(sc.rates.beside is not None for sc in found):
        notes.append(Note(key="offloaded", value=found[0].deployment, why="open" if ways > 1 else "stated"))
    elif row.offloaded:
        notes.append(Note(key="offloaded"))
    if unlike and found:
        found += spread(found[0])
        notes.append(Note(key="spread"))
    if not found and isinstance(problem, BadInput) and problem.where == "tp":
        found = list(_wider(options[0], bare, model, card, names, notes))
    if not found:
        raise BadRow(problem.what if problem else "no layout is legal")
    return Candidates(
        scenarios=tuple(found),
        beside=tuple(other for sc in found if sc.rates.beside is not None for other in others(sc, names)),
        least=tuple(least(found, names)),
        notes=(*notes, *(note for note in found[0].assumptions if note.key in _TOLD)),
        layout_open=layout_open,
        gpus_open=gpus is None and row.tp is None,
        hosted=any(sc.rates.beside is not None for sc in found),
        split_open=ways > 1,
    )


def least(found: Sequence[Scenario], names: Names) -> Iterator[Scenario]:
    """The scenarios of a model by its size that no model of that size beats; none where its shape is known.

    One whose weights' format nobody states might have been in four bits.
    """
    for sc in found:
        if sc.checkpoint.sized is None:
            return
        weights = sc.deployment.weights or _NARROW
        bare = msgspec.structs.replace(sc.deployment, weights=weights, weight_bytes=None, **dict.fromkeys(SHAPE))
        try:
            yield names.scenario(sparse(sc.checkpoint), sc.accelerator, bare)
        except RooflightError:
            continue


def _unlaid(row: Measurement, card: Accelerator, routed: bool, notes: list[Note]) -> Deployment:
    """The row's formats, engine and workers, before any layout; memory that nobody knows sets no limit."""
    known = bool(row.engine) and calibrated(row.engine)
    if row.engine and not known:
        notes.append(Note(key="uncalibrated_engine", value=row.engine[:40]))
    names = ("prefill_workers", "decode_workers", "prefill_tp", "prefill_ep", "prefill_dp") if row.apart else ()
    workers: dict[str, Any] = {name: getattr(row, name) for name in names}
    if not routed and workers.get("prefill_ep"):
        workers["prefill_ep"] = 1
    return Deployment(
        weights=row.weights, kv_cache=row.kv_cache, compute=row.compute, engine=row.engine if known else None,
        engine_version=_version(row) if known else None,
        max_num_batched_tokens=row.max_num_batched_tokens, max_num_seqs=row.max_num_seqs,
        network=row.network, ignore_capacity=card.memory_bytes is None, draft_model=_draft(row), **workers,
    )  # fmt: skip


def _suite_cache(row: Measurement, model: Model, bare: Deployment, notes: list[Note]) -> str | None:
    """The cache of a suite's served row that says none, where it is no default of the engine's.

    A table of others' runs has the weights in its source's words too; whose own run it is knows the cache.
    """
    told = row.kv_cache or not row.weights_as_given
    if told or not (row.served and bare.engine) or checkpoint_cache(bare.engine, row.weights):
        return None
    cache = suite_cache(row.engine, row.weights, native=names_own_format(model, row.weights))
    if cache is not None:
        notes.append(Note(key="suite_cache", value=(cache, row.weights)))
    return cache


def _draft(row: Measurement) -> str | None:
    """What drafts, where the row says how many tokens. Raises BadRow for a model that is not in the catalog."""
    name = row.draft_model
    if name is None or not row.draft_tokens:
        return None
    if name.lower() != OWN_LAYERS:
        try:
            models.catalogued(name, near=False)
        except BadInput:
            raise BadRow(f"there is no draft model {name[:60]!r} in the catalog") from None
    return name


def _sized(bare: Deployment, size_bytes: float) -> Deployment:
    """With the file's size: what is expected is of that, while the ceiling is of the fewer bytes a step.

    A size does not say how a file's bytes lie: a table or layers that no step reads may take more of it than the mix's.
    """
    return msgspec.structs.replace(bare, weight_bytes=size_bytes)


def _version(row: Measurement) -> str | None:
    """The row's version, None where it says none: "main" and "nightly" are of no time that is known."""
    said = row.engine_version[:_LONGEST_VERSION]
    return said if any(map(str.isdigit, said)) else None


def _laid(bare: Deployment, layout: Layout) -> Deployment:
    return msgspec.structs.replace(bare, tp=layout.tp, pp=layout.pp, ep=layout.ep, dp=layout.dp)


def _layouts(row: Measurement, gpus: int | None, routed: bool, notes: list[Note]) -> tuple[list[Layout], bool]:
    """Layouts to try, and whether the row leaves them open."""
    ep = (row.ep or 1) if routed else 1
    if ep != (row.ep or 1):
        notes.append(Note(key="ep_left_out", value=row.ep))
    tp, pp, dp = row.tp or 1, row.pp or 1, row.dp or 1
    stated = tp * pp * dp
    if gpus is None:
        if row.tp is None:
            notes.append(Note(key="gpus", value=stated))
        gpus = stated
    if gpus > _MOST_DEVICES:
        raise BadRow(f"gpus is {gpus}: want at most {_MOST_DEVICES:,}")
    if gpus == stated:
        return [Layout(tp=tp, pp=pp, dp=dp, ep=ep)], False
    if row.tp is None and row.dp is None and _in_turn(row.engine):
        notes.append(Note(key="layers_split", value=gpus, why=row.engine))
        # what is expected; its habit bounds nothing, so the ceiling is that of the fastest
        return [Layout(pp=gpus, ep=ep), *_all(gpus, ep, routed)], False
    rest, over = divmod(gpus, stated)
    if not over and row.tp is None and (row.pp is not None or row.dp is not None):
        return [Layout(tp=rest, pp=pp, dp=dp, ep=ep)], False
    options: list[Layout] = []
    if not over and row.tp is not None:
        options += [Layout(tp=tp, pp=pp, dp=dp * rest, ep=ep)] if row.dp is None else []
        options += [Layout(tp=tp, pp=pp * rest, dp=dp, ep=ep)] if row.pp is None else []
    if not options and (over or row.tp is not None):
        notes.append(Note(key="not_the_devices", value=(tp, pp, dp, gpus)))
    return options or list(_all(gpus, ep, routed)), True


def _in_turn(engine: str) -> bool:
    """Whether the engine passes cards in turn where nobody says otherwise."""
    return engine.lower().startswith(_LAYER_SPLIT) or engine_id(engine) in _IN_TURN


def _apart(row: Measurement, routed: bool, notes: list[Note]) -> tuple[list[Layout], bool]:
    """The layout of one decode worker; that of a prefill worker stands in the deployment."""
    prefill, decode = row.prefill_workers, row.decode_workers
    if prefill is None or decode is None:
        raise BadRow("a disaggregated run of which prefill_workers and decode_workers are not both stated")
    pp, dp = row.pp or 1, row.dp or 1
    tp = row.tp
    if tp is None:
        if row.gpus is None or row.prefill_tp is not None or row.gpus % ((prefill + decode) * pp * dp):
            raise BadRow("a disaggregated run of which tp, of one decode worker, is not stated")
        tp = row.gpus // ((prefill + decode) * pp * dp)
    used = decode * tp * pp * dp + prefill * (row.prefill_tp or tp) * pp * (row.prefill_dp or dp)
    if row.gpus is not None and row.gpus != used:
        notes.append(Note(key="not_the_workers", value=(used, row.gpus)))
    if used > _MOST_DEVICES:
        raise BadRow(f"its workers have {used:,} devices: want at most {_MOST_DEVICES:,}")
    return [Layout(tp=tp, pp=pp, dp=dp, ep=(row.ep or 1) if routed else 1)], False


def _attention_replicated(layout: Layout) -> Layout:
    """Tensor parallel as engines do it for a latent cache: whole attention on each device, only the experts cut."""
    devices = layout.tp * layout.dp
    return Layout(tp=1, pp=layout.pp, dp=devices, ep=devices)


def _all(gpus: int, ep: int, routed: bool) -> Iterator[Layout]:
    """Every tp that divides the devices, the rest as replicas or as pipeline stages; experts pooled where there are."""
    for tp in range(gpus, 0, -1):
        if gpus % tp:
            continue
        rest = gpus // tp
        yield Layout(tp=tp, dp=rest, ep=ep)
        if routed and ep == 1 and gpus > 1:
            yield Layout(tp=tp, dp=rest, ep=gpus)
        if rest > 1:
            yield Layout(tp=tp, pp=rest, ep=ep)


def _wider(
    layout: Layout, bare: Deployment, model: Model, card: Accelerator, names: Names, notes: list[Note]
) -> Iterator[Scenario]:
    """The next larger tp that divides the heads: it cuts finer than the stated one, so its ceiling lies above."""
    for tp in range(layout.tp + 1, 4 * layout.tp + 1):
        wide = msgspec.structs.replace(layout, tp=tp)
        try:
            found = names.scenario(model, _roomy(card, layout.devices, wide.devices), _laid(bare, wide))
        except RooflightError:
            continue
        notes.append(Note(key="heads", value=(layout.tp, tp), why=model.id))
        yield found
        return


def _roomy(card: Accelerator, devices: int, wider: int) -> Accelerator:
    """The card with its link around `wider` devices where it joins the `devices` that there really are."""
    link, node = card.link, card.node_devices
    if link is not None and link.domain is not None and devices <= link.domain < wider:
        link = msgspec.structs.replace(link, domain=wider)
    if node is not None and devices <= node < wider:
        node = wider
    if (link, node) == (card.link, card.node_devices):
        return card
    # another card to whatever keeps scenarios by a card's origin
    return msgspec.structs.replace(card, link=link, node_devices=node, origin=f"{card.origin}, {wider} joined")
