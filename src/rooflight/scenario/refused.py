"""What a question asks of a model or of an engine's steps that they cannot do. Raises BadInput, each with a way out."""

from __future__ import annotations

from rooflight.errors import BadInput, Named
from rooflight.numeric import is_plain
from rooflight.values.model import Model
from rooflight.values.workload import Workload
from rooflight.work.count import has_source, is_encoder


def check_budget(budget: int, workload: Workload) -> None:
    """Refuse a step that has no room for one sequence's drafted tokens and a prompt's beside. Raises BadInput."""
    drafted = workload.draft_tokens if is_plain(workload.draft_tokens) else workload.draft_tokens.max()
    if drafted + 1 >= budget:
        raise BadInput(
            "the tokens of a step leave no room beside those that a sequence drafts",
            where=Named.of("max_num_batched_tokens"), got=f"{budget}, with {drafted} drafted and one verified",
            want=f"at least {drafted + 2}",
        )  # fmt: skip


def check_kind(model: Model, workload: Workload) -> None:
    """Refuse a head that drafts for another model, and what an encoder does not do. Raises BadInput."""
    if model.draft_head is not None:
        raise BadInput(
            f"{model.id} is a head that drafts for another model, and does not run by itself",
            where=model.origin or model.id, got=model.id[:60],
            want=Named("that model, with the head as its {draft_model}"),
        )  # fmt: skip
    if not (is_encoder(model) or has_source(model)):
        return
    refused = [
        ("cached_prefix", "no prompt's prefix is cached: what comes behind changes it"),
        ("chunk_tokens", "no prompt is cut into chunks: each token sees those behind it"),
    ]
    if is_encoder(model):
        refused = [
            ("osl", "it puts out vectors or scores, and no tokens"),
            ("draft_tokens", "there is nothing to draft, for it puts out no tokens"), *refused,
        ]  # fmt: skip
    kind = "an encoder" if is_encoder(model) else "an encoder-decoder"
    for name, why in refused:
        value = getattr(workload, name)
        most = value if is_plain(value) else value.max()
        if most > 0:
            raise BadInput(
                f"{model.id} is {kind}: {why}", where=Named.of(name), got=f"{most:,}", want="0",
                try_this=Named(f"without {{{name}}}"),
            )  # fmt: skip
