"""Each method by hand, by what it learns where plain gradients fail, and by what it may not see."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

import gamedsl
from gamedsl.training import checkpoint
from gamedsl.training.advantages import Advantages
from gamedsl.training.bundles import Bundles
from gamedsl.training.dry_run import dry_run
from gamedsl.training.estimators import ActionSums, estimator_of
from gamedsl.training.methods import method_of
from gamedsl.training.methods.base import Learner
from gamedsl.training.methods.magnet_policy import MagnetPolicy
from gamedsl.training.methods.project import action_values, target
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.optimizer import between
from gamedsl.training.reference import Reference
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import assign_seats
from tests.train.conftest import (
    CROWD,
    DILEMMA,
    HIDDEN,
    OFFER,
    experience,
    policy_of,
    recipe_of,
    run_of,
    weighed,
)  # fmt: skip

HOSTILE = {"first": {"open": {"bet": 0.02}}, "second": {"reply": {"bet": 0.02}}}


@pytest.fixture(scope="module")
def kuhn():
    return gamedsl.load("kuhn_poker")


def _learner(game, recipe, known: bool = True) -> tuple[Learner, PolicyMetrics]:
    policy = policy_of(game, recipe)
    measured = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=recipe.lr, betas=recipe.betas)
    scorer = Scorer(policy)
    scorer.score(measured.queries)
    queries = measured.queries if known else ()
    return Learner(policy, optimizer, scorer, Reference(policy, {}), recipe, queries), measured


def _weights(sums: list[list[float]], counts: list[list[float]]) -> ActionSums:
    rows = [np.array(row, dtype=float) for row in sums]
    taken = [np.array(row, dtype=float) for row in counts]
    gains, losses = [np.maximum(row, 0) for row in rows], [np.minimum(row, 0) for row in rows]
    return ActionSums(gains, losses, taken, int(sum(row.sum() for row in taken)))


def test_the_target_of_mirror_descent_by_hand() -> None:
    pi, rho, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.4, 0.0, -0.4]
    eta, alpha = 0.5, 0.3
    raw = [
        (p * r ** (eta * alpha) * math.exp(eta * v)) ** (1 / (1 + eta * alpha))
        for p, r, v in zip(pi, rho, q, strict=True)
    ]
    given = [torch.tensor(row) for row in (pi, rho, q)]
    found = target(given[0].log(), given[1].log(), given[2], eta, alpha, change=10.0)
    assert found.exp().tolist() == pytest.approx([x / sum(raw) for x in raw], rel=1e-6)


def test_target_limits_log_odds_change() -> None:
    even = torch.tensor([0.5, 0.5]).log()
    found = target(even, even, torch.tensor([3.0, -3.0]), eta=1.0, alpha=0.0, change=0.5)
    assert float(found[0] - found[1]) == pytest.approx(0.5)


def test_values_are_means_over_samples() -> None:
    found = action_values(_weights([[6, -2, 0]], [[3, 4, 0]]))
    assert found[0].tolist() == [2, -0.5, 4 / 7]


def _fitted(game, model: str, fitter: str) -> tuple[float, float]:
    """How far one step with values that ask for unequal moves left the policy from its targets, and
    how far they were, in probability."""
    settings = {"project__eta": [1, 1], "magnet__weight": [0.2, 0.2], "project__fit": 0.001}
    recipe = recipe_of(game, model=model, method="project", project__fitter=fitter, **settings)
    learner, measured = _learner(game, recipe)
    before = [learner.scorer.log_pi(query).double() for query in measured.queries]
    asked = [torch.tensor([0.3, -0.3]), torch.tensor([-0.2, 0.4])]
    weights = _weights([[3, -3], [-2, 4]], [[10, 10], [10, 10]])
    method_of(learner).update(experience(measured.queries, weights))
    after = learner.policy.log_probs(measured.queries)
    for query, now in zip(measured.queries, after, strict=True):
        assert learner.scorer.log_pi(query).tolist() == pytest.approx(now.tolist(), abs=1e-5)
    goals = [
        ((log_pi + 0.2 * math.log(0.5) + q) / 1.2).softmax(0)
        for log_pi, q in zip(before, asked, strict=True)
    ]
    off = [abs(now.exp()[0] - goal[0]) for now, goal in zip(after, goals, strict=True)]
    far = [abs(was.exp()[0] - goal[0]) for was, goal in zip(before, goals, strict=True)]
    return float(max(off)), float(max(far))


def test_the_policy_is_brought_to_its_targets(compiled) -> None:
    """In a table by either way; in a network only by the one that minds interference."""
    game = compiled(DILEMMA)
    for model, fitter in (("tabular", "newton"), ("tabular", "adam"), ("tiny", "newton")):
        off, far = _fitted(game, model, fitter)
        assert off < 0.02 < far
    off, far = _fitted(game, "tiny", "adam")
    assert off > 0.05


def test_rate_is_halved_after_worse_tries(compiled) -> None:
    """Of two tries the first is too long and the second goes back: 1/2, then 11/10."""
    game = compiled(DILEMMA)
    given = {"method": "project", "project__fitter": "adam", "lr": 2.0, "inner_steps": 2}
    for rate, factors in (("adapted", 0.55), ("held", 1.0)):
        learner, measured = _learner(game, recipe_of(game, project__rate=rate, **given))
        weights = _weights([[3, -3], [-2, 4]], [[10, 10], [10, 10]])
        record = method_of(learner).update(experience(measured.queries, weights))
        assert record["fitted"] == 2
        assert record["lr"] == pytest.approx(2.0 * factors)


@pytest.mark.parametrize(
    ("last", "fitter", "named"),
    [(9, "auto", "newton"), (9, "adam", "adam"), (40, "auto", "adam"), (40, "newton", "newton")],
)
def test_a_dry_run_says_what_fits(compiled, tmp_path, last: int, fitter: str, named: str) -> None:
    """What then does fit, and that Newton's method reads no learning rate."""
    game = compiled(CROWD.replace("0..9", f"0..{last}").replace("guest: 4", "guest: 2"))
    recipe = recipe_of(game, method="project", project__fitter=fitter, steps=1, games=64)
    told = dry_run(game, recipe, assign_seats(game, recipe), lambda line: None)
    (line,) = [line for line in told.splitlines() if line.startswith("fit ")]
    assert f"by `{named}`" in line
    assert ("reads no `lr`" in line) == (named == "newton")
    step = run_of(game, recipe, tmp_path / "run")[0].records()[1]
    assert ("tangents" in step, "lr" in step) == (named == "newton", named == "adam")


