"""A game as a task of Inspect: models hold seats, and players of ours the others.

`game_task(game)` returns the `Task`. A sample is the play of a seed; the solver plays it to the
end, and the scorer gives each seat that a model holds its exact reward. A seat whose play is void
has no score, and is left out of the means. `--model` plays all seats; `--model-role ROLE=MODEL`
gives a role a model of its own. Seats that choose at once are asked together. The seed of the
play is the seed of each call, for servers that take one.

The log has each prompt with its reply among the sample's messages, and refusals, forfeits, payoffs
and the transcript of the play in the score's metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan
from pathlib import Path
from typing import Any

from gamedsl.export.peer_play import PeerGame, PeerPlay, chat, cut
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.runtime.decision import Decision
from gamedsl.runtime.game import Game

with importing(PEERS["inspect"].needs):
    from anyio import to_thread
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        get_model,
    )
    from inspect_ai.scorer import Score, mean, scorer, stderr
    from inspect_ai.solver import solver
    from inspect_ai.util import collect

KIND = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
CUT = ("max_tokens", "model_length")
"""Why a model stopped that had not ended its reply."""
PLAY = "play"
"""The key of a finished play in a sample's store."""


def game_task(
    game: Game | str | Path,
    held: Iterable[str] = (),
    against: Iterable[str] = (),
    *,
    plays: int = 20,
    first_seed: int = 0,
    params: Mapping[str, Any] | None = None,
    calls: Iterable[str | Path] = (),
    run_seed: int = 0,
    tokenizer: Any = None,
) -> Any:
    """Returns a game as a Task of `plays` samples. Other arguments and errors as in `PeerGame`."""
    table = PeerGame(
        game, held, against, params=params, calls=calls, run_seed=run_seed, tokenizer=tokenizer
    )
    samples = [
        Sample(input=f"{table.game.name}, seed {seed}", id=seed, metadata={"seed": seed})
        for seed in range(first_seed, first_seed + plays)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=table.game.name),
        solver=play_game(table),
        scorer=seat_rewards(table),
        name=table.game.name,
        metadata={"hash": table.game.hash},
    )


def _play_game(table: PeerGame) -> Any:
    """Plays the sample's game to its end."""

    async def solve(state: Any, generate: Any) -> Any:
        seed = int(state.metadata["seed"])
        play = await to_thread.run_sync(table.begin, seed)
        state.messages = []
        while not play.done:
            asked = play.waiting
            replies = await collect(*(_ask(one, table, seed) for one in asked))
            for one, (messages, output) in zip(asked, replies, strict=True):
                state.messages += [*messages, output.choices[0].message]
                state.output = output
                text = output.completion
                reply = cut(text) if output.stop_reason in CUT else text
                await to_thread.run_sync(play.answer, one.seat, reply)
        state.store.set(PLAY, _record(table, play))
        return state

    return solve


def _seat_rewards(table: PeerGame) -> Any:
    """Scores each seat that a model holds by its reward; referees have none."""

    async def score(state: Any, target: Any) -> Any:
        record = state.store.get(PLAY)
        rewards = {seat: nan if r is None else float(r) for seat, r in record["rewards"].items()}
        return Score(value=rewards, metadata=record)

    return score


play_game = solver(name="gamedsl_play")(_play_game)
seat_rewards = scorer(metrics={"*": [mean(), stderr()]}, name="gamedsl_rewards")(_seat_rewards)


async def _ask(decision: Decision, table: PeerGame, seed: int) -> tuple[list[Any], Any]:
    """Returns the prompt of a decision as messages, and the output of the model of its role."""
    messages = [KIND[part["role"]](content=part["content"]) for part in chat(decision)]
    model = get_model(role=table.game.ir.role_of[decision.seat])
    if str(model).startswith("mockllm/"):  # its tokens are made up: no tokenizer is downloaded
        model.api.count_text_tokens = _count_words
    return messages, await model.generate(messages, config=GenerateConfig(seed=seed))


async def _count_words(text: str) -> int:
    """Returns the number of words, which the mock model reports as tokens."""
    return len(text.split())


def _record(table: PeerGame, play: PeerPlay) -> dict[str, Any]:
    """Returns the result of a play as JSON-able data; amounts are exact, as texts."""
    found = {seat: play.outcome(seat) for seat in table.held if seat in table.game.ir.seats}
    return {
        "rewards": {s: None if o.reward is None else float(o.reward) for s, o in found.items()},
        "payoffs": {s: None if o.payoff is None else str(o.payoff) for s, o in found.items()},
        "refused": [
            {"seat": one.decision.seat, "step": one.decision.step, "reason": one.failure.reason}
            for one in play.episode.mistakes
        ],
        "forfeits": {seat: one.reason for seat, one in play.episode.failures.items()},
        "transcript": play.episode.transcript,
    }
