"""The games that a warm-up imitates: who plays them, and those that files hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.rows import holds_out
from gamedsl.players.base import (
    Player,
    PlayerError,
)
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.players.random import RandomPlayer
from gamedsl.policies.base import Query
from gamedsl.prompting.events import SILENCE
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.table import Recipe, file_of
from gamedsl.runtime.replay import Replay, replay
from gamedsl.runtime.transcripts import (
    Chosen,
    RecordedReplies,
    Transcript,
)
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_files import read_transcripts, refused
from gamedsl.training.seats import SeatAssignment

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode, Game


def files_of(recipe: Recipe, seating: SeatAssignment) -> dict[Path, frozenset[str]]:
    """Returns the files that are imitated, each with the roles that learn from it."""
    found: dict[Path, frozenset[str]] = {}
    for role in sorted(seating.learners):
        expert = recipe.expert_of(role)
        if expert is not None and (path := file_of(expert)) is not None:
            found[path] = found.get(path, frozenset()) | {role}
    return found


def players_of(
    game: Game, recipe: Recipe, seating: SeatAssignment, seed: int
) -> tuple[list[dict[str, Player]], list[frozenset[str]]]:
    """Returns the players of all seats, once or more, and each time the seats that are learned
    from. Without opponents experts hold the seats of all roles that imitate them, at once; with
    opponents, one seat after another. A seat that has neither an expert nor a player of its own is
    held by the opponents; without these by the run's expert, or at random. Players draw with
    `seed`, opponents with the next. Raises TrainError."""
    plan, ir = recipe.warm_up, game.ir
    names = {
        role: name for role in seating.learners
        if (name := recipe.expert_of(role)) is not None and file_of(name) is None
    }  # fmt: skip
    taught = [seat for seat in ir.everyone if ir.role_of[seat] in names]
    if not taught:
        return [], []
    usual = "random" if plan.expert is None or file_of(plan.expert) else plan.expert
    opened = {
        name: _open_expert(name, game, seed, seating)
        for name in sorted({*names.values(), *([usual] if plan.opponents is None else [])})
    }
    experts = {seat: opened[names[ir.role_of[seat]]] for seat in taught}
    if plan.opponents is None:
        return [_seated(game, seating, opened[usual]) | experts], [frozenset(taught)]
    rest = _seated(game, seating, _open(plan.opponents, game, seed + 1, seating))
    holders = [rest | {seat: expert} for seat, expert in experts.items()]
    return holders, [frozenset({seat}) for seat in taught]


def _seated(game: Game, seating: SeatAssignment, player: Player) -> dict[str, Player]:
    """Returns a player in all seats that have none of their own, those of referees too."""
    role_of = game.ir.role_of
    return {seat: seating.players.get(role_of[seat], player) for seat in game.ir.everyone}


def _open_expert(name: str, game: Game, seed: int, seating: SeatAssignment) -> Player:
    """Opens a player that is imitated."""
    expert = _open(name, game, seed, seating)
    if isinstance(expert, EndpointPlayer):
        expert.endpoint.keep_on_disk()  # a warm-up that was stopped begins anew
    if isinstance(expert, RandomPlayer):
        expert = RandomPlayer(seed=seed, plain_words=True)
    return expert


def _open(name: str, game: Game, seed: int, seating: SeatAssignment) -> Player:
    from gamedsl.players.table import open_player

    try:
        return open_player(name, game, seed=seed, budget=seating.budget, from_file=True)
    except PlayerError as error:
        raise TrainError(error.message, error.help) from error


def split_file(
    file: Path, roles: frozenset[str], recipe: Recipe, game: Game, env: Env
) -> Iterator[tuple[bool, int, list[ValidReply]]]:
    """Yields the games of a file: whether it is held out (by its hash), the number of games that it
    stands for, and each decision of some roles with its choice. Raises TrainError where none is
    left to learn from."""
    plan, counts = recipe.warm_up, {True: 0, False: 0}
    for played in _read_games(file, game, env):
        transcript = played.transcript
        held_out = share_of(transcript) < plan.held_out
        games = transcript.head.get("games", 1)
        counts[held_out] += games
        paid = {} if transcript.result is None else transcript.result.earnings
        yield held_out, games, [
            one for one in choices(played)
            if one.decision.role in roles and earned_enough(recipe, paid.get(one.decision.seat))
        ]  # fmt: skip
    if not counts[False]:
        raise nothing_left(f"{file} holds no game", counts[True], "give a file with games")


def nothing_left(empty: str, held_out: int, fix: str) -> TrainError:
    """Returns the error of a file from which nothing is left to learn: it is `empty`, or all of it
    is held out."""
    if not held_out:
        return TrainError(empty, fix)
    return TrainError(
        f"{empty} to learn from: all {held_out:,} are held out", "lower `warm_up.held_out`"
    )


def _read_games(file: Path, game: Game, env: Env) -> Iterator[Replay]:
    """Yields the games of a file of transcripts, each played again and found to agree with the
    game. Raises TrainError for a file that cannot be read, or is not of this very game."""
    for transcript in read_transcripts(file):
        found = replay(game, transcript, env)
        if found.faults:
            first = found.faults[0]
            if holds_out(game.ir) and transcript.head.get("rows", "all") != "training":
                fix = "imitate games of the rows that are trained on: `--rows training` of eval"
                raise TrainError(f"{file}, line {first.line}: {first}", fix)
            raise refused(file, first)
        yield found


def earned_enough(recipe: Recipe, reward: Any) -> bool:
    """Whether a seat's reward is as much as replies that are learned must earn."""
    least = recipe.warm_up.reward
    return least is None or (reward is not None and Fraction(reward) >= Fraction(least))


