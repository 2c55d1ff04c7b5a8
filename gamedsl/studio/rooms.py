"""The plays that the studio has open: whose seat is whose, and the workers that carry them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import randbits, token_hex
from threading import Lock
from typing import Any

from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.worker import TaskWorker
from gamedsl.play.saved_plays import free_path, save_play
from gamedsl.studio.guard import new_token
from gamedsl.studio.tasks import StudioTasks

MOST_ROOMS = 200
"""Plays that are open at once; the one that was used longest ago is given up for another."""

MOST_WORKERS = 16
"""Processes at once; the one that was used longest ago is ended for another."""


class Workers:
    """Processes by name. Tasks of one name are carried out one after another."""

    def __init__(self, root: Path, call_files: Sequence[str], seconds: float) -> None:
        self._root, self._call_files, self._seconds = root, tuple(call_files), seconds
        self._workers: dict[str, TaskWorker] = {}
        self._busy: Counter[str] = Counter()
        self._lock = Lock()

    def call(self, name: str, task: str, **given: Any) -> Any:
        """Returns the value of a task. Raises Refused."""
        with self._lock:
            worker = self._workers.pop(name, None)
            if worker is None:
                worker = TaskWorker(self._root, self._call_files, StudioTasks)
                while len(self._workers) >= MOST_WORKERS:
                    self._workers.pop(next(iter(self._workers))).kill()
            self._workers[name] = worker  # the last is the one used last
            self._busy[name] += 1
        try:
            return worker.call(task, given, self._seconds)
        finally:
            with self._lock:
                self._busy[name] -= 1

    def interrupt(self, name: str) -> None:
        """Ends the task that a worker carries out, if there is one; it is refused."""
        with self._lock:
            if self._busy[name] and name in self._workers:
                self._workers[name].kill()

    def close(self) -> None:
        """Ends all processes."""
        with self._lock:
            for worker in self._workers.values():
                worker.kill()
            for worker in self._workers.values():
                worker.close()
            self._workers.clear()


@dataclass
class Room:
    """A play, or several with the same people and players. `tokens` are those of the seats that
    people hold, `players` the players of all others, `seed` that of the present play."""

    id: str
    file: str
    params: dict[str, str]
    game: str
    seats: tuple[str, ...]
    tokens: dict[str, str]
    players: dict[str, str]
    worker: str
    seed: int
    saved: Path | None = None
    """The file of the present play, once it is over."""
    lock: Lock = field(default_factory=Lock)


class Rooms:
    """All plays that are open. `folder` is where plays are saved. All methods raise Refused."""

    def __init__(self, workers: Workers, folder: Path) -> None:
        self._workers, self._folder = workers, folder
        self._rooms: dict[str, Room] = {}
        self._seats: dict[str, tuple[str, str]] = {}

    def open(
        self, file: str, params: Mapping[str, str], people: Sequence[str],
        players: Mapping[str, str], *, seed: int | None = None,
        record: str | None = None, moves: int = 0,
    ) -> Room:  # fmt: skip
        """Starts a play, from the first moves of a record if there is one."""
        id, seed = token_hex(8), randbits(31) if seed is None else seed
        worker = "\n".join((file, *sorted(set(players.values()))))
        made = self._workers.call(
            worker, "open", table=id, file=file, params=dict(params), people=list(people),
            players=dict(players), seed=seed, record=record, moves=moves,
        )  # fmt: skip
        tokens = {seat: new_token() for seat in people}
        room = Room(
            id, file, dict(params), made["game"], tuple(made["seats"]), tokens, made["players"],
            worker, seed,
        )  # fmt: skip
        while len(self._rooms) >= MOST_ROOMS:
            self.close(next(iter(self._rooms.values())))
        self._rooms[id] = room
        self._seats |= {token: (id, seat) for seat, token in tokens.items()}
        return room

    def __iter__(self) -> Iterator[Room]:
        return iter(tuple(self._rooms.values()))

    def room(self, id: str) -> Room:
        """Returns a room by its name."""
        if id not in self._rooms:
            raise Refused("this play is over", "start another one")
        return self._rooms[id]

    def seat(self, token: str) -> tuple[Room, str]:
        """Returns the room and the seat that a token opens."""
        if token not in self._seats:
            raise Refused("nobody has this seat any more", "ask for a new link")
        id, seat = self._seats[token]
        return self.room(id), seat

    def look(self, room: Room, seat: str) -> dict[str, Any]:
        """Returns what a seat sees now; a play that has ended is saved."""
        return self._after(room, self._call(room, "look", seat=seat))

    def answer(self, room: Room, seat: str, reply: Mapping[str, str]) -> dict[str, Any]:
        """Takes a reply, and returns what the seat sees then."""
        return self._after(room, self._call(room, "answer", seat=seat, reply=dict(reply)))

    def undo(self, room: Room, seat: str) -> dict[str, Any]:
        """Takes the last choice of a seat back, and returns what it sees then."""
        return self._after(room, self._call(room, "undo", seat=seat))

    def prompt(self, room: Room, seat: str) -> list[list[str]]:
        """Returns the messages that a model at a seat is sent now."""
        found: list[list[str]] = self._call(room, "prompt", seat=seat)
        return found

    def again(self, room: Room) -> None:
        """Starts another play with the same people, once the present one is over; whoever asks
        second finds it going on."""
        with room.lock:
            if self._call(room, "record")["done"]:
                room.seed, room.saved = randbits(31), None
                self._call(room, "again", seed=room.seed)

    def advise(self, room: Room, seat: str) -> dict[str, Any]:
        """Returns what a solver would play for a seat, by a process of its own, which may take
        long and be ended."""
        return self._advice(room, "advise", seat=seat)

    def review(self, room: Room, seat: str) -> dict[str, Any]:
        """Returns what each choice of a seat cost, once the play is over."""
        if not self._call(room, "record")["done"]:
            raise Refused("the play is not over yet", "ask again at its end")
        return self._advice(room, "review", seats=[seat])

    def save(self, room: Room) -> Path:
        """Writes the transcript of a play so far, and returns its file."""
        with room.lock:
            if room.saved is None:
                found = self._call(room, "record")
                path = free_path(self._folder, room.game, room.seed)
                try:
                    save_play(found["record"], path, parents=True)
                except OSError as error:
                    raise Refused(
                        f"the play cannot be saved: {error}", "free the folder"
                    ) from error
                if not found["done"]:
                    return path
                room.saved = path
            return room.saved

    def close(self, room: Room) -> None:
        """Ends a play."""
        self._rooms.pop(room.id, None)
        for token in room.tokens.values():
            self._seats.pop(token, None)
        self._call(room, "close")

    def _after(self, room: Room, seen: dict[str, Any]) -> dict[str, Any]:
        if seen["end"] is not None and room.saved is None:
            self.save(room)
        return seen

    def _call(self, room: Room, task: str, **given: Any) -> Any:
        return self._workers.call(room.worker, task, table=room.id, **given)

    def _advice(self, room: Room, task: str, **given: Any) -> dict[str, Any]:
        record = self._call(room, "record")["record"]
        found: dict[str, Any] = self._workers.call(
            f"advice\n{room.file}", task, file=room.file, params=room.params, record=record, **given
        )
        return found
