"""From fits to the file of a device family: what was measured, what stands in for the rest, and only what is asked for.

An answer asks for products by storage format, attention by the format it multiplies in, and the collectives of tensor,
pipeline and expert parallelism. Fits of anything else stay in kernels_report.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import write_toml
from rows import FAMILIES, SYSTEMS

from rooflight.values.calibration import ElementwiseFit, Error, GemmFit, LinkFit

KINDS = ("gemm", "decode", "prefill")
# No answer knows a product in bf16 over a cache in FP8: attention multiplies in the cache's format or in bf16's.
REPORTED_ONLY = {("prefill", "bf16-kv-fp8")}
# Kind, format, fit.
Named = tuple[str, str, Any]
OPERATIONS = ("all_reduce", "all_gather", "all_to_all")


def text(family: str, fits: Iterable[Named], links: dict[str, LinkFit], *, date: str, source: str) -> str:
    """The TOML of a family, from its fits and everyone's links as "link/collective"."""
    parts: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for kind, form, fit in fits:
        if (kind, form) not in REPORTED_ONLY:
            parts[kind][form] = fit
    parts["gemm"] |= weight_only(parts["gemm"])
    content = {
        "family": family, "date": date, "source": source,
        "fitted_on": ", ".join(SYSTEMS[system] for system in FAMILIES[family]), **parts,
        "elementwise": elementwise(parts["gemm"]), "links": family_links(family, links),
    }  # fmt: skip
    return write_toml.text(content)


def elementwise(gemms: dict[str, GemmFit]) -> ElementwiseFit:
    """No table has them: a floor a little under the product's, and the bandwidth streaming kernels reach."""
    return ElementwiseFit(
        floor_s=float(f"{0.85 * gemms['bf16'].floor_s:.3g}"), memory_efficiency=0.85, low=0.6, high=1.7,
        basis="assumed: 0.85 of the bf16 product's floor; scale and triad reach 0.80 to 0.95 of bandwidth",
    )  # fmt: skip


def weight_only(gemms: dict[str, GemmFit]) -> dict[str, GemmFit]:
    """4- and 8-bit weights beside wide activations, where not measured: bf16 with room for unpacking."""
    base = gemms["bf16"]
    basis = "not measured: bf16's, with 0.9 of its memory and 0.85 of its compute efficiency"
    note = Error(rows=0, median=0.0, coverage=0.0, held_out=basis)
    unpacked = msgspec.structs.replace(
        base, memory_efficiency=round(0.9 * base.memory_efficiency, 4), low=round(base.low / 1.15, 3),
        compute_efficiency=round(0.85 * base.compute_efficiency, 4), high=round(base.high * 1.3, 3), error=note,
        data=None, at_edge=(), not_fitted=("memory_efficiency", "compute_efficiency", *base.not_fitted),
    )  # fmt: skip
    return {name: gemms.get(name, unpacked) for name in ("int8", "int4")}


def family_links(family: str, fitted: dict[str, LinkFit]) -> dict[str, LinkFit]:
    """A family's links: NVLink as measured on it (else A100's), PCIe, and any other fabric as A100's NVLink."""
    nvlink = {"Hopper": "nvlink-switch", "Blackwell": "nvlink-5"}.get(family, "nvlink")
    pcie = "pcie" if family == "Xe2" else "pcie-l40s"
    chosen = {}
    for operation in OPERATIONS:
        own = family in ("Ampere", "Hopper", "Blackwell")
        chosen[f"nvlink/{operation}"] = widened(fitted[f"{nvlink}/{operation}"], 1.1 if own else 1.3)
        found = fitted.get(f"{pcie}/{operation}", fitted[f"pcie-l40s/{operation}"])
        chosen[f"pcie/{operation}"] = widened(found, 1.1 if family in ("Ada", "Xe2") else 1.4)
        other = widened(fitted[f"nvlink/{operation}"], 1.4)
        basis = "not measured: A100's NVLink; for Infinity Fabric, Xe Link, ICI and their like"
        chosen[f"fabric/{operation}"] = msgspec.structs.replace(other, basis=basis)
    return chosen


def widened(found: LinkFit, factor: float) -> LinkFit:
    """The same with a wider interval."""
    return msgspec.structs.replace(found, low=round(found.low / factor, 3), high=round(found.high * factor, 3))
