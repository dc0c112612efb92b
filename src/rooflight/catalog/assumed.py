"""What assumptions.toml says of an accelerator: of its family, and of the network where no source names one."""

from __future__ import annotations

from typing import Any

from rooflight.units import to_base
from rooflight.values.accelerator import Assumed, Fact, Network


def assumed_of(family: str, name: str, table: dict[str, Any]) -> Assumed:
    """What is assumed for a family, its margin replaced by that of the segment the name belongs to."""
    entries = table["assumed"]
    entry = next((entry for entry in entries if family in entry["families"]), entries[-1])
    segment = next((one for one in table["segment"] if one["name_has"] in name), None)
    said = f"{entry['source']} ({entry['date']})"
    return Assumed(
        family=family,
        peak_margin=(segment or entry)["peak_margin"],
        last_level_cache_bytes=to_base(entry["last_level_cache_MiB"], "MiB"),
        launch_graph_s=to_base(entry["launch_graph_us"], "us"),
        launch_eager_s=to_base(entry["launch_eager_us"], "us"),
        engine_reserve_bytes=to_base(entry["engine_reserve_GiB"], "GiB"),
        source=said if segment is None else f"{segment['basis']} ({segment['date']}); {said}",
    )


def network(facts: dict[str, Fact], amounts: dict[str, float], assumed: dict[str, Any]) -> Network:
    """The adapters of the reference node, and the fastest known; where no source names them, those of any card."""
    reference = amounts.get("network")
    if reference is None:
        reference, fastest = (to_base(assumed[name], "GB/s") for name in ("reference_GB_per_s", "fastest_GB_per_s"))
        fastest = max(amounts.get("network-fastest", fastest), reference)
        said = f"{assumed['source']} ({assumed['date']})"
        return Network(bytes_per_s=reference, fastest_bytes_per_s=fastest, assumed=True, source=said)
    fastest = max(amounts.get("network-fastest", reference), reference)
    return Network(bytes_per_s=reference, fastest_bytes_per_s=fastest, source=facts["network"].note)
