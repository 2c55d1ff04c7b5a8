"""Policies by information set: kept in a file, and played.

A file holds what was solved, how, with what values and regrets, and for which rules: a policy is
refused for another game. Numbers that are exact are texts, such as "-1/18"; others are numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.players.base import DrawingPlayer, Player, PlayerError, PlayerRequest, PlayerSpec
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.strict_json import MAX_CHARACTERS, JsonRefused, exact_number, parse

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode, Game
    from gamedsl.solve.solution import Solution
    from gamedsl.solve.solver import Report

FORMAT = "gamedsl policy 1"

Number = Fraction | float


class PolicyError(ValueError):
    """A file that is no policy, or a policy that is not for this game."""


@dataclass(frozen=True)
class SavedPolicy:
    """A policy and where it comes from. `rules` is the hash of the game's rules, `hash` that of the
    whole game with its texts; values and regrets are by seat, in units of `utility`."""

    game: str
    rules: str
    hash: str
    params: Mapping[str, Any]
    utility: str
    concept: str
    method: str
    exact: bool
    values: Mapping[str, Number]
    regrets: Mapping[str, Number]
    policy: Mapping[str, Mapping[str, Number]]
    """Information set -> action -> probability. A seat that plays the policy comes to no others,
    unless `elsewhere` says what it does there."""
    elsewhere: str = ""
    """`uniform` where all actions are equally likely at information sets that are not there."""
    note: str = ""

    @classmethod
    def of(cls, report: Report, solution: Solution) -> SavedPolicy:
        """A solution of a report."""
        from gamedsl.runtime.transcripts import params_as_data

        game = report.game
        return cls(
            game=game.name, rules=game.ir.rules_hash, hash=game.hash,
            params=params_as_data(game.params), utility=report.utility, concept=solution.concept,
            method=solution.method, exact=solution.exact, values=solution.values,
            regrets=solution.regrets, policy=solution.policy, note=solution.note,
            elsewhere="uniform" if report.sampled is not None else "",
        )  # fmt: skip

    def text(self) -> str:
        """The file."""
        record: dict[str, Any] = {"format": FORMAT}
        record |= {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def read_policy(path: Path | str, game: Game) -> SavedPolicy:
    """A policy for a game. Raises `PolicyError` for a file that cannot be read or is no policy, and
    for a policy of other rules; a game whose texts alone have changed is the same game."""
    try:
        record = parse(read_bytes(path, limit=MAX_CHARACTERS))
    except FileRefused as error:
        raise PolicyError(f"{path} cannot be read: {error.reason}") from error
    except JsonRefused as error:
        raise PolicyError(f"{path} cannot be read: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise PolicyError(f"{path} is no policy file (its `format` is not `{FORMAT}`)")
    try:
        found = _saved(record)
    except ValueError as error:
        raise PolicyError(f"{path} is damaged: {error}") from error
    if found.rules != game.ir.rules_hash:
        raise PolicyError(_other(path, found, game))
    return found


class SavedPlayer(DrawingPlayer):
    """Plays a policy at any seat.

    player = SavedPlayer.of("kuhn.json", game, seed=1)
    play(game.env(), dict.fromkeys(game.ir.seats, player), seed=7).payoffs
    """

    def __init__(
        self, policy: Mapping[str, Mapping[str, Number]], *, seed: int = 0, elsewhere: str = ""
    ) -> None:
        super().__init__(seed=seed)
        self._policy = policy
        self._elsewhere = elsewhere

    @classmethod
    def of(cls, path: Path | str, game: Game, *, seed: int = 0) -> SavedPlayer:
        """The player of a file. Raises as `read_policy`."""
        found = read_policy(path, game)
        return cls(found.policy, seed=seed, elsewhere=found.elsewhere)

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        """`PolicyError` at an information set of which the policy says nothing."""
        row = self._policy.get(decision.information_set)
        if row is None and self._elsewhere == "uniform":
            row = dict.fromkeys(decision.legal, 1.0)
        if row is None:
            raise PolicyError(f"the policy says nothing of {decision.information_set!r}")
        weights = [float(row.get(name, 0)) for name in decision.legal]
        if not sum(weights):
            raise PolicyError(f"the policy plays no legal action at {decision.information_set!r}")
        return [weight / sum(weights) for weight in weights]


def _other(path: Path | str, found: SavedPolicy, game: Game) -> str:
    """Why a policy is refused."""
    if found.game != game.name:
        return f"{path} is a policy for `{found.game}`, not for `{game.name}`"
    from gamedsl.runtime.transcripts import params_as_data

    params = params_as_data(dict(game.params))
    other = [name for name in found.params if params.get(name) != found.params[name]]
    if other:
        said = ", ".join(f"{name}={found.params[name]}" for name in other)
        return f"{path} was solved with {said}: load `{game.name}` with the same, or solve it again"
    return (
        f"{path} was solved for other rules of `{game.name}`: its file has changed; solve it again"
    )


def _saved(record: Mapping[str, Any]) -> SavedPolicy:
    """Returns the policy of a file. Raises ValueError, which says what is wrong with it."""
    read: dict[str, Any] = {}
    for one in fields(SavedPolicy):
        if one.name not in record:
            raise ValueError(f"it has no `{one.name}`")
        kind = {"bool": bool, "str": str}.get(str(one.type), dict)
        read[one.name] = record[one.name]
        if not isinstance(read[one.name], kind):
            raise ValueError(f"its `{one.name}` is not {_A[kind]}")
    for name in ("values", "regrets"):
        read[name] = _numbers(read[name], name)
    read["policy"] = {key: _numbers(row, key) for key, row in read["policy"].items()}
    for key, row in read["policy"].items():
        if not row or min(row.values()) < 0 or abs(float(sum(row.values())) - 1) > 1e-4:
            raise ValueError(f"the numbers at {key!r} are not probabilities that sum to 1")
    return SavedPolicy(**read)


_A: Mapping[type, str] = {bool: "true or false", str: "a text", dict: "an object"}


def _numbers(row: Any, place: str) -> dict[str, Number]:
    """Returns a map of exact texts and numbers. Raises ValueError."""
    if not isinstance(row, dict):
        raise ValueError(f"the numbers at {place!r} are not an object")
    return {name: _number(value, place) for name, value in row.items()}


def _number(value: Any, place: str) -> Number:
    if isinstance(value, str):
        return exact_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a value at {place!r} is not a number")
    return float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Fraction):
        return str(value)
    return value


def _open_policy_file(request: PlayerRequest) -> Player:
    try:
        return SavedPlayer.of(request.argument, request.game, seed=request.seed)
    except PolicyError as error:
        command = f"gamedsl solve {request.game.name} --save {request.argument}"
        raise PlayerError(str(error), f"make one: {command}") from error


PLAYER = PlayerSpec(
    "FILE", "a policy that `gamedsl solve --save` kept", "the game that was solved",
    _open_policy_file,
    speaks=False, in_files=True,
)  # fmt: skip
