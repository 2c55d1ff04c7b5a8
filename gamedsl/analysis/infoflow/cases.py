"""Cases of seats: what a seat knows of itself that decides what it sees, such as its secret part.

A test in `seen_by` may read what only its seat knows: `seen_by: part.me == wolf`. The seat that
passes it reads the value, and the same seat in another play does not. So the proof takes a seat as
several readers, one for each case: `bob` where he is a wolf, and `bob` where he is not. That one of
them reads a value means: in all plays of that case the value follows from what the seat has seen.

A question tells cases apart (`Question`): whether a test holds or, of tests that compare one value
with constants, which of them it is. Its variables do not change any more once the outermost steps
that write them are over. Only then is the question `settled`, and an answer counts; before, a test
that asks it is undecided.

`Cases.find` returns the cases of the tests of a game, which are one where all tests are of roles
alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    children,
)
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.program import Binding, Block, Step, substeps, walk_steps, written_variables
from gamedsl.ir.statements import EVERYONE, Readers
from gamedsl.ir.types import SEAT

MOST = 8
"""Cases of one seat at most; what would make more is not told apart."""

Form = Hashable
"""An expression without its types and places, in which lets are written out: two expressions of one
form have the same value at the same time. Seats are constants in it."""


class Environment(NamedTuple):
    """The forms of `me` and of the parameters of a `let`, and those of the variables (and of the
    local names, as `local name`) that are known seats."""

    me: Form | None = None
    locals: Mapping[str, Form] = {}
    seats: Mapping[str, Form] = {}


def form_of(expr: Expr, lets: Mapping[str, Let], here: Environment) -> Form:
    """Returns the form of an expression."""

    def inner(part: Expr, around: Environment = here) -> Form:
        return form_of(part, lets, around)

    match expr:
        case Const(value=value):
            return _constant(value)
        case Me():
            return here.me or ("me",)
        case Local(name=name):
            known = here.seats.get(f"local {name}") if expr.type == SEAT else None
            return here.locals.get(name, known or ("local", name))
        case Read(name=name):
            known = here.seats.get(name) if expr.type == SEAT else None
            return known or ("read", name)
        case LastBy(name=name) | Past(name=name):
            return type(expr).__name__, name
        case Get(of=LetMap(name=name), key=key):
            return inner(lets[name].body, Environment(inner(key), {}, here.seats))
        case LetCall(name=name, arguments=arguments, seat=seat):
            me = here.me if seat is None else inner(seat)
            given = dict(zip(lets[name].parameters, map(inner, arguments), strict=True))
            return inner(lets[name].body, Environment(me, given, here.seats))
        case Apply(function="!=", arguments=arguments):
            return "not", inner(Apply(expr.type, expr.span, "==", arguments))
        case Apply(function="not in", arguments=arguments):
            return "not", inner(Apply(expr.type, expr.span, "in", arguments))
        case Apply(function="==", arguments=(Const() as left, right)):
            return "==", inner(right), inner(left)
        case Apply(function="not", arguments=(negated,)):
            form = inner(negated)
            return positive(form) if positive(form) != form else ("not", form)
        case Apply(function=function, arguments=arguments):
            return (function, *map(inner, arguments))
        case Get() | Cell():
            return "get", inner(expr.of), inner(expr.key)
        case Field(of=of, index=index):
            return "field", inner(of), index
        case Logic(op=op, left=left, right=right):
            return op, inner(left), inner(right)
        case Consult(function=function):
            return ("consult", function, *map(inner, children(expr)))
        case If() | Build():
            return (type(expr).__name__, *map(inner, children(expr)))
        case Collect(item=item, targets=targets, source=source, condition=condition):
            shown = {name: form for name, form in here.locals.items() if name not in targets}
            seats = {name: f for name, f in here.seats.items() if name[6:] not in targets}
            within = Environment(here.me, shown, seats)
            test = None if condition is None else inner(condition, within)
            return "collect", targets, expr.keyed, inner(source), test, inner(item, within)
        case _:  # forms that nobody tests: equal to nothing else
            return "other", id(expr)


def _constant(value: Any) -> Form:
    try:
        hash(value)
    except TypeError:
        return "value", id(value)
    return "value", type(value).__name__, value


def positive(form: Form) -> Form:
    """Returns what a negated test negates: who knows the one knows the other."""
    return form[1] if isinstance(form, tuple) and form[0] == "not" else form


def variables_in(form: Form) -> Iterator[str]:
    """Yields the names of the variables that a form reads."""
    if isinstance(form, tuple):
        if len(form) == 2 and form[0] in ("read", "LastBy", "Past") and isinstance(form[1], str):
            yield form[1]
        for part in form:
            yield from variables_in(part)


def has_locals(form: Form, bound: frozenset[str] = frozenset()) -> bool:
    """Returns whether a form reads a local name that is not bound in it."""
    match form:
        case ("local", str() as name):
            return name not in bound
        case ("collect", tuple() as targets, _, source, test, item):
            within = bound.union(targets)
            return has_locals(source, bound) or any(has_locals(p, within) for p in (test, item))
        case tuple():
            return any(has_locals(part, bound) for part in form)
        case _:
            return False


def _replaced(form: Form, old: Form, new: Form) -> Form:
    """Returns a form with one of its parts replaced."""
    if form == old:
        return new
    return tuple(_replaced(p, old, new) for p in form) if isinstance(form, tuple) else form


ME: Form = ("me",)


@dataclass(frozen=True)
class Question:
    """A question that a seat can answer of itself: the `form` of a test or, with `values`, of the
    expression that is compared with them. Its answers are numbered: whether the test holds, or the
    place of the value, the last one for none of them."""

    form: Form
    values: tuple[Form, ...] = ()

    @property
    def answers(self) -> int:
        return len(self.values) + 1 if self.values else 2


class Answer(NamedTuple):
    """A test of one seat as a question to it: it holds where the answer is one of `holds`."""

    question: int
    seat: int
    holds: frozenset[int]


class Cases:
    """The cases of each seat: all combinations of answers to `questions`. `settled_by` are the
    questions that are settled once an outermost step is over, by its id."""

    def __init__(
        self, names: tuple[str, ...], questions: tuple[Question, ...],
        settled_by: Mapping[str, frozenset[int]],
    ) -> None:  # fmt: skip
        self.questions = questions
        self.settled_by = settled_by
        self._answers = tuple(product(*(range(q.answers) for q in questions)))
        self._tests: dict[Form, Answer] = {}
        for number, question in enumerate(questions):
            for seat, name in enumerate(names):
                own = _replaced(question.form, ME, _constant(name))
                if not question.values:
                    self._tests[own] = Answer(number, seat, frozenset({1}))
                for place, value in enumerate(question.values):
                    self._tests["==", own, value] = Answer(number, seat, frozenset({place}))

    @classmethod
    def find(cls, ir: GameIR) -> Cases:
        """Returns the cases of a game, from the tests of its readers."""
        final, hidden = _final_steps(ir), _hidden_variables(ir)
        compared: dict[Form, list[Form]] = {}
        for test in _tests_of_readers(ir):
            for leaf in _leaves(form_of(test, ir.lets_by_name, Environment())):
                read = set(variables_in(leaf))
                if not read & hidden or not read <= final.keys() or not _contains(leaf, ME):
                    continue
                if has_locals(leaf):
                    continue
                of, values = leaf, []
                if isinstance(leaf, tuple) and leaf[0] == "==" and _is_constant(leaf[2]):
                    of, values = leaf[1], [leaf[2]]
                known = compared.setdefault(of, [])
                known += [value for value in values if value not in known]
        questions: list[Question] = []
        count = 1
        for form, values in compared.items():
            question = Question(form, tuple(values))
            if count * question.answers <= MOST:
                questions.append(question)
                count *= question.answers
        settled: dict[str, set[int]] = {}
        order = [step.id for step in _outermost_steps(ir.turns)]
        for number, question in enumerate(questions):
            last = max(order.index(final[name]) for name in variables_in(question.form))
            settled.setdefault(order[last], set()).add(number)
        frozen = {step: frozenset(numbers) for step, numbers in settled.items()}
        return cls(ir.everyone, tuple(questions), frozen)

    @property
    def count(self) -> int:
        """The number of cases of each seat."""
        return len(self._answers)

    def answer(self, form: Form) -> Answer | None:
        """Returns the question that a test asks of one seat; None for any other expression."""
        return self._tests.get(form)

    def holding(self, answer: Answer) -> Iterator[int]:
        """Yields the cases in which the seat that is asked gives one of the answers that count."""
        for case, answers in enumerate(self._answers):
            if answers[answer.question] in answer.holds:
                yield case


def _outermost_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yields the steps that lie in no other: each is carried out once, in order. Steps of blocks
    without a condition count as such."""
    for step in steps:
        if isinstance(step, Block) and step.condition is None:
            yield from _outermost_steps(step.body)
        else:
            yield step


