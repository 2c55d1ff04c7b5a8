"""Files that a test writes as text."""

from __future__ import annotations

from pathlib import Path


def write(folder: Path, text: str, **others: str) -> Path:
    """Where `game.yaml` now is, which holds a text; others lie beside it under their names."""
    for name, content in {**others, "game": text}.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")
    return folder / "game.yaml"
