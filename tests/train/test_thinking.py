"""Thought, then an action: the thought is drawn and learned by its tokens, the action by its odds
given the thought."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.policies import random_models
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Generated, TokenRow, Writing
from gamedsl.recipe.resolve import override, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.thought_syntax import CLOSE, OPEN
from gamedsl.training.advantages import Advantage
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import train
from gamedsl.training.losses import TokenBatch
from gamedsl.training.monitors.thoughts import ThoughtMonitor
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import RunFolder, create
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import Sample
from tests.evaluate.small import PENNIES
from tests.policies.templates import BRACKETS, CHATML, SEED
from tests.train.in_words import learn, opened, recipe_of, run_of, steps_of
from tests.writing import write

GAMES = Path(__file__).parent.parent.parent / "games"
PICK = """
game: pick
roles: [picker]
turns: [{role: picker, choose: card, from: [red, tan]}]
payoffs: 1 if card == tan else 0
respond: {form: tag, think: 6, at_limit: close}
on_invalid: {then: forfeit, pay: -1}
"""


def said_in(game: Game, recipe: Recipe, policy: Writing) -> tuple[list[Sample], list[Query]]:
    """The replies of a step, and the queries of their options."""
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    batch = play(env, Sessions(policy), recipe, 1, SeatAssignment(game.ir, recipe))
    assert all(one.episode.done for one in batch.trajectories)
    return [one for _, one in batch.samples], batch.queries


def test_thoughts_and_actions_are_learned(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(PICK)
    steps = steps_of(game, recipe_of(game, steps=3, games=16, group_size=16), tmp_path / "run")
    assert all(step["valid"] == {"picker": 1.0} for step in steps)
    assert steps[0]["reward"]["picker"] < 0.8 < 0.9 < steps[-1]["reward"]["picker"]
    assert all(0 < step["reply_tokens"]["picker"] <= 6 for step in steps)
    assert max(step["sampler_gap"] for step in steps) < 1e-3


@pytest.mark.parametrize(
    ("template", "special", "tag"),
    [(CHATML, False, OPEN), (BRACKETS, False, "[THINK]"), (BRACKETS, True, "[THINK]"),
     (SEED, False, "<seed:think>")],
    ids=["think", "brackets", "special brackets", "seed"],
)  # fmt: skip
def test_only_sampled_thought_tokens_are_trained(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch, template: str, special: bool,
    tag: str,
) -> None:  # fmt: skip
    """The tags that were put around a thought, and all of the answer, are no trained tokens. Tokens
    have the model's own tags, and texts those of games."""
    tokenizer = random_models._tiny_tokenizer()
    tokenizer.add_tokens([tag, f"{tag[0]}/{tag[1:]}"] if special else [], special_tokens=True)
    tokenizer.chat_template = template
    monkeypatch.setattr(random_models, "_tiny_tokenizer", lambda: tokenizer)
    game = compiled(PICK)
    recipe = recipe_of(game)
    policy = opened(game, recipe)
    said, queries = said_in(game, recipe, policy)
    worth = [Advantage(n, one, 1, 1.0) for n, one in enumerate(said)]
    lesson = TokenBatch(worth, queries, 1.0)
    opening, closing = (
        tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
        for text in (f"{tag}\n", f"\n{tag[0]}/{tag[1:]}\n")
    )
    for row, one in zip(lesson.rows, said, strict=True):
        assert one.written is not None
        assert one.written.text.startswith(f"{OPEN}\n")
        assert one.written.text.endswith(f"\n{CLOSE}\n")
        assert tuple(row.ids[at] for at in row.positions) == one.written.reply_ids
        assert row.positions[-1] == len(row.ids) - 1
        assert row.ids[: row.positions[0]][-len(opening) :] == opening
        thought = one.written.reply_ids
        thought = thought[:-1] if one.written.finish == "stop" else thought
        assert queries[one.scored[0]].prefix == opening + thought + closing
    drawn = sum(len(one.written.reply_ids) for one in said)
    assert torch.cat(lesson.shares).tolist() == pytest.approx([1 / drawn] * drawn)


