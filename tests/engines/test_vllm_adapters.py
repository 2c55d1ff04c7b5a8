"""An adapter is handed over anew when its weights change, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from vllm_requests import TEXTS, asked, by_hf

if TYPE_CHECKING:
    from gamedsl.policies.vllm import VllmPolicy


def test_update_changes_only_its_adapters_replies(policy: VllmPolicy) -> None:
    """Each step makes one reply of `a` likelier, as training does."""
    import torch

    from gamedsl.policies.generation import join_turns

    requests = [asked(TEXTS[2], "a"), asked(TEXTS[2], "b")]
    before = policy.generate(requests)
    handed = dict(policy._engine._handed)
    assert policy.generate(requests) == before
    assert policy._engine._handed == handed, "handed over without a change"
    state = policy.adapter_state("a")
    wanted = policy.generate([asked(TEXTS[2], seed=1, temperature=1.0)])
    rows, _ = join_turns("a", wanted)
    optimizer = torch.optim.AdamW(policy.parameters("a"), lr=0.005)
    for _ in range(4):
        optimizer.zero_grad()
        policy.token_backward(rows, [-torch.ones(len(wanted[0].reply_ids))])
        optimizer.step()
    after = policy.generate(requests)
    assert after[0].text != before[0].text
    assert after[1] == before[1]
    assert policy._engine._handed["b"] == handed["b"]
    old, new = handed["a"].request, policy._engine._handed["a"].request
    assert old.lora_name != new.lora_name
    assert old.lora_int_id != new.lora_int_id
    assert policy._engine._vllm.list_loras().isdisjoint([old.lora_int_id])
    assert [Path(old.lora_path).exists(), Path(new.lora_path).exists()] == [False, True]
    assert after == by_hf(policy, requests)
    policy.load_adapter_state("a", state)
    assert policy.generate(requests) == before, "put back, and not handed over"


def test_sampler_is_close_to_trainer_not_equal(policy: VllmPolicy, tmp_path: Path) -> None:
    """`sampler_gap` of an update whose replies vLLM wrote: rounding, no more."""
    import torch

    import gamedsl
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import override, resolve
    from gamedsl.training.advantages import Advantage
    from gamedsl.training.rollout import play
    from gamedsl.training.seats import assign_seats
    from gamedsl.training.sessions import Sessions
    from tests.train.in_words import learn

    game = gamedsl.load("guess_in_words")
    given = {"engine": "vllm", "games": 2, "group_size": 2, "roles.guesser.adapter": "b"}
    recipe = resolve(game.ir, [override(k, v) for k, v in given.items()], Problems())
    batch = play(game.env(), Sessions(policy), recipe, 1, assign_seats(game, recipe))
    worth = [Advantage(number, one, 1, 1.0) for number, one in batch.samples]
    plain = torch.optim.SGD(policy.parameters("b"), lr=0.0)
    told = learn(policy, plain, worth, batch.queries, recipe, 1)
    assert 0 < told["sampler_gap"] < 1e-3
    assert told["grad_norm"] > 0


def test_sleep_needs_a_gpu() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    from gamedsl.policies.errors import ModelError
    from gamedsl.policies.vllm import VllmPolicy
    from gamedsl.policies.vllm_engine import VllmSettings

    with pytest.raises(ModelError, match="on a GPU alone"):
        VllmPolicy(settings=VllmSettings(idle="sleep"))


def test_engine_sleeps_between_update_and_reply(
    policy: VllmPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls alone: this engine has no memory of a GPU to free."""
    import torch

    from gamedsl.policies.generation import join_turns
    from gamedsl.policies.vllm_engine import VllmSettings

    engine, calls = policy._engine, []
    monkeypatch.setattr(engine, "_settings", VllmSettings(idle="sleep"))
    monkeypatch.setattr(engine._vllm, "sleep", lambda level: calls.append("sleep"))
    monkeypatch.setattr(engine._vllm, "wake_up", lambda: calls.append("wake"))
    request = asked(TEXTS[2], max_tokens=2)
    (reply,) = policy.generate([request])
    rows, _ = join_turns("plain", [reply])
    for _ in range(2):
        policy.token_backward(rows, [torch.zeros(len(reply.reply_ids))])
    policy.forget()
    assert calls == ["sleep"]
    assert policy.generate([request]) == [reply]
    assert calls == ["sleep", "wake"]
