"""Python files of functions that somebody allows, by `--allow-calls` or `gamedsl.load(calls=…)`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gamedsl
from gamedsl import cli
from gamedsl.calls import files, registry
from gamedsl.calls.files import CallFileError, allow_calls

TOOLS = """
from gamedsl.calls.registry import function

@function(
    arguments={"text": "text"}, result="int", pure=True, version=1, time_limit=1, on_timeout=0
)
def vowels(text: str) -> int:
    \"\"\"The number of vowels in a text.\"\"\"
    return sum(text.count(letter) for letter in "aeiou")
"""

GAME = """
game: vowel_count
roles: [poet]
turns:
  - {role: poet, say: line, max_tokens: 20}
  - {call: vowels, with: {text: line}, gives: found}
payoffs: found
on_invalid: {then: forfeit, pay: 0}
train:
  model: tiny
  steps: 2
  games: 2
  group_size: 2
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Forgets what a test allows."""
    registry.names()
    known = dict(registry._FUNCTIONS), dict(files._ALLOWED)
    yield
    for kept, before in zip((registry._FUNCTIONS, files._ALLOWED), known, strict=True):
        kept.clear()
        kept.update(before)


def write(folder: Path, tools: str = TOOLS, game: str = GAME) -> tuple[str, str]:
    (folder / "tools.py").write_text(tools, encoding="utf-8")
    (folder / "game.yaml").write_text(game.lstrip(), encoding="utf-8")
    return str(folder / "game.yaml"), str(folder / "tools.py")


def restart() -> None:
    """Makes it a process that has allowed nothing."""
    registry._FUNCTIONS.pop("vowels", None)
    files._ALLOWED.clear()


def test_file_beside_the_game_is_not_executed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, _ = write(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')\n{TOOLS}")
    assert cli.main(["validate", game]) == cli.PROBLEMS
    said = capsys.readouterr().out
    assert "GD0482" in said
    assert f"--allow-calls {tmp_path / 'tools.py'}" in said
    assert not (tmp_path / "ran").exists()


def test_an_allowed_file_brings_its_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, tools = write(tmp_path)
    assert cli.main(["validate", game, "--allow-calls", tools]) == cli.CLEAN
    restart()
    loaded = gamedsl.load(game, calls=[tools])
    episode = loaded.env().reset()
    episode.step({"poet": "aeon"})
    assert episode.payoffs == {"poet": 3}
    gamedsl.load(game, calls=[tools])  # again in one process
    capsys.readouterr()
    assert cli.main(["calls", "vowels", "--allow-calls", tools, "--format", "json"]) == cli.CLEAN
    assert json.loads(capsys.readouterr().out)[0]["about"] == "The number of vowels in a text."


def test_hash_of_the_game_covers_the_file(tmp_path: Path) -> None:
    game, tools = write(tmp_path)
    first = gamedsl.load(game, calls=[tools]).ir.rules_hash
    restart()
    assert gamedsl.load(game, calls=[tools]).ir.rules_hash == first
    restart()
    write(tmp_path, TOOLS.replace("aeiou", "aeiouy"))
    assert gamedsl.load(game, calls=[tools]).ir.rules_hash != first


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("x = 1\n", "registers no function"),
        ("x = (\n", "in line 1"),
        (TOOLS + "\n1 / 0\n", "in line 11: division by zero"),
        (TOOLS + "\nraise SystemExit(0)\n", "ends the program in line 11: 0"),
        ("a\0b\n", "fails: source code"),
        (TOOLS.replace("vowels", "exact"), "there is already a function `exact`"),
    ],
)
def test_unusable_file_is_refused_whole(
    tmp_path: Path, tools: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    game, path = write(tmp_path, tools)
    with pytest.raises(CallFileError, match=said):
        allow_calls(path)
    assert registry.lookup("vowels") is None
    assert cli.main(["validate", game, "--allow-calls", path]) == cli.USAGE
    assert "fix:" in capsys.readouterr().err


def test_a_missing_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game, _ = write(tmp_path)
    assert cli.main(["validate", game, "--allow-calls", str(tmp_path / "none.py")]) == cli.USAGE
    assert "none.py" in capsys.readouterr().err


def test_changed_file_replaces_no_used_functions(tmp_path: Path) -> None:
    _, tools = write(tmp_path)
    allow_calls(tools)
    write(tmp_path, TOOLS + "\n# more\n")
    with pytest.raises(CallFileError, match="already a function `vowels`") as refused:
        allow_calls(tools)
    assert "new process" in refused.value.fix
