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

_HERE = Path(__file__).parent


@cache
def vega(vega_lite: str) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, as vl-convert carries it. Safe between script tags."""
    bundle: str = converter().javascript_bundle(vl_version=vega_lite)
    return bundle.replace("</script", "<\\/script")


def single(spec: dict[str, Any], title: str) -> str:
    """One picture as it is."""
    style = f"body {{ margin: 0; background: {spec['config']['background']}; }} #chart {{ overflow-x: auto; }}"
    return page(title, '<main id="chart"></main>', {"charts": {"chart": {"light": spec, "dark": spec}}}, style)


def page(title: str, body: str, data: dict[str, Any], style: str) -> str:
    """The whole file. `data` is what page.js reads: charts by the id of the element that holds them, points, axes."""
    spec = next(iter(data["charts"].values()))["light"]
    scripts = [vega(version(spec)), (_HERE / "page.js").read_text(encoding="utf-8")]
    block = f'<script type="application/json" id="data">{embedded(data)}</script>'
    return document(title, f"{body}\n{block}", style, scripts)


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
