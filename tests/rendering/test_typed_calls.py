"""Options as calls of typed tools, and chat templates that list these."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.call_syntax import CallSyntax
from gamedsl.players.model_replies import query_of
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.tool_calls import option_tools
from gamedsl.runtime import Decision
from tests.writing import write

LLAMA = CallSyntax("", "parameters", "")


@pytest.fixture(scope="module")
def hanabi() -> gamedsl.Game:
    return gamedsl.load("small_hanabi_tools")


@pytest.fixture
def asked(hanabi: gamedsl.Game) -> Decision:
    return hanabi.env().reset(seed=0).decisions[0]


def call(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def read(decision: Decision, text: str) -> str | tuple[str, str]:
    found = decision.env.reset(seed=0).parse(decision, text)
    return (found.reason, found.detail) if isinstance(found, ParseFailure) else found


def test_actions_are_typed_tools(hanabi: gamedsl.Game, asked: Decision) -> None:
    play, discard, hint = option_tools(hanabi.ir, "player")
    card = {"type": "integer", "minimum": 0, "maximum": 1}
    assert (play["name"], discard["name"], hint["name"]) == ("play", "discard", "hint")
    assert play["parameters"]["properties"] == {"i": card}
    assert hint["parameters"] == {
        "type": "object",
        "properties": {
            "to": {"type": "string", "enum": ["player_1", "player_2"]},
            "what": {"enum": ["red", "blue", 1, 2, 3]},
        },
        "required": ["to", "what"],
        "additionalProperties": False,
    }
    said = asked.messages[0][1]
    assert said.endswith(
        '"arguments": {"to": "player_1" or "player_2", "what": "red" or "blue" or 1 or 2 or 3}}'
        "</tool_call>"
    )
    assert query_of(asked, "a").labels[0] == call("play", i=0)
    for name, label in zip(asked.legal, query_of(asked, "a").labels, strict=True):
        assert read(asked, f"Then: {label}") == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (call("discard", i=0), "illegal"),  # no clue is spent
        (call("hint", to="player_1", what="red"), "illegal"),  # to itself
        (call("play", i=2), "value"),
        (call("play", i=True), "value"),
        (call("play", i="0"), "value"),
        (call("play", i=[0]), "value"),
        (call("play", i=None), "value"),
        (call("play"), "fields"),
        (call("play", i=0, why="so"), "fields"),
        (call("hint", to="player_2", what="1"), "value"),
        (call("shoot", i=0), "value"),
        (call("play", i=0).replace('"play"', '["play"]'), "value"),
        (call("play", i=0).replace("{", "[", 1), "malformed"),
        (call("play", i=0) * 2, "several"),
        (call("choose", option="play(9)"), "unknown"),
        ("play(0)", "missing"),
    ],
)
def test_other_calls_are_refused(asked: Decision, text: str, reason: str) -> None:
    assert read(asked, text)[0] == reason


def test_meaningless_labels_are_chosen(tmp_path: Path) -> None:
    text = (
        "game: pick\nroles: [ann]\nlabels: {masked: syllables}\nrespond: tool\n"
        "turns: [{role: ann, choose: card, from: [red, tan]}]\npayoffs: 1 if card == tan else 0\n"
    )
    game = gamedsl.load(write(tmp_path, text))
    (asked,) = game.env().reset(seed=0).decisions
    (tool,) = option_tools(game.ir, "ann")
    assert tool["parameters"]["properties"] == {"option": {"type": "string"}}
    assert asked.write("tan") == call("choose", option=asked.labels[1])
    assert "tan" not in str(asked.calling(LLAMA).messages)


def test_a_template_lists_tools(asked: Decision) -> None:
    native = asked.calling(LLAMA)
    (role, listed), (_, system), (_, question) = native.messages
    assert role == "tools"
    assert [one["function"]["name"] for one in json.loads(listed)] == ["play", "discard", "hint"]
    assert system.endswith("Call exactly one tool, for one of the options.")
    assert "<tool_call>" not in system
    assert question == asked.messages[1][1]
    label = query_of(native, "a").labels[-1]
    assert label.startswith('{"name": "hint", "parameters": {"to": "player_2", ')
    assert read(asked, label) == asked.legal[-1]


def test_a_result_is_told_by_the_tool() -> None:
    game = gamedsl.load("tool_agent")
    episode = game.env().reset(seed=0)
    episode.step({"agent": '{"name": "compute", "parameters": {"sum": "2 + 3"}}'})
    (asked,) = episode.decisions
    messages = asked.calling(LLAMA).messages
    assert [role for role, _ in messages] == ["tools", "system", "user", "assistant", "tool"]
    assert messages[3][1] == '{"name": "compute", "parameters": {"sum": "2 + 3"}}'
    assert messages[4][1].startswith("It is 5.")
    tools = [one["function"] for one in json.loads(messages[0][1])]
    assert tools[2]["description"] == "Ends the game."
    assert tools[2]["parameters"]["properties"] == {"number": {"type": "string", "maxLength": 22}}
    assert messages[-1][1].endswith("Call search or compute or answer, at most 60 tokens.")


def test_calls_come_before_a_move(tmp_path: Path) -> None:
    """One list holds the functions and the moves, and each message names those that are open."""
    text = (
        "game: mixed\nroles: [ann]\nactions:\n  sum:\n    args: {text: text(9)}\n"
        "    turns: [{call: arithmetic, with: {text: text}, gives: result, seen_by: ann}]\n"
        "  ready: {}\nturns:\n  - {use: tool_loop, calls: 2, done: call.ready != none}\n"
        "  - {role: ann, choose: move, from: [fold, raise]}\n"
        "payoffs: 1 if move == fold else 0\nrespond: tool\non_invalid: {then: forfeit, pay: -1}\n"
    )
    episode = gamedsl.load(write(tmp_path, text)).env().reset(seed=0)
    episode.step({"ann": call("sum", text="1 + 1")})
    episode.step({"ann": call("ready")})
    (asked,) = episode.decisions
    listed, _, first, *chat, last = asked.calling(LLAMA).messages
    names = [one["function"]["name"] for one in json.loads(listed[1])]
    assert names == ["fold", "raise", "sum", "ready"]
    assert first[1].endswith("Call sum or ready, at most 60 tokens.")
    assert [role for role, _ in chat] == ["assistant", "tool", "assistant"]
    assert last == (
        "tool",
        "Make your choice (move).\nOptions:\nfold\nraise\n"
        "Call exactly one tool, for one of the options.",
    )
    episode.step({"ann": call("fold")})
    assert episode.payoffs == {"ann": 1}
