"""Params: named constants of a file, folded before anything else is checked.

A default may use earlier params; a declaration `{default: 2, in: 2..5}` gives a range, one with a
`type` and no default must be set by whoever uses the file. What is set from outside is worked out
among the names of whoever sets it.
"""

from __future__ import annotations

from collections.abc import Mapping as Map
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
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
    Type,
    fits,
    join,
    range_type,
)
from gamedsl.sema.scope import LetName, LoopName, Namespace, ParamName, report_taken
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
        words = [i.text for i in node if isinstance(i, Scalar)] if isinstance(
            node, Sequence) else []  # fmt: skip
        if words and isinstance(node, Sequence) and all(map(self.is_word, node)):
            type = List(Enum("", tuple(dict.fromkeys(words))), len(words))
            return ir.Const(type, node.span, tuple(words)), tuple(words), type
        return constant(node, typer, wanted)

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
        return node.text.isidentifier() and not known and not seat

    def read_map(self, node: Mapping, typer: Typer) -> tuple[ir.Expr, Any, Type] | None:
        """Reads `{1: 3, 2: 2}` or `{red: 1, blue: 2}`: a value for each key."""
        found: dict[Any, Any] = {}
        inner: Type = NEVER
        for entry in node:
            each = constant(entry.value, typer)
            if each is None:
                return None
            joined = join(inner, each[2])
            if joined is None:
                self.problems.add(
                    "GD0305", "the values of this map have different types", entry.value.span,
                    why=f"this is {each[2]}",
                )  # fmt: skip
                return None
            inner = joined
            key = entry.key.value
            found[int(key) if isinstance(key, Fraction | int) else entry.key.text] = each[1]
        keys = tuple(found)
        key_type: Type = Enum("", tuple(map(str, keys)))
        if all(isinstance(k, int) for k in keys) and keys:
            key_type = range_type(min(keys), max(keys))
        type = PerValue(key_type, inner)
        return ir.Const(type, node.span, found), found, type

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
        bounds = constant(allowed, Typer(self.names, self.problems))
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
    return fits(type, NUMBER) if fits(usual, NUMBER) else fits(type, usual)


def retype_roles(names: Namespace) -> None:
    """Gives the params of a game, which are read before its roles, the roles that they name: a list
    of names of roles holds roles, and a map with a value for each role is a value per role."""
    for name, declared in names.declared.items():
        if isinstance(declared, ParamName) and names.seats:
            type = _with_roles(declared.type, names.seats)
            names.declared[name] = replace(declared, type=type)


def _with_roles(type: Type, seats: tuple[str, ...]) -> Type:
    """Returns a type with roles in the place of names that are all names of roles."""
    match type:
        case Enum(name="", members=members, values=None) if members and {*members} <= {*seats}:
            return SEAT
        case List(of=inner):
            return replace(type, of=_with_roles(inner, seats))
        case PerValue(key=key, of=inner):
            inner = _with_roles(inner, seats)
            every = isinstance(key, Enum) and {*key.members} == {*seats}
            return PerSeat(inner) if every else PerValue(key, inner)
        case _:  # params have no other types that hold names
            return type
