"""What steps read and bind: their expressions, the names they bind, the state they write."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.statements import NOBODY, Key, Place, Readers, State
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    SEAT,
    Enum,
    Never,
    PerSeat,
    PerValue,
    Record,
    Type,
    fits,
    join,
)
from gamedsl.sema.actions import Moves
from gamedsl.sema.narrow import Facts, facts
from gamedsl.sema.options import Options
from gamedsl.sema.scope import Names, StateName, VariableName, report_taken
from gamedsl.sema.state import read_readers
from gamedsl.sema.statements import read_place
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types
from gamedsl.sema.values import syntax


class Bindings:
    """What is known while steps are read.

    `bound` are the names that the steps of each open loop bind, `acting` the seats that may be `me`
    where no step says who acts (None: nobody).
    """

    def __init__(
        self,
        typer: Typer,
        actions: dict[str, Options],
        moves: Moves | None,
        near: Path,
        problems: Problems,
    ) -> None:
        self.typer = typer
        self.actions = actions
        self.moves = moves
        self.near = near
        self.problems = problems
        self.state: list[State] = []
        self.bound: list[list[str]] = []
        self.acting: tuple[str, ...] | None = None
        self.facts: Facts = frozenset()
        self.chain: tuple[str, ...] = ()
        self.counts: Counter[str] = Counter()
        self.outer: tuple[Names, ...] = ()
        """The names of the files that use this one."""
        self.counters: set[str] = set()
        """The names that loops have declared."""

    @property
    def names(self) -> Names:
        return self.typer.names

    @property
    def types(self) -> Types:
        return Types(self.names, self.problems, self.near)

    # expressions of steps

    def expression(self, node: Node, expected: Type | None = None) -> ir.Expr | None:
        """A typed expression of a step; None (and a diagnostic) if it is wrong."""
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        me = self.acting is not None
        typed = self.typer.expression(tree, me=me, expected=expected, facts=self.facts)
        return None if isinstance(typed.type, Never) else typed

    def checked(self, node: Node, wanted: Type, what: str, *, me: bool = False) -> ir.Expr | None:
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        me = me or self.acting is not None
        typed = self.typer.check(tree, wanted, what, me=me, facts=self.facts)
        return None if isinstance(typed.type, Never) else typed

    def condition(self, node: Node, *, me: bool = False) -> tuple[ir.Expr | None, Facts]:
        """A truth, and what is known where it holds; `me` says whether who acts may read itself."""
        typed = self.checked(node, BOOL, "a condition", me=me)
        tree = syntax(node, self.problems) if typed is not None else None
        return typed, facts(tree, True) if tree is not None else frozenset()

    def readers(self, node: Node | None, type: Type | None = None) -> Readers:
        """`seen_by`: who sees a value, or, in a map, each field of one; fields that are not named
        are seen by nobody."""
        if not isinstance(node, Mapping):
            return read_readers(node, self.names, self.problems, self.typer)
        if not isinstance(type, Record):
            self.problems.add(
                "GD0439", "this value has no fields", node.span,
                why=f"it is {type}" if type is not None else "no record",
                help="write who sees all of it, such as `seen_by: all`",
            )  # fmt: skip
            return NOBODY
        fields = []
        for entry in node:
            index = type.index(entry.key.text)
            if index is None:
                guess = did_you_mean(entry.key.text, [name for name, _ in type.fields])
                self.problems.add(
                    "GD0324", f"{type} has no field `{entry.key.text}`", entry.key.span,
                    why="its fields are " + ", ".join(name for name, _ in type.fields),
                    help=f"did you mean `{guess}`?" if guess else "",
                )  # fmt: skip
                continue
            fields.append((index, self.readers(entry.value)))
        return Readers("nobody", fields=tuple(fields), span=node.span)

    def number(self, name: str) -> str:
        """The id of the next step of that name."""
        self.counts[name] += 1
        return name if self.counts[name] == 1 else f"{name}_{self.counts[name]}"

    # what is bound

    def target(self, node: Node) -> tuple[str, Place | None, Span] | None:
        """What a head binds: a name, or (a part of) declared state; per-role state is the actor's
        own part where a role acts."""
        if not isinstance(node, Scalar):
            return None
        name = node.text
        known = self.names.declared.get(name)
        if name.isidentifier() and not isinstance(known, StateName):
            return name, None, node.span
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        me = self.acting is not None
        place = read_place(tree, self.typer, me=me, facts=self.facts)
        return (place.variable, place, node.span) if place is not None else None

    def storable(self, type: Type, place: Place, span: Span) -> bool:
        if fits(type, place.type):
            return True
        declared = self.names.place(place.variable)
        per_role = isinstance(type, PerSeat) and fits(type.of, place.type)
        self.problems.add(
            "GD0306", f"`{span.text}` must be {place.type}", span, why=f"bound to {type} here",
            notes=(Note(declared, "declared here"),) if declared else (),
            help="declare it with `per: role`" if per_role else "",
        )  # fmt: skip
        if declared is not None:
            self.names.declared[place.variable] = StateName(NEVER, declared)
        return False

    def own(self, place: Place, type: Type) -> Place:
        """The actor's own entry, where the state is per role and one value is stored."""
        if not isinstance(place.type, PerSeat) or fits(type, place.type):
            return place
        key = Key("entry", ir.Me(SEAT, place.span))
        return replace(place, keys=(*place.keys, key), type=place.type.of)

    def below(self, type: Type, depth: int) -> Type:
        """The type of one entry, `depth` maps down."""
        for _ in range(depth):
            if isinstance(type, PerSeat | PerValue):
                type = type.of
        return type

    def readers_of(self, variable: str) -> Readers:
        """Those of a declared state variable."""
        return next((s.readers for s in self.state if s.name == variable), Readers("all"))

    def declare(
        self, variable: str, type: Type, joint: bool, actors: tuple[str, ...], span: Span
    ) -> bool:
        """Bind a name; a second step may bind it again with the same type."""
        earlier = self.names.declared.get(variable)
        if isinstance(earlier, VariableName):
            joined = join(earlier.type, type)
            if joined is None or earlier.joint != joint:
                kind = "by several roles at once" if joint else f"{type}, by one role"
                self.problems.add(
                    "GD0319",
                    f"`{variable}` is bound twice, in different ways",
                    span,
                    why=kind if earlier.joint != joint else f"here {type}",
                    notes=(Note(earlier.span, f"first bound here, to {earlier.type}"),),
                    help=_one_name(type, earlier.type) or "choose another name",
                )
                return False
            type = joined
            actors = tuple(s for s in self.names.everyone if s in (*earlier.actors, *actors))
        else:
            here, first = span, self.taken(variable)
            if self.chain and first is not None:
                here, first = first, span
            if report_taken(variable, here, first, self.problems):
                return False
        self.put(variable, VariableName(type, joint, actors, span))
        for names in self.bound:
            names.append(variable)
        return True

    def taken(self, name: str) -> Span | None:
        """Where a name was declared, here or in a file that uses this one."""
        scopes = (self.names, *self.outer)
        return next((place for scope in scopes if (place := scope.anywhere(name))), None)

    def put(self, name: str, declared: VariableName | StateName) -> None:
        """Declare a name, which the files that use this one may say as well."""
        for scope in (self.names, *self.outer):
            scope.declared[name] = declared


def _one_name(here: Type, first: Type) -> str | None:
    """The fix for options that differ by what looks like a slip of the pen."""
    if not (isinstance(here, Enum) and isinstance(first, Enum)):
        return None
    only = [name for name in first.members if name not in here.members]
    for name in here.members:
        if name not in first.members and (other := did_you_mean(name, only)) is not None:
            return f"`{other}` there is `{name}` here: write one of them in both, or choose " \
                "another name for what is bound"  # fmt: skip
    return None
