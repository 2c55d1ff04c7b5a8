"""A whole game as a Python module: `write` is the generator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from gamedsl.backends.codegen import support
from gamedsl.backends.codegen.bounds import Bounds, roots
from gamedsl.backends.codegen.expressions import Expressions, Reader
from gamedsl.backends.codegen.functions import INLINE, grid_size, lined_grid
from gamedsl.backends.codegen.program import Program, zeros
from gamedsl.backends.codegen.storing import takes_none
from gamedsl.backends.codegen.writer import Lines, Module, Unsupported
from gamedsl.backends.flow import Flow, flatten
from gamedsl.ir.expr import Apply, Const, Expr, Stream
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Add,
    Assign,
    Choose,
    Do,
    Draw,
    ForEach,
    Loop,
    Place,
    Show,
    Stage,
    State,
    Statement,
    walk_steps,
)  # fmt: skip
from gamedsl.ir.types import Bag, Number, domain

HEAD = '''\
"""{name}, as Python; made by `gamedsl.backends.codegen` from its rules.

Rules {hash}.
Comments give lines of the game's files. `s` is the state: `s.v_x` is the variable x.
"""

from fractions import Fraction

from gamedsl.backends.chance import weighted
from gamedsl.backends.codegen.playing import Asks, Draws, Play
from gamedsl.backends.codegen.support import (
    {imports},
)
from gamedsl.ir import types
from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.outcome import Settlement

'''

EMPTY_SLOTS = {"v": "None", "m": "None", "n": "0", "i": "()", "t": "None", "o": "None", "w": "()",
               "l": "UNKNOWN", "p": "()", "b": "EMPTY", "k": "None"}  # fmt: skip
"""What slots are at the start: variables, their masks and lines, passes, items and times of loops, who acts
outside, actions that wait, past values, values by seat, and what was paid before a stage."""


def write(ir: GameIR) -> str:
    """The text of a module with a class `State`, which plays the game. Raises `Unsupported`."""
    run = flatten(ir)
    module = Module()
    bounds = Bounds(ir.seats, ir.lets_by_name)
    most = bounds.most(roots((ir.turns, ir.end, ir.payoffs, ir.scores)))
    sure = _never_none(ir)
    make = Expressions(module, ir.seats, ir.lets_by_name, most, INLINE, sure=sure)
    lined = _lined(ir)
    Program(ir, run, make, lined, _ordered_bags(ir)).write()
    _settle(ir, run, make)
    return _assemble(ir, run, module)


def _never_none(ir: GameIR) -> frozenset[str]:
    """The variables that are never none: declared ones that start as something and are never
    unbound, since nothing that is none can be stored in them."""
    steps = tuple(walk_steps(ir.turns))
    stages = [step for step in steps if isinstance(step, Stage)]
    declared = [*ir.state, *(state for stage in stages for state in stage.state)]
    unbound = {name for step in steps if isinstance(step, Loop | Stage) for name in step.resets}
    unsure = unbound | {s.name for s in declared if s.start is None or takes_none(s.type)}
    inner = {state.name for stage in stages for state in stage.state}
    unsure |= inner - {state.name for state in ir.state}
    return frozenset({state.name for state in declared} - unsure)


def _ordered_bags(ir: GameIR) -> frozenset[str]:
    """The bags that are in the order of their type at the start, and that nothing is added to."""
    written = set()
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose | Draw) and step.place is not None:
            written.add(step.place.variable)
        elif isinstance(step, Do):
            written |= {place.variable for place in _written(step.statements)}
        elif isinstance(step, Stage):
            written |= {state.name for state in step.state}
    return frozenset(
        state.name for state in ir.state
        if state.name not in written and isinstance(state.type, Bag) and _in_order(state, ir)
    )  # fmt: skip


def _written(statements: Iterable[Statement]) -> Iterator[Place]:
    """The places that may be given something new."""
    for statement in statements:
        if isinstance(statement, ForEach):
            yield from _written((statement.body,))
        elif isinstance(statement, Assign | Add):
            yield statement.place


def _in_order(state: State, ir: GameIR) -> bool:
    """Whether a bag is in the order of its type."""
    assert isinstance(state.type, Bag)
    order = {value: i for i, value in enumerate(domain(state.type.of, ir.seats) or ())}
    places = [order.get(value, -1) for value in state.start]
    return -1 not in places and places == sorted(places)


def _is_public(ir: GameIR) -> bool:
    """Whether everybody is told everything."""
    told = (s.readers for s in walk_steps(ir.turns) if isinstance(s, Choose | Draw | Show))
    return all(readers.kind == "all" and not readers.fields for readers in told)


def _lined(ir: GameIR) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """The grids that are looked through for lines: rows, columns, and the lengths of the lines."""
    found: dict[str, tuple[int, int, tuple[int, ...]]] = {}
    for part in _parts((ir.turns, ir.end, ir.lets, ir.payoffs, ir.scores)):
        if (lined := lined_grid(part)) is not None and isinstance(part, Apply):
            size, known = grid_size(part), found.get(lined[0], (0, 0, ()))
            assert size is not None
            found[lined[0]] = (*size, tuple(sorted({*known[2], lined[1]})))
    return found


def _parts(part: Any) -> Iterator[Expr]:
    """Every expression in a part of the IR, and every expression in it."""
    if isinstance(part, Expr):
        yield part
    if isinstance(part, tuple):
        for item in part:
            yield from _parts(item)
    elif isinstance(part, dict):
        yield from _parts(tuple(part.values()))
    elif is_dataclass(part):
        for each in fields(part):
            if each.compare and each.name != "type":
                yield from _parts(getattr(part, each.name))


def _settle(ir: GameIR, run: Flow, make: Expressions) -> None:
    """Write the function that does what `gamedsl.ir.outcome.settle` does."""
    module = make.module
    lines = Lines("def settle(s):")
    others = [name for name in run.streams if name != "payoffs"]
    pairs = ", ".join(f"{name!r}: s.{module.slot('d', name)}.copy()" for name in others)
    lines(f"streams = {{{pairs}}}")
    if "payoffs" in run.streams:
        lines(f"payoffs = s.{module.slot('d', 'payoffs')}.copy()")
    else:
        lines(f"payoffs = {zeros(ir)}")
    for seat, payoff in ir.payoffs:
        lines.source(payoff.span)
        code = make.value(payoff, Reader(repr(seat), streams="streams"))
        if "payoffs" in run.streams or not _is_exact(payoff):
            lines(f"payoffs[{seat!r}] = exact(payoffs[{seat!r}] + {code})")
        else:
            lines(f"payoffs[{seat!r}] = 0 + {code}")
    lines("streams['payoff'] = payoffs")
    for name, amounts in ir.scores:
        codes = (make.value(amount, Reader(repr(seat), streams="streams"))
                 for seat, amount in amounts)  # fmt: skip
        pairs = ", ".join(f"{seat!r}: {code}" for (seat, _), code in zip(amounts, codes))
        lines(f"streams[{name!r}] = {{{pairs}}}")
    _reward(ir, lines, module)
    if not ir.payoffs and "payoffs" not in run.streams:
        lines("payoffs = streams['payoff'] = rewards.copy()")
    lines("return Settlement(payoffs, rewards, streams)")
    module.add(lines)


def _is_exact(payoff: Expr) -> bool:
    """Whether an amount is a number in its simplest form."""
    return isinstance(payoff.type, Number)


def _reward(ir: GameIR, lines: Lines, module: Module) -> None:
    """The split of the reward file, for each seat."""
    lets = {let.name: let for let in ir.reward.lets}
    split = ir.reward.split
    most = Bounds(ir.seats, lets).most([split])
    make = Expressions(module, ir.seats, lets, most, INLINE, "reward")
    if make.variables(split):
        raise Unsupported("a reward file that reads variables")
    lines.source(split.span)
    if any(isinstance(part, Stream) and part.name == "streams" for part in _parts(ir.reward)):
        lines("known = {**streams, 'streams': streams.copy()}")
    else:
        lines("known = streams")
    codes = (make.value(split, Reader(repr(seat), streams="known")) for seat in ir.seats)
    pairs = ", ".join(f"{seat!r}: {code}" for seat, code in zip(ir.seats, codes))
    lines(f"rewards = {{{pairs}}}")


def _assemble(ir: GameIR, run: Flow, module: Module) -> str:
    """The module's text, with the class at its end."""
    for stream in run.streams:
        module.slot("d", stream)
    for state in ir.state:
        module.slot("v", state.name)
    slots = module.slots()
    zero = module.table("ZEROS", zeros(ir))
    starts = {f"v@{state.name}": module.constant(state.start) for state in ir.state}
    values = {
        slot: starts.get(key) or (zero if key[0] == "d" else EMPTY_SLOTS[key[0]])
        for key, slot in slots.items()
    }
    base = ("_asked", "_drawn", "_known", "_log", "_lottery", "_moves", "_places", "_result",
            "_seen", "_site", "kind", "me")  # fmt: skip
    lines = Lines("class State(Play):")
    lines(f"__slots__ = ({''.join(f'{slot!r}, ' for slot in slots.values()).rstrip()})")
    lines("")
    with lines.block("def _begin(s):"):
        for slot, value in values.items():
            lines(f"s.{slot} = {value}")
        lines("return at_0")
    lines("")
    with lines.block("def copy(s):"):
        lines("twin = s.__class__.__new__(s.__class__)")
        for slot in (*base, *slots.values()):
            lines(f"twin.{slot} = s.{slot}")
        lines("return twin")
    lines("")
    lines("_settle = settle")
    if _is_public(ir):
        lines("known = Play._known_to_all")
        lines("_unknown = (None, '')")
    lines("")
    with lines.block("def _paid(s):"):
        pairs = ", ".join(f"{name!r}: s.{slots[f'd@{name}']}" for name in run.streams)
        lines(f"return {{{pairs}}}")
    module.add(lines)
    shown = "".join(c if c.isprintable() and c not in '"\\' else " " for c in ir.name)
    imports = ",\n    ".join(support.__all__)
    return HEAD.format(name=shown, hash=ir.rules_hash, imports=imports) + module.text()
