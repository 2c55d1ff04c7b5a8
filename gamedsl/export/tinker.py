"""A game for tinker-cookbook: one model plays all roles in lock-step, with a baseline for each.

`DealDataset` is the `RLDataset`; a batch has one `DealGroup`, an `EnvGroupBuilder`, for each seed.
A group plays its seed several times. Each of its environments is one seat of one of these plays; it
waits until its seat is asked, and seats that choose at once are sampled at once.

The cookbook takes the mean of a group's rewards as baseline. A group has several roles here, so
its rewards are those of the plays less the mean of their own seat: their mean is 0, and the
advantage of each trajectory is that of its role. An innocent seat of a play that another's forfeit
made void, and a referee, counts in no mean, has advantage 0, and its tokens are masked. The exact
rewards are the metrics `ROLE/reward`.

A prompt is the one of our runtime, whole, in the renderer's format. The cookbook makes one training
datum of prompts that continue each other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from gamedsl.export.peer_play import PeerGame, PeerPlay, chat, cut
from gamedsl.export.table import PEERS
from gamedsl.extras import importing
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Decision

with importing(PEERS["tinker"].needs):
    import chz
    import tinker
    from tinker_cookbook.renderers import get_renderer, get_text_content
    from tinker_cookbook.rl.types import (
        PARSE_ERROR_MASKED_METRIC_KEY,
        Env,
        EnvGroupBuilder,
        InitialObservationOverflow,
        RLDataset,
        RLDatasetBuilder,
        StepResult,
    )
    from tinker_cookbook.tokenizer_utils import get_tokenizer


class Table(NamedTuple):
    """A game and who holds its seats, as values that can be sent to another process. The fields are
    the arguments of `PeerGame`; `game` is a path or the name of a shipped game, and `tokenizer` is
    that of a model, by its name; empty: the renderer's."""

    game: str
    held: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    params: tuple[tuple[str, Any], ...] = ()
    calls: tuple[str, ...] = ()
    run_seed: int = 0
    tokenizer: str = ""


@cache
def open_table(table: Table) -> PeerGame:
    """Returns the game, compiled once a process. Raises as `PeerGame`."""
    params = dict(table.params)
    return PeerGame(
        table.game, table.held, table.against,
        params=params, calls=table.calls, run_seed=table.run_seed,
        tokenizer=get_tokenizer(table.tokenizer) if table.tokenizer else None,
    )  # fmt: skip


def table_of(
    game: str,
    held: Iterable[str] = (),
    against: Iterable[str] = (),
    *,
    params: Mapping[str, Any] | None = None,
    calls: Iterable[str] = (),
    run_seed: int = 0,
    tokenizer: str = "",
) -> Table:
    """Returns the table of a game, with the arguments of `PeerGame`."""
    return Table(
        game, tuple(held), tuple(against), tuple((params or {}).items()), tuple(calls), run_seed,
        tokenizer,
    )  # fmt: skip


