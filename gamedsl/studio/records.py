"""Records of plays as workers read them: the point after some moves, advice there, and the review
of a whole play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gamedsl.mcp.refusal import Refused
from gamedsl.play.advice import Advice as SolverAdvice
from gamedsl.play.advice import Adviser, Unadvised, adviser_of
from gamedsl.play.review import review
from gamedsl.play.session import Moment
from gamedsl.players.seat_text import SeatText
from gamedsl.runs.saved import open_saved
from gamedsl.runtime import Action
from gamedsl.runtime.replay import Replay, params_of, replay
from gamedsl.runtime.transcripts import Chosen, Transcript, TranscriptError, read
from gamedsl.studio.loading import load_game

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode, Game

NO_ADVISER = "no solver advises here: the game is played in words, or a seat forgets"


class RecordedOdds(NamedTuple):
    """The odds that a run recorded of a decision of a play: the probabilities by option, those
    after which step they are, in words, and why there are none, or what else is to be known."""

    probs: Mapping[str, float] = {}
    after: str = ""
    note: str = ""


def recorded_odds(run: str, step: int, transcript: Transcript, decision: Decision) -> RecordedOdds:
    """Returns the odds of the policy that played a game of a step: the run wrote them down after
    the step before, or earlier where the policy that played lags. Raises RunDamaged."""
    if not run:
        return RecordedOdds(note="This file lies in no run, so nobody recorded its players' odds.")
    opponent = transcript.head.get("opponent")
    if opponent is not None and decision.seat != transcript.head.get("learner"):
        return RecordedOdds(note=f"{decision.seat} was held by {opponent}: its odds are not known.")
    records = open_saved(Path(run)).records()
    lag = next((r.get("lag") or 0 for r in records if r["step"] == step and "lag" in r), 0)
    played = max(0, step - 1 - lag)
    known = [r for r in records if r.get("policy") and r["step"] <= played]
    if not known:
        return RecordedOdds(
            note="The run recorded no odds before this step. Runs record those of closed games, and"
            " of choices after thoughts where the recipe has `thoughts`."
        )
    last = known[-1]
    row = last["policy"].get(decision.information_set)
    if row is None:
        named, all_of_them = len(last["policy"]), last.get("decisions", "its")
        return RecordedOdds(
            note=f"The run recorded the odds of {named} of {all_of_them} decisions; this is another"
            " one."
        )
    thoughts = last.get("thoughts")
    mean = f", mean over {thoughts} thoughts" if thoughts else ""
    note = ""
    if last["step"] < played:
        note = f"The policy after step {played} played; its odds were recorded last at this step."
    return RecordedOdds(row["probs"], f"the run, after step {last['step']}{mean}", note)


class Advice:
    """Advises on plays of games; the adviser of the last game is kept. All methods raise
    Refused."""

    def __init__(self) -> None:
        self._last: tuple[str, Adviser | None] | None = None

    def advise(
        self, file: str, params: Mapping[str, str], record: str, seat: str
    ) -> dict[str, Any]:
        """Returns what a solver would play at the decision that a seat has at the end of a record,
        and what each option is worth: `rows` of option, probability and worth, and the `tries`
        of each, if it is an estimate."""
        transcript = transcript_of(record)
        game = load_game(file, params) if params else game_of(file, transcript)
        adviser = self._adviser(game)
        decision, episode = _decision(game, record, len(transcript.happenings), seat)
        advice, text = _advice(adviser, decision, episode), SeatText(episode.env)
        rows = zip(decision.legal, advice.odds, advice.worth, strict=True)
        return {
            "source": adviser.source,
            "rows": [[text.option(name), odds, float(worth)] for name, odds, worth in rows],
            "tries": advice.tries and list(advice.tries),
        }

    def odds(
        self, file: str, record: str, seat: str, moves: int, run: str, step: int
    ) -> dict[str, Any]:
        """Returns the odds at the decision that a seat has after some moves of a record: those that
        the run of its step `recorded`, with a `note` on them, and what a solver would play there.
        `rows` are of option, recorded probability, the solver's, and worth; None is unknown, and
        `source` empty where no solver advises, and `unadvised` says why."""
        transcript = transcript_of(record)
        game = game_of(file, transcript)
        decision, episode = _decision(game, record, moves, seat)
        known, advice = recorded_odds(run, step, transcript, decision), None
        source = unadvised = ""
        try:
            adviser = self._adviser(game)
            advice, source = _advice(adviser, decision, episode), adviser.source
        except Refused as error:
            unadvised = error.fact
        text = SeatText(episode.env)
        return {
            "source": source,
            "unadvised": unadvised,
            "recorded": known.after,
            "note": known.note,
            "rows": [
                [text.option(name), known.probs.get(name),
                 *((None, None) if advice is None else (advice.odds[n], float(advice.worth[n])))]
                for n, name in enumerate(decision.legal)
            ],
        }  # fmt: skip

    def review(
        self, file: str, params: Mapping[str, str], record: str,
        seats: Sequence[str],
    ) -> dict[str, Any]:  # fmt: skip
        """Returns what each choice of these seats cost: `rows` of seat, step, choice, best choice
        and cost."""
        game = load_game(file, params)
        adviser = self._adviser(game)
        if not adviser.reviews:
            fact = "what choices cost is not known here: the game is large, and hides something"
            raise Refused(fact, "ask for hints while you play")
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


def _advice(adviser: Adviser, decision: Decision, episode: Episode) -> SolverAdvice:
    """Returns the advice on a decision. Raises Refused where none is found."""
    try:
        return adviser.advise(decision, episode)
    except Unadvised as error:
        raise Refused(f"no solver advises here: {error}", "play on without") from error


def _decision(game: Game, record: str, moves: int, seat: str) -> tuple[Decision, Episode]:
    """Returns the choice that a seat has after some moves of a record. Raises Refused."""
    episode = episode_at(game, record, moves)
    decision = next((one for one in episode.decisions if one.seat == seat), None)
    if decision is None or decision.said is not None:
        raise Refused("you do not choose among options now", "ask when you do")
    return decision, episode


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
