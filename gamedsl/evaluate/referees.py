"""Who referees: by name where `--referee` says so, else as the recipe has it.

In training a referee is held by the player of `roles.<referee>.player`, or else answered by the
model of `roles.<referee>.model`, or the run's, as it came. The same here, of the recipe of the
first run among the contestants, or else of the game's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from gamedsl.evaluate.contestants import Contestant, contestant
from gamedsl.evaluate.errors import EvalError
from gamedsl.players.runs import folder_and_step
from gamedsl.policies.names import NO_LANGUAGE

if TYPE_CHECKING:
    from gamedsl.policies.endpoint import EndpointSettings
    from gamedsl.runtime import Game


def referees(
    game: Game, given: Iterable[str], people: Sequence[Contestant], seed: int,
    endpoints: EndpointSettings | None = None,
) -> dict[str, Contestant]:  # fmt: skip
    """Who holds the seat of each referee of a game; `given` are texts such as `judge=random`.
    Raises EvalError, also where a referee is nobody's."""
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


def _recipe(game: Game, people: Sequence[Contestant]) -> Mapping[str, Any]:
    """The settings of the first run among the contestants, or of the game."""
    for one in people:
        kind, _, argument = one.spec.partition(":")
        if kind == "run":
            file = folder_and_step(argument)[0] / "recipe.yaml"
            try:
                return dict(yaml.safe_load(file.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
                raise EvalError(f"{file} cannot be read: {error}", "name another run") from error
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import resolve

    return resolve(game.ir, [], Problems()).as_dict()


def _usual(game: Game, recipe: Mapping[str, Any], role: str) -> str:
    """Who a referee is where nobody is named."""
    said = recipe.get("roles", {}).get(role, {})
    if said.get("player") is not None:
        return str(said["player"])
    model = said.get("model", recipe["model"])
    if model in NO_LANGUAGE:
        raise EvalError(f"nobody is {role} in {game.name}: its recipe names no player and no "
                        "language model", f"add --referee {role}=smollm2-135m")  # fmt: skip
    return str(model)
