"""Modules: the rules of a game, or the entries of its declared views, as Python.

Views read what variables hold and nothing that the rules keep beside them, so that they can be
worked out for a state of any backend. Where their code raises, the reference decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gamedsl.bounds.expressions import Interpreter
from gamedsl.engine.codegen import support
from gamedsl.engine.codegen.builtin_code import FORMS
from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.facts import GameFacts, facts_of
from gamedsl.engine.codegen.program import ProgramWriter, zeros
from gamedsl.engine.codegen.work import Work, roots
from gamedsl.engine.codegen.writer import (
    CodeLines,
    Module,
    UnsupportedError,
)
from gamedsl.engine.flow import FlatProgram, flatten
from gamedsl.ir.expr import Expr, Stream, expressions_in
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.program import Entry
from gamedsl.ir.types import Number
from gamedsl.storage.characters import blanked

HEAD = '''\
"""{name}, as Python; made by `gamedsl.engine.codegen` from its rules.

Rules {hash}.
Comments give lines of the game's files. `s` is the state: `s.v_x` is the variable x.
"""

from fractions import Fraction

{play}from gamedsl.engine.codegen.support import (
    {imports},
)
from gamedsl.ir import types
from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.outcome import Settlement

'''

PLAY = "from gamedsl.engine.codegen.play import Asks, Draws, Play\n"

EMPTY_SLOTS = {
    "v": "None",  # a variable
    "f": "False",  # whether it is bound
    "p": "()",  # its past values
    "b": "EMPTY",  # its values by seat
    "m": "None",  # the cells of a grid that hold each value
    "l": "UNKNOWN",  # whose line there is in it
    "g": "None",  # the connected components of the cells that hold each value
    "e": "None",  # the empty cells of a grid
    "n": "0",  # the passes of a loop that have begun
    "i": "()",  # what it goes through
    "t": "None",  # how often
    "o": "None",  # who acts outside it
    "w": "()",  # those whose actions wait
    "k": "None",  # what was paid before a stage
}
"""The values of slots at the start, by kind; `d`, the payments to a stream, is set separately."""


def write_game(ir: GameIR) -> str:
    """Returns the text of a module with a class `State`, which plays the game.

    Raises `UnsupportedError` for what cannot be written.
    """
    run = flatten(ir)
    module = Module()
    most = _work(ir.seats, ir.lets_by_name).largest_size(
        roots((ir.turns, ir.end, ir.payoffs, ir.scores))
    )
    facts = facts_of(ir)
    make = Expressions(module, ir.seats, ir.lets_by_name, most, FORMS, sure=facts.sure)
    ProgramWriter(ir, run, make, facts).write()
    _settle(ir, run, make)
    return _assemble(ir, run, module, facts)


def _work(seats: tuple[str, ...], lets: Mapping[str, Let]) -> Work:
    return Work(Interpreter(seats, lets), lets)


def _settle(ir: GameIR, run: FlatProgram, make: Expressions) -> None:
    """Writes the function that does what `gamedsl.ir.outcome.settle` does."""
    module = make.module
    lines = CodeLines("def settle(s):")
    others = [name for name in run.streams if name != "payoffs"]
    pairs = ", ".join(f"{name!r}: s.{module.slot('d', name)}.copy()" for name in others)
    lines(f"streams = {{{pairs}}}")
    if "payoffs" in run.streams:
        lines(f"payoffs = s.{module.slot('d', 'payoffs')}.copy()")
    else:
        lines(f"payoffs = {zeros(ir)}")
    for seat, payoff in ir.payoffs:
        lines.source(payoff.span)
        code = make.value(payoff, CodeScope(repr(seat), streams="streams"))
        if "payoffs" in run.streams or not _is_exact(payoff):
            lines(f"payoffs[{seat!r}] = exact(payoffs[{seat!r}] + {code})")
        else:
            lines(f"payoffs[{seat!r}] = 0 + {code}")
    lines("streams['payoff'] = payoffs")
    if ir.scores:
        lines("paid = streams.copy()")
    for name, amounts in ir.scores:
        codes = (make.value(amount, CodeScope(repr(seat), streams="paid"))
                 for seat, amount in amounts)  # fmt: skip
        pairs = ", ".join(f"{seat!r}: {code}" for (seat, _), code in zip(amounts, codes))
        lines(f"streams[{name!r}] = {{{pairs}}}")
    _reward(ir, lines, module)
    if not ir.payoffs and "payoffs" not in run.streams:
        lines("payoffs = streams['payoff'] = rewards.copy()")
    lines("return Settlement(payoffs, rewards, streams)")
    module.add(lines)


def _is_exact(payoff: Expr) -> bool:
    """Returns whether an amount is a number in its simplest form."""
    return isinstance(payoff.type, Number)


def _reward(ir: GameIR, lines: CodeLines, module: Module) -> None:
    """Writes the split of the reward file, for each seat."""
    lets = {let.name: let for let in ir.reward.lets}
    split = ir.reward.split
    most = _work(ir.seats, lets).largest_size([split])
    make = Expressions(module, ir.seats, lets, most, FORMS, "reward")
    if make.known.variables(split):
        raise UnsupportedError("a reward file that reads variables")
    lines.source(split.span)
    if any(
        isinstance(part, Stream) and part.name == "streams" for part in expressions_in(ir.reward)
    ):
        lines("known = {**streams, 'streams': streams.copy()}")
    else:
        lines("known = streams")
    codes = (make.value(split, CodeScope(repr(seat), streams="known")) for seat in ir.seats)
    pairs = ", ".join(f"{seat!r}: {code}" for seat, code in zip(ir.seats, codes))
    lines(f"rewards = {{{pairs}}}")


def _assemble(ir: GameIR, run: FlatProgram, module: Module, facts: GameFacts) -> str:
    """Returns the module's text, with the class at its end."""
    for stream in run.streams:
        module.slot("d", stream)
    for state in ir.state:
        module.slot("v", state.name)
    slots = module.slots()
    zero = module.table("ZEROS", zeros(ir))
    starts = {f"v@{state.name}": module.constant(state.start) for state in ir.state}
    starts |= {f"f@{state.name}": "True" for state in ir.state}
    values = {
        slot: starts.get(key) or (zero if key[0] == "d" else EMPTY_SLOTS[key[0]])
        for key, slot in slots.items()
    }
    base = ("_asks", "_drawn", "_known", "_knows", "_log", "_lottery", "_moves", "_places",
            "_result", "_seen", "_site", "asked", "counts", "kind", "me")  # fmt: skip
    lines = CodeLines("class State(Play):")
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
    if facts.public:
        lines("known = Play._known_to_all")
        lines("_unknown = (None, '')")
    lines("")
    with lines.block("def _paid(s):"):
        pairs = ", ".join(f"{name!r}: s.{slots[f'd@{name}']}" for name in run.streams)
        lines(f"return {{{pairs}}}")
    lines("")
    _write_variables(ir, lines, slots, facts)
    module.add(lines)
    return headed(ir, module.text(), PLAY)


