"""A question made definite: names looked up, blanks filled from the defaults, every assumption written down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rooflight.catalog.accelerators import with_memory
from rooflight.catalog.calibration import NEWEST, calibrated, calibration, engine_id, engine_named, fitted_family
from rooflight.catalog.engine_memory import EngineMemory, engine_memory
from rooflight.catalog.engines import Limits, era_of, limits, sums_in_16_bits
from rooflight.catalog.own import owned
from rooflight.errors import BadInput, Named
from rooflight.numeric import Number, is_plain, maximum, tidy
from rooflight.roofline.rates import Rates, rates, unrated
from rooflight.scenario import assume, caches
from rooflight.scenario.cards import prompts_card
from rooflight.scenario.drafting import draft_deployment, draft_notes, draft_workload, drafts_of, within_a_step
from rooflight.scenario.host import host_notes, with_host
from rooflight.scenario.laid import layout_of
from rooflight.scenario.measured import is_torch, torch_engine, torch_fits
from rooflight.scenario.media import with_media
from rooflight.scenario.own import own_notes
from rooflight.scenario.refused import check_budget, check_kind
from rooflight.scenario.shape import shaped, with_adapters
from rooflight.scenario.share import Share, habits_of, share_of
from rooflight.scenario.steps import Plans, Steps
from rooflight.scenario.unlike import stage_notes, told, with_stages
from rooflight.values.accelerator import Accelerator, devices_named
from rooflight.values.calibration import Calibration, Engine
from rooflight.values.deployment import Deployment
from rooflight.values.format import Format
from rooflight.values.formats import arithmetic, format_named
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.own import OwnEntry
from rooflight.values.workload import Workload
from rooflight.work.count import has_source, is_encoder, key_share, puts_out_tokens, source_tokens
from rooflight.work.layout import Layout, check_layout
from rooflight.work.numbers import Numbers
from rooflight.work.weights import NATIVE_FILE, has_native_experts, held, names_own_format, resized


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A model on `layout.devices` of an accelerator, under a workload, in definite formats.

    model       with each matrix in the format it is held in; checkpoint: as its files have it
    unrated     formats that its products run in and for which the accelerator has no peak: what arithmetic decides
                (a prompt, and with it a first token and a whole request) cannot be told; the rest counts it as free
    engine      whose expected times; fits: of the kernels on the accelerator's family
    budget_tokens, most_sequences   of a step and of a replica at once, at most (None: the engine sets no limit)
    share, habits   of memory that the engine takes, and what else it keeps (None: not known)
    steps       the steps of this plan: model, layout, formats, rates and fits; scenarios of other workloads, engines or
                memory budgets have the same
    plans       that this scenario and those changed from it come to
    draft       what drafts, where that is named
    own         your own calibration of the engine on this accelerator, which the engine's fit has in it
    """

    model: Model
    checkpoint: Model
    accelerator: Accelerator
    workload: Workload
    deployment: Deployment
    layout: Layout
    numbers: Numbers
    rates: Rates
    unrated: tuple[str, ...]
    engine: Engine
    fits: Calibration
    budget_tokens: int
    share: Share
    habits: EngineMemory | None
    most_sequences: int | None
    steps: Steps
    plans: Plans
    assumptions: tuple[Note, ...]
    warnings: tuple[Note, ...]
    draft: Drafter | None = None
    own: OwnEntry | None = None

    @property
    def weights(self) -> str:
        """The format the weights are kept in."""
        return self.model.quantization or self.model.dtype

    @property
    def replaced(self) -> Format | None:
        """The format that takes the place of the checkpoint's; None: none does, or several do, each in its part."""
        named = self.model.quantization
        same = named is None or named == self.checkpoint.quantization
        return None if same or named is None or "=" in named else format_named(named)

    @property
    def source_tokens(self) -> Number:
        """Tokens of a request that its encoder takes, where the model has an encoder beside its decoder; else 0."""
        return source_tokens(self.model, self.workload.isl)

    @property
    def devices(self) -> str:
        """The devices by name: `4 x h100-sxm`."""
        return devices_named(self.accelerator.id, self.layout.devices)

    @property
    def placed(self) -> dict[str, Any]:
        """The fields of values.placed.Placed."""
        cut = self.layout
        return {
            "accelerator": self.accelerator.id, "devices": cut.devices, "tp": cut.tp, "pp": cut.pp, "ep": cut.ep,
            "dp": cut.dp, "weights": self.weights, "kv_cache": self.numbers.kv,
        }  # fmt: skip

    @property
    def expert_layers(self) -> int:
        """Layers with routed experts."""
        return sum(layer.count for layer in self.model.layers if layer.experts is not None)


