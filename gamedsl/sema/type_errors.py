"""Type errors: which part of an expression does not fit, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.fixes import Edit, Fix, Help, respell, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import key_of, nodes_around
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, is_comparison
from gamedsl.ir.types import (
    BOOL,
    SEAT,
    WHOLE,
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
    TextOrRecord,
    Type,
    Union,
    fits,
    has_text,
    join,
    plain,
    valued,
)
from gamedsl.ir.values import name_of
from gamedsl.sema.named_values import value_of
from gamedsl.sema.scope import TYPE_WORDS, StateName, TypeName, VariableName
from gamedsl.sema.typing_context import TypingContext, never

TEXT_HELP = (
    "text is stored, shown, or given to a function (`call:`); no rule looks into it. "
    "`gamedsl calls` lists the functions, and `--allow-calls FILE.py` adds your own"
)
"""What is done with a text, where an operator or a built-in would read it."""


def report_misfit(
    context: TypingContext,
    node: ast.Node,
    typed: ir.Expr,
    wanted: Type,
    what: str,
    notes: tuple[Note, ...] = (),
    help: str = "",
) -> None:
    """Reports an expression that is not of the type wanted at its place, which `what` names; `help`
    where there is no conversion."""
    if isinstance(typed.type, PerSeat) and not isinstance(wanted, PerSeat):
        report_per_role(context, typed)
        return
    context.problems.add(
        "GD0306",
        f"{what} must be {wanted}",
        node.span,
        why=f"this is {typed.type}",
        notes=notes,
        help=_empty_let(context, typed, wanted)
        or _conversion_fix(context, typed, wanted, node)
        or help,
    )


def require_truth(context: TypingContext, node: ast.Node, typed: ir.Expr, what: str) -> ir.Expr:
    """Returns a typed condition; reports one that is no truth value."""
    typed = typed if isinstance(typed.type, Bool) else value_of(typed)
    if isinstance(typed.type, Bool | Never):
        return typed
    report_misfit(context, node, typed, BOOL, what)
    return never(node)


def report_arguments(
    context: TypingContext, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]
) -> None:
    """Reports which of a built-in's arguments does not fit."""
    usage = BUILTINS[function].usage
    for argument in arguments:
        if isinstance(argument.type, Option | NoneType) and function not in ("==", "!="):
            source = argument.span.text
            context.problems.add(
                "GD0321",
                f"`{usage}` does not take none",
                argument.span,
                why=f"this is {argument.type}",
                help=_none_test(source, function, arguments)
                if isinstance(argument.type, Option)
                else "",
            )
            return
    for argument in arguments:
        if isinstance(argument.type, PerSeat) and not BUILTINS[function].takes_map:
            if function == "others":
                report_others(context, node, argument)
            else:
                report_per_role(context, argument)
            return
    given = " and ".join(str(a.type) for a in arguments)
    text = " ".join(node.span.text.split())
    compared = (is_comparison(function) or function in ("==", "!=")) and len(text) < 60
    context.problems.add(
        "GD0305",
        f"`{text}` compares {arguments[0].type} with {arguments[-1].type}"
        if compared
        else f"`{usage}` does not take {given}",
        node.span,
        why="the types do not fit",
        help=_argument_help(context, node, function, arguments),
    )


def _argument_help(
    context: TypingContext, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]
) -> Help:
    """Returns the most particular help for arguments of types that a built-in does not take."""
    help: Help = ""
    if any(has_text(argument.type) for argument in arguments):
        help = TEXT_HELP
    elif is_comparison(function):
        help = "numbers and values of one enum have an order, and tuples and records of these"
    if any(isinstance(argument.type, Number) for argument in arguments):
        declared = context.names.declared
        variables = (
            a for a in arguments
            if isinstance(a, ir.Read) and isinstance(declared.get(a.name), StateName)
        )  # fmt: skip
        help = next(filter(None, (range_fix(a.name, a.type) for a in variables)), help)
    if BUILTINS[function].undefined == "by exponent" and isinstance(arguments[1].type, Number):
        help = "an exponent is a whole number, such as `2` or `-1`"
    return (
        _empty_argument(context, function, arguments)
        or _part_test(function, arguments)
        or _set_operation(node, function, arguments)
        or _rounded(function, arguments)
        or _number_fields(function, arguments)
        or _numbered(function, arguments)
        or _choice_of_role(context, function, node, arguments)
        or _per_role(context, function, arguments)
        or (_negated(arguments[0], node) if function == "not" else "")
        or help
        or _wanted(function)
    )


