"""Values of play: bags, and the canonical names by which values are known outside.

A canonical name is how policies, transcripts, tables and exports know an option or an outcome:
`stag`, `3`, `player_1`, `0,2` (a cell), `red,1` (a record), `mark(0,2)` (an action with its
arguments). Within one type no two values have one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any


class Bag(dict[Any, int]):
    """A multiset: value to number of copies, none of them 0. Never changed in place."""

    __slots__ = ()

    @classmethod
    def of(cls, items: Iterable[Any]) -> Bag:
        bag = cls()
        for item in items:
            bag[item] = bag.get(item, 0) + 1
        return bag

    def with_one(self, item: Any) -> Bag:
        """A copy with one more of `item`."""
        bag = Bag(self)
        bag[item] = bag.get(item, 0) + 1
        return bag

    def without(self, item: Any, copies: int = 1) -> Bag:
        """A copy with fewer of `item`. KeyError where there are not so many."""
        left = self.get(item, 0) - copies
        if left < 0:
            raise KeyError(item)
        bag = Bag(self)
        if left:
            bag[item] = left
        else:
            bag.pop(item, None)
        return bag

    @property
    def total(self) -> int:
        """The number of items, copies counted."""
        return sum(self.values())

    def elements(self) -> Iterator[Any]:
        """Each item as often as it is there."""
        for item, copies in self.items():
            for _ in range(copies):
                yield item


def name_of(value: Any) -> str:
    """The canonical name of a value. See the module docstring."""
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        return str(value)
    if isinstance(value, tuple):
        return ",".join(map(name_of, value))
    if isinstance(value, Bag):
        return "{" + " ".join(sorted(map(name_of, value.elements()))) + "}"
    if isinstance(value, frozenset):
        return "{" + " ".join(sorted(map(name_of, value), key=_natural)) + "}"
    if isinstance(value, dict):
        return "{" + " ".join(f"{name_of(k)}:{name_of(v)}" for k, v in value.items()) + "}"
    raise TypeError(f"no canonical name for {type(value).__name__}")


def _natural(name: str) -> tuple[bool, int, str]:
    return (not name.isdigit(), int(name) if name.isdigit() else 0, name)


def instance_name(action: str, arguments: tuple[Any, ...]) -> str:
    """The canonical name of an action with its arguments: `mark(0,2)`, or `pass` without."""
    return f"{action}({','.join(map(name_of, arguments))})" if arguments else action
