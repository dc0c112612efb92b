"""What a request says: a prompt of random words, and the options that servers take of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.values.endpoint import Api, Stage

# Short words that most tokenizers have as one token each; a prompt of them shares no prefix with another.
_TEXT = """
the of and to in is was for on that with as it be at by he from his are this which or had not have an but were they one
all their has her been who when will more no if out so said what up its about into than them can only other new some
could time these two may then do first any my now such like our over man me even most made after also did many before
must through back years where much your way well down should because each just those people how too little state good
very make world still own see men work long get here between both life being under never day same another know while
last might us great old year off come since against go came right used take three
"""
_WORDS = tuple(_TEXT.split())
# Left out one after the other where a server refuses a request: the least known first.
OPTIONAL: tuple[tuple[str, ...], ...] = (
    (), ("ignore_eos", "min_tokens"), ("stream_options",), ("ignore_eos", "min_tokens", "stream_options"),
)  # fmt: skip
_STAGES: tuple[Stage, ...] = ("calibration", "warm-up", "load")
# Tokens of one of these words: none is worth less than a quarter of one in a prompt without an order, and no tokenizer
# makes more of a word and its space than they have bytes.
_LEAST, _MOST = 1 / 4, max(map(len, _WORDS)) + 1
# What two prompts must differ by, in words and as a share of the longer, before their counts say anything.
_APART, _APART_SHARE = 8, 1 / 4


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a load's requests.

    left_out    options that the server does not take
    """

    api: Api
    model: str
    seed: int
    left_out: Sequence[str] = ()

    def body(self, stage: Stage, number: int, *, words: int, tokens: int) -> bytes:
        """The JSON of a request for so many tokens; its prompt is the same for a seed, stage and number."""
        chance = random.Random(f"{self.seed} {_STAGES.index(stage)} {number}")
        prompt = " ".join(chance.choices(_WORDS, k=words))
        asks: dict[str, Any] = {"model": self.model}
        if self.api == "chat":
            asks["messages"] = [{"role": "user", "content": prompt}]
        else:
            asks["prompt"] = prompt
        asks |= {"max_tokens": tokens, "temperature": 0, "stream": True}
        options = {"stream_options": {"include_usage": True}, "ignore_eos": True, "min_tokens": tokens}
        return msgspec.json.encode(asks | {name: one for name, one in options.items() if name not in self.left_out})


def words_for(isl: int, tried: Sequence[tuple[int, int]]) -> int:
    """Words of a prompt of isl tokens, from pairs (words, tokens) that were tried: none, one, or the last two.

    One pair is taken as so many tokens a word; of two the line through them, which knows a template around the prompt.
    Four words a token at most: more is no tokenizer's doing, and a server that always counts one token would be sent
    ever longer prompts. There is no least but one word, as a template may be nearly all of a prompt.
    Check: 100 words are 150 tokens -> 67 words for 100; 67 are 110 with them -> 59; 1,000 are 1 -> 4,000 for 1,000.
    """
    if not tried:
        return isl
    words, tokens = tried[-1]
    slope, base = tokens / words, 0.0
    if len(tried) > 1 and tried[-2][0] != words and (tokens - tried[-2][1]) * (words - tried[-2][0]) > 0:
        slope = (tokens - tried[-2][1]) / (words - tried[-2][0])
        base = tokens - slope * words
    most = round(isl / _LEAST)
    return max(1, min(most, round((isl - base) / slope))) if slope > 0 else isl


def follows(tried: Sequence[tuple[int, int]]) -> bool:
    """Whether a server's count is of the prompt, from pairs (words, tokens): more words are more tokens, in reason.

    True where the prompts that were tried are too alike to tell.
    Check: 1,000 words are 1 token and 4,000 are 1 -> False; 100 are 150 and 67 are 110 -> True.
    """
    (few, least), (many, most) = min(tried), max(tried)
    apart = many - few
    if apart < max(_APART, many * _APART_SHARE):
        return True
    return _LEAST <= (most - least) / apart <= _MOST


def near(isl: int, tokens: int) -> bool:
    """Whether a prompt's length is as asked, to one in a hundred or one token."""
    return abs(tokens - isl) <= max(1, isl // 100)
