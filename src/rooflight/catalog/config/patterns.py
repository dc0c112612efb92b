"""Patterns that name modules: single ones, words, globs and expressions, asked about the paths of our matrices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase

from rooflight.catalog.config.expressions import Expression, Unreadable, compiled

# What may stand before the layers of the language model; others (vision, mtp ...) are of no concern here.
_PREFIX = re.compile(
    r"^(model\.|language_model\.|backbone\.|transformer\.|text_model\.|llm\.|decoder\.)*(layers|h|blocks)\."
)
_FOREIGN = re.compile(r"^(mtp|model\.mtp|.*(visual|vision|audio|projector|aligner|embed))")
_PREFIXES = ("model.", "", "language_model.model.", "model.language_model.", "backbone.", "transformer.")


class Patterns:
    """Module patterns of a plan, sorted so that a layer looks only at those that can mean it."""

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self.exact: dict[str, str] = {}
        self.globs: dict[int, list[tuple[str, str]]] = {}
        self.everywhere: list[tuple[str, str]] = []
        self.words: list[tuple[str, str]] = []
        self.expressions: list[tuple[str, Expression, str]] = []
        self.met: set[str] = set()
        for pattern, form in entries:
            self._add(pattern, form)

    def _add(self, pattern: str, form: str) -> None:
        if pattern.startswith("re:"):
            with suppress(Unreadable):  # said where the plan was read
                self.expressions.append((pattern, compiled(pattern[3:]), form))
            return
        if _FOREIGN.match(pattern):
            return
        path = _PREFIX.sub("layers.", pattern)
        numbered = re.match(r"layers\.(\d+)(\.|$)", path)
        if "*" in path or "?" in path or "[" in path:
            if numbered:
                self.globs.setdefault(int(numbered[1]), []).append((path, form))
            else:
                self.everywhere.append((path, form))
        elif numbered:
            self.exact[path] = form
        else:
            self.words.append((path, form))

    @property
    def by_layer(self) -> bool:
        """Whether anything here tells one layer from another."""
        patterns = [pattern for pattern, _ in self.everywhere] + [entry[0] for entry in self.expressions]
        return bool(self.exact or self.globs or any(re.search(r"\d|\\d", pattern) for pattern in patterns))

    def find(self, paths: Iterable[str], number: int) -> str | None:
        """The format of the first pattern that means one of these paths (or a module it lies in)."""
        globs = [*self.globs.get(number, ()), *self.everywhere]
        if not (globs or self.exact or self.words or self.expressions):
            return None
        paths = tuple(paths)
        self.met.update(path for path in paths if path in self.exact)
        for path in paths:
            found = self._exact(path) or self._by_glob(path, globs) or self._by_word(path) or self._by_expression(path)
            if found is not None:
                return found
        return None

    def _exact(self, path: str) -> str | None:
        while path and self.exact:
            if path in self.exact:
                self.met.add(path)
                return self.exact[path]
            path = path.rpartition(".")[0]
        return None

    def _by_word(self, path: str) -> str | None:
        dotted = f".{path}."
        return self._met((word, form) for word, form in self.words if f".{word}." in dotted)

    def _by_glob(self, path: str, globs: Iterable[tuple[str, str]]) -> str | None:
        return self._met(
            (pattern, form)
            for pattern, form in globs
            if fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}.*")
        )

    def _by_expression(self, path: str) -> str | None:
        return self._met(
            (pattern, form)
            for pattern, expression, form in self.expressions
            if any(expression.match(prefix + path) for prefix in _PREFIXES)
        )

    def _met(self, found: Iterable[tuple[str, str]]) -> str | None:
        pattern, form = next(iter(found), ("", None))
        self.met.add(pattern)
        return form

    @property
    def unmet(self) -> list[str]:
        """Patterns (not the names of single modules) that meant none of the paths asked for."""
        asked = [pattern for pattern, _ in (*self.words, *self.everywhere)] + [entry[0] for entry in self.expressions]
        return [pattern for pattern in asked if pattern not in self.met]

    @property
    def unmet_names(self) -> list[str]:
        """Names of single modules of a layer that nobody asked for."""
        return [f"model.{path}" for path in self.exact if path not in self.met]
