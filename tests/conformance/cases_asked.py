"""Public reports as questions to rooflight: what each asks of the library, and the arithmetic that answers it.

The reports' speed of light and ceiling lie in the collected data and are read by the tests. Here are our scenarios. A
ceiling knows neither the latency of a collective nor a host; where a report adds its own figure for them, so does the
scenario, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

import rooflight
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Phase

MEMORY, COMPUTE, LINK, LAUNCH, CAPACITY = "memory", "compute", "link", "launch", "capacity"
# How the tool names what it can only see in a measurement: in what to look at, and on the way to the expected time.
LOOK_AT = {LAUNCH: "host time between steps", LINK: "collectives between the devices"}
ON_THE_WAY = {LAUNCH: "host between steps", LINK: "links"}
# A part of the expected step that counts as named.
WORTH_NAMING = 0.1


class Found(NamedTuple):
    """What the tool says: the bound it names, and its number in the report's unit."""

    bound: str | None
    value: float


class Proof(NamedTuple):
    """A report whose number is wrong: why, the right arithmetic, the one that gives its number, and the tool's."""

    why: str
    right: float
    published: float
    tool: Callable[[], Found]
    bound: str


def decode(model: str, on: str | Accelerator, **fields: Any) -> Phase:
    return rooflight.analyze(model, on, ignore_capacity=True, **fields).phases["decode"]


def prefill(model: str, on: str | Accelerator, **fields: Any) -> Phase:
    return rooflight.analyze(model, on, ignore_capacity=True, **fields).phases["prefill"]


def ms(phase: Phase) -> float:
    return 1e3 * phase.time_s.ceiling


def rate(phase: Phase) -> float:
    return phase.tokens_per_s.ceiling


def gain(before: Phase, after: Phase) -> Found:
    """By how much the ceiling rises from one scenario to another, if one bound holds in both."""
    return Found(after.bound if after.bound == before.bound else None, before.time_s.ceiling / after.time_s.ceiling)


def rated_s(phase: Phase, peak_flop_per_s: float) -> float:
    """Seconds at the rated peak; the ceiling allows for the maximum clock."""
    return phase.flop / peak_flop_per_s


def seen(kind: str, **row: Any) -> str | None:
    """`kind` where the tool calls a measurement slow and names it among what to look at, else the ceiling's bound."""
    (verdict,) = rooflight.check(row).rows
    named = verdict.verdict == "slow" and LOOK_AT[kind] in verdict.reason
    return kind if named else verdict.bound


def fixed_s(times_s: tuple[float, float], phases: tuple[Phase, Phase]) -> float:
    """What two measurements have in common that no ceiling scales: t = fixed + slope x ceiling, through both."""
    (t, u), (c, d) = times_s, (phase.time_s.ceiling for phase in phases)
    return (t * d - u * c) / (d - c)


def added_s(times_s: tuple[float, float], phases: tuple[Phase, Phase]) -> float:
    """What the second layout adds to the time beyond its ceiling."""
    (t, u), (c, d) = times_s, (phase.time_s.ceiling for phase in phases)
    return (u - d) - (t - c)


def larger(seconds: float, phase: Phase, named: str | None) -> str | None:
    """What the tool names, where that part of a measurement is longer than the ceiling; else the ceiling's bound."""
    return named if seconds > phase.time_s.ceiling else phase.bound


def on_the_way(kind: str, phase: Phase) -> str | None:
    """`kind` where it is a tenth of the expected step or more, else the ceiling's bound."""
    spent = sum(step.seconds for step in phase.waterfall if step.name.startswith(ON_THE_WAY[kind]))
    return kind if spent >= WORTH_NAMING * (phase.time_s.expected or 0) else phase.bound


def collectives(phase: Phase) -> int:
    return sum(op.count for op in phase.operators if op.name == "all_reduce")


def cpu(bandwidth: float, *, cores: int, clock_hz: float) -> Accelerator:
    """A socket by its memory bandwidth; two 256-bit FMA units a core are 32 FLOP a clock in fp32."""
    peak = {"fp32": cores * clock_hz * 32}
    card = rooflight.accelerator("epyc-9654")
    return msgspec.structs.replace(
        card, memory_bytes_per_s=bandwidth, peak_flop_per_s=peak, fast_flop_per_s=peak, last_level_cache_bytes=32e6
    )


def four_bits_beside_a_long_cache() -> Found:
    """32 x 2,000 x 344,064 bytes are 22.0 GB of cache: (18.5 + 22.0) / (6.2 + 22.0) = 1.44."""
    load = {"batch": 32, "context": 2000, "kv_cache": "fp16"}
    return gain(*(decode("gemma-2-9b", "a100-sxm4-80gb", weights=form, **load) for form in ("fp16", "awq")))


