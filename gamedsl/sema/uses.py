"""What a `use` step means: a protocol, in the scope of the file that uses it, or a game."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping as Map
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics import Diagnostic, Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.program import Step, walk_steps
from gamedsl.ir.types import NEVER, Never
from gamedsl.ir.values import name_of
from gamedsl.sema.actions import Moves, is_declared_form
from gamedsl.sema.heads import Heads
from gamedsl.sema.lets import declare_lets
from gamedsl.sema.library import Document, Kind, find, locate
from gamedsl.sema.params import Params
from gamedsl.sema.scope import (
    ANY,
    Declared,
    LetName,
    ParamName,
    StateName,
    report_taken,
)
from gamedsl.sema.state import States

if TYPE_CHECKING:
    from gamedsl.sema.stages import Stages

MAX_NESTING = 8
"""Protocols and games that may use each other in one chain."""


class Uses(Heads):
    """Reads `use` steps. `stages` builds the games that are used; whoever reads a game sets it."""

    stages: Stages | None = None
    sources: frozenset[str] = frozenset()
    """The names of the sources that the game itself is written in."""
    uses = 0

    @cached_property
    def stateful(self) -> dict[str, tuple[Span, dict[str, Any]]]:
        """The protocols whose state is declared: where, and with which values of its params."""
        return {}

    @cached_property
    def used_at(self) -> dict[str, list[Span]]:
        """Where each source that is used is used."""
        return {}

    @abstractmethod
    def read(self, root: Mapping) -> tuple[Step, ...]:
        """The steps of a document."""

    def use(self, node: Node) -> tuple[Step, ...]:
        """A protocol's steps, in the scope of the file that uses it; or a game, as a stage."""
        before = len(self.problems.found)
        steps = self.used(node)
        for name in dict.fromkeys(step.span.source.name for step in walk_steps(steps)):
            if name != node.span.source.name:
                self.used_at.setdefault(name, []).append(node.span)
        self.problems.found[before:] = [
            _from(problem, node, self.sources) for problem in self.problems.found[before:]
        ]
        return steps

    def used(self, node: Node) -> tuple[Step, ...]:
        name = node.get("use") if isinstance(node, Mapping) else node
        known = self.names.declared.get(name.text) if isinstance(name, Scalar) else None
        if isinstance(known, ParamName) and isinstance(known.type, Never):
            return ()
        stage = self.stage_name(node)
        if stage is not None:
            assert self.stages is not None
            return self.stages.use(self, node, stage)
        document = self.document(node)
        if document is None:
            self.names.broken.add(ANY)
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
        saved = self.near, self.chain, self.moves, self.outer
        self.near, self.chain = document.files[0], (*self.chain, document.name)
        self.outer = (outer, *self.outer)
        with self.typer.context.within(names):
            self.share_state(document, node.span, given)
            lets = document.root.get("let")
            declare_lets(
                lets, names, self.problems, lambda name: params.fresh(f"{document.name}.{name}")
            )
            section = document.root.get("actions")
            if is_declared_form(section):
                assert isinstance(section, Mapping)
                self.moves = Moves(section, names, self.problems)
            steps = self.read(document.root)
        self.near, self.chain, self.moves, self.outer = saved
        section = document.root.get("params")
        own = {e.key.text for e in section} if isinstance(section, Mapping) else set()
        self.export(names.declared, document.name, own)
        return steps

    def share_state(self, document: Document, use: Span, given: Map[str, Entry]) -> None:
        """Declare a protocol's state, once for all its uses in a game."""
        section = document.root.get("state")
        if not isinstance(section, Mapping):
            return
        params = {
            name: known.value
            for name, known in self.names.declared.items()
            if isinstance(known, ParamName) and name in _words(section)
        }
        if document.name in self.stateful:
            self.same_start(document.name, params, use, given)
            return
        self.stateful[document.name] = use, params
        found = States(self.types, self.problems, self.typer.context.learned).declare(section)
        self.state += found
        for entry in section:  # of one that was declared before nothing can be said
            for scope in self.outer:
                if entry.key.text in scope.declared:
                    scope.declared[entry.key.text] = StateName(NEVER, entry.key.span)
        for state in found:
            declared = self.names.declared[state.name]
            assert isinstance(declared, StateName)
            first = next((p for o in self.outer if (p := o.anywhere(state.name))), None)
            if not report_taken(state.name, first or state.span, first and state.span,
                                self.problems):  # fmt: skip
                self.put(state.name, declared)

    def same_start(
        self, protocol: str, params: dict[str, Any], use: Span, given: Map[str, Entry]
    ) -> None:
        """A later use of a protocol has the state of the first: it must not want another."""
        first, before = self.stateful[protocol]
        for name, value in params.items():
            if value == before.get(name, value):
                continue
            self.problems.add(
                "GD0461", f"`{protocol}` has its state already, with another `{name}`",
                given[name].value.span if name in given else use,
                why=f"this is {name_of(value)}, and the state began with {name_of(before[name])}",
                notes=(Note(first, "its state begins with this use"),),
                help=f"give all uses one `{name}`, and change the state in a `do` before this one",
            )  # fmt: skip

    def export(self, found: Map[str, Declared], what: str, own: set[str]) -> None:
        """The lets of a protocol, as names of the file that uses it. They are read anew at each
        use, with the params of that use; those of the last use have the plain names."""
        for name, declared in found.items():
            if not isinstance(declared, LetName) or declared.name in self.names.declared:
                continue
            self.names.declared[declared.name] = declared
            if name in own:
                continue
            earlier = self.names.declared.get(name)
            first = self.names.anywhere(name)
            if isinstance(earlier, LetName) and earlier.name.startswith(f"{what}."):
                first = None
            if not report_taken(
                name, first or declared.span, first and declared.span, self.problems
            ):
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
            return Scalar(known.value, known.value, known.span, ())
        if locate("protocol", name.text, self.near) is None:
            itself = self.stages is not None and name.text in self.stages.chain
            if itself or locate("game", name.text, self.near):
                return name
        return None

    def document(self, node: Node) -> Document | None:
        return open_used("protocol", node, self.near, self.problems)


