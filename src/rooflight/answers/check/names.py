"""Names in rows looked up once each: models in folders of configs or the catalog, accelerators, scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from rooflight.answers.check.wording import model_names
from rooflight.errors import BadInput, Named, RooflightError, UnknownName
from rooflight.ingest.rows import BadRow
from rooflight.scenario.definite import Scenario, scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.measurement import Measurement
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.own import OwnCalibration
from rooflight.values.workload import Workload

Found = TypeVar("Found")
# How tables mark a name that joins several kinds of cards.
_MIXED = "mixed-"
_LONGEST_NAME = 200
# A file may name any number of things: memory stays flat.
_MOST_KEPT = 20_000
# Scenarios keep what was evaluated of their plans, so fewer of them.
_MOST_SCENARIOS = 2_000


class Names:
    """What names stand for, remembered; failures too."""

    def __init__(self, configs: Iterable[str | Path] = (), calibration: OwnCalibration | None = None) -> None:
        """`configs`: folders whose files' stems are model names. Raises BadInput where one is no folder."""
        self._files: dict[str, Path] = {}
        self._configs = (*configs,)
        self._calibration = calibration
        self._plain: Names | None = None
        for folder in map(Path, self._configs):
            if not folder.is_dir():
                raise BadInput(
                    f"{folder} is no folder of configs", where=Named.of("configs"), got=str(folder),
                    want="a directory that holds NAME.json files, or NAME/config.json",
                )  # fmt: skip
            for path in sorted(folder.glob("*.json")):
                self._files.setdefault(path.stem, path)
            for path in sorted(folder.glob("*/config.json")):
                self._files.setdefault(path.parent.name, path)
        self._models: dict[str, Model | RooflightError] = {}
        self._cards: dict[str, tuple[Accelerator, int] | RooflightError] = {}
        self._scenarios: dict[tuple[str, str, Deployment], Scenario | RooflightError] = {}

    @property
    def calibrated(self) -> bool:
        """Whether what is expected is by your own calibration."""
        return self._calibration is not None

    @property
    def uncalibrated(self) -> Names:
        """The same names, with what is expected without your own calibration."""
        self._plain = self._plain or self._without()
        return self._plain

    def _without(self) -> Names:
        return Names(self._configs)

    def model(self, row: Measurement) -> tuple[Model, Note | None]:
        """The row's model; or the one of its shape, and a note of that; or one of its size. Raises BadRow."""
        problem: RooflightError = UnknownName("there is no model")
        for tried, name in enumerate(model_names(row)):
            try:
                return self._stated(name, row), None
            except RooflightError as error:
                problem = problem if tried else error
        if not row.config_like:
            return self._by_size(row, problem), None
        try:
            return self._model(row.config_like), Note(key="config_like", value=row.config_like)
        except RooflightError as error:
            raise BadRow(f"config_like: {_first(error)}") from None

    def _by_size(self, row: Measurement, error: RooflightError) -> Model:
        """A model of which nobody knows more than its name, by the size in it. Raises BadRow.

        Of a shape in the catalog it is not asked: what its name adds, a format, is not stated.
        """
        from rooflight.catalog import spelled
        from rooflight.scenario.alike import read_by_name

        def read() -> Model:
            found = read_by_name(row.model[:_LONGEST_NAME])
            form = spelled.format_in(row.model)
            if form is None and spelled.names_format(row.model) and row.weights is None:
                raise UnknownName(f"{row.model[:60]!r} names a format of its weights that is not known")
            sized = found.sized
            return found if sized is None else replace(found, sized=replace(sized, weights=form))

        try:
            known = self._model(row.model)
            if known.sized is None:
                raise BadRow(f"{_first(error)}, and no config_like is given")
        except RooflightError:
            pass
        try:
            return _remembered(self._models, f"size of {row.model}", read)
        except RooflightError:
            raise BadRow(f"{_first(error)}, and no config_like is given") from None

    def _stated(self, name: str, row: Measurement) -> Model:
        """The model by its own name; one of which the catalog knows the shape alone needs its weights' format stated.

        Check: "Qwen2.5-7B-Instruct-AWQ" without weights is no run in 16 bits.
        """
        from rooflight.catalog import models, spelled

        found = self._model(name)
        named = row.weights is None and name not in self._files and spelled.names_format(name)
        if named and models.entry_file(name) is None:
            raise UnknownName(f"{name[:60]!r} names a format of its weights, and weights are not stated")
        return found

    def _model(self, name: str) -> Model:
        return _remembered(self._models, name, lambda: self._read(name))

    def _read(self, name: str) -> Model:
        from rooflight.catalog import models, spelled
        from rooflight.catalog.config import read_model
        from rooflight.catalog.config.heads import as_named

        if name in self._files:
            return as_named(read_model(self._files[name]))
        # only the catalog: a table's names are no paths, and are never fetched from the hub
        if len(name) > _LONGEST_NAME:
            raise UnknownName(f"there is no model {name[:60]!r} in the catalog or in --configs")
        if models.entry_file(name) is not None:
            return models.load(name)
        try:
            return spelled.model(name)
        except UnknownName:
            raise UnknownName(f"there is no model {name[:60]!r} in the catalog or in --configs") from None

    def accelerator(self, row: Measurement) -> tuple[Accelerator, int]:
        """The row's accelerator, and the count in front of its name (1: none). Raises BadRow."""
        problem: RooflightError | None = None
        for name in (row.accelerator, row.accelerator_as_given):
            try:
                if name:
                    found = _remembered(self._cards, name, partial(_card, name))
            except RooflightError as error:
                problem = problem or error
                continue
            if name.startswith(_MIXED) and row.gpus != found[1]:
                raise BadRow(f"how many of each kind {name[:60]} has is not stated")
            if name:
                return found
        if row.has_accelerator is False or problem is None:
            raise BadRow(f"nothing is known of the accelerator {row.accelerator}")
        raise BadRow(_first(problem)) from None

    def larger(self, card: Accelerator) -> Accelerator | None:
        """The card in the largest size that it is sold in, where its plain name took a smaller one."""
        from rooflight.catalog import spelled

        taken = next((note.value for note in card.assumptions if note.key == "default_size"), None)
        if taken is None or max(taken[1]) <= taken[0]:
            return None
        name = f"{card.id}-{max(taken[1])}gb"
        return _remembered(self._cards, name, lambda: spelled.accelerator(name))[0]

    def scenario(self, model: Model, card: Accelerator, deployment: Deployment) -> Scenario:
        """The model on the card in that deployment, under the default workload. Raises BadInput, MissingFact."""
        key = (model.origin or model.id, card.origin or card.id, deployment)

        def made() -> Scenario:
            asked = deployment if self._calibration is None else replace(deployment, calibration=self._calibration)
            return scenario(model, card, None, Workload(), asked)

        return _remembered(self._scenarios, key, made, most=_MOST_SCENARIOS)

    def uncopied(self, sc: Scenario) -> Scenario:
        """The same whose host multiplies what lies there itself, whatever the engine's habit is."""
        beside = sc.rates.beside
        if beside is None:
            return sc
        key = (sc.checkpoint.origin or sc.checkpoint.id, f"{sc.accelerator.origin}, nothing copied", sc.deployment)

        def made() -> Scenario:
            rates = replace(sc.rates, beside=replace(beside, link_bytes_per_s=None))
            steps = sc.plans.steps(sc.model, sc.layout, sc.numbers, rates, sc.fits)
            return replace(sc, rates=rates, steps=steps)

        return _remembered(self._scenarios, key, made, most=_MOST_SCENARIOS)


Key = TypeVar("Key")


def _remembered(
    known: dict[Key, Found | RooflightError], key: Key, make: Callable[[], Found], most: int = _MOST_KEPT
) -> Found:
    found = known.get(key)
    if found is None:
        if len(known) >= most:
            known.clear()
        try:
            found = make()
        except RooflightError as error:
            found = error.with_traceback(None)
        known[key] = found
    if isinstance(found, RooflightError):
        # a new one each time: an exception that is raised again and again keeps every frame it passed
        raise type(found)(found.what, where=found.where, got=found.got, want=found.want, try_this=found.try_this)
    return found


def _card(name: str) -> tuple[Accelerator, int]:
    from rooflight.catalog import spelled
    from rooflight.catalog.accelerators import load

    name = name.removeprefix(_MIXED)
    # a measured machine goes by its file; whatever else looks like a path is none
    path = "/" in name or "\\" in name
    if len(name) > _LONGEST_NAME or (path and not name.lower().endswith(".toml")):
        raise BadInput(f"{name[:60]!r} is no accelerator's id")
    try:
        return load(name)
    except UnknownName:
        if not name.rstrip().endswith(")"):
            raise
    return spelled.accelerator(name)


def _first(error: RooflightError) -> str:
    return error.what
