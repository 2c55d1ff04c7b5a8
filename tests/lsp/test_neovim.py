"""Neovim, configured as docs/editors.md says, edits a game with the language server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from editing import MENDED, block, editor, write_games

pytest.importorskip("pygls")

DRIVER = Path(__file__).parent / "neovim.lua"


def test_neovim_edits_a_game(tmp_path: Path) -> None:
    """Problems, a fix, hover, completion, a rename, the layout and a definition reach the user."""
    neovim = editor("nvim", (0, 11))
    env = write_games(tmp_path) | {"SEEN": str(tmp_path / "seen.json")}
    (tmp_path / "init.lua").write_text(block("lua"), encoding="utf-8")
    started = [neovim, "--headless", "-n", "-u", "init.lua", "mine.yaml", "-S", str(DRIVER)]
    done = subprocess.run(
        started, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text(encoding="utf-8"))
    assert "fault" not in seen, seen
    assert "unknown name `pric`" in seen["problems"][0]
    assert any("max(" in line for line in seen["hover"])
    assert {"price", "extra", "ann", "max"} <= set(seen["completion"])
    assert seen["lines"] == MENDED.splitlines()
    assert seen["definition"] == "params: {price: 3}"
