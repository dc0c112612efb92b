"""The views below the first screen, each a function of a page: its sentence, its charts, its tables.

Drawn by the functions that draw the command line's pictures; shown by static/views.js, which knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rooflight.studio.view import Asked, View
from rooflight.studio.views.check import check
from rooflight.studio.views.compare import compare
from rooflight.studio.views.memory import memory
from rooflight.studio.views.moves import moves
from rooflight.studio.views.throughput import throughput
from rooflight.studio.views.time import time

ViewName = Literal["throughput", "time", "memory", "moves", "compare", "check"]
VIEWS: dict[str, Callable[[Asked], View]] = {
    "throughput": throughput, "time": time, "memory": memory, "moves": moves, "compare": compare, "check": check,
}  # fmt: skip
TITLES = {name: name.capitalize() for name in VIEWS}
