"""Scripted plays of `deal_or_no_deal`: what they pay, recomputed from the contexts, and that no
prompt tells a seat what is hidden from it."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import gamedsl

ROOT = Path(__file__).parent.parent.parent
ITEMS = ("book", "hat", "ball")
PLAYS = 100


@cache
def contexts() -> list[dict[str, Any]]:
    lines = (ROOT / "games" / "data" / "deals.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def worth_of(context: dict[str, Any], seat: str) -> tuple[int, ...]:
    return tuple(context[seat][item] for item in ITEMS)


def said(values: tuple[int, ...]) -> str:
    return json.dumps({"keep": dict(zip(ITEMS, values, strict=True))})


def lines_of(messages: tuple[tuple[str, str], ...], *roles: str) -> list[str]:
    return [line for role, text in messages if role in roles for line in text.splitlines()]


def told(worth: tuple[int, ...]) -> str:
    book, hat, ball = worth
    return f"To you a book is worth {book}, a hat {hat} and a ball {ball}."


class Script:
    """Plays of both seats from what their prompts say, and what they agreed on by the rules."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.divided: tuple[int, ...] = ()
        self.answered: tuple[int, ...] | None = None
        self.talk: list[str] = []
        self.divider = ""
        self._talks = self._random.randrange(5)
        self._agrees = self._random.random() < 0.6

    def reply(self, decision: gamedsl.Decision, pool: tuple[int, ...]) -> str:
        if decision.step == "answer":
            if self._agrees:
                both = zip(pool, self.divided, strict=True)
                self.answered = tuple(all - kept for all, kept in both)
            elif self._random.random() < 0.5:
                self.answered = tuple(self._random.randrange(count + 1) for count in pool)
            return "null" if self.answered is None else said(self.answered)
        if len(self.talk) < self._talks:
            self.talk.append(f"Line {len(self.talk)}, I like balls.")
            return self.talk[-1]
        self.divider = decision.seat
        self.divided = tuple(self._random.randrange(count + 1) for count in pool)
        return said(self.divided)


def test_payoffs_are_recomputed_and_secrets_kept() -> None:
    env = gamedsl.load("deal_or_no_deal").env()
    ends = set()
    for seed in range(PLAYS):
        episode, script = env.reset(seed=seed), Script(seed)
        (name,) = {event.name for event in episode.decisions[0].seen if event.step == "pool"}
        pool = tuple(map(int, name.split(",")))
        asked: list[gamedsl.Decision] = []
        while not episode.done:
            (decision,) = episode.decisions
            asked.append(decision)
            episode.step({decision.seat: script.reply(decision, pool)})
        assert not episode.mistakes
        worths = {d.seat: worth(d) for d in asked}
        worths = {seat: worths.get(seat) or other_worth(pool, worths) for seat in ("ann", "bob")}
        assert all(sum(map(int.__mul__, worths[seat], pool)) == 10 for seat in worths)
        assert episode.payoffs == paid(script, pool, worths)
        for decision in asked:
            check_prompt(decision, script, worths)
        paid_out = [payoff for payoff in episode.payoffs.values() if payoff is not None]
        ends.add((script.divided != (), script.answered is not None, sum(map(int, paid_out))))
    assert len(ends) > 10
    assert {end[:2] for end in ends} == {(False, False), (True, False), (True, True)}


def worth(decision: gamedsl.Decision) -> tuple[int, ...]:
    (name,) = (event.name for event in decision.seen if event.step == "worth")
    return tuple(map(int, name.split(",")))


def other_worth(pool: tuple[int, ...], known: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The worth of the seat that was never asked, for which no agreement counts."""
    ((seat, own),) = known.items()
    other = "bob" if seat == "ann" else "ann"
    found = [
        worth_of(context, other) for context in contexts()
        if tuple(context["pool"].values()) == pool and worth_of(context, seat) == own
    ]  # fmt: skip
    return found[0]


def paid(
    script: Script, pool: tuple[int, ...], worths: dict[str, tuple[int, ...]]
) -> dict[str, int]:
    other = "bob" if script.divider == "ann" else "ann"
    if not script.divided or script.answered is None:
        return {"ann": 0, "bob": 0}
    both = zip(script.divided, script.answered, pool, strict=True)
    if any(one + two != count for one, two, count in both):
        return {"ann": 0, "bob": 0}
    return {
        script.divider: sum(map(int.__mul__, worths[script.divider], script.divided)),
        other: sum(map(int.__mul__, worths[other], script.answered)),
    }


def check_prompt(
    decision: gamedsl.Decision, script: Script, worths: dict[str, tuple[int, ...]]
) -> None:
    """What a seat is sent names its own worth alone, and never a division of the other."""
    own, other = worths[decision.seat], worths["bob" if decision.seat == "ann" else "ann"]
    sent = lines_of(decision.messages, "system", "user")
    assert told(own) in sent
    assert told(other) not in sent or own == other
    assert sum(line.startswith("To you") for line in sent) == 1
    assert not any(line.startswith("{") or '{"keep":{' in line for line in sent)
    if decision.step == "answer":
        assert "The talk is over." in sent
        assert all(event.step != "line" or event.name in script.talk for event in decision.seen)


def test_contexts_are_those_of_the_rules() -> None:
    rows = {json.dumps(context, sort_keys=True) for context in contexts()}
    assert len(rows) == len(contexts()) == 200
    for context in contexts():
        pool = tuple(context["pool"].values())
        assert tuple(context["pool"]) == ITEMS
        assert 5 <= sum(pool) <= 7
        assert min(pool) >= 1
        for seat in ("ann", "bob"):
            assert sum(map(int.__mul__, worth_of(context, seat), pool)) == 10
