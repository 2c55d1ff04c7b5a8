"""The oracle of a game that compiles: some plays of it, on every backend that runs it.

The interpreter, the generated code and the table agree on every history. Prompts, views and vectors
can be had. A label is read as its action, nonsense as no action. Payoffs lie within the bounds that
are proved, and sum to what is proved. A transcript replays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any

from gamedsl import Action, Decision, Env, Episode, EvaluationError, Game
from gamedsl.bounds.payoff_bounds import PayoffBounds
from gamedsl.compiler import Result
from gamedsl.engine import tabulated
from gamedsl.prompting.random_replies import random_reply
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from gamedsl.runtime.vectors import VectorTooLarge
from gamedsl.view.conversation import conversation_of, text_of
from tests.fuzz import Outcome

PLAYS = 3
MOVES = 60
"""Moves of one play; a longer one is left."""

LOOKED_AT = (0, 1, 2, 4, 8, 16, 32)
"""Moves before which prompts and views are compared, of at most `LOOKING` seats."""

LOOKING = 4

HISTORIES = 3_000
"""Histories up to which a game is tabulated here."""

LISTED = 300
"""Outcomes of chance up to which they are compared one by one."""

TOO_LONG = "GD0460"
"""The code that warns of plays that take too many steps."""

NONSENSE = "\u202eI would rather not <answer> {"


class WrongError(Exception):
    """Something in a play is not as it must be: the kind of failure, and what it is."""

    def __init__(self, kind: str, place: str, detail: str = "") -> None:
        super().__init__(kind, place, detail)
        self.outcome = Outcome(kind, f"{place}: {detail}", place)


def check_play(result: Result) -> Outcome:
    """Returns the outcome of some random plays of a game."""
    assert result.ir is not None
    assert result.document is not None
    if any(problem.code == TOO_LONG for problem in result.diagnostics):
        return Outcome(counted=("too long to play",))
    game = Game(result.ir, result.document.files)
    envs = list(_envs(game))
    words = ["played", *(f"on {len(envs)} backends" for _ in envs[1:2])]
    try:
        for number in range(PLAYS):
            words += _lockstep(envs, Random(number), result)
            words += _replies(game, envs[-1] if number % 2 else envs[0], Random(number), number)
    except WrongError as wrong:
        return wrong.outcome
    return Outcome(counted=tuple(dict.fromkeys(words)))


def _envs(game: Game) -> Iterator[Env]:
    """Yields the game on each backend that runs it, the reference first."""
    yield game.env(backend="interpreter")
    if game.ir.open or game.ir.referees:
        return
    yield game.env(backend="generated")
    tabulated.LIMIT = HISTORIES
    try:
        yield game.env(backend="tabulated")
    except (tabulated.TooLargeError, EvaluationError):
        return


def _lockstep(envs: list[Env], random: Random, result: Result) -> list[str]:
    """Plays once on all backends, with every move asked for, and compares all that they say."""
    begun = [_attempt(lambda env=env: env.reset(0, chance="asked", forced="asked")) for env in envs]
    if _agree("start", begun):
        return ["no value"]
    episodes = [episode for episode in begun if isinstance(episode, Episode)]
    for number in range(MOVES):
        _same("standing", [_attempt(lambda e=episode: _standing(e)) for episode in episodes])
        first = episodes[0]
        if first.done:
            _check_payoffs(first, result)
            return ["to the end"]
        if number in LOOKED_AT:
            _check_asked(first, episodes[-1], random)
        moves = _move(first, random)
        if _agree("move", [_attempt(lambda e=e, m=moves: _make(e, m)) for e in episodes]):
            return ["no value"]
    return ["left"]


def _attempt(action: Any) -> Any:
    """Returns what an action gives, or the error where the rules have no value."""
    try:
        return action()
    except EvaluationError as error:
        return error


def _agree(place: str, found: list[Any]) -> bool:
    """Returns whether all are errors. Raises WrongError where only some are, or they differ."""
    errors = [one for one in found if isinstance(one, EvaluationError)]
    if not errors:
        return False
    _same(place, [_named(one) for one in found])
    for error in errors:
        if not error.message or not error.span.source.text:
            raise WrongError("no place", "EvaluationError", str(error))
    return True


def _named(found: Any) -> str:
    if isinstance(found, EvaluationError):
        return f"{found.message} at {found.span.start}"
    return "a value"


def _same(place: str, found: list[Any]) -> None:
    for other in found[1:]:
        mine, yours = (
            _named(one) if isinstance(one, EvaluationError) else one for one in (found[0], other)
        )
        if mine != yours:
            raise WrongError("disagreement", place, f"{mine!r:.3000}\n{yours!r:.3000}")


def _standing(episode: Episode) -> dict[str, Any]:
    """Returns all that a backend says of a history."""
    count = episode.outcome_count
    return {
        "decisions": [
            (d.seat, d.role, d.step, d.occurrence, d.information_set, d.legal, d.labels)
            for d in episode.decisions
        ],
        "chance": [tuple(outcome) for outcome in episode.chance] if count <= LISTED else count,
        "drawing": episode.drawing if count else None,
        "known": [episode.information(seat) for seat in episode.env.seats],
        "done": episode.done,
        "paid": {stream: dict(amounts) for stream, amounts in episode.paid.items()},
        "payoffs": episode.payoffs,
        "rewards": episode.rewards,
    }


def _move(episode: Episode, random: Random) -> int | dict[str, Any]:
    if episode.outcome_count:
        return random.randrange(episode.outcome_count)
    return {d.seat: _choice(episode, d, random) for d in episode.decisions}


def _choice(episode: Episode, decision: Decision, random: Random) -> Action | ParseFailure:
    """Returns a legal action; of an open decision a reply that is valid, if one is found."""
    if decision.said is None:
        if not decision.legal:
            raise WrongError("illegal action", "a decision without an option", str(decision))
        return Action(random.choice(decision.legal))
    for _ in range(5):
        try:
            name = random_reply(decision.said, decision.type, episode.env.ir.seats, random)
            if not isinstance(episode.parse(decision, Action(name)), ParseFailure):
                return Action(name)
        except (ValueError, EvaluationError):
            continue
    return ParseFailure("empty")


def _make(episode: Episode, move: int | dict[str, Any]) -> None:
    if isinstance(move, int):
        episode.draw(move)
    else:
        episode.step(move)


def _check_asked(first: Episode, other: Episode, random: Random) -> None:
    """Checks that prompts and views can be had, and that the backends give the same."""
    asked = list(zip(first.decisions, other.decisions, strict=True))
    for mine, yours in random.sample(asked, min(LOOKING, len(asked))):
        _same("prompt", [_attempt(lambda d=d: d.messages) for d in (mine, yours)])
        prompt = _attempt(lambda d=mine: d.messages)
        if not isinstance(prompt, EvaluationError) and not prompt[-1][1].strip():
            raise WrongError("disagreement", "an empty prompt", str(prompt))
    seats = first.env.seats
    for seat in random.sample(seats, min(LOOKING, len(seats))):
        views = [_attempt(lambda e=e, s=seat: _view(e, s)) for e in (first, other)]
        _same("view", views)


def _view(episode: Episode, seat: str) -> Any:
    view = episode.view(seat)
    try:
        vector = view.vector
    except VectorTooLarge:
        return view.data, view.text
    names = episode.env.vector_names(seat)
    if len(vector) != len(names) or not all(map(math.isfinite, vector)):
        raise WrongError("disagreement", "a vector", f"{len(vector)} numbers for {len(names)}")
    return view.data, view.text, vector


def _check_payoffs(episode: Episode, result: Result) -> None:
    """Checks that payoffs lie within the proved bounds, and sum to what is proved."""
    assert result.ir is not None
    bounds = PayoffBounds(result.ir)
    for seat, amount in episode.payoffs.items():
        ends = bounds.ends(seat)
        forfeited = amount is None or amount == episode.env.cost_of(seat)  # plays that rules end
        if not forfeited and ends is not None and not ends[0] <= amount <= ends[1]:
            raise WrongError("disagreement", "bounds", f"{seat} is paid {amount}, not in {ends}")
    sure = {p.name for p in result.proofs if p.grade in ("proved", "enumerated")}
    total = sum(amount or 0 for amount in episode.payoffs.values())
    for claim in result.ir.claims:
        wrong = claim.kind in ("zero_sum", "constant_sum") and total != claim.amount
        if wrong and claim.kind in sure and None not in episode.payoffs.values():
            raise WrongError("disagreement", "claim", f"{claim.kind}: they sum to {total}")


def _replies(game: Game, env: Env, random: Random, number: int) -> list[str]:
    """Plays once with texts, some of them nonsense, and replays the transcript."""
    episode = _attempt(lambda: env.reset(number))
    if isinstance(episode, EvaluationError):
        return ["no value"]
    for _ in range(MOVES):
        if episode.done:
            break
        replies = {d.seat: _text(episode, d, random) for d in episode.decisions}
        if isinstance(_attempt(lambda e=episode, r=replies: e.step(r)), EvaluationError):
            return ["no value"]
    (written,) = read(dump(episode))
    again = _attempt(lambda: replay(game, written, env))
    if isinstance(again, EvaluationError) or not episode.done:
        return ["not replayed"]
    if again.faults or again.episode.payoffs != episode.payoffs:
        raise WrongError("disagreement", "replay", f"{again.faults}\n{dump(episode):.3000}")
    assert text_of(conversation_of(again))
    return ["replayed"]


def _text(episode: Episode, decision: Decision, random: Random) -> Action | str | ParseFailure:
    """Returns a reply: a label, nonsense, or an action."""
    chosen = _choice(episode, decision, random)
    if random.random() < 0.1:
        read_as = _attempt(lambda: episode.parse(decision, NONSENSE))
        if isinstance(read_as, str) and decision.said is None:
            raise WrongError("illegal action", "nonsense", read_as)
        return NONSENSE
    if decision.said is None and isinstance(chosen, Action) and decision.form.kind == "label":
        label = decision.labels[decision.legal.index(chosen.name)]
        if episode.parse(decision, label) != chosen.name and decision.form.think is None:
            raise WrongError("illegal action", "a label", f"{label!r} is not {chosen.name!r}")
    return chosen
