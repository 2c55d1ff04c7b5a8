"""Random steps of chance: draws, one for each, deals, from types, ranges, weights and the state."""

from __future__ import annotations

from math import comb, prod
from typing import Any

from tests.properties.choices import Choices, Step
from tests.properties.expressions import domain_size
from tests.properties.kinds import Budget, Enum, Eye, Kind, Readers, Record, Role, Var, Whole

ODDS = {2: [["1/3", "2/3"], ["0.25", "0.75"], ["1/2", "1/2"]],
        3: [["1/6", "1/3", "1/2"], ["0.2", "0.3", "0.5"]]}  # fmt: skip


class Chances(Choices):
    """Writes steps of chance, and adds what they bind to `vars`."""

    def draw(self, budget: Budget, acting: tuple[str, ...]) -> Step | None:
        if self.chance(25) and (dealt := self.deal(budget)):
            return dealt
        if self.chance(12) and (stored := self.draw_state(budget)):
            return stored
        name = self.fresh("draw")
        per: list[str] = []
        if budget.room >= 2 ** len(self.seats) and self.chance(45):
            per = ["role"]
        enums = [(n, k) for n, k in self.fitting_types(3, Enum) if isinstance(k, Enum)]
        keyed = self.pick(enums) if enums and self.chance(15) else None
        if keyed is not None:
            per.append(keyed[0])
        times = (len(self.seats) if "role" in per else 1) * (len(keyed[1].members) if keyed else 1)
        found = self.lottery(self.afford(budget, times), acting)
        if found is None:
            return None
        source, kind, count, listed = found
        step: Step = {"draw": name, "from": source}
        if per:
            step["per"] = per[0] if len(per) == 1 else per
        readers, fields = self.seen_by_draw(step, "role" in per, kind, listed)
        budget.spend(count**times)
        sure = not self.guard(step, acting, readers if readers == "all" else "nobody", "all")
        shape: Any = "list" if listed else "value"
        var = Var(name, kind, readers, shape=shape, sure=sure, fields=fields, bound=not per)
        self.bind_drawn(var, per, keyed[1] if keyed else None)
        return step

    def bind_drawn(self, var: Var, per: list[str], key: Enum | None) -> None:
        """Add what was drawn, for each index that there is."""
        from dataclasses import replace

        if key is None:
            if per:
                var = replace(var, per="role", seats=self.seats)
            self.vars.append(var)
        elif per[0] == "role":
            self.vars += [
                replace(var, per="role", seats=self.seats, suffix=f"[{member}]")
                for member in key.members[:2]
            ]
        else:
            self.vars.append(replace(var, per=key))

    def lottery(self, most: int, acting: tuple[str, ...]) -> tuple[Any, Kind, int, bool] | None:
        """What is drawn from, its kind, how many outcomes there are, whether one is a list."""
        if most < 2:
            return None
        ways = ["weights", "weights", "names", "range"]
        ways += ["type"] * 3 if self.fitting_types(most) else []
        ways += ["some"] * 2 if most >= 3 else []
        ways += ["roles"] if 1 < len(self.seats) <= most else []
        ways += ["computed"] if self.fitting_types(most, Enum, Whole) else []
        match self.pick(ways):
            case "weights":
                count = self.number_in(2, min(most, 3))
                odds = self.pick(ODDS[count])
                if self.chance(50):
                    low = self.number_in(0, 2)
                    numbers = {low + i: odd for i, odd in enumerate(odds)}
                    return numbers, Whole(), count, False
                names = self.members(count)
                return dict(zip(names, odds, strict=True)), Enum("", names), count, False
            case "names":
                names = self.members(self.number_in(2, min(most, 3)))
                return list(names), Enum("", names), len(names), False
            case "range":
                low = self.number_in(0, 2)
                text, high = self.top(low, most)
                return f"{low}..{text}", Whole(low, high), high - low + 1, False
            case "some":
                return f"{self.pick([1, 2])} of 1..3", Whole(1, 3), 3, True
            case "roles":
                return "roles", Role(), len(self.seats), False
            case "type":
                name, kind = self.pick(self.fitting_types(most))
                return name, kind, domain_size(kind, self.seats), False
        text, kind, count = self.without(most, Eye("all", acting))
        return text, kind, count, False

    def seen_by_draw(
        self, step: Step, by_seat: bool, kind: Kind, listed: bool
    ) -> tuple[Readers, tuple[tuple[str, Readers], ...]]:
        """Say who sees what is drawn; its readers, and those of its fields where they differ."""
        known = ("all", "nobody", "owner", "others")
        if isinstance(kind, Record) and not listed and self.chance(40):
            fields: dict[str, str] = {}
            for field, _ in self.some(kind.fields, 1, len(kind.fields)):
                words = ["all", "nobody", self.pick(self.seats)] + ["owner", "others"] * by_seat
                fields[field] = self.pick(words)
            step["seen_by"] = fields
            readers: list[tuple[str, Readers]] = []
            for field, word in fields.items():
                readers.append((field, word if word in known else (word,)))
            return "nobody", tuple(readers)
        words = ["all"] * 3 + ["nobody", "roles", "test"] + ["owner", "owner", "others"] * by_seat
        match self.pick(words):
            case "roles":
                return self.some_readers(step)[1], ()
            case "test":
                step["seen_by"] = self.own_test()
                return "nobody", ()
            case word:
                step["seen_by"] = word
                return word, ()

    def own_test(self) -> str:
        """A condition that each seat can work out of itself."""
        roles = [t for t, k, sure in self.entries(Eye()) if isinstance(k, Role) and sure]
        if roles and self.chance(60):
            return f"me {self.pick(['==', '!='])} {self.pick(roles)}"
        return f"index(me) >= {self.number_in(0, len(self.seats))}"

    def deal(self, budget: Budget) -> Step | None:
        """One to each, or some."""
        seats = len(self.seats)
        types: list[tuple[Any, Kind, int, bool]] = []
        for name, kind in self.fitting_types(4, Enum, Whole, Record):
            size = domain_size(kind, self.seats)
            if size >= seats:
                ways = prod(size - i for i in range(seats))
                types.append((name, kind, ways, False))
        if seats < 3:
            two = prod(comb(4 - 2 * i, 2) for i in range(seats))
            types.append(("2 of 1..4", Whole(1, 4), two, True))
        types = [one for one in types if budget.affords(one[2])]
        if not types:
            return None
        source, kind, ways, listed = self.pick(types)
        name = self.fresh("hand")
        step: Step = {"deal": name, "from": source}
        readers, fields = self.seen_by_draw(step, True, kind, listed)
        budget.spend(ways)
        shape: Any = "list" if listed else "value"
        self.vars.append(Var(name, kind, readers, "role", self.seats, shape, fields=fields))
        return step

    def draw_state(self, budget: Budget) -> Step | None:
        """A draw that is written to declared state, whose readers it takes."""
        able = self.state_to_fill()
        if not able:
            return None
        var = self.pick(able)
        times = len(self.seats) if var.per == "role" else 1
        branches = domain_size(var.kind, self.seats) ** times
        if not budget.affords(branches):
            return None
        budget.spend(branches)
        step: Step = {"draw": var.name, "from": self.written(var.kind)}
        return {**step, "per": "role"} if var.per == "role" else step
