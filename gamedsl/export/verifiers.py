"""A game as an environment of verifiers: one agent for each role, one task for each deal.

`environment(game)` returns the three classes that a package exports. `Env.run` plays a game: each
seat has one interaction, whose turns are the prompts of our runtime, whole, so that a trace has a
branch for each prompt that does not continue the one before. Seats that choose at once are asked
together. `reward` is the exact reward of the seat; `payoff`, `refused`, `forfeited` and `trains`
are metrics. The traces of referees, and of an innocent seat whose play another's forfeit made void,
are frozen: their `agent.trainable` is false.

The harness sends the prompt in this process; verifiers' own `null` starts a process for each reply
and keeps the conversation itself, which our prompts have already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from types import new_class
from typing import Any, NamedTuple

from gamedsl.export.peer_play import PeerGame, PeerPlay, chat, cut
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.game import Game

with importing(PEERS["verifiers"].needs):
    import httpx
    import verifiers.v1 as vf
    from verifiers.v1.dialects.chat import message_to_wire

REWARD = "reward"
"""The name of the reward of a trace."""


class DealData(vf.TaskData):
    """A task: the play of a seed."""

    seed: int


class Deal(vf.Task[DealData]):
    """A play, which the environment scores."""


class SeatData(vf.TaskData):
    """The part of a seat in the play of a seed."""

    seed: int
    seat: str


class Seat(vf.Task[SeatData]):
    """A seat of a play: the task on which its agent runs."""


class DealsConfig(vf.TasksetConfig):
    first_seed: int = 0
    """The seed of the first play; the others have the numbers after it."""


class PromptHarnessConfig(vf.HarnessConfig):
    """It has no settings."""


class PromptHarness(vf.Harness[PromptHarnessConfig]):
    """Sends the messages of a turn as the whole conversation, and nothing else."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str,
        mcp_urls: dict[str, str], data: Any,
    ) -> Any:  # fmt: skip
        prompt = data.prompt
        messages = [vf.UserMessage(content=prompt)] if isinstance(prompt, str) else (prompt or [])
        return await _complete(ctx, endpoint, secret, messages)

    async def resume(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str,
        mcp_urls: dict[str, str], data: Any, messages: Any, tool_interception_url: Any = None,
    ) -> Any:  # fmt: skip
        return await _complete(ctx, endpoint, secret, messages)


async def _complete(ctx: Any, endpoint: str, secret: str, messages: Any) -> Any:
    """Makes one call of the model, which verifiers intercepts and records."""
    body = {"model": ctx.model, "messages": [message_to_wire(one) for one in messages]}
    async with httpx.AsyncClient(timeout=None) as client:
        answer = await client.post(
            f"{endpoint.rstrip('/')}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {secret}"},
        )
    failed = answer.status_code != httpx.codes.OK
    return vf.ProgramResult(int(failed), "", answer.text if failed else "")


class Classes(NamedTuple):
    """The classes that a package of verifiers exports in its `__all__`."""

    env: type[Any]
    taskset: type[Any]
    harness: type[Any]


def environment(
    game: Game | str | Path,
    held: Iterable[str] = (),
    against: Iterable[str] = (),
    *,
    params: Mapping[str, Any] | None = None,
    calls: Iterable[str | Path] = (),
    run_seed: int = 0,
    tokenizer: Any = None,
) -> Classes:
    """Returns a game's environment, taskset and harness. Arguments and errors as in `PeerGame`."""
    table = PeerGame(
        game, held, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
    )
    fields = role_fields(table)
    agents = {
        field: vf.AgentConfig(runtime={"type": "subprocess"}) for field in fields.values()
    }  # fmt: skip
    config = type(
        "GameConfig",
        (vf.EnvConfig,),
        {
            "__annotations__": {
                **dict.fromkeys(agents, vf.AgentConfig),
                "max_concurrent_agents": int | None,
            },
            "__module__": __name__,
            **agents,
            "max_concurrent_agents": None,
        },
    )
    names = {"__module__": __name__, "table": table, "fields": fields}
    return Classes(
        new_class("GameEnv", (GameEnv, vf.Env[config]), {}, lambda body: body.update(names)),
        type("GameTaskset", (GameTaskset,), {"__module__": __name__, "table": table}),
        PromptHarness,
    )


def role_fields(table: PeerGame) -> dict[str, str]:
    """Returns the field of the configuration in which the agent of each held role stands; a role
    called as a setting of verifiers, such as `timeout`, has `_role` after its name."""
    roles = dict.fromkeys(table.game.ir.role_of[seat] for seat in table.held)
    taken = set(vf.EnvConfig.model_fields) | set(dir(vf.EnvConfig))
    return {role: f"{role}_role" if role in taken else role for role in roles}


class GameTaskset(vf.Taskset[Deal, DealsConfig]):
    """The plays of a game by their seeds, without end. Plays that end before an agent is asked
    teach nothing, and are left out."""

    INFINITE = True
    table: PeerGame

    def load(self) -> Iterator[Deal]:
        for seed in count(self.config.first_seed):
            if not self.table.begin(seed).done:
                name = f"{self.table.game.name} {seed}"
                yield Deal(DealData(prompt=None, name=name, seed=seed), self.config.task)


class GameEnv:
    """The base of all environments of games; see the module docstring."""

    table: PeerGame
    fields: Mapping[str, str]

    async def setup(self, agents: Any) -> None:
        """Freezes referees, which earn nothing."""
        for referee in self.table.game.ir.referees:
            if referee.name in self.fields:
                getattr(agents, self.fields[referee.name]).trainable = False

    async def run(self, task: Any, agents: Any) -> None:
        table, role_of = self.table, self.table.game.ir.role_of
        play = await asyncio.to_thread(table.begin, task.data.seed)
        talks: dict[str, Any] = {}
        async with AsyncExitStack() as stack:
            while not play.done:
                asked = play.waiting
                for seat in (one.seat for one in asked if one.seat not in talks):
                    agent = getattr(agents, self.fields[role_of[seat]])
                    data = SeatData(prompt=None, name=seat, seed=task.data.seed, seat=seat)
                    talks[seat] = await stack.enter_async_context(agent.interaction(Seat(data)))
                replies = await asyncio.gather(*(_ask(talks[one.seat], one) for one in asked))
                for one, reply in zip(asked, replies, strict=True):
                    await asyncio.to_thread(play.answer, one.seat, reply)
            for seat, talk in talks.items():
                _score(talk.trace, play, seat)

    async def finalize(self, task: Any, episode: Any) -> None:
        """Freezes the traces of innocent seats of a void play."""
        for trace in episode.traces:
            if not trace.metrics.get("trains", 0.0):
                trace.agent.trainable = False


async def _ask(talk: Any, decision: Any) -> str | ParseFailure:
    """Returns an agent's reply to a prompt, as it was written, or that it was cut off."""
    segment = await talk.turn(chat(decision))
    if segment.terminated:
        raise RuntimeError(f"the agent of {decision.seat} stopped before the play was over")
    text = segment.messages[-1].content or ""
    return cut(text) if talk.trace.is_truncated else text


def _score(trace: Any, play: PeerPlay, seat: str) -> None:
    found = play.outcome(seat)
    if found.reward is not None:
        trace.record_reward(REWARD, float(found.reward))
    trace.record_metrics(found.metrics())
