"""Uses of shipped protocols: what may be chosen is given to them, what they bind is kept."""

from __future__ import annotations

from typing import Any

from tests.properties.choices import Step
from tests.properties.kinds import PUBLIC, Budget, Enum, Eye, Kind, Var, Whole
from tests.properties.patterns import Patterns

BETTING = ("fold", "check", "call", "bet", "raise")


class Protocols(Patterns):
    """Writes `use` steps; each protocol is used once, since a name is bound in one way."""

    used: frozenset[str] = frozenset()

    def pattern(self, budget: Budget) -> list[Step]:
        if self.chance(25) and (found := self.protocol(budget)):
            return found
        return super().pattern(budget)

    def protocol(self, budget: Budget) -> list[Step]:
        ways = {"sealed_then_reveal": "move", "round_robin": "move", "by_priority": "move",
                "pipeline": "work", "betting_round": "move"}  # fmt: skip
        if len(self.seats) > 1:
            ways |= {"propose_respond": "offer", "sender_receiver": "word"}
        free = [name for name, binds in ways.items() if binds not in self.used]
        if self.moves is not None:
            free = [name for name in free if ways[name] != "move"]
        if not free:
            return []
        name = self.pick(free)
        found = getattr(self, name)(budget)
        if found:
            self.used |= {ways[name]}
        return found

    def acts(self, budget: Budget) -> list[Step]:
        return [] if "move" in self.used else super().acts(budget)

    def given(self, most: int, eye: Eye) -> tuple[Any, Kind, int] | None:
        """What may be chosen, where there is always something."""
        found = self.options(most, eye) if most > 1 else None
        if found is None or not found[3]:
            return None
        return found[:3]

    def given_to_all(self, budget: Budget, eye: Eye) -> tuple[Any, Kind] | None:
        """What every seat chooses from once; the budget pays for it."""
        seats = len(self.seats)
        found = self.given(self.afford(budget, seats), eye)
        if found is None:
            return None
        source, kind, count = found
        budget.spend(count**seats)
        return source, kind

    def sealed_then_reveal(self, budget: Budget) -> list[Step]:
        found = self.given_to_all(budget, Eye("me", self.seats))
        if found is None:
            return []
        source, kind = found
        self.acted.update(self.seats)
        self.vars.append(Var("sealed", kind, "owner", "role", self.seats))
        self.vars.append(Var("move", kind, "all", "role", self.seats))
        return [{"use": "sealed_then_reveal", "choices": source}]

    def round_robin(self, budget: Budget) -> list[Step]:
        found = self.given_to_all(budget, PUBLIC)
        if found is None:
            return []
        source, kind = found
        self.bind_choice("move", kind, "all", self.seats, False, False)
        step: Step = {"use": "round_robin", "choices": source}
        if self.chance(30):
            step["order"] = list(reversed(self.seats))
        return [step]

    def by_priority(self, budget: Budget) -> list[Step]:
        found = self.given_to_all(budget, PUBLIC)
        if found is None:
            return []
        source, kind = found
        priority = f"{self.whole(Eye('all', self.seats), 1)} + index(me)"
        self.bind_choice("move", kind, "all", self.seats, False, False)
        return [{"use": "by_priority", "priority": priority, "choices": source}]

    def pipeline(self, budget: Budget) -> list[Step]:
        found = self.given_to_all(budget, PUBLIC)
        if found is None:
            return []
        source, kind = found
        self.bind_choice("work", kind, "all", self.seats, False, False)
        step: Step = {"use": "pipeline", "choices": source}
        if isinstance(kind, Enum) and self.chance(50):
            step["done"] = f"work == {self.pick(kind.members)}"
        return [step]

    def propose_respond(self, budget: Budget) -> list[Step]:
        by, to = self.some(self.seats, 2, 2)
        found = self.given(self.afford(budget, 1), PUBLIC)
        if found is None or not budget.affords(found[2] * 2):
            return []
        source, kind, count = found
        budget.spend(count * 2)
        self.bind_choice("offer", kind, "all", (by,), False, True)
        self.bind_choice("answer", Enum("", ("accept", "reject")), "all", (to,), False, True)
        return [{"use": "propose_respond", "by": by, "to": to, "offers": source}]

    def sender_receiver(self, budget: Budget) -> list[Step]:
        by, to = self.some(self.seats, 2, 2)
        types = self.fitting_types(3)
        if not types or not budget.affords(9):
            return []
        first = self.given(3, PUBLIC)
        if first is None:
            return []
        name, kind = self.pick(types)
        budget.spend(first[2] * 3)
        self.bind_choice("word", first[1], "all", (by,), False, True)
        self.bind_choice("guess", kind, "all", (to,), False, True)
        step = {"use": "sender_receiver", "by": by, "to": to, "signals": first[0], "choices": name}
        return [step]

    def betting_round(self, budget: Budget) -> list[Step]:
        seats = len(self.seats)
        if seats < 2 or self.sections.actions or not budget.affords(3 ** (2 * seats)):
            return []
        budget.spend(3 ** (2 * seats))
        self.acted.update(self.seats)
        self.vars.append(Var("move", Enum("", BETTING), sure=False))
        self.vars.append(Var("paid", Whole(), "all", "role", self.seats, fixed=True))
        return [{"use": "betting_round", "size": self.number_in(1, 2)}]
