"""The program of a game as text: its expressions, with all their brackets, and its steps, in a
tree."""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.ir import expr as ir
from gamedsl.ir import program, statements
from gamedsl.ir.game import Let
from gamedsl.ir.types import Record
from gamedsl.ir.values import Bag, name_of

MOST = 12
"""Items of a list that are shown."""


def value(it: object) -> str:
    if isinstance(it, Bag):
        shown = [f"{name_of(k)} x{n}" if n > 1 else name_of(k) for k, n in it.items()]
        return "{" + few(sorted(shown)) + "}"
    if isinstance(it, tuple | list):
        return f"[{few([value(part) for part in it])}]"
    if isinstance(it, dict):
        return "{" + few([f"{value(k)}: {value(v)}" for k, v in it.items()]) + "}"
    if isinstance(it, frozenset):
        return "{" + few(name_of(it)[1:-1].split(" ")) + "}"
    return "none" if it is None else str(it).lower() if isinstance(it, bool) else str(it)


def few(parts: list[str], mark: str = ", ") -> str:
    """Returns the first parts of a list, and how many there are where that is not all."""
    more = [f"… {len(parts)}"] if len(parts) > MOST else []
    return mark.join([*parts[:MOST], *more])


# expressions


def expr(it: ir.Expr) -> str:
    """Returns an expression with all its brackets."""
    match it:
        case ir.Const(value=v):
            return value(v)
        case ir.Read(name=name) | ir.Local(name=name) | ir.Stream(name=name):
            return name
        case ir.LastBy(name=name):
            return f"last({name})"
        case ir.Past(name=name):
            return f"past({name})"
        case ir.Me():
            return "me"
        case ir.Apply(function="neg" | "not" as op, arguments=(a,)):
            return f"({'-' if op == 'neg' else 'not '}{expr(a)})"
        case ir.Apply(function=op, arguments=(a, b)) if not op.isidentifier() or "in" in op.split():
            return f"({expr(a)} {op} {expr(b)})"
        case ir.Apply(function=name, arguments=arguments):
            return f"{name}({', '.join(map(expr, arguments))})"
        case ir.Logic(op=op, left=a, right=b):
            return f"({expr(a)} {op} {expr(b)})"
        case ir.If(test=test, then=then, other=other):
            return f"({expr(then)} if {expr(test)} else {expr(other)})"
        case ir.Get(of=of, key=key) | ir.Cell(of=of, key=key):
            return f"{expr(of)}[{expr(key)}]"
        case ir.Field(of=of, index=index):
            inner = getattr(of.type, "of", None)
            record = inner if isinstance(inner, Record) else of.type
            named = record.fields[index][0] if isinstance(record, Record) else str(index)
            return f"{expr(of)}.{named}"
        case ir.LetCall(name=name, arguments=arguments, seat=seat):
            called = f"{name}({', '.join(map(expr, arguments))})" if arguments else name
            return called if seat is None else f"{called}@{expr(seat)}"
        case ir.LetMap(name=name):
            return f"{name}@each"
        case ir.Build(items=items):
            return f"[{', '.join(map(expr, items))}]"
        case ir.Collect():
            return f"[{expr(it.item)}{each(it.targets, it.source, it.condition)}]"
        case ir.Table(keys=keys):
            return f"table by {', '.join(map(expr, keys))}"
    raise AssertionError(type(it).__name__)


def each(targets: tuple[str, ...], source: ir.Expr, condition: ir.Expr | None) -> str:
    test = f" if {expr(condition)}" if condition is not None else ""
    return f" for {', '.join(targets)} in {expr(source)}{test}"


def let_line(let: Let) -> str:
    head = f"{let.name}({', '.join(let.parameters)})" if let.parameters else let.name
    return f"let {head}{' per role' if let.per_seat else ''} = {expr(let.body)}"


def amounts(name: str, paid: tuple[tuple[str, ir.Expr], ...]) -> Iterator[str]:
    """Returns the payoffs of the seats: a table, one line for all, or a line each."""
    if not paid:
        return
    first = paid[0][1]
    if isinstance(first, ir.Table):
        yield f"{name}s by {', '.join(map(expr, first.keys))}"
        for key in first.cells:
            cell = ", ".join(expr(it.cells[key]) for _, it in paid if isinstance(it, ir.Table))
            yield f"  {', '.join(map(value, key))}: {cell}"
    elif all(amount == first for _, amount in paid):
        yield f"{name}s = {expr(first)}"
    else:
        yield from (f"{name} {seat} = {expr(amount)}" for seat, amount in paid)


# state and steps


def state_line(state: statements.State) -> str:
    lasts = f", lasts for a {state.lasts}" if state.lasts else ""
    return f"state {state.name}: {state.type} = {value(state.start)}{seen(state.readers)}{lasts}"


def seen(readers: statements.Readers) -> str:
    """Returns the readers of a value; empty where all see it."""
    if readers.fields:
        return ", seen by " + ", ".join(
            f"{inner.kind} (field {index})" for index, inner in readers.fields
        )
    if readers.kind == "test" and readers.test is not None:
        return f", seen by each for whom {expr(readers.test)}"
    who = ", ".join(readers.seats) if readers.kind == "seats" else readers.kind
    return "" if readers.kind == "all" else f", seen by {who}"


