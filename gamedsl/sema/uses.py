"""What a `use` step means: a protocol, in the scope of the file that uses it, or a game."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping as Map
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gamedsl.diagnostics import Problems
from gamedsl.ir.program import Step
from gamedsl.sema.actions import Moves, is_declared_form
from gamedsl.sema.heads import Heads
from gamedsl.sema.lets import declare_lets
from gamedsl.sema.library import Document, Kind, find, locate
from gamedsl.sema.params import Params
from gamedsl.sema.scope import Declared, LetName, ParamName, StateName, VariableName, report_taken
from gamedsl.sema.state import States
from gamedsl.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.source.spans import Span

if TYPE_CHECKING:
    from gamedsl.sema.stages import Stages

MAX_NESTING = 8
"""Protocols and games that may use each other in one chain."""


class Uses(Heads):
    """Reads `use` steps. `stages` builds the games that are used; whoever reads a game sets it."""

    stages: Stages | None = None
    uses = 0

    @abstractmethod
    def read(self, root: Mapping) -> tuple[Step, ...]:
        """The steps of a document."""

    def use(self, node: Node) -> tuple[Step, ...]:
        """A protocol's steps, in the scope of the file that uses it; or a game, as a stage."""
        stage = self.stage_name(node)
        if stage is not None:
            assert self.stages is not None
            return self.stages.use(self, node, stage)
        document = self.document(node)
        if document is None:
            return ()
        self.uses += 1
        if not self.may_use(document, node.span):
            return ()
        kept = {
            n: d for n, d in self.names.declared.items() if not isinstance(d, ParamName | LetName)
        }
        outer = self.names
        names = replace(outer, declared=dict(kept), later={})
        what, given = f"the protocol `{document.name}`", settings_of(node, "if")
        params = Params(names, self.problems, what, node.span, given, outer)
        params.declare(document.root.get("params"))
        saved = self.near, self.chain, self.moves
        self.near, self.chain = document.files[0], (*self.chain, document.name)
        with self.typer.within(names):
            self.state += States(self.types, self.problems, self.typer.learned).declare(
                document.root.get("state")
            )
            declare_lets(document.root.get("let"), names, self.problems)
            section = document.root.get("actions")
            if is_declared_form(section):
                assert isinstance(section, Mapping)
                self.moves = Moves(section, names, self.problems)
            steps = self.read(document.root)
        self.near, self.chain, self.moves = saved
        self.export(names.declared, kept)
        return steps

    def export(self, found: Map[str, Declared], kept: Map[str, Declared]) -> None:
        """What a protocol declared, as names of the file that uses it."""
        for name, declared in found.items():
            if isinstance(declared, ParamName):
                continue
            if name in kept:
                self.names.declared[name] = declared
                continue
            assert isinstance(declared, VariableName | StateName | LetName)
            first = self.names.anywhere(name)
            if not report_taken(name, first or declared.span, first and declared.span,
                                self.problems):  # fmt: skip
                self.names.declared[name] = declared

    def may_use(self, document: Document, span: Span) -> bool:
        """Whether a protocol may be used here: not inside itself, and not too deep."""
        if document.name not in self.chain and len(self.chain) < MAX_NESTING:
            return True
        ring = (*self.chain, document.name)
        self.problems.add(
            "GD0405",
            f"the protocol `{document.name}` uses itself"
            if document.name in self.chain
            else f"protocols use each other more than {MAX_NESTING} deep",
            span,
            why=" → ".join(ring),
            help="delete this step, or write the steps themselves",
        )
        return False

    def stage_name(self, node: Node) -> Scalar | None:
        """The name of the game that a `use` means; None where it means a protocol."""
        name = node.get("use") if isinstance(node, Mapping) else node
        if not isinstance(name, Scalar):
            return None
        known = self.names.declared.get(name.text)
        if isinstance(known, ParamName) and isinstance(known.value, str):
            return Scalar(known.value, known.value, name.span, ())
        if locate("protocol", name.text, self.near) is None and locate(
            "game", name.text, self.near
        ):
            return name
        return None

    def document(self, node: Node) -> Document | None:
        return open_used("protocol", node, self.near, self.problems)


def open_used(kind: Kind, node: Node, near: Path, problems: Problems) -> Document | None:
    """The protocol or reward file that a name, or a map with `use:`, refers to."""
    name = node.get("use") if isinstance(node, Mapping) else node
    if not isinstance(name, Scalar):
        return None
    return find(kind, name.text, near, problems, name.span)


def settings_of(node: Node, *own: str) -> dict[str, Entry]:
    """The params that a `use:` map sets; `own` are its other keys."""
    if not isinstance(node, Mapping):
        return {}
    return {e.key.text: e for e in node if e.key.text not in ("use", *own)}
