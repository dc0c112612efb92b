"""What drafts beside a model: a named model, the model's own layers for it, or a head that was trained on it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.catalog import models
from rooflight.errors import BadInput, Named, UnknownName
from rooflight.values.calibration import Busy, Engine
from rooflight.values.deployment import OWN_LAYERS, Deployment
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.workload import Workload
from rooflight.work.count import has_source, parameters, puts_out_tokens, weight_bytes
from rooflight.work.drafts import KNOWN, OWN_MARK, Drafts, own_layers, with_head
from rooflight.work.layout import Layout, check_layout

# Ours, 2026-11-29: no fit has seen a draft's steps, so expected intervals are so much wider, at both ends.
UNFITTED_DRAFT = 1.5
# What a draft shares with the deployment it stands in.
_SHARED = (
    "engine", "engine_version", "graphs", "attention", "network", "max_num_batched_tokens", "max_num_seqs", "sampler",
    "gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction", "ignore_capacity",
)  # fmt: skip


def drafts_of(model: Model, deployment: Deployment) -> Drafts | None:
    """What the deployment names to draft for a model in its formats; None where it names nothing. Raises BadInput."""
    name = deployment.draft_model
    if name is None:
        return None
    if name.lower() == OWN_LAYERS:
        if deployment.draft_weights is not None:
            raise BadInput(
                "layers for multi-token prediction are in the model's own formats", where=Named.of("draft_weights"),
                got=deployment.draft_weights, want=Named("{weights}, which are theirs too"),
            )  # fmt: skip
        return own_layers(model)
    found = with_head(model, _named(name))
    _check(model, found.steps)
    return found


def _named(name: str) -> Model:
    """The model by its name: the catalog's before a path's or the hub's."""
    try:
        return models.catalogued(name, near=False)
    except UnknownName:
        pass
    try:
        return models.load(name)
    except BadInput as error:
        error.where = error.where or Named.of("draft_model")
        raise


def _check(model: Model, draft: Model) -> None:
    """Refuse what cannot draft for a model. Raises BadInput."""
    if not puts_out_tokens(draft):
        raise BadInput(
            f"{draft.id} puts out no tokens, so it drafts none", where=Named.of("draft_model"), got=draft.id[:60],
            want="a model with a vocabulary head",
        )  # fmt: skip
    if has_source(model) != has_source(draft):
        raise BadInput(
            f"of {model.id} and {draft.id} one has an encoder beside its decoder and the other has none",
            where=Named.of("draft_model"), got=draft.id[:60], want="two models of one kind",
        )  # fmt: skip


def draft_deployment(draft: Model, deployment: Deployment, layout: Layout, kv_cache: str) -> Deployment:
    """How a draft is laid out: as the model is, or whole on one of the tensor ranks where these do not cut it evenly.

    Raises BadInput where it has fewer layers than the model has stages.
    """
    cut = draft_layout(draft, layout)
    return Deployment(
        tp=cut.tp, pp=cut.pp, dp=cut.dp, ep=cut.ep, weights=deployment.draft_weights, kv_cache=kv_cache,
        **{name: getattr(deployment, name) for name in _SHARED},
    )  # fmt: skip


def draft_layout(draft: Model, layout: Layout) -> Layout:
    """The draft's layout. Raises BadInput."""
    routed = any(layer.experts is not None for layer in draft.layers)
    alike = Layout(tp=layout.tp, pp=layout.pp, dp=layout.dp, ep=layout.ep if routed else 1)
    for cut in (alike, Layout(tp=1, pp=layout.pp, dp=layout.dp)):
        try:
            check_layout(draft, cut)
        except BadInput:
            continue
        return cut
    raise BadInput(
        f"{draft.id} cannot be spread over the {layout.pp} stages of a pipeline, and on which of them it would lie is "
        "not known", where=Named.of("draft_model", "pp"), got=layout.pp,
        want=Named("{pp} beside this {draft_model}", pp=1),
    )  # fmt: skip


def draft_workload(load: Workload) -> Workload:
    """The load as a draft has it: the same tokens, all of them text, and nothing drafted before its steps."""
    return msgspec.structs.replace(
        load, draft_tokens=0, chunk_tokens=0, images=None, audio_seconds=None, media_tokens=None
    )


def within_a_step(engine: Engine) -> Engine:
    """An engine's draft steps: the host's own time is the verify step's, and nobody measured them by themselves."""
    busy = None if engine.busy is None else msgspec.structs.replace(engine.busy, **_wider_steps(engine.busy))
    own = _wider_steps(engine)
    return msgspec.structs.replace(engine, host_s=0.0, host_per_sequence_s=0.0, busy=busy, **own)


def _wider_steps(ends: Engine | Busy) -> dict[str, float]:
    """The ends of intervals of steps, further out."""
    low = {name: getattr(ends, name) / UNFITTED_DRAFT for name in ("low", "moe_low")}
    return low | {name: getattr(ends, name) * UNFITTED_DRAFT for name in ("high", "moe_high")}


def draft_notes(model: Model, own: Model, steps: Model, layout: Layout, cut: Layout) -> Iterator[Note]:
    """What is taken for granted of a draft: its formats, its place, and words of its own."""
    weights = own.quantization or own.dtype
    yield Note(key="draft", value=(parameters(own), weight_bytes(own), weights), why=own.id)
    yield Note(key="draft_unfitted", value=UNFITTED_DRAFT)
    if own.id.endswith(OWN_MARK):
        yield Note(key="draft_layers", value=model.draft_layers, why="" if model.type in KNOWN else model.type)
    if cut.tp != layout.tp:
        yield Note(key="draft_uncut", value=layout.tp, why=own.id)
    if steps.vocab != model.vocab:
        yield Note(key="draft_vocab", value=(steps.vocab, model.vocab), why=own.id)
    yield from (Note(key="file", value=f"{own.id}: {text}") for text in (*own.assumptions, *own.warnings))
