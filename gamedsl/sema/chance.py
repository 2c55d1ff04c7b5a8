"""Steps of chance: `draw` and `deal`."""

from __future__ import annotations

import re
from fractions import Fraction
from math import prod
from typing import Any, Literal

from gamedsl.diagnostics.fixes import Edit, Fix, Help, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import element
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.program import Draw, Source, Step
from gamedsl.ir.statements import NOBODY, Place, Readers
from gamedsl.ir.types import (
    NUMBER,
    SEAT,
    WHOLE,
    Bag,
    List,
    Number,
    PerSeat,
    PerValue,
    Set,
    Type,
    fits,
)
from gamedsl.ir.values import name_of
from gamedsl.sema.bindings import (
    check_storable,
    declare_variable,
    own_part,
    read_target,
    readers_of_state,
)
from gamedsl.sema.options import read_options
from gamedsl.sema.scope import DataName, StateName
from gamedsl.sema.statements import read_place
from gamedsl.sema.step_context import StepContext, WrittenStep
from gamedsl.sema.types import dashed_range, part_of
from gamedsl.sema.values import constant, syntax
from gamedsl.sema.visibility import has_owner, owner_advice, read_step_readers

MAX_DRAWS = 10_000
"""What one step can be drawn for."""

_TAKE = re.compile(r"(.+?)\s+of\s+(.+)\Z", re.DOTALL)


