"""Files of transcripts as workers read them: what is in them, and one play of them step by step.

A file may hold thousands of plays. They are found by their first lines; only those that are shown
are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gamedsl.ir.evaluate import EvaluationError
from gamedsl.mcp.refusal import Refused
from gamedsl.prompting.events import known
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.prompts import RenderError
from gamedsl.prompting.replies import REASONS
from gamedsl.runtime.transcripts import MAX_BYTES, Chosen, Drawn, Failed
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.studio.records import at_move, game_of, transcript_of

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode
    from gamedsl.runtime.transcripts import Happening, Transcript

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
    """Returns one point of a play: what every seat sees there, and what happens next, with the
    prompts as they were sent, the replies as they came, and why some were refused."""
    transcript = transcript_of(_text(_starts(file), number))
    played = game_of(game, transcript)
    happenings = transcript.happenings
    move = max(0, min(move, len(happenings)))
    replayed = at_move(played, transcript, move)
    episode = replayed.episode
    ir = played.ir
    return {
        "game": played.name,
        "seed": transcript.head["seed"],
        "move": move,
        "moves": [_headline(one) for one in happenings],
        "views": [[seat, _view(episode, seat)] for seat in ir.everyone],
        "next": _next(transcript, happenings[move], move, episode)
        if move < len(happenings)
        else [],
        "payoffs": [[s, None if a is None else str(a)] for s, a in episode.payoffs.items()],
        "may_branch": not episode.done,
        "seats": list(ir.everyone),
    }


def _view(episode: Episode, seat: str) -> dict[str, str]:
    return {
        "situation": episode.view(seat).situation,
        "seen": known(episode.seen(seat)) or "nothing",
    }


def _headline(happening: Happening) -> str:
    """A move in one line."""
    match happening:
        case Drawn(step=step, index=index, outcome=outcome):
            return f"chance draws {step}{''.join(f'[{part}]' for part in index)} = {outcome}"
        case Chosen(step=step, choices=choices):
            return ", ".join(
                f"{seat} {step} = {name or 'nothing'}" for seat, name in choices.items()
            )
        case Failed(failures=failures):
            return f"{', '.join(failures)} gave no valid reply"


def _next(
    transcript: Transcript, happening: Happening, move: int, episode: Episode
) -> list[dict[str, Any]]:
    """The decisions at a point, each with what became of it."""
    chosen = happening.choices if isinstance(happening, Chosen) else {}
    failed = happening.failures if isinstance(happening, Failed) else {}
    replies = _Replies(transcript, move)
    return [
        {
            "seat": decision.seat,
            "step": decision.step,
            "prompt": _prompt(decision, transcript.head.get("labels")),
            "options": list(decision.legal),
            "chosen": chosen.get(decision.seat, ""),
            "raw": replies.raw(decision),
            "refused": [
                *replies.refused(decision),
                *([list(failed[decision.seat])] if decision.seat in failed else []),
            ],
        }
        for decision in episode.decisions
        if decision.seat in chosen or decision.seat in failed
    ]


def _prompt(decision: Decision, labels: Any) -> list[list[str]]:
    """The messages of a decision, under the labels that the transcript has."""
    found = labels.get("labels") if isinstance(labels, dict) else None
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        return []
    book = LabelBook(str(labels.get("kind")), tuple(found.items()), str(labels.get("order", "")))
    if not all(map(book.has, decision.legal)):
        return []
    try:
        return [[role, text] for role, text in decision.under(book).messages]
    except (EvaluationError, RenderError, KeyError):
        return []


class _Replies:
    """The replies that the header of a transcript holds, which may be any value."""

    def __init__(self, transcript: Transcript, move: int) -> None:
        self._mistakes = list(_entries(transcript.head.get("mistakes")))
        self._texts: dict[tuple[str, str], list[str]] = defaultdict(list)
        for one in _entries(transcript.head.get("replies")):
            self._texts[one["seat"], one["step"]].append(one["text"])

    def refused(self, decision: Decision) -> list[list[str]]:
        """Returns the refused replies to a decision: the reason and the text of each."""
        place = (decision.seat, decision.step, decision.occurrence)
        return [
            [REASONS.get(str(one.get("reason")), str(one.get("reason"))), one["text"]]
            for one in self._mistakes
            if (one["seat"], one["step"], one.get("occurrence")) == place
        ]

    def raw(self, decision: Decision) -> str:
        """Returns the reply to a decision as it came; empty where none was kept."""
        texts = self._texts[decision.seat, decision.step]
        before = sum(
            (one["seat"], one["step"]) == (decision.seat, decision.step)
            and isinstance(one.get("occurrence"), int)
            and one["occurrence"] <= decision.occurrence
            for one in self._mistakes
        )
        return next(iter(texts[decision.occurrence + before :]), "")


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the entries of what should be a list of replies."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and all(
            isinstance(one.get(key), str) for key in ("seat", "step", "text")
        ):
            yield one


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
