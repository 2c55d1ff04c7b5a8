"""What a real bash completes, by the script that `gamedsl completion bash` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("argcomplete")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")

ASK = """
eval "$(gamedsl completion bash)"
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9 COMP_CWORD=$(( $(wc -w <<< "$1") - 1 ))
COMP_WORDS=($1)
[[ "$1" == *" " ]] && { COMP_WORDS+=(""); COMP_CWORD=$((COMP_CWORD + 1)); }
_python_argcomplete gamedsl
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _completed(line: str, folder: Path) -> set[str]:
    """The words that bash offers for a line."""
    program = folder / "gamedsl"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gamedsl "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", line], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {word.strip() for word in done.stdout.split()}


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("gamedsl va", {"validate"}, {"train"}),
        ("gamedsl train kuhn_p", {"kuhn_poker"}, {"stag_hunt"}),
        ("gamedsl train kuhn_poker --st", {"--steps"}, {"--seed"}),
        ("gamedsl train kuhn_poker --set lora.r", {"lora.rank="}, {"lr="}),
        ("gamedsl train kuhn_poker --format co", {"concise"}, {"json"}),
    ],
)
def test_bash_completes(
    line: str, offered: set[str], not_offered: set[str], tmp_path: Path
) -> None:
    found = _completed(line, tmp_path)
    assert offered <= found
    assert not not_offered & found