def report_shared_value(
    context: TypingContext, node: ast.Node, arguments: tuple[ir.Expr, ...], enum: Enum
) -> None:
    """Reports a name of a `values` type beside a plain value, where two names have one value."""
    assert enum.values is not None
    named = next(a for a in arguments if valued(a.type) == enum)
    pairs = zip(enum.members, enum.values, strict=True)
    alike = [name for name, value in pairs if enum.values.count(value) > 1]
    value = enum.values[enum.members.index(alike[0])]
    twin = alike[[enum.values[enum.members.index(name)] for name in alike].index(value, 1)]
    source = named.span.text
    shown = source if len(source) < 40 and "\n" not in source else "…"
    context.problems.add(
        "GD0305",
        "names and plain values are compared here",
        node.span,
        why=f"`{alike[0]}` and `{twin}` are both {name_of(value)}",
        help=f"compare names, such as `{alike[0]}`, or values: `value_of({shown})`",
    )


def report_never_none(
    context: TypingContext, node: ast.Node, operator: str, arguments: Sequence[ir.Expr]
) -> bool:
    """Whether a collection is compared with none that is never none; reported if so."""
    collections = [a for a in arguments if isinstance(a.type, _COLLECTIONS)]
    if len(collections) != 1 or not any(isinstance(a.type, NoneType) for a in arguments):
        return False
    (found,) = collections
    if not _never_none(context, found):
        return False
    if isinstance(found.type, PerSeat):
        report_per_role(context, found)
        return True
    text = found.span.text
    entry = f"compare an entry of it: `{text}[…] {operator} none`"
    help = _emptiness(found, "== 0" if operator == "==" else "> 0", node) or entry
    context.problems.add(
        "GD0305", f"{_kind(found.type)} is never none", node.span,
        why=f"`{text}` is {found.type}" if len(text) < 40 and "\n" not in text else "",
        help=help,
    )  # fmt: skip
    return True


_COLLECTIONS = (List, Set, Bag, Grid, PerSeat, PerValue)


def _kind(type: Type) -> str:
    """Returns what a collection is called, with its article."""
    kinds = {List: "a list", Set: "a set", Bag: "a bag", Grid: "a grid", PerValue: "a map"}
    return next(word for kind, word in kinds.items() if isinstance(type, kind))


def _never_none(context: TypingContext, expr: ir.Expr) -> bool:
    """Whether an expression has a value at any time, whatever the params are."""
    match expr:
        case ir.Read(name=name, type=type):
            declared = context.names.declared.get(name)
            is_map = isinstance(type, PerSeat | PerValue)
            return isinstance(declared, StateName) and (declared.holds or is_map)
        case ir.Get(of=of, key=key) if isinstance(of.type, PerSeat | PerValue):
            while isinstance(of, ir.Get):
                of = of.of
            declared = context.names.declared.get(of.name) if isinstance(of, ir.Read) else None
            holds = isinstance(declared, StateName) and declared.holds
            return holds and not isinstance(key.type, Option)
        case _:
            return not _reads_params(context, expr) and not context.value(expr).none


def _reads_params(context: TypingContext, expr: ir.Expr) -> bool:
    """Whether an expression reads a param, which may be none in another game of the file."""
    for part in ir.walk(expr):
        if isinstance(part, ir.Const) and part.origin is not None:
            return True
        if isinstance(part, ir.LetCall | ir.LetMap):
            body = context.lets.get(part.name)
            if body is None or _reads_params(context, body):
                return True
    return False


