"""Players of `support_desk.yaml` that models imitate before they are trained: see `expert` in
`train_queue.py`.

    gamedsl eval module:benchmarks/sellers.py:Desk module:benchmarks/sellers.py:plus \\
        --game benchmarks/support_desk.yaml

The agent of a `Desk` offers any plan at any price, each as often, whoever asks: it is a random
valid player. `basic`, `plus` and `pro` are desks that offer one plan at its full price to all. The
customer is the same in all of them: it says what it does, needs and has, and accepts what does all
that it needs and costs no more than it has.
"""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256

from gamedsl.players.base import Player
from gamedsl.runtime import Decision, Episode

PLANS = {"basic": 10, "plus": 20, "pro": 30}
LESS = (0, 10, 20)
OFFERS = [f"offer({plan},{less})" for plan in PLANS for less in LESS]
REPLY = "Here is what we can do for you."


class Desk(Player):
    """Offers any plan at any price."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed

    def act(self, decision: Decision, episode: Episode) -> str:
        digest = sha256(f"{self._seed} {episode.seed}".encode()).digest()
        return _said(OFFERS[digest[0] % len(OFFERS)], decision, episode)


def _said(offer: str, decision: Decision, episode: Episode) -> str:
    if decision.step == "reply":
        return REPLY
    if decision.step == "move":
        return decision.write(offer)
    shown = "\n".join(content for _, content in decision.messages)
    (does, need, budget) = re.findall(r"You (.+)\. You need (\w+) and have (\d+) coins", shown)[-1]
    if decision.step == "message":
        return f"I {does.replace(' your ', ' my ')}, need {need} and have {budget} coins."
    (plan, less) = re.findall(r"offer\((\w+),(\d+)\)", shown)[-1]
    served = list(PLANS).index(plan) >= list(PLANS).index(need)
    price = PLANS[plan] * (100 - int(less)) / 100
    return decision.write("accept" if served and price <= int(budget) else "leave")


basic, plus, pro = (partial(_said, f"offer({plan},0)") for plan in PLANS)
