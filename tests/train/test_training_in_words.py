"""Training in words: what is said is learned from, token by token, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from gamedsl.diagnostics import Problems
from gamedsl.policies.generation import Generated
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.resolve import override, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training.engine import open_policy
from gamedsl.training.loop import train
from gamedsl.training.losses import TokenBatch
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import RunFolder, create
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Lineages, Sessions, writer
from gamedsl.training.trajectories import Batch, Sample, Trajectory
from tests.train import in_words
from tests.train.in_words import learn, opened, steps_of, weighed

recipe_of = partial(in_words.recipe_of, lr=0.02)

SPEAK = """
game: speak
roles: [speaker]
turns:
  - {role: speaker, say: word, max_tokens: 8}
payoffs: 1
on_invalid: {then: forfeit, pay: -1}
"""
PAIR = """
game: pair
roles: [asker, teller]
turns:
  - {role: asker, choose: ask, from: [news, time]}
  - {role: teller, say: word, max_tokens: 8}
  - {role: asker, choose: heard, from: [yes, hum]}
payoffs: {asker: 1 if ask == news and heard == yes else 0, teller: 1}
on_invalid: {then: forfeit, pay: -1}
train: {adapters: per_role}
"""
LASTING = """
game: lasting
roles: [asker, teller]
state: {notes: {of: text(400), lasts: run}}
turns:
  - {show: notes, as: earlier, if: notes != none}
  - {role: asker, choose: ask, from: [news, time]}
  - {role: teller, say: notes, max_tokens: 300}