def same_batch_on_a_faster_memory() -> Found:
    """4.8 / 3.35 TB/s. Steps of 13.9 and 13.4 ms, whose bytes take 5.0 and 3.5, have 12 in common.

    That is what a well-run engine gets: the host is named on the way to it.
    """
    load = {"batch": 120, "context": 1152, "weights": "fp8", "kv_cache": "fp8"}
    steps = tuple(decode("mistral-7b-v0.1", card, **load) for card in ("h100-sxm", "h200-sxm"))
    common = fixed_s((120 / 8623, 120 / 8950), steps)
    return Found(larger(common, steps[0], on_the_way(LAUNCH, steps[0])), gain(*steps).value)


def pcie_card_of_the_next_generation() -> Found:
    """2,000 / 2,039 GB/s, whatever the model."""
    return gain(*(decode("llama-2-7b-hf", card, context=500) for card in ("a100-sxm4-80gb", "h100-pcie")))


def more_flops_less_bandwidth() -> Found:
    """864 / 2,039 GB/s."""
    return gain(*(decode("llama-2-7b-hf", card, context=0) for card in ("a100-sxm4-80gb", "l40s")))


def small_model_on_two_cards() -> Found:
    """TinyLlama reads 2.07 GB a step, 2.4 ms at 864 GB/s. Cut in two that falls by 1.3, and the step rose by 0.6."""
    alone, cut = (decode("tinyllama-1.1b-chat-v1.0", card, context=100) for card in ("l40", "2xl40"))
    named = seen(
        LINK, model="tinyllama-1.1b-chat-v1.0", accelerator="l40", gpus=2, tp=2, weights="fp16", batch=1,
        input_len=100, phase="decode", metric="tpot_ms", value=6.9,
    )  # fmt: skip
    return Found(larger(added_s((6.3e-3, 6.9e-3), (alone, cut)), cut, named), ms(alone))


def two_cards_with_slow_collectives() -> Found:
    """13.2 GB / 2 / 900 GB/s = 7.3 ms, and the report's 12 us for each of 2 x 32 all-reduces. Steps of 34 and 59 ms."""
    alone, cut = (decode("llama-2-7b-hf", card, context=0) for card in ("v100-sxm2-16gb", "2xv100-sxm2-16gb"))
    named = seen(
        LINK, model="llama-2-7b-hf", accelerator="v100-sxm2-16gb", gpus=2, tp=2, weights="fp16", batch=1,
        input_len=100, phase="decode", metric="output_tok_s", value=17,
    )  # fmt: skip
    bound = larger(added_s((1 / 29, 1 / 17), (alone, cut)), cut, named)
    return Found(bound, 1 / (cut.time_s.ceiling + collectives(cut) * 12e-6))


def tensor_cut_of_four() -> Found:
    """25.7 GB / 4 / 1,555 GB/s = 4.1 ms, and the report's 10 us for each of 2 x 40 all-reduces."""
    phase = decode("llama-2-13b-hf", "4xa100-sxm4-40gb", context=0)
    return Found(phase.bound, ms(phase) + collectives(phase) * 10e-3)


def five_users_of_a_long_context() -> Found:
    """5 x 21.5 GB of FP8 cache and 70.6 GB of weights are 178 GB; two cards of 80 GB may use 144."""
    load = {"batch": 5, "context": 131_071, "weights": "fp8", "kv_cache": "fp8"}
    cuts = {tp: rooflight.analyze("llama-3.3-70b", "h100-sxm", tp=tp, **load) for tp in (1, 2, 4, 8)}
    return Found(cuts[2].bound, min(tp for tp, answer in cuts.items() if answer.fits))


def more_clients_than_the_cache_holds() -> Found:
    """77,088 tokens of cache, as the engine logged, over the 1,070 of a request."""
    asked = rooflight.analyze("qwen2.5-7b-instruct", "a10g", batch=256, isl=1000, osl=70)
    pool_bytes = 77_088 * asked.model.kv_bytes_per_token
    return Found(asked.bound, pool_bytes / asked.memory.kv_bytes_per_sequence)


def narrow_cache_without_graphs() -> Found:
    """15.1 GB and 8 x 16,384 x 147,456 bytes at 2,039 GB/s: 16.9 ms for 8 tokens. 35.1 ms at 1k, 36.5 at 16k."""
    load = {"batch": 8, "weights": "bf16"}
    steps = tuple(decode("qwen3-8b", "a100-sxm4-80gb", context=n, graphs=False, **load) for n in (1024, 16_384))
    named = seen(
        LAUNCH, model="qwen3-8b", accelerator="a100-sxm4-80gb", gpus=1, input_len=16_384, phase="decode",
        metric="output_tok_s", value=219.2, **load,
    )  # fmt: skip
    return Found(larger(fixed_s((8 / 227.8, 8 / 219.2), steps), steps[1], named), rate(steps[1]))


