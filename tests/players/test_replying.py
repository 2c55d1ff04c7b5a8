"""How a model replies: options are scored as they are written, and drawn from what that gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import gamedsl
from gamedsl.backends.forms import ASKED, written
from gamedsl.backends.replies import ParseFailure
from gamedsl.players.replying import Asked, query_of, replies
from gamedsl.policies.hf import HFPolicy
from gamedsl.runtime import Decision, Game
from tests.writing import write

GAME = """
game: pick
roles: [picker]
turns: [{{role: picker, choose: card, from: [ace, king, ten]}}]
payoffs: 1
respond: {respond}
"""


@pytest.fixture(scope="module")
def tiny() -> HFPolicy:
    return HFPolicy("tiny")


def asked_in(respond: str, folder: Path) -> tuple[Game, Decision]:
    game = gamedsl.load(write(folder, GAME.format(respond=respond)))
    return game, game.env().reset(seed=0).decisions[0]


@pytest.mark.parametrize("form", ASKED)
def test_options_are_scored_as_they_are_written(tiny: HFPolicy, form: str, tmp_path: Path) -> None:
    """Every answer is valid, and as frequent as the softmax over the written options has it."""
    game, decision = asked_in(form, tmp_path)
    query = query_of(decision, "shared")
    assert query.labels == tuple(written(label, decision.form) for label in decision.labels)
    odds = (tiny.log_probs([query])[0].double() / 0.5).softmax(0).tolist()
    drawn = replies(tiny, [Asked(decision, "shared", seed) for seed in range(2000)], 0.5)
    count = Counter(reply.choice.action for reply in drawn if reply.choice is not None)
    assert sum(count.values()) == 2000
    assert all(abs(count[at] / 2000 - share) < 0.05 for at, share in enumerate(odds))
    for reply in drawn[:20]:
        episode = game.env().reset(seed=0)
        assert episode.hear(decision, reply.text) == episode.hear(decision, reply.answer)
        assert not isinstance(episode.hear(decision, reply.answer), ParseFailure)


def test_no_temperature_takes_the_likeliest(tiny: HFPolicy, tmp_path: Path) -> None:
    _, decision = asked_in("tag", tmp_path)
    best = int(tiny.log_probs([query_of(decision, "shared")])[0].argmax())
    drawn = replies(tiny, [Asked(decision, "shared", seed) for seed in range(9)], 0)
    assert [reply.choice and reply.choice.action for reply in drawn] == [best] * 9


def test_a_reply_is_of_its_seed_alone(tiny: HFPolicy, tmp_path: Path) -> None:
    _, decision = asked_in("tool", tmp_path)
    asked = [Asked(decision, "shared", seed) for seed in range(8)]
    together = [reply.answer for reply in replies(tiny, asked, 1)]
    assert [replies(tiny, [one], 1)[0].answer for one in asked] == together
    assert len(set(together)) > 1
