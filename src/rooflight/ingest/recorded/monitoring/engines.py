"""What an engine's /metrics address says: vLLM, SGLang, TGI, llama.cpp's server, TensorRT-LLM, Dynamo."""

from __future__ import annotations

import re

from rooflight.ingest.recorded.monitoring.aliases import ENGINES
from rooflight.ingest.recorded.monitoring.exposition import looks as scraped
from rooflight.ingest.recorded.monitoring.exposition import read
from rooflight.ingest.recorded.source import Format, Head

_PREFIXES = "|".join(re.escape(prefix) for one in ENGINES for prefix in one.prefixes if prefix)
_OURS = re.compile(rf"^[ \t]{{0,16}}(?:# (?:TYPE|HELP) )?(?:{_PREFIXES})\w+(?:[ {{]|$)", re.MULTILINE)
# A line "name 3" alone, as llama.cpp's server has them, where no type is said.
_VALUE = re.compile(r"^[ \t]{0,16}[a-z_]\w*:\w+(?:\{[^}\n]*\})? [-+0-9.eEINan]+$", re.MULTILINE)


def looks(head: Head) -> bool:
    """Scraped text with a name of an engine's in its start."""
    return _OURS.search(head.text) is not None and (scraped(head) or _VALUE.search(head.text) is not None)


FORMAT = Format(
    name="engine-metrics",
    words="/metrics of vLLM, SGLang, TGI, llama.cpp's server, TensorRT-LLM or Dynamo, once or twice",
    looks=looks, read=read,
)  # fmt: skip
