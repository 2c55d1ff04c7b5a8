"""Games of many decisions: all of them measured where that is asked for, and networks fitted to
targets at all of them by small batches."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

import gamedsl
from gamedsl.training.information_sets import MANY_DECISIONS, decisions_of
from gamedsl.training.loop import train
from gamedsl.training.methods import method_of
from gamedsl.training.methods.base import Learner
from gamedsl.training.methods.fitting import TOGETHER, Adam, Goal
from gamedsl.training.methods.project import ProjectSettings
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.reference import Reference
from gamedsl.training.scoring import Scorer
from tests.train.conftest import DILEMMA, StopAfter, experience, policy_of, recipe_of, run_of, same
from tests.train.test_methods import _weights

PARITY = """
game: parity
roles: [guesser]
types: {Number: 1..30}
turns:
  - {draw: number, from: Number, seen_by: guesser}
  - {role: guesser, choose: answer, from: [even, odd]}
payoffs: 1 if (answer == even) == (number % 2 == 0) else 0
prompts: {rules: ""}
"""


@pytest.fixture(scope="module")
def leduc():
    return gamedsl.load("leduc_poker")


def test_every_decision_is_measured_on_request(leduc) -> None:
    """936 decisions; uniform play of Leduc poker has a NashConv of 1709/360."""
    recipe = recipe_of(leduc, games=64, exploitability="on")
    policy = policy_of(leduc, recipe)
    metrics = PolicyMetrics(leduc.env(tokenizer=policy.tokenizer), recipe)
    assert len(metrics.queries) == 936 > MANY_DECISIONS
    scorer = Scorer(policy)
    scorer.score(metrics.queries)
    found = metrics.exploitability(metrics.policy(scorer, None))
    assert found == pytest.approx(1709 / 720)
    left_open = recipe_of(leduc, exploitability="auto")
    assert not PolicyMetrics(leduc.env(tokenizer=policy.tokenizer), left_open).known


def test_language_of_32_words_is_measured_exactly() -> None:
    """64 decisions, and 32 cubed courses of play: target, word and guess."""
    found = decisions_of(gamedsl.load("lewis_signaling", params={"shown": 32}).env(), 0)
    assert found is not None
    assert [sum(d.role == role for d in found) for role in ("sender", "receiver")] == [32, 32]


def _learner(game, **settings) -> tuple[Learner, PolicyMetrics]:
    given = {"method": "project", "magnet__weight": [0, 0], "project__eta": [1, 1], **settings}
    recipe = recipe_of(game, **given)
    policy = policy_of(game, recipe)
    metrics = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=recipe.lr, betas=recipe.betas)
    scorer = Scorer(policy)
    scorer.score(metrics.queries)
    reference = Reference(policy, {})
    return Learner(policy, optimizer, scorer, reference, recipe, metrics.queries), metrics


def _fitted(game, **settings) -> tuple[float, float]:
    """What was wanted of a fit to alternate targets by three tries, and what was left."""
    given = {"model": "words", "lr": 0.004, "betas": [0.9, 0.99], "inner_steps": 3, **settings}
    learner, metrics = _learner(game, **given)
    aims = [torch.tensor([0.9, 0.1] if n % 2 else [0.1, 0.9]) for n in range(len(metrics.queries))]
    project = learner.recipe.of(ProjectSettings)
    targets = [aim.double().log() for aim in aims]
    goal = Goal(learner, metrics.queries, targets, share=project.fit)
    record = Adam(learner, adapts=True, batch=project.batch).fit(goal, 1)
    assert record["fitted"] == 3
    return record["wanted"], record["loss"]


def test_small_batches_fit_what_one_step_does_not(compiled) -> None:
    game = compiled(PARITY)
    wanted, left = _fitted(game, project__batch=2)
    assert left < 0.4 * wanted
    assert _fitted(game)[1] > 0.6 * wanted


def test_fit_batches_group_prompts_by_prefix(compiled) -> None:
    learner, metrics = _learner(compiled(PARITY), model="words", project__batch=8)
    goal, adam = Goal(learner, metrics.queries, []), Adam(learner, adapts=True, batch=8)
    passes = [list(adam._parts(goal, step, tries)) for step, tries in ((1, 0), (1, 0), (1, 1))]
    assert passes[0] == passes[1] != passes[2]
    prompts = [learner.policy.encode(query).prompt for query in metrics.queries]
    rank = {place: n for n, place in enumerate(sorted(range(30), key=prompts.__getitem__))}
    for parts in passes:
        flat = [place for part in parts for place in part]
        assert sorted(flat) == list(range(30))
        assert max(map(len, parts)) == 8
        apart = [rank[b] - rank[a] != 1 for a, b in pairwise(flat)]
        assert 30 / TOGETHER - 2 <= sum(apart) <= 30 / TOGETHER + 1


@pytest.mark.parametrize(("base", "grows"), [("policy", False), ("target", True)])
def test_targets_start_from_policy_or_last_target(compiled, base, grows) -> None:
    """The policy stays where it is, since nothing is fitted."""
    game = compiled(DILEMMA)
    learner, metrics = _learner(game, lr=1e-30, project__base=base, project__fitter="adam",
                              project__change=1.5)  # fmt: skip
    method = method_of(learner)
    asked = []
    for step in range(1, 5):
        sums = _weights([[0.5, 0], [0.5, 0]], [[1, 1], [1, 1]])
        method.update(experience(metrics.queries, sums, step))
        if grows:
            row = method._targets[next(iter(method._targets))]
            asked.append(float(row[0] - row[1]))
    assert asked == ([pytest.approx(x) for x in (0.5, 1.0, 1.5, 1.5)] if grows else [])
    kept = method.state()
    again = method_of(learner)
    again.restore(kept)
    assert again._targets == kept["targets"]
    assert bool(kept["targets"]) == grows


def test_batched_fit_resumes_to_the_same_numbers(compiled, tmp_path) -> None:
    game = compiled(PARITY)
    recipe = recipe_of(
        game, model="words", method="project", steps=5, games=256, checkpoint_every=100, lr=0.002,
        betas=[0.9, 0.99], inner_steps=2, project__batch=8, project__base="target", magnet__every=2,
    )  # fmt: skip
    run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(3)
    run, outcome = run_of(
        game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt
    )
    assert (outcome.step, outcome.finished) == (3, False)
    assert train(game, recipe, run, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")
    last = [record for record in run.records() if record["event"] == "step"][-1]
    assert last["reward"]["guesser"] > 0.6