def half_the_cache_twice_the_batch() -> Found:
    """Memory full either way: as many bytes a step, twice the sequences."""
    load = {"isl": 512, "osl": 512, "weights": "fp16"}
    full = {}
    for form in ("fp16", "fp8"):
        asked = rooflight.analyze("llama-7b", "a100-sxm4-80gb", batch=256, kv_cache=form, **load)
        full[form] = rate(decode("llama-7b", "a100-sxm4-80gb", batch=asked.memory.max_batch, kv_cache=form, **load))
    return Found(asked.bound, full["fp8"] / full["fp16"])


def prompt_tokens_in_a_fifth_of_a_second() -> Found:
    """0.2 s x 989 TFLOP/s / 2 over the FLOP of a prompt token."""
    phase = prefill("llama-3-8b", "h100-sxm", isl=6158)
    return Found(phase.bound, 6158 * 0.2 / rated_s(phase, 989e12 / 2))


def long_prompts_offline() -> Found:
    """50 x (2 x 68.5 G x 40,000 + 2 x 80 x 8,192 x 40,000^2) FLOP over 8 x 989 TFLOP/s."""
    phase = prefill("meta-llama-3-70b", "8xh100-sxm", prefill_batch=50, isl=40_000, osl=256)
    return Found(phase.bound, rated_s(phase, 8 * 989e12))


def small_model_with_an_idle_card() -> Found:
    """2.47 GB at 1,008 GB/s; what a well-run engine spends on the host is half as much again."""
    phase = decode("llama-3.2-1b", "rtx-4090", context=0)
    return Found(on_the_way(LAUNCH, phase), ms(phase))


def bubble_before_each_step() -> Found:
    """A quarter of 32.8 GB of weights and of 64 x 4,400 x 262,144 bytes of cache, at 3.35 TB/s."""
    phase = decode("qwen2.5-32b", "4xh100-sxm", batch=64, context=4400, weights="fp8")
    return Found(on_the_way(LAUNCH, phase), ms(phase))


def as_many_as_the_cache_holds() -> Found:
    """Qwen-7B has the shapes of Qwen1.5-7B. 14.2 GB and 71 x 1,500 x 524,288 bytes at 2,039 GB/s: 34.5 ms."""
    phase = decode("qwen-7b", "a100-sxm4-80gb", batch=71, context=1500)
    return Found(phase.bound, rate(phase))


def four_bits_at_batch_four() -> Found:
    """38.5 GB at 864 GB/s: 44.6 ms for 4 tokens."""
    phase = decode("meta-llama-3-70b", "l40s", batch=4, isl=1024, osl=512, weights="int4-g128", kv_cache="int4")
    return Found(phase.bound, rate(phase))


def slow_tokenizer() -> Found:
    """13.2 GB and 300 x 350 x 524,288 bytes at 2,039 GB/s: 34.3 ms for 300 tokens, 220 of them a request."""
    load = {"batch": 300, "weights": "fp16"}
    bound = seen(
        LAUNCH, model="llama-7b", accelerator="a100-sxm4-80gb", gpus=1, input_len=130, output_len=220,
        phase="e2e_offline", metric="output_tok_s", value=5.99 * 220, **load,
    )  # fmt: skip
    return Found(bound, rate(decode("llama-7b", "a100-sxm4-80gb", context=350, **load)) / 220)


def four_bits_on_a_server_socket() -> Found:
    """12 x 38.4 GB/s over 34.4 G weights x 4.8 bits."""
    phase = decode("yi-34b", cpu(12 * 38.4e9, cores=96, clock_hz=2.4e9), context=0, weights="q4_k_m")
    return Found(phase.bound, rate(phase))


def experts_beside_the_card() -> Found:
    """8 of 256 experts in 58 layers are 11.5 GB, read at 24 x 51.2 GB/s; the card then reads the rest, 9.5 GB."""
    phase = decode("deepseek-v3", "rtx-4090", context=0, weights="q4_k")
    experts = sum(op.bytes for op in phase.operators if op.name.startswith("expert_"))
    rest = phase.bytes.total - experts
    card = rooflight.accelerator("rtx-4090")
    return Found(phase.bound, 1 / (experts / (24 * 51.2e9) + rest / card.memory_bytes_per_s))


