"""Patterns that name modules: single ones, words, globs and expressions, asked about the paths of our matrices.

A layer's path is "layers.", its number and a suffix such as "mlp.down_proj". What a pattern says of the suffixes hangs
on where the number leaves it, which is the same for nearly all numbers: it is asked once for each such class of
layers, whatever their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from rooflight.catalog.config.expressions import Budget, Expression, Place, Unreadable, Walk, compiled, glob

# What may stand before the layers of the language model; others (vision, mtp ...) are of no concern here.
_PREFIX = re.compile(
    r"^(model\.|language_model\.|backbone\.|transformer\.|text_model\.|llm\.|decoder\.)*(layers|h|blocks)\."
)
_FOREIGN = re.compile(r"^(mtp|model\.mtp|.*(visual|vision|audio|projector|aligner|embed))")
_PREFIXES = ("model.", "", "language_model.model.", "model.language_model.", "backbone.", "transformer.")
_NUMBERED = re.compile(r"layers\.([0-9]+)(\.|$)")
_EXPRESSION = "re:"
_WILD = "*?["
# Less than a second of one core; 200 expressions for single experts in 94 layers take half of it.
MOST_STEPS = 800_000
OUTSIDE = -1  # the layer number of what stands in no layer


def is_wild(pattern: str) -> bool:
    """Whether a pattern is more than a name."""
    return pattern.startswith(_EXPRESSION) or any(mark in pattern for mark in _WILD)


def checked(pattern: str) -> None:
    """Raises Unreadable for a pattern that cannot be matched."""
    if is_wild(pattern):
        _expression(pattern)


def _expression(pattern: str) -> Expression:
    return compiled(pattern[len(_EXPRESSION) :]) if pattern.startswith(_EXPRESSION) else glob(pattern)


class _Wild(msgspec.Struct, frozen=True):
    """A glob or an expression: what may stand before a path, and the one layer it can mean (None: any)."""

    pattern: str
    form: str
    walk: Walk
    prefixes: tuple[str, ...]
    only: str | None = None


class _Branch(msgspec.Struct):
    """Suffixes that begin alike, as bits: all of them, and those that end here."""

    every: int = 0
    ends: int = 0
    longer: dict[str, _Branch] = {}


# What the wild patterns say of some suffixes in a layer: bits of suffixes, and the pattern that is the first for them.
_Hits = list[tuple[int, _Wild]]
# Layers by where their number leaves a pattern.
_Classes = list[tuple[frozenset[Place], list[int]]]


class Patterns:
    """Module patterns of a plan, asked about the paths of `layers` layers and of what stands outside of them.

    One that cannot be matched means nothing: that is said where the plan is read. Raises Endless, when asked, where
    they take too long to match.
    """

    def __init__(self, entries: Iterable[tuple[str, str]], layers: int, budget: Budget) -> None:
        self.exact: dict[str, str] = {}
        self.words: dict[str, tuple[int, str]] = {}
        self.globs: list[_Wild] = []
        self.expressions: list[_Wild] = []
        self.met: set[str] = set()
        self.numbers = [OUTSIDE, *range(layers)]
        self.budget = budget
        self._classes: dict[_Wild, _Classes] = {}
        self._hits: dict[tuple[str, ...], tuple[dict[int, _Hits], dict[int, _Hits]]] = {}
        for pattern, form in entries:
            with suppress(Unreadable):
                self._add(pattern, form)
        self.globs.sort(key=lambda one: one.only is None)  # those of one layer come first
        self._worded: dict[str, list[str]] = {}
        # words that begin with "layers" or a number hang on the layer
        self._fronts = any(word.startswith("layers") or word[0].isdecimal() for word in self.words)
        self._named = {path.split(".", 2)[1] for path in self.exact}

    def _add(self, pattern: str, form: str) -> None:
        if pattern.startswith(_EXPRESSION):
            walk = Walk(_expression(pattern), self.budget)
            self.expressions.append(_Wild(pattern, form, walk, _PREFIXES))
            return
        if _FOREIGN.match(pattern):
            return
        path = _PREFIX.sub("layers.", pattern)
        numbered = _NUMBERED.match(path)
        if is_wild(path):
            walk = Walk(_expression(path), self.budget)
            self.globs.append(_Wild(path, form, walk, ("",), numbered and numbered[1]))
        elif numbered:
            self.exact[path] = form
        elif path:
            self.words.setdefault(path, (len(self.words), form))

    @property
    def by_layer(self) -> bool:
        """Whether anything here tells one layer from another."""
        if self.exact or any(one.only is not None for one in self.globs):
            return True
        return any(re.search(r"\d|\\d", one.pattern) for one in (*self.globs, *self.expressions))

    def find(self, paths: tuple[str, ...], number: int) -> str | None:
        """The format of the first pattern that means one of these paths (or a module it lies in).

        paths     in the layer of that number; OUTSIDE: in none

        Raises Endless.
        """
        named = str(number) in self._named
        if not (named or self.words or self.globs or self.expressions):
            return None
        own = "" if number == OUTSIDE else f"layers.{number}."
        if named:
            self.met.update(path for path in (own + suffix for suffix in paths) if path in self.exact)
        globs, expressions = self._wild(paths, number)
        for place, suffix in enumerate(paths):
            found = self._exact(own + suffix) if named else None
            found = found or self._first(globs, place) or self._by_word(own, suffix) or self._first(expressions, place)
            if found is not None:
                return found
        return None

    def _exact(self, path: str) -> str | None:
        while path:
            if path in self.exact:
                self.met.add(path)
                return self.exact[path]
            path = path.rpartition(".")[0]
        return None

    def _by_word(self, own: str, suffix: str) -> str | None:
        """The first word that is a run of a path's parts."""
        if not self.words:
            return None
        if suffix not in self._worded:
            self._worded[suffix] = [run for run in _runs(suffix) if run in self.words]
        met = self._worded[suffix]
        if self._fronts and own:
            met = [run for run in _runs(own + suffix) if run in self.words]
        if not met:
            return None
        word = min(met, key=self.words.__getitem__)
        self.met.add(word)
        return self.words[word][1]

    def _first(self, hits: _Hits, place: int) -> str | None:
        for bits, wild in hits:
            if bits >> place & 1:
                self.met.add(wild.pattern)
                return wild.form
        return None

    def _wild(self, paths: tuple[str, ...], number: int) -> tuple[_Hits, _Hits]:
        """What globs and expressions say of the paths in a layer."""
        if paths not in self._hits:
            branches = _branches(paths)
            self._hits[paths] = (self._hits_of(self.globs, branches), self._hits_of(self.expressions, branches))
        globs, expressions = self._hits[paths]
        return globs.get(number, []), expressions.get(number, [])

    def _hits_of(self, patterns: Sequence[_Wild], branches: _Branch) -> dict[int, _Hits]:
        """By layer: the patterns in their order, each with the paths that none before it means."""
        found: dict[int, _Hits] = {}
        covered: dict[int, int] = {}
        for wild in patterns:
            if wild not in self._classes:
                self._classes[wild] = self._classes_of(wild)
            for places, numbers in self._classes[wild]:
                bits = 0
                for place in places:
                    bits |= _meant(wild.walk, place, branches, self.budget)
                self.budget.spend(len(numbers) if bits else 0)
                for number in numbers if bits else ():
                    new = bits & ~covered.get(number, 0)
                    if new:
                        covered[number] = covered.get(number, 0) | new
                        found.setdefault(number, []).append((new, wild))
        return found

    def _classes_of(self, wild: _Wild) -> _Classes:
        """Layers by where their number leaves a pattern."""
        walk, found = wild.walk, dict[frozenset[Place], list[int]]()
        fronts = {walk.after(walk.start, prefix) for prefix in wild.prefixes}
        layers = {walk.after(front, "layers.") for front in fronts}
        for number in self.numbers:
            if wild.only is not None and str(number) != wild.only:
                continue
            piece = f"{number}."
            places = fronts if number == OUTSIDE else {walk.after(place, piece) for place in layers}
            found.setdefault(frozenset(filter(None, places)), []).append(number)
        return [(places, numbers) for places, numbers in found.items() if places]

    @property
    def unmet(self) -> list[str]:
        """Patterns (not the names of single modules) that meant none of the paths asked for."""
        wild = [one.pattern for one in (*self.globs, *self.expressions) if one.only is None]
        return [pattern for pattern in (*self.words, *wild) if pattern not in self.met]

    @property
    def unmet_names(self) -> list[str]:
        """Names of single modules of a layer that nobody asked for."""
        return [f"model.{path}" for path in self.exact if path not in self.met]


def _runs(path: str) -> Iterator[str]:
    """The runs of a path's parts."""
    parts = path.split(".")
    return (".".join(parts[start:end]) for end in range(len(parts) + 1) for start in range(end))


def _branches(suffixes: Iterable[str]) -> _Branch:
    """Suffixes by their pieces; each is a bit, the first the lowest."""
    root = _Branch()
    for number, suffix in enumerate(suffixes):
        bit, here = 1 << number, root
        for piece in _pieces(suffix):
            here.every |= bit
            here = here.longer.setdefault(piece, _Branch())
        here.every |= bit
        here.ends |= bit
    return root


def _pieces(suffix: str) -> Iterator[str]:
    first, *others = suffix.split(".")
    yield first
    yield from (f".{one}" for one in others)


def _meant(walk: Walk, place: Place, branch: _Branch, budget: Budget) -> int:
    """The suffixes of a branch that match behind a place."""
    if walk.sure(place):
        return branch.every
    bits = branch.ends if branch.ends and walk.ends(place) else 0
    budget.spend(len(branch.longer))
    for piece, longer in branch.longer.items():
        further = walk.after(place, piece)
        if further:
            bits |= _meant(walk, further, longer, budget)
    return bits
