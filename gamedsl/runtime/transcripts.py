"""Transcripts as JSON lines: the record of an episode, written and read back.

    {"format": 1, "game": "kuhn_poker", "hash": …, "params": …, "run_seed": 0, "seed": 7, …}
    {"step": "card", "index": ["first"], "outcome": "K"}
    {"step": "open", "choices": {"first": "bet"}}
    {"step": "run", "call": "run_python", "gives": [{"ok": true, …}]}
    {"failures": {"second": {"reason": "unknown", "text": "hm"}}}
    {"payoffs": {"first": "2", "second": "-2"}, "rewards": …}

The last line has `referees` too where a game says what its referees are paid.

A header, a line for each thing that happened in order, and what it came to; a file may hold several
episodes, one after the other. An episode on one line, as `Episode.transcript` gives it, is read as
well. Names are canonical, amounts exact texts; None is void. `gamedsl.runtime.replay` holds a
transcript against the game.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.ir.values import name_of
from gamedsl.storage import strict_json
from gamedsl.storage.reader import read_text

if TYPE_CHECKING:
    from gamedsl.runtime.episode import Episode

FORMAT = 1

MAX_BYTES = 1 << 28
"""Bytes of a file of transcripts."""

_BOUNDS = strict_json.Bounds(surrogates=True)
"""A reply that was refused may have a half of a character."""

MAX_GAMES = 2**53
"""Games that one record may stand for."""

_RESULT = ("payoffs", "rewards", "referees")
"""The keys of the line that says what an episode paid."""

HEAD = {"format": int, "game": str, "hash": str, "run_seed": int, "seed": int}
"""The keys of a header, with the type of each; the rest may be missing."""


class TranscriptError(Exception):
    """A text is no transcript. `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        self.message = message
        self.line = line
        super().__init__(f"line {line}: {message}")


@dataclass(frozen=True)
class Drawn:
    """Chance brought an outcome at a step, for an index."""

    step: str
    index: tuple[str, ...]
    outcome: str
    line: int


@dataclass(frozen=True)
class Chosen:
    """Seats chose at a step, by seat."""

    step: str
    choices: Mapping[str, str]
    line: int


@dataclass(frozen=True)
class Failed:
    """Seats gave no legal answer: the reason and the text of each."""

    failures: Mapping[str, tuple[str, str]]
    line: int


@dataclass(frozen=True)
class Given:
    """A step called a function, as often as there are results: one that need not give the same
    again."""

    step: str
    function: str
    results: tuple[Any, ...]
    line: int


@dataclass(frozen=True)
class Result:
    """The payoff and the reward of each seat, and the payoffs of referees, as exact texts; None is
    void."""

    payoffs: Mapping[str, str | None]
    rewards: Mapping[str, str | None]
    line: int
    referees: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def earnings(self) -> dict[str, str | None]:
        """The amounts that training maximises, as of `Episode.earnings`."""
        return {**self.rewards, **self.referees}


Happening = Drawn | Chosen | Failed


@dataclass(frozen=True)
class Transcript:
    """One episode as it was recorded. `result` is None where the record ends before it."""

    head: Mapping[str, Any]
    happenings: tuple[Happening, ...]
    result: Result | None
    line: int
    given: tuple[Given, ...] = ()
    """The results of functions, in order."""


class RecordedReplies:
    """The replies that the head of a transcript has, which may hold any value: `replies` as they
    were written, and of these the `mistakes`, which were refused. Each is given once, in order."""

    def __init__(self, transcript: Transcript) -> None:
        self.refusals: dict[tuple[str, str, int], list[tuple[str, str]]] = defaultdict(list)
        """The reasons and the texts, by seat, step and the number of earlier answers there."""
        for seat, step, text, one in _told(transcript.head.get("mistakes")):
            turn = one.get("occurrence")
            if isinstance(turn, int):
                self.refusals[seat, step, turn].append((str(one.get("reason")), text))
        self._texts: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        for seat, step, text, _ in _told(transcript.head.get("replies")):
            self._texts[seat, step].append(text)

    def refused(self, seat: str, step: str, turn: int) -> tuple[tuple[str, str], ...]:
        """Returns the reasons and the texts of the replies that were refused at a decision."""
        return tuple(self.refusals.get((seat, step, turn), ()))

    def take(self, seat: str, step: str, refused: int, answered: bool) -> str:
        """Takes the replies of a decision: a number of refused ones, and one after these if it was
        `answered`, whose text is returned; it is empty where none was recorded."""
        texts = self._texts[seat, step]
        for _ in range(min(refused, len(texts))):
            texts.popleft()
        return texts.popleft() if answered and texts else ""


def _told(value: Any) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yields seat, step, text and the whole of each entry of what should be a list of them."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            seat, step, text = (one.get(key) for key in ("seat", "step", "text"))
            if isinstance(seat, str) and isinstance(step, str) and isinstance(text, str):
                yield seat, step, text, one


def dump(episode: Episode) -> str:
    """Returns an episode so far as JSON lines, each with a newline at its end."""
    record = episode.transcript
    tail = ("steps", "failures", *_RESULT)
    lines = [{key: value for key, value in record.items() if key not in tail}]
    for step in record["steps"]:
        lines += _happenings(step)
    if record["failures"]:
        lines.append({"failures": record["failures"]})
    if record["payoffs"]:
        lines.append({key: record[key] for key in _RESULT if key in record})
    return "".join(strict_json.write(line) + "\n" for line in lines)


def read_file(path: Path) -> Iterator[Transcript]:
    """Yields the episodes of a file, in order. Raises `FileRefused` for one that cannot be read,
    and `TranscriptError`."""
    return read(read_text(path, limit=MAX_BYTES))


def read(text: str) -> Iterator[Transcript]:
    """Yields the episodes of a text, in order. Raises `TranscriptError` where it is none."""
    open_lines: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        record = _record(line, number)
        if "format" in record and open_lines:
            yield _transcript(open_lines)
            open_lines = []
        if not open_lines and "format" not in record:
            raise TranscriptError("an episode begins with a header, which has a `format`", number)
        open_lines.append((number, record))
        if "steps" in record:
            open_lines += [(number, part) for part in _unfolded(record, number)]
        if "payoffs" in open_lines[-1][1]:
            yield _transcript(open_lines)
            open_lines = []
    if open_lines:
        yield _transcript(open_lines)


def params_as_data(params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns params as JSON-able data that `gamedsl.load` takes; the others are left out."""
    found = {}
    for name, value in params.items():
        data = _param(value)
        if data is not None:
            found[name] = data
    return found


def _param(value: Any) -> Any:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        items = [_param(item) for item in value]
        return None if None in items else items
    if isinstance(value, dict):
        entries = {name_of(key): _param(part) for key, part in value.items()}
        if None not in entries.values():
            return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in entries.items()) + "}"
    return None


def _flow(data: Any) -> str:
    """Returns data as it is written in a map in one line."""
    return f"[{', '.join(map(_flow, data))}]" if isinstance(data, list) else name_of(data)


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        record = strict_json.parse(line, bounds=_BOUNDS)
    except strict_json.JsonRefused as error:
        message = f"this is no JSON: column {error.column}: {error.reason}"
        raise TranscriptError(message, number) from None
    if not isinstance(record, dict):
        raise TranscriptError("a line holds one JSON object", number)
    return record


def _unfolded(record: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yields the lines of an episode that stands on one."""
    steps = record["steps"]
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise TranscriptError("`steps` is a list of objects", number)
    for step in steps:
        yield from _happenings(step)
    if record.get("failures"):
        yield {"failures": record["failures"]}
    if record.get("payoffs"):
        yield {key: record[key] for key in _RESULT if key in record}


def _happenings(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the lines of one entry of `Episode.transcript`: chance is `{"card/first": "K"}`
    there."""
    if not isinstance(step.get("chance"), dict):
        yield step
        return
    name = str(step.get("step"))
    for place, outcome in step["chance"].items():
        index = place.removeprefix(name).removeprefix("/")
        yield {"step": name, "index": index.split("/") if index else [], "outcome": outcome}


def _transcript(lines: list[tuple[int, dict[str, Any]]]) -> Transcript:
    (first, head), *rest = lines
    for key, type in HEAD.items():
        if not isinstance(head.get(key), type) or isinstance(head.get(key), bool):
            raise TranscriptError(f"the header needs `{key}`, {_A[type]}", first)
    if head["format"] != FORMAT:
        raise TranscriptError(f"this is format {head['format']}; {FORMAT} is read", first)
    games = head.get("games", 1)
    if not isinstance(games, int) or isinstance(games, bool) or not 1 <= games <= MAX_GAMES:
        raise TranscriptError("`games` is a whole number of at least 1", first)
    happenings: list[Happening] = []
    given: list[Given] = []
    result = None
    for number, record in rest:
        found = _line(record, number)
        if isinstance(found, Result):
            result = found
        elif isinstance(found, Given):
            given.append(found)
        else:
            happenings.append(found)
    return Transcript(head, tuple(happenings), result, first, tuple(given))


_A = {int: "a whole number", str: "a text"}


def _line(record: dict[str, Any], number: int) -> Happening | Given | Result:
    step, index = record.get("step"), record.get("index", [])
    if isinstance(record.get("outcome"), str) and isinstance(step, str) and _texts(index):
        return Drawn(step, tuple(index), record["outcome"], number)
    choices = record.get("choices")
    if isinstance(choices, dict) and isinstance(step, str) and _texts(list(choices.values())):
        return Chosen(step, choices, number)
    function, gives = record.get("call"), record.get("gives")
    if isinstance(function, str) and isinstance(step, str) and isinstance(gives, list):
        return Given(step, function, tuple(gives), number)
    failures = record.get("failures")
    if isinstance(failures, dict) and all(isinstance(f, dict) for f in failures.values()):
        read = {s: (str(f.get("reason", "")), str(f.get("text", ""))) for s, f in failures.items()}
        return Failed(read, number)
    payoffs, rewards = record.get("payoffs"), record.get("rewards", {})
    referees = record.get("referees", {})
    if isinstance(payoffs, dict) and isinstance(rewards, dict) and isinstance(referees, dict):
        return Result(payoffs, rewards, number, referees)
    raise TranscriptError(
        "a line says what chance drew, what seats chose, what a function gave, who failed, or "
        "what it paid",
        number,
    )


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
