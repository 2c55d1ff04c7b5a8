"""Remedies for leaks: a step to paste that tells the value openly, or, if there is none, words.

A step tells the very value that is read, if it can be written there: before an unrolled pass, `me`
is not yet bound. There the seat is named, or the values of all seats are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from types import UnionType
from typing import assert_never

from gamedsl.analysis.infoflow.expressions import Cause, Visibilities
from gamedsl.analysis.infoflow.visibility import Seats, seat_numbers
from gamedsl.diagnostics.fixes import Edit, Fix
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.edits import (
    delete_item,
    first_decision_before,
    set_readers,
    set_step_readers,
    step_before,
)
from gamedsl.ir.expr import (
    Apply,
    Cell,
    Collect,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Me,
    Past,
    Read,
    roots,
    walk,
)
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Binding,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
    bound_names,
    substeps,
    walk_steps,
    walk_with_path,
    written_variables,
)
from gamedsl.ir.statements import Readers, write_of
from gamedsl.ir.types import Option, PerSeat, Type

LONGEST = 50
"""The length in characters up to which an expression is quoted."""


@dataclass(frozen=True)
class Team:
    """Roles that a step is for, by a test that they have not been told of each other."""

    members: str
    """The expression that gives them, as a step can show it; empty where none can be written, or
    where who is in it changes in steps that repeat."""
    test: str
    """The readers of that step, as `seen_by` has them."""
    before: Span
    """The step of the game, in no other step, that it stands before or holds it."""
    hidden: bool
    """Whether others see nothing of the step."""


def team_of(step: Binding, cause: Cause, ir: GameIR) -> Team | None:
    """Returns the team that a step is for, if a cause decides who is in it. None where it is no
    team's, and where the step of the game's file that holds it is a protocol's."""
    hidden = step.readers.kind == "test"
    test = step.readers.test if hidden else step.condition
    own = next((top for top in ir.turns if any(part is step for part in walk_steps((top,)))), None)
    if test is None or own is None or own.span.source is not ir.span.source:
        return None
    read = _reads(test, ir)
    inside = walk_steps(tuple(part for top in ir.turns for part in substeps(top)))
    if root_of(cause.expr) not in read:
        return None
    text = _by_me(test, step)
    listed = _listed(test)
    if not hidden and listed is None and text is None:
        return None
    if read & _written(inside):
        return Team("", "", own.span, hidden)
    if listed is not None:
        return Team(listed, listed, own.span, hidden)
    if text is None or '"' in text or len(text) > LONGEST:
        return Team("", "", own.span, hidden)
    each = re.sub(r"\bme\b", "r", re.sub(r"\.me\b", "[r]", text))
    return Team(f"[r for r in roles if {each}]", text, own.span, hidden)


def _by_me(test: Expr, step: Binding) -> str | None:
    """Returns a test of who acts in a step with `me` for that one; None where it names nobody."""
    text = " ".join(test.span.text.split())
    if isinstance(step, Choose) and isinstance(step.actor, Read):
        name = re.escape(short(step.actor.name))
        text = re.sub(rf"\b{name}\b", "me", re.sub(rf"\[{name}\]", ".me", text))
        return text if re.search(r"\bme\b", text) else None
    return text if step.readers.kind == "test" else None


def _listed(test: Expr) -> str | None:
    """Returns the list of roles, the same for all, that a test asks whether `me` is in it."""
    match test:
        case Apply(function="in", arguments=(Me(), LetCall(name=name, arguments=()))):
            return name
        case Apply(function="in", arguments=(Me(), Collect() as roles)) if not _has(roles, Me):
            text = " ".join(roles.span.text.split())
            return text if '"' not in text and len(text) <= LONGEST else None
        case _:
            return None


def _reads(part: object, ir: GameIR) -> frozenset[str]:
    """Returns the variables that a part of a game reads, directly or through lets."""
    found: set[str] = set()
    queue, known = list(roots(part)), set[str]()
    while queue:
        for part in walk(queue.pop()):
            if isinstance(part, Read | LastBy | Past):
                found.add(part.name)
            if isinstance(part, LetCall | LetMap) and part.name not in known:
                known.add(part.name)
                queue.append(ir.lets_by_name[part.name].body)
    return frozenset(found)


