"""How a question's devices are cut into ranks, stages and replicas."""

from __future__ import annotations

from rooflight.errors import BadInput, Named
from rooflight.roofline.links import Links, links_of
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.work.layout import Layout


def layout_of(accelerator: Accelerator, count: int | None, deployment: Deployment) -> Layout:
    """tp = devices / (pp x dp); a tp without a count means so many devices. Raises BadInput."""
    others = deployment.pp * deployment.dp
    if deployment.tp is None:
        devices = others if count is None else count
        if devices % others:
            raise BadInput(
                f"{devices} devices cannot be cut into pp {deployment.pp} x dp {deployment.dp}",
                where=Named.of("pp", "dp"), got=others, want=f"a product that divides {devices}",
            )  # fmt: skip
        tp = devices // others
    else:
        tp, devices = deployment.tp, deployment.tp * others
        if count is not None and count != devices:
            raise BadInput(
                f"tp {tp} x pp {deployment.pp} x dp {deployment.dp} is {devices} devices, not {count}",
                where=Named.of("on", "tp", "pp", "dp"),
                got=f"{count} devices",
                want=f"tp x pp x dp = {count}",
                try_this=Named("{dp}", dp=count // devices)
                if count % devices == 0
                else Named("{on}", on=f"{devices}x{accelerator.id}"),
            )
    links = links_of(accelerator, deployment.network) or Links()
    return Layout(
        tp=tp, pp=deployment.pp, ep=deployment.ep, dp=deployment.dp, in_switch=links.reduces, domain=links.domain
    )