def test_the_update_is_the_gradient_of_the_loss(compiled: Callable[[str], Game]) -> None:
    """Against finite differences of the loss, written out anew from log-probabilities, along the
    gradient: plain descent by `learn` moves the weights by it."""
    game = compiled(PICK)
    recipe = recipe_of(game, lr=1.0, max_grad_norm=1e9, temperature=0.7, lr_schedule="constant")
    policy = opened(game, recipe)
    said, queries = said_in(game, recipe, policy)
    said = said[:3]
    gains = [1.0, -0.5, 2.0]
    for tensor in policy.parameters():  # away from the adapters' zero, where half a gradient is 0
        torch.nn.init.normal_(tensor, std=0.02, generator=torch.Generator().manual_seed(0))
    policy.forget()
    mean = sum(len(one.written.reply_ids) for one in said if one.written) / len(said)
    old = {one: odds_of(policy, queries, one, 0.7) for one in said}

    def loss() -> float:
        total = 0.0
        for one, gain in zip(said, gains, strict=True):
            assert one.written is not None
            drawn = torch.tensor(one.written.log_probs)
            rho = (tokens_of(policy, one.written, 0.7) - drawn).exp().clamp(max=2.0)
            total -= gain * float(rho.sum()) / mean
            total -= gain * math.exp(odds_of(policy, queries, one, 0.7) - old[one])
        return total / len(said)

    start = [tensor.detach().clone() for tensor in policy.parameters()]
    pairs = enumerate(zip(said, gains, strict=True))
    worth = [Advantage(n, one, 1, gain) for n, (one, gain) in pairs]
    plain = torch.optim.SGD(policy.parameters(), lr=1.0)
    told = learn(policy, plain, worth, queries, recipe, 1)
    step = [a - tensor.detach() for a, tensor in zip(start, policy.parameters(), strict=True)]
    norm = math.sqrt(sum(float(part.square().sum()) for part in step))
    assert told["grad_norm"] == pytest.approx(norm, rel=1e-4)
    values = []
    for sign in (1, -1):
        for tensor, at, part in zip(policy.parameters(), start, step, strict=True):
            tensor.data.copy_(at + sign * 2e-3 / norm * part)
        values.append(loss())
    assert (values[0] - values[1]) / 4e-3 == pytest.approx(norm, rel=0.02)


def tokens_of(policy: Writing, written: Generated, temperature: float) -> torch.Tensor:
    ids = written.prompt_ids + written.reply_ids
    row = TokenRow("shared", ids, ((len(written.prompt_ids), len(ids)),), temperature)
    return policy.token_log_probs([row])[0]


def odds_of(policy: Writing, queries: list[Query], one: Sample, temperature: float) -> float:
    """The log-probability of the option that was taken, from its tokens and those of the others."""
    query, action = one.scored
    encoded = policy.encode(queries[query])
    score = []
    for label in encoded.labels:
        ids = encoded.prompt + label
        row = TokenRow("shared", ids, ((len(encoded.prompt), len(ids)),))
        score.append(policy.token_log_probs([row])[0].double().sum() / temperature)
    return float(torch.stack(score).log_softmax(0)[action])


