"""What seats are told, as Python: the values of the entries of declared views, and of what is known
at steps (`GameIR.told_at`).

These read what variables hold and nothing that the rules keep beside them, so that they can be
worked out for a state of any backend. Where their code raises, the reference decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from gamedsl.engine.codegen.bounds import Bounds
from gamedsl.engine.codegen.expressions import Expressions, Reader
from gamedsl.engine.codegen.facts import facts_of
from gamedsl.engine.codegen.functions import INLINE
from gamedsl.engine.codegen.module import headed
from gamedsl.engine.codegen.writer import Lines, Module, UnsupportedError
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Entry

_HELD = {"v": "get('{}')", "b": "get('{}@by', EMPTY)", "p": "get('{}@past', ())"}
"""What a slot holds of a variable, by its kind."""

_ALONE = {name: inline for name, inline in INLINE.items() if name != "line"}
"""Lines of grids are looked for anew: they are kept beside grids by what stores in these."""


def write(ir: GameIR, tellings: Sequence[tuple[Entry, ...]]) -> str:
    """The text of a module with a tuple `SHOWN` of a function for each of `tellings`: a
    `gamedsl.prompting.viewing.Shown`.

    Raises `UnsupportedError` for what cannot be written.
    """
    module = Module()
    bounds = Bounds(ir.seats, ir.lets_by_name)
    most = bounds.most([entry.value for entries in tellings for entry in entries])
    make = Expressions(module, ir.seats, ir.lets_by_name, most, _ALONE, sure=facts_of(ir).sure)
    names = [_function(make, entries) for entries in tellings]
    lines = Lines("class Variables:")
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
    """Write the function of some entries; its name."""
    name = make.module.name("shown")
    lines = Lines(f"def {name}(variables, me):")
    lines("s = Variables(variables)")
    with lines.block("return ("):
        for entry in entries:
            lines.source(entry.value.span)
            lines(f"{make.value(entry.value, Reader('me'))},")
    lines(")")
    make.module.add(lines)
    return name
