"""Tools at an endpoint: what is sent, which calls are read, and servers that take none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import gamedsl
from gamedsl.players.base import Answered, Posed
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.policies.endpoint import EndpointError, EndpointSettings
from gamedsl.policies.endpoint_protocol import Constrain
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime import Decision, Episode
from tests.evaluate.serving import Body, Reply, serving


@pytest.fixture(scope="module")
def hanabi() -> gamedsl.Game:
    return gamedsl.load("small_hanabi_tools")


def settings(**changed: Any) -> EndpointSettings:
    return EndpointSettings(**{"first_wait": 0.01, "timeout": 5.0, "retries": 0, **changed})


def call(name: Any, arguments: Any) -> Body:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(
    episode: Episode, reply: Callable[[int, Body], Reply], **changed: Any
) -> tuple[Answered, list[Body], Decision]:
    """The decision of an episode at a server that answers so."""
    (decision,) = episode.decisions
    with serving(reply) as served:
        player = EndpointPlayer.of(f"{served.url}#m", settings(**changed))
        (answered,) = player.answers([Posed(decision, episode, 7)])
    return answered, served.asked, decision


def test_actions_are_sent_as_tools(hanabi: gamedsl.Game) -> None:
    episode = hanabi.env().reset(seed=0)
    calls = [call("play", '{"i": 1}')]
    answered, (body,), decision = asked(
        episode, lambda number, body: Reply(None, calls=calls, finish="tool_calls")
    )
    assert answered.reply == '<tool_call>{"name": "play", "arguments": {"i": 1}}</tool_call>'
    assert episode.parse(decision, answered.reply) == "play(1)"
    functions = [tool["function"] for tool in body["tools"]]
    assert [function["name"] for function in functions] == ["play", "discard", "hint"]
    assert functions[0]["parameters"]["properties"] == {
        "i": {"type": "integer", "minimum": 0, "maximum": 1}
    }
    assert {tool["type"] for tool in body["tools"]} == {"function"}
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "<tool_call>" not in str(body["messages"])


@pytest.mark.parametrize(
    ("content", "calls", "reason"),
    [
        (None, [call("play", {"i": 1})], None),  # as Ollama has it
        ("I play.", [call("play", '{"i": 1}')], None),
        ('<tool_call>{"name": "play", "arguments": {"i": 1}}</tool_call>', None, None),
        ("play(1)", None, "missing"),
        ("play(1)", [], "missing"),
        (None, [call("discard", '{"i": 1}')], "illegal"),
        (None, [call("play", '{"i": 7}')], "value"),
        (None, [call("play", '{"i": "1"}')], "value"),
        (None, [call("play", "")], "fields"),
        (None, [call("play", '{"i": 1}}')], "malformed"),
        (None, [call("play", '{"i": 1}, "i": {}')], "fields"),
        (None, [call("play", '"</tool_call>"')], "several"),
        (None, [call("play", '{"i": ' + "1" * 5000 + "}")], "value"),
        (None, [call("play", "x" * 150_000)], "malformed"),
        (None, [call('play"', '{"i": 1}')], "value"),
        (None, [call("play", '{"i": 1}'), call("play", '{"i": 1}')], "several"),
        (None, [call(None, '{"i": 1}')], "endpoint"),
        (None, [{"function": None}], "endpoint"),
    ],
)
def test_hostile_calls_are_one_refused_reply(
    hanabi: gamedsl.Game, content: str | None, calls: Any, reason: str | None
) -> None:
    episode = hanabi.env().reset(seed=0)
    answered, _, decision = asked(episode, lambda number, body: Reply(content, calls=calls))
    found = episode.parse(decision, answered.reply)
    assert (found.reason if isinstance(found, ParseFailure) else None) == reason


@pytest.mark.parametrize(
    ("status", "text"),
    [(400, "no"), (422, "no"), (500, "tools need --jinja"), (404, "no tool use")],
)
def test_who_takes_no_tools_is_told_them(hanabi: gamedsl.Game, status: int, text: str) -> None:
    episode = hanabi.env().reset(seed=0)
    (decision,) = episode.decisions

    def answer(number: int, body: Body) -> Reply:
        if "tools" in body:
            return Reply(status=status, raw=text)
        return Reply(decision.write("play(0)"))

    with serving(answer) as served:
        player = EndpointPlayer.of(f"{served.url}#m", settings())
        for _ in range(2):
            (answered,) = player.answers([Posed(decision, episode, 7)])
            assert episode.parse(decision, answered.reply) == "play(0)"
    assert ["tools" in body for body in served.asked] == [True, False]  # and then kept
    said = [{"role": role, "content": content} for role, content in decision.messages]
    assert served.asked[1]["messages"] == said
    assert player.endpoint.budget.refused == {"tools": 1}


def test_another_error_is_told_as_it_is(hanabi: gamedsl.Game) -> None:
    episode = hanabi.env().reset(seed=0)
    with pytest.raises(EndpointError, match="too long"):
        asked(episode, lambda number, body: Reply(status=400, raw="the prompt is too long"))


@pytest.mark.parametrize("constrain", ["structured_outputs", "response_format"])
def test_options_are_held_to_where_that_is_asked(
    hanabi: gamedsl.Game, constrain: Constrain
) -> None:
    episode = hanabi.env().reset(seed=0)
    _, (body,), decision = asked(episode, lambda number, body: Reply("x"), constrain=constrain)
    holds = constrain == "structured_outputs"
    assert ("tools" in body) is not holds
    assert "response_format" not in body
    if holds:
        assert body["structured_outputs"]["choice"] == list(map(decision.write, decision.legal))


def test_a_result_is_a_message_of_the_tool() -> None:
    episode = gamedsl.load("tool_agent").env().reset(seed=0)
    episode.step({"agent": '{"name": "compute", "arguments": {"sum": "2 + 3"}}'})
    calls = [call("answer", '{"number": "5"}')]
    answered, (body,), _ = asked(episode, lambda number, body: Reply(None, calls=calls))
    _, _, made, told = body["messages"]
    (known,) = made["tool_calls"]
    assert made["content"] is None
    assert known["function"]["name"] == "compute"
    assert json.loads(known["function"]["arguments"]) == {"sum": "2 + 3"}
    assert (told["role"], told["tool_call_id"]) == ("tool", known["id"])
    assert told["content"].startswith("It is 5.")
    episode.step({"agent": answered.reply})
    assert episode.done
    assert not episode.mistakes


def test_who_thinks_may_write_before_a_call(tmp_path: Any) -> None:
    (tmp_path / "game.yaml").write_text(
        "game: pick\nroles: [ann]\nturns: [{role: ann, choose: card, from: [red, tan]}]\n"
        "payoffs: 1 if card == tan else 0\nrespond: {form: tool, think: 9}\n"
        "on_invalid: {then: forfeit, pay: -1}\n"
    )
    episode = gamedsl.load(tmp_path / "game.yaml").env().reset(seed=0)
    answered, (body,), decision = asked(
        episode, lambda number, body: Reply("<think>tan</think>", calls=[call("tan", "{}")])
    )
    assert body["tool_choice"] == "auto"
    assert episode.parse(decision, answered.reply) == "tan"
    assert answered.text.startswith("<think>tan</think>\n<tool_call>")
    apart = Reply(None, calls=[call("tan", "{}")], message={"reasoning_content": "tan"})
    answered, _, decision = asked(episode, lambda number, body: apart)
    assert episode.parse(decision, answered.reply) == "tan"
    assert answered.text.startswith("<think>\ntan\n</think>\n<tool_call>")
