"""A play as a conversation: who said or chose what, who saw it, and why replies were refused.

`conversation_of` makes the model of a replay, with prompts, channels and the details of refusals;
`recorded_conversation` makes it of a transcript alone, where the game is not at hand, and who saw
what is then unknown. There are two renderings of the one model: `lines_of` for terminals (plain, or
styled by `print_conversation`), and `conversation_html` for pages, with `conversation_rules` as its
style sheet. Both show every text as text: HTML is escaped, and so is what does not print.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.program import Choose, Draw, walk_steps
from gamedsl.ir.types import Record, plain, text_or_record
from gamedsl.prompting.events import SILENCE, Event, known
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.prompts import RenderError
from gamedsl.prompting.replies import REASONS, ParseFailure, split_thought
from gamedsl.prompting.visibility import field_texts
from gamedsl.runtime.replay import indexed
from gamedsl.runtime.transcripts import Chosen, Drawn, Failed, RecordedReplies
from gamedsl.storage.characters import escaped
from gamedsl.tables.model import TextRun, series
from gamedsl.tables.text import cut as cut_text

if TYPE_CHECKING:
    from rich.console import Console

    from gamedsl.ir.game import GameIR
    from gamedsl.runtime.decision import Decision, Message
    from gamedsl.runtime.episode import Episode
    from gamedsl.runtime.replay import Move, Replay
    from gamedsl.runtime.transcripts import Happening, Transcript

LONG = 60
"""Letters that an outcome of chance may have in its line."""

Seats = tuple[str, ...]
InPart = tuple[tuple[Seats, tuple[str, ...]], ...]
"""Seats, and the names of the fields that they saw of a record."""


@dataclass(frozen=True)
class Refusal:
    """A reply that was refused. `reason` is a key of `REASONS`; `detail` says where the fault is,
    where the game could be asked again."""

    reason: str
    text: str
    detail: str = ""

    @property
    def why(self) -> str:
        """The reason as a clause, with the detail."""
        return f"{REASONS.get(self.reason, self.reason)}{f' ({self.detail})' * bool(self.detail)}"


@dataclass(frozen=True)
class Utterance:
    """The answer of one seat at one decision, after the replies of it that were `refused`.

    `name` is the canonical name of a choice, or what was said; None where the seat forfeits there,
    and empty where the game goes on without a valid reply. `seen_by` are the seats that saw the
    whole of it, None where that is unknown, and `seen_in_part` those that saw some of its fields.
    `prompt` are the messages as they were sent, `raw` is the reply as it came; both are empty where
    they are not known.
    """

    seat: str
    step: str
    name: str | None
    spoken: bool = False
    """Whether the answer is a text; else it is a choice."""
    label: str = ""
    """The label under which a choice was offered, if it is not its name."""
    seen_by: Seats | None = None
    refused: tuple[Refusal, ...] = ()
    thought: str = ""
    raw: str = ""
    prompt: tuple[Message, ...] = ()
    seen_in_part: InPart = ()

    @property
    def text(self) -> str:
        """The text that was said, a JSON object field by field; the name of a choice."""
        name = self.name or ""
        return "\n".join(_fields(name)) if self.spoken and name.startswith("{") else name


@dataclass(frozen=True)
class Outcome:
    """An outcome of chance: `place` is its step with the index. `odds` are empty where they are
    not known."""

    place: str
    name: str
    odds: str = ""
    seen_by: Seats | None = None
    seen_in_part: InPart = ()


@dataclass(frozen=True)
class Notice:
    """Something else that seats came to know, as the text of an event."""

    seen_by: Seats
    text: str


@dataclass(frozen=True)
class Exchange:
    """A move: an outcome of chance, or the answers that seats gave each blind to the others."""

    number: int
    parts: tuple[Outcome | Utterance, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def refusals(self) -> int:
        """The number of refused replies."""
        return sum(len(one.refused) for one in self.parts if isinstance(one, Utterance))


@dataclass(frozen=True)
class Conversation:
    """A play. `roles` are those of all seats and referees, empty where they are unknown; `payoffs`
    and `rewards` are exact texts by seat, None for void, and empty before the end."""

    title: str
    seats: Seats
    roles: Mapping[str, str]
    exchanges: tuple[Exchange, ...]
    payoffs: Mapping[str, str | None]
    rewards: Mapping[str, str | None]
    referees: Mapping[str, str | None] = field(default_factory=dict)
    """The payoffs of referees that have one."""

    @property
    def refusals(self) -> int:
        """The number of refused replies."""
        return sum(exchange.refusals for exchange in self.exchanges)


# the model


def conversation_of(replay: Replay, prompted: Container[int] | None = None) -> Conversation:
    """Returns the conversation of a transcript that was played again, as far as it agrees with the
    game. `prompted` are the numbers of the moves whose prompts are written out, by default all."""
    episode, records = replay.episode, _Records(replay.transcript)
    env = episode.env
    exchanges = tuple(
        _exchange_of(number, move, records, prompted is None or number in prompted)
        for number, move in enumerate(replay.moves, start=1)
    )
    return Conversation(
        _title(replay.transcript), env.ir.everyone,
        {seat: env.ir.role_of[seat] for seat in env.ir.everyone}, exchanges,
        {seat: _amount(amount) for seat, amount in episode.payoffs.items()},
        {seat: _amount(amount) for seat, amount in episode.rewards.items()},
        {seat: _amount(amount) for seat, amount in episode.referee_payoffs.items()},
    )  # fmt: skip


def recorded_conversation(transcript: Transcript) -> Conversation:
    """Returns the conversation that a transcript alone tells: who saw what is unknown."""
    records, result = _Records(transcript), transcript.result
    exchanges = tuple(
        Exchange(number, tuple(_recorded(happening, records)))
        for number, happening in enumerate(transcript.happenings, start=1)
    )
    spoke = (p.seat for one in exchanges for p in one.parts if isinstance(p, Utterance))
    seats = tuple(dict.fromkeys((*(result.payoffs if result else ()), *spoke)))
    paid: tuple[Mapping[str, str | None], ...] = ({}, {})
    if result is not None:
        paid = (result.payoffs, result.rewards, result.referees)
    return Conversation(_title(transcript), seats, {}, exchanges, *paid)


class _Records:
    """Replies and labels that the head of a transcript has; it may hold any value."""

    def __init__(self, transcript: Transcript) -> None:
        self._replies = RecordedReplies(transcript)
        labels = transcript.head.get("labels")
        self.labels: Mapping[str, Any] = labels if isinstance(labels, dict) else {}
        self._turns: dict[tuple[str, str], int] = defaultdict(int)

    def last_of(self, seat: str) -> tuple[str, tuple[Refusal, ...]]:
        """Returns the step at which a seat was refused last, and the refusals there."""
        places = [place for place in self._replies.refusals if place[0] == seat]
        return (places[-1][1], self.refused(*places[-1])) if places else ("its turn", ())

    def is_option(self, name: str) -> bool:
        """Returns whether the label book has an option of this name."""
        book = self.labels.get("labels")
        return isinstance(book, dict) and name in book

    def turn(self, seat: str, step: str) -> int:
        """Returns the number of earlier answers of a seat at a step, and counts this one."""
        self._turns[seat, step] += 1
        return self._turns[seat, step] - 1

    def refused(self, seat: str, step: str, turn: int) -> tuple[Refusal, ...]:
        """Returns the replies of a seat that were refused at a decision, in order."""
        return tuple(Refusal(*one) for one in self._replies.refused(seat, step, turn))

    def reply(self, seat: str, step: str, refused: int, answered: bool) -> str:
        """Returns the text of the answer after a number of refused ones; empty if there is none."""
        return self._replies.take(seat, step, refused, answered)

    def label(self, name: str) -> str:
        """Returns the label of an option, empty where it is the name."""
        book = self.labels.get("labels")
        label = book.get(name) if isinstance(book, dict) else None
        return label if isinstance(label, str) and label != name else ""

    @property
    def book(self) -> LabelBook | None:
        """The label book, if the head has one that can be used."""
        book, kind = self.labels.get("labels"), self.labels.get("kind")
        if not isinstance(book, dict) or not isinstance(kind, str):
            return None
        if not all(isinstance(label, str) for label in book.values()):
            return None
        return LabelBook(kind, tuple(book.items()), str(self.labels.get("order", "")))


def _exchange_of(number: int, move: Move, records: _Records, prompted: bool) -> Exchange:
    happening, told, before = move.happening, list(move.told), move.before
    parts: list[Outcome | Utterance] = []
    match happening:
        case Drawn(step, index, name):
            found = before.outcome_named(name)
            odds = "" if found is None else str(before.outcome(found).probability)
            seen = _taken(told, step, "/".join(index), name, before.env.ir)
            parts.append(Outcome(indexed(step, index), name, odds, *seen))
        case Chosen(step, choices):
            for one in before.decisions:
                answer = choices[one.seat]
                seen = _taken(told, step, one.seat, answer, before.env.ir)
                parts.append(_answer(one, step, answer, seen, (), before, records, prompted))
        case Failed(failures):
            for one in before.decisions:
                if one.seat in failures:
                    last = Refusal(*failures[one.seat])
                    parts.append(
                        _answer(one, one.step, None, ((), ()), (last,), before, records, prompted)
                    )
    notices = tuple(Notice(seats, known((event,))) for seats, event in told)
    return Exchange(number, tuple(parts), notices)


def _taken(
    told: list[tuple[Seats, Event]], step: str, seat: str, name: str, game: GameIR
) -> tuple[Seats, InPart]:
    """Takes the events that are a move itself out of what was told; returns who saw the whole of
    it, in order, and who saw which of its fields."""
    text, record = known((Event(step, 0, seat, name),)), _record_in_parts(step, game)
    whole: set[str] = set()
    in_part: list[tuple[Seats, tuple[str, ...]]] = []
    left: list[tuple[Seats, Event]] = []
    for seats, one in told:
        fields: tuple[str, ...] = ()
        if record is not None and (one.step, one.seat) == (step, seat):
            fields = tuple(field_texts(one.name, record) or ())
        if known((one,)) == text or (record is not None and len(fields) == len(record.fields)):
            whole |= set(seats)
        elif fields:
            in_part.append((seats, fields))
        else:
            left.append((seats, one))
    told[:] = left
    return tuple(reader for reader in game.everyone if reader in whole), tuple(in_part)


def _record_in_parts(step: str, game: GameIR) -> Record | None:
    """Returns the record that a step makes, where its fields have readers of their own."""
    for one in walk_steps(game.turns):
        if isinstance(one, Choose | Draw) and one.id == step and one.readers.fields:
            type = plain(one.type)
            kinds = text_or_record(type)
            record = type if kinds is None else kinds.record
            return record if isinstance(record, Record) else None
    return None


def _answer(
    decision: Decision, step: str, name: str | None, seen: tuple[Seats, InPart],
    last: tuple[Refusal, ...], before: Episode, records: _Records, prompted: bool,
) -> Utterance:  # fmt: skip
    """Returns the answer of a seat at a decision; `last` is the reply for which it forfeits."""
    seat, spoken = decision.seat, decision.said is not None
    refused = records.refused(seat, decision.step, decision.occurrence)
    if last and refused[-1:] != last:
        refused += last
    asked = spoken or len(decision.legal) > 1
    prompt = _prompt(decision, records) if asked and prompted else ()
    answered = asked and bool(name) and len(refused) <= decision.env.ir.costs[seat].retry
    raw = records.reply(seat, decision.step, len(refused), answered)
    return Utterance(
        seat, step, name, spoken, "" if spoken else records.label(name or ""), seen[0],
        tuple(_detailed(one, decision, before) for one in refused),
        "" if spoken else _thought(raw), raw, prompt, seen[1],
    )  # fmt: skip


def _detailed(refusal: Refusal, decision: Decision, before: Episode) -> Refusal:
    """Returns a refusal with its detail, where the same reply is refused again for the same
    reason."""
    try:
        again = before.parse(decision, refusal.text)
    except (EvaluationError, ValueError):
        return refusal
    if isinstance(again, ParseFailure) and again.reason == refusal.reason:
        return replace(refusal, detail=again.detail)
    return refusal


def _prompt(decision: Decision, records: _Records) -> tuple[Message, ...]:
    """Returns the messages of a decision, under the labels that the transcript has."""
    book = records.book
    if book is None or not all(map(book.has, decision.legal)):
        return ()
    try:
        return decision.under(book).messages
    except (EvaluationError, RenderError, KeyError):
        return ()


def _thought(raw: str) -> str:
    """Returns the thought before a choice; empty where there is none."""
    split = split_thought(raw)
    return "" if isinstance(split, ParseFailure) else split[0] or ""


def _recorded(happening: Happening, records: _Records) -> Iterator[Outcome | Utterance]:
    """Yields what a line of a transcript tells by itself."""
    match happening:
        case Drawn(step, index, name):
            yield Outcome(indexed(step, index), name)
        case Chosen(step, choices):
            for seat, name in choices.items():
                refused = records.refused(seat, step, records.turn(seat, step))
                raw = records.reply(seat, step, len(refused), bool(name))
                spoken = "labels" in records.labels and not records.is_option(name)
                yield Utterance(
                    seat, step, name, spoken, records.label(name), None, refused,
                    "" if spoken else _thought(raw), raw,
                )  # fmt: skip
        case Failed(failures):
            for seat, failure in failures.items():
                last = Refusal(*failure)
                step, refused = records.last_of(seat)
                yield Utterance(seat, step, None, refused=refused or (last,))


def _title(transcript: Transcript) -> str:
    head = transcript.head
    return f"{head['game']}, run seed {head['run_seed']}, seed {head['seed']}"


def _amount(amount: Any) -> str | None:
    return None if amount is None else str(amount)


def _fields(name: str) -> Iterator[str]:
    """Yields the fields of a JSON object, a line each; the text itself where it is none."""
    try:
        found = json.loads(name)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        yield name
        return
    for key, value in found.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{key}: {shown}"


def headline_of(exchange: Exchange) -> str:
    """Returns a move in one line."""
    return ", ".join(map(_part_headline, exchange.parts))


def _part_headline(part: Outcome | Utterance) -> str:
    if isinstance(part, Outcome):
        return f"chance draws {part.place} = {_shortened(part.name)}"
    if part.name is None:
        return f"{part.seat} gave no valid reply"
    return f"{part.seat} {part.step} = {_shortened(part.name) or 'nothing'}"


def _shortened(text: str) -> str:
    return cut_text(" ".join(escaped(text.replace("\n", " ")).split()), HEADLINE)


HEADLINE = 80
"""Characters of one answer in a headline."""

# the rendering for terminals


@dataclass(frozen=True)
class Line:
    """A line of a terminal: stretches of text with styles, after an indentation of `indent`
    columns, in which `head` stands. The styles are those of tables, `bad` and `thought`."""

    runs: tuple[TextRun, ...]
    indent: int = 0
    head: str = ""

    @property
    def plain(self) -> str:
        """The line without styles."""
        text = "".join(run.text for run in self.runs)
        return f"{self.head:<{self.indent}}{text}".rstrip()


def lines_of(talk: Conversation, *, prompts: bool = False) -> Iterator[Line]:
    """Yields the lines of a conversation; with `prompts` also what each seat was sent."""
    yield _line((talk.title, "strong"))
    if talk.seats:
        yield _line(("seats: ", "soft"), *_seats(talk))
    width = len(str(len(talk.exchanges)))
    for exchange in talk.exchanges:
        head = f"{exchange.number:>{width}}"
        for line in _exchange_lines(exchange, talk, prompts):
            yield replace(line, indent=line.indent + width + 2, head=head)
            head = ""
    if talk.payoffs:
        yield _line(("payoffs: ", "soft"), (amounts_text(talk.payoffs), "strong"))
        if talk.rewards and talk.rewards != talk.payoffs:
            yield _line(("rewards: ", "soft"), (amounts_text(talk.rewards), "strong"))
        if talk.referees:
            yield _line(("referees: ", "soft"), (amounts_text(talk.referees), "strong"))


def text_of(talk: Conversation, *, prompts: bool = False) -> str:
    """Returns a conversation as plain text."""
    return "\n".join(line.plain for line in lines_of(talk, prompts=prompts))


def print_conversation(talk: Conversation, console: Console, *, prompts: bool = False) -> None:
    """Prints a conversation on a terminal, with the colours of seats; a long line goes on below
    its own beginning."""
    from rich.text import Text

    for line in lines_of(talk, prompts=prompts):
        text = Text()
        for run in line.runs:
            text.append(run.text, style=" ".join(filter(None, map(_STYLES.get, run.style.split()))))
        head = Text().append(f"{line.head:<{line.indent}}", style="dim")
        for piece in text.wrap(console, max(console.width - line.indent, 10)) or [text]:
            console.print(head + piece, highlight=False)
            head = Text(" " * line.indent)


_STYLES = {
    "strong": "bold", "soft": "dim", "bad": "red", "thought": "italic",
    **{series(number): colour for number, colour in enumerate(
        ("cyan", "yellow", "green", "magenta", "bright_yellow", "bright_cyan", "bright_magenta",
         "white"))},
}  # fmt: skip

DEEP = 4
"""Columns by which quotations and channels are indented."""


def _line(*runs: tuple[str, str], indent: int = 0) -> Line:
    return Line(tuple(TextRun(escaped(text), style) for text, style in runs), indent)


def _seats(talk: Conversation) -> Iterator[tuple[str, str]]:
    for place, seat in enumerate(talk.seats):
        yield (", " if place else "", "soft")
        yield (seat, f"strong {series(place)}")
        yield (_role(talk, seat), "soft")


def _style(talk: Conversation, seat: str) -> str:
    return f"strong {series(talk.seats.index(seat))}" if seat in talk.seats else "strong"


def _exchange_lines(exchange: Exchange, talk: Conversation, prompts: bool) -> Iterator[Line]:
    for part in exchange.parts:
        if isinstance(part, Outcome):
            yield from _outcome_lines(part)
        else:
            yield from _utterance_lines(part, talk, prompts)
        if channel := channel_text(part, talk):
            yield _line((channel, "soft"), indent=DEEP)
    for notice in exchange.notices:
        yield _line((f"{_readers(notice.seen_by, talk)}: ", "soft"), (notice.text, ""), indent=DEEP)


def _outcome_lines(part: Outcome) -> Iterator[Line]:
    odds = f" ({part.odds})" if part.odds else ""
    if len(part.name) <= LONG and "\n" not in part.name:
        yield _line(("chance draws ", "soft"), (f"{part.place} = {part.name}", ""), (odds, "soft"))
        return
    yield _line(("chance draws ", "soft"), (part.place, ""), (f"{odds}:", "soft"))
    yield from _quoted(part.name)


def _utterance_lines(part: Utterance, talk: Conversation, prompts: bool) -> Iterator[Line]:
    seat = (part.seat, _style(talk, part.seat))
    if prompts and part.prompt:
        yield _line(seat, (" is asked:", "soft"))
        for role, content in part.prompt:
            yield from _quoted(f"[{role}]\n{content}", "soft")
    for refusal in part.refused:
        said = refusal.text.strip()
        why = f" gives no valid reply: {refusal.why}{':' if said else ''}"
        yield _line(seat, (why, "bad"))
        if said:
            yield from _quoted(refusal.text, "bad")
    if part.thought:
        yield _line(seat, (" thinks:", "soft"))
        yield from _quoted(part.thought, "thought")
    if part.name is None:
        yield _line(seat, (f" forfeits at {part.step}", "bad"))
    elif part.name == SILENCE:
        yield _line(seat, (f" gives no answer as {part.step}, and the game goes on", "bad"))
    elif part.spoken:
        yield _line(seat, (f" says {part.step}:", "soft"))
        yield from _quoted(part.text)
    else:
        label = f" (“{part.label}”)" if part.label else ""
        yield _line(
            seat, (f" chooses {part.step} = ", "soft"), (part.name, "strong"), (label, "soft")
        )


def _quoted(text: str, style: str = "") -> Iterator[Line]:
    for line in text.replace("\t", "    ").split("\n"):
        yield _line(("| ", "soft"), (line, style), indent=DEEP)


def _role(talk: Conversation, seat: str) -> str:
    """Returns the role of a seat in parentheses; empty where it has the seat's name."""
    role = talk.roles.get(seat, seat)
    return f" ({role})" if role != seat else ""


