"""A calibration as TOML: coefficients in base units, a table a fit."""

from __future__ import annotations

from typing import Any

import msgspec
from spelling import spelled

_HEAD = """\
# {family}: what engines get out of it. Ours, fitted by calibration/fit_kernels.py; the fields are explained, with their
# plausible ranges, in values/calibration.py. low and high are factors on the expected time that hold 80 % of held-out
# rows; `error` is the median absolute error there, with the factors of each engine that a fit finds beside and that
# stay out of this file.
"""
_LAST = ("data", "at_edge", "not_fitted")


def text(content: dict[str, Any]) -> str:
    """The file of one family."""
    lines = [_HEAD.format(family=content["family"])]
    lines += [f"{name} = {spelled(content[name])}" for name in ("family", "date", "source", "fitted_on")]
    for part in ("gemm", "decode", "prefill", "links"):
        for key, fit in content[part].items():
            lines += _table(f"{part}.{_key(key)}", msgspec.to_builtins(fit))
    lines += _table("elementwise", msgspec.to_builtins(content["elementwise"]))
    return "\n".join(lines) + "\n"


def _table(name: str, values: dict[str, Any]) -> list[str]:
    """A table; `error` and `data` stay on one line each."""
    order = sorted(values, key=lambda key: key in _LAST)
    known = ((key, values[key]) for key in order if values[key] not in (None, "", [], ()))
    return ["", f"[{name}]", *(f"{key} = {spelled(value)}" for key, value in known)]


def _key(key: str) -> str:
    return f'"{key}"' if "/" in key else key
