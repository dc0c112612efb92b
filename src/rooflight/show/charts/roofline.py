"""The roofline: how fast a phase can run for the arithmetic it does per byte, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooflight.show import numbers
from rooflight.show.charts import ghosts, roof_rows
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.kernel_dots import Samples, dots_read
from rooflight.show.charts.layers import Column, finished, hue, log_x, log_y, sized, table, words
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roof_lines import Level
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, setting, short, source, step_words, times, where
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Analysis
from rooflight.values.moves import Moves
from rooflight.values.sweep import Landmarks

rows = roof_rows.rows

_OPERATORS = (
    Column("", "mark", 0.0, hued=True),
    Column("operator", "name", 0.08),
    Column("bound by", "bound", 0.36),
    Column("FLOP/byte", "intensity", 0.66, right=True),
    Column("time", "time", 0.84, right=True),
    Column("share", "share_text", 1.0, right=True),
)
_MACHINES = (
    Column("", "mark", 0.0, hued=True),
    Column("devices", "name", 0.05, hued=True),
    Column("memory", "memory", 0.43, right=True),
    Column("peak", "peak", 0.67, right=True),
    Column("decode", "decode", 0.83, right=True),
    Column("prefill", "prefill", 1.0, right=True),
)
READ = (
    "Diamonds: a phase at its roofline time; the ring below is what a well-run engine gets, with its interval. "
    "Circles: operators, larger the more of the time they take, numbered as in the table. Both axes are logarithmic."
)
_READ_SEVERAL = (
    "Diamonds: decode (D) and prefill (P) at roofline time, numbered and coloured as in the table; times are of one "
    "step. Both axes are logarithmic."
)


def roofline(
    *analyses: Analysis,
    landmarks: Sequence[Landmarks] = (),
    measured: Accelerator | None = None,
    levels: Sequence[Level] | bool = False,
    after: Analysis | None = None,
    samples: Samples = (),
    moves: Moves | None = None,
    look: Look = STANDARD,
) -> Chart:
    """Roofs, ridges and dots of one deployment, or the phases of up to four side by side.

    landmarks   one an analysis, for the batch that reaches the ridge
    measured    the same device as measured: its roofs dashed beside the datasheet's
    levels      further memory levels with a known rate, such as a last-level cache; True: those of a single machine
    after       the deployment after a move: an arrow leads to each phase's new place
    samples     kernels that were timed, or several sets of them by name: squares under the roofs
    moves       of the deployment: hollow dots where the best of them would put a phase

    Of a measured machine the roofs are medians and its datasheet's stand beside, dashed; its caches are levels.
    """
    data = rows(
        *analyses, landmarks=landmarks, measured=measured, levels=levels, after=after, samples=samples, look=look
    )
    data = ghosts.added(data, moves, look)
    alt = altair()
    several = len(analyses) > 1 or after is not None
    head = "Side by side" if several else "Where the time goes"
    columns = [
        column for column in (_MACHINES if several else _OPERATORS) if column.field != "memory" or not look.narrow
    ]
    beside = [table("table", columns, look, rows=len(data["table"]), title=head)] if data["table"] else []
    main = alt.layer(*roof_layers(look), *sample_layers(look), *_dots(look), *ghosts.layers(look)).resolve_scale(
        size="independent"
    )
    return finished(
        "roofline",
        sized(main, look),
        data,
        look,
        title=_title(analyses, after),
        subtitle=stands(analyses, landmarks),
        notes=tuple(
            note
            for note in (
                _READ_SEVERAL if several else READ,
                _levels_read(data),
                dots_read(samples),
                ghosts.read(data, moves),
                source(analyses),
            )
            if note
        ),
        beside=beside,
    )


def _levels_read(data: Datasets) -> str:
    """How to read the dotted lines, where there are any."""
    drawn = any(row["kind"] == "level" for row in data["roofs"])
    return "Thin dotted lines: what comes out of that level of memory alone is no faster." if drawn else ""


def roof_layers(look: Look) -> list[Any]:
    """Zones, slopes and flats, ridges, and their names."""
    alt = altair()
    palette, of = look.palette, alt.NamedData
    corners = (
        alt.Chart(of("corners"))
        .mark_point(opacity=0)
        .encode(log_x("FLOP per byte of memory traffic"), log_y("FLOP per second, all devices"))
    )
    zones = alt.Chart(of("zones")).mark_rect(opacity=palette.wash).encode(x="x:Q", x2="x2:Q", color=hue(look))
    lines = alt.Chart(of("roofs")).mark_line(clip=True).encode(
        x="x:Q", y="y:Q", detail="roof:N", color=hue(look),
        strokeDash=alt.StrokeDash("line:N", legend=None, scale=alt.Scale(
            domain=["solid", "dashed", "dotted"], range=[[1, 0], [6, 4], [2, 3]])),
        strokeWidth=alt.StrokeWidth("line:O", legend=None, scale=alt.Scale(
            domain=["solid", "dashed", "dotted"], range=[2, 2, 1.2])),
    )  # fmt: skip
    ridges = alt.Chart(of("ridges")).mark_rule(strokeDash=[2, 3]).encode(x="x:Q", y="y:Q", y2="y2:Q", color=hue(look))
    links = (
        alt.Chart(of("links"))
        .mark_rule(strokeWidth=2, strokeDash=[6, 3])
        .encode(x="x:Q", x2="x2:Q", y="y:Q", color=hue(look))
    )
    named = [*words("zone_names", look, color=hue(look)), *words("roof_names", look, color=hue(look), align="right")]
    return [corners, zones, ridges, lines, links, *named, *words("ridge_names", look, align="left"),
            *words("link_names", look, color=hue(look))]  # fmt: skip


def sample_layers(look: Look) -> list[Any]:
    """Kernels that were timed: squares, and the interval of their runs."""
    alt = altair()
    tips = [alt.Tooltip("operator:N"), alt.Tooltip("name:N", title="kernel"), alt.Tooltip("format:N"),
            alt.Tooltip("x:Q", format=".3s", title="FLOP/byte"), alt.Tooltip("y:Q", format=".3s", title="FLOP/s"),
            alt.Tooltip("time:N"), alt.Tooltip("set:N")]  # fmt: skip
    base = alt.Chart(alt.NamedData("samples")).encode(x="x:Q", color=hue(look))
    runs = base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    squares = base.mark_point(
        shape="square", size=42, filled=True, opacity=0.85, stroke=look.palette.paper, strokeWidth=1
    ).encode(y="y:Q", tooltip=tips)  # fmt: skip
    return [runs, squares]


def _dots(look: Look) -> list[Any]:
    """Operators, phases with what is expected of them, moves, and their labels."""
    alt = altair()
    palette, of = look.palette, alt.NamedData
    tips = [alt.Tooltip("name:N"), alt.Tooltip("bound:N"), alt.Tooltip("x:Q", format=".3s", title="FLOP/byte"),
            alt.Tooltip("y:Q", format=".3s", title="FLOP/s"), alt.Tooltip("time:N")]  # fmt: skip
    operators = alt.Chart(of("operators")).mark_circle(opacity=0.75, stroke=palette.paper, strokeWidth=1).encode(
        x="x:Q", y="y:Q", color=hue(look), tooltip=[*tips, alt.Tooltip("share:Q", format=".1%")],
        size=alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[30, 900])),
    )  # fmt: skip
    spans = alt.Chart(of("expected")).mark_rule(strokeWidth=2).encode(x="x:Q", y="low:Q", y2="high:Q", color=hue(look))
    rings = (
        alt.Chart(of("expected"))
        .mark_point(size=70, fill=palette.paper, strokeWidth=2, opacity=1)
        .encode(x="x:Q", y="y:Q", color=hue(look), tooltip=tips)
    )
    phases = alt.Chart(of("phases")).mark_point(
        shape="diamond", size=190, filled=True, opacity=1, stroke=palette.paper, strokeWidth=1.5
    ).encode(x="x:Q", y="y:Q", color=hue(look), tooltip=tips)  # fmt: skip
    moves = alt.Chart(of("moves")).encode(x="x:Q", y="y:Q")
    shafts = moves.mark_rule(strokeWidth=2, color=palette.ink).encode(x2="x2:Q", y2="y2:Q")
    heads = alt.Chart(of("moves")).mark_point(
        shape="triangle", filled=True, size=110, color=palette.ink, angle=alt.ExprRef("datum.angle"), opacity=1
    ).encode(x="x2:Q", y="y2:Q")  # fmt: skip
    named = [
        *words("operator_names", look, fontSize=look.size - 1),
        *words("phase_names", look, color=hue(look), fontWeight=600),
    ]
    return [spans, operators, rings, shafts, heads, phases, *named, *words("move_names", look, fontWeight=600)]


def _title(analyses: Sequence[Analysis], after: Analysis | None) -> str:
    """The sentence above: what binds each phase."""
    first = analyses[0]
    phases = first.phases
    if len(analyses) > 1:
        return _fastest(analyses)
    if not phases:
        return first.answer
    if after is not None and after.phases:
        gained = roof_rows.gains(first, after).items()
        gains = [
            f"{name} {'unchanged' if times(gain) == times(1) else f'{times(gain)} the tok/s'}" for name, gain in gained
        ]
        return f"{setting(first)} to {setting(after)}, as expected: {', '.join(gains)}"
    return f"{deployed(first)}: {step_words(phases)}"


def _fastest(analyses: Sequence[Analysis]) -> str:
    """Of several, the one with most decode tokens a second."""
    rates = {where(one): one.phases["decode"].tokens_per_s.roofline for one in analyses if "decode" in one.phases}
    model = short(analyses[0].model.id)
    if not rates:
        return f"{model} fits on none of {', '.join(where(one) for one in analyses)}"
    best = max(rates, key=lambda name: rates[name])
    return f"{model}: decode is fastest on {best}, {numbers.plain(rates[best])} tok/s at roofline time"


def stands(analyses: Sequence[Analysis], landmarks: Sequence[Landmarks]) -> str:
    """How far decode is from the ridge, and the batch that gets there."""
    phases = analyses[0].phases
    if "decode" not in phases or len(analyses) > 1:
        return ""
    decode = phases["decode"]
    if decode.ridge_flop_per_byte is None:
        return (
            f"Decode does {numbers.plain(decode.intensity_flop_per_byte)} FLOP for each byte it moves; nobody "
            "published a peak, and so no ridge point."
        )
    ratio = decode.ridge_flop_per_byte / decode.intensity_flop_per_byte
    side = f"{times(ratio)} below" if ratio > 1 else f"{times(1 / ratio)} above"
    said = (
        f"Decode does {numbers.plain(decode.intensity_flop_per_byte)} FLOP for each byte it moves, {side} the ridge "
        f"point, {numbers.plain(decode.ridge_flop_per_byte)}"
    )
    if not landmarks:
        return f"{said}."
    mark = landmarks[0]
    if mark.ridge_batch is None:
        why = "no batch gets there, since each sequence brings its own cache"
        return f"{said}; at {mark.context:,} tokens of context {why}."
    beyond = (
        f", though only {mark.kv_limit:,} fit" if mark.kv_limit is not None and mark.ridge_batch > mark.kv_limit else ""
    )
    return f"{said}, which a batch of {mark.ridge_batch:,} reaches{beyond}."
