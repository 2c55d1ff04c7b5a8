"""Files that a test writes as text."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, text: str, **others: str) -> Path:
    """Where `game.yaml` now is, which holds a text; others lie beside it under their names."""
    for name, content in {**others, "game": text}.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")
    return folder / "game.yaml"


DRIVER = """
game: driver
roles: [driver]
turns:
  - {role: driver, choose: first, from: [exit, go], knows: nothing}
  - {role: driver, choose: second, from: [exit, go], knows: nothing, if: first == go}
payoffs: 0 if first == exit else 4 if second == exit else 1
"""
"""The absent-minded driver (Piccione and Rubinstein 1997): one information set, twice on a path."""
