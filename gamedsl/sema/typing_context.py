"""The state of the typing walk: the scope, the problems, and the lets that have been typed.

Every part of the walk (`name_resolution`, `access`, `application`, `type_errors`, `typer`) works on
one `TypingContext`. A wrong expression is reported where it stands and becomes `never(node)`, whose
type fits everywhere, so that one mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gamedsl.bounds.expressions import Interpreter
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.abstract_values import AbstractValue
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.game import Let
from gamedsl.ir.types import NEVER, SEAT, Never, Type, join
from gamedsl.sema.narrow import Facts
from gamedsl.sema.scope import ANY, LetName, Namespace

Infer = Callable[[ast.Node, Type | None], ir.Expr]
"""Types an expression, which the type that its place expects, if any, helps to understand."""

DOUBTED = ("GD0309", "GD0310", "GD0321", "GD0324", "GD0327")
"""Codes of what a value cannot do that may be none, or of another kind or range."""


def never(node: ast.Node) -> ir.Expr:
    """Returns the expression that stands for a wrong one."""
    return ir.Const(NEVER, node.span, None)


def has_errors(typed: ir.Expr) -> bool:
    """Whether a part of an expression is wrong, and was reported: it has no value then."""
    return any(isinstance(part.type, Never) for part in ir.walk(typed))


class TypingContext:
    """The names, problems and lets of one typing walk, and the place that it has reached.

    `locals` are the types of the targets of comprehensions and of a let's parameters, `facts` the
    expressions that a test around the present place proves not to be none.
    """

    def __init__(self, names: Namespace, problems: Problems) -> None:
        self.names = names
        self.problems = problems
        self.lets: dict[str, ir.Expr] = {}
        """The typed bodies of the lets that were read, by their names in the IR."""
        self.learned: dict[str, Type] = {}
        """The types of what is assigned to state that was declared `none`."""
        self.scoped: frozenset[str] = frozenset()
        """The variables of the loops around the present step, and the arguments of the action whose
        parts are being read. They come before all names but those in `locals`."""
        self.known: Mapping[str, AbstractValue] = {}
        """What is known of those variables and arguments, by their names in the IR."""
        self.typed_lets: list[LetName] = []
        """The lets that have been typed, in order."""
        self.forgiven: set[LetName] = set()
        """Lets that were read where errors are not those of the game: what params switch off."""
        self._set_aside: list[Problems] = []
        """The problems found before those that are collected by themselves."""
        self.offers = False
        """Whether options are typed: then a conditional may give some of one type or of another."""
        self.consults = False
        """Whether the condition of what is said is typed, which may call registered functions."""
        self.untyped = False
        """Whether state was read that was declared `none` and whose type is not known yet."""
        self.proved: dict[Span, tuple[Type, Type]] = {}
        """The types of expressions of which tests prove more, and what they prove. This counts only
        where an expression has no meaning otherwise: types are part of hashes."""
        self.level = 0
        """The expressions around the present one, those of the lets that read it included."""
        self.open_lets: list[LetName] = []
        """The lets that are being typed, each read by the one before it."""
        self.begin()

    @property
    def may_be_untyped(self) -> bool:
        """Whether an expression may be without a type: an error was reported, here or around what
        is collected by itself; state was read whose type is not known yet; or the file is part of a
        game that may declare any name."""
        if self.untyped or ANY in self.names.broken:
            return True
        return any(found.errors for found in (self.problems, *self._set_aside))

    def begin(self, *, me: bool = False, facts: Facts = frozenset()) -> None:
        """Begins an expression that stands alone; `me` says whether it may read `me`."""
        self.locals: dict[str, Type] = {}
        self.facts = facts
        self.me_allowed = me
        self.uses_me = False

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Types the options of a decision."""
        self.offers = True
        try:
            yield
        finally:
            self.offers = False

    @contextmanager
    def consulting(self) -> Iterator[None]:
        """Types the condition of what is said, which may call registered functions."""
        self.consults = True
        try:
            yield
        finally:
            self.consults = False

    def me(self, span: Span) -> ir.Expr:
        """Returns `me`, and notes that the present expression reads it."""
        self.uses_me = True
        return ir.Me(SEAT, span)

    def settled(self, test: ir.Expr) -> bool | None:
        """Returns the value that params give to a test; None for one that reads anything else, or
        no param."""
        parts = list(ir.walk(test))
        if not any(isinstance(part, ir.Const) and part.origin is not None for part in parts):
            return None
        if any(isinstance(part, (*ir.PLAY, ir.Local)) for part in parts):
            return None
        try:
            value = evaluate(test, Scope(seats=self.names.seats))
        except EvaluationError:
            return None
        return value if isinstance(value, bool) else None

    def live(self, expr: ir.Expr) -> ir.Expr:
        """Returns an expression with what is known of it beyond its type: of a conditional, the
        branch that params choose; of what a test compares, the type that the test proves."""
        while isinstance(expr, ir.If) and (holds := self.settled(expr.test)) is not None:
            expr = expr.then if holds else expr.other
        if isinstance(expr, ir.If):
            then, other = self.live(expr.then), self.live(expr.other)
            type = join(then.type, other.type)
            changed = then is not expr.then or other is not expr.other
            return replace(expr, type=type, then=then, other=other) if changed and type else expr
        type, proved = self.proved.get(expr.span, (None, None))
        return replace(expr, type=proved) if proved is not None and type == expr.type else expr

    def declares(self, name: str) -> bool:
        """Whether a name means something without the type that is expected at its place."""
        return (
            name in self.locals
            or name in self.names.declared
            or name in self.names.everyone
            or name in ("me", "other", "others", "roles")
        )

    @contextmanager
    def within(self, names: Namespace) -> Iterator[None]:
        """Reads names in another scope."""
        saved, self.names = self.names, names
        try:
            yield
        finally:
            self.names = saved

    @contextmanager
    def collecting(self) -> Iterator[Problems]:
        """Collects the problems found now by themselves, and not among those of the game. Where
        there are errors, lets that were typed now are typed anew where they are next read, so that
        theirs are not lost there; if nothing else reads them, they are forgiven."""
        saved, self.problems = self.problems, Problems()
        self._set_aside.append(saved)
        found, known = self.problems, len(self.typed_lets)
        try:
            yield found
        finally:
            self.problems = self._set_aside.pop()
            for let in self.typed_lets[known:] if found.errors else ():
                let.type, let.types = None, ()
                self.forgiven.add(let)

    @contextmanager
    def switched_off(self, is_dead: bool) -> Iterator[Problems]:
        """Types what params switch off (`is_dead`), and yields what is wrong with it, which is not
        reported; what is typed otherwise is reported, and nothing is yielded of it."""
        if not is_dead:
            yield Problems()
            return
        with self.collecting() as found:
            yield found
        if not found.errors:
            self.problems.extend(found.found)

    @contextmanager
    def doubtful(self, node: ast.Node, is_doubtful: bool) -> Iterator[None]:
        """Types what is read under a wrong test, or is written to what is wrong (`is_doubtful`): a
        right one might prove that it is not none, or of another kind, which is not reported."""
        if not is_doubtful:
            yield
            return
        with self.collecting() as found:
            yield
        self.problems.extend(
            d for d in found.found if d.code not in DOUBTED or not node.span.encloses(d.span)
        )

    @contextmanager
    def let_body(self, let: LetName, parameters: dict[str, Type]) -> Iterator[None]:
        """Types a let's body: in the scope of its file, for a reader who may be any seat."""
        saved = self.locals, self.facts, self.me_allowed, self.uses_me
        self.locals, self.facts, self.me_allowed, self.uses_me = (
            parameters,
            frozenset(),
            True,
            False,
        )
        self.open_lets.append(let)
        try:
            with self.scope(frozenset(), {}):
                yield
        finally:
            self.open_lets.pop()
            self.locals, self.facts, self.me_allowed, self.uses_me = saved

    @contextmanager
    def scope(self, names: frozenset[str], known: Mapping[str, AbstractValue]) -> Iterator[None]:
        """Types what stands where these loop variables and arguments are local, and no others;
        `known` is what is known of their values."""
        saved = self.scoped, self.known
        self.scoped, self.known = names, known
        try:
            yield
        finally:
            self.scoped, self.known = saved

    def value(self, expr: ir.Expr) -> AbstractValue:
        """Returns what is known of the value of an expression before the whole program is read: by
        its type, by the loops around it, and by the lets that it calls."""
        named = self.names.declared.values()
        lets = {
            let.name: Let(let.name, tuple(p.id for p in let.parameters), self.lets[let.name],
                          let.per_seat, let.span)
            for let in named if isinstance(let, LetName) and let.name in self.lets
        }  # fmt: skip
        return Interpreter(
            self.names.seats, lets, self._known_of, referees=self.names.referees
        ).value(expr)

    def _known_of(self, read: ir.Read | ir.LastBy | ir.Past) -> AbstractValue | None:
        return self.known.get(read.name) if isinstance(read, ir.Read) else None

    @contextmanager
    def assuming(self, facts: Facts) -> Iterator[None]:
        """Types what is read only where these facts hold."""
        saved, self.facts = self.facts, self.facts | facts
        try:
            yield
        finally:
            self.facts = saved

    @contextmanager
    def targets(self) -> Iterator[None]:
        """Types a comprehension, whose targets are forgotten behind it."""
        saved = self.locals, self.facts
        self.locals = dict(self.locals)
        try:
            yield
        finally:
            self.locals, self.facts = saved
