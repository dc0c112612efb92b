"""rooflight: which ceiling your LLM inference hits, how far below it you are, and what a move would gain.

    >>> import rooflight
    >>> answer = rooflight.analyze("meta-llama/Meta-Llama-3-8B", on="h100-sxm")
    >>> answer.phases["decode"].bound
    'memory'

Names are loaded when first used, so `import rooflight` costs next to nothing.
"""

from __future__ import annotations

# Not typing's own, whose import is what an interrupt while the command line starts would mostly meet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rooflight.errors import (
        BadConfig,
        BadInput,
        MissingExtra,
        MissingFact,
        NoSteadyState,
        RooflightError,
        UnknownName,
    )
    from rooflight.library import accelerator, analyze, check, compare, model, moves, sweep
    from rooflight.show.charts.draw import chart, display
    from rooflight.values.accelerator import Accelerator
    from rooflight.values.analysis import Analysis
    from rooflight.values.comparison import Comparison
    from rooflight.values.deployment import Deployment
    from rooflight.values.model import Model
    from rooflight.values.workload import Workload

__version__ = "0.1.0"

_HOME = {
    "accelerator": "rooflight.library",
    "analyze": "rooflight.library",
    "chart": "rooflight.show.charts.draw",
    "check": "rooflight.library",
    "compare": "rooflight.library",
    "display": "rooflight.show.charts.draw",
    "model": "rooflight.library",
    "moves": "rooflight.library",
    "sweep": "rooflight.library",
    "Accelerator": "rooflight.values.accelerator",
    "Analysis": "rooflight.values.analysis",
    "BadConfig": "rooflight.errors",
    "BadInput": "rooflight.errors",
    "Comparison": "rooflight.values.comparison",
    "Deployment": "rooflight.values.deployment",
    "MissingExtra": "rooflight.errors",
    "MissingFact": "rooflight.errors",
    "NoSteadyState": "rooflight.errors",
    "Model": "rooflight.values.model",
    "RooflightError": "rooflight.errors",
    "UnknownName": "rooflight.errors",
    "Workload": "rooflight.values.workload",
}

__all__ = [
    "Accelerator",
    "Analysis",
    "BadConfig",
    "BadInput",
    "Comparison",
    "Deployment",
    "MissingExtra",
    "MissingFact",
    "Model",
    "NoSteadyState",
    "RooflightError",
    "UnknownName",
    "Workload",
    "accelerator",
    "analyze",
    "chart",
    "check",
    "compare",
    "display",
    "model",
    "moves",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rooflight' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