_UNTYPED = List(WHOLE, 0)
"""The type of `[]` where nothing beside it says what its items are."""


def _empty_let(context: TypingContext, typed: ir.Expr, wanted: Type) -> Help:
    """Returns the fix of a let that is `[]`, where a collection of another type is wanted."""
    kind = plain(wanted)
    untyped = isinstance(typed, ir.LetCall) and typed.type == _UNTYPED
    if not untyped or not isinstance(kind, List | Set):
        return ""
    name, of = typed.span.text, _type_name(context, kind.of)
    declared = f"`{name}: {{list: {of or 'T'}}}`" + ("" if of else ", and `T` under `types`")
    return substitute(
        typed.span, "[]",
        f"`{name}` is `[]`, which by itself is {_UNTYPED}: write `[]` here, or declare it under "
        f"`state` with its type, {declared}",
    )  # fmt: skip


def _empty_argument(context: TypingContext, function: str, arguments: Sequence[ir.Expr]) -> Help:
    """Returns the fix of an argument that is a let of `[]`, where another list would do."""
    rule, types = BUILTINS[function].rule, [argument.type for argument in arguments]
    others = [type for type in types if type != _UNTYPED]
    for wanted in (*others, *map(List, others), List(BOOL)):
        tried = tuple(wanted if type == _UNTYPED else type for type in types)
        sets = tuple(Set(type.of) if isinstance(type, List) else type for type in tried)
        if rule(tried) is not None or rule(sets) is not None:
            fixes = (_empty_let(context, argument, wanted) for argument in arguments)
            return next((fix for fix in fixes if fix), "")
    return ""


def _type_name(context: TypingContext, type: Type) -> str:
    """Returns how a type is written where state is declared; empty for one without a name."""
    match plain(type):
        case Bool():
            return "truth"
        case Seat():
            return "role"
        case Number(low=int() as low, high=int() as high):
            return f"{low}..{high}"
        case Enum(name=name) if isinstance(context.names.declared.get(name), TypeName):
            return name
        case _:  # is written at the step or the field that has it
            return ""


def _part_test(function: str, arguments: Sequence[ir.Expr]) -> str:
    """Returns the test by which an argument is of the part of a union that a built-in takes."""
    for place, argument in enumerate(arguments):
        parts = argument.type.of if isinstance(argument.type, Union) else ()
        source = argument.span.text
        for part in parts:
            types = [part if i == place else a.type for i, a in enumerate(arguments)]
            values = _values_of(part)
            if values and len(source) < 40 and BUILTINS[function].rule(tuple(types)) is not None:
                return f"test first which it is: `… if {source} in {values} else …`"
    return ""


def _values_of(type: Type) -> str:
    """Returns how the values of a part of a union are written; empty for a type without a name."""
    match type:
        case Number(low=int() as low, high=int() as high):
            return f"{low}..{high}"
        case Seat():
            return "roles"
        case Enum(name=name):
            return name if name.isidentifier() else f"[{', '.join(type.members)}]"
        case _:  # its values are not listed in a word
            return ""


def _per_role(context: TypingContext, function: str, arguments: Sequence[ir.Expr]) -> str:
    """Returns how the argument of `argmax` and the like gets a value per role."""
    if not BUILTINS[function].usage.endswith("(values per role)"):
        return ""
    read = arguments[0]
    drawn = isinstance(read, ir.Read) and context.names.declared.get(read.name)
    if isinstance(drawn, VariableName):
        place = drawn.span
        if place.source.text[: place.start].rstrip().endswith("draw:"):
            return f"`{place.text}` is one for all roles: to draw one for each, add `per: role`"
    return (
        f"say of what it is greatest: `{function}(bid[r] for r in roles)`; or name the value of "
        f"one role under `let`, such as `own: bid.me`, and write `{function}(own)`"
    )