class Drafter(msgspec.Struct, frozen=True, kw_only=True):
    """What drafts beside a model, on its devices: a draft step, the first one of a cycle, and what is in memory of it.

    Their plans and formats count; under which load is asked of the model's own scenario.
    """

    steps: Scenario
    first: Scenario
    own: Scenario


def scenario(
    model: Model,
    accelerator: Accelerator,
    count: int | None,
    workload: Workload,
    deployment: Deployment,
    *,
    plans: Plans | None = None,
) -> Scenario:
    """Fill the blanks. `count` is the number of devices, None if not said; `plans` those that the question met so far.

    Raises BadInput where the layout does not fit model or count, UnknownName for an engine that is not calibrated,
    MissingFact for an unpublished rate.
    """
    accelerator, count, deployment = told(accelerator, count, deployment)
    if isinstance(deployment.memory, float):  # a Deployment keeps bytes, however they were written
        accelerator = with_memory(accelerator, deployment.memory)
    deployment = _as_asked(model, deployment)
    model = shaped(model, deployment)
    layout = layout_of(accelerator, count, deployment)
    check_layout(model, layout)
    encodes, workload = with_media(model, lengths(model, workload))
    check_kind(model, workload)
    named = held(model, weights_of(model, deployment))
    kept = with_adapters(_sized(named, deployment), deployment)
    kept = msgspec.structs.replace(kept, encodes=encodes) if encodes else kept
    numbers = _numbers(model, named, deployment)
    machine = _rates(accelerator, kept, layout, deployment)
    missing = unrated(prompts_card(accelerator, deployment), assume.multiplied(named, numbers))
    engine, own = owned(engine_of(deployment, accelerator), deployment.calibration, accelerator, model.id)
    plans = Plans() if plans is None else plans
    habits = habits_of(deployment)
    usual = limits(habits.engine if habits is not None else engine_id(deployment.engine or ""), accelerator)
    budget = deployment.max_num_batched_tokens or usual.budget_tokens
    check_budget(budget, workload)
    share = share_of(deployment, None if habits is None else habits.rule, accelerator, kept, layout, budget)
    fits = _fits(accelerator, named, numbers, deployment)
    found = Scenario(
        model=kept,
        checkpoint=model,
        accelerator=accelerator,
        workload=workload,
        deployment=deployment,
        layout=layout,
        numbers=numbers,
        rates=machine,
        unrated=missing,
        engine=engine,
        own=own,
        fits=fits,
        budget_tokens=budget,
        share=share,
        habits=habits,
        most_sequences=deployment.max_num_seqs or usual.sequences,
        steps=plans.steps(kept, layout, numbers, machine, fits),
        plans=plans,
        assumptions=(),
        warnings=(),
    )
    return _noted(_drafted(found), named, usual)


def _fits(accelerator: Accelerator, model: Model, numbers: Numbers, deployment: Deployment) -> Calibration:
    """What kernels take: as timed on the very machine where the engine's name says so, else as fitted."""
    if is_torch(deployment.engine):
        return torch_fits(accelerator, model, numbers)
    return calibration(fitted_family(accelerator))


