"""Which games are shipped, and which of them are played in words."""

from __future__ import annotations

import re
from pathlib import Path

GAMES = Path(__file__).parent.parent / "games"

SAYS = re.compile(r"^[^#]*(\bsay:|\buse: tool_loop\b)", re.MULTILINE)
"""What only a game with open decisions has."""

OPEN = tuple(
    sorted(p.stem for p in GAMES.glob("*.yaml") if SAYS.search(p.read_text(encoding="utf-8")))
)
CLOSED = tuple(sorted(p.stem for p in GAMES.glob("*.yaml") if p.stem not in OPEN))
