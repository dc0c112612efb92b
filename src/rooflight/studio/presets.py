"""Questions to start from: each is a name, a state of the page, and what to look at there.

The states are query strings without a version (state.KEYS); a test reads every one of them.
"""

from __future__ import annotations

import msgspec


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """query: the state it opens; look: what to see and what to try."""

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
        name="Will an H200 help?",
        query="m=meta-llama/Meta-Llama-3.1-70B&c=h100-sxm,h200-sxm&tp=4&b=32",
        look="Both cards multiply equally fast; the H200 moves 1.4 times the bytes. Decode, which is memory-bound, "
        "gains about that, and more sequences fit; prefill, which is compute-bound, gains nothing.",
    ),
    Preset(
        name="What does FP8 buy in prefill and in decode?",
        query="w=fp8&b=16&was.w=bf16",
        look="Arrows lead from bf16 to fp8. Decode gains because weights have half the bytes; prefill gains because "
        "the tensor cores multiply fp8 twice as fast. Raise the batch: the cache, still bf16, eats the gain.",
    ),
    Preset(
        name="How far does batching go?",
        query="b=64&ctx=2048",
        look="Throughput rises with the batch until the knee, while each user's speed falls. Attention gains nothing "
        "from batching: every sequence brings its own cache. Where memory ends, so does the batch.",
    ),
    Preset(
        name="GQA or MLA at 128k?",
        query="m=deepseek-ai/DeepSeek-V2-Lite&c=h200-sxm&b=4&ctx=131000&was.m=meta-llama/Meta-Llama-3.1-8B",
        look="Before: grouped-query attention (Llama-3.1-8B) keeps 131 kB a token; after: latent attention "
        "(DeepSeek-V2-Lite) keeps 31 kB. At 128k tokens the cache is most of what a step reads, and it sets how many "
        "sequences fit. Open attention below to see the bytes.",
    ),
    Preset(
        name="Why FlashAttention?",
        query="isl=8192&osl=128&was.a=naive",
        look="Before: the score matrix goes through memory, and prefill attention is memory-bound. After: scores stay "
        "on chip, so its bytes fall to those of Q, K, V and the output.",
    ),
)
