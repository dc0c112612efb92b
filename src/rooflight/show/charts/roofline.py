"""The roofline: how fast a phase can run for the arithmetic it does per byte, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.charts import ghosts, roof_rows, run_table, tips
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.kernel_dots import Samples, dots_read
from rooflight.show.charts.layers import Column, finished, hue, log_x, log_y, sized, table, words
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roof_lines import SHARED, Level
from rooflight.show.charts.run_table import Runs
from rooflight.show.charts.tag import BEFORE, Tag, numbered
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, setting, short, source, step_words, times
from rooflight.units import several
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Analysis
from rooflight.values.moves import Moves
from rooflight.values.sweep import Landmarks

rows = roof_rows.rows

_OPERATORS = (
    Column("", "mark", 0.0, hued=True),
    Column("operator", "name", 0.08),
    Column("bound by", "bound", 0.34),
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


def roofline(
    *analyses: Analysis,
    landmarks: Sequence[Landmarks] = (),
    measured: Accelerator | None = None,
    levels: Sequence[Level] | bool = False,
    after: Analysis | None = None,
    samples: Samples = (),
    names: Sequence[str] = (),
    tags: Sequence[Tag] = (),
    moves: Moves | None = None,
    runs: Runs | None = None,
    look: Look = STANDARD,
) -> Chart:
    """Roofs, ridges and dots of one deployment, or the phases of up to four side by side.

    landmarks   one an analysis, for the batch that reaches the ridge
    measured    the same device as measured: its roofs dashed beside the datasheet's
    levels      further memory levels with a known rate, such as a last-level cache; True: those of a single machine
    after       the deployment after a move: an arrow leads to each phase's new place
    samples     kernels that were timed, or several sets of them by name: squares under the roofs
    names       what the analyses are called, `after` last; left out: their devices. Roofs that are equal are drawn once
    tags        whose each is, with a letter and a hue, in place of names and numbers in this order
    moves       of the deployment: hollow dots where the best of them would put a phase
    runs        a table of what the runs get, in place of that of several deployments

    Of a measured machine the roofs are medians and its datasheet's stand beside, dashed; its caches are levels.
    """
    data = rows(
        *analyses, landmarks=landmarks, measured=measured, levels=levels, after=after, samples=samples, names=names,
        tags=tags, look=look,
    )  # fmt: skip
    data = ghosts.added(data, moves, look)
    if runs is not None:
        data["runs"] = run_table.rows(runs, look)
    alt = altair()
    several = len(analyses) > 1 or after is not None
    main = alt.layer(*roof_layers(look), *sample_layers(look), *_dots(look), *ghosts.layers(look)).resolve_scale(
        size="independent"
    )
    return finished(
        "roofline",
        sized(main, look),
        data,
        look,
        title=_title(analyses, after, names, tags),
        subtitle=stands(analyses, landmarks),
        notes=tuple(
            note
            for note in (
                marks_read(data, several=several, moved=after is not None, letters=any(tag.lettered for tag in tags)),
                dots_read(samples),
                ghosts.read(data, moves),
                source(analyses),
            )
            if note
        ),
        beside=_tables(data, several, runs, look),
    )


def _tables(data: Datasets, several: bool, runs: Runs | None, look: Look) -> list[Any]:
    """What stands beside the plot or below: runs, operators, several deployments where no runs are told of them."""
    found = [] if runs is None else [run_table.drawn(runs, len(data["runs"]), look)]
    if data["table"] and not (runs is not None and several):
        columns = [_fitted(column, look) for column in (_MACHINES if several else _OPERATORS)]
        columns = [column for column in columns if column.field != "memory" or not look.narrow]
        title = "Side by side" if several else "Where the time goes"
        found.append(table("table", columns, look, rows=len(data["table"]), title=title))
    return found


def _fitted(column: Column, look: Look) -> Column:
    """With a head that has room where the picture is narrow."""
    short_head = look.narrow and column.head == "bound by"
    return msgspec.structs.replace(column, head="bound") if short_head else column


def marks_read(data: Datasets, *, several: bool, moved: bool = False, letters: bool = False) -> str:
    """How to read the marks that are there, and no others."""
    said = []
    if data["phases"]:
        how = "with its letter and in its colour as" if letters else "numbered and coloured as"
        named = f", {how} in the table" if several else ""
        said.append(f"Diamonds: a phase at its roofline time{named}.")
    if data["expected"]:
        aside = " and a little aside, so that none covers another" if several else ""
        said.append(f"The ring below{aside}, with its interval, is what a well-run engine gets.")
    if data["operators"]:
        said.append("Circles: operators, larger the more of the time they take, numbered as in the table.")
    if data["would"]:
        said.append("Upright dotted lines: the intensity of steps that do not fit in memory, and so have no time.")
    if data["moves"]:
        said.append("Arrows: from before to after, with the gain at roofline time.")
    elif moved and data["phases"]:
        said.append("No phase moves far enough for an arrow.")
    if data["links"]:
        said.append("Dashed bars: how fast a phase could go if its link alone set the pace.")
    if any(row["kind"] == "level" for row in data["roofs"]):
        said.append("Thin dotted lines: what comes out of that level of memory alone is no faster.")
    if any(row["hue"] == SHARED for row in data["roofs"]):
        said.append("A roof in the colour of the text is that of several.")
    return " ".join([*said, "Both axes are logarithmic."])


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
    roof_tip = tips.tip(roof=tips.of("roof"), rate=tips.amount("rate", "") + " + datum.unit", source=tips.of("kind"))
    # broader than they look: a line of 2 px is hard to point at. From end to end: a line answers near its points alone
    touched = (
        alt.Chart(of("roofs"))
        .transform_window(x2="lead(x)", y2="lead(y)", groupby=["roof"])
        .transform_filter("isValid(datum.x2)")
        .mark_rule(clip=True, strokeWidth=12, opacity=0, tooltip=roof_tip)
        .encode(x="x:Q", y="y:Q", x2="x2:Q", y2="y2:Q")
    )
    ridge_tip = tips.tip(
        ridge_point_of=tips.of("name"), at=tips.plain("x", " FLOP/byte"), peak=tips.amount("y2", "FLOP/s"),
        decode_gets_there_at_batch=tips.count("batch"),
    )  # fmt: skip
    ridge = alt.Chart(of("ridges")).encode(x="x:Q", y="y:Q", y2="y2:Q")
    ridges = [
        ridge.mark_rule(strokeWidth=10, opacity=0, tooltip=ridge_tip),
        ridge.mark_rule(strokeDash=[2, 3], tooltip=ridge_tip).encode(color=hue(look)),
    ]
    link_tip = tips.tip(link=tips.of("name"), of=tips.of("series"), at_most=tips.amount("y", "FLOP/s"),
                        time_of_the_link_alone=tips.of("time"))  # fmt: skip
    links = (
        alt.Chart(of("links"))
        .mark_rule(strokeWidth=2, strokeDash=[6, 3], tooltip=link_tip)
        .encode(x="x:Q", x2="x2:Q", y="y:Q", color=hue(look))
    )
    named = [*words("zone_names", look, color=hue(look)), *words("roof_names", look, color=hue(look), align="right")]
    would = alt.Chart(of("would")).mark_rule(strokeDash=[1, 4], strokeWidth=2.5, tooltip=_would_tip()).encode(
        x="x:Q", y="bottom:Q", y2="y:Q", color=hue(look)
    )  # fmt: skip
    return [corners, zones, would, touched, *ridges, lines, links, *named, *words("ridge_names", look, align="left"),
            *words("link_names", look, color=hue(look))]  # fmt: skip


def sample_layers(look: Look) -> list[Any]:
    """Kernels that were timed: squares, and the interval of their runs."""
    alt = altair()
    said = tips.tip(
        operator=tips.of("operator"), kernel=tips.of("name"), format=tips.of("format"),
        intensity=tips.plain("x", " FLOP/byte"), speed=tips.amount("y", "FLOP/s"),
        eight_of_ten_runs=tips.span("low", "high", "FLOP/s"), time=tips.of("time"), set=tips.of("set"),
        also_here=tips.of("also"),
    )  # fmt: skip
    base = alt.Chart(alt.NamedData("samples")).encode(x="x:Q", color=hue(look))
    runs = base.mark_rule(strokeWidth=1.5, tooltip=said).encode(y="low:Q", y2="high:Q")
    squares = base.mark_point(
        shape="square", size=42, filled=True, opacity=0.85, stroke=look.palette.paper, strokeWidth=1,
        tooltip=said,
    ).encode(y="y:Q")  # fmt: skip
    return [runs, squares]


def _dots(look: Look) -> list[Any]:
    """Operators, phases with what is expected of them, steps that do not fit, moves, and their labels."""
    alt = altair()
    palette, of = look.palette, alt.NamedData
    operators = alt.Chart(of("operators")).mark_circle(
        opacity=0.75, stroke=palette.paper, strokeWidth=1, tooltip=_operator_tip()
    ).encode(
        x="x:Q", y="y:Q", color=hue(look),
        size=alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[30, 900])),
    )  # fmt: skip
    expected = alt.Chart(of("expected")).encode(x="x:Q", color=hue(look))
    spans = expected.mark_rule(strokeWidth=2, tooltip=_expected_tip()).encode(y="low:Q", y2="high:Q")
    rings = expected.mark_point(size=70, fill=palette.paper, strokeWidth=2, opacity=1, tooltip=_expected_tip()).encode(
        y="y:Q"
    )
    # what was before is hollow, in the neutral hue
    phases = alt.Chart(of("phases")).mark_point(
        shape="diamond", size=190, opacity=1, strokeWidth=1.5, tooltip=_phase_tip(),
        fill=alt.ExprRef(f"datum.hue === '{BEFORE}' ? '{palette.paper}' : scale('color', datum.hue)"),
        stroke=alt.ExprRef(
            f"datum.hue === '{BEFORE}' ? scale('color', datum.hue) : '{palette.paper}'"
        ),
    ).encode(x="x:Q", y="y:Q")  # fmt: skip
    moved = tips.tip(phase=tips.of("name"), gain=tips.plain("gain", " x the tok/s at roofline time"),
                     before=tips.of("before"), after=tips.of("after"))  # fmt: skip
    moves = alt.Chart(of("moves")).encode(x="x:Q", y="y:Q")
    shafts = moves.mark_rule(strokeWidth=2, color=palette.ink, tooltip=moved).encode(x2="x2:Q", y2="y2:Q")
    heads = alt.Chart(of("moves")).mark_point(
        shape="triangle", filled=True, size=110, color=palette.ink, angle=alt.ExprRef("datum.angle"), opacity=1,
        tooltip=moved,
    ).encode(x="x2:Q", y="y2:Q")  # fmt: skip
    named = [
        *words("operator_names", look, fontSize=look.size - 1),
        *words("phase_names", look, color=hue(look), fontWeight=600),
    ]
    return [spans, operators, rings, shafts, heads, phases, *named,
            *words("move_names", look, fontWeight=600)]  # fmt: skip


def _operator_tip() -> Any:
    return tips.tip(
        operator=tips.of("name"), phase=tips.of("phase"), roofline_time=tips.of("time"),
        share_of_the_phase=tips.of("share_text"), intensity=tips.plain("x", " FLOP/byte"),
        speed=tips.amount("y", "FLOP/s"), bound_by=tips.of("bound"), also_here=tips.of("also"),
    )  # fmt: skip


def _phase_tip() -> Any:
    return tips.tip(
        phase=tips.of("name"), of=tips.of("series"), roofline_time=tips.of("time"),
        expected=tips.of("expected_time"), inferred=tips.of("inferred"), intensity=tips.plain("x", " FLOP/byte"),
        speed=tips.amount("y", "FLOP/s"), bound_by=tips.of("bound"), also_here=tips.of("also"),
    )  # fmt: skip


def _expected_tip() -> Any:
    return tips.tip(
        expected_of=tips.of("name"), of=tips.of("series"), time=tips.of("expected_time"),
        inferred=tips.of("inferred"), intensity=tips.plain("at", " FLOP/byte"), speed=tips.amount("y", "FLOP/s"),
        interval=tips.span("low", "high", "FLOP/s"), mostly=tips.of("bound"), also_here=tips.of("also"),
    )  # fmt: skip


def _would_tip() -> Any:
    return tips.tip(
        does_not_fit=tips.of("name"), of=tips.of("series"), intensity=tips.plain("x", " FLOP/byte"),
        roof_there=tips.amount("y", "FLOP/s"),
    )  # fmt: skip


def _title(analyses: Sequence[Analysis], after: Analysis | None, names: Sequence[str], tags: Sequence[Tag]) -> str:
    """The sentence above: what binds each phase."""
    first = analyses[0]
    phases = first.phases
    if len(analyses) > 1:
        return _fastest(analyses, tags or numbered(analyses, names), named=bool(names or tags))
    if not phases:
        return first.answer
    if after is not None and after.phases:
        gained = roof_rows.gains(first, after).items()
        gains = [
            f"{name} {'unchanged' if times(gain) == times(1) else f'{times(gain)} the tok/s'}" for name, gain in gained
        ]
        one, other = names[:2] if len(names) > 1 else (setting(first), setting(after))
        return f"{one} to {other}, as expected: {', '.join(gains)}"
    return f"{deployed(first)}: {step_words(phases)}"


def _fastest(analyses: Sequence[Analysis], tags: Sequence[Tag], *, named: bool) -> str:
    """Of several, the one with most decode tokens a second."""
    rates = [
        (one.phases["decode"].tokens_per_s.roofline, tag.whole)
        for one, tag in zip(analyses, tags, strict=True)
        if "decode" in one.phases
    ]
    models = dict.fromkeys(short(one.model.id) for one in analyses)
    said = f"{next(iter(models))}: " if len(models) == 1 else ""
    if not rates:
        return f"{', '.join(models)} fits on none of {', '.join(dict.fromkeys(tag.whole for tag in tags))}"
    best, name = max(rates, key=lambda one: one[0])
    fastest = f"the fastest decode is that of {name}" if named else f"decode is fastest on {name}"
    return f"{said}{fastest}, {numbers.plain(best)} tok/s at roofline time"


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
        return f"{said}; at {several(mark.context, 'token')} of context {why}."
    beyond = (
        f", though only {mark.kv_limit:,} fit" if mark.kv_limit is not None and mark.ridge_batch > mark.kv_limit else ""
    )
    return f"{said}, which a batch of {mark.ridge_batch:,} reaches{beyond}."
