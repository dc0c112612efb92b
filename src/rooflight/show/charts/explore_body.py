"""The page's elements, filled in as it was asked: they tell the answer before any script runs, and on paper."""

from __future__ import annotations

import html
from collections.abc import Sequence

from rooflight.show import figures
from rooflight.show.charts import roof_rows
from rooflight.show.charts.explore_rows import LOOKS, OPERATORS, Asked, headed, listed, run_cells, told
from rooflight.show.charts.grid import Grid
from rooflight.show.charts.place import Rows
from rooflight.show.charts.roofline import READ
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.wording import deployed, rated, short
from rooflight.words.seen import three_times

# Each slider's axis, its name, and what is said behind that where there is room.
_SLIDERS = (("batch", "Batch", "sequences at once"), ("context", "Context", "tokens of each"))
_CHARTS = (
    ("batch-chart", "Throughput by batch"),
    ("users-chart", "Speed of each user by batch"),
    ("waterfall-chart", "From the ceiling to what is expected"),
    ("memory-chart", "Memory"),
)
_SEVERAL = (
    "Diamonds: decode{d} and prefill{p} of each scenario at roofline time, with its {mark} and in its colour. Of the "
    "one in focus: circles are operators, larger the more of the time they take; rings are what a well-run engine "
    "gets, with its interval. Both axes are logarithmic."
)
_ALONG = "Along the batch: full lines are what a well-run engine gets, eight times of ten within what is drawn around."
_FOCUSED = " Zones and knee are of the scenario in focus."
_RUNS = (
    f"{figures.READ} TTFT: until the first token, waiting included. TPOT: each token after it, prompts of others"
    " between its steps included. Compute and bandwidth: what is used of the datasheet's rates."
)
_TROUBLE = (
    '<p id="trouble" role="status" hidden>This browser cannot unpack the page (it takes one of 2023 or newer): figures '
    "are as was asked, and pictures may be missing.</p>"
)
_HEADS = ("operator", "bound by", "FLOP/byte", "time", "share")


def title(grid: Grid) -> str:
    """What the page is of: the models, and the scenarios' names where there are several."""
    if len(grid.names) == 1:
        return grid.names[0]
    models = dict.fromkeys(short(answer.model.id) for answer in grid.started)
    return f"{', '.join(models)}: {'; '.join(tag.whole for tag in grid.tags)}"


def body(grid: Grid, focus: int, asked: Asked) -> str:
    """Everything; each word from outside is escaped."""
    answer = grid.started[focus]
    said = {name: _text(text) for name, text in told(answer).items()}
    several = len(grid.names) > 1
    read = _several(grid) if several else READ
    heads = headed(grid.tags[focus], answer, several=several)
    small = "".join(_section(name, head, of=heads.get(name)) for name, head in _CHARTS)
    return (
        f"<main><h1>{_text(title(grid))}</h1>{_controls(grid, focus)}{_TROUBLE}"
        f'<div aria-live="polite"><p id="answer">{said["answer"]}</p><p id="step">{said["step"]}</p>'
        f'<p id="caveat">{said["caveat"]}</p></div><p class="read" id="times">{_text(_times(grid))}</p>'
        f"{_runs(grid, focus, asked)}"
        f'<div class="charts">{_section("roofline-chart", "Roofline", whole=True, below=read)}{small}'
        f"{_operators(grid, focus)}</div>{_assumed(grid)}"
        f"<footer>{_text(f'{_ALONG}{_FOCUSED * several} {rated(grid.started)}')} "
        "All figures were computed when this page was written; the sliders look them up.</footer></main>"
    )


def _several(grid: Grid) -> str:
    lettered = grid.tags[0].lettered
    marks = {"d": "", "p": "", "mark": "letter"} if lettered else {"d": " (D)", "p": " (P)", "mark": "number"}
    return _SEVERAL.format(**marks)


def _times(grid: Grid) -> str:
    """How the times of a step differ, of machines as printed and as measured."""
    kinds = dict.fromkeys(answer.accelerator.measured is not None for answer in grid.started if answer.phases)
    return " ".join(three_times(measured=measured) for measured in kinds)


def _text(said: str) -> str:
    return html.escape(said)


