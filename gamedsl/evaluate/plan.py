"""The plan of an evaluation, from texts: game, contestants, opponents, holders of fixed seats.

In training a referee is held by the player of `roles.<referee>.player`, or else answered by the
base model of `roles.<referee>.model`, or the run's, unless it is trained. Evaluation follows
`--referee`, or else the recipe of the first run among the contestants, or else that of the game. A
referee that the run trained is as it learned to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.evaluate.contestants import Contestant, contestant, contestants
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.seating import Pairing, pairings
from gamedsl.players.base import PlayerError
from gamedsl.players.runs import folder_and_step, recipe_of_run
from gamedsl.policies.names import NO_LANGUAGE
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import SavedRun, open_saved

if TYPE_CHECKING:
    from gamedsl.ir.game import Rows
    from gamedsl.policies.endpoint import EndpointSettings
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Game


@dataclass(frozen=True)
class Plan:
    """The contestants, their opponents, and the holders of seats in all games."""

    contestants: tuple[Contestant, ...]
    opponents: tuple[Contestant, ...]
    fixed: Mapping[str, Contestant] = field(default_factory=dict)
    """The holders of fixed seats, by seat."""
    referees: Mapping[str, Contestant] = field(default_factory=dict)
    """The holders of all referees' seats, by seat."""

    @cached_property
    def everybody(self) -> tuple[Contestant, ...]:
        """All players, each once, the evaluated ones first; referees are not among them."""
        found = {c.name: c for c in (*self.contestants, *self.opponents, *self.fixed.values())}
        return tuple(found.values())

    def pairings(self, seats: Sequence[str]) -> tuple[Pairing, ...]:
        return pairings(
            seats,
            {seat: one.name for seat, one in self.fixed.items()},
            [one.name for one in self.contestants],
            [one.name for one in self.opponents],
        )


def plan_of(
    game: Game, people: Sequence[Contestant], against: Sequence[str] = (), *,
    roles: Iterable[str] = (), referees: Iterable[str] = (), seed: int = 0,
    endpoints: EndpointSettings | None = None,
) -> Plan:  # fmt: skip
    """Returns the contestants and their opponents; `roles` and `referees` are texts such as
    `judge=random`, and name the holders in all games. Raises EvalError."""
    fixed: dict[str, Contestant] = {}
    opened_with = seed, endpoints
    for text in roles:
        role, equals, spec = text.partition("=")
        seats = [s for s in game.ir.seats if role in (s, game.ir.role_of[s])]
        if not equals or not spec or not seats:
            known = ", ".join(dict.fromkeys((*game.ir.role_of.values(), *game.ir.seats)))
            raise EvalError(f"`--role {text}` names no role of `{game.name}` and who holds it",
                            f"write ROLE=SPEC; roles and seats are {known}")  # fmt: skip
        fixed |= dict.fromkeys(seats, contestant(spec, *opened_with))
    if len(fixed) == len(game.ir.seats):
        raise EvalError("every seat is held by a --role, so that nobody else can sit down",
                        "leave a seat to those who are evaluated")  # fmt: skip
    opponents = people if len(people) > 1 else [contestant("random")]
    if against:
        opponents = contestants(against, *opened_with)
    held: dict[str, Contestant] = {}
    judges = referees_of(game, referees, people, seed, endpoints)
    for one in (*people, *opponents, *fixed.values(), *judges.values()):
        if held.setdefault(one.name, one) != one:
            raise EvalError(f"two contestants are called `{one.name}`", "name one otherwise")
    return Plan(tuple(people), tuple(opponents), fixed, judges)


def referees_of(
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
    held = {role: contestant(spec, seed, endpoints) for role, spec in named.items()}
    if missing:
        run, recipe = _referee_recipe(game, people)
        usual = {role: _usual_referee(game, recipe, role, run) for role in missing}
        held |= {
            role: contestant(spec, seed, endpoints, from_file=True) for role, spec in usual.items()
        }
    return {seat: held[role] for seat, role in game.ir.role_of.items() if role in held}


def _referee_recipe(game: Game, people: Sequence[Contestant]) -> tuple[str | None, Recipe]:
    """The first run among the contestants and its settings, or those of the game."""
    for one in people:
        kind, _, argument = one.spec.partition(":")
        if kind == "run":
            try:
                return one.spec, recipe_of_run(folder_and_step(argument)[0])
            except PlayerError as error:
                raise EvalError(error.message, "name another run") from error
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import resolve

    return None, resolve(game.ir, [], Problems())


def _usual_referee(game: Game, recipe: Recipe, role: str, run: str | None) -> str:
    """Returns the name of a referee's default holder."""
    part = recipe.referee(role)
    if part.player is not None:
        return part.player
    if part.learns and run is not None:
        return run
    model = part.model or recipe.model
    if model in NO_LANGUAGE:
        raise EvalError(f"nobody is {role} in {game.name}: its recipe names no player and no "
                        "language model", f"add --referee {role}=smollm2-135m")  # fmt: skip
    return model


def game_of_runs(people: Sequence[Contestant]) -> tuple[str, dict[str, Any]]:
    """Returns the file and the params of the game that the contestants' runs have in common: the
    copy in the first of the runs, or the file that it was read from where there is no copy. Raises
    EvalError."""
    runs = [folder_and_step(one.spec[4:])[0] for one in people if one.spec.startswith("run:")]
    if not runs:
        raise EvalError("no game is named", "add --game FILE, a path or a shipped name")
    infos = [_info(path) for path in runs]
    if len({info["hash"] for info in infos}) > 1:
        raise EvalError("the runs are of different games", "say which is meant with --game FILE")
    file = _copy_of_game(runs[0], infos[0]) or infos[0]["file"]
    if file is None or not Path(file).exists():
        raise EvalError(f"the game file of {runs[0]} is gone", "say where it is with --game FILE")
    return str(file), infos[0]["params"]


def _copy_of_game(path: Path, info: Mapping[str, Any]) -> Path | None:
    """Returns the copy of the game in a run folder, as the run wrote it; None where there is
    none. Raises EvalError."""
    try:
        run = SavedRun(path)
        run.require(lambda name: name.startswith("game/"))
        return run.game_file(info)
    except RunDamaged as error:
        raise EvalError(error.fact, error.fix) from error


def _info(path: Path) -> dict[str, Any]:
    """Returns the game's entries in a run's `run.json`."""
    try:
        return open_saved(path).info(("hash", "file", "game", "params"))
    except RunDamaged as error:
        raise EvalError(error.fact, error.fix) from error


def with_rows(game: Game, rows: str | None) -> Game:
    """The game with the rows that were asked for, or those that evaluation is about. Raises
    EvalError for those held out where none are."""
    shares: dict[str, Rows] = {"held-out": "held_out", "training": "training", "all": "all"}
    try:
        return game.evaluated if rows is None else game.of(shares[rows])
    except ValueError as error:
        help = "leave `--rows` out, or add `held_out: 0.2` to its data file"
        raise EvalError(str(error), help) from None
