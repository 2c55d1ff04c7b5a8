"""Random legal play in other libraries, for `env.py`: each as its documentation says to play."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

Play = Callable[[int, Callable[[], float]], int]

SPIEL = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "rock_paper_scissors": "matrix_rps",
    "tic_tac_toe": "tic_tac_toe",
    "connect_four": "connect_four",
    "hanabi": "hanabi",
}

SPIEL_PYTHON = {"kuhn_poker": "python_kuhn_poker", "tic_tac_toe": "python_tic_tac_toe"}

PETTING_ZOO = {
    "tic_tac_toe": "pettingzoo.classic.tictactoe_v3",
    "connect_four": "pettingzoo.classic.connect_four_v3",
    "leduc_poker": "pettingzoo.classic.leduc_holdem_v4",
    "rock_paper_scissors": "pettingzoo.classic.rps_v2",
    "hanabi": "pettingzoo.classic.hanabi_v5",
}

TEXT_ARENA = {
    "tic_tac_toe": "TicTacToe-v0",
    "connect_four": "ConnectFour-v0",
    "kuhn_poker": "KuhnPoker-v0-short",
}


def peers(game: str) -> Iterator[tuple[str, Play]]:
    """Yields the other libraries that play a game: name and player."""
    for name, make, games in (
        ("OpenSpiel (C++)", lambda which: spiel(which, seen=False), SPIEL),
        ("OpenSpiel (C++), seen", lambda which: spiel(which, seen=True), SPIEL),
        ("OpenSpiel (Python), seen", lambda which: spiel(which, seen=True), SPIEL_PYTHON),
        ("PettingZoo, seen", petting_zoo, PETTING_ZOO),
        ("TextArena, seen", text_arena, TEXT_ARENA),
    ):
        if game not in games:
            continue
        try:
            yield name, make(games[game])
        except Exception as error:
            print(f"{game}: no {name}: {error}", file=sys.stderr)


PEERS = peers


def spiel(name: str, *, seen: bool) -> Play:
    import pyspiel

    if name.startswith("python_"):
        importlib.import_module("open_spiel.python.games")
    game = pyspiel.load_game(name)
    seats = range(game.num_players())

    def play(games: int, random: Callable[[], float]) -> int:
        moves = 0
        for _ in range(games):
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    left = random()
                    for outcome, probability in state.chance_outcomes():
                        drawn = outcome
                        left -= probability
                        if left <= 0:
                            break
                    state.apply_action(drawn)
                elif state.is_simultaneous_node():
                    actions = []
                    for seat in seats:
                        if seen:
                            state.observation_string(seat)
                        legal = state.legal_actions(seat)
                        actions.append(legal[int(random() * len(legal))])
                    state.apply_actions(actions)
                else:
                    if seen:
                        state.observation_string(state.current_player())
                    legal = state.legal_actions()
                    state.apply_action(legal[int(random() * len(legal))])
                moves += 1
            state.returns()
        return moves

    play(1, lambda: 0.5)
    return play


def petting_zoo(name: str) -> Play:
    env = importlib.import_module(name).env()

    def play(games: int, random: Callable[[], float]) -> int:
        moves = 0
        for _ in range(games):
            env.reset(seed=0)
            for agent in env.agent_iter():
                seen, _, over, cut, _ = env.last()
                if over or cut:
                    env.step(None)
                    continue
                if isinstance(seen, dict):
                    legal = seen["action_mask"].nonzero()[0]
                    action = int(legal[int(random() * len(legal))])
                else:
                    action = int(random() * env.action_space(agent).n)
                env.step(action)
                moves += 1
        return moves

    play(1, lambda: 0.5)
    return play


def text_arena(name: str) -> Play:
    import textarena

    def play(games: int, random: Callable[[], float]) -> int:
        moves = 0
        for game in range(games):
            env = textarena.make(name)
            env.reset(num_players=2, seed=game)
            over = False
            while not over:
                env.get_observation()
                legal = legal_texts(env.state.game_state)
                over, _ = env.step(action=legal[int(random() * len(legal))])
                moves += 1
            env.close()
        return moves

    play(1, lambda: 0.5)
    return play


def legal_texts(state: dict[str, Any]) -> list[str]:
    """Returns the legal texts, which the library does not list."""
    if "current_legal_action_tree" in state:
        return [f"[{word}]" for word in state["current_legal_action_tree"]]
    board = state["board"]
    if len(board) == 3:
        return [f"[{i}]" for i in range(9) if board[i // 3][i % 3] == ""]
    return [f"[{i}]" for i, cell in enumerate(board[0]) if cell == "."]