def read_draw(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `draw:`, or `deal:`, which draws one for each role and none twice."""
    deal, source = step.head.key.text == "deal", step.get("from")
    if source is None:
        return None
    found, target = _source(context, source), read_target(context, step.head.value)
    per = _indices(context, step.get("per"), deal)
    if found is None or target is None or per is None:
        return None
    origin, type = found
    if deal and not _check_enough(context, origin, source):
        return None
    indices, keys = per
    place = target.place
    how: Literal["set", "append"] = "set"
    whole = type
    for key in reversed(keys):
        whole = PerSeat(whole) if key == SEAT else PerValue(key, whole)
    by_seat = bool(keys) and keys[0] == SEAT
    if place is not None:
        place = own_part(place, whole) if context.acting is not None else place
        inner = _entry_type(place.type, len(keys))
        if isinstance(inner, List | Set | Bag) and fits(type, inner.of):
            how = "append"
        elif not check_storable(context, whole, place, step.head.value.span):
            return None
        seen = step.get("seen_by")
        readers = readers_of_state(context, target.variable)
        if seen is not None:
            readers = read_step_readers(seen, context.typer, type)
            acts, name = context.acting is not None, step.head.value.span.text
            keyed = any(key.expr is not None and key.expr.type == SEAT for key in place.keys)
            if readers.kind not in ("owner", "others"):
                owned = acts or by_seat or keyed
                advice = owner_advice(step.get("per"))
                has_owner(readers, name, seen.span, owned, context.problems, advice, acts=acts)
    else:
        inner = whole.of if isinstance(whole, PerSeat) else whole
        seats = context.names.seats if by_seat else ()
        if not declare_variable(
            context, target.variable, inner, target.span, actors=seats, joint=by_seat
        ):
            return None
        readers = _drawn_readers(context, step, by_seat, type)  # who may read what is drawn
    return (
        Draw(
            context.program.step_id(target.variable), target.variable, origin, type, readers,
            step.span, per=indices, deal=deal, by_seat=by_seat, place=place, how=how,
            condition=step.condition,
        ),
    )  # fmt: skip


def _drawn_readers(context: StepContext, step: WrittenStep, by_seat: bool, type: Type) -> Readers:
    """Reads who sees what is drawn, which must be said."""
    seen, value = step.get("seen_by"), step.head.value
    if seen is None:
        context.problems.add(
            "GD0429", f"it is not said who sees `{value.span.text}`", value.span,
            why="chance is hidden or shown, and nothing is guessed",
            help=f"add `seen_by: {'owner' if by_seat else 'all'}`, or `nobody`",
        )  # fmt: skip
        return NOBODY
    readers = read_step_readers(seen, context.typer, type)
    acts, problems = context.acting is not None, context.problems
    advice = owner_advice(step.get("per"))
    has_owner(readers, value.span.text, seen.span, by_seat or acts, problems, advice, acts=acts)
    return readers


def _entry_type(type: Type, depth: int) -> Type:
    """Returns the type of one entry, `depth` maps down."""
    for _ in range(depth):
        if isinstance(type, PerSeat | PerValue):
            type = type.of
    return type


def _indices(
    context: StepContext, node: Node | None, deal: bool
) -> tuple[tuple[tuple[Any, ...], ...], tuple[Type, ...]] | None:
    """Returns the values of each index of a draw, and their types."""
    if deal:
        return (context.names.seats,), (SEAT,)
    indices, keys = [], []
    for part in node.items if isinstance(node, Sequence) else () if node is None else (node,):
        found = context.types.read(part)
        if found is None:
            return None
        indices.append(tuple(value for _, value in found.choices))
        keys.append(found.type)
    many = prod(map(len, indices))
    if node is not None and many > MAX_DRAWS:
        context.problems.add(
            "GD0421", f"{many:,} draws are too many for one step", node.span,
            why=f"at most {MAX_DRAWS:,}", help="draw for fewer, or in several steps",
        )  # fmt: skip
        return None
    return tuple(indices), tuple(keys)


def _source(context: StepContext, node: Node) -> tuple[Source, Type] | None:
    """Reads what is drawn from, and returns it with the type of one outcome."""
    if isinstance(node, Mapping):
        return _weighted(context, node)
    take: ir.Expr | None = None
    if isinstance(node, Scalar) and (many := _TAKE.match(node.text)):
        count = context.check(part_of(node, *many.span(1)), WHOLE, "how many are drawn")
        node = part_of(node, *many.span(2))
        if count is None:
            return None
        if isinstance(count, ir.Const) and count.value < 1:
            context.problems.add(
                "GD0421", "at least one is drawn", count.span,
                why=f"this is {name_of(count.value)}", help="to draw one, write no number",
            )  # fmt: skip
            return None
        take = count
    if isinstance(node, Sequence):
        options = read_options(node, context.typer)
        if options is None:
            return None
        values = tuple(c.value for c in options.choices)
        typed: ir.Expr | None = ir.Const(List(options.type, len(values)), node.span, values)
    else:
        place = _stored_collection(context, node)
        if place is not None:
            of = element(place.type)
            assert of is not None
            return Source("bag", bag=place, take=take), List(of) if take else of
        typed = values_of(context, node)
    if typed is None:
        return None
    of = element(typed.type)
    if of is None:
        context.problems.add(
            "GD0420", "chance draws from a collection", node.span, why=f"this is {typed.type}",
            help=_of_the_best(node) or dashed_range(node.span)
            or "write a type, a range such as `1..6`, or a list",
        )  # fmt: skip
        return None
    held_out = _held_out_rows(context, node)
    most = _fewest(context, typed, held_out)
    if isinstance(take, ir.Const) and most is not None and most < take.value:
        context.problems.add(
            "GD0421", f"{take.value} cannot be drawn from {most}", take.span,
            why="more than there are",
        )  # fmt: skip
        return None
    return Source("values", values=typed, take=take, held_out=held_out), List(of) if take else of


def _held_out_rows(context: StepContext, node: Node) -> tuple[int, ...] | None:
    """Returns the places of the rows held out, where a data file is drawn from."""
    known = context.names.declared.get(node.text) if isinstance(node, Scalar) else None
    return known.held_out if isinstance(known, DataName) else None


def _count_of(context: StepContext, collection: ir.Expr) -> int | None:
    """Returns how many elements there are; None where it is only known during play."""
    if ir.reads_play(collection):
        return None
    try:
        return len(elements(evaluate(collection, Scope(seats=context.names.seats))))
    except EvaluationError:
        return None


def _fewest(
    context: StepContext, collection: ir.Expr, held_out: tuple[int, ...] | None
) -> int | None:
    """Returns how many elements there are to draw from, of rows in the smaller share; None where
    it is only known during play."""
    count = _count_of(context, collection)
    if count is None or held_out is None:
        return count
    return min(len(held_out), count - len(held_out))


def _of_the_best(node: Node) -> Help:
    """Returns the fix of `argmax(…)`, which is none in a tie: `best(…)` lists all of the best."""
    text = node.span.text
    at = text.find("argmax(")
    if at < 0 or text[:at].strip("\"'"):
        return ""
    place = Span(node.span.source, node.span.start + at, node.span.start + at + len("argmax"))
    whole = "best" + text[at + len("argmax") :].rstrip("\"'")
    return substitute(place, "best", f"to draw from those with the most, write `{whole}`")


def _more(count: int) -> str:
    return f"{count} more {'is' if count == 1 else 'are'}"


def _check_enough(context: StepContext, origin: Source, node: Node) -> bool:
    """Whether there is one for each role, where it is known what is dealt; reported if not."""
    seats = len(context.names.seats)
    if origin.values is None or origin.take is not None:
        return True
    count = _fewest(context, origin.values, origin.held_out)
    enough = count is None or count >= seats
    if not enough:
        context.problems.add(
            "GD0421", f"{count} cannot be dealt to {seats} roles", node.span,
            why="nothing is dealt twice",
            help=f"{_more(seats - (count or 0))} needed; to draw one for each, perhaps the same "
            "for several, write `draw:` and `per: role`",
        )  # fmt: skip
    return enough


def values_of(context: StepContext, node: Node) -> ir.Expr | None:
    """Types a collection: a data file by its name, or an expression, such as the name of a type."""
    known = context.names.declared.get(node.text) if isinstance(node, Scalar) else None
    if isinstance(known, DataName):
        return ir.Const(List(known.type, len(known.rows)), node.span, known.rows)
    return context.expression(node)


def _stored_collection(context: StepContext, node: Node) -> Place | None:
    """Returns the declared collection that a text names, from which chance takes out."""
    if not isinstance(node, Scalar):
        return None
    root = re.match(r"[A-Za-z_][A-Za-z0-9_]*", node.text)
    known = context.names.declared.get(root[0]) if root else None
    if not isinstance(known, StateName) or "(" in node.text or ".." in node.text:
        return None
    tree = syntax(node, context.problems)
    place = (
        read_place(tree, context.typer, me=context.acting is not None, facts=context.facts)
        if tree is not None
        else None
    )
    return place if place is not None and isinstance(place.type, List | Set | Bag) else None


def _weighted(context: StepContext, node: Mapping) -> tuple[Source, Type] | None:
    """Reads `{a: 1/3, b: 2/3}`: names or numbers with probabilities that sum to 1."""
    keys = Sequence(tuple(entry.key for entry in node), node.span)
    options = read_options(keys, context.typer)
    total, odds = Fraction(0), []
    for entry in node:
        found = constant(entry.value, context.typer, NUMBER)
        if found is None or options is None:
            return None
        if not isinstance(found[2], Number) or found[1] < 0:
            context.problems.add(
                "GD0421", "a probability is a number from 0 to 1", entry.value.span,
                why=f"this is {entry.value.span.text}",
            )  # fmt: skip
            return None
        odds.append(Fraction(found[1]))
        total += odds[-1]
    if options is None:
        return None
    if total != 1:
        context.problems.add(
            "GD0433", f"these probabilities sum to {total}, not to 1", node.span,
            why="exactly 1 is needed", help=_summing_to_one(node, odds),
        )  # fmt: skip
    pairs = zip((c.value for c in options.choices), odds, strict=True)
    return Source("weights", weights=tuple(p for p in pairs if p[1])), options.type


def _summing_to_one(node: Mapping, odds: list[Fraction]) -> Help:
    """Returns the remedy of probabilities that do not sum to 1: fractions in place of rounded
    decimals, what the others leave for the last, or each divided by their sum."""
    texts = [entry.value.span.text for entry in node]
    total = sum(odds, Fraction(0))
    rest = 1 - sum(odds[:-1], Fraction(0))
    if abs(total - 1) < Fraction(1, 20) and any("." in text for text in texts):
        return "write fractions, such as `1/3`"
    if not all(re.fullmatch(r"[\d./ ]+", text) for text in texts):
        return "divide each by their sum, or write the last as 1 less the others"
    if rest > 0:
        last = node.entries[-1]
        fix = f"the others leave {rest}: `{last.key.text}: {rest}`"
        return substitute(last.value.span, str(rest), fix)
    edits = (
        Edit(entry.value.span, str(share / total)) for entry, share in zip(node, odds, strict=True)
    )
    return Fix(f"divide each by their sum, {total}", tuple(edits))
