"""Advantages worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from gamedsl.policies.base import Query
from gamedsl.runtime import Action
from gamedsl.training.trajectories import Batch, Sample, Trajectory
from tests.train.conftest import weighed

LABELS = ("a", "b")


def history(games: int, *samples: Sample, group: int = 0, **rewards: object) -> Trajectory:
    seats = {*rewards, *(sample.seat for sample in samples)}
    roles = [SimpleNamespace(name=role) for role in sorted({seat.split("_")[0] for seat in seats})]
    ir = SimpleNamespace(roles=roles, referees=(), seats=seats)
    env = SimpleNamespace(ir=ir)
    return Trajectory(
        group, games, samples, SimpleNamespace(rewards=rewards, earnings=rewards, env=env)
    )


def sample(query: int, action: int, seat: str, occurrence: int = 0, step: str = "s") -> Sample:
    return Sample(query, action, seat.split("_")[0], seat, step, occurrence)


def batch(*histories: Trajectory, queries: int = 2) -> Batch:
    made = [Query((("user", str(number)),), LABELS, "shared") for number in range(queries)]
    return Batch(queries=made, trajectories=list(histories))


def test_mean_of_the_group_weighted_by_games() -> None:
    # p: three games earn 4 with action 0, one earns 0 with action 1: the mean is 3.
    # q: the same games earn 1 each: no advantage.
    found = weighed(
        batch(
            history(3, sample(0, 0, "p"), sample(1, 0, "q"), p=4, q=1),
            history(1, sample(0, 1, "p"), sample(1, 1, "q"), p=0, q=1),
        )
    )
    assert found.gains_A[0].tolist() == [3 * 1, 0]
    assert found.losses_A[0].tolist() == [0, -3]
    assert found.counts_A[0].tolist() == [3, 1]
    assert found.sums_A[1].tolist() == [0, 0]
    assert found.counts_A[1].tolist() == [3, 1]
    assert (found.samples, found.void) == (8, 0)


def test_gains_and_losses_are_kept_separate() -> None:
    found = weighed(batch(history(1, sample(0, 0, "p"), p=5), history(1, sample(0, 0, "p"), p=1)))
    assert found.gains_A[0].tolist() == [2, 0]
    assert found.losses_A[0].tolist() == [-2, 0]


def test_exact() -> None:
    third = Fraction(1, 3)
    found = weighed(batch(*(history(1, sample(0, 0, "p"), p=third) for _ in range(7))))
    assert found.sums_A[0].tolist() == [0, 0]


def test_baselines_are_per_role_step_and_group() -> None:
    for first, second in (
        (sample(0, 0, "p"), sample(0, 0, "q")),
        (sample(0, 0, "p", step="s"), sample(0, 0, "p", step="t")),
        (sample(0, 0, "p", occurrence=0), sample(0, 0, "p", occurrence=1)),
        (sample(0, 0, "p"), sample(0, 0, "p")._replace(deal=1)),
    ):
        found = weighed(batch(history(1, first, p=1, q=1), history(1, second, p=9, q=9)))
        assert found.sums_A[0].tolist() == [0, 0]
    found = weighed(
        batch(history(1, sample(0, 0, "p"), p=1), history(1, sample(0, 0, "p"), p=9, group=1))
    )
    assert found.sums_A[0].tolist() == [0, 0]


def test_seats_of_one_role_share_a_mean() -> None:
    found = weighed(batch(history(1, sample(0, 0, "p_1"), sample(1, 0, "p_2"), p_1=0, p_2=4)))
    assert found.sums_A[0].tolist() == [-2, 0]
    assert found.sums_A[1].tolist() == [2, 0]


def test_void_samples_count_for_nothing() -> None:
    found = weighed(
        batch(
            history(1, sample(0, 0, "p"), p=1),
            history(1, sample(0, 1, "p"), p=3),
            history(5, sample(0, 1, "p"), p=None),
        )
    )
    assert found.sums_A[0].tolist() == [-1, 1]
    assert found.counts_A[0].tolist() == [1, 1]
    assert (found.samples, found.void) == (2, 5)


def test_other_baselines() -> None:
    games = (history(3, sample(0, 0, "p"), p=4), history(1, sample(0, 1, "p"), p=0))
    # Leaving one out: the others of a 4 earn 8/3 on average, those of the 0 earn 4.
    found = weighed(batch(*games), baseline="leave_one_out")
    assert found.sums_A[0].tolist() == pytest.approx([3 * (4 - 8 / 3), -4])
    assert weighed(batch(*games), baseline="none").sums_A[0].tolist() == [12, 0]


def test_leaving_one_out_leaves_out_the_whole_game() -> None:
    """Seats of one role: the first game's two earn 0 and 4, the second's 2 and 6."""
    games = [
        history(1, sample(0, 0, "p_1"), sample(1, 0, "p_2"), p_1=first, p_2=second)
        for first, second in ((0, 4), (2, 6))
    ]
    found = weighed(batch(*games), baseline="leave_one_out")
    assert [found.losses_A[0][0], found.losses_A[1][0]] == [0 - 4, 0]
    assert [found.gains_A[0][0], found.gains_A[1][0]] == [0, 6 - 2]


def test_scales() -> None:
    # Group 0 has advantages +1, -1; group 1 has +3, -3.
    games = [
        history(1, sample(0, action, "p"), p=reward, group=group)
        for action, reward, group in ((0, 2, 0), (1, 0, 0), (0, 6, 1), (1, 0, 1))
    ]
    assert weighed(batch(*games)).sums_A[0].tolist() == [4, -4]
    assert weighed(batch(*games), scale="group").sums_A[0].tolist() == [2, -2]
    root = np.sqrt((1 + 1 + 9 + 9) / 4)
    found = weighed(batch(*games), scale="batch").sums_A[0].tolist()
    assert found == pytest.approx([4 / root, -4 / root])


def test_a_lone_reply_is_scaled_as_it_is_compared() -> None:
    """Two replies of 4 and 0 at one turn, and one of 5 that stands alone at the next: it is
    compared with all of the role, whose mean is 3, and so scaled by all of its advantages."""
    games = [
        history(1, sample(0, 0, "p"), p=4),
        history(1, sample(0, 1, "p"), p=0),
        history(1, sample(1, 0, "p", 1), p=5),
    ]
    found = weighed(batch(*games), written=True, scale="group").sums_A
    root = np.sqrt((2**2 + 2**2 + 2**2) / 3)
    assert [row.tolist() for row in found] == [[1, -1], pytest.approx([2 / root, 0])]
    games[2] = history(1, sample(1, 0, "p", 1), p=2.5)  # half above the mean of the role
    found = weighed(batch(*games), written=True, scale="group").sums_A
    assert 0 < found[1][0] < 1


def test_scaling_nothing_is_harmless() -> None:
    games = [history(2, sample(0, 0, "p"), p=1)]
    for scale in ("batch", "group"):
        assert weighed(batch(*games), scale=scale).sums_A[0].tolist() == [0, 0]


def test_who_does_not_learn_leaves_the_update() -> None:
    games = batch(
        history(3, sample(0, 0, "p"), sample(1, 0, "q"), p=4, q=1),
        history(1, sample(0, 1, "p"), sample(1, 1, "q"), p=0, q=0),
        history(2, sample(0, 1, "p"), sample(1, 1, "q"), p=None, q=None),
    )
    found = weighed(games, learns={"q"})
    assert found.counts_A[0].tolist() == [0, 0]
    assert found.sums_A[0].tolist() == [0, 0]
    assert found.sums_A[1].tolist() == weighed(games).sums_A[1].tolist() == [0.75, -0.75]
    assert (found.samples, found.void) == (4, 2)


def test_what_a_sample_is_compared_with() -> None:
    """Two games of a team: the planner acts twice, the worker once. Rewards are the planner's 6 and
    0, the worker's 3 and 9."""
    games = batch(
        history(1, sample(0, 0, "plan"), sample(1, 0, "plan", 1), sample(2, 0, "work"),
                plan=6, work=3),
        history(1, sample(0, 1, "plan"), sample(2, 1, "work"), plan=0, work=9),
        queries=3,
    )  # fmt: skip
    # Its own turn: 6 and 0 less 3; nothing to compare the second turn with; 3 and 9 less 6.
    found = weighed(games, compare="turn").sums_A
    assert [row.tolist() for row in found] == [[3, -3], [0, 0], [-3, 3]]
    # All its role's turns: 6, 6 and 0 less 4.
    found = weighed(games, compare="role").sums_A
    assert [row.tolist() for row in found] == [[2, -4], [2, 0], [-3, 3]]
    # The team: 6, 6, 3, 0 and 9 less 4.8.
    found = weighed(games, compare="team").sums_A
    assert np.concatenate(found).tolist() == pytest.approx([1.2, -4.8, 1.2, 0, -1.8, 4.2])
    # Without the game itself: its other game's planner earned 0, or 6 and 6.
    found = weighed(games, compare="role", baseline="leave_one_out").sums_A
    assert [row.tolist() for row in found] == [[6, -6], [6, 0], [-6, 6]]


