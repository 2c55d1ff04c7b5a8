"""`gamedsl play`: a game at the terminal, with people in some seats and players in the others.

Without a terminal it reads replies as lines, so that scripts can play. Exit codes: 0 played to the
end or left, 1 problems in the game, 2 usage or something missing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

from gamedsl.calls.files import allowed_calls
from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import seed
from gamedsl.commands._loading import LoadingTimes
from gamedsl.commands._streams import plain

if TYPE_CHECKING:
    from gamedsl.play.advice import Adviser
    from gamedsl.play.session import PlaySession
    from gamedsl.players.base import Player
    from gamedsl.players.console import Console, Drawing
    from gamedsl.runtime import Decision, Episode, Game

HELP = (
    "Play a game at the terminal. FILE is a path or the name of a shipped game. You take the first "
    "seat, and the strongest player that fits the game takes the others."
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser)
    players = parser.add_argument_group("players")
    seeds = parser.add_argument_group("seeds")
    output = parser.add_argument_group("output")
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    players.add_argument(
        "--as", action="append", default=[], metavar="SEATS", dest="seats",
        help="your seats or roles, with commas between them, or `all` (default: the first seat)",
    )  # fmt: skip
    players.add_argument(
        "--against", action="append", default=[], metavar="PLAYER",
        help="the player of all other seats, such as random, minimax, mcts:200, equilibrium, "
        "run:FOLDER or endpoint:URL#MODEL; SEAT=PLAYER for one seat; may be repeated",
    )  # fmt: skip
    seeds.add_argument(
        "--seed", type=seed, metavar="N", help="decides chance and players (default: a new one)"
    )
    output.add_argument(
        "--save", type=Path, metavar="FILE",
        help="where the transcript goes (default: plays/GAME-SEED.jsonl)",
    )  # fmt: skip
    output.add_argument(
        "--no-review", action="store_true", help="do not say afterwards what each choice cost"
    )


def run(args: argparse.Namespace) -> int:
    import gamedsl
    from gamedsl.diagnostics import CompileError
    from gamedsl.diagnostics.render import render
    from gamedsl.play.seats import SeatError
    from gamedsl.players.base import PlayerError

    try:
        game = gamedsl.load(args.file, read_params(args.param))
    except CompileError as error:
        print(render(error.diagnostics, "pretty", use_colour(sys.stderr)), file=sys.stderr)
        return PROBLEMS
    except ValueError as error:
        return _usage(str(error))
    chosen = random.SystemRandom().randrange(2**31) if args.seed is None else args.seed
    try:
        people = _seats(game, args.seats)
        table = _seated(game, people, args.against, chosen)
        return _Play(game, table, chosen, args).run()
    except SeatError as error:
        return _usage(str(error))
    except PlayerError as error:
        return _usage(f"{error.message}\n  fix: {error.help}")


@dataclass(frozen=True)
class _Seated:
    """The holders of all seats: people, or players with their names."""

    people: frozenset[str]
    players: dict[str, Player]
    names: dict[str, str]


def _seats(game: Game, given: Sequence[str]) -> frozenset[str]:
    """The seats of people. Raises SeatError."""
    from gamedsl.play.seats import seats_named

    return seats_named(game.ir, given) if given else frozenset(game.ir.seats[:1])


def _seated(game: Game, people: frozenset[str], against: Sequence[str], seed: int) -> _Seated:
    """Opens the players of all other seats. Raises SeatError and PlayerError."""
    from gamedsl.play.opponents import strongest_player
    from gamedsl.play.seats import players_named
    from gamedsl.players.table import open_player

    others = [seat for seat in game.ir.everyone if seat not in people]
    named = players_named(game.ir, people, against)
    opened: dict[str, Player] = {}
    loading = LoadingTimes()
    for spec in dict.fromkeys(named.values()):
        if spec.partition(":")[0] in ("model", "run"):
            loading.begin(f"opening {spec}")
        opened[spec] = open_player(spec, game, seed=seed, allow_code=True)
        loading.end()
    free = [seat for seat in others if seat not in named]
    if free:
        name, player = strongest_player(game, seed)
        named |= dict.fromkeys(free, name)
        opened.setdefault(name, player)
    return _Seated(people, {seat: opened[named[seat]] for seat in others}, named)


class _Play:
    """One play at the terminal."""

    def __init__(self, game: Game, table: _Seated, seed: int, args: argparse.Namespace) -> None:
        self.game, self.table, self.seed, self.args = game, table, seed, args

    def run(self) -> int:
        from gamedsl.play.session import PlaySession
        from gamedsl.players.console import Console, InputEnded

        session = PlaySession(self.game, self.table.people, self.table.players, seed=self.seed)
        console = Console(
            session.episode.env, sys.stdin, plain(sys.stdout), colour=use_colour(sys.stdout),
            commands={
                "hint": ("what a solver would play, and what each option is worth",
                         lambda d, e: self._hint(console, d, e)),
                "undo": ("take your last choice back, where nobody learned from it",
                         lambda d, e: self._undo(session, console, d)),
                "quit": ("save and leave", _leave),
            },
            hand_over=len(self.table.people) > 1, draw=_drawn,
        )  # fmt: skip
        self._welcome(console)
        try:
            while session.waiting:
                self._ask(session, console)
        except (InputEnded, KeyboardInterrupt):
            console.print(f"You left; the play is saved: {self._save(session)}")
            return CLEAN
        self._close(session, console)
        return CLEAN

    def _welcome(self, console: Console) -> None:
        ir = self.game.ir
        console.print(self.game.name, "strong")
        if ir.about:
            console.print(ir.about)
        for seat in ir.everyone:
            who = "you" if seat in self.table.people else self.table.names[seat]
            console.print(f"  {seat}: {who}")
        console.print("Type ? for help.", "soft")

    def _ask(self, session: PlaySession, console: Console) -> None:
        decision = session.waiting[0]
        console.print("")
        try:
            reply = console.ask(decision, session.episode)
        except _TakenBack:
            return
        session.answer(decision.seat, reply)

    def _close(self, session: PlaySession, console: Console) -> None:
        """Tells how the play ended, what each seat was paid, and what choices cost."""
        from gamedsl.play.review import review, review_table
        from gamedsl.tables.text import rendered, table_lines

        episode = session.episode
        console.print("")
        for seat in sorted(self.table.people, key=self.game.ir.everyone.index):
            console.print_news(seat, episode)
        for seat, failure in episode.failures.items():
            console.print(f"{seat} gave no valid reply: {failure.reason}", "bad")
        paid = ", ".join(
            f"{seat} {'nothing: void' if amount is None else amount}"
            for seat, amount in episode.payoffs.items()
        )
        console.print(f"The game is over. Payoffs: {paid}", "strong")
        adviser = None if self.args.no_review else self._adviser
        if adviser is not None and adviser.reviews:
            found = review(session.moments, adviser)
            lost = sum(one.cost for one in found)
            if found:
                console.print(f"\nYour choices, by {adviser.source}:")
                print(rendered(table_lines(review_table(found, console.text), rule=True)))
                console.print(f"In all they cost {lost:.3g} of payoff.")
        console.print(f"\nTranscript: {self._save(session)}", "soft")
        files = "".join(f" --allow-calls {quote(str(file.path))}" for file in allowed_calls())
        console.print(f"gamedsl replay {self.args.file} {self._path}{files}", "soft")

    # commands of the player

    def _hint(self, console: Console, decision: Decision, episode: Episode) -> str:
        from gamedsl.play.advice import Unadvised
        from gamedsl.tables.model import Column, Table
        from gamedsl.tables.numbers import number
        from gamedsl.tables.text import rendered, table_lines

        adviser = self._adviser if decision.said is None else None
        if adviser is None:
            return "No solver advises here: the game is played in words, or a seat forgets."
        try:
            advice = adviser.advise(decision, episode)
        except Unadvised as error:
            return f"No solver advises here: {error}."
        rows: list[tuple[str, ...]] = [
            (console.text.option(name), f"{odds:.0%}", number(float(worth)))
            for name, odds, worth in zip(decision.legal, advice.odds, advice.worth, strict=True)
        ]
        columns = [Column("option"), Column("played", "right"), Column("worth", "right")]
        if advice.tries is not None:
            columns.append(Column("simulations", "right"))
            rows = [(*row, str(count)) for row, count in zip(rows, advice.tries, strict=True)]
        table = rendered(table_lines(Table(tuple(columns), rows), rule=True))
        return f"By {adviser.source}:\n{table}"

    @cached_property
    def _adviser(self) -> Adviser | None:
        from gamedsl.play.advice import adviser_of

        return adviser_of(self.game)

    def _undo(self, session: PlaySession, console: Console, decision: Decision) -> str:
        if not session.has_answered(decision.seat):
            return "You have not chosen anything yet."
        seen = session.take_back(decision.seat)
        if seen is None:
            return "You cannot take anything back here: somebody has learned from it."
        console.forget(decision.seat, seen)
        raise _TakenBack

    # the transcript

    @cached_property
    def _path(self) -> Path:
        """The file of the transcript, chosen when it is first asked for."""
        from gamedsl.play.saved_plays import free_path

        given = cast("Path | None", self.args.save)
        return given or free_path(Path(), self.game.name, self.seed)

    def _save(self, session: PlaySession) -> Path:
        from gamedsl.play.saved_plays import save_play
        from gamedsl.storage.strict_json import write

        record = write(session.episode.transcript) + "\n"
        save_play(record, self._path, parents=self.args.save is None)
        return self._path


class _TakenBack(Exception):
    """The player has gone back to an earlier decision."""


def _drawn(episode: Episode, seat: str) -> Drawing | None:
    """Returns the boards and hands that a seat sees; None where it sees none."""
    from gamedsl.ir.program import Draw, walk_steps
    from gamedsl.players.console import Drawing
    from gamedsl.tables.text import rendered
    from gamedsl.view.game.scene import Hand, scene_of

    scene, width = scene_of(episode, seat), shutil.get_terminal_size((80, 24)).columns
    if not scene.is_drawn:
        return None
    open_hands = {
        hand.title for hand in scene.things
        if isinstance(hand, Hand) and hand.cards and all(card.face for card in hand.cards)
    }  # fmt: skip
    steps = (step for step in walk_steps(episode.env.ir.turns) if isinstance(step, Draw))
    lines = rendered(
        scene.lines(width), colour=use_colour(sys.stdout), encoding=sys.stdout.encoding
    )
    return Drawing(lines, frozenset(step.id for step in steps if step.variable in open_hands))


def _leave(decision: Decision, episode: Episode) -> str:
    from gamedsl.players.console import InputEnded

    raise InputEnded


def _usage(message: str) -> int:
    print(f"gamedsl play: {message}", file=sys.stderr)
    return USAGE
