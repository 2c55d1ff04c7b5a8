"""Second checks of what is proved of plays, payoffs, rewards and readers; see `replay`.

A check returns what it finds wrong, empty for nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations
from typing import Any

from gamedsl import Env
from tests.faults.case import Case
from tests.faults.histories import Item, Point, after, exchanged, points, results, shape
from tests.faults.leaks import leaks, parts


def rules_say_nothing(case: Case) -> list[str]:
    """Checks that the last move of the witness leads where the rules, payoffs or rewards have no
    value."""
    if any(point.failed for point in points(case.twin)):
        return ["the twin fails too"]
    if case.histories:
        [point] = case.witness(1)
        last = _last_choices(case.problem.witness).items()
        ends = [point] if point.failed else [p for p in after(point) if last <= p.choices.items()]
        return [] if any(end.failed for end in ends) else ["the witness can be played"]
    failing = [point for point in points(case.broken) if point.failed]
    if not failing:
        return ["no history fails"]
    if not any(_told(case.problem.witness, point) for point in failing):
        return [f"no failing history is the one told: {case.problem.witness}"]
    return []


def _told(lines: tuple[str, ...], point: Point) -> bool:
    """Whether the lines of a witness describe this history: what each seat had seen before its last
    choices and these, or the choices by step."""
    assert point.before is not None
    seats = point.episode.env.seats
    said = dict(line.split(": ", 1) for line in lines if re.match(r"[\w ]+: ", line))
    then = _last_choices(lines)
    if any(point.choices.get(seat) != name for seat, name in then.items()):
        return False
    before = point.before if then or not point.choices else point
    known = {seat: before.episode.information(seat) for seat in seats}
    seen = {s: text for s, text in said.items() if s in seats}
    if seen:
        return all(known[s] == f"{s} [{text}]" for s, text in seen.items())
    moves = [(step, f"{whose} {name}") for step, whose, _, name in point.items]
    return all((step, text) in moves for step, text in said.items() if step != "payoffs")


def _last_choices(lines: tuple[str, ...]) -> dict[str, str]:
    """Returns the choices at which a play fails, by seat."""
    return dict(re.findall(r"^then (\w+) chooses (.+)$", "\n".join(lines), re.MULTILINE))


def payoffs_sum(case: Case) -> list[str]:
    """Checks that the payoffs of the play do not sum to what the file claims."""
    [play] = case.witness(1)
    claims = case.written("claims")
    claims = claims if isinstance(claims, list) else [claims]
    wanted = next(
        0 if c == "zero_sum" else Fraction(c["constant_sum"]) for c in claims if c != "symmetric"
    )
    total = sum(play.episode.payoffs.values())
    return [] if play.episode.done and total != wanted else [f"they sum to {total}"]


def payoffs_equal(case: Case) -> list[str]:
    """Checks that the payoffs of the play are not all the same."""
    [play] = case.witness(1)
    return [] if len(set(play.episode.payoffs.values())) > 1 else ["all are paid the same"]


def exchange(case: Case) -> list[str]:
    """Checks that some play that begins as the witness does is another game's with two seats
    exchanged."""
    if _unlike(case.twin, ()):
        return ["the twin is not symmetric"]
    [start] = case.witness(1)
    return [] if _unlike(case.broken, start.items) else ["no exchange changes what begins so"]


def _unlike(env: Env, start: tuple[Item, ...]) -> bool:
    table = results(env)
    for one, two in combinations(env.seats, 2):
        for items, play in table.items():
            if set(start) <= items:
                other = table.get(exchanged(items, one, two))
                if other is None or other != play.exchanged(one, two):
                    return True
    return False


def gone(case: Case) -> list[str]:
    """Checks that what never happens, or is never read, can be deleted: every history stays as it
    is."""
    bare = case.changed(case.fault.replay["gone"])
    return [] if shape(bare) == shape(case.broken) else ["the game is another one without it"]


def leak(case: Case) -> list[str]:
    """Checks that some seat of the role that the headline names, or any, learns what it is not
    shown."""
    if found := case.leaks_of_twin():
        return [f"the twin leaks: {found[0]}"]
    role_of = case.broken.ir.role_of
    named = {role_of[name] for name in case.quoted() if name in role_of} or {*role_of.values()}
    told = any(role_of[found.seat] in named for found in leaks(case.broken))
    return [] if told else [f"nothing leaks to {sorted(named)}"]


def told_alike(case: Case) -> list[str]:
    """Checks a witness of the readers' codes: two histories are one to a seat, and differ."""
    wrong = leak(case)
    if case.histories:
        one, other = case.witness(2)
        if not any(parts(seat, one, other) for seat in case.broken.seats):
            wrong.append("the two histories of the witness show no seat anything that differs")
    return wrong


def order_matters(case: Case) -> list[str]:
    """Checks that the order decides the outcome, once roles that act at once act in turn."""
    orders = case.fault.replay["orders"]
    bad = [results(case.changed(order)) for order in orders]
    good = [results(case.game("turned", case.fault.files(order))) for order in orders]
    wrong = ["the twin depends on the order"] if good[0] != good[1] else []
    return wrong + (["nothing depends on the order"] if bad[0] == bad[1] else [])


def probabilities(case: Case) -> list[str]:
    """Checks that among the maps of value to probability in the file is one that does not sum to
    1."""
    sums = [
        sum(map(Fraction, map(str, weights.values()))) for weights in _drawn(case.written("turns"))
    ]
    return [] if any(total != 1 for total in sums) else ["all sum to 1"]


def _drawn(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [step["from"] for step in turns if "draw" in step and isinstance(step["from"], dict)]


def rewards_as_claimed(case: Case) -> list[str]:
    """Checks that the rewards of the play are not as the reward file claims."""
    [play] = case.witness(1)
    rewards, payoffs = play.episode.rewards.values(), play.episode.payoffs.values()
    kept = {
        "zero_sum": sum(rewards) == 0,
        "keeps_sum": sum(rewards) == sum(payoffs),
        "common": len(set(rewards)) == 1,
    }
    return [] if not kept[case.written("claims", "reward")] else ["the claim holds in it"]


def incentives(case: Case) -> list[str]:
    """Checks that all but one seat, and chance, do the same in both plays; its payoff and reward
    disagree."""
    one, other = case.witness(2)
    seat = case.quoted()[1]
    ours = {item[0] for item in {*one.items} ^ {*other.items} if item[1] != seat}
    if ours:
        return [f"what others or chance do differs too, at {sorted(ours)}"]
    paid = one.episode.payoffs[seat] - other.episode.payoffs[seat]
    given = one.episode.rewards[seat] - other.episode.rewards[seat]
    return [] if paid * given <= 0 and paid != given else ["payoff and reward agree"]
