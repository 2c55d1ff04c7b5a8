"""The reference backend: runs the operations of `gamedsl.backends.flow` one by one.

It is small and obvious before it is fast; every other backend is checked against it. A state's
values are never changed in place, so that a copy is a few dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gamedsl.backends import flow
from gamedsl.backends.chance import Lottery, ticket
from gamedsl.backends.drawing import Drawing, Index
from gamedsl.backends.events import Seen, appended, known, occurrences
from gamedsl.backends.kernel import Amounts, Ask, Kind, Outcome, PlayError
from gamedsl.backends.legal import Options, action_of, arguments
from gamedsl.backends.places import (
    Path,
    apply,
    fitting,
    nested,
    part,
    path_of,
    stored,
    with_less,
    with_more,
    writes,
)  # fmt: skip
from gamedsl.backends.readers import told
from gamedsl.ir.builtins import exact, values
from gamedsl.ir.evaluate import Scope, evaluate, none_here
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import Settlement, settle
from gamedsl.ir.program import Choose, Draw, Place, Show
from gamedsl.ir.types import PerSeat, PerValue, Type
from gamedsl.ir.values import name_of
from gamedsl.source.spans import Span


class Round(NamedTuple):
    """A loop under way: `items` are what it goes through, `times` how many passes there are (None:
    no number), `passes` how many have begun; `me` acts outside it."""

    items: tuple[Any, ...] | None
    times: int | None
    passes: int
    me: str | None


class Call(NamedTuple):
    """Action bodies under way: those still to run, as (seat, place, arguments), then go on at
    `after`, where `me` acts."""

    waiting: tuple[tuple[str, int, Mapping[str, Any]], ...]
    after: int
    me: str | None


class Inner(NamedTuple):
    """A stage under way: what the game around it had paid, and who acts there."""

    paid: Mapping[str, Any]
    me: str | None


Frame = Round | Call | Inner


class Interpreter:
    """The rules of one game, interpreted. A `gamedsl.backends.kernel.Kernel`."""

    def __init__(self, ir: GameIR) -> None:
        self.ir = ir
        self.flow = flow.flatten(ir)
        self.options = Options(ir)
        self.drawing = Drawing(ir)

    def start(self) -> History:
        return History(self)


class History:
    """A history of a game. A `gamedsl.backends.kernel.State`."""

    __slots__ = (
        "_bindings", "_drawn", "_frames", "_kernel", "_lottery", "_me", "_paid", "_place", "_seen",
        "asks", "kind",
    )  # fmt: skip

    def __init__(self, kernel: Interpreter) -> None:
        seats = kernel.ir.seats
        self._kernel = kernel
        self._bindings: dict[str, Any] = {s.name: s.start for s in kernel.ir.state}
        self._paid: dict[str, Mapping[str, Any]] = {
            stream: dict.fromkeys(seats, 0) for stream in kernel.flow.streams
        }
        self._seen: dict[str, Seen] = dict.fromkeys(seats, ())
        self._frames: tuple[Frame, ...] = ()
        self._place = 0
        """The operation at which the history stands."""
        self._me: str | None = None
        self._drawn: tuple[Any, ...] = ()
        """What the draw under way has brought, index by index."""
        self._lottery: Lottery | None = None
        self.asks: tuple[Ask, ...] = ()
        self.kind: Kind = "end"
        self._run(0)

    def copy(self) -> History:
        twin = History.__new__(History)
        for name in History.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._bindings = self._bindings.copy()
        twin._paid = self._paid.copy()
        twin._seen = self._seen.copy()
        return twin

    def seen(self, seat: str) -> Seen:
        return self._seen[seat]

    @property
    def payoffs(self) -> Amounts:
        return self._settled().payoffs

    @property
    def rewards(self) -> Amounts:
        return self._settled().rewards

    @property
    def streams(self) -> Mapping[str, Amounts]:
        return self._settled().streams if self.kind == "end" else dict(self._paid)

    def _settled(self) -> Settlement:
        return settle(self._kernel.ir, self._bindings, self._paid)

    # running

    def _run(self, place: int | None) -> None:
        """Carry out operations until somebody must choose, chance must draw, or the game is over.

        An operation answers where to go on, or None to stop at it.
        """
        ops = self._kernel.flow.ops
        while place is not None:
            self._place = place
            op = ops[place]
            place = _RUN[type(op)](self, op)

    def _stop(self, op: flow.Stop) -> None:
        self.kind = "end"

    def _test(self, op: flow.Test) -> int:
        return self._place + 1 if self._holds(op.condition) else op.otherwise

    def _check(self, op: flow.Check) -> int:
        return op.over if self._holds(op.end) else self._place + 1

    def _enter(self, op: flow.Enter) -> int:
        loop = op.loop
        items = None if loop.items is None else values(self._value(loop.items))
        times = None if loop.times is None else self._value(loop.times)
        if items is not None and not (loop.cycle and items):
            times = len(items)
        self._frames = (*self._frames, Round(items, times, 0, self._me))
        return self._place + 1

    def _pass(self, op: flow.Pass) -> int:
        loop, under_way = op.loop, self._frames[-1]
        assert isinstance(under_way, Round)
        items, times, passes, _ = under_way
        if passes == times:
            return self._leave(op.after)
        if passes == loop.bound:
            if loop.until is None or loop.at_bound == "go_on":
                return self._leave(op.after)
            if loop.at_bound == "end":
                return op.over
            raise PlayError(f"`until` has not held after {passes} passes", loop.until.span)
        self._unbind(loop.resets)
        self._frames = (*self._frames[:-1], under_way._replace(passes=passes + 1))
        if loop.count is not None:
            self._bindings[loop.count] = passes + 1
        if items is not None and loop.item is not None:
            self._bindings[loop.item] = items[passes % len(items)]
        elif items is not None:
            self._me = items[passes % len(items)]
        return self._place + 1

    def _again(self, op: flow.Again) -> int:
        until = op.loop.until
        return self._leave(op.after) if until is not None and self._holds(until) else op.head

    def _leave(self, after: int) -> int:
        """Leave the innermost loop."""
        *frames, under_way = self._frames
        self._frames, self._me = tuple(frames), under_way.me
        return after

    def _begin(self, op: flow.Begin) -> int:
        self._frames = (*self._frames, Inner(self._paid["payoffs"], self._me))
        self._paid["payoffs"] = dict.fromkeys(self._kernel.ir.seats, 0)
        self._unbind(op.stage.resets)
        self._bindings.update((state.name, state.start) for state in op.stage.state)
        return self._place + 1

    def _close(self, op: flow.Close) -> int:
        *frames, frame = self._frames
        while not isinstance(frame, Inner):
            frame = frames.pop()
        self._frames, self._me = tuple(frames), frame.me
        scope, inside = self._scope(), dict(self._paid["payoffs"])
        for seat, payoff in op.stage.payoffs:
            inside[seat] += evaluate(payoff, scope.seated(seat))
        weight = evaluate(op.stage.weight, scope)
        self._paid["payoffs"] = {
            seat: exact(before + weight * inside[seat]) for seat, before in frame.paid.items()
        }
        return self._place + 1

    def _do(self, op: flow.Run) -> int:
        for statement in op.step.statements:
            for write in writes(statement, self._scope()):
                variable, value = apply(write, self._bindings.get)
                self._bindings[variable] = value
        return self._place + 1

    def _pay(self, op: flow.Credit) -> int:
        scope, paid = self._scope(), dict(self._paid[op.step.stream])
        for seat, amount in op.step.amounts:
            paid[seat] = exact(paid[seat] + evaluate(amount, scope.seated(seat)))
        self._paid[op.step.stream] = paid
        return self._place + 1

    def _show(self, op: flow.Tell) -> int:
        step, value = op.step, self._value(op.step.value)
        self._bind(step.variable, value)
        self._tell(step, self._me, "", value, step.value.type, name_of(value))
        return self._place + 1

    # choices

    def _ask(self, op: flow.Ask) -> int | None:
        step, asks = op.step, []
        for seat in self._actors(step):
            legal = self._kernel.options.legal(step, seat, self._scope(seat))
            if legal:
                count = occurrences(self._seen[seat], step.id, seat)
                asks.append(Ask(seat, step.id, count, legal))
            elif self._kernel.ir.no_move == "end":
                return op.over
            elif self._kernel.ir.no_move != "pass":
                raise PlayError(
                    f"`{seat}` has no legal `{step.variable}`", step.span,
                    (f"{seat} has seen: {known(self._seen[seat]) or 'nothing'}",),
                )  # fmt: skip
        if not asks:
            return op.after
        self.asks = tuple(asks)
        self.kind = "decide"
        return None

    def _actors(self, step: Choose) -> tuple[str, ...]:
        """Who acts at a step: those for whom its condition holds."""
        seats: Iterable[Any] = step.actors if step.actor is None else (self._value(step.actor),)
        if step.condition is not None:
            seats = [seat for seat in seats if self._holds(step.condition, seat)]
        for seat in seats:
            if seat not in step.actors:
                span = step.span if step.actor is None else step.actor.span
                raise PlayError(f"{name_of(seat)} cannot act here", span)
        return tuple(seats)

    def choose(self, names: Sequence[str]) -> None:
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Ask)
        step, options = op.step, self._kernel.options
        asks, self.asks = self.asks, ()
        seats = [ask.seat for ask in asks]
        chosen = {
            seat: options.value(step, seat, name) for seat, name in zip(seats, names, strict=True)
        }
        self._bind_choices(step, chosen)
        for seat, name in zip(seats, names, strict=True):
            self._tell(step, seat, seat, chosen[seat], step.type, name)
        waiting = []
        for seat, value in chosen.items():
            action = action_of(step, value)
            place = None if action is None else dict(op.bodies).get(action.name)
            if action is not None and place is not None:
                waiting.append((seat, place, arguments(action, value)))
        self._frames = (*self._frames, Call(tuple(waiting), self._place + 1, self._me))
        self._run(self._return())

    def _return(self, op: flow.Op | None = None) -> int:
        """Begin the next of the bodies that wait, or go on after the choice."""
        *frames, call = self._frames
        assert isinstance(call, Call)
        if not call.waiting:
            self._frames, self._me = tuple(frames), call.me
            return call.after
        (self._me, place, bound), *rest = call.waiting
        self._bindings.update(bound)
        self._frames = (*frames, call._replace(waiting=tuple(rest)))
        return place

    def _bind_choices(self, step: Choose, chosen: Mapping[str, Any]) -> None:
        if step.place is not None:
            paths = [path_of(step.place, self._scope(seat)) for seat in chosen]
            for path, value in zip(paths, chosen.values(), strict=True):
                fitting(value, step.place.type, step.place, step.span)
                self._store(step.place, path, value, step.span)
            self._remember(step.variable)
        elif step.joint:
            self._bind(step.variable, {**(self._bindings.get(step.variable) or {}), **chosen})
        else:
            self._bind(step.variable, *chosen.values())
        if not step.joint and step.variable in self._kernel.flow.by_seat:
            key = f"{step.variable}@by"
            self._bindings[key] = {**self._bindings.get(key, {}), **chosen}

    # chance

    def _chance(self, op: flow.Chance) -> int | None:
        step = op.step
        if not self._kernel.drawing.indices(step):
            return self._place + 1
        if not self._drawn and step.place is None:
            self._unbind((step.variable,))
        self._lottery = self._kernel.drawing.lottery(step, self._drawn, self._drawer())
        self.kind = "chance"
        return None

    def _drawing(self) -> tuple[Draw, Index]:
        """The draw under way, and the index it draws for."""
        op = self._kernel.flow.ops[self._place]
        assert isinstance(op, flow.Chance)
        return op.step, self._kernel.drawing.indices(op.step)[len(self._drawn)]

    def _drawer(self) -> Scope:
        """The state as read by the seat that is drawn for, if one is."""
        step, index = self._drawing()
        return self._scope(index[0] if step.by_seat else self._me)

    @property
    def draws(self) -> tuple[str, tuple[str, ...]]:
        step, index = self._drawing()
        return step.id, tuple(map(name_of, index))

    @property
    def outcome_count(self) -> int:
        return 0 if self._lottery is None else self._lottery.size

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        lottery = self._lottery
        if lottery is None:
            return ()
        return tuple(
            Outcome(name_of(lottery.value(i)), lottery.probability(i)) for i in range(lottery.size)
        )

    def pick(self, seed: int) -> int:
        assert self._lottery is not None
        step, index = self.draws
        passes = ".".join(str(f.passes) for f in self._frames if isinstance(f, Round))
        total = self._lottery.total
        return self._lottery.outcome(ticket(total, seed, step, passes, ",".join(index)))

    def draw(self, outcome: int) -> str:
        assert self._lottery is not None
        value = self._lottery.value(outcome)
        step, index = self._drawing()
        scope, self._lottery = self._drawer(), None
        self._take_out(step, value, scope)
        owner = index[0] if step.by_seat else None
        if step.place is None:
            before = self._bindings.get(step.variable) if index else None
            self._bindings[step.variable] = nested(before, index, value)
        else:
            path = self._keep(step, step.place, index, value, scope)
            owner = owner or next((key for key in path if key in scope.seats), None)
        if owner is None and step.readers.kind in ("owner", "others"):
            owner = self._me
        name = ":".join(map(name_of, (*index[step.by_seat :], value)))
        self._tell(step, owner, owner or "", value, step.type, name)
        self._drawn = (*self._drawn, value)
        if len(self._drawn) < len(self._kernel.drawing.indices(step)):
            self._run(self._place)
        else:
            self._drawn = ()
            self._remember(step.variable)
            self._run(self._place + 1)
        return name_of(value)

    def _keep(self, step: Draw, place: Place, index: Index, value: Any, scope: Scope) -> Path:
        """Write what was drawn into declared state; the path of the part it went to."""
        path, type = (*path_of(place, scope), *index), place.type
        for _ in index:
            type = type.of if isinstance(type, PerSeat | PerValue) else type
        if step.how == "append":
            old = part(self._bindings.get(place.variable), path, step.span)
            for item in (value,) if step.source.take is None else value:
                old = with_more(old, item)
            value = old
        fitting(value, type, place, step.span)
        self._store(place, path, value, step.span)
        return path

    def _take_out(self, step: Draw, value: Any, scope: Scope) -> None:
        """What is drawn from a bag is no longer in it."""
        bag = step.source.bag
        if bag is None:
            return
        path = path_of(bag, scope)
        whole = self._bindings[bag.variable]
        items = part(whole, path, step.span)
        for item in (value,) if step.source.take is None else value:
            items = with_less(items, item)
        self._bindings[bag.variable] = stored(whole, path, items, step.span)

    # the state

    def _scope(self, me: str | None = None) -> Scope:
        """What expressions read; by default as read by who acts."""
        ir = self._kernel.ir
        return Scope(ir.seats, self._bindings, ir.lets_by_name, self._paid, me or self._me)

    def _value(self, expr: Expr, me: str | None = None) -> Any:
        return evaluate(expr, self._scope(me))

    def _holds(self, condition: Expr, me: str | None = None) -> bool:
        value = self._value(condition, me)
        if value is None:
            raise none_here(condition)
        return bool(value)

    def _bind(self, variable: str, value: Any) -> None:
        self._bindings[variable] = value
        self._remember(variable)

    def _remember(self, variable: str) -> None:
        """Keep the value that a variable has now among its past ones."""
        if variable in self._kernel.flow.past:
            key = f"{variable}@past"
            self._bindings[key] = (*self._bindings.get(key, ()), self._bindings[variable])

    def _unbind(self, names: Iterable[str]) -> None:
        for name in names:
            self._bindings.pop(name, None)
            self._bindings.pop(f"{name}@by", None)

    def _store(self, place: Place, path: Path, value: Any, span: Span) -> None:
        whole = self._bindings.get(place.variable)
        self._bindings[place.variable] = stored(whole, path, value, span)

    def _tell(
        self, step: Choose | Draw | Show, owner: str | None, seat: str, value: Any, type: Type,
        name: str,
    ) -> None:  # fmt: skip
        """Let those who see a value know it: `owner`'s, in an event of `seat`."""
        chooser = seat if isinstance(step, Choose) else ""
        scope = self._scope()
        for reader, shown in told(step.readers, owner, chooser, value, type, name, scope):
            self._seen[reader] = appended(self._seen[reader], step.id, seat, shown)


_RUN: dict[type[Any], Callable[[History, Any], int | None]] = {
    flow.Test: History._test,
    flow.Enter: History._enter,
    flow.Pass: History._pass,
    flow.Again: History._again,
    flow.Ask: History._ask,
    flow.Return: History._return,
    flow.Chance: History._chance,
    flow.Tell: History._show,
    flow.Run: History._do,
    flow.Credit: History._pay,
    flow.Begin: History._begin,
    flow.Close: History._close,
    flow.Check: History._check,
    flow.Stop: History._stop,
}