def nothing_earned(recipe: Recipe, games: int) -> TrainError:
    """Returns the error of games in which no seat that is learned from earned enough."""
    experts = ", ".join(f"`{name}`" for name in recipe.experts)
    return TrainError(
        f"no seat earned {recipe.warm_up.reward:g} in {games:,} games of {experts}",
        "lower `warm_up.reward`, or play more games",
    )


def choices(played: Replay) -> Iterator[ValidReply]:
    """Yields each decision of a game that was played again, with the choice or the words, and the
    whole reply where it was recorded; none of those where there was no valid reply. A decision that
    was asked again is the last one, whose prompt has the replies that were refused."""
    recorded, costs = RecordedReplies(played.transcript), played.episode.env.ir.costs
    for move in played.moves:
        if not isinstance(move.happening, Chosen):
            continue
        for decision in move.before.decisions:
            seat, step, name = decision.seat, decision.step, move.happening.choices[decision.seat]
            if decision.said is None and len(decision.legal) == 1:
                continue
            refused = recorded.refused(seat, step, decision.occurrence)
            valid = name != SILENCE and len(refused) <= costs[seat].retry
            text = recorded.take(seat, step, len(refused), valid)
            if not valid:
                continue
            failures = tuple(
                _refusal(move.before, decision, reason, text) for reason, text in refused
            )
            while text and not _says(move.before, decision, text, name):
                text = recorded.take(seat, step, 0, True)  # refused, though nobody noted it
            yield ValidReply(replace(decision, failed=failures), name, text or None)


def _refusal(before: Episode, decision: Decision, reason: str, text: str) -> ParseFailure:
    """Returns a recorded failure, with the detail that the prompt of the next try told."""
    with suppress(EvaluationError, ValueError):
        again = before.parse(decision, text)
        if isinstance(again, ParseFailure) and again.reason == reason:
            return again
    return ParseFailure(reason, text)


def _says(before: Episode, decision: Decision, text: str, name: str) -> bool:
    """Whether a recorded reply is what was chosen."""
    try:
        return before.parse(decision, text) == name
    except EvaluationError:
        return False


def share_of(transcript: Transcript) -> float:
    """Returns a number from 0 to 1 that a game's course fixes."""
    return int(digest_of(transcript.happenings)[:8], 16) / 16**8


def digest_of(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()


class ValidReply(NamedTuple):
    """A valid reply by its canonical name, and as its author wrote it where that is known. `after`
    are the options as they stand after a thought that the policy wrote in the author's place, or
    why none stand after it."""

    decision: Decision
    name: str
    text: str | None = None
    after: Query | ParseFailure | None = None
