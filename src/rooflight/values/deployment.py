"""How a model is laid out on devices and run: parallelism, number formats, memory budget, engine habits."""

# Types are not texts here: evaluating those costs a tenth of a millisecond each, at every start.

from typing import Annotated

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.field import LARGEST_DEGREE, Field, check, describe, fields_of
from rooflight.values.own import OwnCalibration


# fmt: off
class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """Layout and formats; a None is filled from the model or the defaults of DESIGN 2a and listed as assumed.

    Weights are the linear layers: embedding, lm_head, norms and router keep their format. `calibration` is your own
    (rooflight.calibrate), and no field of a question. Raises BadInput for a degree below 1, a share outside (0, 1], two
    shares of memory, or a size that is none.
    """

    tp: Annotated[int | None, Field(
        words="Tensor parallel degree.", kind="degree", unit="devices", most=LARGEST_DEGREE, axis="deployments",
        blank="devices / (pp x dp)", aliases=("--tensor-parallel-size",),
    )] = None
    pp: Annotated[int, Field(
        words="Pipeline stages.", kind="degree", unit="devices", most=LARGEST_DEGREE, axis="deployments",
        aliases=("--pipeline-parallel-size",),
    )] = 1
    ep: Annotated[int, Field(
        words="Devices the experts are spread over.", kind="degree", unit="devices", most=LARGEST_DEGREE,
        axis="deployments", aliases=("--expert-parallel-size",),
    )] = 1
    dp: Annotated[int, Field(
        words="Replicas.", kind="degree", unit="devices", most=LARGEST_DEGREE, axis="deployments",
        aliases=("--data-parallel-size",),
    )] = 1
    weights: Annotated[str | None, Field(
        words="Format of the linear layers: fp8, int4-g128, awq ...; of a GGUF file: q4_k_m; by part: "
        "experts=iq2_xxs,rest=q6_k.", kind="format", axis="deployments",
        blank="as the config says", aliases=("--quantization",),
    )] = None
    weight_bytes: Annotated[float | str | None, Field(
        words="What all stored weights of the text model take, where only their size is known: bytes, or 40GB.",
        kind="size", blank="by their formats",
    )] = None
    activations: Annotated[str | None, Field(
        words="Format of activations into products.", kind="format", blank="",
    )] = None
    compute: Annotated[str | None, Field(
        words="Format whose peak bounds products.", kind="format", blank="",
    )] = None
    kv_cache: Annotated[str | None, Field(
        words="Format of the KV cache; K/V for keys and values apart: q8_0/q4_0.", kind="format", axis="deployments",
        blank="bf16", aliases=("--kv-cache-dtype",),
    )] = None
    cache_type_k: Annotated[str | None, Field(
        words="Format of the keys in the KV cache, where they differ.", kind="format", blank="kv_cache",
    )] = None
    cache_type_v: Annotated[str | None, Field(
        words="Format of the values in the KV cache, where they differ.", kind="format", blank="kv_cache",
    )] = None
    memory: Annotated[float | str | None, Field(
        words="Memory of a device, as its driver reports it or the machine is sold: bytes, or 48GiB, 24GB.",
        kind="size", blank="the catalog's",
    )] = None
    gpu_memory_utilization: Annotated[float | None, Field(
        words="Share of what a program is given that the engine may use.", kind="share", least=0, most=1,
        blank="the engine's own, else 0.9",
    )] = None
    mem_fraction_static: Annotated[float | None, Field(
        words="SGLang's share: weights and KV cache, of what is free before loading.", kind="share", least=0, most=1,
        blank="the engine's own",
    )] = None
    free_gpu_memory_fraction: Annotated[float | None, Field(
        words="TensorRT-LLM's share: KV cache, of what is free after loading.", kind="share", least=0, most=1,
        blank="the engine's own", aliases=("--kv-cache-free-gpu-mem-fraction",),
    )] = None
    max_model_len: Annotated[int | None, Field(
        words="Longest sequence the engine is started for; it sets what its log prints of a hybrid's pool.",
        unit="tokens", blank="the model's", aliases=("--context-length", "--max-seq-len"),
    )] = None
    sampler: Annotated[str | None, Field(
        words="The engine's sampler, whose working memory the KV cache must leave.", kind="choice",
        choices=("flashinfer", "pytorch"), blank="by the engine's version",
    )] = None
    attention: Annotated[str, Field(
        words="flash: scores stay on chip; naive: the score matrix goes through memory.", kind="choice",
        choices=("flash", "naive"),
    )] = "flash"
    graphs: Annotated[bool, Field(
        words="Kernels launched from a captured graph.", kind="flag", spelled="--eager",
        aliases=("--enforce-eager",), off="Kernels launched one by one, not from a graph.",
    )] = True
    engine: Annotated[str | None, Field(
        words="Whose expected times: vllm, sglang, tensorrt-llm, llama.cpp ...", kind="name", axis="rows",
        blank="the mean of the serving engines",
    )] = None
    engine_version: Annotated[str | None, Field(
        words="The engine's version, or the year it is of.", kind="name", blank="the newest that was measured",
    )] = None
    max_num_batched_tokens: Annotated[int | None, Field(
        words="Tokens of a step at most, decoding sequences and prompt tokens together.", unit="tokens",
        blank="the engine's own", aliases=("--max-num-tokens",),
    )] = None
    max_num_seqs: Annotated[int | None, Field(
        words="Sequences a replica runs at once at most; the others wait.", unit="sequences",
        blank="the engine's own", aliases=("--max-running-requests",),
    )] = None
    schedule: Annotated[str | None, Field(
        words="How requests share steps: alone; batch: offline, in lock-step; served: continuous batching; apart: "
        "prefill and decode on workers of their own.", kind="choice", choices=("alone", "batch", "served", "apart"),
        blank="alone at batch 1, else served",
    )] = None
    prefill_workers: Annotated[int | None, Field(
        words="Workers that prefill alone; adds the run apart.", kind="degree", unit="workers", most=LARGEST_DEGREE,
        blank="",
    )] = None
    decode_workers: Annotated[int | None, Field(
        words="Workers that decode alone, each laid out by tp, pp, ep and dp.", kind="degree", unit="workers",
        most=LARGEST_DEGREE, blank="",
    )] = None
    prefill_on: Annotated[str | None, Field(
        words="Accelerator of the prefill workers, with how many each has: 2xh100-sxm; adds the run apart.",
        kind="name", blank="that of decode",
    )] = None
    prefill_tp: Annotated[int | None, Field(
        words="Tensor parallel degree of a prefill worker.", kind="degree", unit="devices", most=LARGEST_DEGREE,
        blank="tp",
    )] = None
    prefill_ep: Annotated[int | None, Field(
        words="Devices of a prefill worker the experts are spread over.", kind="degree", unit="devices",
        most=LARGEST_DEGREE, blank="ep",
    )] = None
    prefill_dp: Annotated[int | None, Field(
        words="Replicas in a prefill worker.", kind="degree", unit="devices", most=LARGEST_DEGREE, blank="dp",
    )] = None
    network: Annotated[str | None, Field(
        words="What a device sends over the network between machines, one way, and the latency of a message: "
        "400Gb/s, 50GB/s, 400Gb/s,5us.", kind="network", blank="the reference node's adapters",
    )] = None
    parameters: Annotated[str | None, Field(
        words="Parameters of a model by its size, in place of its name's: 70b, 0.6b.",
        kind="name", blank="MODEL's",
    )] = None
    active_parameters: Annotated[str | None, Field(
        words="Of a routed model by its size, parameters that a token runs: 3b.", kind="name", blank="MODEL's",
    )] = None
    layers: Annotated[int | None, Field(
        words="Layers of a model by its size.", kind="degree", unit="layers",
        most=LARGEST_DEGREE, blank="typical of its size",
    )] = None
    hidden: Annotated[int | None, Field(
        words="Hidden size of a model by its size.", kind="degree", unit="elements",
        most=LARGEST_DEGREE, blank="typical of its size",
    )] = None
    kv_heads: Annotated[int | None, Field(
        words="KV heads of a model by its size.", kind="degree", unit="heads",
        most=LARGEST_DEGREE, blank="typical of its size",
    )] = None
    head_dim: Annotated[int | None, Field(
        words="Elements of a head of a model by its size.", kind="degree", unit="elements",
        most=LARGEST_DEGREE,
        blank="typical of its size",
    )] = None
    vocab: Annotated[int | None, Field(
        words="Vocabulary of a model by its size.", kind="degree", unit="entries",
        most=LARGEST_DEGREE, blank="typical of its size",
    )] = None
    lora_rank: Annotated[int | None, Field(
        words="Rank of LoRA adapters, of which every sequence uses one.", kind="degree", unit="ranks",
        most=LARGEST_DEGREE,
        blank="no adapters", aliases=("--max-lora-rank",),
    )] = None
    max_loras: Annotated[int | None, Field(
        words="Adapters in device memory, any of which a sequence may use.",
        kind="degree", unit="adapters",
        most=LARGEST_DEGREE,
        blank="1",
    )] = None
    lora_modules: Annotated[str | None, Field(
        words="Matrices that adapters are on: q_proj,v_proj ...", kind="name",
        blank="all of attention and of dense and shared feed-forwards", aliases=("--lora-target-modules",),
    )] = None
    draft_model: Annotated[str | None, Field(
        words="Speculative decoding: what drafts: a model as MODEL is named, the config.json of an EAGLE head, or mtp, "
        "the model's own multi-token-prediction layers; needs draft tokens.", kind="model",
        blank="a share of a decode step",
        aliases=("--speculative-model", "--speculative-draft-model-path", "--model-draft"),
    )] = None
    draft_weights: Annotated[str | None, Field(
        words="Format of the draft model's linear layers.", kind="format", blank="as its config says",
    )] = None
    n_gpu_layers: Annotated[int | None, Field(
        words="llama.cpp: layers on the devices, the last of the stack; the others are on the host. The head counts as "
        "one more.", kind="degree", least=0, unit="layers", most=LARGEST_DEGREE, blank="all",
        aliases=("--gpu-layers", "-ngl"),
    )] = None
    n_cpu_moe: Annotated[int | None, Field(
        words="llama.cpp: the experts of so many layers, the first of the stack, lie on the host.", kind="degree",
        least=0, unit="layers", most=LARGEST_DEGREE, blank="", aliases=("-ncmoe",),
    )] = None
    cpu_moe: Annotated[bool, Field(words="The experts of all layers lie on the host.", kind="flag")] = False
    kv_offload: Annotated[bool, Field(
        words="The KV cache lies on the devices.", kind="flag", spelled="--no-kv-offload", aliases=("-nkvo",),
        off="The KV cache lies on the host, where attention then runs.",
    )] = True
    cpu_offload_gb: Annotated[float | str | None, Field(
        words="vLLM: weights each device reads over the host's link every step: GiB, or 13GB.",
        kind="size", unit="GiB", blank="",
    )] = None
    host_cpu: Annotated[str | None, Field(
        words="The CPU beside the devices: its name, or a file.", kind="name", blank="assumed by the kind of card",
    )] = None
    host_memory_bandwidth: Annotated[str | None, Field(
        words="What the host's memory gives: 80GB/s.", kind="bandwidth", blank="the CPU's, else assumed",
    )] = None
    host_memory: Annotated[float | str | None, Field(
        words="The host's memory: 128GB.", kind="size", blank="the CPU's, else enough",
    )] = None
    host_link: Annotated[str | None, Field(
        words="What a device reads from the host's memory: 25GB/s.", kind="bandwidth", blank="the card's",
    )] = None
    ignore_capacity: Annotated[bool, Field(
        words="Compute times even if the model does not fit.", kind="flag",
    )] = False
    calibration: OwnCalibration | None = None
    # fmt: on

    def __post_init__(self) -> None:
        check(self, DEPLOYMENT)
        if self.prefill_on is not None and self.schedule not in (None, "apart"):
            raise BadInput(
                "workers that prefill on another card serve apart", where=Named.of("schedule"), got=self.schedule,
                want=Named("{schedule}", schedule="apart"),
            )  # fmt: skip
        if not self.is_apart:
            for name in ("prefill_tp", "prefill_ep", "prefill_dp"):
                if getattr(self, name) is not None:
                    raise BadInput(
                        f"{name} is of workers that prefill alone, and there are none", where=Named.of(name),
                        got=getattr(self, name), want=Named("{prefill_workers} or {decode_workers} beside it"),
                    )  # fmt: skip
        if self.lora_rank is None and (self.max_loras, self.lora_modules) != (None, None):
            name = "max_loras" if self.lora_modules is None else "lora_modules"
            raise BadInput(
                f"{name} is of adapters, and no rank says that there are any", where=Named.of(name),
                got=getattr(self, name), want=Named("{lora_rank} beside it", lora_rank=16),
            )  # fmt: skip
        if self.draft_model is None and self.draft_weights is not None:
            raise BadInput(
                "draft_weights is of a draft model, and none is named", where=Named.of("draft_weights"),
                got=self.draft_weights, want=Named("{draft_model} beside it", draft_model="llama-3.2-1b"),
            )  # fmt: skip
        if not self.on_host:
            for name in ("host_cpu", "host_memory_bandwidth", "host_memory", "host_link"):
                if getattr(self, name) is not None:
                    raise BadInput(
                        f"{name} is of a host that holds a part, and nothing lies there", where=Named.of(name),
                        got=getattr(self, name),
                        want=Named("{n_gpu_layers}, {n_cpu_moe} or {cpu_offload_gb} beside it"),
                    )  # fmt: skip
        stated = [name for name in SHARES if getattr(self, name) is not None]
        if len(stated) > 1:
            raise BadInput(
                "these are shares of different things, so one of them counts",
                where=Named.of(*stated), got=" and ".join(stated), want="one share of memory",
            )  # fmt: skip

    @property
    def is_apart(self) -> bool:
        """Whether prefill and decode have workers of their own."""
        named = (self.prefill_workers, self.decode_workers, self.prefill_on) != (None, None, None)
        return named or self.schedule == "apart"

    @property
    def on_host(self) -> bool:
        """Whether anything is said to lie in a host's memory."""
        layers = self.n_gpu_layers is not None or bool(self.n_cpu_moe)
        return layers or self.cpu_moe or not self.kv_offload or bool(self.cpu_offload_gb)


# Shares of memory, each with its own meaning: of all, of what is free before loading, of what is free after it.
SHARES = ("gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction")


# The draft model that is no other model: the model's own layers for multi-token prediction.
OWN_LAYERS = "mtp"
# What stands for the shape of a model of which only the size is known.
SHAPE = ("parameters", "active_parameters", "layers", "hidden", "kv_heads", "head_dim", "vocab")


DEPLOYMENT = fields_of(Deployment)
describe(Deployment, DEPLOYMENT.values())