def test_unvisited_decisions_move_to_the_magnet(compiled) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, method="project", magnet__weight=[1, 1], project__eta=[1, 1])
    learner, measured = _learner(game, recipe)
    row = learner.policy.encode(measured.queries[1]).prompt[0]
    learner.policy.parameters()[0].data[row, 0] = 0.001 * math.log(9)  # 90% and 10%
    learner.scorer.forget()
    learner.scorer.score(measured.queries)
    method_of(learner).update(experience(measured.queries[:1], _weights([[0, 0]], [[1, 1]])))
    now = learner.policy.log_probs(measured.queries)[1]
    assert float(now[0] - now[1]) == pytest.approx(math.log(9) / 2, abs=0.2)


def test_the_pull_of_the_magnet_by_hand(compiled) -> None:
    """With no advantages the gradient is that of the weight times KL(pi || uniform)."""
    game = compiled(DILEMMA)
    recipe = recipe_of(game, method="magnet", magnet__weight=[0.4, 0.2], steps=5, lr=1e-30,
                       max_grad_norm=1e9)  # fmt: skip
    learner, measured = _learner(game, recipe)
    table = learner.policy.parameters()[0]
    row = learner.policy.encode(measured.queries[0]).prompt[0]
    table.data[row, 0] = 0.001 * math.log(3)  # 75% and 25%
    for step, weight in ((1, 0.4), (3, 0.3), (5, 0.2)):
        learner.scorer.forget()
        learner.scorer.score(measured.queries)
        nothing = _weights([[0, 0], [0, 0]], [[8, 0], [0, 0]])
        record = method_of(learner).update(experience(measured.queries, nothing, step))
        assert record["magnet_weight"] == pytest.approx(weight)
        # d KL / d z_a = p_a (log p_a / (1/2) - KL), and a logit is 1000 parameters.
        divergence = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
        wanted = weight * 0.75 * (math.log(1.5) - divergence) * 1000
        assert float(table.grad[row, 0]) == pytest.approx(wanted, rel=1e-4)