@dataclass
class Leak:
    """A flow through one place: its cause, and all seats that are asked there, together."""

    cause: Cause
    missing: Seats
    """The seats that cannot read it."""
    needs: Seats
    """The seats that must read it, or do."""
    actors: Seats
    """The seats that `me` is there."""
    turn: bool
    """Whether the step before stands in a pass of the same seat."""
    alone: bool
    """Whether only `me` must read it."""
    readers: Seats
    """The seats that can read it, whoever `me` is."""
    hide: str = ""
    """The variable that could be hidden from the others instead."""
    action: str = ""
    """The action whose `do:` it stands in, where no step can be put before it."""
    condition: Expr | None = None
    """The condition that reads it, where telling that alone is enough."""
    places: tuple[Span, ...] = ()
    """The places of the steps that it is about; a step that tells it stands before one of them."""
    without: Fix | None = None
    """What can be done without telling anybody anything, where the place itself shows it."""
    acts: bool = False
    """Whether it decides who acts or what they may do."""
    team: Team | None = None
    """The secret team that acts or is told something there, where who is in it decides."""

    def join(self, other: Leak) -> None:
        """Adds the flow of another seat through the same place."""
        self.missing |= other.missing
        self.needs |= other.needs
        self.actors |= other.actors
        self.turn &= other.turn
        self.alone &= other.alone
        self.readers &= other.readers


