"""Decisions: `choose` steps, with options to choose from, and `say` steps, answered in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.schema.shape import check_part
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir import program
from gamedsl.ir.builtins import element
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.json_types import longest, readable
from gamedsl.ir.program import (
    Action,
    Call,
    Choose,
    Do,
    Loop,
    Reason,
    ReplyForm,
    Said,
    Step,
    walk_steps,
)
from gamedsl.ir.statements import Place, Readers, write_of
from gamedsl.ir.types import (
    BOOL,
    SEAT,
    TEXT,
    List,
    Option,
    PerSeat,
    Record,
    Text,
    Type,
    has_text,
    join,
    plain,
    text_or_record,
)
from gamedsl.sema.bindings import (
    check_storable,
    declare_variable,
    own_part,
    read_target,
    readers_of_state,
)
from gamedsl.sema.effects import read_do
from gamedsl.sema.options import OptionSet, read_options
from gamedsl.sema.prompt_sections import read_entries
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.scope import LetName, StateName, TypeName
from gamedsl.sema.state import States
from gamedsl.sema.step_context import StepContext, WrittenStep
from gamedsl.sema.tool_calls import (
    has_open_argument,
    longest_call,
    read_effects,
    read_guards,
    read_tools,
    record_of_call,
)
from gamedsl.sema.types import Types
from gamedsl.sema.visibility import read_step_readers

NOTHING = "nothing"
"""The word of `knows` for an actor who knows nothing."""

MAX_TOKENS = 32_768
"""Tokens that one reply may have at most."""


@dataclass(frozen=True, slots=True)
class Actors:
    """The seats that may act, whether all do at once (`joint`), and else who acts, where that is
    worked out when the step is reached. Of several who act at once, `among` are those who do."""

    seats: tuple[str, ...]
    joint: bool
    actor: ir.Expr | None = None
    among: ir.Expr | None = None

    def items(self, span: Span) -> ir.Expr:
        """Returns those who act as a list, in their order."""
        if self.among is not None:
            return self.among
        if self.joint:
            return ir.Const(List(SEAT, len(self.seats)), span, self.seats)
        only = self.actor or ir.Const(SEAT, span, self.seats[0])
        return ir.Build(List(SEAT, 1), span, (only,))

    def condition(self, step: WrittenStep) -> ir.Expr | None:
        """Returns when each of the seats acts at a step."""
        if self.among is None:
            return step.condition
        me = ir.Me(SEAT, self.among.span)
        own = ir.Apply(BOOL, self.among.span, "in", (me, self.among))
        if step.condition is None:
            return own
        return ir.Logic(BOOL, self.among.span, "and", step.condition, own)


@dataclass(frozen=True, slots=True)
class DecisionBinding:
    """The binding of a decision: a variable, or a part of the state, and its readers."""

    variable: str
    place: Place | None
    readers: Readers


def read_choose(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `choose:`, a decision with options."""
    actors, source = read_actors(context, step.item), step.get("from")
    if actors is None or source is None:
        return None
    wanted = _declared_actions(context, _slot_value(context, source))
    if wanted is not None and has_open_argument(context, wanted):
        return _read_tool_call(context, step, actors, wanted)
    if not _check_closed(context, step):
        return None
    options = _options(context, source, actors.seats)
    if options is None:
        return None
    type = _common_type(context, options, source)
    alone = not actors.joint or len(actors.seats) == 1
    if type is None or not (alone or _check_own_writes(context, options[0].moves)):
        return None
    bound = _binding(context, step, type, actors)
    if bound is None:
        return None
    choices = tuple(o.choices for o in options)
    knows = _read_knows(context, step.get("knows"))
    return (
        Choose(
            context.program.step_id(bound.variable), bound.variable, actors.seats, actors.joint,
            choices, type, step.span, condition=actors.condition(step), actor=actors.actor,
            legal=options[0].legal, moves=options[0].moves, place=bound.place,
            readers=bound.readers, knows=knows, about=_question(step),
        ),
    )  # fmt: skip