_SET_OPERATIONS = {"-": "difference", "+": "union"}


def _set_operation(node: ast.Node, function: str, arguments: Sequence[ir.Expr]) -> Help:
    """Returns the fix of `a - b` and `a + b` where they are sets, or lists of cells."""
    named = _SET_OPERATIONS.get(function)
    kinds = [plain(argument.type) for argument in arguments]
    if named is None or not all(isinstance(kind, List | Set) for kind in kinds):
        return ""
    held = [kind.of for kind in kinds if isinstance(kind, List | Set)]
    empty = [argument.type == _UNTYPED for argument in arguments]
    if join(*held) is None and not any(empty):
        return "they hold different types: choose from a type that has both, such as `A | B`"
    texts = ["[]" if none else a.span.text for a, none in zip(arguments, empty, strict=True)]
    whole = f"{named}({', '.join(texts)})"
    return substitute(node.span, whole, f"of sets and of cells write `{whole}`")


def _emptiness(of: ir.Expr, test: str, node: ast.Node) -> Help:
    """Returns the fix of a collection that stands for whether something is in it."""
    if not isinstance(of.type, List | Set | Bag):
        return ""
    whole = f"size({of.span.text}) {test}"
    state = "it is empty" if test == "== 0" else "something is in it"
    return substitute(node.span, whole, f"that {state} is `{whole}`")


def _negated(of: ir.Expr, node: ast.Node) -> Help:
    """Returns the fix of `not x` where `x` is no truth value."""
    if isinstance(of.type, Record) and isinstance(node, ast.Operator):
        return _field_fix(of.type, BOOL, node.operands[0])
    return _emptiness(of, "== 0", node)


def _number_fields(function: str, arguments: Sequence[ir.Expr]) -> Help:
    """Returns the fix of records that are to be numbers: each has one field that is a number."""
    parts: list[tuple[ir.Expr, str]] = []
    types: list[Type] = []
    for argument in arguments:
        type = argument.type
        if isinstance(type, Record):
            found = [(n, t) for n, t in type.fields if isinstance(t, Number)]
            if len(found) != 1 or not re.fullmatch(r"[\w.\[\]]+", argument.span.text):
                return ""
            parts.append((argument, f"{argument.span.text}.{found[0][0]}"))
            type = found[0][1]
        types.append(type)
    if not parts or BUILTINS[function].rule(tuple(types)) is None:
        return ""
    listed = " and ".join(f"`{text}`" for _, text in parts)
    return Fix(f"take the number in it: {listed}", tuple(Edit(a.span, t) for a, t in parts))


def _rounded(function: str, arguments: Sequence[ir.Expr]) -> Help:
    """Returns the fix of an argument that is to be a whole number: a map or a division gives any
    number."""
    types = tuple(argument.type for argument in arguments)
    whole = tuple(WHOLE if isinstance(t, Number) and not t.whole else t for t in types)
    odd = next((a for a, t in zip(arguments, whole, strict=True) if t is not a.type), None)
    if odd is None or BUILTINS[function].rule(whole) is None:
        return ""
    text = f"floor({odd.span.text})"
    return substitute(odd.span, text, f"a whole number is needed, and this may be any: `{text}`")


def _numbered(function: str, arguments: Sequence[ir.Expr]) -> Help:
    """Returns the fix of truth values that are to be numbers."""
    types = tuple(WHOLE if isinstance(a.type, Bool) else a.type for a in arguments)
    truths = [a.span for a in arguments if isinstance(a.type, Bool)]
    if not truths or BUILTINS[function].rule(types) is None:
        return ""
    edits = tuple(Edit(span, _as_number(span.text)) for span in truths)
    listed = " and ".join(f"`{edit.text.strip('()')}`" for edit in edits)
    return Fix(f"truth values are no numbers: write {listed}", edits)