class Remedies:
    """Writes the remedies of one game; each value that a step shows has a name of its own."""

    def __init__(self, ir: GameIR, visibilities: Visibilities) -> None:
        self._file = ir.span.source
        self._seats = visibilities.table.names
        self._everyone = visibilities.table.seats
        self._table = visibilities.table
        self._alike = visibilities.alike
        self._bindings = _bindings(ir)
        self._turns, self._variables = ir.turns, visibilities.variables
        self._states = ir.states
        self._deciding = _deciding_variables(ir)
        self._steps = tuple(walk_steps(ir.turns))
        self._taken = {*ir.lets_by_name, *map(short, self._bindings)}
        self._named: dict[str, str] = {}

    def of(self, flow: Leak, alike: Iterable[Leak]) -> Fix:
        """Returns the ways to mend a leak; the edits are those of a step that shows the value, or
        of a way that tells nobody anything, which then comes first. `alike` are the leaks through
        the same stored variable."""
        if flow.team is not None:
            return self._among(flow.team)
        openly = self._read_instead(flow)
        if openly is not None:
            return openly
        openly = self._openly(flow)
        if flow.without is openly:
            return openly
        if flow.without is not None:
            edits = flow.without.edits or openly.edits
            return Fix(f"{flow.without.text}, or {openly.text}", edits)
        if not flow.hide:
            return openly
        readers = reduce(and_, (each.readers & ~self._all(each.missing) for each in alike))
        hidden = f"declare {named(flow.hide)} with `seen_by: {self.listed(readers)}`"
        if flow.hide in self._deciding:
            return Fix(f"{openly.text}, or {hidden}", openly.edits) if readers else openly
        declared = next(state.span for state in self._states if state.name == flow.hide)
        own = declared.source is self._file
        edits = set_readers(declared, self.listed(readers)) if own else ()
        return Fix(f"{hidden}, or {openly.text}", edits or openly.edits)

    def own_entry(self, whole: Expr, part: Expr) -> Fix | None:
        """Returns the fix that reads the actor's own entry of a value per role, where each role
        sees its own; None where a part of an expression is no such value, nor an entry of one."""
        of, place = (part.of if isinstance(part, Get) else part), part.span
        if not isinstance(of, Read) or not isinstance(of.type, PerSeat):
            return None
        if _has(part, Local) or all(each is not part for each in walk(whole)):
            return None  # an item of a list, or in a `let` that others read too
        if of is part:  # an aggregate over all entries, such as `max(value)`
            over = next(
                (
                    each for each in walk(whole)
                    if isinstance(each, Apply) and each.arguments == (of,)
                    and each.type == of.type.of
                ), None,
            )  # fmt: skip
            if over is None:
                return None
            place = over.span
        known = self._variables.get(of.name)
        if known is None or known.by != "seat" or place.source is not self._file:
            return None
        if any(self._table.own(seat) & ~known.part(seat).all for seat in range(len(self._seats))):
            return None
        own = f"{short(of.name)}.me"
        return Fix(f"read `{own}` instead, which who acts can see", (Edit(place, own),))

    def _among(self, team: Team) -> Fix:
        """Returns the fix that tells a secret team who is in it, and nobody else."""
        if not team.members:
            return Fix(
                "settle who is in the team once, in a step that does not repeat, and show the team "
                "to itself alone there, as the shipped game `werewolf` does", (),
            )  # fmt: skip
        root = team.members if team.members.isidentifier() else "team"
        name = self._name(team.members, root)
        parts = (_quoted(team.members), name, _quoted(team.test))
        step = "{{show: {}, as: {}, seen_by: {}}}".format(*parts)
        said = f"tell the team before who is in it: `- {step}`"
        if not team.hidden:
            return Fix(f"{said}, and write `seen_by: {_quoted(team.test)}` here")
        return Fix(said, step_before(team.before, step))

    def _read_instead(self, flow: Leak) -> Fix | None:
        """Returns the fix that reads what a step before has told; None where none has."""
        cause, known = flow.cause, dict.fromkeys((flow.cause.expr, flow.condition))
        for expr in (each for each in known if each is not None):
            whole: Expr | None = expr
            while whole is not None:  # what is shown may be the value, or a map it is an entry of
                shown = self._existing_show(flow, whole)
                if shown:
                    read = whole.span if whole is not cause.expr else cause_place(cause)
                    entry = "" if whole is expr else f", where `{text_of(whole)}` stands"
                    said = f"read `{shown}` instead{entry}, which tells it"
                    return Fix(said, (Edit(read, shown),))
                whole = whole.of if isinstance(whole, Get | Cell | Field) else None
        return None

    def _openly(self, flow: Leak) -> Fix:
        """Returns the fix that tells a value, or less, to all who would learn of it."""
        cause = flow.cause
        root, expr = root_of(cause.expr), cause.expr
        if cause.through and flow.turn and (_has(expr, Me) or _has(expr, Local)):
            expr = cause.through[0]
        told = None
        if flow.condition is not None:  # that it holds tells less than what it reads
            told = self._declaration_of(flow, flow.condition)
            expr = expr if told is None else flow.condition
        if (moved := self._earlier_show(flow)) is not None:
            return moved
        told = told or self._declaration_of(flow, expr)
        if told is None:
            open = flow.readers | self._all(flow.missing) == self._everyone
            if flow.acts and open and len(self._seats) > 2:  # a secret is not for everybody
                return flow.without or Fix(f"let it not depend on {named(root)}", ())
            words = f"let {named(root)} be seen by {self.names(self._all(flow.missing))}"
            return Fix(words, self._opened(root) if open else ())
        text, part = told
        name = self._name(text, short(root))
        there = [f"{read} != none" for read in dict.fromkeys(self._unsure(expr, text))]
        only = f", if: {' and '.join(there)}" if there else ""
        instead = "" if expr is cause.expr else f" of `{text_of(expr)}`"
        readers = self._readers_for(flow, expr)
        step = f"{{show: {_quoted(text)}, as: {name}, seen_by: {readers}{only}}}"
        said = f"tell it before, and read `{name}{part}` instead{instead}: `- {step}`"
        if flow.action:
            said += f" (the `do:` of `{flow.action}` becomes `turns:`, with this and `- do:` in it)"
        if flow.acts and flow.without is None and readers == "all" and expr is not flow.condition:
            # a secret is not for everybody: whoever wants that pastes the step, and no edit does
            return Fix(f"let it depend on what all can see, or {said}")
        return Fix(said, self._edits(flow, expr, f"{name}{part}", step))

    def _existing_show(self, flow: Leak, expr: Expr) -> str:
        """Returns the variable by which a step before has told a value to all who must read it;
        empty where none has, or where the value may be another since."""
        place = cause_place(flow.cause)
        if flow.cause.through or place.source is not self._file or _has(expr, Local):
            return ""
        around = [
            (*path, step)
            for step, path in walk_with_path(self._turns)
            if step.span.encloses(place)
        ]  # fmt: skip
        path = max(around, key=len, default=())
        reads = {part.name for part in walk(expr) if isinstance(part, Read | LastBy | Past)}
        own = _has(expr, Me)  # `me` is somebody else for who chooses, and may be in an inner loop
        if own and path and isinstance(path[-1], Choose):
            return ""
        for depth, step in list(enumerate(path))[-1 if own else 0 :]:
            beside = self._turns if not depth else substeps(path[depth - 1])
            for number, show in enumerate(beside[: beside.index(step)]):
                if isinstance(show, Show) and self._tells(show, expr, self._all(flow.needs)):
                    later = _written(beside[number + 1 : beside.index(step) + 1])
                    if later.isdisjoint({*reads, show.variable}):
                        return show.variable
        return ""

    def _earlier_show(self, flow: Leak) -> Fix | None:
        """Returns the fix that moves a step before the place of a leak: the one behind it, in the
        same list of steps, that tells the value to all who must read it. None without one."""
        place, expr = cause_place(flow.cause), flow.cause.expr
        if flow.cause.through or place.source is not self._file or _has(expr, Local | Me):
            return None
        for _, path in walk_with_path(self._turns):
            beside = substeps(path[-1]) if path else self._turns
            at = next((n for n, step in enumerate(beside) if step.span.encloses(place)), None)
            for show in () if at is None else beside[at + 1 :]:
                if isinstance(show, Show) and self._tells(show, expr, self._all(flow.needs)):
                    text = " ".join(show.span.text.split())
                    said = f"show it before: move `- {text}` up to here, and read `{show.variable}`"
                    edits = (*delete_item(show.span), *step_before(place, text))
                    read = Edit(place, show.variable)
                    whole = text.startswith("{") and len(edits) == 2
                    return Fix(said, (*edits, read) if whole else ())
        return None

    def _tells(self, step: Show, expr: Expr, seats: Seats) -> bool:
        """Returns whether a step always tells some seats the value of an expression."""
        if step.by_seat or step.condition is not None:
            return False
        known = self._variables.get(step.variable)
        return step.value == expr and known is not None and not seats & ~known.all

    def _opened(self, name: str) -> tuple[Edit, ...]:
        """Returns the edits that let all see a variable of steps; none where one cannot be made."""
        edits = [
            set_step_readers(step.span, "all") if isinstance(step, Binding) else ()
            for step in self._steps
            if name in bound_names(step)
            and not (isinstance(step, Binding) and step.readers == Readers("all"))
        ]
        own = all(each and each[0].span.source is self._file for each in edits)
        return tuple(edit for each in edits for edit in each) if own else ()

    def _edits(self, flow: Leak, expr: Expr, name: str, step: str) -> tuple[Edit, ...]:
        """Returns the edits that read `name` where an expression stood, and tell it before."""
        read = cause_place(flow.cause) if expr is not flow.condition else expr.span
        own = [place for place in (read, *flow.places) if place.source is self._file]
        told = next((edits for place in own if (edits := step_before(place, step))), ())
        told = told or first_decision_before(self._file, step)
        if read.source is not self._file or not told:
            return ()
        inside = next((e for e in told if e.span.encloses(read)), None)
        if inside is None:
            return (*told, Edit(read, name))
        at = inside.text.rindex(inside.span.text) + read.start - inside.span.start
        text = inside.text[:at] + name + inside.text[at + read.end - read.start :]
        return tuple(Edit(inside.span, text) if edit is inside else edit for edit in told)

    def _declaration_of(self, flow: Leak, expr: Expr) -> tuple[str, str] | None:
        """Returns the value that a step can tell in the game's file, and the part of it to read;
        None if it can tell nothing."""
        text, whole = text_of(expr), " ".join(expr.span.text.split())
        if expr.span.source is not self._file or text not in whole or len(text) > LONGEST:
            return None
        bound = self._bindings.get(root_of(flow.cause.expr), [])
        elsewhere = any(source is not self._file for _, source in bound)
        if '"' in text or elsewhere or _has(expr, Local):
            return None
        if flow.turn or not _has(expr, Me):
            return text, ""
        inner = expr
        while isinstance(inner, Get | Cell | Field):
            inner = inner.of
        of = short(inner.name) if isinstance(inner, Read) else ""
        one = flow.actors & (flow.actors - 1) == 0 and self._all(flow.actors) == flow.actors
        if one and not flow.cause.through:
            return self._with_names(text, flow.actors)
        per_seat = bool(of) and isinstance(inner.type, PerSeat) and text.startswith(of)
        return (of, text.removeprefix(of)) if per_seat else None

    def _with_names(self, text: str, actor: Seats) -> tuple[str, str] | None:
        """Returns an expression with the names of seats for `me` and `other`."""
        for word, seats in (("me", actor), ("other", self._everyone & ~actor)):
            if re.search(rf"\b{word}\b", text):
                if seats == 0 or seats & (seats - 1):
                    return None
                text = re.sub(rf"\b{word}\b", self._seats[next(seat_numbers(seats))], text)
        return None if re.search(r"\bothers\b", text) else (text, "")

    def _unsure(self, expr: Expr, text: str) -> Iterator[str]:
        """Yields the variables in an expression that may be none, so that it has no value then."""
        for part in walk(expr):
            if isinstance(part, Read) and part is not expr and short(part.name) in text:
                types = [part.type, *(type for type, _ in self._bindings.get(part.name, []))]
                if any(isinstance(type, Option) for type in types):
                    yield short(part.name)

    def _readers_for(self, flow: Leak, expr: Expr) -> str:
        if flow.turn and flow.alone:
            return "owner"
        return "all" if flow.turn and _has(expr, Me) else self.listed(self._all(flow.needs))

    def _all(self, seats: Seats) -> Seats:
        """Returns seats with all seats of their groups."""
        for group in self._alike:
            seats |= group if seats & group else 0
        return seats

    def _name(self, text: str, root: str) -> str:
        """Returns a name for a shown value that nothing else has."""
        if text not in self._named:
            name, number = f"known_{root}", 1
            while name in self._taken:
                number += 1
                name = f"known_{root}_{number}"
            self._taken.add(name)
            self._named[text] = name
        return self._named[text]

    def names(self, seats: Seats) -> str:
        """Returns seats in words."""
        if seats == self._everyone and len(self._seats) > 1:
            return "all"
        names = [f"`{self._seats[seat]}`" for seat in seat_numbers(seats)]
        *first, last = names or ["nobody"]
        return f"{', '.join(first)} and {last}" if first else last

    def listed(self, seats: Seats) -> str:
        """Returns seats as `seen_by` lists them."""
        if seats == self._everyone:
            return "all"
        names = [self._seats[seat] for seat in seat_numbers(seats)]
        return f"[{', '.join(names)}]" if len(names) > 1 else (names or ["nobody"])[0]


