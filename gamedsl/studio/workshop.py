"""What the pages of a game show, worked out in a worker: facts, pictures, prompts, proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gamedsl.runtime.transcripts import params_as_data
from gamedsl.studio.loading import load_game


def describe(file: str, params: Mapping[str, str]) -> dict[str, Any]:
    """Returns the facts of a game that a play begins with. Raises Refused."""
    game = load_game(file, params)
    ir = game.ir
    return {
        "name": ir.name,
        "about": " ".join(ir.about.split()),
        "seats": list(ir.everyone),
        "referees": [seat for seat in ir.everyone if seat not in ir.seats],
        "in_words": ir.open,
        "params": [[name, str(value)] for name, value in params_as_data(game.params).items()],
    }