def _as_number(truth: str) -> str:
    """Returns the text of a truth value as the number 1 or 0, in brackets where it needs them."""
    return {"true": "1", "false": "0"}.get(truth, f"(1 if {truth} else 0)")


def _choice_of_role(
    context: TypingContext, function: str, node: ast.Node, arguments: Sequence[ir.Expr]
) -> Help:
    """Returns the fix of `me == defect`, where the choice of a role is compared."""
    if function not in ("==", "!="):
        return ""
    for role, other in (tuple(arguments), tuple(reversed(arguments))):
        text = role.span.text
        choices = [
            name for name, declared in context.names.declared.items()
            if isinstance(declared, VariableName) and declared.joint and declared.type == other.type
        ]  # fmt: skip
        if isinstance(role.type, Seat) and text.isidentifier() and len(choices) == 1:
            whole = f"{choices[0]}[{text}]"
            if text == "me" or isinstance(role, ir.Const):
                whole = f"{choices[0]}.{text}"
            return substitute(role.span, whole, f"the choice of a role is `{whole}`")
    return ""


_WANTED = {
    **dict.fromkeys(("==", "!="), "compare two values of one type, or one with `none`"),
    **dict.fromkeys(("in", "not in"), "look for a value of the type of the elements"),
    "not": "negate a truth value, such as a comparison",
    "..": "write a whole number at each end",
    "neg": "write a number behind the sign",
}
"""What some operators want, as advice."""


def _wanted(function: str) -> str:
    """Returns what an operator or a built-in wants, where nothing more is known."""
    if function in _WANTED or not function.isidentifier():
        return _WANTED.get(function, "write a number on each side")
    about = BUILTINS[function].about.partition(". ")[0].rstrip(".")
    return f"`{function}` gives {about[0].lower()}{about[1:]}"


def one_type_help(
    context: TypingContext, first: tuple[ast.Node, ir.Expr], odd: tuple[ast.Node, ir.Expr]
) -> Help:
    """Returns how two values that stand beside each other get one type: one is converted, truth
    values before all others, or is put into a list as the other is; else in words."""
    sides = [(odd, first), (first, odd)]
    if isinstance(first[1].type, Bool):
        sides.reverse()
    for (node, typed), (_, other) in sides:
        if fix := _empty_let(context, typed, other.type):
            return fix
        if isinstance(other.type, List) and fits(typed.type, other.type.of):
            whole = f"[{node.span.text}]"
            return substitute(node.span, whole, f"a list with it alone is `{whole}`")
        if fix := _conversion_fix(context, typed, other.type, node):
            return fix
    return same_type_help(first[1].type)


def same_type_help(wanted: Type) -> str:
    """Returns the advice to write another value, of the type of those beside it."""
    return f"write {wanted} here, as beside it"


def report_kind_test(
    context: TypingContext, node: ast.Operator, of: ir.Expr, kinds: TextOrRecord | None
) -> None:
    """Reports `x is T` where `x` is not a text or a record, or not the record `T`."""
    word, text = node.operands[1].span, of.span.text
    if kinds is None:
        kind = plain(of.type)
        context.problems.add(
            "GD0331", f"`{text}` is not either a text or a record", node.span,
            why=f"it is always {of.type}" if kind is of.type else f"it is {of.type}",
            help=_member_test(node, of, kind)
            or _equality(context, node, of)
            or (
                f"compare it with none: `{text} != none`" if kind is not of.type
                else "leave the test out"
            ),
        )  # fmt: skip
        return
    known = ["text", *([kinds.record.name] if kinds.record.name else [])]
    guess = did_you_mean(word.text, known)
    context.problems.add(
        "GD0331", f"`{text}` is never `{word.text}`", word,
        why=f"it is a text or {kinds.record}",
        help=respell(word, guess, f"write `{text} is text`, or `{text} is not text`"),
    )  # fmt: skip


