"""Random steps: decisions, chance, what is shown, state changes, payoffs, blocks and loops."""

from __future__ import annotations

from contextlib import contextmanager
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.properties.expressions import Expressions, domain_size
from tests.properties.kinds import (
    PUBLIC,
    Budget,
    Cell,
    Enum,
    Eye,
    Kind,
    Readers,
    Record,
    Role,
    Sections,
    Truth,
    Var,
    Whole,
)

Step = dict[str, Any]

WORDS = (
    "ash birch cedar elm fir hazel holly ivy larch maple oak pine rowan spruce willow yew alder "
    "aspen beech box elder juniper lime olive palm plum sorrel teak thorn walnut acacia balsa "
    "cork ebony fig gum hemlock kapok laurel mango nutmeg pecan quince redwood sumac tamarind"
).split()


class Steps(Expressions):
    """Writes steps, and adds what they bind to `vars`."""

    sections: Sections
    types: list[tuple[str, Kind]]
    words: int = 0
    streams: dict[str, None]
    acted: set[str]
    """The seats that some step lets act."""

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

    def bind(self, var: Var) -> None:
        self.vars.append(var)

    @contextmanager
    def perhaps(self, sure: bool = False) -> Iterator[None]:
        """What is bound inside may be none afterwards."""
        first = len(self.vars)
        yield
        if not sure:
            self.vars[first:] = [
                var if var.state else replace(var, sure=False) for var in self.vars[first:]
            ]

    # sequences

    def sequence(self, budget: Budget, acting: tuple[str, ...], depth: int, most: int) -> list[Step]:
        """Some steps, at least one."""
        steps: list[Step] = []
        for _ in range(self.number_in(1, most)):
            steps += self.step(budget, acting, depth)
        return steps or [self.show(acting)]

    def step(self, budget: Budget, acting: tuple[str, ...], depth: int) -> list[Step]:
        choose, draw = (lambda: self.choose(budget, acting)), (lambda: self.draw(budget, acting))
        heads = [choose, choose, choose, draw, draw, lambda: self.show(acting),
                 lambda: self.do(acting), lambda: self.do(acting), lambda: self.pay(acting)]  # fmt: skip
        if depth:
            heads += [lambda: self.block(budget, acting, depth - 1)]
            heads += [lambda: self.loop(budget, acting, depth - 1)] * 3
        found = self.pick(heads)()
        return [found] if found else []

    # decisions

    def choose(self, budget: Budget, acting: tuple[str, ...]) -> Step | None:
        item: Step = {}
        actors, joint, who = self.actors(acting, item)
        at_once = len(actors) if joint else 1
        most = 1
        while (most + 1) ** at_once <= budget.room and most < 6:
            most += 1
        if most < 2:
            return None
        found = self.options(most, Eye(who, actors))
        if found is None:
            return None
        source, kind, count = found
        name = self.fresh("pick")
        head = {"choose": name, "from": source}
        step = {**item, **head} if self.chance(50) else {**head, **item}
        readers = self.seen_by_choice(step, actors, joint, who)
        budget.spend(count**at_once)
        self.acted.update(actors)
        sure = not self.guard(step, acting, readers, who)
        single = not joint and len(actors) == 1
        if single:
            self.bind(Var(name, kind, readers, sure=sure))
        elif joint:
            self.bind(Var(name, kind, readers, "role", actors, sure=sure))
        else:
            if readers == "all":
                self.bind(Var(name, kind, sure=sure))
            self.bind(Var(name, kind, readers, "role", actors, sure=False, joint=False))
        return step

    def actors(self, acting: tuple[str, ...], item: Step) -> tuple[tuple[str, ...], bool, str]:
        """Who acts, whether all do at once, and the eye that options are read with."""
        if acting and self.chance(75):
            return acting, False, "me"
        kinds = ["seat"] * 2
        if len(self.seats) > 1:
            kinds += ["all"] * 3 + ["list"] * (len(self.seats) > 2) + ["computed"]
        match self.pick(kinds):
            case "all":
                item["role"] = "all"
                return self.seats, True, "me"
            case "list":
                some = tuple(self.some(self.seats, 2, len(self.seats)))
                item["role"] = list(some)
                return some, True, "me"
            case "computed":
                known = [
                    text for text, kind, sure in self.entries(Eye("all", acting))
                    if sure and isinstance(kind, Role)
                ]  # fmt: skip
                if known or len(self.seats) == 2:
                    item["role"] = (
                        f"other({self.pick([*known, *self.seats])})"
                        if len(self.seats) == 2 else self.pick(known)
                    )  # fmt: skip
                    return self.seats, False, "me"
        item["role"] = seat = self.pick(self.seats)
        return (seat,), False, seat

    def options(self, most: int, eye: Eye) -> tuple[Any, Kind, int] | None:
        """What may be chosen: as written, of which kind, and how many at most."""
        ways = ["names", "names", "numbers", "map", "range"]
        ways += ["type"] * 3 if self.fitting_types(most) else []
        ways += ["others"] if 2 < len(self.seats) <= most + 1 else []
        ways += ["computed"] * 2 if self.fitting_types(most, Enum, Whole) else []
        match self.pick(ways):
            case "names":
                names = self.members(self.number_in(2, min(most, 3)))
                return list(names), Enum("", names), len(names)
            case "numbers":
                numbers = self.some(range(-2, 6), 2, most)
                return numbers, Whole(), len(numbers)
            case "map":
                names = self.members(self.number_in(2, min(most, 3)))
                return {name: self.number_in(-3, 3) for name in names}, Whole(), len(names)
            case "range":
                low, count = self.number_in(0, 2), self.number_in(2, most)
                kind = Whole(low, low + count - 1)
                tops = [
                    text for text, k, sure in self.entries(eye)
                    if sure and isinstance(k, Whole) and k.low is not None and k.high is not None
                    and low <= k.low and k.high - low < most
                ]  # fmt: skip
                if tops and self.chance(60):
                    return f"{low}..{self.pick(tops)}", Whole(low, low + most - 1), most
                return f"{low}..{kind.high}", kind, count
            case "type":
                name, kind = self.pick(self.fitting_types(most))
                return name, kind, domain_size(kind, self.seats)
            case "others":
                return "others", Role(), len(self.seats) - 1
        name, kind = self.pick(self.fitting_types(most, Enum, Whole))
        size = domain_size(kind, self.seats)
        same = [text for text, k, _ in self.entries(eye) if k == kind]
        if size < 2 or not same:
            return name, kind, size
        self.locals += 1
        word = self.pick(["list", "set"])
        return f"{word}(k{self.locals} for k{self.locals} in {name} if k{self.locals} != "\
            f"{self.pick(same)})", kind, size  # fmt: skip

    def seen_by_choice(
        self, step: Step, actors: tuple[str, ...], joint: bool, who: str
    ) -> Readers:
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
        some = tuple(self.some(self.seats, 1, len(self.seats)))
        step["seen_by"] = some[0] if len(some) == 1 else list(some)
        if several:
            return "all" if set(some) == set(self.seats) else "owner"
        return tuple(dict.fromkeys((*some, *actors)))

    def guard(self, step: Step, acting: tuple[str, ...], readers: Readers, who: str) -> bool:
        """Perhaps put a condition on a step; whether there is one."""
        if not self.chance(25):
            return False
        eye = Eye("all", acting)
        if isinstance(readers, tuple) and len(readers) == 1 and readers[0] == who:
            eye = Eye(who)
        elif readers == "owner" and acting and who == "me" and self.chance(60):
            eye = Eye("me", acting)
        test = self.truth(eye)
        if test is not None:
            step["if"] = test
        return test is not None

    # chance

    def draw(self, budget: Budget, acting: tuple[str, ...]) -> Step | None:
        if self.chance(25) and (dealt := self.deal(budget)):
            return dealt
        name, step = self.fresh("draw"), {}
        per: list[Any] = []
        most = min(budget.room, 6)
        if most >= 2 ** len(self.seats) and self.chance(45):
            per = ["role"]
        enums = [(n, k) for n, k in self.fitting_types(3, Enum) if isinstance(k, Enum)]
        keyed = None
        if enums and self.chance(15):
            keyed = self.pick(enums)
            per.append(keyed[0])
        times = (len(self.seats) if "role" in per else 1) * (len(keyed[1].members) if keyed else 1)
        most = 1
        while (most + 1) ** times <= budget.room and most < 6:
            most += 1
        found = self.lottery(most, acting)
        if found is None:
            return None
        source, kind, count, listed = found
        step = {"draw": name, "from": source}
        if per:
            step["per"] = per[0] if len(per) == 1 else per
        readers, fields = self.seen_by_draw(step, "role" in per, kind, listed)
        budget.spend(count**times)
        sure = not self.guard(step, acting, readers if readers == "all" else "nobody", "all")
        shape: Any = "list" if listed else "value"
        if keyed is None:
            self.bind(Var(name, kind, readers, "role" if per else None, self.seats if per else (),
                          shape, sure, fields=fields, most=9))  # fmt: skip
        elif per[0] == "role":
            for member in keyed[1].members[:2]:
                self.bind(Var(name, kind, readers, "role", self.seats, shape, sure,
                              fields=fields, suffix=f"[{member}]"))  # fmt: skip
        else:
            self.bind(Var(name, kind, readers, keyed[1], (), shape, sure, fields=fields))
        return step

    def lottery(self, most: int, acting: tuple[str, ...]) -> tuple[Any, Kind, int, bool] | None:
        """What is drawn from, the kind of what is drawn, how many outcomes, whether it is a list."""
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
                odds = self.pick([["1/3", "2/3"], ["0.25", "0.75"], ["1/2", "1/2"]] if count == 2
                                 else [["1/6", "1/3", "1/2"], ["0.2", "0.3", "0.5"]])  # fmt: skip
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
                low, count = self.number_in(0, 2), self.number_in(2, most)
                return f"{low}..{low + count - 1}", Whole(low, low + count - 1), count, False
            case "some":
                take = self.pick([1, 2])
                return f"{take} of 1..3", Whole(1, 3), 3, True
            case "roles":
                return "roles", Role(), len(self.seats), False
            case "type":
                name, kind = self.pick(self.fitting_types(most))
                return name, kind, domain_size(kind, self.seats), False
        name, kind = self.pick(self.fitting_types(most, Enum, Whole))
        same = [text for text, k, _ in self.entries(Eye("all", acting)) if k == kind]
        size = domain_size(kind, self.seats)
        if size < 2 or not same:
            return name, kind, size, False
        self.locals += 1
        k = f"k{self.locals}"
        return f"set({k} for {k} in {name} if {k} != {self.pick(same)})", kind, size, False

    def seen_by_draw(
        self, step: Step, by_seat: bool, kind: Kind, listed: bool
    ) -> tuple[Readers, tuple[tuple[str, Readers], ...]]:
        """Say who sees what is drawn; its readers, and those of its fields where they differ."""
        if isinstance(kind, Record) and not listed and self.chance(40):
            fields = {}
            for field, _ in self.some(kind.fields, 1, len(kind.fields)):
                words = ["all", "nobody", self.pick(self.seats)] + ["owner", "others"] * by_seat
                fields[field] = self.pick(words)
            step["seen_by"] = fields
            known = ("all", "nobody", "owner", "others")
            return "nobody", tuple(
                (field, word if word in known else (word,)) for field, word in fields.items()
            )
        words = ["all", "all", "all", "nobody", "roles", "test"] + ["owner", "owner", "others"] * by_seat
        match self.pick(words):
            case "roles":
                some = tuple(self.some(self.seats, 1, len(self.seats)))
                step["seen_by"] = some[0] if len(some) == 1 else list(some)
                return "all" if set(some) == set(self.seats) else some, ()
            case "test":
                step["seen_by"] = f"index(me) >= {self.number_in(0, len(self.seats))}"
                return "nobody", ()
            case word:
                step["seen_by"] = word
                return word, ()  # type: ignore[return-value]

    def deal(self, budget: Budget) -> Step | None:
        count = len(self.seats)
        types = []
        for name, kind in self.fitting_types(4, Enum, Whole, Record):
            size, ways = domain_size(kind, self.seats), 1
            for i in range(count):
                ways *= size - i
            if size >= count and budget.affords(ways):
                types.append((name, kind, ways))
        if not types:
            return None
        source, kind, ways = self.pick(types)
        name = self.fresh("hand")
        step: Step = {"deal": name, "from": source}
        readers, fields = self.seen_by_draw(step, True, kind, False)
        budget.spend(ways)
        self.bind(Var(name, kind, readers, "role", self.seats, fields=fields))
        return step

    # what is told, changed and paid

    def show(self, acting: tuple[str, ...]) -> Step:
        named = [kind for _, kind in self.types if not isinstance(kind, Record | Cell)]
        kinds: list[Kind] = [Truth(), Whole(), Role(), *named]
        kind = self.pick(kinds)
        eye = Eye("referee", acting)
        name = self.fresh("told")
        step: Step = {"show": self.value(kind, eye), "as": name}
        readers: Readers = "all"
        if self.chance(30):
            some = tuple(self.some(self.seats, 1, len(self.seats)))
            step["seen_by"] = some[0] if len(some) == 1 else list(some)
            readers = "all" if set(some) == set(self.seats) else some
            if acting and self.chance(50):
                step["seen_by"] = self.pick(["owner", "others"])
                readers = "nobody"
        sure = not self.guard(step, acting, readers if readers == "all" else "nobody", "all")
        self.bind(Var(name, kind, readers, sure=sure))
        return step

    def do(self, acting: tuple[str, ...]) -> Step | None:
        lines = [self.statement(acting, own=False) for _ in range(self.number_in(1, 2))]
        found = [line for line in lines if line is not None]
        if not found:
            return None
        step: Step = {"do": found if self.chance(30) else "; ".join(found)}
        if self.chance(25) and (test := self.truth(Eye("all", acting))):
            step["if"] = test
        return step

    def statement(self, acting: tuple[str, ...], *, own: bool) -> str | None:
        """A change of some state variable; `own` says that only the actor's own part may change."""
        able = [v for v in self.vars if v.state and not v.fixed and (v.per == "role" or not own)]
        if not able:
            return None
        var = self.pick(able)
        place, eye = self.place(var, acting, own)
        if place is None:
            return None
        if var.shape == "value":
            if isinstance(var.kind, Whole) and var.kind.low is None and self.chance(60):
                return f"{place} {self.pick(['+=', '-='])} {self.whole(eye, 1)}"
            if var.per == "role" and not own and var.readers == "all" and self.chance(25):
                self.locals += 1
                r = f"r{self.locals}"
                value = self.value(var.kind, Eye(eye.who, ()), 1)
                test = f" if {r} != {self.pick(self.seats)}" if self.chance(40) else ""
                return f"{var.name}[{r}] = {value} for {r} in roles{test}"
            return f"{place} = {self.value(var.kind, eye, 1)}"
        if var.shape == "set":
            return f"add {self.value(var.kind, eye, 1)} to {place}"
        if var.shape == "grid":
            return f"{place}{self.literal_cell(var)} = {self.value(var.kind, eye, 1)}"
        return None

    def literal_cell(self, var: Var) -> str:
        rows, columns = var.size
        return f"[{self.number_in(0, rows - 1)}, {self.number_in(0, columns - 1)}]"

    def place(self, var: Var, acting: tuple[str, ...], own: bool) -> tuple[str | None, Eye]:
        """A part of a variable that can be written, and who must read what is written there."""
        eye = Eye("all", acting)
        if var.per == "role":
            if acting and (own or self.chance(70)):
                if var.readers == "owner":
                    eye = Eye("me", acting)
                return f"{var.name}.me", self.reader_of(var.readers, eye)
            if own:
                return None, eye
            seat = self.pick(self.seats)
            eye = Eye(seat) if var.readers == "owner" else self.reader_of(var.readers, eye)
            return f"{var.name}.{seat}", eye
        if isinstance(var.per, Enum):
            return f"{var.name}[{self.pick(var.per.members)}]", self.reader_of(var.readers, eye)
        return var.name, self.reader_of(var.readers, eye)

    def reader_of(self, readers: Readers, eye: Eye) -> Eye:
        """Who must be able to read what is assigned to something with these readers."""
        if readers == "nobody":
            return Eye("referee", eye.acting)
        if isinstance(readers, tuple) and len(readers) == 1:
            return Eye(readers[0])
        return eye

    def pay(self, acting: tuple[str, ...]) -> Step:
        stream = self.pick(["payoffs", "local", "team", "process"])
        self.streams[stream] = None
        eye = Eye("referee", self.seats)
        step: Step = {"pay": stream, "value": self.amount(eye)}
        if self.chance(20):
            step["value"] = {seat: self.amount(eye) for seat in self.some(self.seats, 1, 4)}
        if self.chance(25) and (test := self.truth(Eye("all", acting))):
            step["if"] = test
        return step

    # blocks and loops

    def block(self, budget: Budget, acting: tuple[str, ...], depth: int) -> Step | None:
        if len(self.seats) > 1 and self.chance(30):
            seat = self.pick(self.seats)
            return {"role": seat, "turns": self.sequence(budget, (seat,), depth, 2)}
        test = self.truth(Eye("all", acting))
        if test is None:
            return None
        with self.perhaps():
            return {"if": test, "turns": self.sequence(budget, acting, depth, 2)}

    def loop(self, budget: Budget, acting: tuple[str, ...], depth: int) -> Step | None:
        step: Step = {}
        first = len(self.vars)
        match self.pick(["repeat", "repeat", "roles", "roles", "items", "cycle"]):
            case "repeat":
                passes = self.number_in(1, 3)
                step["repeat"] = passes
            case "roles":
                order = self.some(self.seats, 1, 4)
                step["each"] = "roles" if self.chance(60) else order
                acting = self.seats if step["each"] == "roles" else tuple(order)
                passes = len(acting)
            case "items":
                passes = self.number_in(1, 3)
                name = self.fresh("x")
                step["each"] = f"{name} in {[*range(1, passes + 1)]}"
                self.bind(Var(name, Whole(), sure=True, state=False))
            case _:
                passes = self.number_in(1, len(self.seats) + 1)
                step["each"] = "cycle(roles)"
                acting = self.seats
                step["at_most"] = passes
        if self.chance(30):
            step["count"] = name = self.fresh("n")
            self.bind(Var(name, Whole()))
        inside = Budget(max(int(budget.room ** (1 / passes)), 1))
        turns = self.sequence(inside, acting, depth, 2)
        budget.spend(inside.used**passes)
        if self.chance(30) and (test := self.truth(Eye("all", acting))):
            step["until"] = test
            if "at_most" in step:
                step["at_most"] = {"n": passes, "then": "go_on"}
        step["turns"] = turns
        if self.chance(15) and (test := self.truth_before(first, acting)):
            step["if"] = test
            self.vars[first:] = [replace(v, sure=v.state) for v in self.vars[first:]]
        return step

    def truth_before(self, first: int, acting: tuple[str, ...]) -> str | None:
        """A condition over what there was before some variables."""
        later, self.vars = self.vars[first:], self.vars[:first]
        test = self.truth(PUBLIC)
        self.vars += later
        return test
