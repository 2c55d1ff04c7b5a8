"""Games as workers of the studio load them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics import CompileError
from gamedsl.mcp.refusal import Refused

if TYPE_CHECKING:
    from gamedsl.runtime import Game


def load_game(file: str, params: Mapping[str, Any]) -> Game:
    """Returns a compiled game. Raises Refused for a file that is none, or that has problems."""
    from gamedsl import load

    try:
        return load(file, params)
    except CompileError as error:
        raise Refused(error.fact, error.fix or "mend the file in the editor") from error
    except ValueError as error:
        raise Refused(str(error), "name a game") from error