def cause_place(cause: Cause) -> Span:
    """Returns the place of the part that cannot be read."""
    return cause.expr.span


def _bindings(ir: GameIR) -> dict[str, list[tuple[Type | None, Source]]]:
    """Returns the types of each variable by its binding places, with their files."""
    found: dict[str, list[tuple[Type | None, Source]]] = {}
    for state in ir.states:
        found.setdefault(state.name, []).append((state.type, state.span.source))
    for step in walk_steps(ir.turns):
        for name, type in bound_names(step).items():
            found.setdefault(name, []).append((type, step.span.source))
    return found


def _written(steps: Iterable[Step]) -> frozenset[str]:
    """Returns the variables that steps, and those inside them, may write."""
    return frozenset().union(*(written_variables(step) for step in walk_steps(tuple(steps))))


def _deciding_variables(ir: GameIR) -> frozenset[str]:
    """Returns the variables that steps read, or that a view shows: what happens, is told or is
    stored elsewhere may depend on them. Payoffs, and statements that change a variable itself, do
    not count."""
    found = set[str]()
    for step in walk_steps(ir.turns):
        match step:
            case Do(statements=statements, condition=condition):
                for statement in statements:
                    found |= _reads(statement, ir) - {write_of(statement).place.variable}
                found |= _reads(condition, ir)
            case Choose(moves=moves):
                heads = tuple(replace(action, body=()) for action in moves)
                found |= _reads(replace(step, moves=heads), ir)
            case Block() | Loop() | Stage():
                found |= _reads(replace(step, body=()), ir)
            case Draw(source=source):
                found |= _reads(step, ir) | ({source.bag.variable} if source.bag else set())
            case Show() | Call():
                found |= _reads(step, ir)
            case Pay(condition=condition):
                found |= _reads(condition, ir)
            case _:
                assert_never(step)
    return frozenset(found | _reads(ir.view, ir))


