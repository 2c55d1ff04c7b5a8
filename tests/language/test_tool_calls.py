"""Actions with open arguments: decisions that a tool call answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gamedsl
from gamedsl.ir.program import Choose
from gamedsl.prompting.replies import open_reply_name, open_reply_value, write_open_reply
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read

AGENT = """
game: agent
roles: [agent, judge]
actions:
  compute:
    about: Works out a sum.
    args: {text: {of: text(20), about: such as 2 + 3}}
    turns:
      - {call: arithmetic, with: {text: text}, gives: result, seen_by: owner}
  note: {args: {words: text(9)}, when: notes < 1, do: notes += 1}
  stop: {}
state: {notes: {start: 0, seen_by: agent}}
turns:
  - repeat: 3
    until: move.stop != none
    turns:
      - {role: agent, choose: move, from: actions, seen_by: owner}
  - {role: judge, choose: verdict, from: [good, bad]}
payoffs: {agent: 1 if verdict == good else 0, judge: notes}
respond: tool
on_invalid: {retry: 1, then: forfeit, pay: -1}
"""


def load(folder: Path, text: str) -> gamedsl.Game:
    path = folder / "game.yaml"
    path.write_text(text.lstrip(), encoding="utf-8")
    return gamedsl.load(path)


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def test_call_runs_its_steps_for_its_caller(tmp_path: Path) -> None:
    game = load(tmp_path, AGENT)
    episode = game.env().reset()
    episode.step({"agent": call("compute", text="2 + 3 * 4")})
    assert "14" in episode.decisions[0].messages[-1][1]
    assert episode.seen("judge") == ()
    episode.step({"agent": f"Now: {call('note', words='so')}"})
    episode.step({"agent": call("note", words="again")})
    (asked,) = episode.decisions
    assert asked.messages[-1][1] == (
        "This is no valid reply: `note` cannot be called now. Try again."
    )
    episode.step({"agent": call("stop")})
    assert [decision.seat for decision in episode.decisions] == ["judge"]
    episode.step({"judge": gamedsl.Action("good")})
    assert episode.payoffs == {"agent": 1, "judge": 1}
    (transcript,) = read(dump(episode))
    again = replay(game, transcript)
    assert not again.faults
    assert again.episode.payoffs == episode.payoffs


def test_prompts_list_tools_and_repeat_calls(tmp_path: Path) -> None:
    game = load(tmp_path, AGENT)
    episode = game.env().reset()
    (asked,) = episode.decisions
    lines = asked.messages[-1][1].splitlines()
    assert lines[-3:] == [
        '{"name": "compute", "arguments": {"text": text of at most 20 characters}} '
        "Works out a sum. `text`: such as 2 + 3.",
        '{"name": "note", "arguments": {"words": text of at most 9 characters}}',
        '{"name": "stop", "arguments": {}}',
    ]
    assert asked.schema is not None
    names = [one["properties"]["name"]["const"] for one in asked.schema["anyOf"]]
    assert names == ["compute", "note", "stop"]
    episode.step({"agent": call("compute", text="1")})
    (asked,) = episode.decisions
    assert asked.messages[-1][1].endswith(
        "Reply with one JSON object that calls compute or note or stop, at most 163 tokens."
    )
    replies = [text for role, text in asked.messages if role == "assistant"]
    assert replies == ['{"name":"compute","arguments":{"text":"1"}}']


def test_a_call_has_one_canonical_name(tmp_path: Path) -> None:
    game = load(tmp_path, AGENT)
    step = next(step for step in game.ir.steps if step.variable == "move")
    assert isinstance(step, Choose)
    said = step.said
    assert said is not None
    value = (None, ("so",), None)
    name = open_reply_name(value, said, step.type, game.ir.seats)
    assert name == '{"compute":null,"note":{"words":"so"},"stop":null}'
    assert open_reply_value(name, said, step.type, game.ir.seats) == value
    assert json.loads(write_open_reply(name, said, step.type, game.ir.seats)) == json.loads(
        call("note", words="so")
    )
    for wrong in (
        '{"compute":null,"note":null,"stop":null}',
        '{"compute":null,"note":{"words":"so"},"stop":{}}',
    ):
        with pytest.raises(ValueError, match="one tool"):
            open_reply_value(wrong, said, step.type, game.ir.seats)


def test_several_call_tools_at_once(tmp_path: Path) -> None:
    game = load(
        tmp_path,
        """
game: team
roles: [ann, bob]
actions:
  give: {args: {n: 1..3, why: text(9)}, do: given.me += n}
  keep: {}
state: {given: {per: role, start: 0}}
turns:
  - {role: all, choose: move, from: actions}
payoffs: sum(given)
respond: tool
on_invalid: {then: forfeit, pay: -1}
""",
    )
    episode = game.env().reset()
    episode.step({"ann": call("give", n=2, why="so"), "bob": call("give", n=3, why="")})
    assert episode.payoffs == {"ann": 5, "bob": 5}
    episode = game.env().reset()
    episode.step({"ann": call("keep"), "bob": call("give", n=1, why="")})
    assert episode.payoffs == {"ann": 1, "bob": 1}


def test_guard_may_not_read_hidden_state(tmp_path: Path) -> None:
    hidden = AGENT.replace(
        "turns:\n  - repeat", "turns:\n  - {draw: n, from: 0..3, seen_by: judge}\n  - repeat"
    )
    with pytest.raises(gamedsl.CompileError, match="GD0440"):
        load(tmp_path, hidden.replace("when: notes < 1", "when: notes < n"))


def test_protocol_offers_tools_of_its_game(tmp_path: Path) -> None:
    """Types, guards and steps of an action are read with the names of the game, and not with those
    of the protocol that offers it; its limit of tokens waits for actions that need it."""
    (tmp_path / "loop.yaml").write_text(
        "protocol: loop\nparams: {size: 1, tokens: 40}\nturns:\n"
        "  - {role: agent, choose: call, from: actions, max_tokens: tokens}\n",
        encoding="utf-8",
    )
    text = """
game: agent
roles: [agent]
params: {size: 5, most: 2}
actions:
  note: {args: {words: text(size), n: number}, when: n <= most, do: total += size}
  stop: {}
state: {total: 0}
protocol: loop
payoffs: total
respond: tool
on_invalid: {then: forfeit, pay: -1}
"""
    env = load(tmp_path, text).env()
    for reply, paid in (
        (call("note", words="12345", n=2), 5),
        (call("note", words="123456", n=2), -1),
        (call("note", words="12345", n=3), -1),
        (call("stop"), 0),
    ):
        episode = env.reset()
        assert episode.decisions[0].said is not None
        episode.step({"agent": reply})
        assert episode.payoffs == {"agent": paid}
    closed = text.replace("words: text(size), n: number", "n: 1..3").replace("tool\n", "label\n")
    assert load(tmp_path, closed).env().reset().decisions[0].labels == (
        "note(1)", "note(2)", "stop"
    )  # fmt: skip
