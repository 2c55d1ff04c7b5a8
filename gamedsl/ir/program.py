"""The turn program of a game: its steps, in a tree.

Steps are data; `gamedsl.engine.flow` says in which order they run. A variable is anything that a
step binds and anything that is declared under `state`; both live in one namespace, and every loop,
action and stage writes its own names there too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, assert_never

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Apply, Expr, LetCall, LetMap, Logic, Me, walk
from gamedsl.ir.statements import EVERYONE, Place, Readers, State, Statement, write_of
from gamedsl.ir.types import NO_RULE, UNLESS_NONE, PerSeat, Type


@dataclass(frozen=True)
class Choice:
    """One option of a decision: the canonical name it is known by and the value it binds."""

    name: str
    value: Any
    span: Span | None = field(default=None, compare=False, repr=False)
    """Where it was written, if by name."""


@dataclass(frozen=True)
class Action:
    """A declared action. Its instances are the products of its parameters' values, those of a later
    parameter depending on the earlier ones, that meet `when`; `me` is who acts.

    An instance is the name where there are no parameters, else the tuple of name and arguments.
    """

    name: str
    parameters: tuple[tuple[str, Expr], ...]
    when: Expr | None
    body: tuple[Step, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Entry:
    """One thing that a seat which is asked is shown: the value of an expression. `title` is what
    prompts call it, empty where the file does not say; `text` is the expression as it was written,
    which stands for the title where there is none."""

    title: str
    text: str
    value: Expr
    span: Span = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.title or self.text


ReplyForm = Literal["text", "json", "code", "either", "tool"]


@dataclass(frozen=True)
class Reason:
    """A condition of an open decision's answer, and what its author is told where it fails; empty
    where the file does not say."""

    test: Expr
    text: str = ""


@dataclass(frozen=True)
class Said:
    """The form of an open decision's answer: "text", "json" (one object with the fields of the
    step's type, a record, or null where that may be none), "code" (one fenced block), "either" (a
    text without braces, or one object and nothing else: `text_or_record`) or "tool" (one call of a
    tool; the step's type is a record with a field for each tool, of which one is the record of its
    arguments, and the others are none).

    `max_tokens` limits a reply's tokens, counted by the model that answers. `valid` must hold of
    the answer, evaluated for its author with the step's variable bound to it. `types` are those of
    each actor's reply, where they differ from the type of the step: where nobody says anything to
    itself, the field of its author is always none, and stands in no reply.
    """

    form: ReplyForm
    max_tokens: int
    valid: Expr | None = None
    reasons: tuple[Reason, ...] = field(default=(), metadata=NO_RULE)
    """The conditions whose conjunction is `valid`, where one has a text of its own."""
    about: tuple[tuple[str, str], ...] = field(default=(), metadata=NO_RULE)
    """What prompts say of a tool (`search`) and of an argument of one (`search.query`)."""
    types: tuple[Type, ...] | None = field(default=None, metadata=UNLESS_NONE)

    @property
    def conditions(self) -> tuple[Reason, ...]:
        """The conditions of an answer, in order."""
        if self.reasons or self.valid is None:
            return self.reasons
        return (Reason(self.valid),)


@dataclass(frozen=True)
class Choose:
    """One decision of one seat, or of several at once, each blind to the others: closed, or, where
    `said` is there, open, with no options to choose from.

    `id` is unique among the steps (the variable, with a number from its second use on). `joint`
    says that all of `actors` choose, and that the variable is bound to a per-seat map; else one of
    them does, the value of `actor`, and it is bound to that one's choice.

    `options` is every option there can ever be, per actor; those that are legal are the elements of
    `legal`, or the instances of `moves`, or, where there is neither, all of them. They are offered
    in the order of `options`.

    Where `knows` is there, who is asked knows what it shows and no more: not what it has seen, nor
    at which of the steps that ask the same it is (`question`), and its own choice only where
    `readers` say so.
    """

    id: str
    variable: str
    actors: tuple[str, ...]
    joint: bool
    options: tuple[tuple[Choice, ...], ...]
    """Per actor, in the order of `actors`."""
    type: Type
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None
    actor: Expr | None = None
    """None for the only one of `actors`, and in a joint step."""
    legal: Expr | None = None
    moves: tuple[Action, ...] = ()
    place: Place | None = None
    """The part of declared state that is written, where `variable` is declared state."""
    readers: Readers = EVERYONE
    knows: tuple[Entry, ...] | None = field(default=None, metadata=UNLESS_NONE)
    """All that who is asked knows; None: all that it has seen."""
    said: Said | None = field(default=None, metadata=UNLESS_NONE)
    """What is asked for in place of one of `options`, which are then empty for each actor."""
    about: str = field(default="", metadata=NO_RULE)
    """The question that prompts ask here; empty where the file gives none. It is no rule."""

    def options_of(self, seat: str) -> tuple[Choice, ...]:
        return self.options[self.actors.index(seat)]

    def reply_type(self, seat: str) -> Type:
        """Returns the type of what a seat says at an open decision; its values are of `type`."""
        types = None if self.said is None else self.said.types
        return self.type if types is None else types[self.actors.index(seat)]

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, Any]]:
        """The values that each actor's options bind, by their names."""
        return {
            seat: {option.name: option.value for option in options}
            for seat, options in zip(self.actors, self.options, strict=True)
        }

    def forced(self, seat: str) -> str | None:
        """The only option of a seat, which is taken without asking; None where it has a choice."""
        options = self.options_of(seat)
        return options[0].name if len(options) == 1 else None

    @property
    def question(self) -> tuple[Any, ...]:
        """The question of the step: equal for steps that look the same to a seat which knows no
        more than `knows` shows."""
        return self.actors, self.joint, self.options, self.legal, self.moves, self.knows

    @property
    def asks_some(self) -> bool:
        """Whether the step's condition is each actor's own, so that only some may be asked."""
        parts = () if self.condition is None else walk(self.condition)
        return self.joint and any(isinstance(part, Me) for part in parts)

    @cached_property
    def condition_first(self) -> bool:
        """Whether the step's condition is the same for whoever acts, and is to hold before the
        actor is worked out."""
        if self.actor is None or self.condition is None:
            return False
        return not any(isinstance(part, Me | LetCall | LetMap) for part in walk(self.condition))

    @property
    def among(self) -> Expr | None:
        """Which of the actors of a joint step act, where an expression under `role` says so."""
        return self._split_condition[0]

    @property
    def written_condition(self) -> Expr | None:
        """The condition without who acts."""
        return self._split_condition[1]

    @cached_property
    def _split_condition(self) -> tuple[Expr | None, Expr | None]:
        match self.condition:
            case Apply(function="in", arguments=(Me(), among)) if self.condition.span == among.span:
                return among, None
            case Logic(
                op="and", left=rest, right=Apply(function="in", arguments=(Me(), among))
            ) if self.condition.span == among.span:
                return among, rest
            case rest:
                return None, rest

    @property
    def static(self) -> bool:
        """Whether all options are legal whenever the step is reached."""
        return self.legal is None and not self.moves


