"""The steps that do something: choose, draw, deal, show, do and pay."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import element
from gamedsl.ir.program import (
    NOBODY,
    Choose,
    Do,
    Draw,
    Key,
    Pay,
    Place,
    Readers,
    Show,
    Source,
    State,
    Step,
)
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    SEAT,
    WHOLE,
    Bag,
    List,
    Never,
    Number,
    PerSeat,
    PerValue,
    Set,
    Type,
    fits,
    join,
)
from gamedsl.sema.actions import Moves
from gamedsl.sema.narrow import Facts, facts
from gamedsl.sema.options import Options, read_options
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.scope import Names, StateName, TypeName, VariableName, report_taken
from gamedsl.sema.state import read_readers
from gamedsl.sema.statements import read_place, read_statements
from gamedsl.sema.typer import GameTyper
from gamedsl.sema.types import Types, part_of
from gamedsl.sema.values import constant, syntax
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

_TAKE = re.compile(r"(.+?)\s+of\s+(.+)\Z", re.DOTALL)


class Heads:
    """Reads one step after another. `bound` are the names that the steps of each open loop bind,
    `acting` the seats that may be `me` where no step says who acts (None: nobody)."""

    def __init__(
        self,
        typer: GameTyper,
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
        typed = self.typer.typed(tree, me=me, expected=expected, facts=self.facts)
        return None if isinstance(typed.type, Never) else typed

    def checked(self, node: Node, wanted: Type, what: str, *, me: bool = False) -> ir.Expr | None:
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        me = me or self.acting is not None
        typed = self.typer.checked(tree, wanted, what, me=me, facts=self.facts)
        return None if isinstance(typed.type, Never) else typed

    def condition(self, node: Node) -> tuple[ir.Expr | None, Facts]:
        """A truth, and what is known where it holds."""
        typed = self.checked(node, BOOL, "a condition")
        tree = syntax(node, self.problems) if typed is not None else None
        return typed, facts(tree, True) if tree is not None else frozenset()

    def readers(self, node: Node | None) -> Readers:
        return read_readers(node, self.names, self.problems, self.typer)

    def number(self, name: str) -> str:
        """The id of the next step of that name."""
        self.counts[name] += 1
        return name if self.counts[name] == 1 else f"{name}_{self.counts[name]}"

    # heads

    def head(self, item: Mapping, condition: ir.Expr | None) -> Step | None:
        """The step of a map that has a head."""
        for word, read in (
            ("choose", self.choose), ("draw", self.draw), ("deal", self.draw),
            ("show", self.show), ("do", self.do), ("pay", self.pay),
        ):  # fmt: skip
            entry = item.entry(word)
            if entry is not None:
                return read(item, entry, condition)
        return None

    def choose(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        actors, source = self.actors(item), item.get("from")
        if actors is None or source is None:
            return None
        seats, joint, actor = actors
        options = self.options(source, seats)
        if options is None:
            return None
        type = self.common(options, source)
        target = self.target(head.value)
        if type is None or target is None:
            return None
        variable, place, span = target
        readers = self.readers(item.get("seen_by"))
        if place is not None:
            place = self.own(place, type)
            if not self.storable(type, place, head.value.span):
                return None
            if item.get("seen_by") is None:
                readers = self.readers_of(variable)
        elif not self.declare(variable, type, joint, seats, span):
            return None
        choices = tuple(o.choices for o in options)
        return Choose(
            self.number(variable), variable, seats, joint, choices, type, item.span,
            condition=condition, actor=actor, legal=options[0].legal, moves=options[0].moves,
            place=place, readers=readers,
        )  # fmt: skip

    def actors(self, item: Mapping) -> tuple[tuple[str, ...], bool, ir.Expr | None] | None:
        """Who may act, whether all do at once, and else whose turn it is where that depends."""
        role, seats = item.get("role"), self.names.seats
        if role is None:
            if self.acting is not None:
                return self.acting, False, ir.Me(SEAT, item.span)
            if len(seats) == 1:
                return seats, False, None
            self.problems.add(
                "GD0428", "it is not said who chooses", item.entries[0].key.span,
                why="no `role:`, and no loop over roles around it",
                help=f"add `role: {seats[0]}`, or `role: all`",
            )  # fmt: skip
            return None
        items = role.items if isinstance(role, Sequence) else (role,)
        found: list[str] = []
        for part in items:
            text = part.text if isinstance(part, Scalar) else ""
            named = seats if text == "all" else self.names.seats_of(text)
            if not named and len(items) == 1 and self.is_expression(part):
                typed = self.checked(part, SEAT, "who acts")
                return None if typed is None else (seats, False, typed)
            if not named:
                unknown_role(text, part.span, self.names, self.problems, "all")
                return None
            found += [s for s in named if s not in found]
        single = len(items) == 1 and not isinstance(role, Sequence) and len(found) == 1
        joint = not single or getattr(items[0], "text", "") == "all"
        return tuple(s for s in seats if s in found), joint, None

    def is_expression(self, node: Node) -> bool:
        """Whether who acts is worked out: no bare name, or one that is declared."""
        if not isinstance(node, Scalar):
            return False
        known = node.text in self.names.declared or node.text in ("me", "other")
        return known or not node.text.isidentifier()

    def options(self, source: Node, seats: tuple[str, ...]) -> tuple[Options, ...] | None:
        """The options of each acting seat."""
        wanted = self.wanted_moves(source)
        if wanted is not None and self.moves is not None:
            return self.move_options(wanted, seats, source.span)
        if isinstance(source, Scalar) and source.text == "actions":
            missing = [s for s in seats if s not in self.actions]
            if missing and not self.problems.errors:
                self.no_actions(missing[0], source.span)
            return None if missing else tuple(self.actions[s] for s in seats)
        options = read_options(source, self.typer, self.problems, me=True)
        return (options,) * len(seats) if options else None

    def wanted_moves(self, source: Node) -> tuple[str, ...] | None:
        """The declared actions that `from:` means: all of them, or those that a list names."""
        if self.moves is None:
            return None
        if isinstance(source, Scalar) and source.text == "actions":
            return tuple(entry.key.text for entry in self.moves.section)
        if not isinstance(source, Sequence):
            return None
        texts = tuple(item.text for item in source if isinstance(item, Scalar))
        return texts if texts and all(map(self.moves.entry, texts)) else None

    def move_options(
        self, wanted: tuple[str, ...], seats: tuple[str, ...], span: Span
    ) -> tuple[Options, ...] | None:
        assert self.moves is not None
        saved = self.acting, self.facts
        self.acting, self.facts = seats, frozenset()
        found = self.moves.options(wanted, self.typer, self.types, self.body, span)
        self.acting, self.facts = saved
        if found is None:
            return None
        options, binds = found
        for names in self.bound:
            names += binds
        return (options,) * len(seats)

    def body(self, action: Mapping) -> tuple[Step, ...]:
        """The effects of a declared action: its `do`, then its `turns`."""
        raise NotImplementedError

    def no_actions(self, seat: str, span: Span) -> None:
        """Told where the role is declared if the step is a protocol's, and else at the step."""
        place = self.names.role_spans[seat]
        here, there = (place, span) if self.chain else (span, place)
        self.problems.add(
            "GD0407",
            f"`{seat}` has no actions",
            here,
            why="acts, and can do nothing" if self.chain else f"`{seat}` can do nothing",
            notes=(Note(there, "acts here" if self.chain else "declared here"),),
            help=f"add them under `actions`: `{seat}: [left, right]`"
            if self.actions
            else "add the actions of all roles: `actions: [left, right]`",
        )

    def common(self, options: tuple[Options, ...], source: Node) -> Type | None:
        type: Type | None = options[0].type
        for other in options[1:]:
            type = type and join(type, other.type)
        if type is None:
            self.problems.add(
                "GD0404",
                "the roles of this step choose values of different types",
                source.span,
                why=f"{options[0].type} and others",
                help="give all of them names, or all of them numbers",
            )
        return type

    # chance

    def draw(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        deal, source = head.key.text == "deal", item.get("from")
        if source is None:
            return None
        found, target = self.source(source), self.target(head.value)
        per = self.per(item, deal)
        if found is None or target is None or per is None:
            return None
        origin, type = found
        variable, place, span = target
        indices, keys = per
        seen, how = item.get("seen_by"), "set"
        whole = type
        for key in reversed(keys):
            whole = PerSeat(whole) if key == SEAT else PerValue(key, whole)
        by_seat = bool(keys) and keys[0] == SEAT
        if place is not None:
            place = self.own(place, whole) if self.acting is not None else place
            inner = self.below(place.type, len(keys))
            if isinstance(inner, List | Set | Bag) and fits(type, inner.of):
                how = "append"
            elif not self.storable(whole, place, head.value.span):
                return None
            readers = self.readers_of(variable) if seen is None else self.readers(seen)
        else:
            readers = self.drawn_readers(item, head, by_seat)
            inner_type = whole.of if isinstance(whole, PerSeat) else whole
            if not self.declare(variable, inner_type, by_seat, self.names.seats, span):
                return None
        return Draw(
            self.number(variable), variable, origin, type, readers, item.span, per=indices,
            deal=deal, by_seat=by_seat, place=place, how=how, condition=condition,  # type: ignore[arg-type]
        )  # fmt: skip

    def drawn_readers(self, item: Mapping, head: Entry, by_seat: bool) -> Readers:
        seen = item.entry("seen_by")
        if seen is None:
            self.problems.add(
                "GD0429", f"it is not said who sees `{head.value.span.text}`", head.value.span,
                why="chance is hidden or shown, and nothing is guessed",
                help=f"add `seen_by: {'owner' if by_seat else 'all'}`",
            )  # fmt: skip
            return NOBODY
        readers = self.readers(seen.value)
        if readers.kind in ("owner", "others") and not by_seat:
            self.problems.add(
                "GD0426", f"`{head.value.span.text}` has no owner", seen.value.span,
                why="it is one value for all",
                help="add `per: role`, or name who sees it",
            )  # fmt: skip
        return readers

    def per(
        self, item: Mapping, deal: bool
    ) -> tuple[tuple[tuple[Any, ...], ...], tuple[Type, ...]] | None:
        """The values of each index of a draw, and their types."""
        if deal:
            return (self.names.seats,), (SEAT,)
        node = item.get("per")
        indices, keys = [], []
        for part in node.items if isinstance(node, Sequence) else () if node is None else (node,):
            found = self.types.read(part)
            if found is None:
                return None
            indices.append(tuple(value for _, value in found.choices))
            keys.append(found.type)
        return tuple(indices), tuple(keys)

    def source(self, node: Node) -> tuple[Source, Type] | None:
        """What is drawn from, and the type of one outcome."""
        if isinstance(node, Mapping):
            return self.weighted(node)
        take: ir.Expr | None = None
        if isinstance(node, Scalar) and (many := _TAKE.match(node.text)):
            count = self.checked(part_of(node, *many.span(1)), WHOLE, "how many are drawn")
            node = part_of(node, *many.span(2))
            if count is None:
                return None
            take = count
        if isinstance(node, Sequence):
            options = read_options(node, self.typer, self.problems)
            if options is None:
                return None
            values = tuple(c.value for c in options.choices)
            typed: ir.Expr | None = ir.Const(List(options.type, len(values)), node.span, values)
        else:
            place = self.stored(node)
            if place is not None:
                of = element(place.type)
                assert of is not None
                return Source("bag", bag=place, take=take), List(of) if take else of
            typed = self.values_of(node)
        if typed is None:
            return None
        of = element(typed.type)
        if of is None:
            self.problems.add(
                "GD0420", "chance draws from a collection", node.span, why=f"this is {typed.type}",
                help="write a type, a range such as `1..6`, or a list",
            )  # fmt: skip
            return None
        return Source("values", values=typed, take=take), List(of) if take else of

    def values_of(self, node: Node) -> ir.Expr | None:
        known = self.names.declared.get(node.text) if isinstance(node, Scalar) else None
        if isinstance(known, TypeName):
            values = tuple(value for _, value in known.choices)
            return ir.Const(List(known.type, len(values)), node.span, values)
        return self.expression(node)

    def stored(self, node: Node) -> Place | None:
        """The declared collection that a text names, from which chance takes out."""
        if not isinstance(node, Scalar):
            return None
        root = re.match(r"[A-Za-z_][A-Za-z0-9_]*", node.text)
        known = self.names.declared.get(root[0]) if root else None
        if not isinstance(known, StateName) or "(" in node.text or ".." in node.text:
            return None
        tree = syntax(node, self.problems)
        place = (
            read_place(tree, self.typer, me=self.acting is not None, facts=self.facts)
            if tree is not None
            else None
        )
        return place if place is not None and isinstance(place.type, List | Set | Bag) else None

    def weighted(self, node: Mapping) -> tuple[Source, Type] | None:
        """`{a: 1/3, b: 2/3}`: names or numbers with probabilities that sum to 1."""
        keys = Sequence(tuple(entry.key for entry in node), node.span)
        options = read_options(keys, self.typer, self.problems)
        total, odds = Fraction(0), []
        for entry in node:
            found = constant(entry.value, self.typer, self.problems, NUMBER)
            if found is None or options is None:
                return None
            if not isinstance(found[2], Number) or found[1] < 0:
                self.problems.add(
                    "GD0421", "a probability is a number from 0 to 1", entry.value.span,
                    why=f"this is {entry.value.span.text}",
                )  # fmt: skip
                return None
            odds.append(Fraction(found[1]))
            total += odds[-1]
        if options is None:
            return None
        if total != 1:
            self.problems.add(
                "GD0433", f"these probabilities sum to {total}, not to 1", node.span,
                why="exactly 1 is needed", help="write fractions, such as `1/3`",
            )  # fmt: skip
            return None
        pairs = zip((c.value for c in options.choices), odds, strict=True)
        return Source("weights", weights=tuple(p for p in pairs if p[1])), options.type

    # the other heads

    def show(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        name = item.get("as")
        typed = self.expression(head.value)
        readers = self.readers(item.get("seen_by"))
        if typed is None or not isinstance(name, Scalar):
            return None
        type, joint = typed.type, isinstance(typed.type, PerSeat)
        inner = type.of if isinstance(type, PerSeat) else type
        if not self.declare(name.text, inner, joint, self.names.seats, name.span):
            return None
        return Show(self.number(name.text), name.text, typed, readers, item.span, condition)

    def do(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        statements = read_statements(
            head.value, self.typer, self.problems, me=self.acting is not None, facts=self.facts
        )
        if statements is None:
            return None
        return Do(self.number("do"), statements, item.span, condition)

    def pay(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        stream, value = head.value, item.get("value")
        assert isinstance(stream, Scalar)
        if value is None:
            return None
        amounts = self.per_seat(value, "a payoff")
        return Pay(self.number(stream.text), stream.text, amounts, item.span, condition)

    def per_seat(self, value: Node, what: str) -> tuple[tuple[str, ir.Expr], ...]:
        """One expression for all seats, or a map of role to expression."""
        if not isinstance(value, Mapping):
            typed = self.checked(value, NUMBER, what, me=True)
            return tuple((seat, typed) for seat in self.names.seats) if typed else ()
        found: dict[str, ir.Expr] = {}
        for entry in value:
            seats = self.names.seats_of(entry.key.text)
            if not seats:
                unknown_role(entry.key.text, entry.key.span, self.names, self.problems)
            typed = self.checked(entry.value, NUMBER, what, me=True)
            if typed is not None:
                found.update(dict.fromkeys(seats, typed))
        return tuple((seat, found[seat]) for seat in self.names.seats if seat in found)

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
        self.problems.add(
            "GD0306", f"`{span.text}` must be {place.type}", span, why=f"bound to {type} here"
        )
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
                    help="choose another name",
                )
                return False
            type = joined
            actors = tuple(s for s in self.names.seats if s in (*earlier.actors, *actors))
        else:
            here, first = span, self.names.anywhere(variable)
            if self.chain and first is not None:
                here, first = first, span
            if report_taken(variable, here, first, self.problems):
                return False
        self.names.declared[variable] = VariableName(type, joint, actors, span)
        for names in self.bound:
            names.append(variable)
        return True
