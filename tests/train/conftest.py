"""Small games, policies and runs for the tests of the trainer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.policies.base import Policy, Query
from gamedsl.recipe.resolve import override, resolve
from gamedsl.recipe.table import Overlong, Recipe
from gamedsl.runs.record_fields import shape_of
from gamedsl.runtime import Game
from gamedsl.training import checkpoint
from gamedsl.training.advantages import Advantages
from gamedsl.training.engine import open_policy
from gamedsl.training.estimators import ActionSums, Experience, action_sums
from gamedsl.training.interrupt import Interrupt
from gamedsl.training.loop import Outcome, train
from gamedsl.training.runfolder import RunFolder, create, open_run
from gamedsl.training.trajectories import Batch

DILEMMA = """
game: dilemma
roles: [row, column]
actions: [cooperate, defect]
protocol: simultaneous
payoffs: |
  row, column | cooperate | defect
  cooperate   | 3, 3      | 0, 5
  defect      | 5, 0      | 1, 1
labels: masked
"""
OFFER = """
game: offer
roles: [proposer, responder]
turns:
  - {role: proposer, choose: offer, from: {low: 2, fair: 5, high: 8}}
  - {role: responder, choose: answer, from: [accept, reject]}
payoffs:
  proposer: 10 - offer if answer == accept else 0
  responder: offer if answer == accept else 0
labels: masked
"""
CROWD = """
game: crowd
roles: {guest: 4}
turns:
  - {role: all, choose: place, from: 0..9}
payoffs: count(place[r] == place.me for r in others)
"""
HIDDEN = """
game: hidden
roles: [holder, caller]
turns:
  - {deal: card, from: [low, high], seen_by: owner}
  - {role: holder, choose: claim, from: [low, high]}
  - {role: caller, choose: answer, from: [trust, doubt]}
let:
  truth: claim == card.holder
  fooled: truth == (answer == doubt)
payoffs: 1 if (me == holder) == fooled else -1
"""
ANEW = DILEMMA.replace("labels: masked", "labels: {masked: syllables, per: episode}")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """These models are too small for more, and other tests may run beside."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[[str], Game]:
    """A game out of its text."""

    def build(text: str) -> Game:
        path = tmp_path / f"{text.split()[1]}.yaml"
        path.write_text(text, encoding="utf-8")
        return gamedsl.load(path)

    return build


def recipe_of(game: Game, **settings: Any) -> Recipe:
    """The game's recipe with settings on top; `lora__rank=4` is `lora.rank: 4`."""
    problems = Problems()
    given = {"model": "tabular", "transcripts_every": 1000, **settings}
    overrides = [override(key.replace("__", "."), value) for key, value in given.items()]
    recipe = resolve(game.ir, overrides, problems)
    assert not problems.found, problems.found
    return recipe


def policy_of(game: Game, recipe: Recipe) -> Policy:
    return open_policy(game, recipe, lambda line: None)


def run_of(game: Game, recipe: Recipe, folder: Path, **given: Any) -> tuple[RunFolder, Outcome]:
    """Train from nothing into a folder. All fields of its records stand in their table."""
    policy = policy_of(game, recipe)
    run = create(game, recipe, folder, {}, policy.tokenizer, 2)
    outcome = train(game, recipe, run, policy, **given)
    for record in run.records():
        assert set(record) <= shape_of(record["event"]).optional.keys()
    return run, outcome


def weighed(
    batch: Batch,
    learns: Collection[str] | None = None,
    kept: dict[str, Any] | None = None,
    alternatives: Any = None,
    written: bool = False,
    **settings: Any,
) -> Any:
    """The sums of a batch's advantages, with `samples` and `void`; all roles are trained, and all
    learn unless said. `kept`: from the steps before."""
    given = {"baseline": "mean", "scale": "none", "compare": "turn", "credit": "own", **settings}
    given |= {"baseline_rate": 0.1, "overlong": Overlong(0, 0.2)}
    given["learners"] = lambda ir: {sample.role for _, sample in batch.samples}
    advantages = Advantages(SimpleNamespace(**given), alternatives, written=written)
    if kept is not None:
        advantages.restore(kept)
    roles = {sample.role for _, sample in batch.samples}
    found = advantages.weigh(batch, roles if learns is None else learns)
    sums = action_sums(batch.queries, found.advantages)
    return SimpleNamespace(**vars(sums), sums_A=sums.sums_A, void=found.void)


def experience(
    queries: Sequence[Query], sums: ActionSums, step: int = 1, batch: Batch | None = None
) -> Experience:
    """What a method is given of scored replies."""
    return Experience(step, batch or Batch(step=step), queries, sums, samples=sums.samples)


def untimed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records without what no two runs share."""
    return [{k: v for k, v in record.items() if k != "seconds"} for record in records]


class StopAfter:
    """Asks for an interruption once a step is done, as a signal would."""

    def __init__(self, step: int) -> None:
        self.interrupt = Interrupt()
        self._step = step

    def progress(self, record) -> None: ...
    def start(self, record) -> None: ...

    def step(self, record) -> None:
        if record["step"] >= self._step:
            self.interrupt.ask()

    def end(self, record) -> None: ...


def same(one: Path, other: Path) -> None:
    """The metrics, line by line, and every tensor of the last checkpoint."""
    one_run, other_run = open_run(one), open_run(other)
    assert untimed(one_run.records()) == untimed(other_run.records())
    a, b = checkpoint.latest(one_run), checkpoint.latest(other_run)
    assert a is not None
    assert b is not None
    assert a.step == b.step
    assert list(a.adapters) == list(b.adapters)
    for name in a.adapters:
        assert list(a.adapters[name]) == list(b.adapters[name])
        for key, tensor in a.adapters[name].items():
            assert torch.equal(tensor, b.adapters[name][key])
    assert str(a.optimizer) == str(b.optimizer)
    assert str(a.parts) == str(b.parts)
