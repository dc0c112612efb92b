"""What a picture says, in words inside its file: for whoever does not see it."""

from __future__ import annotations

import html
import re
import struct
import zlib
from typing import Any

# What XML 1.0 has no place for.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def alt_text(spec: dict[str, Any], title: str) -> str:
    """The title, and the sentence below it where there is one."""
    under = spec.get("title", {}).get("subtitle") or ()
    said = under if isinstance(under, str) else " ".join(under)
    both = f"{title.rstrip('.')}. {said}" if said and said != title else title
    return _CONTROL.sub("?", " ".join(both.split()))


def titled_svg(svg: str, alt: str) -> str:
    """The SVG as an image with a title."""
    start, rest = svg.split("<svg", 1)
    said = html.escape(alt, quote=True)
    attributes, _, inside = rest.partition(">")
    return f'{start}<svg role="img" aria-label="{said}"{attributes}><title>{said}</title>{inside}'


def described_png(png: bytes, alt: str) -> bytes:
    """The PNG with a Description, as its standard names it (PNG 1.2, 4.2.3.3, iTXt: UTF-8, not compressed)."""
    chunk = b"iTXt" + b"Description\0" + b"\0\0" + b"\0" + b"\0" + alt.encode()
    written = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    # behind the header: signature, length, type, 13 bytes, their sum
    at = len(_SIGNATURE) + 4 + 4 + 13 + 4
    return png[:at] + written + png[at:]