@dataclass(frozen=True)
class Source:
    """The source of a chance draw.

    "values": the elements of a collection, each as likely as it is frequent. "weights": values with
    probabilities that sum to 1. "bag": a bag (or list or set) of the state, which loses what is
    drawn. `take` is the number drawn at once, without replacement: an unordered selection, bound as
    a list in the order of the source.
    """

    kind: Literal["values", "weights", "bag"]
    values: Expr | None = None
    weights: tuple[tuple[Any, Fraction], ...] = ()
    bag: Place | None = None
    take: Expr | None = None
    held_out: tuple[int, ...] | None = field(default=None, metadata=UNLESS_NONE)
    """Of rows of a data file, a constant list in `values`: the places of those that are not
    trained on; None where nothing is held out. See `gamedsl.ir.rows`."""


@dataclass(frozen=True)
class Draw:
    """Chance binds a variable.

    `per` are the values of each index, where one outcome is drawn for each: independently, or
    (`deal`) from what the earlier ones left; the variable is then a map over the first index, of
    maps over the second, and so on. Each index is a chance node of its own, in order.
    `how` says what happens at `place`: the value is set, appended to a list, or added to a set or
    bag.
    """

    id: str
    variable: str
    source: Source
    type: Type
    """Of one outcome."""
    readers: Readers
    span: Span = field(compare=False, repr=False)
    per: tuple[tuple[Any, ...], ...] = ()
    deal: bool = False
    by_seat: bool = False
    """Whether the first index is a seat, which then owns the outcome."""
    place: Place | None = None
    """Where in declared state it is written; the indices of `per` follow its keys."""
    how: Literal["set", "append"] = "set"
    condition: Expr | None = None


