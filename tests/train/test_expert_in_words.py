"""`method: expert` in games in words: whole replies of the best games, or a teacher's choices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gamedsl.diagnostics import Problems
from gamedsl.players.table import open_player
from gamedsl.policies.generation import TokenRow, Writing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.resolve import override, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training.losses import ImitationLoss
from gamedsl.training.methods.base import Learner
from gamedsl.training.methods.expert import Expert, Teacher, kept
from gamedsl.training.reference import Reference
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import Batch
from tests.train.conftest import StopAfter, same
from tests.train.conftest import run_of as closed_run_of
from tests.train.in_words import opened, recipe_of, run_of, steps_of
from tests.train.test_thinking import PICK
from tests.train.test_training_in_words import PAIR, SPEAK

RACE = """
game: race
roles: [ann, bob]
turns:
  - {role: ann, choose: first, from: [left, right]}
  - {role: bob, choose: second, from: [left, right]}
payoffs: {ann: 1 if first != second else -1, bob: 1 if first == second else -1}
respond: {form: tag, think: 6, at_limit: close}
on_invalid: {then: forfeit, pay: -1}
"""
EXPERT: dict[str, Any] = {"method": "expert", "games": 16, "group_size": 16}


def _played(game: Game, recipe: Recipe, policy: Writing) -> Batch:
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    return play(env, Sessions(policy), recipe, 1, SeatAssignment(game.ir, recipe))


def _chosen(game: Game, recipe: Recipe, policy: Writing) -> list[str]:
    """The options that were taken in a step's games."""
    batch = _played(game, recipe, policy)
    taken = [one.scored for _, one in batch.samples if one.query is not None]
    return [batch.places[query].legal[action] for query, action in taken]


def _learner(game: Game, recipe: Recipe, policy: Writing) -> Learner:
    optimizer = torch.optim.SGD(policy.parameters(), lr=1e-3)
    scorer = Scorer(policy, temperature=recipe.temperature, keeps_graphs=False)
    return Learner(
        policy, optimizer, scorer, Reference(policy, {}), recipe, written=True,
        open_player=lambda spec, seed: open_player(spec, game, seed=seed),
    )  # fmt: skip


def test_thoughts_and_choices_of_the_best_are_imitated(compiled, tmp_path: Path) -> None:
    steps = steps_of(compiled(PICK), recipe_of(compiled(PICK), steps=2, **EXPERT), tmp_path / "run")
    assert steps[0]["reward"]["picker"] < 0.8 < 0.95 < steps[1]["reward"]["picker"]
    assert steps[0]["examples"] == pytest.approx(16 / 4)
    assert steps[0]["trained"] > 0


def test_the_loss_is_the_mean_over_examples(compiled: Callable[[str], Game]) -> None:
    """By its definition; and a step against its gradient brings it down by the square of that."""
    game = compiled(PICK)
    recipe = recipe_of(game, temperature=0.8, expert__keep=0.5, **EXPERT)
    policy = opened(game, recipe)
    batch = _played(game, recipe, policy)
    examples = [one for one in kept(batch, 0.5, {"picker"}) if one.amount]
    learner = _learner(game, recipe, policy)
    loss = ImitationLoss(learner, examples, batch.queries)
    assert loss.total == pytest.approx(8)
    written = [one.sample.written for one in examples]
    mean = sum(len(one.reply_ids) for one in written) / len(written)
    wanted = 0.0
    for one, said in zip(examples, written, strict=True):
        start, stop = len(said.prompt_ids), len(said.prompt_ids) + len(said.reply_ids)
        ids = (*said.prompt_ids, *said.reply_ids)
        row = TokenRow(one.sample.adapter, ids, ((start, stop),), recipe.temperature)
        (tokens,) = policy.token_log_probs([row])
        query, action = one.sample.scored
        (option,) = learner.played(policy.log_probs([batch.queries[query]]))
        wanted -= one.amount * float(tokens.sum() / mean + option[action]) / 8
    found = loss.backward(0)
    assert found == pytest.approx(wanted, rel=1e-4)
    square = sum(float((p.grad**2).sum()) for p in policy.parameters() if p.grad is not None)
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.grad is not None:
                parameter -= 1e-4 / square * parameter.grad
    learner.forget()
    assert found - loss.backward(0) == pytest.approx(1e-4, rel=0.1)


def test_refused_replies_are_no_examples(compiled: Callable[[str], Game]) -> None:
    """Even where a further try won the game."""
    game = compiled(PICK)
    recipe = recipe_of(game, **EXPERT)
    policy = opened(game, recipe)
    batch = _played(game, recipe, policy)
    expert = Expert(_learner(game, recipe, policy))
    _, total = expert._repeated(batch, {"picker"})
    assert total == pytest.approx(4)
    for one in batch.trajectories:
        one.samples[:] = [sample._replace(invalid=ParseFailure("other")) for sample in one.samples]
    assert expert._repeated(batch, {"picker"}) == (None, 0)


