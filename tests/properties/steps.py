"""Random steps: what is shown, state changes, payoffs, blocks and loops."""

from __future__ import annotations

from dataclasses import replace

from tests.properties.chances import Chances
from tests.properties.choices import Step
from tests.properties.kinds import (
    PUBLIC,
    REFEREE,
    Budget,
    Cell,
    Enum,
    Eye,
    Kind,
    Readers,
    Record,
    Role,
    Truth,
    Var,
    Whole,
)


class Steps(Chances):
    """Writes steps, and adds what they bind to `vars`."""

    streams: dict[str, None]
    """The streams that are paid during play."""

    def sequence(
        self, budget: Budget, acting: tuple[str, ...], depth: int, most: int
    ) -> list[Step]:
        """Some steps, at least one."""
        steps: list[Step] = []
        for _ in range(self.number_in(1, most)):
            steps += self.step(budget, acting, depth)
        return steps or [self.show(acting)]

    def step(self, budget: Budget, acting: tuple[str, ...], depth: int) -> list[Step]:
        choose, draw = (lambda: self.choose(budget, acting)), (lambda: self.draw(budget, acting))
        heads = [choose] * 4 + [draw] * 3
        heads += [lambda: self.show(acting), lambda: self.do(acting), lambda: self.do(acting),
                  lambda: self.collect(acting), lambda: self.pay(acting)]  # fmt: skip
        if depth:
            heads += [lambda: self.block(budget, acting, depth - 1)]
            heads += [lambda: self.loop(budget, acting, depth - 1)] * 4
        if not acting and len(self.seats) > 1:
            heads += [lambda: self.each(budget)]
        found = self.pick(heads)()
        return [found] if found else []

    def each(self, budget: Budget) -> Step | None:
        """A decision of each role in turn, in one step."""
        inside = Budget(max(int(budget.room ** (1 / len(self.seats))), 1))
        first, acted = len(self.vars), set(self.acted)
        step = self.choose(inside, self.seats)
        if step is None or "role" in step:
            del self.vars[first:]
            self.acted = acted
            return None
        budget.spend(inside.used ** len(self.seats))
        return {"each": "roles", **step}

    # what is told, changed and paid

    def show(self, acting: tuple[str, ...]) -> Step:
        if self.chance(20) and (opened := self.show_all(acting)):
            return opened
        named = [kind for _, kind in self.types if not isinstance(kind, Record | Cell)]
        kinds: list[Kind] = [Truth(), Whole(), Role(), *named]
        kind = self.pick(kinds)
        eye = Eye("referee", acting)
        name = self.fresh("told")
        step: Step = {"show": self.value(kind, eye), "as": name}
        readers: Readers = "all"
        if self.chance(30):
            readers = self.some_readers(step)[1]
            if acting and self.chance(50):
                step["seen_by"] = self.pick(["owner", "others"])
                readers = "nobody"
        sure = not self.guard(step, acting, readers if readers == "all" else "nobody", "all")
        self.vars.append(Var(name, kind, readers, sure=sure, bound=True))
        return step

    def show_all(self, acting: tuple[str, ...]) -> Step | None:
        """What all hold, told to all: bids that were sealed are opened. Where nobody acts, perhaps
        each is told its own alone, or what the others hold."""
        able = [v for v in self.whole_maps(REFEREE) if v.sure and not v.state]
        if not able:
            return None
        var = self.pick(able)
        name = self.fresh("open")
        readers: Readers = "all"
        step: Step = {"show": var.name, "as": name}
        if not acting and self.chance(40):
            step["seen_by"] = self.pick(["owner", "others"])
            readers = "owner" if step["seen_by"] == "owner" else "nobody"
        self.vars.append(Var(name, var.kind, readers, "role", self.seats))
        return step

    def collect(self, acting: tuple[str, ...]) -> Step | None:
        """Something is added to a list that has room, or dropped from a collection that has it."""
        able = [(t, v) for t, v in self.collections(Eye("all", acting), "list", "set") if v.state]
        if not able:
            return None
        text, var = self.pick(able)
        value = self.value(var.kind, Eye("all", acting), 1)
        if var.shape == "set":
            return {"do": f"drop {value} from {text}", "if": f"{value} in {text}"}
        match self.pick(["add", "add", "first", "value"]):
            case "first":
                return {"do": f"drop {text}[0]", "if": f"len({text}) > 0"}
            case "value":
                return {"do": f"drop {value} from {text}", "if": f"{value} in {text}"}
        return {"do": f"add {value} to {text}", "if": f"len({text}) < {var.most}"}

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
        if self.bold and var.shape in ("set", "list") and self.chance(70):
            sign, value = self.pick(["add", "drop"]), self.value(var.kind, eye, 1)
            return f"{sign} {value} {'to' if sign == 'add' else 'from'} {place}"
        if self.bold and var.shape == "value" and isinstance(var.kind, Whole):
            return f"{place} = {self.whole(eye, 2)}"
        if var.shape == "value":
            if isinstance(var.kind, Whole) and var.kind.low is None and self.chance(60):
                return f"{place} {self.pick(['+=', '-='])} {self.whole(eye, 1)}"
            if var.per == "role" and not own and var.readers == "all" and self.chance(25):
                self.locals += 1
                r = f"r{self.locals}"
                value = self.value(var.kind, Eye(eye.who, ()), 1)
                test = f" if {r} != {self.pick(self.seats)}" if self.chance(40) else ""
                if self.chance(30):  # one value, given several times
                    test += f" for k{self.locals} in 0..{self.number_in(-1, 2)}"
                return f"{var.name}[{r}] = {value} for {r} in roles{test}"
            return f"{place} = {self.value(var.kind, eye, 1)}"
        if var.shape == "set" and self.chance(30):
            self.locals += 1
            k = f"k{self.locals}"
            low, high = self.number_in(0, 3), self.number_in(1, 3)
            if self.chance(30):
                inner = f"for j{self.locals} in 0..{k} if j{self.locals} < {self.number_in(1, 3)}"
                return f"add {k} to {place} for {k} in 1..{high} if {k} != {low} {inner}"
            return f"add {k} to {place} for {k} in 1..{high} if {k} != {low}"
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
        local = self.pick(["i", "j"]) if self.chance(50) else ""
        hidden = [v for v in self.vars if v.name == local]
        self.vars = [v for v in self.vars if v.name != local]
        first = len(self.vars)
        match self.pick(["repeat", "repeat", "roles", "roles", "items", "items", "cycle"]):
            case "repeat":
                text, passes = "", self.number_in(1, 3)
                if params := [n for n, v in self.values.items() if v < 4]:
                    text = self.pick([*params, ""])
                    passes = self.values.get(text, passes)
                step["repeat"] = text or passes
            case "roles":
                order = self.some(self.seats, 1, 4)
                step["each"] = "roles" if self.chance(60) else order
                acting = self.seats if step["each"] == "roles" else tuple(order)
                passes = len(acting)
            case "items":
                name = local or self.fresh("x")
                passes, items, kind = self.items_of_a_loop()
                step["each"] = f"{name} in {items}"
                self.vars.append(Var(name, kind, sure=True, state=False))
            case _:
                passes = self.number_in(1, len(self.seats) + 1)
                step["each"] = "cycle(roles)"
                acting = self.seats
                step["at_most"] = passes
        if self.chance(30):
            step["count"] = name = self.fresh("n")
            self.vars.append(Var(name, Whole()))
        inside = Budget(max(int(budget.room ** (1 / passes)), 1))
        turns = self.sequence(inside, acting, depth, 2)
        budget.spend(inside.used**passes)
        if self.chance(30) and (test := self.truth(Eye("all", acting))):
            step["until"] = test
            if "at_most" in step:
                step["at_most"] = {"n": passes, "then": "go_on"}
        step["turns"] = turns
        if self.chance(15) and (test := self.truth_before(first)):
            step["if"] = test
            self.vars[first:] = [replace(v, sure=v.state) for v in self.vars[first:]]
        self.vars = [v for v in self.vars if v.name != local] + hidden
        return step

    def items_of_a_loop(self) -> tuple[int, str, Kind]:
        """How many items a loop goes through, their text and their kind."""
        if self.chance(30):
            return len(self.seats), "roles", Role()
        passes = self.number_in(1, 3)
        return passes, str([*range(1, passes + 1)]), Whole()

    def truth_before(self, first: int) -> str | None:
        """A condition over what there was before some variables."""
        later, self.vars = self.vars[first:], self.vars[:first]
        test = self.truth(PUBLIC)
        self.vars += later
        return test
