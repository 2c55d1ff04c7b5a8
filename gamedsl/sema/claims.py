"""The `claims` of a game or a reward file: what it says is true, for the passes to check."""

from __future__ import annotations

from typing import Any, cast

from gamedsl.diagnostics import Note
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir.game import Claim
from gamedsl.ir.types import NUMBER
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant


def read_claims(node: Node | None, typer: Typer) -> tuple[Claim, ...]:
    """Reads the claims in the order written, each kind once."""
    found: dict[str, Claim] = {}
    for item in node.items if isinstance(node, Sequence) else () if node is None else (node,):
        claim = _claim(item, typer)
        if claim is None:
            continue
        first = found.setdefault(claim.kind, claim)
        if first is not claim:
            typer.problems.add(
                "GD0118", f"`{claim.kind}` stands twice in this list", claim.span,
                why="the second time", notes=(Note(first.span, "the first time"),),
                help="delete one of the two",
            )  # fmt: skip
    return tuple(found.values())


def _claim(node: Node, typer: Typer) -> Claim | None:
    if isinstance(node, Scalar):
        return Claim(cast(Any, node.text), node.span)
    amount = node.get("constant_sum") if isinstance(node, Mapping) else None
    known = constant(amount, typer, NUMBER) if amount is not None else None
    return None if known is None else Claim("constant_sum", node.span, known[1])
