"""The witness of a refuted claim as plays: what a leak shows as two histories, beside each other.

A game with such a problem does not compile, so that nobody plays it; its witness is played here all
the same, from the game as it is before anything is proved of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.compiler import check_names
from gamedsl.frontend.source.loader import replacing
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.mcp.refusal import Refused
from gamedsl.prompting.events import known
from gamedsl.prompting.prompts import RenderError
from gamedsl.runtime import Action, Game
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump
from gamedsl.sema.library import resolve_argument
from gamedsl.studio.records import transcript_of
from gamedsl.studio.replays import point
from gamedsl.view.conversation import conversation_html, conversation_of

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Episode
    from gamedsl.runtime.replay import Replay

TITLES = ("One play", "Another play")


def witness(
    file: str, moves: Sequence[Sequence[str]], text: str | None = None, move: int | None = None
) -> dict[str, Any]:
    """Returns the plays of a witness, one or two, after `move` moves of each, at most all, which is
    the default: as replays show that point, with what the seats know, see and are sent there; at
    the end as conversations too. A `text` stands for the file. Raises Refused where the file has
    other problems, or has changed.
    """
    path = Path(resolve_argument(file))
    with replacing({} if text is None else {path: text}):
        read = check_names(path)
    if read.ir is None:
        raise Refused("this file has problems", "open it in the editor")
    game = Game(read.ir, (path,))
    env = game.env(run_seed=0)
    found = [_played(env, one) for one in moves[: len(TITLES)]]
    plays = [replay(game, transcript_of(dump(episode)), env) for episode, _ in found]
    total = max(len(play.moves) for play in plays)
    move = total if move is None else max(0, min(move, total))
    places = [min(move, len(play.moves)) for play in plays]
    points = [
        play.moves[place].before if place < len(play.moves) else episode
        for play, place, (episode, _) in zip(plays, places, found, strict=True)
    ]
    asked = {decision.seat for episode, _ in found for decision in episode.decisions}
    seats = [seat for seat in read.ir.everyone if seat in asked]
    seen = {seat: [_seat(episode, seat) for episode in points] for seat in seats}
    for rows in seen.values():
        _mark_differences(rows)
    titles = TITLES if len(plays) > 1 else ("The play",)
    return {
        "game": game.name,
        "move": move,
        "total": total,
        "plays": [
            {
                "title": title,
                "step": point(play, place, len(play.moves)),
                "talk": _talk(play, title) if move == total else "",
                "seats": [[seat, seen[seat][number]] for seat in seats],
                "fault": fault if place == len(play.moves) else "",
            }
            for number, (title, play, place, (_, fault)) in enumerate(
                zip(titles, plays, places, found, strict=True)
            )
        ],
        "alike": [
            seat for seat in seats
            if len(plays) > 1 and seen[seat][0]["seen"] == seen[seat][1]["seen"]
        ],
    }  # fmt: skip


def _played(env: Env, moves: Sequence[str]) -> tuple[Episode, str]:
    """Plays the moves of a history (`gamedsl.analysis.proof.Moves`). Returns the episode, and why
    the rules fail at its last move, if they do."""
    episode = env.reset(seed=0, chance="asked", forced="asked")
    rest = iter(moves)
    try:
        for name in rest:
            if episode.outcome_count:
                number = episode.outcome_named(name)
                if number is None:
                    raise Refused("the file has changed", "check its claims again")
                episode.draw(number)
                continue
            asked = episode.decisions
            names = [name, *(next(rest) for _ in asked[1:])]
            if not asked or any(n not in d.legal for d, n in zip(asked, names, strict=True) if n):
                raise Refused("the file has changed", "check its claims again")
            before = episode.fork()
            try:
                episode.step({d.seat: Action(n) for d, n in zip(asked, names, strict=True)})
            except EvaluationError as error:
                return before, f"{', '.join(names)}: {error}"
    except (StopIteration, RuntimeError) as error:
        raise Refused("the file has changed", "check its claims again") from error
    return episode, ""


def _talk(play: Replay, title: str) -> str:
    return conversation_html(conversation_of(play, ()), title=title, ends=False)


def _seat(episode: Episode, seat: str) -> dict[str, Any]:
    """Returns what a seat has seen and is asked at a point of a play, with its prompt by lines."""
    decision = next((one for one in episode.decisions if one.seat == seat), None)
    lines: list[str] = []
    if decision is not None:
        try:
            lines = "\n".join(text for _, text in decision.messages).split("\n")
        except (RenderError, EvaluationError) as error:
            lines = [str(error)]
    return {
        "seen": known(episode.seen(seat)) or "nothing",
        "step": "" if decision is None else decision.step,
        "options": [] if decision is None else list(decision.legal),
        "over": episode.done,
        "lines": [[line, False] for line in lines],
    }


def _mark_differences(rows: Sequence[dict[str, Any]]) -> None:
    """Marks the lines of a prompt that the other play's does not have."""
    if len(rows) < 2:
        return
    texts = [{line for line, _ in row["lines"]} for row in rows]
    for row, other in zip(rows, reversed(texts), strict=True):
        row["lines"] = [[line, bool(other) and line not in other] for line, _ in row["lines"]]
