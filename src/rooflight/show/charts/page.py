"""Pages that work offline: Vega, the numbers and a little script in one file, under a policy that forbids the rest.

Vega's expressions are run by its own interpreter (`ast`), so that the page needs no eval; scripts are allowed by their
hashes, and nothing may be loaded from anywhere. Names and sentences reach the page as text, never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rooflight.show.charts.export import converter, version
from rooflight.show.charts.theme import FONT
from rooflight.show.charts.themed import style, themed

_HERE = Path(__file__).parent


@cache
def vega(vega_lite: str) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, as vl-convert carries it. Safe between script tags."""
    bundle: str = converter().javascript_bundle(vl_version=vega_lite)
    return bundle.replace("</script", "<\\/script")


def single(spec: dict[str, Any], title: str, alt: str = "") -> str:
    """One picture as it is, in the reader's mode. `alt`: what it says, where that is more than the title."""
    found = themed(spec)
    rules = (
        f"{style()}body{{margin:0;background:var(--paper)}}#chart{{overflow-x:auto}}"
        "#vg-tooltip-element{position:fixed;visibility:hidden;padding:6px 8px;max-width:90vw;background:var(--paper);"
        f"color:var(--ink);border:1px solid currentColor;border-radius:3px;font:13px {FONT};pointer-events:none}}"
        "#vg-tooltip-element.visible{visibility:visible}#vg-tooltip-element td.key{text-align:right;padding-right:6px}"
    )
    # the page's own colour is behind it: browsers know no variable in the attribute Vega would write it to
    clear = {**found, "config": {**found["config"], "background": "transparent"}}
    block = f'<script type="application/json" id="data">{embedded(clear)}</script>'
    label = html.escape(alt or title, quote=True)
    body = f'<main role="img" aria-label="{label}"><div id="chart"></div></main>\n{block}'
    return document(title, body, rules, [vega(version(spec)), (_HERE / "single.js").read_text(encoding="utf-8")])


def document(title: str, body: str, style: str, scripts: Sequence[str], *, later: Sequence[str] = ()) -> str:
    """A file under the policy that allows these scripts alone, and those that one of them puts in `later`."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in (*scripts, *later))
    policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{style}</style>\n</head>\n<body>\n{body}",
        *(f"<script>{script}</script>" for script in scripts),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def embedded(value: Any) -> str:
    """JSON that no text of a name can break out of a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
