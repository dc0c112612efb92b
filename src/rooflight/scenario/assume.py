"""What a scenario takes for granted, and what is odd about it: as notes, worded where they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rooflight.catalog.calibration import calibrated
from rooflight.catalog.engine_memory import EngineMemory
from rooflight.catalog.engines import Limits
from rooflight.numeric import is_plain
from rooflight.roofline.links import PCIE, Links
from rooflight.roofline.rates import hardware_format, unrated
from rooflight.roofline.tables import aside
from rooflight.scenario.cards import between_pools, prefill_devices, prompts_card
from rooflight.scenario.share import Share
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Calibration, Engine
from rooflight.values.deployment import Deployment
from rooflight.values.formats import format_named
from rooflight.values.ggml import MIXES
from rooflight.values.model import Model, Recurrent
from rooflight.values.note import Note
from rooflight.values.workload import Workload
from rooflight.work.count import (
    has_source,
    is_encoder,
    layer_matrices,
    part_bits,
    puts_out_tokens,
    stored_format,
    table_format,
    vector_format,
    weight_bytes,
)
from rooflight.work.layout import Layout, crossing
from rooflight.work.numbers import Numbers, product_format
from rooflight.work.weights import has_native_experts, names_own_format

DEFAULTS = Workload()
# Encoders' kernels are taken to be as good as those of language models, which were measured; ours, 2026-11-29.
UNFITTED_ENCODER = 2.0
# Ours, 2026-11-29: engines' fits are of decoders. What they say of encoders and of cross-attention no measurement set,
# and what serves encoders (text-embeddings-inference, faster-whisper) is fitted by nobody: the intervals are so much
# wider, at both ends.
_UNFITTED_KIND = 1.5


def unfitted_kind(model: Model) -> float:
    """By how much expected intervals are wider for a kind of model no fit is of; 1 for decoders."""
    return _UNFITTED_KIND if is_encoder(model) or has_source(model) else 1.0


def file_notes(said: Iterable[str]) -> Iterator[Note]:
    """What the reader of a model's files said of them."""
    return (Note(key="file", value=text) for text in said)


def workload_notes(workload: Workload, *, named_draft: bool = False) -> Iterator[Note]:
    """Counts left at their defaults, and what steps of other kinds take for granted.

    named_draft     what drafts is named, so that it has a time of its own
    """
    for name in ("batch", "prefill_batch", "isl", "osl"):
        value = getattr(workload, name)
        counted = name == "batch" and workload.request_rate is not None  # by the rate
        value = workload.text_tokens if name == "isl" else value
        if isinstance(value, int) and not counted and value == getattr(DEFAULTS, name):
            yield Note(key=name, value=value, why="default")
    if workload.context is None:
        yield Note(key="context", why="the mean of the request")
    if is_plain(workload.draft_tokens) and workload.draft_tokens:
        share = None if named_draft else workload.draft_share
        yield Note(key="acceptance", value=(workload.acceptance, share))
        yield Note(key="verify", value=workload.draft_tokens, why="draft" if named_draft else "")
    if is_plain(workload.chunk_tokens) and workload.chunk_tokens:
        yield Note(key="mixed", value=workload.chunk_tokens)
    if workload.media_tokens:
        media = workload.images, workload.audio_seconds, workload.media_tokens
        yield Note(key="media", value=media)
        yield Note(key="encoder", value=UNFITTED_ENCODER)


def format_notes(
    model: Model, kept: Model, accelerator: Accelerator, deployment: Deployment, numbers: Numbers
) -> Iterator[Note]:
    """Formats nobody stated, what they do to the parts of a model, and those the hardware has no path for."""
    if kept is model:
        why = "config" if model.sized is None or model.sized.near else "size"
        yield Note(key="weights", value=model.quantization or model.dtype, why=why)
    else:
        yield from _weight_notes(model, kept, deployment)
    if kept.quantization is not None:
        yield Note(key="part_bits", value=part_bits(kept), why=kept.quantization)
    if deployment.activations is None:
        yield Note(key="activations", value="bf16", why="default")
    if deployment.kv_cache in (None, "auto") and deployment.cache_type_k is None and deployment.cache_type_v is None:
        if numbers.kv == "bf16":
            yield Note(key="kv_cache", value="bf16", why=model.kv_format or "")
        else:
            yield Note(key="checkpoint_cache", value=(numbers.kv, deployment.weights), why=deployment.engine or "")
    products = multiplied(kept, numbers)
    missing = unrated(accelerator, products)
    if missing:
        yield Note(key="no_peak", value=missing, why=accelerator.id)
    for name in sorted(products):
        used = hardware_format(accelerator, name)
        if used != name:
            yield Note(key="no_path", value=(name, used), why=accelerator.id)


def size_notes(model: Model, deployment: Deployment) -> Iterator[Note]:
    """A size of the weights that was stated in place of what their formats come to."""
    if deployment.weight_bytes is not None:
        value = (float(deployment.weight_bytes), weight_bytes(model))
        yield Note(key="weight_bytes", value=value, why=model.quantization or model.dtype)


