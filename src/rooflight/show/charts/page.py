"""A chart as one file that works offline: Vega, the numbers and a little script, under a policy that forbids the rest.

Vega's expressions are run by its own interpreter (`ast`), so that the page needs no eval; scripts are allowed by their
hashes, and nothing may be loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from typing import Any

from rooflight.show.charts.export import _converter, version

_SHOW = """
const spec = JSON.parse(document.getElementById("spec").textContent);
vegaEmbed("#chart", spec, {ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: false});
"""


@cache
def vega(vega_lite: str) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, as vl-convert carries it. Safe between script tags."""
    bundle: str = _converter().javascript_bundle(vl_version=vega_lite)
    return bundle.replace("</script", "<\\/script")


def page(spec: dict[str, Any], title: str) -> str:
    """The whole file."""
    scripts = [vega(version(spec)), _SHOW]
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
    paper = spec["config"]["background"]
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        f"<style>body {{ margin: 0; background: {paper}; }} #chart {{ overflow-x: auto; }}</style>",
        '</head>\n<body>\n<main id="chart"></main>',
        f'<script type="application/json" id="spec">{embedded(spec)}</script>',
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
