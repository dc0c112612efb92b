"""What a scenario's expected times rest on: measurements of its card, of its family, or of another one."""

from __future__ import annotations

import functools

from rooflight.catalog.accelerators import load
from rooflight.catalog.calibration import calibrated, calibration, engines, fitted_family, other_backend
from rooflight.scenario.cards import prompts_card
from rooflight.scenario.definite import Scenario, engine_of
from rooflight.values.accelerator import Accelerator
from rooflight.values.basis import BASES, CARD, FAMILY, INHERITED, MACHINE, ExpectedBasis
from rooflight.values.calibration import Engine


def basis_of(sc: Scenario) -> ExpectedBasis:
    """The basis of the scenario's expected times; of unlike cards, or of two pools of workers, the furthest one."""
    prompts = prompts_card(sc.accelerator, sc.deployment)
    cards = [*(sc.accelerator.joined or (sc.accelerator,)), *([prompts] if prompts is not sc.accelerator else [])]
    return max((basis_on(sc, card) for card in cards), key=lambda one: BASES.index(one.basis))


def basis_on(sc: Scenario, card: Accelerator) -> ExpectedBasis:
    """The same, were it on some card."""
    if card is sc.accelerator:
        return _of_card(card, sc.engine, sc)
    return _of_card(card, engine_of(sc.deployment, card), sc)


def _of_card(card: Accelerator, engine: Engine, sc: Scenario) -> ExpectedBasis:
    asked = sc.deployment.engine
    if sc.fits.tables is not None:  # the kernels of this very machine
        return ExpectedBasis(
            basis=MACHINE, accelerator=card.id, family=card.family, engine=engine.id, era=engine.era,
            cards=(card.id,), of_family=(card.id,),
        )  # fmt: skip
    family = fitted_family(card)
    fits = calibration(family)
    alike = _of_family(family, engine.family, engine.cards)
    same = card.id in engine.cards and not other_backend(asked, engine)
    own = CARD if same else FAMILY if alike or not fits.inherits else INHERITED
    return ExpectedBasis(
        basis=own,
        accelerator=card.id,
        family=family,
        engine=engine.id if asked is not None and calibrated(asked) else None,
        era=engine.era,
        cards=engine.cards,
        of_family=alike,
        other_versions=_in_other_years(family, engine),
        inherits=fits.inherits or None,
        why=fits.why or None,
    )


@functools.cache
def _of_family(family: str, fitted: str, cards: tuple[str, ...]) -> tuple[str, ...]:
    """Those of an engine's cards that are of a family; `fitted`: of which its entry is, "" of several."""
    if fitted:
        return cards if fitted == family else ()
    return tuple(card for card in cards if fitted_family(load(card)[0]) == family)


def _in_other_years(family: str, engine: Engine) -> bool:
    """Whether an engine has an entry of a family for versions of another era alone."""
    if not calibrated(engine.id):
        return False
    eras = {one.era for one in engines(engine.id) if one.family == family}
    return bool(eras) and engine.era not in eras
