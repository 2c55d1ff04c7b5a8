"""Kuhn poker in loops of other libraries: their own environment, ours exported, and lines of code.

    python benchmarks/peers.py --out benchmarks/results/peers.json

`turns_per_second` is the rate of decisions in the library's own loop, with legal replies drawn at
random, by processor time of this process and of those that it starts; best of `--rounds`, the
environments in turn in each round. Where the loop asks a model, a stand-in answers.

`lines` are those that a user writes for the game, without blank lines, comments and docstrings.
Where a library ships the game, they are its own; else they are those of the page "Coming from …",
or of `kuhn_in_NAME.py` here, whose plays a test compares with ours. Payoffs differ where a
library's own rules do: TextArena's Kuhn poker plays five rounds and pays who has more chips, so its
turns are compared, and not its rewards.

A library that is not installed is left out. Not all fit in one environment, so a result that
`--out` has already is kept for the others.
"""

from __future__ import annotations

import inspect
import json
import random
import resource
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from time import process_time
from typing import Any

import model_peers
from contests import GAME, Contest, Play, Side, code_lines, file_lines, game_lines, page_code
from shared import command, keep, machine

import gamedsl


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


def gymnasium() -> Contest:
    """gymnasium's loop for one seat: the game by hand, both of whose actions are always legal, and
    the export. The other seat plays at random on both sides, and its decisions are not counted."""
    import kuhn_in_gymnasium

    from gamedsl.export.gymnasium import SeatEnv

    def loop(env: Any) -> Play:
        def play(games: int, dice: random.Random) -> int:
            turns = 0
            for _ in range(games):
                _, info = env.reset(seed=dice.getrandbits(31))
                over = False
                while not over:
                    mask = info.get("action_mask", (1, 1))
                    move = dice.choice([move for move, on in enumerate(mask) if on])
                    _, _, terminated, truncated, info = env.step(move)
                    over = terminated or truncated
                    turns += 1
            return turns

        return play

    return Contest(
        "gymnasium",
        Side(loop(kuhn_in_gymnasium.Kuhn()), file_lines("kuhn_in_gymnasium.py")),
        Side(loop(SeatEnv(GAME, "first", ["second=random"])), game_lines()),
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    "textarena": text_arena, "open_spiel": open_spiel, "pettingzoo": petting_zoo,
    "gymnasium": gymnasium, **model_peers.CONTESTS,
}  # fmt: skip


def opened(names: list[str]) -> Iterator[Contest]:
    """Yields the contests whose library is installed."""
    for name in names:
        try:
            yield CONTESTS[name]()
        except ImportError as error:
            print(f"no {name}: {error}", file=sys.stderr)


def processor_time() -> float:
    """Returns the seconds of the processor that this process took, and its children that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + ended.ru_utime + ended.ru_stime


def rate(play: Play, games: int, seed: int) -> float:
    """Returns the decisions a second of processor time."""
    dice = random.Random(seed)
    start = processor_time()
    turns = play(games, dice)
    return turns / (processor_time() - start)


def measured(contest: Contest, games: int, rounds: int) -> dict[str, Any]:
    """Returns the best rate of each side, which take turns, and their lines."""
    sides = {"theirs": contest.theirs, "ours": contest.ours}
    rates: dict[str, list[float]] = {name: [] for name in sides}
    each = max(2, games // contest.fewer)
    for seed in range(rounds):
        for name, side in sides.items():
            rates[name].append(rate(side.play, each, seed))
    found: dict[str, Any] = {
        name: {"turns_per_second": max(rates[name]), "lines": side.lines}
        for name, side in sides.items()
    }
    return {"version": version(contest.library), "games": each, "rounds": rounds, **found}


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--games", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=CONTESTS, default=list(CONTESTS))
    given = parser.parse_args()
    known: dict[str, Any] = {}
    if given.out and given.out.exists():
        known = json.loads(given.out.read_text(encoding="utf-8"))["libraries"]
    for contest in opened(given.only):
        known[contest.library] = one = measured(contest, given.games, given.rounds)
        for name in ("theirs", "ours"):
            print(f"{contest.library}, {name}: {one[name]['turns_per_second']:,.0f} turns a second,"
                  f" {one[name]['lines']} lines")  # fmt: skip
    about = {
        "machine": machine(), "gamedsl": gamedsl.__version__, "game": "kuhn_poker",
    }  # fmt: skip
    keep({**about, "libraries": known}, given.out)


if __name__ == "__main__":
    main()
