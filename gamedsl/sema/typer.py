"""The typing walk as sections of a game use it: several scopes, one set of typed lets.

A protocol is read in the scope of the game that uses it, with params of its own; a `let` is always
typed in the scope of the file that wrote it, wherever it is first read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.types import Type
from gamedsl.sema.infer import Typer
from gamedsl.sema.scope import LetName, Names


class GameTyper(Typer):
    """A `Typer` whose names may be exchanged for a while."""

    @contextmanager
    def within(self, names: Names) -> Iterator[None]:
        """Read names in another scope."""
        saved, self.names = self.names, names
        try:
            yield
        finally:
            self.names = saved

    def let_type(self, let: LetName, use: Span, arguments: tuple[Type, ...] = ()) -> Type:
        with self.within(let.scope or self.names):
            return super().let_type(let, use, arguments)

    def expression_with(
        self, node: ast.Node, given: dict[str, Type], expected: Type | None = None
    ) -> ir.Expr:
        """Type an expression that stands alone, with local names."""
        self.begin()
        self.locals = dict(given)
        return self.infer(node, expected)