def read_say(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `say:`, a decision that is answered in words."""
    actors, wanted = read_actors(context, step.item), step.get("read")
    if actors is None:
        return None
    type = _reply_type(context, wanted, step.head.value, "")
    form = None if type is None else _reply_form(context, wanted, type)
    if type is None or form is None:
        return None
    most = None if form == "code" else longest(type, context.names.seats)
    limit = _token_limit(context, step, most, form in ("json", "either"))
    if limit is None:
        return None
    bound = _binding(context, step, type, actors)
    if bound is None:
        return None
    own = _own_types(context, wanted, step.head.value, type, actors.seats)
    if bound.place is not None and isinstance(bound.place.type, Text) and wanted is None:
        type = bound.place.type
    reasons = _read_valid(context, step.get("valid"))
    if reasons is None:
        return None
    return (
        Choose(
            context.program.step_id(bound.variable), bound.variable, actors.seats, actors.joint,
            ((),) * len(actors.seats), type, step.span, condition=actors.condition(step),
            actor=actors.actor, place=bound.place, readers=bound.readers,
            said=replace(_open_reply(form, limit, reasons), types=own), about=_question(step),
        ),
    )  # fmt: skip


def _open_reply(
    form: ReplyForm, limit: int, reasons: tuple[Reason, ...],
    about: tuple[tuple[str, str], ...] = (),
) -> Said:  # fmt: skip
    valid: ir.Expr | None = None
    for reason in reasons:
        test = reason.test
        valid = test if valid is None else ir.Logic(BOOL, test.span, "and", valid, test)
    told = reasons if any(reason.text for reason in reasons) else ()
    return Said(form, limit, valid, told, about)


def _read_valid(context: StepContext, node: Node | None) -> tuple[Reason, ...] | None:
    """Reads `valid:`, a condition or a list of conditions, each alone or as `{when, say}`; None
    (and a diagnostic) where one is wrong."""
    found: list[Reason] = []
    items = node.items if isinstance(node, Sequence) else () if node is None else (node,)
    for item in items:
        test, text = item, ""
        if isinstance(item, Mapping):
            when, say = item.get("when"), item.get("say")
            assert when is not None
            assert isinstance(say, Scalar)
            test, text = when, " ".join(say.text.split())
        with context.typer.context.consulting():
            typed = context.check(test, BOOL, "a condition", me=True)
        if typed is None:
            return None
        found.append(Reason(typed, text))
    return tuple(found)


def _read_tool_call(
    context: StepContext, step: WrittenStep, actors: Actors, wanted: tuple[str, ...]
) -> tuple[Step, ...] | None:
    """Reads `choose:` of actions with open arguments, a decision that a tool call answers."""
    head = step.head.value
    actions, knows = context.declared_actions, step.item.entry("knows")
    assert actions is not None
    assert isinstance(head, Scalar)
    unknown = next((name for name in wanted if actions.entry(name) is None), None)
    if unknown is not None:
        source = step.get("from")
        assert source is not None
        _report_unknown_action(context, unknown, source, actions.section)
        return None
    if knows is not None:
        context.problems.add(
            "GD0120", "`knows` does not go with open arguments", knows.key.span,
            why="a tool call is an open decision, and who makes one recalls what it has seen",
            help="leave it out",
        )  # fmt: skip
        return None
    typing = context.typer.context
    with typing.within(actions.names):
        tools = read_tools(context, wanted, head.text)
    if tools is None:
        return None
    limit = _token_limit(context, step, longest_call(tools.type, context.names.seats), True)
    if limit is None:
        return None
    bound = _binding(context, step, tools.type, actors)
    if bound is None:
        return None
    joint = actors.joint and len(actors.seats) > 1
    called = record_of_call(bound.variable, tools.type, actors.joint, head.span)
    with typing.within(actions.names):
        guards = read_guards(context, tools, called)
    reasons = _read_valid(context, step.get("valid"))
    if guards is None or reasons is None:
        return None
    choice = Choose(
        context.program.step_id(bound.variable), bound.variable, actors.seats, actors.joint,
        ((),) * len(actors.seats), tools.type, step.span, condition=actors.condition(step),
        actor=actors.actor, place=bound.place, readers=bound.readers,
        said=_open_reply("tool", limit, (*guards, *reasons), tools.texts), about=_question(step),
    )  # fmt: skip
    inner = replace(context, acting=actors.seats)
    with typing.within(actions.names):
        effects = read_effects(inner, tools, bound.variable, called, joint)
    if not effects or (step.get("role") is None and context.acting is not None):
        return (choice, *effects)
    items = actors.items((step.get("role") or head).span)
    return choice, Loop(context.program.step_id("turn"), effects, step.span, items=items)


def _check_closed(context: StepContext, step: WrittenStep) -> bool:
    """Whether a closed decision has none of the keys of open ones; reported where it has one. In a
    protocol they wait for actions that make it an open one."""
    entry = step.item.entry("valid") or step.item.entry("max_tokens")
    if entry is None or context.chain:
        return True
    context.problems.add(
        "GD0120", f"`{entry.key.text}` does not go with a list of options", entry.key.span,
        why="nothing is written here: an option is taken",
        help="leave it out, or say which options there are: `from: \"[x for x in …]\"`, `when:`",
    )  # fmt: skip
    return False


def _question(step: WrittenStep) -> str:
    """Returns the step's `about` in one line."""
    about = step.get("about")
    return " ".join(about.text.split()) if isinstance(about, Scalar) else ""


# who acts, and what that binds


def read_actors(context: StepContext, item: Mapping) -> Actors | None:
    """Reads who acts; None (and a diagnostic) where that is not known or is no role."""
    role, seats = item.get("role"), context.names.seats
    if role is None:
        if context.acting is not None:
            return Actors(context.acting, False, ir.Me(SEAT, item.span))
        if len(seats) == 1:
            return Actors(seats, False)
        context.problems.add(
            "GD0428", "it is not said who chooses", item.entries[0].key.span,
            why="no `role:`, and no loop over roles around it",
            help=f"add `role: {seats[0]}`, or `role: all`",
        )  # fmt: skip
        return None
    items = role.items if isinstance(role, Sequence) else (role,)
    found: list[str] = []
    for part in items:
        text = part.text if isinstance(part, Scalar) else ""
        named = seats if text == "all" else context.names.seats_of(text)
        if not named and len(items) == 1 and _is_computed(context, part):
            return _computed_actors(context, part)
        if not named:
            if text not in context.names.broken:
                unknown_role(text, part.span, context.names, context.problems, "all")
            return None
        found += [s for s in named if s not in found]
    single = len(items) == 1 and not isinstance(role, Sequence) and len(found) == 1
    joint = not single or getattr(items[0], "text", "") == "all"
    return Actors(tuple(s for s in context.names.everyone if s in found), joint)


def _computed_actors(context: StepContext, node: Node) -> Actors | None:
    """Reads an expression that says who acts: a role, or several who act at once."""
    typed = context.expression(node)
    if typed is None:
        return None
    seats = context.names.seats
    if element(typed.type) != SEAT:
        typed = context.check(node, SEAT, "who acts")
        if isinstance(typed, ir.Const):
            return Actors((typed.value,), False)
        return None if typed is None else Actors(seats, False, typed)
    if any(isinstance(part, ir.Me) for part in ir.walk(typed)):
        context.problems.add(
            "GD0303", "`me` has no meaning here", node.span,
            why="`me` is each of those who act at once",
            help="name the role in turn: `each: mover in roles`, then `role: others(mover)`",
        )  # fmt: skip
        return None
    if isinstance(typed, ir.Const):
        return Actors(tuple(s for s in seats if s in elements(typed.value)), True)
    return Actors(seats, True, among=typed)


def _is_computed(context: StepContext, node: Node) -> bool:
    """Whether who acts is an expression: no bare name, or one that is declared."""
    if not isinstance(node, Scalar):
        return False
    known = node.text in context.names.declared or node.text in ("me", "other", "others")
    return known or not node.text.isidentifier()


def _binding(
    context: StepContext, step: WrittenStep, type: Type, actors: Actors
) -> DecisionBinding | None:
    """Reads what a decision binds to a value of a type; None (and a diagnostic) where it cannot."""
    value = step.head.value
    target = read_target(context, value)
    if target is None:
        return None
    variable, seats, joint = target.variable, actors.seats, actors.joint
    if target.place is None and not declare_variable(
        context, variable, type, target.span, actors=seats, joint=joint
    ):
        return None
    seen_by = step.get("seen_by")
    readers = read_step_readers(seen_by, context.typer, type, entries=step.get("say") is not None)
    if target.place is None:
        return DecisionBinding(variable, None, readers)
    place = own_part(target.place, type)
    if joint and len(seats) > 1 and place is target.place and not place.keys:
        _report_shared_place(context, place, value.span)
        return None
    if not check_storable(context, type, place, value.span):
        return None
    if step.get("seen_by") is None:
        readers = readers_of_state(context, variable)
    return DecisionBinding(variable, place, readers)


def _report_shared_place(context: StepContext, place: Place, span: Span) -> None:
    """Reports that several roles choose what is one value of the state."""
    declared = context.names.place(place.variable)
    context.problems.add(
        "GD0306", f"`{span.text}` must be per role", span,
        why=f"several roles choose it, and it is {place.type}",
        notes=(Note(declared, "declared here"),) if declared else (),
        help="declare it with `per: role`",
    )  # fmt: skip


def _check_own_writes(context: StepContext, moves: tuple[Action, ...]) -> bool:
    """Whether actions that several roles take at once write only what is the actor's own, so that
    their order does not matter; reported where they do not."""
    done = (step for move in moves for step in walk_steps(move.body) if isinstance(step, Do))
    for statement in (each for step in done for each in step.statements):
        inner = write_of(statement)
        keys = inner.place.keys
        if keys and isinstance(keys[0].expr, ir.Me):
            continue
        name = inner.place.variable
        declared, known = context.names.place(name), context.names.declared.get(name)
        own = isinstance(known, StateName) and isinstance(known.type, PerSeat)
        context.problems.add(
            "GD0453", "roles that act at once write what is not their own", statement.span,
            why=f"each may write `{name}.me`" if own else f"`{name}` is one for all",
            notes=(Note(declared, "declared here"),) if declared else (),
            help="store what the action does in state `per: role`, and write "
            f"`{name}` in a `do:` step behind the choice",
        )  # fmt: skip
        return False
    return True


def _read_knows(context: StepContext, node: Node | None) -> tuple[program.Entry, ...] | None:
    """Reads what the actor knows, where the step says; `nothing` is a word unless it is a name."""
    if node is None:
        return None
    word = isinstance(node, Scalar) and node.text == NOTHING
    if word and not context.names.anywhere(NOTHING):
        return ()
    where = "in what is known here"
    return read_entries(node, context.typer, where, context.facts)


# options


def _options(
    context: StepContext, source: Node, seats: tuple[str, ...]
) -> tuple[OptionSet, ...] | None:
    """Reads `from:`, the options of each acting seat."""
    source = _slot_value(context, source)
    wanted = _declared_actions(context, source)
    if wanted is not None:
        return _action_options(context, wanted, seats, source)
    if isinstance(source, Scalar) and source.text == "actions":
        context.program.offers_actions = True
        missing = [s for s in seats if s not in context.actions]
        if missing and not context.problems.errors:
            _report_no_actions(context, missing[0], source.span)
        return None if missing else tuple(context.actions[s] for s in seats)
    if isinstance(source, Scalar) and _is_misspelt(context, source):
        return None
    options = read_options(source, context.typer, me=True, facts=context.facts)
    return (options,) * len(seats) if options else None


def _slot_value(context: StepContext, source: Node) -> Node:
    """Returns what a protocol's param stands for, where it was set to `actions` or to a type."""
    known = context.names.declared.get(source.text) if isinstance(source, Scalar) else None
    if not isinstance(known, LetName) or not known.slot or not isinstance(known.body, ast.Name):
        return source
    name, scope = known.body.id, known.scope or context.names
    if name == "actions" or isinstance(scope.declared.get(name), TypeName):
        return Scalar(name, name, source.span, ())
    return source


def _is_misspelt(context: StepContext, source: Scalar) -> bool:
    """Whether `from:` is an unknown name that is close to `actions`; reported if so."""
    name, names = source.text, context.names
    if names.anywhere(name) or did_you_mean(name, [*names.all(), "actions"]) != "actions":
        return False
    context.problems.add(
        "GD0301", f"unknown name `{name}`", source.span, why="not declared",
        help=respell(source.span, "actions"), cause=f"name {name}",
    )  # fmt: skip
    return True


def _declared_actions(context: StepContext, source: Node) -> tuple[str, ...] | None:
    """Returns the declared actions that `from:` names: all of them, or those of a list."""
    actions = context.declared_actions
    if actions is None:
        return None
    if isinstance(source, Scalar) and source.text == "actions":
        return tuple(entry.key.text for entry in actions.section)
    if not isinstance(source, Sequence):
        return None
    items = [item for item in source if isinstance(item, Scalar)]
    if not any(actions.entry(item.text) for item in items):
        return None
    return tuple(item.text for item in items)


def _action_options(
    context: StepContext, wanted: tuple[str, ...], seats: tuple[str, ...], source: Node
) -> tuple[OptionSet, ...] | None:
    """Reads declared actions as the options of each acting seat."""
    actions = context.declared_actions
    assert actions is not None
    unknown = next((name for name in wanted if actions.entry(name) is None), None)
    if unknown is not None:
        _report_unknown_action(context, unknown, source, actions.section)
        return None
    inner = replace(context, acting=seats, facts=frozenset())
    with context.typer.context.within(actions.names):
        found = actions.options(
            wanted, context.typer, context.types, lambda body: _read_body(inner, body), source.span
        )
    if found is None:
        return None
    options, bound = found
    context.program.bind(*bound)
    return (options,) * len(seats)


def _read_body(context: StepContext, action: Mapping) -> tuple[Step, ...]:
    """Reads the effects of a declared action: its `do`, then its `turns`."""
    do = action.entry("do")
    steps = None
    if do is not None:
        steps = read_do(context, WrittenStep(Mapping((do,), do.value.span), do, None))
    body = (*(steps or ()), *context.read_steps(action.get("turns")))
    call = next((step for step in walk_steps(body) if isinstance(step, Call)), None)
    if call is not None:
        context.problems.add(
            "GD0495", "an option of a list calls no function", call.span,
            why="every argument of this action has a list of its values",
            help="call it in a step behind the choice: `if: move == name`, or give the action an "
            "open argument such as `text(60)`",
        )  # fmt: skip
    return body


def _report_unknown_action(context: StepContext, name: str, source: Node, section: Mapping) -> None:
    """Reports a name that stands among declared actions and is none."""
    items = source.items if isinstance(source, Sequence) else ()
    span = next((i.span for i in items if isinstance(i, Scalar) and i.text == name), source.span)
    known = [entry.key.text for entry in section]
    guess = did_you_mean(name, known)
    place = section.entry(guess) if guess else None
    context.problems.add(
        "GD0301", f"unknown action `{name}`", span, why="not declared under `actions`",
        notes=(Note(place.key.span, "declared here"),) if place else (),
        help=respell(span, guess, "the actions: " + ", ".join(known[:8])), cause=f"name {name}",
    )  # fmt: skip


def _report_no_actions(context: StepContext, seat: str, span: Span) -> None:
    """Reports at the role's declaration for protocol steps, otherwise at the step."""
    place = context.names.role_spans[seat]
    here, there = (place, span) if context.chain else (span, place)
    context.problems.add(
        "GD0407",
        f"`{seat}` has no actions",
        here,
        why="acts, and can do nothing" if context.chain else f"`{seat}` can do nothing",
        notes=(Note(there, "acts here" if context.chain else "declared here"),),
        help=f"add them under `actions`: `{seat}: [left, right]`"
        if context.actions
        else "add the actions of all roles: `actions: [left, right]`",
    )


def _common_type(context: StepContext, options: tuple[OptionSet, ...], source: Node) -> Type | None:
    """Returns the type of all actors' options; None (and a diagnostic) where there is none."""
    type: Type | None = options[0].type
    for other in options[1:]:
        type = type and join(type, other.type)
    if type is None:
        context.problems.add(
            "GD0404",
            "the roles of this step choose values of different types",
            source.span,
            why=f"{options[0].type} and others",
            help="give all of them names, or all of them numbers",
        )
    return type


# replies in words


CODE = "code"
"""The word of `read` for the content of a fenced block."""


def _reply_type(context: StepContext, wanted: Node | None, head: Node, author: str) -> Type | None:
    """Reads `read:`, the type of what is taken from a reply; a text without it. `author` is the
    seat that replies, empty for the type of the variable, whoever does."""
    name = head.text if isinstance(head, Scalar) else ""
    types = replace(context.types, author=author)
    if isinstance(wanted, Mapping) and {entry.key.text for entry in wanted} != {"per", "of"}:
        return _record_of_fields(context, types, wanted, name)
    if wanted is None or (isinstance(wanted, Scalar) and wanted.text == CODE):
        return TEXT
    if isinstance(wanted, Mapping) and not check_part("type", wanted, context.problems):
        return None
    found = types.read(wanted, name)
    if found is None or not _is_readable(context, name, found.type, wanted):
        return None
    types.claim(found, wanted)
    return found.type


def _own_types(
    context: StepContext, wanted: Node | None, head: Node, type: Type, seats: tuple[str, ...]
) -> tuple[Type, ...] | None:
    """Returns the types of the replies of each seat; None where all are of one type."""
    own = [_reply_type(context, wanted, head, seat) for seat in seats]
    found = tuple(each for each in own if each is not None)
    return found if len(found) == len(own) and any(each != type for each in found) else None


def _record_of_fields(
    context: StepContext, types: Types, wanted: Mapping, name: str
) -> Record | None:
    """Reads a map of fields to their types."""
    fields = []
    for entry in wanted:
        type = _field_type(types, entry)
        if type is not None and _is_readable(context, entry.key.text, type, entry.value):
            fields.append((entry.key.text, type))
    return Record(name, tuple(fields)) if len(fields) == len(wanted.entries) else None


def _is_readable(context: StepContext, name: str, type: Type, node: Node) -> bool:
    """Whether JSON has a form for the values of a type; reported if not."""
    why = readable(type)
    if why is not None:
        context.problems.add(
            "GD0480", f"`{name}` cannot be read from a reply", node.span,
            why=why, help="read a finite type, a number, `text(80)`, or a list of these",
        )  # fmt: skip
    return why is None


def _reply_form(context: StepContext, wanted: Node | None, type: Type) -> ReplyForm | None:
    """Returns the form of replies that are read as a type; None (and a diagnostic) where a reply
    would not say which of its values is meant."""
    if isinstance(wanted, Scalar) and wanted.text == CODE:
        return "code"
    match type:
        case Text():
            return "text"
        case Record() | Option(of=Record()):
            return "json"
        case _ if text_or_record(type) is not None:
            return "either"
        case _:
            assert wanted is not None
            texts = has_text(plain(type))
            context.problems.add(
                "GD0491", "a reply is a text, an object, or one of the two", wanted.span,
                why=f"this is {type}" + (": a text may say `null`" if texts else ""),
                help="read it as a field: `{answer: …}`",
            )  # fmt: skip
            return None


def _field_type(types: Types, entry: Entry) -> Type | None:
    """Reads the type of one field of a reply."""
    if isinstance(entry.value, Mapping) and not types.has_listed_keys(entry.value):
        state = States(types).read(entry)
        return None if state is None else state.type
    type = types.field(entry.value, entry.key.text)
    if type is not None:
        types.claim(TypeName(type, (), entry.key.span), entry.value)
    return type


def _token_limit(
    context: StepContext, step: WrittenStep, most: int | None, has_form: bool
) -> int | None:
    """Returns how many tokens a reply may have: as written, or as the longest reply needs, which
    has `most` characters (None: any number). `has_form` says whether part of it alone is read."""
    written, head = step.get("max_tokens"), step.head
    if written is not None:
        return context.types.number(written, 1, MAX_TOKENS)
    if most is not None and most <= MAX_TOKENS:
        return most
    context.problems.add(
        "GD0481", f"it is not said how long `{head.value.span.text}` may be", head.key.span,
        why="no `max_tokens`, and what is read has no longest text"
        if has_form else "no `max_tokens`",
        help="add `max_tokens: 100`",
    )  # fmt: skip
    return None