def test_a_magnet_moves_when_it_should(compiled) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, model="tiny", method="magnet", magnet__every=3, magnet__uniform=0.1)
    learner, measured = _learner(game, recipe)
    magnet = MagnetPolicy(learner.policy, measured.queries, every=3, uniform=0.1, temperature=1.0)
    assert [row.exp().tolist() for row in magnet.log_rho(measured.queries)] == [[0.5, 0.5]] * 2
    assert [step for step in range(1, 8) if magnet.due(step)] == [3, 6]
    then = [row.exp() for row in learner.policy.log_probs(measured.queries)]
    magnet.move()
    for parameter in learner.policy.parameters():
        parameter.data += 0.05
    assert not torch.allclose(learner.policy.log_probs(measured.queries)[0].exp(), then[0])
    for row, was in zip(magnet.log_rho(measured.queries), then, strict=True):
        assert row.exp().tolist() == pytest.approx((0.9 * was + 0.05).tolist(), abs=1e-6)


@pytest.mark.parametrize("method", ["grpo", "magnet", "project", "expert"])
def test_low_temperatures_play_the_likeliest(compiled, tmp_path: Path, method: str) -> None:
    """Powers of probabilities underflow at 0.001; their ratios need not."""
    game = compiled(OFFER)
    recipe = recipe_of(game, method=method, temperature=0.001, steps=2)
    policy = policy_of(game, recipe)
    queries = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe).queries
    query = max(queries, key=lambda one: len(one.labels))
    scorer = Scorer(policy, temperature=0.001)
    scorer.score([query])
    assert scorer.probabilities(query).tolist() == pytest.approx([1 / 3] * 3)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter[..., 0] += 0.1
    scorer.forget()
    scorer.score([query])
    assert sorted(scorer.probabilities(query)) == pytest.approx([0, 0, 1], abs=1e-9)
    run, outcome = run_of(game, recipe, tmp_path / "run")
    assert outcome.finished
    assert run.records()[-1]["event"] == "end"


def test_the_line_between_two_numbers() -> None:
    assert [between((1.0, 0.0), step, 5) for step in (1, 3, 5)] == [1, 0.5, 0]
    assert between((1.0, 0.0), 1, 1) == 1


def _last(game, folder: Path, **settings) -> tuple[list[dict], dict[str, dict[str, float]]]:
    recipe = recipe_of(game, games=20_000, checkpoint_every=1000, **settings)
    run, _ = run_of(game, recipe, folder)
    steps = [record for record in run.records() if record["event"] == "step"]
    policy = {key: row["probs"] for key, row in steps[-1]["policy"].items()}
    return steps, policy


@pytest.mark.parametrize(
    ("method", "settings"),
    [("project", {"steps": 40}), ("magnet", {"steps": 120, "lr": 4e-4})],
)
def test_a_mixed_equilibrium_is_reached_and_held(kuhn, tmp_path, method: str, settings) -> None:
    """From 2% of bluffs, with sampled values and nothing extinct at the end."""
    steps, policy = _last(kuhn, tmp_path / "run", method=method, start=HOSTILE, **settings)
    assert steps[-1]["exploitability"] < 0.06
    assert policy["second:reply [second.card=J, first.open=check]"]["bet"] > 0.15
    assert 0.15 < policy["second:answer [second.card=Q, first.open=bet]"]["call"] < 0.6


@pytest.mark.parametrize("settings", [{}, {"scale": "group", "allow": ["group_std"]}])
def test_plain_gradients_do_not_get_there(kuhn, tmp_path, settings) -> None:
    plain = {"method": "grpo", "group_by": "deal", "betas": [0, 0.999], "lr_schedule": "linear"}
    given = {**plain, "start": HOSTILE, "steps": 120, "lr": 4e-4, **settings}
    steps, _ = _last(kuhn, tmp_path / "run", **given)
    assert min(record["exploitability"] for record in steps) > 0.06


def test_without_its_magnet_it_does_not_get_there(kuhn, tmp_path) -> None:
    steps, _ = _last(
        kuhn, tmp_path / "run", method="project", start=HOSTILE, steps=40, magnet__weight=[0, 0]
    )
    assert steps[-1]["exploitability"] > 0.06


