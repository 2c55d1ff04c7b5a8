"""What is said of a flow of information that must not be: who would learn what, where, and how to
tell it openly."""

from __future__ import annotations

from gamedsl.diagnostics import Diagnostic, Note, Problems
from gamedsl.ir.expr import Cell, Expr, Field, Get, LastBy, Local, Me, Past, Read, walk
from gamedsl.ir.game import Entry, GameIR
from gamedsl.ir.program import Choose, Draw, Loop, Place, Readers, Show, Stage, walk_steps
from gamedsl.passes.reader_expressions import Cause, Reading
from gamedsl.passes.reader_sets import Seats, each
from gamedsl.source.spans import Span

_WORDS = {
    "all": "all", "owner": "its owner alone", "others": "all but its owner", "nobody": "nobody",
}  # fmt: skip


class Leaks:
    """Gathers the flows of one game; of several through one place, `report` reports the first kind:
    that a seat is asked by it, before that others would learn it."""

    def __init__(self, ir: GameIR, reading: Reading, problems: Problems) -> None:
        self._ir = ir
        self._seats = reading.table.names
        self._everyone = reading.table.everyone
        self._variables = reading.variables
        self._problems = problems
        self._found: dict[tuple[str, int, int], Diagnostic] = {}
        self._declared = _declarations(ir)
        self.turn: int | None = None
        """The seat in whose pass of a loop the walk is: the owner of what is shown there."""

    def report(self) -> None:
        self._problems.extend(self._found.values())

    def asked(self, step: Choose, seat: int, cause: Cause, what: str, readers: Seats) -> None:
        """What decides `what` of a seat is hidden from it; of all who must read it, `readers`."""
        name, missing = self._seats[seat], (readers | 1 << seat) & ~cause.readers
        self._add(
            "GD0440", f"{what} depends on {_shown(cause.expr)}, which it cannot see", cause,
            missing, why=f"`{name}` would have to know this",
            notes=(Note(step.span, f"`{name}` chooses {_named(step.variable)} here"),),
        )  # fmt: skip

    def watched(self, step: Choose | Draw | Show, cause: Cause, audience: Seats) -> None:
        """What decides whether a step happens is hidden from some who see that it does."""
        names = self._names(audience & ~cause.readers)
        self._add(
            "GD0442", f"{names} would learn {_shown(cause.expr)} by seeing {_named(step.variable)}",
            cause, audience & ~cause.readers, why="this decides whether it happens",
            notes=(Note(step.span, f"{_named(step.variable)} is seen by {self._names(audience)}"),),
        )  # fmt: skip

    def stored(self, variable: str, span: Span, cause: Cause, missing: Seats, what: str) -> None:
        """What is stored in a variable, or decides whether or where it is, is hidden from some who
        read it."""
        names = self._names(missing)
        why = (
            f"this is stored in {_named(variable)}"
            if what == "what"
            else f"this decides {what} it is written"
        )
        whole = self._variables.get(variable)
        fewer = whole is not None and not whole.parts
        self._add(
            "GD0441", f"{names} would learn {_shown(cause.expr)} from {_named(variable)}", cause,
            missing, why=why, notes=(Note(span, f"{_named(variable)} is written here"),
                                     *self._declaration(variable)),
            otherwise=f", or declare {_named(variable)} with `seen_by: "
            f"{self._listed(cause.readers)}`" if fewer else "",
        )  # fmt: skip

    def counted(self, variable: str, span: Span, cause: Cause, missing: Seats) -> None:
        """What decides how long a list is is hidden from some."""
        self._add(
            "GD0445", f"{self._names(missing)} would learn {_shown(cause.expr)} from the length of "
            f"{_named(variable)}", cause, missing, why="the length depends on this",
            notes=(Note(span, f"{_named(variable)} is written here"), *self._declaration(variable)),
            otherwise=", or keep what is hidden in a set, whose size is hidden too",
        )  # fmt: skip

    def passed(self, step: Choose, seat: int, cause: Cause, missing: Seats) -> None:
        """That a seat has no legal option tells others something."""
        name = self._seats[seat]
        self._add(
            "GD0447", f"{self._names(missing)} would learn {_shown(cause.expr)} where `{name}` "
            "is passed over", cause, missing, why=f"this decides whether `{name}` can choose",
            notes=(Note(step.span, f"{_named(step.variable)} is chosen here"),),
            otherwise=", or add an action that is always legal, such as `pass`",
        )  # fmt: skip

    def viewed(
        self, seat: int, cause: Cause, entry: Entry, told: tuple[str, ...], *, own: bool
    ) -> None:
        """A seat cannot see what an expression of its view reads; `told` is what it would read.
        `own` says that it could see its own part of the value."""
        name, missing = self._seats[seat], 1 << seat
        self._add(
            "GD0508", f"`{name}` reads this in its view, and cannot see {_shown(cause.expr)}",
            cause, missing, why="a prompt may only show what its reader has seen",
            notes=(Note(entry.span, f"in the view of `{name}`"),), witness=told,
            otherwise=f", or show its own part alone: `{entry.text}.me`" if own else "",
        )  # fmt: skip

    def unknown(self, readers: Readers, variable: str, seat: int, cause: Cause) -> None:
        """A test of `seen_by` that a seat cannot work out of itself."""
        name = self._seats[seat]
        notes = () if readers.span is None else (Note(readers.span, "it is tested here"),)
        self._add(
            "GD0443", f"`{name}` cannot work out whether it sees {_named(variable)}", cause,
            1 << seat, why=f"`{name}` cannot see this", notes=notes,
        )  # fmt: skip

    def left(self, step: Draw, bag: Place, missing: Seats) -> None:
        """What is left in a collection tells what was drawn."""
        names, drawn = self._names(missing), _named(step.variable)
        self._keep(Diagnostic(
            "GD0444", f"{names} would learn {drawn} from what is left in {_named(bag.variable)}",
            bag.span, why="it is drawn from here",
            notes=(Note(step.span, f"{drawn} is {_sight(step.readers)}"),
                   *self._declaration(bag.variable)),
            help=f"declare {_named(bag.variable)} with `seen_by: nobody`",
        ))  # fmt: skip

    def untold(self, step: Choose | Draw, variable: str, missing: Seats) -> None:
        """A step tells less of what it stores than the readers of the variable must know."""
        names, span = self._names(missing), step.readers.span or step.span
        verb = "drawn" if isinstance(step, Draw) else "chosen"
        self._keep(Diagnostic(
            "GD0446", f"{names} may read {_named(variable)}, but would not be told what is {verb}",
            span, why=f"it is {_sight(step.readers)}", notes=self._declaration(variable),
            help=f"leave `seen_by` out here, or declare {_named(variable)} with the same",
        ))  # fmt: skip

    # words

    def _add(
        self,
        code: str,
        message: str,
        cause: Cause,
        missing: Seats,
        *,
        why: str,
        notes: tuple[Note, ...],
        otherwise: str = "",
        witness: tuple[str, ...] = (),
    ) -> None:
        place = cause.expr.span
        on_the_way = tuple(
            Note(let.span, f"{_shown(let)} reads it") for let in reversed(cause.through)
        )
        hidden = self._declaration(_root(cause.expr))
        notes = (*on_the_way, *hidden, *notes)
        self._keep(Diagnostic(
            code, message, place, why=why,
            notes=tuple(note for note in notes if not _within(place, note.span)),
            help=self._remedy(cause, missing) + otherwise, witness=witness,
        ))  # fmt: skip

    def _keep(self, found: Diagnostic) -> None:
        span = found.span
        place = span.source.name, span.start, span.end  # a file may be read more than once
        known = self._found.get(place)
        if known is None or found.code < known.code:
            self._found[place] = found

    def _remedy(self, cause: Cause, missing: Seats) -> str:
        """A step that tells what is missing; else who should see the variable."""
        root, expr = _root(cause.expr), cause.expr
        if cause.through and any(isinstance(part, Me | Local) for part in walk(expr)):
            expr = cause.through[0]
        text = _text(expr)
        if (
            text not in " ".join(expr.span.text.split()) or len(text) > 50 or '"' in text
            or any(isinstance(part, Local) for part in walk(expr))
        ):  # fmt: skip
            return f"let {_named(root)} be seen by {self._names(missing)}"
        quoted = text if text.replace(".", "").replace("_", "").isalnum() else f'"{text}"'
        name = f"known_{_short(root)}"
        seen_by = self._listed(missing | cause.readers)
        if self.turn is not None and missing | cause.readers == 1 << self.turn:
            seen_by = "owner"
        if cause.me is not None and any(isinstance(part, Me) for part in walk(expr)):
            mine = 1 << cause.me
            seen_by = "owner" if missing == mine else "all" if missing & mine else "others"
        return (
            f"tell it before, and read `{name}` instead: "
            f"`- {{show: {quoted}, as: {name}, seen_by: {seen_by}}}`"
        )

    def _names(self, seats: Seats) -> str:
        if seats == self._everyone and len(self._seats) > 1:
            return "all"
        names = [f"`{self._seats[seat]}`" for seat in each(seats)]
        *first, last = names or ["nobody"]
        return f"{', '.join(first)} and {last}" if first else last

    def _listed(self, seats: Seats) -> str:
        """Seats as `seen_by` lists them."""
        if seats == self._everyone:
            return "all"
        names = [self._seats[seat] for seat in each(seats)]
        return f"[{', '.join(names)}]" if len(names) > 1 else (names or ["nobody"])[0]

    def _declaration(self, name: str) -> tuple[Note, ...]:
        found = self._declared.get(name)
        return () if found is None else (Note(found[0], f"{_named(name)} is {found[1]}"),)


