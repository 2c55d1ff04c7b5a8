"""Settings of closed games in games in words: learning in turn, levels, credit, the pool."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import gamedsl
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Writing
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Action, Game
from gamedsl.training.advantages import Advantage
from gamedsl.training.credit import Redraws
from gamedsl.training.curriculum import climb
from gamedsl.training.errors import TrainError
from gamedsl.training.estimators import ActionSums, Experience
from gamedsl.training.guests import Guest
from gamedsl.training.loop import train
from gamedsl.training.methods import method_of
from gamedsl.training.methods.base import Learner
from gamedsl.training.methods.project import values_after_thoughts
from gamedsl.training.reference import Reference, reference_of
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import create
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from tests.train import in_words
from tests.train.conftest import StopAfter, same

TWO = """
game: two
roles: [first, second]
turns:
  - {role: first, choose: one, from: [heads, tails]}
  - {role: second, choose: two, from: [heads, tails]}
payoffs:
  first: 1 if one == heads else 0
  second: 1 if two == heads else 0
respond: {form: tag, think: 4, at_limit: close}
"""
GIVE = """
game: give
roles: [ann, bob]
turns:
  - {role: ann, choose: a, from: [give, keep]}
  - {role: bob, choose: b, from: [give, keep]}
payoffs:
  ann: (2 if a == give else 0) + (2 if b == give else 0) - (3 if a == give else 0)
  bob: (2 if a == give else 0) + (2 if b == give else 0) - (3 if b == give else 0)
respond: {form: tag, think: 4, at_limit: close}
"""
LEVELS = """
game: levels
params: {prize: 1}
roles: [guesser]
turns:
  - {role: guesser, choose: guess, from: [heads, tails]}
