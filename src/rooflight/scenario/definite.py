"""A question made definite: names looked up, blanks filled from the defaults, every assumption written down."""

from __future__ import annotations

import msgspec

from rooflight.catalog.calibration import calibrated, calibration, engine_named
from rooflight.errors import BadInput
from rooflight.numeric import Number, is_plain
from rooflight.roofline.rates import Rates, hardware_format, rates
from rooflight.units import scaled
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Engine
from rooflight.values.deployment import Deployment
from rooflight.values.formats import Format, arithmetic, format_named
from rooflight.values.model import Model, Recurrent
from rooflight.values.workload import Workload
from rooflight.work.count import layer_matrices, stored_format, table_format, vector_format
from rooflight.work.layout import Layout, check_layout
from rooflight.work.numbers import Numbers, product_format
from rooflight.work.storage import element_bytes

# Prompt tokens an engine runs through the model at once; longer prompts are chunked (vLLM's default on large GPUs).
PREFILL_CHUNK_TOKENS = 8192
# Cards named of those that an engine was fitted on.
_CARDS = 3


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A model on `layout.devices` of an accelerator, under a workload, in definite formats."""

    model: Model
    accelerator: Accelerator
    workload: Workload
    deployment: Deployment
    layout: Layout
    numbers: Numbers
    rates: Rates
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


def scenario(
    model: Model, accelerator: Accelerator, count: int | None, workload: Workload, deployment: Deployment
) -> Scenario:
    """Fill the blanks. `count` is the number of devices, None if not said.

    Raises BadInput where the layout does not fit model or count, MissingFact for an unpublished rate.
    """
    layout = _layout(accelerator, count, deployment)
    check_layout(model, layout)
    numbers = _numbers(deployment)
    machine = rates(accelerator, layout, graphs=deployment.graphs)
    return Scenario(
        model=model,
        accelerator=accelerator,
        workload=workload,
        deployment=deployment,
        layout=layout,
        numbers=numbers,
        rates=machine,
        assumptions=(
            *accelerator.assumptions,
            *model.assumptions,
            *_assumed_workload(workload),
            *_assumed_formats(model, accelerator, deployment, numbers),
            *_assumed_machine(accelerator, layout, deployment),
            *_assumed_expected(accelerator, deployment),
            *_assumed_model(model),
        ),
        warnings=(*model.warnings, *_warnings(model, workload), *_beyond_the_link(accelerator, layout)),
    )


def _layout(accelerator: Accelerator, count: int | None, deployment: Deployment) -> Layout:
    """tp = devices / (pp x dp); a tp without a count means so many devices."""
    others = deployment.pp * deployment.dp
    if deployment.tp is None:
        devices = others if count is None else count
        if devices % others:
            raise BadInput(
                f"{devices} devices cannot be cut into pp {deployment.pp} x dp {deployment.dp}",
                where="--pp, --dp", got=others, want=f"a product that divides {devices}",
            )  # fmt: skip
        tp = devices // others
    else:
        tp, devices = deployment.tp, deployment.tp * others
        if count is not None and count != devices:
            raise BadInput(
                f"tp {tp} x pp {deployment.pp} x dp {deployment.dp} is {devices} devices, not {count}",
                where="--on, --tp, --pp, --dp",
                got=f"{count} devices",
                want=f"tp x pp x dp = {count}",
                try_this=f"--dp {count // devices}" if count % devices == 0 else f"--on {devices}x{accelerator.id}",
            )
    in_switch = accelerator.link is not None and accelerator.link.reduces
    return Layout(tp=tp, pp=deployment.pp, ep=deployment.ep, dp=deployment.dp, in_switch=in_switch)


def _numbers(deployment: Deployment) -> Numbers:
    weights = None if deployment.weights is None else format_named(deployment.weights, "--weights")
    for option, name in (("--activations", deployment.activations), ("--compute", deployment.compute)):
        if name is not None and arithmetic(name, option) is None:
            raise BadInput(
                f"nothing multiplies in {name}", where=option, got=name, want="bf16, fp16, fp32, fp8, int8 or nvfp4"
            )
    kv = "bf16" if deployment.kv_cache in (None, "auto") else _cache_format(str(deployment.kv_cache))
    kv_compute = format_named(kv).compute
    activations = None if deployment.activations is None else _compute_of(deployment.activations)
    return Numbers(
        weights=weights,
        activations=activations,
        compute=deployment.compute,
        kv=kv,
        kv_bytes=element_bytes(kv),
        kv_compute=kv_compute if kv_compute in ("fp32", "fp16", "fp8") else "bf16",
        act_bytes=4.0 if activations == "fp32" else 2.0,
        flash=deployment.attention == "flash",
    )


# Formats that engines keep KV caches in (vLLM, SGLang, TensorRT-LLM, llama.cpp).
CACHE_FORMATS = (
    "bf16",
    "fp16",
    "fp32",
    "fp8",
    "int8",
    "nvfp4",
    "mxfp4",
    "mxfp8",
    "q8_0",
    "q5_0",
    "q5_1",
    "q4_0",
    "q4_1",
    "iq4_nl",
)


def _cache_format(name: str) -> str:
    """The storage format of a cache; raises BadInput for one that only weights are packed in."""
    if name.lower() in ("int4", "int4-g32", "int4-g64", "int4-g128"):
        return format_named(name, "--kv-cache").id
    form = format_named(name, "--kv-cache").id
    if form not in CACHE_FORMATS:
        raise BadInput(
            f"no engine keeps its KV cache in {name}",
            where="--kv-cache",
            got=name,
            want="one of " + ", ".join((*CACHE_FORMATS, "int4")),
        )
    return form


def _compute_of(name: str) -> str:
    return arithmetic(name, "--activations") or "bf16"


_DEFAULTS = Workload()


def context_tokens(workload: Workload) -> Number:
    """Tokens cached before the decode step: as given, else isl + osl / 2, the mean of the request."""
    return workload.isl + workload.osl // 2 if workload.context is None else workload.context


def _assumed_workload(workload: Workload) -> list[str]:
    said = []
    for name in ("batch", "prefill_batch", "isl", "osl"):
        value = getattr(workload, name)
        if isinstance(value, int) and value == getattr(_DEFAULTS, name):
            said.append(f"{name.replace('_', '-')} {value}: the default")
    if workload.context is None:
        said.append("decode context isl + osl / 2 tokens, the mean of the request")
    if is_plain(workload.draft_tokens) and workload.draft_tokens:
        said.append("verify: tok/s as if every drafted token were accepted; the draft model's own time is not counted")
    if is_plain(workload.chunk_tokens) and workload.chunk_tokens:
        said.append("mixed: one prompt's chunk beside each decode step, half of that prompt cached before it")
    return said


def _assumed_tables(model: Model, weights: Format) -> list[str]:
    """What a weight format does to what is no linear layer."""
    if weights.rest:
        return []
    table, vectors = table_format(model, weights), vector_format(model, weights)
    head = table if model.head is None else stored_format(model.head, weights).id
    if head == table == vectors:
        return [f"{weights.id} applies to the linear layers; tables, lm_head, norms and router keep {vectors}"]
    return [
        f"a {weights.id} file keeps its lm_head in {head}, its input table in {table}, norms and router in {vectors}"
    ]


def _assumed_formats(model: Model, accelerator: Accelerator, deployment: Deployment, numbers: Numbers) -> list[str]:
    said = []
    if deployment.weights is None:
        said.append(f"weights as the config says: {model.quantization or model.dtype}")
    elif model.quantization:
        said.append(f"{deployment.weights} weights in place of the config's own {model.quantization}")
    if numbers.weights is not None:
        said += _assumed_tables(model, numbers.weights)
    if deployment.activations is None:
        said.append("activations bf16, narrower only where the weight format brings it (W8A8, W4A4)")
    if deployment.kv_cache in (None, "auto"):
        own = f"; the checkpoint asks for {model.kv_format}: --kv-cache {model.kv_format}" if model.kv_format else ""
        said.append(f"KV cache bf16{own}")
    for name in sorted(_multiplied(model, numbers)):
        used = hardware_format(accelerator, name)
        if used != name:
            said.append(f"{accelerator.id} has no {name} path: those products run at its {used} peak")
    return said


def _multiplied(model: Model, numbers: Numbers) -> set[str]:
    """The formats that products of the model run in, before the hardware has its say."""
    matrices = [matrix for layer in model.layers for matrix, _ in layer_matrices(layer)]
    matrices += [model.head] if model.head is not None else []
    return {numbers.kv_compute, *(product_format(stored_format(m, numbers.weights), numbers) for m in matrices)}


def _assumed_machine(accelerator: Accelerator, layout: Layout, deployment: Deployment) -> list[str]:
    assumed = accelerator.assumed
    mode, floor = ("graph", assumed.launch_graph_s) if deployment.graphs else ("eager", assumed.launch_eager_s)
    launching = f"{mode} launch floor {scaled(floor, 's')} a kernel, the smallest seen for {assumed.family}"
    said = [
        launching if floor else f"no launch floor: {assumed.family} runs a compiled program",
        f"gpu-memory-utilization {deployment.gpu_memory_utilization:g}, attention {deployment.attention}",
        f"an engine reserve of {scaled(assumed.engine_reserve_bytes, 'B')} a device, "
        f"and prefill in chunks of at most {PREFILL_CHUNK_TOKENS:,} tokens",
        _assumed_clock(accelerator),
    ]
    if accelerator.last_level_cache_bytes is None:
        said.append(f"last-level cache {scaled(assumed.last_level_cache_bytes, 'B')}, assumed for {assumed.family}")
    if (layout.tp * layout.pp > 1 or layout.pooled > 1) and accelerator.link is None:
        said.append("devices joined by PCIe: no other link is known")
    return said


def _assumed_engine(accelerator: Accelerator, engine: Engine) -> str:
    """What the engine's expected times were fitted on."""
    runs = "served runs of 2025" if engine.era == "2025" else "offline runs, most of them of 2024 and before"
    cards = ", ".join(engine.cards[:_CARDS]) + (f" and {more} more" if (more := len(engine.cards) - _CARDS) > 0 else "")
    seen = "" if accelerator.id in engine.cards else f", not on {accelerator.id}"
    return f"expected times of {engine.id} were fitted to {runs}, on {cards}{seen}"