def channel_text(part: Outcome | Utterance, talk: Conversation) -> str:
    """Returns who saw a move: "to all", "to bob", "to nobody else", "to bob; only text to carol";
    empty where that is unknown or there is nothing to see."""
    seen_by = part.seen_by
    own = part.seat if isinstance(part, Utterance) else ""
    if seen_by is None or (isinstance(part, Utterance) and not part.name):
        return ""
    if seen_by and set(seen_by) == set(talk.seats):
        return "to all"
    others = [seat for seat in seen_by if seat != own]
    told = [f"to {', '.join(others)}"] if others else []
    for seats, fields in part.seen_in_part:
        told.append(f"only {' and '.join(fields)} to {_readers(seats, talk)}")
    return "; ".join(told) or f"to nobody{' else' * bool(own)}"


def _readers(seats: Seats, talk: Conversation) -> str:
    return "all" if seats == talk.seats else ", ".join(seats)


def amounts_text(amounts: Mapping[str, str | None]) -> str:
    """Returns the amount of each seat."""
    return ", ".join(f"{s} {'void' if a is None else a}" for s, a in amounts.items()) or "none"


# the rendering for pages

CUT = 4_000
"""Characters of one text that a page shows, if it is not told otherwise."""


def conversation_html(
    talk: Conversation, *, title: str = "", prompts: bool = True, cut: int = CUT,
    address: Callable[[int], str] | None = None, ends: bool = True,
) -> Markup:  # fmt: skip
    """Returns a conversation as an `<article>`; every text is escaped, and what is longer than
    `cut` ends with the number of characters that are left out. Prompts, thoughts and raw replies
    are folded, in `<details>`. With `address` each move has a link to it, by its number; `ends`
    says that the last move should end the play."""
    turns = Markup("").join(
        _exchange_html(one, talk, prompts, cut, address(one.number) if address else "")
        for one in talk.exchanges
    )
    return Markup('<article class="talk">\n{}<ol class="turns">\n{}</ol>\n{}</article>\n').format(
        _head_html(talk, title or talk.title),
        turns,
        _end_html(talk) if ends or talk.payoffs else "",
    )


