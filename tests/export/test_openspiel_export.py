"""Games registered with OpenSpiel: its own tests and algorithms run on them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import cfr, expected_game_score, exploitability

import gamedsl
from gamedsl.bounds.payoff_bounds import payoff_bounds
from gamedsl.export.facts import explore
from gamedsl.export.openspiel import register
from gamedsl.extras import install_command
from tests.export.games import NAMES, SMALLER, loaded, written

WIDE = (-1_000_000, 1_000_000)
"""Where neither the tree nor the form of the payoffs shows bounds."""


def spiel(name: str, **given: Any) -> Any:
    return pyspiel.load_game(register(loaded(name), **given))


def after(game: Any, *actions: int | list[int]) -> Any:
    state = game.new_initial_state()
    for action in actions:
        if isinstance(action, list):
            state.apply_actions(action)
        else:
            state.apply_action(action)
    return state


SMALL = {**SMALLER, "spread": {"n": 2, "size": 3}}
"""OpenSpiel lists outcomes again and again."""


@pytest.mark.parametrize("name", NAMES)
def test_the_tests_of_openspiel_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a game is known by its form alone, as all but the smallest are here."""
    monkeypatch.setattr("gamedsl.export.facts.HISTORIES", 200)
    game = gamedsl.load(name, params=SMALL.get(name))
    try:
        known = register(game, f"sim_{name}")
    except ValueError:
        known = register(game, f"sim_{name}", payoffs=WIDE)
    spiel_game = pyspiel.load_game(known)
    pyspiel.random_sim_test(spiel_game, num_sims=2, serialize=True, verbose=False)
    if spiel_game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        turns = pyspiel.convert_to_turn_based(spiel_game)
        pyspiel.random_sim_test(turns, num_sims=1, serialize=False, verbose=False)


def test_what_openspiel_is_told() -> None:
    kinds = pyspiel.GameType
    game = spiel("kuhn_poker")
    told = game.get_type()
    assert told.short_name == "gamedsl_kuhn_poker"
    assert told.dynamics == kinds.Dynamics.SEQUENTIAL
    assert told.chance_mode == kinds.ChanceMode.EXPLICIT_STOCHASTIC
    assert told.information == kinds.Information.IMPERFECT_INFORMATION
    assert told.utility == kinds.Utility.ZERO_SUM
    assert told.reward_model == kinds.RewardModel.TERMINAL
    theirs = pyspiel.load_game("kuhn_poker")
    for fact in ("num_players", "min_utility", "max_utility", "utility_sum", "max_game_length",
                 "max_chance_outcomes"):  # fmt: skip
        assert getattr(game, fact)() == getattr(theirs, fact)(), fact
    assert game.max_chance_nodes_in_history() == 2
    assert game.num_distinct_actions() == 4, "fold and call have names of their own"

    matrix, board = spiel("prisoners_dilemma").get_type(), spiel("tic_tac_toe").get_type()
    assert matrix.dynamics == kinds.Dynamics.SIMULTANEOUS
    assert matrix.information == kinds.Information.ONE_SHOT
    assert matrix.chance_mode == kinds.ChanceMode.DETERMINISTIC
    assert matrix.utility == kinds.Utility.GENERAL_SUM
    assert board.information == kinds.Information.PERFECT_INFORMATION
    assert board.utility == kinds.Utility.GENERAL_SUM, "its tree is too large to be gone through"
    assert spiel("tic_tac_toe").max_game_length() == 9
    assert (spiel("tic_tac_toe").min_utility(), spiel("tic_tac_toe").max_utility()) == (-1, 1)
    assert spiel("pure_coordination").get_type().utility == kinds.Utility.IDENTICAL
    repeated = spiel("repeated_prisoners_dilemma")
    assert repeated.get_type().reward_model == kinds.RewardModel.REWARDS
    assert (repeated.min_utility(), repeated.max_utility()) == (0, 25)


def test_a_hand_of_kuhn() -> None:
    game = spiel("kuhn_poker")
    state = game.new_initial_state()
    assert state.chance_outcomes() == [(i, pytest.approx(1 / 3)) for i in range(3)]
    assert state.action_to_string(state.current_player(), 2) == "card[first]=K"
    state = after(game, 2, 0)
    assert (state.current_player(), state.legal_actions()) == (0, [0, 1])
    assert state.information_state_string() == "first:open [first.card=K]"
    assert state.information_state_string(1) == "second [second.card=J]"
    assert state.observation_string(1).startswith("second is not asked\ncard: second J")
    state.apply_action(1)
    assert state.current_player() == 1
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["fold", "call"]
    state.apply_action(3)
    assert state.is_terminal()
    assert state.returns() == [2, -2]


def test_copies_and_pickles_go_their_own_way() -> None:
    game = spiel("kuhn_poker")
    state = after(game, 2, 0, 1)
    twin = state.clone()
    written_down = game.deserialize_state(state.serialize())
    _, unpickled = pickle.loads(pickle.dumps((game, state)))
    twin.apply_action(2)
    assert twin.returns() == [1, -1]
    for other in (state, written_down, unpickled):
        assert not other.is_terminal()
        other.apply_action(3)
        assert other.returns() == [2, -2]