def headed(ir: GameIR, text: str, play: str = "") -> str:
    """Returns the text of a module below its imports; `play` are those that only the rules need."""
    shown = blanked(re.sub(r'["\\]', " ", ir.name))
    used = set(re.findall(r"\w+", text))
    imports = ",\n    ".join(name for name in support.__all__ if name in used or name == "Bag")
    return HEAD.format(name=shown, hash=ir.rules_hash, play=play, imports=imports) + text


def _write_variables(ir: GameIR, lines: CodeLines, slots: dict[str, str], facts: GameFacts) -> None:
    """Writes the property `variables`."""
    declared = [state.name for state in ir.state if state.name not in facts.flagged]
    lines("@property")
    with lines.block("def variables(s):"):
        pairs = ", ".join(f"{name!r}: s.{slots[f'v@{name}']}" for name in declared)
        lines(f"found = {{{pairs}}}")
        for key, slot in slots.items():
            kind, _, name = key.partition("@")
            if kind == "v" and name not in declared:
                flag = slots.get(f"f@{name}")
                with lines.block(f"if s.{flag}:" if flag else f"if s.{slot} is not None:"):
                    lines(f"found[{name!r}] = s.{slot}")
            elif kind in ("p", "b"):
                lines(f"found['{name}@{'past' if kind == 'p' else 'by'}'] = s.{slot}")
        lines("return found")


_HELD = {"v": "get('{}')", "b": "get('{}@by', EMPTY)", "p": "get('{}@past', ())"}
"""The code of a slot's value, by its kind."""

_ALONE = {name: form for name, form in FORMS.items() if name != "line"}
"""Inline code of built-ins for views. Lines are looked for again each time: their cache belongs to
the code that stores in grids."""


def write_views(ir: GameIR, tellings: Sequence[tuple[Entry, ...]]) -> str:
    """Returns the text of a module with a tuple `SHOWN` of a function for each of `tellings`: a
    `gamedsl.prompting.declared_views.EntryValues`.

    Raises `UnsupportedError` for what cannot be written.
    """
    module = Module()
    work = _work(ir.seats, ir.lets_by_name)
    most = work.largest_size([entry.value for entries in tellings for entry in entries])
    make = Expressions(module, ir.seats, ir.lets_by_name, most, _ALONE, sure=facts_of(ir).sure)
    names = [_function(make, entries) for entries in tellings]
    lines = CodeLines("class Variables:")
    slots = module.slots()
    lines(f"__slots__ = ({''.join(f'{slot!r}, ' for slot in slots.values()).rstrip()})")
    lines("")
    with lines.block("def __init__(s, variables):"):
        lines("get = variables.get")
        for key, slot in slots.items():
            kind, _, name = key.partition("@")
            if kind not in _HELD:
                raise UnsupportedError(f"what is kept beside `{name}`")
            lines(f"s.{slot} = {_HELD[kind].format(name)}")
    module.add(lines)
    module.later(f"SHOWN = ({''.join(f'{name}, ' for name in names).rstrip()})")
    return headed(ir, module.text())


def _function(make: Expressions, entries: tuple[Entry, ...]) -> str:
    """Writes the function of some entries. Returns its name."""
    name = make.module.name("shown")
    lines = CodeLines(f"def {name}(variables, me):")
    lines("s = Variables(variables)")
    with lines.block("return ("):
        for entry in entries:
            lines.source(entry.value.span)
            lines(f"{make.value(entry.value, CodeScope('me'))},")
    lines(")")
    make.module.add(lines)
    return name
