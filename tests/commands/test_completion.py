"""Completion in the shells themselves: what a tab would offer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gamedsl import cli

pytest.importorskip("argcomplete")

BASH = """
eval "$(gamedsl completion bash)"
COMP_LINE="$1"
COMP_POINT=${#COMP_LINE}
COMP_TYPE=9
COMP_WORDS=($COMP_LINE)
[[ "$COMP_LINE" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
how=$(complete -p gamedsl)
[[ "$how" =~ -F\\ ([^ ]+) ]] || exit 9
"${BASH_REMATCH[1]}" gamedsl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(name="environment")
def with_command(tmp_path: Path) -> dict[str, str]:
    """The environment in which this checkout is the command `gamedsl`."""
    command = tmp_path / "gamedsl"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gamedsl "$@"\n')
    command.chmod(0o755)
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "PYTHONPATH": root, "HOME": str(tmp_path)}


def run(shell: list[str], environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        shell, env=environment, cwd=environment["HOME"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return [line.split("\t")[0].strip() for line in done.stdout.splitlines()]


LINES = [
    ("gamedsl val", {"validate"}),
    ("gamedsl validate --wa", {"--watch"}),
    ("gamedsl validate kuhn_poker_t", {"kuhn_poker_thinking", "kuhn_poker_tools"}),
    ("gamedsl show --view ", {"table", "tree", "flow", "sight", "all"}),
    ("gamedsl train --set lora.ra", {"lora.rank="}),
    ("gamedsl train --model smol", {"smollm2-135m"}),
    ("gamedsl explain GD041", {"GD0414"}),
    ("gamedsl new --template hid", {"hidden-role"}),
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("line", "offered"), LINES)
def test_bash(line: str, offered: set[str], environment: dict[str, str]) -> None:
    found = {word.strip() for word in run(["bash", "-c", BASH, "bash", line], environment)}
    assert offered <= found
    start = line.split(" ")[-1]
    assert all(word.startswith(start) for word in found - {""}), found


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("line", "offered"), LINES[:4])
def test_fish(line: str, offered: set[str], environment: dict[str, str]) -> None:
    script = f"gamedsl completion fish | source; complete -C '{line}'"
    assert offered <= set(run(["fish", "--no-config", "-c", script], environment))


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_accepts_the_script(environment: dict[str, str]) -> None:
    script = (
        "autoload -U compinit; compinit -u -D; "
        'eval "$(gamedsl completion zsh)"; print ${_comps[gamedsl]}'
    )
    (function,) = run(["zsh", "-f", "-c", script], environment)
    assert "argcomplete" in function


def test_words_of_settings() -> None:
    from gamedsl.commands._completion import _settings

    keys = set(_settings("lo"))
    assert {"lora.rank=", "lr=", "steps="} <= keys
    assert "baseline=" not in keys or list(_settings("baseline="))


def test_all_commands_can_be_completed() -> None:
    from gamedsl.commands._completion import parser_of

    for name in cli.COMMANDS:
        parser_of(name, cli.COMMANDS, cli.configured)


def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "argcomplete.shell_integration", None)
    assert cli.main(["completion", "bash"]) == 2
    assert "[completion]" in capsys.readouterr().err