payoffs: {asker: 1 if ask == news else 0, teller: 1}
on_invalid: {then: forfeit, pay: -1}
"""


def test_a_model_learns_to_end_its_replies(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """Only a reply that ends within its tokens is valid and paid: what is paid is learned."""
    game = compiled(SPEAK)
    shape = {"games": 48, "group_size": 48, "lr": 0.02, "lr_schedule": "constant"}
    steps = steps_of(game, recipe_of(game, steps=12, **shape), tmp_path / "run")
    valid = [step["valid"]["speaker"] for step in steps]
    assert sum(valid[:3]) < 0.2, valid
    assert sum(valid[-3:]) > 1.2, valid
    assert max(step["sampler_gap"] for step in steps) < 1e-3


def test_labels_among_words_are_learned(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(PAIR)
    shape = {"games": 16, "group_size": 16, "lr": 0.005}
    recipe = recipe_of(game, steps=12, **shape, **{"roles.teller.player": "talker"})
    policy = writer(open_policy(game, recipe_of(game, steps=12), print))
    folder = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    seating = SeatAssignment(game.ir, recipe, {"teller": Scripted("fine")})
    train(game, recipe, folder, policy, seating=seating)
    rewards = [r["reward"]["asker"] for r in folder.records() if r["event"] == "step"]
    assert rewards[-1] > 0.8, rewards


class Scripted:
    """A player that says one thing, whatever it is asked."""

    def __init__(self, text: str | ParseFailure) -> None:
        self.text = text

    def act(self, decision: Any, episode: Any) -> Any:
        return self.text


@pytest.mark.parametrize("misbehaves", [False, True])
def test_the_innocent_learn_nothing_from_a_forfeit(
    compiled: Callable[[str], Game], misbehaves: bool
) -> None:
    game = compiled(PAIR)
    recipe = recipe_of(game, **{"roles.teller.player": "talker", "baseline": "none"})
    policy = writer(open_policy(game, recipe_of(game), print))
    said = ParseFailure("empty") if misbehaves else "fine"
    seating = SeatAssignment(game.ir, recipe, {"teller": Scripted(said)})
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1, seating)
    found = weighed(batch, recipe, seating.learners)
    worth = found.advantages
    before = policy.adapter_state("asker")
    plain = torch.optim.SGD(policy.parameters("asker"))
    learn(policy, plain, worth, batch.queries, recipe, 1)
    after = policy.adapter_state("asker")
    same = all(torch.equal(before[name], after[name]) for name in before)
    assert (found.void == len(batch.trajectories), len(worth) == 0, same) == (misbehaves,) * 3


def test_what_is_trained_is_what_was_said(compiled: Callable[[str], Game]) -> None:
    """The trained tokens of a game, one after another, are the replies of one seat alone."""
    game = compiled(SPEAK.replace("- {role", "- repeat: 3\n    turns: [{role").replace("8}", "8}]"))
    recipe = recipe_of(game)
    policy = opened(game, recipe)
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Sessions(policy), recipe, 1, SeatAssignment(game.ir, recipe))
    worth = weighed(batch, recipe, frozenset({"speaker"})).advantages
    lesson = TokenBatch(worth, batch.queries, 1.0)
    trained = [row.ids[at] for row in lesson.rows for at in row.positions]
    said = [i for _, one in batch.samples if one.written for i in one.written.reply_ids]
    assert sorted(trained) == sorted(said)
    assert lesson.tokens == len(said)
    assert all(len(gain) == len(drawn) for gain, drawn in zip(lesson.gains, lesson.drawn))


class Counting:
    """A player that says how often it has spoken; every third time it says nothing valid."""

    def __init__(self) -> None:
        self.said = 0

    def act(self, decision: Any, episode: Any) -> Any:
        self.said += 1
        return ParseFailure("empty") if self.said % 3 == 1 else f"note {self.said}"


def test_group_memory_comes_from_first_valid_game(
    compiled: Callable[[str], Game],
) -> None:
    game = compiled(LASTING)
    recipe = recipe_of(game, games=8, group_size=4, **{"roles.teller.player": "talker"})
    policy = writer(open_policy(game, recipe_of(game), print))
    seating, lineages = SeatAssignment(game.ir, recipe, {"teller": Counting()}), Lineages()
    env = game.env(tokenizer=policy.tokenizer)
    began: list[list[Any]] = []
    for step in (1, 2, 3):
        batch = play(env, Sessions(policy, lineages), recipe, step, seating)
        lineages.carry_on(batch.trajectories)
        began.append([one.episode.transcript["memory"] for one in batch.trajectories])
    # of games 1 to 8 of a step those numbered 1, 4 and 7 fail in the first, 2, 5 and 8 in the next
    assert began[0] == [{}] * 8
    assert began[1] == [{"notes": "note 2"}] * 4 + [{"notes": "note 5"}] * 4
    assert began[2] == [{"notes": "note 9"}] * 4 + [{"notes": "note 14"}] * 4
    kept = Lineages()
    kept.restore(lineages.state())
    assert [kept.of(0), kept.of(1), kept.of(2)] == [lineages.of(0), lineages.of(1), {}]
    asked = next(one for one in batch.trajectories[0].samples if one.step == "ask")
    assert asked.seat == "asker"


def test_memory_stays_where_a_group_fails(compiled: Callable[[str], Game]) -> None:
    game = compiled(LASTING)
    recipe = recipe_of(game, **{"roles.teller.player": "talker"})
    policy = writer(open_policy(game, recipe_of(game), print))
    lineages = Lineages()
    lineages.restore({"memories": {0: {"notes": "as before"}}})
    seating = SeatAssignment(game.ir, recipe, {"teller": Scripted(ParseFailure("empty"))})
    batch = play(game.env(), Sessions(policy, lineages), recipe, 1, seating)
    lineages.carry_on(batch.trajectories)
    assert lineages.of(0) == {"notes": "as before"}


@pytest.mark.parametrize(
    ("text", "settings"), [(SPEAK, {}), (LASTING, {"roles.teller.player": "random"})]
)
def test_stopped_run_resumes_to_the_same_numbers(
    compiled: Callable[[str], Game], tmp_path: Path, text: str, settings: dict[str, Any]
) -> None:
    game = compiled(text)
    recipe = recipe_of(game, steps=3, checkpoint_every=1, transcripts_every=1, **settings)
    whole = steps_of(game, recipe, tmp_path / "whole")

    class Stop:
        asked = False

    class Watch:
        def progress(self, record: Any) -> None: ...
        def start(self, record: Any) -> None: ...
        def warm_up(self, record: Any) -> None: ...
        def end(self, record: Any) -> None: ...
        def step(self, record: Any) -> None:
            Stop.asked = True

    policy = opened(game, recipe)
    folder = create(game, recipe, tmp_path / "parts", {}, policy.tokenizer, 1)
    stopped: Any = Stop()
    assert not train(game, recipe, folder, policy, observers=[Watch()], interrupt=stopped).finished
    again = opened(game, recipe)
    assert train(game, recipe, RunFolder(folder.path), again).finished
    parts = [record for record in folder.records() if record["event"] == "step"]
    assert [_told(r) for r in parts] == [_told(r) for r in whole]
    told = [sorted((tmp_path / run).rglob("*.jsonl*")) for run in ("whole", "parts")]
    texts = [[path.read_text("utf-8") for path in paths if "step" in path.name] for paths in told]
    assert texts[0] == texts[1]
    assert len(texts[0]) == 3
    if game.ir.lasting:
        assert '"memory": {"notes": ' in texts[0][2]


def _told(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "seconds"}


def said(group: int, occurrence: int, invalid: ParseFailure | None = None) -> Sample:
    words = Generated((1,), (2,), (-1.0,), "a", "stop")
    return Sample(
        None, None, "speaker", "speaker", "word", occurrence, adapter="shared", written=words,
        invalid=invalid,
    )  # fmt: skip


def amounts(batch: Batch, recipe: Recipe) -> list[float]:
    return [one.amount for one in weighed(batch, recipe, {"speaker"}).advantages]


def test_advantages_are_within_a_group_and_a_question(compiled: Callable[[str], Game]) -> None:
    game = compiled(SPEAK)
    batch = Batch()
    for group, reply in ((0, "fine"), (0, ""), (1, "fine"), (1, "fine")):
        episode = game.env().reset(seed=group)
        episode.step({"speaker": reply})
        wrong = ParseFailure("empty") if not reply else None
        batch.trajectories.append(Trajectory(group, 1, (said(group, 0, wrong),), episode))
    values = amounts(batch, recipe_of(game))
    assert values == [1.0, -1.0, 0.0, 0.0]
    assert amounts(batch, recipe_of(game, baseline="leave_one_out")) == [2.0, -2.0, 0.0, 0.0]
    assert amounts(batch, recipe_of(game, baseline="none")) == [1.0, -1.0, 1.0, 1.0]
    by_prompt = recipe_of(game, baseline="information_set", group_size=1)
    values = amounts(batch, by_prompt)
    assert values == [0.5, -1.5, 0.5, 0.5]
    (other,) = batch.trajectories[0].samples
    elsewhere = other._replace(written=replace(other.written, prompt_ids=(7,)))
    batch.trajectories[0] = replace(batch.trajectories[0], samples=(elsewhere,))
    values = amounts(batch, by_prompt)
    assert values == pytest.approx(
        [0.5, -4 / 3, 2 / 3, 2 / 3]
    )  # alone at its prompt: against the question's mean


@pytest.mark.parametrize(
    "setting",
    [
        ("method", "magnet"),
        ("prior", "uniform"),
        ("until.exploitability", 0.1),
    ],
)
def test_what_is_for_closed_decisions_is_refused(
    compiled: Callable[[str], Game], setting: tuple[str, Any]
) -> None:
    problems = Problems()
    resolve(compiled(SPEAK).ir, [override(*setting)], problems)
    assert any(found.code == "GD0704" for found in problems.found)


def test_recipe_with_every_setting_is_accepted(compiled: Callable[[str], Game]) -> None:
    """As a run that is taken up has it: what is for closed decisions is there, at its default."""
    recipe = recipe_of(compiled(SPEAK), steps=3)
    given = [override(key, value) for key, value in recipe.as_dict().items()]
    problems = Problems()
    assert resolve(compiled(SPEAK).ir, given, problems) == recipe
    assert not problems.found