def test_choices_after_thoughts_go_to_the_teachers(compiled, tmp_path: Path) -> None:
    """Against what the game pays, and no token of a thought is learned."""
    game = compiled(PICK)
    recipe = recipe_of(game, steps=2, expert__teacher="fixed:red", **EXPERT)
    steps = steps_of(game, recipe, tmp_path / "run")
    assert steps[0]["reward"]["picker"] > 0.5
    assert steps[1]["reward"]["picker"] < 0.05
    assert [(step["examples"], step["trained"]) for step in steps] == [(16, 0)] * 2


def test_choices_among_words_go_to_the_teachers(compiled, tmp_path: Path) -> None:
    """And who says the words stays as it is."""
    game = compiled(PAIR)
    recipe = recipe_of(game, steps=3, expert__teacher="fixed:time,hum", **EXPERT)
    before = opened(game, recipe)
    first = set(_chosen(game, recipe, before))
    _, policy = run_of(game, recipe, tmp_path / "run")
    after = _chosen(game, recipe, policy)
    assert "news" in first
    assert set(after) <= {"time", "hum"}
    assert len(after) >= 16
    was, now = (one.adapter_state("teller") for one in (before, policy))
    assert all(torch.equal(was[name], now[name]) for name in was)


def test_a_search_is_asked_where_the_policy_thought(compiled: Callable[[str], Game]) -> None:
    """At the position of the decision, though its game has gone on since."""
    game = compiled(RACE)
    recipe = recipe_of(game, expert__teacher="minimax", **EXPERT)
    policy = opened(game, recipe)
    batch = _played(game, recipe, policy)
    labels = Teacher(_learner(game, recipe, policy), "minimax").labels(batch, {"bob"})
    asked = 0
    for place, (decision, episode), odds in zip(batch.places, batch.points, labels, strict=True):
        assert episode.decisions[0].seat == place.seat
        if place.role == "ann":
            assert not odds.any()
        else:
            first = "left" if "first=left" in decision.information_set else "right"
            assert odds.tolist() == [float(name == first) for name in place.legal]
            asked += 1
    assert asked == 16


class Mute:
    """A player whose replies are mostly refused."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, decision: Any, episode: Any) -> str | ParseFailure:
        self.asked += 1
        return ParseFailure("other") if self.asked % 4 else "<think>\nso\n</think>\nnothing"


def test_a_teacher_without_an_answer_teaches_nothing(compiled: Callable[[str], Game]) -> None:
    game = compiled(PICK)
    recipe = recipe_of(game, expert__teacher="mute", **EXPERT)
    policy = opened(game, recipe)
    learner = SimpleNamespace(
        **{**vars(_learner(game, recipe, policy)), "open_player": lambda spec, seed: Mute()}
    )
    labels = Teacher(learner, "mute").labels(_played(game, recipe, policy), {"picker"})
    assert not any(row.any() for row in labels)


@pytest.mark.parametrize(
    ("text", "settings", "why"),
    [
        (SPEAK, {"expert.teacher": "random"}, "here all replies are written"),
        (PICK, {"expert.teacher": "random", "replies": "free"}, "here all replies are written"),
        (SPEAK, {"overlong.penalty": 1}, "has no `overlong.penalty`"),
        (SPEAK, {"expert.keep": 0.5}, None),
        (PAIR, {"expert.teacher": "random"}, None),
    ],
)
def test_what_nobody_could_learn_is_refused(
    compiled: Callable[[str], Game], text: str, settings: dict[str, Any], why: str | None
) -> None:
    problems = Problems()
    given = {"method": "expert", **settings}
    resolve(compiled(text).ir, [override(*item) for item in given.items()], problems)
    errors = [one.message for one in problems.found if one.code == "GD0704"]
    assert len(errors) == (why is not None)
    assert why is None or why in errors[0]


@pytest.mark.parametrize("settings", [{}, {"expert__teacher": "fixed:red"}])
def test_resumed_equals_uninterrupted(compiled, tmp_path: Path, settings: dict[str, Any]) -> None:
    from gamedsl.training.loop import train

    game = compiled(PICK)
    recipe = recipe_of(game, steps=3, games=8, group_size=4, method="expert", **settings)
    closed_run_of(game, recipe, tmp_path / "whole")
    stop = StopAfter(2)
    halted = {"observers": [stop], "interrupt": stop.interrupt}
    run, _ = closed_run_of(game, recipe, tmp_path / "parts", **halted)
    assert train(game, recipe, run, opened(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")