def test_nash_conv_of_uniform_kuhn() -> None:
    game = spiel("kuhn_poker")
    uniform = policy.UniformRandomPolicy(game)
    assert exploitability.nash_conv(game, uniform) == pytest.approx(0.916667, abs=1e-6)
    value = expected_game_score.policy_value(game.new_initial_state(), [uniform, uniform])
    assert value[0] == pytest.approx(0.125)


def test_cfr_finds_the_value_of_kuhn() -> None:
    game = spiel("kuhn_poker")
    solver = cfr.CFRPlusSolver(game)
    for _ in range(60):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    value = expected_game_score.policy_value(game.new_initial_state(), [average, average])
    assert value[0] == pytest.approx(-1 / 18, abs=1e-3)
    assert exploitability.nash_conv(game, average) < 0.02


def test_a_matrix_game_is_solved() -> None:
    game = spiel("biased_rock_paper_scissors")
    state = game.new_initial_state()
    assert state.is_simultaneous_node()
    assert [state.legal_actions(player) for player in (0, 1)] == [[0, 1, 2]] * 2
    table = [[after(game, [i, j]).returns() for j in range(3)] for i in range(3)]
    assert table[0] == [[0, 0], [-1, 1], [3, -3]]
    turns = pyspiel.convert_to_turn_based(game)
    solver = cfr.CFRPlusSolver(turns)
    for _ in range(60):
        solver.evaluate_and_update_policy()
    uniform = policy.UniformRandomPolicy(turns)
    assert exploitability.nash_conv(turns, solver.average_policy()) < 0.1
    assert exploitability.nash_conv(turns, uniform) > 0.5


def test_agents_of_openspiel_can_play() -> None:
    env = rl_environment.Environment(spiel("goofspiel"), chance_event_sampler=None)
    moment = env.reset()
    while not moment.last():
        legal = moment.observations["legal_actions"]
        moment = env.step([actions[0] for actions in legal])
    assert sum(moment.rewards) == 0


def test_returns_grow_while_payoffs_are_paid() -> None:
    game = spiel("repeated_prisoners_dilemma")
    state = game.new_initial_state()
    seen = []
    for actions in ([0, 1], [1, 1], [1, 0]):
        state.apply_actions(actions)
        seen.append((state.rewards(), state.returns()))
    assert seen == [([0, 5], [0, 5]), ([1, 1], [1, 6]), ([5, 0], [6, 6])]


def test_information_states_are_ours() -> None:
    """Equal strings exactly where the seat knows the same; equal tensors exactly there too."""
    for name, sets in (("kuhn_poker", 12), ("goofspiel", 90), ("tiny_hanabi", 8)):
        game = spiel(name)
        strings: dict[str, tuple[float, ...]] = {}
        pending = [game.new_initial_state()]
        while pending:
            state = pending.pop()
            if state.is_simultaneous_node() or state.is_player_node():
                at_once = state.is_simultaneous_node()
                for player in range(2) if at_once else [state.current_player()]:
                    tensor = tuple(state.information_state_tensor(player))
                    key = state.information_state_string(player)
                    assert strings.setdefault(key, tensor) == tensor
            if not state.is_terminal():
                pending += children(state)
        assert len(strings) == sets
        assert len(set(strings.values())) == sets, name


def children(state: Any) -> list[Any]:
    if not state.is_simultaneous_node():
        return [state.child(action) for action in state.legal_actions()]
    found = []
    for left in state.legal_actions(0):
        for right in state.legal_actions(1):
            copy = state.clone()
            copy.apply_actions([left, right])
            found.append(copy)
    return found


def test_an_observation_is_a_view() -> None:
    game = spiel("tic_tac_toe")
    state = after(game, 0, 4)
    env = loaded("tic_tac_toe").env()
    on = [
        name
        for name, x in zip(env.vector_names("x"), state.observation_tensor(0), strict=True)
        if x
    ]
    assert on == [
        "me=x", "asked:move", "asked before", "board[0,0]=x", "board[1,1]=o", "move[x]=mark(0,0)",
        "move[o]=mark(1,1)",
    ]  # fmt: skip
    assert "0 x . ." in state.observation_string(0)


def test_game_versions_have_distinct_names(tmp_path: Path) -> None:
    text = "game: twice\nroles: [a]\nactions: [x, y]\nprotocol: simultaneous\npayoffs: {a: PAID}\n"
    first = written(tmp_path, text.replace("PAID", "1"))
    second = written(tmp_path, text.replace("PAID", "2"))
    assert register(first) == register(first) == "gamedsl_twice"
    assert register(second) == f"gamedsl_twice_{second.hash[:8]}"
    assert register(second, "mine") == "mine"
    assert after(pyspiel.load_game("mine"), 0).returns() == [2]
    assert after(pyspiel.load_game("gamedsl_twice"), 0).returns() == [1]
    with pytest.raises(ValueError, match="OpenSpiel has a game `kuhn_poker` already"):
        register(first, "kuhn_poker")


