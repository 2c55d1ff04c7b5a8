"""The steps that do something: choose, show, do and pay, and those of chance."""

from __future__ import annotations

from abc import ABC, abstractmethod

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source import nodes
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.program import Action, Choose, Do, Entry, Pay, Show, Step, walk_steps
from gamedsl.ir.statements import ForEach
from gamedsl.ir.types import (
    NUMBER,
    PerSeat,
    Type,
    join,
)
from gamedsl.sema.options import Options, read_options
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.sayings import Sayings
from gamedsl.sema.scope import LetName, StateName, TypeName, is_reserved_stream
from gamedsl.sema.statements import read_statements
from gamedsl.sema.view import read_entries

NOTHING = "nothing"
"""What `knows` says of who knows nothing."""


class Heads(Sayings, ABC):
    """Reads one step after another."""

    offers = False
    """Whether a step has offered the actions that the file lists."""

    def head(self, item: Mapping, condition: ir.Expr | None) -> Step | None:
        """The step of a map that has a head."""
        for word, read in (
            ("choose", self.choose), ("say", self.say), ("draw", self.draw),
            ("deal", self.draw), ("show", self.show), ("do", self.do), ("pay", self.pay),
            ("call", self.call),
        ):  # fmt: skip
            entry = item.entry(word)
            if entry is not None:
                step = read(item, entry, condition)
                if step is None:
                    self.lost(item, entry)
                return step
        return None

    def lost(self, item: Mapping, head: nodes.Entry) -> None:
        """The names that a wrong step would have bound: reading them is no second problem."""
        source, moves = item.get("from"), self.moves.section.entries if self.moves else ()
        named: list[Node | None] = [
            head.value,
            item.get("as"),
            item.get("gives"),
            *(entry.key for entry in moves),
        ]
        if isinstance(source, Mapping | Sequence):
            named += [part.key if isinstance(part, nodes.Entry) else part for part in source]
        self.names.broken.update(node.text for node in named if isinstance(node, Scalar))

    def choose(self, item: Mapping, head: nodes.Entry, condition: ir.Expr | None) -> Step | None:
        actors, source = self.actors(item), item.get("from")
        if actors is None or source is None:
            return None
        seats, joint, actor = actors
        options = self.options(source, seats)
        if options is None:
            return None
        type = self.common(options, source)
        alone = not joint or len(seats) == 1 or self.apart(options[0].moves)
        if type is None or not alone:
            return None
        bound = self.binding(item, head, type, seats, joint)
        if bound is None:
            return None
        variable, place, readers = bound
        choices = tuple(o.choices for o in options)
        knows = self.knows(item.get("knows"))
        return Choose(
            self.number(variable), variable, seats, joint, choices, type, item.span,
            condition=condition, actor=actor, legal=options[0].legal, moves=options[0].moves,
            place=place, readers=readers, knows=knows,
        )  # fmt: skip

    def knows(self, node: Node | None) -> tuple[Entry, ...] | None:
        """What who is asked knows, where the step says; `nothing` is a word unless it is a name."""
        if node is None:
            return None
        if isinstance(node, Scalar) and node.text == NOTHING and not self.names.anywhere(NOTHING):
            return ()
        return read_entries(node, self.typer, self.problems, "in what is known here", self.facts)

    def apart(self, moves: tuple[Action, ...]) -> bool:
        """Whether actions that several roles take at once write only what is the actor's own, so
        that their order does not matter; tells those that do not."""
        done = (step for move in moves for step in walk_steps(move.body) if isinstance(step, Do))
        for statement in (each for step in done for each in step.statements):
            inner = statement.body if isinstance(statement, ForEach) else statement
            assert not isinstance(inner, ForEach)
            keys = inner.place.keys
            if keys and isinstance(keys[0].expr, ir.Me):
                continue
            name = inner.place.variable
            declared, known = self.names.place(name), self.names.declared.get(name)
            own = isinstance(known, StateName) and isinstance(known.type, PerSeat)
            self.problems.add(
                "GD0453", "roles that act at once write what is not their own", statement.span,
                why=f"each may write `{name}.me`" if own else f"`{name}` is one for all",
                notes=(Note(declared, "declared here"),) if declared else (),
                help="write it in a `do:` step behind the choice",
            )  # fmt: skip
            return False
        return True

    def options(self, source: Node, seats: tuple[str, ...]) -> tuple[Options, ...] | None:
        """The options of each acting seat."""
        source = self.meant(source)
        wanted = self.wanted_moves(source)
        if wanted is not None and self.moves is not None:
            return self.move_options(wanted, seats, source)
        if isinstance(source, Scalar) and source.text == "actions":
            self.offers = True
            missing = [s for s in seats if s not in self.actions]
            if missing and not self.problems.errors:
                self.no_actions(missing[0], source.span)
            return None if missing else tuple(self.actions[s] for s in seats)
        if isinstance(source, Scalar) and self.is_misspelt(source):
            return None
        options = read_options(source, self.typer, self.problems, me=True)
        return (options,) * len(seats) if options else None

    def is_misspelt(self, source: Scalar) -> bool:
        """Whether `from:` is an unknown name that was meant to be `actions`; tells it if so."""
        name = source.text
        if self.names.anywhere(name) or did_you_mean(name, [*self.names.all(), "actions"]) != (
            "actions"
        ):
            return False
        self.problems.add(
            "GD0301", f"unknown name `{name}`", source.span, why="not declared",
            help="did you mean `actions`?",
        )  # fmt: skip
        return True

    def meant(self, source: Node) -> Node:
        """What a protocol's param stands for, where it was set to `actions` or to a type."""
        known = self.names.declared.get(source.text) if isinstance(source, Scalar) else None
        if not isinstance(known, LetName) or not known.slot:
            return source
        if not isinstance(known.body, ast.Name):
            return source
        scope = known.scope or self.names
        if known.body.id == "actions" or isinstance(scope.declared.get(known.body.id), TypeName):
            return Scalar(known.body.id, known.body.id, source.span, ())
        return source

    def wanted_moves(self, source: Node) -> tuple[str, ...] | None:
        """The declared actions that `from:` means: all of them, or those that a list names."""
        if self.moves is None:
            return None
        if isinstance(source, Scalar) and source.text == "actions":
            return tuple(entry.key.text for entry in self.moves.section)
        if not isinstance(source, Sequence):
            return None
        items = [item for item in source if isinstance(item, Scalar)]
        if not any(self.moves.entry(item.text) for item in items):
            return None
        return tuple(item.text for item in items)

    def move_options(
        self, wanted: tuple[str, ...], seats: tuple[str, ...], source: Node
    ) -> tuple[Options, ...] | None:
        assert self.moves is not None
        stranger = next((name for name in wanted if self.moves.entry(name) is None), None)
        if stranger is not None:
            self.unknown_move(stranger, source)
            return None
        saved = self.acting, self.facts
        self.acting, self.facts = seats, frozenset()
        with self.typer.context.within(self.moves.names):
            types, place = self.types, source.span
            found = self.moves.options(wanted, self.typer, types, self.body, place)
        self.acting, self.facts = saved
        if found is None:
            return None
        options, binds = found
        for names in self.bound:
            names += binds
        return (options,) * len(seats)

    @abstractmethod
    def body(self, action: Mapping) -> tuple[Step, ...]:
        """The effects of a declared action: its `do`, then its `turns`."""

    def unknown_move(self, name: str, source: Node) -> None:
        """Report a name that stands among declared actions and is none."""
        assert self.moves is not None
        items = source.items if isinstance(source, Sequence) else ()
        span = next(
            (i.span for i in items if isinstance(i, Scalar) and i.text == name), source.span
        )
        known = [entry.key.text for entry in self.moves.section]
        guess = did_you_mean(name, known)
        place = self.moves.section.entry(guess) if guess else None
        self.problems.add(
            "GD0301", f"unknown action `{name}`", span, why="not declared under `actions`",
            notes=(Note(place.key.span, "declared here"),) if place else (),
            help=f"did you mean `{guess}`?" if guess else "the actions: " + ", ".join(known[:8]),
        )  # fmt: skip

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

    # the other heads

    def show(self, item: Mapping, head: nodes.Entry, condition: ir.Expr | None) -> Step | None:
        name = item.get("as")
        typed = self.expression(head.value)
        readers = self.readers(item.get("seen_by"))
        if typed is None or not isinstance(name, Scalar):
            return None
        type, joint = typed.type, isinstance(typed.type, PerSeat)
        if readers.kind in ("owner", "others") and not joint and self.acting is None:
            self.problems.add(
                "GD0426", f"`{name.text}` has no owner", readers.span or item.span,
                why="it is one value for all", help="name who sees it",
            )  # fmt: skip
            return None
        inner = type.of if isinstance(type, PerSeat) else type
        if not self.declare(name.text, inner, joint, self.names.seats if joint else (), name.span):
            return None
        return Show(self.number(name.text), name.text, typed, readers, item.span, condition)

    def do(self, item: Mapping, head: nodes.Entry, condition: ir.Expr | None) -> Step | None:
        statements = read_statements(
            head.value, self.typer, self.problems, me=self.acting is not None, facts=self.facts
        )
        if statements is None:
            return None
        return Do(self.number("do"), statements, item.span, condition)

    def pay(self, item: Mapping, head: nodes.Entry, condition: ir.Expr | None) -> Step | None:
        stream, value = head.value, item.get("value")
        assert isinstance(stream, Scalar)
        if value is None or is_reserved_stream(stream, self.problems):
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