def deciding_test(whole: Expr, part: Expr) -> Expr | None:
    """Returns the test of the innermost conditional that reads a part of an expression to choose
    one of its branches; None where no test reads it."""
    tests = [each.test for each in walk(whole) if isinstance(each, If)]
    return next((t for t in reversed(tests) if any(each is part for each in walk(t))), None)


def _has(expr: Expr, kind: type[Me | Local] | UnionType) -> bool:
    return any(isinstance(part, kind) for part in walk(expr))


def root_of(expr: Expr) -> str:
    """Returns the name of the variable that an expression takes a part of; else its text."""
    while isinstance(expr, Get | Cell | Field):
        expr = expr.of
    return expr.name if isinstance(expr, Read | LastBy | Past | Local) else text_of(expr)


def text_of(expr: Expr) -> str:
    """Returns an expression as it was written, in one line; without the prefix of a stage."""
    text = " ".join(expr.span.text.split())
    name = short(expr.name) if isinstance(expr, Read) else ""
    return name if name not in text else text


def _quoted(text: str) -> str:
    """Returns an expression as a value of a map in braces."""
    return text if re.fullmatch(r"[\w.]+", text) else f'"{text}"'


def short(name: str) -> str:
    """Returns a name as the file of a stage has it: without the prefix of the stage."""
    return name.rpartition(".")[2]


def named(name: str) -> str:
    """Returns a short name as a diagnostic quotes it."""
    return f"`{short(name)}`"


def quote(expr: Expr) -> str:
    """Returns an expression as a diagnostic quotes it; a long one by the variable it is part of."""
    text = text_of(expr)
    return f"`{text}`" if len(text) <= LONGEST else named(root_of(expr))
