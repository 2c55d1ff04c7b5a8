"""Kuhn poker in loops of other libraries: their own environment, ours exported, and lines of code.

    python benchmarks/peers.py --out benchmarks/results/peers.json

`turns_per_second` is the rate of decisions in the library's own loop, with legal replies drawn at
random, in one thread; best of `--rounds`, the environments in turn in each round. `lines` are those
that a user writes for the game, without blank lines, comments and docstrings. Where a library
ships the game, they are its own; else they are those of the page "Coming from …". A library that is
not installed is left out. Payoffs differ where a library's own rules do: TextArena's Kuhn poker
plays five rounds and pays who has more chips, so its turns are compared, and not its rewards.
"""

from __future__ import annotations

import ast
import inspect
import random
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from shared import command, keep, machine

import gamedsl

ROOT = Path(__file__).parents[1]
GAME = ROOT / "games" / "kuhn_poker.yaml"
PAGES = ROOT / "docs" / "coming-from"

Play = Callable[[int, random.Random], int]
"""Plays a number of games, and returns the number of decisions."""


class Side(NamedTuple):
    """An environment in a library's loop. `lines` are those that a user writes for it."""

    play: Play
    lines: int


class Contest(NamedTuple):
    """A library's own environment of the game, and ours in the same loop."""

    library: str
    theirs: Side
    ours: Side


def code_lines(source: str) -> int:
    """Returns the number of lines of Python with code: no blanks, comments or docstrings."""
    tree = ast.parse(source)
    told: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                told |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        1 for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in told
    )  # fmt: skip


def game_lines() -> int:
    """Returns the number of lines of the game file, without blanks and comments."""
    lines = GAME.read_text(encoding="utf-8").splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def page_code(name: str) -> str:
    """Returns the first Python block of a page "Coming from …": the game by hand."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (code, *_) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(code)


def text_arena() -> Contest:
    """TextArena's loop: KuhnPoker-v0-short as it ships it, and the export, both without wrappers:
    the one that is usual there writes the whole history anew for each turn."""
    import textarena as ta
    from textarena.envs.KuhnPoker import env as shipped

    from gamedsl.export.textarena import register

    def loop(env: Any, options: Callable[[Any, str], list[str]]) -> Play:
        def play(games: int, dice: random.Random) -> int:
            turns = 0
            for _ in range(games):
                env.reset(num_players=2, seed=dice.getrandbits(31))
                done = False
                while not done:
                    _, observation = env.get_observation()
                    done, _ = env.step(action=dice.choice(options(env, observation)))
                    turns += 1
                env.close()
            return turns

        return play

    def theirs(env: Any, observation: str) -> list[str]:
        return [f"[{move}]" for move in env.state.game_state["current_legal_action_tree"]]

    def ours(env: Any, observation: str) -> list[str]:
        return list(env.state.decision.labels)

    return Contest(
        "textarena",
        Side(
            loop(ta.make("KuhnPoker-v0-short-raw"), theirs), code_lines(inspect.getsource(shipped))
        ),
        Side(loop(ta.make(f"{register(str(GAME))}-raw"), ours), game_lines()),
    )


def open_spiel() -> Contest:
    """OpenSpiel's Python loop with information states: the game by hand, and the export."""
    import pyspiel

    from gamedsl.export.openspiel import register

    def loop(game: Any) -> Play:
        def play(games: int, dice: random.Random) -> int:
            turns = 0
            for _ in range(games):
                state = game.new_initial_state()
                while not state.is_terminal():
                    if state.is_chance_node():
                        outcomes = state.chance_outcomes()
                        state.apply_action(dice.choices(*zip(*outcomes, strict=True))[0])
                        continue
                    state.information_state_string(state.current_player())
                    state.apply_action(dice.choice(state.legal_actions()))
                    turns += 1
                state.returns()
            return turns

        return play

    code = page_code("openspiel")
    exec(compile(code, "openspiel", "exec"), {})
    ours = pyspiel.load_game(register(gamedsl.load(GAME)))
    return Contest(
        "open_spiel",
        Side(loop(pyspiel.load_game("page_kuhn")), code_lines(code)),
        Side(loop(ours), game_lines()),
    )


def petting_zoo() -> Contest:
    """PettingZoo's AEC loop: the game by hand, both of whose actions are always legal, and the
    export."""
    from gamedsl.export.pettingzoo import aec_env

    def loop(env: Any) -> Play:
        def play(games: int, dice: random.Random) -> int:
            turns = 0
            for _ in range(games):
                env.reset(seed=dice.getrandbits(31))
                for agent in env.agent_iter():
                    _, _, termination, truncation, info = env.last()
                    if termination or truncation:
                        env.step(None)
                        continue
                    mask = info.get("action_mask", [1] * env.action_space(agent).n)
                    env.step(dice.choice([move for move, on in enumerate(mask) if on]))
                    turns += 1
            return turns

        return play

    code = page_code("pettingzoo")
    names: dict[str, Any] = {}
    exec(compile(code, "pettingzoo", "exec"), names)
    return Contest(
        "pettingzoo",
        Side(loop(names["Kuhn"]()), code_lines(code)),
        Side(loop(aec_env(gamedsl.load(GAME))), game_lines()),
    )


CONTESTS = {"textarena": text_arena, "open_spiel": open_spiel, "pettingzoo": petting_zoo}


def opened() -> Iterator[Contest]:
    """Yields the contests whose library is installed."""
    for name, make in CONTESTS.items():
        try:
            yield make()
        except ImportError as error:
            print(f"no {name}: {error}", file=sys.stderr)


def rate(play: Play, games: int, seed: int) -> float:
    """Returns the decisions a second of processor time."""
    dice = random.Random(seed)
    start = process_time()
    turns = play(games, dice)
    return turns / (process_time() - start)


def measured(contest: Contest, games: int, rounds: int) -> dict[str, Any]:
    """Returns the best rate of each side, which take turns, and their lines."""
    sides = {"theirs": contest.theirs, "ours": contest.ours}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for seed in range(rounds):
        for name, side in sides.items():
            rates[name].append(rate(side.play, games, seed))
    return {
        name: {"turns_per_second": max(rates[name]), "lines": side.lines}
        for name, side in sides.items()
    }


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--games", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for contest in opened():
        found[contest.library] = one = measured(contest, given.games, given.rounds)
        for name, side in one.items():
            print(f"{contest.library}, {name}: {side['turns_per_second']:,.0f} turns a second, "
                  f"{side['lines']} lines")  # fmt: skip
    versions = {name: version(name) for name in found}
    about = {
        "machine": machine("one thread"),
        "versions": {"gamedsl": gamedsl.__version__, **versions},
        "game": "kuhn_poker", "games": given.games, "rounds": given.rounds,
    }  # fmt: skip
    keep({**about, "libraries": found}, given.out)


if __name__ == "__main__":
    main()
