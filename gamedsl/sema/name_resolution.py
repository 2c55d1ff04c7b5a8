"""Name resolution: params, variables, state, types, roles, enum values and lets.

A let is typed when it is first read, so that lets may stand in any order, but not in a ring.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Fix, Help, respell, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import add_entry, nodes_around
from gamedsl.frontend.source.nodes import Mapping
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, functions
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    NUMBER,
    SEAT,
    WHOLE,
    Enum,
    List,
    NoneType,
    Number,
    Option,
    PerSeat,
    Set,
    Type,
    Union,
    domain,
    fits,
    join,
    plain,
)
from gamedsl.sema.named_values import value_of
from gamedsl.sema.scope import (
    ANY,
    SPELLINGS,
    ArgumentName,
    DataName,
    LetName,
    LoopName,
    ParamName,
    StateName,
    StreamName,
    TypeName,
    VariableName,
)
from gamedsl.sema.typing_context import Infer, TypingContext, never

FINITE_WORDS: dict[str, Type] = {"role": SEAT, "truth": BOOL}
"""The types with a list of their values that have a name without being declared."""

MAX_INSTANCES = 16
"""Types of arguments, beyond those of its first use, for which a let is typed."""


class NameResolver:
    """Gives names their typed expressions. `infer` types the bodies of lets."""

    def __init__(self, context: TypingContext, infer: Infer) -> None:
        self.context = context
        self.infer = infer

    def resolve(self, node: ast.Name, expected: Type | None) -> ir.Expr:
        """Returns what a name reads; among enum values, one of the type expected."""
        context, names = self.context, self.context.names
        if node.id in context.locals:
            return ir.Local(context.locals[node.id], node.span, node.id)
        match names.declared.get(node.id):
            case LoopName() as loop:
                if node.id in context.scoped:
                    return ir.Read(loop.type, node.span, loop.variable)
                if self.is_ambiguous(node, loop, expected):
                    return never(node)
            case ArgumentName() as argument if node.id in context.scoped:
                return argument_value(argument, node)
            case _:  # no local name
                pass
        for enum in enums_in(expected):
            if node.id in enum.members:
                return ir.Const(enum, node.span, node.id)
        special = self.seat_word(node)
        if special is not None:
            return special
        match names.declared.get(node.id):
            case ParamName(type=type, value=value):
                return ir.Const(type, node.span, value, node.id)
            case VariableName() as variable:
                return ir.Read(variable_type(context, variable), node.span, node.id)
            case StateName(type=NoneType()):
                context.untyped = True
                return never(node)
            case StateName(type=type):
                return ir.Read(type, node.span, node.id)
            case ArgumentName() as argument:
                return argument_value(argument, node)
            case LoopName() as loop:
                return ir.Read(loop.type, node.span, loop.variable)
            case TypeName() as declared:
                if isinstance(expected, Set) and declared.choices:
                    values = frozenset(value for _, value in declared.choices)
                    return ir.Const(Set(declared.type), node.span, values)
                return all_values(declared, node.span, context.problems)
            case StreamName(type=type):
                return ir.Stream(type, node.span, node.id)
            case LetName() as let:
                return self.let_call(node, let, ())
            case DataName() if node.id in names.broken:  # a draw of that name went wrong
                return report_unknown_name(context, node)
            case DataName() as data:
                return rows_of(context, node, data)
            case None:
                pass
            case other:
                assert_never(other)
        if node.id in names.everyone:
            return ir.Const(SEAT, node.span, node.id)
        only = names.enum_of(node.id)
        if only is not None:
            return ir.Const(only, node.span, node.id)
        word = self.type_word(node, expected)
        return report_unknown_name(context, node) if word is None else word

    def is_ambiguous(self, node: ast.Name, loop: LoopName, expected: Type | None) -> bool:
        """Whether the name of a loop's variable, read outside the loop, may also mean an enum value
        or the variable of another loop. Reported if so."""
        names = self.context.names
        others = [other for other in names.loops[node.id] if other != loop]
        value = names.members.get(node.id)
        if value is not None and any(
            node.id in enum.members and join(enum, loop.type) is None for enum in enums_in(expected)
        ):
            return False
        if value is None and not others:
            return False
        place = value or others[0].span
        self.context.problems.add(
            "GD0319",
            f"`{node.id}` has two meanings here",
            node.span,
            why="outside the loop, the name is not the loop's alone",
            notes=(
                Note(loop.span, "the variable of a loop"),
                Note(place, "an option, or a value of a type" if value else "that of another"),
            ),
            help=_qualified(self.context, node.id, "give the variable of the loop another name"),
        )
        return True

    def seat_word(self, node: ast.Name) -> ir.Expr | None:
        """Returns `me`, `other`, `others` or `roles`; None for any other name."""
        seats = self.context.names.seats
        if node.id == "roles":
            return ir.Const(List(SEAT, len(seats)), node.span, seats)
        if node.id not in ("me", "other", "others"):
            return None
        if not self.context.me_allowed:
            _report_no_me(self.context, node, f"`{node.id}` has no meaning here")
            return never(node)
        me = self.context.me(node.span)
        return me if node.id == "me" else other_seats(self.context, node, node.id, me)

    def type_word(self, node: ast.Name, expected: Type | None) -> ir.Expr | None:
        """Returns the values of `truth` or `role`, types that are known without being declared;
        None for any other name, and where a step or an option has the name."""
        names, type = self.context.names, FINITE_WORDS.get(node.id)
        taken = {*names.broken, *names.later, *names.inside, *names.coming, *names.roles}
        if type is None or node.id in taken or any(node.id in e.members for e in names.enums):
            return None
        values = domain(type, names.seats)
        if not values:  # a reward file has no seats
            return None
        if isinstance(expected, Set):
            return ir.Const(Set(type), node.span, frozenset(values))
        return ir.Const(List(type, len(values)), node.span, values)

    def let_call(self, node: ast.Node, let: LetName, arguments: tuple[ir.Expr, ...]) -> ir.Expr:
        """Returns a let's value: the one for `me` where it depends on `me`, else its only one."""
        if len(arguments) != len(let.parameters):
            wanted = ", ".join(p.id for p in let.parameters)
            count = len(let.parameters)
            self.context.problems.add(
                "GD0308",
                f"`{let.name}` takes {count} argument{'s' if count != 1 else ''}, "
                f"not {len(arguments)}",
                node.span,
                help=f"call it as `{let.name}({wanted})`" if wanted else f"write `{let.name}`",
                notes=(Note(let.span, "declared here"),),
            )
            return never(node)
        types = tuple(a.type for a in arguments)
        type = self.let_type(let, node.span, types)
        type = self.widened(let, node.span, type, types)
        instance = self.instance(let, node.span, types)
        if instance is not None:
            let, type = instance, self.let_type(instance, node.span)
        arguments = tuple(
            argument if fits(argument.type, wanted_type) else value_of(argument)
            for argument, wanted_type in zip(arguments, let.types, strict=True)
        )
        for argument, wanted_type in zip(arguments, let.types, strict=True):
            if not fits(argument.type, wanted_type):
                self.context.problems.add(
                    "GD0306",
                    f"this argument of `{let.name}` must be {wanted_type}",
                    argument.span,
                    why=f"this is {argument.type}",
                    notes=(Note(let.span, "declared here"),),
                )
                return never(node)
        if not let.per_seat:
            return ir.LetCall(type, node.span, let.name, arguments, None)
        if self.context.me_allowed:
            return ir.LetCall(type, node.span, let.name, arguments, self.context.me(node.span))
        if arguments:
            message = f"`{let.name}` depends on `me`, which has no meaning here"
            _report_no_me(self.context, node, message)
            return never(node)
        return ir.LetMap(PerSeat(type), node.span, let.name)

    def instance(self, let: LetName, use: Span, types: tuple[Type, ...]) -> LetName | None:
        """Returns the instance of a let for arguments that do not fit its first use's: its body is
        typed anew for them. None where they fit, or where it is wrong for them."""
        if takes(let, types) or NEVER in types:
            return None
        for known in let.instances:
            if takes(known, types):
                return known
        if types in let.refused or len(let.instances) + len(let.refused) >= MAX_INSTANCES:
            return None
        name = f"{let.name}.{len(let.instances) + 2}"
        new = LetName(name, let.parameters, let.body, let.span, scope=let.scope)
        with self.context.collecting() as found:
            self.let_type(new, use, types)
        if found.errors:
            let.refused.append(types)
            return None
        self.context.problems.extend(found.found)
        let.instances.append(new)
        return new

    def widened(self, let: LetName, use: Span, type: Type, arguments: tuple[Type, ...]) -> Type:
        """Returns the type of a let; where it was first called with whole numbers, and now with
        others, its body is typed again for any number."""
        pairs = list(zip(arguments, let.types, strict=True))
        wide = [isinstance(a, Number) and isinstance(t, Number) and t.whole and not a.whole
                for a, t in pairs]  # fmt: skip
        if let in self.context.open_lets or not any(wide):
            return type
        let.type = None
        types = (NUMBER if w else t for w, (_, t) in zip(wide, pairs, strict=True))
        return self.let_type(let, use, tuple(types))

    def let_type(self, let: LetName, use: Span, arguments: tuple[Type, ...] = ()) -> Type:
        """Returns the type of a let's body. The first use types it, with the types of its
        arguments as those of the parameters."""
        if let in self.context.open_lets:
            ring = [*self.context.open_lets[self.context.open_lets.index(let) :], let]
            self.context.problems.add(
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
            scope = let.scope or self.context.names
            parameters = {p.id: t for p, t in zip(let.parameters, let.types, strict=True)}
            with self.context.within(scope), self.context.let_body(let, parameters):
                missing = ir.Const(NEVER, let.span, None)
                body = missing if let.body is None else self.infer(let.body, None)
                let.type, let.per_seat = body.type, self.context.uses_me
            self.context.lets[let.name] = body
            self.context.typed_lets.append(let)
        return let.type


def argument_value(argument: ArgumentName, node: ast.Name) -> ir.Expr:
    """Returns what the name of an action's argument reads."""
    if argument.value is None:
        return ir.Read(argument.type, node.span, node.id)
    return replace(argument.value, span=node.span)


def takes(let: LetName, types: tuple[Type, ...]) -> bool:
    """Whether a typed let takes arguments of these types."""
    return all(map(fits, types, let.types))


def all_values(declared: TypeName, span: Span, problems: Problems) -> ir.Const:
    """Returns all values of a declared type as a list, read at `span`. Reports a type of which no
    list can be made."""
    if not declared.choices and not isinstance(declared.type, Enum):
        problems.add(
            "GD0427", "it is not known which values there can be here", span,
            why=f"{declared.type} has no bounds, or too many values to list",
            help="write a collection of the state, or a type of fewer values",
        )  # fmt: skip
    values = tuple(value for _, value in declared.choices)
    return ir.Const(List(declared.type, len(values)), span, values)


def rows_of(context: TypingContext, node: ast.Name, data: DataName) -> ir.Const:
    """Returns all rows of a data file, as its name reads them. Notes that those held out are among
    them, for whoever trains on the others."""
    if data.held_out is not None:
        context.problems.add(
            "GD0493", f"all rows of `{node.id}` are read here, those held out too", node.span,
            severity="warning",
            why="only draws leave out what is held out of training",
            notes=(Note(data.span, "holds rows out"),),
            help="read a data file of its own, without `held_out`",
            cause=f"rows of {node.id}",
        )  # fmt: skip
    return ir.Const(List(data.type, len(data.rows)), node.span, data.rows, node.id)


def variable_type(context: TypingContext, variable: VariableName) -> Type:
    """Returns the type that a variable is read with: of a joint one, that of a map per role."""
    if not variable.joint:
        return variable.type
    return PerSeat(variable.type, set(variable.actors) != set(context.names.seats))


def past_bindings(context: TypingContext, node: ast.Call) -> ir.Expr:
    """Returns `past(v)` or `prev(v)`: what steps bound to a variable."""
    named = node.arguments[0] if len(node.arguments) == 1 else None
    if isinstance(named, ast.Name) and named.id not in context.locals:
        variable = context.names.declared.get(named.id)
        if isinstance(variable, VariableName):
            type = variable_type(context, variable)
            past = ir.Past(List(type), node.span, named.id)
            if node.name.id == "past":
                return past
            return ir.Apply(Option(plain(type)), node.span, "prev", (past,))
        if variable is None and named.id not in (*context.names.everyone, *context.names.members):
            return report_unknown_name(context, named)
    context.problems.add(
        "GD0326",
        f"`{node.name.id}` takes the name of a variable",
        node.span,
        why="what steps bind has a past",
        help="keep the past of state in a list: `add x to list`",
    )
    return never(node)


def other_seats(context: TypingContext, node: ast.Node, word: str, seat: ir.Expr) -> ir.Expr:
    """Returns `other` or `others` of a seat; reports `other` in a game without exactly two."""
    seats = context.names.seats
    if word == "other" and len(seats) != 2:
        context.problems.add(
            "GD0304",
            "`other` needs exactly two roles",
            node.span,
            why=f"this game has {len(seats)}",
            help="use `others`, which is the list of all but me"
            if len(seats) > 2
            else "a role that is alone has no other",
        )
        return never(node)
    order = ir.Const(List(SEAT, len(seats)), node.span, seats)
    type: Type = SEAT if word == "other" else List(SEAT, len(seats) - 1)
    return ir.Apply(type, node.span, word, (seat, order))


def _report_no_me(context: TypingContext, node: ast.Node, message: str) -> None:
    """Reports `me`, or what depends on it, where it stands for no seat."""
    seat = context.names.seats[0] if context.names.seats else ""
    context.problems.add(
        "GD0303",
        message,
        node.span,
        why="this is not worked out for each role",
        help=_for_each_role(node.span) or (f"name a role, such as `{seat}`" if seat else ""),
    )


def _for_each_role(place: Span) -> Help:
    """Returns the fix of a `do` step that reads `me` in nobody's turn; empty for other places."""
    around = nodes_around(place)
    steps = [node for node in around if isinstance(node, Mapping) and node.get("do") in around]
    if not steps:
        return ""
    done = steps[-1].entry("do")
    assert done is not None
    loops = ("each", "repeat", "role", "while", "until")
    edits = () if any(steps[-1].get(key) for key in loops) else add_entry(done.key.span, _EACH)
    return Fix("to do it for each role, write `{each: roles, do: …}`", edits)


_EACH = "each: roles"


NUMERALS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip
"""The numbers from 0 in words, which are no numbers of the language."""

UNTIL = "`while` is tested before the first pass; `until: …` is tested after each"


def report_unknown_name(context: TypingContext, node: ast.Name) -> ir.Expr:
    """Reports a name that means nothing, unless its declaration was reported."""
    name = node.id
    if name in context.names.broken:
        context.problems.extend(context.names.withheld.get(name, ()))
        return never(node)
    if name in context.names.roles:
        report_role_as_seat(context, node)
        return never(node)
    guess = did_you_mean(name, context.names.all())
    why, help = "not declared", respell(node.span, guess)
    notes: tuple[Note, ...] = ()
    if ANY in context.names.broken and not guess:
        return never(node)
    if guess:
        place = context.names.anywhere(guess)
        notes = (Note(place, f"`{guess}` is declared here"),) if place else ()
    if name in functions():
        help = f"the function is called with parentheses: `{BUILTINS[name].usage}`"
    if name in context.names.later:
        why, help = "not known yet", f"params are worked out in order: move `{name}` up"
        notes = (Note(context.names.later[name], "declared here"),)
    cause, message = f"name {name}", f"unknown name `{name}`"
    later, binds = context.names.coming.get(name), context.names.coming_options.get(name)
    if later is None and binds is not None and name not in context.names.members:
        cause, later = f"name {binds}", context.names.coming[binds]
        why, notes = "not an option yet", (Note(later, "an option of this step"),)
        message = f"`{name}` is an option of a later step, at line {later.line}"
        help = "move that step above, or declare a type that has the option"
    elif later is not None and name not in context.names.inside:
        why, notes = "not bound yet", (Note(later, "bound here"),)
        message = f"`{name}` is bound by a later step, at line {later.line}"
        help = "move that step above the one that reads it"
        if later.line == node.span.line:
            message, help = f"`{name}` is read before its step binds it", "leave it out here"
        help += (
            "; what an earlier pass of a loop bound is kept in `state`: "
            f"`do: last_{name} = {name}` behind the step"
        )
    if name in context.names.inside:
        why, help = "not bound before the loop", UNTIL
        notes = (Note(context.names.inside[name], "bound in its passes"),)
        cause = "names bound in the passes of a loop"
    if any(name in enum.members for enum in context.names.enums):
        why, notes = "several decisions have this option", ()
        help = _qualified(context, name, "compare it with a variable, such as `move == …`")
    context.problems.add(
        "GD0301",
        message,
        node.span,
        why=why,
        help=help or _declaration_place(context, name, node.span),
        notes=notes,
        cause=cause,
    )  # fmt: skip
    return never(node)


def _declaration_place(context: TypingContext, name: str, place: Span) -> Help:
    """Returns where a name that resembles no other can be declared; empty in a reward file."""
    if not context.names.seats:
        return ""
    if name in NUMERALS:
        number = str(NUMERALS.index(name))
        return substitute(place, number, f"a number is written in digits: `{number}`")
    if name in SPELLINGS:
        return (
            f"a type says what a variable holds, and no value is one: `{{of: {SPELLINGS[name]}}}`"
        )
    return (
        f"a name of a thing is a value of a type: `types: {{Kind: [{name}, …]}}`; "
        "`params` declares a constant, `let` what is worked out, `state` what changes"
    )


def _qualified(context: TypingContext, member: str, otherwise: str) -> str:
    """Returns the fix that names the type of a value; `otherwise` for a value of no declared
    type."""
    for name, declared in context.names.declared.items():
        if isinstance(declared, TypeName) and member in dict(declared.choices):
            return f"say of which type: `{name}.{member}`"
    return otherwise


FEW_SEATS = 6
"""The number of seats up to which a help lists all of a role."""


def report_role_as_seat(context: TypingContext, node: ast.Name) -> None:
    """Reports a role of several seats where one seat is needed."""
    seats = context.names.roles[node.id]
    place = context.names.role_spans.get(node.id)
    listed = ", ".join(seats if len(seats) <= FEW_SEATS else (seats[0], "…", seats[-1]))
    each = f"list them: `[{listed}]`"
    if len(seats) == len(context.names.seats):
        each = "go through them: `for r in roles`"
    help: Help = f"name a seat, such as `{seats[0]}`, or {each}"
    if node.span.source.text[: node.span.start].endswith(" in "):
        every = f"[{', '.join(seats)}]"
        help = substitute(node.span, every, f"list them: `{every}`")
    context.problems.add(
        "GD0302",
        f"`{node.id}` is a role with {len(seats)} seat{'s' if len(seats) > 1 else ''}",
        node.span,
        why="one seat is needed here",
        notes=(Note(place, "declared here"),) if place else (),
        help=help,
    )


def enums_in(expected: Type | None) -> tuple[Enum, ...]:
    """Returns the enums whose values an expected type has."""
    wanted = None if expected is None else plain(expected)
    if isinstance(wanted, Union):
        return tuple(part for part in wanted.of if isinstance(part, Enum))
    return (wanted,) if isinstance(wanted, Enum) else ()


def _any_of(type: Type) -> Type:
    """Returns a parameter's type: any number, or any whole one, whatever the range of its first
    argument."""
    if isinstance(type, Number):
        return WHOLE if type.whole else NUMBER
    return type