payoffs: prize if guess == heads else 0
respond: {form: tag, think: 4, at_limit: close}
"""


def test_roles_learn_in_turns(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """The adapter of the role whose turn it is not stays as it is, to the last bit."""
    game = compiled(TWO)
    given = {"adapters": "per_role", "learn__who": "rotate", "learn__every": 1}
    recipe = in_words.recipe_of(game, steps=1, lr=0.01, games=32, temperature=4, **given)
    start = in_words.opened(game, recipe)
    run, policy = in_words.run_of(game, recipe, tmp_path / "run")
    assert run.records()[1]["learning"] == ["first"]
    moved = {
        name: any(
            not torch.equal(before, after)
            for before, after in zip(start.parameters(name), policy.parameters(name), strict=True)
        )
        for name in ("first", "second")
    }
    assert moved == {"first": True, "second": False}


def test_the_weakest_role_learns(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(TWO)
    given = {"adapters": "per_role", "learn__who": "weakest", "learn__every": 1}
    recipe = in_words.recipe_of(game, steps=2, games=16, **given)
    for record in in_words.steps_of(game, recipe, tmp_path / "run"):
        added = record["contributions"]
        assert record["learning"] == [min(("first", "second"), key=added.__getitem__)]


def test_levels_go_up(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(LEVELS)
    given = {"curriculum__param": "prize", "curriculum__levels": [1, 2], "curriculum__over": 1,
             "curriculum__at": 0.01, "curriculum__held_out": [3]}  # fmt: skip
    recipe = in_words.recipe_of(game, steps=3, **given)
    policy = in_words.opened(game, recipe)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    assert climb(game, recipe, run, policy, load=gamedsl.load).finished
    records = run.records()
    assert [one["level"] for one in records if "level" in one] == [1, 1, 2, 2]
    assert 0 <= records[-1]["held_out"]["3"]["success"] <= 1


def test_difference_credits_what_a_reply_did(compiled: Callable[[str], Game]) -> None:
    """Giving costs the giver 3 and brings both 2: it adds one half to the mean, whatever the other
    does, so its advantage is one half times the share of the others drawn that kept."""
    game = compiled(GIVE)
    recipe = in_words.recipe_of(game, credit="difference", replays=4)
    policy = in_words.opened(game, recipe)
    seating = SeatAssignment(game.ir, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Sessions(policy), recipe, 1, seating)
    samples = list(batch.samples)
    found = Redraws(recipe, Sessions(policy), seating).advantages(batch, samples)
    assert len({abs(amount) for amount in found}) > 1
    for (number, sample), amount in zip(samples, found, strict=True):
        moves = batch.trajectories[number].moves
        took = next(reply for key, reply in moves.items() if key[0] == sample.seat)
        assert isinstance(took, Action)
        quarters = amount / 0.125
        assert quarters == pytest.approx(round(quarters))
        assert (0 <= quarters <= 4) if took.name == "give" else (-4 <= quarters <= 0)


def test_own_credit_has_the_value_of_the_state(compiled: Callable[[str], Game]) -> None:
    """By redrawing the mean advantage of a reply is its worth less the mean of the policy's: here
    of guesses that earn 1 or 0, as often as each is drawn."""
    game = compiled(LEVELS)
    recipe = in_words.recipe_of(game, credit="counterfactual", replays=64, games=8)
    policy = in_words.opened(game, recipe)
    seating = SeatAssignment(game.ir, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1, seating)
    samples = list(batch.samples)
    found = Redraws(recipe, Sessions(policy), seating).advantages(batch, samples)
    earned = [batch.trajectories[number].episode.rewards["guesser"] for number, _ in samples]
    values = [float(reward) - amount for reward, amount in zip(earned, found, strict=True)]
    assert max(values) - min(values) < 0.35
    odds = [float(log_pi[0].exp()) for log_pi in policy.log_probs(batch.queries)]
    assert 0.1 < sum(values) / len(values) < 0.99
    assert sum(values) / len(values) == pytest.approx(sum(odds) / len(odds), abs=0.1)


def test_team_credit_in_words_is_the_mean(compiled: Callable[[str], Game]) -> None:
    game = compiled(GIVE)
    recipe = in_words.recipe_of(game, credit="team", baseline="none")
    policy = in_words.opened(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1)
    for one in in_words.weighed(batch, recipe, {"ann", "bob"}).advantages:
        rewards = batch.trajectories[one.trajectory].episode.rewards.values()
        assert one.amount == pytest.approx(float(sum(rewards)) / 2)


DUEL = """
game: duel
roles: [ann, bob]
turns:
  - {role: ann, choose: a, from: [heads, tails]}
  - {role: bob, choose: b, from: [heads, tails]}
payoffs:
  ann: 1 if a == b else -1
  bob: 1 if a != b else -1
respond: {form: tag, think: 4, at_limit: close}
"""


def test_past_policies_write_beside_the_present_one(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """The first member of the pool is the start: after a step its replies are still those of the
    start, while the policy's are others; and what it says is never trained."""
    game = compiled(DUEL)
    given = {"opponents": {"pool": 1}, "pool__every": 1, "pool__size": 2}
    recipe = in_words.recipe_of(game, steps=3, games=16, group_size=4, temperature=3, **given)
    run, policy = in_words.run_of(game, recipe, tmp_path / "run")
    steps = [one for one in run.records() if one["event"] == "step"]
    assert [list(one["pool"]) for one in steps] == [["0", "1"], ["1", "2"], ["2", "3"]]
    assert [one["opponents"] for one in steps] == [{"pool": 16}] * 3
    # half of the seats are the pool's, and have no samples
    assert [one["sequences"] for one in steps] == [16] * 3
    assert policy.adapters == ("shared",)
    start = in_words.opened(game, recipe)
    pool = run.path / "pool"
    assert sorted(one.name for one in pool.iterdir())[-1] == "step-000003.pt"
    made: set[str] = set()
    guest = Guest(policy, {"shared": start.adapter_state("shared")}, 9, made)
    query = next(iter(play_queries(game, recipe, policy)))
    asked = [replace(query, adapter=guest.adapter("shared"))]
    assert policy.log_probs(asked)[0].tolist() == pytest.approx(
        start.log_probs([query])[0].tolist(), abs=1e-5
    )
    assert policy.log_probs([query])[0].tolist() != start.log_probs([query])[0].tolist()


