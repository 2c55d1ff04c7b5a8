"""Alarms for actions that die out: what is hardly tried is hardly learned about, and does not come
back by itself.

Where the ranges of equilibrium play are known, an action that falls below the threshold is missed
if the equilibria nearest to that play it, at least some of them. Where they are not, it is missed
if it fell while the decision was still mixed, so that a decision which settles on one action step
by step raises no alarm. Where the game's tree gives the values of actions, it is missed only if it
is worth more than the policy's play. An alarm is given once, and taken back when the action is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamedsl.solve import Tree

Record = Mapping[str, Any]
Place = tuple[str, str]
"""An information set and an action."""

Gains = Callable[[Mapping[str, Mapping[str, float]]], Mapping[str, Mapping[str, float]]]
"""From a policy to what each action is worth at its information set beyond what is played."""

LITTLE = 1e-6
"""What an action must be worth more, in units of reward, to be missed."""

MIXED = 0.1
"""The entropy, in nats, from which a decision counts as mixed."""

BACK = 2.0
"""How many times the threshold an action must reach to be back."""

NEAR = 0.05
"""How far from an interval a probability may be and count as in it."""


class ExtinctionMonitor:
    """Reads one record after another, the start's first. Its state is a function of these alone, so
    that a run that goes on needs no more than its metrics."""

    def __init__(
        self,
        threshold: float | None,
        ranges: Record | None,
        gains: Gains | None = None,
        roles: Collection[str] | None = None,
    ) -> None:
        """threshold: below it an action is gone; None watches nothing. ranges: those of the start
        record, gains: of a policy; each None where it is not known. roles: those whose actions
        count; None for all."""
        self._threshold = threshold
        self._ranges = ranges
        self._gains = gains
        self._roles = roles
        self._gained: Mapping[str, Mapping[str, float]] | None = None
        self._before: dict[str, Mapping[str, float]] = {}
        self.gone: set[Place] = set()

    def look(self, record: Record) -> list[dict[str, Any]]:
        """Returns the events since the last record: actions that died out, and actions that are
        back."""
        policy: Record = record.get("policy") or {}
        self._gained = None
        found = []
        if self._threshold is not None:
            for key, row in policy.items():
                counts = self._roles is None or row["role"] in self._roles
                for name, p in row["probs"].items() if counts else ():
                    event = self._event(policy, key, name, p)
                    if event is not None:
                        found.append(event)
        self._before |= {key: row["probs"] for key, row in policy.items()}
        return found

    def fields(self, record: Record) -> dict[str, Any]:
        """Returns the metrics of a record's policy against the ones before it: how many actions
        have died out, those that did so or came back just now (`alarms`), and how many of the
        decisions with an equilibrium range are in it."""
        alarms = self.look(record)
        found: dict[str, Any] = {"extinct": len(self.gone)}
        if self._ranges is not None:
            fits = inside(self._ranges, record["policy"])
            found["in_range"] = {"inside": sum(fits.values()), "of": len(fits)}
        return found | ({"alarms": alarms} if alarms else {})

    def _event(self, policy: Record, key: str, name: str, p: float) -> dict[str, Any] | None:
        assert self._threshold is not None
        place = key, name
        if place in self.gone:
            if p < BACK * self._threshold:
                return None
            self.gone.remove(place)
            return _alarm(key, name, "back", p, None)
        if p >= self._threshold or not self._missed(policy, key, name):
            return None
        self.gone.add(place)
        parts = parts_of(self._ranges, key, name)
        return _alarm(key, name, "extinct", p, parts and parts[0])

    def _missed(self, policy: Record, key: str, name: str) -> bool:
        """Returns whether an action that is below the threshold should not be."""
        if self._ranges is None:
            before = self._before.get(key, {})
            fell = before.get(name, 0.0) >= (self._threshold or 0) and entropy(before) >= MIXED
            return fell and self._pays(policy, key, name)
        parts = parts_of(self._ranges, key, name)
        if parts is None:
            return False
        low, high = parts[0]
        # Of subgame-perfect equilibria with a tie, a pure one is there at every decision.
        return low > 0 or (high > 0 and self._ranges["concept"] == "Nash equilibria")

    def _pays(self, policy: Record, key: str, name: str) -> bool:
        """Returns whether an action is worth more than the policy's play there, as far as that is
        known."""
        if self._gains is None:
            return True
        if self._gained is None:
            self._gained = self._gains({k: row["probs"] for k, row in policy.items()})
        return self._gained[key][name] > LITTLE


def gains_in(tree: Tree, policy: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Returns the value of each action at its information set beyond that of the policy there;
    the policy has a probability of every action of the tree."""
    from gamedsl.solve.action_values import action_worth

    found = {}
    for key, (_, q) in action_worth(tree, policy).items():
        row = policy[key]
        played = sum(p * value for p, value in zip(row.values(), q, strict=True))
        found[key] = {name: value - played for name, value in zip(row, q, strict=True)}
    return found


def parts_of(ranges: Record | None, key: str, name: str) -> Sequence[Sequence[float]] | None:
    """Returns the intervals of an action; None where they are not known."""
    row = ranges["of"].get(key) if ranges else None
    return None if row is None else row.get(name)


def inside(ranges: Record, policy: Record) -> dict[str, bool]:
    """Returns for each decision with a range of every action whether all are in one of their
    intervals, or within `NEAR` of it."""
    return {
        key: all(
            any(low - NEAR <= p <= high + NEAR for low, high in parts_of(ranges, key, name) or ())
            for name, p in policy[key]["probs"].items()
        )
        for key, row in ranges["of"].items()
        if key in policy and policy[key]["probs"].keys() <= row.keys()
    }


def entropy(probs: Mapping[str, float]) -> float:
    """Returns the entropy, in nats."""
    return -sum(p * log(p) for p in probs.values() if p > 0)


def alarm_line(alarm: Record) -> str:
    """Returns an alarm as a line."""
    where, name = alarm["information_set"], alarm["action"]
    if alarm["event"] == "back":
        return f"{where}: {name} is back, at {alarm['probability']:.1%}"
    line = f"{where}: {name} has died out, at {alarm['probability']:.2g}"
    if alarm["range"] is not None:
        low, high = alarm["range"]
        wanted = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
        line += f"; equilibria play it with {wanted}"
    return line


def _alarm(key: str, name: str, event: str, p: float, part: Any) -> dict[str, Any]:
    return {
        "information_set": key, "action": name, "event": event, "probability": p, "range": part,
    }  # fmt: skip
