"""Random decisions: who acts, what may be chosen, who sees it and under which condition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tests.properties.expressions import Expressions, domain_size
from tests.properties.kinds import Budget, Enum, Eye, Kind, Readers, Role, Sections, Var, Whole

Step = dict[str, Any]

WORDS = (
    "ash", "birch", "cedar", "elm", "fir", "hazel", "holly", "ivy", "larch", "maple", "oak", "pine",
    "rowan", "spruce", "willow", "yew", "alder", "aspen", "beech", "box", "elder", "juniper",
    "lime", "olive", "palm", "plum", "sorrel", "teak", "thorn", "walnut", "acacia", "balsa", "cork",
    "ebony", "fig", "gum", "hemlock", "kapok", "laurel", "mango", "nutmeg", "pecan", "quince",
    "redwood", "sumac", "tamarind",
)  # fmt: skip

FIXED = re.compile(r"[A-Z]\w*|\d+\.\.\d+")
"""Options that do not depend on the play, where they are one text."""

MOST = 6
"""Options of one decision, and outcomes of one draw."""


def is_fixed(source: Any) -> bool:
    """Whether options are the same in every play: what may be chosen must follow from what is
    known."""
    return not isinstance(source, str) or FIXED.fullmatch(source) is not None


class Choices(Expressions):
    """Writes decisions, and adds what they bind to `vars`."""

    sections: Sections
    types: list[tuple[str, Kind]]
    """Declared types, by name."""
    groups: dict[str, tuple[str, ...]]
    """Roles whose seats have names of their own."""
    values: dict[str, int]
    """Params, all of them whole numbers."""
    acted: set[str]
    """The seats that some step lets act."""
    words: int = 0
    unplayed: bool = False
    """Whether somebody may have no legal action."""
    forgets: bool = False
    """Whether decisions may say what is known at them."""

    # names and types

    def members(self, count: int) -> tuple[str, ...]:
        """Names that nothing else has."""
        self.words += count
        return tuple(
            WORDS[i % len(WORDS)] + (str(i // len(WORDS)) if i >= len(WORDS) else "")
            for i in range(self.words - count, self.words)
        )

    def fitting_types(self, most: int, *wanted: type[Kind]) -> list[tuple[str, Kind]]:
        """Declared types with at most so many values."""
        return [
            (name, kind)
            for name, kind in self.types
            if domain_size(kind, self.seats) <= most and (not wanted or isinstance(kind, wanted))
        ]

    def top(self, low: int, most: int) -> tuple[str, int]:
        """The end of a range with at most so many numbers, at least two: as written, and what."""
        params = [n for n, v in self.values.items() if low + 1 <= v < low + most]
        if params and self.chance(30):
            name = self.pick(params)
            return name, self.values[name]
        high = low + self.number_in(2, most) - 1
        return str(high), high

    def afford(self, budget: Budget, times: int) -> int:
        """How many branches there may be if they multiply so many times."""
        most = 1
        while (most + 1) ** times <= budget.room and most < MOST:
            most += 1
        return most

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """What is bound inside may be none afterwards."""
        first = len(self.vars)
        yield
        self.vars[first:] = [
            var if var.state else replace(var, sure=False) for var in self.vars[first:]
        ]

    def bind_choice(
        self, name: str, kind: Kind, readers: Readers, actors: tuple[str, ...], joint: bool,
        sure: bool,
    ) -> None:  # fmt: skip
        """A variable that a decision binds; of one that several make in turn, the bare name is the
        last of them."""
        self.acted.update(actors)
        if joint:
            self.vars.append(Var(name, kind, readers, "role", actors, sure=sure))
            return
        if len(actors) == 1 or readers == "all":
            self.vars.append(Var(name, kind, readers, sure=sure, bound=True))
        if len(actors) > 1:
            self.vars.append(Var(name, kind, readers, "role", actors, sure=False, joint=False))

    # a decision

    def choose(self, budget: Budget, acting: tuple[str, ...]) -> Step | None:
        if self.chance(12) and (stored := self.choose_state(budget, acting)):
            return stored
        item: Step = {}
        actors, joint, who = self.actors(acting, item)
        at_once = len(actors) if joint else 1
        most = self.afford(budget, at_once)
        found = self.options(most, Eye(who, actors)) if most > 1 else None
        if found is None:
            return None
        source, kind, count, always = found
        name = self.fresh("pick")
        head = {"choose": name, "from": source}
        step = {**item, **head} if self.chance(50) else {**head, **item}
        readers = self.seen_by_choice(step, actors, joint)
        budget.spend(count**at_once)
        if self.forgets and is_fixed(source) and self.chance(60):
            return self.knowing(step, actors, joint)
        guarded = self.guard(step, acting, readers, who, actors if joint else ())
        self.bind_choice(name, kind, readers, actors, joint, always and not guarded)
        return step

    def knowing(self, step: Step, actors: tuple[str, ...], joint: bool) -> Step:
        """A decision that says what is known at it. Nobody sees what is chosen, so that anything
        may decide whether it is made."""
        eye = Eye("referee", actors if joint or len(actors) > 1 else ())
        facts = {f"fact {i}": self.truth(eye) for i in range(self.number_in(0, 2))}
        shown = [{title: fact} for title, fact in facts.items() if fact is not None]
        step |= {"knows": shown or "nothing", "seen_by": "nobody"}
        if self.chance(50) and (test := self.truth(eye)):
            step["if"] = test
        self.acted.update(actors)
        return step

    def actors(self, acting: tuple[str, ...], item: Step) -> tuple[tuple[str, ...], bool, str]:
        """Who acts, whether all do at once, and the eye that options are read with."""
        if acting and self.chance(75):
            return acting, False, "me"
        ways = ["seat"] * 2 + ["group"] * len(self.groups)
        if len(self.seats) > 1:
            ways += ["all"] * 3 + ["list"] * (len(self.seats) > 2) + ["computed"]
        match self.pick(ways):
            case "all":
                item["role"] = "all"
                return self.seats, True, "me"
            case "list":
                some = tuple(self.some(self.seats, 2, len(self.seats)))
                item["role"] = list(some)
                return some, True, "me"
            case "group":
                item["role"] = role = self.pick(list(self.groups))
                seats = self.groups[role]
                return (seats, True, "me") if len(seats) > 1 else (seats, False, seats[0])
            case "computed":
                known = [
                    text for text, kind, sure in self.entries(Eye("all", acting))
                    if sure and isinstance(kind, Role)
                ]  # fmt: skip
                if len(self.seats) == 2:
                    item["role"] = f"other({self.pick([*known, *self.seats])})"
                    return self.seats, False, "all"
                if known:
                    item["role"] = self.pick(known)
                    return self.seats, False, "all"
        item["role"] = seat = self.pick(self.seats)
        return (seat,), False, seat

    def options(self, most: int, eye: Eye) -> tuple[Any, Kind, int, bool] | None:
        """What may be chosen: as written, of which kind, how many at most, and whether there is
        always something."""
        ways = ["names", "names", "numbers", "map", "range"]
        ways += ["type"] * 3 if self.fitting_types(most) else []
        ways += ["others"] if 2 < len(self.seats) <= most + 1 and eye.acting else []
        ways += ["computed"] * 2 if self.fitting_types(most, Enum, Whole) else []
        stored = [
            (text, var.kind) for text, var in self.collections(eye, "set", "list")
            if var.state and domain_size(var.kind, self.seats) <= most
        ]  # fmt: skip
        ways += ["stored"] * bool(stored)
        match self.pick(ways):
            case "names":
                names = self.members(self.number_in(2, min(most, 3)))
                return list(names), Enum("", names), len(names), True
            case "numbers":
                numbers = self.some(range(-2, 6), 2, most)
                return numbers, Whole(), len(numbers), True
            case "map":
                names = self.members(self.number_in(2, min(most, 3)))
                return {name: self.number_in(-3, 3) for name in names}, Whole(), len(names), True
            case "range":
                low = self.number_in(0, 2)
                tops = [
                    text for text, k, sure in self.entries(eye)
                    if sure and isinstance(k, Whole) and k.low is not None and k.high is not None
                    and low <= k.low and k.high - low < most
                ]  # fmt: skip
                if tops and self.chance(60):
                    return f"{low}..{self.pick(tops)}", Whole(low, low + most - 1), most, True
                text, high = self.top(low, most)
                return f"{low}..{text}", Whole(low, high), high - low + 1, True
            case "type":
                name, kind = self.pick(self.fitting_types(most))
                return name, kind, domain_size(kind, self.seats), True
            case "others":
                return "others", Role(), len(self.seats) - 1, True
            case "stored":
                self.unplayed = True
                text, kind = self.pick(stored)
                return text, kind, domain_size(kind, self.seats), False
        text, kind, count = self.without(most, eye)
        return text, kind, count, True

    def without(self, most: int, eye: Eye) -> tuple[str, Kind, int]:
        """The values of a type but for one that may be read."""
        name, kind = self.pick(self.fitting_types(most, Enum, Whole))
        size = domain_size(kind, self.seats)
        same = [text for text, k, _ in self.entries(eye) if k == kind]
        if size < 2 or not same:
            return name, kind, size
        self.locals += 1
        k = f"k{self.locals}"
        inside = f"{k} for {k} in {name} if {k} != {self.pick(same)}"
        text = f"[{inside}]" if self.chance(50) else f"{self.pick(['set', 'list'])}({inside})"
        return text, kind, size

    def state_to_fill(self) -> list[Var]:
        """Declared state that a step may write: one value of a finite type, or one per role."""
        return [
            v for v in self.vars
            if v.state and not v.fixed and v.shape == "value" and v.per in (None, "role")
            and isinstance(v.kind, Enum | Whole)
            and not (isinstance(v.kind, Whole) and v.kind.low is None)
        ]  # fmt: skip

    def choose_state(self, budget: Budget, acting: tuple[str, ...]) -> Step | None:
        """A decision that is written to declared state, whose readers it takes."""
        able = [v for v in self.state_to_fill() if v.readers == "all"]
        if not able:
            return None
        var = self.pick(able)
        source = self.written(var.kind)
        count = domain_size(var.kind, self.seats)
        if var.per == "role" and len(self.seats) > 1 and self.chance(60):
            if not budget.affords(count ** len(self.seats)):
                return None
            budget.spend(count ** len(self.seats))
            self.acted.update(self.seats)
            return {"role": "all", "choose": var.name, "from": source}
        if not budget.affords(count) or (var.per == "role" and not acting):
            return None
        budget.spend(count)
        if acting:
            self.acted.update(acting)
            return {"choose": var.name, "from": source}
        seat = self.pick(self.seats)
        self.acted.add(seat)
        return {"role": seat, "choose": var.name, "from": source}

    def written(self, kind: Kind) -> str:
        """A type as an expression."""
        if isinstance(kind, Whole):
            return f"{kind.low}..{kind.high}"
        return next(name for name, known in self.types if known == kind)

    def seen_by_choice(self, step: Step, actors: tuple[str, ...], joint: bool) -> Readers:
        if self.chance(75):
            return "all"
        several = joint or len(actors) > 1
        match self.pick(["owner", "nobody", "roles", "others"]):
            case "owner" | "nobody" as word:
                step["seen_by"] = word
                return "owner" if several else actors
            case "others":
                step["seen_by"] = "others"
                return "owner" if several else "all"
        some, readers = self.some_readers(step)
        if several or isinstance(readers, str):
            return "all" if readers == "all" else "owner"
        return tuple(dict.fromkeys((*some, *actors)))

    def some_readers(self, step: Step) -> tuple[tuple[str, ...], Readers]:
        """Let some seats see what a step binds."""
        if self.groups and self.chance(30):
            step["seen_by"] = role = self.pick(list(self.groups))
            some = self.groups[role]
        else:
            some = tuple(self.some(self.seats, 1, len(self.seats)))
            step["seen_by"] = some[0] if len(some) == 1 else list(some)
        return some, "all" if set(some) == set(self.seats) else some

    def guard(
        self, step: Step, acting: tuple[str, ...], readers: Readers, who: str,
        joint: tuple[str, ...] = (),
    ) -> bool:  # fmt: skip
        """Perhaps put a condition on a step; whether there is one. `joint` are those who act in it
        at once, each with a condition of its own."""
        if not self.chance(25):
            return False
        acting = joint or acting
        eye = Eye("all", acting)
        if isinstance(readers, tuple) and readers == (who,):
            eye = Eye(who)
        elif step.get("seen_by") in ("owner", "nobody") and acting and who == "me":
            eye = Eye("me" if self.chance(60) else "all", acting)
        test = self.truth(eye)
        if test is not None:
            step["if"] = test
        return test is not None
