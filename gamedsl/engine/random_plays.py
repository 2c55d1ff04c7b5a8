"""Random plays, and the histories that prompts are shown with before anybody has played.

Passes and the `prompts` command render every prompt, and a prompt needs a past. For a fixed
sequence of decisions these pasts are few, and together they contain every option of every step
once. For any other game they come from seeded random plays, so that every one of them can happen.

An open decision has no list of options: plays choose among a few valid replies, drawn from a seed
of the step, the author, and how often it has spoken there. The author knows all of these, so that
two histories that it cannot tell apart have the same replies, as they would with options; and they
are few, so that plays come to the same information sets by different histories. Where none is found
that the step's `valid` admits, a play ends there. A function that may take long, or cannot run
here, is not called: its result is drawn from its type, as often as its arguments differ. Proofs
replace a result of false by a draw too, so that plays go on behind tests that random text fails.
Histories that prompts are shown with are those of real results first; each says whose results are
made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple, assert_never

from gamedsl.calls.registry import lookup
from gamedsl.calls.types import ListOf, OrNone
from gamedsl.calls.types import Type as Described
from gamedsl.engine.function_calls import call_registered, name_of_data
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.legal_options import ExampleReplies
from gamedsl.ir.evaluate import Budget, ConsultError, EvaluationError, SpentError
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.ir.types import TEXT, PerSeat
from gamedsl.prompting.events import SILENCE, Event, Seen, Turn, counts_of, occurrences
from gamedsl.prompting.labels import hidden_words
from gamedsl.prompting.random_replies import random_reply

MOST = 16
"""Pasts per step; a step with more options than this before it is not covered wholly."""

NAMES = 100_000
"""Options and events in all pasts of a fixed sequence of decisions together; each step has one."""

PLAYS = 32
"""Random plays in which pasts are looked for; of an open game four times as many, while there are
steps that none comes to."""

MOVES = 400
"""Moves of all these plays together: a long game is looked into, not played out."""

WORK = 500_000
"""Work of all plays together, in units of `gamedsl.ir.evaluate.Budget`."""


_KNOWN: dict[str, dict[str, tuple[Past, ...]]] = {}
"""Sampled pasts by `GameIR.code_hash`."""


class Past(NamedTuple):
    """A seat that is asked, its options, the events it has seen, and the value of every variable
    (in a fixed sequence of decisions only where a view may show it)."""

    seat: str
    legal: tuple[str, ...]
    seen: Seen
    variables: Mapping[str, Any] = {}
    before: tuple[Turn, ...] = ()
    """The seat's earlier decisions, where its prompts continue a chat."""
    made_up: frozenset[str] = frozenset()
    """The functions of which this history has a result that no call gave."""


def pasts(ir: GameIR, step: Choose) -> tuple[Past, ...]:
    """Returns situations in which a step asks, the first of each seat first; none for a step that
    no sampled play reaches."""
    if not ir.plain:
        if ir.code_hash not in _KNOWN:
            if len(_KNOWN) >= 16:
                _KNOWN.clear()
            _KNOWN[ir.code_hash] = _sampled(ir)
        return _KNOWN[ir.code_hash].get(step.id, ())
    found: list[Past] = []
    names = 0
    for variant in range(_variants(ir, step)):
        seen = _before(ir, step, variant)
        variables = _bound(ir, seen) if ir.view else {}
        for seat in step.actors:
            legal = tuple(choice.name for choice in step.options_of(seat))
            names += len(legal) + len(seen)
            if found and names > NAMES // len(ir.steps):
                return tuple(found)
            found.append(Past(seat, legal, seen, variables))
    return tuple(found)


def _bound(ir: GameIR, seen: Seen) -> Mapping[str, Any]:
    """Returns the value of every variable of a fixed sequence of decisions once these have been
    made."""
    state, chosen = Interpreter(ir).start(), 0
    while chosen < len(seen) and state.kind == "decide":
        events = seen[chosen : chosen + len(state.asks)]
        state.choose([event.name for event in events])
        chosen += len(events)
    return state.variables


def _before(ir: GameIR, step: Choose, variant: int) -> Seen:
    """Returns the events before a step if every seat always took option number `variant`.

    Numbers wrap around, so that every variant is a history of the game.
    """
    return tuple(
        Event(earlier.id, 0, seat, options[variant % len(options)].name)
        for earlier in ir.steps[: ir.steps.index(step)]
        for seat, options in zip(earlier.actors, earlier.options, strict=True)
        if options
    )


def _variants(ir: GameIR, step: Choose) -> int:
    """Returns the number of histories that show every earlier option once, at most `MOST`."""
    earlier = ir.steps[: ir.steps.index(step)]
    most = max((len(options) for other in earlier for options in other.options), default=1)
    return min(most, MOST)


