"""The context in which steps are read, and what has been read of the program so far.

Every kind of step has a reader (`gamedsl.sema.step_readers.STEP_READERS`), which is given a
`StepContext` and a `WrittenStep`. What holds only for some steps, such as who acts in the body of a
loop, is said by a copy of the context (`dataclasses.replace`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.program import Step, walk_steps, written_variables
from gamedsl.ir.statements import State
from gamedsl.ir.types import BOOL, Never, Type
from gamedsl.sema.actions import DeclaredActions
from gamedsl.sema.library import Document, Loaded
from gamedsl.sema.narrow import Facts, facts, unchanged
from gamedsl.sema.options import OptionSet
from gamedsl.sema.scope import Namespace
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types
from gamedsl.sema.values import syntax

MAX_USED_TEXT = 1 << 21
"""Characters of the protocols and games that a game uses, each as often as it is used."""

_READING = 1000
"""Characters as which the work counts that each use takes, however short the file."""


_BINDING = ("choose", "say", "draw", "deal", "as", "gives")
"""The keys of a step that name what it binds."""


@dataclass
class UseBudget:
    """The rest of the work that used files may take: each is understood anew at each use, and a
    game that uses another twice, which uses another twice, is small and doubles it."""

    left: int = MAX_USED_TEXT
    loaded: Loaded = field(default_factory=dict)
    """The files that are used."""

    def take(self, document: Document) -> bool:
        """Returns whether there is enough left to use a file once more, which is then taken."""
        self.left -= len(document.root.span.source.text) + _READING
        return self.left >= 0


BuildStage = Callable[
    [Document, dict[str, Entry], Problems, tuple[str, ...], UseBudget], GameIR | None
]
"""Builds a game with params given as entries, inside the games of a chain."""


@dataclass
class Stages:
    """The games inside a game: how they are built, the games around them, and their lets."""

    build: BuildStage
    chain: tuple[str, ...]
    budget: UseBudget
    lets: list[Let] = field(default_factory=list)

    def can_use(self, document: Document, span: Span, problems: Problems) -> bool:
        """Returns whether a file that is used at `span` may be used once more; reported if not."""
        if self.budget.take(document):
            return True
        if not problems.errors:
            problems.add(
                "GD0419", "this game uses too much", span,
                why=f"what is used comes to more than {MAX_USED_TEXT:,} characters, each file as "
                "often as it is used",
                help="write a loop where the same is used again and again",
            )  # fmt: skip
        return False


@dataclass
class ProgramDraft:
    """The parts of a game's program read so far, in its own file and in those that it uses."""

    read_step: Callable[[StepContext, Mapping], tuple[Step, ...]]
    stages: Stages
    state: list[State] = field(default_factory=list)
    """The variables declared so far, those of protocols included."""
    ids: Counter[str] = field(default_factory=Counter)
    """How many steps have an id that begins with each name."""
    open_loops: list[list[str]] = field(default_factory=list)
    """The names that the steps of each open loop bind, the outermost loop first."""
    tool_calls: bool = False
    """Whether the game says that its replies are tool calls."""
    offers_actions: bool = False
    """Whether a step has offered the actions that the file lists."""
    steps_read: int = 0
    """Steps and uses of protocols, each as often as it was read."""
    outermost: Span | None = None
    """The step of the game itself that is being read."""
    sources: frozenset[str] = frozenset()
    """The names of the sources that the game itself is written in."""
    protocol_state: dict[str, tuple[Span, dict[str, Any]]] = field(default_factory=dict)
    """The protocols whose state is declared: where, and with which values of its params."""
    used_at: dict[str, list[Span]] = field(default_factory=dict)
    """The places that use each source that is used."""

    def step_id(self, name: str) -> str:
        """Returns the id of the next step of that name."""
        self.ids[name] += 1
        return name if self.ids[name] == 1 else f"{name}_{self.ids[name]}"

    @contextmanager
    def loop(self) -> Iterator[list[str]]:
        """Reads the body of a loop, and gathers the names that its steps bind."""
        bound: list[str] = []
        self.open_loops.append(bound)
        try:
            yield bound
        finally:
            self.open_loops.pop()

    def bind(self, *names: str) -> None:
        """Notes names that a step binds, for the loops around it."""
        for bound in self.open_loops:
            bound += names


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step of a file: its map, the entry that says its kind, and its condition, typed."""

    item: Mapping
    head: Entry
    condition: ir.Expr | None

    def get(self, key: str) -> Node | None:
        return self.item.get(key)

    @property
    def span(self) -> Span:
        return self.item.span


@dataclass(frozen=True)
class StepContext:
    """The context of a step's reader. `near` is the file that is read, `chain` the protocols
    that use one another down to it, `outer` the names of the files that use it."""

    typer: Typer
    program: ProgramDraft
    near: Path
    actions: dict[str, OptionSet]
    """The actions that the file lists, by seat."""
    declared_actions: DeclaredActions | None = None
    acting: tuple[str, ...] | None = None
    """The seats that may be `me` where no step says who acts; None: nobody."""
    facts: Facts = frozenset()
    """What the conditions around a step prove not to be none."""
    chain: tuple[str, ...] = ()
    outer: tuple[Namespace, ...] = ()

    @property
    def names(self) -> Namespace:
        return self.typer.names

    @property
    def problems(self) -> Problems:
        return self.typer.problems

    @property
    def types(self) -> Types:
        return Types(self.typer)

    def read_steps(self, turns: Node | None) -> tuple[Step, ...]:
        """Reads the steps of a `turns` list."""
        items = turns.items if isinstance(turns, Sequence) else ()
        found, context = list[Step](), self
        for item in items:
            if isinstance(item, Mapping):
                steps = self.program.read_step(context, item)
                found += steps
                if context.facts:
                    written = [written_variables(step) for step in walk_steps(steps)]
                    kept = unchanged(context.facts, frozenset().union(*written))
                    context = replace(context, facts=kept)
        return tuple(found)

    def read_turns(self, turns: Node | None) -> tuple[Step, ...]:
        """Reads all steps of a file; while it does, the names that steps further down bind, and
        their options, are known to be coming."""
        if turns is None:
            return ()
        names = self.names
        around = names.coming, names.coming_options
        names.coming = names.coming | dict(reversed([*names_written(turns)]))
        options = ((option.text, name) for option, name in options_written(turns))
        names.coming_options = names.coming_options | dict(reversed([*options]))
        steps = self.read_steps(turns)
        names.coming, names.coming_options = around
        return steps

    def expression(self, node: Node, expected: Type | None = None) -> ir.Expr | None:
        """Types an expression of a step; None (and a diagnostic) if it is wrong."""
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        me = self.acting is not None
        typed = self.typer.expression(tree, me=me, expected=expected, facts=self.facts)
        return None if isinstance(typed.type, Never) else typed

    def check(self, node: Node, wanted: Type, what: str, *, me: bool = False) -> ir.Expr | None:
        """Types an expression that must fit a type, which `what` names; `me` says whether it may
        read `me` though no step around it says who acts. None (and a diagnostic) if it is wrong."""
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        me = me or self.acting is not None
        typed = self.typer.check(tree, wanted, what, me=me, facts=self.facts)
        return None if isinstance(typed.type, Never) else typed

    def condition(self, node: Node, *, me: bool = False) -> tuple[ir.Expr | None, Facts]:
        """Types a condition, and returns what it proves not to be none where it holds."""
        typed = self.check(node, BOOL, "a condition", me=me)
        tree = syntax(node, self.problems) if typed is not None else None
        return typed, facts(tree, True, typed) if tree is not None else frozenset()


def _written_steps(node: Node) -> Iterator[Mapping]:
    """Yields a step, or the steps of a list, and those inside them."""
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Mapping):
            yield item
            inside = item.get("turns")
            yield from () if inside is None else _written_steps(inside)


def names_written(node: Node) -> Iterator[tuple[str, Span]]:
    """Yields the names that a step, or a list of steps, binds as it is written, with their
    places."""
    for step in _written_steps(node):
        for key in _BINDING:
            if isinstance(bound := step.get(key), Scalar):
                yield bound.text, bound.span


def options_written(node: Node) -> Iterator[tuple[Scalar, str]]:
    """Yields the options that a step, or a list of steps, lists as it is written, each with the
    name that it binds."""
    for step in _written_steps(node):
        listed = step.get("from")
        keys = [e.key for e in listed] if isinstance(listed, Mapping) else listed
        for name, _ in names_written(step):
            for option in keys if isinstance(keys, list | Sequence) else ():
                if isinstance(option, Scalar):
                    yield option, name
