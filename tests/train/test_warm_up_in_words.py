"""A warm-up in words: what a player says is learned, token by token, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gamedsl.cli import main
from gamedsl.diagnostics import Problems
from gamedsl.prompting.random_replies import PLAIN_PHRASES
from gamedsl.recipe.resolve import override, resolve
from gamedsl.runtime import Action, Decision, Episode, Game
from gamedsl.runtime.transcripts import dump
from gamedsl.training.engine import open_policy
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_chats import ChatDataset, chats_of
from gamedsl.training.imitation import imitate, warm_up
from gamedsl.training.interrupt import Interrupt
from gamedsl.training.loop import train
from gamedsl.training.runfolder import RunFolder, create
from gamedsl.training.seats import assign_seats
from gamedsl.training.sessions import writer
from tests.train.conftest import OFFER, recipe_of, untimed
from tests.train.test_thinking import PICK

COUNT = """
game: count
roles: [caller, echo]
turns:
  - repeat: 2
    turns:
      - {role: caller, say: number, read: {n: 1..4}, max_tokens: 12}
      - {role: echo, say: word, max_tokens: 48, seen_by: nobody}
  - {role: caller, choose: again, from: [yes, no]}
payoffs: 1
on_invalid: {then: skip, pay: -1}
train: {adapters: per_role}
"""
SHORT = """
game: short
roles: [caller]
turns:
  - {role: caller, say: number, read: {n: 1..4}, max_tokens: 9}
  - {role: caller, choose: again, from: [yes, no]}
payoffs: 1
on_invalid: {then: skip, pay: -1}
prompts: {rules: Count.}
"""
WARM: dict[str, Any] = {
    "model": "tiny", "games": 8, "group_size": 8, "lr": 0.001, "warm_up__expert": "random",
    "warm_up__games": 20, "warm_up__epochs": 24, "warm_up__batch": 18, "warm_up__lr": 0.01,
}  # fmt: skip
TWO: dict[str, Any] = {**WARM, "roles": {"echo": {"player": "random"}}}


def _chats(game: Game, **settings: Any) -> tuple[ChatDataset, ChatDataset]:
    given = TWO if "echo" in game.ir.seats else WARM
    recipe = recipe_of(game, **{**given, **settings})
    policy = writer(open_policy(game, recipe, print))
    env = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer)
    return chats_of(game, env, recipe, assign_seats(game, recipe), policy)


def _said(chats: ChatDataset) -> list[list[str]]:
    """The trained tokens of each chat as texts, one a reply."""
    text = chats.policy.tokenizer.text
    return [
        [text(row.ids[start:stop]) for row in chat.rows for start, stop in row.trained]
        for chat in chats.chats
    ]


def _file(game: Game, path: Path, said: list[str]) -> str:
    """Transcripts in which the caller says these things, one after another."""
    env, texts = game.env(), list(said)
    while texts:
        episode = env.reset(seed=len(texts))
        while not episode.done:
            (decision,) = episode.decisions
            own = Action("yes") if decision.said is None else "hm"
            episode.step({decision.seat: texts.pop(0) if decision.step == "number" else own})
        path.write_text((path.read_text() if path.exists() else "") + dump(episode))
    return f"file:{path}"


def test_warm_up_makes_valid_replies_likely(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    """Held-out games say so, of the policy that took the first step."""
    game = compiled(SHORT)
    learnt, kept = _chats(game)
    loss = {}
    cold = {name: value for name, value in WARM.items() if not name.startswith("warm_up")}
    for name, settings in (("warm", WARM), ("cold", cold)):
        recipe = recipe_of(game, steps=1, **settings)
        policy = writer(open_policy(game, recipe, print))
        run = create(game, recipe, tmp_path / name, {}, policy.tokenizer, 1)
        assert train(game, recipe, run, policy).finished
        loss[name] = replace(kept, policy=policy).fit(policy).loss
        told = run.records()[0].get("warm_up")
        assert (told is None) == (name == "cold")
        if told is not None:
            assert told["before"]["held_out_loss"] == pytest.approx(kept.fit(learnt.policy).loss)
            assert told["after"]["held_out_loss"] == pytest.approx(loss[name], rel=0.3)
            assert (told["games"], told["prompts"], told["held_out_games"]) == (18, 18, 2)
    assert loss["warm"] < 1.2 < 4 < loss["cold"]  # of phrases not among those learned


TALK = """
game: talk
roles: [caller]
turns:
  - {role: caller, say: line, max_tokens: 40}