def exchange_html(talk: Conversation, number: int, *, cut: int = CUT) -> Markup:
    """Returns one move of a conversation, as it stands in the whole."""
    turn = _exchange_html(talk.exchanges[number - 1], talk, True, cut)
    return Markup('<article class="talk">\n<ol class="turns">\n{}</ol></article>\n').format(turn)


def conversation_rules() -> str:
    """Returns the style sheet of conversations; it takes the colours of `canvas.palette`."""
    return files("gamedsl.view").joinpath("conversation.css").read_text("utf-8")


def _head_html(talk: Conversation, title: str) -> Markup:
    names = Markup(", ").join(
        Markup('<span class="seat k{}">{}</span>{}').format(place % _KINDS, seat, _role(talk, seat))
        for place, seat in enumerate(talk.seats)
    )
    refused = Markup('<span class="refusals">{}</span>').format(f"replies refused: {talk.refusals}")
    return Markup("<header><h3>{}</h3><p>Seats: {}{}</p></header>\n").format(
        escaped(title), names, Markup(" · ") + refused if talk.refusals else ""
    )


_KINDS = 8


def _exchange_html(
    exchange: Exchange, talk: Conversation, prompts: bool, cut: int, address: str = ""
) -> Markup:
    parts = Markup("").join(
        _outcome_html(part, talk, cut)
        if isinstance(part, Outcome)
        else _utterance_html(part, talk, prompts, cut)
        for part in exchange.parts
    )
    notices = Markup("").join(
        Markup('<p class="notice-of"><span class="channel">to {}:</span> {}</p>').format(
            _readers(one.seen_by, talk), _shown(one.text, cut)
        )
        for one in exchange.notices
    )
    link = Markup()
    if address:
        link = Markup('<a class="at" href="{}">move {}</a>').format(address, exchange.number)
    return Markup('<li value="{}">{}{}{}</li>\n').format(exchange.number, link, parts, notices)


