"""The engine `torch`: a model run kernel by kernel, on a machine whose own kernels were timed."""

from __future__ import annotations

import msgspec

from rooflight.catalog.calibration import calibration, engine_id, fitted_family
from rooflight.errors import MissingFact, Named
from rooflight.roofline.tables import aside
from rooflight.scenario.assume import multiplied
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Calibration, Engine
from rooflight.values.measured import Measured
from rooflight.values.model import Model
from rooflight.values.tables import Tables
from rooflight.work.count import layer_matrices, stored_format
from rooflight.work.numbers import Numbers

TORCH = "torch"


def is_torch(engine: str | None) -> bool:
    """Whether an engine's name means the tables of the machine."""
    return engine is not None and engine_id(engine) == TORCH


def torch_engine(accelerator: Accelerator) -> Engine:
    """What is around the kernels: the choice of a token; no server. Raises MissingFact for a machine without tables."""
    found = _measured(accelerator)
    tables = _tables(accelerator)
    off = aside(tables)
    low, high = off.low, off.high
    return Engine(
        id=TORCH,
        family=accelerator.family,
        date=found.date,
        fitted_on=f"kernels timed on {found.device}",
        cards=(accelerator.id,),
        body_share=1.0, floor_share=1.0, host_s=tables.step_s, host_per_sequence_s=tables.sequence_s, expert_share=1.0,
        expert_layer_s=0.0, prefill_share=1.0, prefill_low=low, prefill_high=high, reserved_output=1.0, server_s=0.0,
        low=low, high=high, moe_low=low, moe_high=high, run_low=low, run_high=high, moe_run_low=low, moe_run_high=high,
        first_low=low, first_high=high, moe_first_low=low, moe_first_high=high,
    )  # fmt: skip


def torch_fits(accelerator: Accelerator, model: Model, numbers: Numbers) -> Calibration:
    """The machine's tables in place of fits of kernels, those of the formats that the model runs in.

    Raises MissingFact for a machine without tables, or a format that was not timed there.
    """
    tables = _tables(accelerator)
    forms = multiplied(model, numbers)
    missing = sorted(form for form in forms if form not in tables.gemm)
    if missing or _packed(model):
        raise MissingFact(
            f"kernels with {', '.join(missing or _packed(model))} weights were not timed on {accelerator.id}",
            where=accelerator.origin or accelerator.id,
            got=", ".join(tables.formats),
            want="weights in a format that was timed, as they are multiplied",
            try_this=Named("{weights}", weights=next(iter(tables.formats), "fp32")),
        )
    wide = "fp32" if numbers.act_bytes > 2 else "fp16" if "fp16" in forms else "bf16"
    form = wide if wide in tables.elementwise else next(form for form in (*forms, *tables.formats))
    return msgspec.structs.replace(calibration(fitted_family(accelerator)), tables=tables.among(form))


def _packed(model: Model) -> tuple[str, ...]:
    """Formats of the layers' weights that are not multiplied as they are stored."""
    forms = [stored_format(matrix) for layer in model.layers for matrix, _ in layer_matrices(layer)]
    return tuple(sorted({form.id for form in forms if form.compute != form.id}))


def _measured(accelerator: Accelerator) -> Measured:
    if accelerator.measured is None:
        raise MissingFact(
            f"{accelerator.id} was not measured, so what torch's kernels take on it is not known",
            where=Named.of("engine"),
            got=f"{TORCH}, on a datasheet",
            want="a machine file with the tables of a full measurement",
            try_this=Named("`rooflight measure -o this.toml` there, then {on}", on="this.toml"),
        )
    return accelerator.measured


def _tables(accelerator: Accelerator) -> Tables:
    tables = _measured(accelerator).tables
    if tables is None or not tables.formats:
        raise MissingFact(
            f"the measurement of {accelerator.id} has no tables of kernels",
            where=accelerator.origin or accelerator.id,
            got="rates alone: a quick or an interrupted measurement",
            want="a full one",
            try_this=Named("`rooflight measure -o this.toml` there, then {on}", on="this.toml"),
        )
    return tables
