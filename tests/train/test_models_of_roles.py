"""Roles with models of their own: each model learns from what its roles are paid, and from nothing
else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gamedsl.cli import main
from gamedsl.players.model_replies import query_of
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.generation import Generated, Request, TokenRow
from gamedsl.policies.multi_model import MultiModelWriter
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.tokenizers import TokenCounter
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training.advantages import Advantage
from gamedsl.training.dry_run import dry_run
from gamedsl.training.engine import open_policy
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_chats import chats_of
from gamedsl.training.loop import env_of, train
from gamedsl.training.losses import TokenBatch
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import RunFolder, create
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import Batch
from tests.train import conftest, in_words
from tests.train.conftest import StopAfter, same
from tests.train.in_words import learn, weighed

OPPOSITES = """
game: opposites
roles: [ann, bob]
referees: [judge]
turns:
  - {role: all, say: word, max_tokens: 6}
  - {role: all, choose: side, from: [left, right]}
  - {role: judge, choose: verdict, from: [fine, odd]}
payoffs: {ann: 1 if side.ann == left else 0, bob: 1 if side.bob == right else 0}
on_invalid: {all: {then: skip, pay: 0}, judge: {then: void}}
labels: {masked: syllables}
train:
  model: tiny
  finetuning: lora
  adapters: per_role
  roles: {bob: {model: small}, judge: {model: small}}
  transcripts_every: 1
"""
"""Ann is paid for one side and bob for the other; what they say is paid alike."""
MODELS = {"ann": "tiny", "bob": "small", "judge": "small"}
SIDES = {"ann": "left", "bob": "right"}


def recipe_of(game: Game, **settings: Any) -> Recipe:
    """With labels that each would rather not take the side that it is paid for."""
    return in_words.recipe_of(game, **{"seed": 4, **settings})


@pytest.fixture
def game(compiled: Callable[[str], Game]) -> Game:
    return compiled(OPPOSITES)


def opened(game: Game, **settings: Any) -> MultiModelWriter:
    policy = open_policy(game, recipe_of(game, **settings), lambda text: None)
    assert isinstance(policy, MultiModelWriter)
    return policy


def played(game: Game, policy: MultiModelWriter, **settings: Any) -> Batch:
    recipe = recipe_of(game, **settings)
    seating = SeatAssignment(game.ir, recipe)
    return play(env_of(game, recipe, policy, seating), Sessions(policy), recipe, 1, seating)


def worth_of(game: Game, batch: Batch) -> list[Advantage]:
    return weighed(batch, recipe_of(game), frozenset(SIDES)).advantages


def row_of(adapter: str, reply: Generated) -> TokenRow:
    ids = reply.prompt_ids + reply.reply_ids
    return TokenRow(adapter, ids, ((len(reply.prompt_ids), len(ids)),))


def test_each_role_is_answered_by_its_model(game: Game) -> None:
    """What was drawn has the probability that the role's own model gives it."""
    assert recipe_of(game).models(game.ir) == MODELS
    policy = opened(game)
    assert [one.name for one in policy.models] == ["tiny", "small"], "a model is loaded once"
    said = [one for _, one in played(game, policy).samples]
    assert {one.role for one in said} == set(MODELS)
    for one in said:
        assert one.adapter == one.role
        model: Any = policy.of(one.adapter)
        assert model.name == MODELS[one.role]
        if one.written is not None:
            (log_pi,) = model.token_log_probs([row_of(one.adapter, one.written)])
            drawn = torch.tensor(one.written.log_probs)
            torch.testing.assert_close(log_pi, drawn, atol=1e-4, rtol=0)


def test_labels_are_equal_in_tokens_for_all(game: Game) -> None:
    policy = opened(game)
    tiny, small = (model.tokenizer for model in policy.models)

    def lengths(tokenizer: TokenCounter) -> set[tuple[bool, bool]]:
        found = set()
        for run_seed in range(8):
            book = draw_labels(game.ir, run_seed=run_seed, seed=0, tokenizer=tokenizer)
            sizes = [[one.count(label) for _, label in book.pairs] for one in (tiny, small)]
            found.add(tuple(len(set(counts)) == 1 for counts in sizes))
        return found

    assert lengths(policy.tokenizer) == {(True, True)}
    assert (True, False) in lengths(tiny)