@dataclass(frozen=True)
class Show:
    """Tells the value of an expression to `readers`; a variable is bound to it."""

    id: str
    variable: str
    value: Expr
    readers: Readers
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None
    by_seat: Literal[True] | None = field(default=None, metadata=UNLESS_NONE)
    """Whether the value is a map of seats, each of which owns its entry; None: one value."""

    @property
    def type(self) -> Type:
        """The type of what is told at once: the value, or one entry of it."""
        type = self.value.type
        return type.of if self.by_seat and isinstance(type, PerSeat) else type

    @property
    def entry_type(self) -> Type:
        return self.type

    def entries(self, value: Any, seats: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
        """Returns what is told at once, each with the seat that owns it (empty: none does). By
        seat, a value that is not bound has a none for every seat."""
        return _entries(value, seats, bool(self.by_seat))


@dataclass(frozen=True)
class Do:
    """Statements, in order."""

    id: str
    statements: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None


@dataclass(frozen=True)
class Pay:
    """A payoff now, to a named stream, for each seat listed."""

    id: str
    stream: str
    amounts: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None


@dataclass(frozen=True)
class Call:
    """A registered function works something out, and a variable is bound to it.

    `type` is that of the variable. `over` says whether it is called once, or for each of the
    "seats" or "items" of the arguments in `mapped`, which are all maps or lists of as many.
    """

    id: str
    variable: str
    function: str
    version: int
    arguments: tuple[tuple[str, Expr], ...]
    type: Type
    readers: Readers
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None
    over: Literal["one", "seats", "items"] = "one"
    mapped: tuple[str, ...] = ()
    by_seat: Literal[True] | None = field(default=None, metadata=UNLESS_NONE)
    """Whether the result is a map of seats, each of which owns its entry; None: one value."""

    @property
    def entry_type(self) -> Type:
        """The type of what is told at once: the result, or one entry of it."""
        return self.type.of if self.by_seat and isinstance(self.type, PerSeat) else self.type

    def entries(self, value: Any, seats: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
        """Returns what is told at once, as `Show.entries` does."""
        return _entries(value, seats, bool(self.by_seat))


def _entries(value: Any, seats: tuple[str, ...], by_seat: bool) -> tuple[tuple[str, Any], ...]:
    if not by_seat:
        return (("", value),)
    return tuple(value.items()) if value is not None else tuple((seat, None) for seat in seats)


@dataclass(frozen=True)
class Block:
    """Steps under one condition."""

    id: str
    body: tuple[Step, ...]
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None


AtBound = Literal["error", "end", "go_on"]


@dataclass(frozen=True)
class Loop:
    """Steps again and again: `times`, or once for each of `items` (round and round if `cycle`).

    `item` is the variable bound to the item; where it is None the items are seats and each in turn
    acts: it is `me` in the body. `count` is the variable that numbers the passes from 1. `resets`
    are bound to none before each pass, and what each seat chose last is forgotten too, unless each
    pass is another seat's. After a pass for which `until` holds the loop ends; after
    `bound` passes too, and if `until` is there and never held, as `at_bound` says.
    """

    id: str
    body: tuple[Step, ...]
    span: Span = field(compare=False, repr=False)
    times: Expr | None = None
    items: Expr | None = None
    cycle: bool = False
    item: str | None = None
    count: str | None = None
    until: Expr | None = None
    bound: int | None = None
    at_bound: AtBound = "error"
    resets: tuple[str, ...] = ()
    condition: Expr | None = None

    @property
    def in_turn(self) -> bool:
        """Whether the passes are those of seats, one after another."""
        return self.items is not None and self.item is None


@dataclass(frozen=True)
class Stage:
    """A game inside the game: its state starts anew, its `end` ends only itself, and its payoffs,
    times `weight`, are added to the stream `payoffs`."""

    id: str
    body: tuple[Step, ...]
    state: tuple[State, ...]
    resets: tuple[str, ...]
    end: Expr | None
    payoffs: tuple[tuple[str, Expr], ...]
    weight: Expr
    span: Span = field(compare=False, repr=False)
    condition: Expr | None = None


Step = Choose | Draw | Show | Do | Pay | Call | Block | Loop | Stage

Binding = Choose | Draw | Show | Call
"""The steps that bind a variable to something that seats come to see."""


def substeps(step: Step) -> tuple[Step, ...]:
    """Returns the steps directly inside one: those of its body, or of its actions' bodies."""
    match step:
        case Block(body=body) | Loop(body=body) | Stage(body=body):
            return body
        case Choose(moves=moves):
            return tuple(inner for action in moves for inner in action.body)
        case Draw() | Show() | Do() | Pay() | Call():
            return ()
        case _:
            assert_never(step)


def walk_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yields steps and all steps inside them, each before those inside it."""
    for step in steps:
        yield step
        yield from walk_steps(substeps(step))


def walk_with_path(
    steps: tuple[Step, ...], path: tuple[Step, ...] = ()
) -> Iterator[tuple[Step, tuple[Step, ...]]]:
    """Yields as `walk_steps`, each step with those that it lies in, the outermost first."""
    for step in steps:
        yield step, path
        yield from walk_with_path(substeps(step), (*path, step))


def map_steps(steps: tuple[Step, ...], change: Callable[[Step], Step]) -> tuple[Step, ...]:
    """Returns steps with `change` applied to each, after it was applied to those inside it.

    The bodies of actions are left as they are: a change that concerns them makes it itself.
    """
    return tuple(change(_with_body(step, change)) for step in steps)


def _with_body(step: Step, change: Callable[[Step], Step]) -> Step:
    match step:
        case Block() | Loop() | Stage():
            return replace(step, body=map_steps(step.body, change))
        case Choose() | Draw() | Show() | Do() | Pay() | Call():
            return step
        case _:
            assert_never(step)


def written_variables(step: Step) -> frozenset[str]:
    """Returns the variables that a step itself binds, sets or changes, not those of its body."""
    match step:
        case Choose(variable=variable, moves=moves):
            return frozenset((variable, *(name for move in moves for name, _ in move.parameters)))
        case Draw(variable=variable, source=source):
            return frozenset((variable, *((source.bag.variable,) if source.bag else ())))
        case Show(variable=variable) | Call(variable=variable):
            return frozenset((variable,))
        case Do(statements=statements):
            return frozenset(write_of(statement).place.variable for statement in statements)
        case Loop(item=item, count=count):
            return frozenset(name for name in (item, count) if name is not None)
        case Stage(state=states):
            return frozenset(state.name for state in states)
        case Pay() | Block():
            return frozenset()
        case _:
            assert_never(step)


def bound_place(step: Step) -> Place | None:
    """Returns where in declared state the value is stored that a step binds; None where it is a
    variable of its own, or the step binds none."""
    match step:
        case Choose(place=place) | Draw(place=place):
            return place
        case Show() | Do() | Pay() | Call() | Block() | Loop() | Stage():
            return None
        case _:
            assert_never(step)


def statements_of(step: Step) -> tuple[Statement, ...]:
    """Returns the statements that a step itself carries out, not those of its body."""
    match step:
        case Do(statements=statements):
            return statements
        case Choose() | Draw() | Show() | Pay() | Call() | Block() | Loop() | Stage():
            return ()
        case _:
            assert_never(step)


def bound_names(step: Step) -> dict[str, Type | None]:
    """Returns the variables that a step binds, declared state left out, each with its type: None
    for the item and the count of a loop."""
    match step:
        case Choose(place=None) | Draw(place=None) | Show() | Call():
            return {step.variable: step.type}
        case Loop(item=item, count=count):
            return {name: None for name in (item, count) if name is not None}
        case Choose() | Draw() | Do() | Pay() | Block() | Stage():
            return {}
        case _:
            assert_never(step)
