"""Reports of forbidden information flow: the seats, the value, the place, and a remedy."""

from __future__ import annotations

from dataclasses import replace

from gamedsl.analysis.infoflow.expressions import Cause, Visibilities
from gamedsl.analysis.infoflow.remedies import (
    Leak,
    Remedies,
    Team,
    deciding_test,
    named,
    quote,
    root_of,
    team_of,
)
from gamedsl.analysis.infoflow.visibility import Readers, Seats, seat_numbers
from gamedsl.diagnostics import Diagnostic, Note, Problems
from gamedsl.diagnostics.fixes import Edit, Fix
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.edits import delete_entry, set_readers
from gamedsl.ir.expr import Build, Expr, If, Me, walk
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Binding,
    Call,
    Choose,
    Draw,
    Entry,
    Loop,
    Stage,
    bound_names,
    walk_steps,
)
from gamedsl.ir.statements import Place
from gamedsl.ir.statements import Readers as ReadersOf
from gamedsl.ir.types import Bool

_WORDS = {
    "all": "all", "owner": "its owner alone", "others": "all but its owner", "nobody": "nobody",
}  # fmt: skip

MANY = 3
"""The number of further seats from which on a message counts them and names none."""


class Leaks:
    """Collects the leaks of one game. Of several at one place the one with the lowest code is
    reported: that a decision depends on the value comes before that others would learn it."""

    def __init__(self, ir: GameIR, visibilities: Visibilities, problems: Problems) -> None:
        self._ir = ir
        self._table = visibilities.table
        self._seats = visibilities.table.names
        self._remedies = Remedies(ir, visibilities)
        self._variables = visibilities.variables
        self._problems = problems
        self._found: dict[_Place, Diagnostic] = {}
        self._leaks: dict[_Place, Leak] = {}
        self._asked: dict[_Place, Seats] = {}
        self._declared = _declarations(ir)
        steps = list(walk_steps(ir.turns))
        self._bounds = frozenset(
            test.span
            for step in steps if isinstance(step, Loop)
            for test in (step.condition, step.until) if test is not None
        )  # fmt: skip
        self.turn: int | None = None
        """The seat whose pass of a loop, or whose action, the walk is in, if that is written out in
        the game's file: the owner of what a remedy shows there."""
        self.action = ""
        """The action that the walk is in, where that is a `do:` with no steps around it."""

    def report(self) -> None:
        for place, found in sorted(self._found.items(), key=lambda item: item[0]):
            if place in self._leaks:
                leak = self._leaks[place]
                alike = [each for each in self._leaks.values() if each.hide == leak.hide]
                fix = self._remedies.of(leak, alike)
                if found.edits:
                    found = replace(found, help=f"{found.help}, or {fix.text}")
                else:
                    found = replace(found, help=fix.text, edits=fix.edits)
            self._problems.extend([found])

    def report_decision(
        self, step: Choose, seat: int, cause: Cause, what: str, readers: Readers, whole: Expr
    ) -> None:
        """Reports a seat whose decision depends on values hidden from it: `what` is "is asked",
        "may choose" or "may say"; `readers` are all who must read them, in the expression `whole`
        that decides."""
        place = _place(cause.expr.span)
        found = self._found.get(place)
        before = self._asked.get(place, 0) if found is not None and found.code == "GD0440" else 0
        seats = self._asked[place] = before | 1 << seat
        names, several = self._few(seats), bool(seats & (seats - 1))
        asked = f"whether {names} {'are' if several else 'is'} asked"
        verb = "says" if step.said is not None else "chooses"
        readers |= self._table.own(seat) & ~cause.readers
        missing, needs = readers & ~cause.readers, readers
        if not any(isinstance(part, Me) for part in walk(cause.expr)):  # all read the same there
            for actor in step.actors:
                needs |= self._table.own(self._seats.index(actor))
        self._add(
            "GD0440", f"{asked if what == 'is asked' else f'what {names} {what}'} depends on "
            f"{quote(cause.expr)}, which {'they' if several else 'it'} cannot see", cause,
            missing, needs=needs, why=f"{names} would have to know this",
            notes=(Note(step.span, f"`{self._seats[seat]}` {verb} {named(step.variable)} here"),),
            condition=whole if what == "is asked" else deciding_test(whole, cause.expr),
            without=None if what == "is asked" else self._without(what, whole, cause.expr),
            team=team_of(step, cause, self._ir),
        )  # fmt: skip

    def _without(self, what: str, whole: Expr, part: Expr) -> Fix:
        """Returns the fix by which a decision does not depend on a part of an expression."""
        own = self._remedies.own_entry(whole, part)
        if own is not None:
            return own
        if what == "may say":
            return Fix("let `valid` not read it", ())
        said = "offer options that do not depend on it"
        match whole:
            case If(test=test, then=Build() as then, other=Build() as other, span=span) if any(
                each is part for each in walk(test)
            ) and self._is_own(span):
                texts = [item.span.text for each in (then, other) for item in each.items]
                offered = f"[{', '.join(dict.fromkeys(texts))}]"
                return Fix(f"{said}: `{offered}`", (Edit(span, offered),))
            case _:
                return Fix(said, ())

    def report_occurrence(
        self, step: Binding, cause: Cause, audience: Readers, condition: Expr
    ) -> None:
        """Reports a step whose condition is hidden from some who see that it happens."""
        names = self._names(audience & ~cause.readers)
        learned = quote(cause.expr) if cause.expr is condition else f"of {quote(cause.expr)}"
        told = step.readers.kind == "test"
        seen = _readers_text(step.readers) if told else f"seen by {self._names(audience)}"
        self._add(
            "GD0442", f"{names} would learn {learned} by seeing {named(step.variable)}",
            cause, audience & ~cause.readers, needs=audience, why="this decides whether it happens",
            notes=(Note(step.span, f"{named(step.variable)} is {seen}"),),
            condition=condition, team=team_of(step, cause, self._ir),
        )  # fmt: skip

    def report_call(self, step: Call, cause: Cause, missing: Readers) -> None:
        """Reports a function whose arguments are hidden from some who see its result."""
        self._add(
            "GD0448", f"{self._names(missing)} would learn of {quote(cause.expr)} from "
            f"{named(step.variable)}", cause, missing, why=f"`{step.function}` is given this",
            notes=(Note(step.span, f"{named(step.variable)} is {_readers_text(step.readers)}"),),
            without=Fix(
                f"leave `seen_by` out here and `show` what of {named(step.variable)} may be known",
                (),
            ),
        )  # fmt: skip

    def report_store(
        self, variable: str, span: Span, cause: Cause, missing: Readers, what: str, whole: Expr
    ) -> None:
        """Reports a stored value, or a condition or place of storing, that is hidden from some
        readers of the variable: `whole` is the expression that has it."""
        names = self._names(missing)
        why = (
            f"this is stored in {named(variable)}"
            if what == "what"
            else f"this decides {what} it is written"
        )
        state = next((state for state in self._ir.state if state.name == variable), None)
        open = state is not None and state.readers.kind in ("all", "seats")
        test = whole if what == "whether" else deciding_test(whole, cause.expr)
        self._add(
            "GD0441", f"{names} would learn {quote(cause.expr)} from {named(variable)}", cause,
            missing, why=why, notes=(Note(span, f"{named(variable)} is written here"),
                                     *self._declaration(variable)),
            hide=variable if open else "", condition=test,
        )  # fmt: skip

    def report_length(
        self,
        variable: str,
        span: Span,
        cause: Cause,
        missing: Readers,
        condition: Expr | None = None,
    ) -> None:
        """Reports a list whose length depends on values hidden from some."""
        self._add(
            "GD0445", f"{self._names(missing)} would learn {quote(cause.expr)} from the length of "
            f"{named(variable)}", cause, missing, why="the length depends on this",
            notes=(Note(span, f"{named(variable)} is written here"), *self._declaration(variable)),
            without=Fix(f"declare {named(variable)} with `size: hidden`", ()), condition=condition,
        )  # fmt: skip

    def report_skip(self, step: Choose, seat: int, cause: Cause, missing: Readers) -> None:
        """Reports a seat whose lack of legal options reveals something to others."""
        name = self._seats[seat]
        self._add(
            "GD0447", f"{self._names(missing)} would learn {quote(cause.expr)} where `{name}` "
            "is passed over", cause, missing, why=f"this decides whether `{name}` can choose",
            notes=(Note(step.span, f"{named(step.variable)} is chosen here"),),
            without=Fix("add an action that is always legal, such as `pass`", ()),
        )  # fmt: skip

    def report_view(
        self, seat: int, cause: Cause, entry: Entry, told: tuple[str, ...], *, own: bool
    ) -> None:
        """Reports an expression of a view that its seat cannot see; `told` are the lines that it
        would read. With `own` the seat could see its own part of the value."""
        name, missing = self._seats[seat], self._table.own(seat)
        self._add(
            "GD0508", f"`{name}` reads this in its view, and cannot see {quote(cause.expr)}",
            cause, missing, why="a prompt may only show what its reader has seen",
            notes=(Note(entry.span, f"in the view of `{name}`"),), witness=told,
            instead=_own_part(cause.expr.span, entry) if own else None,
        )  # fmt: skip

    def report_test(self, readers: ReadersOf, variable: str, seat: int, cause: Cause) -> None:
        """Reports a test of `seen_by` that a seat cannot evaluate for itself."""
        name = self._seats[seat]
        notes = () if readers.span is None else (Note(readers.span, "it is tested here"),)
        self._add(
            "GD0443", f"`{name}` cannot work out whether it sees {named(variable)}", cause,
            self._table.own(seat), why=f"`{name}` cannot see this", notes=notes,
        )  # fmt: skip

    def report_remainder(self, step: Draw, bag: Place, missing: Readers) -> None:
        """Reports a collection whose remainder reveals the drawn values."""
        names, drawn = self._names(missing), named(step.variable)
        place = self._declared[bag.variable][0]
        edits = set_readers(place, "nobody") if self._is_own(place) else ()
        self._keep(Diagnostic(
            "GD0444", f"{names} would learn {drawn} from what is left in {named(bag.variable)}",
            bag.span, why="it is drawn from here",
            notes=(Note(step.span, f"{drawn} is {_readers_text(step.readers)}"),
                   *self._declaration(bag.variable)),
            help=f"declare {named(bag.variable)} with `seen_by: nobody`", edits=edits,
        ))  # fmt: skip

    def report_unobserved(self, step: Choose | Draw, variable: str, missing: Readers) -> None:
        """Reports a step that shows fewer seats what it stores than read the variable."""
        names, span = self._names(missing), step.readers.span or step.span
        verb = "drawn" if isinstance(step, Draw) else "chosen"
        written = step.readers.span is not None and self._is_own(span)
        edits = delete_entry(span) if written else ()
        self._keep(Diagnostic(
            "GD0446", f"{names} may read {named(variable)}, but would not be told what is {verb}",
            span, why=f"it is {_readers_text(step.readers)}", notes=self._declaration(variable),
            help=f"leave `seen_by` out here, or declare {named(variable)} with the same",
            edits=edits,
        ))  # fmt: skip

    def _is_own(self, place: Span) -> bool:
        """Returns whether a place is in the file of the game, which its author may change."""
        return place.source is self._ir.span.source

    # words

    def _names(self, readers: Readers) -> str:
        """Returns the seats that are among readers in words."""
        return self._remedies.names(self._table.some(readers))

    def _add(
        self,
        code: str,
        message: str,
        cause: Cause,
        missing: Readers,
        *,
        why: str,
        notes: tuple[Note, ...],
        needs: Readers = 0,
        hide: str = "",
        witness: tuple[str, ...] = (),
        condition: Expr | None = None,
        instead: Fix | None = None,
        without: Fix | None = None,
        team: Team | None = None,
    ) -> None:
        place = cause.expr.span
        on_the_way = tuple(
            Note(let.span, f"{quote(let)} reads it") for let in reversed(cause.through)
        )
        hidden = self._declaration(root_of(cause.expr))
        places = tuple(note.span for note in notes)
        notes = (*on_the_way, *hidden, *notes)
        leak = replace(
            self._leak(cause, missing, needs, hide, condition, places),
            team=team, without=without, acts=code in ("GD0440", "GD0442"),
        )  # fmt: skip
        self._keep(Diagnostic(
            code, message, place, why=why,
            notes=tuple(note for note in notes if not _within(place, note.span)),
            help="" if instead is None else instead.text, witness=witness,
            edits=() if instead is None else instead.edits,
        ), leak)  # fmt: skip

    def _leak(
        self, cause: Cause, missing: Readers, needs: Readers, hide: str, condition: Expr | None,
        places: tuple[Span, ...],
    ) -> Leak:  # fmt: skip
        able = self._table.always(cause.readers)
        missing, needs = self._table.some(missing), self._table.some(needs)
        needs = needs or missing | able
        me = 0 if cause.me is None else 1 << cause.me
        turn = 0 if self.turn is None else 1 << self.turn
        return Leak(
            cause, missing, needs, me, bool(turn) and me in (0, turn), needs == turn,
            able, hide, self.action,
            condition if condition is not None and self._is_test(condition) else None, places,
        )  # fmt: skip

    def _is_test(self, condition: Expr) -> bool:
        """Returns whether a condition is the `if:` of a step, or a test in what it reads: it is
        tested once, just before the step or in it."""
        return isinstance(condition.type, Bool) and condition.span not in self._bounds

    def _keep(self, found: Diagnostic, leak: Leak | None = None) -> None:
        """Keeps for each place the first leak of the lowest code, for all seats."""
        place = _place(found.span)
        known = self._found.get(place)
        if known is None or found.code < known.code:
            self._found[place] = found
            self._leaks.pop(place, None)
            if leak is not None:
                self._leaks[place] = leak
        elif leak is not None and found.code == known.code:
            self._leaks[place].join(leak)
            if found.code == "GD0440":
                self._found[place] = replace(known, message=found.message, why=found.why)

    def _few(self, seats: Seats) -> str:
        """Returns seats in words; many of them as a count."""
        first, *more = seat_numbers(seats)
        if len(more) < MANY:
            return " and ".join(f"`{self._seats[seat]}`" for seat in (first, *more))
        return f"`{self._seats[first]}` and {len(more)} others"

    def _declaration(self, name: str) -> tuple[Note, ...]:
        found = self._declared.get(name)
        return () if found is None else (Note(found[0], f"{named(name)} is {found[1]}"),)