payoffs: 1
on_invalid: {then: skip, pay: -1}
"""


def test_random_expert_teaches_no_odd_texts(compiled: Callable[[str], Game]) -> None:
    learned, _ = _chats(compiled(TALK), warm_up__games=60)
    said = {text.partition("<|im_end|>")[0] for (text,) in _said(learned)}
    assert len(said) > 3
    assert said <= set(PLAIN_PHRASES)


class Guide:
    """Goes left; after another choice it names that."""

    def act(self, decision: Decision, episode: Episode) -> Action | str:
        if decision.said is None:
            return Action("left")
        return "I go left." if ("assistant", "left") in decision.messages else "I go right."


PATHS = """
game: paths
roles: [walker]
turns:
  - {role: walker, choose: side, from: [left, right]}
  - {role: walker, say: line, max_tokens: 24}
payoffs: 1
labels: plain
prompts: {rules: Walk.}
"""


def test_after_the_first_round_the_policy_leads(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The player alone goes left; the policy goes right too, and the player says what it would have
    said there."""
    monkeypatch.setattr("gamedsl.training.imitated_games._open", lambda *_: Guide())
    game = compiled(PATHS)
    recipe = recipe_of(
        game, **{**WARM, "warm_up__lr": 1e-9, "warm_up__epochs": 1}, warm_up__rounds=2
    )
    policy = writer(open_policy(game, recipe, print))
    env, seating = game.env(tokenizer=policy.tokenizer), assign_seats(game, recipe)
    rounds = [chats_of(game, env, recipe, seating, policy, number)[0] for number in (1, 2)]
    ends = [{text for (text,) in _said(one)} for one in rounds]
    assert ends == [{"I go left."}, {"I go left.", "I go right."}]
    sides = {action for one in rounds[1].chats for _, action in one.taken}
    assert sides == {0}, "what the player would choose, wherever the policy went"
    record = imitate(game, env, recipe, seating, policy, policy.parameters())
    assert record is not None
    assert (record["games"], len(record["epochs"])) == (36, 2)


def test_the_policy_thinks_where_the_player_only_chooses(compiled: Callable[[str], Game]) -> None:
    """Its own thoughts, of which no token is learned, come before the choices that are."""
    game = compiled(PICK)
    given = {**WARM, "warm_up__expert": "fixed:tan", "warm_up__held_out": 0.25}
    recipe = recipe_of(game, **given)
    policy = writer(open_policy(game, recipe, print))
    env, seating = game.env(tokenizer=policy.tokenizer), assign_seats(game, recipe)
    learned, _ = chats_of(game, env, recipe, seating, policy)
    taken = [pair for chat in learned.chats for pair in chat.taken]
    assert not any(chat.rows for chat in learned.chats)
    assert len(taken) == learned.games == 15
    assert len({query.prefix for query, _ in taken}) > 5
    before = [float(one.exp()[1]) for one in policy.log_probs([query for query, _ in taken])]
    imitate(game, env, recipe, seating, policy, policy.parameters())
    _, kept = chats_of(game, env, recipe, seating, policy)
    after = [
        float(policy.log_probs([query])[0].exp()[action])
        for chat in kept.chats for query, action in chat.taken
    ]  # fmt: skip
    assert max(before) < 0.8 < 0.95 < min(after), "after thoughts that it never saw"


def test_what_is_imitated_is_drawn_anew_in_each_round(compiled: Callable[[str], Game]) -> None:
    """And apart from what is held out in any."""
    game = compiled(TALK)
    recipe = recipe_of(game, **{**WARM, "warm_up__held_out": 0.5}, warm_up__rounds=3)
    policy = writer(open_policy(game, recipe, print))
    env, seating = game.env(tokenizer=policy.tokenizer), assign_seats(game, recipe)
    rounds = [chats_of(game, env, recipe, seating, policy, number) for number in (1, 2, 3)]
    drawn = {tuple(text for (text,) in _said(part)) for parts in rounds for part in parts}
    assert len(drawn) == 6


