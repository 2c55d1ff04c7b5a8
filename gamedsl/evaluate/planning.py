"""From texts to a plan: which game, who is evaluated, against whom, and who referees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.evaluate.contestants import Contestant, contestant, contestants
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.referees import referees as referees_of
from gamedsl.evaluate.results import Plan
from gamedsl.players.runs import folder_and_step
from gamedsl.train.runfolder import open_run

if TYPE_CHECKING:
    from gamedsl.ir.game import Rows
    from gamedsl.policies.endpoint import EndpointSettings
    from gamedsl.runtime import Game


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


def game_of_runs(people: Sequence[Contestant]) -> tuple[str, dict[str, Any]]:
    """The file and the params of the game that the contestants' runs have in common."""
    runs = [folder_and_step(one.spec[4:])[0] for one in people if one.spec.startswith("run:")]
    if not runs:
        raise EvalError("no game is named", "add --game FILE, a path or a shipped name")
    infos = [_info(path) for path in runs]
    if len({info["hash"] for info in infos}) > 1:
        raise EvalError("the runs are of different games", "say which is meant with --game FILE")
    file = infos[0]["file"]
    kept = next(iter(sorted((runs[0] / "game").glob(f"{infos[0]['game']}.yaml"))), None)
    if file is None or not Path(file).exists():
        file = kept
    if file is None:
        raise EvalError(f"the game file of {runs[0]} is gone", "say where it is with --game FILE")
    return str(file), infos[0]["params"]


def _info(path: Path) -> dict[str, Any]:
    """Returns the game's entries in a run's `run.json`."""
    try:
        info = open_run(path).info()
        return {key: info[key] for key in ("hash", "file", "game", "params")}
    except (OSError, ValueError, TypeError) as error:
        said = f"cannot be read: {error}"
    except KeyError as error:
        said = f"is damaged: it has no `{error.args[0]}`"
    raise EvalError(f"{path / 'run.json'} {said}", "take another run, or a copy of this one")


def with_rows(game: Game, rows: str | None) -> Game:
    """The game with the rows that were asked for, or those that evaluation is about. Raises
    EvalError for those held out where none are."""
    shares: dict[str, Rows] = {"held-out": "held_out", "training": "training", "all": "all"}
    try:
        return game.evaluated if rows is None else game.of(shares[rows])
    except ValueError as error:
        help = "leave `--rows` out, or add `held_out: 0.2` to its data file"
        raise EvalError(str(error), help) from None