def test_unequal_label_lengths_are_reported(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    count = type(opened(game).models[0].tokenizer).count
    monkeypatch.setattr(HFTokenizer, "count", lambda self, text: count(self, text) + hash(text))
    with pytest.raises(TrainError, match="of one token count in the tokenizer of each model"):
        opened(game, seed=99)


def likely(game: Game, policy: MultiModelWriter) -> dict[str, float]:
    """How likely each takes the side that it is paid for, once both have said something."""
    recipe = recipe_of(game)
    episode = env_of(game, recipe, policy, SeatAssignment(game.ir, recipe)).reset(seed=1)
    episode.step({"ann": "hm", "bob": "hm"})
    odds = {}
    for decision in episode.decisions:
        (log_pi,) = policy.log_probs([query_of(decision, decision.seat)])
        odds[decision.seat] = float(log_pi.exp()[decision.legal.index(SIDES[decision.seat])])
    return odds


def test_models_that_learn_together_come_to_opposite_preferences(
    game: Game, tmp_path: Path
) -> None:
    settings = {"steps": 6, "games": 12, "group_size": 12, "lr": 0.02}
    recipe, policy = recipe_of(game, **settings), opened(game, **settings)
    folder = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    referee, first = policy.adapter_state("judge"), likely(game, policy)
    assert max(first.values()) < 0.5, first
    assert train(game, recipe, folder, policy).finished
    last = likely(game, policy)
    assert min(last.values()) > 0.9, last
    after = policy.adapter_state("judge")
    assert all(torch.equal(after[name], referee[name]) for name in referee)
    for name, model in MODELS.items():
        config = json.loads((folder.path / "adapters" / name / "adapter_config.json").read_text())
        assert config["base_model_name_or_path"] == model
    assert folder.info()["models"] == MODELS
    assert folder.info()["model"] == "tiny + small"


def test_no_gradient_crosses(game: Game) -> None:
    """A model's step is the same whatever the other learns at the same time, however much."""
    together, apart = opened(game), opened(game)
    batch = played(game, together)
    worth = worth_of(game, batch)
    alone = [one._replace(amount=1.0) for one in worth if one.sample.role == "ann"]
    others = [one for one in worth if one.sample.role == "bob"]
    loud = [one._replace(amount=1e4) for one in others]
    none = [one._replace(amount=0.0) for one in others]
    recipe = recipe_of(game, max_grad_norm=0.1)
    for policy, worths in ((together, alone + loud), (apart, alone + none)):
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
        learn(policy, optimizer, worths, batch.queries, recipe, 1)
    fresh = opened(game)
    states = [one.adapter_state("ann") for one in (together, apart, fresh)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])
    moved, held = together.adapter_state("bob"), apart.adapter_state("bob")
    assert any(not torch.equal(moved[name], held[name]) for name in held)


def test_reply_weight_uses_mean_reply_length(game: Game) -> None:
    policy = opened(game)
    batch = played(game, policy)
    worth = [one for one in worth_of(game, batch) if one.sample.written]
    short = [
        one._replace(sample=one.sample._replace(written=_cut(one.sample.written)))
        if one.sample.role == "ann" else one for one in worth
    ]  # fmt: skip
    lesson = TokenBatch(short, batch.queries, 1.0, lambda adapter: policy.of(adapter).name)
    for role in SIDES:
        own = [s for row, s in zip(lesson.rows, lesson.shares, strict=True) if row.adapter == role]
        count = sum(one.sample.role == role for one in short)
        assert float(torch.cat(own).sum()) == pytest.approx(count / len(short))


def _cut(reply: Generated | None) -> Generated:
    assert reply is not None
    return replace(reply, reply_ids=reply.reply_ids[:2], log_probs=reply.log_probs[:2])


def test_replies_are_those_of_each_model_alone(game: Game) -> None:
    """Side by side, with requests that follow from the other model's replies."""
    policy = opened(game)

    def request(adapter: str, number: int) -> Request:
        return Request((("user", f"Say {number}."),), adapter, 4 + number, seed=number)

    found: dict[int, Generated] = {}

    def then(number: int, reply: Generated) -> list[Request]:
        found[number] = reply
        return [request("ann" if number % 2 else "bob", number + 4)] if number < 4 else []

    policy.serve([request(("ann", "bob")[number % 2], number) for number in range(4)], then)
    assert sorted(found) == list(range(8))
    for reply in found.values():
        model: Any = policy.models[0 if max(reply.prompt_ids) < 259 else 1]
        prompt = model.tokenizer.text(reply.prompt_ids)
        number = next(n for n in range(8) if f"Say {n}." in prompt)
        adapter = model.adapters[0]
        assert model.generate([request(adapter, number)])[0].reply_ids == reply.reply_ids