def test_fits_are_measured_on_all_rounds_alike(compiled: Callable[[str], Game]) -> None:
    """Where more is held out than a fit is measured on."""
    learnt, kept = _chats(compiled(COUNT), warm_up__held_out=0.5)
    first, later = list(learnt.chats), list(kept.chats)
    learnt.take(kept)
    assert learnt.subset(4).chats == [first[0], first[5], later[0], later[5]]
    assert learnt.subset(99).chats == first + later


def test_rewards_of_the_policy_choose_no_replies_of_the_player(
    compiled: Callable[[str], Game],
) -> None:
    """Where the policy wins the player's choice may be the one that loses; in words or not."""
    given = {"warm_up.expert": "random", "warm_up.reward": 1, "warm_up.rounds": 2}
    for left_out, codes in ((None, ["GD0704"]), ("warm_up.reward", []), ("warm_up.rounds", [])):
        settings = [override(name, value) for name, value in given.items() if name != left_out]
        for text in (PATHS, OFFER):
            problems = Problems()
            resolve(compiled(text).ir, settings, problems)
            assert [one.code for one in problems.found] == codes


def test_thoughts_that_are_never_closed_are_told(compiled: Callable[[str], Game]) -> None:
    """It is not the player that says nothing valid."""
    game = compiled(PICK.replace(", at_limit: close", ""))
    recipe = recipe_of(game, **{**WARM, "warm_up__expert": "fixed:tan"})
    policy = writer(open_policy(game, recipe, print))
    env, seating = game.env(tokenizer=policy.tokenizer), assign_seats(game, recipe)
    with pytest.raises(TrainError, match="no thought of the policy led to a choice in 18 games"):
        chats_of(game, env, recipe, seating, policy)


def test_held_out_replies_are_drawn_anew(compiled: Callable[[str], Game]) -> None:
    learnt, kept = _chats(compiled(COUNT), warm_up__held_out=0.5)
    assert len(learnt) == len(kept) == 10
    assert _said(learnt) != _said(kept)


def test_only_reply_tokens_are_imitated(compiled: Callable[[str], Game]) -> None:
    """In the model's own tokens with the end of the turn; of a role that a player holds none."""
    learnt, kept = _chats(compiled(COUNT))
    assert (learnt.games, kept.games, len(learnt)) == (18, 2, 18)
    for chat, said in zip(learnt.chats, _said(learnt), strict=True):
        assert len(said) == 2
        assert all(text in [f'{{"n":{n}}}' for n in range(1, 5)] for text in said)
        ends = [row.ids[stop - 1] for row in chat.rows for _, stop in row.trained]
        assert ends == list(learnt.policy.tokenizer.ends) * 2
        assert [(query.labels, chat.size) for query, _ in chat.taken] == [(("yes", "no"), 17)]
        assert {row.adapter for row in chat.rows} == {"caller"}


def test_the_gradient_is_that_of_the_mean_loss(compiled: Callable[[str], Game]) -> None:
    """Over tokens and choices; so a step along it brings the loss down by its square."""
    learnt, _ = _chats(compiled(SHORT))
    policy = learnt.policy
    learn = learnt.learn(policy, range(len(learnt)))
    assert learn == pytest.approx(learnt.fit(policy).loss, rel=1e-5)
    parts = [learnt.learn(policy, [number]) * learnt.chats[number].size for number in range(18)]
    assert sum(parts) / sum(chat.size for chat in learnt.chats) == pytest.approx(learn, rel=1e-5)
    for parameter in policy.parameters():
        parameter.grad = None
    learnt.learn(policy, range(len(learnt)))
    square, rate = 0.0, 1e-3
    with torch.no_grad():
        for parameter in policy.parameters():
            square += float((parameter.grad**2).sum())
            parameter -= rate * parameter.grad
    assert learn - learnt.fit(policy).loss == pytest.approx(rate * square, rel=0.1)


