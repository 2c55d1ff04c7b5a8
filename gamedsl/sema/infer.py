"""The one typing walk: names resolved, types found, the syntax tree turned into typed expressions.

Every problem is reported where it stands, and its expression becomes one of type `Never`, which
fits everywhere, so that one mistake is told once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, FUNCTIONS, MAPS, ORDERED_BY_TYPE, element
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    NONE,
    NUMBER,
    SEAT,
    WHOLE,
    Bool,
    Enum,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    Seat,
    Tuple,
    Type,
    fits,
    join,
)
from gamedsl.sema.scope import LetName, Names, ParamName, StreamName, VariableName
from gamedsl.source.spans import Span
from gamedsl.syntax import ast


class Typer:
    """Types expressions of one file against its names.

    `lets` gathers the typed bodies of the lets that were used or asked for.
    """

    def __init__(self, names: Names, problems: Problems) -> None:
        self.names = names
        self.problems = problems
        self.lets: dict[str, ir.Expr] = {}
        self.params_read: list[str] = []
        """Of the expression typed last."""
        self.locals: dict[str, Type] = {}
        self.me_allowed = False
        self.uses_me = False

    def expression(
        self, node: ast.Node, *, me: bool = False, expected: Type | None = None
    ) -> ir.Expr:
        """Type one expression that stands alone; `me` says whether it is read by one role."""
        self.locals, self.me_allowed, self.uses_me = {}, me, False
        self.params_read = []
        return self.infer(node, expected)

    def check(self, node: ast.Node, wanted: Type, what: str, *, me: bool = False) -> ir.Expr:
        """Type an expression that must fit a type; `what` names it in the message."""
        typed = self.expression(node, me=me, expected=wanted)
        if not fits(typed.type, wanted):
            self.problems.add(
                "GD0306",
                f"{what} must be {wanted}",
                node.span,
                why=f"this is {typed.type}",
                help=_map_hint(typed.type) if isinstance(typed.type, PerSeat) else "",
            )
            return self.never(node)
        return typed

    def never(self, node: ast.Node) -> ir.Expr:
        return ir.Const(NEVER, node.span, None)

    def infer(self, node: ast.Node, expected: Type | None = None) -> ir.Expr:
        match node:
            case ast.Literal(value=value):
                return ir.Const(_literal_type(value), node.span, value)
            case ast.Name():
                return self.name(node, expected)
            case ast.Operator():
                return self.operator(node)
            case ast.Conditional():
                return self.conditional(node, expected)
            case ast.Attribute():
                return self.attribute(node, expected)
            case ast.Index():
                return self.index(node)
            case ast.Call():
                return self.call(node)
            case ast.Display():
                return self.display(node, expected)
        raise AssertionError(f"no typing rule for {type(node).__name__}")

    # names

    def name(self, node: ast.Name, expected: Type | None) -> ir.Expr:
        wanted = expected.of if isinstance(expected, Option) else expected
        if node.id in self.locals:
            return ir.Local(self.locals[node.id], node.span, node.id)
        if isinstance(wanted, Enum) and node.id in wanted.members:
            return ir.Const(wanted, node.span, node.id)
        special = self.word(node)
        if special is not None:
            return special
        match self.names.declared.get(node.id):
            case ParamName(type=type, value=value):
                self.params_read.append(node.id)
                return ir.Const(type, node.span, value, node.id)
            case VariableName(type=type, joint=joint):
                return ir.Read(PerSeat(type) if joint else type, node.span, node.id)
            case StreamName(type=type):
                return ir.Stream(type, node.span, node.id)
            case LetName() as let:
                return self.let_call(node, let, ())
        if node.id in self.names.seats:
            return ir.Const(SEAT, node.span, node.id)
        enum = self.names.enum_of(node.id)
        if enum is not None:
            return ir.Const(enum, node.span, node.id)
        return self.unknown(node)

    def word(self, node: ast.Name) -> ir.Expr | None:
        seats = self.names.seats
        if node.id == "roles":
            return ir.Const(List(SEAT, len(seats)), node.span, seats)
        if node.id not in ("me", "other", "others"):
            return None
        if not self.me_allowed:
            self.problems.add(
                "GD0303",
                f"`{node.id}` has no meaning here",
                node.span,
                why="this is not evaluated for one role",
            )
            return self.never(node)
        self.uses_me = True
        me = ir.Me(SEAT, node.span)
        if node.id == "me":
            return me
        return self.other(node, node.id, me)

    def other(self, node: ast.Node, word: str, seat: ir.Expr) -> ir.Expr:
        seats = self.names.seats
        if word == "other" and len(seats) != 2:
            self.problems.add(
                "GD0304",
                "`other` needs exactly two roles",
                node.span,
                why=f"this game has {len(seats)}",
                help="use `others`, which is the list of all but me",
            )
            return self.never(node)
        order = ir.Const(List(SEAT, len(seats)), node.span, seats)
        type: Type = SEAT if word == "other" else List(SEAT, len(seats) - 1)
        return ir.Apply(type, node.span, word, (seat, order))

    def unknown(self, node: ast.Name) -> ir.Expr:
        name = node.id
        if name in self.names.roles:
            seats = self.names.roles[name]
            self.problems.add(
                "GD0302",
                f"`{name}` is a role with {len(seats)} seats",
                node.span,
                why="one seat is needed here",
                help=f"name a seat, such as `{seats[0]}`, or go through them: `for r in roles`",
            )
            return self.never(node)
        guess = did_you_mean(name, list(self.names.all()))
        help = f"did you mean `{guess}`?" if guess else ""
        if name in FUNCTIONS:
            help = f"the function is called with parentheses: `{BUILTINS[name].usage}`"
        several = [e for e in self.names.enums if name in e.members]
        why = (
            "several types have this value: compare it with one of them"
            if several
            else "not declared"
        )
        place = self.names.place(guess) if guess else None
        notes = (Note(place, f"`{guess}` is declared here"),) if guess and place else ()
        self.problems.add(
            "GD0301", f"unknown name `{name}`", node.span, why=why, help=help, notes=notes
        )
        return self.never(node)

    # lets

    def let_call(self, node: ast.Node, let: LetName, arguments: tuple[ir.Expr, ...]) -> ir.Expr:
        """A let by name: its value for me where it depends on me, and else its one value."""
        if len(arguments) != len(let.parameters):
            wanted = ", ".join(p.id for p in let.parameters)
            self.problems.add(
                "GD0308",
                f"`{let.name}` takes {len(let.parameters)} arguments, not {len(arguments)}",
                node.span,
                help=f"call it as `{let.name}({wanted})`" if wanted else f"write `{let.name}`",
                notes=(Note(let.span, "declared here"),),
            )
            return self.never(node)
        type = self.let_type(let, node.span, tuple(a.type for a in arguments))
        for argument, wanted_type in zip(arguments, let.types, strict=True):
            if not fits(argument.type, wanted_type):
                self.problems.add(
                    "GD0306",
                    f"this argument of `{let.name}` must be {wanted_type}",
                    argument.span,
                    why=f"this is {argument.type}",
                    notes=(Note(let.span, "declared here"),),
                )
        if not let.per_seat:
            return ir.LetCall(type, node.span, let.name, arguments, None)
        if not self.me_allowed:
            return ir.LetMap(PerSeat(type), node.span, let.name)
        self.uses_me = True
        return ir.LetCall(type, node.span, let.name, arguments, ir.Me(SEAT, node.span))

    def let_type(self, let: LetName, use: Span, arguments: tuple[Type, ...] = ()) -> Type:
        """The type of a let's body, found on first use, which also says what its parameters are.

        Lets may stand in any order, not in a ring.
        """
        if let.state == "typing":
            self.problems.add(
                "GD0307",
                f"`{let.name}` is defined by itself",
                use,
                why="its own value is needed here",
                notes=(Note(let.span, "declared here"),),
            )
            return NEVER
        if let.type is None:
            let.state = "typing"
            let.types = tuple(NUMBER if isinstance(t, Number) else t for t in arguments)
            let.types = let.types or (NEVER,) * len(let.parameters)
            with self.frame({p.id: t for p, t in zip(let.parameters, let.types, strict=True)}):
                body = (
                    self.infer(let.body)
                    if let.body is not None
                    else ir.Const(NEVER, let.span, None)
                )
                let.type, let.per_seat, let.state = body.type, self.uses_me, "typed"
            self.lets[let.name] = body
        return let.type

    @contextmanager
    def frame(self, locals: dict[str, Type]) -> Iterator[None]:
        """A fresh place to type a let's body in, where `me` is whoever reads it."""
        saved = self.locals, self.me_allowed, self.uses_me
        self.locals, self.me_allowed, self.uses_me = locals, True, False
        try:
            yield
        finally:
            self.locals, self.me_allowed, self.uses_me = saved

    # forms

    def operator(self, node: ast.Operator) -> ir.Expr:
        if node.op in ("and", "or"):
            left, right = (self.truth(o, f"an operand of `{node.op}`") for o in node.operands)
            return ir.Logic(BOOL, node.span, node.op, left, right)
        operands = self.operands(node)
        return self.apply(node, node.op, operands)

    def operands(self, node: ast.Operator) -> tuple[ir.Expr, ...]:
        """Both sides; a bare name is typed last, so that the other side says which enum it is of."""
        if len(node.operands) == 1:
            return (self.infer(node.operands[0]),)
        left, right = node.operands
        if node.op in ("in", "not in"):
            collection = self.infer(right)
            return self.infer(left, element(collection.type)), collection
        if isinstance(left, ast.Name) and not isinstance(right, ast.Name):
            second = self.infer(right)
            return self.infer(left, second.type), second
        if isinstance(left, ast.Name) and not self.known(left):
            second = self.infer(right)
            return self.infer(left, second.type), second
        first = self.infer(left)
        return first, self.infer(right, first.type)

    def known(self, node: ast.Name) -> bool:
        return (
            node.id in self.locals
            or node.id in self.names.declared
            or node.id in self.names.seats
            or node.id in ("me", "other", "others", "roles")
        )

    def truth(self, node: ast.Node, what: str) -> ir.Expr:
        typed = self.infer(node)
        if not isinstance(typed.type, Bool | Never):
            self.problems.add(
                "GD0306",
                f"{what} must be a truth value",
                node.span,
                why=f"this is {typed.type}",
                help="compare it with something, such as `== 0`"
                if isinstance(typed.type, Number)
                else "",
            )
            return self.never(node)
        return typed

    def apply(self, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]) -> ir.Expr:
        """An operator or built-in on typed arguments."""
        row = BUILTINS[function]
        types = tuple(a.type for a in arguments)
        result = NEVER if any(isinstance(t, Never) for t in types) else row.rule(types)
        if result is None:
            self.mismatch(node, function, arguments)
            return self.never(node)
        if function in ORDERED_BY_TYPE and not isinstance(result, Never):
            if function in ("other", "others"):
                return self.other(node, function, arguments[0])
            of = types[0]
            order = of.members if isinstance(of, Enum) else self.names.seats
            arguments = (*arguments, ir.Const(List(of, len(order)), node.span, order))
        return ir.Apply(result, node.span, function, arguments)

    def mismatch(self, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]) -> None:
        types = [a.type for a in arguments]
        given = " and ".join(map(str, types)) or "nothing"
        help = next((_map_hint(t) for t in types if isinstance(t, PerSeat)), "")
        if any(isinstance(t, Option | NoneType) for t in types) and function not in ("==", "!="):
            help = "one side may be none: test it first, as in `0 if x == none else …`"
        self.problems.add(
            "GD0305",
            f"`{BUILTINS[function].usage}` does not take {given}",
            node.span,
            why="the types do not fit",
            help=help,
        )

    def conditional(self, node: ast.Conditional, expected: Type | None) -> ir.Expr:
        test = self.truth(node.test, "the condition")
        then = self.infer(node.then, expected)
        other = self.infer(node.other, expected or then.type)
        type = join(then.type, other.type)
        if type is None:
            self.problems.add(
                "GD0305",
                "the two halves of this conditional have different types",
                node.span,
                why=f"{then.type} or {other.type}",
            )
            return self.never(node)
        return ir.If(type, node.span, test, then, other)

    def attribute(self, node: ast.Attribute, expected: Type | None) -> ir.Expr:
        key = node.name
        if key.id not in self.names.seats and key.id not in ("me", "other"):
            of = self.infer(node.of)
            if isinstance(of.type, Never):
                return of
            guess = did_you_mean(key.id, [*self.names.seats, "me", "other"])
            self.problems.add(
                "GD0309",
                f"`{key.id}` is not a role",
                key.span,
                why=f"`.` reads a value {_of(of.type)}",
                help=f"did you mean `{guess}`?" if guess else "",
            )
            return self.never(node)
        return self.entry(node, node.of, key)

    def index(self, node: ast.Index) -> ir.Expr:
        if len(node.keys) != 1:
            self.problems.add(
                "GD0310",
                "an index is one value",
                node.span,
                why=f"{len(node.keys)} are given",
                help="index a list of lists twice: `m[i][j]`",
            )
            return self.never(node)
        return self.entry(node, node.of, node.keys[0])

    def entry(self, node: ast.Node, of: ast.Node, key: ast.Node) -> ir.Expr:
        """One entry of a per-role map (by role), of a per-role let, or of a list (by number)."""
        seat = self.infer(key)
        if isinstance(of, ast.Name):
            let = self.names.declared.get(of.id) if of.id not in self.locals else None
            if isinstance(let, LetName) and not let.parameters:
                type = self.let_type(let, of.span)
                if let.per_seat and isinstance(seat.type, Seat):
                    return ir.LetCall(type, node.span, let.name, (), seat)
        map = self.infer(of)
        if isinstance(map.type, Never) or isinstance(seat.type, Never):
            return self.never(node)
        if isinstance(map.type, PerSeat) and isinstance(seat.type, Seat):
            return ir.Get(map.type.of, node.span, map, seat)
        if isinstance(map.type, List) and isinstance(seat.type, Number) and seat.type.whole:
            return ir.Get(map.type.of, node.span, map, seat)
        self.problems.add(
            "GD0310",
            f"{map.type} cannot be indexed by {seat.type}",
            node.span,
            help="a per-role map takes a role, a list takes a whole number from 0",
        )
        return self.never(node)

    def call(self, node: ast.Call) -> ir.Expr:
        name = node.name.id
        let = self.names.declared.get(name)
        if isinstance(let, LetName) and name not in FUNCTIONS:
            arguments = tuple(self.infer(a) for a in node.arguments)
            return self.let_call(node, let, arguments)
        if name not in FUNCTIONS:
            lets = [n for n, d in self.names.declared.items() if isinstance(d, LetName)]
            guess = did_you_mean(name, [*FUNCTIONS, *lets])
            self.problems.add(
                "GD0311",
                f"unknown function `{name}`",
                node.name.span,
                why="not a built-in and not a `let`",
                help=f"did you mean `{guess}`?"
                if guess
                else "`gamedsl explain builtins` lists the built-ins",
            )
            return self.never(node)
        return self.apply(node, name, self.arguments(node))

    def arguments(self, node: ast.Call) -> tuple[ir.Expr, ...]:
        name, given = node.name.id, node.arguments
        if len(given) == 1 and isinstance(given[0], ast.Comprehension):
            return (self.comprehension(given[0]),)
        first = given[0] if given else None
        typed: list[ir.Expr] = []
        if name in MAPS and isinstance(first, ast.Name) and (len(given) == 1 or name == "count"):
            typed.append(self.collection(first))
        elif first is not None:
            typed.append(self.infer(first))
        for node_ in given[1:]:
            typed.append(self.infer(node_, element(typed[0].type) if name == "count" else None))
        return tuple(typed)

    def collection(self, node: ast.Name) -> ir.Expr:
        """A bare name where a collection is wanted: a let that depends on me is the per-role map."""
        let = self.names.declared.get(node.id) if node.id not in self.locals else None
        if isinstance(let, LetName) and not let.parameters:
            type = self.let_type(let, node.span)
            if let.per_seat:
                return ir.LetMap(PerSeat(type), node.span, let.name)
        return self.infer(node)

    def comprehension(self, node: ast.Comprehension) -> ir.Expr:
        source = self.infer(node.source)
        inner = element(source.type)
        if inner is None:
            self.problems.add(
                "GD0312",
                "`for` goes through a collection",
                node.source.span,
                why=f"this is {source.type}",
            )
            inner = NEVER
        targets = {
            target.id: type
            for target, type in zip(node.targets, self.target_types(node, source, inner))
        }
        saved = self.locals
        self.locals = {**saved, **targets}
        condition = self.truth(node.condition, "the condition") if node.condition else None
        item = self.infer(node.item)
        self.locals = saved
        unpacked = isinstance(inner, Tuple) and len(inner.of) == len(node.targets)
        return ir.Collect(
            List(item.type),
            node.span,
            item,
            tuple(t.id for t in node.targets),
            source,
            condition,
            keyed=len(node.targets) == 2 and not unpacked,
        )

    def target_types(
        self, node: ast.Comprehension, source: ir.Expr, inner: Type
    ) -> tuple[Type, ...]:
        count = len(node.targets)
        if count == 1:
            return (inner,)
        if isinstance(inner, Tuple) and len(inner.of) == count:
            return inner.of
        if count == 2:
            return (SEAT if isinstance(source.type, PerSeat) else WHOLE, inner)
        if not isinstance(inner, Never):
            self.problems.add(
                "GD0312",
                f"the elements do not have {count} parts",
                node.targets[0].span,
                why=f"each is {inner}",
            )
        return (NEVER,) * count

    def display(self, node: ast.Display, expected: Type | None) -> ir.Expr:
        wanted = element(expected) if expected is not None else None
        items = tuple(self.infer(item, wanted) for item in node.items)
        if node.kind == "tuple":
            return ir.Build(Tuple(tuple(i.type for i in items)), node.span, items)
        inner: Type | None = NEVER
        for item in items:
            inner = inner and join(inner, item.type)
        if inner is None:
            self.problems.add(
                "GD0305",
                "the items of this list have different types",
                node.span,
                why=", ".join(str(i.type) for i in items[:4]),
            )
            return self.never(node)
        return ir.Build(List(inner, len(items)), node.span, items)


def _literal_type(value: Any) -> Type:
    if isinstance(value, bool):
        return BOOL
    if value is None:
        return NONE
    return WHOLE if isinstance(value, int) else NUMBER


def _map_hint(type: Type) -> str:
    return (
        f"this is {type}: take one role's with `.me`, `.other`, `.rolename` or `[r]`"
        if isinstance(type, PerSeat)
        else ""
    )


def _of(type: Type) -> str:
    return "of one role" if isinstance(type, PerSeat) else f"per role, and this is {type}"
