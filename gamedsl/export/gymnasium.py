"""`SeatEnv`: one seat of a game as an environment of gymnasium, against players in the other seats.

In a closed game an observation is `View.vector`, an action the number of a name in `env.names`, and
`action_masks()` and `info["action_mask"]` say which are legal. In any other game both are texts:
the prompt and the reply. A step's reward is what the seat has earned since the step before, so that
rewards sum to the exact reward of the play.

An action that is not legal, or a reply that is refused, costs what the game says. Where it ends the
play, `terminated` is true and `info["failure"]` has the reason. Where another seat's failure ends
it, `truncated` is true, and the play is void. A play in which the seat is never asked takes one
step, whose action does not matter; so plays are as frequent as the game makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gamedsl.export.ledger import Ledger, What
from gamedsl.export.peer_play import PeerGame, PeerPlay, chat
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Action, Decision
from gamedsl.runtime.game import Game

with importing(PEERS["gymnasium"].needs):
    import gymnasium
    import numpy as np
    from gymnasium import spaces

    from gamedsl.export.spaces import action_space, mask_of, vector_space

MAX_TEXT = 1 << 20
"""The most characters of an observation or an action that is a text."""


class SeatEnv(gymnasium.Env[Any, Any]):
    """A seat of a game. See the module docstring.

    `game`, `against`, `params`, `calls`, `run_seed` and `tokenizer` are as in `PeerGame`; `seat` is
    by default the first. `reward` says whether the seat gets what it is trained on, or its payoff.
    `render_mode` is "ansi" or None. Raises SeatError where `seat` names several seats, and as
    `PeerGame`.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(
        self,
        game: Game | str | Path,
        seat: str = "",
        against: Iterable[str] = (),
        *,
        params: Mapping[str, Any] | None = None,
        calls: Iterable[str | Path] = (),
        run_seed: int = 0,
        tokenizer: Any = None,
        reward: What = "rewards",
        render_mode: str | None = None,
    ) -> None:
        self.table = PeerGame.of_one(
            game, seat, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
        )
        self.seat = self.table.held[0]
        self.render_mode = render_mode
        self.names: tuple[str, ...] = ()
        """The names of the actions, by number; empty where replies are texts."""
        self.in_words = self.table.in_words
        """Whether observations and actions are texts."""
        if self.in_words:
            self.observation_space: spaces.Space[Any] = AnyText()
            self.action_space: spaces.Space[Any] = AnyText()
        else:
            self.names = self.table.env.action_names(self.seat)
            self.observation_space = vector_space(self.table.env, self.seat)
            self.action_space = action_space(self.names)
        self._ledger = Ledger(self.table.game.ir, reward)
        self._play: PeerPlay | None = None
        self._earned: Any = 0

    @property
    def play(self) -> PeerPlay:
        """The play under way. ValueError before the first `reset`."""
        if self._play is None:
            raise ValueError("there is no play: call `reset` first")
        return self._play

    @property
    def decision(self) -> Decision | None:
        """The decision that `step` answers; None at the end, and where the seat is never asked."""
        waiting = self.play.waiting
        return waiting[0] if waiting else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a play: that of `seed`, or of the next number that the last seed leads to."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(2**31)) if seed is None else seed
        self._play = self.table.begin(chosen)
        self._earned = 0
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        play, decision = self.play, self.decision
        if decision is not None:
            play.answer(self.seat, self._reply(decision, action))
        before, self._earned = self._earned, self._ledger.earned(play.episode)[self.seat]
        void = play.done and not play.outcome(self.seat).trains and not self._failed
        return (
            self._observation(), float(self._earned - before), play.done and not void, void,
            self._info(),
        )  # fmt: skip

    def action_masks(self) -> Any:
        """Returns which actions are legal, as booleans of shape `(actions,)`: the method that
        MaskablePPO of sb3-contrib calls. All are where the seat is not asked.

        Raises ValueError where actions are texts.
        """
        if self.in_words:
            raise ValueError(f"the actions of {self.table.game.name} are texts and have no mask")
        decision = self.decision
        if decision is None:
            return np.ones(len(mask_of(self.names, None)), bool)
        return mask_of(self.names, decision.legal).astype(bool)

    def render(self) -> Any:
        """Returns the whole state as text, hidden things too."""
        return self.play.episode.table if self.render_mode == "ansi" else None

    @property
    def _failed(self) -> bool:
        return self.seat in self.play.episode.failures

    def _reply(self, decision: Decision, action: Any) -> Action | str | ParseFailure:
        if self.in_words:
            return str(action)
        place = int(action)
        name = self.names[place] if 0 <= place < len(self.names) else ""
        return (
            Action(name) if name in decision.legal else ParseFailure("illegal", name or str(place))
        )

    def _observation(self) -> Any:
        if not self.in_words:
            return np.array(self.play.episode.view(self.seat).vector, np.float32)
        decision = self.decision
        parts = [] if decision is None else chat(decision)
        return "\n\n".join(f"{part['role']}: {part['content']}" for part in parts)

    def _info(self) -> dict[str, Any]:
        play, decision = self.play, self.decision
        info: dict[str, Any] = {} if self.in_words else {"action_mask": self.action_masks()}
        if decision is not None:
            info |= {"messages": chat(decision), "legal": list(decision.legal)}
            info |= {"labels": list(decision.labels)}
        found = play.outcome(self.seat)
        if found.refused:
            info["refused"] = [one.failure.reason for one in found.refused]
        if self._failed:
            info["failure"] = play.episode.failures[self.seat].reason
        if play.done:
            info["outcome"] = found
        return info


class AnyText(spaces.Text):
    """All texts of at most `MAX_TEXT` characters; a sample is letters, of which few are a reply."""

    def __init__(self) -> None:
        super().__init__(max_length=64, min_length=0)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= MAX_TEXT
