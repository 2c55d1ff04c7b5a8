"""Random legal play: our backends and other libraries of games, per CPU-second, from Python.

    pip install -c constraints.txt -e ".[bench]"
    python benchmarks/env.py --out benchmarks/results/env.json

One process, one thread. Who is compared plays the same game in turn, a few dozen milliseconds at a
time, so that what else runs on the machine slows all of them; a ratio is the median over pairs of
such turns. Time is CPU time. Everyone draws the same way; where it says `seen`, whoever must choose
is also given what it may know, as a text or an array, at every decision. Libraries that are not
installed are left out, with a note.

Ours: `states` are moved by numbers, as solvers do (`Game.kernel`); `lists` is a walk over the lists
of a tabulated game (`Table.rolls`); `episodes` are what players of prompts drive, with labels,
information sets and transcripts (`Game.env`). `share` is how much of the time is spent in our code,
and not in the loop that drives it: that is timed with a state that does nothing.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

from env_peers import PEERS
from shared import command, keep, machine

import gamedsl
from gamedsl import Action

Play = Callable[[int, Callable[[], float]], int]
"""Plays so many games, with numbers drawn from 0 to below 1; how many moves there were in all,
those of chance included."""

BACKENDS = ("interpreter", "generated", "tabulated")

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "rock_paper_scissors",
    "tic_tac_toe",
    "connect_four",
    "hanabi",
)

SMALL = ("kuhn_poker", "leduc_poker", "rock_paper_scissors")
"""Games that are tabulated."""


@dataclass
class Turn:
    """One player's time in one turn."""

    games: int
    moves: int
    seconds: float


@dataclass
class Runner:
    """Somebody who plays a game at random."""

    game: str
    name: str
    play: Play
    idle: Play | None = None
    """The same loop around a state that does nothing."""
    games: int = 1
    """Played in a turn."""

    def turn(self, seed: int, play: Play | None = None) -> Turn:
        random = Random(seed).random
        start = time.process_time()
        moves = (play or self.play)(self.games, random)
        return Turn(self.games, moves, time.process_time() - start)

    def fit(self, seconds: float) -> None:
        """Choose how many games a turn has."""
        self.turn(0)
        while (taken := self.turn(0).seconds) < seconds:
            self.games = max(self.games + 1, int(self.games * min(8, seconds / max(taken, 1e-6))))


# ours


def states(kernel: Any, *, seen: bool) -> Play:
    def play(games: int, random: Callable[[], float]) -> int:
        moves = 0
        for _ in range(games):
            state = kernel.start()
            while (kind := state.kind) != "end":
                if kind == "chance":
                    state.apply(state.sample(random))
                else:
                    if seen:
                        for seat in state.asked:
                            state.known(seat)
                    counts = state.counts
                    if len(counts) == 1:
                        state.apply(int(random() * counts[0]))
                    else:
                        state.apply(*[int(random() * count) for count in counts])
                moves += 1
            _ = state.payoffs
        return moves

    return play


def lists(kernel: Any) -> Play:
    table = kernel.table

    def play(games: int, random: Callable[[], float]) -> int:
        moves, rolls, payoffs = 0, table.rolls, table.payoffs
        for _ in range(games):
            node = 0
            while following := rolls[node]:
                node = following[int(random() * len(following))]
                moves += 1
            payoffs[node]
        return moves

    return play


def episodes(env: Any) -> Play:
    def play(games: int, random: Callable[[], float]) -> int:
        moves = 0
        for _ in range(games):
            episode = env.reset(seed=int(random() * 2**40))
            while not episode.done:
                answers = {}
                for decision in episode.decisions:
                    _ = decision.information_set
                    answers[decision.seat] = Action(
                        decision.legal[int(random() * len(decision.legal))]
                    )
                episode.step(answers)
            moves += len(episode.transcript["steps"])
        return moves

    return play


class Idle:
    """A state that does nothing, for as many moves as a game has on average."""

    asked = ("nobody",)
    payoffs = ()

    def __init__(self, moves: int, seats: int) -> None:
        self.left = moves
        self.counts = (3,) * seats
        self.kind = "decide"

    def start(self) -> Idle:
        return self

    def apply(self, number: int, *others: int) -> None:
        pass

    def known(self, seat: str) -> None:
        pass


def idle(seen: bool, seats: int) -> Play:
    """The loop of `states`, for as many moves as it is told."""

    def play(moves: int, random: Callable[[], float]) -> int:
        state = Idle(moves, seats)
        for _ in range(moves):
            if state.kind != "end" and state.kind != "chance":
                if seen:
                    for seat in state.asked:
                        state.known(seat)
                counts = state.counts
                if len(counts) == 1:
                    state.apply(int(random() * counts[0]))
                else:
                    state.apply(*[int(random() * count) for count in counts])
        return moves

    return play