def _final_steps(ir: GameIR) -> dict[str, str]:
    """Returns, for each variable that steps write, the outermost step after which none does."""
    final: dict[str, str] = {}
    for step in _outermost_steps(ir.turns):
        for inner in (step, *walk_steps(substeps(step))):
            final |= dict.fromkeys(written_variables(inner), step.id)
    return final


def _hidden_variables(ir: GameIR) -> frozenset[str]:
    """Returns the variables that some do not see."""
    declared = [(state.name, state.readers) for state in ir.states]
    bound = [(s.variable, s.readers) for s in walk_steps(ir.turns) if isinstance(s, Binding)]
    return frozenset(name for name, readers in declared + bound if readers != EVERYONE)


def _tests_of_readers(ir: GameIR) -> Iterator[Expr]:
    def tests(readers: Readers) -> Iterator[Expr]:
        if readers.test is not None:
            yield readers.test
        for _, inner in readers.fields:
            yield from tests(inner)

    for state in ir.states:
        yield from tests(state.readers)
    for step in walk_steps(ir.turns):
        if isinstance(step, Binding):
            yield from tests(step.readers)


def _leaves(form: Form) -> Iterator[Form]:
    """Yields the tests that a test is made of by `and`, `or` and `not`; of `x in [… for … if …]`
    those of the condition."""
    if not isinstance(form, tuple):
        return
    match form:
        case ("and" | "or", left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case ("not", inner):
            yield from _leaves(inner)
        case ("in", one, ("collect", (target,), False, source, condition, item)) if item == (
            "local",
            target,
        ):
            yield from _leaves(("in", one, source))
            if condition is not None:
                yield from _leaves(_replaced(condition, item, one))
        case _:
            yield form


def _contains(form: Form, part: Form) -> bool:
    return form == part or (isinstance(form, tuple) and any(_contains(p, part) for p in form))


def _is_constant(form: Form) -> bool:
    return isinstance(form, tuple) and form[:1] == ("value",)
