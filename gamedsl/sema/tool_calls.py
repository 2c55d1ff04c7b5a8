"""Declared actions with open arguments: a tool call, read from a reply as what is said is.

Where an argument has no list of its values (a text, a number, a record with one of these), nothing
lists the options of a decision that offers its action. Such a decision is open. It binds a record
with a field for each action: the record of its arguments if it was called, else none. The guards of
the actions (`roles`, `when`, and arguments from a collection of the play) are conditions that the
call must meet, as `valid` is, and what an action does are steps behind the decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import element
from gamedsl.ir.json_types import longest, readable
from gamedsl.ir.program import Reason, Step
from gamedsl.ir.types import (
    BOOL,
    NONE,
    SEAT,
    Never,
    Option,
    PerSeat,
    Record,
    Type,
    domain,
    has_text,
    plain,
)
from gamedsl.sema.actions import DeclaredActions
from gamedsl.sema.scope import ArgumentName, report_taken
from gamedsl.sema.step_context import StepContext


@dataclass(frozen=True)
class Argument:
    """An argument of a tool: its type, and the collection it is taken from, where that is worked
    out during play."""

    name: Scalar
    type: Type
    source: Node | None
    about: str


@dataclass(frozen=True)
class Tool:
    """A declared action that a tool call can name."""

    entry: Entry
    arguments: tuple[Argument, ...]
    about: str

    @property
    def name(self) -> str:
        return self.entry.key.text

    @property
    def record(self) -> Record:
        return Record(self.name, tuple((one.name.text, one.type) for one in self.arguments))

    def get(self, key: str) -> Node | None:
        value = self.entry.value
        return value.get(key) if isinstance(value, Mapping) else None


@dataclass(frozen=True)
class Tools:
    """The tools of one decision."""

    tools: tuple[Tool, ...]
    type: Record
    texts: tuple[tuple[str, str], ...]
    """What prompts say of a tool (`search`) or of an argument (`search.query`)."""


def has_open_argument(context: StepContext, wanted: tuple[str, ...]) -> bool:
    """Whether one of these declared actions has an argument whose values cannot be listed. Where
    replies are no tool calls only texts count: there a number without bounds is a slip."""
    actions = context.declared_actions
    if actions is None:
        return False
    entries = [entry for name in wanted if (entry := actions.entry(name)) is not None]
    arguments = [argument for entry in entries for argument in _written_arguments(entry)]
    with context.typer.context.within(actions.names):
        types = [_written_type(context, _source(argument.value)) for argument in arguments]
    return any(
        domain(type, context.names.seats) is None
        and (context.program.tool_calls or has_text(type))
        for type in types if type is not None
    )  # fmt: skip


def read_tools(context: StepContext, wanted: tuple[str, ...], variable: str) -> Tools | None:
    """Reads the named actions as the tools of one decision; None (and a diagnostic) if wrong."""
    actions, problems = context.declared_actions, context.problems
    assert actions is not None
    tools = []
    actions.offered.update(wanted)
    for name in wanted:
        entry = actions.entry(name)
        assert entry is not None
        tool = _read_tool(context, actions, entry)
        if tool is None:
            return None
        why = readable(tool.record, context.names.seats)
        if why is not None:
            problems.add(
                "GD0480", f"`{name}` cannot be read from a reply", entry.key.span, why=why,
                help="give it finite types, numbers, `text(80)`, or records of these",
            )  # fmt: skip
            return None
        context.names.members.setdefault(name, entry.key.span)
        tools.append(tool)
    fields = tuple((tool.name, Option(tool.record)) for tool in tools)
    texts = [(tool.name, tool.about) for tool in tools]
    texts += [(f"{t.name}.{a.name.text}", a.about) for t in tools for a in t.arguments]
    return Tools(tuple(tools), Record(variable, fields), tuple(pair for pair in texts if pair[1]))


def read_guards(context: StepContext, tools: Tools, called: ir.Expr) -> tuple[Reason, ...] | None:
    """Reads the conditions that a call must meet by the actions' own guards; `called` is the record
    of the call. None (and a diagnostic) if one is wrong."""
    found: list[Reason] = []
    before = context.problems.count_errors()
    for place, tool in enumerate(tools.tools):
        own = ir.Field(Option(tool.record), tool.entry.key.span, called, place)
        with _arguments_bound(context, tool, own):
            for test, text in _guards(context, tool):
                absent = ir.Apply(BOOL, test.span, "==", (own, ir.Const(NONE, test.span, None)))
                found.append(Reason(ir.Logic(BOOL, test.span, "or", absent, test), text))
    return None if context.problems.count_errors() > before else tuple(found)


def read_effects(
    context: StepContext, tools: Tools, variable: str, called: ir.Expr, joint: bool
) -> tuple[Step, ...]:
    """Reads what the actions do, as steps behind the decision that calls them."""
    found: list[Step] = []
    for place, tool in enumerate(tools.tools):
        do = tool.entry.value.entry("do") if isinstance(tool.entry.value, Mapping) else None
        body = tool.get("turns")
        items = body.items if isinstance(body, Sequence) else ()
        if do is not None:
            items = (Mapping((do,), do.value.span), *items)
        if not items:
            continue
        span = tool.entry.key.span
        own = ir.Field(Option(tool.record), span, called, place)
        part = f"{variable}.me.{tool.name}" if joint else f"{variable}.{tool.name}"
        test = Scalar(f"{part} != none", f"{part} != none", span, ())
        turns = Sequence(tuple(items), span)
        block = Mapping((_entry("if", test, span), _entry("turns", turns, span)), span)
        with _arguments_bound(context, tool, own):
            found += context.read_steps(Sequence((block,), span))
    return tuple(found)


def longest_call(type: Record, seats: tuple[str, ...]) -> int | None:
    """Returns the characters of the longest call, written without blanks; None for no bound."""
    found = [longest(plain(of), seats) for _, of in type.fields]
    known = [size for size in found if size is not None]
    if len(known) < len(found):
        return None
    return max(
        len('{"name":"","arguments":}') + len(name) + size
        for (name, _), size in zip(type.fields, known, strict=True)
    )


def _entry(key: str, value: Node, span: Span) -> Entry:
    return Entry(Scalar(key, key, span, ()), value)


def _written_arguments(entry: Entry) -> tuple[Entry, ...]:
    args = entry.value.get("args") if isinstance(entry.value, Mapping) else None
    return args.entries if isinstance(args, Mapping) else ()


def _source(node: Node) -> Node:
    """Returns what is written of an argument's values, without what it is `about`."""
    of = node.get("of") if isinstance(node, Mapping) else None
    return node if of is None else of