def ours(name: str) -> Iterator[Runner]:
    game = gamedsl.load(name)
    seats = 2 if name == "rock_paper_scissors" else 1
    for backend in BACKENDS:
        if backend == "tabulated" and name not in SMALL:
            continue
        kernel = game.kernel(backend)
        for seen in (False, True):
            label = f"{backend} states{', seen' if seen else ''}"
            yield Runner(name, label, states(kernel, seen=seen), idle(seen, seats))
        if backend == "tabulated":
            yield Runner(name, "tabulated lists", lists(kernel))
        if backend == "generated":
            yield Runner(name, "generated episodes, seen", episodes(game.env(backend=backend)))


# measuring


def measure(runners: list[Runner], turns: int, seconds: float) -> dict[str, Any]:
    """Let all play in turn; what each of them does in a second."""
    for runner in runners:
        runner.fit(seconds)
    taken: dict[str, list[Turn]] = {runner.name: [] for runner in runners}
    for seed in range(turns):
        for runner in runners:
            taken[runner.name].append(runner.turn(seed))
    found = {}
    for runner in runners:
        each = taken[runner.name]
        steps = [turn.moves / turn.seconds for turn in each]
        found[runner.name] = {
            "steps_per_second": statistics.median(steps),
            "games_per_second": statistics.median(turn.games / turn.seconds for turn in each),
            "each": steps,
        }
        if runner.idle is not None:
            found[runner.name]["share"] = share(runner, each)
    return found


def share(runner: Runner, turns: list[Turn]) -> float:
    """Returns the share of the time that is spent in our code."""
    assert runner.idle is not None
    own = statistics.median(turn.seconds / turn.moves for turn in turns)
    moves = max(turn.moves for turn in turns)
    loops = []
    for seed in range(5):
        random = Random(seed).random
        start = time.process_time()
        runner.idle(moves, random)
        loops.append((time.process_time() - start) / moves)
    return max(0.0, 1 - statistics.median(loops) / own)


def ratio(found: dict[str, Any], one: str, other: str) -> float:
    """Returns the speed of one relative to the other: the median over their turns."""
    pairs = zip(found[one]["each"], found[other]["each"], strict=True)
    return statistics.median(a / b for a, b in pairs)


@dataclass
class Target:
    """A target that the comparison must meet."""

    game: str
    ours: str
    peer: str
    least: float | None
    """None where the ratio is only told."""


def targets(game: str, found: dict[str, Any]) -> Iterator[Target]:
    for peer in found:
        if peer == "OpenSpiel (C++)" and game in SMALL:
            yield Target(game, "tabulated lists", peer, 5)
        elif peer == "OpenSpiel (C++), seen" and game not in SMALL:
            yield Target(game, "generated states, seen", peer, 0.5)
        elif peer.endswith(", seen") and peer.startswith(("OpenSpiel (Python)", "Petting", "Text")):
            backend = "tabulated" if game in SMALL else "generated"
            yield Target(game, f"{backend} states, seen", peer, 5)
            yield Target(game, "generated episodes, seen", peer, None)


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--games", nargs="*", default=list(GAMES), choices=GAMES, metavar="GAME")
    parser.add_argument("--turns", type=int, default=15, help="of each player")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a turn")
    args = parser.parse_args()
    told = machine("one thread")
    result: dict[str, Any] = {"machine": told, "versions": versions(), "games": {}}
    found = (f"{name} {number or 'is not installed'}" for name, number in versions().items())
    print(told, *found, sep="; ")
    for game in args.games:
        peers = [Runner(game, name, play) for name, play in PEERS(game)]
        found = measure([*ours(game), *peers], args.turns, args.seconds)
        report(game, found)
        met = []
        for target in targets(game, found):
            times = ratio(found, target.ours, target.peer)
            print(f"  {target.ours} / {target.peer}: {times:.2f}{judged(times, target.least)}")
            met.append({**vars(target), "ratio": times})
        for row in found.values():
            del row["each"]
        result["games"][game] = {"players": found, "targets": met}
    keep(result, args.out)


def judged(times: float, least: float | None) -> str:
    if least is None:
        return ""
    return f" (at least {least:g}: {'ok' if times >= least else 'MISSED'})"


def report(game: str, found: dict[str, Any]) -> None:
    print(f"\n{game}{'':<34}{'steps/s':>12}{'games/s':>11}{'us/step':>9}{'share':>7}")
    for name, row in found.items():
        part = f"{row['share']:.0%}" if "share" in row else ""
        steps = row["steps_per_second"]
        print(
            f"  {name:<42}{steps:>12,.0f}{row['games_per_second']:>11,.0f}"
            f"{1e6 / steps:>9.2f}{part:>7}",
            flush=True,
        )


def versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in ("gamedsl", "open_spiel", "pettingzoo", "textarena"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


if __name__ == "__main__":
    main()
