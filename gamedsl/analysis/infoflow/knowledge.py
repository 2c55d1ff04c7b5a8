"""Checks steps with `knows`: the options follow from the knowledge that is declared.

It does where every part of `from`, `args` and `when` that reads the play is one of the expressions
that are known, as it is written there. What enumeration finds besides is reported elsewhere
(`gamedsl.analysis.infoset_consistency`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from gamedsl.diagnostics import Note, Problems
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
    Stream,
    Table,
    children,
    walk,
)
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose


def check_options_known(ir: GameIR, problems: Problems) -> None:
    """GD0440: the options of a seat depend on something that it does not know there."""
    for step in ir.steps:
        known = None if step.knows is None else frozenset(entry.value for entry in step.knows)
        unknown = known is not None and next(_unknown(ir, step, known), None)
        if not unknown:
            continue
        text = " ".join(unknown.span.text.split())
        problems.add(
            "GD0440",
            f"what may be chosen depends on `{text}`, which is not known here", unknown.span,
            why="read to find what may be chosen",
            notes=(Note(step.span, "this says what is known"),),
            help=f"let it be known too: `knows: [{text}]`",
        )  # fmt: skip


def _unknown(ir: GameIR, step: Choose, known: frozenset[Expr]) -> Iterator[Expr]:
    """Yields the parts of the expressions that decide the options which are not known."""
    decide = [] if step.legal is None else [step.legal]
    own: set[str] = set()
    for action in step.moves:
        decide += [source for _, source in action.parameters]
        own |= {name for name, _ in action.parameters}
        decide += [] if action.when is None else [action.when]
    while decide:
        expr = decide.pop()
        if expr in known:
            continue
        match expr:
            case Read(name=name) if name in own:
                pass
            case Get() | Cell() | Field() if _is_part(expr):
                yield expr
                continue
            case Read() | LastBy() | Past() | Stream() | LetMap():
                yield expr
            case LetCall(name=name):
                decide.append(ir.lets_by_name[name].body)
            case (
                Const() | Local() | Me() | Apply() | Logic() | If() | Get() | Field() | Cell()
                | Table() | Build() | Collect() | Consult()
            ):  # fmt: skip
                pass
            case _:
                assert_never(expr)
        decide += children(expr)


def _is_part(expr: Expr) -> bool:
    """Returns whether an expression is a part of a variable, at a place that can be named."""
    root = expr
    while isinstance(root, Get | Cell | Field):
        root = root.of
    return isinstance(root, Read | LastBy) and not any(isinstance(e, Local) for e in walk(expr))
