"""Visibility of expressions: the seats that see every variable from which one is evaluated.

What an expression reads is found as far as roles tell. Names of roles (`me`, an argument, an item
of a loop) are followed, and a test of roles is decided where it can be: the branch of `r == me`
that cannot be taken is not read. Of any other test both branches are read, and the test itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache, reduce
from operator import and_
from typing import NamedTuple, assert_never

from gamedsl.analysis.infoflow.cases import Answer, Cases, Environment, Form, form_of, positive
from gamedsl.analysis.infoflow.scope import Bound, Scope, is_role, narrow_to
from gamedsl.analysis.infoflow.symmetry import alike
from gamedsl.analysis.infoflow.visibility import (
    Readers,
    Seats,
    SeatTable,
    Visibility,
    join,
    seat_numbers,
)
from gamedsl.ir.builtins import BUILTINS, element
from gamedsl.ir.evaluate import EvaluationError, evaluate
from gamedsl.ir.evaluate import Scope as Values
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
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
    Stream,
    Table,
    children,
)
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.program import Loop, walk_steps
from gamedsl.ir.types import (
    BOOL,
    SEAT,
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    is_by_role,
    plain,
)  # fmt: skip


class Cause(NamedTuple):
    """The part of an expression that a reader cannot read, who can, and the lets on the way to it;
    `me` is the seat for which the whole is evaluated."""

    expr: Expr
    readers: Readers
    through: tuple[LetCall | LetMap, ...]
    me: int | None = None


class Visibilities:
    """Visibilities of expressions, derived from those of variables (`variables`, by name; `v@by`
    are the last choices of each seat where one chooses at a time)."""

    def __init__(
        self, ir: GameIR, table: SeatTable, cases: Cases, states: frozenset[str]
    ) -> None:  # fmt: skip
        self.table = table
        self.cases = cases
        self.public = table.public
        self.alike = alike(ir, table)
        """Seats that the rules do not tell apart."""
        self._constants: dict[Hashable, Visibility] = {}
        self.states = states
        self.sized = frozenset(s.name for s in ir.states if s.size is None and has_length(s.type))
        """The lists and bags of the state whose length is public, and maps of them."""
        self.lets: dict[str, Let] = ir.lets_by_name
        self._span = ir.span
        self.variables: dict[str, Visibility] = {}
        self.loops = frozenset(
            name
            for step in walk_steps(ir.turns)
            if isinstance(step, Loop)
            for name in (step.item, step.count)
            if name is not None
        )

    def certain(self, variable: str) -> Visibility | None:
        """Returns the seats that see a variable whenever it is bound, whatever their case."""
        known = self.variables.get(variable)
        return None if known is None else self.table.certain(known)

    def readers(self, expr: Expr, scope: Scope) -> Readers:
        """Returns the readers that can evaluate an expression."""
        return self.visibility(expr, scope).all

    def visibility(self, expr: Expr, scope: Scope) -> Visibility:
        """Returns who reads an expression, and which roles it may be."""
        found = self._visibility(expr, scope)
        if not scope.revealed or isinstance(expr, Const | Me | Local):
            return found
        shown = scope.revealed.get(positive(self.form(expr, scope)), 0)
        return found.widened(shown) if shown & ~found.all else found

    def _visibility(self, expr: Expr, scope: Scope) -> Visibility:
        public = self.public
        match expr:
            case Const():
                return self._constant(expr)
            case Me():
                return public if scope.me is None else public.with_roles(1 << scope.me)
            case Local(name=name):
                return scope.locals[name].visibility
            case Read(name=name):
                return scope.known.get(name) or self.variables.get(name, public)
            case LastBy(name=name):
                return self.variables.get(f"{name}@by", public)
            case Past(name=name):
                return self.variables.get(name, public).flattened()
            case Stream():
                return public
            case Get(of=of, key=Apply(function="index", arguments=(key, Const()))) if is_by_role(
                of.type
            ):  # the field of a role
                return self._entry_by_role(self.visibility(of, scope), self.visibility(key, scope))
            case Get(of=of, key=key):
                return self._entry(self.visibility(of, scope), self.visibility(key, scope))
            case Field(of=of, index=index):
                whole = self.visibility(of, scope)
                if whole.by == "field":
                    return whole.part(index)
                return Visibility(whole.all, self.table.seats)
            case LetMap(name=name):
                return self.table.per_seat(lambda seat: self._let(name, (), seat, scope))
            case LetCall():
                return self._call_of_let(expr, scope)
            case If():
                return self._conditional(expr, scope)
            case Apply() | Logic() | Cell() | Table() | Build() | Collect() | Consult():
                return self._whole(expr, scope)
            case _:
                assert_never(expr)

    def _constant(self, expr: Const) -> Visibility:
        if not _has_only_roles(expr.type):
            return self.public
        known = self._constants.get(expr.value)
        if known is None:
            roles = self.table.of(expr.value)
            known = self._constants[expr.value] = self.public.with_roles(roles)
        return known

    def _whole(self, expr: Expr, scope: Scope) -> Visibility:
        """Returns the visibility of an expression that is read by those who read all its parts."""
        readers, seats, items = self.table.everyone, 0, 0
        for part, inner in self.parts(expr, scope):
            value = self.visibility(part, inner)
            readers &= value.all | scope.possible & ~inner.possible  # they know that it is not read
            seats |= value.seats
            if isinstance(expr, Collect) and part is expr.item:
                items |= value.seats
        match expr:
            case Apply(function=function, arguments=arguments):
                match BUILTINS[function].flow.elements:
                    case "others":
                        mine = self.visibility(arguments[0], scope).seats
                        alone = mine & (mine - 1) == 0
                        return Visibility(readers, self.table.seats & ~(mine if alone else 0))
                    case "first":
                        return Visibility(readers, self.visibility(arguments[0], scope).seats)
                    case "all":
                        return Visibility(readers, seats)
                    case "new":
                        return Visibility(readers, self.table.seats)
            case Build():
                return Visibility(readers, seats)
            case Collect(item=Local()):
                return Visibility(readers, items)
            case _:  # any role, as far as is known
                return Visibility(readers, self.table.seats)

    def _entry(self, of: Visibility, key: Visibility) -> Visibility:
        if of.by == "seat" and key.seats:
            entry = reduce(join, (of.part(seat) for seat in seat_numbers(key.seats)))
        else:
            entry = Visibility(of.all, of.seats)
        return entry.restricted(key.all)

    def _entry_by_role(self, of: Visibility, key: Visibility) -> Visibility:
        """Returns the visibility of an entry of a record that has one field for each role."""
        if of.by != "field":
            return self._entry(of, key)
        by_seat = Visibility(of.readers, of.seats, of.parts, "seat")
        return self._entry(by_seat, key.with_roles(key.seats & (1 << len(of.parts)) - 1))

    def _call_of_let(self, expr: LetCall, scope: Scope) -> Visibility:
        arguments = self._arguments(expr, scope)
        if expr.seat is None:
            return self._let(expr.name, arguments, scope.me, scope)
        owner = self.visibility(expr.seat, scope)
        values = [
            self._let(expr.name, arguments, seat, scope) for seat in seat_numbers(owner.seats)
        ]
        return reduce(join, values or [self.public]).restricted(owner.all)

    def _arguments(self, expr: LetCall, scope: Scope) -> tuple[Bound, ...]:
        return tuple(Bound(self.visibility(a, scope), a, scope) for a in expr.arguments)

    def _let(
        self, name: str, arguments: tuple[Bound, ...], me: int | None, scope: Scope
    ) -> Visibility:
        key = name, me, tuple(bound.visibility for bound in arguments)
        known = scope.memo.get(key)
        if known is None:
            body = self.lets[name].body
            known = self.visibility(body, self._scope_of_let(name, arguments, me, scope))
            scope.memo[key] = known
        return known

    def _scope_of_let(
        self, name: str, arguments: tuple[Bound, ...], me: int | None, scope: Scope
    ) -> Scope:
        locals = dict(zip(self.lets[name].parameters, arguments, strict=True))
        return scope._replace(me=me, locals=locals)

    def _conditional(self, expr: If, scope: Scope) -> Visibility:
        values = [
            self.visibility(branch, inner).widened(
                scope.possible & ~inner.possible & self.table.everyone
            )
            for branch, inner in self._branches(expr, scope)
        ]
        merged = reduce(join, values or [self.public])
        return merged.restricted(self.readers(expr.test, scope))

    def _branches(self, expr: If, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        """Yields the branches that can be taken, each with its scope."""
        for branch, holds in ((expr.then, True), (expr.other, False)):
            inner = self.narrow(expr.test, holds, scope)
            if inner is not None:
                yield branch, inner

    # parts of expressions

    def parts(self, expr: Expr, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        """Yields the expressions from which one is evaluated, each with its scope."""
        match expr:
            case Logic(op=op, left=left, right=right):
                yield left, scope
                inner = self.narrow(left, op == "and", scope)
                if inner is not None:
                    yield right, inner
            case If(test=test):
                yield test, scope
                yield from self._branches(expr, scope)
            case Collect():
                yield from self._parts_of_collect(expr, scope)
            case Apply(function="in" | "not in", arguments=(one, right)) if (
                members := self.members(one, right, scope)
            ) is not None:
                yield one, scope
                yield from members
            case Apply(function=function, arguments=(_, *further)) if (
                BUILTINS[function].flow.looks_at == "shape"
            ):
                yield from ((part, scope) for part in further)
            case Apply(function=function, arguments=(of, *_)) if (
                BUILTINS[function].flow.looks_at == "length"
                and (keys := self.public_length_keys(of)) is not None
            ):
                yield from ((key, scope) for key in keys)
            case LetMap(name=name):
                for seat in range(len(self.table.names)):
                    yield self.lets[name].body, self._scope_of_let(name, (), seat, scope)
            case LetCall(name=name, seat=seat):
                owners = [scope.me]
                if seat is not None:
                    yield seat, scope
                    owners = [*seat_numbers(self.visibility(seat, scope).seats)]
                arguments = self._arguments(expr, scope)
                for me in owners:
                    yield self.lets[name].body, self._scope_of_let(name, arguments, me, scope)
            case (
                Const() | Read() | LastBy() | Past() | Local() | Me() | Stream() | Apply() | Get()
                | Field() | Cell() | Table() | Build() | Consult()
            ):  # fmt: skip
                yield from ((child, scope) for child in children(expr))
            case _:
                assert_never(expr)

    def _parts_of_collect(self, expr: Collect, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        for source, inner in self.rows(expr.source, expr.targets, expr.keyed, scope):
            narrowed: Scope | None = inner
            if expr.condition is not None:
                narrowed = self.narrow(expr.condition, True, inner)
                if narrowed is None and self.decide(expr.condition, inner) is False:
                    continue
                yield expr.condition, inner
            yield source, inner
            if narrowed is not None:
                yield expr.item, narrowed

    def members(
        self, one: Expr, right: Expr, scope: Scope
    ) -> tuple[tuple[Expr, Scope], ...] | None:  # fmt: skip
        """Returns, of `one in [x for x in source if condition]` where seats have cases, the tests
        that `one` must pass, each with its scope; None of any other collection."""
        if self.cases.count == 1:
            return None
        inner: Scope | None = scope
        while isinstance(right, LetCall):
            inner = None if inner is None else self._scope_of_call(right, inner)
            if inner is None:
                return None
            right = self.lets[right.name].body
        assert inner is not None
        if not isinstance(right, Collect) or right.keyed or len(right.targets) != 1:
            return None
        (target,) = right.targets
        if not (isinstance(right.item, Local) and right.item.name == target):
            return None
        bound = Bound(self.visibility(one, scope), one, scope)
        member = Local(one.type, one.span, target)
        own = inner.with_locals(**{target: bound})
        tests: list[tuple[Expr, Scope]] = []
        if not isinstance(right.source, Const) or self.table.of(right.source.value) != (
            self.table.seats
        ):
            tests.append((Apply(BOOL, right.span, "in", (member, right.source)), own))
        if right.condition is not None:
            tests.append((right.condition, own))
        return tuple(tests)

    def _scope_of_call(self, call: LetCall, scope: Scope) -> Scope | None:
        """Returns the scope of the body of a `let` that is called for one seat; None where it is
        called for one of several."""
        me = scope.me
        if call.seat is not None:
            seats = self.visibility(call.seat, scope).seats
            if seats == 0 or seats & (seats - 1):
                return None
            me = next(seat_numbers(seats))
        return self._scope_of_let(call.name, self._arguments(call, scope), me, scope)

    def rows(
        self, source: Expr, targets: tuple[str, ...], keyed: bool, scope: Scope
    ) -> Iterator[tuple[Expr, Scope]]:
        """Yields the scopes of the elements of a collection, each with the expression that decides
        whether there is such an element.

        A per-role map whose entries have readers of their own gives one scope for each seat; any
        other collection gives one for all its elements.
        """
        whole = self.visibility(source, scope)
        if keyed and whole.by == "seat":
            for seat in range(len(self.table.names)):
                value = whole.part(seat)
                key = Bound(Visibility(value.all, 1 << seat), source, scope)
                bound = Bound(value, source, scope)
                row = scope.with_locals(**{targets[0]: key, targets[1]: bound})
                yield Local(SEAT, source.span, targets[0]), row
            return
        if self.cases.count > 1 and len(targets) == 1 and element(source.type) == SEAT:
            for seat in seat_numbers(whole.seats):  # what is known of one need not be of another
                bound = Bound(Visibility(whole.all, 1 << seat), source, scope)
                yield source, scope.with_locals(**{targets[0]: bound})
            return
        bound = Bound(Visibility(whole.all, whole.seats), source, scope)
        if keyed:
            bound = bound._replace(visibility=Visibility(whole.all, self.table.seats))
        yield source, scope.with_locals(**dict.fromkeys(targets, bound))

    # lengths

    def public_length_keys(self, expr: Expr) -> tuple[Expr, ...] | None:
        """Returns the keys under which a list or bag of the state lies, if its length is public;
        None for any other expression."""
        keys: list[Expr] = []
        inner = expr
        while isinstance(inner, Get) and isinstance(plain(inner.of.type), PerSeat | PerValue):
            keys.append(inner.key)
            inner = inner.of
        stored = isinstance(inner, Read) and inner.name in self.sized
        return tuple(keys) if stored and isinstance(plain(expr.type), List | Bag) else None

    def length_readers(self, expr: Expr, scope: Scope) -> Readers:
        """Returns the readers that can work out the length of the list or bag that an expression
        gives; of a map, the lengths of those in it."""
        keys = self.public_length_keys(expr)
        if keys is not None:
            return reduce(and_, (self.readers(key, scope) for key in keys), self.table.everyone)
        match expr:
            case Const() | Build():
                return self.table.everyone
            case Read(name=name) if name in self.sized:
                return self.table.everyone
            case Apply(function=function, arguments=(of, *_)):
                if BUILTINS[function].flow.keeps_length and isinstance(plain(of.type), List | Bag):
                    return self.length_readers(of, scope)
            case Collect(condition=None, source=source) if isinstance(plain(source.type), List):
                return self.length_readers(source, scope)
            case _:  # the length is known to those who know the whole
                pass
        return self.readers(expr, scope)

    # tests of roles and cases

    def form(self, expr: Expr, scope: Scope) -> Form:
        """Returns the form of an expression, in which the seats that are known are constants."""
        names, known = self.table.names, {}
        pairs = [(f"local {name}", bound.visibility) for name, bound in scope.locals.items()]
        for name, value in (*pairs, *scope.known.items()):
            if value.seats and value.seats & (value.seats - 1) == 0:
                known[name] = self._seat_form(names[next(seat_numbers(value.seats))])
        me = None if scope.me is None else self._seat_form(names[scope.me])
        return form_of(expr, self.lets, Environment(me, {}, known))

    def _seat_form(self, name: str) -> Form:
        return form_of(Const(SEAT, self._span, name), self.lets, Environment())

    def _answer(self, test: Expr, scope: Scope) -> Answer | None:
        """Returns the question that a test asks of one seat, if its answer counts already."""
        if self.cases.count == 1 or isinstance(test, Const | Logic):
            return None
        answer = self.cases.answer(self.form(test, scope))
        return answer if answer is not None and answer.question in scope.settled else None

    def _holding(self, answer: Answer) -> Readers:
        """Returns the cases of the seat that is asked in which an answer holds."""
        count = len(self.table.names)
        return sum(1 << answer.seat + count * case for case in self.cases.holding(answer))

    def decide(self, test: Expr, scope: Scope) -> bool | None:
        """Returns the value of a test, where the roles in it and the case of a seat alone decide
        it; else None."""
        answer = self._answer(test, scope)
        if answer is not None:
            asked = self.table.own(answer.seat) & scope.possible
            holding = asked & self._holding(answer)
            return True if holding == asked else None if holding else False
        match test:
            case LetCall(name=name) if self.cases.count > 1:
                inner = self._scope_of_call(test, scope)
                return None if inner is None else self.decide(self.lets[name].body, inner)
            case Apply(function="in" | "not in" as op, arguments=(one, right)) if (
                members := self.members(one, right, scope)
            ) is not None:
                found = {self.decide(part, inner) for part, inner in members}
                member = False if False in found else None if None in found else True
                return None if member is None else member == (op == "in")
            case Const(value=bool() as value):
                return value
            case Logic(op=op, left=left, right=right):
                values = {self.decide(left, scope), self.decide(right, scope)}
                if (op == "or") in values:
                    return op == "or"
                return None if None in values else op == "and"
            case Apply(function="not", arguments=(inner,)):
                negated = self.decide(inner, scope)
                return None if negated is None else not negated
            case Apply(arguments=arguments) if all(isinstance(a, Const) for a in arguments):
                try:
                    return bool(evaluate(test, Values(self.table.names)))
                except EvaluationError:
                    return None
            case Apply(function="==" | "!=" as op, arguments=(left, right)) if _are_roles(
                left, right
            ):
                equal = self._decide_equal(left, right, scope)
                return None if equal is None else equal == (op == "==")
            case Apply(function="in" | "not in" as op, arguments=(one, right)) if is_role(one.type):
                member = self._decide_member(one, right, scope)
                return None if member is None else member == (op == "in")
            case _:  # not decided by roles
                return None

    def _decide_equal(self, left: Expr, right: Expr, scope: Scope) -> bool | None:
        one, two = self.visibility(left, scope).seats, self.visibility(right, scope).seats
        certain = left.type == SEAT and right.type == SEAT
        if not one & two and (left.type == SEAT or right.type == SEAT):
            return False
        return True if certain and one == two and one & (one - 1) == 0 else None

    def _decide_member(self, left: Expr, right: Expr, scope: Scope) -> bool | None:
        one, some = self.visibility(left, scope).seats, self.visibility(right, scope).seats
        if left.type != SEAT:
            return None
        if not one & some:
            return False
        return True if isinstance(right, Const) and not one & ~some else None

    def narrow(self, test: Expr, holds: bool, scope: Scope) -> Scope | None:
        """Returns the scope in which a test holds, or does not; None where that cannot be."""
        decided = self.decide(test, scope)
        if decided is not None and decided != holds:
            return None
        answer = self._answer(test, scope)
        if answer is not None:
            own, holding = self.table.own(answer.seat), self._holding(answer)
            return scope.among(~(own & ~holding) if holds else ~holding)
        match test:
            case LetCall(name=name) if self.cases.count > 1:
                around = self._scope_of_call(test, scope)
                return self._narrowed(((self.lets[name].body, around),), holds, scope)
            case Apply(function="in" | "not in" as op, arguments=(one, right)) if (
                members := self.members(one, right, scope)
            ) is not None and ((op == "in") == holds or len(members) == 1):
                return self._narrowed(members, (op == "in") == holds, scope)
            case Apply(function="not", arguments=(inner,)):
                return self.narrow(inner, not holds, scope)
            case Logic(op=op, left=left, right=right) if (op == "and") == holds:
                first = self.narrow(left, holds, scope)
                return None if first is None else self.narrow(right, holds, first)
            case Apply(function="==" | "!=" as op, arguments=(left, right)) if _are_roles(
                left, right
            ):
                for side, other in ((left, right), (right, left)):
                    roles = self._matching(other, (op == "==") == holds, scope)
                    narrower = narrow_to(side, roles, self.visibility(side, scope), scope)
                    if narrower is None:
                        return None
                    scope = narrower
            case Apply(function="in" | "not in" as op, arguments=(one, right)) if is_role(one.type):
                some = self.visibility(right, scope).seats
                if (op == "in") == holds:
                    return narrow_to(one, some, self.visibility(one, scope), scope)
                if isinstance(right, Const):
                    return narrow_to(one, ~some, self.visibility(one, scope), scope)
            case _:  # nothing is learned of roles, which is safe
                pass
        return scope

    def _narrowed(
        self, tests: tuple[tuple[Expr, Scope | None], ...], holds: bool, scope: Scope
    ) -> Scope | None:  # fmt: skip
        """Returns the scope in which tests hold (or do not) that stand in scopes of their own: what
        they tell of cases and of variables."""
        for test, around in tests:
            if around is None:
                continue
            inner = around._replace(possible=scope.possible, known=scope.known, memo={})
            narrowed = self.narrow(test, holds, inner)
            if narrowed is None:
                return None
            scope = scope._replace(possible=narrowed.possible, known=narrowed.known, memo={})
        return scope

    def _matching(self, other: Expr, equal: bool, scope: Scope) -> Seats:
        """Returns the roles that may equal another expression, or may differ from it."""
        seats = self.visibility(other, scope).seats
        if equal:
            return seats
        alone = seats & (seats - 1) == 0 and other.type == SEAT
        return self.table.seats & ~(seats if alone else 0)

    def representatives(self, seats: Seats, scope: Scope) -> Iterator[int]:
        """Yields, of each group of seats that are alike, those that are singled out in a scope and
        one other."""
        for group in self.alike:
            others = seats & group & ~scope.fixed
            yield from seat_numbers(seats & group & scope.fixed | (others & -others))

    def split_by_role(self, expr: Expr, scope: Scope) -> Iterator[tuple[int, Scope]]:
        """Yields the roles that an expression may be, representatives of those that are alike,
        each with the scope in which it is that role."""
        value = self.visibility(expr, scope)
        for seat in self.representatives(value.seats, scope):
            inner = narrow_to(expr, 1 << seat, value, scope)
            if inner is not None:
                yield seat, inner._replace(fixed=inner.fixed | 1 << seat)

    # causes

    def cause(self, expr: Expr, seat: int, scope: Scope) -> Cause:
        """Returns the part of an expression that a reader, by number, cannot read. Counters and
        items of loops, which only follow from other things, are named where there is nothing
        else."""
        inner = scope.with_known(**dict.fromkeys(self.loops, self.public))
        if self.readers(expr, inner) >> seat & 1:
            inner = scope
        return self._cause(expr, seat, inner)._replace(me=scope.me)

    def _cause(self, expr: Expr, seat: int, scope: Scope) -> Cause:
        whole = Cause(expr, self.readers(expr, scope), ())
        match expr:
            case Local(name=name):
                bound = scope.locals[name]
                if bound.origin is None or bound.scope is None:
                    return whole
                return self._unreadable(bound.origin, seat, bound.scope) or whole
            case Get() | Cell() | Field():
                return self._cause_of_entry(expr, seat, scope) or whole
            case LetCall() | LetMap():
                cause = self._cause_in_parts(expr, seat, scope)
                return whole if cause is None else cause._replace(through=(expr, *cause.through))
            case (
                Const() | Read() | LastBy() | Past() | Me() | Stream() | Apply() | Logic() | If()
                | Table() | Build() | Collect() | Consult()
            ):  # fmt: skip
                return self._cause_in_parts(expr, seat, scope) or whole
            case _:
                assert_never(expr)

    def _cause_of_entry(self, expr: Get | Cell | Field, seat: int, scope: Scope) -> Cause | None:
        """Returns the key that a seat cannot read, or what it cannot read of the whole; None where
        that is a variable."""
        root: Expr = expr
        while isinstance(root, Get | Cell | Field):
            if not isinstance(root, Field) and not self.readers(root.key, scope) >> seat & 1:
                return self._cause(root.key, seat, scope)
            root = root.of
        if isinstance(root, Read | LastBy | Past):
            return None
        return self._unreadable(root, seat, scope)

    def _cause_in_parts(self, expr: Expr, seat: int, scope: Scope) -> Cause | None:
        for part, inner in self.parts(expr, scope):
            cause = self._unreadable(part, seat, inner)
            if cause is not None:
                return cause
        return None

    def _unreadable(self, expr: Expr, seat: int, scope: Scope) -> Cause | None:
        """Returns what a seat cannot read in a part; None where it can read all of it."""
        return None if self.readers(expr, scope) >> seat & 1 else self._cause(expr, seat, scope)


def _are_roles(left: Expr, right: Expr) -> bool:
    return is_role(left.type) and is_role(right.type)


@lru_cache(maxsize=4096)
def _has_only_roles(type: Type) -> bool:
    """Returns whether a constant of a type is a role, none, or a collection that may hold roles."""
    match plain(type):
        case Seat() | NoneType():
            return True
        case List(of=inner) | Set(of=inner):
            return _has_only_roles(inner)
        case Tuple(of=parts):
            return any(map(_has_only_roles, parts))
        case (
            Bool() | Number() | Enum() | Text() | Option() | PerSeat() | Never() | Record()
            | Bag() | Grid() | PerValue() | Union()
        ):  # fmt: skip
            return False
        case other:
            assert_never(other)


def has_length(type: Type) -> bool:
    """Returns whether a state variable of a type has a length: whether it is a list or a bag, or a
    map of them."""
    while isinstance(type, PerSeat | PerValue):
        type = type.of
    return isinstance(plain(type), List | Bag)