def thirty_billion_on_a_laptop() -> Found:
    """32.3 G weights x 4.5 bits and the head in Q6_K at 400 GB/s."""
    phase = decode("wizard-vicuna-30b-uncensored-gptq", "apple-m1-max", context=0, weights="q4_0")
    return Found(phase.bound, ms(phase))


def expert_over_the_bus() -> Found:
    """An expert of Mixtral, 3 x 4,096 x 14,336 x 2 bytes, comes over 16 lanes: 11 ms, against 0.35 ms from memory."""
    card = rooflight.accelerator("rtx-4090")
    phase = decode("mixtral-8x7b-v0.1", card, context=0)
    moved = sum(op.bytes for op in phase.operators if op.name in ("expert_gate_up", "expert_down")) / (32 * 2)
    times = {LINK: moved / card.pcie_bytes_per_s, MEMORY: moved / card.memory_bytes_per_s}
    return Found(max(times, key=lambda name: times[name]), card.pcie_bytes_per_s / 1e9)


def share_of_the_bandwidth() -> Found:
    """13.2 GB of weights at 700 GB/s are 18.9 ms a token, of a card of 2,039 GB/s."""
    weights = rooflight.analyze("llama-2-7b-hf", "a100-sxm4-80gb").model.streamed_weight_bytes
    (verdict,) = rooflight.check({
        "model": "llama-2-7b-hf", "accelerator": "a100-sxm4-80gb", "gpus": 1, "weights": "fp16", "batch": 1,
        "input_len": 1, "phase": "decode", "metric": "tpot_ms", "value": 1e3 * weights / 700e9,
    }).rows  # fmt: skip
    return Found(verdict.bound, verdict.over_ceiling or 0)


ASKED: dict[str, Callable[[], Found]] = {
    "u09": four_bits_beside_a_long_cache,
    "u11": same_batch_on_a_faster_memory,
    "u12": pcie_card_of_the_next_generation,
    "u15": more_flops_less_bandwidth,
    "u17": small_model_on_two_cards,
    "u18": two_cards_with_slow_collectives,
    "u24": tensor_cut_of_four,
    "u31": five_users_of_a_long_context,
    "u34": more_clients_than_the_cache_holds,
    "u40": narrow_cache_without_graphs,
    "u42": half_the_cache_twice_the_batch,
    "u53": prompt_tokens_in_a_fifth_of_a_second,
    "u55": long_prompts_offline,
    "u62": small_model_with_an_idle_card,
    "u63": bubble_before_each_step,
    "u70": as_many_as_the_cache_holds,
    "u73": four_bits_at_batch_four,
    "u75": slow_tokenizer,
    "u77": four_bits_on_a_server_socket,
    "u79": experts_beside_the_card,
    "u81": thirty_billion_on_a_laptop,
    "u85": expert_over_the_bus,
    "u103": share_of_the_bandwidth,
}


def short_prompt() -> Found:
    phase = prefill("meta-llama-3-8b", "rtx-a5000", isl=8)
    return Found(phase.bound, ms(phase))


def flat_first_token() -> Found:
    """The same 100 ms on one card and on four."""
    steps = tuple(prefill("meta-llama-3-8b", card, isl=1) for card in ("v100-sxm2-32gb", "4xv100-sxm2-32gb"))
    named = seen(
        LAUNCH, model="meta-llama-3-8b", accelerator="v100-sxm2-32gb", gpus=1, weights="fp16", batch=1, input_len=100,
        phase="prefill", metric="ttft_ms", value=100,
    )  # fmt: skip
    return Found(larger(fixed_s((0.1, 0.1), steps), steps[0], named), ms(steps[0]))


def full_precision_on_a_desktop() -> Found:
    phase = decode("meta-llama-3-8b", cpu(40e9, cores=8, clock_hz=4e9), context=0, weights="fp32")
    return Found(phase.bound, rate(phase))


def long_prompt_on_two_cards() -> Found:
    phase = prefill("llama-3.3-70b", "rtx-3090", isl=16_384, weights="exl2-4.5bpw")
    return Found(phase.bound, 142e12 / (phase.flop / 16_384))


def two_hundred_prompts() -> Found:
    """The longest answer, 1,000 steps at the ceiling, after all prompts of 220 tokens at the rated peak."""
    answer = rooflight.analyze("llama-3.3-70b", "4xa100-sxm4-80gb", prefill_batch=200, isl=220, osl=256)
    fill, step = answer.phases["prefill"], answer.phases["decode"]
    return Found(step.bound, 200 / (rated_s(fill, 4 * 312e12) + 1000 * step.time_s.ceiling))