def _declarations(ir: GameIR) -> dict[str, tuple[Span, str]]:
    """Where each variable comes from, and who sees it; of several steps, the one that hides it."""
    found: dict[str, tuple[Span, str]] = {}
    public: dict[str, tuple[Span, str]] = {}
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose | Draw | Show) and getattr(step, "place", None) is None:
            open = step.readers.kind == "all" and not step.readers.fields
            (public if open else found).setdefault(
                step.variable, (step.span, _sight(step.readers, isinstance(step, Choose)))
            )
        elif isinstance(step, Loop):
            for name in (step.item, step.count):
                if name is not None:
                    public.setdefault(
                        name, (step.span, "known to those who know how this loop ends")
                    )
        states = step.state if isinstance(step, Stage) else ()
        found |= {state.name: (state.span, _sight(state.readers)) for state in states}
    found |= {state.name: (state.span, _sight(state.readers)) for state in ir.state}
    return {**public, **found}


def _sight(readers: Readers, chosen: bool = False) -> str:
    """Who sees a value, in words."""
    if readers.fields:
        return "seen in parts"
    if chosen and readers.kind in ("owner", "nobody"):
        return "seen by who chooses it alone"
    if readers.kind == "seats":
        return f"seen by {', '.join(readers.seats) or 'nobody'}"
    if readers.kind == "test":
        return "seen by those of whom a test holds"
    return f"seen by {_WORDS[readers.kind]}"


def _root(expr: Expr) -> str:
    """The name of the variable that an expression takes a part of; else its text."""
    while isinstance(expr, Get | Cell | Field):
        expr = expr.of
    return expr.name if isinstance(expr, Read | LastBy | Past | Local) else _text(expr)


def _text(expr: Expr) -> str:
    text = " ".join(expr.span.text.split())
    name = _short(expr.name) if isinstance(expr, Read) else ""
    return name if name not in text else text


def _short(name: str) -> str:
    """A name as the file of a stage has it: without that of the stage."""
    return name.rpartition(".")[2]


def _named(name: str) -> str:
    return f"`{_short(name)}`"


def _shown(expr: Expr) -> str:
    text = _text(expr)
    return f"`{text}`" if len(text) <= 50 else _named(_root(expr))


def _within(inner: Span, outer: Span) -> bool:
    """Whether a place is in another, and both begin on one line."""
    return (
        inner.source is outer.source
        and outer.start <= inner.start
        and inner.end <= outer.end
        and inner.source.position(inner.start)[0] == inner.source.position(outer.start)[0]
    )