def test_invalid_transcript_replies_are_not_imitated(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    game = compiled(SHORT)
    file = _file(game, tmp_path / "said.jsonl", ['{"n": 3}', "three", 'So {"n":3}', '{"n":3}'])
    settings = {**WARM, "warm_up__expert": file, "warm_up__held_out": 0}
    learnt, kept = _chats(game, **settings)
    assert (learnt.games, kept.games) == (4, 0)
    assert _said(learnt) == [['{"n":3}'], [], ['{"n":3}'], ['{"n":3}']]

    policy, recipe = learnt.policy, recipe_of(game, **settings)
    before = learnt.fit(policy).loss
    assert warm_up(policy, learnt, kept, recipe, policy.parameters()) is not None
    assert learnt.fit(policy).loss < before / 5
    assert policy.log_probs([learnt.chats[0].taken[0][0]])[0].exp()[0] > 0.8

    other = compiled(SHORT.replace("short", "other"))
    with pytest.raises(TrainError, match="the transcript is of `short`, not of `other`"):
        _chats(other, **settings)


def test_player_replies_are_imitated_verbatim(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Chatty:
        """Invalid every other time."""

        count = 0

        def act(self, decision: Any, episode: Any) -> str:
            if decision.said is None:
                return "yes"
            self.count += 1
            return '{"n": 1}!' if self.count % 2 else "Nothing."

    monkeypatch.setattr("gamedsl.players.table.open_player", lambda *_, **__: Chatty())
    learnt, _ = _chats(compiled(SHORT), warm_up__held_out=0)
    assert _said(learnt) == [['{"n": 1}!'], []] * 10


@pytest.mark.parametrize(
    ("expert", "said"), [("fixed:yes", "chooses among options"), ("randm", "no player `randm`")]
)
def test_unusable_teacher_is_reported(
    compiled: Callable[[str], Game], expert: str, said: str
) -> None:
    with pytest.raises(TrainError, match=said):
        _chats(compiled(COUNT), warm_up__expert=expert)


def test_moves_that_explore_are_no_lessons(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sure:
        def act(self, decision: Any, episode: Any) -> Action:
            return Action('{"n":4}' if decision.said else "no")

    monkeypatch.setattr("gamedsl.players.table.open_player", lambda *_, **__: Sure())
    learnt, _ = _chats(compiled(COUNT), warm_up__explore=1)
    assert {text for said in _said(learnt) for text in said} == {'{"n":4}'}
    text = learnt.policy.tokenizer.text
    assert any('{"n":1}' in text(row.ids) for chat in learnt.chats for row in chat.rows)


class _StopInWarmUp:
    """Asks for an interruption after an epoch of a warm-up, as a signal would."""

    def __init__(self) -> None:
        self.interrupt = Interrupt()

    def warm_up(self, record: dict[str, Any]) -> None:
        if record["epoch"] == 2:
            self.interrupt.ask()

    def start(self, record: dict[str, Any]) -> None:
        raise AssertionError("nothing starts")

    step = end = start


def test_stopped_warm_up_resumes_to_same_numbers(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:
    game = compiled(SHORT)
    settings = {**WARM, "warm_up__epochs": 3, "warm_up__games": 10}
    recipe = recipe_of(game, steps=2, **settings)
    records = {}
    for name in ("whole", "parts"):
        policy = writer(open_policy(game, recipe, print))
        run = create(game, recipe, tmp_path / name, {}, policy.tokenizer, 1)
        if name == "parts":
            stop = _StopInWarmUp()
            outcome = train(game, recipe, run, policy, observers=[stop], interrupt=stop.interrupt)
            assert (outcome.step, outcome.finished, run.records()) == (0, False, [])
            first = recipe_of(game, steps=1, **settings)
            assert train(game, first, run, writer(open_policy(game, first, print))).finished
        again = writer(open_policy(game, recipe, print))
        assert train(game, recipe, RunFolder(run.path), again).finished
        records[name] = untimed(run.records())
    assert records["parts"] == records["whole"]


def test_the_command_warms_up_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.yaml").write_text(SHORT)
    given = ["model=tiny", "games=8", "group_size=8", "threads=1"]
    given += ["warm_up.expert=random", "warm_up.games=8", "warm_up.epochs=1"]
    flags = [part for one in given for part in ("--set", one)]
    assert main(["train", "short.yaml", "--steps", "1", "--out", "run", *flags,
                 "--format", "concise"]) == 0  # fmt: skip
    assert "warm-up, epoch 1 | loss" in capsys.readouterr().out
    assert main(["train", "--resume", "run", "--steps", "2", "--format", "concise"]) == 0
    assert "step 2/2" in capsys.readouterr().out
