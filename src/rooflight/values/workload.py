"""What is asked of a deployment: how many sequences, how long, and what of them is cached already."""

# Types are not texts here: evaluating those costs a tenth of a millisecond each, at every start.

from typing import Annotated

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.numeric import Number, is_plain, maximum
from rooflight.values.field import Field, check, describe, fields_of


# fmt: off
class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts; every field may be a whole number, or in a sweep a NumPy array of them.

    Raises BadInput for a value that is not a whole number of the allowed size, and where the cached prefix or a
    chunk is longer than the prompt allows.
    """

    batch: Annotated[Number, Field(
        words="Requests in flight, whole deployment.", unit="sequences", axis="points", aliases=("--concurrency",),
    )] = 1
    request_rate: Annotated[float | None, Field(
        words="Requests that arrive a second; it sets how many are in flight.", kind="rate", unit="requests/s",
        blank="",
    )] = None
    prefill_batch: Annotated[Number, Field(
        words="Prompts prefilled together.", unit="sequences", axis="points",
    )] = 1
    isl: Annotated[Number, Field(
        words="Input tokens of a sequence.", unit="tokens", axis="points", aliases=("--input-len",),
    )] = 1024
    osl: Annotated[Number, Field(
        words="Output tokens of a sequence; 0 where the prompt is all there is (embeddings, scores).", unit="tokens",
        axis="points", least=0, aliases=("--output-len",),
    )] = 256
    context: Annotated[Number | None, Field(
        words="Tokens cached before the decode step.", unit="tokens", axis="points", least=0,
        blank="isl + osl / 2 - 1",
    )] = None
    cached_prefix: Annotated[Number, Field(
        words="Prompt tokens whose KV is cached already.", unit="tokens", least=0,
    )] = 0
    draft_tokens: Annotated[Number, Field(
        words="Speculative decoding: tokens drafted a step; adds the phase verify.", unit="tokens", least=0, blank="",
        aliases=("--num-speculative-tokens",),
    )] = 0
    acceptance: Annotated[float, Field(
        words="Speculative decoding: the chance that a drafted token is accepted.", kind="chance",
    )] = 0.7
    draft_share: Annotated[float, Field(
        words="Speculative decoding: the time of drafting a token, as a share of a decode step, where no draft model "
        "is named.", kind="chance",
    )] = 0.05
    chunk_tokens: Annotated[Number, Field(
        words="Chunked prefill: prompt tokens run beside each decode step; adds the phase mixed.", unit="tokens",
        least=0, blank="", spelled="--chunk",
    )] = 0
    images: Annotated[str | None, Field(
        words="Images of every prompt beside its isl tokens, width x height in pixels: 1024x1024; 2x640x480 means two;"
        " several sizes by commas.",
        kind="images", blank="",
    )] = None
    audio_seconds: Annotated[float | None, Field(
        words="Seconds of sound of every prompt beside its isl tokens.", kind="amount", unit="s", most=1 << 20,
        blank="",
    )] = None
    # fmt: on
    # Filled in by a scenario, which knows the model: tokens of images and sound, which isl then counts too.
    media_tokens: int | None = None

    def __post_init__(self) -> None:
        check(self, WORKLOAD)
        if not is_plain(self.cached_prefix, self.isl, self.chunk_tokens):
            return
        if self.cached_prefix >= self.isl:
            raise BadInput(
                "the cached prefix leaves no prompt token to prefill",
                where=Named.of("cached_prefix"),
                got=self.cached_prefix,
                want=f"less than the {self.isl} tokens of the prompt",
                try_this=Named("{cached_prefix} or a longer {isl}", cached_prefix=self.isl - 1),
            )
        media = self.images is not None or self.audio_seconds is not None
        if media and self.media_tokens is None:  # how long the prompt is, the model decides
            return
        if self.chunk_tokens > self.isl - self.cached_prefix:
            raise BadInput(
                "a chunk cannot hold more tokens than the prompt has left to prefill",
                where=Named.of("chunk_tokens"),
                got=self.chunk_tokens,
                want=f"at most {self.isl - self.cached_prefix}",
                try_this=Named("a longer {isl} or a smaller {chunk_tokens}"),
            )

    @property
    def text_tokens(self) -> Number:
        """Tokens of the prompt without those of its images and sound: isl as it was asked."""
        return self.isl - (self.media_tokens or 0)

    @property
    def mean_context(self) -> Number:
        """Tokens cached before a request's decode steps, in their mean. Check: isl 1024, osl 256 -> 1151."""
        return self.isl + maximum(self.osl - 2, 0) / 2


class MeanWorkload(Workload, frozen=True, kw_only=True):
    """A workload whose lengths are means of many requests, so real numbers, and may be arrays; an output may be 0.

    Made of requests that were checked one by one, so nothing is checked here.

    met_context     tokens cached before a decode step in the mean over all requests' steps, of which long requests
                    have more; None: as one request of the mean lengths has
    """

    met_context: Number | None = None

    def __post_init__(self) -> None:
        """Nothing to check."""

    @property
    def mean_context(self) -> Number:
        """Tokens cached before the requests' decode steps, in their mean."""
        return super().mean_context if self.met_context is None else self.met_context


WORKLOAD = fields_of(Workload)
describe(Workload, WORKLOAD.values())
