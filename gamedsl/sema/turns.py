"""The turn program: steps of the file and of the protocols that it uses, in one sequence."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import Choose
from gamedsl.ir.types import Type, join
from gamedsl.sema.library import Document, find
from gamedsl.sema.params import declare_params
from gamedsl.sema.roles import NAME, Options, read_options
from gamedsl.sema.scope import WORDS, Names, VariableName
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

MAX_NESTING = 8
"""Protocols that may use each other in one chain."""


@dataclass
class Turns:
    """What is needed to read steps, and the steps read so far."""

    names: Names
    actions: dict[str, Options]
    near: Path
    problems: Problems
    chain: tuple[str, ...] = ()
    steps: list[Choose] = field(default_factory=list)

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
        """A protocol's steps, in the scope of the file that uses it; only its params are its own."""
        document = open_used("protocol", node, self.near, self.problems)
        if document is None:
            return
        if document.name in self.chain or len(self.chain) >= MAX_NESTING:
            ring = " → ".join((*self.chain, document.name))
            self.problems.add(
                "GD0405", f"the protocol `{document.name}` uses itself", node.span, why=ring
            )
            return
        outer = dict(self.names.declared)
        declare_params(
            document.root.get("params"),
            settings_of(node),
            self.names,
            self.problems,
            what=f"the protocol `{document.name}`",
            use=node.span,
        )
        before = len(self.steps)
        inner = Turns(
            self.names,
            self.actions,
            document.files[0],
            self.problems,
            (*self.chain, document.name),
            self.steps,
        )
        inner.read(document.root)
        bound = {step.variable for step in self.steps[before:]}
        declared = {n: d for n, d in self.names.declared.items() if n in bound}
        self.names.declared = {**outer, **declared}

    def choose(self, item: Mapping) -> None:
        head = item.entry("choose")
        assert head is not None and isinstance(head.value, Scalar)
        variable, span = head.value.text, head.value.span
        if not NAME.match(variable) or variable in WORDS:
            self.problems.add(
                "GD0318", f"`{variable}` cannot be a name", span, why="a step binds a new name"
            )
            return
        actors = self.actors(item)
        source = item.get("from")
        if actors is None or source is None:
            return
        seats, joint = actors
        options = self.options(source, seats)
        if options is None:
            return
        type = self.common(options, source)
        if type is not None and self.declare(variable, type, joint, span):
            uses = sum(step.variable == variable for step in self.steps)
            step_id = variable if uses == 0 else f"{variable}_{uses + 1}"
            choices = tuple(o.choices for o in options)
            self.steps.append(Choose(step_id, variable, seats, joint, choices, type, item.span))

    def actors(self, item: Mapping) -> tuple[tuple[str, ...], bool] | None:
        """The seats that act and whether the step binds a map: `all`, a list, a role, a seat."""
        role = item.entry("role")
        if role is None:
            self.problems.add(
                "GD0406",
                "nobody acts in this step",
                item.span,
                why="`choose` needs a `role`",
                help="add `role: all`, or the name of a role",
            )
            return None
        items = role.value.items if isinstance(role.value, Sequence) else (role.value,)
        seats: list[str] = []
        for part in items:
            found = self.seats_of(part, role)
            if found is None:
                return None
            seats += [s for s in found if s not in seats]
        single = len(items) == 1 and not isinstance(role.value, Sequence) and len(seats) == 1
        joint = not single or items[0].span.text == "all"
        return tuple(s for s in self.names.seats if s in seats), joint

    def seats_of(self, node: Node, role: Entry) -> tuple[str, ...] | None:
        text = node.text if isinstance(node, Scalar) else ""
        if text == "all":
            return self.names.seats
        if text in self.names.roles:
            return self.names.roles[text]
        if text in self.names.seats:
            return (text,)
        guess = did_you_mean(text, [*self.names.roles, *self.names.seats, "all"])
        places = [self.names.role_spans[guess]] if guess and guess in self.names.role_spans else []
        self.problems.add(
            "GD0320",
            f"unknown role `{text}`",
            node.span,
            why="not a role of this game",
            help=f"did you mean `{guess}`?"
            if guess
            else "the roles: " + ", ".join(self.names.seats),
            notes=tuple(Note(place, "declared here") for place in places),
        )
        return None

    def options(self, source: Node, seats: tuple[str, ...]) -> tuple[Options, ...] | None:
        """The options of each acting seat."""
        if isinstance(source, Scalar) and source.text == "actions":
            missing = [s for s in seats if s not in self.actions]
            if missing:
                self.problems.add(
                    "GD0407",
                    f"`{missing[0]}` has no actions",
                    source.span,
                    why="`actions` does not name them",
                    help="add the section `actions:`, or a list for this role in it",
                )
                return None
            return tuple(self.actions[s] for s in seats)
        options = read_options(source, self.names, self.problems)
        return options and (options,) * len(seats)

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

    def declare(self, variable: str, type: Type, joint: bool, span: Span) -> bool:
        """Bind a name; a second step may bind it again with the same type."""
        earlier = self.names.declared.get(variable)
        if isinstance(earlier, VariableName):
            joined = join(earlier.type, type)
            if joined is None or earlier.joint != joint:
                self.problems.add(
                    "GD0319",
                    f"`{variable}` is bound twice, with different types",
                    span,
                    why=f"here {type}",
                    notes=(Note(earlier.span, f"here {earlier.type}"),),
                    help="choose another name",
                )
                return False
            type = joined
        elif (place := self.names.place(variable)) is not None:
            self.problems.add(
                "GD0319",
                f"`{variable}` is declared twice",
                span,
                notes=(Note(place, "first declared here"),),
                help="choose another name",
            )
            return False
        self.names.declared[variable] = VariableName(type, joint, span)
        return True


def open_used(kind: str, node: Node, near: Path, problems: Problems) -> Document | None:
    """The protocol or reward file that a name, or a map with `use:`, refers to."""
    name = node.get("use") if isinstance(node, Mapping) else node
    if not isinstance(name, Scalar):
        return None
    return find(kind, name.text, near, problems, name.span)


def settings_of(node: Node) -> dict[str, Node]:
    """The params that a `use:` map sets."""
    if not isinstance(node, Mapping):
        return {}
    return {entry.key.text: entry.value for entry in node if entry.key.text != "use"}
