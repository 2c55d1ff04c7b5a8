"""Who can work out an expression: all who read what it reads, as `me` is a certain seat.

What an expression reads is found as far as roles tell: the branch of a test such as `r == me` that
cannot be taken is not read. For everything else both branches are, and the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from operator import and_
from typing import NamedTuple

from gamedsl.analysis.reader_roles import Bound, Roles, Scope
from gamedsl.analysis.reader_sets import Seats, Sight, Table, each, either
from gamedsl.analysis.reader_symmetry import alike
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    children,
)
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.program import Loop, walk_steps
from gamedsl.ir.types import (
    SEAT,
    Bag,
    List,
    NoneType,
    PerSeat,
    PerValue,
    Seat,
    Set,
    Tuple,
    Type,
    plain,
)  # fmt: skip

LENGTHS = frozenset({"len", "size", "slots"})
"""Built-ins that look at the length of a list or bag only, which is public where it is state."""

_SAME_ROLES = frozenset({"difference", "first", "last", "list", "reversed", "set"})
"""Built-ins whose result holds roles of their first argument only."""


class Cause(NamedTuple):
    """The part of an expression that a seat cannot read, who can, and the lets on the way to it;
    `me` is who works out the whole."""

    expr: Expr
    readers: Seats
    through: tuple[LetCall | LetMap, ...]
    me: int | None = None


class Reading(Roles):
    """Finds who reads expressions, from who reads the variables (`variables`, by name; `v@by` are
    the last choices of each seat where one chooses at a time)."""

    def __init__(self, ir: GameIR, table: Table, states: frozenset[str]) -> None:
        self.table = table
        self.public = table.public
        self.alike = alike(ir, table)
        self._constants: dict[int, Sight] = {}
        self.states = states
        self.lets: dict[str, Let] = ir.lets_by_name
        self.variables: dict[str, Sight] = {}
        self.loops = frozenset(
            name
            for step in walk_steps(ir.turns)
            if isinstance(step, Loop)
            for name in (step.item, step.count)
            if name is not None
        )

    def readers(self, expr: Expr, scope: Scope) -> Seats:
        """Those who can work out an expression."""
        return self.sight(expr, scope).all

    def sight(self, expr: Expr, scope: Scope) -> Sight:
        public = self.public
        match expr:
            case Const():
                return self._constant(expr)
            case Me():
                return public if scope.me is None else public.being(1 << scope.me)
            case Local(name=name):
                return scope.locals[name].sight
            case Read(name=name):
                return scope.known.get(name) or self.variables.get(name, public)
            case LastBy(name=name):
                return self.variables.get(f"{name}@by", public)
            case Past(name=name):
                return self.variables.get(name, public).flat()
            case Get(of=of, key=key):
                return self._entry(self.sight(of, scope), self.sight(key, scope))
            case Field(of=of, index=index):
                whole = self.sight(of, scope)
                if whole.by == "field":
                    return whole.part(index)
                return Sight(whole.all, self.table.everyone)
            case LetMap(name=name):
                return self.table.per_seat(lambda seat: self._let(name, (), seat, scope))
            case LetCall():
                return self._called(expr, scope)
            case If():
                return self._conditional(expr, scope)
        return self._flat(expr, scope)

    def _constant(self, expr: Const) -> Sight:
        if not _of_roles(expr.type):
            return self.public
        known = self._constants.get(id(expr))
        if known is None:
            known = self._constants[id(expr)] = self.public.being(self.table.of(expr.value))
        return known

    def _flat(self, expr: Expr, scope: Scope) -> Sight:
        """An expression of which nothing is known but what it reads."""
        readers, seats, last = self.table.everyone, 0, 0
        for part, inner in self.parts(expr, scope):
            sight = self.sight(part, inner)
            readers, seats = readers & sight.all, seats | sight.seats
            last = sight.seats
        match expr:
            case Apply(function="other" | "others", arguments=arguments):
                mine = self.sight(arguments[0], scope).seats
                alone = mine & (mine - 1) == 0
                return Sight(readers, self.table.everyone & ~(mine if alone else 0))
            case Apply(function=function, arguments=arguments) if function in _SAME_ROLES:
                return Sight(readers, self.sight(arguments[0], scope).seats)
            case Apply(function="union") | Build():
                return Sight(readers, seats)
            case Collect():
                return Sight(readers, last if isinstance(expr.item, Local) else self.table.everyone)
        return Sight(readers, self.table.everyone)

    def _entry(self, of: Sight, key: Sight) -> Sight:
        if of.by == "seat" and key.seats:
            entry = reduce(either, (of.part(seat) for seat in each(key.seats)))
        else:
            entry = Sight(of.all, of.seats)
        return entry.within(key.all)

    def _called(self, expr: LetCall, scope: Scope) -> Sight:
        given = tuple(
            Bound(self.sight(argument, scope), argument, scope) for argument in expr.arguments
        )
        if expr.seat is None:
            return self._let(expr.name, given, scope.me, scope)
        whose = self.sight(expr.seat, scope)
        found = [self._let(expr.name, given, seat, scope) for seat in each(whose.seats)]
        return reduce(either, found or [self.public]).within(whose.all)

    def _let(self, name: str, given: tuple[Bound, ...], me: int | None, scope: Scope) -> Sight:
        place = name, me, tuple(bound.sight for bound in given)
        known = scope.memo.get(place)
        if known is None:
            known = self.sight(self.lets[name].body, self._inside(name, given, me, scope))
            scope.memo[place] = known
        return known

    def _inside(self, name: str, given: tuple[Bound, ...], me: int | None, scope: Scope) -> Scope:
        locals = dict(zip(self.lets[name].parameters, given, strict=True))
        return scope._replace(me=me, locals=locals)

    def _conditional(self, expr: If, scope: Scope) -> Sight:
        found = [
            self.sight(branch, inner)
            for branch, holds in ((expr.then, True), (expr.other, False))
            if (inner := self.narrowed(expr.test, holds, scope)) is not None
        ]
        merged = reduce(either, found or [self.public])
        return merged.within(self.readers(expr.test, scope))

    # what is inside

    def parts(self, expr: Expr, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        """The expressions that one is worked out from, each with where it stands."""
        match expr:
            case Logic(op=op, left=left, right=right):
                yield left, scope
                inner = self.narrowed(left, op == "and", scope)
                if inner is not None:
                    yield right, inner
            case If(test=test):
                yield test, scope
                for branch, holds in ((expr.then, True), (expr.other, False)):
                    inner = self.narrowed(test, holds, scope)
                    if inner is not None:
                        yield branch, inner
            case Collect():
                yield from self._collected(expr, scope)
            case Apply(function=function, arguments=(of, *_)) if (
                function in LENGTHS and (keys := self.counted(of)) is not None
            ):
                yield from ((key, scope) for key in keys)
            case LetMap(name=name):
                for seat in range(len(self.table.names)):
                    yield self.lets[name].body, self._inside(name, (), seat, scope)
            case LetCall(name=name, arguments=arguments, seat=seat):
                given = tuple(Bound(self.sight(a, scope), a, scope) for a in arguments)
                whose = [scope.me]
                if seat is not None:
                    yield seat, scope
                    whose = [*each(self.sight(seat, scope).seats)]
                for me in whose:
                    yield self.lets[name].body, self._inside(name, given, me, scope)
            case _:
                yield from ((child, scope) for child in children(expr))

    def _collected(self, expr: Collect, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        for source, inner in self.rows(expr.source, expr.targets, expr.keyed, scope):
            held: Scope | None = inner
            if expr.condition is not None:
                held = self.narrowed(expr.condition, True, inner)
                if held is None and self.decided(expr.condition, inner) is False:
                    continue
                yield expr.condition, inner
            yield source, inner
            if held is not None:
                yield expr.item, held

    def rows(
        self, source: Expr, targets: tuple[str, ...], keyed: bool, scope: Scope
    ) -> Iterator[tuple[Expr, Scope]]:
        """The scopes in which what is said of each element stands, each with an expression that
        says whether there is such an element: of a per-role map of which the seats' own values have
        readers of their own one for each seat, else one."""
        whole = self.sight(source, scope)
        if keyed and whole.by == "seat":
            for seat in range(len(self.table.names)):
                value = whole.part(seat)
                key = Bound(Sight(value.all, 1 << seat), source, scope)
                row = scope.local(**{targets[0]: key, targets[1]: Bound(value, source, scope)})
                yield Local(SEAT, source.span, targets[0]), row
            return
        bound = Bound(Sight(whole.all, whole.seats), source, scope)
        if keyed:
            bound = bound._replace(sight=Sight(whole.all, self.table.everyone))
        yield source, scope.local(**dict.fromkeys(targets, bound))

    def counted(self, expr: Expr) -> tuple[Expr, ...] | None:
        """The keys under which a list or bag of the state lies, so that its length is public; None
        for any other expression."""
        keys: list[Expr] = []
        inner = expr
        while isinstance(inner, Get) and isinstance(plain(inner.of.type), PerSeat | PerValue):
            keys.append(inner.key)
            inner = inner.of
        stored = isinstance(inner, Read) and inner.name in self.states
        return tuple(keys) if stored and isinstance(plain(expr.type), List | Bag) else None

    def length(self, expr: Expr, scope: Scope) -> Seats:
        """Those who can work out how long the list or bag is that an expression gives, or, of a
        map, how long those in it are."""
        keys = self.counted(expr)
        if keys is not None:
            return reduce(and_, (self.readers(key, scope) for key in keys), self.table.everyone)
        match expr:
            case Const() | Build():
                return self.table.everyone
            case Read(name=name) if name in self.states and has_length(expr.type):
                return self.table.everyone
            case Apply(function="list" | "reversed" | "sorted", arguments=(of, *_)):
                if isinstance(plain(of.type), List | Bag):
                    return self.length(of, scope)
            case Collect(condition=None, source=source) if isinstance(plain(source.type), List):
                return self.length(source, scope)
        return self.readers(expr, scope)

    # why not

    def cause(self, expr: Expr, seat: int, scope: Scope) -> Cause:
        """What it is in an expression that a seat cannot read: where there is anything else, not
        what a loop counts or goes through, which only follows from other things."""
        inner = scope.given(**dict.fromkeys(self.loops, self.public))
        if self.readers(expr, inner) >> seat & 1:
            inner = scope
        return self._cause(expr, seat, inner)._replace(me=scope.me)

    def _cause(self, expr: Expr, seat: int, scope: Scope) -> Cause:
        whole = Cause(expr, self.readers(expr, scope), ())
        if isinstance(expr, Local):
            bound = scope.locals[expr.name]
            if bound.origin is None or bound.scope is None:
                return whole
            return self._missing(bound.origin, seat, bound.scope) or whole
        if isinstance(expr, Get | Cell | Field):
            while isinstance(expr, Get | Cell | Field):
                if not isinstance(expr, Field) and not self.readers(expr.key, scope) >> seat & 1:
                    return self._cause(expr.key, seat, scope)
                expr = expr.of
            if isinstance(expr, Read | LastBy | Past):
                return whole
            return self._missing(expr, seat, scope) or whole
        through = (expr,) if isinstance(expr, LetCall | LetMap) else ()
        for part, inner in self.parts(expr, scope):
            cause = self._missing(part, seat, inner)
            if cause is not None:
                return cause._replace(through=(*through, *cause.through))
        return whole

    def _missing(self, expr: Expr, seat: int, scope: Scope) -> Cause | None:
        """What a seat cannot read in a part; None where it can read it."""
        return None if self.readers(expr, scope) >> seat & 1 else self._cause(expr, seat, scope)


@lru_cache(maxsize=4096)
def _of_roles(type: Type) -> bool:
    """Whether a value is a role, or a collection of roles."""
    match plain(type):
        case Seat() | NoneType():
            return True
        case List(of=inner) | Set(of=inner):
            return _of_roles(inner)
        case Tuple(of=parts):
            return any(map(_of_roles, parts))
    return False


def has_length(type: Type) -> bool:
    """Whether a state variable of a type shows everyone a length: it is a list or a bag, or a map
    of them."""
    while isinstance(type, PerSeat | PerValue):
        type = type.of
    return isinstance(plain(type), List | Bag)