def _weight_notes(model: Model, kept: Model, deployment: Deployment) -> Iterator[Note]:
    """What a weight format does to the checkpoint, and to what is no linear layer of it."""
    named = kept.quantization or ""
    if deployment.weights is None or names_own_format(model, deployment.weights):
        yield Note(key="engine_file", value=named, why=deployment.engine or "")
    elif model.quantization:
        yield Note(key="requantised", value=deployment.weights, why=model.quantization)
    mix = MIXES.get(named)
    if mix is not None and mix.approximate:
        yield Note(key="lightest", value=mix.rule, why=named)
    if has_native_experts(model) and mix is not None:
        yield Note(key="native_experts", value="mxfp4", why=named)
    if "=" not in named and format_named(named).family != "cast":
        head = table_format(kept) if kept.head is None else kept.head.format
        yield Note(key="tables", value=(head, table_format(kept), vector_format(kept)), why=named)


def multiplied(model: Model, numbers: Numbers) -> set[str]:
    """The formats that products of the model run in, before the hardware has its say."""
    # a router has no format of its own to multiply in (work.step)
    matrices = [matrix for layer in model.layers for matrix, _ in layer_matrices(layer) if matrix.name != "router"]
    matrices += [model.head] if model.head is not None else []
    return {numbers.kv_compute, *(product_format(stored_format(m), numbers) for m in matrices)}


def machine_notes(
    accelerator: Accelerator, layout: Layout, deployment: Deployment, links: Links | None
) -> Iterator[Note]:
    """What no datasheet says of the machine; links: None where nothing is communicated."""
    assumed = accelerator.assumed
    mode, floor = ("graph", assumed.launch_graph_s) if deployment.graphs else ("eager", assumed.launch_eager_s)
    seen = accelerator.measured
    timed = seen is not None and any(rate.name == mode for rate in seen.of("launch"))
    yield Note(key="call" if timed else "launch", value=(mode, floor), why=accelerator.id if timed else assumed.family)
    yield Note(key="attention", value=deployment.attention)
    clocked = any(fact.what == "max-clock" for fact in accelerator.facts)
    if accelerator.peak_flop_per_s and accelerator.measured is None:
        yield Note(key="clock", value=None if clocked else assumed.peak_margin, why=accelerator.id)
    if accelerator.last_level_cache_bytes is None:
        yield Note(key="last_level_cache", value=assumed.last_level_cache_bytes, why=assumed.family)
    if links is not None:
        yield from link_notes(accelerator, layout, links)


def link_notes(accelerator: Accelerator, layout: Layout, links: Links) -> Iterator[Note]:
    """What joins devices that communicate, as far as no source or nobody says it."""
    if links.name == PCIE:
        yield Note(key="sockets" if accelerator.kind == "cpu" else "link", value="pcie")
        if accelerator.unrated_link:
            yield Note(key="unrated_link", value=accelerator.unrated_link, why=accelerator.id)
    if PCIE in (links.name, links.far) and accelerator.pcie_peer_to_peer is False:
        yield Note(key="no_peer_to_peer", why=accelerator.id)
    if accelerator.link is not None and not links.domain and layout.devices > 1:
        yield Note(key="no_domain", value=layout.devices, why=links.name)
    if links.assumed and crossing(layout):
        network = accelerator.network
        known = network is not None and not network.assumed
        yield Note(
            key="network", value=(links.far_bytes_per_s, links.far_fastest_bytes_per_s, known), why=accelerator.id
        )


def memory_notes(
    accelerator: Accelerator, deployment: Deployment, habits: EngineMemory | None, share: Share
) -> Iterator[Note]:
    """Which share of memory counts, and what an engine keeps beside weights and cache."""
    if not share.stated and share.of != "none":
        yield Note(key="memory_share", value=(share.of, share.value), why="" if habits is None else habits.engine)
    if habits is None:
        yield Note(key="reserve", value=accelerator.assumed.engine_reserve_bytes)
        return
    yield Note(key="engine_memory", value=(habits.engine, deployment.engine_version), why=habits.source)
    if accelerator.vendor == "AMD" and habits.rule.rope:
        yield Note(key="first_start", why=habits.engine)


def expected_notes(
    model: Model, accelerator: Accelerator, deployment: Deployment, engine: Engine, fits: Calibration
) -> Iterator[Note]:
    """Whose fits the expected times take, and which of the engine's coefficients no measurement set."""
    if fits.tables is not None and accelerator.measured is not None:
        yield Note(key="own_tables", value=(accelerator.measured.date, aside(fits.tables)), why=accelerator.id)
        return
    mean = deployment.engine is None or not calibrated(deployment.engine)
    if deployment.engine is not None and mean:
        yield Note(key="uncalibrated_engine", value=deployment.engine[:40])
    if mean:
        yield Note(key="engine")
    else:
        yield Note(key="engine", value=(engine.id, engine.era, engine.cards, engine.backend), why=accelerator.id)
    name = "their mean" if mean else engine.id
    routed = any(layer.experts is not None for layer in model.layers)
    for key, names in (("at_edge", engine.at_edge), ("not_fitted", engine.not_fitted)):
        told = tuple(one for one in names if routed or not one.startswith("expert_"))
        if told:
            yield Note(key=key, value=told, why=name)
    if fits.inherits:
        # an engine that ran on the very card has an interval of its own there (serve.expected.widening)
        seen = accelerator.id in engine.cards or accelerator.id == engine.calibrated_on
        wider = 1.0 if seen else max(fits.widened, engine.unseen_card)
        yield Note(key="kernel_fits", value=(fits.inherits, wider), why=accelerator.family or "this family")