@pytest.mark.parametrize("method", ["grpo", "magnet", "project"])
def test_sampled_run_learns_only_from_samples(
    compiled, tmp_path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With garbage for everything that is solved or tabulated, or with no solver at all, all that
    a run keeps is the same to the byte; with `estimator: tree` it is not."""
    game, tabulate = compiled(HIDDEN), PolicyMetrics._tabulate

    def garbage(self, env, recipe):
        tree = tabulate(self, env, recipe)
        wrong = tuple(
            tuple(Fraction(7 * n % 11, 3) - 2 * amount for amount in row)
            for n, row in enumerate(tree.rewards)
        )
        return replace(tree, rewards=wrong, payoffs=wrong)

    def refuse(*given, **named):
        raise AssertionError("a sampled run asked a solver")

    def kept(name: str, estimator: str) -> tuple[bytes, list[float | None]]:
        given = {"method": method, "estimator": estimator, "group_by": "deal", "games": 500}
        run, _ = run_of(game, recipe_of(game, steps=3, **given), tmp_path / name)
        content = io.BytesIO()
        latest = checkpoint.latest(run)
        assert latest is not None
        torch.save(vars(latest) | {"metrics": None}, content)
        return content.getvalue(), [record.get("exploitability") for record in run.records()]

    for estimator in ("sampled", "tree"):
        state, told = kept(estimator, estimator)
        with monkeypatch.context() as patch:
            patch.setattr(PolicyMetrics, "_tabulate", garbage)
            wrong, misled = kept(f"{estimator} misled", estimator)
        assert told != misled
        assert (state == wrong) == (estimator == "sampled")
    with monkeypatch.context() as patch:
        patch.setattr(PolicyMetrics, "_tabulate", lambda *_: None)
        for name in ("action_values.action_worth", "exploitability", "predict_basin", "tabulate"):
            patch.setattr(f"gamedsl.solve.{name}", refuse)
        alone, nothing = kept("alone", "sampled")
    assert set(nothing) == {None}
    assert alone == kept("again", "sampled")[0]


def test_sampled_values_are_the_trees_on_average(kuhn) -> None:
    """Advantages over the mean of the deal, against exact values, up to what is the same for all
    actions of an information set."""
    recipe = recipe_of(kuhn, method="project", games=4_000_000)
    learner, measured = _learner(kuhn, recipe)
    table = learner.policy.parameters()[0]
    table.data[:, :2] = 0.001 * torch.randn(table[:, :2].shape, generator=torch.manual_seed(3))
    learner.scorer.forget()
    env = kuhn.env(tokenizer=learner.policy.tokenizer)
    batch = play(env, Bundles(learner.scorer, measured.queries), recipe, 1)
    assert len(batch.trajectories) == 30
    exact = estimator_of(
        env, replace(recipe, estimator="tree"), measured, Advantages(recipe), learner.scorer
    )
    expected = exact(batch, ("first", "second"), ())
    wanted = dict(zip(expected.queries, action_values(expected.sums), strict=True))
    reached = dict(zip(expected.queries, expected.sums.counts_A, strict=True))
    found = weighed(batch)
    for query, q, counts in zip(batch.queries, action_values(found), found.counts_A, strict=True):
        assert q[1] - q[0] == pytest.approx(wanted[query][1] - wanted[query][0], abs=0.03)
        assert counts.tolist() == pytest.approx(reached[query].tolist(), rel=0.05)


def test_uniform_worth_by_hand(kuhn) -> None:
    """A queen that faces a bet and calls gets +2 against a jack and -2 against a king, both as
    likely; one that folds loses 1. A king that calls always gets 2."""
    from gamedsl.solve import tabulate, uniform
    from gamedsl.solve.action_values import action_worth

    tree = tabulate(kuhn.env())
    worth = action_worth(tree, uniform(tree))
    assert worth["second:answer [second.card=Q, first.open=bet]"] == (Fraction(1, 6), (-1, 0))
    assert worth["second:answer [second.card=K, first.open=bet]"] == (Fraction(1, 6), (-1, 2))
    # A jack that bets: folded to half the time for +1, else called and -2.
    assert worth["first:open [first.card=J]"][1][1] == Fraction(-1, 2)


def test_labels_drawn_anew_are_grouped_by_deal_too(compiled) -> None:
    text = HIDDEN + "labels: {masked: syllables, per: episode}\n"
    game = compiled(text)
    recipe = recipe_of(game, group_by="deal", games=64, group_size=16)
    policy = policy_of(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Bundles(Scorer(policy)), recipe, 1)
    assert sum(history.games for history in batch.trajectories) == 64
    assert {history.group for history in batch.trajectories} == {0, 1, 2, 3}
    assert len({(h.group, h.samples[0].deal) for h in batch.trajectories}) > 4