def _member_test(node: ast.Operator, of: ir.Expr, kind: Type) -> Help:
    """Returns the test that asks which part of a union of finite types a value is of."""
    if not isinstance(kind, Union):
        return ""
    operator = "in" if node.op == "is" else "not in"
    whole = f"{of.span.text} {operator} {node.operands[1].span.text}"
    return substitute(node.span, whole, f"ask whether it is one of its values: `{whole}`")


def _equality(context: TypingContext, node: ast.Operator, of: ir.Expr) -> Help:
    """Returns the comparison that is meant by `x is word`, where the word is no type."""
    word = node.operands[1].span.text
    if word in TYPE_WORDS or isinstance(context.names.declared.get(word), TypeName):
        return ""
    whole = f"{of.span.text} {'==' if node.op == 'is' else '!='} {word}"
    return substitute(node.span, whole, f"`is` asks for a type; to compare, write `{whole}`")


def report_per_role(context: TypingContext, map: ir.Expr) -> None:
    """Reports a map of a value per role where one value is wanted."""
    source, seats = map.span.text, context.names.seats
    if not source.isidentifier():
        source = f"({source})"
    actors = choosers(context, map) or seats
    acting = [seat for seat in seats if seat in actors]
    words = ("me", "other") if context.me_allowed and acting else ()
    ways = [f"{source}.{word}" for word in (words if len(seats) == 2 else words[:1])]
    ways += [f"{source}.{(acting or actors)[0]}"] if actors else []
    listed = "take one role's: " + ", ".join(f"`{way}`" for way in ways)
    of = map.type.of if isinstance(map.type, PerSeat) else None
    if isinstance(of, Number) and not context.me_allowed:
        listed += f"; or the greatest of all: `max({source})`"
    if actors and not acting and of is not None:
        counted = "me" if context.me_allowed and isinstance(plain(of), Seat) else "VALUE"
        listed += f"; or count them: `count({source}, {counted})`"
    context.problems.add(
        "GD0322",
        "this is a value per role, and one value is needed",
        map.span,
        why=str(map.type),
        help=substitute(map.span, ways[0], listed) if ways else "",
    )


def choosers(context: TypingContext, map: ir.Expr) -> tuple[str, ...]:
    """Returns the seats that choose at the step whose map this is; none for another map."""
    variable = context.names.declared.get(map.name) if isinstance(map, ir.Read) else None
    return variable.actors if isinstance(variable, VariableName) and variable.joint else ()


def report_no_choice(context: TypingContext, map: ir.Expr, seat: str, span: Span) -> None:
    """Reports that a seat, or `me` where only referees choose, makes no choice of a map."""
    assert isinstance(map, ir.Read | ir.LastBy)
    variable = context.names.declared[map.name]
    assert isinstance(variable, VariableName)
    source, actors = map.span.text, variable.actors
    referees = not set(actors) & set(context.names.seats)
    context.problems.add(
        "GD0323",
        f"`{seat}` makes no choice `{source}`",
        span,
        why="does not act in that step",
        notes=(Note(variable.span, f"only {', '.join(actors[:6])} act here"),),
        help=f"take `{source}.{actors[0]}`, or count them, as in `count({source}, {seat})`"
        if referees
        else "add it to the `role:` of the step",
    )


def range_fix(name: str, type: Type) -> str:
    """Returns how a variable is declared that is one number of a range, if this one is the list of
    all; else nothing."""
    inner = type.of if isinstance(type, List) else None
    if not isinstance(inner, Number) or inner.low is None:
        return ""
    declared = f"{{of: {inner.low}..{inner.high}, start: {inner.low}}}"
    return f"for one number of the range, declare `{name}: {declared}`"


def _none_test(source: str, function: str, arguments: Sequence[ir.Expr]) -> str:
    """Returns a test for none: a name, or an entry of it, is known after a test. What stands for
    the result then is of its type: a number, a truth value, or else none."""
    simple = re.fullmatch(r"[\w.\[\]]+", source)
    first = "test it first" if simple else "name it under `let`, and test it"
    name = source if simple else "x"
    known = tuple(a.type.of if isinstance(a.type, Option) else a.type for a in arguments)
    result = BUILTINS[function].rule(known)
    if is_comparison(function) or isinstance(result, Bool):
        return f"{first}: `{name} != none and …`"
    otherwise = "0" if result is None or isinstance(plain(result), Number) else "none"
    return f"{first}: `{otherwise} if {name} == none else …`"


