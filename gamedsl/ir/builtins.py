"""The table of operators and built-in functions: one row each (`gamedsl.ir.builtins_base.Builtin`).

Rows stand by subject in `builtins_numbers`, `builtins_collections`, `builtins_grids` and
`builtins_graphs`. Adding a
built-in is adding a row: typing, the evaluator, generated code, bounds, proofs of who can work out
what, and the reference page read all that they know of it there.
"""

from __future__ import annotations

from gamedsl.ir import builtins_collections, builtins_graphs, builtins_grids, builtins_numbers
from gamedsl.ir.builtins_base import (
    MAX_DIGITS,
    MAX_ITEMS,
    Builtin,
    Rule,
    UndefinedError,
    element,
    exact,
    order_of,
    ranked,
    values,
)

__all__ = [
    "BUILTINS",
    "MAX_DIGITS",
    "MAX_ITEMS",
    "Builtin",
    "Rule",
    "UndefinedError",
    "element",
    "exact",
    "functions",
    "is_comparison",
    "order_of",
    "ranked",
    "values",
]

_ROWS = (
    *builtins_numbers.ROWS,
    *builtins_collections.ROWS,
    *builtins_grids.ROWS,
    *builtins_graphs.ROWS,
)

BUILTINS: dict[str, Builtin] = {
    row.name: row
    for row in sorted(_ROWS, key=lambda row: row.name if row.kind == "function" else "")
}
"""The rows by name: operators first, then functions in alphabetical order."""


def functions() -> tuple[str, ...]:
    """The names of the built-ins that are called by name, in alphabetical order; the others are
    operators."""
    return tuple(sorted(row.name for row in BUILTINS.values() if row.kind == "function"))


def is_comparison(name: str) -> bool:
    """Whether a built-in compares by order: `<` and its kin."""
    return BUILTINS[name].kind == "comparison"
