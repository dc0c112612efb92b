"""Measurements and claims judged: the Python front door of `check`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rooflight.library.questions import by_name, devices_of, make_scenario, own_of
from rooflight.library.questions import model as model_named
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.question import NOT_CLAIMED, ClaimFields, asked

if TYPE_CHECKING:
    from rooflight.answers.check.recorded import Said
    from rooflight.values.measurement import Report
    from rooflight.values.own import OwnCalibration
    from rooflight.values.recorded import Recorded


@partial(by_name, without=NOT_CLAIMED)
def check(
    source: str | Path | Recorded | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    configs: Iterable[str | Path] = (),
    model: str | Path | Model | None = None,
    on: str | Accelerator | None = None,
    calibration: str | Path | OwnCalibration | None = None,
    **fields: Unpack[ClaimFields],
) -> Report:
    """Measurements judged against their ceilings: a CSV file, one row as a mapping, several, or a benchmark's results.

    Columns are `model`, `accelerator`, `metric`, `value` and what else is known (docs/check.md). `configs` are folders
    whose files' stems may stand as `model`. A row that cannot be judged says so and stops nothing.

    Results of a benchmark mostly name no accelerator, so `model`, `on` and fields may stand beside them: what is given
    counts before what the file says. `calibration` is your own (rooflight.calibrate), or its file.

    Raises BadInput or BadConfig for a file that is neither, for fields beside rows, and where nobody names the model or
    the accelerator of results.
    """
    from rooflight.words.verdicts import checked

    said = said_of(model, on, fields)
    return checked(source, configs=configs, said=said, calibration=own_of(calibration))


def said_of(model: str | Path | Model | None, on: str | Accelerator | None, fields: ClaimFields) -> Said | None:
    """What is said beside a file of results; None where nothing is. Raises as analyze does."""
    from rooflight.answers.check.recorded import Said

    if model is None and on is None and not fields:
        return None
    load, layout = asked(None, None, fields)
    card, count = (None, None) if on is None else devices_of(on)
    return Said(
        model=None if model is None else model_named(model), accelerator=card, count=count, workload=load,
        deployment=layout, stated=frozenset(fields),
    )  # fmt: skip


@partial(by_name, without=NOT_CLAIMED)
def claim(
    model: str | Path | Model,
    on: str | Accelerator,
    *,
    output_tok_s: float | None = None,
    output_tok_s_per_gpu: float | None = None,
    output_tok_s_per_user: float | None = None,
    total_tok_s: float | None = None,
    prefill_tok_s: float | None = None,
    ttft_ms: float | None = None,
    tpot_ms: float | None = None,
    e2e_latency_ms: float | None = None,
    calibration: str | Path | OwnCalibration | None = None,
    **fields: Unpack[ClaimFields],
) -> Report:
    """Whether claimed values are possible, and as fast as they should be: a verdict each, and on all together.

    Values are tokens a second (_tok_s) or milliseconds (_ms), one or several of one run. Fields are given by name
    alone, for what is not stated stays open: without `batch` a rate of all sequences is held against every batch.

    Raises BadInput and its kinds for a malformed question or no value, MissingFact for a number nobody published.
    """
    from rooflight.answers.check.claims import claims_of
    from rooflight.words.verdicts import claimed

    values = claims_of(
        {
            "output_tok_s": output_tok_s, "output_tok_s_per_gpu": output_tok_s_per_gpu,
            "output_tok_s_per_user": output_tok_s_per_user, "tpot_ms": tpot_ms, "ttft_ms": ttft_ms,
            "prefill_tok_s": prefill_tok_s, "e2e_latency_ms": e2e_latency_ms, "total_tok_s": total_tok_s,
        },
        fields,
    )  # fmt: skip
    return claimed(make_scenario(model, on, calibration=calibration, **fields), values, fields.keys())