def report_others(context: TypingContext, node: ast.Node, map: ir.Expr) -> None:
    """Reports a map of a value per role from which those of the others are to be taken."""
    source, span = map.span.text, node.span
    whole = f"{source}[r] for r in others"
    context.problems.add(
        "GD0322",
        "this is a value per role, and `others` takes a role",
        map.span,
        why=str(map.type),
        help=substitute(span, whole, f"go through the others: `{whole}`")
        if is_sole_argument(span) and context.me_allowed
        else f"go through the others, as in `max({whole})`",
    )


def is_sole_argument(span: Span) -> bool:
    """Whether a place holds the one argument of a call: what `for` gives may stand there."""
    text = span.source.text
    before = text[: span.start].rstrip()
    return bool(re.search(r"\w\($", before)) and text[span.end :].lstrip().startswith(")")


def _conversion_fix(context: TypingContext, typed: ir.Expr, wanted: Type, node: ast.Node) -> Help:
    """Returns the fix that makes a value of one type one of another; empty where there is none."""
    type, text = typed.type, node.span.text
    if isinstance(wanted, Bool) and plain(type) == SEAT and (listed := _listed_roles(node.span)):
        return listed
    if isinstance(wanted, Bool) and (filled := _emptiness(typed, "> 0", node)):
        return filled
    if isinstance(wanted, Number) and isinstance(type, Bool):
        number = _as_number(text)
        said = f"write `{number.strip('()')}`" if len(text) < 60 else "write `1 if … else 0`"
        return said if len(text) >= 60 else substitute(node.span, number, said)
    if isinstance(wanted, Bool) and plain(type) == SEAT and text.isidentifier():
        if not context.me_allowed:
            return f"ask which role it is, as in `{text} == {context.names.seats[0]}`"
        return substitute(node.span, f"{text} == me", f"ask who it is: `{text} == me`")
    if isinstance(wanted, Bool) and isinstance(type, Number):
        if len(text) >= 60:
            return "compare it with something"
        return substitute(node.span, f"{text} > 0", f"compare it: `{text} > 0`")
    if isinstance(type, Option) and isinstance(wanted, Number):
        return f"say what it is then: `0 if {text} == none else …`" if text.isidentifier() else ""
    simple = re.fullmatch(r"[\w.\[\](), ]+", text) and " if " not in text and len(text) < 60
    if isinstance(type, Option) and fits(type.of, wanted) and simple:
        return f"test it first: `{text} != none`"
    if isinstance(type, Record) and simple:
        return _field_fix(type, wanted, node)
    return ""


def _listed_roles(place: Span) -> Help:
    """Returns the fix of `role: a and b`; empty where a place is in no such text."""
    around = nodes_around(place)
    written = around[-1] if around else None
    if not isinstance(written, Scalar) or key_of(written.span).text != "role":
        return ""
    names = re.split(r"\s+and\s+", written.text.strip())
    if not all(map(str.isidentifier, names)):
        return ""
    whole = f"[{', '.join(names)}]"
    return substitute(written.span, whole, f"roles that act at once are listed: `{whole}`")


def _field_fix(record: Record, wanted: Type, node: ast.Node) -> Help:
    """Returns the fix that takes the one field of a record that has the wanted type."""
    found = [name for name, type in record.fields if fits(type, wanted)]
    if len(found) != 1:
        return ""
    text = node.span.text
    whole = f"{text}.{found[0]}"
    if not isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Index):
        whole = f"({text}).{found[0]}"
    return substitute(node.span, whole, f"take its field `{found[0]}`: `{whole}`")
