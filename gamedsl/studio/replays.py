"""Files of transcripts as workers read them: what is in them, and one play of them step by step.

A file may hold thousands of plays. They are found by their first lines; only those that are shown
are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.mcp.refusal import Refused
from gamedsl.prompting.events import known
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import MAX_BYTES, Chosen, Drawn
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
    from gamedsl.runtime.replay import Move, Replay
    from gamedsl.runtime.transcripts import Transcript

_HEAD = 400
"""Bytes of a line in which a header has its `format`."""


def plays(file: str, first: int, count: int, **filters: Any) -> dict[str, Any]:
    """Returns the number of plays in a file that fit, and some of them from `first` on: their
    number, game, seed, how many games each stands for, payoffs, and the number of refused replies.
    Without `filters` (`_fits`) no play is read but those that are returned.
    """
    starts = _starts(file)
    if not filters:
        rows = [_row(starts, n) for n in range(first, min(first + count, len(starts)))]
        return {"total": len(starts), "rows": rows}
    found = [row for n in range(len(starts)) if _fits(row := _row(starts, n), **filters)]
    return {"total": len(found), "rows": found[first : first + count]}


MOST_READ = 1 << 24
"""Bytes of plays that are looked through for one list over several files."""


def plays_over(files: Sequence[str], first: int, count: int, **filters: Any) -> dict[str, Any]:
    """Returns the next plays of several files that fit, as `plays` does, each with the place of its
    `file`: from play `first` of the first file on. Files are read one after the other, until
    `count` plays fit or `MOST_READ` bytes were looked through; `next` is where the search goes on,
    the place of a file and a play, or None at its end.
    """
    rows: list[dict[str, Any]] = []
    read = 0
    for place, file in enumerate(files):
        starts = _starts(file)
        for number in range(0 if place else first, len(starts)):
            if len(rows) == count or read > MOST_READ:
                return {"rows": rows, "next": [place, number]}
            begin, end = starts[number]
            read += end - begin
            try:
                row = _row(starts, number)
            except Refused as error:
                name = Path(file).name
                raise Refused(f"{name}, play {number + 1}: {error.fact}", error.fix) from error
            if _fits(row, **filters):
                rows.append(row | {"file": place})
    return {"rows": rows, "next": None}


def _fits(
    row: Mapping[str, Any], refused: str = "", seat: str = "", least: float | None = None,
    most: float | None = None,
) -> bool:  # fmt: skip
    """Returns whether a play has refused replies (`some`) or none (`none`), and a seat, or some
    seat where none is named, is paid at least `least` and at most `most`."""
    if refused and bool(row["refused"]) != (refused == "some"):
        return False
    if least is None and most is None:
        return True
    return any(
        (least is None or Fraction(amount) >= least) and (most is None or Fraction(amount) <= most)
        for one, amount in row["payoffs"].items()
        if amount is not None and (not seat or one == seat)
    )


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
    episode = replayed.moves[move].before if move < len(replayed.moves) else replayed.episode
    return point(replayed, move, len(happenings)) | {
        "game": played.name,
        "seed": transcript.head["seed"],
        "views": [[seat, seat_view(episode, seat)] for seat in played.ir.everyone],
        "may_branch": not episode.done,
        "seats": list(played.ir.everyone),
    }


def point(replayed: Replay, move: int, total: int) -> dict[str, Any]:
    """Returns what everybody is shown of one point of a play of `total` moves: the headlines of its
    moves, the one that comes next as a part of the conversation, who chooses, and who writes."""
    moves = replayed.moves
    talk = conversation_of(replayed, (move + 1,))
    return {
        "move": move,
        "total": total,
        "moves": [headline_of(one) for one in talk.exchanges],
        "faults": [str(fault) for fault in replayed.faults],
        "next": exchange_html(talk, move + 1) if move < len(moves) else "",
        "asked": _asked(moves[move]) if move < len(moves) else [],
        "writers": _writers(moves[move]) if move < len(moves) else [],
        "payoffs": [[s, _text_of(a)] for s, a in replayed.episode.payoffs.items()],
    }


def _text_of(amount: Any) -> str | None:
    return None if amount is None else str(amount)


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


def _writers(move: Move) -> list[str]:
    """Returns the seats that write a text at a move."""
    if isinstance(move.happening, Drawn):
        return []
    return [one.seat for one in move.before.decisions if one.said is not None]


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
