"""The text that programs export for Prometheus, as series: its own lines, and OpenMetrics'.

A line is read here by two patterns; what they do not take goes to prometheus_client's parser, which alone would need
three times as long and stop at the first bad line. Of a bad line is said that it was left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rooflight.values.scraped import Scrape, Series

# Series by their names and labels, with the times that stand beside them.
_Part = tuple[dict[str, Series], list[float]]
# Lines longer than that are no series.
_LONGEST = 1 << 16
# After so many lines that the library does not take either it is asked no more: it takes its time.
_MOST_BAD = 1000
# A time above is in milliseconds (Prometheus), below in seconds (OpenMetrics); both have few other digits.
_MILLI = 1e11
_LINE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:[ \t]*\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+'
    r"([-+0-9a-zA-Z.]+)(?:[ \t]+(-?[0-9]+(?:\.[0-9]+)?))?[ \t]*(?:#.*)?",
    re.ASCII,
)
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|$)', re.ASCII)
_ESCAPED = re.compile(r"\\(.)")
_EXPOSED = re.compile(
    r"^[ \t]{0,16}(?:"
    r"# (?:TYPE [a-zA-Z_:][\w:]* (?:gauge|counter|histogram|summary|untyped|unknown|info)|HELP [a-zA-Z_:][\w:]* )|"
    r'[a-zA-Z_:][\w:]*\{[a-zA-Z_]\w*="[^"\n]*"[^}\n]*\} [-+0-9.eEINan]+)',
    re.MULTILINE,
)


def exposed(text: str) -> bool:
    """Whether a text looks like what is scraped from a /metrics address."""
    return _EXPOSED.search(text) is not None


def scrapes(text: str, known: Callable[[str], bool], notes: list[str]) -> tuple[Scrape, ...]:
    """The scrapes in a text, one after another, each with its series whose name is known.

    A text has several where curl's output was appended to one file: a series that comes again begins the next.
    notes   gets what was left out
    """
    parts: list[_Part] = []
    held: dict[str, Series] = {}
    times: list[float] = []
    bad, first_bad = 0, ""
    names: dict[str, bool] = {}
    labels: dict[str, dict[str, str]] = {}
    # other separators than these may stand within a label
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        line = raw.lstrip(" \t")
        if not line or line[0] == "#" or line.isspace():
            continue
        name, series, key, time_s = "", None, "", None
        matched = _LINE.fullmatch(line) if len(line) <= _LONGEST else None
        if matched is not None:
            name, given, value, time = matched.groups()
            wanted = names.get(name)
            if wanted is None:
                wanted = names[name] = known(name)
            if not wanted:
                continue
            series = _series(name, given or "", value, labels)
            key, time_s = f"{name}{{{given}", None if time is None else float(time)
        if series is None:
            series, time_s = _odd(line) if bad < _MOST_BAD else (None, None)
            if series is None:
                bad += 1
                first_bad = first_bad or f"line {number:,}"
                continue
            if not known(series.name):
                continue
            key = f"{series.name}{{{sorted(series.labels.items())}"
        if key in held:
            parts.append((held, times))
            held, times = {}, []
        held[key] = series
        if time_s is not None:
            times.append(time_s / 1000 if time_s > _MILLI else time_s)
    if held:
        parts.append((held, times))
    if bad:
        words = "line is" if bad == 1 else "lines are"
        notes.append(f"{bad:,} {words} no series and left out (the first: {first_bad})")
    return _whole(parts, notes)


def _whole(parts: list[_Part], notes: list[str]) -> tuple[Scrape, ...]:
    """Parts between repeated series as scrapes; where only a few series stand twice, the last of each is taken."""
    found: list[_Part] = []
    for series, times in parts:
        if found:
            before = found[-1][0]
            if 2 * len(before.keys() & series.keys()) < min(len(before), len(series)):
                before.update(series)
                found[-1][1].extend(times)
                continue
        found.append((series, times))
    if len(found) < len(parts):
        notes.append("some series stand in it more than once: the last value of each is taken")
    return tuple(Scrape(series=tuple(series.values()), time_s=max(times, default=None)) for series, times in found)


def _series(name: str, given: str, value: str, seen: dict[str, dict[str, str]]) -> Series | None:
    """A series of the usual form; None: the line is odd."""
    found = seen.get(given)
    if found is None:
        pairs = _pairs(given)
        if pairs is None:
            return None
        found = seen[given] = pairs
    try:
        return Series(name, found, float(value))
    except ValueError:
        return None


def _pairs(given: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    at = 0
    while at < len(given):
        matched = _LABEL.match(given, at)
        if matched is None:
            return None if given[at:].strip() else found
        name, value = matched.groups()
        found[name] = _ESCAPED.sub(_unescaped, value) if "\\" in value else value
        at = matched.end()
    return found


def _unescaped(matched: re.Match[str]) -> str:
    return {"n": "\n"}.get(matched[1], matched[1])


def _odd(line: str) -> tuple[Series | None, float | None]:
    """A line that prometheus_client understands (names in quotes, say), with its time in seconds."""
    if len(line) > _LONGEST or "{" not in line:
        return None, None
    from prometheus_client.parser import text_string_to_metric_families

    try:
        (one,) = [one for family in text_string_to_metric_families(line + "\n") for one in family.samples]
        time_s = None if one.timestamp is None else float(one.timestamp)
        return Series(one.name, dict(one.labels), float(one.value)), time_s
    except Exception:  # it raises whatever it meets: ValueError, IndexError, KeyError
        return None, None
