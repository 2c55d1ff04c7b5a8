"""Steps of chance: `draw` and `deal`."""

from __future__ import annotations

import re
from fractions import Fraction
from math import prod
from typing import Any, Literal

from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
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
from gamedsl.sema.bindings import Bindings
from gamedsl.sema.options import PLAY, read_options
from gamedsl.sema.scope import DataName, StateName, TypeName
from gamedsl.sema.statements import read_place
from gamedsl.sema.types import part_of
from gamedsl.sema.values import constant, syntax

MAX_DRAWS = 10_000
"""What one step can be drawn for."""

_TAKE = re.compile(r"(.+?)\s+of\s+(.+)\Z", re.DOTALL)


class Draws(Bindings):
    """Reads steps of chance."""

    def draw(self, item: Mapping, head: Entry, condition: ir.Expr | None) -> Step | None:
        deal, source = head.key.text == "deal", item.get("from")
        if source is None:
            return None
        found, target = self.source(source), self.target(head.value)
        per = self.per(item, deal)
        if found is None or target is None or per is None:
            return None
        origin, type = found
        if deal and not self.enough(origin, source):
            return None
        variable, place, span = target
        indices, keys = per
        seen = item.get("seen_by")
        how: Literal["set", "append"] = "set"
        whole = type
        for key in reversed(keys):
            whole = PerSeat(whole) if key == SEAT else PerValue(key, whole)
        by_seat = bool(keys) and keys[0] == SEAT
        if place is not None:
            place = self.own(place, whole) if self.acting is not None else place
            inner = self.below(place.type, len(keys))
            if isinstance(inner, List | Set | Bag) and fits(type, inner.of):
                how = "append"
            elif not self.storable(whole, place, head.value.span):
                return None
            readers = self.readers_of(variable) if seen is None else self.readers(seen, type)
        else:
            readers = self.drawn_readers(item, head, by_seat, type)
            inner_type = whole.of if isinstance(whole, PerSeat) else whole
            if not self.declare(
                variable, inner_type, by_seat, self.names.seats if by_seat else (), span
            ):
                return None
        return Draw(
            self.number(variable), variable, origin, type, readers, item.span, per=indices,
            deal=deal, by_seat=by_seat, place=place, how=how, condition=condition,
        )  # fmt: skip

    def drawn_readers(self, item: Mapping, head: Entry, by_seat: bool, type: Type) -> Readers:
        seen = item.entry("seen_by")
        if seen is None:
            self.problems.add(
                "GD0429", f"it is not said who sees `{head.value.span.text}`", head.value.span,
                why="chance is hidden or shown, and nothing is guessed",
                help=f"add `seen_by: {'owner' if by_seat else 'all'}`",
            )  # fmt: skip
            return NOBODY
        readers = self.readers(seen.value, type)
        if readers.kind in ("owner", "others") and not by_seat:
            self.problems.add(
                "GD0426", f"`{head.value.span.text}` has no owner", seen.value.span,
                why="it is one value for all",
                help="add `per: role`, or name who sees it",
            )  # fmt: skip
        return readers

    def per(
        self, item: Mapping, deal: bool
    ) -> tuple[tuple[tuple[Any, ...], ...], tuple[Type, ...]] | None:
        """The values of each index of a draw, and their types."""
        if deal:
            return (self.names.seats,), (SEAT,)
        node = item.get("per")
        indices, keys = [], []
        for part in node.items if isinstance(node, Sequence) else () if node is None else (node,):
            found = self.types.read(part)
            if found is None:
                return None
            indices.append(tuple(value for _, value in found.choices))
            keys.append(found.type)
        many = prod(map(len, indices))
        if node is not None and many > MAX_DRAWS:
            self.problems.add(
                "GD0421", f"{many:,} draws are too many for one step", node.span,
                why=f"at most {MAX_DRAWS:,}", help="draw for fewer, or in several steps",
            )  # fmt: skip
            return None
        return tuple(indices), tuple(keys)

    def source(self, node: Node) -> tuple[Source, Type] | None:
        """What is drawn from, and the type of one outcome."""
        if isinstance(node, Mapping):
            return self.weighted(node)
        take: ir.Expr | None = None
        if isinstance(node, Scalar) and (many := _TAKE.match(node.text)):
            count = self.checked(part_of(node, *many.span(1)), WHOLE, "how many are drawn")
            node = part_of(node, *many.span(2))
            if count is None:
                return None
            if isinstance(count, ir.Const) and count.value < 1:
                self.problems.add(
                    "GD0421", "at least one is drawn", count.span,
                    why=f"this is {name_of(count.value)}", help="to draw one, write no number",
                )  # fmt: skip
                return None
            take = count
        if isinstance(node, Sequence):
            options = read_options(node, self.typer, self.problems)
            if options is None:
                return None
            values = tuple(c.value for c in options.choices)
            typed: ir.Expr | None = ir.Const(List(options.type, len(values)), node.span, values)
        else:
            place = self.stored(node)
            if place is not None:
                of = element(place.type)
                assert of is not None
                return Source("bag", bag=place, take=take), List(of) if take else of
            typed = self.values_of(node)
        if typed is None:
            return None
        of = element(typed.type)
        if of is None:
            self.problems.add(
                "GD0420", "chance draws from a collection", node.span, why=f"this is {typed.type}",
                help="write a type, a range such as `1..6`, or a list",
            )  # fmt: skip
            return None
        there = self.fewest(typed, self.held_out(node))
        if isinstance(take, ir.Const) and there is not None and there < take.value:
            self.problems.add(
                "GD0421", f"{take.value} cannot be drawn from {there}", take.span,
                why="more than there are",
            )  # fmt: skip
            return None
        held = self.held_out(node)
        return Source("values", values=typed, take=take, held_out=held), List(of) if take else of

    def held_out(self, node: Node) -> tuple[int, ...] | None:
        """The places of the rows that a data file holds out, where that is what is drawn from."""
        known = self.names.declared.get(node.text) if isinstance(node, Scalar) else None
        return known.held_out if isinstance(known, DataName) else None

    def count_of(self, collection: ir.Expr) -> int | None:
        """How many elements there are; None where it is only known during play."""
        if any(isinstance(part, PLAY) for part in ir.walk(collection)):
            return None
        try:
            return len(elements(evaluate(collection, Scope(seats=self.names.seats))))
        except EvaluationError:
            return None

    def fewest(self, collection: ir.Expr, held_out: tuple[int, ...] | None) -> int | None:
        """How many elements there are to draw from, of rows in the smaller share; None where it is
        only known during play."""
        there = self.count_of(collection)
        if there is None or held_out is None:
            return there
        return min(len(held_out), there - len(held_out))

    def enough(self, origin: Source, node: Node) -> bool:
        """Whether there is one for each role, where it is known what is dealt."""
        seats = len(self.names.seats)
        if origin.values is None or origin.take is not None:
            return True
        there = self.fewest(origin.values, origin.held_out)
        enough = there is None or there >= seats
        if not enough:
            self.problems.add(
                "GD0421", f"{there} cannot be dealt to {seats} roles", node.span,
                why="nothing is dealt twice",
                help="to draw one for each, write `draw:` and `per: role`",
            )  # fmt: skip
        return enough

    def values_of(self, node: Node) -> ir.Expr | None:
        known = self.names.declared.get(node.text) if isinstance(node, Scalar) else None
        if isinstance(known, DataName):
            return ir.Const(List(known.type, len(known.rows)), node.span, known.rows)
        if isinstance(known, TypeName):
            values = tuple(value for _, value in known.choices)
            return ir.Const(List(known.type, len(values)), node.span, values)
        return self.expression(node)

    def stored(self, node: Node) -> Place | None:
        """The declared collection that a text names, from which chance takes out."""
        if not isinstance(node, Scalar):
            return None
        root = re.match(r"[A-Za-z_][A-Za-z0-9_]*", node.text)
        known = self.names.declared.get(root[0]) if root else None
        if not isinstance(known, StateName) or "(" in node.text or ".." in node.text:
            return None
        tree = syntax(node, self.problems)
        place = (
            read_place(tree, self.typer, me=self.acting is not None, facts=self.facts)
            if tree is not None
            else None
        )
        return place if place is not None and isinstance(place.type, List | Set | Bag) else None

    def weighted(self, node: Mapping) -> tuple[Source, Type] | None:
        """`{a: 1/3, b: 2/3}`: names or numbers with probabilities that sum to 1."""
        keys = Sequence(tuple(entry.key for entry in node), node.span)
        options = read_options(keys, self.typer, self.problems)
        total, odds = Fraction(0), []
        for entry in node:
            found = constant(entry.value, self.typer, self.problems, NUMBER)
            if found is None or options is None:
                return None
            if not isinstance(found[2], Number) or found[1] < 0:
                self.problems.add(
                    "GD0421", "a probability is a number from 0 to 1", entry.value.span,
                    why=f"this is {entry.value.span.text}",
                )  # fmt: skip
                return None
            odds.append(Fraction(found[1]))
            total += odds[-1]
        if options is None:
            return None
        if total != 1:
            self.problems.add(
                "GD0433", f"these probabilities sum to {total}, not to 1", node.span,
                why="exactly 1 is needed", help="write fractions, such as `1/3`",
            )  # fmt: skip
        pairs = zip((c.value for c in options.choices), odds, strict=True)
        return Source("weights", weights=tuple(p for p in pairs if p[1])), options.type