def _sampled(ir: GameIR) -> dict[str, tuple[Past, ...]]:
    """Returns the pasts of each step that random plays reach."""
    calls, left = ExampleCalls(), example_memory(ir)
    kernel = example_kernel(ir, Budget(WORK), calls)
    found: dict[str, dict[tuple[str, int], Past]] = {}
    moves = 0
    for play in range(4 * PLAYS):
        if play >= PLAYS and not (ir.open and len(found) < len(ir.steps)):
            break
        random = Random(play)
        calls.begin(pretend=play % 4 > 1, play=f" {play}")
        try:
            state, talk = kernel.start(left if play % 2 else {}), dict[str, tuple[Turn, ...]]()
            while state.kind != "end" and moves < MOVES:
                moves += 1
                if state.kind == "chance":
                    state.draw(state.pick(random.getrandbits(62)))
                    continue
                for ask in state.asks:
                    met = found.setdefault(ask.step, {})
                    number = sum(seat == ask.seat for seat, _ in met)
                    if len(met) < MOST:
                        seen, variables = state.seen(ask.seat), dict(state.variables)
                        before = talk.get(ask.seat, ())
                        made_up = frozenset(calls.made_up)
                        past = Past(ask.seat, ask.legal, seen, variables, before, made_up)
                        met[ask.seat, number] = past
                if not all(ask.legal for ask in state.asks):
                    break  # nothing is known that may be said here
                chosen = [random.choice(ask.legal) for ask in state.asks]
                for ask, name in zip(state.asks, chosen, strict=True) if ir.open else ():
                    if len(ask.legal) == 1 and not ask.open:
                        continue
                    named = ir.asked_counts.get(ask.step, ())
                    counts = counts_of(named, state.variables) if named else ()
                    turn = Turn(ask.step, ask.legal, len(state.seen(ask.seat)), name, counts)
                    talk[ask.seat] = (*talk.get(ask.seat, ()), turn)
                state.choose(chosen)
        except EvaluationError:
            continue
        except SpentError:
            break
    return {
        step: tuple(past for _, past in sorted(met.items(), key=lambda item: item[0][1]))
        for step, met in found.items()
    }


MANY = 4
"""Examples of one decision."""

NUMBER = "42"
"""The first example of a text: most functions that look at texts can read it."""

TRIES = 60
"""Replies that are drawn to find valid ones."""

LONG = 1
"""Seconds that a function may take before plays do without it."""


def example_kernel(
    ir: GameIR, budget: Budget | None = None, calls: ExampleCalls | None = None
) -> Interpreter:
    """Returns the rules of a game, interpreted, for random plays: every decision has some
    options."""
    if not ir.open:
        return Interpreter(ir, budget)
    return Interpreter(ir, budget, ExampleCalls() if calls is None else calls, example_replies(ir))


def example_memory(ir: GameIR) -> dict[str, Any]:
    """Returns an example of the state that an earlier episode left."""
    return {
        state.name: dict.fromkeys(ir.seats, NUMBER) if isinstance(state.type, PerSeat) else NUMBER
        for state in ir.lasting
    }


def example_replies(ir: GameIR) -> ExampleReplies:
    """Returns examples of replies to open decisions, by canonical name; silence is one where the
    game goes on without a valid reply."""
    silent = {seat for seat, cost in ir.costs.items() if cost.then in ("skip", "play")}
    masked = ir.labels.kind in ("masked", "partly")
    hidden = hidden_words(ir) if masked else None  # a text may have any, and would pass for a leak

    def examples(
        step: Choose, seat: str, seen: Seen, admits: Callable[[str], bool]
    ) -> tuple[str, ...]:
        assert step.said is not None
        random = Random(f"{step.id} {seat} {occurrences(seen, step.id, seat)}")
        found = list[str]()
        for number in range(TRIES):
            name = random_reply(step.said, step.reply_type(seat), ir.seats, random, number)
            if number == 0 and step.type == TEXT and step.said.form == "text":
                name = NUMBER
            if hidden is not None and step.said.form == "text" and hidden.search(name):
                continue
            if name not in found and _holds(admits, name):
                found.append(name)
            if len(found) == MANY:
                break
        return (*found, SILENCE) if seat in silent else tuple(found)

    return examples


def _holds(admits: Callable[[str], bool], name: str) -> bool:
    try:
        return admits(name)
    except ConsultError:  # a function is at fault, and no other reply mends it
        raise
    except EvaluationError:
        return False


class ExampleCalls:
    """Calls functions that are quick, and otherwise draws examples of their results; where it may
    `pretend`, also in place of false. A `gamedsl.engine.function_calls.Caller`."""

    def __init__(self) -> None:
        self.begin(pretend=True)

    def begin(self, *, pretend: bool, play: str = "") -> None:
        """Begins a play; what is drawn in it is drawn by its name too."""
        self._pretend, self._play = pretend, play
        self.made_up = set[str]()
        """The functions of which the play has a result that no call gave."""

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> Any:
        function = lookup(name)
        assert function is not None, "the compiler has looked it up"
        told = ", ".join(map(name_of_data, arguments.values()))
        random = Random(f"{name} {told}{self._play}")
        if function.time_limit > LONG or function.missing_here() is not None:
            self.made_up.add(name)
            return _random_data(function.result, random)
        found = call_registered(name, arguments)
        if found is False and self._pretend and _random_data("bool", random):
            self.made_up.add(name)
            return True
        return found


def _random_data(type: Described, random: Random) -> Any:
    """Returns a random value of a described type."""
    match type:
        case OrNone(of=inner):
            return _random_data(inner, random) if random.random() < 0.5 else None
        case ListOf(of=inner):
            return tuple(_random_data(inner, random) for _ in range(random.randrange(4)))
        case tuple():
            return random.choice(type)
        case Mapping():
            return {field: _random_data(inner, random) for field, inner in type.items()}
        case "text" | "int" | "number" | "bool" | "any":
            pass
        case _:
            assert_never(type)
    plain = {
        "text": ("", "yes", "3 + 4"), "int": (0, 1, 2), "bool": (False, True),
        "number": (0, Fraction(1, 2), 1), "any": (0, "yes"),
    }  # fmt: skip
    return random.choice(plain[type])
