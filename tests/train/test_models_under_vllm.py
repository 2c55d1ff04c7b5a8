"""`engine: vllm` where roles have models of their own: an engine for each, and each gets its own
adapters.

In vLLM's place writes an engine that knows a model as vLLM does: by the base model's folder, and by
the adapter folders that it is handed. The models have one shape, so that nothing but the numbers
would tell that two were mixed up.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from gamedsl.policies import random_models, vllm
from gamedsl.policies.generation import Generated, Request, Session, TokenRow
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.policies.multi_model import MultiModelWriter
from gamedsl.policies.vllm import VllmPolicy
from gamedsl.runtime import Game
from gamedsl.training.engine import open_policy
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create
from tests.train.test_models_of_roles import OPPOSITES, likely, recipe_of

STEPS = 3
WRITERS = {"ann": "one", "bob": "other"}
"""The roles that write, with their models; the judge is only scored."""


class StandIn:
    """A `VllmEngine` by transformers: a model of its own, with the adapters that it was handed."""

    made: list[StandIn]

    def __init__(
        self, where: str, tokenizer: Any, *, rank: int, version: Callable[[str], int],
        save: Callable[[str, Path], None], **_: Any,
    ) -> None:  # fmt: skip
        self.where = Path(where)
        self._own = HFPolicy(where, ("none",), lora=LoraSpec(rank=rank))
        self._version, self._save = version, save
        self._known: dict[str, int] = {}
        self.handed: list[str] = []
        StandIn.made.append(self)

    longest = 4096

    def session(self) -> Session:
        return _Session(self, self._own.session())

    def hand_over(self, name: str) -> None:
        """Take an adapter anew where its weights were written to."""
        if self._known.get(name) == self._version(name):
            return
        if name not in self._own.adapters:
            self._own.add_adapter(name)
        folder = self.where / f"{name}-{len(self.handed)}"
        self._save(name, folder)
        self._own.load_adapter(name, folder)
        self._known[name] = self._version(name)
        self.handed.append(name)

    def rest(self) -> None: ...

    def close(self) -> None: ...

    def forget(self) -> None:
        self._own.forget()


class _Session:
    def __init__(self, engine: StandIn, own: Session) -> None:
        self._engine, self._own = engine, own

    @property
    def under_way(self) -> bool:
        return self._own.under_way

    def ask(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._engine.hand_over(request.adapter)
        self._own.ask(requests)

    def step(self) -> list[tuple[int, Generated]]:
        return self._own.step()

    def close(self) -> None:
        self._own.close()


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has `StandIn` take the place of vLLM, which then counts as installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: find("json" if name == "vllm" else name)
    )
    monkeypatch.setattr(vllm, "VllmEngine", StandIn)
    monkeypatch.setattr(StandIn, "made", [], raising=False)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two models on disk, by name; what stands in for vLLM takes its place."""
    stand_in(monkeypatch)
    found = {}
    for seed, name in enumerate(("one", "other")):
        model, tokenizer = random_models.build_tiny(seed)
        found[name] = tmp_path / name
        model.save_pretrained(found[name])
        tokenizer.save_pretrained(found[name])
    return found


def test_each_engine_writes_for_its_own_roles(
    compiled: Callable[[str], Game], tmp_path: Path, folders: dict[str, Path]
) -> None:
    """With its own base model, and the adapters that were trained last: what the trainer's model
    says of each token that was drawn is what the engine said, in every step, and no other adapter
    says so."""
    game = compiled(OPPOSITES.replace("model: small", f"model: {folders['other']}"))
    shape = {"engine": "vllm", "steps": STEPS, "games": 6, "group_size": 6, "lr": 0.02}
    recipe = recipe_of(game, model=str(folders["one"]), **shape)
    policy = open_policy(game, recipe, lambda text: None)
    assert isinstance(policy, MultiModelWriter)
    assert all(isinstance(one, VllmPolicy) for one in policy.models)
    first = likely(game, policy)
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy).finished
    engines = {engine.where: engine for engine in StandIn.made}
    assert list(engines) == list(folders.values()), "an engine for each model"
    for role, name in WRITERS.items():
        engine = engines[folders[name]]
        assert engine.handed == [role] * STEPS, "handed over once a step, and no other is"
    steps = [record for record in run.records() if record["event"] == "step"]
    assert max(step["sampler_gap"] for step in steps) < 1e-3
    last = likely(game, policy)
    assert all(last[role] > first[role] + 0.2 for role in first), (first, last)
    for role, other in (("ann", "bob"), ("bob", "ann")):
        (reply,) = policy.generate([Request((("user", "Say something."),), role, 6, seed=3)])
        ids = reply.prompt_ids + reply.reply_ids
        rows = [TokenRow(name, ids, ((len(reply.prompt_ids), len(ids)),)) for name in (role, other)]
        own, others = policy.token_log_probs(rows)
        drawn = torch.tensor(reply.log_probs)
        torch.testing.assert_close(own, drawn, atol=1e-4, rtol=0)
        assert float((others - drawn).abs().max()) > 0.1
