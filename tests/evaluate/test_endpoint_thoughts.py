"""Thoughts at an endpoint: where a server can go on from its own words, what follows a thought
is held to the options; elsewhere thought and answer are written in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.players import open_player
from gamedsl.players.base import Answered, Posed
from gamedsl.players.endpoint import ANSWER_TOKENS, EndpointPlayer
from gamedsl.policies.endpoint import EndpointSettings
from gamedsl.policies.endpoint_protocol import Constrain
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime import Episode, Game
from tests.evaluate.serving import Body, Reply, serving
from tests.writing import write

PICK = """
game: pick
roles: [picker]
turns: [{role: picker, choose: card, from: [red, tan]}]
payoffs: 1 if card == tan else 0
respond: {form: tag, think: 6, at_limit: LIMIT}
on_invalid: {then: forfeit, pay: -1}
"""
ANSWERS = ["<answer>red</answer>", "<answer>tan</answer>"]


def picked(folder: Path, limit: str) -> Game:
    return gamedsl.load(write(folder, PICK.replace("LIMIT", limit)))


def asked(
    game: Game, constrain: Constrain | None, reply: Callable[[int, Body], Reply]
) -> tuple[Answered, list[dict[str, Any]], Episode]:
    """One decision at a server that answers so: the reply, and what the server was asked."""
    episode = game.env().reset(seed=0)
    (decision,) = episode.decisions
    with serving(reply) as served:
        settings = EndpointSettings(constrain=constrain, first_wait=0.01, timeout=5.0, retries=0)
        player = EndpointPlayer.of(f"{served.url}#m", settings)
        (answered,) = player.answers([Posed(decision, episode, 7)])
    episode.step({decision.seat: answered.reply})
    return answered, served.asked, episode


@pytest.mark.parametrize("constrain", ["structured_outputs", "guided"])
def test_answer_after_thought_is_constrained_to_options(
    tmp_path: Path, constrain: Constrain
) -> None:
    def reply(number: int, body: Body) -> Reply:
        usage = {"completion_tokens": 3, "total_tokens": 9}
        if number:
            return Reply(ANSWERS[1], usage=usage)
        return Reply("tan pays", usage=usage, more={"stop_reason": "</think>"})

    answered, (first, second), episode = asked(picked(tmp_path, "close"), constrain, reply)
    assert answered.reply == f"<think>\ntan pays</think>\n{ANSWERS[1]}"
    assert answered.tokens == 6
    assert episode.payoffs == {"picker": 1}
    prompt = first["messages"][:-1]
    assert first["messages"][-1] == {"role": "assistant", "content": "<think>\n"}
    assert (first["stop"], first["max_tokens"]) == (["</think>"], 6)
    assert second["messages"] == [
        *prompt, {"role": "assistant", "content": "<think>\ntan pays</think>\n"}
    ]  # fmt: skip
    choices = second["guided_choice"] if constrain == "guided" else \
        second["structured_outputs"]["choice"]  # fmt: skip
    assert choices == ANSWERS
    for body in (first, second):
        assert body["continue_final_message"] is True
        assert body["add_generation_prompt"] is False
        assert body["seed"] == 7


@pytest.mark.parametrize(
    ("finish", "limit", "reason"),
    [
        ("length", "close", None),
        ("length", "invalid", "truncated"),
        ("stop", "invalid", "unclosed"),
    ],
)
def test_unclosed_thought_follows_the_games_rule(
    tmp_path: Path, finish: str, limit: str, reason: str | None
) -> None:
    def reply(number: int, body: Body) -> Reply:
        return Reply(ANSWERS[1]) if number else Reply("well", finish=finish)

    answered, calls, episode = asked(picked(tmp_path, limit), "structured_outputs", reply)
    if reason is None:
        assert answered.reply == f"<think>\nwell\n</think>\n{ANSWERS[1]}"
        assert episode.payoffs == {"picker": 1}
    else:
        assert answered.reply == ParseFailure(reason, "<think>\nwell")
        assert len(calls) == 1
        assert episode.payoffs == {"picker": -1}


def test_other_servers_write_thought_and_answer_in_one(tmp_path: Path) -> None:
    text = f"<think>\ntan\n</think>\n{ANSWERS[1]}"
    answered, (body,), episode = asked(
        picked(tmp_path, "close"), None, lambda number, body: Reply(text)
    )
    assert answered.reply == text
    assert episode.payoffs == {"picker": 1}
    assert body["max_tokens"] == ANSWER_TOKENS + 6
    assert body["messages"][-1]["role"] == "user"
    assert "stop" not in body
    assert "continue_final_message" not in body


def test_act_sends_seeds_of_the_players_own(tmp_path: Path) -> None:
    game = picked(tmp_path, "close")
    episode = game.env().reset(seed=0)
    (decision,) = episode.decisions
    with serving(lambda number, body: Reply(f"<think>\ntan\n</think>\n{ANSWERS[1]}")) as served:
        for seed in (3, 3, 4):
            open_player(f"endpoint:{served.url}#m", game, seed=seed).act(decision, episode)
    first, again, other = (body["seed"] for body in served.asked)
    assert first == again != other