def play_queries(game: Game, recipe: Recipe, policy: Writing) -> list[Query]:
    """The options that a policy is asked in a step."""
    plain = replace(recipe, opponents=())
    return play(game.env(tokenizer=policy.tokenizer), Sessions(policy), plain, 1).queries


def test_a_pool_goes_on_where_it_was(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(DUEL)
    given = {"opponents": {"self": 1, "pool": 1}, "pool__every": 1, "checkpoint_every": 1}
    recipe = in_words.recipe_of(game, steps=3, games=8, group_size=4, **given)
    in_words.run_of(game, recipe, tmp_path / "whole")
    policy = in_words.opened(game, recipe)
    run = create(game, recipe, tmp_path / "parts", {}, policy.tokenizer, 1)
    stop = StopAfter(2)
    train(game, recipe, run, policy, observers=[stop], interrupt=stop.interrupt)
    train(game, recipe, run, in_words.opened(game, recipe))
    same(tmp_path / "whole", tmp_path / "parts")


def test_magnet_pulls_the_choice_after_a_thought(compiled: Callable[[str], Game]) -> None:
    """With all advantages zero the gradient is that of the divergence from uniform play over the
    options, given each thought, and no token has any."""
    game = compiled(LEVELS)
    recipe = in_words.recipe_of(
        game, method="magnet", magnet__weight=[0.7, 0.7], temperature=2, lr=1e-30
    )
    assert recipe.group_by == "seed"
    policy = in_words.opened(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1)
    nothing = [Advantage(number, sample, 1, 0.0) for number, sample in batch.samples]
    learner = Learner(
        policy, torch.optim.SGD(policy.parameters(), lr=0.0), Scorer(policy, keeps_graphs=False),
        Reference(policy, {}), replace(recipe, max_grad_norm=1e9), written=True,
    )  # fmt: skip
    method_of(learner).update(Experience(1, batch, (), ActionSums([], [], [], 0), nothing))
    found = torch.cat([p.grad.flatten() for p in policy.parameters()])
    for parameter in policy.parameters():
        parameter.grad = None
    queries = [batch.queries[sample.scored[0]] for _, sample in batch.samples]
    total = torch.zeros(())
    for log_pi in policy.forward(queries):
        played = (log_pi / 2).log_softmax(0)
        total = total + 0.7 * (played.exp() * (played + math.log(2))).sum() / len(queries)
    total.backward()
    by_hand = torch.cat([p.grad.flatten() for p in policy.parameters()])
    assert by_hand.norm() > 1e-4
    torch.testing.assert_close(found, by_hand, atol=1e-6, rtol=1e-3)


def test_divergence_is_from_the_reference_run(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """The reference is the run's last policy, not the start, and the policy begins as it would."""
    game = compiled(LEVELS)
    trained, policy = in_words.run_of(
        game, in_words.recipe_of(game, steps=2, games=32, temperature=3, lr=0.01), tmp_path / "one"
    )
    recipe = in_words.recipe_of(game, kl=0.1, reference=str(trained.path))
    fresh = in_words.opened(game, recipe)
    before = fresh.adapter_state("shared")
    found = reference_of(fresh, recipe)["shared"]
    assert all(torch.equal(found[key], one) for key, one in policy.adapter_state("shared").items())
    assert any(not torch.equal(found[key], one) for key, one in before.items())
    after = fresh.adapter_state("shared")
    assert all(torch.equal(after[key], one) for key, one in before.items())
    wrong = in_words.recipe_of(game, kl=0.1, reference=str(tmp_path / "nothing"))
    with pytest.raises(TrainError, match="has no adapter `shared`"):
        reference_of(fresh, wrong)


def test_levels_that_the_model_cannot_read(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(LONG)
    given = {"curriculum__param": "times", "curriculum__levels": [1, 200]}
    recipe = in_words.recipe_of(game, **given)
    policy = in_words.opened(game, recipe)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    with pytest.raises(TrainError, match="at the level 200, a prompt and its reply"):
        climb(game, recipe, run, policy, load=gamedsl.load)


LONG = """
game: long
params: {times: 1}
roles: [speaker]
turns:
  - repeat: times
    turns:
      - {role: speaker, say: word, max_tokens: 40}
payoffs: {speaker: 1}
on_invalid: {then: forfeit, pay: 0}
"""


def test_actions_are_worth_the_same_after_each_thought(compiled: Callable[[str], Game]) -> None:
    """Heads are worth 1 and tails -1/2, wherever they were drawn; two roles are kept apart. What
    was never drawn is worth what the other is."""
    game = compiled(TWO)
    recipe = in_words.recipe_of(game, method="project", adapters="per_role", temperature=2)
    policy = in_words.opened(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1)
    worth = {"first": {"heads": 1.0, "tails": -0.5}, "second": {"heads": -3.0, "tails": 2.0}}
    given, drawn = [], defaultdict(set)
    for at, one in batch.samples:
        place, action = batch.places[one.scored[0]], one.scored[1]
        drawn[place.information_set].add(place.legal[action])
        given.append(Advantage(at, one, 1, worth[one.role][place.legal[action]]))
    assert max(map(len, drawn.values())) == 2
    found = values_after_thoughts(Experience(1, batch, (), ActionSums([], [], [], 0), given))
    asked = [batch.queries[one.scored[0]] for _, one in batch.samples]
    assert set(found) == set(asked)
    assert len({query.prefix for query in asked}) > 2
    for query, place in zip(batch.queries, batch.places, strict=True):
        known = [name for name in place.legal if name in drawn[place.information_set]]
        names = place.legal if len(known) == 2 else 2 * known
        assert found[query].tolist() == [worth[place.role][name] for name in names]


def test_choices_after_thoughts_are_projected(compiled: Callable[[str], Game]) -> None:
    """Each choice comes near its own target, and the thoughts' own tokens are trained."""
    game = compiled(LEVELS)
    recipe = in_words.recipe_of(
        game, method="project", magnet__weight=[0.2, 0.2], project__eta=[1, 1], inner_steps=40,
        project__change=9, project__fit=0.01, lr=0.01, temperature=6, games=16,
    )  # fmt: skip
    policy = in_words.opened(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1)
    queries = batch.queries
    q = {"heads": -1.0, "tails": 1.0}
    names = batch.places[0].legal
    given = [Advantage(at, one, 1, q[names[one.scored[1]]]) for at, one in batch.samples]
    assert {one.amount for one in given} == {-1.0, 1.0}
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01, betas=(0.0, 0.999))
    learner = Learner(
        policy, optimizer, Scorer(policy, keeps_graphs=False, temperature=6), Reference(policy, {}),
        recipe, written=True,
    )  # fmt: skip
    before = [(one.double() / 6).log_softmax(0) for one in policy.log_probs(queries)]
    worth = torch.tensor([q[name] for name in names]).double()
    goals = [((one + 0.2 * math.log(0.5) + worth) / 1.2).softmax(0) for one in before]
    record = method_of(learner).update(
        Experience(1, batch, (), ActionSums([], [], [], 0), given, {"guesser"})
    )
    after = [(one.double() / 6).softmax(0) for one in policy.log_probs(queries)]
    off = max(float((now - goal).abs().max()) for now, goal in zip(after, goals, strict=True))
    far = max(
        float((one.exp() - goal).abs().max()) for one, goal in zip(before, goals, strict=True)
    )
    assert off < 0.05 < 0.2 < far
    assert record["loss"] < record["wanted"]
    assert record["trained"] == sum(len(one.written.reply_ids) for _, one in batch.samples)
