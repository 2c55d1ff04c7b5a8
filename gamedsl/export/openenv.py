"""A game as an environment of OpenEnv: a server, and the client that plays over the network.

`app(game)` returns the server, a FastAPI application; each session has a play of its own, and many
go on at once. `GameClient` is the client. An observation is the prompt of one decision; the action
is the reply to it:

    client = GameClient("http://localhost:8000").sync()
    with client:
        result = client.reset(seed=1)
        while not result.done:
            result = client.step(Reply(text=reply_to(result.observation.messages)))

One client holds all seats that no player does. Seats that choose at once are asked one after
another, and none sees another's reply. At the end `outcomes` has the exact result of each seat; the
scalar `reward` is set where the client holds one seat. An innocent seat of a void play has no
reward, and `trains` is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from gamedsl.export.peer_play import Outcome, PeerGame, PeerPlay, chat, cut
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.game import Game

with importing(PEERS["openenv"].needs):
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
    from pydantic import BaseModel

SESSIONS = 64
"""How many sessions a server has at once, if nothing else is said."""


class Reply(Action):
    """A reply, as it was written. `seat` is who replies; empty: the seat that was shown.
    `truncated`: the model was cut off at its limit of tokens, so that the reply is refused."""

    text: str
    seat: str = ""
    truncated: bool = False


class SeatResult(BaseModel):
    """The result of a seat. `reward` and `payoff` are None where the play is void for it."""

    reward: float | None
    payoff: float | None
    refused: list[str]
    forfeited: bool
    trains: bool


class Prompt(Observation):
    """The prompt of a decision, or the end of a play.

    `seat` is asked, with `messages` as a chat. `legal` and `labels` are its options where they are
    listed; `waiting` are all seats that are asked at this point. `refused` is the reason why the
    reply before was refused. `outcomes` is empty before the end.
    """

    seat: str = ""
    messages: list[dict[str, str]] = []
    legal: list[str] = []
    labels: list[str] = []
    waiting: list[str] = []
    refused: str | None = None
    outcomes: dict[str, SeatResult] = {}


class PlayState(State):
    """The play under way. It says nothing that is hidden from a seat."""

    game: str
    game_hash: str
    seed: int | None = None


class GameEnvironment(Environment):
    """A session of the server: one play at a time. `numbers` has the seeds of plays that a client
    gives none."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, table: PeerGame, numbers: Iterable[int]) -> None:
        super().__init__()
        self.table = table
        self._numbers = iter(numbers)
        self._play: PeerPlay | None = None
        self._state = PlayState(game=table.game.name, game_hash=table.game.hash)

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> Prompt:
        """Starts the play of a seed."""
        chosen = next(self._numbers) if seed is None else seed
        self._play = self.table.begin(chosen)
        self._state = PlayState(
            game=self.table.game.name, game_hash=self.table.game.hash, seed=chosen,
            episode_id=episode_id or f"{self.table.game.name} {chosen}",
        )  # fmt: skip
        return self._observation(self._play, None)

    def step(self, action: Reply, timeout_s: float | None = None, **options: Any) -> Prompt:
        """Takes a reply. Raises ValueError before `reset`, after the end, and for a seat that is
        not asked."""
        play = self._play
        if play is None or play.done:
            raise ValueError("there is no play under way: call `reset` first")
        seat = action.seat or play.waiting[0].seat
        asked = [one.seat for one in play.waiting]
        if seat not in asked:
            raise ValueError(f"`{seat}` is not asked; these are: {', '.join(asked)}")
        read = play.answer(seat, cut(action.text) if action.truncated else action.text)
        self._state.step_count += 1
        return self._observation(play, read.reason if isinstance(read, ParseFailure) else None)

    @property
    def state(self) -> PlayState:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        game = self.table.game
        about = game.ir.about or f"The game {game.name}."
        return EnvironmentMetadata(name=game.name, description=about, version=game.hash[:12])

    def _observation(self, play: PeerPlay, refused: str | None) -> Prompt:
        if play.done:
            found = {seat: play.outcome(seat) for seat in self.table.held}
            results = {seat: _result(outcome) for seat, outcome in found.items()}
            alone = next(iter(results.values())) if len(results) == 1 else None
            return Prompt(
                done=True, refused=refused, outcomes=results,
                reward=None if alone is None else alone.reward,
            )  # fmt: skip
        decision = play.waiting[0]
        return Prompt(
            seat=decision.seat,
            messages=chat(decision),
            legal=list(decision.legal),
            labels=list(decision.labels),
            waiting=[one.seat for one in play.waiting],
            refused=refused,
        )


def _result(found: Outcome) -> SeatResult:
    return SeatResult(
        reward=None if found.reward is None else float(found.reward),
        payoff=None if found.payoff is None else float(found.payoff),
        refused=[one.failure.reason for one in found.refused],
        forfeited=found.forfeited,
        trains=found.trains,
    )


class GameClient(EnvClient):
    """The client of a game's server: `reset(seed=…)` and `step(Reply(text=…))` give results whose
    observation is a `Prompt`. It is asynchronous; `sync()` gives one that is not."""

    def _step_payload(self, action: Reply) -> dict[str, Any]:
        return {"text": action.text, "seat": action.seat, "truncated": action.truncated}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        reward, done = payload.get("reward"), bool(payload.get("done"))
        prompt = Prompt(**payload.get("observation", {}), reward=reward, done=done)
        return StepResult(observation=prompt, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> PlayState:
        return PlayState(**payload)


def app(
    game: Game | str | Path,
    held: Iterable[str] = (),
    against: Iterable[str] = (),
    *,
    sessions: int = SESSIONS,
    params: Mapping[str, Any] | None = None,
    calls: Iterable[str | Path] = (),
    run_seed: int = 0,
    tokenizer: Any = None,
) -> Any:
    """Returns the server of a game for up to `sessions` sessions at once: a FastAPI application.
    Other arguments and errors as in `PeerGame`."""
    table = PeerGame(
        game, held, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
    )
    numbers = count()

    def session() -> GameEnvironment:
        return GameEnvironment(table, numbers)

    return create_app(
        session, Reply, Prompt, env_name=table.game.name, max_concurrent_envs=sessions
    )
