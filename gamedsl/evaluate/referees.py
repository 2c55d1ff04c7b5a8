"""The holders of referees' seats: those of `--referee`, else those of the recipe.

In training a referee is held by the player of `roles.<referee>.player`, or else answered by the
base model of `roles.<referee>.model`, or the run's. Evaluation follows the recipe of the first run
among the contestants, or else of the game.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gamedsl.evaluate.contestants import Contestant, contestant
from gamedsl.evaluate.errors import EvalError
from gamedsl.players.base import PlayerError
from gamedsl.players.runs import folder_and_step, recipe_of_run
from gamedsl.policies.names import NO_LANGUAGE

if TYPE_CHECKING:
    from gamedsl.policies.endpoint import EndpointSettings
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Game


def referees(
    game: Game, given: Iterable[str], people: Sequence[Contestant], seed: int,
    endpoints: EndpointSettings | None = None,
) -> dict[str, Contestant]:  # fmt: skip
    """Returns the contestant that holds each referee's seat; `given` are texts such as
    `judge=random`. Raises EvalError, also if nobody holds a referee."""
    known = [role.name for role in game.ir.referees]
    named: dict[str, str] = {}
    for text in given:
        role, equals, spec = text.partition("=")
        if not equals or not spec or role not in known:
            there = f"referees are {', '.join(known)}" if known else "it has none"
            raise EvalError(f"`--referee {text}` names no referee of `{game.name}` and who that is",
                            f"write REFEREE=SPEC; {there}")  # fmt: skip
        named[role] = spec
    missing = [role for role in known if role not in named]
    if missing:
        recipe = _recipe(game, people)
        named |= {role: _usual(game, recipe, role) for role in missing}
    held = {role: contestant(spec, seed, endpoints) for role, spec in named.items()}
    return {seat: held[role] for seat, role in game.ir.role_of.items() if role in held}


def _recipe(game: Game, people: Sequence[Contestant]) -> Recipe:
    """The settings of the first run among the contestants, or of the game."""
    for one in people:
        kind, _, argument = one.spec.partition(":")
        if kind == "run":
            try:
                return recipe_of_run(folder_and_step(argument)[0])
            except PlayerError as error:
                raise EvalError(error.message, "name another run") from error
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import resolve

    return resolve(game.ir, [], Problems())


def _usual(game: Game, recipe: Recipe, role: str) -> str:
    """Returns the name of a referee's default holder."""
    part = recipe.referee(role)
    if part.player is not None:
        return part.player
    model = part.model or recipe.model
    if model in NO_LANGUAGE:
        raise EvalError(f"nobody is {role} in {game.name}: its recipe names no player and no "
                        "language model", f"add --referee {role}=smollm2-135m")  # fmt: skip
    return model
