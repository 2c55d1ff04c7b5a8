"""The critic: its values against the exact ones of a game, its advantages by hand, its passes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from gamedsl.diagnostics import Problems
from gamedsl.players.model_replies import query_of
from gamedsl.policies.base import HiddenStates, Policy, Query
from gamedsl.policies.chunk_scoring import ChunkedPolicy
from gamedsl.policies.generation import Generated
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.resolve import override, resolve
from gamedsl.runtime import Game
from gamedsl.solve import tabulate
from gamedsl.solve.action_values import action_worth
from gamedsl.training.advantages import Advantages
from gamedsl.training.bundles import Bundles
from gamedsl.training.critic import Critic, Earned, generalised
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from gamedsl.training.trajectories import Batch, DecisionPoint, Sample, Trajectory
from tests.train.conftest import HIDDEN, policy_of, recipe_of
from tests.train.in_words import recipe_of as words_recipe
from tests.train.in_words import steps_of
from tests.train.test_baselines import ASK, PAID

LUCK = """
game: luck
roles: [speaker]
turns:
  - {draw: luck, from: [good, bad], seen_by: nobody}
  - {role: speaker, SAYS}
payoffs: 10 if luck == good else 0
respond: {form: tag, think: 6, at_limit: close}
on_invalid: {then: forfeit, pay: -1}
"""
Values = dict[tuple[str, str], float]
"""By information set and whole state."""


def learned(game: Game, steps: int, **settings: Any) -> tuple[Values, dict[str, Any]]:
    """The values that a critic has after some steps of an untrained policy's games, with what was
    paid before, and the fields of the step after them."""
    given = {"games": 20_000, "group_by": "deal", "prior": "model", **settings}
    recipe = recipe_of(game, baseline="critic", **given)
    policy = policy_of(game, recipe)
    critic = Critic(recipe, policy)
    weights, engine = (
        Advantages(recipe, critic=critic),
        Bundles(Scorer(policy, temperature=recipe.temperature)),
    )
    roles = [role.name for role in game.ir.roles]
    for step in range(1, steps + 1):
        batch = play(game.env(tokenizer=policy.tokenizer), engine, recipe, step)
        weights.weigh(batch, roles)
    found: Values = {}
    last: dict[tuple[int, str], tuple[float, float, float]] = {}
    share = recipe.critic.gae_lambda
    for one in reversed(weights.weigh(batch, roles).advantages):
        # V = r + V' + lambda A' - A, from the last decision of a seat to the first
        sample, point = one.sample, one.sample.point
        assert point is not None
        assert sample.query is not None
        reward = batch.trajectories[one.trajectory].episode.rewards[sample.seat]
        to_go = float(Fraction(reward or 0) - sample.paid)
        after = last.get((one.trajectory, sample.seat))
        value = to_go - one.amount
        if after is not None:
            value = to_go - after[2] + after[0] + share * after[1] - one.amount
        last[one.trajectory, sample.seat] = value, one.amount, to_go
        found[batch.places[sample.query].information_set, point.episode.table] = value + sample.paid
    return found, critic.record


def exact(game: Game) -> dict[str, float]:
    """The value of each information set where all play uniformly."""
    tree = tabulate(game.env())
    uniform = {one.key: dict.fromkeys(one.actions, 1 / len(one.actions)) for one in tree.info_sets}
    worth = action_worth(tree, uniform)
    return {key: float(sum(q) / len(q)) for key, (_, q) in worth.items()}


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (HIDDEN, {}),
        (PAID, {"critic__gae_lambda": 1}),
        (PAID, {"critic__gae_lambda": 0, "critic__rate": 1}),
        (PAID, {"model": "words", "critic__gae_lambda": 0, "critic__rate": 1}),
    ],
)
def test_values_are_exact_in_the_end(compiled, text: str, settings: dict) -> None:
    game = compiled(text)
    wanted = exact(game)
    found, _ = learned(game, 8, **settings)
    assert {key for key, _ in found} == set(wanted)
    for (key, _), value in found.items():
        assert value == pytest.approx(wanted[key], abs=0.05)


@pytest.mark.parametrize("model", ["tabular", "words", "tiny"])
def test_a_centralised_critic_sees_what_is_hidden(compiled, model: str) -> None:
    """Whoever bets uniformly earns 2 in a good state and -0.5 in a bad one, which it cannot see."""
    game = compiled(ASK)
    values: dict[str, Values] = {}
    explained: dict[str, float] = {}
    for view in ("own", "centralised"):
        # `tiny` is near uniform play, and not there: with a temperature it is.
        found, record = learned(game, 2, model=model, critic__view=view, temperature=1000)
        values[view] = {at: value for at, value in found.items() if at[0].startswith("asker")}
        explained[view] = record["explained_variance"]
    for (_, state), value in values["centralised"].items():
        assert value == pytest.approx(2 if "good" in state else -0.5, abs=0.1)
    assert list(values["own"].values()) == pytest.approx([0.125] * 4, abs=0.1)
    assert explained["centralised"] > explained["own"] + 0.05


def test_after_thoughts_it_explains_hidden_luck(compiled, tmp_path: Path) -> None:
    """All prompts are the same, so that the own view can tell no game from another."""
    game = compiled(LUCK.replace("SAYS", "choose: word, from: [yes, no]"))
    explained = {}
    for view in ("own", "centralised"):
        given = {"baseline": "critic", "critic__view": view, "games": 24, "group_size": 1}
        steps = steps_of(game, words_recipe(game, steps=4, **given), tmp_path / view)
        assert all(step["valid"] == {"speaker": 1} for step in steps)
        explained[view] = [step["explained_variance"] for step in steps[1:]]
    assert explained["own"] == pytest.approx([0] * 3, abs=1e-6)
    assert min(explained["centralised"]) > 0.6


def test_of_texts_it_explains_hidden_luck(compiled) -> None:
    """The same where replies are texts, and where each prompt is another."""
    game = compiled(LUCK.replace("SAYS", "say: word, max_tokens: 8").replace("respond", "# "))
    explained = {}
    for view in ("own", "centralised"):
        recipe = words_recipe(game, baseline="critic", critic__view=view)
        policy = policy_of(game, recipe)
        critic = Critic(recipe, policy)
        weights = Advantages(recipe, written=True, critic=critic)
        for step in range(1, 5):
            weights.weigh(_said(game, policy, seeds=range(24 * step, 24 * step + 24)), {"speaker"})
        explained[view] = critic.record["explained_variance"]
    assert explained["own"] < 0.2
    assert explained["centralised"] > 0.7


def _said(game: Game, policy: Policy, seeds: range) -> Batch:
    """Games in which `fine` was said, after prompts that differ in a word that means nothing."""
    batch, env = Batch(), game.env(tokenizer=policy.tokenizer)
    for number, seed in enumerate(seeds):
        episode = env.reset(seed=seed)
        asked = Query(query_of(episode.decisions[0], "shared").messages, ("fine",), "shared")
        prompt = (*policy.encode(asked).prompt, *policy.tokenizer.ids(f"\n{seed % 7}"))
        point = DecisionPoint(episode.fork(), {"speaker": "fine"})
        episode.step({"speaker": "fine"})
        sample = Sample(
            None, None, "speaker", "speaker", "word", 0, adapter="shared", point=point,
            written=Generated(tuple(prompt), (1,), (-1.0,), "fine", "stop"),
        )  # fmt: skip
        batch.trajectories.append(Trajectory(number, 1, (sample,), episode))
    return batch


def test_generalised_advantages_by_hand() -> None:
    """A seat earns 3, 4 and 3 after its turns, of which one was refused at first; the other seat
    loses 2 of its 5 for length."""

    def sample(seat: str, invalid: ParseFailure | None = None) -> Sample:
        return Sample(0, 0, seat, seat, "s", 0, invalid=invalid)

    none = Fraction(0)
    refused = ParseFailure("other", "?")
    earned = [
        Earned(0, sample("a"), 1, Fraction(10), none),
        Earned(0, sample("b"), 1, Fraction(5), Fraction(2)),
        Earned(0, sample("a", refused), 1, Fraction(-1), none),
        Earned(0, sample("a"), 1, Fraction(7), none),
        Earned(0, sample("a"), 1, Fraction(3), none),
        Earned(1, sample("a"), 1, Fraction(8), none),
    ]
    values = [1.0, 0.5, 2.0, 2.0, 4.0, 1.0]
    found = generalised(earned, values, 0.5)
    assert found == [6.75, 2.5, -3.0, 5.5, -1.0, 7.0]
    assert generalised(earned, values, 1)[0] == 10 - 1
    assert generalised(earned, values, 0)[0] == 3 + 2 - 1


def test_states_are_those_of_the_scoring_pass(compiled, monkeypatch) -> None:
    """And are computed anew once the weights have changed."""
    game = compiled(HIDDEN)
    recipe = recipe_of(game, model="tiny")
    policy = policy_of(game, recipe)
    assert isinstance(policy, ChunkedPolicy)
    assert isinstance(policy, HiddenStates)
    decision = game.env(tokenizer=policy.tokenizer).reset(seed=1).decisions[0]
    query = query_of(decision, "shared")
    prompt = ("shared", policy.encode(query).prompt)
    alone = policy.states([prompt, prompt])
    policy.keeps_states = True
    policy.log_probs([query])
    with monkeypatch.context() as patched:
        passes = []
        patched.setattr(policy, "_scored", lambda items: iter(passes.append(items) or ()))
        kept = policy.states([prompt, prompt])
    assert passes == [[]]
    assert torch.allclose(kept, alone, atol=1e-5)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.1
    assert not torch.allclose(policy.states([prompt]), alone[:1], atol=1e-3)


@pytest.mark.parametrize(
    ("roles", "settings", "why"),
    [
        ("{one: 2}", {"baseline": "critic", "credit": "difference"}, "of its own"),
        ("{one: 2}", {"baseline": "critic", "dynamic_sampling": 1}, "group"),
    ],
)
def test_what_does_not_fit_is_refused(compiled, roles: str, settings: dict, why: str) -> None:
    rest = "turns: [{role: all, choose: move, from: [x, y]}]\npayoffs: 1 if move.me == x else 0\n"
    game, problems = compiled(f"game: g\nroles: {roles}\n{rest}"), Problems()
    resolve(game.ir, [override(*item) for item in settings.items()], problems)
    assert any(why in problem.message for problem in problems.found), problems.found
