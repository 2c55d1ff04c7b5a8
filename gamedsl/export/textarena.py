"""A game as an environment of TextArena, which its own agents and wrappers play.

`GameEnv(game)` is the raw environment. `register(game)` puts it in TextArena's registry, and then
`textarena.make(id)` shows each agent the prompt of our runtime, whole, as one text; with `-raw`
after the id, the environment has no wrapper.

Players are numbered: the seats that the loop holds in the order of the game, then its referees.
Seats that choose at once are asked one after another, and none sees another's reply. An invalid
reply costs what the game says: its author is asked again, or forfeits, or the game goes on.

The rewards of `close()` are exact rewards as floats, by number. A player whose play another's
forfeit made void is not among them, nor is a referee: `game_info` says `trains: False`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gamedsl.export.peer_play import PeerGame, PeerPlay, chat
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Decision
from gamedsl.runtime.game import Game

with importing(PEERS["textarena"].needs):
    import textarena as ta
    from textarena.envs.registration import ENV_REGISTRY, register_with_versions
    from textarena.wrappers.ObservationWrappers.llm_observation_wrapper import (
        SingleTurnObservationWrapper,
    )

OVER = "The game is over."
"""The observation of a play that ended before anybody was asked."""


class PlayState(ta.State):
    """TextArena's state of one play; its wrappers read it. `play` is ours."""

    def __init__(self, table: PeerGame, play: PeerPlay) -> None:
        super().__init__(num_players=len(table.held))  # without a seed: it would be everybody's
        self.table = table
        self.play = play
        seats = dict(enumerate(table.held))
        roles = {number: table.game.ir.role_of[seat] for number, seat in seats.items()}
        self.standard_resets(role_mapping=seats, secret_roles=roles)
        self._ask()

    @property
    def decision(self) -> Decision | None:
        """The decision of the current player; None at the end."""
        waiting = self.play.waiting
        return waiting[0] if waiting else None

    def answer(self, reply: str) -> None:
        """Takes the reply of the current player, and goes on to the next one."""
        decision, number = self.decision, self.current_player_id
        if decision is not None:
            self.logs.append((number, reply))
            read = self.play.answer(decision.seat, reply)
            if isinstance(read, ParseFailure):
                self.step_info["refused"] = read.reason
            self.game_info[number]["turn_count"] += 1
        self._ask()

    def _ask(self) -> None:
        decision = self.decision
        if decision is not None:
            self.current_player_id = self.table.held.index(decision.seat)
            self.add_observation(
                to_id=self.current_player_id, message=prompt(decision),
                observation_type=ta.ObservationType.PROMPT,
            )  # fmt: skip
        elif self.rewards is None:
            self._end()

    def _end(self) -> None:
        """Notes rewards and what happened. A play that was over at once has an observation, since
        loops ask for one before they step; the step after it ends the play."""
        self.rewards = {}
        if not any(info["turn_count"] for info in self.game_info.values()):
            self.add_observation(OVER, ta.ObservationType.GAME_MESSAGE)
        for number, seat in enumerate(self.table.held):
            found = self.play.outcome(seat)
            failure = self.play.episode.failures.get(seat)
            self.game_info[number] |= {
                "invalid_move": found.forfeited,
                "reason": "the game ended" if failure is None else f"forfeit: {failure.reason}",
                "refused": [one.failure.reason for one in found.refused],
                "payoff": None if found.payoff is None else float(found.payoff),
                "trains": found.trains,
            }
            if found.reward is not None:
                self.rewards[number] = float(found.reward)


class GameEnv(ta.Env):
    """A game as TextArena's `Env`. See the module docstring. Arguments and errors as in
    `PeerGame`."""

    def __init__(
        self,
        game: Game | str | Path,
        held: Iterable[str] = (),
        against: Iterable[str] = (),
        *,
        params: Mapping[str, Any] | None = None,
        calls: Iterable[str | Path] = (),
        run_seed: int = 0,
        tokenizer: Any = None,
    ) -> None:
        self.table = PeerGame(
            game, held, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
        )
        self.env_id = self.table.game.name
        self.num_players = len(self.table.held)
        self._plays = 0

    def reset(self, num_players: int | None = None, seed: int | None = None) -> None:
        """Starts the play of a seed; without one, that of the next number.

        Raises ValueError for another number of players than the loop holds seats.
        """
        if num_players not in (None, self.num_players):
            raise ValueError(
                f"{self.table.game.name} has {self.num_players} players here, not {num_players}: "
                f"{', '.join(self.table.held)}"
            )
        self._plays = self._plays + 1 if seed is None else seed
        self.state = PlayState(self.table, self.table.begin(self._plays))

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Takes the reply of the current player. The info has `refused`, the reason, where it is
        not valid."""
        self.state.answer(action)
        self.state.done = self.state.rewards is not None
        done, info = self.state.step()
        return bool(done), info

    def get_board_str(self) -> str:
        """Returns the whole state as text, hidden things too: TextArena's rendering shows it."""
        return self.state.play.episode.table


def register(
    game: Game | str | Path,
    held: Iterable[str] = (),
    against: Iterable[str] = (),
    *,
    params: Mapping[str, Any] | None = None,
    calls: Iterable[str | Path] = (),
    run_seed: int = 0,
    tokenizer: Any = None,
) -> str:
    """Puts a game in TextArena's registry, in the place of one of its name, and returns the id for
    `textarena.make`. Arguments and errors as in `PeerGame`."""
    table = PeerGame(
        game, held, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
    )
    options = {"against": [f"{seat}={player}" for seat, player in table.players.items()]}
    name = f"{table.game.name}-v0"
    for known in (name, f"{name}-raw"):
        ENV_REGISTRY.pop(known, None)
    register_with_versions(
        name, GameEnv, {"default": [SingleTurnObservationWrapper]},
        game=table.game, held=table.held, run_seed=run_seed,
        tokenizer=table.env.tokenizer, **options,
    )  # fmt: skip
    return name


def prompt(decision: Decision) -> str:
    """Returns a prompt as one text: the contents of its messages, a blank line between them."""
    return "\n\n".join(part["content"] for part in chat(decision))
