"""`gamedsl eval` with vLLM: models and runs reply as they do by themselves, several in one process.

An evaluation takes the likeliest replies, which both engines must give, token for token.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.players.table import open_player
from gamedsl.policies.generation import Generated, Request, Then, TokenRow
from tests.writing import write

if TYPE_CHECKING:
    from gamedsl.policies.vllm import VllmPolicy

GAME = """
game: greet
roles: [ann, bob]
referees: [judge]
turns:
  - {role: ann, say: word, max_tokens: 12}
  - {role: bob, say: reply, max_tokens: 12}
  - {role: judge, choose: verdict, from: [kind, rude]}
payoffs: {ann: 1 if verdict == kind else 0, bob: 1 if verdict == rude else 0}
on_invalid: {all: {then: skip, pay: -1}, judge: {then: void}}
respond: {form: tag, think: 8, at_limit: close}
train: {model: smollm2-135m, adapters: per_role, temperature: 0.001, dtype: float32}
"""
VLLM = {"cache": 0.3, "context": 1024}
UNLIKELY = -10
"""A log-probability at the temperature of the game."""


def evaluated(folder: Path, *flags: str) -> dict[str, Any]:
    out, games = folder / "out.json", folder / "games"
    argv = ["eval", "smollm2-135m", "--against", "random", "--game", str(folder / "game.yaml")]
    more = ["--games", "2", "--temperature", "0", "--out", str(out), "--transcripts", str(games)]
    assert main([*argv, *more, *flags]) == 0
    said = [
        reply
        for file in sorted(games.iterdir())
        for line in file.read_text("utf-8").splitlines()
        for reply in json.loads(line).get("replies", [])
    ]
    return {"found": json.loads(out.read_text("utf-8")), "said": said}


def test_a_model_is_evaluated_as_by_itself(
    tmp_path: Path, policy: VllmPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gamedsl.policies.vllm_engine import VllmEngine

    started: list[VllmEngine] = []
    begin = VllmEngine.__init__

    def starting(self: VllmEngine, *given: Any, **settings: Any) -> None:
        begin(self, *given, **settings)
        started.append(self)

    monkeypatch.setattr(VllmEngine, "__init__", starting)
    found = []
    for number, flags in enumerate(
        ([], ["--engine", "vllm", "--vllm-cache", "0.3", "--vllm-context", "1024"])
    ):
        (folder := tmp_path / str(number)).mkdir()
        write(folder, GAME)
        found.append(evaluated(folder, *flags))
    assert [one["found"].pop("engine") for one in found] == ["hf", "vllm"]
    assert found[0]["said"]
    assert found[0] == found[1]
    (engine,) = started
    assert engine.longest == VLLM["context"]
    engine.close()
    asked = Request((("user", "Say a."),), "plain", 4)
    assert policy.generate([asked])[0].reply_ids, "the other engine goes on"


def rarest(policy: Any, adapter: str, reply: Generated) -> float:
    """The least log-probability of a reply's tokens at the run's temperature.

    0.01 nats below the likeliest token are -10 here, which tells near ties, where engines may
    differ, from another adapter's words.
    """
    start = len(reply.prompt_ids)
    ids = reply.prompt_ids + reply.reply_ids
    (row,) = policy.token_log_probs([TokenRow(adapter, ids, ((start, len(ids)),), 0.001)])
    return float(row.min())


def test_engines_side_by_side_do_not_interfere(
    tmp_path: Path, policy: VllmPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its two adapters, which differ, with the run's own settings where none are given."""
    import torch

    from gamedsl.players.base import Posed
    from gamedsl.players.model import SpeakingPlayer
    from gamedsl.policies.vllm import VllmPolicy as Engine
    from gamedsl.training.engine import open_policy
    from gamedsl.training.runfolder import create, write_adapters
    from tests.engines.conftest import shake
    from tests.train.conftest import recipe_of

    game = gamedsl.load(write(tmp_path, GAME))
    own: Any = {"model": "smollm2-135m", "vllm.context": 1024, "engine": "vllm"}
    recipe = recipe_of(game, **own)
    trained = open_policy(game, recipe_of(game, model="smollm2-135m"), lambda text: None)
    for seed, name in enumerate(("ann", "bob")):
        shake(trained, name, torch.Generator().manual_seed(seed))
    run = create(game, recipe, tmp_path / "run", {}, trained.tokenizer, 1)
    write_adapters(run, trained)
    player: Any = open_player(f"run:{run.path}", game, seed=0, vllm={"cache": 0.3})
    assert isinstance(player, SpeakingPlayer)
    written: list[tuple[str, Generated]] = []
    serve = player.policy.serve

    def keep(requests: Sequence[Request], then: Then) -> None:
        def kept(index: int, reply: Generated) -> Sequence[Request]:
            written.append((requests[index].adapter, reply))
            return then(index, reply)

        serve(requests, kept)

    monkeypatch.setattr(player.policy, "serve", keep)
    episode = game.env().reset(seed=3)
    for _ in range(2):
        (decision,) = episode.decisions
        (answered,) = player.answers([Posed(decision, episode, 5)])
        episode.step({decision.seat: answered.reply})
    assert [adapter for adapter, _ in written] == ["ann", "bob"]
    for adapter, reply in written:
        assert rarest(trained, adapter, reply) > UNLIKELY
        other = "bob" if adapter == "ann" else "ann"
        assert rarest(trained, other, reply) < UNLIKELY
    assert isinstance(player.policy, Engine)
    assert player.policy._engine.longest == 1024
    player.policy.close()
