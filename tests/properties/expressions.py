"""Random expressions of a wanted kind, over what a given reader may read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.properties.kinds import (
    Cell,
    Enum,
    Eye,
    Kind,
    Readers,
    Record,
    Role,
    Share,
    Subset,
    Text,
    Truth,
    Var,
    Whole,
)

T = TypeVar("T")

Entry = tuple[str, Kind, bool]
"""A value that may be read: its text, its kind, and whether it is surely not none."""

ORDERS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """Draws expressions. `vars` are the variables that there are where one is wanted."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self.seats: tuple[str, ...] = ()
        self.vars: list[Var] = []
        self.lets: list[Var] = []
        self.groupings: dict[Enum, tuple[str, str]] = {}
        """Of an enum, the name of a list of lists of its names, and of a map of each to some."""
        self.locals = 0
        self.bold = False
        """Whether expressions may have no value in some play."""

    # choices

    def pick(self, options: Sequence[T]) -> T:
        return options[self._draw(st.integers(0, len(options) - 1))] if options[1:] else options[0]

    def number_in(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high)) if high > low else low

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def some(self, options: Sequence[T], low: int, high: int) -> list[T]:
        """Some of the options, in their order."""
        count = self.number_in(low, min(high, len(options)))
        left = list(range(len(options)))
        while len(left) > count:
            left.pop(self.number_in(0, len(left) - 1))
        return [options[i] for i in left]

    # what may be read

    def may_read(self, readers: Readers, eye: Eye, owner: str | None = None) -> bool:
        """Whether an eye may see what is `owner`'s: a seat's, "me", "other", or nobody's."""
        if eye.who == "referee" or readers == "all":
            return True
        if owner == "me" and len(eye.acting) == 1 and eye.who != "me":
            owner = eye.acting[0]
        if isinstance(readers, tuple):
            seen_from = eye.acting if eye.who == "me" else (eye.who,)
            return bool(seen_from) and all(seat in readers for seat in seen_from)
        if readers == "owner":
            return owner == eye.who
        if readers == "others":
            if eye.who == "me":
                return owner == "other"
            return owner in self.seats and eye.who in self.seats and owner != eye.who
        return False

    def entries(self, eye: Eye, *, maps: bool = True) -> list[Entry]:
        """Every single value that may be read."""
        found: list[Entry] = []
        for var in (*self.vars, *self.lets):
            if var.shape == "value" and (maps or var.per is None):
                for text, owner, sure in self.keyed(var, eye):
                    found += self._parts(var, text, owner, sure, eye)
        return found

    def keyed(self, var: Var, eye: Eye) -> Iterator[tuple[str, str | None, bool]]:
        """The entries of a variable: the text of each, whose it is, and whether it is there."""
        if var.per is None:
            yield var.name, None, var.sure
        elif isinstance(var.per, Enum):
            for member in var.per.members[:2]:
                yield f"{var.name}[{member}]", None, var.sure
        else:
            if eye.acting and set(eye.acting) <= set(var.seats):
                yield f"{var.name}.me{var.suffix}", "me", var.sure
                if len(self.seats) == 2 and set(var.seats) == set(self.seats):
                    yield f"{var.name}.other{var.suffix}", "other", var.sure
            for seat in var.seats:
                if not (eye.acting and eye.who == "me"):
                    yield f"{var.name}.{seat}{var.suffix}", seat, var.sure

    def _parts(
        self, var: Var, text: str, owner: str | None, sure: bool, eye: Eye
    ) -> Iterator[Entry]:
        if self.may_read(var.readers, eye, owner) and is_compared(var.kind):
            yield text, var.kind, sure
        if isinstance(var.kind, Record):
            given = dict(var.fields) or dict.fromkeys(dict(var.kind.fields), var.readers)
            for field, kind in var.kind.fields:
                readers = given.get(field)
                if readers is None or not self.may_read(readers, eye, owner):
                    continue
                match kind:
                    case Share(keys=keys, of=of):
                        yield f"{text}.{field}[{keys.members[0]}]", of, sure
                        if keys.members[1].isidentifier():
                            yield f"{text}.{field}.{keys.members[1]}", of, sure
                    case Subset() | Text():
                        pass
                    case _:
                        yield f"{text}.{field}", kind, sure

    def whole_maps(self, eye: Eye) -> list[Var]:
        """Maps with a value for every seat, all of which may be read."""
        return [
            var
            for var in (*self.vars, *self.lets)
            if var.per == "role" and var.shape == "value" and var.joint and not var.fields
            and not var.suffix and set(var.seats) == set(self.seats) and is_compared(var.kind)
            and (var.readers == "all" or eye.who == "referee")
        ]  # fmt: skip

    def collections(self, eye: Eye, *shapes: str) -> list[tuple[str, Var]]:
        """Lists, sets, bags and grids that may be read, with their text."""
        return [
            (text, var)
            for var in self.vars
            if var.shape in shapes
            for text, owner, sure in self.keyed(var, eye)
            if sure and self.may_read(var.readers, eye, owner)
        ]

    def with_past(self, eye: Eye) -> list[Var]:
        """Variables whose past bindings may all be read."""
        return [
            var
            for var in self.vars
            if var.bound and var.per is None and var.shape == "value" and not var.fields
            and is_compared(var.kind) and self.may_read(var.readers, eye)
        ]  # fmt: skip

    # values

    def literal(self, kind: Kind) -> str:
        match kind:
            case Truth():
                return self.pick(["true", "false"])
            case Whole(low=low, high=high):
                return str(self.number_in(0 if low is None else low, 3 if high is None else high))
            case Enum(name=name, members=members):
                member = self.pick(members)
                qualified = name and member.isidentifier() and self.chance(20)
                return f"{name}.{member}" if qualified else member
            case Role():
                return self.pick(self.seats)
            case Cell(rows=rows, columns=columns):
                row, column = self.number_in(0, rows - 1), self.number_in(0, columns - 1)
                return f"({row}, {column})"
            case Record(fields=fields):
                return "(" + ", ".join(self.literal(inner) for _, inner in fields) + ")"
            case Share(keys=keys, of=of):
                return "[" + ", ".join(self.literal(of) for _ in keys.members) + "]"
            case Subset(of=of):
                return "[" + ", ".join(self.some(of.members, 1, len(of.members))) + "]"

    def value(self, kind: Kind, eye: Eye, depth: int = 2) -> str:
        """An expression of a kind that is never none; of a range, one that stays in it."""
        if isinstance(kind, Truth):
            return self.truth(eye, depth) or self.literal(kind)
        named = kind
        if isinstance(kind, Enum):  # a bare number is a name only beside something of its type
            named = replace(kind, members=tuple(filter(str.isidentifier, kind.members)))
        options: list[Callable[[], str]] = [lambda: self.literal(named)]
        known = [text for text, k, sure in self.entries(eye) if sure and _same(k, kind)]
        if known:
            options += [lambda: self.pick(known)] * 3
        if isinstance(kind, Whole) and kind.low is None:
            options += [lambda: self.whole(eye, depth)] * 3
        if isinstance(kind, Whole) and kind.low is not None:
            options += [lambda: f"clip({self.whole(eye, depth)}, {kind.low}, {kind.high})"]
        if isinstance(kind, Role) and eye.acting:
            options += [lambda: "me"] * 2
            if len(self.seats) == 2:
                options += [lambda: "other"]
        if depth and self.entries(eye):
            options += [lambda: self._either(kind, eye, depth)]
        return self.pick(options)()

    def _either(self, kind: Kind, eye: Eye, depth: int) -> str:
        test = self.truth(eye, depth - 1)
        then, other = (self.value(kind, eye, depth - 1) for _ in range(2))
        return f"({then} if {test} else {other})" if test else then

    def whole(self, eye: Eye, depth: int = 2) -> str:
        """A whole number."""
        atoms = [lambda: self.literal(Whole())]
        for text, kind, certain in self.entries(eye):
            sure = certain or (self.bold and self.chance(80))
            if isinstance(kind, Whole):
                atoms.append(lambda t=text, s=sure: t if s else f"({t} if {t} != none else 0)")
            elif sure and isinstance(kind, Enum) and kind.values is not None:
                atoms.append(lambda t=text: self.pick([f"({t} + 1)", f"value_of({t})"]))
            elif sure and (isinstance(kind, Role) or (isinstance(kind, Enum) and kind.name)):
                atoms.append(lambda t=text: f"index({t})")
        for var in self.whole_maps(eye):
            if var.sure and isinstance(var.kind, Whole):
                word = self.pick(["sum", "max", "min"])
                atoms.append(lambda n=var.name, w=word: f"{w}({n})")
            elif var.sure and isinstance(var.kind, Enum):
                if var.kind.values is not None:
                    atoms.append(lambda n=var.name: f"{self.pick(['sum', 'max'])}({n})")
                atoms.append(lambda v=var: f"count({v.name}, {self.literal(v.kind)})")
        for text, var in self.collections(eye, "list", "set", "bag"):
            atoms.append(lambda t=text: f"{self.pick(['len', 'size'])}({t})")
            if isinstance(var.kind, Whole) and var.shape != "bag":
                atoms.append(lambda t=text: self._summed(t))
        for var in self.with_past(eye):
            atoms.append(lambda v=var: self._counted(v))
        if not depth or self.chance(40):
            return self.pick(atoms[1:] or atoms)()
        left = self.whole(eye, depth - 1)
        if self.chance(20):
            return f"{self.pick(['abs', 'sign'])}({left})"
        if self.chance(20):
            return f"{left} {self.pick(['//', '%'])} {self.number_in(2, 3)}"
        if self.chance(20) and (test := self.truth(eye, depth - 1)):
            return f"({left} if {test} else {self.whole(eye, 0)})"
        right = self.whole(eye, 0)
        if self.bold and self.chance(60):
            return f"{left} {self.pick(['//', '%'])} {right}"
        if self.chance(25):
            return f"{self.pick(['max', 'min'])}({left}, {right})"
        return f"({left} {self.pick(['+', '-'])} {right})"

    def _summed(self, text: str) -> str:
        self.locals += 1
        x, y = f"x{self.locals}", f"y{self.locals}"
        test = f" if {x} {self.pick(ORDERS)} {self.number_in(0, 3)}" if self.chance(50) else ""
        if self.chance(60):
            return f"sum({x} for {x} in {text}{test})"
        over = self.pick([text, f"0..{self.number_in(1, 2)}", f"[{x}, 1 - {x}]"])
        more = f" if {y} != {x}" if self.chance(40) else ""
        word = self.pick(["sum", "count", "size"])
        item = f"{y} > {x}" if word == "count" else f"{x} - {y}"
        loops = f"for {x} in {text}{test} for {y} in {over}{more}"
        return f"{word}([{item} {loops}])" if word == "size" else f"{word}({item} {loops})"

    def _counted(self, var: Var) -> str:
        if self.chance(40):
            return f"len(past({var.name}))"
        return f"count(past({var.name}), {self.literal(var.kind)})"

    def amount(self, eye: Eye) -> str:
        """A number, whole or not: a payoff."""
        text = self.whole(eye)
        if self.chance(20):
            text = f"{text} / {self.whole(eye, 0) if self.bold else self.number_in(2, 4)}"
        if self.chance(30) and (test := self.truth(eye)):
            return f"{text} if {test} else {self.whole(eye, 1)}"
        return text

    def truth(self, eye: Eye, depth: int = 1) -> str | None:
        """A condition that reads something; None where there is nothing to read."""
        options: list[Callable[[], str | None]] = []
        fixed = {var.name for var in self.vars if var.fixed}
        for entry in self.entries(eye):
            if entry[0] not in fixed:
                options.append(lambda e=entry: self._test(e, eye))
        for var in self.whole_maps(eye):
            options.append(lambda v=var: self._over(v, eye))
        for text, var in self.collections(eye, "list", "set", "bag"):
            options.append(lambda t=text, v=var: f"{self.literal(v.kind)} in {t}")
        for text, var in self.collections(eye, "grid"):
            options.append(lambda t=text, v=var: self._on_grid(t, v))
        for var in self.with_past(eye):
            options.append(lambda v=var: f"prev({v.name}) == {self.literal(v.kind)}")
        for kind in self.groupings:
            for text, found, sure in self.entries(eye):
                if sure and found == kind:
                    options += [lambda t=text, k=kind: self._grouped(t, k)] * 4
        if not options:
            return None
        test = self.pick(options)()
        if test is None or not depth or self.chance(60):
            return test
        if self.chance(30):
            return f"not ({test})"
        more = self.truth(eye, depth - 1)
        return f"{test} {self.pick(['and', 'or'])} {more}"

    def _grouped(self, text: str, kind: Enum) -> str:
        """A test of a name by a constant list of lists of names, or a map of names to lists."""
        self.locals += 1
        g, m = f"g{self.locals}", f"m{self.locals}"
        groups, near = self.groupings[kind]
        other = self.pick(tuple(filter(str.isidentifier, kind.members)))
        return self.pick(
            [
                f"any({text} in {g} for {g} in {groups})",
                f"count({m} == {text} for {g} in {groups} for {m} in {g}) > 1",
                f"{text} in {groups}[0]",
                f"{other} in {near}[{text}]",
                f"any({m} == {text} for {g} in {near}[{text}] for {m} in {near}[{g}])",
                f"any({m} == {text} for {g}, {m}s in {near} if {g} != {other} for {m} in {m}s)",
            ]
        )

    def _test(self, entry: Entry, eye: Eye) -> str:
        text, kind, sure = entry
        if not sure:
            if isinstance(kind, Whole) and self.chance(60):
                return f"({text} != none and {text} {self.pick(ORDERS)} {self.literal(kind)})"
            if self.chance(25):
                return f"{text} {self.pick(['==', '!='])} none"
        match kind:
            case Truth():
                return text if sure else f"{text} == {self.literal(kind)}"
            case Whole() if sure:
                return f"{text} {self.pick(ORDERS)} {self.whole(eye, 0)}"
            case Enum(members=members) if sure and self.chance(20) and len(members) > 1:
                some = self.some(members, 1, len(members) - 1)
                return f"{text} in [{', '.join(some)}]"
            case Enum(name=name, values=values) if sure and (name or values) and self.chance(20):
                right = self.literal(kind)
                order = self.pick(ORDERS)
                if values is not None and not right.isidentifier() and order not in ("==", "!="):
                    right = "2"  # of a number, the order is that of the values
                return f"{text} {order} {right}"
        same = [t for t, k, _ in self.entries(eye) if k == kind and t != text]
        right = self.pick(same) if same and self.chance(40) else self.literal(kind)
        if isinstance(kind, Role) and eye.acting and self.chance(40):
            right = "me"
        return f"{text} {self.pick(['==', '!='])} {right}"

    def _over(self, var: Var, eye: Eye) -> str:
        """A test over the values of all seats."""
        self.locals += 1
        name, word = f"r{self.locals}", self.pick(["any", "all"])
        test = f"{var.name}[{name}] == {self.literal(var.kind)}"
        if isinstance(var.kind, Whole) and var.sure and self.chance(30):
            sign, other = self.pick(["==", "!="]), self.pick([*self.seats, "none"])
            return f"argmax({var.name}) {sign} {other}"
        if var.sure and not isinstance(var.kind, Truth) and self.chance(25):
            sign = self.pick(["==", "!="])
            return f"most({var.name}) {sign} {self.literal(var.kind)}"
        return f"{word}({test} for {name} in roles)"

    def _on_grid(self, text: str, var: Var) -> str:
        match self.number_in(0, 5 if var.joined else 2):
            case 3:
                cells = ", ".join(self._cell_of(var) for _ in range(self.number_in(2, 3)))
                return f"connected({text}, {self.pick([*self.seats, 'none'])}, {cells})"
            case 4:
                return f"size(component({text}, {self._cell_of(var)})) > {self.number_in(1, 2)}"
            case 5:
                cell, other = self._cell_of(var), self._cell_of(var)
                near = f"neighbors({text}, {cell})"
                return f"{other} in reachable({text}, {near}, [{cell}, {other}])"
            case 0:
                return f"full({text})"
            case 1:
                return f"line({text}, 2) != none"
        return f"{text}[{self._cell_of(var)}] {self.pick(['==', '!='])} none"

    def _cell_of(self, var: Var) -> str:
        row, column = self.number_in(0, var.size[0] - 1), self.number_in(0, var.size[1] - 1)
        return f"({row}, {column})"

    # names in order

    def fresh(self, stem: str) -> str:
        self.locals += 1
        return f"{stem}_{self.locals}"


