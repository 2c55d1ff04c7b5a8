"""The player that always takes the same action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.players.base import DrawingPlayer, Player, PlayerError, PlayerRequest, PlayerSpec

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode


class FixedPlayer(DrawingPlayer):
    """Takes the first of its actions that is legal."""

    def __init__(self, actions: Sequence[str], *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.actions = tuple(actions)

    def odds(self, decision: Decision, episode: Episode) -> list[float]:
        """`PlayerError` where none of its actions is legal."""
        for action in self.actions:
            if action in decision.legal:
                return [float(name == action) for name in decision.legal]
        wanted = ", ".join(f"`{action}`" for action in self.actions)
        legal = ", ".join(decision.legal)
        raise PlayerError(
            f"`{decision.seat}` always takes {wanted}, which is not legal at `{decision.step}`",
            f"name another action to take there, after a comma: legal are {legal}",
        )


def _open_fixed_actions(request: PlayerRequest) -> Player:
    from gamedsl.prompting.labels import option_names

    actions, known = _listed(request.argument), option_names(request.game.ir)
    for action in actions:
        if action not in known:
            near = did_you_mean(action, known)
            help = f"did you mean `{near}`?" if near else f"there are {', '.join(known[:20])}"
            raise PlayerError(f"`{request.game.name}` has no action `{action}`", help)
    return FixedPlayer(actions, seed=request.seed)


def _listed(text: str) -> list[str]:
    """The parts of a list; commas in brackets divide nothing, for actions such as `mark(0,2)`."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


PLAYER = PlayerSpec(
    "ACTION",
    "the first of these actions, with commas between, that is legal",
    "all games",
    _open_fixed_actions,
)
