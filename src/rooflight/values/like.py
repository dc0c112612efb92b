"""What an answer says of a model beside its counts: real ones of its size, adapters and drafts beside it."""

from __future__ import annotations

import msgspec

from rooflight.span import Span
from rooflight.values.shown import Part


class AlikeFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of the model taken (`own`), and its least and largest over real models of that size, with their ids."""

    own: float
    low: float
    high: float
    low_model: str
    high_model: str


class LikeBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Of a model by its size: the shape that was taken for it, and how figures vary over the catalog's of that size.

    near        the catalog's model whose shape was scaled to the size; null: a typical shape
    within      a model counts where its parameters are within this share of it (active ones within half)
    models      the catalog's models that count, in the same formats; figures are null where there are none
    decode_ceiling_s    of a decode step as asked; null where none of them can be laid out or nothing is decoded
    """

    brief = ("parameters", "models")

    parameters: int
    active_parameters: int | None
    layers: int
    hidden: int
    near: str | None
    within: float
    models: tuple[str, ...]
    kv_bytes_per_token: AlikeFigure | None
    streamed_weight_bytes: AlikeFigure | None
    decode_ceiling_s: AlikeFigure | None


class AdapterBlock(msgspec.Struct, frozen=True, kw_only=True):
    """LoRA adapters: of what rank, how many resident, on which matrices; parameters of one, bytes of all."""

    rank: int
    count: int
    modules: tuple[str, ...]
    parameters_each: int
    bytes: int


class SpeculationBlock(Part, msgspec.Struct, frozen=True, kw_only=True):
    """What drafts, and a cycle of speculative decoding: draft steps one after the other, then the verify step.

    parameters, weight_bytes    of its own: what it shares with the model is not among them
    streamed_weight_bytes       a draft step reads, shared ones included
    tp                          devices it is cut over
    draft_s, cycle_s            of the draft steps of all sequences, and with the verify step; null: they do not fit
    """

    brief = ("draft", "parameters", "cycle_s")

    draft: str
    parameters: int
    weight_bytes: float
    streamed_weight_bytes: float
    kv_bytes_per_token: float
    vocab: int
    tp: int
    tokens_per_cycle: float
    draft_s: Span | None
    cycle_s: Span | None
