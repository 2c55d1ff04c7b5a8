"""Params: named constants of a file, folded before anything else is checked.

A default may use earlier params; a declaration `{default: 2, in: 2..5}` gives a range, one with a
`type` and no default must be set by whoever uses the file. What is set from outside is worked out
among the names of whoever sets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Mapping as Map
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import values
from gamedsl.ir.game import Param
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    NONE,
    NUMBER,
    SEAT,
    TEXT,
    WHOLE,
    Enum,
    List,
    Never,
    PerSeat,
    PerValue,
    Set,
    Tuple,
    Type,
    fits,
    join,
    range_type,
    walk_types,
)
from gamedsl.sema.name_resolution import report_unknown_name
from gamedsl.sema.scope import WORDS, LetName, LoopName, Namespace, ParamName, report_taken
from gamedsl.sema.type_errors import same_type_help
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant, syntax

MATRIX = List(List(NUMBER))

TYPES: dict[str, Type] = {
    "number": NUMBER,
    "integer": WHOLE,
    "truth": BOOL,
    "list": List(NUMBER),
    "matrix": MATRIX,
    "role": SEAT,
}
"""What `type:` of a param may be. A matrix has one row per role, and in it one number per role."""


@dataclass
class Params:
    """The params of one file, declared in `names`.

    `given` are the entries that set them from outside, worked out in `outer`; `what` names the file
    in messages ("this game"), `use` is the place that sets them.
    """

    names: Namespace
    problems: Problems
    what: str
    use: Span
    given: Map[str, Entry]
    outer: Namespace
    before_types: bool = False
    """Whether the types of the file are declared behind its params: then a name that means nothing
    yet may be a value of one (`resolve_names`)."""
    unresolved: dict[str, Node] = field(default_factory=dict)
    """The params in which such names stand, where no list of names was allowed before."""

    def declare(self, section: Node | None) -> tuple[Param, ...]:
        """Folds each param, in order, and declares it."""
        entries = section.entries if isinstance(section, Mapping) else ()
        strangers = self.report_unknown([entry.key.text for entry in entries])
        self.names.later.update((entry.key.text, entry.key.span) for entry in entries)
        params = []
        for entry in entries:
            name, span = entry.key.text, entry.key.span
            earlier = self.names.declared.get(name)
            first = None
            if earlier is not None and not isinstance(earlier, LoopName):
                first = earlier.span
            if report_taken(name, span, first, self.problems):
                continue
            if is_expression(entry.value) and self.is_let(entry):
                self.declare_expression(entry, strangers)
                self.names.later.pop(name)
                continue
            param = self.read_param(entry, strangers)
            self.names.later.pop(name)
            declared = ParamName(NEVER, None, span)
            if param is not None:
                params.append(param)
                declared = ParamName(param.type, param.value, param.span)
            self.names.declared[name] = declared
        self.names.later.clear()
        return tuple(params)

    def report_unknown(self, known: list[str]) -> bool:
        """Reports params that are set and not declared; returns whether there is any."""
        strangers = [entry for name, entry in self.given.items() if name not in known]
        for entry in strangers:
            guess = did_you_mean(entry.key.text, known)
            shown = ", ".join(known)
            self.problems.add(
                "GD0314",
                f"{self.what} has no param `{entry.key.text}`",
                entry.key.span,
                why=f"its params: {shown}" if shown else "it has none",
                help=respell(entry.key.span, guess),
            )
        return bool(strangers)

    def read_param(self, entry: Entry, strangers: bool) -> Param | None:
        """Reads one param's value. A missing one is not reported beside a misspelt one
        (`strangers`)."""
        name, span = entry.key.text, entry.key.span
        declaration = entry.value if is_declaration(entry.value) else None
        assert declaration is None or isinstance(declaration, Mapping)
        kind = declaration.get("type") if declaration else None
        wanted = TYPES.get(kind.text) if isinstance(kind, Scalar) else None
        slot = is_expression(entry.value)
        default = declaration.get("default") if declaration else entry.value
        given = self.given.get(name)
        node = given.value if given is not None else default
        if node is None:
            if not strangers:
                self.report_missing(name, span, wanted, getattr(kind, "text", ""))
            return None
        if isinstance(kind, Scalar) and kind.text in ("game", "text"):
            text = node.text if isinstance(node, Scalar) else ""
            return Param(name, text, TEXT, node.span)
        if isinstance(kind, Scalar) and kind.text == "map" and not isinstance(node, Mapping):
            self.report_no_map(name, span, node)
            return None
        typer = Typer(self.names if given is None else self.outer, self.problems)
        found = self.read_value(node, typer, wanted)
        if found is None:
            return None
        typed, value, type = found
        usual = None
        if given is not None and default is not None and wanted is None and not slot:
            usual = self.read_value(default, Typer(self.names, self.problems), None)
        if not self.check_type(name, span, node, type, wanted, usual[1:] if usual else None):
            return None
        allowed = declaration.get("in") if declaration else None
        if allowed is not None and not self.check_allowed(name, value, allowed, node):
            return None
        if wanted == MATRIX and self.names.seats and not self.check_square(node, value):
            return None
        listed = isinstance(node, Sequence) and all(isinstance(item, Scalar) for item in node)
        if not listed and any(is_nameless(part) for part in walk_types(type)):
            self.unresolved[name] = node
        reads = (part.origin for part in ir.walk(typed) if isinstance(part, ir.Const))
        return Param(name, value, type, span, tuple(dict.fromkeys(r for r in reads if r)))

    def declare_expression(self, entry: Entry, strangers: bool) -> None:
        """Declares a param that stands for an expression: a `let` in the scope of whoever sets
        it."""
        assert isinstance(entry.value, Mapping)
        name, given = entry.key.text, self.given.get(entry.key.text)
        node = given.value if given is not None else entry.value.get("default")
        if node is None or isinstance(node, Mapping):
            if node is None and not strangers:
                self.report_missing(name, entry.key.span, None, "expression")
            self.names.declared[name] = ParamName(NEVER, None, entry.key.span)
            return
        tree = syntax(node, self.problems)
        scope = self.outer if given is not None else self.names
        unique = f"{self.what.split('`')[1]}.{name}" if "`" in self.what else name
        self.names.declared[name] = LetName(
            self.unique_name(unique), (), tree, entry.key.span, scope=scope, slot=True
        )

    def is_let(self, entry: Entry) -> bool:
        """Whether what is given is an expression, and not a map or a list of names or numbers."""
        assert isinstance(entry.value, Mapping)
        given = self.given.get(entry.key.text)
        node = given.value if given is not None else entry.value.get("default")
        plain = isinstance(node, Sequence) and (
            all(map(self.is_word, node)) or all(map(_is_number, node))
        )
        return not plain and not isinstance(node, Mapping)

    def unique_name(self, name: str) -> str:
        """Returns a name for a let that no other use of the file has."""
        number = 1
        while f"{name}.{number}" in self.outer.hidden:
            number += 1
        self.outer.hidden.add(f"{name}.{number}")
        return f"{name}.{number}"

    def read_value(
        self, node: Node, typer: Typer, wanted: Type | None
    ) -> tuple[ir.Expr, Any, Type] | None:
        """Reads a constant, a list of names that mean nothing yet, or a map of constants."""
        if isinstance(node, Mapping):
            return self.read_map(node, typer)
        words = isinstance(node, Sequence) and node.items and all(map(self.is_word, node))
        if words or (self.before_types and wanted is None and self.has_word(node)):
            return self.read_names(node, typer)
        return constant(node, typer, wanted)

    def has_word(self, node: Node) -> bool:
        """Whether a name that means nothing yet is a value, or lies in a list, at any depth."""
        return any(map(self.has_word, node)) if isinstance(node, Sequence) else self.is_word(node)

    def read_names(
        self, node: Node, typer: Typer, inside: bool = False
    ) -> tuple[ir.Expr, Any, Type] | None:
        """Reads a name that means nothing yet, or a list of such and of constants: `inside` another
        list, one whose items have different types is a tuple."""
        if isinstance(node, Scalar) and self.is_word(node):
            type: Type = Enum("", (node.text,))
            return ir.Const(type, node.span, node.text), node.text, type
        if not isinstance(node, Sequence):
            return constant(node, typer)
        parts = [self.read_names(item, typer, True) for item in node]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        value = tuple(part[1] for part in known)
        inner: Type = NEVER
        for (_, _, part), item in zip(known, node, strict=True):
            joined = _join_names(inner, part)
            if joined is None and not inside:
                self.report_types("list", inner, part, item.span)
                return None
            if joined is None:
                type = Tuple(tuple(part[2] for part in known))
                break
            inner = joined
        else:
            type = List(inner, len(value))
        return ir.Build(type, node.span, tuple(part[0] for part in known)), value, type

    def report_types(self, what: str, before: Type, type: Type, span: Span) -> None:
        self.problems.add(
            "GD0305", f"the values of this {what} have different types", span,
            why=f"this is {type}, and those before are {before}", help=same_type_help(before),
        )  # fmt: skip

    def report_no_map(self, name: str, span: Span, node: Node) -> None:
        self.problems.add(
            "GD0306",
            f"the param `{name}` must be a map",
            node.span,
            why="this is no map",
            notes=(Note(span, "declared here"),),
            help=f"write `{name}: {{first: 1, second: 2}}`",
        )

    def is_word(self, node: Node) -> bool:
        """Whether an item of a list is a name of its own, and not one that is declared."""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return False
        known = node.text in self.names.declared or node.text in self.outer.declared
        seat = node.text in self.outer.seats or node.text in self.names.later
        meant = known or seat or node.text in WORDS
        return node.text.isidentifier() and not meant

    def read_map(self, node: Mapping, typer: Typer) -> tuple[ir.Expr, Any, Type] | None:
        """Reads `{1: 3, 2: 2}` or `{red: 1, blue: 2}`: a value for each key."""
        found: dict[Any, Any] = {}
        inner: Type = NEVER
        parts: list[ir.Expr] = []
        for entry in node:
            each = self.read_value(entry.value, typer, None)
            if each is None:
                return None
            joined = _join_names(inner, each[2])
            if joined is None:
                self.report_types("map", inner, each[2], entry.value.span)
                return None
            inner = joined
            parts.append(each[0])
            key = entry.key.value
            found[int(key) if isinstance(key, Fraction | int) else entry.key.text] = each[1]
        keys = tuple(found)
        key_type: Type = Enum("", tuple(map(str, keys)))
        if all(isinstance(k, int) for k in keys) and keys:
            key_type = range_type(min(keys), max(keys))
        type = PerValue(key_type, inner)
        return ir.Build(type, node.span, tuple(parts)), found, type

    def report_missing(self, name: str, span: Span, wanted: Type | None, kind: str) -> None:
        sample = {NUMBER: "1/2", WHOLE: "1", BOOL: "true", TYPES["list"]: "[1, 2]"}.get(
            wanted or NUMBER, "…"
        )
        seat = next(iter(self.names.seats), "…")
        sample = {"game": "prisoners_dilemma", "expression": "…", "map": "{a: 1, b: 2}",
                  "role": seat, "text": "some text"}.get(kind, sample)  # fmt: skip
        if wanted == MATRIX:
            size = range(len(self.names.seats))
            rows = (f"[{', '.join(str(int(i == j)) for j in size)}]" for i in size)
            sample = f"[{', '.join(rows)}]" if len(size) < 6 else "…"
        self.problems.add(
            "GD0315",
            f"the param `{name}` has no value",
            self.use,
            why="it has no default",
            notes=(Note(span, "declared here"),),
            help=f"set it: `{{use: {self.what.split('`')[1]}, {name}: {sample}}}`"
            if "`" in self.what
            else f"give it a default: `{name}: {sample}`",
        )

    def check_type(
        self,
        name: str,
        span: Span,
        node: Node,
        type: Type,
        wanted: Type | None,
        usual: tuple[Any, Type] | None,
    ) -> bool:
        """Whether a value has the type that is declared, or else that of the default."""
        if wanted is not None and not fits(type, wanted):
            wrong, where = wanted, "declared here"
        elif usual is not None and not _alike(type, *usual):
            wrong, where = usual[1], "its default"
        else:
            return True
        what = "a matrix" if wrong == MATRIX else str(wrong)
        if wanted is None and usual is not None and usual[0] == ():
            what = "a list"
        self.problems.add(
            "GD0306",
            f"the param `{name}` must be {what}",
            node.span,
            why="this is an empty map"
            if isinstance(type, PerValue) and isinstance(type.of, Never)
            else f"this is {type}",
            notes=(Note(span, where),),
            help="write one row per role: `[[1, 0], [0, 1]]`" if wrong == MATRIX else "",
        )
        return False

    def check_allowed(self, name: str, value: Any, allowed: Node, node: Node) -> bool:
        """Whether a value is in its range; a range that is no collection is an error itself."""
        bounds = self.read_value(allowed, Typer(self.names, self.problems), None)
        if bounds is None:
            return False
        if not isinstance(bounds[2], List | Set):
            self.problems.add(
                "GD0306",
                "the range of a param must be a list",
                allowed.span,
                why=f"this is {bounds[2]}",
                help="write `2..5`, or the values: `[2, 3, 5]`",
            )
            return False
        if value in values(bounds[1]):
            return True
        shown = node.span.text if len(node.span.text) < 40 else "this"
        self.problems.add(
            "GD0317",
            f"`{shown}` is not allowed for the param `{name}`",
            node.span,
            why=f"out of `{allowed.span.text}`",
            notes=(Note(allowed.span, "the allowed values"),),
            help=f"write one of `{allowed.span.text}`, or allow more values under `in`",
        )
        return False

    def check_square(self, node: Node, rows: tuple[tuple[Any, ...], ...]) -> bool:
        """Whether a matrix has a row for each role, and a number for each role in each."""
        seats = self.names.seats
        shown = ", ".join(seats[:6])
        for number, row in enumerate((rows, *rows)):
            if len(row) == len(seats):
                continue
            place = node.span
            if number and isinstance(node, Sequence):
                place = node.items[number - 1].span
            what = f"row {number} of this matrix has" if number else "this matrix has"
            unit = "number" if number else "row"
            self.problems.add(
                "GD0601",
                f"{what} {len(row)} {unit}{'s' if len(row) != 1 else ''}, "
                f"and the game {len(seats)} role{'s' if len(seats) != 1 else ''}",
                place,
                why=f"one {unit} for each of {shown}",
                help="a matrix has one row per role, and in each row one number per role",
            )
            return False
        return True


def is_declaration(node: Node) -> bool:
    """Whether a param is given as `{default: …}` or `{type: …}`, and not as a map of values."""
    return isinstance(node, Mapping) and (
        node.get("default") is not None or node.get("type") is not None
    )


def _is_number(node: Node) -> bool:
    value = node.value if isinstance(node, Scalar) else None
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def is_expression(node: Node) -> bool:
    """Whether a param stands for an expression, which is worked out where it is read."""
    kind = node.get("type") if isinstance(node, Mapping) else None
    return isinstance(kind, Scalar) and kind.text == "expression"


def _alike(type: Type, value: Any, usual: Type) -> bool:
    """Whether a type may stand for that of a default: any number for a number, lists for lists."""
    if usual == NONE or (isinstance(type, PerValue) and isinstance(usual, PerValue)):
        return True
    if isinstance(type, Enum) and isinstance(usual, Enum):
        return not type.name and not usual.name
    if isinstance(type, List) and isinstance(usual, List):
        return value == () or _alike(type.of, value[0], usual.of)
    if isinstance(type, Tuple) and isinstance(usual, Tuple):
        return len(type.of) == len(usual.of) and all(map(_alike, type.of, value, usual.of))
    return fits(type, NUMBER) if fits(usual, NUMBER) else fits(type, usual)


def retype_roles(names: Namespace) -> None:
    """Gives the params of a game, which are read before its roles, the roles that they name: a list
    of names of roles holds roles, and a map with a value for each role is a value per role."""

    def role(names_in_it: Enum) -> Type | None:
        return SEAT if {*names_in_it.members} <= {*names.seats} else None

    for name, declared in names.declared.items():
        if isinstance(declared, ParamName) and names.seats:
            type = _retyped(declared.type, role, names.seats)
            names.declared[name] = replace(declared, type=type)


def resolve_names(params: Params, *, lists: bool) -> bool:
    """Gives the params of a game, which are read before its types, the types that they name: names
    that are all values of one type are values of that; those of a plain list only with `lists`.
    Reports a name that no type has, beside others that one has, or alone. Returns whether there is
    a plain list of a type's names."""
    names, has_lists = params.names, False
    for name, declared in names.declared.items():
        if isinstance(declared, ParamName):
            type = _retyped(declared.type, names.enum_with, ())
            is_list = isinstance(declared.type, List) and is_nameless(declared.type.of)
            has_lists = has_lists or (is_list and type != declared.type)
            if lists or not is_list:
                names.declared[name] = replace(declared, type=type)
    for name, node in params.unresolved.items():
        found = names.declared.get(name)
        for enum in walk_types(found.type) if isinstance(found, ParamName) else ():
            if isinstance(enum, Enum) and is_nameless(enum):
                _report_nameless(enum, node, params)
    return has_lists