def _assumed_expected(accelerator: Accelerator, deployment: Deployment) -> list[str]:
    """Whose fits the expected times take."""
    fits = calibration(accelerator.family)
    said = []
    if deployment.engine is None:
        said.append("expected times are the mean of the serving engines vLLM, SGLang and TensorRT-LLM")
    elif calibrated(deployment.engine):
        said.append(_assumed_engine(accelerator, engine_named(deployment.engine, accelerator.family)))
    if fits.inherits:
        said.append(
            f"expected times of {accelerator.family or 'this family'} take the kernel fits of {fits.inherits}, with "
            f"intervals {fits.widened:g} times as wide: none of its own were measured"
        )
    return said


def _beyond_the_link(accelerator: Accelerator, layout: Layout) -> list[str]:
    """Devices that no one link joins: a bound with the link's rate still holds, but a real network is slower."""
    link = accelerator.link
    if link is None or link.domain is None or layout.devices <= link.domain:
        return []
    if layout.tp * layout.pp == 1 and layout.pooled == 1:
        return []
    return [
        f"{layout.devices} devices exceed the {link.domain} that {link.name} joins: the network between them is taken "
        "as fast as the link, real ones are slower"
    ]


def _assumed_clock(accelerator: Accelerator) -> str:
    """What the compute ceiling allows for beyond the datasheet."""
    if any(fact.what == "max-clock" for fact in accelerator.facts):
        return f"the compute ceiling of {accelerator.id} is taken at its maximum clock, all other rates as rated"
    margin = accelerator.assumed.peak_margin
    return f"the compute ceiling of {accelerator.id} is its rated peak with a margin of {margin - 1:.0%} for the clock"


def _assumed_model(model: Model) -> list[str]:
    said = []
    if any(layer.experts is not None for layer in model.layers):
        said.append(
            "experts: uniform, independent routing, so a step touches E (1 - (1 - k/E)^tokens) of them; "
            "the ceiling allows for routing so alike that it is half as many; what is expected, for some experts being "
            "chosen far more often than others, as in benchmarks"
        )
    if any(isinstance(layer.mixer, Recurrent) for layer in model.layers):
        said.append("recurrent state read and written once a step")
    if model.towers:
        said.append("text only: vision and audio towers are held in memory but not run")
    return said


def _warnings(model: Model, workload: Workload) -> list[str]:
    if model.max_context is None:
        return []
    said = []
    longest = workload.isl + workload.osl if workload.context is None else workload.context + 1
    longest = longest + workload.draft_tokens
    if is_plain(longest) and longest > model.max_context:
        said.append(
            f"{longest:,} tokens exceed the {model.max_context:,} that {model.id} was made for; computed anyway"
        )
    return said
