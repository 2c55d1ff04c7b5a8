"""Who acts in a step, and what that binds: a name of their own, or their part of the state."""

from __future__ import annotations

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.statements import Place, Readers
from gamedsl.ir.types import SEAT, Type
from gamedsl.sema.draws import Draws
from gamedsl.sema.roles import unknown_role


class Actors(Draws):
    """Reads what closed and open decisions have in common."""

    def binding(
        self, item: Mapping, head: Entry, type: Type, seats: tuple[str, ...], joint: bool
    ) -> tuple[str, Place | None, Readers] | None:
        """What a decision of `seats` binds to a value of a type, where that is declared state, and
        who sees it; None (and a diagnostic) where it cannot."""
        target = self.target(head.value)
        if target is None:
            return None
        variable, place, span = target
        readers = self.readers(item.get("seen_by"), type)
        if place is None:
            declared = self.declare(variable, type, joint, seats, span)
            return (variable, None, readers) if declared else None
        shared = place
        place = self.own(place, type)
        if joint and len(seats) > 1 and place is shared and not place.keys:
            self.one_for_several(place, head.value.span)
            return None
        if not self.storable(type, place, head.value.span):
            return None
        if item.get("seen_by") is None:
            readers = self.readers_of(variable)
        return variable, place, readers

    def one_for_several(self, place: Place, span: Span) -> None:
        """Report that several roles choose what is one value of the state."""
        declared = self.names.place(place.variable)
        self.problems.add(
            "GD0306", f"`{span.text}` must be per role", span,
            why=f"several roles choose it, and it is {place.type}",
            notes=(Note(declared, "declared here"),) if declared else (),
            help="declare it with `per: role`",
        )  # fmt: skip

    def actors(self, item: Mapping) -> tuple[tuple[str, ...], bool, ir.Expr | None] | None:
        """Who may act, whether all do at once, and else whose turn it is where that depends."""
        role, seats = item.get("role"), self.names.seats
        if role is None:
            if self.acting is not None:
                return self.acting, False, ir.Me(SEAT, item.span)
            if len(seats) == 1:
                return seats, False, None
            self.problems.add(
                "GD0428", "it is not said who chooses", item.entries[0].key.span,
                why="no `role:`, and no loop over roles around it",
                help=f"add `role: {seats[0]}`, or `role: all`",
            )  # fmt: skip
            return None
        items = role.items if isinstance(role, Sequence) else (role,)
        found: list[str] = []
        for part in items:
            text = part.text if isinstance(part, Scalar) else ""
            named = seats if text == "all" else self.names.seats_of(text)
            if not named and len(items) == 1 and self.is_expression(part):
                typed = self.checked(part, SEAT, "who acts")
                if isinstance(typed, ir.Const):
                    return (typed.value,), False, None
                return None if typed is None else (seats, False, typed)
            if not named:
                if text not in self.names.broken:
                    unknown_role(text, part.span, self.names, self.problems, "all")
                return None
            found += [s for s in named if s not in found]
        single = len(items) == 1 and not isinstance(role, Sequence) and len(found) == 1
        joint = not single or getattr(items[0], "text", "") == "all"
        return tuple(s for s in self.names.everyone if s in found), joint, None

    def is_expression(self, node: Node) -> bool:
        """Whether who acts is worked out: no bare name, or one that is declared."""
        if not isinstance(node, Scalar):
            return False
        known = node.text in self.names.declared or node.text in ("me", "other")
        return known or not node.text.isidentifier()
