"""Small programs written directly as IR, for tests of what runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics.spans import Source as Text
from gamedsl.diagnostics.spans import Span
from gamedsl.engine.interpreter import History, Interpreter
from gamedsl.ir import expr as ex
from gamedsl.ir.game import GameIR, Labels, Let, Reward, Role
from gamedsl.ir.program import Choice, Choose, Do, Draw, Loop, Pay, Show, Source, Step
from gamedsl.ir.statements import EVERYONE, Add, Assign, Drop, Key, Place, Readers, State
from gamedsl.ir.types import BOOL, NUMBER, SEAT, Enum, PerSeat, Type
from gamedsl.ir.values import name_of

HERE = Span(Text("program", ""), 0, 0)
ME = ex.Me(SEAT, HERE)
OWNER, OTHERS, NOBODY = Readers("owner"), Readers("others"), Readers("nobody")
ANY = Enum("", ())


def const(value: Any) -> ex.Const:
    return ex.Const(ANY, HERE, value)


def it(value: Any) -> ex.Expr:
    """An expression: itself, or a constant."""
    return value if isinstance(value, ex.Expr) else const(value)


def read(name: str) -> ex.Read:
    return ex.Read(ANY, HERE, name)


def at(of: Any, key: Any) -> ex.Get:
    return ex.Get(ANY, HERE, it(of), it(key))


def mine(name: str) -> ex.Get:
    return at(read(name), ME)


def op(name: str, *arguments: Any) -> ex.Apply:
    return ex.Apply(ANY, HERE, name, tuple(map(it, arguments)))


def eq(left: Any, right: Any) -> ex.Apply:
    return op("==", left, right)


def both(left: ex.Expr, right: ex.Expr) -> ex.Logic:
    return ex.Logic(BOOL, HERE, "and", left, right)


def either(test: Any, then: Any, other: Any) -> ex.If:
    return ex.If(ANY, HERE, it(test), it(then), it(other))


def place(variable: str, *keys: Any, type: Type = ANY) -> Place:
    """A place; its keys are entries, or `Key`s."""
    made = (key if isinstance(key, Key) else Key("entry", it(key)) for key in keys)
    return Place(variable, tuple(made), type, HERE)


def state(name: str, start: Any, type: Type = ANY, readers: Readers = EVERYONE) -> State:
    return State(name, type, start, readers, HERE)


def choose(
    variable: str,
    actors: Sequence[str],
    options: Sequence[Any],
    *,
    id: str = "",
    joint: bool = False,
    **more: Any,
) -> Choose:
    choices = tuple(Choice(name_of(value), value) for value in options)
    return Choose(
        id or variable, variable, tuple(actors), joint, (choices,) * len(actors), ANY, HERE, **more
    )


def draw(variable: str, source: Any, readers: Readers = EVERYONE, **more: Any) -> Draw:
    """`source`: a `Source`, a map of values to probabilities, or the values."""
    if isinstance(source, Mapping):
        weights = tuple((value, Fraction(weight)) for value, weight in source.items())
        source = Source("weights", weights=weights)
    elif not isinstance(source, Source):
        source = Source("values", values=it(source))
    type = more.pop("type", ANY)
    return Draw(more.pop("id", variable), variable, source, type, readers, HERE, **more)


def from_bag(variable: str, *keys: Any, take: Any = None) -> Source:
    return Source("bag", bag=place(variable, *keys), take=None if take is None else it(take))


def show(variable: str, value: Any, readers: Readers = EVERYONE, **more: Any) -> Show:
    return Show(more.pop("id", variable), variable, it(value), readers, HERE, **more)


def do(*statements: Any, id: str = "do", **more: Any) -> Do:
    return Do(id, statements, HERE, **more)


def put(variable: str, value: Any, *keys: Any, type: Type = ANY) -> Assign:
    return Assign(place(variable, *keys, type=type), it(value), HERE)


def add(variable: str, value: Any, *keys: Any, type: Type = ANY) -> Add:
    return Add(place(variable, *keys, type=type), it(value), HERE)


def drop(variable: str, value: Any, *keys: Any) -> Drop:
    return Drop(place(variable, *keys), it(value), HERE)


def pay(stream: str, amounts: Mapping[str, Any], **more: Any) -> Pay:
    listed = tuple((seat, it(amount)) for seat, amount in amounts.items())
    return Pay(stream, stream, listed, HERE, **more)


def game(
    seats: Sequence[str],
    turns: Sequence[Step],
    payoffs: Mapping[str, Any] | None = None,
    *,
    lets: Mapping[str, ex.Expr] | None = None,
    split: ex.Expr | None = None,
    **more: Any,
) -> GameIR:
    """A game whose rewards are its payoffs."""
    own = ex.Get(NUMBER, HERE, ex.Stream(PerSeat(NUMBER), HERE, "payoff"), ME)
    return GameIR(
        name="program", about="", params=(), roles=tuple(Role(s, (s,), HERE) for s in seats),
        enums=(), turns=tuple(turns),
        lets=tuple(Let(name, (), body, False, HERE) for name, body in (lets or {}).items()),
        payoffs=tuple((seat, it(amount)) for seat, amount in (payoffs or {}).items()),
        reward=Reward("individual", split or own, (), HERE, HERE),
        labels=Labels("plain"), templates=(), settings=(), span=HERE, **more,
    )  # fmt: skip


AB = ("a", "b")
GO = ("go", "stop")


def start(ir: GameIR) -> History:
    return Interpreter(ir).start()


def played(ir: GameIR, *moves: Any) -> History:
    """A history after moves: a name for one who chooses, a list of them, or an outcome's number."""
    history = start(ir)
    for move in moves:
        before = history.copy()
        if isinstance(move, int):
            history.draw(move)
        else:
            history.choose([move] if isinstance(move, str) else move)
        assert before.kind != "end"
    return history