def test_thinking_run_resumes_to_the_same_numbers(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    game = compiled(PICK)
    recipe = recipe_of(game, steps=2, games=4, group_size=4, checkpoint_every=1)
    whole = steps_of(game, recipe, tmp_path / "whole")

    class Once:
        asked = False

        def progress(self, record: Any) -> None: ...
        def start(self, record: Any) -> None: ...
        def warm_up(self, record: Any) -> None: ...
        def end(self, record: Any) -> None: ...
        def step(self, record: Any) -> None:
            self.asked = True

    once: Any = Once()
    policy = opened(game, recipe)
    folder = create(game, recipe, tmp_path / "parts", {}, policy.tokenizer, 1)
    first = train(game, recipe, folder, policy, observers=[once], interrupt=once)
    assert not first.finished
    assert train(game, recipe, RunFolder(folder.path), opened(game, recipe)).finished
    parts = [record for record in folder.records() if record["event"] == "step"]
    assert [r | {"seconds": 0} for r in parts] == [r | {"seconds": 0} for r in whole]


def test_free_replies_are_parsed_as_labels(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(PICK.replace("respond: {form: tag, think: 6, at_limit: close}\n", ""))
    assert not game.ir.in_words
    steps = steps_of(game, recipe_of(game, steps=1, replies="free"), tmp_path / "run")
    assert steps[0]["valid"]["picker"] < 1  # random weights do not happen to write a label
    assert sum(steps[0]["invalid"].values()) == steps[0]["games"]


@pytest.mark.parametrize(("replies", "refused"), [("scored", False), ("free", True)])
def test_free_replies_are_trained_as_words_are(
    compiled: Callable[[str], Game], replies: str, refused: bool
) -> None:
    """What lists decisions is refused where they are answered in writing, and there alone."""
    game = compiled(PICK.replace("think: 6, at_limit: close", "").replace("tag, ", "tag"))
    problems = Problems()
    given = {"replies": replies, "method": "project"}
    recipe = resolve(game.ir, [override(k, v) for k, v in given.items()], problems)
    assert recipe.in_words(game.ir) is refused
    assert any(found.code == "GD0704" for found in problems.found) is refused


HANABI = """
game: quick
extends: small_hanabi_thinking
respond: {form: tag, think: 12, at_limit: close}
"""
SHORT = """
game: short
roles: [pro, con]
referees: [judge]
turns:
  - {each: roles, say: speech, max_tokens: 4}
  - {role: [judge], choose: verdict, from: roles}
payoffs: count(verdict, me)
on_invalid: {all: {then: skip}, judge: {then: void}}
"""
CLOSED = ["kuhn_poker_thinking", "kuhn_poker_tools", HANABI, SHORT]


@pytest.mark.parametrize("name", CLOSED)
def test_closed_decisions_are_answered_validly(name: str, tmp_path: Path) -> None:
    assert valid_closed(name, "tiny", tmp_path) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_the_embedded_model_answers_closed_decisions_validly(name: str, tmp_path: Path) -> None:
    assert valid_closed(name, "smollm2-135m", tmp_path) > 0.5  # a thought may open another


def valid_closed(name: str, model: str, folder: Path) -> float:
    """The share of closed decisions of a game that the model answers validly."""
    text = "\n" in name
    game = gamedsl.load(write(folder, name) if text else GAMES / f"{name}.yaml")
    recipe = recipe_of(game, model=model, games=2, group_size=2)
    said, _ = said_in(game, recipe, opened(game, recipe))
    steps = {step.id for step in game.ir.steps if step.said is None}
    closed = [one for one in said if one.step in steps]
    assert closed
    return sum(one.invalid is None for one in closed) / len(closed)


def test_exploitability_is_estimated_from_thoughts(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """At the start, and at steps with a checkpoint; and training is not changed by it."""
    game = compiled(PENNIES)
    given = {"steps": 3, "games": 8, "checkpoint_every": 2, "temperature": 2}
    recipe = recipe_of(game, thoughts=4, **given)
    policy = opened(game, recipe)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy).finished
    measured = {
        one["step"]: one for one in run.records() if one["event"] != "end" and "thoughts" in one
    }
    assert list(measured) == [0, 2, 3]
    for one in measured.values():
        off = [abs(2 * row["probs"]["heads"] - 1) for row in one["policy"].values()]
        assert one["exploitability"] == pytest.approx(sum(off) / 2)
        low, high = one["exploitability_interval"]
        assert 0 <= low <= one["exploitability"] <= high
        near = sum(each <= 0.1 for each in off)
        assert one["in_range"] == {"inside": near, "of": 2}
    plain = steps_of(game, recipe_of(game, **given), tmp_path / "plain")
    for one, other in zip(run.records()[1:], plain, strict=False):
        assert one["reward"] == other["reward"]
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-5)


def test_a_run_ends_once_the_estimate_is_low(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """By the upper end of its interval, at as many of the steps at which thoughts are drawn."""
    game = compiled(PENNIES)
    given = {"steps": 9, "games": 8, "checkpoint_every": 2, "thoughts": 4, "lr": 1e-9}
    first = steps_of(game, recipe_of(game, **given), tmp_path / "first")
    most = [one["exploitability_interval"][1] for one in first if "thoughts" in one]
    values = [one["exploitability"] for one in first if "thoughts" in one]
    never = min(most) - 1e-6
    assert sum(value < never for value in values) > 2
    for bound, last in ((max(most), 4), (never, 9)):
        given |= {"until__exploitability": bound, "until__over": 2}
        ended = steps_of(game, recipe_of(game, **given), tmp_path / str(last))
        assert ended[-1]["step"] == last


def test_actions_that_die_out_after_thoughts_raise_alarms(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """Equilibria of matching pennies play each side; a policy put to one has lost the other."""
    game = compiled(PENNIES)
    start = {role: {"heads": 0.8} for role in ("ann", "bob")}
    recipe = recipe_of(game, steps=1, thoughts=4, start=start, extinct=0.3, lr=1e-9)
    run, _ = run_of(game, recipe, tmp_path / "run")
    begun, step = run.records()[:2]
    assert {one["action"] for one in begun["alarms"]} == {"tails"}
    assert begun["extinct"] == step["extinct"] == len(begun["policy"])
    assert "alarms" not in step


CYCLE = """
game: cycle
roles: [ann, bob, cat]
turns:
  - {role: ann, choose: x, from: [left, right, lose]}
  - {role: bob, choose: y, from: [left, right, lose], seen_by: owner}
  - {role: cat, choose: z, from: [left, right, lose], seen_by: owner}
payoffs:
  ann: (1 if x == y else 0) - (3 if x == lose else 0)
  bob: (1 if y != z else 0) - (3 if y == lose else 0)
  cat: (1 if z == x else 0) - (3 if z == lose else 0)
respond: {form: tag, think: 6, at_limit: close}
"""


def test_what_is_worth_nothing_after_thoughts_raises_no_alarm(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no equilibria are known, the tree says what actions are worth."""
    game = compiled(CYCLE)
    recipe = recipe_of(game, thoughts=2)
    policy = opened(game, recipe)
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    monitor = ThoughtMonitor(env, recipe, SeatAssignment(game.ir, recipe), policy)
    played = "gamedsl.training.monitors.thoughts.odds_after_thoughts"
    found = []
    for odds in ([0.4, 0.3, 0.3], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]):
        monkeypatch.setattr(played, lambda _, asked, *rest, odds=odds: [[odds]] * len(asked))
        found.append(monitor.measured(0))
    alarms = [{one["action"] for one in record.get("alarms", ())} for record in found]
    assert alarms == [set(), set(), {"right"}]
    assert monitor.opening()["ranges"] is None


@pytest.mark.parametrize("settings", [{"start": {"picker": {"tan": 0.9}}}, {"prior": "uniform"}])
def test_choices_after_thoughts_are_put_where_the_recipe_says(
    compiled: Callable[[str], Game], tmp_path: Path, settings: dict[str, Any]
) -> None:
    """After thoughts that the fit did not see; the weights of the thoughts are shared, and play
    goes on from there."""
    game = compiled(PICK)
    recipe = recipe_of(game, steps=1, lr=1e-9, thoughts=16, **settings)
    begun, _ = run_of(game, recipe, tmp_path / "run")[0].records()[:2]
    wanted = 0.9 if "start" in settings else 0.5
    assert begun["warm_start"]["distance"] <= 0.01
    (row,) = begun["policy"].values()
    assert row["probs"]["tan"] == pytest.approx(wanted, abs=0.05)
    untouched = recipe_of(game, steps=1, thoughts=16)
    cold, _ = run_of(game, untouched, tmp_path / "cold")[0].records()[:2]
    (row,) = cold["policy"].values()
    assert abs(row["probs"]["tan"] - wanted) > 0.1


@pytest.mark.parametrize("settings", [{"start": {"picker": {"tan": 0.9}}}, {"prior": "uniform"}])
def test_a_warm_start_needs_a_closed_thought_at_each_decision(
    compiled: Callable[[str], Game], tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Else it would claim what it has not fitted."""
    game = compiled(PICK.replace(", at_limit: close", ""))
    with pytest.raises(TrainError, match="the policy closed none of 4"):
        run_of(game, recipe_of(game, steps=1, **settings), tmp_path / "run")


@pytest.mark.parametrize(
    ("setting", "fix"),
    [
        (("until.exploitability", 0.1), "set `thoughts`, or leave `until.exploitability` out"),
        (("extinct", 0.01), "set `thoughts`, or leave `extinct` out"),
        (("bound_every", 5), "leave `bound_every` out"),
        (("max_change", 0.1), "`off`"),
    ],
)
def test_what_needs_listed_choices_is_refused_with_the_reason(
    compiled: Callable[[str], Game], setting: tuple[str, Any], fix: str
) -> None:
    problems = Problems()
    resolve(compiled(PICK).ir, [override(*setting)], problems)
    (found,) = problems.found
    assert found.code == "GD0704"
    assert fix in (found.help or "")


def test_thoughts_need_listed_decisions(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(SHORT + "respond: {form: tag, think: 8, at_limit: close}\n")
    recipe = recipe_of(game, thoughts=4)
    policy = opened(game, recipe)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    with pytest.raises(TrainError, match="cannot be estimated from thoughts"):
        train(game, recipe, run, policy)
