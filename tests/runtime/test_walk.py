"""The walker over game states: its orders, its limits, and that all its ways agree."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import gamedsl
from gamedsl.engine.kernel import State
from gamedsl.engine.walk import (
    ChanceNode,
    EndNode,
    ExtensiveNode,
    JointNode,
    Merged,
    SeatNode,
    Truncated,
    after,
    count_histories,
    descend,
    moves,
    options,
    play_out,
    sample_path,
    seat_by_seat,
    take,
    walk,
    walk_positions,
)
from gamedsl.runtime.positions import position


def start(name: str) -> State:
    return gamedsl.load(name).kernel().start()


def shown(state: State) -> str:
    return " | ".join(state.known(seat) for seat in gamedsl.load("kuhn_poker").ir.seats)


@pytest.mark.parametrize("order", ["breadth", "depth"])
def test_walk_meets_every_history_once(order: str) -> None:
    assert order in ("breadth", "depth")
    nodes = list(walk(start("kuhn_poker"), 100, "breadth" if order == "breadth" else "depth"))
    assert len(nodes) == count_histories(start("kuhn_poker"), 100) == 58
    known = [shown(node.point) for node in nodes if not isinstance(node, Truncated)]
    assert len(set(known)) > 50


def test_walk_by_depth_takes_the_last_move_first() -> None:
    first, second, *_ = walk(start("kuhn_poker"), 100, "depth")
    assert isinstance(first, ChanceNode)
    assert not isinstance(second, Truncated)
    *_, last = moves(first.point)
    assert shown(second.point) == shown(after(first.point, last))


def test_walk_counts_choices_and_draws() -> None:
    ends = [node for node in walk(start("kuhn_poker"), 100) if isinstance(node, EndNode)]
    assert {node.draws for node in ends} == {2}
    assert {node.choices for node in ends} == {2, 3}


def test_walk_beyond_its_limit_ends_truncated() -> None:
    *_, last = walk(start("kuhn_poker"), 57)
    assert last == Truncated(57)
    assert count_histories(start("kuhn_poker"), 57) is None
    assert not any(isinstance(node, Truncated) for node in walk(start("kuhn_poker"), 58))


def test_walk_of_episodes_matches_states() -> None:
    game = gamedsl.load("kuhn_poker")
    episodes = list(walk(game.env().reset(chance="asked", forced="asked"), 100))
    states = list(walk(game.kernel().start(), 100))
    for one, other in zip(episodes, states, strict=True):
        assert not isinstance(one, Truncated)
        assert not isinstance(other, Truncated)
        assert type(one) is type(other)
        assert one.size == other.size
        assert shown(one.point.state) == shown(other.point)


def test_simultaneous_moves_are_joint_or_by_seat() -> None:
    joint = next(walk(start("stag_hunt"), 100))
    assert isinstance(joint, JointNode)
    assert joint.counts == (2, 2)
    first = seat_by_seat(start("stag_hunt"))
    assert isinstance(first, SeatNode)
    second = descend(first, 1)
    assert isinstance(second, SeatNode)
    assert second.ask.seat != first.ask.seat
    assert isinstance(descend(second, 0), EndNode)


def test_forced_moves_have_nodes_when_asked_for() -> None:
    nim = gamedsl.load("nim", {"piles": [1, 2]}).kernel()

    def nodes(forced: bool) -> int:
        pending: list[ExtensiveNode] = [seat_by_seat(nim.start(), forced=forced)]
        found = 0
        while pending:
            node = pending.pop()
            found += 1
            if not isinstance(node, EndNode):
                pending += [descend(node, i, forced=forced) for i in range(node.size)]
        return found

    assert nodes(False) < nodes(True)


def test_positions_come_after_what_follows_them() -> None:
    met: dict[object, int] = {}
    for one in walk_positions(start("tic_tac_toe"), position, 100_000):
        assert isinstance(one, Merged)
        assert all(below in met for below in one.following)
        assert len(one.following) == options(one.point)
        met[one.key] = 1 + sum(met[below] for below in one.following)
    assert list(met.values())[-1] == 549_946


def test_positions_beyond_their_limit_end_truncated() -> None:
    *_, last = walk_positions(start("tic_tac_toe"), position, 100)
    assert last == Truncated(100)


def test_options_of_simultaneous_moves_are_refused() -> None:
    with pytest.raises(ValueError, match="several seats move at once"):
        options(start("stag_hunt"))


def test_take_moves_whoever_has_a_choice() -> None:
    first = start("tic_tac_toe")
    assert take(first, 4).known("x") == after(first, (4,)).known("x")


def test_sampled_paths_repeat_with_their_seed() -> None:
    def play(seed: int) -> list[str]:
        dice = random.Random(seed)

        def choose(state: State) -> list[int]:
            return [dice.randrange(count) for count in state.counts]

        return [shown(s) for s in sample_path(start("kuhn_poker"), dice.random, choose)]

    assert play(3) == play(3)
    assert len({tuple(play(seed)) for seed in range(20)}) > 1


def test_play_out_ends_with_payoffs() -> None:
    end = play_out(
        start("kuhn_poker"), random.Random(0).random, lambda state: [0, 0][: len(state.counts)]
    )
    assert end.kind == "end"
    assert sum(map(Fraction, end.payoffs.values())) == 0
