"""The turn program: steps of the file and of the protocols that it uses, in one sequence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.program import Choose
from gamedsl.ir.types import Type, join
from gamedsl.sema.actions import Options, read_options
from gamedsl.sema.library import Document, Kind, find
from gamedsl.sema.params import Params
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.scope import Declared, Names, VariableName, report_taken
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

MAX_NESTING = 8
"""Protocols that may use each other in one chain."""

MAX_STEPS = 1000
"""Steps of one game."""


@dataclass
class Turns:
    """What is needed to read steps, and the steps read so far."""

    names: Names
    actions: dict[str, Options]
    near: Path
    problems: Problems
    chain: tuple[str, ...] = ()
    steps: list[Choose] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    """The protocols used so far, anywhere in the game."""
    loaded: dict[tuple[str, Path], Document | None] = field(default_factory=dict)
    """What a name means to a file, each read once."""

    def read(self, root: Mapping) -> None:
        """The steps of a document: its `turns`, or the protocol that stands for them."""
        protocol = root.entry("protocol")
        if self.chain == () and protocol is not None:
            self.use(protocol.value)
            return
        turns = root.get("turns")
        if isinstance(turns, Sequence):
            for item in turns:
                if isinstance(item, Mapping):
                    self.step(item)

    def step(self, item: Mapping) -> None:
        if item.get("use") is not None:
            self.use(item)
        else:
            self.choose(item)

    def use(self, node: Node) -> None:
        """A protocol's steps, in the scope of the file that uses it; its params are its own."""
        document = self.document(node)
        if document is None:
            return
        self.uses.append(document.name)
        if self.too_long(node.span):
            return
        ring = (*self.chain, document.name)
        if document.name in self.chain or len(self.chain) >= MAX_NESTING:
            self.problems.add(
                "GD0405",
                f"the protocol `{document.name}` uses itself"
                if document.name in self.chain
                else f"protocols use each other more than {MAX_NESTING} deep",
                node.span,
                why=" → ".join(ring),
                help="delete this step, or write the steps themselves",
            )
            return
        variables: dict[str, Declared] = {
            n: d for n, d in self.names.declared.items() if isinstance(d, VariableName)
        }
        names = replace(self.names, declared=dict(variables), later={})
        what, given = f"the protocol `{document.name}`", settings_of(node)
        params = Params(names, self.problems, what, node.span, given, self.names)
        params.declare(document.root.get("params"))
        inner = replace(self, names=names, near=document.files[0], chain=ring)
        inner.read(document.root)
        for name, variable in names.declared.items():
            if isinstance(variable, VariableName) and name not in variables:
                self.bind(name, variable)
            elif isinstance(variable, VariableName):
                self.names.declared[name] = variable

    def document(self, node: Node) -> Document | None:
        name = node.get("use") if isinstance(node, Mapping) else node
        key = (name.text if isinstance(name, Scalar) else "", self.near)
        if key not in self.loaded:
            self.loaded[key] = open_used("protocol", node, self.near, self.problems)
        return self.loaded[key]

    def too_long(self, span: Span) -> bool:
        if len(self.steps) < MAX_STEPS and len(self.uses) <= MAX_STEPS:
            return False
        if not self.problems.errors:
            why = f"at most {MAX_STEPS} steps, and as many uses of protocols"
            self.problems.add("GD0419", "this game has too many steps", span, why=why)
        return True

    def bind(self, name: str, variable: VariableName) -> None:
        """A variable of a protocol, as a name of the file that uses it."""
        first = self.names.anywhere(name)
        if not report_taken(name, first or variable.span, first and variable.span, self.problems):
            self.names.declared[name] = variable

    def choose(self, item: Mapping) -> None:
        head = item.entry("choose")
        assert head is not None
        assert isinstance(head.value, Scalar)
        if self.too_long(item.span):
            return
        variable, span = head.value.text, head.value.span
        actors = self.actors(item)
        source = item.get("from")
        if actors is None or source is None:
            return
        seats, joint = actors
        options = self.options(source, seats)
        if options is None:
            return
        type = self.common(options, source)
        if type is not None and self.declare(variable, type, joint, seats, span):
            uses = sum(step.variable == variable for step in self.steps)
            step_id = variable if uses == 0 else f"{variable}_{uses + 1}"
            choices = tuple(o.choices for o in options)
            self.steps.append(Choose(step_id, variable, seats, joint, choices, type, item.span))

    def actors(self, item: Mapping) -> tuple[tuple[str, ...], bool] | None:
        """The seats that act and whether the step binds a map: `all`, a list, a role, a seat."""
        role = item.entry("role")
        assert role is not None
        items = role.value.items if isinstance(role.value, Sequence) else (role.value,)
        seats: list[str] = []
        for part in items:
            found = self.seats_of(part)
            if found is None:
                return None
            seats += [s for s in found if s not in seats]
        single = len(items) == 1 and not isinstance(role.value, Sequence) and len(seats) == 1
        joint = not single or getattr(items[0], "text", "") == "all"
        return tuple(s for s in self.names.seats if s in seats), joint

    def seats_of(self, node: Node) -> tuple[str, ...] | None:
        text = node.text if isinstance(node, Scalar) else ""
        seats = self.names.seats if text == "all" else self.names.seats_of(text)
        if not seats:
            unknown_role(text, node.span, self.names, self.problems, "all")
        return seats or None

    def options(self, source: Node, seats: tuple[str, ...]) -> tuple[Options, ...] | None:
        """The options of each acting seat."""
        if isinstance(source, Scalar) and source.text == "actions":
            missing = [s for s in seats if s not in self.actions]
            if missing and not self.problems.errors:
                self.no_actions(missing[0], source.span)
            return None if missing else tuple(self.actions[s] for s in seats)
        options = read_options(source, self.names, self.problems)
        return (options,) * len(seats) if options else None

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
        return True


def open_used(kind: Kind, node: Node, near: Path, problems: Problems) -> Document | None:
    """The protocol or reward file that a name, or a map with `use:`, refers to."""
    name = node.get("use") if isinstance(node, Mapping) else node
    if not isinstance(name, Scalar):
        return None
    return find(kind, name.text, near, problems, name.span)


def settings_of(node: Node) -> dict[str, Entry]:
    """The params that a `use:` map sets."""
    if not isinstance(node, Mapping):
        return {}
    return {entry.key.text: entry for entry in node if entry.key.text != "use"}