def _from(problem: Diagnostic, node: Node, own: frozenset[str]) -> Diagnostic:
    """A problem of a file that is used, with the place where it is, or where the param is set that
    stands there; `own` are the game's files."""
    use = node.span
    told = {problem.span.source.name, *(note.span.source.name for note in problem.notes)}
    if problem.span.source.name in own or use.source.name in told:
        return problem
    note = Note(use, "used here")
    for name, entry in settings_of(node, "if", "weight", "seen_by").items():
        if re.search(rf"\b{re.escape(name)}\b", problem.span.text):
            note = Note(entry.value.span, f"`{name}` is this")
    return replace(problem, notes=(*problem.notes, note))


def with_uses(problem: Diagnostic, uses: Map[str, tuple[Span, ...]]) -> Diagnostic:
    """A problem that was found once the game was read, with the places that use its file, and the
    files of these places in turn. `uses` is `GameIR.uses`."""
    told, notes = {problem.span}, list[Note]()
    waiting = [problem.span.source.name]
    while waiting:
        for use in uses.get(waiting.pop(), ()):
            if use not in told and len(notes) < MAX_NESTING:
                told.add(use)
                notes.append(Note(use, "used here"))
                waiting.append(use.source.name)
    return replace(problem, notes=(*problem.notes, *notes))


def _words(node: Node) -> set[str]:
    """The words in the values of a section."""
    if isinstance(node, Scalar):
        return set(re.findall(r"[A-Za-z_]\w*", node.text))
    parts = node.items if isinstance(node, Sequence) else [e.value for e in node.entries]
    return {word for part in parts for word in _words(part)}


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