def place(it: statements.Place) -> str:
    keys = (f".{key.size[0]}" if key.expr is None else f"[{expr(key.expr)}]" for key in it.keys)
    return it.variable + "".join(keys)


def statement(it: statements.Statement) -> str:
    match it:
        case statements.Assign():
            return f"{place(it.place)} = {expr(it.value)}"
        case statements.Add():
            return f"add {expr(it.value)} to {place(it.place)}"
        case statements.Drop():
            return f"drop {expr(it.value)} from {place(it.place)}"
        case statements.DropItem():
            return f"drop {place(it.place)}[{expr(it.index)}]"
        case statements.ForEach():
            return statement(it.body) + each(it.targets, it.source, it.condition)
    raise AssertionError(type(it).__name__)


def step_lines(step: program.Step) -> Iterator[str]:
    """Returns a step, and below it the steps inside it."""
    condition = f", if {expr(step.condition)}" if step.condition is not None else ""
    match step:
        case program.Choose():
            yield choose(step) + seen(step.readers) + condition
            for action in step.moves:
                yield from indented(action_lines(action))
        case program.Draw():
            yield draw(step) + seen(step.readers) + condition
        case program.Show():
            yield f"show {step.id}: {expr(step.value)}{seen(step.readers)}{condition}"
        case program.Call():
            yield call(step) + seen(step.readers) + condition
        case program.Do():
            yield f"do {'; '.join(map(statement, step.statements))}{condition}"
        case program.Pay():
            yield from amounts(f"pay {step.stream}{condition}: amount", step.amounts)
        case program.Block():
            yield f"block{condition}"
            yield from nested(step.body)
        case program.Loop():
            yield loop(step) + condition
            yield from nested(step.body)
        case program.Stage():
            yield f"stage {step.id}, weight {expr(step.weight)}{condition}"
            yield from indented(map(state_line, step.state))
            yield from nested(step.body)
            yield from indented([f"end = {expr(step.end)}"] if step.end is not None else [])
            yield from indented(amounts("payoff", step.payoffs))


def nested(steps: tuple[program.Step, ...]) -> Iterator[str]:
    for step in steps:
        yield from indented(step_lines(step))


def indented(lines: Iterator[str] | list[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines)


def choose(step: program.Choose) -> str:
    kind = "a map" if step.joint else "a value"
    who = few(list(step.actors)) if step.actor is None else expr(step.actor)
    where = f" into {place(step.place)}" if step.place is not None else ""
    if step.said is not None:
        said = step.said
        form = str(step.type) if said.form == "text" else said.form
        if said.form == "json" and isinstance(step.type, Record):
            form = "{" + ", ".join(f"{name}: {type}" for name, type in step.type.fields) + "}"
        valid = f", valid if {expr(said.valid)}" if said.valid is not None else ""
        most = f"at most {said.max_tokens} tokens"
        return f"step {step.id}: {who} say {kind}, {form}, {most}{valid}{where}"
    if step.moves:
        source = ", ".join(action.name for action in step.moves)
    elif step.legal is not None:
        source = expr(step.legal)
    else:
        options = dict.fromkeys(few([c.name for c in choices]) for choices in step.options)
        source = " / ".join(options)
    return f"step {step.id}: {who} choose {kind} from {source}{where}"


def action_lines(action: program.Action) -> Iterator[str]:
    given = ", ".join(f"{name} in {expr(source)}" for name, source in action.parameters)
    when = f", when {expr(action.when)}" if action.when is not None else ""
    yield f"action {action.name}{f' with {given}' if given else ''}{when}"
    yield from nested(action.body)


def call(step: program.Call) -> str:
    given = ", ".join(f"{name}: {expr(argument)}" for name, argument in step.arguments)
    over = f", for each of its {step.over}" if step.over != "one" else ""
    return f"call {step.id}: {step.function}({given}) -> {step.type}{over}"


def draw(step: program.Draw) -> str:
    source = step.source
    if source.kind == "weights":
        text = few([f"{value(v)} {odds}" for v, odds in source.weights])
    elif source.kind == "bag" and source.bag is not None:
        text = place(source.bag)
    else:
        assert source.values is not None
        text = expr(source.values)
    take = f"{expr(source.take)} of " if source.take is not None else ""
    way = "deal" if step.deal else "draw"
    per = "".join(f", for each of {few(list(map(value, index)))}" for index in step.per)
    how = "appended to" if step.how == "append" else "into"
    where = f", {how} {place(step.place)}" if step.place is not None else ""
    held = f", of which {len(source.held_out)} are held out" if source.held_out else ""
    return f"{way} {step.id}: {take}{text}{per}{where}{held}"


def loop(step: program.Loop) -> str:
    parts = []
    if step.times is not None:
        parts.append(f"{expr(step.times)} times")
    if step.items is not None:
        name = f"{step.item} in " if step.item is not None else ""
        parts.append(f"{'round ' if step.cycle else 'over '}{name}{expr(step.items)}")
    if step.count is not None:
        parts.append(f"counted by {step.count}")
    if step.until is not None:
        parts.append(f"until {expr(step.until)}")
    if step.bound is not None:
        then = f" (then {step.at_bound})" if step.until is not None else ""
        parts.append(f"at most {step.bound}{then}")
    return f"loop {step.id}: {', '.join(parts)}"