def _own_part(place: Span, entry: Entry) -> Fix | None:
    """Returns the fix that shows a seat its own part of a value alone; None where the value is not
    what the view shows."""
    own = f"{entry.text}.me"
    if place.text != entry.text:
        return None
    return Fix(f"show its own part alone: `{own}`", (Edit(place, own),))


_Place = tuple[str, int, int]
"""The name of a file, and the start and end of a span in it."""


def _place(span: Span) -> _Place:
    return span.source.name, span.start, span.end  # a file may be read more than once


def _declarations(ir: GameIR) -> dict[str, tuple[Span, str]]:
    """Returns the origin and the readers of each variable; of several steps, the one that hides
    it."""
    found: dict[str, tuple[Span, str]] = {}
    public: dict[str, tuple[Span, str]] = {}
    for step in walk_steps(ir.turns):
        for name in bound_names(step):
            if isinstance(step, Binding):
                open = step.readers.kind == "all" and not step.readers.fields
                readers = _readers_text(step.readers, isinstance(step, Choose))
                (public if open else found).setdefault(name, (step.span, readers))
            else:
                known = "known to those who know how this loop ends"
                public.setdefault(name, (step.span, known))
        states = step.state if isinstance(step, Stage) else ()
        found |= {state.name: (state.span, _readers_text(state.readers)) for state in states}
    found |= {state.name: (state.span, _readers_text(state.readers)) for state in ir.state}
    return {**public, **found}


def _readers_text(readers: ReadersOf, chosen: bool = False) -> str:
    """Names the readers of a value, in words."""
    if readers.fields:
        return "seen in parts"
    if chosen and readers.kind in ("owner", "nobody"):
        return "seen by who chooses it alone"
    if readers.kind == "seats":
        return f"seen by {', '.join(readers.seats) or 'nobody'}"
    if readers.kind == "test":
        text = readers.span.text if readers.span is not None else ""
        short = 0 < len(text) < 40
        return (
            f"seen by those that `{text}` names" if short else "seen by those of whom a test holds"
        )
    return f"seen by {_WORDS[readers.kind]}"


def _within(inner: Span, outer: Span) -> bool:
    """Returns whether a place is in another, and both begin on one line."""
    return (
        outer.encloses(inner)
        and inner.source.position(inner.start)[0] == inner.source.position(outer.start)[0]
    )