def _about(node: Node | None) -> str:
    about = node.get("about") if isinstance(node, Mapping) else None
    return " ".join(about.text.split()) if isinstance(about, Scalar) else ""


def _written_type(context: StepContext, node: Node) -> Type | None:
    """Returns the type that a node names; None for an expression that gives a collection."""
    with context.typer.context.collecting():
        found = context.types.read(node)
    return None if found is None else found.type


def _read_tool(context: StepContext, actions: DeclaredActions, entry: Entry) -> Tool | None:
    """Reads an action's name and the types of its arguments."""
    names, problems = context.names, context.problems
    node = entry.value if isinstance(entry.value, Mapping) else Mapping((), entry.value.span)
    before = problems.count_errors()
    found: list[Argument] = []
    earlier: set[str] = set()
    with context.typer.context.scope(frozenset(), {}):
        for written in _written_arguments(entry):
            name, source = written.key.text, _source(written.value)
            if report_taken(name, written.key.span, names.place(name), problems):
                continue
            type, collection = _written_type(context, source), None
            if type is None:
                type, collection = _element_type(context, actions, found, source), source
            if type is not None:
                found.append(Argument(written.key, type, collection, _about(written.value)))
            earlier.add(name)
    if problems.count_errors() > before:
        return None
    actions.arguments.update(earlier)
    return Tool(entry, tuple(found), _about(node))


def _element_type(
    context: StepContext, actions: DeclaredActions, earlier: list[Argument], source: Node
) -> Type | None:
    """Returns the type of an argument that is taken from a collection of the play."""
    names = context.names
    with context.typer.context.scope(frozenset(one.name.text for one in earlier), {}):
        for one in earlier:
            names.declared[one.name.text] = ArgumentName(one.type, one.name.span)
        typed = actions.source(source, context.typer, context.types)
        for one in earlier:
            names.declared.pop(one.name.text, None)
    if typed is None or isinstance(typed.type, Never):
        return None
    of = element(typed.type)
    if of is None:
        context.problems.add(
            "GD0404", "the values of an argument must be a list", source.span,
            why=f"this is {typed.type}",
            help="write a type, a range, or a collection such as `empty(board)`",
        )  # fmt: skip
    return of


@contextmanager
def _arguments_bound(context: StepContext, tool: Tool, own: ir.Expr) -> Iterator[None]:
    """Declares the arguments of a tool as the parts of its call, while what reads them is read."""
    names, typing = context.names, context.typer.context
    for place, one in enumerate(tool.arguments):
        value = ir.Field(one.type, one.name.span, own, place)
        names.declared[one.name.text] = ArgumentName(one.type, one.name.span, value)
    own_names = frozenset(one.name.text for one in tool.arguments)
    with typing.scope(typing.scoped | own_names, typing.known):
        yield
    for one in tool.arguments:
        names.declared.pop(one.name.text, None)


def _guards(context: StepContext, tool: Tool) -> Iterator[tuple[ir.Expr, str]]:
    """Yields the conditions of an action, each with what its author is told where it fails."""
    actions = context.declared_actions
    assert actions is not None
    node = tool.entry.value
    if isinstance(node, Mapping):
        guard = actions.guard(node, context.typer)
        if guard is not None:
            yield guard, f"`{tool.name}` cannot be called now"
    for one in tool.arguments:
        source = one.source
        typed = None
        if source is not None:
            typed = actions.source(source, context.typer, context.types)
        if typed is not None and not isinstance(typed.type, Never):
            declared = context.names.declared[one.name.text]
            assert isinstance(declared, ArgumentName)
            assert declared.value is not None
            among = ir.Apply(BOOL, typed.span, "in", (declared.value, typed))
            yield among, f"`{one.name.text}` of `{tool.name}` is not one of those that are possible"


def record_of_call(variable: str, type: Record, joint: bool, span: Span) -> ir.Expr:
    """Returns the record of a call, for who made it."""
    if not joint:
        return ir.Read(type, span, variable)
    whole = ir.Read(PerSeat(type, True), span, variable)
    return ir.Get(type, span, whole, ir.Me(SEAT, span))
