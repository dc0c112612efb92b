"""Plain values as TOML. What is None is left out: TOML has no word for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text(value: Mapping[str, Any]) -> str:
    """A document: values first, then tables."""
    import tomli_w

    return tomli_w.dumps(_known(value))


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _known(one) for key, one in value.items() if one is not None}
    return [_known(one) for one in value] if isinstance(value, list | tuple) else value