def paid(ir: GameIR, *moves: Any) -> Any:
    """What the first seat gets after moves that end the game."""
    history = played(ir, *moves)
    assert history.kind == "end"
    return history.payoffs[ir.seats[0]]


def names(history: History, seat: str) -> list[str]:
    return [f"{event.seat}.{event.step}={event.name}" for event in history.seen(seat)]


def asked(history: History) -> list[tuple[str, str]]:
    return [(ask.seat, ask.step) for ask in history.asks]


def loop(*body: Any, id: str = "loop", **more: Any) -> Loop:
    given = {k: it(v) if k in ("times", "items") else v for k, v in more.items()}
    return Loop(id, body, HERE, **given)


def trace(value: Any) -> Any:
    """Append to the list `log`."""
    return add("log", value)


LOG = [state("log", ())]


def logged(*turns: Any, states: tuple[Any, ...] = (), **more: Any) -> Any:
    """What the steps of a game without choices append to `log`."""
    history = start(game(AB, turns, {"a": 0}, state=(*LOG, *states), **more))
    assert history.kind == "end"
    return history._state.bindings["log"]


def kuhn() -> GameIR:
    first, second = "first", "second"
    let = {
        "bettor": either(
            eq(read("open"), "bet"), first, either(eq(read("reply"), "bet"), second, None)
        ),
        "stake": either(eq(read("answer"), "call"), 2, 1),
    }
    bettor, stake = (ex.LetCall(ANY, HERE, name, (), None) for name in let)
    higher = either(op(">", at(read("card"), first), at(read("card"), second)), first, second)
    winner = either(eq(read("answer"), "fold"), bettor, higher)
    turns = [
        draw("card", (0, 1, 2), OWNER, per=((first, second),), deal=True, by_seat=True),
        choose("open", [first], ["check", "bet"]),
        choose("reply", [second], ["check", "bet"], condition=eq(read("open"), "check")),
        choose("answer", [second], ["fold", "call"], condition=eq(read("open"), "bet")),
        choose(
            "answer", [first], ["fold", "call"], id="answer_2", condition=eq(read("reply"), "bet")
        ),
    ]
    won = {seat: either(eq(winner, seat), stake, op("neg", stake)) for seat in (first, second)}
    return game([first, second], turns, won, lets=let)
