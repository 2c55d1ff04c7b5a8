"""Whole game files, written at random, and what is in them.

`game_files` writes YAML over the whole closed language: seats, types, state, chance, secrets,
decisions in turn and at once, loops, stages, payoffs and rewards. A file is right by construction:
what a reader must work out reads only what that reader sees, what may be none is tested first, every
loop is bounded, and the number of histories is kept small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Draw, Loop, Show, Stage, walk_steps
from tests.properties.kinds import (
    REFEREE,
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
    as_yaml,
)
from tests.properties.patterns import Patterns
from tests.properties.steps import Step

ROOMS = (8, 30, 90, 200)
"""How many complete histories a game may have at most."""


@dataclass(frozen=True)
class Features:
    """What a compiled game has."""

    chance: bool
    hidden: bool
    simultaneous: bool
    loops: bool


def features(ir: GameIR) -> Features:
    """What a game has, by its program."""
    steps = list(walk_steps(ir.turns))
    told = [step for step in steps if isinstance(step, Choose | Draw | Show)]
    stages = [state for step in steps if isinstance(step, Stage) for state in step.state]
    return Features(
        chance=any(isinstance(step, Draw) for step in steps),
        hidden=any(part.readers.kind != "all" for part in (*told, *ir.state, *stages)),
        simultaneous=any(step.joint and len(step.actors) > 1 for step in ir.steps),
        loops=any(
            isinstance(step, Loop) and not step.id.startswith("turn") for step in steps
        ),
    )


class Writer(Patterns):
    """Writes one file."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.sections = Sections()
        self.streams = {}
        self.types: list[tuple[str, Kind]] = []
        self.ended = False
        self.acted = set()

    def file(self) -> str:
        document: dict[str, Any] = {"game": "generated", "roles": self.roles()}
        self.params()
        self.declare_types()
        self.declare_state()
        budget = Budget(self.pick(ROOMS))
        turns = self.turns(budget)
        self.last_words(document)
        for name in ("params", "types", "state", "actions"):
            if section := getattr(self.sections, name):
                document[name] = section
        document["turns"] = turns
        if self.unplayed:
            document["no_move"] = self.pick(["pass", "end"])
            self.ended |= document["no_move"] == "end"
        if self.ended:
            self.vars = [v if v.state else replace(v, sure=False) for v in self.vars]
        self.outcome(document)
        return as_yaml(document)

    # before the turns

    def roles(self) -> Any:
        names = self.pick([("ann", "bob", "cyd", "dan"), ("first", "second", "third", "fourth")])
        count = self.pick([2, 2, 2, 3, 1, 4])
        if self.chance(25):
            if count == 1 or self.chance(50):
                self.seats = tuple(f"player_{i}" for i in range(1, count + 1))
                return {"player": count}
            self.seats = ("buyer_1", *(f"seller_{i}" for i in range(1, count)))
            return {"buyer": 1, "seller": count - 1}
        self.seats = names[:count]
        return list(self.seats)

    def params(self) -> None:
        for _ in range(self.number_in(0, 2)):
            name = self.fresh("size")
            value = self.number_in(1, 4)
            self.sections.params[name] = self.pick([value, {"default": value, "in": "1..4"}])
            self.vars.append(Var(name, Whole(), state=True, fixed=True))

    def declare_types(self) -> None:
        for _ in range(self.number_in(1, 3)):
            way = self.pick(["enum", "enum", "range", "record", "cell", "fresh"])
            name = self.fresh(way.capitalize())
            written: Any
            kind: Kind
            match way:
                case "enum":
                    written = list(self.members(self.number_in(2, 4)))
                    kind = Enum(name, tuple(written))
                case "range":
                    low = self.number_in(0, 1)
                    kind = Whole(low, low + self.number_in(1, 3))
                    written = f"{kind.low}..{kind.high}"
                case "record":
                    written, kind = self.record(name)
                case "cell":
                    rows, columns = self.number_in(1, 2), self.number_in(1, 2)
                    written, kind = {"cell": [rows, columns]}, Cell(rows, columns)
                case _:
                    count = self.number_in(2, 3)
                    written = {"fresh": count}
                    kind = Enum(name, tuple(f"{name.lower()}_{i + 1}" for i in range(count)))
            self.sections.types[name] = written
            self.types.append((name, kind))

    def record(self, name: str) -> tuple[dict[str, Any], Record]:
        written: dict[str, Any] = {}
        fields: list[tuple[str, Enum | Whole]] = []
        for field in self.some(["suit", "rank", "tone"], 2, 2):
            if self.chance(50):
                written[field] = "1..2"
                fields.append((field, Whole(1, 2)))
            else:
                members = self.members(2)
                written[field] = list(members)
                fields.append((field, Enum("", members)))
        return written, Record(name, tuple(fields))

    def declare_state(self) -> None:
        for _ in range(self.number_in(0, 3)):
            self.state_variable()

    def state_variable(self) -> None:
        enums = [(n, k) for n, k in self.types if isinstance(k, Enum)]
        ways = ["number", "number", "range", "truth", "grid", "set"] + ["enum"] * bool(enums)
        way = self.pick(ways)
        name = self.fresh(way)
        written: Any
        shape: Any = "value"
        size = (0, 0)
        sure = True
        match way:
            case "number":
                written, kind = {"start": self.number_in(0, 3)}, Whole()
            case "range":
                written, kind = {"of": "0..3", "start": self.number_in(0, 3)}, Whole(0, 3)
            case "truth":
                written, kind = {"start": self.chance(50)}, Truth()
            case "grid":
                size, shape = (self.number_in(1, 2), self.number_in(1, 2)), "grid"
                written, kind = {"grid": list(size), "of": "role or none"}, Role()
            case "set":
                written, kind, shape = {"set": "1..3"}, Whole(1, 3), "set"
                if self.chance(50):
                    written["start"] = [1, 3]
            case _:
                of, kind = self.pick(enums)
                written = {"of": of, "start": self.literal(kind).split(".")[-1]}
        per: Any = None
        readers: Readers = "all"
        if self.chance(40):
            written["per"], per = "role", "role"
        elif enums and self.chance(20) and shape == "value":
            key, per = self.pick(enums)
            written["per"] = key
        if self.chance(25):
            words = ["nobody", self.pick(self.seats)] + ["owner", "others"] * (per == "role")
            written["seen_by"] = readers = self.pick(words)
            readers = readers if readers in ("nobody", "owner", "others") else (readers,)
        if list(written) == ["start"] and self.chance(70):
            written = written["start"]
        self.sections.state[name] = written
        seats = self.seats if per == "role" else ()
        self.vars.append(Var(name, kind, readers, per, seats, shape, sure, state=True, size=size))

    # turns

    def turns(self, budget: Budget) -> list[Step]:
        steps: list[Step] = []
        if self.chance(35):
            opening = self.deck(budget) or [self.draw(budget, ())]
            steps += [step for step in opening if step is not None]
        for _ in range(self.number_in(1, 4)):
            found = self.pattern(budget) if self.chance(45) else []
            steps += found or self.step(budget, (), 2)
        idle = [seat for seat in self.seats if seat not in self.acted]
        if idle and self.chance(60):
            names, pick = self.members(2), self.fresh("pick")
            steps.append({"role": "all", "choose": pick, "from": list(names)})
            self.bind(Var(pick, Enum("", names), "all", "role", self.seats))
        else:
            steps += [self.last_choice(seat) for seat in idle]
        return steps

    def last_choice(self, seat: str) -> Step:
        names, pick = self.members(2), self.fresh("pick")
        self.bind(Var(pick, Enum("", names)))
        return {"role": seat, "choose": pick, "from": list(names)}

    # after them

    def last_words(self, document: dict[str, Any]) -> None:
        """What ends the game before its last step."""
        if not self.chance(25):
            return
        kept = self.vars
        self.vars = [v if v.state else replace(v, sure=False) for v in self.vars]
        test = self.truth(REFEREE)
        self.vars = kept
        if test is not None:
            document["end"] = test
            self.ended = True

    def outcome(self, document: dict[str, Any]) -> None:
        eye = Eye("referee", self.seats)
        lets: dict[str, str] = {}
        for _ in range(self.number_in(0, 2)):
            name = self.fresh("let")
            own = self.chance(50)
            reader = eye if own else REFEREE
            kind: Kind = self.pick([Whole(), Truth(), Role()])
            text = self.value(kind, reader)
            lets[name] = text
            self.lets.append(Var(name, kind))
        if self.chance(20):
            name = self.fresh("more")
            self.locals += 1
            r = f"s{self.locals}"
            lets[f"{name}({r})"] = f"{self.number_in(1, 3)} if {r} == {self.pick(self.seats)} else 0"
            self.lets.append(Var(f"{name}({self.pick(self.seats)})", Whole()))
        self.scores(document, eye)
        self.payoffs(document, eye)
        if lets:
            document["let"] = lets

    def scores(self, document: dict[str, Any], eye: Eye) -> None:
        rewards = ["individual", "shared", "margin", "mixing"]
        rewards += ["zero_sum"] if len(self.seats) > 1 else []
        scores: dict[str, Any] = {}
        if self.chance(40):
            way = self.pick([*rewards, "hybrid", "local_ratio"])
            needs = {"hybrid": ("process",), "local_ratio": ("local", "team")}.get(way, ())
            for stream in needs:
                if stream not in self.streams:
                    scores[stream] = self.amount(eye)
            document["rewards"] = way
            if way == "mixing":
                count = len(self.seats)
                matrix = [[self.number_in(0, 2) for _ in range(count)] for _ in range(count)]
                document["rewards"] = {"use": "mixing", "matrix": matrix}
            elif way == "hybrid" and self.chance(50):
                document["rewards"] = {"use": "hybrid", "alpha": self.pick(["0.25", "1/3"])}
        if scores:
            document["scores"] = scores

    def payoffs(self, document: dict[str, Any], eye: Eye) -> None:
        if "payoffs" in self.streams and self.chance(50):
            return
        if self.chance(30):
            document["payoffs"] = {seat: self.amount(eye) for seat in self.seats}
        else:
            document["payoffs"] = self.amount(eye)


@st.composite
def game_files(draw: st.DrawFn) -> str:
    """The text of a game file that compiles, and whose tree is small."""
    return Writer(draw).file()
