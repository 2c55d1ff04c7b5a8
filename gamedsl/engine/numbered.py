"""Moves by number, and what is seen as text: for states that know moves by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gamedsl.engine.kernel import Ask, Kind
from gamedsl.prompting.events import Seen, known


class Numbered:
    """Put before a class of states; gives what `gamedsl.engine.kernel.State` asks for besides."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def kind(self) -> Kind: ...
        @property
        def asks(self) -> tuple[Ask, ...]: ...
        def choose(self, names: Sequence[str]) -> None: ...
        def draw(self, outcome: int) -> str: ...
        def seen(self, seat: str) -> Seen: ...

    @property
    def asked(self) -> tuple[str, ...]:
        return tuple([ask.seat for ask in self.asks])

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple([len(ask.legal) for ask in self.asks])

    def apply(self, number: int, *others: int) -> None:
        if self.kind == "chance":
            self.draw(number)
        else:
            numbers = number, *others
            self.choose([ask.legal[i] for ask, i in zip(self.asks, numbers, strict=True)])

    def known(self, seat: str) -> str:
        return known(self.seen(seat))
