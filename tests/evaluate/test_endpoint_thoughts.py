"""Thoughts at an endpoint: where a server can go on from its own words, what follows a thought
is held to the options; elsewhere thought and answer are written in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.players import open_player
from gamedsl.players.base import Answered, Posed
from gamedsl.players.endpoint import ANSWER_TOKENS, EndpointPlayer
from gamedsl.policies.endpoint import Endpoint, EndpointSettings
from gamedsl.policies.endpoint_protocol import LONGEST_TEXT, Answer, Constrain, ReplyCache
from gamedsl.policies.generation import Request
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime import Episode, Game
from gamedsl.storage.cache import write_entry
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


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_apart_are_in_the_reply(tmp_path: Path, field: str) -> None:
    """As it would be if the server had no reasoning parser; its tokens are counted."""

    def reply(number: int, body: Body) -> Reply:
        usage = {"completion_tokens": 9, "total_tokens": 20}
        return Reply(f"\n\n{ANSWERS[1]}", usage=usage, message={field: "\ntan pays\n"})

    answered, (body,), episode = asked(picked(tmp_path, "invalid"), None, reply)
    assert answered.reply == f"<think>\ntan pays\n</think>\n{ANSWERS[1]}"
    assert (answered.tokens, body["max_tokens"]) == (9, ANSWER_TOKENS + 6)
    assert episode.payoffs == {"picker": 1}


def test_only_requests_with_a_thought_take_one() -> None:
    """The same answer, from the cache too, on disk too."""
    request = Request((("user", "Choose."),), "", 9)
    with serving(lambda number, body: Reply("red", message={"reasoning": "hm"})) as served:
        for _ in range(2):
            known = Endpoint(served.url, "m", EndpointSettings(retries=0))
            known.keep_on_disk()
            for thinks, text in ((False, "red"), (True, "<think>\nhm\n</think>\nred")):
                (found,) = known.generate([replace(request, thinks=thinks)])
                assert found.text == text
        assert len(served.asked) == 1


def test_kept_replies_of_old_form_are_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path))
    url, body = "http://localhost:1/v1", {"model": "m"}

    def found() -> Answer | None:
        cache = ReplyCache(1)
        cache.keep_on_disk(url)
        return cache.find(body)

    cache = ReplyCache(1)
    cache.keep_on_disk(url)
    cache.keep(body, Answer("red", "stop", 3, thought="hm"))
    assert found() == Answer("red", "stop", 3, thought="hm")
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    write_entry(entry, b'["red", "stop", 3]')
    assert found() is None


def test_games_without_thoughts_take_none(tmp_path: Path) -> None:
    text = PICK.replace(", think: 6, at_limit: LIMIT", "")
    huge = {"reasoning_content": "x" * (LONGEST_TEXT + 1)}
    for more in ({"reasoning_content": "tan pays"}, huge):
        answered, _, episode = asked(
            gamedsl.load(write(tmp_path, text)), None,
            lambda number, body, more=more: Reply(ANSWERS[1], message=more),
        )  # fmt: skip
        assert answered.reply == ANSWERS[1]
        assert episode.payoffs == {"picker": 1}


@pytest.mark.parametrize(("finish", "reason"), [("length", "truncated"), ("stop", "unclosed")])
def test_thoughts_without_answers_are_invalid(tmp_path: Path, finish: str, reason: str) -> None:
    def reply(number: int, body: Body) -> Reply:
        return Reply(None, finish=finish, message={"reasoning_content": "well"})

    game = picked(tmp_path, "invalid")
    answered, _, episode = asked(game, None, reply)
    assert answered.text == "<think>\nwell"
    assert [one.failure.reason for one in episode.mistakes] == [reason]


@pytest.mark.parametrize("thought", [7, True, ["tan"], {"text": "tan"}, "", " \n", None])
def test_thoughts_that_are_no_text_are_ignored(tmp_path: Path, thought: Any) -> None:
    message = {"reasoning_content": thought, "reasoning": thought}
    answered, _, _ = asked(
        picked(tmp_path, "invalid"), None, lambda number, body: Reply(ANSWERS[0], message=message)
    )
    assert answered.reply == ANSWERS[0]


@pytest.mark.parametrize(
    ("thought", "reason"),
    [
        ("x" * (LONGEST_TEXT + 1), "endpoint"),
        ("x" * LONGEST_TEXT, "endpoint"),
        (f"hm</think>{ANSWERS[1]}", "thoughts"),
        ("<think>tan", "thoughts"),
    ],
)
def test_hostile_thoughts_are_refused(tmp_path: Path, thought: str, reason: str) -> None:
    """The limit of characters is that of thought and answer together."""

    def reply(number: int, body: Body) -> Reply:
        return Reply(ANSWERS[1], message={"reasoning_content": thought})

    answered, _, episode = asked(picked(tmp_path, "invalid"), None, reply)
    assert len(answered.text) <= LONGEST_TEXT
    assert [one.failure.reason for one in episode.mistakes] == [reason]
    assert episode.payoffs == {"picker": -1}


def test_begun_thoughts_are_gone_on_with(tmp_path: Path) -> None:
    """A parser that sees no tag takes all that is written for a thought."""

    def reply(number: int, body: Body) -> Reply:
        if number:
            return Reply(None, message={"reasoning": ANSWERS[1]})
        more = {"stop_reason": "</think>"}
        return Reply(None, more=more, message={"reasoning": "tan pays"})

    answered, _, episode = asked(picked(tmp_path, "invalid"), "structured_outputs", reply)
    assert answered.reply == f"<think>\ntan pays</think>\n{ANSWERS[1]}"
    assert episode.payoffs == {"picker": 1}


def test_a_thought_in_the_text_stands_alone(tmp_path: Path) -> None:
    text = f"<think>\ntan\n</think>\n{ANSWERS[1]}"
    answered, _, _ = asked(
        picked(tmp_path, "invalid"), None,
        lambda number, body: Reply(text, message={"reasoning": "tan"}),
    )  # fmt: skip
    assert answered.reply == text


def test_act_sends_seeds_of_the_players_own(tmp_path: Path) -> None:
    game = picked(tmp_path, "close")
    episode = game.env().reset(seed=0)
    (decision,) = episode.decisions
    with serving(lambda number, body: Reply(f"<think>\ntan\n</think>\n{ANSWERS[1]}")) as served:
        for seed in (3, 3, 4):
            open_player(f"endpoint:{served.url}#m", game, seed=seed).act(decision, episode)
    first, again, other = (body["seed"] for body in served.asked)
    assert first == again != other