def _controls(grid: Grid, focus: int) -> str:
    """The scenarios, the sliders, and the way back to what was asked. All wait for the tables."""
    chosen = "".join(
        f'<label class="pick"><input type="radio" name="focus" value="{number}"'
        f"{' checked' * (number == focus)} disabled>"
        f'{_chip(tag)}<span class="name">{_text(tag.name)}</span></label>'
        for number, tag in enumerate(grid.tags)
    )
    picks = f"<fieldset><legend>Scenario in focus</legend>{chosen}</fieldset>" if len(grid.names) > 1 else ""
    at = grid.asked[focus]
    values = {"batch": (grid.batches, at.batch), "context": (grid.contexts, at.context)}
    sliders = "".join(
        f'<label class="slider" for="{axis}">{name}<span class="more">, {more}</span>: '
        f'<output id="{axis}-value" for="{axis}">{some[place]:,}</output>'
        f'<input type="range" id="{axis}" min="0" max="{len(some) - 1}" step="1" value="{place}" '
        f'aria-valuetext="{some[place]:,}" autocomplete="off" disabled></label>'
        for axis, name, more in _SLIDERS
        for some, place in [values[axis]]
    )
    back = '<button type="button" id="asked" aria-pressed="true" disabled>As asked</button>'
    return f'<form id="controls" autocomplete="off">{picks}<div class="sliders">{sliders}{back}</div></form>'


def _chip(tag: Tag) -> str:
    return f'<span class="chip hue-{tag.hue}">{tag.mark}</span>'


def _runs(grid: Grid, focus: int, asked: Asked) -> str:
    """The run of each scenario, a row each."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("scenario", *asked.heads))
    several = len(grid.names) > 1
    rows = "".join(
        f'<tr{" class=focus" * (several and number == focus)}><th scope="row">{_who(grid, number)}</th>'
        f"{_cells(run_cells(grid, asked, number, at), len(asked.heads))}</tr>"
        for number, at in enumerate(grid.asked)
    )
    best = f'<p id="standing">As asked: {_text(asked.standing)}</p>' if asked.standing else ""
    return (
        f"<section><h2>The run</h2>{best}"
        '<div class="box" role="region" aria-label="The run of each scenario" tabindex="0">'
        f'<table id="runs"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="read">{_text(_RUNS)}</p></section>'
    )


def _who(grid: Grid, number: int) -> str:
    """A scenario by name, with what it is and where it stands."""
    answer = grid.started[number]
    chip = _chip(grid.tags[number]) if len(grid.names) > 1 else ""
    what = deployed(answer)
    what = "" if what == grid.names[number] else f"{what}; "
    load = answer.workload
    lengths = f"{load['isl']:,} in, {load['osl']:,} out"
    at = grid.asked[number]
    place = f"batch {grid.batches[at.batch]:,}, {grid.contexts[at.context]:,} of context"
    return (
        f'{chip}<span class="name">{_text(grid.names[number])}</span>'
        f'<small class="what">{_text(what + lengths)}</small><small class="at">{place}</small>'
    )


def _cells(cells: Rows, columns: int) -> str:
    """The cells of a row; one that is alone is as wide as all of them."""
    across = f" class=trouble colspan={columns}" * (len(cells) == 1)
    return "".join(
        f"<td{' class=missed' * cell['missed']}{across}>{_text(cell['text'])}"
        f"<small>{_text(cell['beside'])}</small><small>{_text(cell['goal'])}</small></td>"
        for cell in cells
    )


def _section(name: str, head: str, *, whole: bool = False, of: str | None = None, below: str = "") -> str:
    """A chart's place. of: what stands behind its heading, where that is of the scenario in focus."""
    behind = "" if of is None else f'<span class="of">{_text(of)}</span>'
    read = f'<p class="read">{_text(below)}</p>' if below else ""
    return (
        f'<section{" class=whole" * whole}><h2>{head}{behind}</h2><div class="chart" id="{name}" role="img" '
        f'aria-label="{head}"></div>{read}</section>'
    )


def _operators(grid: Grid, focus: int) -> str:
    several = len(grid.names) > 1
    answer = grid.started[focus]
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("phase" if several else "dot", *_HEADS))
    table = listed(roof_rows.rows(answer, look=LOOKS["wide"])["table"], several=several)
    rows = "".join(f"<tr>{''.join(f'<td>{_text(str(row[name]))}</td>' for name in OPERATORS)}</tr>" for row in table)
    of = _text(headed(grid.tags[focus], answer, several=several)["operators"])
    return (
        f'<section class="whole"><h2>Where the time goes<span class="of">{of}</span></h2>'
        f'<p class="none"{" hidden" * bool(table)}>It does not fit, and so there are no times.</p>'
        '<div class="box" role="region" aria-label="Operators" tabindex="0">'
        f'<table id="operators"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def _assumed(grid: Grid) -> str:
    """What each scenario takes for granted, and what there is to know about it."""
    return "".join(
        f"<details><summary>What is taken for granted: {_text(tag.whole)}</summary><ul>{_points(answer.warnings)}"
        f"{_points(answer.assumptions)}</ul></details>"
        for tag, answer in zip(grid.tags, grid.started, strict=True)
    )


def _points(said: Sequence[str]) -> str:
    return "".join(f"<li>{_text(one)}</li>" for one in said)
