"""The MCP server, driven by the SDK's own client over stdio: one session, and hostile input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.worker import TaskWorker

GAME = """\
game: hidden_card
roles: [ann, bob]
types: {Card: [low, high]}
turns:
  - {draw: card, from: Card, seen_by: ann}
  - {role: ann, choose: move, from: [bet, fold]}
  - {role: bob, choose: answer, from: [call, pass], if: move == bet}
payoffs: 0
"""
SLOW = """\
game: slow
roles: [ann, bob]
params: {n: 400}
turns:
  - {role: all, choose: x, from: 0..n}
payoffs: sum(a * b for a in 0..n for b in 0..n) * 0
"""


class Tools:
    """A client's tools, as plain calls."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, **given: Any) -> Any:
        found = await self._client.call_tool(tool, given)
        text = found.content[0].text if found.content else ""
        assert not found.is_error, text
        value = found.structured_content
        return value["result"] if value and set(value) == {"result"} else value

    async def refusal(self, tool: str, **given: Any) -> str:
        found = await self._client.call_tool(tool, given)
        assert found.is_error
        return str(found.content[0].text)

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self._client.list_tools()).tools}


def serve(root: Path, script: Callable[[Tools], Awaitable[None]], *more: str) -> None:
    """Runs a script of calls against a server in a process of its own."""

    async def session() -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "gamedsl", "mcp", "--root", str(root), *more],
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
        async with Client(server, read_timeout_seconds=120) as client:
            await script(Tools(client))

    anyio.run(session)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    (folder / "hidden_card.yaml").write_text(GAME, encoding="utf-8")
    (tmp_path / "secret.yaml").write_text("game: secret\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_session_of_an_assistant(root: Path) -> None:
    async def script(tools: Tools) -> None:
        assert {"validate", "explain", "prompts", "solve", "play_start"} <= await tools.names()
        games = await tools("list_games")
        assert games["own"] == ["hidden_card.yaml"]
        assert "kuhn_poker" in games["shipped"]

        wrong = await tools("validate", path="new.yaml", text=GAME.replace("payoffs", "payofs"))
        assert not wrong["ok"]
        assert wrong["problems"][0]["edits"][0]["text"] == "payoffs"
        assert not (root / "new.yaml").exists()
        right = await tools("validate", path="hidden_card.yaml", proofs=True)
        assert right["ok"]
        assert any(proof["grade"] == "enumerated" for proof in right["proofs"])

        assert "GD0414" in await tools("explain", code="GD0414")
        assert "no code" in await tools.refusal("explain", code="GD9999")
        shown = await tools("prompts", path="hidden_card.yaml", seat="bob")
        assert {prompt["seat"] for prompt in shown["prompts"]} == {"bob"}
        assert "kuhn" in json.dumps(await tools("solve", path="kuhn_poker"))

        seen = await tools("play_start", path="hidden_card.yaml", seat="ann")
        assert seen["options"] == ["bet", "fold"]
        assert "is not one of" in await tools.refusal("play_move", play=seen["play"], reply="x")
        seen = await tools("play_move", play=seen["play"], reply="fold")
        assert (seen["done"], seen["payoff"]) == (True, "0")
        assert "no play" in await tools.refusal("play_move", play=seen["play"], reply="bet")

        for path in ("../secret.yaml", str(root.parent / "secret.yaml"), "a\0b", ".git/config"):
            assert "fix:" in await tools.refusal("validate", path=path)
        assert "too long" in await tools.refusal("validate", text="#" * (1 << 20 | 1))

    serve(root, script)


TOOLS = """\
from gamedsl.calls.registry import function

print("this is no protocol")


@function(arguments={"text": "text"}, result="bool", pure=True, version=1, time_limit=1,
          on_timeout=False)
def is_loud(text):
    'Whether a text is in capitals.'
    return text.isupper()
"""
LOUD = """\
game: loud
roles: [ann]
turns:
  - {role: ann, say: line, max_tokens: 9}
  - {call: is_loud, with: {text: line}, gives: loud}
payoffs: 1 if loud else 0
on_invalid: {retry: 0, then: forfeit, pay: 0}
"""


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [True, False])
def test_functions_are_called_only_if_allowed(allowed: bool, root: Path) -> None:
    (root / "tools.py").write_text(TOOLS, encoding="utf-8")
    (root / "loud.yaml").write_text(LOUD, encoding="utf-8")

    async def script(tools: Tools) -> None:
        assert (await tools("validate", path="loud.yaml"))["ok"] == allowed
        if allowed:
            seen = await tools("play_start", path="loud.yaml", seat="ann")
            assert (await tools("play_move", play=seen["play"], reply="HEY"))["payoff"] == "1"

    serve(root, script, *(["--allow-calls", str(root / "tools.py")] if allowed else []))


@pytest.fixture
def worker(root: Path) -> TaskWorker:
    return TaskWorker(root)


@pytest.mark.slow
def test_slow_task_is_killed_and_another_runs(worker: TaskWorker) -> None:
    given = {"path": "slow.yaml", "text": SLOW, "proofs": False}
    worker.call("explain", {"code": "GD0101"}, 60)
    with pytest.raises(Refused, match=r"longer than 0\.01 seconds"):
        worker.call("validate", given, 0.01)
    assert "GD0101" in worker.call("explain", {"code": "GD0101"}, 60)
    worker.close()
