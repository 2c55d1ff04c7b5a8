"""Between which whole numbers the value of an expression lies, as far as its form tells.

The options of a decision must be finite: `1..min(3, left)` has three, whatever `left` is.
"""

from __future__ import annotations

from gamedsl.ir import expr as ir
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.types import Bool, Enum, List, Number

Interval = tuple[int, int]


def interval(expr: ir.Expr) -> Interval | None:
    """The lowest and the highest value; None where no bounds are known."""
    match expr:
        case ir.Const(value=int() as value, type=Number(whole=True)):
            return value, value
        case ir.If(then=then, other=other):
            first, second = interval(then), interval(other)
            if first is None or second is None:
                return None
            return min(first[0], second[0]), max(first[1], second[1])
        case ir.Apply():
            found = _of_call(expr) or _folded(expr)
            if found is not None:
                return found
    return of_type(expr.type)


def _folded(expr: ir.Apply) -> Interval | None:
    """The value of a call of constants alone: `max(piles)`, of a param."""
    if not all(isinstance(argument, ir.Const) for argument in expr.arguments):
        return None
    try:
        value = evaluate(expr, Scope())
    except EvaluationError:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    return (value, value) if whole else None


def of_type(type: object) -> Interval | None:
    """The range of a bounded number."""
    if isinstance(type, Number) and type.low is not None and type.high is not None:
        return type.low, type.high
    return None


def _of_call(expr: ir.Apply) -> Interval | None:
    """The bounds of what an operator or a built-in gives."""
    name, first = expr.function, expr.arguments[0]
    if name in ("len", "size") and isinstance(first.type, List):
        most = first.type.at_most if first.type.length is None else first.type.length
        return None if most is None else (0, most)
    if name == "index" and isinstance(expr.arguments[1].type, List):
        return 0, (expr.arguments[1].type.length or 1) - 1
    if not (isinstance(expr.type, Number) and expr.type.whole):
        return None
    parts = [interval(argument) for argument in expr.arguments]
    if name == "clip" and parts[1] is not None and parts[2] is not None:
        return parts[1][0], parts[2][1]
    known = [part for part in parts if part is not None]
    lows, highs = [low for low, _ in known], [high for _, high in known]
    if len(known) < len(parts) or isinstance(first.type, Bool | Enum):
        return None
    match name:
        case "+":
            return sum(lows), sum(highs)
        case "-":
            return lows[0] - highs[1], highs[0] - lows[1]
        case "neg":
            return -highs[0], -lows[0]
        case "*":
            ends = [x * y for x in known[0] for y in known[1]]
            return min(ends), max(ends)
        case "//" if lows[1] > 0:
            return min(lows[0] // d for d in known[1]), max(highs[0] // d for d in known[1])
        case "%" if lows[1] > 0:
            return 0, highs[1] - 1
        case "min" if len(parts) > 1:
            return min(lows), min(highs)
        case "max" if len(parts) > 1:
            return max(lows), max(highs)
        case "abs":
            return 0, max(abs(lows[0]), abs(highs[0]))
    return None