def _drafted(sc: Scenario) -> Scenario:
    """The scenario with what drafts, where that is named. Raises BadInput."""
    found = drafts_of(sc.model, sc.deployment)
    if found is None:
        return sc

    def beside(draft: Model) -> Scenario:
        laid = draft_deployment(draft, sc.deployment, sc.layout, sc.numbers.kv)
        try:
            one = scenario(draft, sc.accelerator, None, draft_workload(sc.workload), laid, plans=sc.plans)
        except BadInput as error:  # its formats have a field of their own
            error.where = Named.of("draft_weights") if error.where == "weights" else error.where
            raise
        return msgspec.structs.replace(one, engine=within_a_step(sc.engine))

    made = {draft: beside(draft) for draft in dict.fromkeys((found.steps, found.first, found.own))}
    missing = dict.fromkeys((*sc.unrated, *(name for one in made.values() for name in one.unrated)))
    draft = Drafter(steps=made[found.steps], first=made[found.first], own=made[found.own])
    return msgspec.structs.replace(sc, draft=draft, unrated=tuple(missing))


def _rates(accelerator: Accelerator, model: Model, layout: Layout, deployment: Deployment) -> Rates:
    """The machine's rates, with the host beside it and unlike devices among it. Raises MissingFact, BadInput."""
    graphs, short = deployment.graphs, sums_in_16_bits(engine_id(deployment.engine or ""))
    found = rates(accelerator, layout, graphs=graphs, network=deployment.network, fp16_sums=short)
    return with_stages(with_host(found, model, deployment, layout), model, layout, graphs=graphs, fp16_sums=short)


def _noted(sc: Scenario, named: Model, own: Limits) -> Scenario:
    """The scenario with what it takes for granted and what is odd about it.

    named       the model in its formats, before a stated size; own: the engine's limits
    """
    model, card, asked, links = sc.checkpoint, sc.accelerator, sc.deployment, sc.rates.links
    return msgspec.structs.replace(
        sc,
        assumptions=(
            *card.assumptions,
            *assume.file_notes(model.assumptions),
            *_of_kind(model, assume.workload_notes(sc.workload, named_draft=sc.draft is not None)),
            *_of_kind(model, assume.format_notes(model, named, card, asked, sc.numbers)),
            *assume.size_notes(named, asked),
            *assume.machine_notes(card, sc.layout, asked, links),
            *host_notes(sc.rates.beside, asked),
            *stage_notes(sc.rates),
            *assume.memory_notes(card, asked, sc.habits, sc.share),
            *assume.expected_notes(model, card, asked, sc.engine, sc.fits),
            *own_notes(model, card, asked, sc.engine, sc.own),
            *assume.run_notes(card, sc.layout, asked, sc.engine, own),
            *assume.model_notes(model, sc.workload),
            *assume.adapter_notes(sc.model),
            *(
                []
                if sc.draft is None
                else draft_notes(model, sc.draft.own.model, sc.draft.steps.model, sc.layout, sc.draft.steps.layout)
            ),
        ),
        warnings=(*assume.file_notes(model.warnings), *assume.warnings(model, card, sc.workload, sc.layout, links)),
    )


def _of_kind(model: Model, notes: Iterable[Note]) -> Iterator[Note]:
    """Without what an encoder has none of: decode steps and a cache."""
    none = ("context", "kv_cache", "checkpoint_cache") if is_encoder(model) else ()
    return (note for note in notes if note.key not in none)


def _sized(model: Model, deployment: Deployment) -> Model:
    """The model with its weights as large as the deployment says."""
    size = deployment.weight_bytes
    return model if size is None else resized(model, float(size))


def lengths(model: Model, workload: Workload) -> Workload:
    """The workload with the lengths that a model decides, where they are the usual ones.

    A model without a vocabulary head is asked for no tokens, unless another length than the default is stated. An
    encoder takes its whole batch in one pass, and prompts no longer than it was made for; one beside a decoder, prompts
    as long as that.
    """
    names = ("isl", "osl", "prefill_batch")
    usual = {
        name
        for name in names
        if is_plain(getattr(workload, name)) and getattr(workload, name) == getattr(assume.DEFAULTS, name)
    }
    found: dict[str, Number] = {}
    if "osl" in usual and not puts_out_tokens(model):
        found["osl"] = 0
    longest = assume.longest_prompt(model)
    if "isl" in usual and longest is not None:
        found["isl"] = longest if has_source(model) else min(workload.isl, longest)
    if is_encoder(model) and "prefill_batch" in usual and workload.request_rate is None:
        found["prefill_batch"] = workload.batch
    return msgspec.structs.replace(workload, **found) if found else workload


