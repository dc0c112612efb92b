"""Questions to start from: each is a name, a state of the page, and what to look at there.

The states are query strings without a version (state.KEYS); a test reads every one of them.
"""

from __future__ import annotations

import msgspec


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """query: the page it opens; look: what to see and what to try."""

    name: str
    query: str
    look: str


PRESETS = (
    Preset(
        name="Why is decode slow?",
        query="",
        look="The decode dot sits far left of the ridge: every weight is read to make one token. Raise the batch and "
        "watch it climb along the memory roof: the same bytes serve more sequences.",
    ),
    Preset(
        name="Which machine for 40 ms a token?",
        query="m=meta-llama/Meta-Llama-3.1-70B&c=4xh100-sxm&b=32&isl=2048&osl=512&2.c=2xh200-sxm&3.c=8xl40s"
        "&tpot_slo_ms=40&view=compare",
        look="Three machines for one load, each beside the goal. Compare says which serves it best and where that "
        "turns; Moves says what would help the one in focus.",
    ),
    Preset(
        name="Will an H200 help?",
        query="m=meta-llama/Meta-Llama-3.1-70B&c=4xh100-sxm&b=32&2.c=4xh200-sxm&f=1",
        look="Both cards multiply equally fast; the H200 moves 1.4 times the bytes and holds more. Decode, which is "
        "memory-bound, gains by the bytes, as far as links and launches let it; prefill, which is compute-bound, gains "
        "nothing. The last line of the table has what is expected of both together.",
    ),
    Preset(
        name="What does FP8 buy?",
        query="b=16&n=bf16&2.w=fp8&2.n=fp8&f=1",
        look="Decode reads half the bytes of weights, prefill multiplies twice as fast at best. Raise the batch: the "
        "cache, still bf16, eats the gain.",
    ),
    Preset(
        name="How far does batching go?",
        query="b=64&ctx=2048&view=throughput",
        look="Throughput rises with the batch until the knee, while each user's speed falls. Attention gains nothing "
        "from batching: every sequence brings its own cache. Where memory ends, so does the batch.",
    ),
    Preset(
        name="GQA or MLA at 128k?",
        query="c=h200-sxm&b=4&ctx=131000&n=GQA&2.m=deepseek-ai/DeepSeek-V2-Lite&2.n=MLA&f=1&view=memory",
        look="Grouped-query attention (Llama-3.1-8B) keeps 131 kB a token, latent attention (DeepSeek-V2-Lite) 31 kB. "
        "At 128k tokens the cache is most of what a step reads, and it sets how many sequences fit.",
    ),
    Preset(
        name="Why FlashAttention?",
        query="isl=8192&osl=128&a=naive&n=naive&2.a=flash&2.n=flash&f=1",
        look="Without it the score matrix goes through memory, and prefill attention is memory-bound. With it scores "
        "stay on chip, so its bytes fall to those of Q, K, V and the output.",
    ),
)
