"""Files of transcripts as workers read them: what is in them, and one play of them step by step.

A file may hold thousands of plays. They are found by their first lines; only those that are shown
are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gamedsl.mcp.refusal import Refused
from gamedsl.prompting.events import known
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import MAX_BYTES, Chosen
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.studio.records import at_move, game_of, transcript_of
from gamedsl.view.conversation import (
    conversation_html,
    conversation_of,
    exchange_html,
    headline_of,
)

if TYPE_CHECKING:
    from gamedsl.runtime import Episode, Game
    from gamedsl.runtime.replay import Move
    from gamedsl.runtime.transcripts import Transcript

_HEAD = 400
"""Bytes of a line in which a header has its `format`."""


def plays(
    file: str, first: int, count: int, refused: str = "", seat: str = "",
    least: float | None = None, most: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Returns the number of plays in a file, and some of them from `first` on: their number, game,
    seed, how many games each stands for, payoffs, and the number of refused replies.

    Of all plays those are counted that have refused replies (`some`) or none (`none`), and in which
    a seat, or some seat where none is named, is paid at least `least` and at most `most`. Without
    any of these no play is read but those that are returned.
    """
    starts = _starts(file)
    if not refused and least is None and most is None:
        rows = [_row(starts, n) for n in range(first, min(first + count, len(starts)))]
        return {"total": len(starts), "rows": rows}
    found = []
    for number in range(len(starts)):
        row = _row(starts, number)
        paid = [amount for one, amount in row["payoffs"].items() if not seat or one == seat]
        fits = [
            amount for amount in paid
            if amount is not None
            and (least is None or Fraction(amount) >= least)
            and (most is None or Fraction(amount) <= most)
        ]  # fmt: skip
        asked = least is not None or most is not None
        if (not refused or bool(row["refused"]) == (refused == "some")) and (fits or not asked):
            found.append(row)
    return {"total": len(found), "rows": found[first : first + count]}


def _row(starts: _Starts, number: int) -> dict[str, Any]:
    """Returns what a list says of a play."""
    transcript = transcript_of(_text(starts, number))
    head, result = transcript.head, transcript.result
    mistakes = head.get("mistakes")
    return {
        "number": number,
        "game": head["game"],
        "seed": head["seed"],
        "games": head.get("games", 1),
        "payoffs": dict(result.payoffs) if result else {},
        "refused": len(mistakes) if isinstance(mistakes, list) else 0,
    }


def record_text(file: str, number: int) -> str:
    """Returns the text of one play of a file."""
    return _text(_starts(file), number)


def step(file: str, number: int, game: str, move: int) -> dict[str, Any]:
    """Returns one point of a play: what every seat sees there, and the move that comes next as a
    part of the conversation."""
    transcript = transcript_of(_text(_starts(file), number))
    played = game_of(game, transcript)
    happenings = transcript.happenings
    move = max(0, min(move, len(happenings)))
    replayed = replay(played, transcript)
    if replayed.faults and (len(replayed.moves) < move or not _is_same(played, transcript)):
        replayed = at_move(played, transcript, move)
    moves = replayed.moves
    episode = moves[move].before if move < len(moves) else replayed.episode
    talk = conversation_of(replayed, (move + 1,))
    return {
        "game": played.name,
        "seed": transcript.head["seed"],
        "move": move,
        "total": len(happenings),
        "moves": [headline_of(one) for one in talk.exchanges],
        "faults": [str(fault) for fault in replayed.faults],
        "views": [[seat, seat_view(episode, seat)] for seat in played.ir.everyone],
        "next": exchange_html(talk, move + 1) if move < len(moves) else "",
        "asked": _asked(moves[move]) if move < len(moves) else [],
        "payoffs": [[s, None if a is None else str(a)] for s, a in episode.payoffs.items()],
        "may_branch": not episode.done,
        "seats": list(played.ir.everyone),
    }


def _is_same(game: Game, transcript: Transcript) -> bool:
    return (transcript.head["game"], transcript.head["hash"]) == (game.name, game.hash)


def conversation(file: str, number: int, game: str, address: str) -> str:
    """Returns a whole play as a conversation; `address` is its page, to which `&move=N` is added
    for a link to each move."""
    transcript = transcript_of(_text(_starts(file), number))
    talk = conversation_of(replay(game_of(game, transcript), transcript), ())
    return conversation_html(talk, cut=TEXT_CUT, address=lambda n: f"{address}&move={n - 1}")


TEXT_CUT = 2_000
"""Characters of one text in a whole play."""


def seat_view(episode: Episode, seat: str) -> dict[str, str]:
    """Returns what a seat sees at a point, and what it has seen."""
    return {
        "situation": episode.view(seat).situation,
        "seen": known(episode.seen(seat)) or "nothing",
    }


def _asked(move: Move) -> list[dict[str, Any]]:
    """The choices among several options at a move, each with what was chosen."""
    chosen = move.happening.choices if isinstance(move.happening, Chosen) else {}
    return [
        {"seat": one.seat, "options": list(one.legal), "chosen": chosen.get(one.seat, "")}
        for one in move.before.decisions
        if one.said is None and len(one.legal) > 1
    ]


class _Starts(list[tuple[int, int]]):
    """The places of the plays of a file, from beginning to end, in bytes of `content`."""

    content: bytes = b""


def _starts(file: str) -> _Starts:
    try:
        content = read_bytes(file, limit=MAX_BYTES)
    except FileRefused as error:
        raise Refused(str(error), "name a file of transcripts") from error
    places = [at for at in _lines(content) if b'"format"' in content[at : at + _HEAD]]
    found = _Starts(zip(places, [*places[1:], len(content)], strict=True))
    found.content = content
    return found


def _lines(content: bytes) -> Iterator[int]:
    at = 0
    while at < len(content):
        yield at
        end = content.find(b"\n", at)
        if end < 0:
            return
        at = end + 1


def _text(starts: _Starts, number: int) -> str:
    if not 0 <= number < len(starts):
        raise Refused(f"there is no play {number + 1} in this file", "choose one of the list")
    return starts.content[slice(*starts[number])].decode("utf-8", "replace")
