"""The table of operators and built-in functions: name, type rule, meaning, one row each.

The typing walk reads `rule`, the evaluator reads `run`, and the reference page is made from `usage`
and `about`. Adding a built-in is adding a row to `builtins_numbers` or `builtins_collections`.
"""

from __future__ import annotations

from gamedsl.ir import builtins_collections, builtins_grids, builtins_numbers
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
    "BY_ORDER",
    "COMPARISONS",
    "FUNCTIONS",
    "MAPS",
    "MAX_DIGITS",
    "MAX_ITEMS",
    "ON_GRIDS",
    "ORDERED_BY_TYPE",
    "TAKES_NONE",
    "Builtin",
    "Rule",
    "UndefinedError",
    "element",
    "exact",
    "order_of",
    "ranked",
    "values",
]

COMPARISONS = frozenset({"<", "<=", ">", ">="})

ORDERED_BY_TYPE = frozenset({"index", "other", "others"})
"""Built-ins whose meaning needs the order of a type's values: sema adds it as a last argument."""

BY_ORDER = COMPARISONS | {"argmax", "best", "max", "min", "ranked", "sorted"}
"""Built-ins that compare values: where these hold values of an enum, sema adds their `order_of` as
a last argument."""

ON_GRIDS = frozenset({"cells", "empty", "line", "lowest_empty"})
"""Built-ins on grids: sema adds the rows and the columns as last arguments."""

TAKES_NONE: dict[str, frozenset[int]] = {
    "==": frozenset({0, 1}),
    "!=": frozenset({0, 1}),
    "in": frozenset({0}),
    "not in": frozenset({0}),
    "count": frozenset({1}),
}
"""The arguments that may be none, by their place."""

MAPS = frozenset(
    {"all", "any", "argmax", "best", "count", "keys", "len", "list", "max", "mean", "min", "set"}
    | {"ranked", "size", "sorted", "sum"}
)
"""Built-ins over collections: their first argument may be a per-role map, by its bare name."""

_ROWS = (*builtins_numbers.ROWS, *builtins_collections.ROWS, *builtins_grids.ROWS)

FUNCTIONS = tuple(sorted(row.name for row in _ROWS if f"{row.name}(" in row.usage))
"""The built-ins that are called by name; the others are operators."""

BUILTINS: dict[str, Builtin] = {
    row.name: row
    for row in sorted(_ROWS, key=lambda row: row.name if row.name in FUNCTIONS else "")
}
