"""What `explain` answers, as text and as rows: rooflight.explain/1."""

from __future__ import annotations

from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, rows_of
from rooflight.values.explain import Explained, Term
from rooflight.words.explain import example
from rooflight.words.quantities import called, shown


def blocks(found: Explained) -> list[Block]:
    """The sentence, what was given, what follows with its formula, and what was assumed."""
    page: list[Block] = [Prose(found.answer, "answer")]
    if found.term is not None:
        return page + _term(found.term)
    if found.terms:
        heads = ("term", "what it is")
        rows = tuple((one.name, one.title) for one in found.terms)
        return [*page, Table(heads=heads, left=heads, whole=("term",), rows=rows)]
    if found.derived:
        page.append(_table(found))
    return [*page, Bullets("To know:", found.notes)] if found.notes else page


def _term(one: Term) -> list[Block]:
    page: list[Block] = [Prose(f"What it does not mean: {one.not_means}")]
    if one.conversion:
        page.append(Prose(f"Conversion: {one.conversion}."))
    if one.example:
        page.append(Prose(f"For example: {example(one)}."))
    if one.aliases:
        page.append(Bullets("Other names:", one.aliases))
    return [*page, Prose(f"See also: {', '.join(one.see)}.", "note")] if one.see else page


def _table(found: Explained) -> Table:
    heads = ("value", "is", "from")
    given = [(called(one.name), shown(one.name, one.value), "given") for one in found.given]
    made = [
        (one.what, shown(one.name, one.value), f"{one.formula}\n= {one.numbers}" if one.formula else one.numbers)
        for one in found.derived
    ]
    return Table(heads=heads, left=("value", "from"), rows=(*given, *made))


def rows(found: Explained) -> Rows:
    """A value a row: given ones without a formula, then those that follow; of a term its fields; of none all terms."""
    if found.term is not None:
        one = found.term
        fields = ("name", "title", "means", "not_means", "conversion", "example", "example_words")
        return rows_of([{**{name: getattr(one, name) for name in fields}, "aliases": " ".join(one.aliases)}])
    if found.terms:
        return rows_of([{"name": one.name, "title": one.title} for one in found.terms])
    given = [{"name": one.name, "value": one.value, "unit": one.unit, "given": True} for one in found.given]
    made = [
        {"name": one.name, "value": one.value, "unit": one.unit, "given": False, "formula": one.formula}
        for one in found.derived
    ]
    return Rows(
        ("name", "value", "unit", "given", "formula"),
        [[row.get(name, "") for name in ("name", "value", "unit", "given", "formula")] for row in (*given, *made)],
    )
