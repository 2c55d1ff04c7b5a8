"""The rules of a game in plain sentences, written from the IR: who plays, what is kept, the order
of play, who sees what, how it ends and what it pays.

It is the default of the slot `rules`. The text is the same for every seat, so that prompts share
it. A masked game is told its form alone (`masked_rules`): how many options, in which order, who
sees what. A sentence that would say a name that labels hide is left out there, so that an action
may be called by any word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import groupby
from typing import Any, assert_never

from gamedsl.ir.evaluate import Budget, EvaluationError, Scope, SpentError
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Const,
    Consult,
    Expr,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Me,
    Past,
    Read,
    Stream,
    Table,
    expressions_in,
    walk,
)
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import count_outcomes, histories, payoffs_of
from gamedsl.ir.program import (
    Action,
    Binding,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Source,
    Stage,
    Step,
    walk_steps,
    written_variables,
)  # fmt: skip
from gamedsl.ir.replies import OnInvalid
from gamedsl.ir.statements import (
    ACTOR,
    OWNER,
    Add,
    Assign,
    Drop,
    DropItem,
    ForEach,
    Place,
    Readers,
    State,
    Statement,
)  # fmt: skip
from gamedsl.ir.types import (
    SEAT,
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    is_by_role,
    plain,
    text_or_record,
)  # fmt: skip
from gamedsl.ir.values import Bag as BagValue
from gamedsl.prompting.expression_text import (
    IT,
    LISTED,
    Person,
    Phrases,
    element_type,
    in_order,
    listed,
    named,
    parts_of,
)  # fmt: skip
from gamedsl.prompting.labels import LabelBook, hidden_words
from gamedsl.prompting.visibility import reads

OUTCOMES, OF_MANY = 16, 8
"""Outcomes of a fixed sequence of decisions that are listed with what each pays, of up to two
players and of more; where there are more outcomes, a formula says what is paid."""

IN_TURN = Person("the player in turn", "its")
"""The seat for whom a pass of a loop is."""

CELLS = 256
"""Cells of a payoff table that are listed."""

_WORK = 200_000
"""Work that listing outcomes may take, in units of `gamedsl.ir.evaluate.Budget`."""

_LONG = 120
"""Characters of changes that one line tells."""

_FIELDS = "\0"
"""The mark for the fields that a sentence is about, until they are listed."""

_INDENT = "  "

_FROM_0 = "(from 0)"
"""Stands behind the places that rules list."""

_PLACES = "Square brackets hold the place of an item, counted from 0."


def written_rules(ir: GameIR, book: LabelBook, shown_role: Mapping[str, str]) -> str:
    """Returns the rules of a game under the labels of a book; of a masked game what may be told."""
    if ir.labels.kind == "masked":
        return masked_rules(ir, shown_role)
    return "\n".join(_Writer(ir, book, shown_role).lines())


def option_form(step: Choose) -> str:
    """Returns the names of the parts of a step's options, as the options write them: `book,hat`,
    `mark(row,column)`; empty where options have no parts."""
    forms = [_action_form(action) for action in step.moves if action.parameters]
    if forms:
        return " or ".join(forms)
    return "" if step.moves else parts_of(step.type)


def _action_form(action: Action) -> str:
    parts = (parts_of(element_type(source.type)) or name for name, source in action.parameters)
    return f"{action.name}({','.join(parts)})"


class _Writer:
    """Writes the rules of one game."""

    def __init__(self, ir: GameIR, book: LabelBook, shown_role: Mapping[str, str]) -> None:
        self._ir, self._book, self._roles = ir, book, shown_role
        self._say = Phrases(ir, book, shown_role)
        self._hidden = frozenset(ir.labels.only)
        steps = list(walk_steps(ir.turns))
        written = (written_variables(step) for step in steps)
        self._bound = frozenset().union(*written, (state.name for state in ir.states))
        """The names that some step or the state gives a value."""
        trivial = {
            id(e)
            for s in steps
            if isinstance(s, Stage) and _is_one(s.weight)
            for e in walk(s.weight)
        }
        paid = (ir.payoffs, ir.scores, ir.referee_payoffs)
        parts = (ir.turns, ir.lets, ir.end, ir.view, *paid)
        reads = (e for e in expressions_in(parts) if isinstance(e, Read) and id(e) not in trivial)
        self._read = frozenset(e.name for e in reads)
        """The names that some expression reads."""
        self._secrets = False
        """Whether something was told to be hidden from some."""

    def lines(self) -> Iterator[str]:
        """Yields the rules; where they find items by places, they say from where these count."""
        found = False
        for line in self._rules():
            found |= _FROM_0 in line
            yield line
        if self._say.counts_places and not found:
            yield _PLACES

    def _rules(self) -> Iterator[str]:
        ir = self._ir
        yield self._opening()
        state = [_INDENT + f"- {line}" for line in map(self._state, ir.state)]
        if state:
            yield "What is kept:"
            yield from state
        yield "The play, in this order:"
        yield from self._steps(ir.turns)
        yield from self._ending()
        if not (self._pays_on_the_way() and all(_is_constant(e, 0) for _, e in ir.payoffs)):
            yield from self._payoffs(ir.payoffs, "at the end")
        for name, amounts in ir.scores:
            yield from self._amounts(f"scores for {named(name)}", amounts)
        yield from self._amounts("is scored at the end", ir.referee_payoffs)
        yield from self._invalid()
        yield from self._meanings()

    def _pays_on_the_way(self) -> bool:
        """Returns whether something is paid before the end."""
        steps = list(walk_steps(self._ir.turns))
        paid = any(isinstance(step, Pay) and step.stream == "payoffs" for step in steps)
        return paid or any(isinstance(step, Stage) and step.payoffs for step in steps)

    def _opening(self) -> str:
        """Returns who plays, and what the game is about; a game whose labels are given in its file
        is not named, since its names may be what they stand for."""
        ir, count = self._ir, len(self._ir.seats)
        players = f"game for {count} player{'s' if count > 1 else ''}"
        if count > 1:
            players += f": {self._seats(ir.seats)}"
        judges = [seat for role in ir.referees for seat in role.seats]
        verb = "acts" if len(judges) == 1 else "act"
        unpaid = "" if ir.referee_payoffs else ", without pay"
        watched = f" {self._seats(judges)} {verb} too{unpaid}." if judges else ""
        if ir.labels.kind == "fixed":
            return f"This is a {players}.{watched}"
        about = f" {ir.about}" if ir.about else ""
        return f"This is {ir.name}, a {players}.{watched}{about}"

    def _seats(self, seats: Iterable[str]) -> str:
        """Returns seats in a list; of more than four of one role, one after another, the first and
        the last."""
        shown: list[str] = []
        for _, group in groupby(seats, self._ir.role_of.__getitem__):
            run = tuple(group)
            everyone = self._ir.everyone
            at = everyone.index(run[0])
            if len(run) > 4 and run == everyone[at : at + len(run)]:
                shown.append(f"{self._say.role(run[0])} to {self._say.role(run[-1])}")
            else:
                shown += map(self._say.role, run)
        return listed(shown) if shown else ""

    # state

    def _state(self, state: State) -> str:
        name, type, start = named(state.name), state.type, state.start
        if isinstance(type, PerSeat) and isinstance(start, dict):
            everyone = set(start) >= set(self._ir.seats)
            who = "each player" if everyone else f"each of {self._seats(start)}"
            name, type = f"{name} of {who}", type.of
            values = list(start.values())
            if any(value != values[0] for value in values):
                return f"{name}: {self._say.value(start)} at first{self._hides(state.readers)}"
            start = values[0] if values else None
            if isinstance(type, PerSeat) and isinstance(start, dict):
                name, type = f"{name} towards each player", type.of
                start = next(iter(start.values()), None)
        form = parts_of(element_type(type)) if isinstance(plain(type), List | Bag | Set) else ""
        each = f" (each {form})" if form else ""
        return f"{name}{each}: {self._start(type, start)}{self._hides(state.readers)}"

    def _start(self, type: Type, start: Any) -> str:
        kind = plain(type)
        if isinstance(kind, Grid):
            size = f"a board of {kind.rows} rows and {kind.columns} columns"
            same = all(cell == start[0] for cell in start) if start else True
            filled = "empty" if not start or start[0] is None else self._say.value(start[0])
            return f"{size}, {'every cell ' + filled if same else 'filled'} at first"
        if isinstance(kind, Text):
            return "a text, nothing at first" if start is None else "a text"
        if start is None:
            return f"{self._say.value(None, type)} at first"
        if isinstance(start, tuple | frozenset | BagValue) and not start:
            return "empty at first"
        if isinstance(kind, PerValue) and isinstance(start, dict):
            values = list(start.values())
            if values and all(value == values[0] for value in values):
                over = self._say.items(start)
                return f"for each of {over}, {self._start(kind.of, values[0])}"
        if isinstance(kind, List | Bag | Set) and not isinstance(start, dict | BagValue):
            known = in_order(start, kind) if isinstance(start, frozenset) else start
            return f"{self._say.items(known)} at first"
        return f"{self._say.value(start, type)} at first"

    # steps

    def _steps(self, steps: Iterable[Step], depth: int = 1) -> Iterator[str]:
        """Yields the lines of steps, those inside a step below it."""
        for step in steps:
            for line in self._step(step):
                yield _INDENT * depth + line

    def _step(self, step: Step) -> Iterator[str]:
        """Yields the lines of one step; the first begins with a dash."""
        test = step.written_condition if isinstance(step, Choose) else step.condition
        head = "- " if test is None else f"- If {self._say.condition(test)}, "
        match step:
            case Choose():
                yield from self._decision(step, head)
            case Draw():
                with self._readers_called(
                    "the one that it is for" if step.by_seat else self._acting()
                ):
                    seen = self._reading(step.readers, "it", step.type)
                yield self._sentence(head, self._draw(step), seen)
            case Show():
                yield self._sentence(head, self._show(step))
            case Do():
                told = [self._statement(statement) for statement in step.statements]
                if test is None and len("; ".join(told)) > _LONG:
                    yield from (self._sentence(head, each) for each in told)
                else:
                    yield self._sentence(head, "; ".join(told))
            case Pay():
                yield from _after(head, self._amounts(_stream(step.stream), step.amounts))
            case Call():
                yield self._sentence(head, self._call(step))
            case Block():
                if test is None:
                    yield from (line.removeprefix(_INDENT) for line in self._steps(step.body))
                else:
                    yield f"- If {self._say.condition(test)}:"
                    yield from self._steps(step.body)
            case Loop():
                yield from self._loop(step, head)
            case Stage():
                yield from self._stage(step, head)
            case _:
                assert_never(step)

    # decisions

    def _decision(self, step: Choose, head: str) -> Iterator[str]:
        person = self._actor(step)
        verb, name = "chooses" if step.said is None else "says", named(step.variable)
        made = f"{verb} {name}"
        if person is IT and step.said is None and name != "choice":  # a name of any part of speech
            made = f"makes its choice ({name})"
        elif person is IT:
            made = f"{verb} its {name}"
        subject = self._subject(step)
        with self._say.spoken_of(person):
            what = self._reply(step) if step.said is not None else self._options(step)
            at_once = " at the same time" if step.joint and len(step.actors) > 1 else ""
            with self._readers_called(f"who {verb}", f"who {verb}"):
                own = f"who {verb} it" if person is IT else person.subject
                own = "" if step.knows is not None else own
                by = person.subject if step.readers.fields else "it"
                seen = self._reading(_readers_of(step), person.subject, step.type, by, own)
            yield self._sentence(head, f"{subject} {made}{at_once}{what}", seen)
            yield from (_INDENT + line for line in self._actions(step))
            if step.knows is not None:
                told = listed(self._say.text(entry.value) for entry in step.knows)
                told = f"It knows {told}" if step.knows else "It knows nothing"
                yield f"{_INDENT}- {told} then, and remembers nothing else."

    def _actor(self, step: Choose) -> Person:
        """Returns how the sentences of a decision speak of who acts."""
        if len(step.actors) == 1:
            name = self._say.role(step.actors[0])
            return Person(name, f"{name}'s")
        return self._say.me if isinstance(step.actor, Me) else IT

    def _subject(self, step: Choose) -> str:
        if len(self._ir.everyone) == 1:
            return "the player"
        if len(step.actors) == 1:
            return self._say.role(step.actors[0])
        if isinstance(step.actor, Me):
            return self._say.me.subject
        if step.actor is not None:
            return self._say.operand(step.actor)
        if step.among is not None:
            return self._each_of(step.among)
        if set(step.actors) == set(self._ir.seats):
            return "each player"
        return f"each of {self._seats(step.actors)}"

    def _each_of(self, members: Expr) -> str:
        """Returns the members of a collection: `each of its friends`, `each r of left where …`."""
        text, operand = self._say.text(members), self._say.operand(members)
        is_loop = operand != text and text.startswith("each ")
        return text if is_loop else f"each of {operand}"

    def _options(self, step: Choose) -> str:
        """Returns what may be chosen, after a colon."""
        if step.moves:
            plain_ones = all(not (m.parameters or m.when or m.body) for m in step.moves)
            if not plain_ones:
                return ""
            return f": {listed((self._book.relabelled(m.name, {}) for m in step.moves), 'or')}"
        if step.legal is not None:
            form, told = option_form(step), self._one_of(step.legal)
            return f": {told}{f', written {form}' if form and form not in told else ''}"
        alike = all(options == step.options[0] for options in step.options)
        if alike:
            return f": {self._static(step, step.actors[0])}"
        each = (f"{self._say.role(s)} {self._static(step, s)}" for s in step.actors)
        return f": {'; '.join(each)}"

    def _one_of(self, source: Expr) -> str:
        """Returns `a number from 1 to 4`, `one of its hand`."""
        source = self._say.inlined(source)
        if _is_range(source):
            return f"a number from {self._say.text(source)}"
        match source:
            case Build(items=items) if len(items) <= LISTED and not _repeats(items):
                return listed(map(self._say.text, items), "or")
            case If(test=test, then=Build() as then, other=Build() as other):
                one, rest = self._one_of(then), self._one_of(other)
                return f"{one} if {self._say.condition(test)}, else {rest}"
            case Build(items=items):
                return f"one of {', '.join(map(self._say.text, items))}"
            case _:
                pass
        told = self._say.text(source)
        return f"one {told.removeprefix('each ')}" if told.startswith("each ") else f"one of {told}"

    def _static(self, step: Choose, seat: str) -> str:
        options = step.options_of(seat)
        form = option_form(step)
        names = [option.name for option in options]
        if any(name in self._hidden for name in names):
            return f"one of {len(names)} options"
        values = [option.value for option in options]
        whole = all(type(value) is int for value in values)
        if whole and [str(value) for value in values] == names:
            return (
                f"a number from {values[0]} to {values[-1]}"
                if len(values) > 2 and values == list(range(values[0], values[-1] + 1))
                else listed(map(str, values), "or")
            )
        if len(names) > LISTED or form:
            written = f" written {form}," if form else ""
            return f"one of {len(names)} options,{written} such as {self._book.label(names[0])}"
        labels = [self._book.label(name) for name in names]
        if all(value == name for value, name in zip(values, names, strict=True)):
            return listed(labels, "or")
        told = zip(labels, values, strict=True)
        return listed((f"{label} ({self._say.value(value)})" for label, value in told), "or")

    def _actions(self, step: Choose) -> Iterator[str]:
        """Yields the lines of actions that have arguments, guards or effects."""
        if self._options(step):
            return
        for action in step.moves:
            form = _action_form(action) if action.parameters else action.name
            told = self._book.relabelled(form, {})
            parts = [
                f"{named(name)}{_parts_of(source)} is {self._one_of(source)}"
                for name, source in action.parameters
            ]
            given = f", where {listed(parts)}" if parts else ""
            test = None if _is_role(action.when, step.actors) else action.when
            only = f", only if {self._say.condition(test)}" if test is not None else ""
            effects = action.body
            single = len(effects) == 1 and isinstance(effects[0], Do) and not effects[0].condition
            if single and isinstance(effects[0], Do):
                done = "; ".join(map(self._statement, effects[0].statements))
                yield f"- {told}{given}{only}: {done}."
                continue
            yield f"- {told}{given}{only}{':' if effects else '.'}"
            yield from self._steps(effects)

    def _reply(self, step: Choose) -> str:
        said = step.said
        assert said is not None
        kind = plain(step.type)
        form = " as code" if said.form == "code" else " in words"
        if isinstance(kind, Record) and said.form == "tool":
            return f", a call of {listed((self._say.field(name) for name, _ in kind.fields), 'or')}"
        if said.form == "either":
            form = f": {self._kind(kind)}"
        elif isinstance(kind, Record):
            fields = (f"{self._say.field(name)} ({self._kind(of)})" for name, of in kind.fields)
            form = f": {listed(fields)}"
        valid = "" if said.valid is None else f", such that {self._say.condition(said.valid)}"
        return f"{form}{valid}"

    # chance, shows, calls

    def _draw(self, step: Draw) -> str:
        name = named(step.variable)
        source, taken = self._source(step), step.source.kind == "bag"
        if step.place is not None:
            name = self._place(step.place, f"{name}")
            if step.how == "append":
                return f"chance draws {source} and adds it to {name}"
        drawn = f", {source}" if taken else f": {source}"
        if step.by_seat:
            more = f" for each of {self._each_index(step.per[1:])}" if len(step.per) > 1 else ""
            verb = "is dealt" if step.deal else "gets"
            apart = ""
            if step.deal and not taken:
                distinct = self._is_apart(step.source)
                apart = ", no two the same" if distinct else ", each of these to one player at most"
            own = name if name.startswith("its ") else f"its {name}"
            everyone = set(step.per[0]) == set(self._ir.seats)
            who = "each player" if everyone else f"each of {self._seats(step.per[0])}"
            return f"{who} {verb} {own}{more} at random{drawn}{apart}"
        if step.per:
            return f"chance draws {name} for each of {self._each_index(step.per)}{drawn}"
        return f"chance draws {name}{drawn}"

    def _is_apart(self, source: Source) -> bool:
        """Whether what is drawn without putting it back is never the same twice: no value is
        listed several times, as in a hand of three guards and a thief."""
        match source.values:
            case Const(value=values):
                return len(set(values)) == len(values)
            case Apply(function=".."):
                return True
            case written:
                return written is not None and isinstance(written.type, Set)

    def _each_index(self, per: tuple[tuple[Any, ...], ...]) -> str:
        return listed(self._say.items(index) for index in per)

    def _source(self, step: Draw) -> str:
        source = step.source
        if source.kind == "weights":
            told = source.weights
            return listed(
                (f"{self._say.value(v)} with probability {self._say.value(p)}" for v, p in told),
                "or",
            )
        if source.kind == "bag":
            assert source.bag is not None
            taken = f"out of {self._place(source.bag, '')}"
            return taken if step.how == "set" else f"one {taken}"
        assert source.values is not None
        values = source.values
        kind = plain(step.type)
        if isinstance(values, Const) and isinstance(kind, Record):
            several = kind.name if kind.name.endswith("s") else f"{kind.name or 'row'}s"
            of = f"{len(values.value)} {several}"
            if step.source.held_out is not None or _holds_text(kind):
                of = f"{len(values.value)} rows"
            of += f" ({', '.join(name.replace('_', ' ') for name, _ in kind.fields)})"
        else:
            of = self._one_of(values)
            if source.take is None:
                return of
            of = of.removeprefix("one of ").removeprefix("one ").removeprefix("a number from ")
        if source.take is not None:
            different = " different ones" if self._is_apart(source) else ""
            return f"{self._say.text(source.take)}{different} of {of}"
        return f"one of {of}"

    def _show(self, step: Show) -> str:
        if step.by_seat:
            return self._show_by_seat(step)
        name, text = named(step.variable), self._say.text(step.value)
        who = self._audience(step.readers)
        return f"{who} told {text}" if name == text else f"{who} told {name}: {text}"

    def _show_by_seat(self, step: Show) -> str:
        """Returns the sentence for a map of which each seat is told its own entry, or all others
        are."""
        name, value = named(step.variable), step.value
        if step.readers.kind == "others":
            return f"each player is told the {name} of every other: {self._say.text(value)}"
        if step.readers.kind == "test":
            return f"{name} of each player: {self._say.text(value)}{self._hides(step.readers)}"
        entry = _own_entry(value, step.type)
        with self._say.spoken_of(IT):
            own, text = f"{self._say.me.possessive} {name}", self._say.text(entry)
        return f"each player is told {own}" + (f": {text}" if own != text else "")

    def _audience(self, readers: Readers) -> str:
        everyone = self._ir.everyone
        if len(everyone) == 1:
            return "the player is"
        match readers.kind:
            case "all":
                return "all are"
            case "owner":
                return f"only {self._say.me.subject} is"
            case "others":
                return f"all but {self._say.me.subject} are"
            case "seats":
                return f"{self._seats(readers.seats)} {'is' if len(readers.seats) == 1 else 'are'}"
            case "nobody":
                return "nobody is"
            case "test":
                assert readers.test is not None
                if isinstance(decided := self._say.decided(readers.test), Const):
                    return "all are" if decided.value else "nobody is"
                with self._readers_called(self._acting()), self._say.spoken_of(IT):
                    return f"each player is, if {self._say.condition(readers.test)},"
            case _:
                assert_never(readers.kind)

    def _call(self, step: Call) -> str:
        given = listed(self._say.text(argument) for _, argument in step.arguments)
        told = f"{named(step.variable)} is worked out from {given} ({step.function})"
        return f"{told}{self._hides(step.readers, step.entry_type)}"

    # who sees

    def _acting(self) -> str:
        """Returns what the seat is called whose turn it is."""
        return "who acts" if self._say.me is IT else self._say.me.subject

    def _readers_called(self, owner: str, actor: str = "") -> AbstractContextManager[None]:
        """Says what tests of readers call the owner of a value, and who acts."""
        return self._say.calling(**{OWNER: owner, ACTOR: actor or self._acting()})

    def _hides(self, readers: Readers, type: Type | None = None) -> str:
        """Returns who sees a value that is kept, after a semicolon; empty where all do. `type` is
        that of a record of which some fields may be seen."""
        with self._readers_called("its owner"):
            told = self._reading(readers, "its owner", None if type is None else plain(type))
        return f"; {told[0].lower()}{told[1:]}" if told else ""

    def _reading(
        self, readers: Readers, owner: str, type: Type | None, by: str = "", whole: str = ""
    ) -> str:
        """Returns who sees a value, where not all do. `owner` is what its owner is called, `by`
        is there for a choice, which its actor sees; `whole` is who sees all of a record."""
        told = self._readers(readers, by or owner, type, whole=whole)
        self._secrets |= bool(told)
        return told

    def _readers(
        self, readers: Readers, owner: str, type: Type | None, seen: str = "it", whole: str = ""
    ) -> str:
        """Returns who sees what is called `seen`; nothing where all do."""
        everyone = self._ir.everyone
        if readers.fields and isinstance(type, Record):
            return self._fields(readers, owner, type, whole)
        match readers.kind:
            case "all":
                return ""
            case "owner":
                return "" if len(everyone) == 1 else f"Only {owner} sees {seen}"
            case "others":
                return f"All but {owner} see {seen}"
            case "seats":
                if set(readers.seats) == set(everyone):
                    return ""
                verb = "sees" if len(readers.seats) == 1 else "see"
                return f"Only {self._seats(readers.seats)} {verb} {seen}"
            case "nobody":
                return f"Nobody sees {seen}"
            case "test":
                assert readers.test is not None
                if isinstance(decided := self._say.decided(readers.test), Const):
                    return "" if decided.value else f"Nobody sees {seen}"
                with self._say.spoken_of(IT):
                    return f"A player sees {seen} if {self._say.condition(readers.test)}"
            case _:
                assert_never(readers.kind)

    def _fields(self, readers: Readers, owner: str, type: Record, whole: str) -> str:
        """Returns who sees which fields of a record, of which `whole` sees all."""
        if is_by_role(type) and whole and all(
            inner.kind == "seats" and inner.seats == (type.fields[place][0],)
            for place, inner in readers.fields
        ):  # fmt: skip
            return "Of what others say, a player sees only its own entry"
        groups: dict[str, list[str]] = {}
        for place, inner in readers.fields:
            who = self._readers(inner, owner, None, _FIELDS) or f"All see {_FIELDS}"
            groups.setdefault(who, []).append(self._say.field(type.fields[place][0]))
        if len(readers.fields) == len(type.fields) and list(groups) == [f"All see {_FIELDS}"]:
            return ""
        told = [who.replace(_FIELDS, listed(names)) for who, names in groups.items()]
        if len(readers.fields) < len(type.fields):
            told.append(f"Only {whole} sees the rest" if whole else "Nobody sees the rest")
        return ". ".join(told)

    # loops and stages

    def _loop(self, step: Loop, head: str) -> Iterator[str]:
        first = step.until is not None and step.condition is not None and _negates(
            step.condition, step.until
        )  # fmt: skip
        if first:
            assert step.condition is not None
            told = f"as long as {self._say.condition(step.condition)}"
            yield f"- Again and again, {told}{self._at_most(step)}:"
            yield from self._steps(step.body)
            return
        person = self._say.me
        until = step.until if self._may_hold(step.until) else None
        if head == "- " and until is None and step.items is None and _is_constant(step.times, 1):
            yield from (line.removeprefix(_INDENT) for line in self._steps(step.body))
            return
        parts = []
        if step.times is not None:
            parts.append(self._times(step.times))
        if step.items is not None:
            if step.in_turn:
                person = IN_TURN
            parts.append(self._round(step))
        if until is not None:
            parts.append(f"until {self._say.condition(until)}{self._at_most(step)}")
        elif step.cycle and step.bound is not None:
            parts.append(f"at most {step.bound} turns in all")
        counted = f" ({named(step.count or '')} counts them)" if step.count in self._read else ""
        if head == "- " and _only_writes(step.body) and step.in_turn and not step.cycle:
            with self._say.spoken_of(IT):
                told = "; ".join(self._writes(step.body))
            yield f"- For each player{self._which(step)}, {told}."
            return
        yield f"{self._sentence(head, ', '.join(parts) or 'again and again')[:-1]}{counted}:"
        with self._say.spoken_of(person):
            yield from self._steps(step.body)

    def _may_hold(self, until: Expr | None) -> bool:
        """Returns whether a loop may end by its condition: it is not false, and reads no name that
        nothing binds."""
        if until is None:
            return False
        until = self._say.inlined(until)
        if isinstance(until, Const):
            return until.value is not False
        read = {e.name for e in walk(until) if isinstance(e, Read) and "." not in e.name}
        return read <= self._bound

    def _writes(self, steps: tuple[Step, ...]) -> Iterator[str]:
        for step in steps:
            assert isinstance(step, Do)
            yield from map(self._statement, step.statements)

    def _which(self, step: Loop) -> str:
        """Returns which players a loop goes over, where that is not all in order."""
        items = step.items
        if isinstance(items, Const) and tuple(items.value) == self._ir.seats:
            return ""
        assert items is not None
        return f" of {self._say.operand(items)}"

    def _times(self, times: Expr) -> str:
        if isinstance(times, Const):
            return "once" if times.value == 1 else f"{times.value} times"
        return f"{self._say.operand(times)} times"

    def _round(self, step: Loop) -> str:
        """Returns over what a loop goes."""
        items = step.items
        assert items is not None
        if not step.in_turn:
            return f"for each {named(step.item or '')} of {self._say.operand(items)}"
        if isinstance(items, Build) and len(items.items) == 1:
            return f"in the turn of {self._say.operand(items.items[0])}"
        if not isinstance(items, Const):
            return f"one after another, {self._say.text(items)}"
        players = self._seats(items.value)
        return f"{players} take turns" if step.cycle else f"one after another, {players}"

    def _at_most(self, step: Loop) -> str:
        if step.bound is None or step.at_bound == "error" or step.times is not None:
            return ""
        return f", at most {step.bound} times"

    def _stage(self, step: Stage, head: str) -> Iterator[str]:
        told = self._sentence(head, f"a round of {named(step.id)} is played")
        yield f"{told[:-1]}:"
        yield from (f"{_INDENT}- It begins with {self._state(state)}." for state in step.state)
        yield from self._steps(step.body)
        if step.end is not None:
            yield f"{_INDENT}- The round ends as soon as {self._say.condition(step.end)}."
        weight = step.weight
        whole = (isinstance(weight, Const) and weight.value == 1) or _is_one(weight)
        times = "" if whole else f", times {self._say.operand(weight)}"
        yield from (_INDENT + line for line in self._dashed(
            self._payoffs(step.payoffs, f"for the round{times}")
        ))  # fmt: skip

    def _sentence(self, head: str, *parts: str) -> str:
        """Returns sentences after what begins a line; a role's name stays as it is."""
        return _sentence(head, *parts, own_words=_OWN_WORDS.difference(self._roles.values()))

    def _dashed(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            yield line if line.startswith(" ") else f"- {line}"

    # statements

    def _place(self, place: Place, name: str) -> str:
        """Returns a place: `its hand`, `the points of taker`, `board at cell`."""
        text = named(place.variable)
        for key in place.keys:
            match key.kind:
                case "entry":
                    assert key.expr is not None
                    text = self._entry(text, key.expr)
                case "item":
                    assert key.expr is not None
                    text = self._say.item(text, key.expr)
                case "cell":
                    assert key.expr is not None
                    text = f"{text} at {self._say.operand(key.expr)}"
                case "field":
                    text = f"{text}'s part {key.size[0] + 1}"
                case _:
                    assert_never(key.kind)
        return text

    def _entry(self, text: str, key: Expr) -> str:
        if text.startswith("its ") or "'s " in text:
            return f"{text} of {self._say.operand(key)}"
        return self._say.owned(text, key)

    def _statement(self, statement: Statement) -> str:
        match statement:
            case Assign(place=place, value=value):
                return self._assigned(place, value)
            case Add(place=place, value=value):
                return f"{self._say.operand(value)} is added to {self._place(place, '')}"
            case Drop(place=place, value=value):
                return f"{self._say.operand(value)} is taken out of {self._place(place, '')}"
            case DropItem(place=place, index=index):
                return f"{self._say.item(self._place(place, ''), index)} is taken out"
            case ForEach():
                test = statement.condition
                only = f" where {self._say.condition(test)}" if test is not None else ""
                names = ", ".join(statement.targets)
                over = self._say.source(statement.source)
                return f"for each {names} of {over}{only}, {self._statement(statement.body)}"
            case _:
                assert_never(statement)

    def _assigned(self, place: Place, value: Expr) -> str:
        told = self._place(place, "")
        match value:
            case Apply(function="+" | "-" as sign, arguments=(old, by, *_)) if _reads(old, place):
                verb = "grows" if sign == "+" else "falls"
                return f"{told} {verb} by {self._say.operand(by)}"
            case Const(value=None):
                return f"{told} is {self._say.value(None, place.type)} again"
            case _:
                return f"{told} becomes {self._say.text(value)}"

    # ends and payoffs

    def _ending(self) -> Iterator[str]:
        ir = self._ir
        if ir.end is not None:
            yield f"The game ends as soon as {self._say.condition(ir.end)}."
        if ir.no_move == "pass":
            yield "Who has no option passes."
        elif ir.no_move == "end":
            yield "The game ends when somebody who must choose has no option."
        if len(ir.everyone) > 1:
            if self._secrets:
                yield "All see everything else."
            elif not (ir.plain and len(ir.steps) == 1):
                yield "All see every choice."

    def _payoffs(self, paid: tuple[tuple[str, Expr], ...], when: str) -> Iterator[str]:
        """Yields what is paid: a table, or a sentence for each group of seats."""
        if not paid:
            return
        most = OUTCOMES if len(self._ir.seats) <= 2 else OF_MANY
        if self._ir.plain and paid == self._ir.payoffs and count_outcomes(self._ir) <= most:
            table = self._outcomes()
            if table is not None:
                yield from table
                return
        first = paid[0][1]
        if isinstance(first, Table):
            keys = listed(map(self._say.text, first.keys))
            names = listed(self._say.role(seat) for seat, _ in paid)
            yield f"What is paid {when} to {names}, by {keys}:"
            if len(first.cells) > CELLS:
                yield f"{_INDENT}- a table of {len(first.cells)} entries"
                return
            for key in first.cells:
                cells = (self._say.text(it.cells[key]) for _, it in paid if isinstance(it, Table))
                yield f"{_INDENT}- {', '.join(map(self._say.value, key))}: {', '.join(cells)}"
            return
        yield from self._amounts(f"is paid {when}", paid)

    def _outcomes(self) -> list[str] | None:
        """Returns every outcome of a fixed sequence of decisions with what it pays; None where some
        outcome pays no number."""
        ir = self._ir
        alone = len(ir.seats) == 1
        names = "the player" if alone else listed(self._say.role(seat) for seat in ir.seats)
        asked = [
            named(step.variable) if len(step.actors) == 1
            else f"{self._say.role(seat)}'s {named(step.variable)}"
            for step in ir.steps for seat in step.actors
        ]  # fmt: skip
        lines = [f"What is paid at the end to {names}, by {listed(asked)}:"]
        budget = Budget(_WORK)
        for history in histories(ir):
            try:
                paid = payoffs_of(ir, history, budget)
            except (EvaluationError, SpentError):
                return None
            chosen = ", ".join(self._book.label(name) for names in history for name in names)
            amounts = ", ".join(self._say.value(paid[seat]) for seat in ir.seats)
            lines.append(f"{_INDENT}- {chosen}: {amounts}")
        return lines

    def _amounts(self, verb: str, paid: tuple[tuple[str, Expr], ...]) -> Iterator[str]:
        """Yields a sentence for each group of seats with one amount."""
        groups: list[tuple[Expr, list[str]]] = []
        for seat, amount in paid:
            for known, seats in groups:
                if known == amount:
                    seats.append(seat)
                    break
            else:
                groups.append((amount, [seat]))
        for amount, seats in groups:
            with self._say.spoken_of(IT):
                text = self._say.text(amount)
            if len(self._ir.everyone) == 1:
                who = "The player"
            elif set(seats) == set(self._ir.seats):
                who = "Each player"
            elif len(seats) == 1:
                who = self._say.role(seats[0])
            else:
                who = f"Each of {self._seats(seats)}"
            yield f"{who} {verb}: {text}."

    def _invalid(self) -> Iterator[str]:
        """Yields what an invalid reply costs, where the file says it."""
        told: dict[OnInvalid, list[str]] = {}
        for role, cost in self._ir.on_invalid:
            told.setdefault(cost, []).append(self._say.role(role))
        for cost, roles in told.items():
            whose = "" if len(told) == 1 else f" of {listed(roles)}"
            tries = f", after {cost.retry} more tr{'y' if cost.retry == 1 else 'ies'}," * bool(
                cost.retry
            )
            pay = "" if cost.pay is None else f"; its author is paid {self._say.value(cost.pay)}"
            match cost.then:
                case "forfeit":
                    what = f"ends the game{pay}"
                case "void":
                    what = "ends the game, which then counts for nobody"
                case "skip":
                    what = f"counts as none{pay}"
                case "play":
                    option = self._book.relabelled(cost.play or "", self._roles)
                    what = f"counts as {option}{pay}"
                case _:
                    assert_never(cost.then)
            yield f"A reply{whose} that is not valid{tries} {what}."

    def _meanings(self) -> Iterator[str]:
        """Yields the meaning of each name that the sentences before use: those of `let`, and
        built-ins that have no words of their own."""
        lets, lines, done = self._ir.lets_by_name, dict[str, None](), set[str]()
        while True:
            left = [name for name in self._say.used if name not in done and name in lets]
            if not left:
                break
            for name in left:
                done.add(name)
                let = lets[name]
                head = self._say.let_names[name]
                if plain(let.body.type) == SEAT and not let.parameters:
                    head = f"the {head}"
                if let.parameters:
                    head = f"{head}({', '.join(let.parameters)})"
                elif let.per_seat:
                    head = f"the {head.removeprefix('the ')} of a player"
                with self._say.spoken_of(IT):
                    says = self._say.text(let.body)
                lines[f"{_INDENT}- {head}: {says}"] = None
        for name, value in self._say.constants.items():
            lines[f"{_INDENT}- {named(name)}: {self._say.nested(value)}"] = None
        if lines:
            yield "The words above:"
            yield from lines
        for name, about in self._say.unexplained.items():
            yield f"{_INDENT}- {name}(…): {about[0].lower()}{about[1:]}"

    # types

    def _kind(self, type: Type) -> str:
        """Returns what values of a type are."""
        match type:
            case Bool():
                return "true or false"
            case Number(low=int() as low, high=int() as high):
                return f"{low} to {high}"
            case Number(whole=whole):
                return "a whole number" if whole else "a number"
            case Enum(members=members):
                return self._say.items(members, "or")
            case Seat():
                return "a player"
            case Text():
                return "text"
            case Option(of=of):
                return f"{self._kind(of)}, or nothing"
            case Record(fields=fields):
                return listed(f"{name} ({self._kind(of)})" for name, of in fields)
            case List(of=of) | Set(of=of) | Bag(of=of):
                return f"some of {self._kind(of)}"
            case PerValue(key=key, of=of):
                return f"for each of {self._kind(key)}, {self._kind(of)}"
            case PerSeat(of=of):
                return f"for each player, {self._kind(of)}"
            case Union() if (kinds := text_or_record(type)) is not None:
                return f"either a text, or {self._kind(kinds.record)}"
            case Tuple() | Grid() | Union() | NoneType() | Never():
                return str(type)
            case _:
                assert_never(type)


# a masked game


def masked_rules(ir: GameIR, shown_role: Mapping[str, str]) -> str:
    """Returns what may be told of a masked game: the number of its players and of their options,
    the order in which they choose, and who sees what; no name, no payoff, no number of rounds. A
    sentence that holds a hidden word is left out, but for the first; without one that tells a
    secret, none says what all see. Where there is one decision, its question tells as much, and
    more words skew a model: with them SmolLM2's choice among two letters had 0.67 of the highest
    entropy, without them 0.77 (`benchmarks/label_skew.py`)."""
    count = len(ir.everyone)  # prompts call referees players, too
    first = f"Game for {count} player{'s' if count > 1 else ''}."
    if ir.plain and len(ir.steps) == 1:
        return first
    lines = dict(_masked_lines(ir, ir.turns, shown_role, (), False))
    hidden = hidden_words(ir)
    clean = [line for line in lines if hidden is None or not hidden.search(line)]
    if len(ir.everyone) > 1 and all(line in clean for line, secret in lines.items() if secret):
        rest = "All see everything else." if any(lines.values()) else "All see every choice."
        if hidden is None or not hidden.search(rest):
            clean.append(rest)
    return " ".join([first, *clean])


def _readers_of(step: Binding) -> Readers:
    """Returns who sees what a step binds. A seat knows what it chose, unless it knows what `knows`
    shows and no more: what the others see is then seen by all, and what nobody sees by it alone."""
    if isinstance(step, Choose) and step.knows is None:
        return _with_actor(step.readers)
    return step.readers


def _with_actor(readers: Readers) -> Readers:
    fields = tuple((place, _with_actor(inner)) for place, inner in readers.fields)
    match readers.kind:
        case "others":
            return replace(readers, kind="all", fields=fields)
        case "nobody" if not fields:
            return replace(readers, kind="owner")
        case _:
            return replace(readers, fields=fields)


def _masked_lines(
    ir: GameIR, steps: tuple[Step, ...], shown_role: Mapping[str, str], turns: tuple[str, ...],
    perhaps: bool,
) -> Iterator[tuple[str, bool]]:  # fmt: skip
    """Yields a sentence for each decision and each secret, and whether it tells a secret. `turns`
    are the roles that act one after another; `perhaps` says whether a condition around the steps
    may leave them out."""
    for step in steps:
        may = perhaps or step.condition is not None
        match step:
            case Choose():
                yield _masked_choice(ir, step, shown_role, turns, may)
            case Draw() | Show() | Call():
                secret = _Audiences(ir, shown_role).of_outcome(step, turns)
                if secret and len(ir.everyone) > 1:
                    told = f"{'in some cases something' if may else 'something'} is {secret}"
                    yield told[0].upper() + told[1:], True
            case Block() | Stage():
                yield from _masked_lines(ir, step.body, shown_role, turns, may)
            case Loop():
                inner = _in_turn(ir, step) if step.in_turn else turns
                some = step.in_turn and step.items is not None and not isinstance(step.items, Const)
                first = step.until is not None and step.condition is not None and _negates(
                    step.condition, step.until
                )  # fmt: skip
                may = perhaps or some or (step.condition is not None and not first)
                yield from _masked_lines(ir, step.body, shown_role, inner, may)
                if not step.in_turn or step.cycle:
                    yield "This is repeated.", False
            case Do() | Pay():
                pass
            case _:
                assert_never(step)


def _in_turn(ir: GameIR, step: Loop) -> tuple[str, ...]:
    """Returns the roles over which a loop goes, as far as the rules fix them."""
    return tuple(step.items.value) if isinstance(step.items, Const) else ir.seats


def _masked_choice(
    ir: GameIR, step: Choose, shown_role: Mapping[str, str], turns: tuple[str, ...], perhaps: bool
) -> tuple[str, bool]:
    """Returns the sentence for a decision, and whether it tells that somebody does not see it."""
    counts = [len(options) for options in step.options]
    most = max(counts, default=0)
    up_to = "" if step.static and len(set(counts)) <= 1 else "at most "
    options = f"{most} option{'s' if most != 1 else ''}"
    what = "replies in words" if step.said is not None else f"chooses from {up_to}{options}"
    at_once = ", all at the same time" if step.joint and len(step.actors) > 1 else ""
    if len(ir.everyone) == 1:
        who = "the player"
    elif len(step.actors) == 1:
        who = shown_role[step.actors[0]]
    elif set(step.actors) == set(ir.everyone):
        who = "each player"
    else:
        who = f"each of {listed(shown_role[seat] for seat in step.actors)}"
    if step.actor is not None and not isinstance(step.actor, Me):
        who = "one of the players"
    some = "in some cases " if perhaps or step.asks_some else ""
    unseen = _Audiences(ir, shown_role).of_choice(step)
    ordered = "One after another, " if turns and isinstance(step.actor, Me) else ""
    told = f"{ordered}{some}{who} {what}{at_once}.{unseen and f' {unseen}'}"
    return told[0].upper() + told[1:], bool(unseen)


_PLAYED = (Read, LastBy, Past, Stream, LetCall, LetMap, Consult)
"""The expressions whose values a play decides."""


class _Audiences:
    """Says in the sentences of a masked game who sees what a step binds, without a name of it."""

    def __init__(self, ir: GameIR, shown_role: Mapping[str, str]) -> None:
        self._ir, self._shown_role = ir, shown_role
        self._everyone = frozenset(ir.everyone)
        self._some_may = f"{'The other' if len(ir.everyone) == 2 else 'Some of the others'} may"

    def of_choice(self, step: Choose) -> str:
        """Returns who of the others sees a choice; empty where all do."""
        readers = _readers_of(step)
        if len(self._everyone) == 1:
            return ""
        if step.knows is not None and readers.kind == "others" and not readers.fields:
            return "All others see it."
        if readers.fields:
            return self._of_parts(step, readers)
        found = self._others(readers, step.actors)
        if found is None:
            return f"{self._some_may} not see it."
        if not any(found.values()):
            return "The others do not see it."
        if self._is_all(found):
            return ""
        union = frozenset().union(*found.values())
        if all(seen == union - {actor} for actor, seen in found.items()):
            verb = "sees" if len(union) == 1 else "see"
            return f"Of the others, only {self._listed(union)} {verb} it."
        if any(seen == self._everyone - {actor} for actor, seen in found.items()):
            return f"{self._some_may} not see it."
        return "Not all of the others see it."

    def _of_parts(self, step: Choose, readers: Readers) -> str:
        """Returns who of the others sees the fields of a record that a seat chooses or says."""
        parts = [self._others(inner, step.actors) for _, inner in readers.fields]
        known, two = [part for part in parts if part is not None], len(self._everyone) == 2
        if len(known) == len(parts) and not any(any(part.values()) for part in known):
            return "The others do not see it."
        if len(parts) < _fields_of(step) or not all(map(self._is_all, known)):
            return f"{'The other does' if two else 'Some of the others do'} not see all of it."
        if len(known) < len(parts):
            return f"{self._some_may} not see all of it."
        return ""

    def of_outcome(self, step: Draw | Show | Call, turns: tuple[str, ...]) -> str:
        """Returns what chance or a rule brings about and who sees it; empty where all do. `turns`
        are the roles of which each has a turn with this step in it."""
        owners, each = self._owners(step, turns)
        done = {Draw: "drawn", Show: "shown", Call: "worked out"}[type(step)]
        what = f"{done}{each}"
        if step.readers.fields:
            parts = [self._seen_of(inner, owners) for _, inner in step.readers.fields]
            return self._of_fields(step, what, parts)
        found = self._seen_of(step.readers, owners)
        if found is None:
            match step.readers.kind:
                case "owner":
                    return f"{what}, which only one player sees."
                case "others":
                    return f"{what}, which all players see but one."
                case _:
                    return f"{what}, which some may not see."
        if all(seen == self._everyone for seen in found.values()):
            return ""
        if each and all(seen == {owner} for owner, seen in found.items()):
            return f"{what}, which only it sees."
        if each and all(seen == self._everyone - {owner} for owner, seen in found.items()):
            return f"{what}, which all see but the one that it is for."
        if len(set(found.values())) == 1:
            seats = next(iter(found.values()))
            if not seats:
                return f"{what}, which nobody sees."
            verb = "sees" if len(seats) == 1 else "see"
            return f"{what}, which only {self._listed(seats)} {verb}."
        return f"{what}, which not all see."

    def _of_fields(
        self, step: Draw | Show | Call, what: str, parts: list[dict[str, frozenset[str]] | None]
    ) -> str:
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return f"{what}, of which some may see more than others."
        seen = frozenset(audience for part in known for audience in part.values())
        if seen == {self._everyone}:
            whole = len(parts) == _fields_of(step)
            return "" if whole else f"{what}, of which all see a part."
        if not any(seen):
            return f"{what}, which nobody sees."
        return f"{what}, of which not all see the same."

    def _owners(
        self, step: Draw | Show | Call, turns: tuple[str, ...]
    ) -> tuple[tuple[str | None, ...], str]:
        """Returns the seats that what a step binds is for, one of each value, and the words for
        them where there is a value for each."""
        by_owner = any(r.locals for r in (step.readers, *(r for _, r in step.readers.fields)))
        keys = step.place.keys if isinstance(step, Draw) and step.place is not None else ()
        exprs = [key.expr for key in keys if key.expr is not None]
        fixed = [expr.value for expr in exprs if isinstance(expr, Const)]
        owner = next((seat for seat in self._ir.everyone if seat in fixed), None)
        others_key = any(expr.type == SEAT and not isinstance(expr, Me) for expr in exprs)
        if step.by_seat:
            seats = step.per[0] if isinstance(step, Draw) else self._ir.seats
        else:
            seats = turns if by_owner and owner is None and not others_key else ()
        if not seats:
            return (owner,), ""
        if set(seats) == self._everyone:
            return seats, " for each player"
        return seats, f" for each of {self._listed(frozenset(seats))}"

    def _others(
        self, readers: Readers, actors: tuple[str, ...]
    ) -> dict[str, frozenset[str]] | None:
        """Returns for each actor who else sees what it chooses; None where the play decides."""
        found = self._seen_of(readers, actors)
        return found and {actor: seen - {actor} for actor, seen in found.items() if actor}

    def _seen_of(
        self, readers: Readers, owners: tuple[str | None, ...]
    ) -> dict[str, frozenset[str]] | None:
        """Returns for each owner the seats that see its value; None where the play decides, or who
        its owner is."""
        if readers.test is not None and any(
            isinstance(part, _PLAYED) for part in walk(readers.test)
        ):
            return None
        found, scope = dict[str, frozenset[str]](), Scope(self._ir.seats)
        for owner in owners:
            if owner is None and readers.locals:
                return None
            try:
                found[owner or ""] = frozenset(
                    seat for seat in self._ir.everyone
                    if reads(readers, seat, owner, scope, owner)
                )  # fmt: skip
            except EvaluationError:
                return None
        return found

    def _is_all(self, found: dict[str, frozenset[str]]) -> bool:
        return all(seen == self._everyone - {actor} for actor, seen in found.items())

    def _listed(self, seats: frozenset[str]) -> str:
        return listed(self._shown_role[seat] for seat in self._ir.everyone if seat in seats)


def _fields_of(step: Binding) -> int:
    """Returns how many fields the record has that a step binds."""
    type = plain(step.type if isinstance(step, Choose | Draw) else step.entry_type)
    kinds = text_or_record(type)
    record = type if kinds is None else kinds.record
    return len(record.fields) if isinstance(record, Record) else 0


def _own_entry(value: Expr, type: Type) -> Expr:
    """Returns the entry of a map of seats for the seat that reads it."""
    me = Me(SEAT, value.span)
    if isinstance(value, LetMap):
        return LetCall(type, value.span, value.name, (), me)
    return Get(type, value.span, value, me)


# sentences


def _sentence(head: str, *parts: str, own_words: frozenset[str]) -> str:
    """Returns sentences after what begins a line; the first goes on where the head is a clause.
    Where it begins with one of `own_words`, that is capitalized at the start of a line."""
    first, *rest = (part for part in parts if part)
    if head == "- " and first.partition(" ")[0].rstrip(",") in own_words:
        first = first[0].upper() + first[1:]
    return head + " ".join(f"{part}." for part in (first, *rest))


_OWN_WORDS = frozenset((
    "a", "again", "all", "chance", "each", "for", "if", "in", "its", "nobody", "one", "only", "the",
))  # fmt: skip
"""The words of sentences, and no names of a file, that are capitalized at the start of one."""


def _after(head: str, lines: Iterable[str]) -> Iterator[str]:
    """Yields sentences, each after what begins a line."""
    for line in lines:
        starts = head != "- " and line.startswith(("Each", "The player"))
        yield head + (line[0].lower() + line[1:] if starts else line)


def _stream(stream: str) -> str:
    return "is paid" if stream == "payoffs" else f"scores for {named(stream)}"


def _parts_of(source: Expr) -> str:
    """Returns the names of the parts of an argument's values, in brackets."""
    form = parts_of(element_type(source.type))
    return f" ({form})" if form else ""


def _repeats(items: tuple[Expr, ...]) -> bool:
    """Returns whether a list has an item twice, which is then the likelier one."""
    texts = [item.span.text for item in items]
    return len(set(texts)) < len(texts)


def _is_range(expr: Expr) -> bool:
    """Returns whether an expression is a range of whole numbers."""
    if isinstance(expr, Apply):
        return expr.function == ".."
    value = expr.value if isinstance(expr, Const) else None
    if not isinstance(value, tuple) or len(value) < 3 or type(value[0]) is not int:
        return False
    return value == tuple(range(value[0], value[0] + len(value)))


def _is_constant(expr: Expr | None, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value


def _is_one(weight: Expr) -> bool:
    """Returns whether a weight is 1 whatever happens: a power of 1."""
    if not isinstance(weight, Apply) or weight.function != "**":
        return False
    base = weight.arguments[0]
    return isinstance(base, Const) and base.value == 1


def _only_writes(steps: tuple[Step, ...]) -> bool:
    return all(isinstance(step, Do) and step.condition is None for step in steps)


def _is_role(test: Expr | None, actors: tuple[str, ...]) -> bool:
    """Returns whether a guard says no more than that one of the actors acts."""
    if not (isinstance(test, Apply) and test.function == "in"):
        return False
    who, seats = test.arguments[:2]
    if not (isinstance(who, Me) and isinstance(seats, Const)):
        return False
    return set(actors) <= set(seats.value)


def _negates(one: Expr, other: Expr) -> bool:
    """Returns whether a condition is the opposite of another, as those of a `while` are."""
    if isinstance(other, Apply) and other.function == "not":
        return other.arguments[0] == one
    return isinstance(one, Apply) and one.function == "not" and one.arguments[0] == other


def _reads(expr: Expr, place: Place) -> bool:
    """Returns whether an expression reads the place that is written."""
    for key in reversed(place.keys):
        match expr:
            case Get(of=of, key=read) | Cell(of=of, key=read) if read == key.expr:
                expr = of
            case _:
                return False
    return isinstance(expr, Read) and expr.name == place.variable


def _holds_text(record: Record) -> bool:
    return any(isinstance(plain(type), Text) for _, type in record.fields)