def run_notes(
    accelerator: Accelerator, layout: Layout, deployment: Deployment, engine: Engine, own: Limits
) -> Iterator[Note]:
    """What runs take for granted: the engine's own limits, and its server before a first token."""
    if deployment.max_num_batched_tokens is None:
        yield Note(key="max_num_batched_tokens", value=own.budget_tokens, why=own.source)
    if deployment.max_num_seqs is None and own.sequences is not None:
        yield Note(key="max_num_seqs", value=own.sequences, why=own.source)
    yield Note(key="server", value=engine.server_s)
    workers = (deployment.prefill_workers, deployment.decode_workers)
    if deployment.is_apart:
        devices = worker_devices(deployment, layout)
        yield Note(
            key="workers", value=(*(count or 1 for count in workers), devices), why="" if all(workers) else "default"
        )
        prompts = prompts_card(accelerator, deployment)
        if prompts is not accelerator:
            tp, dp = prefill_devices(deployment, layout.tp, layout.dp)
            yield Note(key="prefill_on", value=(prompts.id, tp * dp, tp))
            yield from prompts.assumptions
        link, rate = between_pools(prompts, accelerator, deployment.network, devices)
        yield Note(key="between_workers", value=rate, why=link)


def worker_devices(deployment: Deployment, layout: Layout) -> int:
    """Accelerators of prefill and decode workers together."""
    tp, dp = prefill_devices(deployment, layout.tp, layout.dp)
    pp = layout.pp if deployment.prefill_on is None else 1
    return (deployment.prefill_workers or 1) * tp * pp * dp + (deployment.decode_workers or 1) * layout.devices


def model_notes(model: Model, workload: Workload) -> Iterator[Note]:
    """What is taken for granted of the model's parts."""
    if is_encoder(model) or has_source(model):
        kind = "encoder" if is_encoder(model) else "encoder-decoder"
        yield Note(key="unfitted_kind", value=_UNFITTED_KIND, why=kind)
    longest = longest_prompt(model)
    if longest is not None and is_plain(workload.isl) and workload.isl == longest != DEFAULTS.isl:
        yield Note(key="longest_prompt", value=longest, why=model.id)
    if not puts_out_tokens(model) and is_plain(workload.osl) and workload.osl == 0:
        yield Note(key="no_tokens", why=model.id)
    if any(layer.experts is not None for layer in model.layers):
        yield Note(key="routing")
    if any(isinstance(layer.mixer, Recurrent) for layer in model.layers):
        yield Note(key="state")
    if model.towers and not workload.media_tokens:
        yield Note(key="towers")


def adapter_notes(model: Model) -> Iterator[Note]:
    """How LoRA adapters are used, and what their times are made of."""
    one = model.adapters
    if one is not None:
        yield Note(key="adapters", value=(one.count, one.rank, one.modules), why=model.id)
        yield Note(key="adapters_unfitted")
        if not one.modules and any(layer.experts is not None for layer in model.layers):
            yield Note(key="adapters_experts")


def longest_prompt(model: Model) -> int | None:
    """The longest prompt that a model with an encoder was made for; None: it has none, or no limit."""
    return model.max_source if has_source(model) else model.max_context if is_encoder(model) else None


def warnings(
    model: Model, accelerator: Accelerator, workload: Workload, layout: Layout, links: Links | None
) -> Iterator[Note]:
    """No size of memory, more tokens than the model was made for or any of one without a head, more devices than one
    link joins; computed anyway."""
    if accelerator.memory_bytes is None:
        yield Note(key="no_memory_size", why=accelerator.id)
    if not puts_out_tokens(model) and (not is_plain(workload.osl) or workload.osl > 0):
        yield Note(key="tokens_of_none", why=model.id)
    longest = workload.isl + workload.osl if workload.context is None else workload.context + 1
    longest = longest + workload.draft_tokens
    if has_source(model):  # what the decoder has of it
        longest = longest - workload.isl + model.start_tokens
        if model.max_source is not None and is_plain(workload.isl) and workload.isl > model.max_source:
            yield Note(key="beyond_the_model", value=(workload.isl, model.max_source), why=f"{model.id}'s encoder")
    if model.max_context is not None and is_plain(longest) and longest > model.max_context:
        yield Note(key="beyond_the_model", value=(longest, model.max_context), why=model.id)
    across = crossing(layout)
    if links is not None and across:
        told = (layout.devices, links.domain, across, links.far, links.far_bytes_per_s)
        yield Note(key="beyond_the_link", value=told, why=links.name)
