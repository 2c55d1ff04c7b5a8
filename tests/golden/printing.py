"""A shipped file as text that a person can review: its IR, its prompts and a playthrough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Problems
from gamedsl.ir import expr as ir
from gamedsl.ir.game import Let
from gamedsl.ir.program import Choose
from gamedsl.sema.library import load_document
from gamedsl.sema.parts import ROLES, check_part, example_reward, example_steps

SEED = 7


def show(path: Path) -> str:
    """The golden text of a game, protocol or reward file."""
    lines = game_lines(path) if path.parent.name == "games" else part_lines(path)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def game_lines(path: Path) -> Iterator[str]:
    game = gamedsl.load(path)
    ir_ = game.ir
    yield compile_file(path).summary
    yield f"rules {ir_.rules_hash[:16]}, rendering {ir_.rendering_hash[:16]}"
    yield ""
    yield "# IR"
    for param in ir_.params:
        yield f"param {param.name} = {value(param.value)}: {param.type}"
    for role in ir_.roles:
        yield f"role {role.name}: {', '.join(role.seats)}"
    yield from map(step_line, ir_.steps)
    yield from map(let_line, ir_.lets)
    yield from payoff_lines(ir_.payoffs)
    yield f"reward {ir_.reward.name} = {expr(ir_.reward.split)}"
    yield f"labels {ir_.labels.kind} {ir_.labels.style} per {ir_.labels.per}"
    for setting in ir_.settings:
        yield f"train {setting.key} = {value(setting.value)}"
    yield ""
    yield "# Prompts"
    yield from prompt_lines(game)
    yield ""
    yield "# Playthrough"
    yield from play_lines(game, stride=0)
    yield from play_lines(game, stride=1)
    yield from forfeit_lines(game)


def part_lines(path: Path) -> Iterator[str]:
    problems = Problems()
    document = load_document(path, problems)
    assert document is not None
    yield check_part(document, problems)
    yield ""
    yield f"# IR, for the roles {' and '.join(ROLES)}"
    if document.kind == "reward":
        reward = example_reward(document, problems)
        for param in reward.params:
            yield f"param {param.name} = {value(param.value)}: {param.type}"
        yield from map(let_line, reward.lets)
        yield f"split = {expr(reward.split)}"
    else:
        yield from map(step_line, example_steps(document, problems))
    assert not problems.errors


def step_line(step: Choose) -> str:
    kind = "a map" if step.joint else "a value"
    options = {", ".join(choice.name for choice in choices): None for choices in step.options}
    return f"step {step.id}: {', '.join(step.actors)} choose {kind} from {' / '.join(options)}"


def let_line(let: Let) -> str:
    head = f"{let.name}({', '.join(let.parameters)})" if let.parameters else let.name
    return f"let {head}{' per role' if let.per_seat else ''} = {expr(let.body)}"


def payoff_lines(payoffs: tuple[tuple[str, ir.Expr], ...]) -> Iterator[str]:
    first = payoffs[0][1]
    if isinstance(first, ir.Table):
        yield f"payoffs by {', '.join(map(expr, first.keys))}"
        for key in first.cells:
            cell = ", ".join(expr(table.cells[key]) for _, table in payoffs)
            yield f"  {', '.join(map(value, key))}: {cell}"
    elif all(payoff == first for _, payoff in payoffs):
        yield f"payoffs = {expr(first)}"
    else:
        yield from (f"payoff {seat} = {expr(payoff)}" for seat, payoff in payoffs)


def prompt_lines(game: gamedsl.Game) -> Iterator[str]:
    episode = game.env().reset(seed=SEED)
    for decision in episode.decisions:
        yield f"[{decision.information_set}]"
        for speaker, text in decision.messages:
            yield from (f"  {speaker}: {line}" for line in text.split("\n"))


def play_lines(game: gamedsl.Game, stride: int) -> Iterator[str]:
    """An episode in which seat number i takes option number i times `stride`, going round."""
    episode = game.env().reset(seed=SEED)
    while not episode.done:
        asked = episode.decisions
        places = [i * stride % len(d.legal) for i, d in enumerate(asked)]
        said = [
            f"{d.seat} {d.labels[at]} ({d.legal[at]})" for at, d in zip(places, asked, strict=True)
        ]
        yield f"{asked[0].step}: {', '.join(said)}"
        episode.step({d.seat: d.labels[at] for at, d in zip(places, asked, strict=True)})
    yield from outcome_lines(episode)


def forfeit_lines(game: gamedsl.Game) -> Iterator[str]:
    episode = game.env().reset(seed=SEED)
    first, *others = episode.decisions
    replies = {d.seat: d.labels[0] for d in others}
    episode.step({first.seat: "I do not know.", **replies})
    yield f"{first.seat} says something else"
    yield from outcome_lines(episode)


def outcome_lines(episode: gamedsl.Episode) -> Iterator[str]:
    yield f"  payoffs {', '.join(f'{s} {value(a)}' for s, a in episode.payoffs.items())}"
    yield f"  rewards {', '.join(f'{s} {value(a)}' for s, a in episode.rewards.items())}"


def value(it: object) -> str:
    if isinstance(it, tuple | list):
        return f"[{', '.join(map(value, it))}]"
    return "none" if it is None else str(it).lower() if isinstance(it, bool) else str(it)


def expr(it: ir.Expr) -> str:
    """An expression with all its brackets."""
    match it:
        case ir.Const(value=v):
            return value(v)
        case ir.Read(name=name) | ir.Local(name=name) | ir.Stream(name=name):
            return name
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
        case ir.Get(of=of, key=key):
            return f"{expr(of)}[{expr(key)}]"
        case ir.LetCall(name=name, arguments=arguments, seat=seat):
            called = f"{name}({', '.join(map(expr, arguments))})" if arguments else name
            return called if seat is None else f"{called}@{expr(seat)}"
        case ir.LetMap(name=name):
            return f"{name}@each"
        case ir.Build(items=items):
            return f"[{', '.join(map(expr, items))}]"
        case ir.Collect(item=item, targets=targets, source=source, condition=condition):
            test = f" if {expr(condition)}" if condition is not None else ""
            return f"[{expr(item)} for {', '.join(targets)} in {expr(source)}{test}]"
    raise AssertionError(type(it).__name__)