SUMS = """\
game: sums
roles: [a]
state: {total: 0}
turns:
  - repeat: 12
    turns:
      - {role: a, choose: n, from: 1..4}
      - {do: total = 1 * total + n}
payoffs: total
"""


def test_bounds_that_are_not_seen_must_be_given(tmp_path: Path) -> None:
    game = written(tmp_path, SUMS)
    with pytest.raises(ValueError, match=r"fix: give `payoffs=\(least, most\)`"):
        register(game, "sums")
    name = register(game, "sums", payoffs=(12, 48))
    assert pyspiel.load_game(name).max_game_length() == 12
    assert after(pyspiel.load_game(name), *[3] * 12).returns() == [48]
    name = register(game, "wrong_sums", payoffs=(12, 47))
    with pytest.raises(Exception, match=r"pays \[48.0\], not from 12.0 to 47.0"):
        after(pyspiel.load_game(name), *[3] * 12)
    name = register(game, "zero_sums", payoffs=(12, 48), utility="zero_sum")
    with pytest.raises(Exception, match=r"which is not 0.0 in all"):
        after(pyspiel.load_game(name), *[3] * 12)
    for given, said in [
        ({"payoffs": (-2, 1)}, "lie from -2 to 2"), ({"utility": "identical"}, "not always pay"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=said):
            register(loaded("kuhn_poker"), "false", **given)
    with pytest.raises(ValueError, match="not zero-sum"):
        register(loaded("prisoners_dilemma"), "false", utility="zero_sum")


BOUNDED = """\
game: bounded
roles: [a, b]
turns:
  - repeat: 9
    count: i
    turns:
      - {role: all, choose: n, from: 1..4}
      - {pay: payoffs, value: n.me}
      - {pay: other, value: 100}
let:
  part(k): k / 2
payoffs: PAID
"""


@pytest.mark.parametrize(
    ("paid", "low", "high"),
    [
        ("5 if n.a == n.b else -2", -2, 5),
        ("part(3) - 4 * sign(n.a - n.b)", -2.5, 5.5),
        ("count(n, 1) + max(n)", 1, 6),
        ("-min(n.me, 3) * 2", -6, -2),
    ],
)
def test_the_form_of_payoffs_bounds_them(
    tmp_path: Path, paid: str, low: float, high: float
) -> None:
    """Nine rounds of 1 to 4 come to it; the bounds hold, and need not be reached."""
    name = register(written(tmp_path, BOUNDED.replace("PAID", paid)))
    game = pyspiel.load_game(name)
    assert game.min_utility() <= 9 + low
    assert game.max_utility() == pytest.approx(36 + high)
    pyspiel.random_sim_test(game, num_sims=3, serialize=False, verbose=False)


def test_what_stages_pay_is_bounded_by_their_form() -> None:
    for discount, most in ((1, 25), ("1/2", 5 + 5 / 2 + 5 / 4 + 5 / 8 + 5 / 16)):
        game = gamedsl.load("repeated_prisoners_dilemma", params={"discount": discount})
        tree = explore(game.env().kernel, 100_000)
        assert (tree.low, tree.high) == (0, most)
        low, high = payoff_bounds(game.ir) or (1, 0)
        assert low <= 0
        assert most <= high <= 25


FORKED = """\
game: forked
roles: [a, b]
turns:
  - {role: a, choose: way, from: [chance, play]}
  - {draw: coin, from: {heads: 1/2, tails: 1/2}, seen_by: all, if: way == chance}
  - {draw: more, from: 1..2, seen_by: all, if: way == chance}
  - {draw: still, from: 1..2, seen_by: all, if: way == chance}
  - {role: b, choose: reply, from: [1, 2], if: way == play}
payoffs: {a: 3, b: "1 if way == play else 2"}
"""


def test_the_tree_of_a_small_game_is_known(tmp_path: Path) -> None:
    tree = explore(written(tmp_path, FORKED).env().kernel, 100)
    assert (tree.length, tree.draws, tree.outcomes) == (2, 3, 2)
    assert (tree.low, tree.high, tree.total, tree.identical) == (1, 3, None, False)
    assert explore(written(tmp_path, FORKED).env().kernel, 10) is None
    constant = written(tmp_path, FORKED.replace('b: "1 if way == play else 2"', "b: 3"))
    assert explore(constant.env().kernel, 100).total == 6
    game = pyspiel.load_game(register(written(tmp_path, FORKED.replace('"1 if way', '"2 if way'))))
    assert game.get_type().utility == pyspiel.GameType.Utility.CONSTANT_SUM
    assert game.utility_sum() == 5
    assert explore(constant.env().kernel, 100).identical


def test_without_openspiel_the_remedy_is_said() -> None:
    code = "import sys; sys.modules['pyspiel'] = None; import gamedsl.export.openspiel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = f"open_spiel is not installed; fix: {install_command('openspiel')}"
    assert said in done.stderr


def test_a_program_that_registers_games_ends_well() -> None:
    code = (
        "import gamedsl, pyspiel\nfrom gamedsl.export.openspiel import register\n"
        "game = pyspiel.load_game(register(gamedsl.load('kuhn_poker')))\n"
        "state = game.new_initial_state(); state.apply_action(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
