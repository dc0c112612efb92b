"""What devices send one another in a step: activations summed, handed on, and sent to experts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.numeric import Number
from rooflight.values.model import Experts, Model
from rooflight.values.work import Exchange, Operator, Row, Work
from rooflight.work import formulas
from rooflight.work.count import stored_format
from rooflight.work.layout import Group, Layout, expert_group, hops, packed_domains, tensor_group
from rooflight.work.numbers import Numbers, input_bytes


def hop_rows(model: Model, tokens: Number, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    """Activations handed from one pipeline stage to the next, each tensor rank its part, within a domain or across."""
    sent = tokens * model.hidden * numbers.act_bytes / layout.tp
    near, across = hops(layout)
    for name, count, far in (("pipeline hop", near, False), ("pipeline hop across", across, True)):
        if count:
            together = far and layout.tp * layout.pp <= layout.domain  # all stages might be in one domain
            shape = Exchange(
                what="send", payload_bytes=sent, devices=2, local=1 if far else 2, domains=2 if far else 1,
                least_across_bytes=0 if together else None,
            )  # fmt: skip
            work = Work(link_bytes=sent, network_bytes=sent if far else 0, launches=1)
            op = Operator(name=name, kind="collective", count=count, compute="bf16", work=work, shape=shape)
            yield name, "", op


def all_reduce_rows(model: Model, tokens: Number, count: int, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    """The sum over the tensor ranks of what a layer puts out, `count` times; none on one rank."""
    if layout.tp == 1:
        return
    payload, group = tokens * model.hidden * numbers.act_bytes, tensor_group(layout)
    within = formulas.all_reduce_bytes(payload_bytes=payload, devices=group.local, in_switch=layout.in_switch)
    across = formulas.across_bytes(payload_bytes=payload, local=group.local, domains=group.domains)
    op = Operator(
        name="all_reduce",
        kind="collective",
        count=count,
        compute="bf16",
        work=Work(link_bytes=within + across, network_bytes=across, launches=1),
        shape=_exchange("all_reduce", payload, group),
    )
    yield ("all_reduce", model.hidden), "", op


def all_to_all_rows(experts: Experts, tokens: Number, count: int, layout: Layout, numbers: Numbers) -> Iterator[Row]:
    """Dispatch in the experts' activation format, combine in the wide one; each tensor rank moves its part.

    Within a domain a copy goes to each device that needs it, across to each domain that does.
    """
    width, form, group = expert_width(experts), stored_format(experts.linears[0]), expert_group(layout)
    routing = {"chosen": experts.chosen, "groups": experts.groups, "chosen_groups": experts.chosen_groups}
    neighbours = (group.local - 1) / (layout.ep - 1)
    for name, element in (("dispatch", input_bytes(form, numbers)), ("combine", numbers.act_bytes)):
        rows = {"tokens": tokens / layout.tp, "row_bytes": width * element, **routing}
        within = formulas.all_to_all_bytes(**rows, devices=layout.ep) * neighbours
        across = formulas.all_to_all_bytes(**rows, devices=group.domains)
        packed = packed_domains(layout)
        least = None if packed == group.domains else formulas.all_to_all_bytes(**rows, devices=packed)
        # what a rank sends out if each token went to every expert it chose
        payload = tokens / layout.tp * experts.chosen * width * element
        op = Operator(
            name=f"all_to_all {name}",
            kind="collective",
            count=count,
            compute="bf16",
            work=Work(link_bytes=within + across, network_bytes=across, launches=1),
            shape=msgspec.structs.replace(_exchange("all_to_all", payload, group, across), least_across_bytes=least),
        )
        yield ("all_to_all", name, experts), "", op


def expert_width(experts: Experts) -> int:
    """Elements of a token that reach an expert and leave it: the hidden size, or the latent it works in."""
    return experts.linears[0].inputs


def _exchange(what: str, payload: Number, group: Group, once: Number = 0) -> Exchange:
    return Exchange(
        what=what, payload_bytes=payload, devices=group.devices, local=group.local, domains=group.domains,
        once_bytes=once,
    )  # fmt: skip
