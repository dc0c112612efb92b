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
        NoAnswer,
        NoSteadyState,
        NotThere,
        RooflightError,
        UnknownName,
    )
    from rooflight.library.calibrated import calibrate
    from rooflight.library.checks import check, claim
    from rooflight.library.diagnosed import diagnose
    from rooflight.library.explain import explain
    from rooflight.library.kernels import measure_kernels
    from rooflight.library.measured import measure
    from rooflight.library.questions import (
        accelerator,
        accelerators,
        analyze,
        changed,
        compare,
        landmarks,
        model,
        models,
        moves,
        sweep,
    )
    from rooflight.library.samples import samples
    from rooflight.library.served import measure_endpoint
    from rooflight.library.whole import measure_model
    from rooflight.show.answers import document, records
    from rooflight.show.catalog import AcceleratorCatalog, ModelCatalog
    from rooflight.show.charts.chart import Chart
    from rooflight.show.charts.draw import chart, display
    from rooflight.span import Span
    from rooflight.values.accelerator import Accelerator, WhatIf
    from rooflight.values.analysis import (
        AcceleratorBlock,
        Analysis,
        ModelBlock,
        OperatorBlock,
        Phase,
        Request,
        ServedBlock,
    )
    from rooflight.values.comparison import Compared, Comparison
    from rooflight.values.deployment import Deployment
    from rooflight.values.diagnosis import Diagnosis
    from rooflight.values.endpoint import EndpointReport
    from rooflight.values.explain import Derived, Explained, Term
    from rooflight.values.held import MemoryBlock
    from rooflight.values.kernels import Kernels, KernelTime
    from rooflight.values.machine import Machine
    from rooflight.values.measurement import Report, Tally, Verdict
    from rooflight.values.model import Model
    from rooflight.values.moves import Combined, Move, Moves, Outcome
    from rooflight.values.own import OwnCalibration
    from rooflight.values.run import Run
    from rooflight.values.sample import Sample
    from rooflight.values.samples import Samples
    from rooflight.values.sweep import Goal, Landmarks, RunBlock, SweepBlock
    from rooflight.values.watching import Watching
    from rooflight.values.whole import StepTimed, WholeModel
    from rooflight.values.workload import Workload
    from rooflight.words.sweep import Sweep

__version__ = "0.1.0"

_HOME = {
    "accelerator": "rooflight.library.questions",
    "accelerators": "rooflight.library.questions",
    "analyze": "rooflight.library.questions",
    "calibrate": "rooflight.library.calibrated",
    "changed": "rooflight.library.questions",
    "chart": "rooflight.show.charts.draw",
    "check": "rooflight.library.checks",
    "claim": "rooflight.library.checks",
    "compare": "rooflight.library.questions",
    "diagnose": "rooflight.library.diagnosed",
    "display": "rooflight.show.charts.draw",
    "document": "rooflight.show.answers",
    "explain": "rooflight.library.explain",
    "landmarks": "rooflight.library.questions",
    "measure": "rooflight.library.measured",
    "measure_endpoint": "rooflight.library.served",
    "measure_kernels": "rooflight.library.kernels",
    "measure_model": "rooflight.library.whole",
    "model": "rooflight.library.questions",
    "models": "rooflight.library.questions",
    "moves": "rooflight.library.questions",
    "records": "rooflight.show.answers",
    "samples": "rooflight.library.samples",
    "sweep": "rooflight.library.questions",
    "Accelerator": "rooflight.values.accelerator",
    "AcceleratorBlock": "rooflight.values.analysis",
    "AcceleratorCatalog": "rooflight.show.catalog",
    "Analysis": "rooflight.values.analysis",
    "BadConfig": "rooflight.errors",
    "BadInput": "rooflight.errors",
    "Chart": "rooflight.show.charts.chart",
    "Combined": "rooflight.values.moves",
    "Compared": "rooflight.values.comparison",
    "Comparison": "rooflight.values.comparison",
    "Deployment": "rooflight.values.deployment",
    "Diagnosis": "rooflight.values.diagnosis",
    "Derived": "rooflight.values.explain",
    "EndpointReport": "rooflight.values.endpoint",
    "Explained": "rooflight.values.explain",
    "Goal": "rooflight.values.sweep",
    "KernelTime": "rooflight.values.kernels",
    "Kernels": "rooflight.values.kernels",
    "Landmarks": "rooflight.values.sweep",
    "Machine": "rooflight.values.machine",
    "MemoryBlock": "rooflight.values.analysis",
    "MissingExtra": "rooflight.errors",
    "MissingFact": "rooflight.errors",
    "Model": "rooflight.values.model",
    "ModelBlock": "rooflight.values.analysis",
    "ModelCatalog": "rooflight.show.catalog",
    "Move": "rooflight.values.moves",
    "Moves": "rooflight.values.moves",
    "NoAnswer": "rooflight.errors",
    "NoSteadyState": "rooflight.errors",
    "NotThere": "rooflight.errors",
    "OperatorBlock": "rooflight.values.analysis",
    "Outcome": "rooflight.values.moves",
    "Phase": "rooflight.values.analysis",
    "Report": "rooflight.values.measurement",
    "OwnCalibration": "rooflight.values.own",
    "Request": "rooflight.values.analysis",
    "RooflightError": "rooflight.errors",
    "Run": "rooflight.values.run",
    "RunBlock": "rooflight.values.sweep",
    "Sample": "rooflight.values.sample",
    "Samples": "rooflight.values.samples",
    "ServedBlock": "rooflight.values.analysis",
    "Span": "rooflight.span",
    "StepTimed": "rooflight.values.whole",
    "Sweep": "rooflight.words.sweep",
    "SweepBlock": "rooflight.values.sweep",
    "Tally": "rooflight.values.measurement",
    "Term": "rooflight.values.explain",
    "UnknownName": "rooflight.errors",
    "Verdict": "rooflight.values.measurement",
    "Watching": "rooflight.values.watching",
    "WhatIf": "rooflight.values.accelerator",
    "WholeModel": "rooflight.values.whole",
    "Workload": "rooflight.values.workload",
}

__all__ = [
    "Accelerator",
    "AcceleratorBlock",
    "AcceleratorCatalog",
    "Analysis",
    "BadConfig",
    "BadInput",
    "Chart",
    "Combined",
    "Compared",
    "Comparison",
    "Deployment",
    "Derived",
    "Diagnosis",
    "EndpointReport",
    "Explained",
    "Goal",
    "KernelTime",
    "Kernels",
    "Landmarks",
    "Machine",
    "MemoryBlock",
    "MissingExtra",
    "MissingFact",
    "Model",
    "ModelBlock",
    "ModelCatalog",
    "Move",
    "Moves",
    "NoAnswer",
    "NoSteadyState",
    "NotThere",
    "OperatorBlock",
    "Outcome",
    "OwnCalibration",
    "Phase",
    "Report",
    "Request",
    "RooflightError",
    "Run",
    "RunBlock",
    "Sample",
    "Samples",
    "ServedBlock",
    "Span",
    "StepTimed",
    "Sweep",
    "SweepBlock",
    "Tally",
    "Term",
    "UnknownName",
    "Verdict",
    "Watching",
    "WhatIf",
    "WholeModel",
    "Workload",
    "accelerator",
    "accelerators",
    "analyze",
    "calibrate",
    "changed",
    "chart",
    "check",
    "claim",
    "compare",
    "diagnose",
    "display",
    "document",
    "explain",
    "landmarks",
    "measure",
    "measure_endpoint",
    "measure_kernels",
    "measure_model",
    "model",
    "models",
    "moves",
    "records",
    "samples",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rooflight' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
