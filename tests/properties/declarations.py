"""What stands before the turns: roles, params, types, state, and lets over the state."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.properties.kinds import (
    Cell,
    Enum,
    Eye,
    Kind,
    Readers,
    Record,
    Role,
    Sections,
    Share,
    Subset,
    Truth,
    Var,
    Whole,
)
from tests.properties.protocols import Protocols


class Declarations(Protocols):
    """Writes the sections above the turns."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.sections = Sections()
        self.streams = {}
        self.types = []
        self.groups = {}
        self.values = {}
        self.acted = set()

    def declare(self) -> None:
        self.params()
        for _ in range(self.number_in(1, 3)):
            self.type()
        for _ in range(self.number_in(0, 3)):
            self.variable()
        if self.chance(30):
            self.public_let()

    def roles(self) -> Any:
        names = self.pick([("ann", "bob", "cyd", "dan"), ("first", "second", "third", "fourth")])
        count = self.pick([2, 2, 2, 3, 1, 4])
        if not self.chance(25):
            self.seats = names[:count]
            return list(self.seats)
        sizes = {"player": count}
        if count > 1 and self.chance(60):
            sizes = {"buyer": 1, "seller": count - 1}
        for role, size in sizes.items():
            numbered = tuple(f"{role}_{i}" for i in range(1, size + 1))
            self.groups[role] = numbered if size > 1 else (role,)
        self.seats = tuple(seat for seats in self.groups.values() for seat in seats)
        return sizes

    def params(self) -> None:
        for _ in range(self.number_in(0, 2)):
            name, value = self.fresh("size"), self.number_in(1, 4)
            earlier = [n for n, v in self.values.items() if v < 4]
            written: Any = self.pick([value, {"default": value, "in": "1..4"}])
            if earlier and self.chance(30):
                other = self.pick(earlier)
                written, value = f"{other} + 1", self.values[other] + 1
            self.sections.params[name] = written
            self.values[name] = value
            self.vars.append(Var(name, Whole(), state=True, fixed=True))

    def type(self) -> None:
        ways = ["enum", "enum", "range", "record", "record", "cell", "fresh", "valued", "mixed"]
        way = self.pick(ways)
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
            case "valued":
                written, kind = self.valued(name)
            case "mixed":
                written, kind = self.mixed(name)
            case "cell":
                rows, columns = self.number_in(1, 2), self.number_in(1, 2)
                written, kind = {"cell": [rows, columns]}, Cell(rows, columns)
            case _:
                count = self.number_in(2, 3)
                written = {"fresh": count}
                kind = Enum(name, tuple(f"{name.lower()}_{i + 1}" for i in range(count)))
        self.sections.types[name] = written
        self.types.append((name, kind))
        if way == "enum" and isinstance(kind, Enum) and self.chance(60):
            self.grouping(kind)

    def grouping(self, kind: Enum) -> None:
        """Constants of an enum's names: lists in a list, and a map of each to some."""
        groups, near = self.fresh("groups"), self.fresh("near")
        names = [*kind.members]
        lists = [self.some(names, 1, len(names)) for _ in range(self.number_in(1, 3))]
        maps = {name: self.some(names, 1, len(names)) for name in names}
        at, other = (self.pick([self.sections.params, self.sections.let]) for _ in range(2))
        at[groups], other[near] = lists, maps
        self.groupings[kind] = groups, near

    def valued(self, name: str) -> tuple[dict[str, Any], Enum]:
        """Names with values, of which some may be equal."""
        members = self.members(self.number_in(2, 3))
        values = tuple(self.number_in(-1, 2) for _ in members)
        written: dict[str, Any] = dict(zip(members, values, strict=True))
        if self.chance(30):
            written |= {"2..3": "5..6"}
            members, values = (*members, "2", "3"), (*values, 5, 6)
        return {"values": written}, Enum(name, members, values)

    def mixed(self, name: str) -> tuple[list[Any], Enum]:
        """Names and numbers, which are then names too."""
        (word,) = self.members(1)
        low = self.number_in(0, 3)
        numbers = (str(low), str(low + 1))
        ways = [[word, f"{low}..{low + 1}"], [word, low, low + 1], [word, *numbers]]
        return self.pick(ways), Enum(name, (word, *numbers))

    def record(self, name: str) -> tuple[dict[str, Any], Record]:
        written: dict[str, Any] = {}
        fields: list[tuple[str, Enum | Whole | Share | Subset]] = []
        enums = [(n, k) for n, k in self.types if isinstance(k, Enum)]
        for field in self.some(["suit", "rank", "tone"], 2, 2):
            ways = ["range", "names", "gaps"] + ["type", "share", "subset"] * bool(enums)
            way = self.pick(ways)
            of, kind = self.pick(enums) if enums else ("", Enum("", ()))
            match way:
                case "range":
                    written[field] = "1..2"
                    fields.append((field, Whole(1, 2)))
                case "names":
                    members = self.members(2)
                    written[field] = list(members)
                    fields.append((field, Enum("", members)))
                case "gaps":
                    written[field] = [1, 3]
                    fields.append((field, Enum("", ("1", "3"), (1, 3))))
                case "type":
                    written[field] = of
                    fields.append((field, kind))
                case "share" if len(kind.members) < 4:
                    written[field] = {"per": of, "of": "0..1"}
                    fields.append((field, Share(kind, Whole(0, 1))))
                case _:
                    written[field] = f"set of {of}"
                    fields.append((field, Subset(kind)))
        return written, Record(name, tuple(fields))

    def variable(self) -> None:
        """A state variable."""
        enums = [(n, k) for n, k in self.types if isinstance(k, Enum)]
        way = self.pick(["number", "number", "range", "truth", "grid", "set", "list"]
                        + ["enum"] * 2 * bool(enums))  # fmt: skip
        name = self.fresh(way)
        written: Any
        kind: Kind
        shape: Any = "value"
        size, most, joined = (0, 0), 0, False
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
                shapes = ["", "square", "king", "hex", "torus"]
                if near := self.pick(shapes):
                    written["neighbors"], joined = near, True
            case "set":
                written, kind, shape = {"set": "1..3"}, Whole(1, 3), "set"
                if self.chance(50):
                    written["start"] = [1, 3]
            case "list":
                most, shape = self.number_in(1, 3), "list"
                of, kind = self.pick([*enums, ("1..3", Whole(1, 3))])
                written = {"list": of, "at_most": most}
            case _:
                of, kind = self.pick(enums)
                written = {"of": of, "start": self.literal(kind).split(".")[-1]}
        per: Any = None
        if self.chance(40):
            written["per"] = per = "role"
        elif enums and self.chance(20) and shape == "value":
            written["per"], per = self.pick(enums)
        readers: Readers = "all"
        if self.chance(25):
            word = self.pick(["nobody", self.pick(self.seats)]
                             + ["owner", "others"] * (per == "role"))  # fmt: skip
            written["seen_by"] = word
            readers = word if word in ("nobody", "owner", "others") else (word,)
        if list(written) == ["start"] and self.chance(70):
            written = written["start"]
        self.sections.state[name] = written
        seats = self.seats if per == "role" else ()
        self.vars.append(
            Var(
                name,
                kind,
                readers,
                per,
                seats,
                shape,
                state=True,
                size=size,
                most=most,
                joined=joined,
            )
        )

    def public_let(self) -> None:
        """A let that everyone can work out at any time, for conditions."""
        name, own = self.fresh("known"), self.chance(50)
        kind: Kind = self.pick([Whole(), Truth()])
        text = self.value(kind, Eye("all", self.seats) if own else Eye())
        words = text.replace(".", " ").replace("(", " ").replace(")", " ").split()
        mine = any(word in ("me", "other") for word in words)
        self.sections.let[name] = text
        per: Any = "role" if mine else None
        seats = self.seats if mine else ()
        self.vars.append(Var(name, kind, "all", per, seats, state=True, fixed=True))
