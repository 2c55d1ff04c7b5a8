"""What a name means: params, variables, state, types, roles, enum values and lets.

The part of the typing walk that knows names; `gamedsl.sema.infer` knows the forms around them. A
let is typed when it is first read, so that lets may stand in any order, but not in a ring.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, FUNCTIONS
from gamedsl.ir.types import (
    NEVER,
    NUMBER,
    SEAT,
    WHOLE,
    Enum,
    List,
    NoneType,
    Number,
    PerSeat,
    Set,
    Type,
    Union,
    fits,
    plain,
)
from gamedsl.sema.narrow import Facts
from gamedsl.sema.scope import (
    ANY,
    ArgumentName,
    LetName,
    Names,
    ParamName,
    StateName,
    StreamName,
    TypeName,
    VariableName,
)

MAX_NESTING = 120
"""Levels of typed expressions inside each other, those of the lets that they read included."""


class Resolver(ABC):
    """Gives names their meaning. `lets` gathers the typed bodies of the lets that were read."""

    def __init__(self, names: Names, problems: Problems) -> None:
        self.names = names
        self.problems = problems
        self.lets: dict[str, ir.Expr] = {}
        self.locals: dict[str, Type] = {}
        self.some: Facts = frozenset()
        """What a test around the present place says is not none."""
        self.me_allowed = False
        self.uses_me = False
        self.untyped = False
        """Whether state was read that was declared `none` and whose type is not known yet."""
        self.learned: dict[str, Type] = {}
        """The types of what is assigned to state that was declared `none`."""
        self.level = 0
        self.open: list[LetName] = []
        """The lets that are being typed, each read by the one before it."""

    @abstractmethod
    def infer(self, node: ast.Node, expected: Type | None = None) -> ir.Expr:
        """Type any expression; `Typer` has the forms."""

    @abstractmethod
    def meant(self, node: ast.Node, expected: Type | None) -> ir.Expr:
        """Type what is read as a value of a type, if there is one."""

    def never(self, node: ast.Node) -> ir.Expr:
        return ir.Const(NEVER, node.span, None)

    def name(self, node: ast.Name, expected: Type | None) -> ir.Expr:
        if node.id in self.locals:
            return ir.Local(self.locals[node.id], node.span, node.id)
        for enum in _enums(expected):
            if node.id in enum.members:
                return ir.Const(enum, node.span, node.id)
        special = self.word(node)
        if special is not None:
            return special
        match self.names.declared.get(node.id):
            case ParamName(type=type, value=value):
                return ir.Const(type, node.span, value, node.id)
            case VariableName() as variable:
                return ir.Read(self.variable_type(variable), node.span, node.id)
            case StateName(type=NoneType()):
                self.untyped = True
                return self.never(node)
            case StateName(type=type) | ArgumentName(type=type):
                return ir.Read(type, node.span, node.id)
            case TypeName() as declared:
                return self.type_values(node, declared, expected)
            case StreamName(type=type):
                return ir.Stream(type, node.span, node.id)
            case LetName() as let:
                return self.let_call(node, let, ())
        if node.id in self.names.everyone:
            return ir.Const(SEAT, node.span, node.id)
        only = self.names.enum_of(node.id)
        if only is not None:
            return ir.Const(only, node.span, node.id)
        return self.unknown(node)

    def type_values(self, node: ast.Name, declared: TypeName, expected: Type | None) -> ir.Expr:
        """A type where a value is read: all its values, as a set where one is wanted."""
        values = tuple(value for _, value in declared.choices)
        if isinstance(expected, Set):
            return ir.Const(Set(declared.type), node.span, frozenset(values))
        return ir.Const(List(declared.type, len(values)), node.span, values)

    def variable_type(self, variable: VariableName) -> Type:
        if not variable.joint:
            return variable.type
        return PerSeat(variable.type, set(variable.actors) != set(self.names.seats))

    def word(self, node: ast.Name) -> ir.Expr | None:
        """`me`, `other`, `others` or `roles`; None for any other name."""
        seats = self.names.seats
        if node.id == "roles":
            return ir.Const(List(SEAT, len(seats)), node.span, seats)
        if node.id not in ("me", "other", "others"):
            return None
        if not self.me_allowed:
            self.no_me(node, f"`{node.id}` has no meaning here")
            return self.never(node)
        self.uses_me = True
        me = ir.Me(SEAT, node.span)
        if node.id == "me":
            return me
        return self.other(node, node.id, me)

    def no_me(self, node: ast.Node, message: str) -> None:
        seat = self.names.seats[0] if self.names.seats else ""
        self.problems.add(
            "GD0303",
            message,
            node.span,
            why="this is not worked out for each role",
            help=f"name a role, such as `{seat}`" if seat else "",
        )

    def other(self, node: ast.Node, word: str, seat: ir.Expr) -> ir.Expr:
        seats = self.names.seats
        if word == "other" and len(seats) != 2:
            self.problems.add(
                "GD0304",
                "`other` needs exactly two roles",
                node.span,
                why=f"this game has {len(seats)}",
                help="use `others`, which is the list of all but me"
                if len(seats) > 2
                else "a role that is alone has no other",
            )
            return self.never(node)
        order = ir.Const(List(SEAT, len(seats)), node.span, seats)
        type: Type = SEAT if word == "other" else List(SEAT, len(seats) - 1)
        return ir.Apply(type, node.span, word, (seat, order))

    def unknown(self, node: ast.Name) -> ir.Expr:
        name = node.id
        if name in self.names.broken:
            self.problems.extend(self.names.withheld.get(name, ()))
            return self.never(node)
        if name in self.names.roles:
            self.several_seats(node)
            return self.never(node)
        why, help = "not declared", ""
        notes: tuple[Note, ...] = ()
        guess = did_you_mean(name, list(self.names.all()))
        if ANY in self.names.broken and not guess:
            return self.never(node)
        if guess:
            help = f"did you mean `{guess}`?"
            place = self.names.anywhere(guess)
            notes = (Note(place, f"`{guess}` is declared here"),) if place else ()
        if name in FUNCTIONS:
            help = f"the function is called with parentheses: `{BUILTINS[name].usage}`"
        if name in self.names.later:
            why, help = "not known yet", f"params are worked out in order: move `{name}` up"
            notes = (Note(self.names.later[name], "declared here"),)
        if any(name in enum.members for enum in self.names.enums):
            why, help, notes = "several decisions have this option", self.full_name(name), ()
        self.problems.add(
            "GD0301", f"unknown name `{name}`", node.span, why=why, help=help, notes=notes
        )
        return self.never(node)

    def full_name(self, member: str) -> str:
        """How to say which of several options of one name is meant."""
        for name, declared in self.names.declared.items():
            if isinstance(declared, TypeName) and member in dict(declared.choices):
                return f"say of which type: `{name}.{member}`"
        return "compare it with a variable, such as `move == …`"

    def several_seats(self, node: ast.Name) -> None:
        seats = self.names.roles[node.id]
        place = self.names.role_spans.get(node.id)
        self.problems.add(
            "GD0302",
            f"`{node.id}` is a role with {len(seats)} seat{'s' if len(seats) > 1 else ''}",
            node.span,
            why="one seat is needed here",
            notes=(Note(place, "declared here"),) if place else (),
            help=f"name a seat, such as `{seats[0]}`, or go through them: `for r in roles`",
        )

    # lets

    def let_call(self, node: ast.Node, let: LetName, arguments: tuple[ir.Expr, ...]) -> ir.Expr:
        """A let by name: its value for me where it depends on me, and else its one value."""
        if len(arguments) != len(let.parameters):
            wanted = ", ".join(p.id for p in let.parameters)
            count = len(let.parameters)
            self.problems.add(
                "GD0308",
                f"`{let.name}` takes {count} argument{'s' if count != 1 else ''}, "
                f"not {len(arguments)}",
                node.span,
                help=f"call it as `{let.name}({wanted})`" if wanted else f"write `{let.name}`",
                notes=(Note(let.span, "declared here"),),
            )
            return self.never(node)
        type = self.let_type(let, node.span, tuple(a.type for a in arguments))
        type = self.widened(let, node.span, type, tuple(a.type for a in arguments))
        for argument, wanted_type in zip(arguments, let.types, strict=True):
            if not fits(argument.type, wanted_type):
                self.problems.add(
                    "GD0306",
                    f"this argument of `{let.name}` must be {wanted_type}",
                    argument.span,
                    why=f"this is {argument.type}",
                    notes=(Note(let.span, "declared here"),),
                )
                return self.never(node)
        if not let.per_seat:
            return ir.LetCall(type, node.span, let.name, arguments, None)
        if self.me_allowed:
            self.uses_me = True
            return ir.LetCall(type, node.span, let.name, arguments, ir.Me(SEAT, node.span))
        if arguments:
            self.no_me(node, f"`{let.name}` depends on `me`, which has no meaning here")
            return self.never(node)
        return ir.LetMap(PerSeat(type), node.span, let.name)

    def widened(self, let: LetName, use: Span, type: Type, arguments: tuple[Type, ...]) -> Type:
        """The type of a let that was first called with whole numbers and is now with any: its body
        is typed again, for numbers."""
        pairs = list(zip(arguments, let.types, strict=True))
        wide = [isinstance(a, Number) and isinstance(t, Number) and t.whole and not a.whole
                for a, t in pairs]  # fmt: skip
        if let in self.open or not any(wide):
            return type
        let.type = None
        types = (NUMBER if w else t for w, (_, t) in zip(wide, pairs, strict=True))
        return self.let_type(let, use, tuple(types))

    def let_type(self, let: LetName, use: Span, arguments: tuple[Type, ...] = ()) -> Type:
        """The type of a let's body, found on first use, which also says what its parameters are."""
        if let in self.open:
            ring = [*self.open[self.open.index(let) :], let]
            self.problems.add(
                "GD0307",
                f"`{let.name}` is defined by itself",
                use,
                why=" → ".join(inner.name for inner in ring) if len(ring) > 2 else "here",
                notes=tuple(Note(inner.span, "declared here") for inner in ring[:-1]),
                help="give one of them a value that does not read the others"
                if len(ring) > 2
                else "",
            )
            return NEVER
        if let.type is None:
            let.types = tuple(_any_of(t) for t in arguments)
            let.types = let.types or (NEVER,) * len(let.parameters)
            self.open.append(let)
            with self.frame({p.id: t for p, t in zip(let.parameters, let.types, strict=True)}):
                body = ir.Const(NEVER, let.span, None) if let.body is None else self.infer(let.body)
                let.type, let.per_seat = body.type, self.uses_me
            self.open.pop()
            self.lets[let.name] = body
        return let.type

    @contextmanager
    def frame(self, locals: dict[str, Type]) -> Iterator[None]:
        """A fresh place to type a let's body in, where `me` is whoever reads it."""
        saved = self.locals, self.some, self.me_allowed, self.uses_me
        self.locals, self.some, self.me_allowed, self.uses_me = locals, frozenset(), True, False
        try:
            yield
        finally:
            self.locals, self.some, self.me_allowed, self.uses_me = saved


def _enums(expected: Type | None) -> tuple[Enum, ...]:
    """The enums whose values an expected type has."""
    wanted = None if expected is None else plain(expected)
    if isinstance(wanted, Union):
        return tuple(part for part in wanted.of if isinstance(part, Enum))
    return (wanted,) if isinstance(wanted, Enum) else ()


def _any_of(type: Type) -> Type:
    """A parameter takes any number, or any whole one, whatever the range of its first argument."""
    if isinstance(type, Number):
        return WHOLE if type.whole else NUMBER
    return type
