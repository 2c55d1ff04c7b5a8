"""A player that does what the prompts of `tic_tac_toe_short.yaml` list: the control of training.

    gamedsl eval module:benchmarks/listed.py:listed minimax --games 400 --search 0 \\
        --game benchmarks/tic_tac_toe_short.yaml
"""

from __future__ import annotations

from hashlib import sha256

from gamedsl.runtime import Decision, Episode


def listed(decision: Decision, episode: Episode) -> str:
    """Fills a line where a square does, else stops one of the other's, else takes any square."""
    told = next(line for _, text in decision.messages for line in text.splitlines() if ";" in line)
    board, *lists = told.split("; ")
    for squares in (part.partition(" ")[2] for part in lists):
        if squares != "nothing":
            return decision.write(squares.split(", ")[0])
    draw = int.from_bytes(sha256(f"{board} {episode.seed}".encode()).digest()[:8], "big")
    return decision.write(decision.legal[draw % len(decision.legal)])
