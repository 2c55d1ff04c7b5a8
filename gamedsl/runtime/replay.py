"""Replays: a transcript is played again move by move, and compared with the game.

A transcript agrees with a game if it is of the same rules and rendering, has the labels that its
seeds draw, every outcome could be drawn and every choice made where it stands, and it pays what the
game pays. Results of functions that need not give the same again are taken from the transcript; all
others are worked out. The first move that does not agree ends the replay: what follows it means
nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from gamedsl.engine.function_calls import RecordedCalls
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import Rows
from gamedsl.ir.rows import holds_out
from gamedsl.prompting.events import SILENCE, Event, known
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.replies import REASONS, ParseFailure
from gamedsl.runtime.decision import Action, Decision
from gamedsl.runtime.env import Env
from gamedsl.runtime.episode import Episode
from gamedsl.runtime.game import Game
from gamedsl.runtime.memory import initial_values
from gamedsl.runtime.transcripts import (
    Chosen,
    Drawn,
    Failed,
    Happening,
    Result,
    Transcript,
    params_as_data,
)

if TYPE_CHECKING:
    from gamedsl.runtime.decision import Decision


@dataclass(frozen=True)
class Fault:
    """A disagreement between a transcript and the game. `line` is the transcript's, from 1; `move`
    counts the moves, from 1; 0 is before or after them. `help` is the remedy, if there is one."""

    message: str
    line: int
    move: int = 0
    help: str = ""

    def __str__(self) -> str:
        return f"move {self.move}: {self.message}" if self.move else self.message


@dataclass(frozen=True)
class Move:
    """A move that agreed with the game. `before` is the episode at which it was made, to be forked
    and never moved; `told` are the new events, each with the seats that saw it, in order."""

    happening: Happening
    before: Episode
    told: tuple[tuple[tuple[str, ...], Event], ...]


@dataclass(frozen=True)
class Replay:
    """A transcript played again, as far as it agrees with the game. `gamedsl.view.conversation`
    shows it to people."""

    transcript: Transcript
    episode: Episode
    moves: tuple[Move, ...]
    faults: tuple[Fault, ...] = field(default=())


class DisagreementError(Exception):
    """The game does not allow a move."""


def replay(game: Game, transcript: Transcript, env: Env | None = None) -> Replay:
    """Plays a transcript again. Never raises for what a transcript says: see `Replay.faults`.

    `env` is an environment of the game, if there is one already: by itself one with the
    transcript's run seed. Prompts and labels are those of the environment.
    """
    head = transcript.head
    game = game_of(game, transcript)
    retold = RecordedCalls([(one.function, one.results) for one in transcript.given])
    env = env or game.env(run_seed=head["run_seed"])
    told = env.calling(retold) if transcript.given else env
    faults = tuple(head_faults(game, transcript))
    memory = None if faults else head.get("memory")
    how: dict[str, Any] = {"chance": "asked", "forced": "asked", "memory": memory}
    try:
        episode = told.reset(seed=head["seed"], **how)
    except EvaluationError as error:
        if not transcript.given:
            raise
        episode = env.reset(seed=head["seed"], **how)
        faults = (*faults, Fault(str(error), transcript.given[0].line))
    if faults:
        return Replay(transcript, episode, (), faults)
    moves = list[Move]()
    for number, happening in enumerate(transcript.happenings, start=1):
        before = episode.fork()
        try:
            _play(episode, happening)
        except (DisagreementError, EvaluationError) as error:
            fault = Fault(str(error), happening.line, number)
            return Replay(transcript, episode, tuple(moves), (fault,))
        moves.append(Move(happening, before, _new_observations(before, episode)))
    faults = tuple(_end_faults(episode, transcript))
    if retold.unused and not faults:
        message = "the transcript tells what functions gave that the game does not call"
        faults = (Fault(message, transcript.given[-1].line),)
    return Replay(transcript, episode, tuple(moves), faults)


def game_of(game: Game, transcript: Transcript) -> Game:
    """Returns the game with the share of its rows that a transcript was made with; the same game
    where it has no such share."""
    rows = transcript.head.get("rows", "all")
    return game.of(rows) if rows in get_args(Rows) and holds_out(game.ir) else game


def params_of(game: Game, transcript: Transcript) -> dict[str, Any]:
    """Returns the params with which a transcript was made, where they differ from those of the game
    and can be given to `gamedsl.load`."""
    given = transcript.head.get("params")
    if not isinstance(given, dict):
        return {}
    here = params_as_data(game.params)
    differing = {name: value for name, value in given.items() if here.get(name, value) != value}
    return {name: value for name, value in differing.items() if _can_be_given(value)}


def _can_be_given(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_can_be_given, value))
    return isinstance(value, bool | int | str)


def head_faults(game: Game, transcript: Transcript) -> Iterator[Fault]:
    """Yields why a transcript is not of this very game, by what it says of itself."""
    head, line = transcript.head, transcript.line
    if head["game"] != game.name:
        message = f"the transcript is of `{head['game']}`, not of `{game.name}`"
        yield Fault(message, line, help=f"replay it with the file of `{head['game']}`")
        return
    if head["hash"] != game.hash:
        differing = params_of(game, transcript)
        because = f"; its params: {differing}" if differing else ""
        yield Fault(
            f"the transcript is of another version of `{game.name}`: its hash is "
            f"{head['hash'][:12]}…, here it is {game.hash[:12]}…{because}", line,
            help=" ".join(f"--param {shlex.quote(f'{n}={v}')}" for n, v in differing.items())
            or "replay it with the file as it was then",
        )  # fmt: skip
        return
    if head.get("rows", "all") != game_of(game, transcript).ir.rows:
        yield Fault(
            f"the transcript is of the rows `{head['rows']}`, and `{game.name}` has no such share",
            line, help=f"the shares are {', '.join(get_args(Rows))}",
        )  # fmt: skip
        return
    try:
        initial_values(game.ir, head.get("memory"))
    except ValueError as error:
        yield Fault(f"it begins with a memory that this game cannot have: {error}", line)
        return
    if head.get("tokenizer") is None and "labels" in head:
        book = draw_labels(game.ir, run_seed=head["run_seed"], seed=head["seed"])
        if head["labels"] != book.as_dict():
            yield Fault(
                "its labels are not those that its seeds draw", line,
                help="delete `labels` from the header: only canonical names are replayed",
            )  # fmt: skip


def _end_faults(episode: Episode, transcript: Transcript) -> Iterator[Fault]:
    result = transcript.result
    last = [transcript, *transcript.happenings][-1]
    if not episode.done:
        yield Fault(f"the transcript ends before the game does: {_expected(episode)}", last.line)
        return
    if result is None:
        yield Fault("the transcript does not say what the game paid", last.line)
        return
    yield from _wrong_amounts("payoffs", episode.payoffs, result.payoffs, result)
    if result.rewards:
        yield from _wrong_amounts("rewards", episode.rewards, result.rewards, result)
    if result.referees:
        yield from _wrong_amounts("referees", episode.referee_payoffs, result.referees, result)


def _wrong_amounts(what: str, here: Any, there: Any, result: Result) -> Iterator[Fault]:
    paid = {seat: None if amount is None else str(amount) for seat, amount in here.items()}
    if paid != dict(there):
        yield Fault(
            f"its {what} are {_amounts(there)}; the game's are {_amounts(paid)}", result.line
        )


def _play(episode: Episode, happening: Happening) -> None:
    """Makes one move. Raises `DisagreementError` where the game does not allow it."""
    if episode.done:
        raise DisagreementError("the game is over here")
    match happening:
        case Drawn():
            _draw(episode, happening)
        case Chosen():
            _choose(episode, happening)
        case Failed():
            _fail(episode, happening)


LISTED = 8
"""Names that a message lists."""


def _draw(episode: Episode, happened: Drawn) -> None:
    if not episode.outcome_count:
        raise DisagreementError(f"chance draws nothing here: {_expected(episode)}")
    if (happened.step, happened.index) != episode.drawing:
        wrong = indexed(happened.step, happened.index)
        raise DisagreementError(f"chance does not draw {wrong} here: {_expected(episode)}")
    place = indexed(*episode.drawing)
    number = episode.outcome_named(happened.outcome)
    if number is not None:
        episode.draw(number)
        return
    count = episode.outcome_count
    names = _few([episode.outcome(number).name for number in range(min(count, LISTED))], count)
    raise DisagreementError(f"`{happened.outcome}` cannot be drawn for {place} here, only {names}")


def _choose(episode: Episode, happened: Chosen) -> None:
    asked, step, choices = episode.decisions, happened.step, happened.choices
    if episode.asked_step != step:
        raise DisagreementError(f"nobody chooses {step} here: {_expected(episode)}")
    if {decision.seat for decision in asked} != set(choices):
        who = ", ".join(choices) or "nobody"
        raise DisagreementError(f"{who} cannot choose {step} here: {_expected(episode)}")
    for decision in asked:
        _allowed(episode, decision, choices[decision.seat])
    episode.step({seat: Action(name) for seat, name in choices.items()})


def _allowed(episode: Episode, decision: Decision, name: str) -> None:
    """Raises `DisagreementError` for a choice or reply that is not allowed at a decision."""
    open_or_silent = decision.said is not None or (name == SILENCE and decision.may_be_silent)
    if not open_or_silent and name not in decision.legal:
        raise DisagreementError(
            f"`{name}` is not legal for {decision.seat} at {decision.step}, only "
            f"{_few(decision.legal)}"
        )
    try:
        heard = episode.parse(decision, Action(name))
    except ValueError:
        heard = ParseFailure("malformed", name)
    if isinstance(heard, ParseFailure):
        detail = f" ({heard.detail})" if heard.detail else ""
        raise DisagreementError(
            f"`{name}` cannot be said by {decision.seat} at {decision.step}: "
            f"{REASONS[heard.reason]}{detail}"
        )


def _fail(episode: Episode, happened: Failed) -> None:
    asked = episode.decisions
    strangers = set(happened.failures) - {decision.seat for decision in asked}
    if strangers or not asked:
        raise DisagreementError(
            f"{', '.join(sorted(strangers))} cannot fail here: {_expected(episode)}"
        )
    costs = episode.env.ir.costs
    for seat in happened.failures:
        if costs[seat].then in ("skip", "play"):
            raise DisagreementError(f"the game goes on where {seat} gives no valid reply")
    failures = happened.failures
    episode.forfeit({seat: ParseFailure(*failure) for seat, failure in failures.items()})


def _expected(episode: Episode) -> str:
    """Returns a description of what the game waits for."""
    if episode.chance:
        return f"chance draws {indexed(*episode.drawing)}"
    return " and ".join(f"{d.seat} chooses {episode.asked_step}" for d in episode.decisions)


def indexed(step: str, index: Sequence[str]) -> str:
    """Returns a step of chance with the index that it draws for: `card[first]`."""
    return step + "".join(f"[{part}]" for part in index)


def _few(names: Sequence[str], count: int | None = None) -> str:
    """Lists names: the first ones, and how many more there are of `count`, which all are."""
    more = (len(names) if count is None else count) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _new_observations(before: Episode, after: Episode) -> tuple[tuple[tuple[str, ...], Event], ...]:
    """Returns the new events, each with the seats that saw it."""
    told: dict[tuple[str, int], tuple[Event, list[str]]] = {}
    for seat in after.env.ir.everyone:
        times: dict[str, int] = {}
        for event in after.seen(seat)[len(before.seen(seat)) :]:
            text = known((event,))
            times[text] = times.get(text, 0) + 1
            told.setdefault((text, times[text]), (event, []))[1].append(seat)
    return tuple((tuple(seats), event) for event, seats in told.values())


def _amounts(amounts: Any) -> str:
    return ", ".join(f"{s} {'void' if a is None else a}" for s, a in amounts.items()) or "none"