def _outcome_html(part: Outcome, talk: Conversation, cut: int) -> Markup:
    odds = Markup(' <span class="odds">with probability {}</span>').format(part.odds)
    name = _shown(part.name, cut)
    said = Markup("<pre>{}</pre>" if "\n" in name else " <b>{}</b>").format(name)
    return Markup('<div class="turn chance">{}{}{}</div>').format(
        _who("chance", "", f"draws {part.place}", channel_text(part, talk)), said,
        odds if part.odds else "",
    )  # fmt: skip


def _who(seat: str, kind: str, what: str, channel: str) -> Markup:
    line = Markup('<span class="seat{}">{}</span> <span class="step">{}</span>').format(
        f" {kind}" if kind else "", seat, what
    )
    shown = Markup(' · <span class="channel">{}</span>').format(channel) if channel else ""
    return Markup('<p class="who">{}{}</p>').format(line, shown)


def _utterance_html(part: Utterance, talk: Conversation, prompts: bool, cut: int) -> Markup:
    place = talk.seats.index(part.seat) if part.seat in talk.seats else _KINDS - 1
    verb = "says" if part.spoken else "chooses"
    if part.name is None:
        verb = "forfeits at"
    elif part.name == SILENCE:
        verb = "gives no answer as"
    head = _who(part.seat, f"k{place % _KINDS}", f"{verb} {part.step}", channel_text(part, talk))
    refused = Markup("").join(
        Markup('<div class="refused"><p>Refused: {}.</p>{}</div>').format(
            one.why, _block(one.text, cut) if one.text.strip() else ""
        )
        for one in part.refused
    )
    answer = Markup()
    if part.name:
        label = Markup(' <span class="label">“{}”</span>').format(part.label) if part.label else ""
        answer = (
            _block(part.text, cut)
            if part.spoken
            else Markup('<p class="chosen"><b>{}</b>{}</p>').format(_shown(part.name, cut), label)
        )
    details = [
        _folded("prompt", _messages(part.prompt, cut)) if prompts and part.prompt else "",
        _folded("reply as it came", _block(part.raw, cut))
        if part.raw and part.raw.strip() not in (part.name, part.label)
        else "",
    ]
    thought = _folded("thought", _block(part.thought, cut)) if part.thought else ""
    return Markup('<div class="turn k{}">{}{}{}{}{}</div>').format(
        place % _KINDS, head, refused, thought, answer, Markup("").join(details)
    )


def _messages(messages: Sequence[Message], cut: int) -> Markup:
    return Markup("").join(
        Markup('<p class="step">{}</p>{}').format(role, _block(content, cut))
        for role, content in messages
    )


def _folded(summary: str, content: Markup) -> Markup:
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, content)


def _block(text: str, cut: int) -> Markup:
    return Markup("<pre>{}</pre>").format(_shown(text, cut))


def _shown(text: str, cut: int) -> str:
    """Returns a text in which what does not print is an escape, cut where it is too long."""
    more = f" … {len(text) - cut:,} more characters" if len(text) > cut else ""
    return "\n".join(map(escaped, text[:cut].replace("\t", "    ").split("\n"))) + more


def _end_html(talk: Conversation) -> Markup:
    if not talk.payoffs:
        return Markup('<p class="end">The record ends before the play does.</p>')
    rewards = ""
    if talk.rewards and talk.rewards != talk.payoffs:
        rewards = f"; rewards: {amounts_text(talk.rewards)}"
    if talk.referees:
        rewards += f"; referees: {amounts_text(talk.referees)}"
    return Markup('<p class="end">Payoffs: {}{}</p>').format(amounts_text(talk.payoffs), rewards)
