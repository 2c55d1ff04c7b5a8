"""A warm start reaches its target, leaves the rest alone, and says when it cannot."""

from __future__ import annotations

import pytest
import torch

from gamedsl.ir.recipe import Start
from gamedsl.train import warm_start as module
from gamedsl.train.errors import TrainError
from gamedsl.train.gauge import Gauge
from gamedsl.train.warm_start import TOLERANCE, warm_start
from tests.train.conftest import OFFER, policy_of, recipe_of


def _fitted(game, recipe):
    policy = policy_of(game, recipe)
    gauge = Gauge(game.env(tokenizer=policy.tokenizer), recipe)
    before = policy.log_probs(gauge.queries)
    found = warm_start(policy, recipe, gauge.queries, gauge.places)
    after = policy.log_probs(gauge.queries)
    named = {
        place.information_set: (dict(zip(place.legal, b.exp().tolist(), strict=True)), a.exp())
        for place, b, a in zip(gauge.places, after, before, strict=True)
    }
    return found, named


def test_named_decisions_move_and_others_stay(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, model="tiny", start={"responder": {"accept": 0.8}})
    found, policy = _fitted(game, recipe)
    assert found.steps > 0
    assert found.distance <= TOLERANCE
    answers = [key for key in policy if key.startswith("responder")]
    assert len(answers) == 3
    for key in answers:
        assert policy[key][0]["accept"] == pytest.approx(0.8, abs=TOLERANCE)
    now, before = policy["proposer:offer"]
    assert torch.allclose(torch.tensor(list(now.values())), before, atol=0.1)


def test_uniform_play(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, model="tiny", prior="uniform", start={"proposer": {"fair": 0.6}})
    _, policy = _fitted(game, recipe)
    for key, (now, _) in policy.items():
        wanted = [0.2, 0.6, 0.2] if key.startswith("proposer") else [0.5, 0.5]
        assert list(now.values()) == pytest.approx(wanted, abs=TOLERANCE)


def test_what_cannot_be_reached_is_said(compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    game = compiled(OFFER)
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    recipe = recipe_of(game, model="tiny", start={"responder": {"accept": 0.01}})
    with pytest.raises(
        TrainError, match=r"did not reach its target: after 1 steps responder:answer"
    ):
        _fitted(game, recipe)


@pytest.mark.parametrize(
    ("probs", "legal", "wanted"),
    [
        ({"a": 0.8}, ("a", "b", "c"), (0.8, 0.1, 0.1)),
        ({"a": 0.25, "b": 0.75}, ("a", "b"), (0.25, 0.75)),
        ({"a": 0.8}, ("b", "c"), None),
        ({"a": 0.2, "b": 0.2}, ("a", "b"), (0.5, 0.5)),
    ],
)
def test_targets(probs: dict, legal: tuple, wanted: tuple | None) -> None:
    target = Start("r", None, tuple(probs.items())).target(legal)
    assert target == (wanted if wanted is None else pytest.approx(wanted))
