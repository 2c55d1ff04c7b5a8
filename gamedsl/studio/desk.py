"""The plays of one worker: what each seat sees, as data, and the replies that people give.

A seat's data is made from its view alone. Nothing else of a play leaves the worker while it goes
on, except its record, which the server keeps to itself until somebody asks for advice or saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.types import Bool, Enum, Number, Option, Seat, plain
from gamedsl.mcp.refusal import Refused
from gamedsl.play.session import PlaySession
from gamedsl.play.sight import sight
from gamedsl.players.base import Player, PlayerError
from gamedsl.players.seat_text import SeatText
from gamedsl.players.typed_reply import Place, fenced, fields_to_type, whole_reply, why_refused
from gamedsl.prompting.prompts import RenderError
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.reply_instructions import described
from gamedsl.runtime import Action
from gamedsl.storage.strict_json import write
from gamedsl.studio.loading import load_game

if TYPE_CHECKING:
    from gamedsl.ir.types import Type
    from gamedsl.runtime import Decision, Episode, Game

MOST_REPLY = 100_000
"""Characters of a reply."""

STRONGEST = "strongest"
"""The name of the player that fits best, on the page."""


@dataclass
class Sitting:
    """A play that goes on, and what its next play begins with. `names` are the players of all seats
    that no person holds."""

    game: Game
    session: PlaySession
    people: frozenset[str]
    players: Mapping[str, Player]
    names: Mapping[str, str]
    seed: int
    text: SeatText


class Desk:
    """Plays by name. All methods raise Refused."""

    def __init__(self) -> None:
        self._tables: dict[str, Sitting] = {}

    def open(
        self, table: str, file: str, params: Mapping[str, str], people: Sequence[str],
        players: Mapping[str, str], seed: int, record: str | None, moves: int,
    ) -> dict[str, Any]:  # fmt: skip
        """Starts a play, from the first moves of a record if there is one. Returns the game's name,
        all seats, and the players that hold seats."""
        game = load_game(file, params)
        everyone = game.ir.everyone
        for seat in (*people, *players):
            if seat not in everyone:
                near = did_you_mean(seat, everyone)
                known = f"there are {', '.join(everyone)}"
                fix = f"did you mean `{near}`?" if near else known
                raise Refused(f"{game.name} has no seat `{seat}`", fix)
        held = frozenset(people)
        if not held:
            raise Refused("nobody would play", "keep at least one seat for a person")
        with refusing():
            opened, names = _players(game, held, players, seed)
            start = None
            if record is not None:
                from gamedsl.studio.records import episode_at

                start = episode_at(game, record, moves)
            session = PlaySession(game, held, opened, seed=seed, start=start)
        text = SeatText(session.episode.env)
        self._tables[table] = Sitting(game, session, held, opened, names, seed, text)
        return {"game": game.name, "seats": list(everyone), "players": dict(names)}

    def again(self, table: str, seed: int) -> None:
        """Starts another play at a table, with the same people and players."""
        found = self._table(table)
        with refusing():
            found.session = PlaySession(
                found.game,
                found.people,
                found.players,
                seed=seed,
                env=found.game.env(run_seed=found.seed),
            )

    def look(self, table: str, seat: str) -> dict[str, Any]:
        """Returns what a seat sees now."""
        found = self._table(table)
        with refusing():
            return _seen(found, seat)

    def answer(self, table: str, seat: str, reply: Mapping[str, str]) -> dict[str, Any]:
        """Takes a reply: `option`, the number of an option; `text`; or `field.NAME` for each value
        of a record; `mark`, that of the page which it answers, if it has one. Returns what the seat
        sees then. Its `refused` says why a reply is none."""
        found = self._table(table)
        session = found.session
        decision = _decision(session, seat)
        now = self.look(table, seat)
        if decision is None:
            return now | {"refused": "you are not asked now"}
        if reply.get("mark", now["mark"]) != now["mark"]:
            return now | {"refused": "the game has gone on since the page that you answered"}
        with refusing():
            read = _read(decision, reply)
            if isinstance(read, str):
                heard = session.episode.parse(decision, read)
                if isinstance(heard, ParseFailure):
                    return now | {"refused": why_refused(heard), "typed": read}
            if isinstance(read, ParseFailure):
                return now | {"refused": read.detail}
            session.answer(seat, read)
        return self.look(table, seat)

    def undo(self, table: str, seat: str) -> dict[str, Any]:
        """Takes the last choice of a seat back, and returns what it sees then."""
        found = self._table(table)
        refused = {}
        if found.session.take_back(seat) is None:
            refused = {"refused": "your choice cannot be taken back: somebody has learned from it"}
        return self.look(table, seat) | refused

    def prompt(self, table: str, seat: str) -> list[list[str]]:
        """Returns the messages that a model at a seat is sent now; none where it is not asked."""
        decision = _decision(self._table(table).session, seat)
        with refusing():
            return [] if decision is None else [[role, text] for role, text in decision.messages]

    def record(self, table: str) -> dict[str, Any]:
        """Returns the transcript so far. For the server alone."""
        found = self._table(table)
        episode = found.session.episode
        return {"record": write(episode.transcript) + "\n", "done": episode.done}

    def close(self, table: str) -> None:
        """Ends a play, if there is one of this name."""
        self._tables.pop(table, None)

    def _table(self, name: str) -> Sitting:
        if name not in self._tables:
            raise Refused("this play is over", "start another one")
        return self._tables[name]


@contextmanager
def refusing() -> Iterator[None]:
    """Turns the failures of players, rules and templates into refusals."""
    try:
        yield
    except PlayerError as error:
        raise Refused(error.message, error.help) from error
    except EvaluationError as error:
        raise Refused(f"the rules fail: {error}", "mend the game's file, and start anew") from error
    except RenderError as error:
        raise Refused(str(error), "mend the game's file, and start anew") from error


def _players(
    game: Game, people: frozenset[str], named: Mapping[str, str], seed: int
) -> tuple[dict[str, Player], dict[str, str]]:
    """Opens the players of all seats that no person holds, and names them."""
    from gamedsl.play.opponents import strongest_player
    from gamedsl.players.table import open_player

    opened: dict[str, tuple[str, Player]] = {}
    others = [seat for seat in game.ir.everyone if seat not in people]
    for spec in dict.fromkeys(named.get(seat, STRONGEST) for seat in others):
        if spec == STRONGEST:
            opened[spec] = strongest_player(game, seed)
        elif spec.partition(":")[0].strip() in ("module", "human"):
            raise Refused(f"`{spec}` cannot sit here", "name another player, or invite a person")
        else:
            opened[spec] = spec, open_player(spec, game, seed=seed)
    chosen = {seat: opened[named.get(seat, STRONGEST)] for seat in others}
    return {s: player for s, (_, player) in chosen.items()}, {s: n for s, (n, _) in chosen.items()}


def _decision(session: PlaySession, seat: str) -> Decision | None:
    return next((one for one in session.waiting if one.seat == seat), None)


def _read(decision: Decision, reply: Mapping[str, str]) -> Action | str | ParseFailure:
    """Returns the reply that a form means."""
    if any(len(text) > MOST_REPLY for text in reply.values()):
        fault = f"a reply has at most {MOST_REPLY:,} characters"
        return ParseFailure("large", "", fault)
    if decision.said is None:
        number = reply.get("option", "")
        if number.isdecimal() and int(number) < len(decision.legal):
            return Action(decision.legal[int(number)])
        return ParseFailure("unknown", number, "choose one of the options")
    fields = fields_to_type(decision)
    if fields and "text" not in reply:
        return whole_reply((place, type, reply.get(_name(place), "")) for place, type in fields)
    text = reply.get("text", "").replace("\r\n", "\n")
    return fenced(text) if decision.said.form == "code" else text


def _name(place: Place) -> str:
    return "field." + ".".join(place)


# what a seat sees


def _seen(table: Sitting, seat: str) -> dict[str, Any]:
    session, ir = table.session, table.game.ir
    episode, decision = session.episode, _decision(table.session, seat)
    if seat not in session.people:
        raise Refused("no person holds this seat", "start another play")
    seen = {
        "game": ir.name,
        "about": " ".join(ir.about.split()),
        "seat": seat,
        "seats": [[s, "" if s in session.people else table.names[s]] for s in ir.everyone],
        "places": {s: place for place, s in enumerate(ir.everyone)},
        "in_words": ir.open,
        "rules": table.text.rules(seat),
        "story": _story(table, seat, decision),
        "asked": None if decision is None else _asked(table, decision),
        "answered": session.has_answered(seat),
        "end": _end(table) if episode.done else None,
    }
    # made of nothing but what the page shows, so that it tells the seat nothing more
    return seen | {"mark": sha256(write(seen).encode()).hexdigest()[:16]}


def _story(table: Sitting, seat: str, decision: Decision | None) -> list[dict[str, Any]]:
    """The events that a seat has seen; none at a step that says what is known there."""
    spoken = {step.id for step in table.game.ir.steps if step.said is not None}
    if decision is not None and decision.env.step_of(decision.step).knows is not None:
        return []
    return [
        {
            "who": event.seat,
            "text": text.removeprefix(f"{event.seat} said:").strip(),
            "said": event.step in spoken,
        }
        for event, text in table.text.story(table.session.episode, seat)
    ]


def _asked(table: Sitting, decision: Decision) -> dict[str, Any]:
    """The question to a seat, what it sees, and the ways in which it may answer."""
    text, episode = table.text, table.session.episode
    said = decision.said
    pieces = sight(decision, episode, text)
    return {
        "step": decision.step,
        "question": text.question(decision),
        "pieces": [{"kind": type(piece).__name__} | asdict(piece) for piece in pieces],
        "options": [text.option(name) for name in decision.legal] if said is None else None,
        "code": said is not None and said.form == "code",
        "fields": [_field(place, type, decision) for place, type in fields_to_type(decision) or ()],
    }


def _field(place: Place, type: Type, decision: Decision) -> dict[str, Any]:
    """A value that is typed: its name in the form, its name on the page, and its kind."""
    seats = decision.env.seats
    kind = plain(type)
    choices: list[str] = []
    if isinstance(kind, Enum):
        choices = list(kind.members)
    elif isinstance(kind, Seat):
        choices = list(seats)
    elif isinstance(kind, Bool):
        choices = ["true", "false"]
    return {
        "name": _name(place),
        "title": " ".join(place),
        "hint": described(type, seats),
        "choices": choices,
        "number": isinstance(kind, Number),
        "optional": isinstance(type, Option),
    }


def _end(table: Sitting) -> dict[str, Any]:
    """Returns the end of a play, as every seat is told it."""
    episode: Episode = table.session.episode
    return {
        "payoffs": [
            [seat, None if amount is None else str(amount)]
            for seat, amount in episode.payoffs.items()
        ],
        "failures": [[seat, why_refused(failure)] for seat, failure in episode.failures.items()],
    }