def engine_of(deployment: Deployment, accelerator: Accelerator) -> Engine:
    """Whose expected times: the engine's, of its version's era (unknown: the newest), then of the card's family.

    The mean of the serving engines for one of which memory alone is known; torch by the machine's own tables. Raises
    MissingFact for a machine without them, UnknownName for any other that is not calibrated, BadInput for a version
    that is none, or of no engine.
    """
    name, version = deployment.engine, deployment.engine_version
    if is_torch(name):
        return torch_engine(accelerator)
    if version is not None and not any(map(str.isdigit, version)):
        raise BadInput(
            "a version without a number", where=Named.of("engine_version"), got=version,
            want="a version, or the year it is of", try_this="0.11 or 2025",
        )  # fmt: skip
    if version is not None and name is None:
        raise BadInput(
            "a version of no engine", where=Named.of("engine_version"), got=version, want=Named("{engine} beside it")
        )
    if name is not None and not calibrated(name) and engine_memory(engine_id(name), None) is not None:
        name = None
    when = NEWEST if name is None else era_of(engine_id(name), version)
    return engine_named(name, fitted_family(accelerator), when)


def _numbers(model: Model, kept: Model, deployment: Deployment) -> Numbers:
    named = None if kept is model else kept.quantization
    for field, name in (("activations", deployment.activations), ("compute", deployment.compute)):
        if name is not None and arithmetic(name, field) is None:
            raise BadInput(
                f"nothing multiplies in {name}",
                where=Named.of(field),
                got=name,
                want="bf16, fp16, fp32, fp8, int8 or nvfp4",
            )
    cache = caches.cache_of(deployment, checkpoint_cache(deployment.engine, named) or "bf16")
    activations = None if deployment.activations is None else _compute_of(deployment.activations)
    return Numbers(
        activations=activations,
        compute=deployment.compute,
        kv=cache.name,
        kv_bytes=cache.element_bytes(key_share(kept)),
        kv_compute=cache.compute,
        act_bytes=4.0 if activations == "fp32" else 2.0,
        flash=deployment.attention == "flash",
    )


def _as_asked(model: Model, deployment: Deployment) -> Deployment:
    """The deployment with the weights that the model's name ends in, where it states none."""
    if model.asked_format is None or deployment.weights is not None:
        return deployment
    return msgspec.structs.replace(deployment, weights=model.asked_format)


def weights_of(model: Model, deployment: Deployment) -> str | None:
    """The weights that are run: as stated, else what the engine's own kind of file has; None: as the config says.

    llama.cpp reads GGUF files alone. Those of a checkpoint with MXFP4 experts keep them, the rest in Q8_0 (the files
    of ggml-org, called MXFP4 too); of others no format is more usual than the config's.
    """
    if deployment.weights is not None and not names_own_format(model, deployment.weights):
        return deployment.weights
    native = engine_id(deployment.engine or "") == "llama.cpp" and has_native_experts(model)
    return NATIVE_FILE if native else None


def checkpoint_cache(engine: str | None, weights: str | None) -> str | None:
    """The KV cache format an engine's converted checkpoints carry, or None where it follows the activations.

    ModelOpt writes `kv_cache_quant_algo: FP8` beside FP8 and NVFP4 weights, which TensorRT-LLM obeys unless told not
    to. Source: config of nvidia/Llama-3.1-70B-Instruct-FP8; served runs that fit in no other format (docs/accuracy.md).
    """
    converted = engine_id(engine or "") == "tensorrt-llm" and weights in ("fp8", "nvfp4")
    return "fp8" if converted else None


def _compute_of(name: str) -> str:
    return arithmetic(name, "activations") or "bf16"


def context_tokens(workload: Workload) -> Number:
    """Tokens cached before the decode step: as given, else isl + osl / 2 - 1 (0 at least), the mean of the request."""
    if workload.context is not None:
        return workload.context
    mean = maximum(workload.isl + workload.osl / 2 - 1, 0)
    return tidy(mean) if isinstance(mean, float) else mean
