"""A warm start reaches its target, leaves the rest alone, and says when it cannot."""

from __future__ import annotations

import pytest

from gamedsl.recipe.table import Start
from gamedsl.training import warm_start as module
from gamedsl.training.errors import TrainError
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.warm_start import TOLERANCE, warm_start
from tests.train.conftest import OFFER, policy_of, recipe_of


def _fit(game, policy, **settings):
    """How the fit went, and the policy after it: information set -> action -> probability."""
    recipe = recipe_of(game, model="tiny", **settings)
    gauge = PolicyMetrics(game.env(tokenizer=policy.tokenizer), recipe)
    found = warm_start(policy, recipe, gauge.queries, gauge.places)
    after = policy.log_probs(gauge.queries)
    return found, {
        place.information_set: dict(zip(place.legal, log_pi.exp().tolist(), strict=True))
        for place, log_pi in zip(gauge.places, after, strict=True)
    }


@pytest.fixture
def game(compiled):
    return compiled(OFFER)


@pytest.fixture
def policy(game):
    return policy_of(game, recipe_of(game, model="tiny"))


def test_named_decisions_move_and_others_stay(game, policy) -> None:
    found, at_first = _fit(game, policy, start={"proposer": {"low": 0.7}})
    assert found.steps > 0
    assert found.distance <= TOLERANCE
    assert list(at_first["proposer:offer"].values()) == pytest.approx([0.7, 0.15, 0.15], abs=0.01)

    _, after = _fit(game, policy, start={"responder": {"accept": 0.8}})
    answers = [key for key in after if key.startswith("responder")]
    assert len(answers) == 3
    for key in answers:
        assert after[key]["accept"] == pytest.approx(0.8, abs=TOLERANCE)
    assert after["proposer:offer"] == pytest.approx(at_first["proposer:offer"], abs=0.1)


@pytest.mark.parametrize("temperature", [0.5, 2])
def test_the_target_is_of_what_is_played(game, policy, temperature: float) -> None:
    found, raw = _fit(game, policy, temperature=temperature, start={"proposer": {"low": 0.7}})
    assert found.distance <= TOLERANCE
    played = {name: prob ** (1 / temperature) for name, prob in raw["proposer:offer"].items()}
    assert played["low"] / sum(played.values()) == pytest.approx(0.7, abs=TOLERANCE)


def test_uniform_play(game, policy) -> None:
    _, after = _fit(game, policy, prior="uniform", start={"proposer": {"fair": 0.6}})
    for key, now in after.items():
        wanted = [0.2, 0.6, 0.2] if key.startswith("proposer") else [0.5, 0.5]
        assert list(now.values()) == pytest.approx(wanted, abs=TOLERANCE)


def test_what_cannot_be_reached_is_said(game, policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    said = "did not reach its target: after 1 steps responder:answer"
    with pytest.raises(TrainError, match=said):
        _fit(game, policy, start={"responder": {"accept": 0.01}})


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
