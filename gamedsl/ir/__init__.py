"""The meaning of a game, as data: types, typed expressions and the game itself.

This package is data only. `gamedsl.sema` builds it, everything below reads it; it holds no YAML,
lark or Jinja objects, only values, spans and text.
"""

from gamedsl.ir.game import GameIR

__all__ = ["GameIR"]
