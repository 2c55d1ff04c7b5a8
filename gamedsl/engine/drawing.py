"""What may be drawn at a step: its lottery, from the state."""

from __future__ import annotations

from itertools import product
from typing import Any

from gamedsl.engine.chance import Lottery, equally, weighted
from gamedsl.engine.kernel import PlayError
from gamedsl.engine.places import part, path_of
from gamedsl.ir.builtins import values
from gamedsl.ir.evaluate import Scope, evaluate, none_here
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.ir.types import domain
from gamedsl.ir.values import Bag

Index = tuple[Any, ...]


class Drawing:
    """The draws of a game: the indices of each, and the order of the values of its type."""

    def __init__(self, ir: GameIR) -> None:
        self._seats = ir.seats
        draws = [step for step in walk_steps(ir.turns) if isinstance(step, Draw)]
        self._indices = {step.id: tuple(product(*step.per)) for step in draws}
        self._ranks: dict[str, dict[Any, int]] = {}

    def indices(self, step: Draw) -> tuple[Index, ...]:
        """What a step draws for, in order; one empty index where it draws once."""
        return self._indices[step.id]

    def lottery(self, step: Draw, dealt: tuple[Any, ...], scope: Scope) -> Lottery:
        """What chance may bring for one index; `dealt` is what it brought for the earlier ones.

        PlayError where there is too little to draw from.
        """
        source = step.source
        if source.kind == "weights":
            return weighted(source.weights)
        if source.kind == "bag":
            assert source.bag is not None
            place, path = source.bag, path_of(source.bag, scope)
            span = place.span
            items = part(scope.bindings.get(place.variable), path, span)
        else:
            assert source.values is not None
            span, items = source.values.span, evaluate(source.values, scope)
        if scope.budget is not None:
            scope.budget.spend(len(items), step.span)
        bag = self._bag(step, items)
        take = None if source.take is None else evaluate(source.take, scope)
        if source.take is not None and take is None:
            raise none_here(source.take)
        if step.deal and source.kind == "values":
            for item in dealt if take is None else (item for each in dealt for item in each):
                bag = bag.without(item) if item in bag else bag
        wanted = 1 if take is None else take
        if bag.total < wanted:
            there = f"{wanted} cannot be drawn from {bag.total}"
            empty = "" if bag.total else f"`{span.text}` is empty: "
            enough = f"if: len({span.text}) >= {wanted}"
            raise PlayError(f"{empty}{there}", span, help=f"draw where there is enough: `{enough}`")
        if scope.budget is not None:
            many = sum(min(copies, wanted) for copies in bag.values())
            scope.budget.spend(len(bag) + (0 if take is None else many * wanted), step.span)
        return equally(bag, take)

    def _bag(self, step: Draw, items: Any) -> Bag:
        """The items with their numbers: those of a list in its order, those of a bag or set in the
        order of their type, so that equal ones are drawn from alike."""
        if not isinstance(items, Bag | frozenset):
            return Bag.of(values(items))
        ranks = self._ranks.get(step.id)
        if ranks is None:
            every = domain(step.type, self._seats) or ()
            ranks = self._ranks[step.id] = {value: i for i, value in enumerate(every)}
        distinct = values(frozenset(items))
        order = sorted(distinct, key=lambda value: ranks.get(value, len(ranks)))
        return Bag({v: items[v] for v in order}) if isinstance(items, Bag) else Bag.of(order)
