"""What exporters of accelerators say: DCGM's, nvidia_gpu_exporter's, AMD's device metrics exporter."""

from __future__ import annotations

import re

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.exposition import looks as scraped
from rooflight.ingest.recorded.monitoring.exposition import read as read_metrics
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Recorded

_OURS = re.compile(
    r"^[ \t]{0,16}(?:# (?:TYPE|HELP) )?"
    r"(?:DCGM_FI_\w+|dcgm_\w+|nvidia_smi_\w+|nv_gpu_\w+|(?:amd_)?gpu_(?:gfx_activity|total_vram))[ {]",
    re.MULTILINE,
)
# dcgm-exporter's list of what to export: "DCGM_FI_DEV_SM_CLOCK, gauge, SM clock frequency (in MHz)."
_LISTED = re.compile(
    r"^[ \t#]*(?:DCGM_(?:FI|EXP)|dcgm)_\w+[ \t]*,[ \t]*(?:gauge|counter|label|histogram)[ \t]*,", re.MULTILINE
)


def looks(head: Head) -> bool:
    """Scraped text of an exporter, or the list of what one should export."""
    return (_OURS.search(head.text) is not None and scraped(head)) or _LISTED.search(head.text) is not None


def read(source: Source) -> Recorded:
    """All that its scrapes say. Raises BadConfig for the exporter's own list of counters."""
    if _LISTED.search(source.head.text) and not scraped(source.head):
        raise BadConfig(
            f"{source.name} lists what DCGM's exporter should export, and has no values of it",
            where=source.name, got="names, types and help", want="what the exporter answers on its /metrics address",
            try_this="curl -s localhost:9400/metrics > dcgm.prom",
        )  # fmt: skip
    return read_metrics(source)


FORMAT = Format(
    name="device-metrics", words="/metrics of DCGM's exporter, nvidia_gpu_exporter or AMD's device metrics exporter",
    looks=looks, read=read,
)  # fmt: skip