TEAM = """
game: team
roles: [lead, mate]
turns:
  - {role: lead, choose: plan, from: [bold, safe]}
  - {role: mate, choose: help, from: [yes, no]}
payoffs:
  lead: 8 if (plan == bold and help == yes) else 2
  mate: 0 if help == yes else 4
scores:
  process: 1 if (me == lead and plan == safe) or (me == mate and help == yes) else 0
"""


@pytest.mark.parametrize(
    ("rewards", "earned"),
    [
        # Of (bold, yes), (bold, no), (safe, yes), (safe, no): each its own payoff,
        ("individual", {"lead": (8, 2, 2, 2), "mate": (0, 4, 0, 4)}),
        # the team's mean,
        ("shared", {"lead": (4, 3, 1, 3), "mate": (4, 3, 1, 3)}),
        # and a half of it with a half of the role's own process score.
        ("{use: hybrid, alpha: 0.5}",
         {"lead": (2, 1.5, 1, 2), "mate": (2.5, 1.5, 1, 1.5)}),
    ],
)  # fmt: skip
def test_gradients_of_teams_by_hand(compiled, rewards: str, earned: dict) -> None:
    """Shared, role-specific and hybrid rewards: one game of each kind is played, and each sample is
    compared with its turn's mean; the mate's with that of both its information sets."""
    game = compiled(f"{TEAM}rewards: {rewards}\n")
    histories = []
    for number, (plan, help) in enumerate(product(("bold", "safe"), ("yes", "no"))):
        episode = game.env().reset()
        episode.step({"lead": Action(plan)})
        episode.step({"mate": Action(help)})
        bold, yes = int(plan == "safe"), int(help == "no")
        taken = sample(0, bold, "lead", step="plan"), sample(1 + bold, yes, "mate", step="help")
        histories.append(Trajectory(0, 1, taken, episode))
        amounts = [float(episode.rewards[seat]) for seat in ("lead", "mate")]
        assert amounts == [earned["lead"][number], earned["mate"][number]]
    found = weighed(batch(*histories, queries=3)).sums_A
    lead, mate = (np.array(earned[role]) - np.mean(earned[role]) for role in ("lead", "mate"))
    assert found[0].tolist() == pytest.approx([lead[0] + lead[1], lead[2] + lead[3]])
    assert np.concatenate(found[1:]).tolist() == pytest.approx(mate.tolist())
