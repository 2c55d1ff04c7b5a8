"""Expressions and payoff tables: text to AST, with the place of every node."""