class SharedPlay:
    """A play whose seats are environments of their own."""

    def __init__(self, play: PeerPlay) -> None:
        self.play = play
        self._moved = asyncio.Condition()

    def decision(self, seat: str) -> Decision | None:
        """Returns the decision of a seat that is asked now."""
        return next((one for one in self.play.waiting if one.seat == seat), None)

    async def asked(self, seat: str) -> Decision | None:
        """Waits until a seat is asked, and returns its decision; None at the end of the play."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.play.done or self.decision(seat) is not None)
            return self.decision(seat)

    async def answer(self, seat: str, reply: str | ParseFailure) -> None:
        """Takes a reply, and wakes the seats that wait. Players of ours move in another thread."""
        async with self._moved:
            await asyncio.to_thread(self.play.answer, seat, reply)
            self._moved.notify_all()


class SeatEnv(Env):
    """One seat of one play."""

    def __init__(self, shared: SharedPlay, seat: str, renderer: Any) -> None:
        self.shared = shared
        self.seat = seat
        self._renderer = renderer

    async def initial_observation(self) -> Any:
        decision = await self.shared.asked(self.seat)
        if decision is None:  # it was never asked: a trajectory without tokens
            return InitialObservationOverflow(0.0)
        return self._shown(decision)

    async def step(self, action: list[int], *, extra: Any = None) -> Any:
        message, _ = self._renderer.parse_response(action)
        refused = len(self.shared.play.episode.mistakes)
        text = get_text_content(message)
        is_cut = (extra or {}).get("stop_reason") == "length"
        await self.shared.answer(self.seat, cut(text) if is_cut else text)
        decision = await self.shared.asked(self.seat)
        if decision is None:
            return StepResult(0.0, True, tinker.ModelInput.empty(), [], self._metrics(refused))
        observation, stop = self._shown(decision)
        return StepResult(0.0, False, observation, stop, self._metrics(refused))

    def _shown(self, decision: Decision) -> tuple[Any, Any]:
        prompt = self._renderer.build_generation_prompt(chat(decision))
        return prompt, self._renderer.get_stop_sequences()

    def _metrics(self, before: int) -> dict[str, float]:
        """Returns whether the reply was refused."""
        new = self.shared.play.episode.mistakes[before:]
        return {"refused": float(any(one.decision.seat == self.seat for one in new))}


class DealGroup(EnvGroupBuilder):
    """All plays of one seed, by all seats: `plays` times as many environments as there are seats.

    `renderer` is one of tinker-cookbook's. Trajectories of a play depend on each other, so a
    strategy that runs single ones again does not fit: leave the cookbook's `FailFast`.
    """

    def __init__(self, table: Table, seed: int, plays: int, renderer: Any) -> None:
        self.table = table
        self.seed = seed
        self.plays = plays
        self.renderer = renderer

    async def make_envs(self) -> Sequence[SeatEnv]:
        game = open_table(self.table).counted_by(self.renderer.tokenizer)
        begun = [await asyncio.to_thread(game.begin, self.seed) for _ in range(self.plays)]
        shared = [SharedPlay(play) for play in begun]
        return [SeatEnv(play, seat, self.renderer) for play in shared for seat in game.held]

    async def compute_group_rewards(
        self, trajectory_group: list[Any], env_group: Sequence[Any]
    ) -> list[tuple[float, dict[str, float]]]:
        """Returns each trajectory's reward less the mean of its seat, with its metrics. Masks the
        tokens of those that have no reward."""
        outcomes = [env.shared.play.outcome(env.seat) for env in env_group]
        earned: dict[str, list[Fraction]] = defaultdict(list)
        for env, found in zip(env_group, outcomes, strict=True):
            if found.reward is not None:
                earned[env.seat].append(Fraction(found.reward))
        role_of = open_table(self.table).game.ir.role_of
        results = []
        for env, found, trajectory in zip(env_group, outcomes, trajectory_group, strict=True):
            role = role_of[env.seat]
            metrics = {f"{role}/{name}": value for name, value in found.metrics().items()}
            if found.reward is None:
                results.append((0.0, metrics))
                for transition in trajectory.transitions:
                    transition.metrics[PARSE_ERROR_MASKED_METRIC_KEY] = 1.0
                continue
            metrics[f"{role}/reward"] = float(found.reward)
            mean = sum(earned[env.seat], Fraction()) / len(earned[env.seat])
            results.append((float(found.reward - mean), metrics))
        return results

    def logging_tags(self) -> list[str]:
        return [open_table(self.table).game.name]


class DealDataset(RLDataset):
    """`batches` batches of `deals` seeds each, from `first_seed` on; each seed is played `plays`
    times."""

    def __init__(
        self, table: Table, renderer: Any, *, deals: int, plays: int, batches: int,
        first_seed: int = 0,
    ) -> None:  # fmt: skip
        self.table = table
        self.renderer = renderer
        self.deals = deals
        self.plays = plays
        self.batches = batches
        self.first_seed = first_seed

    def get_batch(self, index: int) -> Sequence[DealGroup]:
        begin = self.first_seed + index * self.deals
        seeds = range(begin, begin + self.deals)
        return [DealGroup(self.table, seed, self.plays, self.renderer) for seed in seeds]

    def __len__(self) -> int:
        return self.batches


@chz.chz
class DealDatasetBuilder(RLDatasetBuilder):
    """The data set of a table, for the configuration of the cookbook's training."""

    table: Table
    model_name: str
    renderer_name: str
    deals: int = 32
    plays: int = 8
    batches: int = 100
    first_seed: int = 0

    async def __call__(self) -> tuple[DealDataset, None]:
        renderer = get_renderer(
            self.renderer_name, get_tokenizer(self.model_name), model_name=self.model_name
        )
        made = DealDataset(
            self.table, renderer,
            deals=self.deals, plays=self.plays, batches=self.batches, first_seed=self.first_seed,
        )  # fmt: skip
        return made, None
