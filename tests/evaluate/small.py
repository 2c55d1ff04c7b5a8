"""Small games and evaluations for these tests."""

from __future__ import annotations

from typing import Any

import gamedsl
from gamedsl.evaluate import Evaluation, Options, Plan, contestants, evaluate
from gamedsl.runtime import Game

RPS = "rock_paper_scissors"

PENNIES = """
game: pennies
roles: [ann, bob]
turns:
  - {role: all, choose: side, from: [heads, tails]}
payoffs:
  ann: 1 if side.ann == side.bob else -1
  bob: 1 if side.ann != side.bob else -1
respond: {form: tag, think: 2, at_limit: close}
"""


def plan_of(*texts: str, against: tuple[str, ...] | None = None) -> Plan:
    people = tuple(contestants(texts))
    return Plan(people, people if against is None else tuple(contestants(against)))


def evaluated(game: str | Game, *texts: str, **settings: Any) -> Evaluation:
    """Everybody against everybody."""
    loaded = gamedsl.load(game) if isinstance(game, str) else game
    return evaluate(loaded, plan_of(*texts), Options(**settings))


def cell(found: Evaluation, focal: str, background: str) -> Any:
    """What one earns against the other."""
    (pairing,) = [p for p in found.pairings if (p.focal, p.background) == (focal, background)]
    return found.earned(pairing)