def _same(found: Kind, wanted: Kind) -> bool:
    """Whether every value of one kind is a value of another."""
    if isinstance(found, Whole) and isinstance(wanted, Whole):
        if wanted.low is None or wanted.high is None:
            return True
        return (
            found.low is not None and found.high is not None
            and wanted.low <= found.low and found.high <= wanted.high
        )  # fmt: skip
    return found == wanted


def is_compared(kind: Kind) -> bool:
    """Whether expressions compare values of a kind: texts, and records with one, they do not."""
    if isinstance(kind, Record):
        return all(is_compared(inner) for _, inner in kind.fields)
    return not isinstance(kind, Text)


def domain_size(kind: Kind, seats: Sequence[Any]) -> int:
    match kind:
        case Truth():
            return 2
        case Whole(low=int() as low, high=int() as high):
            return high - low + 1
        case Enum(members=members):
            return len(members)
        case Role():
            return len(seats)
        case Cell(rows=rows, columns=columns):
            return rows * columns
        case Share(keys=keys, of=of):
            return domain_size(of, seats) ** len(keys.members)
        case Subset(of=of):
            return 2 ** len(of.members)
        case Record(fields=fields):
            size = 1
            for _, inner in fields:
                size *= domain_size(inner, seats)
            return size
    raise ValueError(f"{kind} has no list of values")
