"""Records of plays as workers read them: the point after some moves, advice there, and the review
of a whole play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.mcp.refusal import Refused
from gamedsl.play.advice import Adviser, adviser_of
from gamedsl.play.review import review
from gamedsl.play.session import Moment
from gamedsl.players.seat_text import SeatText
from gamedsl.runs.saved import open_saved
from gamedsl.runtime import Action
from gamedsl.runtime.replay import Replay, params_of, replay
from gamedsl.runtime.transcripts import Chosen, Transcript, TranscriptError, read
from gamedsl.studio.loading import load_game

if TYPE_CHECKING:
    from gamedsl.runtime import Episode, Game

NO_ADVISER = "no solver advises here: the game is too large, or is played in words"


def _trained(run: str, step: int, key: str) -> Mapping[str, float]:
    """Returns the odds at a decision of the policy that played the games of a step: those that the
    run wrote down after the step before; none where it did not. Raises RunDamaged."""
    for record in open_saved(Path(run)).records():
        if record["step"] == step - 1:
            row = (record.get("policy") or {}).get(key) or {}
            found: Mapping[str, float] = row.get("probs") or {}
            return found
    return {}


class Advice:
    """Advises on plays of games; the adviser of the last game is kept. All methods raise
    Refused."""

    def __init__(self) -> None:
        self._last: tuple[str, Adviser | None] | None = None

    def advise(
        self, file: str, params: Mapping[str, str], record: str, seat: str,
        moves: int | None = None, run: str = "", step: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Returns what a solver would play at the decision that a seat has after some moves of a
        record, or at its end, and what each option is worth: `rows` of option, probability,
        worth, and the probability that a run wrote down for a step of its training, if it did so
        (`trained`)."""
        transcript = transcript_of(record)
        game = load_game(file, params) if params else game_of(file, transcript)
        adviser = self._adviser(game)
        episode = episode_at(game, record, len(transcript.happenings) if moves is None else moves)
        decision = next((one for one in episode.decisions if one.seat == seat), None)
        if decision is None or decision.said is not None:
            raise Refused("you do not choose among options now", "ask when you do")
        advice, text = adviser.advise(decision, episode), SeatText(episode.env)
        rows = zip(decision.legal, advice.odds, advice.worth, strict=True)
        trained = _trained(run, step, decision.information_set) if run else {}
        return {
            "source": adviser.source,
            "rows": [
                [text.option(name), odds, float(worth), trained.get(name)]
                for name, odds, worth in rows
            ],
            "trained": f"the run, after step {step - 1}" if trained else "",
        }

    def review(
        self, file: str, params: Mapping[str, str], record: str,
        seats: Sequence[str],
    ) -> dict[str, Any]:  # fmt: skip
        """Returns what each choice of these seats cost: `rows` of seat, step, choice, best choice
        and cost."""
        game = load_game(file, params)
        adviser = self._adviser(game)
        transcript = transcript_of(record)
        text = SeatText(played_again(game, transcript).episode.env)
        found = review(list(_moments(game, transcript, seats)), adviser)
        return {
            "source": adviser.source,
            "rows": [
                [one.seat, one.step, text.option(one.chosen), text.option(one.best), one.cost]
                for one in found
            ],
        }

    def _adviser(self, game: Game) -> Adviser:
        if self._last is None or self._last[0] != game.hash:
            self._last = game.hash, adviser_of(game)
        adviser = self._last[1]
        if adviser is None:
            raise Refused(NO_ADVISER, "play on without")
        return adviser


def transcript_of(record: str) -> Transcript:
    """Returns the transcript that a text holds. Raises Refused."""
    try:
        return next(read(record))
    except (TranscriptError, StopIteration) as error:
        raise Refused(f"this is no transcript: {error}", "name another file") from error


def game_of(file: str, transcript: Transcript) -> Game:
    """Returns the game of a file with the params of a transcript. Raises Refused."""
    game = load_game(file, {})
    if game.hash != transcript.head["hash"] and (meant := params_of(game, transcript)):
        return load_game(file, meant)
    return game


def played_again(game: Game, transcript: Transcript) -> Replay:
    """Returns the replay of a transcript, which may end before the game does. Raises Refused where
    the game does not allow it."""
    head, played = transcript.head, replay(game, transcript)
    whole = len(played.moves) == len(transcript.happenings)
    if played.faults and not (whole and (head["game"], head["hash"]) == (game.name, game.hash)):
        fault = played.faults[0]
        raise Refused(str(fault), fault.help or "open it with the game's file as it was then")
    return played


def episode_at(game: Game, record: str, moves: int) -> Episode:
    """Returns the point of a record after some moves, from which a play may go on. Raises
    Refused."""
    return at_move(game, transcript_of(record), moves).episode.resumed()


def at_move(game: Game, transcript: Transcript, moves: int) -> Replay:
    """Returns the replay of the first moves of a transcript. Raises Refused as `played_again`."""
    first = replace(transcript, happenings=transcript.happenings[:moves], result=None)
    return played_again(game, first)


def _moments(game: Game, transcript: Transcript, seats: Sequence[str]) -> Iterator[Moment]:
    """The decisions of some seats among several options, with what they chose."""
    for moves, happening in enumerate(transcript.happenings):
        if not isinstance(happening, Chosen) or not set(happening.choices).intersection(seats):
            continue
        episode = at_move(game, transcript, moves).episode
        asked = {d.seat for d in episode.decisions if len(d.legal) > 1 and d.seat in seats}
        answers = {s: Action(name) for s, name in happening.choices.items() if s in asked}
        if answers:
            yield Moment(episode, answers)