def test_stopped_run_resumes_to_the_same_numbers(game: Game, tmp_path: Path) -> None:
    shape = {"steps": 2, "games": 4, "group_size": 4}
    recipe = recipe_of(game, checkpoint_every=1, **shape)
    for name, stops in (("whole", False), ("parts", True)):
        policy = opened(game, **shape)
        folder = create(game, recipe, tmp_path / name, {}, policy.tokenizer, 1)
        stop = StopAfter(1)
        watching: dict[str, Any] = {"observers": [stop], "interrupt": stop.interrupt}
        ended = train(game, recipe, folder, policy, **(watching if stops else {}))
        assert ended.finished != stops
    again = RunFolder(tmp_path / "parts")
    assert train(game, recipe, again, opened(game, **shape)).finished
    same(tmp_path / "whole", tmp_path / "parts")


def test_a_run_of_several_models_is_evaluated(
    game: Game, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, run = str(game.files[0]), tmp_path / "run"
    train = ["train", file, "--steps", "1", "--set", "games=4", "--set=group_size=4"]
    assert main([*train, "--out", str(run), "--format", "json"]) == 0
    capsys.readouterr()
    kept = tmp_path / "kept"
    flags = ["--games", "4", "--format", "json", "--transcripts", str(kept)]
    assert main(["eval", str(run), *flags]) == 0
    told = json.loads(capsys.readouterr().out)
    for games in (*kept.iterdir(), *(run / "transcripts").iterdir()):
        assert main(["replay", file, str(games)]) == 0
    assert told["referees"] == {"judge": "small"}
    assert "tiny (ann), small (bob, judge)" in (run / "report.html").read_text("utf-8")


def test_a_dry_run_tells_of_all_models(game: Game) -> None:
    recipe = recipe_of(game)
    told = dry_run(game, recipe, SeatAssignment(game.ir, recipe), print)
    assert "tiny, adapters ann," in told
    assert "small, adapters bob, judge," in told


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "grpo", "lr": 0.02},
        {"method": "project"},
        {"method": "project", "estimator": "tree", "project.fitter": "newton"},
    ],
    ids=["grpo", "project", "tree"],
)
def test_closed_games_are_trained_with_models_of_roles(
    compiled: Callable[[str], Game], tmp_path: Path, settings: dict[str, Any]
) -> None:
    """The proposer's network and the responder's table learn beside each other, and a run that was
    stopped goes on to the same numbers."""
    game = compiled(conftest.OFFER)
    roles = {"roles.proposer.model": "words", "roles.responder.model": "tabular"}
    recipe = conftest.recipe_of(
        game, **{"steps": 4, "games": 512, "checkpoint_every": 2, **roles, **settings}
    )
    run, outcome = conftest.run_of(game, recipe, tmp_path / "whole")
    assert outcome.finished
    assert run.info()["models"] == {"proposer": "words", "responder": "tabular"}
    *_, last, _ = run.records()
    assert last["reward"]["proposer"] > 5.5, last["reward"]  # asked for much, and was given it
    odds = {key: one["probs"] for key, one in last["policy"].items()}
    assert all(one["accept"] > 0.75 for one in odds.values() if "accept" in one), odds
    stop = StopAfter(2)
    part, _ = conftest.run_of(
        game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt
    )
    policy = conftest.policy_of(game, recipe)
    assert train(game, recipe, RunFolder(part.path), policy).finished
    same(tmp_path / "whole", tmp_path / "parts")


def test_roles_model_imitates_its_player(game: Game) -> None:
    """Tokens are those of each model; the player is the referee too, and of that nothing is
    learned."""
    recipe = recipe_of(game, **{"warm_up.expert": "random", "warm_up.games": 24})
    policy, seating = opened(game), SeatAssignment(game.ir, recipe)
    learned, _ = chats_of(game, env_of(game, recipe, policy, seating), recipe, seating, policy)
    rows = [row for chat in learned.chats for row in chat.rows]
    taken = [query.adapter for chat in learned.chats for query, _ in chat.taken]
    assert {row.adapter for row in rows} == set(taken) == set(SIDES)
    for row in rows:
        model: Any = policy.of(row.adapter)
        assert row.ids[row.positions[-1]] in model.tokenizer.ends
        assert "<|im_start|>system" in model.tokenizer.text(row.ids)
    learned.learn(policy, range(len(learned)))
    moved = {n for n in MODELS if any(p.grad is not None for p in policy.parameters(n))}
    assert moved == set(SIDES)