# Reports whose number is not what their scenario allows. Llama-3-8B has 8,030,261,248 parameters, of which a step reads
# all but the 525,336,576 of the input table; a layer of Llama-3-70B holds 855,638,016 in its matrices.
PROVEN: dict[str, Proof] = {
    "u51": Proof(
        "It counts the input table as read, of which 8 tokens look up 8 rows: 15.01 GB, not 16.06, at 768 GB/s.",
        right=1e3 * 2 * (8_030_261_248 - 525_336_576) / 768e9,
        published=1e3 * 2 * 8_030_261_248 / 768e9,
        tool=short_prompt,
        bound=MEMORY,
    ),
    "u52": Proof(
        "It counts the input table as read: 15.01 GB, not 16.06, at 900 GB/s.",
        right=1e3 * 2 * (8_030_261_248 - 525_336_576) / 900e9,
        published=1e3 * 2 * 8_030_261_248 / 900e9,
        tool=flat_first_token,
        bound=LAUNCH,
    ),
    "u76": Proof(
        "It counts the input table as read: 30.02 GB in fp32, not 32.12, at 40 GB/s.",
        right=40e9 / (4 * (8_030_261_248 - 525_336_576)),
        published=40e9 / (4 * 8_030_261_248),
        tool=full_precision_on_a_desktop,
        bound=MEMORY,
    ),
    "u19": Proof(
        "It leaves attention out: at a prompt of 16,384 tokens 4 x 80 x 8,192 x 16,385 / 2 = 21.5 GFLOP a token beside "
        "136.9 of the matrices. And the link is not the ceiling: by its own 2.62 MB a token, 3.9 GB/s carry "
        "1,488 tok/s, more than the 1,006 its arithmetic allows. Compute binds; collectives are why it ran at 379.",
        right=142e12 / (2 * 80 * 855_638_016 + 4 * 80 * 8192 * 16_385 / 2),
        published=142e12 / 141.1e9,
        tool=long_prompt_on_two_cards,
        bound=COMPUTE,
    ),
    "u69": Proof(
        "It takes 20 ms for a step of the longest answer's tail. That is what engines reach; what the weights allow is "
        "139 GB / 4 / 2,039 GB/s = 17 ms.",
        right=200 / (4.84 + 1000 * 139.01e9 / 4 / 2.039e12),
        published=200 / (4.9 + 1000 * 0.020),
        tool=two_hundred_prompts,
        bound=MEMORY,
    ),
}


def unloaded_first_token() -> Found:
    """3,100 tokens of a 70B over 8 x 989 TFLOP/s; the rest of the wait is a queue."""
    phase = prefill("llama-3.3-70b", "8xh200-sxm", isl=3100)
    return Found(phase.bound, 1e3 * rated_s(phase, 8 * 989e12))


def flat_from_four_clients() -> Found:
    """4.4 GB at 1,008 GB/s for 16 tokens, two products a weight byte: far from compute."""
    phase = decode("qwen3-4b", "rtx-4090", batch=16, context=0, weights="fp8")
    return Found(phase.bound, rate(phase))


def cache_of_plain_heads() -> Found:
    """2 x 32 layers x 32 heads x 128 x 2 bytes."""
    answer = rooflight.analyze("llama-2-7b-hf", "rtx-3090", context=100_000, batch=8)
    return Found(answer.bound, answer.model.kv_bytes_per_token)


# Reports with a number whose ceiling is a queue or holds for any hardware: the tool's number, and the bound it names.
NUMBER_ALONE: dict[str, tuple[Callable[[], Found], str]] = {
    "u37": (cache_of_plain_heads, CAPACITY),
    "u58": (unloaded_first_token, COMPUTE),
    "u68": (flat_from_four_clients, MEMORY),
}

# Reports with a bound and a number that cannot be put to the library, and why.
NO_MODEL = {
    "u43": "no model: the break-even is arithmetic on 64 layers and 4 kernels",
    "u48": "a kernel alone; the number is another kernel's measurement",
    "u87": "27B parameters that are not named, in a 4-bit format that is not named",
    "u89": "no model: a prefill to decode ratio of an example",
    "u91": "no model: users, think time and tokens are an example",
}
NO_CARD = {
    "u05": "neither model nor card",
    "u22": "no card: 1 TB/s and 30 us are assumed",
    "u26": "no card; 8 replicas are 8 times one",
    "u28": "no card",
    "u33": "any model and any card",
    "u45": "a host and a card that are not named; the number is an assumed bandwidth",
    "u59": "neither model nor card",
    "u78": "no model; the number counts threads",
}
