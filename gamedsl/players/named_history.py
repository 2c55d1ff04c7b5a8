"""Histories named by what was chosen and drawn: `card=Q, open=bet` leads to whoever is asked next.

A move is `NAME=VALUE`, with the name of a step's variable and the canonical name of an option or an
outcome, or the text of a reply; `first.open=bet` also says whose it is. Moves come in the order of
play. What is not named is taken as it comes first: the first outcome of chance, the first legal
option, an example of what may be said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, NamedTuple

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Draw, walk_steps
from gamedsl.ir.types import Record, Type, plain
from gamedsl.ir.values import name_of
from gamedsl.players.random import RandomPlayer
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.visibility import readings
from gamedsl.runtime import Action, Decision, Episode
from gamedsl.runtime.history import Log

_BETWEEN = re.compile(r"([,;]\s*)(?=[A-Za-z_][\w.]*\s*=)")
_MOVE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*", re.DOTALL)

MOVES = 10_000
"""Moves that a history may have before it comes to a decision that is asked for."""

_LISTED = 12


class HistoryError(ValueError):
    """A named history that does not happen; the text says what is possible instead."""


class Move(NamedTuple):
    """One named move: the variable, the seat where it is named, and the value."""

    text: str
    name: str
    seat: str
    value: str


@dataclass(frozen=True)
class Reached:
    """The episode after a named history, and all moves on the way, as they are named."""

    episode: Episode
    path: tuple[str, ...]


def follow(episode: Episode, text: str) -> Reached:
    """Moves an episode that was just started, with chance asked, along a named history, and on to
    the next decision. Raises HistoryError."""
    return _PathWalk(episode, _moves(episode.env.ir, text)).to_the_end()


def _moves(ir: GameIR, text: str) -> list[Move]:
    """Returns the moves that a text names."""
    known = dict.fromkeys(
        name
        for step in walk_steps(ir.turns)
        if isinstance(step, Choose | Draw)
        for name in (_short(step.variable), step.id)
    )
    found = []
    for part in _written_moves(ir, text):
        read = _MOVE.fullmatch(part)
        if read is None:
            raise HistoryError(
                f"`{part.strip()}` names no move; write NAME=VALUE, such as "
                f"`{next(iter(known), 'move')}=…`"
            )
        *owner, name = read[1].split(".")
        seat = next((seat for seat in ir.everyone if seat in (*owner, name)), "")
        name = next((part for part in (name, *owner) if part != seat), name)
        if name not in known:
            guess = did_you_mean(name, list(known))
            fix = f"did you mean `{guess}`?" if guess else f"known: {', '.join(known)}"
            raise HistoryError(f"nothing that is chosen or drawn is called `{name}`; {fix}")
        found.append(Move(part.strip(), name, seat, read[2]))
    return found


def _written_moves(ir: GameIR, text: str) -> list[str]:
    """Returns the text of each move: a comma in quotes, or before a field, ends none."""
    fields: dict[str, set[str]] = {}
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose | Draw) and isinstance(record := plain(step.type), Record):
            for name in (_short(step.variable), step.id):
                fields.setdefault(name, set()).update(name for name, _ in record.fields)
    first, *rest = _BETWEEN.split(text)
    found = [first] if text.strip() else []
    for between, part in zip(rest[::2], rest[1::2], strict=True):
        before, read = _MOVE.fullmatch(found[-1]), _MOVE.fullmatch(part)
        known = fields.get(before[1].rpartition(".")[2], ()) if before is not None else ()
        quoted = found[-1].replace('\\"', "").count('"') % 2
        if quoted or (read is not None and read[1] in known):
            found[-1] += between + part
        else:
            found.append(part)
    return found


class _PathWalk:
    """An episode on its way along named moves."""

    def __init__(self, episode: Episode, left: list[Move]) -> None:
        self._episode, self._left = episode, left
        self._said = RandomPlayer(seed=0)
        self._path: list[str] = []
        self._passed: list[str] = []
        """What could be moved since the last named move."""
        self._log: Log | None = None
        """The last step of the play that was looked at."""
        self._steps = {
            step.id: step
            for step in walk_steps(episode.env.ir.turns)
            if isinstance(step, Choose | Draw)
        }

    def to_the_end(self) -> Reached:
        episode = self._episode
        self._take_forced(0)
        while not episode.done and len(self._path) < MOVES:
            if episode.outcome_count:
                self._draw()
            elif self._left:
                self._choose()
            else:
                return Reached(episode, tuple(self._path))
        if self._left and episode.done and not self._passed:
            raise HistoryError(
                f"it never comes to `{self._left[0].text}`: the game is over before, and pays "
                f"{self._paid()}{self._asked_if(self._left[0])}"
            )
        if self._left:
            passed = "; ".join(dict.fromkeys(self._passed)) or "nothing"
            raise HistoryError(
                f"it never comes to `{self._left[0].text}`; on the way are: {passed}"
                f"{self._asked_if(self._left[0])}"
            )
        raise HistoryError(f"nobody is asked after that: the game is over, and pays {self._paid()}")

    def _asked_if(self, move: Move) -> str:
        """Returns the conditions under which a move is made, and that what is not named before it
        was taken as it comes first; empty where it has none."""
        tests = dict.fromkeys(
            " ".join(step.condition.span.text.split())
            for step in self._steps.values()
            if move.name in (step.id, _short(step.variable)) and step.condition is not None
        )
        if not tests:
            return ""
        listed = " or ".join(f"`{test}`" for test in tests)
        return (
            f". `{move.name}` needs {listed}; what is not named before it is the first option or "
            "outcome, so name earlier moves too"
        )

    def _paid(self) -> str:
        payoffs = self._episode.payoffs
        return ", ".join(f"{seat} {amount}" for seat, amount in payoffs.items())

    def _draw(self) -> None:
        id, index = self._episode.drawing
        seat, key = self._owner_and_key(id, index)
        names = [outcome.name for outcome in self._episode.chance]
        move, number = self._next(id, seat, key), 0
        self._passed.append(_options(id, seat, names))
        if move is not None:
            whole = _by_fields(move.value, plain(self._steps[id].type), names)
            number = self._place(move, names) if whole is None else whole
            self._named()
        self._path.append(f"{_prefix(seat)}{id}={key}{names[number]}")
        self._episode.draw(number)
        self._take_forced(1)

    def _owner_and_key(self, id: str, index: tuple[str, ...]) -> tuple[str, str]:
        """Returns the seat that an outcome is for, empty for nobody, and the start of its name
        where it is drawn for something else besides, as events have it: `book:`."""
        step = self._steps[id]
        by_seat = isinstance(step, Draw) and step.by_seat
        seat = next((part for part in index if part in self._episode.env.ir.everyone), "")
        return seat, "".join(f"{part}:" for part in index[by_seat:])

    def _take_forced(self, own: int) -> None:
        """Takes the named moves that were the only ones possible, so that nobody was asked for
        them; the first `own` of the new steps were asked for."""
        new: list[dict[str, Any]] = []
        last = log = self._episode.log
        while log is not None and log is not self._log:
            new.append(log.entry)
            log = log.before
        self._log = last
        for entry in [entry for entry in reversed(new) if "call" not in entry][own:]:
            made = [
                (id, *self._owner_and_key(id, tuple(index)), name)
                for place, name in entry.get("chance", {}).items()
                for id, *index in (place.split("/"),)
            ]
            choices = entry.get("choices", {}).items()
            made += [(entry["step"], seat, "", name) for seat, name in choices]
            for id, seat, key, name in made:
                move = self._next(id, seat, key)
                if move is not None and move.value == name:
                    self._named()
                else:
                    self._passed.append(_options(id, seat, [name]))

    def _choose(self) -> None:
        asked = {decision.seat: decision for decision in self._episode.decisions}
        made: dict[str, Action | str] = {}
        for decision in asked.values():
            self._passed.append(_options(decision.step, decision.seat, decision.legal))
        while True:
            matching = (
                (d, self._next(d.step, d.seat)) for d in asked.values() if d.seat not in made
            )
            found = next(((d, move) for d, move in matching if move is not None), None)
            if found is None:
                break
            decision, move = found
            made[decision.seat] = self._reply(decision, move)
            self._named()
        for seat, decision in asked.items():
            if seat not in made:
                made[seat] = self._first(decision)
            reply = made[seat]
            name = reply.name if isinstance(reply, Action) else reply
            self._path.append(f"{seat}.{decision.step}={name}")
        self._episode.step(made)
        self._take_forced(1)

    def _next(self, id: str, seat: str, key: str = "") -> Move | None:
        """Returns the next named move if it is made at a step by a seat, or drawn for a key; its
        value is without that key."""
        if not self._left:
            return None
        step, move = self._steps[id], self._left[0]
        if move.name not in (id, _short(step.variable)) or move.seat not in ("", seat):
            return None
        if key and move.value.startswith(key):
            return move._replace(value=move.value.removeprefix(key))
        return None if key and move.value.startswith(tuple(_keys(step))) else move

    def _named(self) -> None:
        self._left.pop(0)
        self._passed.clear()

    def _reply(self, decision: Decision, move: Move) -> Action | str:
        if decision.said is None:
            return Action(decision.legal[self._place(move, decision.legal)])
        read = self._episode.parse(decision, move.value)
        if isinstance(read, ParseFailure):
            raise HistoryError(
                f"`{move.value}` is no reply to `{decision.step}`; such is "
                f"`{self._said.say(decision, Random(0))}`"
            )
        return move.value

    def _place(self, move: Move, names: tuple[str, ...] | list[str]) -> int:
        if move.value in names:
            return list(names).index(move.value)
        guess = did_you_mean(move.value, names)
        fix = f"did you mean `{guess}`? " if guess else ""
        raise HistoryError(
            f"`{move.value}` is not possible for `{move.name}` here; {fix}possible: {_few(names)}"
        )

    def _first(self, decision: Decision) -> Action:
        if decision.said is None:
            return Action(decision.legal[0])
        return Action(self._said.say(decision, Random(len(self._path))))


def _by_fields(text: str, type: Type, names: list[str]) -> int | None:
    """Returns the place of the first name of a record that has these fields, written as who sees
    some of them knows it: `name="soap",price=3`. None for any other text."""
    types = dict(type.fields) if isinstance(type, Record) else {}
    given: dict[str, str] = {}
    while text:
        field, _, after = text.partition("=")
        ends = readings(after, types[field]) if field in types else ()
        fits = (r for r in ends if not r[1] or r[1].partition("=")[0] in types)
        given[field], text = next(fits, ("", ""))
    if not given or not types.keys() >= given.keys():
        return None
    form = ",".join(re.escape(given[field]) if field in given else ".*" for field in types)
    found = re.compile(form, re.DOTALL)
    return next((place for place, name in enumerate(names) if found.fullmatch(name)), None)


def _short(name: str) -> str:
    """Returns a name without the file of a stage that it is in."""
    return name.rpartition(".")[2]


def _prefix(seat: str) -> str:
    return f"{seat}." if seat else ""


def _options(id: str, seat: str, names: tuple[str, ...] | list[str]) -> str:
    return f"{_prefix(seat)}{id} ({_few(names)})" if names else f"{_prefix(seat)}{id} (in words)"


def _keys(step: Choose | Draw) -> list[str]:
    """Returns the starts of the names of outcomes that are drawn for each of several keys."""
    per = step.per[step.by_seat :] if isinstance(step, Draw) else ()
    return ["".join(f"{name_of(part)}:" for part in key) for key in product(*per)] if per else []


def _few(names: tuple[str, ...] | list[str]) -> str:
    if any("," in name for name in names):  # a record, or a text
        names = [f"`{name}`" for name in names]
    return ", ".join(names[:_LISTED]) + (f", … {len(names)}" if len(names) > _LISTED else "")