def is_nameless(type: Type) -> bool:
    """Whether a type is that of names of which it is not known whose they are."""
    return isinstance(type, Enum) and not type.name and type.values is None


def _report_nameless(enum: Enum, node: Node, params: Params) -> None:
    """Reports a name in a param that means nothing, where it is clear what it should name."""
    names, problems = params.names, params.problems
    if isinstance(node, Scalar):
        typer = Typer(names, problems)
        report_unknown_name(typer.context, ast.Name(node.span, node.text))
        return
    most = max(names.enums, key=lambda e: len({*e.members} & {*enum.members}), default=None)
    if most is None or not {*most.members} & {*enum.members}:
        return
    for item in _scalars(node):
        if item.text in enum.members and item.text not in most.members:
            shown = ", ".join(most.members[:6]) + (", …" if len(most.members) > 6 else "")
            problems.add(
                "GD0325", f"`{most.name}` has no value `{item.text}`", item.span,
                why=f"its values are {shown}",
                help=respell(item.span, did_you_mean(item.text, most.members)),
                cause=f"value {most.name}.{item.text}",
            )  # fmt: skip
            return


def _scalars(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Sequence():
            for item in node:
                yield from _scalars(item)
        case Mapping():
            for entry in node:
                yield entry.key
                yield from _scalars(entry.value)


def _retyped(type: Type, find: Callable[[Enum], Type | None], seats: tuple[str, ...]) -> Type:
    """Returns a type with what `find` gives in the place of the types of names; a map with a value
    for each of `seats` is a map per role."""
    match type:
        case Enum(members=members) if is_nameless(type):
            return (members and find(type)) or type
        case List(of=inner):
            return replace(type, of=_retyped(inner, find, seats))
        case Tuple(of=parts):
            return Tuple(tuple(_retyped(part, find, seats) for part in parts))
        case PerValue(key=key, of=inner):
            inner = _retyped(inner, find, seats)
            if isinstance(key, Enum) and is_nameless(key):
                if seats and {*key.members} == {*seats}:
                    return PerSeat(inner)
                known = find(key)
                # a map of numbers is indexed by its spelled names (`gamedsl.sema.access`), and its
                # type is part of the hashes of rules
                named = any(isinstance(part, Enum | List | Tuple) for part in walk_types(inner))
                if named and isinstance(known, Enum) and {*known.members} == {*key.members}:
                    key = known
            return PerValue(key, inner)
        case PerSeat(of=inner):
            return PerSeat(_retyped(inner, find, seats))
        case _:  # params have no other types that hold names
            return type


def _join_names(left: Type, right: Type) -> Type | None:
    """Returns the smallest type of both, as `join`: names of which it is not known whose they are
    have one type."""
    match left, right:
        case Enum(members=a), Enum(members=b) if is_nameless(left) and is_nameless(right):
            return Enum("", tuple(dict.fromkeys((*a, *b))))
        case List(of=a, length=m), List(of=b, length=n):
            inner = _join_names(a, b)
            return inner and List(inner, m if m == n else None)
        case Tuple(of=a), Tuple(of=b) if len(a) == len(b):
            parts = [_join_names(x, y) for x, y in zip(a, b, strict=True)]
            known = tuple(part for part in parts if part is not None)
            return Tuple(known) if len(known) == len(parts) else None
        case _:  # of other types names are no part
            return join(left, right)
